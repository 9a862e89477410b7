"""A small past of the demo: its rows agree, pages show something, and the next collection goes on from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from threading import Event

import pytest
from django.contrib.auth.models import User
from django.db.models import Count, F
from django.test import Client

from facho.apps.chassis.models import OltHealth
from facho.apps.db.database import database_now
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, PortOutage
from facho.apps.execution_coordinator.models import QuotaStatus, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Attempt, Execution, ExecutionTotals, SkippedSlots, State
from facho.apps.history.models import HistoryFrame, HistoryHour
from facho.apps.history.selectors import onu_series, subject_series
from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.selectors import olt_traffic
from facho.apps.zabbix_pollers.models import PollerStats
from facho.cli import demo
from facho.config import Config
from facho.core.quota import status_of
from facho.core.traffic import TOTAL_NUMBER
from facho.demo.past import has_no_past
from facho.demo.run_rows import write_poller_stats
from facho.demo.story import make_story
from facho.engine.commands.olts import NewOlt, add_olt
from facho.engine.coordinate.coordinator import coordinator_step
from facho.engine.upkeep.housekeeping import run_housekeeping
from facho.engine.upkeep.retention_rules import RULES, select_too_old
from facho.sim.process import FleetProcess
from facho.vendors import builtin

# What differs between databases is below it: the stores of history and quotas have tests of their own.
pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

# The third port has one of the cuts.
ONUS = 150
DAYS = 8
CONFIG = Config()
NOT_STOPPING = Event()


@pytest.fixture
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(demo.fleet_config(ONUS)) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def few_executions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facho.demo.runs.EXECUTIONS", timedelta(hours=3))


@pytest.fixture
def past(fleet: FleetProcess) -> FleetProcess:
    """The first start of a demo, up to where its engine would start."""
    sync_profiles(builtin())
    demo._prepare(fleet.addresses)
    assert has_no_past()
    assert demo.fill_in_past_once(fleet, CONFIG, NOT_STOPPING, timedelta(days=DAYS))
    return fleet


def test_the_rows_agree_with_each_other_and_none_is_of_the_future(past: FleetProcess) -> None:
    now = database_now()
    assert Onu.objects.count() == 6 * ONUS
    for model, column in (
        (OnuEvent, "at"), (HistoryHour, "hour"), (HistoryFrame, "at"), (Execution, "ended_at"),
        (Attempt, "ended_at"), (QuotaTracker, "updated_at"), (QuotaViolation, "created_at"),
        (PollerStats, "timestamp"), (SkippedSlots, "last_slot"), (PortOutage, "ended_at"),
    ):  # fmt: skip
        assert model._base_manager.exists(), model
        assert not model._base_manager.filter(**{f"{column}__gt": now}).exists(), model
    assert not Execution.objects.filter(ended_at=None).exists()
    assert not Execution.objects.filter(state=State.SUCCESS, ended_at__lt=F("started_at")).exists()
    assert not OnuEvent.objects.filter(at__lt=F("onu__first_seen")).exists()
    _assert_quotas_are_true()
    _assert_totals_cover_executions()
    assert [rule.table for rule in RULES if select_too_old(rule, now, CONFIG).exists()] == []


def _assert_quotas_are_true() -> None:
    closed = QuotaTracker.objects.exclude(closed_at=None)
    for each in closed.only("quota_required", "quota_completed", "status"):
        assert each.status == status_of(each.quota_required, each.quota_completed).value
    missed = closed.filter(status=QuotaStatus.QUOTA_NOT_MET).values_list("olt", "period_start")
    violations = QuotaViolation.objects.values_list("olt", "period_start")
    assert set(missed) == set(violations)
    assert QuotaViolation.objects.filter(acknowledged_at=None).count() == 1
    assert QuotaViolation.objects.exclude(acknowledged_at=None).count() == 1
    for each in QuotaTracker.objects.filter(quota_completed__lt=F("quota_required"), quota_pending=0):
        assert sum(why["count"] for why in each.reasons) == each.quota_required - each.quota_completed


def _assert_totals_cover_executions() -> None:
    for olt in Olt.objects.all():
        mine = Execution.objects.filter(olt=olt)
        totals = ExecutionTotals.objects.filter(olt=olt)
        assert sum(each.succeeded for each in totals) >= mine.filter(state=State.SUCCESS).count() > 0
        assert sum(each.failed for each in totals) >= mine.filter(state=State.FAILED).count()
    numbered = Execution.objects.annotate(rows=Count("attempts")).exclude(rows=F("attempt"))
    assert not numbered.exists()


def test_charts_reach_from_the_first_day_until_now(past: FleetProcess) -> None:
    now = database_now()
    start = now - timedelta(days=DAYS)
    onu = Onu.objects.filter(
        olt__name="demo-huawei-1", state="online", first_seen__lt=start + timedelta(1)
    ).first()
    assert onu is not None
    found = onu_series(onu, ["onu_rx_dbm", "temperature_c"], start, now)
    moments = found.moments()
    assert moments[0] < start + timedelta(hours=3)
    assert moments[-1] > now - timedelta(minutes=11)
    assert found.values["onu_rx_dbm"][-1] == pytest.approx(onu.onu_rx_dbm, abs=0.3)
    assert len(set(found.values["temperature_c"])) > 5
    port = Olt.objects.get(name="demo-huawei-1").pon_ports.first()
    assert port is not None
    sent = subject_series(port.olt_id, port.pk, ["tx_dbm"], start, now)
    assert len(sent.times) > 24 * 2


def test_an_onu_that_moved_has_its_chart_from_both_ports(past: FleetProcess) -> None:
    now = database_now()
    moved = OnuEvent.objects.get(kind=EventKind.MOVED)
    assert moved.onu is not None
    assert moved.place != moved.before
    found = onu_series(moved.onu, ["onu_rx_dbm"], now - timedelta(days=DAYS), now).moments()
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert found[0] < moved.at < found[-1]
    assert max(gaps) < timedelta(hours=2, minutes=1)
    assert HistoryHour.objects.filter(place=moved.before.partition(":")[0], hour__lt=moved.at).exists()


def test_a_demo_that_is_ended_meanwhile_has_no_past_yet(fleet: FleetProcess) -> None:
    sync_profiles(builtin())
    demo._prepare(fleet.addresses)
    stopping = Event()
    stopping.set()
    assert not demo.fill_in_past_once(fleet, CONFIG, stopping, timedelta(days=DAYS))
    assert has_no_past()


def test_pages_have_something_to_show(past: FleetProcess) -> None:
    client = Client(headers={"accept-language": "en"})
    client.force_login(User.objects.create_superuser("admin"))
    onu = OnuEvent.objects.filter(kind=EventKind.WEAK).values_list("onu", flat=True).first()
    outage = PortOutage.objects.get(olt__name="demo-huawei-1")
    port = outage.olt.pon_ports.get(place=outage.place)
    violation = QuotaViolation.objects.get(acknowledged_at=None)
    for page, shown in (
        ("/coordinator/dashboard/", "demo-fiberhome-1"),
        (f"/olts/{outage.olt_id}/", "demo-huawei-1"),
        (f"/olts/{outage.olt_id}/ports/{port.pk}/?days=7", "fibre cut"),
        (f"/onus/{onu}/?hours=720", "weak"),
        ("/onus/worst/", "dBm"),
        ("/plans/", "Next 60 minutes"),
        (f"/violations/{violation.pk}/", "demo-fiberhome-1"),
        ("/admin/execution_coordinator/quotatracker/", "demo-huawei-1"),
        ("/admin/execution_coordinator/quotaviolation/", "demo-nokia-1"),
        ("/admin/executions/execution/", "demo-zte-flaky"),
        ("/admin/discovery/onuevent/", "demo-"),
        ("/admin/discovery/portoutage/", "demo-huawei-1"),
        ("/admin/executions/skippedslots/", "demo-fiberhome-1"),
    ):
        answer = client.get(page)
        assert answer.status_code == 200, page
        assert shown in answer.content.decode(), page


def test_a_second_start_adds_nothing(past: FleetProcess) -> None:
    before = _counted()
    demo._prepare(past.addresses)
    assert not demo.fill_in_past_once(past, CONFIG, NOT_STOPPING, timedelta(days=DAYS))
    assert _counted() == before


def _counted() -> list[int]:
    return [model._base_manager.count() for model in (OnuEvent, HistoryHour, Execution, QuotaTracker)]


def test_an_installation_with_olts_of_its_own_gets_no_past(fleet: FleetProcess) -> None:
    sync_profiles(builtin())
    add_olt(NewOlt("mine", "127.0.0.1", 1161, brand="zte"))
    demo._prepare(fleet.addresses)
    assert not demo.fill_in_past_once(fleet, CONFIG, NOT_STOPPING, timedelta(days=DAYS))
    assert not HistoryHour.objects.exists()


def test_an_engine_that_ran_without_a_past_gets_none_later(fleet: FleetProcess) -> None:
    sync_profiles(builtin())
    demo._prepare(fleet.addresses)
    coordinator_step(database_now(), CONFIG)
    assert not demo.fill_in_past_once(fleet, CONFIG, NOT_STOPPING, timedelta(days=DAYS))


def test_a_past_that_was_interrupted_is_made_anew(
    fleet: FleetProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync_profiles(builtin())
    demo._prepare(fleet.addresses)
    with monkeypatch.context() as patch:
        patch.setattr("facho.demo.past.write_poller_stats", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            demo.fill_in_past_once(fleet, CONFIG, NOT_STOPPING, timedelta(days=DAYS))
    assert has_no_past()
    assert not QuotaViolation.objects.exists()
    assert demo.fill_in_past_once(fleet, CONFIG, NOT_STOPPING, timedelta(days=DAYS))
    assert Onu.objects.count() == 6 * ONUS
    assert QuotaViolation.objects.count() == 2


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_next_collection_goes_on_from_it(past: FleetProcess) -> None:
    """Nobody is new, moved or gone, hardly anybody changes, and the engine goes on with the running hour."""
    demo.set_scenarios(past)
    before = OnuEvent.objects.order_by("-id").values_list("id", flat=True)[0]
    steady = "demo-huawei-1"
    node = SnmpJobHost.objects.get(job__name="state", olt__name=steady)
    demo._collect_once([steady], CONFIG, NOT_STOPPING)
    new = OnuEvent.objects.filter(id__gt=before, olt=node.olt_id)
    assert set(new.values_list("kind", flat=True)) <= {EventKind.WEAK, EventKind.RECOVERED}
    assert new.count() <= 3
    now = database_now()
    result = coordinator_step(now, CONFIG)
    assert result.violations == 0
    running = QuotaTracker.objects.filter(period_end__gt=now)
    assert running.exists()
    whole = running.filter(olt=node.olt_id, task_type="table_state").get()
    assert whole.quota_required >= whole.quota_completed
    run_housekeeping(database_now, CONFIG)
    assert Onu.objects.filter(rx_usual_dbm__isnull=False).count() > ONUS * 4
    assert HistoryHour.objects.exists()


def test_one_poller_has_a_past_too() -> None:
    write_poller_stats(make_story(database_now(), timedelta(days=2)), pollers=1)
    found = PollerStats.objects.values_list("free_pollers", "busy_pollers").distinct()
    assert set(found) == {(0, 1), (1, 0)}


def test_a_week_of_traffic_ends_where_the_live_one_goes_on(past: FleetProcess) -> None:
    now = database_now()
    olt = Olt.objects.get(name="demo-huawei-1")
    before = olt_traffic(olt.id, now)

    assert set(before) == {"onu", "port", "link"}
    assert before["port"].out_bps == pytest.approx(before["onu"].out_bps, rel=0.001)
    assert before["link"].in_bps == pytest.approx(before["onu"].out_bps, rel=0.001)
    (row,) = OltTraffic.objects.filter(olt=olt, subject="onu")
    peaks = [in_bps + out_bps for _at, in_bps, out_bps, _top in json.loads(row.peaks)]
    assert peaks == sorted(peaks, reverse=True)
    day = subject_series(
        olt.id, TOTAL_NUMBER, ["in_bps", "out_bps"], now - timedelta(days=1), now, subject="port"
    )
    totals = [sum(filter(None, both)) for both in zip(*day.values.values(), strict=True)]
    assert peaks[0] == pytest.approx(max(totals), rel=0.01)
    assert max(totals) > 1.5 * min(totals)
    for subject, facts in (("port", ["in_bps", "out_bps"]), ("link", ["in_bps", "out_bps"])):
        series = subject_series(olt.id, TOTAL_NUMBER, facts, now - timedelta(days=8), now, subject=subject)
        assert 7 * 96 - 8 < len(series.times) <= 7 * 96
        assert all(value is not None and value > 0 for fact in facts for value in series.values[fact])

    demo.set_scenarios(past)
    demo._collect_once([olt.name], CONFIG, NOT_STOPPING)
    after = olt_traffic(olt.id, database_now())
    for name, each in after.items():
        assert each.out_bps == pytest.approx(before[name].out_bps, rel=0.6)


def test_the_health_of_a_month_follows_the_day(past: FleetProcess) -> None:
    now = database_now()
    board = OltHealth.objects.filter(olt__name="demo-huawei-1", kind="board").order_by("id")[0]
    series = subject_series(
        board.olt_id, board.id, ["cpu_pct", "temperature_c"], now - timedelta(days=DAYS), now, subject="part"
    )

    for values in series.values.values():
        known = [each for each in values if each is not None]
        assert len(known) > 24 * DAYS / 2
        assert max(known) - min(known) >= 5
