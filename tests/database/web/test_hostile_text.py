"""Texts from devices, people and programs that mean harm: shown as they are, in every page and answer."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import models
from django.test import Client

from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import CoordinatorLog, ExecutionPlan, QuotaViolation
from facho.apps.executions.models import Execution
from facho.apps.extras import write_extras
from facho.core.roles import Role
from facho.engine.upkeep.exports import EXPORTS
from facho.vendors import rules
from facho.vendors.errors import BadValue
from tests.api_clients import asking, person
from tests.database.walking import answers, pages
from tests.database.web.admin.test_lists import OURS
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

EVIL = "<script>alert(1)</script>"
HOSTILE = f"{EVIL}\"'><img src=x onerror=alert(1)>\u202e\u2066=cmd|' /C calc'!A0 {{{{7*7}}}} %s %(x)s \\"
LONG = HOSTILE + "ñ" * 64 * 1024
# What the system itself reads and understands, and people do not write.
UNDERSTOOD = {
    "begins", "cause", "claim", "credentials", "datum", "digest", "down_cause", "drops_by_hour", "entity",
    "extras", "fact", "facts", "fingerprint", "kind", "lease_token", "missing", "named_by", "notice",
    "notices", "oid", "optical_state", "owes", "peaks", "place", "ports", "presence", "profile_oid",
    "provides", "role", "rx_usual_of", "severity", "snmp_version", "start_time", "state", "state_before",
    "suspended_reason", "technology", "told_parts", "top", "url", "weekdays", "why",
}  # fmt: skip
HTML = re.compile(r"<script>alert\(1\)|<img src=x")


def make_hostile() -> None:
    for model in OURS:
        for row in model._default_manager.all():
            changes = {field.attname: value for field, value in _hostile_fields(row)}
            model._default_manager.filter(pk=row.pk).update(**changes)
    Onu.objects.update(extras=write_extras({"line_profile": HOSTILE, "unis": {"1": {"speed": HOSTILE}}}))
    CoordinatorLog.objects.update(details={EVIL: HOSTILE})
    Execution.objects.update(result={EVIL: {"1.2": HOSTILE}}, counts={EVIL: 1}, load={EVIL: 1.5})
    reason = {"why": "olt_busy", "what": HOSTILE, "count": 2, "lost_s": 600}
    QuotaViolation.objects.update(report={"tasks": [], "reasons": [reason], EVIL: HOSTILE})
    ExecutionPlan.objects.update(plan_data={EVIL: HOSTILE})


def _hostile_fields(row: models.Model) -> Iterator[tuple[models.Field[Any, Any], str]]:
    for field in row._meta.concrete_fields:
        texts = isinstance(field, models.CharField | models.TextField) and not field.choices
        # What is of an OLT is of no site.
        elsewhere = field.name == "site" and hasattr(row, "olt_id")
        if texts and not (field.primary_key or elsewhere or field.name in UNDERSTOOD):
            room = field.max_length
            # Begun with its number, for some must be different ones.
            yield field, LONG if room is None else f"{row.pk}{HOSTILE}"[:room]


def test_no_page_runs_what_somebody_wrote(client: Client) -> None:
    fill(2)
    make_hostile()
    client.force_login(person(Role.ADMINISTRATOR))
    shown = {path: client.get(path) for path in pages()}
    assert {path: answer.status_code for path, answer in shown.items()} == dict.fromkeys(shown, 200)
    assert not [path for path, answer in shown.items() if HTML.search(answer.content.decode())]
    # It was there to be shown.
    assert "&lt;script&gt;alert(1)" in shown["/admin/discovery/onu/"].content.decode()
    assert "&lt;script&gt;alert(1)" in shown["/admin/hosts/olt/"].content.decode()


def test_every_answer_of_the_api_is_json_that_says_what_was_written() -> None:
    fill(2)
    make_hostile()
    found = dict(answers(asking(Role.ADMINISTRATOR)))
    assert {path: answer.status_code for path, answer in found.items()} == dict.fromkeys(found, 200)
    for answer in found.values():
        assert answer["Content-Type"].startswith("application/json")
        json.loads(answer.content)
    assert EVIL in json.loads(found["/api/v1/nodes/"].content)["results"][0]["olt_name"]


def test_no_cell_of_a_list_is_a_formula() -> None:
    fill(2)
    make_hostile()
    Onu.objects.update(description="=cmd|' /C calc'!A0", model="@x", plan="\t+1")
    for export in EXPORTS.values():
        text = "".join(export.csv(export.rows(None, None, None)))
        assert not re.search(r"(?:^|,)\"?\s*[=+@]", text, re.MULTILINE)
        assert "\u202e" not in text


@pytest.mark.parametrize("path", ["/admin/discovery/onu/", "/admin/executions/execution/"])
def test_a_nul_in_a_question_is_refused_and_breaks_nothing(client: Client, path: str) -> None:
    fill(1)
    client.force_login(person(Role.VIEWER))
    for query in ("q=a%00", "state=a%00", "state__exact=a%00", "olt__id__exact=%00", "p=%00", "o=%00"):
        assert client.get(f"{path}?{query}").status_code == 400


def test_a_nul_in_a_question_to_the_api_is_a_problem() -> None:
    client = asking(Role.VIEWER)
    places = (
        '["n", "olt__name", "a\\u0000", 1]',
        '["n", "olt__name", "\\ud800", 1]',
        '["n", "id", Infinity, 1]',
    )
    for place in places:
        cursor = quote(base64.urlsafe_b64encode(place.encode()).decode())
        answer = client.get(f"/api/v1/nodes/?ordering={json.loads(place)[1]}&cursor={cursor}")
        assert answer.status_code in (200, 400), place
        assert answer.status_code == 400 or "Infinity" in place
    assert client.get("/api/v1/nodes/?olt=%00").status_code == 400


@pytest.mark.parametrize(
    "raw", [b"casa\x00 4\x00\x00", b"\xff\xfe\x00x", HOSTILE.encode(), b"a\x1b[2Jb\r\nc", b"\xed\xa0\x80"]
)
def test_what_a_device_says_is_cleaned_before_it_is_kept(raw: bytes) -> None:
    try:
        text = rules.text(raw) or ""
    except BadValue as error:
        text = str(error.instead)
    assert text.isprintable()
    text.encode()
