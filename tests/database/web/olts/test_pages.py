"""The list of OLTs and the page of one: what they tell, to whom, and what their buttons do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from facho.apps.access.models import AuditEntry
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu, PortOutage
from facho.apps.execution_coordinator.models import CoordinatorLog, QuotaViolation
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.feasibility import Shift
from facho.core.reasons import Reason, several, text_reason, to_json
from facho.core.roles import Role
from facho.engine.collect.identify import Identified
from facho.engine.commands import connection_test as asking
from facho.snmp import SnmpError
from facho.vendors import Detection
from facho.web.components import shared_part
from facho.web.components.list_query import OltQuery
from facho.web.olts.collection import read_collection_details
from facho.web.olts.head import read_olt_head
from facho.web.olts.load import read_olt_load
from facho.web.olts.nodes import OltNodes, read_olt_nodes
from facho.web.olts.olt_list import read_olt_list
from facho.web.olts.onus_and_ports import read_onus_and_ports
from tests.api_clients import person
from tests.factories import add_job, add_olts, know_brands, node_of, queue
from tests.no_cache import NoCache
from tests.sample_rows import NOW, fill

pytestmark = pytest.mark.django_db

NOON = NOW.replace(hour=12)


def visiting(role: Role) -> Client:
    client = Client()
    client.force_login(person(role))
    return client


@pytest.fixture
def olt() -> Olt:
    know_brands()
    (made,) = add_olts("centro")
    add_job("discovery", "centro", kind="discovery", facts=(), now=database_now())
    add_job("state", "centro", master="discovery", now=database_now())
    return made


@pytest.fixture(autouse=True)
def parts_are_rendered_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a second here to see what changed."""
    monkeypatch.setattr(shared_part, "_cache", NoCache())


def look(olt: Olt) -> OltNodes:
    return read_olt_nodes(read_olt_head(olt.id, database_now()))


def ended(job: str, **columns: object) -> Execution:
    times = {"slot": NOON, "started_at": NOON, "ended_at": NOON + timedelta(seconds=9)}
    return queue(job, "centro", **{"state": State.SUCCESS, **times, **columns})  # type: ignore[arg-type]


def names(**wanted: str) -> list[str]:
    return [row.name for row in read_olt_list(OltQuery(**wanted), NOON).rows]  # type: ignore[arg-type]


PAGES = {
    "olts/": 11,
    "olts/{}/": 25,
    "olts/{}/ports/": 23,
    "olts/{}/collection/": 22,
    "olts/{}/traffic/": 17,
    "olts/{}/hardware/": 22,
    "olts/{}/load/": 11,
    "olts/{}/events/": 12,
    "olts/{}/live/": 7,
    "olts/{}/overview/part/": 19,
    "olts/{}/ports/part/": 17,
    "olts/{}/collection/part/": 10,
    "olts/{}/traffic/part/": 11,
    "olts/{}/hardware/part/": 16,
    "olts/{}/load/part/": 5,
    "olts/{}/events/part/": 6,
    "olts/{}/facts/": 10,
    "olts/{}/proposals/": 10,
}
TABS = ("ports/", "traffic/", "hardware/", "collection/", "load/", "events/")
PARTS = ("live/", "overview/part/", *(f"{tab}part/" for tab in TABS), "facts/", "proposals/")


@pytest.mark.both_databases
@pytest.mark.parametrize(("path", "most"), PAGES.items())
def test_it_takes_as_many_queries_for_much_as_for_little(path: str, most: int) -> None:
    client = visiting(Role.ADMINISTRATOR)
    fill(2)
    url = "/" + path.format(Olt.objects.order_by("id").values_list("id", flat=True)[0])
    with CaptureQueriesContext(connection) as few:
        assert client.get(url).status_code == 200
    fill(30, beginning_at=2)
    first = Olt.objects.order_by("id")[0]
    for model in (Onu, Execution, SnmpJobHost, PortOutage):
        model.objects.exclude(olt=first).filter(**_free(model)).update(olt=first)
    with CaptureQueriesContext(connection) as many:
        assert client.get(url).status_code == 200
    assert len(many) == len(few) <= most


