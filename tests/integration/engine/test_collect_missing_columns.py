"""An OLT that does not have all tables of its family."""

from __future__ import annotations

from dataclasses import replace

from facho.engine.collect.part_results import PartResult, PartState
from facho.engine.collect.work_builder import leave_out_missing
from tests.integration.engine.site import Site, site

XPON = "1.3.6.1.4.1.2011.6.128.1.1.2"
CONFIG, STATE, OPTICS = f"{XPON}.43", f"{XPON}.46", f"{XPON}.51"
NO_ONU_TABLES = tuple(f"{XPON}.{table}" for table in (43, 45, 46, 53, 55, 57))


def discovered(olt: Site) -> PartResult:
    return olt.ask(olt.part("discovery", "serial", "mac", "state")).parts[0]


def test_every_onu_that_any_table_names_is_found() -> None:
    with site(onus=50) as olt:
        whole = discovered(olt).decoded
        olt.misbehave(lacks=(CONFIG,))
        found = discovered(olt)
        assert whole is not None
        assert found.decoded is not None
        assert found.state is PartState.SUCCESS
        assert found.decoded.onus.keys == whole.onus.keys
        assert "serial" not in found.decoded.onus.columns
        assert found.decoded.onus.columns["state"] == whole.onus.columns["state"]
        assert "table not present: gpon_config" in str(found.error)


def test_no_table_of_onus_at_all_is_nobody_and_no_error() -> None:
    with site(onus=50) as olt:
        olt.misbehave(lacks=NO_ONU_TABLES)
        found = discovered(olt)
        assert found.state is PartState.SUCCESS
        assert found.decoded is not None
        assert len(found.decoded.onus) == 0
        assert str(found.error).startswith("table not present: gpon_config")
        # It may be that nobody is connected yet: so it is asked again.
        assert found.missing_columns == set()


def test_what_it_lacks_is_not_asked_again() -> None:
    with site(onus=50) as olt:
        part = olt.part("discovery", "serial", "mac", "state")
        first = olt.ask(part).parts[0]
        # There is no EPON board in it.
        assert {oid.removeprefix(f"{XPON}.").split(".")[0] for oid in first.missing_columns} == {
            "53",
            "57",
            "45",
        }
        again = leave_out_missing(part, first.missing_columns)
        assert {column.oid for column in again.missing_columns} == first.missing_columns
        with olt.counted() as seen:
            second = olt.ask(again).parts[0]
        assert second.missing_columns == set()
        assert seen[0].requests < first.load.requests
        assert second.rows == first.rows


def test_values_that_no_onu_has_are_not_asked_for_again() -> None:
    with site(onus=50) as olt:
        known = olt.known()
        olt.misbehave(lacks=(OPTICS,))
        part = olt.part("get", "onu_rx_dbm", "description")
        found = olt.ask(part, known=known).parts[0]
        assert found.state is PartState.SUCCESS
        assert found.unanswered == {}
        assert {f"{XPON}.51.1.4"} <= found.missing_columns
        assert f"{XPON}.43.1.9" not in found.missing_columns


def test_a_part_of_which_nothing_is_left_asks_nothing_and_says_so() -> None:
    with site(onus=5) as olt:
        part = olt.part("table", "distance_m")
        left = leave_out_missing(part, frozenset(column.oid for column in part.columns))
        with olt.counted() as seen:
            collection = olt.ask(left)
        (found,) = collection.parts
        assert found.state is PartState.SUCCESS
        assert str(found.error).startswith("table not present: ")
        assert not collection.was_asked
        assert seen[0].requests == 0


def test_a_discovery_is_never_left_with_nothing_to_ask() -> None:
    with site(onus=5) as olt:
        part = olt.part("discovery", "serial", "mac")
        assert leave_out_missing(part, frozenset(column.oid for column in part.columns)) == part


def test_optics_are_not_walked() -> None:
    with site(onus=5) as olt, olt.counted() as seen:
        (found,) = olt.ask(olt.part("walk", "onu_rx_dbm")).parts
        assert found.state is PartState.FAILED
        assert "ask for it with the kind get" in str(found.error)
        assert found.load.requests == 0
    assert seen[0].requests == 0


def test_a_dear_table_is_walked_only_when_nobody_was_found() -> None:
    with site(onus=20) as olt:
        part = olt.part("discovery", "serial", "mac")
        otherwise = olt.part("discovery", "model").columns
        asked = olt.ask(replace(part, otherwise=otherwise)).parts[0]
        assert asked.decoded is not None
        assert "model" not in asked.decoded.onus.columns
        olt.misbehave(lacks=(CONFIG, f"{XPON}.45.1.10"))
        asked = olt.ask(replace(part, otherwise=otherwise)).parts[0]
        assert asked.state is PartState.SUCCESS
        assert asked.decoded is not None
        assert len(asked.decoded.onus) == 20
