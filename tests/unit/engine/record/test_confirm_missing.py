"""A column that was empty once is left out only when the OLT is sure not to have it."""

from __future__ import annotations

import pytest

from facho.apps.discovery.selectors import Census
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import AskedColumn, Part
from facho.engine.record.olt_state import Inventory, confirm_missing
from facho.vendors import Decoder, builtin

HUAWEI = builtin()["huawei"]
XPON = "1.3.6.1.4.1.2011.6.128.1.1.2"
GPON_DISTANCE, EPON_DISTANCE = f"{XPON}.46.1.20", f"{XPON}.57.1.19"
GPON_STATE, PORT_OPTICS = f"{XPON}.46.1.15", f"{XPON}.23.1.4"
HOUR_S = 3600.0
PORT_STATE = f"{XPON}.21.1.10"
PORT = b"\x8f\xd0\x80\x80\x00"
ONU = PORT + b"\x01"
ALL_ONLINE = Census(known=50, present=50, online=50, with_state=50)


def lacked(
    *oids: str,
    kind: str = "table",
    gpon: Census | None = ALL_ONLINE,
    epon: Census | None = None,
    uptime_s: float | None = HOUR_S,
    sees_gpon: bool = True,
    had: frozenset[str] = frozenset(),
    came: tuple[str, ...] = (),
) -> set[str]:
    columns = tuple(AskedColumn(oid, oid, oid) for oid in oids)
    part = Part(1, "job", kind, "get_state", (), columns)
    rows = {oid: {PORT: 1} for oid in came}
    decoded = Decoder(HUAWEI).decode(rows | ({GPON_STATE: {ONU: 1}} if sees_gpon else {}))
    assert len(decoded.onus) == sees_gpon
    outcome = PartResult(part, PartState.SUCCESS, decoded=decoded, missing_columns=frozenset(oids))
    counted = {"gpon": gpon, "epon": epon}
    onus = {name: census for name, census in counted.items() if census is not None}
    return confirm_missing(Collection([outcome], uptime_s=uptime_s), HUAWEI, lambda: Inventory(onus, had))


def test_the_columns_of_this_test_are_what_it_says() -> None:
    technologies = {
        column.source.oid: (table.entity.value, table.technology)
        for table in HUAWEI.tables
        for column in table.columns
    }
    assert technologies[GPON_DISTANCE] == technologies[GPON_STATE] == ("onu", "gpon")
    assert technologies[EPON_DISTANCE] == ("onu", "epon")
    assert technologies[PORT_OPTICS][0] == "port"


@pytest.mark.parametrize("kind", ["table", "get"])
def test_what_none_of_many_onus_has_is_left_out(kind: str) -> None:
    assert lacked(GPON_DISTANCE, kind=kind) == {GPON_DISTANCE}


@pytest.mark.parametrize("kind", ["table", "get"])
def test_onus_that_are_all_offline_say_nothing(kind: str) -> None:
    """After a power cut their values come back with them."""
    assert lacked(GPON_DISTANCE, kind=kind, gpon=replace_census(online=0)) == set()


def test_a_few_onus_say_nothing() -> None:
    assert lacked(GPON_DISTANCE, gpon=Census(9, 9, 9, 9)) == set()


def test_where_no_states_are_known_everybody_counts() -> None:
    assert lacked(GPON_DISTANCE, gpon=replace_census(online=0, with_state=0)) == {GPON_DISTANCE}


def test_an_olt_that_has_just_started_says_nothing() -> None:
    """Its boards come up one after the other."""
    assert lacked(PORT_OPTICS, uptime_s=60.0) == set()
    assert lacked(PORT_OPTICS) == {PORT_OPTICS}
    assert lacked(PORT_OPTICS, uptime_s=None) == {PORT_OPTICS}


def test_ports_that_are_away_with_their_board_are_asked_for_again() -> None:
    assert lacked(PORT_OPTICS, PORT_STATE, had=frozenset({"port"})) == set()
    # Another column has its ports: so it is only this one that it has not.
    assert lacked(PORT_OPTICS, had=frozenset({"port"}), came=(PORT_STATE,)) == {PORT_OPTICS}


@pytest.mark.parametrize("kind", ["table", "discovery"])
def test_a_technology_that_nobody_ever_had_is_left_out(kind: str) -> None:
    assert lacked(EPON_DISTANCE, kind=kind) == {EPON_DISTANCE}


@pytest.mark.parametrize("kind", ["table", "discovery"])
def test_a_technology_whose_onus_are_gone_for_now_is_not(kind: str) -> None:
    """Their board restarts. Left out, they would be absent, and would not be found again for a day."""
    assert lacked(EPON_DISTANCE, kind=kind, epon=Census(20, 20, 20, 20)) == set()
    assert lacked(EPON_DISTANCE, kind=kind, epon=Census(20, 0, 0, 0)) == set()


def test_what_a_get_asked_nobody_for_is_not_lacking() -> None:
    assert lacked(EPON_DISTANCE, kind="get") == set()


def test_a_discovery_always_asks_for_what_recognises_onus_that_were_found() -> None:
    assert lacked(GPON_DISTANCE, kind="discovery") == set()


def replace_census(**counts: int) -> Census:
    return ALL_ONLINE._replace(**counts)


def test_a_discovery_that_found_onus_does_not_count_those_that_are_stored() -> None:
    part = Part(
        1, "job", "discovery", "discovery", (), (AskedColumn(GPON_DISTANCE, GPON_DISTANCE, GPON_DISTANCE),)
    )
    decoded = Decoder(HUAWEI).decode({GPON_STATE: {ONU: 1}})
    found = PartResult(part, PartState.SUCCESS, decoded=decoded, missing_columns=frozenset({GPON_DISTANCE}))
    assert confirm_missing(Collection([found], uptime_s=HOUR_S), HUAWEI, _must_not_be_called) == set()


def _must_not_be_called() -> Inventory:
    raise AssertionError
