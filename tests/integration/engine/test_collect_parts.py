"""What the parts of one execution bring, and what a part that fails does to the others."""

from __future__ import annotations

import math
import threading
from collections.abc import Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from facho.core.request_rules import RequestPace
from facho.engine.collect.collector import collect
from facho.engine.collect.part_results import Collection, PartState
from facho.engine.collect.request_plan import AskedColumn, KnownOnu, Part
from facho.engine.schedule.runner import SnmpTask
from facho.snmp import Learned, Target
from facho.vendors import Entity, Key
from tests.integration.engine.site import FAMILIES, Site, site

T = TypeVar("T")
every_family = pytest.mark.parametrize("family", FAMILIES)
UPTIME = AskedColumn("uptime", "1.3.6.1.2.1.1.3.0")
SYSTEM = AskedColumn("system", "1.3.6.1.2.1.1")


def states(collection: Collection) -> list[PartState]:
    return [part.state for part in collection.parts]


def facts(collection: Collection, number: int, fact: str) -> dict[Key, object]:
    decoded = collection.parts[number].decoded
    assert decoded is not None
    return dict(zip(decoded.onus.keys, decoded.onus.columns[fact], strict=True))


@every_family
def test_what_a_discovery_finds_is_asked_for_in_the_same_execution(family: str) -> None:
    with site(family, onus=300) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", "state"),
            olt.part("get", "description", job="descriptions"),
        )
        assert states(found) == [PartState.SUCCESS] * 2
        assert found.succeeded
        assert (found.parts[0].rows, found.parts[1].rows, found.parts[1].onus_asked) == (300, 300, 300)
        assert facts(found, 1, "description").keys() == facts(found, 0, "serial").keys()
        assert all(facts(found, 1, "description").values())
        assert olt.fleet.report().total.overlaps == 0


@every_family
def test_a_get_gives_what_a_walk_gives(family: str) -> None:
    with site(family, onus=300) as olt:
        wanted = ("description", "state", "distance_m")
        found = olt.ask(
            olt.part("discovery", "serial", "state"),
            olt.part("table", *wanted),
            olt.part("get", *wanted),
        )
        assert states(found) == [PartState.SUCCESS] * 3
        for fact in wanted:
            assert facts(found, 1, fact) == facts(found, 2, fact)


@every_family
def test_six_chained_parts_each_have_their_own_result(family: str) -> None:
    with site(family, onus=150) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", "state"),
            olt.part("get", "description", job="descriptions"),
            olt.part("get", "distance_m", job="distances"),
            olt.part("get", "onu_rx_dbm", job="optics"),
            olt.part("table", "state", "name", job="ports", entity=Entity.PORT),
            olt.part("bulk", "cpu_pct", "memory_pct", job="boards", entity=Entity.BOARD),
            olt.part("walk", "down_cause", job="causes"),
        )
        assert states(found) == [PartState.SUCCESS] * 7
        assert all(part.rows and part.load.requests and part.seconds > 0 for part in found.parts)
        assert sum(part.load.requests for part in found.parts) == olt.fleet.report().total.requests
        ports, boards = found.parts[4].decoded, found.parts[5].decoded
        assert ports is not None
        assert boards is not None
        assert len(ports[Entity.PORT]) == 3
        assert found.cpu_pct == max(map(float, map(str, boards[Entity.BOARD].columns["cpu_pct"])))


def test_when_the_master_fails_its_chain_is_not_run() -> None:
    with site(onus=100, generr_rows=(20,)) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", job="who is there"),
            olt.part("get", "description"),
            olt.part("walk", "state"),
        )
        assert states(found) == [PartState.FAILED, PartState.SKIPPED, PartState.SKIPPED]
        assert not found.succeeded
        assert not found.silent
        assert "fails (genErr) on the row" in str(found.error)
        assert [str(part.error) for part in found.parts[1:]] == ["not run: who is there failed"] * 2
        # What did come is there, and nobody may conclude from it who is gone.
        assert found.parts[0].rows == 99


