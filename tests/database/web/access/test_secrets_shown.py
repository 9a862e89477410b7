"""All that people, programs and logs are told, by everything that can be asked: no secret is in any of it."""

from __future__ import annotations

import json
import logging
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from django.contrib.auth.models import User
from django.core import serializers
from django.db import OperationalError
from django.test import Client
from rest_framework.test import APIClient

from facho.apps.access.models import ApiToken, AuditEntry
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.executions.models import Execution
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Olt
from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationNotice
from facho.backends.celery_backend import CeleryBackend
from facho.config import Config
from facho.core.pool import DEFAULT
from facho.core.reasons import text_reason
from facho.core.roles import Role
from facho.engine.collect.identify import Identified
from facho.engine.commands import connection_test
from facho.engine.commands.users import add_user
from facho.snmp import Target
from facho.vendors import Detection
from facho.web.admin import hosts
from facho.web.api import throttling
from facho.web.api.v1 import olts
from tests.api_clients import showing, token_of
from tests.database.bare_pages import leave_out_what_is_on_all
from tests.database.walking import answers, pages_of_rows
from tests.database.web.access.test_rights import BEFORE_ALL, PAGES
from tests.planted_secrets import (
    AUTH,
    BROKER_URL,
    CHANNEL,
    COMMUNITY,
    DATABASE_URL,
    HOOK,
    PASSWORD,
    PLANTED,
    PRIV,
    WRONG_COMMUNITY,
    know_addresses,
    leaks,
    own_secrets,
    told_by,
)
from tests.sample_rows import fill

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.usefixtures("english", "local_targets"),
]

API = "/api/v1"
BY_USER = {"user": "noc", "auth": "SHA-256", "auth_password": AUTH, "priv": "AES", "priv_password": PRIV}
OLT = {"name": "north", "address": "10.0.0.9", "credentials": {"community": COMMUNITY}}
V3_OLT = {"name": "v3", "address": "10.0.0.10", "snmp_version": "3", "credentials": BY_USER}
WRITTEN = {
    "name": "south", "address": "10.0.0.12", "port": "161", "snmp_version": "2c", "community": COMMUNITY,
    "enabled": "on", "v3_user": "noc", "auth_protocol": "SHA256", "auth_password": AUTH,
    "priv_protocol": "AES128", "priv_password": PRIV,
}  # fmt: skip
PERSON = {"username": "beto", "role": "viewer", "password1": PASSWORD, "password2": PASSWORD}


# Where what was written would show.
TOUCHED = (Olt, NotificationChannel, User, ApiToken, AuditEntry)


class Administrator:
    """An administrator in a browser and with a token: who may see most."""

    def __init__(self) -> None:
        self.person = add_user("ana", Role.ADMINISTRATOR.slug, PASSWORD).user
        self.page = Client(raise_request_exception=False)
        assert self.page.login(request=None, username="ana", password=PASSWORD)
        self.token = token_of(self.person, Role.ADMINISTRATOR)
        self.program = showing(self.token)
        self.program.raise_request_exception = False
        self.made: list[str] = []

    def secrets(self) -> set[str]:
        return {*PLANTED, CHANNEL, self.token, *self.made, *own_secrets()}


@pytest.fixture
def administrator(monkeypatch: pytest.MonkeyPatch) -> Administrator:
    for kind in (throttling.AuthenticatedThrottle, throttling.RefusedAddressThrottle):
        monkeypatch.setattr(kind, "get_rate", lambda _self: None)
    # It tells of every variable that is looked for in vain, below what the system logs.
    monkeypatch.setattr(logging.getLogger("django.template"), "disabled", True)
    leave_out_what_is_on_all(monkeypatch)
    know_addresses()
    fill(1)
    for olt in Olt.objects.all():
        olt.credentials = Credentials(community=COMMUNITY)
        olt.save()
    return Administrator()


def all_read(administrator: Administrator) -> Iterator[tuple[str, Any]]:
    other = User.objects.exclude(pk=administrator.person.pk).first()
    assert other is not None
    wanted = [path for path, _statuses in PAGES.values()]
    for path in (*wanted, *BEFORE_ALL, *pages_of_rows(), f"/admin/auth/user/{other.pk}/password/"):
        yield path, administrator.page.get(path)
    for path, answer in answers(administrator.program):
        yield path, answer


