"""From what a collection read of an OLT to what `facho olt show` and `facho onu unprovisioned` tell of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Olt
from facho.cli.olt import show
from facho.cli.olt.details import chassis_json
from facho.cli.onu import unprovisioned
from facho.engine.collect.part_results import PartResult, PartState
from facho.engine.collect.request_plan import AskedColumn, Part
from facho.engine.record.olt_state import store_chassis
from facho.sim.families.from_profile import from_profile
from facho.sim.families.huawei import HUAWEI
from facho.sim.families.zte import ZTE
from facho.sim.model import Shape
from facho.vendors import Decoder, Entity, UnreadableRows, builtin
from facho.vendors.index import join_arcs
from tests.factories import make_olt
from tests.findings import NOW
from tests.unit.vendors import simulated

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

SHAPE = Shape(onus=200)


def part(
    brand: str,
    entities: Iterable[Entity],
    *,
    facts: Iterable[str] = (),
    state: PartState = PartState.SUCCESS,
    rows: Mapping[str, Any] | None = None,
) -> PartResult:
    """What came of asking a simulated OLT for these facts, or for all there are of these entities."""
    profile = builtin()[brand]
    columns = [
        AskedColumn(f"{table.name}.{column.fact}", column.source.oid, column.source.oid)
        for table in profile.tables
        for column in table.columns
        if table.entity in entities and (not facts or column.fact in facts)
    ]
    if rows is None:
        rows = simulated.rows({"huawei": HUAWEI, "zte": ZTE}[brand], simulated.model(SHAPE))
    asked = {column.oid for column in columns}
    decoded = Decoder(profile).decode({oid: found for oid, found in rows.items() if oid in asked})
    return PartResult(Part(1, "job", "table", "job", (), tuple(columns)), state, decoded=decoded)


def store(olt: Olt, *parts: PartResult, now: datetime = NOW) -> None:
    store_chassis(olt.pk, builtin()[olt.brand.name], parts, now)


def shown(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    show(name, as_json=True)
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


@pytest.mark.parametrize(("brand", "first_port", "boards"), [("huawei", "0/1/0", 3), ("zte", "1/2/1", 5)])
def test_an_olt_of_each_brand_is_stored_and_shown(
    brand: str, first_port: str, boards: int, capsys: pytest.CaptureFixture[str]
) -> None:
    olt = make_olt("north", brand)
    store(olt, part(brand, {Entity.PORT, Entity.BOARD, Entity.OLT}), part(brand, {Entity.AUTOFIND}))
    told = shown("north", capsys)
    assert told["pon_ports"][0]["port"] == first_port
    assert len(told["pon_ports"]) == SHAPE.ports
    assert {port["state"] for port in told["pon_ports"]} == {"up"}
    assert len(told["health"]["boards"]) == boards
    assert told["health"]["cpu"] == max(board["cpu"] for board in told["health"]["boards"])
    assert Unprovisioned.objects.count() == SHAPE.autofind


@pytest.mark.parametrize("brand", [brand for brand in builtin() if brand != "generic"])
def test_every_family_tells_of_its_chassis_what_its_profile_has(brand: str) -> None:
    profile = builtin()[brand]
    rows = simulated.rows(from_profile(profile), simulated.model(SHAPE))
    olt = make_olt("north", brand)
    store(olt, part(brand, set(Entity), rows=rows))
    entities = {table.entity for table in profile.tables}
    assert PonPort.objects.count() == (SHAPE.ports if Entity.PORT in entities else 0)
    assert Unprovisioned.objects.count() == (SHAPE.autofind if Entity.AUTOFIND in entities else 0)
    kinds = set(OltHealth.objects.values_list("kind", flat=True))
    parts = {Entity.BOARD, Entity.FAN, Entity.PSU}
    assert kinds - {"olt"} == {kind.value for kind in parts & entities}
    numbers = [port["port"] for port in chassis_json(olt, NOW)["pon_ports"]]
    assert numbers == sorted(numbers, key=lambda place: [int(number) for number in place.split("/")])


def test_what_is_not_known_of_an_olt_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    make_olt("north")
    told = shown("north", capsys)
    nothing: dict[str, object] = {"boards": [], "fans": [], "psus": [], "facts": {}}
    assert told["health"] == {"cpu": None, "memory": None, "temperature": None, **nothing}
    assert (told["brand"], told["family"], told["snmp_version"]) == ("huawei", "huawei", "2c")
    assert (told["model"], told["version"], told["uptime_seconds"]) == (None, None, None)
    assert (told["pon_ports"], told["uplinks"], told["lacks"], told["nodes"]) == ([], [], [], [])


def test_the_uptime_goes_on_after_it_was_read() -> None:
    olt = make_olt("north", version="V100R019", uptime_s=1000, uptime_read_at=NOW)
    told = chassis_json(olt, NOW + timedelta(minutes=1))
    assert (told["version"], told["uptime_seconds"]) == ("V100R019", 1060)
    assert chassis_json(olt, NOW - timedelta(minutes=1))["uptime_seconds"] == 1000


@pytest.mark.parametrize(("told", "elsewhere", "onus"), [(None, False, None), (None, True, 0), (7, False, 7)])
def test_onus_of_a_port_that_none_names_are_not_none_where_that_is_not_known(
    told: int | None, elsewhere: bool, onus: int | None
) -> None:
    olt = make_olt("north", "calix")
    PonPort.objects.create(olt=olt, place="1/1/1", frame=1, slot=1, port=1, onus_told=told, updated_at=NOW)
    seen = {"first_seen": NOW, "last_seen": NOW}
    if elsewhere:
        Onu.objects.create(olt=olt, address="1", frame=1, slot=1, port=2, onu_id=1, state="online", **seen)
    Onu.objects.create(olt=olt, address="2", onu_id=316, state="online", **seen)
    port = chassis_json(olt, NOW)["pon_ports"][0]
    assert (port["onus"], port["onus_online"]) == (onus, 0 if onus == 0 else None)


def test_what_an_olt_lacks_is_told_by_name() -> None:
    optics = "1.3.6.1.4.1.2011.6.128.1.1.2.23.1.5"
    # Some OLTs have their version at another place: this one has it at the first.
    version = "1.3.6.1.4.1.2011.6.3.1.3"
    olt = make_olt("north", lacks=dict.fromkeys((optics, version, "1.3.6.1.4.1.5"), NOW.isoformat()))
    assert chassis_json(olt, NOW)["lacks"] == ["1.3.6.1.4.1.5", "port_optics.rx_dbm"]


def test_on_a_terminal_everything_is_there_too(capsys: pytest.CaptureFixture[str]) -> None:
    olt = make_olt("north", uptime_s=90_000, uptime_read_at=NOW)
    store(olt, part("huawei", {Entity.PORT, Entity.BOARD, Entity.OLT}))
    show("north", as_json=False)
    told = capsys.readouterr().out
    for words in ("family", "cpu", "days", "Boards", "H901GPHF", "PON ports", "0/1/3", "It has no jobs yet"):
        assert words in told
    assert "Fans" not in told


def waiting(olt: str | None, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    unprovisioned(olt, as_json=True)
    told: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return told


def test_who_waits_is_told_for_all_olts_or_one(capsys: pytest.CaptureFixture[str]) -> None:
    north, south = make_olt("north"), make_olt("south", "zte")
    store(north, part("huawei", {Entity.AUTOFIND}))
    store(south, part("zte", {Entity.AUTOFIND}))
    assert len(waiting(None, capsys)) == 2 * SHAPE.autofind
    first = waiting("north", capsys)[0]
    assert (first["olt"], first["port"], first["mac"]) == ("north", "0/1/0", None)
    assert first["serial"].startswith("HWTC")
    assert first["model"] == "HG8310M"
    assert datetime.fromisoformat(first["seen_since"]) == NOW
    unprovisioned("south", as_json=False)
    assert "1/2/1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        # The whole list, and nobody is on it.
        (part("huawei", {Entity.AUTOFIND}, rows={}), 0),
        # It broke off before anybody came.
        (part("huawei", {Entity.AUTOFIND}, rows={}, state=PartState.FAILED), 3),
        # Nobody asked who waits.
        (part("huawei", {Entity.PORT}), 3),
        # Nobody asked for what recognises them.
        (part("huawei", {Entity.AUTOFIND}, facts=["model"]), 3),
        # What came could not be read.
        (
            part("huawei", {Entity.AUTOFIND}, rows={"1.3.6.1.4.1.2011.6.128.1.1.2.48.1.2": {b"\x01": b"?"}}),
            3,
        ),
    ],
    ids=["empty", "broken off", "not asked", "without identity", "unreadable"],
)
def test_only_a_whole_list_says_that_somebody_waits_no_more(answer: PartResult, left: int) -> None:
    olt = make_olt("north")
    store(olt, part("huawei", {Entity.AUTOFIND}))
    store(olt, answer)
    assert Unprovisioned.objects.count() == left


def test_a_part_that_failed_still_tells_what_it_read_and_takes_nothing_away() -> None:
    olt = make_olt("north")
    store(olt, part("huawei", {Entity.PORT, Entity.BOARD}))
    before = list(PonPort.objects.values()), list(OltHealth.objects.values())
    name = "1.3.6.1.4.1.2011.2.6.7.1.1.2.1.7"
    rows = {name: {b"\x00\x01": b"NEW"}, "1.3.6.1.4.1.2011.2.6.7.1.1.2.1.5": {b"\x00\x02": 7}}
    store(olt, part("huawei", {Entity.BOARD}, state=PartState.FAILED, rows=rows))
    assert list(PonPort.objects.values()) == before[0]
    assert OltHealth.objects.get(part="board 0/1").name == "NEW"
    assert OltHealth.objects.get(part="board 0/1").cpu_pct is not None
    assert OltHealth.objects.get(part="board 0/2").cpu_pct == 7
    assert OltHealth.objects.count() == len(before[1]) + 1


def test_what_tells_nothing_of_the_olt_costs_no_statement(
    django_assert_num_queries: Any,
) -> None:
    olt = make_olt("north")
    states = part("huawei", {Entity.ONU}, facts=["state"])
    profile = builtin()["huawei"]
    with django_assert_num_queries(0):
        store_chassis(olt.pk, profile, [states], NOW)


def with_odd_row(outcome: PartResult, entity: Entity) -> PartResult:
    """As if one row of the entity's table had an index that the profile cannot read."""
    assert outcome.decoded is not None
    outcome.decoded.unreadable["a table"] = UnreadableRows(entity, 1, "9.9.9")
    return outcome