def test_a_chained_part_that_fails_does_not_stop_the_others() -> None:
    with site(onus=100, generr_rows=(20,), columns=("distance",)) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", "state"),
            olt.part("walk", "distance_m"),
            olt.part("get", "description"),
        )
        assert states(found) == [PartState.SUCCESS, PartState.FAILED, PartState.SUCCESS]
        assert found.succeeded
        assert found.parts[2].rows == 100


def test_an_olt_that_falls_silent_is_not_asked_for_the_parts_that_are_left() -> None:
    with site(onus=100) as olt:
        known = olt.known()
        work = olt.work(
            olt.part("walk", "description"),
            olt.part("get", "distance_m", job="distances"),
            olt.part("walk", "state"),
            known=known,
        )
        came = 0

        def dies(values: int) -> None:
            nonlocal came
            came += values
            if came >= 100:
                olt.fleet.call(0, "silence")

        found = olt.collect(work, progress=dies)
        assert states(found) == [PartState.FAILED, PartState.SKIPPED, PartState.SKIPPED]
        # It was heard, so this is no OLT that answers nothing at all.
        assert not found.silent
        assert str(found.error).startswith("no answer from")


def test_a_silent_olt_in_a_chained_part_skips_the_rest() -> None:
    with site(onus=100) as olt:
        asked = 0

        def run(coroutine: Coroutine[Any, Any, T]) -> T:
            nonlocal asked
            asked += 1
            if asked == 2:
                olt.fleet.call(0, "silence")
            return SnmpTask(olt.snmp).run(coroutine)

        work = olt.work(
            olt.part("discovery", "serial", "state"),
            olt.part("get", "description", job="descriptions"),
            olt.part("walk", "state"),
        )
        found = collect(work, run, olt.snmp.client, None, threading.Lock())
        assert states(found) == [PartState.SUCCESS, PartState.FAILED, PartState.SKIPPED]
        assert found.parts[1].silent
        assert str(found.parts[2].error) == "not run: the OLT stopped answering during descriptions"
        assert asked == 2


def test_an_olt_without_onus_is_discovered_all_the_same() -> None:
    with site(onus=0) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", "state"),
            olt.part("get", "description"),
            known=(KnownOnu(Key(0, 1, 0, 5)),),
        )
        assert states(found) == [PartState.SUCCESS] * 2
        assert found.parts[0].rows == 0
        assert found.parts[1].onus_asked == 0


def test_only_onus_that_are_online_are_asked_for_what_the_olt_must_ask_them_for() -> None:
    with site(onus=200) as olt:
        known = olt.known()
        online = [onu for onu in known if onu.online]
        assert 0 < len(online) < 200
        with olt.counted() as seen:
            found = olt.ask(olt.part("get", "onu_rx_dbm", "temperature_c"), known=known)
        assert found.succeeded
        assert found.parts[0].onus_asked == len(online)
        # And the uptime, to see whether it is there at all.
        assert seen[0].varbinds == 2 * len(online) + 1
        assert facts(found, 0, "onu_rx_dbm").keys() == {onu.key for onu in online}


def with_names(olt: Site, part: Part) -> Part:
    """And the columns that its indexes are read with, which a job would bring along."""
    names = {table.index.named.column for table in olt.profile.tables if table.index.named is not None}
    helping = tuple(AskedColumn("names", oid, oid, helps=True) for oid in sorted(names))
    return replace(part, columns=(*part.columns, *helping))


# Nokia says who is online among all its interfaces. The numbers of Datacom's ONUs say nothing: it is walked.
@pytest.mark.parametrize(("family", "kind"), [("nokia", "get"), ("datacom", "table")])
def test_optics_belong_to_the_onus_that_were_discovered_whatever_their_index(family: str, kind: str) -> None:
    with site(family, onus=150) as olt:
        found = olt.ask(
            with_names(olt, olt.part("discovery", "serial", "state")),
            with_names(olt, olt.part(kind, "onu_rx_dbm", "onu_tx_dbm")),
        )
        assert states(found) == [PartState.SUCCESS] * 2
        online = {key for key, state in facts(found, 0, "state").items() if str(state) == "online"}
        assert 0 < len(online) < 150
        assert {key for key, power in facts(found, 1, "onu_rx_dbm").items() if power is not None} == online


