"""What people do in the admin, by the API and on the command line is recorded, with who they are."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from facho.apps.access.actors import acting
from facho.apps.access.audit_actions import How
from facho.apps.access.models import ApiToken, AuditEntry, LoginAttempt
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.notifications.models import NotificationChannel, NotificationRule
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.cli import system
from facho.cli.audit import list_entries
from facho.config import current
from facho.core.roles import Role
from facho.web.access import recording
from tests.api_clients import asking, person, showing, token_of
from tests.factories import make_node, make_olt
from tests.sample_rows import fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

AUDIT = "/api/v1/audit/"
ENGLISH = {"accept-language": "en"}


def test_whoever_uses_a_token_is_recorded_as_its_owner_with_its_name() -> None:
    node = make_node(make_olt("olt-1"), enabled=True)
    owner = person(Role.OPERATOR, "maria")
    secret = token_of(owner, Role.OPERATOR)
    answer = showing(secret).post(f"/api/v1/nodes/{node.id}/run/", REMOTE_ADDR="10.0.0.9")
    (entry,) = AuditEntry.objects.all()
    assert (entry.who, entry.user_id, entry.how) == ("maria", owner.id, "api")
    assert (entry.address, entry.token) == ("10.0.0.9", secret[:12])
    assert (entry.action, entry.model, entry.object_id) == ("run", "snmp_jobs.snmpjobhost", node.id)
    assert entry.changes == {"execution": {"new": answer.json()["execution"]}}
    # Of the token itself nothing is known but its name.
    assert secret not in str(list(AuditEntry.objects.values()))


def test_behind_a_proxy_that_is_trusted_the_address_is_the_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make_node(make_olt("olt-1"), enabled=True)
    client, path = asking(Role.OPERATOR), f"/api/v1/nodes/{node.id}/disable/"
    by_proxy: dict[str, Any] = {"REMOTE_ADDR": "10.0.0.9", "HTTP_X_FORWARDED_FOR": "6.6.6.6, 192.0.2.7"}
    client.post(path, **by_proxy)
    behind = replace(current(), trusted_proxies=("10.0.0.0/8",))
    monkeypatch.setattr(recording, "current", lambda: behind)
    client.post(path.replace("disable", "enable"), **by_proxy)
    assert [entry.address for entry in AuditEntry.objects.order_by("id")] == ["10.0.0.9", "192.0.2.7"]


def test_of_ipv6_the_whole_address_is_recorded() -> None:
    """The rest of its /64, which attempts are counted by, may be other people's."""
    node = make_node(make_olt("olt-1"), enabled=True)
    longest = "2001:db8:1111:2222:3333:4444:5555:6666"
    asking(Role.OPERATOR).post(f"/api/v1/nodes/{node.id}/run/", REMOTE_ADDR=longest)
    Client().post("/admin/login/", {"username": "maria", "password": "wrong"}, REMOTE_ADDR=longest)
    assert list(AuditEntry.objects.values_list("address", flat=True)) == [longest] * 2
    assert LoginAttempt.objects.get().address == "2001:db8:1111:2222::/64"


def test_what_is_only_looked_at_is_not_recorded(admin_client: Client) -> None:
    fill(1)
    AuditEntry.objects.all().delete()
    for model in (Olt, SnmpJob, User, AuditEntry):
        admin_client.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
    asking(Role.ADMINISTRATOR).get(AUDIT)
    assert not AuditEntry.objects.exists()


FORMS: dict[type[Any], dict[str, Any]] = {
    Brand: {"title": "Another title"},
    OltModel: {"name": "M2"},
    Oid: {"provides": "serial"},
    Olt: {"site": "north"},
    SnmpJob: {"priority": 7},
    SnmpJobHost: {"priority": 7},
    NotificationChannel: {"language": "es"},
    NotificationRule: {"min_severity": "HIGH"},
    MaintenanceWindow: {"enabled": False},
    User: {"first_name": "María"},
}