@pytest.mark.parametrize(("odd", "state"), [(True, "ok"), (False, "offline")])
def test_a_board_that_may_be_in_a_row_that_cannot_be_read_was_not_pulled_out(odd: bool, state: str) -> None:
    olt = make_olt("north")
    states = "1.3.6.1.4.1.2011.6.3.3.2.1.8"
    two, one = {b"\x00\x01": 2, b"\x00\x02": 2}, {b"\x00\x01": 2}
    store(olt, part("huawei", {Entity.BOARD}, facts=["state"], rows={states: two}))
    assert set(OltHealth.objects.values_list("state", flat=True)) == {"ok"}
    later = part("huawei", {Entity.BOARD}, facts=["state"], rows={states: one})
    store(olt, with_odd_row(later, Entity.BOARD) if odd else later)
    assert OltHealth.objects.get(slot=2).state == state


@pytest.mark.parametrize(("odd", "waiting"), [(True, 2), (False, 1)])
def test_who_may_be_in_a_row_that_cannot_be_read_waits_all_the_same(odd: bool, waiting: int) -> None:
    olt = make_olt("north")
    serial = "1.3.6.1.4.1.2011.6.128.1.1.2.48.1.2"
    port = join_arcs((0xFA00_2000,))
    both = {port + b"\x01": b"HWTC\x00\x00\x00\x01", port + b"\x02": b"HWTC\x00\x00\x00\x02"}
    store(olt, part("huawei", {Entity.AUTOFIND}, rows={serial: both}))
    assert Unprovisioned.objects.count() == 2
    first = dict(list(both.items())[:1])
    later = part("huawei", {Entity.AUTOFIND}, rows={serial: first})
    store(olt, with_odd_row(later, Entity.AUTOFIND) if odd else later, now=NOW + timedelta(hours=1))
    assert Unprovisioned.objects.count() == waiting
    assert Unprovisioned.objects.filter(last_seen=NOW + timedelta(hours=1)).count() == 1