def told(answers: Iterator[tuple[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, (path, answer) in enumerate(answers):
        found[f"{number} {path} {answer.status_code}"] = told_by(answer)
    return found


def test_nothing_that_can_be_read_has_a_secret(administrator: Administrator) -> None:
    found = told(all_read(administrator))
    assert leaks(found, administrator.secrets()) == set()
    # Unlike /health, which says that nothing runs here.
    assert not [where for where in found if where.endswith((" 500", " 502"))]
    assert sum(where.endswith(" 200") for where in found) > 150


def written_by_a_program(program: APIClient) -> Iterator[tuple[str, Any]]:
    brand, olt = Brand.objects.values_list("id", flat=True)[0], Olt.objects.order_by("id")[0].pk
    channel = NotificationChannel.objects.order_by("id")[0].pk
    long = {"community": COMMUNITY * 40}
    credentials: tuple[Any, ...] = (
        {"community": COMMUNITY, "user": "noc"}, {**BY_USER, "auth": "rot13"}, {**BY_USER, "priv": ""},
        {**BY_USER, "auth_password": AUTH, "user": ""}, long, COMMUNITY, [COMMUNITY], {AUTH: 1},
    )  # fmt: skip
    asked: list[tuple[str, str, Any]] = [
        ("post", "olts/", {**OLT, "brand": brand}),
        ("post", "olts/", {**OLT, "brand": brand}),
        ("post", "olts/", {**V3_OLT, "brand": brand}),
        ("post", "olts/", {**OLT, "name": "seen", "address": "10.0.0.11"}),
        *(("patch", f"olts/{olt}/", {"credentials": each}) for each in credentials[:-1]),
        ("patch", f"olts/{olt}/", {"credentials": {"community": WRONG_COMMUNITY}}),
        ("patch", f"olts/{olt}/", {"snmp_version": "3", "credentials": {"community": WRONG_COMMUNITY}}),
        ("post", f"olts/{olt}/test/", {}),
        ("post", "notification-channels/", {"name": "noc", "url": CHANNEL}),
        ("post", "notification-channels/", {"name": "noc", "url": CHANNEL}),
        ("post", "notification-channels/", {"name": "bad", "url": CHANNEL.replace("json", "nothing")}),
        ("post", "notification-channels/", {"name": "bad", "url": CHANNEL * 90}),
        ("patch", f"notification-channels/{channel}/", {"url": CHANNEL, "language": "xx"}),
        ("patch", f"notification-channels/{channel}/", {"url": CHANNEL}),
        ("post", f"notification-channels/{channel}/test/", {}),
        ("post", "notification-channels/test/", {"url": CHANNEL}),
        ("post", "notification-channels/test/", {"service": "other", "values": {"address": f"no{CHANNEL}"}}),
        ("post", "notification-channels/test/", {"service": "telegram", "values": {"token": HOOK}}),
        ("post", "tokens/", {"name": "", "role": "root"}),
    ]
    for method, path, given in asked:
        yield f"{method} {path}", getattr(program, method)(f"{API}/{path}", given)
    cut = f'{{"credentials": {{"community": "{COMMUNITY}'
    yield "cut", program.generic("PATCH", f"{API}/olts/{olt}/", cut, "application/json")


def written_by_a_person(page: Client) -> Iterator[tuple[str, Any]]:
    brand, olt = Brand.objects.values_list("id", flat=True)[0], Olt.objects.order_by("id")[0].pk
    other = User.objects.get(username="user-0").pk
    channel = {"name": "hook", "enabled": "on", "address": CHANNEL, "language": ""}
    mistaken = {"password1": PASSWORD, "password2": f"{PASSWORD}x"}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("hosts/olt/add/", WRITTEN),
        ("hosts/olt/add/", {**WRITTEN, "brand": brand, "snmp_version": "3", "priv_protocol": "none"}),
        ("hosts/olt/add/", {**WRITTEN, "brand": brand}),
        (f"hosts/olt/{olt}/change/", {**WRITTEN, "port": "0"}),
        ("hosts/olt/test/", WRITTEN),
        ("hosts/olt/test/", {**WRITTEN, "address": "", "snmp_version": "3"}),
        (f"hosts/olt/{olt}/test/", WRITTEN),
        ("notifications/notificationchannel/add/", {**channel, "address": CHANNEL.replace("json", "no")}),
        ("notifications/notificationchannel/add/", channel),
        ("notifications/notificationchannel/add/", channel),
        ("notifications/notificationchannel/add/", {**channel, "service": "telegram", "token": HOOK}),
        ("notifications/notificationchannel/add/", {**channel, "service": "slack", "web_address": CHANNEL}),
        ("notifications/notificationchannel/test/", channel),
        ("notifications/notificationchannel/test/", {**channel, "service": "mail", "password": HOOK}),
        ("auth/user/add/", {**PERSON, **mistaken}),
        ("auth/user/add/", PERSON),
        (f"auth/user/{other}/password/", mistaken),
        (f"auth/user/{other}/password/", {**PERSON, "usable_password": "true"}),
        ("password_change/", {"old_password": PASSWORD, "new_password1": PASSWORD, "new_password2": "x"}),
    ]
    for path, given in asked:
        # What follows from it is read as well, with what it says above.
        yield f"post {path}", page.post(f"/admin/{path}", given, follow=True)
    # A name comes back to who typed it; it may be a password at the wrong place, and is kept nowhere.
    Client().post("/admin/login/", {"username": PASSWORD, "password": PASSWORD})
    yield "log-in", Client().post("/admin/login/", {"username": "carla", "password": PASSWORD})


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=2)


def made_tokens(administrator: Administrator) -> Iterator[tuple[str, str]]:
    """Each is in the answer that made it, and in no other one."""
    first = {"name": "first", "role": "viewer"}
    by_api = administrator.page.post(f"{API}/tokens/", first, content_type="application/json")
    yield by_api.json()["token"], told_by(by_api)
    given = {
        "owner": administrator.person.pk,
        "name": "second",
        "role": "viewer",
        "expires_at_0": f"{tomorrow():%Y-%m-%d}",
    }
    by_person = administrator.page.post("/admin/access/apitoken/add/", {**given, "expires_at_1": "00:00:00"})
    yield by_person.context["secret"], told_by(by_person)


def seen(target: Target) -> Any:
    """One that says nothing, and one that says what it was asked with."""
    if target.community == COMMUNITY:
        return Identified(
            "MA5800", "1.3.6.1.4.1.2011.2.1", 1.0, Detection("brand-0", "", text_reason("its name"))
        )
    raise OperationalError(f"{target.community} {DATABASE_URL}")


def left_behind(config: Config) -> dict[str, str]:
    tables: tuple[Any, ...] = (
        AuditEntry, CoordinatorLog, NotificationNotice, NotificationDelivery, Execution,
    )  # fmt: skip
    rows = {each.__name__: serializers.serialize("json", each.objects.all()) for each in tables}
    return rows | {path.name: path.read_text("utf-8") for path in config.logs.rglob("*") if path.is_file()}


def test_nothing_that_is_written_comes_back(
    administrator: Administrator, config_with_logs: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_test, "ask", seen)
    for token, answer in made_tokens(administrator):
        assert token in answer
        administrator.made.append(token)
    found = told(written_by_a_program(administrator.program))
    found |= told(written_by_a_person(administrator.page))
    found |= told((path, administrator.page.get(path)) for path in pages_of_rows(*TOUCHED))
    found |= left_behind(config_with_logs)
    assert leaks(found, administrator.secrets()) == set()
    # It was done, and refused, and recorded.
    assert {"north", "v3", "seen", "south"} <= {*Olt.objects.values_list("name", flat=True)}
    assert {"noc", "hook"} <= {*NotificationChannel.objects.values_list("name", flat=True)}
    assert User.objects.get(username="beto").check_password(PASSWORD)
    assert AuditEntry.objects.filter(changes__has_key="credentials").count() > 4
    assert "postgresql://facho:***@db" in found["engine.log"]


def test_a_database_that_says_how_it_is_reached_is_not_repeated(
    administrator: Administrator, config_with_logs: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> Any:
        raise OperationalError(f"{DATABASE_URL} and {BROKER_URL} for {COMMUNITY}")

    for place in (olts, hosts):
        monkeypatch.setattr(place, "olts_under_maintenance", away)
    monkeypatch.setattr("facho.engine.upkeep.health.check_reachable", away)
    failing = {
        "page": administrator.page.get("/admin/hosts/olt/"),
        "answer": administrator.program.get(f"{API}/olts/"),
        "health": Client().get("/health"),
    }
    assert {name: answer.status_code for name, answer in failing.items()} == {
        "page": 500, "answer": 500, "health": 503,
    }  # fmt: skip
    found = told(iter(failing.items())) | left_behind(config_with_logs)
    assert "postgresql://facho:***@db/facho and redis://:***@broker" in found["engine.log"]
    assert leaks(found, administrator.secrets()) == set()


def test_a_message_to_a_poller_has_an_id_and_nothing_else(administrator: Administrator) -> None:
    app = Celery(broker="memory://", set_as_current=False)
    execution_id = Execution.objects.order_by("id")[0].pk
    message = CeleryBackend(app)._message(execution_id, DEFAULT)
    body = b64decode(json.loads(message)["body"]).decode()
    assert json.loads(body)[:2] == [[execution_id], {}]
    assert leaks({"message": message, "body": body}, administrator.secrets()) == set()


def test_those_that_are_planted_in_an_answer_are_found(administrator: Administrator) -> None:
    """Else all of the above would prove nothing."""
    digest = ApiToken.objects.get(owner=administrator.person).digest
    planted = {
        COMMUNITY,
        CHANNEL,
        digest,
        administrator.person.password,
        administrator.page.cookies["sessionid"].value,
    }
    CoordinatorLog.objects.update(message=f"<{' '.join(planted)}>")
    found = leaks(told(iter([("logs", administrator.program.get(f"{API}/logs/"))])), administrator.secrets())
    assert planted <= {secret for _where, secret in found}
