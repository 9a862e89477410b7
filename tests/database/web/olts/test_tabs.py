"""The tabs of the page of an OLT: what the overview counts, what it calls a problem, and the way back."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu, PortOutage
from facho.apps.discovery.onu_counts import count_onus
from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.quota import running_hour
from facho.core.reasons import text_reason
from facho.core.roles import Role
from facho.web.components import shared_part
from facho.web.components.list_query import OltQuery
from facho.web.olts.head import read_olt_head
from facho.web.olts.olt_list import read_olt_list
from facho.web.olts.overview import OltOverview, read_olt_overview
from tests.api_clients import person
from tests.factories import add_job, add_olts, know_brands, make_olt, node_of
from tests.no_cache import NoCache

pytestmark = pytest.mark.django_db

CONFIG = Config()
ENGLISH = {"accept-language": "en"}
# State, cause, how its power was judged, presence.
ONUS = (
    *[("online", "", "", "present")] * 4,
    # OLTs report the cause of the last outage also after the ONU has come back.
    ("online", "los", "weak", "present"),
    ("starting", "", "", "present"),
    *[("offline", "los", "", "present")] * 3,
    ("los", "", "falling", "present"),
    ("power_off", "unknown", "", "present"),
    ("offline", "", "", "present"),
    ("offline", "unknown", "", "present"),
    ("", "", "", "present"),
    ("unknown", "", "", "present"),
    ("offline", "los", "weak", "absent"),
    ("online", "", "", "absent"),
)


@pytest.fixture(autouse=True)
def parts_are_rendered_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_part, "_cache", NoCache())


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(person(Role.OPERATOR))
    return client


@pytest.fixture
def now() -> datetime:
    return database_now()


@pytest.fixture
def olt(now: datetime) -> Olt:
    know_brands()
    made, other = add_olts("centro", "norte")
    Olt.objects.update(reachable=True)
    add_job("discovery", "centro", kind="discovery", facts=(), now=now)
    add_job("state", "centro", now=now)
    for number, (state, cause, judged, presence) in enumerate(ONUS):
        row = {"state": state, "down_cause": cause, "optical_state": judged, "presence": presence}
        Onu.objects.create(olt=made, address=f"{number}", first_seen=now, last_seen=now, **row)
    Onu.objects.create(olt=other, address="0", state="offline", first_seen=now, last_seen=now)
    return made


def look(olt: Olt, now: datetime) -> OltOverview:
    return read_olt_overview(read_olt_head(olt.id, now), CONFIG)


def shown(client: Client, path: str) -> str:
    return client.get(path, headers=ENGLISH).content.decode()


@pytest.mark.both_databases
def test_onus_are_counted_by_state_cause_and_power(olt: Olt) -> None:
    counts = count_onus(olt.id)
    assert (counts.present, counts.online, counts.starting, counts.unknown) == (15, 5, 1, 2)
    assert (counts.offline, counts.weak, counts.absent) == (7, 2, 2)
    assert counts.causes == {"los": 4, "unknown": 2, "power_off": 1}


@pytest.mark.both_databases
def test_each_number_of_the_overview_leads_to_as_many_rows(viewer: Client, olt: Olt, now: datetime) -> None:
    page = shown(viewer, f"/olts/{olt.id}/")
    found = _linked_numbers(viewer, page)
    assert found.keys() == {
        "online", "all", "starting", "unknown", "absent", "offline", "down-los", "down-unknown",
        "down-power_off", "weak",
    }  # fmt: skip
    assert {name: number for name, (number, rows) in found.items() if number != rows} == {}
    # The list of OLTs says the same.
    (row,) = read_olt_list(OltQuery(text="centro"), now).rows
    assert (row.onus_online, row.onus) == (found["online"][0], found["all"][0])


def _linked_numbers(client: Client, page: str) -> dict[str, tuple[int, int]]:
    """Return by name the numbers of a page that are links, and how many rows each leads to."""
    links = re.findall(r'<a id="onus-([\w-]+)" href="(/admin/discovery/onu/[^"]+)">(\d+)', page)
    return {name: (int(number), _rows_of(client, path)) for name, path, number in links}


def _rows_of(client: Client, path: str) -> int:
    answer: Any = client.get(path.replace("&amp;", "&"))
    return int(answer.context["cl"].result_count)


def test_the_tab_of_onus_leads_to_lists_and_their_export(viewer: Client, olt: Olt) -> None:
    page = shown(viewer, f"/olts/{olt.id}/ports/")
    for name, rows in (("all", 15), ("offline", 7), ("weak", 2), ("absent", 2)):
        found = re.search(rf'<a id="onus-{name}" class="fd-small" href="([^"]+)">', page)
        assert found
        assert _rows_of(viewer, found[1]) == rows, name
    export = re.search(r'<a id="onus-export" class="fd-small" href="([^"]+)"', page)
    assert export
    answer: Any = viewer.get(export[1].replace("&amp;", "&"))
    assert len(b"".join(answer.streaming_content).splitlines()) == 1 + 15


@pytest.mark.both_databases
def test_behind_an_olt_that_delivers_nothing_the_state_of_all_is_unknown(viewer: Client, olt: Olt) -> None:
    path = f"/olts/{olt.id}/"
    assert "State unknown" not in shown(viewer, path)
    Olt.objects.filter(id=olt.id).update(reachable=False)
    page = shown(viewer, path)
    assert "unknown (OLT down)" in page[page.index("State unknown") :]
    # The lists have nothing in the states that were collected last: those numbers are no links.
    assert _linked_numbers(viewer, page) == {
        "unknown": (15, 15),
        "all": (15, 15),
        "absent": (2, 2),
        "weak": (2, 2),
    }
    assert "onus-offline" not in shown(viewer, f"{path}ports/")


def test_nothing_is_wrong_until_something_is(viewer: Client, olt: Olt, now: datetime) -> None:
    path = f"/olts/{olt.id}/"
    assert look(olt, now).problems.count == 0
    assert "No open outage, no failing job" in shown(viewer, path)
    make_trouble(olt, now)
    problems = look(olt, now).problems
    assert [row.place for row in problems.outages] == ["0/1/5"]
    assert [node.job for node in problems.nodes] == ["discovery"]
    assert [row.risk for row in problems.at_risk] == ["1 slot left, 8 needed"]
    assert len(problems.violations) == 1
    assert (problems.count, problems.more) == (4, 0)
    page = shown(viewer, path)
    for text in ("24 of 31 ONUs", "2 failures in a row", "1 slot left, 8 needed", "quota not met"):
        assert text in page, text


def make_trouble(olt: Olt, now: datetime) -> None:
    outage = {"olt": olt, "cause": "fibre_cut", "onus_affected": 24, "onus_known": 31}
    PortOutage.objects.create(place="0/1/5", began_at=now, **outage)
    PortOutage.objects.create(place="0/1/6", began_at=now - timedelta(days=1), ended_at=now, **outage)
    SnmpJobHost.objects.filter(id=node_of("discovery", "centro").id).update(failures_in_a_row=2)
    hour = running_hour(now, CONFIG.time_zone)
    QuotaTracker.objects.create(
        olt=olt, task_type="state", period_start=hour.start, period_end=hour.end, status="IN_PROGRESS",
        quota_required=10, quota_failed=9, quota_pending=1, created_at=now, updated_at=now,
    )  # fmt: skip
    for by in ("", "ana"):
        start = hour.start - timedelta(hours=2 if by else 1)
        QuotaViolation.objects.create(
            olt=olt, severity="HIGH", report={"tasks": []}, period_start=start, created_at=now,
            period_end=start + timedelta(hours=1), acknowledged_by=by, acknowledged_at=now if by else None,
        )  # fmt: skip


def test_violations_that_nobody_has_seen_count_however_many_came_since(olt: Olt, now: datetime) -> None:
    hour = running_hour(now, CONFIG.time_zone)
    for number in range(1, 61):
        start = hour.start - timedelta(hours=number)
        seen = {"acknowledged_by": "ana", "acknowledged_at": now} if number <= 30 else {}
        QuotaViolation.objects.create(
            olt=olt, severity="HIGH", report={"tasks": []}, period_start=start,
            period_end=start + timedelta(hours=1), created_at=start + timedelta(hours=1), **seen,
        )  # fmt: skip
    problems = look(olt, now).problems
    assert [row.hour.start for row in problems.violations] == [
        hour.start - timedelta(hours=number) for number in (31, 32, 33, 34)
    ]
    assert (problems.count, problems.more) == (30, 26)


def test_what_people_have_disabled_is_no_problem_and_does_not_run(olt: Olt, now: datetime) -> None:
    make_trouble(olt, now)
    SnmpJobHost.objects.filter(id=node_of("discovery", "centro").id).update(enabled=False)
    overview = look(olt, now)
    assert overview.problems.nodes == []
    assert [node.job for node in overview.next_runs] == ["state"]


def test_the_next_runs_are_in_order_and_an_olt_that_is_not_asked_has_none(olt: Olt, now: datetime) -> None:
    for job, minutes in (("state", 3), ("discovery", 9)):
        at = now + timedelta(minutes=minutes)
        SnmpJobHost.objects.filter(job__name=job).update(next_run_at=at)
    assert [node.job for node in look(olt, now).next_runs] == ["state", "discovery"]
    hour = timedelta(hours=1)
    window = MaintenanceWindow.objects.create(
        name="new board", olt=olt, starts_at=now - hour, ends_at=now + hour, created_at=now
    )
    assert look(olt, now).next_runs == []
    window.delete()
    for columns in ({"suspended_reason": text_reason("no answer")}, {"enabled": False}):
        Olt.objects.filter(id=olt.id).update(**columns)
        assert look(olt, now).next_runs == []


@pytest.mark.parametrize("tab", ["", "ports/", "traffic/", "hardware/", "collection/", "load/", "events/"])
def test_each_tab_is_marked_and_links_to_the_others(viewer: Client, olt: Olt, tab: str) -> None:
    path = f"/olts/{olt.id}/"
    page = shown(viewer, path + tab)
    nav = page[page.index('<nav class="fd-tabs"') :].partition("</nav>")[0]
    links = re.findall(r'href="([^"]+)"( aria-current="page")?', nav)
    assert [address for address, _ in links] == [
        path, *(f"{path}{each}/" for each in ("ports", "traffic", "hardware", "collection", "load", "events"))
    ]  # fmt: skip
    assert [address for address, current in links if current] == [path + tab]


@pytest.mark.parametrize("tab", ["", "ports", "traffic", "hardware", "collection", "load", "events"])
def test_actions_of_the_head_lead_back_to_their_tab(operator: Client, olt: Olt, tab: str) -> None:
    path = f"/olts/{olt.id}/"
    back, there = (f"?tab={tab}", f"{path}{tab}/") if tab else ("", path)
    page = shown(operator, there)
    assert f'href="{path}disable/{back}"' in page
    assert f'href="{there}">Cancel' in shown(operator, f"{path}disable/{back}")
    disabled = operator.post(f"{path}disable/{back}", {"reason": "new board"})
    assert disabled.headers["Location"] == there
    other = make_olt("other")
    assert "Undo" not in shown(operator, f"/olts/{other.id}/")
    page = shown(operator, there)
    assert page.count(f'action="{path}enable/{back}"') == 2, "to enable it, and to undo"
    assert "Undo" not in shown(operator, there)
    assert operator.post(f"{path}enable/{back}").headers["Location"] == there
    assert operator.post(f"{path}recover/{back}").headers["Location"] == there


def test_an_address_of_another_site_is_no_tab(operator: Client, olt: Olt) -> None:
    answer = operator.post(f"/olts/{olt.id}/enable/?tab=//elsewhere.example/")
    assert answer.headers["Location"] == f"/olts/{olt.id}/"


def test_actions_on_nodes_lead_back_to_the_collection(operator: Client, olt: Olt) -> None:
    node, there = node_of("state", "centro").id, f"/olts/{olt.id}/collection/"
    for act in ("run", "disable", "enable"):
        path = f"/olts/{olt.id}/nodes/{node}/{act}/"
        assert operator.post(path, {"reason": "too slow"}).headers["Location"] == there, act


def test_an_unchanged_head_is_not_sent_again(viewer: Client, olt: Olt) -> None:
    path = f"/olts/{olt.id}/live/"
    tag = viewer.get(path, headers=ENGLISH).headers["ETag"]
    assert f'data-etag="{escape(tag)}"' in shown(viewer, f"/olts/{olt.id}/")
    assert viewer.get(path, headers={**ENGLISH, "if-none-match": tag}).status_code == 304
    Olt.objects.filter(id=olt.id).update(reachable=False)
    assert viewer.get(path, headers={**ENGLISH, "if-none-match": tag}).status_code == 200
