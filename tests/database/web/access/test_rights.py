"""Who gets what: every address that there is, asked by everybody.

An address that is in none of the tables fails here, so that whoever adds one says who may have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from facho.apps.access.models import ApiToken
from facho.core.roles import OF_PEOPLE, Role, role_named
from facho.web.api import throttling
from tests.api_clients import person, showing, token_of
from tests.database.bare_pages import leave_out_what_is_on_all
from tests.sample_rows import fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("live_poller")]

# Who asks: a browser, or a program with a token.
ASKERS = (
    "nobody", "without a role", "viewer", "operator", "administrator",
    "token of metrics", "revoked token", "expired token",
)  # fmt: skip
BROWSERS = ASKERS[:5]

# Pages beside the lists of the admin, by their route: what is asked for, and what each asker gets.
LOGGED_IN = (302, 403, 200, 200, 200, 302, 302, 302)
# Who is logged out meanwhile is told to load the whole page again.
PART = (200, 403, 200, 200, 200, 200, 200, 200)
# Only ever posted to; the tests of the page say by whom.
POSTED = (302, 403, 405, 405, 405, 302, 302, 302)
# Of a number that nothing has: who may is told so, and who may not does not learn it.
NONE = "999999999/"
NOT_THERE = (302, 403, 404, 404, 404, 302, 302, 302)
PART_NOT_THERE = (200, 403, 404, 404, 404, 200, 200, 200)
# To be pressed, not to be opened: tests/database/web/olts/test_pages.py presses them.
BUTTON = (405,) * 8
# It is opened to be asked before it acts, by those who may act.
QUESTION = (302, 403, 403, 404, 404, 302, 302, 302)
PAGES: dict[str, tuple[str, tuple[int, ...]]] = {
    "": ("/", (302,) * 8),
    "coordinator/dashboard/": ("/coordinator/dashboard/", LOGGED_IN),
    "coordinator/wall/": ("/coordinator/wall/", LOGGED_IN),
    "coordinator/dashboard/live/": ("/coordinator/dashboard/live/", PART),
    "banner/": ("/banner/", PART),
    "banner/olts/<id:olt_id>/": (f"/banner/olts/{NONE}", PART),
    "coordinator/dashboard/overview/": ("/coordinator/dashboard/overview/", PART),
    "coordinator/dashboard/timeline/": ("/coordinator/dashboard/timeline/", PART),
    **{
        f"olts/{path}": (f"/olts/{asked}", statuses)
        for path, asked, statuses in (
            ("", "", LOGGED_IN),
            ("rows/", "rows/", PART),
            ("<id:olt_id>/", NONE, NOT_THERE),
            ("<id:olt_id>/ports/<id:port_id>/", f"{NONE}ports/{NONE}", NOT_THERE),
            ("<id:olt_id>/parts/<id:part_id>/", f"{NONE}parts/{NONE}", NOT_THERE),
            ("<id:olt_id>/uplinks/<id:uplink_id>/", f"{NONE}uplinks/{NONE}", NOT_THERE),
            ("<id:olt_id>/ports/at/<path:place>/", f"{NONE}ports/at/0/1/1/", NOT_THERE),
            ("<id:olt_id>/<olt_tab:tab>/", f"{NONE}ports/", NOT_THERE),
            ("<id:olt_id>/<olt_tab:tab>/part/", f"{NONE}ports/part/", PART_NOT_THERE),
            *(
                (f"<id:olt_id>/{part}/", f"{NONE}{part}/", PART_NOT_THERE)
                for part in ("live", "facts", "proposals")
            ),
            *(
                (f"<id:olt_id>/{act}/", f"{NONE}{act}/", BUTTON)
                for act in ("test", "enable", "recover", "shift")
            ),
            ("<id:olt_id>/disable/", f"{NONE}disable/", QUESTION),
            *(
                (f"<id:olt_id>/nodes/<id:node_id>/{act}/", f"{NONE}nodes/{NONE}{act}/", BUTTON)
                for act in ("run", "enable")
            ),
            (
                "<id:olt_id>/nodes/<id:node_id>/disable/",
                f"{NONE}nodes/{NONE}disable/",
                QUESTION,
            ),
            (
                "<id:olt_id>/violations/<id:violation_id>/acknowledge/",
                f"{NONE}violations/{NONE}acknowledge/",
                BUTTON,
            ),
        )
    },
    "executions/<id:execution_id>/": ("/executions/0/", (302, 403, 404, 404, 404, 302, 302, 302)),
    "onus/<id:onu_id>/": ("/onus/0/", (302, 403, 404, 404, 404, 302, 302, 302)),
    "onus/<id:onu_id>/read/": (f"/onus/{NONE}read/", BUTTON),
    "onus/<id:onu_id>/reading/<id:execution_id>/": (f"/onus/{NONE}reading/1/", PART_NOT_THERE),
    "onus/worst/": ("/onus/worst/", LOGGED_IN),
    "onus/unprovisioned/": ("/onus/unprovisioned/", LOGGED_IN),
    "traffic/": ("/traffic/", LOGGED_IN),
    "traffic/tops/": ("/traffic/tops/", PART),
    "versions/": ("/versions/", LOGGED_IN),
    "plans/": ("/plans/", LOGGED_IN),
    "plans/rows/": ("/plans/rows/", PART),
    "preferences/": ("/preferences/", LOGGED_IN),
    "violations/<id:violation_id>/": (f"/violations/{NONE}", NOT_THERE),
    "violations/<id:violation_id>/acknowledge/": (f"/violations/{NONE}acknowledge/", BUTTON),
    "search/": ("/search/?q=olt-0", LOGGED_IN),
    # Who may not is told who may; the tests of the first run say who is refused.
    "start/": ("/start/", LOGGED_IN),
    **{
        f"start/<id:olt_id>/{step}/": (f"/start/{NONE}{step}/", (302, 403, 200, 200, 404, 302, 302, 302))
        for step in ("jobs", "what-if", "wait")
    },
    "metrics": ("/metrics", (401, 401, 401, 401, 401, 200, 401, 401)),
    "admin/login/": ("/admin/login/", (200,) * 8),
    "admin/logout/": ("/admin/logout/", (405,) * 8),
    "admin/password_change/": ("/admin/password_change/", LOGGED_IN),
    "admin/password_change/done/": ("/admin/password_change/done/", LOGGED_IN),
    "language/setlang/": ("/language/setlang/", (302,) * 8),
    # It leads to the dashboard.
    "admin/": ("/admin/", (302, 403, 302, 302, 302, 302, 302, 302)),
    "admin/search/": ("/admin/search/?s=olt", LOGGED_IN),
    "admin/autocomplete/": (
        "/admin/autocomplete/?app_label=snmp_jobs&model_name=snmpjobhost&field_name=olt",
        LOGGED_IN,
    ),
    "admin/jsi18n/": ("/admin/jsi18n/", LOGGED_IN),
    "admin/r/<path:content_type_id>/<path:object_id>/": (
        "/admin/r/0/0/",
        (302, 403, 404, 404, 404, 302, 302, 302),
    ),
    "admin/auth/user/<id>/password/": (
        "/admin/auth/user/0/password/",
        (302, 403, 403, 403, 404, 302, 302, 302),
    ),
    "admin/hosts/olt/test/": ("/admin/hosts/olt/test/", POSTED),
    "admin/notifications/notificationchannel/test/": (
        "/admin/notifications/notificationchannel/test/",
        POSTED,
    ),
    "admin/notifications/notificationchannel/<int:channel_id>/test/": (
        "/admin/notifications/notificationchannel/999999999/test/",
        POSTED,
    ),
    "admin/hosts/olt/<int:olt_id>/test/": ("/admin/hosts/olt/1/test/", POSTED),
    "admin/^(?P<app_label>...)/$": ("/admin/hosts/", LOGGED_IN),
    "admin/(?P<url>.*)$": ("/admin/nothing/", (302, 403, 404, 404, 404, 302, 302, 302)),
    "api/v1/": ("/api/v1/", (401, 403, 200, 200, 200, 403, 401, 401)),
    "api/v1/schema/": ("/api/v1/schema/", (401, 403, 200, 200, 200, 403, 401, 401)),
    "api/v1/docs/": ("/api/v1/docs/", LOGGED_IN),
    "api/v1/^[\\s\\S]*/$": ("/api/v1/nothing/", (401, 403, 404, 404, 404, 403, 401, 401)),
}
# Answered before any address is looked up.
BEFORE_ALL = {"/health": (503,) * 8, "/static/facho/icon.svg": (200,) * 8}

# The admin: the lowest role that may see the list and its rows, add, change and delete; None when nobody may.
V, O, A = Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR  # noqa: E741
WRITTEN_BY_THE_SYSTEM = (V, None, None, None)
CONFIGURED = (V, A, A, A)
ADMIN: dict[str, tuple[Role | None, ...]] = {
    "access.apitoken": (V, V, None, None),
    "access.auditentry": (A, None, None, None),
    "access.loginattempt": (A, None, None, None),
    "access.loginaddress": (A, None, None, None),
    "auth.user": (A, A, A, A),
    "chassis.olthealth": WRITTEN_BY_THE_SYSTEM,
    "chassis.ponport": WRITTEN_BY_THE_SYSTEM,
    "chassis.unprovisioned": WRITTEN_BY_THE_SYSTEM,
    "chassis.uplink": WRITTEN_BY_THE_SYSTEM,
    "discovery.clockstate": WRITTEN_BY_THE_SYSTEM,
    "discovery.collected": WRITTEN_BY_THE_SYSTEM,
    "discovery.onu": WRITTEN_BY_THE_SYSTEM,
    "discovery.onuevent": WRITTEN_BY_THE_SYSTEM,
    "discovery.portoutage": WRITTEN_BY_THE_SYSTEM,
    "discovery.unreadablerows": WRITTEN_BY_THE_SYSTEM,
    "discovery.versioncount": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.coordinatorlog": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.coordinatorstate": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.executionplan": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.oltconfiguration": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.quotatracker": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.quotaviolation": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.storagesample": WRITTEN_BY_THE_SYSTEM,
    "execution_coordinator.taskforecast": WRITTEN_BY_THE_SYSTEM,
    "executions.attempt": WRITTEN_BY_THE_SYSTEM,
    "executions.execution": WRITTEN_BY_THE_SYSTEM,
    "executions.executiontotals": WRITTEN_BY_THE_SYSTEM,
    "executions.skippedslots": WRITTEN_BY_THE_SYSTEM,
    # Each comes from a profile.
    "hosts.brand": (V, None, A, None),
    "hosts.oid": CONFIGURED,
    "hosts.olt": CONFIGURED,
    "hosts.oltmodel": CONFIGURED,
    "maintenance.maintenancewindow": (V, O, O, O),
    # The only one that a rule has is not deleted.
    "notifications.notificationchannel": (V, A, A, None),
    "notifications.notificationdelivery": WRITTEN_BY_THE_SYSTEM,
    "notifications.notificationnotice": WRITTEN_BY_THE_SYSTEM,
    "notifications.notificationrule": CONFIGURED,
    "remote_write.remotewritecursor": WRITTEN_BY_THE_SYSTEM,
    "remote_write.remotewritetotals": WRITTEN_BY_THE_SYSTEM,
    "snmp_jobs.snmpjob": CONFIGURED,
    # It is detached instead.
    "snmp_jobs.snmpjobhost": (V, A, A, None),
    "traffic.olttraffic": WRITTEN_BY_THE_SYSTEM,
    "zabbix_pollers.poller": WRITTEN_BY_THE_SYSTEM,
    "zabbix_pollers.pollerstats": WRITTEN_BY_THE_SYSTEM,
    "zabbix_pollers.worker": WRITTEN_BY_THE_SYSTEM,
}
# What can be done with rows that are chosen in a list, beside deleting them.
ACTIONS: dict[str, dict[str, Role]] = {
    "access.apitoken": {"revoke": V},
    "access.auditentry": {"export_csv": A},
    "auth.user": {"enable": A, "disable": A, "remove": A},
    "chassis.olthealth": {"export_csv": V},
    "chassis.ponport": {"export_csv": V},
    "chassis.unprovisioned": {"export_csv": V},
    "chassis.uplink": {"export_csv": V},
    "discovery.onu": {"export_csv": V},
    "discovery.onuevent": {"export_csv": V},
    "discovery.portoutage": {"export_csv": V},
    "discovery.versioncount": {"export_csv": V},
    "execution_coordinator.coordinatorlog": {"export_csv": V},
    "execution_coordinator.coordinatorstate": {"confirm": A},
    "execution_coordinator.executionplan": {"move_grid": A, "export_csv": V},
    "execution_coordinator.quotatracker": {"export_csv": V},
    "execution_coordinator.quotaviolation": {"acknowledge": O, "export_csv": V},
    "executions.execution": {"abort": O, "export_csv": V},
    "hosts.olt": {"test_each": O, "enable": O, "disable": O, "export_csv": V},
    "maintenance.maintenancewindow": {"end": O, "enable": O, "disable": O, "remove": O},
    "notifications.notificationchannel": {"send_test_to_each": O, "enable": A, "disable": A},
    "notifications.notificationrule": {"enable": A, "disable": A},
    "snmp_jobs.snmpjob": {"run_now": O, "enable": O, "disable": O, "duplicate": A, "export_csv": V},
    "snmp_jobs.snmpjobhost": {"run_now": O, "enable": O, "disable": O, "detach": A, "export_csv": V},
}

# The API: the lowest role that may read a thing with all that belongs to it, and that may change it.
READ: dict[str, Role] = {
    "audit": A,
    "brands": V,
    "collected": V,
    "coordinator": V,
    "events": V,
    "executions": V,
    "forecasts": V,
    "health": V,
    "jobs": V,
    "logs": V,
    "maintenance-windows": V,
    "models": V,
    "nodes": V,
    "notification-channels": V,
    "notification-rules": V,
    "oids": V,
    "olts": V,
    "onus": V,
    "outages": V,
    "plans": V,
    "poller-stats": V,
    "pollers": V,
    "ports": V,
    "quotas": V,
    "retention": V,
    "skipped-slots": V,
    "tokens": V,
    "traffic": V,
    "unprovisioned": V,
    "unreadable-rows": V,
    "uplinks": V,
    "versions": V,
    "violations": V,
}
WRITE: dict[str, Role] = {
    "DELETE jobs/{id}/": A,
    "DELETE maintenance-windows/{id}/": O,
    "DELETE notification-channels/{id}/": A,
    "DELETE notification-rules/{id}/": A,
    "DELETE oids/{id}/": A,
    "DELETE olts/{id}/": A,
    "DELETE tokens/{id}/": V,
    "PATCH jobs/{id}/": A,
    "PATCH maintenance-windows/{id}/": O,
    "PATCH nodes/{id}/": A,
    "PATCH notification-channels/{id}/": A,
    "PATCH notification-rules/{id}/": A,
    "PATCH oids/{id}/": A,
    "PATCH olts/{id}/": A,
    "POST executions/{id}/abort/": O,
    "POST jobs/": A,
    "POST jobs/{id}/attach/": A,
    "POST jobs/{id}/detach/": A,
    "POST jobs/{id}/disable/": O,
    "POST jobs/{id}/duplicate/": A,
    "POST jobs/{id}/enable/": O,
    "POST maintenance-windows/": O,
    "POST maintenance-windows/{id}/end/": O,
    "POST nodes/{id}/disable/": O,
    "POST nodes/{id}/enable/": O,
    "POST nodes/{id}/run/": O,
    "POST nodes/{id}/shift/": A,
    "POST notification-channels/": A,
    "POST notification-channels/test/": A,
    "POST notification-channels/{id}/test/": O,
    "POST notification-rules/": A,
    "POST oids/": A,
    "POST olts/": A,
    "POST olts/{id}/disable/": O,
    "POST olts/{id}/enable/": O,
    "POST olts/{id}/recover/": O,
    "POST olts/{id}/test/": O,
    "POST onus/{id}/read/": O,
    "POST pollers/nodes/{id}/run/": O,
    "POST tokens/": V,
    "POST retention/{id}/confirm/": A,
    "POST violations/{id}/acknowledge/": O,
    "POST what-if/": V,
}


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], APIClient]:
    """A client of each asker, with rows of everything to ask for, as often as a table has lines."""
    for kind in (throttling.AuthenticatedThrottle, throttling.RefusedAddressThrottle):
        monkeypatch.setattr(kind, "get_rate", lambda _self: None)
    get_resolver().url_patterns  # noqa: B018  the admin's pages are found when addresses are
    leave_out_what_is_on_all(monkeypatch)
    fill(1)
    owner = person(Role.ADMINISTRATOR, "owner")
    secrets = {
        "token of metrics": token_of(owner, Role.METRICS),
        "revoked token": token_of(owner, Role.ADMINISTRATOR),
        "expired token": token_of(owner, Role.ADMINISTRATOR, expires_in=timedelta(0)),
    }
    ApiToken.objects.filter(begins=secrets["revoked token"][:8]).update(revoked_at=owner.date_joined)
    people = {
        "without a role": User.objects.create_user("new"),
        **{role.slug: person(role) for role in OF_PEOPLE},
    }

    def client(asker: str) -> APIClient:
        if asker in secrets:
            return showing(secrets[asker])
        made = APIClient()
        if asker in people:
            made.force_login(people[asker])
        return made

    return client


def routes(within: URLResolver, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for each in within.url_patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from routes(each, route)
        else:
            yield route, each


def routes_of_pages() -> set[str]:
    """Without those that every list of the admin has, and without what the description of the API has."""
    lists = {f"admin/{model.replace('.', '/')}/" for model in ADMIN}
    parts = ("", "add/", "export/", "history/", "delete/", "change/")
    usual = {
        base + part for base in lists for part in (*parts, *(f"<path:object_id>/{each}" for each in parts))
    }
    found = {route for route, _pattern in routes(get_resolver())} - usual
    things = ("api/v1/coordinator/", *(f"api/v1/^{name}/" for name in (*READ, "what-if")))
    return {
        "admin/^(?P<app_label>...)/$" if "<app_label>" in route else route
        for route in found
        if not route.startswith(things)
    }


def operations() -> list[str]:
    """`GET nodes/{id}/`, as the description has them."""
    generator: Any = SchemaGenerator
    paths = generator().get_schema(request=None, public=True)["paths"]
    return sorted(
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, methods in paths.items()
        for method in methods
    )


def test_every_page_is_in_the_table() -> None:
    assert routes_of_pages() == set(PAGES)


def test_every_list_of_the_admin_is_in_the_table() -> None:
    get_resolver().url_patterns  # noqa: B018  the admin's pages are found when addresses are
    assert {model._meta.label_lower for model in admin.site._registry} == set(ADMIN)


def test_every_operation_of_the_api_is_in_the_table() -> None:
    reads = {each.split(" ")[1].split("/")[0] for each in operations() if each.startswith("GET ")}
    writes = {each for each in operations() if not each.startswith("GET ")}
    assert reads - {"schema", ""} == set(READ)
    assert writes == set(WRITE)


def test_pages(ask: Callable[[str], APIClient]) -> None:
    clients = [ask(asker) for asker in ASKERS]
    got = {
        path: tuple(client.get(path).status_code for client in clients)
        for path in [*(path for path, _statuses in PAGES.values()), *BEFORE_ALL]
    }
    assert got == {**dict(PAGES.values()), **BEFORE_ALL}


def allowed(asker: str, lowest: Role | None) -> bool:
    role = role_named(asker)
    return role is not None and lowest is not None and role >= lowest


def test_the_lists_of_the_admin(ask: Callable[[str], APIClient]) -> None:
    clients = {asker: ask(asker) for asker in BROWSERS}
    for model, rights in ADMIN.items():
        row = admin.site._registry[_model(model)].model._default_manager.order_by("pk").first()
        base = f"/admin/{model.replace('.', '/')}"
        assert row is not None, model
        for asker, client in clients.items():
            got = _pages_of_a_list(client, base, row.pk)
            assert got == [_expected(asker, right) for right in rights], (model, asker)


def _model(label: str) -> Any:
    return next(model for model in admin.site._registry if model._meta.label_lower == label)


def _pages_of_a_list(client: Client, base: str, row: int) -> list[str]:
    answers = (
        client.get(f"{base}/"),
        client.get(f"{base}/add/"),
        client.post(f"{base}/{row}/change/", {}),
        client.get(f"{base}/{row}/delete/"),
    )
    return [_word(answer) for answer in answers]


def _word(answer: Any) -> str:
    if answer.status_code == 302 and answer["Location"].startswith("/admin/login/"):
        return "log in"
    return "no" if answer.status_code == 403 else "yes"


def _expected(asker: str, lowest: Role | None) -> str:
    if asker == "nobody":
        return "log in"
    return "yes" if allowed(asker, lowest) else "no"


def test_the_actions_of_the_admin(ask: Callable[[str], APIClient]) -> None:
    for slug in ("without a role", *(role.slug for role in OF_PEOPLE)):
        request = RequestFactory().get("/")
        request.user = User.objects.get(pk=ask(slug).session["_auth_user_id"])
        for model, page in admin.site._registry.items():
            label = model._meta.label_lower
            actions = {*page.get_actions(request)} - {"delete_selected"}
            wanted = {name for name, lowest in ACTIONS.get(label, {}).items() if allowed(slug, lowest)}
            assert actions == wanted, (slug, label)


def test_the_operations_of_the_api(ask: Callable[[str], APIClient]) -> None:
    clients = {asker: ask(asker) for asker in ASKERS}
    for operation in operations():
        method, path = operation.split(" ")
        thing = path.split("/")[0]
        lowest = READ.get(thing, V) if method == "GET" else WRITE[operation]
        for asker, client in clients.items():
            # A row that there is not: who may is told so, and nothing happens.
            answer = client.generic(
                method, f"/api/v1/{path.replace('{id}', '999999')}", "{}", "application/json"
            )
            assert _refusal(answer.status_code) == _expected_refusal(asker, lowest), (operation, asker)


def _refusal(status: int) -> int | None:
    assert status < 500
    return status if status in (401, 403) else None


def _expected_refusal(asker: str, lowest: Role) -> int | None:
    if asker in ("nobody", "revoked token", "expired token"):
        return 401
    return None if allowed(asker, lowest) else 403
