"""`/metrics`: who may read it, that it says what the database says, and that it stays cheap."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse
from rest_framework.test import APIClient

from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import CoordinatorState, QuotaViolation
from facho.apps.executions.models import Execution, ExecutionTotals, State
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationDelivery
from facho.apps.remote_write.models import RemoteWriteTotals
from facho.apps.zabbix_pollers.models import Worker
from facho.config import Config
from facho.core.rates import Drops
from facho.core.roles import Role
from facho.web.metrics import reading, views
from facho.web.metrics.catalogue import METRICS, ONU_METRICS, Kind
from facho.web.server import answer_cache
from tests.api_clients import asking, person
from tests.sample_rows import fill
from tests.traffic_rows import add_traffic, traffic_of
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.django_db
HOSTILE = 'a"b\\c\nfacho_olts{state="enabled"} 99'


def scrape(client: APIClient | None = None, path: str = "/metrics") -> str:
    cache.clear()
    answer = (client or asking(Role.METRICS)).get(path)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def values(text: str) -> dict[tuple[str, ...], float]:
    """By the series' name and the values of its labels."""
    samples = [sample for family in parse(text) for sample in family.samples]
    found = {(sample.name, *sample.labels.values()): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


@pytest.mark.both_databases
def test_it_has_the_traffic_of_each_olt_and_the_rates_that_were_dropped() -> None:
    fill(1)
    olt = Olt.objects.get()
    add_traffic(
        traffic_of(olt.pk, "port", timezone.now(), {1: (5, 70)}, drops=Drops(over=3)),
        # What the uplinks send is not known.
        traffic_of(olt.pk, "link", timezone.now(), {1: (60, None)}),
        traffic_of(olt.pk, "onu", timezone.now() - timedelta(hours=1), {1: (1, 2)}),
    )
    found = values(scrape())
    name = "facho_olt_traffic_bits_per_second"
    assert {series[1:3]: value for series, value in found.items() if series[0] == name} == {
        ("to_customers", "port"): 70, ("from_customers", "port"): 5,
        ("to_customers", "uplink"): 60,
    }  # fmt: skip
    assert found["facho_rates_dropped_total", "port", olt.name, "over"] == 3


def test_only_a_token_of_its_own_role_reads_it() -> None:
    assert asking(Role.METRICS).get("/metrics").status_code == 200
    for role in (Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR):
        assert asking(role).get("/metrics").status_code == 401
    answer = Client().get("/metrics")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
    logged_in = Client()
    logged_in.force_login(person(Role.ADMINISTRATOR))
    assert logged_in.get("/metrics").status_code == 401
    assert Client(headers={"Authorization": "Bearer fd_wrong"}).get("/metrics").status_code == 401


def test_such_a_token_reads_nothing_else() -> None:
    assert asking(Role.METRICS).get("/api/v1/nodes/").status_code == 403


def test_remote_write_is_not_told_while_it_is_off() -> None:
    """Positions of a time when it was on would look like a backlog that grows for ever."""
    fill(1)
    RemoteWriteTotals.objects.update(failing_since=timezone.now())
    assert not [name for name, *_labels in values(scrape()) if "remote_write" in name]


@pytest.mark.both_databases
def test_every_metric_of_the_catalogue_is_told_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "current", lambda: Config(remote_write_url="https://metrics.example.net/"))
    fill(5)
    now = timezone.now()
    CoordinatorState.objects.create(name="scheduler", updated_at=now)
    RemoteWriteTotals.objects.update(last_success_at=now)
    Olt.objects.filter(name="olt-000").update(reachable=True)
    add_traffic(traffic_of(Olt.objects.values_list("id", flat=True)[0], "port", now, {1: (5, 70)}))
    # Whether a disk is seen, and how fast it fills, is not for a test to say.
    known = {"facho_disk_free_bytes", "facho_disk_days_left"}
    names = {name for name, *_labels in values(scrape())}
    series = {each for metric in METRICS for each in metric.series}
    assert names <= series
    assert series - known <= names


@pytest.mark.both_databases
def test_it_says_what_the_database_says() -> None:
    fill(5)
    now = timezone.now()
    CoordinatorState.objects.create(name="scheduler", updated_at=now - timedelta(seconds=30))
    Worker.objects.filter(name="worker-0").update(seen_at=now, pollers=7)
    Olt.objects.filter(name="olt-001").update(enabled=False)
    Olt.objects.filter(name="olt-002").update(suspended_reason="silent", reachable=False)
    QuotaViolation.objects.update(created_at=now)
    NotificationDelivery.objects.filter(olt__name="olt-003").update(status="FAILED", created_at=now)
    Onu.objects.filter(olt__name="olt-004").update(presence="absent")
    ExecutionTotals.objects.filter(olt__name="olt-000").update(
        requests=50, timeouts=3, retries=2, retry_wait_seconds=240.0, delayed=4, delay_seconds=33.5
    )
    found = values(scrape())
    assert found["facho_executions_total", "olt-000", "success"] == 9
    assert found["facho_executions_total", "olt-000", "failed"] == 1
    assert found["facho_olt_execution_seconds_sum", "olt-000"] == 20
    assert found["facho_olt_execution_seconds_count", "olt-000"] == 10
    assert found["facho_snmp_requests_total", "olt-000"] == 50
    assert found["facho_snmp_timeouts_total", "olt-000"] == 3
    assert found["facho_retries_total", "olt-000"] == 2
    assert found["facho_retry_wait_seconds_total", "olt-000"] == 240
    assert found["facho_executions_delayed_total", "olt-000"] == 4
    assert found["facho_execution_delay_seconds_total", "olt-000"] == 33.5
    assert found["facho_execution_duration_seconds_bucket", "get", "1.0"] == 0
    assert found["facho_execution_duration_seconds_bucket", "get", "3.0"] == 50
    assert found["facho_execution_duration_seconds_count", "get"] == 50
    assert (found["facho_olts", "enabled"], found["facho_olts", "disabled"]) == (4, 1)
    assert (found["facho_olts", "suspended"], found["facho_olts", "unreachable"]) == (1, 0)
    assert (found["facho_olt_enabled", "olt-001"], found["facho_olt_suspended", "olt-002"]) == (0, 1)
    assert found["facho_olt_reachable", "olt-002"] == 0
    assert ("facho_olt_reachable", "olt-000") not in found
    assert (found["facho_workers",], found["facho_pollers",]) == (1, 7)
    assert found["facho_queue_size",] == Execution.objects.filter(state=State.WAITING).count() == 1
    assert found["facho_queue_oldest_wait_seconds",] > 3600
    assert 30 <= found["facho_step_age_seconds", "scheduler"] < 90
    assert (found["facho_violations", "high"], found["facho_violations", "low"]) == (5, 0)
    assert (found["facho_notifications", "waiting"], found["facho_notifications", "failed"]) == (4, 1)
    assert found["facho_outages_open", "fibre_cut"] == 5
    assert (found["facho_onus", "olt-000", "online"], found["facho_onus", "olt-004", "absent"]) == (1, 1)


