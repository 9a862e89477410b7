"""The admin's pages of quotas, violations and the coordinator's log, as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone, translation

from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    OltConfiguration,
    QuotaTracker,
    QuotaViolation,
)
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJob
from facho.config import Config
from facho.core.changes import Device, OltState, encode_state, fingerprint
from facho.web.admin.base import UpToPaginator
from facho.web.components.quotas import at_risk, risk_of
from tests.findings import an_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

NOW = datetime(2025, 6, 10, 10, 40, tzinfo=UTC)
HOUR = NOW.replace(minute=0)
PAGES = "/admin/execution_coordinator"
HOSTILE = "<script>alert(1)</script>"
BUSY = {"why": "olt_busy", "what": "discovery", "count": 8, "lost_s": 2400}
FAILED = {"why": "failed", "what": "no answer", "count": 1, "lost_s": 300}


@pytest.fixture(autouse=True)
def _at_twenty_to_eleven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def tracker(olt: Olt, completed: int = 0, *, start: datetime = HOUR, **columns: Any) -> QuotaTracker:
    hour = {"period_start": start, "period_end": start + timedelta(hours=1)}
    figures = {f"quota_{name}": columns.pop(name, 0) for name in ("failed", "skipped", "pending")}
    return QuotaTracker.objects.create(
        olt=olt,
        **hour,
        created_at=start,
        updated_at=start,
        quota_completed=completed,
        quota_required=completed + sum(figures.values()),
        **figures,
        **{"task_type": "discovery", **columns},
    )


def violation(olt: Olt, *, at: datetime = NOW, **columns: Any) -> QuotaViolation:
    task = {"task_type": "discovery", "required": 4, "completed": 2, "failed": 0, "skipped": 2}
    fine = {"task_type": "get_state", "required": 12, "completed": 12, "failed": 0, "skipped": 0}
    report = {
        "tasks": [
            {**fine, "percent": 100.0, "severity": None, "reasons": []},
            {**task, "percent": 50.0, "severity": "HIGH", "reasons": [FAILED, BUSY]},
        ],
        "reasons": [BUSY, FAILED],
    }
    start = HOUR - timedelta(hours=1)
    given = {"severity": "HIGH", "report": report, "period_start": start, "period_end": HOUR, **columns}
    return QuotaViolation.objects.create(olt=olt, created_at=at, **given)


def log(olt: Olt | None = None, *, at: datetime = NOW, **columns: Any) -> CoordinatorLog:
    given = {"event_type": "TASK_ADDED", "level": "INFO", "message": "a message", **columns}
    return CoordinatorLog.objects.create(olt=olt, timestamp=at, **given)


def page(client: Client, path: str, language: str = "en") -> str:
    answer = client.get(f"{PAGES}/{path}", headers={"accept-language": language})
    assert answer.status_code == 200
    text = answer.content.decode()
    return text[text.find('id="result_list"') if "result_list" in text else 0 :]


def shown(client: Client, path: str) -> set[int]:
    rows = client.get(f"{PAGES}/{path}").context["cl"].result_list
    return {row.pk for row in rows}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "2025-06-10 10:00\N{EN DASH}11:00",
                "7 of 12, 1 failed, 1 skipped, 3 pending",
                "in progress",
                "4.2 s",
            ),
        ),
        (
            "es",
            (
                "10/06/2025 10:00\N{EN DASH}11:00",
                "7 de 12, 1 fallida, 1 omitida, 3 pendientes",
                "en curso",
                "4,2 s",
            ),
        ),
    ],
)
def test_a_tracker_says_how_far_its_hour_has_come(
    admin_client: Client, language: str, words: tuple[str, ...]
) -> None:
    tracker(an_olt(), 7, failed=1, skipped=1, pending=3, avg_duration_ms=4200)
    told = page(admin_client, "quotatracker/", language)
    assert [word for word in words if word not in told] == []
    # Seven of twelve, and the failed one beside them.
    assert '<line class="fd-completed" x1="0.00%" x2="58.33%"' in told
    assert '<line class="fd-failed" x1="58.33%" x2="66.67%"' in told


def test_an_hour_that_can_no_longer_be_kept_is_marked(admin_client: Client) -> None:
    """Of 12, ten make 80 %."""
    tracker(an_olt("lost"), 6, skipped=3, pending=3)
    tracker(an_olt("just"), 7, skipped=2, pending=3)
    assert "3 slots left, 4 needed" in page(admin_client, "quotatracker/")
    assert "quedan 3 turnos, se necesitan 4" in page(admin_client, "quotatracker/", "es")
    assert page(admin_client, "quotatracker/").count("fd-risk") == 1


def test_what_is_marked_is_what_the_filter_finds() -> None:
    olt = an_olt()
    for completed in range(6):
        for pending in range(6):
            name = f"{completed}-{pending}"
            tracker(olt, completed, pending=pending, skipped=10 - completed - pending, task_type=name)
    tracker(olt, skipped=5, task_type="over", closed_at=NOW, status="FAILED")
    tracker(olt, skipped=5, task_type="off", status="INTERRUPTED")
    for kept in (Config().quota_kept, 55.5):
        marked = {each.pk for each in QuotaTracker.objects.all() if risk_of(each, kept)}
        assert marked == set(QuotaTracker.objects.filter(at_risk(kept)).values_list("pk", flat=True))
        assert 0 < len(marked) < 36


def test_trackers_are_found_by_hour_risk_status_type_and_olt(admin_client: Client) -> None:
    olt, other = an_olt("Centro"), an_olt("Norte")
    SnmpJob.objects.create(
        name="job", brand=olt.brand, kind="get", interval_s=300, priority=40, task_type="before"
    )
    tracker(olt, skipped=2, task_type="this")
    done = {"status": "COMPLETED", "closed_at": NOW}
    tracker(olt, 2, task_type="yesterday", start=HOUR - timedelta(hours=20), **done)
    tracker(other, 2, task_type="before", start=HOUR - timedelta(days=3), **done)
    tracker(other, 2, task_type="long ago", start=HOUR - timedelta(days=30), status="PARTIAL")
    tracker(other, 2, task_type="previous", start=HOUR - timedelta(hours=1), status="QUOTA_NOT_MET")
    types = dict(QuotaTracker.objects.values_list("pk", "task_type"))
    for asked, found in {
        "period_start=hour": {"this"},
        "period_start=previous": {"previous"},
        "period_start=24h": {"this", "previous", "yesterday"},
        "period_start=7d": {"this", "previous", "yesterday", "before"},
        "risk=yes": {"this"},
        "status__exact=COMPLETED": {"yesterday", "before"},
        "result=met": {"yesterday", "before", "long ago"},
        "result=missed": {"previous"},
        "result=open": {"this"},
        "task_type=before": {"before"},
        "q=yester": {"yesterday"},
        f"olt__id__exact={other.pk}": {"before", "previous", "long ago"},
    }.items():
        assert {types[pk] for pk in shown(admin_client, f"quotatracker/?{asked}")} == found, asked


def test_trackers_are_sorted_by_each_column(admin_client: Client) -> None:
    for number in (1, 2):
        tracker(an_olt(f"olt-{number}"), number, skipped=1)
    for column in range(6):
        assert len(shown(admin_client, f"quotatracker/?o=-{column}")) == 2


def test_trackers_are_sorted_by_the_share_that_was_done(admin_client: Client) -> None:
    olt = an_olt()
    for completed, skipped in ((1, 0), (8, 8), (3, 1), (0, 0)):
        tracker(olt, completed, skipped=skipped, task_type=f"{completed}")
    rows = admin_client.get(f"{PAGES}/quotatracker/?o=4").context["cl"].result_list
    assert [row.task_type for row in rows if row.quota_required] == ["8", "3", "1"]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("OLT busy with discovery", ">40 min<", "execution failed: no answer", ">5 min<")),
        ("es", ("OLT ocupada con discovery", ">40 min<", "ejecución fallida: no answer", ">5 min<")),
    ],
)
def test_a_tracker_tells_why_slots_were_lost(
    admin_client: Client, language: str, words: tuple[str, ...]
) -> None:
    row = tracker(an_olt(), 3, failed=1, skipped=8, reasons=[FAILED, BUSY])
    told = page(admin_client, f"quotatracker/{row.pk}/change/", language)
    places = [told.find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            (
                "2025-06-10 09:00\N{EN DASH}10:00",
                "high",
                "discovery 2 of 4",
                "OLT busy with discovery, 8 slots, 40 min",
            ),
        ),
        (
            "es",
            (
                "10/06/2025 09:00\N{EN DASH}10:00",
                "alta",
                "discovery 2 de 4",
                "OLT ocupada con discovery, 8 turnos",
            ),
        ),
    ],
)
def test_a_violation_says_in_a_line_what_was_missed_and_why(
    admin_client: Client, language: str, words: tuple[str, ...]
) -> None:
    violation(an_olt())
    told = page(admin_client, "quotaviolation/", language)
    assert [word for word in words if word not in told] == []
    assert "get_state" not in told


def test_a_violation_shows_each_task_and_the_whole_report(admin_client: Client) -> None:
    row = violation(an_olt())
    told = page(admin_client, f"quotaviolation/{row.pk}/change/")
    for word in (
        "12 of 12",
        "2 of 4, 2 skipped",
        "50.0",
        "execution failed: no answer, 1 slot, 5 min",
        "fd-json",
    ):
        assert word in told, word
    assert "&quot;lost_s&quot;: 2400" in told


def test_a_violation_is_acknowledged_and_says_by_whom(admin_client: Client) -> None:
    row = violation(an_olt())
    assert shown(admin_client, "quotaviolation/?acknowledged=no") == {row.pk}
    for _time in range(2):
        chosen = {"action": "acknowledge", "_selected_action": [row.pk]}
        assert admin_client.post("/admin/execution_coordinator/quotaviolation/", chosen).status_code == 302
    row.refresh_from_db()
    assert (row.acknowledged_by, row.acknowledged_at is None) == ("admin", False)
    assert "admin, " in page(admin_client, "quotaviolation/?acknowledged=yes")
    assert not shown(admin_client, "quotaviolation/?acknowledged=no")


def test_a_violation_without_a_report_is_shown_too(admin_client: Client) -> None:
    row = violation(an_olt(), report={})
    assert "high" in page(admin_client, "quotaviolation/")
    assert "fd-json" in page(admin_client, f"quotaviolation/{row.pk}/change/")


def test_violations_are_found_by_time_severity_and_whether_they_were_told(admin_client: Client) -> None:
    violation(an_olt("Centro"))
    other = an_olt("Norte")
    for days, severity in ((0.5, "LOW"), (3, "CRITICAL")):
        at = NOW - timedelta(days=days)
        violation(other, at=at, severity=severity, period_start=at, notified=severity == "CRITICAL")
    severities = dict(QuotaViolation.objects.values_list("pk", "severity"))
    for asked, found in {
        "period_start=hour": set(),
        "period_start=previous": {"HIGH"},
        "period_start=24h": {"HIGH", "LOW"},
        "period_start=7d": {"HIGH", "LOW", "CRITICAL"},
        "severity__exact=LOW": {"LOW"},
        "notified__exact=1": {"CRITICAL"},
        "q=Centro": {"HIGH"},
    }.items():
        assert {severities[pk] for pk in shown(admin_client, f"quotaviolation/?{asked}")} == found, asked


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("2025-06-10 10:40:00", "WARNING", "GLOBAL", "pollers saturated", "a message")),
        ("es", ("10/06/2025 10:40:00", "WARNING", "GLOBAL", "pollers saturados", "a message")),
    ],
)
def test_a_line_of_the_log_has_the_formats_of_the_reader(
    admin_client: Client, language: str, words: tuple[str, ...]
) -> None:
    log(event_type="SATURATION_BEGINS", level="WARNING")
    told = page(admin_client, "coordinatorlog/", language)
    assert [word for word in words if word not in told] == []


def test_lines_of_the_log_are_found(admin_client: Client) -> None:
    olt = an_olt()
    log(olt, message="added")
    log(olt, message="old", at=NOW - timedelta(hours=2))
    log(message="lost", level="ERROR", event_type="LEASE_LOST")
    messages = dict(CoordinatorLog.objects.values_list("pk", "message"))
    for asked, found in {
        "level__exact=ERROR": {"lost"},
        "event_type=TASK_ADDED": {"added", "old"},
        "timestamp=1h": {"added", "lost"},
        "scope=global": {"lost"},
        "scope=olt": {"added", "old"},
        "q=ost": {"lost"},
    }.items():
        assert {messages[pk] for pk in shown(admin_client, f"coordinatorlog/?{asked}")} == found, asked


def test_what_others_wrote_is_shown_and_not_run(admin_client: Client) -> None:
    olt = an_olt(HOSTILE)
    reason = {**FAILED, "what": HOSTILE}
    task = {"task_type": HOSTILE, "required": 4, "completed": 2, "failed": 2, "skipped": 0}
    report = {
        "tasks": [{**task, "percent": 50.0, "severity": "HIGH", "reasons": [reason]}],
        "reasons": [reason],
    }
    rows = {
        "quotatracker": tracker(olt, failed=1, task_type=HOSTILE, reasons=[reason]),
        "quotaviolation": violation(olt, report=report),
        "coordinatorlog": log(olt, message=HOSTILE, details={HOSTILE: HOSTILE}),
        "oltconfiguration": OltConfiguration.objects.create(
            olt=olt, fingerprint=HOSTILE, state=HOSTILE, changed_at=NOW
        ),
    }
    for name, row in rows.items():
        for path in (f"{name}/", f"{name}/{row.pk}/change/"):
            told = page(admin_client, path)
            assert HOSTILE not in told, path
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in told, path


def test_the_configuration_of_an_olt_is_shown_with_names(admin_client: Client) -> None:
    device = Device(True, "Centro", "huawei", "", "10.0.0.1", 161, "2c", "Ñuñoa", None, None, None, None)
    state = encode_state(OltState(device, ()))
    row = OltConfiguration.objects.create(
        olt=an_olt(), fingerprint=fingerprint(state), state=state, changed_at=NOW
    )
    told = page(admin_client, f"oltconfiguration/{row.pk}/change/")
    assert row.fingerprint in told
    assert "&quot;site&quot;: &quot;Ñuñoa&quot;" in told


def test_a_long_list_is_not_counted_to_its_end(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    olt = an_olt()
    for number in range(3):
        log(olt, message=str(number))
    assert "more than" not in page(admin_client, "coordinatorlog/")
    monkeypatch.setattr(UpToPaginator, "up_to", 2)
    assert "more than" in page(admin_client, "coordinatorlog/")
    assert admin_client.get(f"{PAGES}/coordinatorlog/").context["cl"].result_count == 2


def test_the_hour_is_that_of_the_operators_clock(admin_client: Client) -> None:
    tracker(an_olt(), 1)
    with timezone.override("America/Bogota"), translation.override("en"):
        assert "2025-06-10 05:00\N{EN DASH}06:00" in page(admin_client, "quotatracker/")


def test_the_sidebar_leads_there(admin_client: Client) -> None:
    told = admin_client.get("/coordinator/dashboard/", headers={"accept-language": "es"}).content.decode()
    for name in ("Cumplimiento de cuotas", "Violaciones de cuota", "Logs del coordinador"):
        assert name in told