class Fields(HTMLParser):
    """What a browser sends of a form that nobody touched."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, Any] = {}
        self._select = self._text = ""
        self._ours = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if tag == "form":
            # There are others, as that of the language.
            self._ours = (found.get("id") or "").endswith("_form")
        if not self._ours:
            return
        usual = "on" if found.get("type") == "checkbox" else ""
        name, value = found.get("name") or "", found.get("value") or usual
        switched = found.get("type") not in ("checkbox", "radio") or "checked" in found
        if tag == "input" and name and switched and found.get("type") not in ("submit", "search"):
            self.sent[name] = value
        elif tag in ("select", "textarea"):
            self._select, self._text = (name, "") if tag == "select" else ("", name)
        elif tag == "option" and self._select and "selected" in found:
            self.sent.setdefault(self._select, []).append(value)

    def handle_data(self, data: str) -> None:
        if self._text:
            self.sent[self._text] = self.sent.get(self._text, "") + data.lstrip("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self._select = self._text = ""


@pytest.mark.parametrize("model", FORMS, ids=lambda model: model.__name__)
def test_what_is_saved_in_a_form_is_recorded(admin_client: Client, model: type[Any]) -> None:
    fill(1)
    # A get without facts cannot be saved, nor a window that is over, nor who has no role, nor an OID of a
    # brand whose profile has no table of such things.
    SnmpJob.objects.update(kind="discovery")
    Brand.objects.filter(oids__isnull=False).update(name="huawei")
    Group.objects.get(name="viewer").user_set.set(User.objects.filter(is_superuser=False))
    tomorrow = timezone.now().replace(microsecond=0) + timedelta(days=1)
    MaintenanceWindow.objects.update(ends_at=tomorrow)
    row = model._default_manager.order_by("pk").last()
    page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
    sent = Fields(admin_client.get(page).content.decode()).sent
    AuditEntry.objects.all().delete()
    ((column, wanted),) = FORMS[model].items()
    before = getattr(row, column)
    sent[column] = wanted
    if wanted is False:
        del sent[column]
    answer = admin_client.post(page, sent)
    assert answer.status_code == 302, answer.context["errors"]
    entry = AuditEntry.objects.get(model=model._meta.label_lower)
    assert (entry.who, entry.how, entry.action) == ("admin", "admin", "change")
    assert (entry.object_id, entry.changes) == (row.pk, {column: {"old": before, "new": wanted}})


@pytest.mark.parametrize("model", [OltModel, Oid, User], ids=lambda model: model.__name__)
def test_what_is_deleted_in_the_admin_is_recorded(admin_client: Client, model: type[Any]) -> None:
    names = {
        OltModel: OltModel.objects.create(brand=Brand.objects.create(name="acme"), name="M1"),
        Oid: Oid.objects.create(brand=Brand.objects.create(name="b"), name="sysName", oid="1.3.6.1.2.1.1.5"),
        User: User.objects.create(username="acme"),
    }
    row = names[model]
    page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_delete", args=[row.pk])
    assert admin_client.post(page, {"post": "yes"}).status_code == 302
    (entry,) = AuditEntry.objects.all()
    assert (entry.action, entry.model, entry.object_id) == ("delete", model._meta.label_lower, row.pk)
    assert all(change["new"] is None for change in entry.changes.values())


def test_a_users_groups_and_password_are_recorded_without_the_password(admin_client: Client) -> None:
    somebody = person(Role.VIEWER, "jose")
    page = reverse("admin:auth_user_password_change", args=[somebody.pk])
    sent = {"password1": "wonderful-horse-7", "password2": "wonderful-horse-7", "usable_password": "true"}
    assert admin_client.post(page, sent).status_code == 302
    (entry,) = AuditEntry.objects.all()
    assert (entry.name, entry.changes) == ("jose", {"password": {"changed": True}})
    assert "horse" not in str(list(AuditEntry.objects.values()))


def test_log_ins_are_recorded_and_what_may_be_a_password_in_the_wrong_box_is_not(client: Client) -> None:
    User.objects.create_user(username="maria", password="wonderful-horse-7")
    page = reverse("login")
    client.post(page, {"username": "maria", "password": "wrong"})
    client.post(page, {"username": "wonderful-horse-7", "password": "x"})
    client.post(page, {"username": "maria", "password": "wonderful-horse-7"})
    client.post(reverse("logout"))
    told = AuditEntry.objects.order_by("id").values_list("who", "action", "name")
    assert list(told) == [
        ("", "login_failed", "maria"),
        ("", "login_failed", ""),
        ("maria", "login", "maria"),
        ("maria", "logout", "maria"),
    ]
    assert set(AuditEntry.objects.values_list("address", flat=True)) == {"127.0.0.1"}


def test_who_asks_is_known_behind_a_server_that_does_many_things_at_once() -> None:
    """As `facho web` serves it: the view runs in another thread than the one that took the request."""
    node, client = make_node(make_olt("olt-1")), AsyncClient()
    token = token_of(person(Role.OPERATOR, "jose"), Role.OPERATOR)
    async_to_sync(client.post)(f"/api/v1/nodes/{node.id}/run/", headers={"authorization": f"Bearer {token}"})
    (entry,) = AuditEntry.objects.all()
    assert (entry.who, entry.how, entry.action) == ("jose", "api", "run")


@pytest.mark.parametrize("role", [Role.METRICS, Role.VIEWER, Role.OPERATOR])
def test_only_administrators_read_it(role: Role, client: Client) -> None:
    assert asking(role).get(AUDIT).status_code == 403
    if role is not Role.METRICS:
        client.force_login(person(role))
        assert client.get("/admin/access/auditentry/").status_code == 403


def test_the_api_has_it_with_filters_and_the_same_number_of_queries_for_any_length() -> None:
    client, spent = asking(Role.ADMINISTRATOR), []
    # The first use of a token is written down.
    client.get(AUDIT)
    for beginning, count in ((0, 5), (5, 45)):
        fill(count, beginning_at=beginning)
        with CaptureQueriesContext(connection) as asked:
            assert len(client.get(AUDIT).json()["results"]) == beginning + count
        spent.append(len(asked))
    assert spent[0] == spent[1]
    (one,) = client.get(AUDIT, {"model": "hosts.olt", "object_id": "7", "who": "user-0"}).json()["results"]
    assert one["changes"] == {"port": {"old": 161, "new": 1161}, "credentials": {"changed": True}}
    assert client.get(AUDIT, {"since": timezone.now().isoformat()}).json()["results"] == []
    assert client.post(AUDIT, {}).status_code == 405
    assert client.delete(f"{AUDIT}{one['id']}/").status_code == 405


def test_the_admin_shows_old_and_new_in_words(admin_client: Client) -> None:
    fill(1)
    listed = admin_client.get("/admin/access/auditentry/", headers=ENGLISH).content.decode()
    assert "port: 161 → 1161; credentials: changed" in listed
    spanish = admin_client.get(
        "/admin/access/auditentry/", headers={"accept-language": "es"}
    ).content.decode()
    assert "puerto: 161 → 1161" in spanish
    one = AuditEntry.objects.get()
    page = reverse("admin:access_auditentry_change", args=[one.pk])
    assert "161 → 1161" in admin_client.get(page, headers=ENGLISH).content.decode()


def test_the_command_line_is_the_person_of_the_machine_and_lists_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUDO_USER", "jose")
    monkeypatch.setenv("COLUMNS", "200")
    make_olt("olt-1")
    with acting(system._person):
        Olt.objects.filter(name="olt-1").update(port=1161, site="north")
    (entry,) = AuditEntry.objects.all()
    assert (entry.who, entry.how, entry.name) == ("jose", How.COMMAND_LINE, "olt-1")
    list_entries(who="jose", since="1h", limit=10)
    assert "port: 161 -> 1161; site: - -> north" in capfd.readouterr().out
    list_entries(who="maria", limit=0, as_json=True)
    assert json.loads(capfd.readouterr().out) == []


def test_tokens_and_groups_are_recorded_whichever_end_is_touched() -> None:
    jose, group = User.objects.create(username="jose"), Group.objects.get(name="operator")
    with acting(system._person):
        jose.groups.add(group)
        group.user_set.clear()
        token_of(jose, Role.VIEWER)
        ApiToken.objects.update(last_used_at=timezone.now())
        ApiToken.objects.update(revoked_at=timezone.now())
    told = list(AuditEntry.objects.order_by("id").values_list("action", "name", "changes"))
    assert told[:2] == [
        ("change", "jose", {"groups": {"old": [], "new": ["operator"]}}),
        ("change", "jose", {"groups": {"old": ["operator"], "new": []}}),
    ]
    assert [action for action, _name, _changes in told[2:]] == ["add", "change"]
    assert "digest" not in told[2][2]