def _free(model: type) -> dict[str, object]:
    """Those that may all belong to one OLT."""
    return {"state": State.FAILED} if model is Execution else {}


@pytest.mark.parametrize("path", ["olts/", "olts/1/", *(f"olts/1/{tab}" for tab in TABS), "olts/1/ports/1/"])
def test_whoever_is_not_logged_in_is_asked_to(client: Client, path: str) -> None:
    assert client.get(f"/{path}").headers["Location"] == f"/admin/login/?next=/{path}"


def test_a_part_of_the_page_sends_whoever_was_logged_out_to_the_login_page(client: Client) -> None:
    for part in PARTS:
        assert client.get(f"/olts/1/{part}").headers["HX-Refresh"] == "true"


def test_an_olt_that_is_not_there_is_not_found() -> None:
    viewer = visiting(Role.VIEWER)
    for path in ("", *TABS, *PARTS):
        assert viewer.get(f"/olts/77/{path}").status_code == 404


def test_a_tab_that_is_not_there_is_not_found_and_the_overview_has_one_address(olt: Olt) -> None:
    viewer = visiting(Role.VIEWER)
    assert viewer.get(f"/olts/{olt.id}/nothing/").status_code == 404
    assert viewer.get(f"/olts/{olt.id}/nothing/part/").status_code == 404
    assert viewer.get(f"/olts/{olt.id}/overview/").headers["Location"] == f"/olts/{olt.id}/"


def test_the_list_has_those_first_that_need_somebody() -> None:
    know_brands()
    add_olts("a-fine", "b-off", "c-silent", "d-new")
    Olt.objects.filter(name="a-fine").update(reachable=True)
    Olt.objects.filter(name="b-off").update(enabled=False)
    Olt.objects.filter(name="c-silent").update(reachable=False)
    assert names() == ["c-silent", "a-fine", "d-new", "b-off"]
    assert names(health="trouble") == ["c-silent"]
    assert names(health="disabled") == ["b-off"]


def test_the_list_is_searched_by_name_address_and_site() -> None:
    know_brands()
    add_olts("centro", "norte")
    Olt.objects.filter(name="norte").update(site="Calama", address="10.9.9.9")
    for text in ("NOR", "10.9", "cala"):
        assert names(text=text) == ["norte"]
    assert names(site="Calama") == ["norte"]
    assert names(text="sur") == []


def test_the_list_counts_onus_and_ports_that_are_out(olt: Olt) -> None:
    for number, state in enumerate(("online", "online", "los")):
        Onu.objects.create(olt=olt, address=f"{number}", state=state, first_seen=NOON, last_seen=NOON)
    PortOutage.objects.create(
        olt=olt, place="0/1/1", began_at=NOON, cause="fibre_cut", onus_affected=8, onus_known=9
    )
    (row,) = read_olt_list(OltQuery(), NOON).rows
    assert (row.onus_online, row.onus, row.outages) == (2, 3, 1)


def test_since_when_an_olt_is_down_does_not_change_when_it_is_suspended(olt: Olt) -> None:
    later = NOON + timedelta(minutes=20)
    columns = {"reachable": False, "unreachable_since": NOON, "suspended_at": later}
    Olt.objects.filter(id=olt.id).update(suspended_reason=text_reason("no answer"), **columns)
    (row,) = read_olt_list(OltQuery(), later).rows
    api = visiting(Role.VIEWER).get(f"/api/v1/olts/{olt.id}/").json()
    assert row.since == look(olt).head.olt.down_since == NOON
    assert api["down_since"] == api["unreachable_since"]


def test_an_empty_list_says_what_to_do_next() -> None:
    assert "/admin/hosts/olt/add/" in visiting(Role.ADMINISTRATOR).get("/olts/").content.decode()
    assert "/admin/hosts/olt/add/" not in visiting(Role.OPERATOR).get("/olts/").content.decode()


