"""The page of a quota violation: what was missed and why, in words, and who has seen it."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaTracker, QuotaViolation
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.web.components.recent_events import recent_events
from tests.api_clients import asking, person, refused_at
from tests.factories import add_job, add_olts, at

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
BUSY = {"why": "olt_busy", "what": "discovery", "count": 8, "lost_s": 2400}
OPTICS = {"task_type": "get_optics", "required": 12, "completed": 4, "failed": 0, "skipped": 8}
STATE = {"task_type": "get_state", "required": 12, "completed": 12, "failed": 0, "skipped": 0}
REPORT = {
    "tasks": [
        {**OPTICS, "percent": 33.3, "severity": "HIGH", "reasons": [BUSY]},
        {**STATE, "percent": 100.0, "severity": None, "reasons": []},
    ],
    "reasons": [BUSY],
}


@pytest.fixture
def olt(brands: None) -> Olt:
    return Olt.objects.get(pk=add_olts("north")[0].pk)


@pytest.fixture
def violation(olt: Olt) -> QuotaViolation:
    return QuotaViolation.objects.create(
        olt=olt,
        period_start=at("09:00"),
        period_end=at("10:00"),
        severity="HIGH",
        report=REPORT,
        created_at=at("10:05"),
    )


def visiting(role: Role) -> Client:
    client = Client()
    client.force_login(person(role))
    return client


def path(violation: QuotaViolation) -> str:
    return f"/violations/{violation.pk}/"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("get_optics", "4 of 12, 8 skipped", "OLT busy with discovery", "not yet")),
        ("es", ("get_optics", "4 de 12", "OLT ocupada con discovery", "Motivo principal")),
    ],
)
def test_it_says_what_was_missed_and_why(
    violation: QuotaViolation, language: str, words: tuple[str, ...]
) -> None:
    text = visiting(Role.VIEWER).get(path(violation), headers={"accept-language": language}).content.decode()
    assert [each for each in words if each not in text] == []
    assert "fd-json" not in text


def test_it_is_acknowledged_with_a_note_by_who_may(violation: QuotaViolation) -> None:
    viewer, operator = visiting(Role.VIEWER), visiting(Role.OPERATOR)
    form = f'action="{path(violation)}acknowledge/"'
    assert form not in viewer.get(path(violation)).content.decode()
    assert viewer.post(f"{path(violation)}acknowledge/").status_code == 403
    assert form in operator.get(path(violation)).content.decode()
    given = {"note": "  discovery now  runs at night "}
    answer = operator.post(f"{path(violation)}acknowledge/", given, follow=True)
    assert "discovery now runs at night" in answer.content.decode()
    assert form not in answer.content.decode()
    operator.post(f"{path(violation)}acknowledge/", {"note": "another"})
    violation.refresh_from_db()
    assert violation.acknowledged_note == "discovery now runs at night"


def test_a_note_that_is_too_long_is_refused(violation: QuotaViolation) -> None:
    operator = visiting(Role.OPERATOR)
    answer = operator.post(f"{path(violation)}acknowledge/", {"note": "x" * 201}, follow=True)
    assert "200" in answer.content.decode()
    violation.refresh_from_db()
    assert violation.acknowledged_at is None


def test_the_api_takes_a_note_too(violation: QuotaViolation) -> None:
    client = asking(Role.OPERATOR)
    acknowledge = f"/api/v1/violations/{violation.pk}/acknowledge/"
    assert refused_at(client.post(acknowledge, {"note": "x" * 201})).keys() == {"note"}
    assert client.post(acknowledge, {"note": "seen"}).status_code == 204
    shown = client.get(f"/api/v1/violations/{violation.pk}/").json()
    assert shown["acknowledged_note"] == "seen"
    assert client.post(acknowledge).status_code == 204


def test_lists_and_feeds_lead_to_it(violation: QuotaViolation) -> None:
    CoordinatorLog.objects.create(
        olt=violation.olt, event_type="QUOTA_VIOLATION", level="CRITICAL", message="m", timestamp=at("10:05")
    )
    CoordinatorLog.objects.create(
        olt=violation.olt, event_type="TASK_ADDED", level="INFO", message="m", timestamp=at("10:05")
    )
    found = {event.what: event.violation_id for event in recent_events(10)}
    assert found == {"QUOTA_VIOLATION": violation.pk, "TASK_ADDED": None}
    client = visiting(Role.VIEWER)
    link = f'href="{path(violation)}"'
    assert link in client.get("/admin/execution_coordinator/quotaviolation/").content.decode()
    overview = client.get("/coordinator/dashboard/overview/").content.decode()
    assert overview.count(link) == 2


def test_it_leads_to_the_quotas_and_the_executions_of_its_hour(violation: QuotaViolation) -> None:
    job = add_job("discovery", "north", interval="10m", facts=["state"])
    node = job.nodes.get()
    for slot in ("09:00", "09:30", "10:00", "10:01"):
        Execution.objects.create(
            node=node, olt=violation.olt, state="SUCCESS", trigger="SCHEDULE", slot=at(slot),
            not_before=at(slot), queued_at=at(slot),
        )  # fmt: skip
    client = visiting(Role.VIEWER)
    text = client.get(path(violation)).content.decode()
    hrefs = dict(re.findall(r'id="violation-(quotas|executions)" href="([^"]+)"', text))
    found = client.get(html.unescape(hrefs["executions"])).context["cl"].queryset
    # Its hour begins after the stroke of nine and ends with that of ten.
    assert sorted(row.slot for row in found) == [at("09:30"), at("10:00")]
    for start in ("08:00", "09:00", "10:00"):
        QuotaTracker.objects.create(
            olt=violation.olt, task_type="by_hand", period_start=at(start), status="COMPLETED",
            period_end=at(start) + timedelta(hours=1), created_at=at("10:00"), updated_at=at("10:00"),
        )  # fmt: skip
    found = client.get(html.unescape(hrefs["quotas"])).context["cl"].queryset
    assert {row.period_start for row in found} == {at("09:00")}


def test_it_takes_a_few_queries_however_much_was_missed(violation: QuotaViolation) -> None:
    client = visiting(Role.VIEWER)
    client.get(path(violation))
    with CaptureQueriesContext(connection) as few:
        client.get(path(violation))
    QuotaViolation.objects.update(report={**REPORT, "tasks": REPORT["tasks"] * 20})
    with CaptureQueriesContext(connection) as many:
        client.get(path(violation))
    assert len(many) == len(few) <= 6


def test_one_of_long_ago_without_tasks_is_shown(olt: Olt) -> None:
    old = QuotaViolation.objects.create(
        olt=olt,
        period_start=at("09:00") - timedelta(days=40),
        period_end=at("10:00") - timedelta(days=40),
        severity="LOW",
        report={},
        created_at=at("10:00") - timedelta(days=40),
    )
    assert visiting(Role.VIEWER).get(path(old)).status_code == 200