def test_no_request_asks_for_more_values_than_the_table_bears() -> None:
    with site(onus=100, toobig_varbinds=24) as olt:
        known = olt.known()
        with olt.counted() as seen:
            found = olt.ask(olt.part("get", "onu_rx_dbm"), known=known, varbinds=60, learned=Learned(60))
        assert found.succeeded
        online = sum(onu.online for onu in known)
        # The uptime, then 24 at once: none was refused for its size.
        assert seen[0].requests == 1 + math.ceil(online / 24)


def test_onus_of_another_technology_are_not_asked_for() -> None:
    with site(onus=50) as olt:
        known = tuple(KnownOnu(onu.key, "epon", online=True) for onu in olt.known())
        with olt.counted() as seen:
            found = olt.ask(olt.part("get", "serial"), known=known)
        assert found.succeeded
        assert (found.parts[0].onus_asked, seen[0].requests) == (0, 0)


def test_gets_are_skipped_while_the_olt_is_too_busy() -> None:
    with site(onus=50) as olt:
        parts = (olt.part("discovery", "serial"), olt.part("get", "description"))
        found = olt.ask(*parts, pace=RequestPace.SKIP_GETS)
        assert states(found) == [PartState.SUCCESS, PartState.SKIPPED]
        assert str(found.parts[1].error) == "skipped: OLT CPU too high"
        with olt.counted() as seen:
            alone = olt.ask(
                parts[1], olt.part("walk", "state"), pace=RequestPace.SKIP_GETS, known=olt.known()
            )
        assert states(alone) == [PartState.SKIPPED, PartState.SKIPPED]
        assert str(alone.parts[1].error) == "not run: get was skipped"
        assert not alone.succeeded
        assert seen[0].get_bulk > 0  # that was olt.known()
        assert sum(part.load.requests for part in alone.parts) == 0


@pytest.mark.parametrize("pace", [RequestPace.ONE_AT_A_TIME, RequestPace.SKIP_GETS])
def test_a_busy_olt_never_has_two_requests_at_once(pace: RequestPace) -> None:
    with site(onus=200, latency_s=0.002) as olt:
        found = olt.ask(
            olt.part("discovery", "serial", "state", "description", "distance_m"),
            olt.part("get", "description", "distance_m"),
            pace=pace,
            learned=Learned(20, 5),
        )
        assert found.succeeded
        assert olt.fleet.report().total.max_outstanding == 1
        # How it was asked today is not what it bears.
        assert found.learned is not None
        assert found.learned.in_flight == 5


def test_several_requests_are_in_flight_when_it_is_not_busy() -> None:
    with site(onus=400, latency_s=0.002) as olt:
        olt.ask(olt.part("get", "description"), known=olt.known(), learned=Learned(20, 5))
        assert olt.fleet.report().total.max_outstanding > 1


def test_a_get_does_not_make_later_walks_smaller() -> None:
    with site(onus=400) as olt:
        found = olt.ask(
            olt.part("walk", "description"),
            olt.part("get", "description"),
            known=olt.known(),
            learned=Learned(50, 5),
        )
        assert found.learned is not None
        assert found.learned.varbinds == 50


def test_rows_of_own_oids_are_kept_as_they_are() -> None:
    with site(onus=20) as olt:
        own = Part(1, "system", "walk", "walk", (), (SYSTEM,))
        one = Part(2, "uptime", "get", "get", (), (UPTIME, AskedColumn("none", "1.3.6.1.4.1.99999.1")))
        found = olt.ask(own, one)
        assert states(found) == [PartState.SUCCESS] * 2
        assert found.parts[0].raw["system"]["1.0"] == "Huawei Integrated Access Software"
        assert found.parts[0].raw["system"]["2.0"] == "1.3.6.1.4.1.2011.2.294"
        assert isinstance(found.parts[1].raw["uptime"][""], int)
        assert "none: there is no value at 1.3.6.1.4.1.99999.1" in str(found.parts[1].error)