def test_a_chained_node_has_its_own_result_of_its_masters_run(olt: Olt) -> None:
    node = node_of("state", "centro")
    parts = [
        {"node": node_of("discovery", "centro").id, "job": "discovery", "state": "success", "seconds": 4},
        {"node": node.id, "job": "state", "state": "failed", "seconds": 5, "error": "no answer"},
    ]
    ended("discovery", parts=parts)
    master, chained = look(olt).nodes
    assert (master.job, master.last_state, str(master.last_error)) == ("discovery", State.SUCCESS, "")
    assert (chained.job, chained.after) == ("state", "discovery")
    assert (chained.last_state, str(chained.last_error)) == (State.FAILED, "no answer")


def test_a_table_that_the_olt_does_not_have_is_named_once_and_is_no_error(olt: Olt) -> None:
    missing = Reason.of("table_not_present", tables="onu_optics, fans")
    part = {"node": node_of("discovery", "centro").id, "job": "discovery", "state": "success", "seconds": 4}
    for minute in range(3):
        slot = NOON + timedelta(minutes=minute)
        ended("discovery", slot=slot, error=missing, parts=[{**part, "error": to_json(missing)}])
    client, english = visiting(Role.VIEWER), {"accept-language": "en"}
    page = client.get(f"/olts/{olt.id}/collection/", headers=english).content.decode()
    assert page.count("onu_optics") == 1
    assert "does not have the tables fans, onu_optics: nothing is collected from them" in page
    assert "table not present" not in page
    assert "onu_optics" not in client.get("/coordinator/dashboard/", headers=english).content.decode()
    shown = client.get(f"/executions/{Execution.objects.latest('id').id}/", headers=english).content.decode()
    assert "The OLT does not have: fans, onu_optics." in shown
    assert 'fd-error" role="alert"' not in shown
    # What failed beside it is an error still.
    later, both = NOON + timedelta(hours=1), several([missing, text_reason("no answer")])
    ended("discovery", slot=later, error=both, state=State.FAILED)
    assert str(look(olt).executions[0].problem) == "no answer"


def test_the_run_that_is_under_way_is_shown_however_many_wait(olt: Olt) -> None:
    running = queue("discovery", "centro", State.RUNNING, lease_token="token", started_at=NOON)
    for number in range(12):
        add_job(f"table-{number}", "centro", now=database_now())
        queue(f"table-{number}", "centro")
    shown = look(olt).executions
    assert shown[0].execution_id == running.id
    assert len(shown) == 10


def test_a_node_counts_down_to_its_next_run(olt: Olt) -> None:
    at = database_now() + timedelta(hours=2, minutes=30, seconds=30)
    SnmpJobHost.objects.filter(job__name="discovery").update(next_run_at=at)
    page = visiting(Role.VIEWER).get(f"/olts/{olt.id}/collection/part/").content.decode()
    assert ">2 h 30 min</b>" in page


def test_the_load_is_told_by_the_hour_in_which_runs_ended(olt: Olt) -> None:
    for minutes, requests in ((1, 10), (2, 20), (70, 5), (60 * 25, 1000)):
        at = NOON - timedelta(minutes=minutes)
        ended("discovery", slot=at, ended_at=at, load={"requests": requests, "seconds": 1.5, "timeouts": 1})
    load = read_olt_load(olt.id, NOON + timedelta(minutes=5))
    assert [hour.requests for hour in load.hours][-3:] == [5, 30, 0]
    assert (load.requests, load.timeouts) == (35, 3)
    assert [bar.weak for bar in load.request_bars][-3:] == [True, True, False]
    with override("en"):
        *_, two_ago, last, now = (bar.label.partition(" ")[2] for bar in load.request_bars)
    assert (two_ago, last, now) == ("(1 timeout)", "(2 timeouts)", "")


