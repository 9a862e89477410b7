"""Many ONUs of a port that go at once are one outage: told once, with its cause, and once when it is over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import ClockState, Onu, PortOutage
from facho.apps.discovery.store import store_findings
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.cli.olt import outages as list_outages
from facho.config import Config
from facho.engine.record.onus import update_outages
from facho.vendors import Key, State
from tests.findings import NOW, an_olt, discovered, facts

pytestmark = pytest.mark.django_db

ONUS = 20
EVERYBODY = range(1, ONUS + 1)


class Port:
    """Port 0/1/7 of an OLT, whose states a test collects every five minutes."""

    def __init__(self, onus: int = ONUS, config: Config | None = None) -> None:
        NotificationRule.objects.create(name="all")
        self.olt = an_olt()
        self.config = config or Config()
        self.now = NOW
        self.store(discovered({onu: f"S{onu}" for onu in range(1, onus + 1)}))
        self.collect(dict.fromkeys(range(1, onus + 1), "online"))

    def store(self, finding: Finding) -> None:
        self.now += timedelta(minutes=5)
        with transaction.atomic():
            unsure = Olt.objects.values_list("states_unsure_since", flat=True).get(id=self.olt.pk)
            stored = store_findings(self.olt.pk, [finding], self.now, absent_after=1)
            update_outages(self.olt.pk, stored.state_changes, unsure, self.now, self.config)

    def collect(
        self, states: Mapping[int | Key, str], cause: str | None = None, *, broken: bool = False
    ) -> None:
        rows = []
        for onu, state in states.items():
            row: dict[str, Any] = {"state": State(state, "its word")}
            if cause is not None and state != "online":
                row["down_cause"] = State(cause, "its word")
            rows.append((onu, row))
        self.store(Finding(facts(rows), broken=broken))

    def falls(self, onus: range, cause: str = "los", *, broken: bool = False) -> None:
        self.collect(dict.fromkeys(onus, "offline"), cause, broken=broken)

    def returns(self, onus: range, *, broken: bool = False) -> None:
        self.collect(dict.fromkeys(onus, "online"), broken=broken)


def notifications() -> list[tuple[Any, ...]]:
    """Since it was last asked for."""
    rows = list(NotificationNotice.objects.order_by("id"))
    NotificationNotice.objects.all().delete()
    names = ("port", "cause", "affected", "onus")
    return [(row.notice, *(row.details[name] for name in names if name in row.details)) for row in rows]


def test_a_cut_fibre_is_told_once_and_so_is_its_end() -> None:
    port = Port()
    port.falls(EVERYBODY)
    began = port.now
    row = NotificationNotice.objects.get()
    assert (row.severity, row.olt, row.about, row.at) == ("HIGH", port.olt, "port 0/1/7", began)
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 20, 20)]
    port.falls(EVERYBODY)
    assert notifications() == []
    port.returns(range(1, 16))
    assert notifications() == []
    port.returns(range(16, 17))
    end = NotificationNotice.objects.get()
    assert (end.notice, end.severity, end.about) == ("PORT_OUTAGE_ENDED", "HIGH", "port 0/1/7")
    assert (end.details["since"], end.details["seconds"]) == (began.isoformat(), 15 * 60)
    outage = PortOutage.objects.get()
    assert (outage.began_at, outage.ended_at, outage.is_open) == (began, port.now, False)
    notifications()
    port.returns(EVERYBODY)
    assert notifications() == []


def test_dying_gasps_are_a_power_cut() -> None:
    port = Port()
    port.falls(EVERYBODY, "power_off")
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "power_cut", 20, 20)]


def test_a_state_that_says_why_needs_no_cause() -> None:
    port = Port()
    port.collect(dict.fromkeys(EVERYBODY, "power_off"))
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "power_cut", 20, 20)]


def test_without_any_cause_it_is_unknown() -> None:
    port = Port()
    port.collect(dict.fromkeys(EVERYBODY, "offline"))
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "unknown", 20, 20)]


def test_a_few_are_none() -> None:
    port = Port()
    port.falls(range(1, 8))
    assert notifications() == []
    # Not even with those of before: it is not what happened between two collections.
    port.falls(range(8, 10))
    assert notifications() == []
    assert not PortOutage.objects.exists()


def test_half_of_a_small_port_is_one() -> None:
    port = Port(onus=6)
    port.falls(range(1, 4))
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 3, 6)]


def test_both_limits_are_settings() -> None:
    port = Port(config=replace(Config(), outage_onus=4, outage_share=100.0))
    port.falls(range(1, 4))
    assert notifications() == []
    port.falls(range(4, 8))
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 4, 20)]


def test_who_goes_later_belongs_to_the_open_one() -> None:
    port = Port()
    port.falls(range(1, 10), "los")
    notifications()
    port.falls(range(10, 21), "power_off")
    assert notifications() == []
    outage = PortOutage.objects.get()
    assert (outage.onus_affected, outage.onus_known, outage.cause) == (20, 20, "power_cut")
    # Nine are not most of them any more.
    port.returns(range(1, 10))
    assert notifications() == []
    port.returns(range(10, 17))
    assert notifications() == [("PORT_OUTAGE_ENDED", "0/1/7", "power_cut", 20)]


def test_who_starts_and_falls_again_is_counted_once_and_is_no_new_outage() -> None:
    port = Port(onus=50)
    everybody = range(1, 51)
    port.falls(everybody)
    port.collect(dict.fromkeys(everybody, "starting"))
    port.falls(everybody)
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 50, 50)]
    assert PortOutage.objects.get().onus_affected == 50
    port.returns(range(1, 41))
    assert notifications() == [("PORT_OUTAGE_ENDED", "0/1/7", "fibre_cut", 50)]
    # Ten that were never back do not begin another one.
    port.collect(dict.fromkeys(range(41, 51), "starting"))
    port.falls(range(41, 51))
    assert notifications() == []


def test_a_second_cut_after_most_came_back_is_an_outage_of_its_own() -> None:
    port = Port()
    port.falls(range(1, 11))
    port.returns(range(1, 7))
    notifications()
    port.falls(range(11, 21), "power_off")
    assert notifications() == [
        ("PORT_OUTAGE_ENDED", "0/1/7", "fibre_cut", 10),
        ("PORT_OUTAGE", "0/1/7", "power_cut", 10, 20),
    ]
    assert PortOutage.objects.filter(ended_at=None).count() == 1


def test_ports_have_their_own() -> None:
    port = Port()
    there = {Key(0, 1, 8, onu): f"T{onu}" for onu in range(1, 5)}
    here = {Key(0, 1, 7, onu): f"S{onu}" for onu in EVERYBODY}
    every = {**here, **there}
    port.store(Finding(facts((key, {"serial": serial}) for key, serial in every.items()), True))
    port.collect(dict.fromkeys(every, "online"))
    port.collect({**dict.fromkeys(here, "offline"), **dict.fromkeys(there, "online")}, "los")
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 20, 20)]
    port.collect(dict.fromkeys(there, "offline"), "power_off")
    assert notifications() == [("PORT_OUTAGE", "0/1/8", "power_cut", 4, 4)]
    port.collect(dict.fromkeys(every, "online"))
    assert sorted(notifications()) == [
        ("PORT_OUTAGE_ENDED", "0/1/7", "fibre_cut", 20),
        ("PORT_OUTAGE_ENDED", "0/1/8", "power_cut", 4),
    ]


def test_nobody_waits_for_who_is_not_there_any_more() -> None:
    port = Port()
    port.falls(range(1, 11))
    notifications()
    # One complete discovery without them makes them absent here.
    port.store(discovered({onu: f"S{onu}" for onu in range(7, 21)}))
    assert Onu.objects.filter(presence="absent").count() == 6
    port.returns(range(7, 11))
    assert notifications() == [("PORT_OUTAGE_ENDED", "0/1/7", "fibre_cut", 10)]


def test_a_collection_that_broke_off_concludes_nothing_and_the_next_whole_one_does() -> None:
    port = Port()
    port.falls(range(1, 13), broken=True)
    port.falls(range(13, 15), broken=True)
    assert notifications() == []
    assert not PortOutage.objects.exists()
    # Nothing changed since, and yet it is news.
    port.falls(range(1, 15))
    assert notifications() == [("PORT_OUTAGE", "0/1/7", "fibre_cut", 14, 20)]
    port.returns(range(1, 15), broken=True)
    assert notifications() == []
    port.returns(EVERYBODY)
    assert notifications() == [("PORT_OUTAGE_ENDED", "0/1/7", "fibre_cut", 14)]
    assert Olt.objects.get().states_unsure_since is None


def test_who_is_back_before_the_next_whole_collection_was_no_outage() -> None:
    port = Port()
    port.falls(EVERYBODY, broken=True)
    port.returns(EVERYBODY)
    assert notifications() == []
    assert not PortOutage.objects.exists()


def test_where_nothing_changed_nothing_is_asked() -> None:
    port = Port()
    port.falls(EVERYBODY)
    with CaptureQueriesContext(connection) as queries:
        port.falls(EVERYBODY)
    # The test's own look at the OLT, and all ONUs at once.
    asked = [each["sql"] for each in queries if each["sql"].startswith(("SELECT", "UPDATE", "INSERT"))]
    assert not [statement for statement in asked if "port_outages" in statement]
    assert len(asked) == 2


@pytest.mark.both_databases
def test_an_outage_that_a_discovery_saw_first_begins_when_its_first_onu_went() -> None:
    port = Port()
    port.falls(EVERYBODY)
    seen, went = port.now, port.now - timedelta(minutes=4)
    assert PortOutage.objects.get().began_at == seen
    state = {"state": State("offline", "its word"), "down_cause": State("los", "its word")}
    rows = [(onu, {**state, "last_down": went + timedelta(seconds=onu)}) for onu in EVERYBODY]
    ClockState.objects.create(olt=port.olt, low_s=0, high_s=1, since=NOW, checked_at=NOW, read_at=NOW)
    port.store(Finding(facts(rows)))
    assert PortOutage.objects.get().began_at == went
    port.store(Finding(facts(rows)))
    assert PortOutage.objects.get().began_at == went


def test_a_later_date_does_not_move_an_outage_that_others_began() -> None:
    port = Port()
    port.falls(range(1, 11))
    began = port.now
    port.falls(range(1, 13))
    state = {"state": State("offline", "its word"), "last_down": port.now - timedelta(minutes=2)}
    ClockState.objects.create(olt=port.olt, low_s=0, high_s=1, since=NOW, checked_at=NOW, read_at=NOW)
    port.store(Finding(facts([(12, state)])))
    assert PortOutage.objects.get().began_at == began


def test_it_is_in_the_coordinators_log(logged: Callable[[], list[CoordinatorLog]]) -> None:
    port = Port()
    port.falls(EVERYBODY)
    port.now += timedelta(minutes=85)
    port.returns(EVERYBODY)
    begin, end = logged()
    assert (begin.event_type, begin.level, begin.olt) == ("PORT_OUTAGE", "ERROR", port.olt)
    assert begin.message == "caída del puerto 0/1/7 de olt, corte de fibra: 20 de 20 ONUs fuera de línea"
    assert (end.event_type, end.level) == ("PORT_OUTAGE_ENDED", "INFO")
    assert end.message == "terminó la caída del puerto 0/1/7 de olt después de 90 min; ONUs afectadas: 20"


def test_they_are_listed_the_last_one_first(capsys: pytest.CaptureFixture[str]) -> None:
    port = Port()
    port.falls(EVERYBODY)
    port.returns(EVERYBODY)
    port.falls(EVERYBODY, "power_off")
    list_outages("olt", only_open=False, as_json=True)
    last, first = json.loads(capsys.readouterr().out)
    assert (first["port"], first["cause"], first["seconds"]) == ("0/1/7", "fibre_cut", 300)
    assert (last["cause"], last["ended_at"], last["onus_affected"]) == ("power_cut", None, 20)
    list_outages(None, only_open=True, as_json=False)
    shown = capsys.readouterr().out
    assert "power cut" in shown
    assert "20 of 20" in shown
    assert "fibre cut" not in shown