def test_a_removed_olt_takes_its_series_with_it_and_no_sum_goes_back() -> None:
    fill(2)
    before = values(scrape())
    Olt.objects.get(name="olt-001").delete()
    after = values(scrape())
    assert ("facho_executions_total", "olt-001", "success") not in after
    count = ("facho_execution_duration_seconds_count", "get")
    assert after[count] == before[count] == 20


def test_hostile_names_stay_in_their_labels() -> None:
    fill(1)
    Olt.objects.update(name=HOSTILE, site="\r\n#")
    found = values(scrape())
    assert found["facho_olt_enabled", HOSTILE] == 1
    assert found["facho_olts", "enabled"] == 1


def test_whoever_asks_for_open_metrics_gets_them() -> None:
    fill(2)
    client = asking(Role.METRICS)
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    told = parse_open(answer.content.decode())  # type: ignore[no-untyped-call]
    families = {family.name: family for family in told}
    assert families["facho_executions"].type == "counter"
    assert client.get("/metrics")["Content-Type"].startswith("text/plain; version=0.0.4")


def test_values_of_onus_are_told_on_request_of_one_olt() -> None:
    fill(2)
    Onu.objects.filter(olt__name="olt-000").update(onu_rx_dbm=-21.5, olt_rx_dbm=-23.0, serial="ABCD01")
    client = asking(Role.METRICS)
    assert "facho_onu_" not in scrape(client)
    onu = str(Onu.objects.get(olt__name="olt-000").id)
    found = values(scrape(client, "/metrics?onus=1&olt=olt-000"))
    who = ("olt-000", onu, "0/0/0/0", "ABCD01")
    assert found == {
        ("facho_onu_state", *who, "online"): 1,
        ("facho_onu_rx_power_dbm", *who): -21.5,
        ("facho_onu_olt_rx_power_dbm", *who): -23.0,
    }
    assert {name for name, *_ in found} == {metric.name for metric in ONU_METRICS}
    for query in ("onus=1", "onus=1&olt=zzz"):
        assert client.get(f"/metrics?{query}").status_code == 400


def test_a_scrape_takes_as_many_queries_for_50_olts_as_for_5() -> None:
    client = asking(Role.METRICS)
    taken = []
    for beginning, count in ((0, 5), (5, 45)):
        fill(count, beginning_at=beginning)
        scrape(client)
        with CaptureQueriesContext(connection) as queries:
            scrape(client)
        taken.append(len(queries))
    assert taken[0] == taken[1] <= 33


def test_who_asks_again_at_once_costs_nothing_but_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "current", lambda: Config(metrics_kept=timedelta(hours=1)))
    client = asking(Role.METRICS)
    client.get("/metrics")
    with CaptureQueriesContext(connection) as queries:
        client.get("/metrics")
    assert len(queries) <= 3


def test_scrapes_do_not_pile_up_behind_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "_WAIT_S", 0.01)
    began, let_go = threading.Event(), threading.Event()

    def slow() -> bytes:
        began.set()
        assert let_go.wait(PATIENCE_S)
        return b"slow"

    first = threading.Thread(target=views._cache.get, args=("fleet.False", timedelta(hours=1), slow))
    first.start()
    assert began.wait(PATIENCE_S)
    client = asking(Role.METRICS)
    assert client.get("/metrics").status_code == 503
    let_go.set()
    first.join(PATIENCE_S)
    assert client.get("/metrics").content == b"slow"


def test_a_scrape_that_fails_says_so_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> None:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr(views, "samples", fails)
    client = asking(Role.METRICS)
    client.raise_request_exception = False
    with caplog.at_level(logging.ERROR):
        assert client.get("/metrics").status_code == 500
    assert any("/metrics" in record.getMessage() and record.exc_info for record in caplog.records)
    monkeypatch.setattr(views, "samples", reading.samples)
    assert client.get("/metrics").status_code == 200


def test_the_page_of_metrics_has_each_of_them_as_it_is() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "reference", "metrics.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `facho_")]
    assert rows == [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {each.what} |"
        for each in (*METRICS, *ONU_METRICS)
    ]


def test_names_follow_the_conventions_of_prometheus() -> None:
    for metric in (*METRICS, *ONU_METRICS):
        assert metric.name.startswith("facho_")
        assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