def test_ports_tell_how_many_onus_get_too_little_light(olt: Olt) -> None:
    for number, power in enumerate((-20.0, -28.0, -29.5, None)):
        place = {"frame": 0, "slot": 1, "port": 3, "onu_id": number, "address": f"0/1/3/{number}"}
        judged = {"onu_rx_dbm": power, "optical_state": "weak" if power in (-28.0, -29.5) else ""}
        Onu.objects.create(olt=olt, first_seen=NOON, last_seen=NOON, **judged, **place)
    (port,) = read_onus_and_ports(read_olt_head(olt.id, NOON)).ports
    assert (port.row.port, port.measured, port.weak, port.port_id) == ("0/1/3", 3, 2, None)


def test_columns_that_it_lacks_are_told_by_their_names(olt: Olt) -> None:
    known = olt.brand.oids.first()
    assert known is not None
    olt.lacks = dict.fromkeys([known.oid, "1.3.6.1.4.1.9.9"], NOON.isoformat())
    assert read_collection_details(olt, NOON, Config()).missing_columns == sorted(
        [known.name, "1.3.6.1.4.1.9.9"]
    )


def test_a_hostile_name_is_shown_and_does_nothing(olt: Olt) -> None:
    Olt.objects.filter(id=olt.id).update(site="<script>alert(1)</script>", version="<img src=x>")
    page = page_of(visiting(Role.VIEWER), olt)
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page


def acts(olt: Olt) -> dict[str, Role]:
    node = node_of("discovery", "centro").id
    base = f"/olts/{olt.id}"
    return {
        f"{base}/nodes/{node}/run/": Role.OPERATOR,
        f"{base}/nodes/{node}/disable/": Role.OPERATOR,
        f"{base}/nodes/{node}/enable/": Role.OPERATOR,
        f"{base}/disable/": Role.OPERATOR,
        f"{base}/enable/": Role.OPERATOR,
        f"{base}/test/": Role.OPERATOR,
        f"{base}/shift/": Role.ADMINISTRATOR,
    }


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR])
def test_buttons_are_for_who_may_use_them_and_the_server_asks_again(
    olt: Olt, role: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        asking, "ask", lambda _: asking.Silence(text_reason("no answer"), SnmpError("no answer"))
    )
    monkeypatch.setattr("facho.web.olts.views.suggest_shift", lambda *_: _shift())
    client = visiting(role)
    shown = page_of(client, olt)
    for path, lowest in acts(olt).items():
        assert client.post(path, {"reason": "test"}).status_code == (302 if role >= lowest else 403), path
        if not path.endswith("/enable/"):
            found = f'action="{path}"' in shown or f'href="{path}"' in shown
            assert found == (role >= lowest), path
    assert (f"/admin/hosts/olt/{olt.id}/change/" in shown) == (role == Role.ADMINISTRATOR)


def test_a_button_is_no_link(olt: Olt) -> None:
    client = visiting(Role.ADMINISTRATOR)
    asks_first = {path for path in acts(olt) if path.endswith("/disable/")}
    assert {client.get(path).status_code for path in acts(olt).keys() - asks_first} == {405}
    assert {client.get(path).status_code for path in asks_first} == {200}
    assert look(olt).head.olt.enabled


def said(client: Client, path: str, **given: str) -> str:
    """What the page says after it."""
    answer = client.post(path, given, follow=True)
    return " ".join(str(message) for message in answer.context["messages"])


def test_run_now_queues_an_execution_and_names_it(olt: Olt) -> None:
    client, node = visiting(Role.OPERATOR), node_of("discovery", "centro")
    told = said(client, f"/olts/{olt.id}/nodes/{node.id}/run/")
    execution = Execution.objects.get(run_now=True)
    assert str(execution.id) in told
    assert execution.node_id == node.id
    assert AuditEntry.objects.filter(action="run", how="pages").exists()


