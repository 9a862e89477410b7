"""Measure what it costs to decode raw rows into facts, beside what it costs to walk them.

Both are measured in this process, in turns, on the same rows: ten simulated OLTs whose ONUs all differ. The
fleet has a process of its own. What the decoder remembers is what it would remember in service: after a first
round that does not count, indices and states are known, serials and descriptions are read anew each time.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
import uvloop
from rich.console import Console

from bench.harness import AsJson, MeasurementFailed, Note, run_benchmark, table_of_numbers
from bench.snmp import COLUMNS, OLTS, ONUS
from bench.walker import COMMUNITY
from facho.sim.fleet import FleetConfig
from facho.sim.olt import Address
from facho.sim.process import FleetProcess
from facho.snmp import Client, Learned, Limits, Oid, Target, Value
from facho.vendors import Decoder, builtin

_PROFILE: Final = "huawei"
_REPETITIONS: Final = 100

Rows = dict[str, dict[bytes, Value]]

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench decode`  what it costs to turn a walk's rows into facts, beside the walk itself

`facho bench decode --json`  `values_per_cpu_second` and `share_of_client_cost`
"""


@dataclass(frozen=True, slots=True)
class Result:
    """Microseconds of CPU for each value, by round."""

    values: int
    walk_us: tuple[float, ...]
    decode_us: tuple[float, ...]
    # All columns that the simulated OLT has of its ONUs, dates and counters among them.
    all_columns_us: tuple[float, ...]

    @property
    def values_per_cpu_second(self) -> float:
        return 1e6 / statistics.median(self.decode_us)

    @property
    def share_of_client_cost(self) -> float:
        return statistics.median(self.decode_us) / statistics.median(self.walk_us)

    def as_json(self) -> dict[str, Any]:
        return {
            "values_per_cpu_second": round(self.values_per_cpu_second),
            "share_of_client_cost": round(self.share_of_client_cost, 3),
            "all_columns_values_per_cpu_second": round(1e6 / statistics.median(self.all_columns_us)),
            "all_columns_share_of_client_cost": round(
                statistics.median(self.all_columns_us) / statistics.median(self.walk_us), 3
            ),
            "client_us_per_value": [round(each, 3) for each in self.walk_us],
            "decode_us_per_value": [round(each, 3) for each in self.decode_us],
            "all_columns_us_per_value": [round(each, 3) for each in self.all_columns_us],
        }

    def print(self) -> None:
        title = f"{self.values:,} values a round, {len(self.walk_us)} rounds"
        table = table_of_numbers(title, "step", "microseconds a value", "lowest", "highest")
        for step, costs in (
            ("walk", self.walk_us),
            ("decode the same", self.decode_us),
            ("decode every column of ONUs", self.all_columns_us),
        ):
            table.add_row(step, *(f"{us:.3f}" for us in (statistics.median(costs), min(costs), max(costs))))
        console = Console()
        console.print(table)
        console.print(
            f"{self.values_per_cpu_second:,.0f} values decoded per CPU-second; "
            f"{self.share_of_client_cost:.0%} of what it cost to walk them."
        )


@app.command(epilog=_EXAMPLES)
def decode(
    rounds: Annotated[int, typer.Option(min=1, help="How often to walk and decode.")] = 7,
    as_json: AsJson = False,
) -> None:
    """Walk ten simulated OLTs and decode their values, in turns."""
    run_benchmark(lambda note: measure(rounds, note), as_json=as_json)


def measure(rounds: int, note: Note) -> Result:
    return uvloop.run(_measure(rounds, note))


async def _measure(rounds: int, note: Note) -> Result:
    decoder = Decoder(builtin()[_PROFILE])
    walks, decodes, alls = [], [], []
    with FleetProcess(FleetConfig(olts=OLTS, onus=ONUS), prebuilt=True) as fleet:
        note("reading every column once")
        everything = await _walk(fleet.addresses, _onu_columns())
        _decode(decoder, everything)
        _decode(decoder, await _walk(fleet.addresses, COLUMNS))
        for number in range(rounds):
            note(f"round {number + 1} of {rounds}")
            started = time.process_time()
            rows = await _walk(fleet.addresses, COLUMNS)
            walked = time.process_time()
            _decode(decoder, rows)
            decoded = time.process_time()
            _decode(decoder, everything)
            ended = time.process_time()
            walks.append((walked - started) / _count(rows) * 1e6)
            decodes.append((decoded - walked) / _count(rows) * 1e6)
            alls.append((ended - decoded) / _count(everything) * 1e6)
    return Result(OLTS * ONUS * len(COLUMNS), tuple(walks), tuple(decodes), tuple(alls))


def _onu_columns() -> tuple[str, ...]:
    from facho.sim.families.huawei import ONU_COLUMNS

    return tuple(column.oid for column in ONU_COLUMNS)


async def _walk(addresses: tuple[Address, ...], columns: tuple[str, ...]) -> list[Rows]:
    oids = [Oid.parse(column) for column in columns]
    limits = Limits(in_flight=len(COLUMNS), varbinds=_REPETITIONS)
    learned = Learned(_REPETITIONS, len(COLUMNS))
    async with Client() as client:
        agents = [
            await client.agent(Target(host, COMMUNITY, port, limits=limits), learned=learned)
            for host, port in addresses
        ]
        results = await asyncio.gather(*(agent.walk_table(oids) for agent in agents))
    for result in results:
        if not result.complete:
            raise MeasurementFailed(str(result.reason))
    return [{str(oid): column.rows for oid, column in result.columns.items()} for result in results]


def _decode(decoder: Decoder, olts: list[Rows]) -> None:
    for rows in olts:
        decoded = decoder.decode(rows)
        if len(decoded.onus) != ONUS or len(decoded.problems):
            raise MeasurementFailed(f"{len(decoded.onus)} of {ONUS} ONUs, {decoded.problems.first[:1]}")


def _count(olts: list[Rows]) -> int:
    return sum(len(column) for rows in olts for column in rows.values())