def test_a_column_that_the_profile_does_not_read_is_one_of_the_operators_own() -> None:
    with site(onus=20) as olt:
        column = AskedColumn("names", "1.3.6.1.2.1.1.5", read_as="1.3.6.1.4.1.99999")
        found = olt.ask(Part(1, "names", "walk", "walk", (), (column,)))
        assert list(found.parts[0].raw["names"]) == ["0"]


def test_a_column_at_another_oid_is_read_by_the_rules_of_the_profile() -> None:
    with site(onus=200) as olt:
        (state,) = (each for each in olt.part("walk", "state").columns if "gpon" in each.name)
        distances = next(each for each in olt.part("walk", "distance_m").columns if "gpon" in each.name)
        moved = AskedColumn("moved", state.oid, read_as=distances.read_as)
        known = olt.known()
        for kind in ("walk", "get"):
            found = olt.ask(Part(1, "moved", kind, kind, (), (moved,)), known=known)
            assert set(facts(found, 0, "distance_m").values()) == {1, 2}


def test_what_must_never_be_read_is_not_read() -> None:
    with site(onus=20) as olt:
        table = AskedColumn("all", "1.3.6.1.4.1.2011.6.128.1.1.2.43.1")
        with olt.counted() as seen:
            found = olt.ask(Part(1, "all", "walk", "walk", (), (table,)))
        assert str(found.error).endswith("is never read (passwords of the ONUs)")
        assert seen[0].requests == 0


def test_an_execution_ends_at_its_time_limit() -> None:
    with site(onus=2000, latency_s=0.05) as olt:
        found = olt.ask(
            olt.part("walk", "state"),
            olt.part("walk", "description"),
            time_limit=timedelta(seconds=0.4),
        )
        assert states(found) == [PartState.FAILED, PartState.SKIPPED]
        assert str(found.error) == "not finished within the time limit of 0.4 s"
        assert not found.silent


def test_the_time_limit_holds_for_a_get() -> None:
    with site(onus=2000) as olt:
        known = olt.known()
        olt.misbehave(latency_s=0.2)
        found = olt.ask(
            olt.part("walk", "name", entity=Entity.OLT),
            olt.part("get", "description"),
            olt.part("walk", "state"),
            known=known,
            time_limit=timedelta(seconds=2),
        )
        assert states(found) == [PartState.SUCCESS, PartState.FAILED, PartState.SKIPPED]
        assert str(found.parts[1].error) == "not finished within the time limit of 2 s"
        assert 0 < found.parts[1].rows < 2000
        assert str(found.parts[2].error) == "not run: the time limit of 2 s was over"


class LeaseLost(Exception):
    pass


@pytest.mark.parametrize("at", [1, 5, 30, 45])
def test_what_the_guard_raises_ends_everything_at_once(at: int) -> None:
    with site(onus=300, silent_rows=(40,), columns=("description",)) as olt:
        calls = 0

        def guard() -> None:
            nonlocal calls
            calls += 1
            if calls >= at:
                raise LeaseLost

        work = olt.work(
            olt.part("discovery", "serial", "state"),
            olt.part("get", "description"),
            olt.part("walk", "state"),
            learned=Learned(20, 2),
        )
        with pytest.raises(LeaseLost):
            olt.collect(work, guard)
        assert olt.fleet.report().total.requests == at - 1


def test_a_name_that_does_not_resolve_is_no_answer() -> None:
    with site(onus=1) as olt:
        for kind in ("walk", "get"):
            found = olt.ask(
                olt.part(kind, "state"),
                olt.part("walk", "serial"),
                target=Target("olt.invalid"),
                known=(KnownOnu(Key(0, 1, 0, 0)),),
            )
            assert states(found) == [PartState.FAILED, PartState.SKIPPED]
            assert str(found.error) == "the name 'olt.invalid' does not resolve to an address"
            assert found.silent


def test_a_get_of_what_is_not_about_onus_says_so() -> None:
    with site(onus=1) as olt:
        found = olt.ask(olt.part("get", "cpu_pct", entity=Entity.BOARD), known=(KnownOnu(Key(0, 1, 0, 0)),))
        assert str(found.error).endswith("it is not about ONUs; use the kind table or walk")
        assert not found.silent