def test_what_cannot_be_done_is_explained(olt: Olt) -> None:
    client, node = visiting(Role.OPERATOR), node_of("discovery", "centro")
    said(client, f"/olts/{olt.id}/nodes/{node.id}/disable/", reason="too slow")
    assert AuditEntry.objects.get(action="change").changes["reason"] == {"new": "too slow"}
    assert not node_of("discovery", "centro").enabled
    assert "centro" in said(client, f"/olts/{olt.id}/nodes/{node.id}/run/")
    assert not Execution.objects.exists()
    said(client, f"/olts/{olt.id}/nodes/{node.id}/enable/")
    assert node_of("discovery", "centro").enabled


def test_a_node_of_another_olt_is_not_touched(olt: Olt) -> None:
    (other,) = add_olts("norte")
    node = node_of("discovery", "centro")
    for act in ("run", "disable"):
        path = f"/olts/{other.id}/nodes/{node.id}/{act}/"
        assert visiting(Role.OPERATOR).post(path).status_code == 404
    assert node_of("discovery", "centro").enabled
    assert not Execution.objects.exists()


def test_an_olt_is_switched_off_and_on(olt: Olt, logged: Callable[[], list[CoordinatorLog]]) -> None:
    client = visiting(Role.OPERATOR)
    said(client, f"/olts/{olt.id}/disable/")
    assert look(olt).head.olt.enabled, "without a reason nothing happens"
    page = client.post(f"/olts/{olt.id}/disable/", {"reason": "new board"}, follow=True).content.decode()
    assert look(olt).head.olt.condition == "disabled"
    assert "new board" in page
    assert page.count(f'action="/olts/{olt.id}/enable/"') == 2
    entry = AuditEntry.objects.get(action="change", model="hosts.olt")
    assert entry.changes["disabled_reason"]["new"] == "new board"
    (log,) = [row for row in logged() if row.event_type == "OLT_DISABLED"]
    assert (log.olt_id, log.details["reason"]) == (olt.id, "new board")
    said(client, f"/olts/{olt.id}/enable/")
    assert look(olt).head.olt.condition == "never_asked"
    assert look(olt).head.olt.disabled_reason == ""


def test_recover_now_makes_the_probe_due_at_once(olt: Olt) -> None:
    client, later = visiting(Role.OPERATOR), database_now() + timedelta(hours=1)
    path = f"/olts/{olt.id}/recover/"
    assert "centro" in said(client, path)
    assert look(olt).head.olt.next_probe_at is None, "it is not suspended"
    columns = {"suspended_reason": text_reason("no answer"), "suspended_at": NOON, "next_probe_at": later}
    Olt.objects.filter(id=olt.id).update(**columns)
    assert f'action="{path}"' in page_of(client, olt)
    said(client, path)
    assert look(olt).head.olt.next_probe_at <= database_now()
    assert look(olt).head.olt.condition == "suspended", "only an answer resumes it"


def violation(olt: Olt, ago: timedelta, **columns: object) -> QuotaViolation:
    at = database_now() - ago
    period = {"period_start": at - timedelta(hours=1), "period_end": at, "created_at": at}
    return QuotaViolation.objects.create(olt=olt, severity="HIGH", report={"tasks": []}, **period, **columns)


def test_a_violation_is_acknowledged_by_who_may_and_stays_for_a_day(olt: Olt) -> None:
    seen, old = violation(olt, timedelta(hours=2)), violation(olt, timedelta(days=2))
    violation(olt, timedelta(days=3), acknowledged_at=NOON, acknowledged_by="ana-lopez")
    paths = {each: f"/olts/{olt.id}/violations/{each.pk}/acknowledge/" for each in (seen, old)}
    client = visiting(Role.OPERATOR)
    page = page_of(client, olt)
    assert all(f'action="{path}"' in page for path in paths.values())
    assert "ana-lopez" not in page
    assert f'action="{paths[seen]}"' not in page_of(visiting(Role.VIEWER), olt)
    assert visiting(Role.VIEWER).post(paths[seen]).status_code == 403
    (other,) = add_olts("norte")
    assert client.post(f"/olts/{other.id}/violations/{seen.pk}/acknowledge/").status_code == 404
    for path in paths.values():
        said(client, path)
    assert not QuotaViolation.objects.filter(acknowledged_at=None).exists()
    page = page_of(client, olt)
    assert [f'href="/violations/{each.pk}/"' in page for each in (seen, old)] == [True, False]


