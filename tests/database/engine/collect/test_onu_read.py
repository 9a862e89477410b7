"""One ONU, read now: asked under its OLT's lease by a poller, and nothing concluded about the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
import typer

from facho.apps.chassis.models import PonPort
from facho.apps.discovery.models import Collected, Onu, Presence
from facho.apps.executions.models import Execution, ExecutionTotals, State, Trigger
from facho.apps.executions.store import totals_by_olt
from facho.apps.history.models import HistoryFrame
from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.zabbix_pollers.store import register_worker
from facho.cli.onu import read_onu_now
from facho.config import Config
from facho.core.reasons import in_english, to_json
from facho.engine.collect.onu_read import ANOTHER, NOT_ONLINE
from facho.engine.commands.runs import read_onu
from facho.engine.process import leases
from facho.engine.record import recorder
from facho.engine.schedule import runner
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.runner import Runtime, run_execution
from facho.engine.schedule.slots import queue_due_slots
from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.scenario import Scenario
from facho.vendors import builtin
from tests.factories import at, make_job, make_node, make_olt
from tests.virtual_fleet import VirtualFleet

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.both_databases,
    pytest.mark.usefixtures("live_poller"),
]

ONUS = 40
CONFIG = replace(Config(), request_timeout=timedelta(seconds=0.15), request_retries=1)


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=ONUS)) as fleet:
        yield fleet


class Site:
    """One OLT whose ONUs were discovered, one poller, and a clock that the test sets."""

    def __init__(self, fleet: VirtualFleet) -> None:
        self.fleet = fleet
        self.runtime = Runtime(CONFIG, "here", fleet.snmp, lambda: self.now)
        self.now = at("10:00")
        fleet.set_scenario(PRESETS["plain"].scenario)
        self.olt = make_olt("north", port=fleet.addresses[0][1])
        make_node(self.olt, make_job("discovery", facts=["state"]), next_run_at=self.now)

    def run(self) -> Execution:
        register_worker("here", 1, self.now)
        queue_due_slots(self.now, CONFIG)
        (execution_id,) = claim_executions(self.now, CONFIG)
        run_execution(execution_id, self.runtime)
        return Execution.objects.get(id=execution_id)

    def read(self, onu: Onu) -> Execution:
        self.now = at("10:05")
        asked = read_onu(onu.id, self.now)
        execution = self.run()
        assert execution.id == asked
        onu.refresh_from_db()
        return execution


@pytest.fixture
def site(fleet: VirtualFleet) -> Site:
    sync_profiles(builtin())
    site = Site(fleet)
    site.run()
    return site


def an_onu(**columns: Any) -> Onu:
    return Onu.objects.filter(**{"state": "online", **columns}).order_by("id")[0]


def others(onu: Onu) -> list[dict[str, Any]]:
    return [dict(row) for row in Onu.objects.exclude(id=onu.id).order_by("id").values()]


def test_its_facts_are_told_and_stored_and_those_of_nobody_else(site: Site) -> None:
    onu = an_onu()
    before, collected = others(onu), Collected.objects.count()
    execution = site.read(onu)
    facts, unread = execution.result["facts"], execution.result["unread"]
    assert (execution.state, execution.trigger, execution.onu_id) == ("SUCCESS", Trigger.RUN_NOW, onu.id)
    assert facts["onu_rx_dbm"] == onu.onu_rx_dbm is not None
    assert (facts["serial"], facts["state"]) == (onu.serial, "online")
    assert (facts["distance_m"], facts["description"]) == (onu.distance_m, onu.description)
    assert in_english(unread["ip"]) == "the OLT would have to be walked for it"
    assert facts.keys().isdisjoint(unread)
    assert (others(onu), Collected.objects.count()) == (before, collected)
    assert execution.counts["absent"] == 0


def test_it_counts_for_nothing_that_is_said_of_the_olt(site: Site) -> None:
    Olt.objects.update(failed_in_a_row=2)
    ports, frames = PonPort.objects.count(), HistoryFrame.objects.count()
    (before,) = totals_by_olt()
    site.read(an_onu())
    olt, (after,) = Olt.objects.get(), totals_by_olt()
    assert (olt.failed_in_a_row, olt.lacks, olt.reachable) == (2, {}, True)
    assert (PonPort.objects.count(), HistoryFrame.objects.count()) == (ports, frames + 1)
    assert after["all_succeeded"] == before["all_succeeded"] == 1
    assert after["all_requests"] > before["all_requests"]
    assert ExecutionTotals.objects.get(kind="onu").succeeded == 1


def test_what_the_olt_reads_from_onus_is_not_asked_of_one_that_is_offline(site: Site) -> None:
    onu = Onu.objects.exclude(state="online")[0]
    execution = site.read(onu)
    assert execution.result["unread"]["onu_rx_dbm"] == to_json(NOT_ONLINE)
    assert execution.result["facts"]["state"] == onu.state


def test_one_that_came_back_is_found_online_before_its_light_is_asked_for(site: Site) -> None:
    onu = an_onu()
    Onu.objects.filter(id=onu.id).update(state="los", down_cause="los")
    execution = site.read(onu)
    assert (onu.state, onu.onu_rx_dbm) == ("online", execution.result["facts"]["onu_rx_dbm"])
    assert onu.events.filter(kind="online", at=site.now).exists()


def test_one_onu_that_went_is_no_conclusion_about_its_port(site: Site) -> None:
    onu = Onu.objects.exclude(state="online")[0]
    Onu.objects.filter(id=onu.id).update(state="online")
    site.read(onu)
    assert Olt.objects.get().states_unsure_since == site.now


def test_what_is_told_of_another_onu_at_its_place_is_not_stored(site: Site) -> None:
    onu = an_onu()
    Onu.objects.filter(id=onu.id).update(serial="HWTC00000000AB", distance_m=-7)
    execution = site.read(onu)
    assert (execution.state, execution.error, onu.distance_m) == ("FAILED", ANOTHER, -7)
    assert execution.result["facts"] == {}
    assert to_json(ANOTHER) in execution.result["unread"].values()


def test_a_silent_olt_is_told_so_and_not_asked_again(site: Site) -> None:
    site.fleet.set_scenario(Scenario(silent=True))
    execution = site.read(an_onu())
    assert execution.state == State.FAILED
    assert execution.result["unread"]["state"] == to_json(execution.error) != ""
    olt = Olt.objects.get()
    assert (olt.reachable, olt.failed_in_a_row) == (False, 0)


def test_who_lost_the_olt_writes_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    onu = an_onu()
    Onu.objects.filter(id=onu.id).update(distance_m=-7)
    store = recorder.record

    def late(*given: Any) -> State:
        Execution.objects.filter(state=State.RUNNING).update(state=State.ABORTED)
        return store(*given)

    monkeypatch.setattr(runner, "record", late)
    execution = site.read(onu)
    assert (execution.state, execution.result, onu.distance_m) == (State.ABORTED, {}, -7)


def test_a_process_that_stops_hands_it_to_the_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_given: Any) -> State:
        site.runtime.stopping.set()
        raise leases.LeaseLost("the process stops")

    monkeypatch.setattr(runner, "record", stop)
    execution = site.read(an_onu())
    assert (execution.state, execution.attempt) == (State.WAITING, 0)


def test_one_that_is_gone_when_its_turn_comes_is_not_asked(site: Site) -> None:
    onu = an_onu()
    asked = read_onu(onu.id, site.now)
    Onu.objects.filter(id=onu.id).update(presence=Presence.ABSENT)
    assert site.run().id == asked
    assert str(Execution.objects.get(id=asked).error) == "the ONU no longer has a place"


def test_a_person_at_a_terminal_waits_for_what_the_engine_reads(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facho.apps.db.database.database_now", lambda: site.now)
    onu = an_onu()
    later = replace(CONFIG, worker_seen_within=timedelta(seconds=-1))
    with pytest.raises(typer.Exit) as ended:
        read_onu_now(onu.serial, None, later, Event(), as_json=True)
    assert (ended.value.exit_code, Execution.objects.filter(onu=onu).count()) == (1, 0)
    assert "facho up" in capsys.readouterr().err

    def look(_seconds: float) -> bool:
        site.run()
        return False

    waiting = Event()
    monkeypatch.setattr(waiting, "wait", look)
    read_onu_now(onu.serial, None, CONFIG, waiting, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["facts"]["serial"]) == ("SUCCESS", onu.serial)
    assert told["unread"]["ip"]
