"""What `facho profile try` and `facho record` ask ONUs for, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from facho.cli.device_read import DeviceRead, read_online_onus
from facho.core.reasons import text_reason
from facho.engine.collect.column_reader import TimeLeft
from facho.snmp import Load, Oid
from facho.vendors import Detection, builtin
from facho.vendors.index import join_arcs

ZTE = builtin()["zte"]
OPTICS = "1.3.6.1.4.1.3902.1015.1010.1.1.1.29.1"
STATE = next(
    (column.source.oid, next(word.raw for word in column.rule.enum if word.meaning == "online"))
    for table in ZTE.tables
    if table.technology == "epon" and table.entity == "onu"
    for column in table.columns
    if column.fact == "state"
)


class Result:
    def __init__(self, oids: Iterable[Oid]) -> None:
        self.values: dict[Oid, Any] = dict.fromkeys(oids, b"-20.00 dBm")
        self.failed: dict[Oid, Any] = {}
        self.error = None
        self.load = Load()


class Agent:
    """Answers everything, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def get_many(self, oids: Iterable[Oid], *, deadline: float) -> Result:
        result = Result(oids)
        self.asked += map(str, result.values)
        return result


def ask(*numbers: int) -> tuple[list[int], DeviceRead]:
    """The numbers of the ONUs that were asked for, of those that the OLT lists as online."""
    oid, online = STATE
    rows: dict[str, dict[bytes, Any]] = {oid: {join_arcs((number,)): online for number in numbers}}
    asked, agent = DeviceRead(ZTE, Detection("zte", "", text_reason("")), rows), Agent()

    async def run() -> None:
        await read_online_onus(agent, asked, 64, TimeLeft(10.0), lambda _: None)  # type: ignore[arg-type]

    asyncio.run(run())
    of_optics = [each for each in agent.asked if each.startswith(f"{OPTICS}.5.")]
    return [int(each.rpartition(".")[2]) for each in of_optics], asked


def test_onus_are_asked_for_at_the_indexes_at_which_the_olt_listed_them() -> None:
    # Ports 3 and 9 of a card of 16 ports, and port 1 of one of 8.
    listed = [0x9022_0500, 0x9028_0300, 0x3010_0300]
    found, asked = ask(*listed)
    assert found == listed
    assert asked.errors == []
    assert asked.optics is not None
    assert (asked.optics.asked, asked.optics.online) == (3, 3)