def test_the_next_maintenance_is_told_with_the_way_to_plan_one(olt: Olt) -> None:
    client, add = visiting(Role.ADMINISTRATOR), f"/admin/maintenance/maintenancewindow/add/?olt={olt.id}"
    collection = client.get(f"/olts/{olt.id}/collection/").content.decode()
    # With the way back to this tab.
    assert collection.count(f"{add}&amp;next=/olts/{olt.id}/collection/") == 2
    assert page_of(client, olt).count(add) == 8
    now = database_now()
    for name, days in (("cambio de tarjeta", 1), ("lejos", 40)):
        at = now + timedelta(days=days)
        span = {"starts_at": at, "ends_at": at + timedelta(hours=1)}
        MaintenanceWindow.objects.create(name=name, olt=olt, created_at=now, **span)
    page = page_of(client, olt)
    assert "cambio de tarjeta" in page
    assert "lejos" not in page


def page_of(client: Client, olt: Olt) -> str:
    """Return all tabs, with the part that one of them loads."""
    parts = ("", *TABS, "proposals/")
    return "".join(client.get(f"/olts/{olt.id}/{part}").content.decode() for part in parts)


def test_a_reading_is_called_by_its_onu(olt: Olt) -> None:
    onu = Onu.objects.create(olt=olt, serial="HWTC0A0B0C0D", first_seen=NOON, last_seen=NOON)
    reading = ended("state")
    Execution.objects.filter(id=reading.pk).update(node=None, onu=onu)
    ended("state", blocked_by=reading, why_late="olt_busy", delay_ms=9000)
    page = page_of(visiting(Role.VIEWER), olt)
    assert page.count("ONU HWTC0A0B0C0D") == 2


def _shift() -> Shift:
    return Shift(node_of("discovery", "centro").id, "discovery", timedelta(minutes=2), timedelta(minutes=38))


def test_a_proposed_move_is_made_once_and_only_as_it_was_shown(
    olt: Olt, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift = _shift()
    monkeypatch.setattr("facho.web.olts.actions.suggest_shift", lambda *_: shift)
    client, path = visiting(Role.ADMINISTRATOR), f"/olts/{olt.id}/shift/"
    before = node_of("discovery", "centro").next_run_at
    assert before is not None
    said(client, path, node=str(shift.node_id), by="3 min")
    assert node_of("discovery", "centro").next_run_at == before
    said(client, path, node=str(shift.node_id), by="2 min")
    assert node_of("discovery", "centro").next_run_at == before + timedelta(minutes=2)


def test_the_answer_to_a_test_of_the_connection_comes_into_the_page(
    olt: Olt, monkeypatch: pytest.MonkeyPatch
) -> None:
    detection = Detection("huawei", "MA5800-X7", text_reason("its sysObjectID"))
    heard = Identified("Huawei <b>Integrated</b>", "1.3.6.1.4.1.2011.2.248", 90000.0, detection)
    monkeypatch.setattr(asking, "ask", lambda _: heard)
    client, path = visiting(Role.OPERATOR), f"/olts/{olt.id}/test/"
    page = client.post(path, headers={"HX-Request": "true"}).content.decode()
    assert "Huawei &lt;b&gt;Integrated" in page
    assert "1 d 01 h" in page
    assert "<html" not in page
    assert "Huawei" in said(client, path)
    silence = asking.Silence(text_reason("nothing listens on UDP port 161"), SnmpError("x"))
    monkeypatch.setattr(asking, "ask", lambda _: silence)
    assert "nothing listens" in client.post(path, headers={"HX-Request": "true"}).content.decode()
