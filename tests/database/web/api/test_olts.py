"""OLTs through the API, as an operator's program adds, looks after and tests them."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Olt, OltModel
from facho.core.reasons import text_reason
from facho.core.roles import Role
from facho.engine.collect.identify import Identified
from facho.engine.commands import connection_test
from facho.engine.commands.connection_test import Silence
from facho.snmp import Target
from facho.snmp.errors import NoAnswer
from facho.vendors import Detection
from tests.api_clients import asking, refused_at
from tests.factories import add_job, add_olts, node_of

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

OLTS = "/api/v1/olts/"
SEEN = Identified(
    "Huawei Integrated Access Software",
    "1.3.6.1.4.1.2011.2.123",
    7.9,
    Detection("huawei", "MA5800", text_reason("x")),
)


@pytest.fixture
def admin() -> APIClient:
    return asking(Role.ADMINISTRATOR)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    """Who was asked what it is; all are of the same kind."""
    found: list[Target] = []

    def ask(target: Target) -> Identified:
        found.append(target)
        return SEEN

    monkeypatch.setattr(connection_test, "ask", ask)
    return found


def brand(name: str) -> int:
    return Brand.objects.get(name=name).id


def test_an_olt_is_added_with_all_that_is_known_of_it(admin: APIClient) -> None:
    given = {
        "name": "olt-1", "address": "2001:DB8::1", "port": 1161, "snmp_version": "1", "brand": brand("zte"),
        "credentials": {"community": "verysecret"}, "site": "Centro", "max_in_flight": 2,
    }  # fmt: skip
    answer = admin.post(OLTS, given)
    assert answer.status_code == 201
    olt = Olt.objects.get()
    assert answer["Location"] == f"http://testserver{OLTS}{olt.id}/"
    shown = admin.get(f"{OLTS}{olt.id}/")
    assert shown.json() == answer.json()
    assert "verysecret" not in shown.content.decode()
    assert (shown.json()["address"], shown.json()["brand_name"], shown.json()["state"]) == (
        "2001:db8::1", "zte", "new",
    )  # fmt: skip
    assert (olt.port, olt.snmp_version, olt.site, olt.max_in_flight, olt.enabled) == (
        1161, "1", "Centro", 2, True,
    )  # fmt: skip
    assert olt.credentials == Credentials(community="verysecret")


def test_without_a_brand_it_is_asked_what_it_is(admin: APIClient, asked: list[Target]) -> None:
    answer = admin.post(OLTS, {"name": "olt-1", "address": "[::1]", "credentials": {"community": "abc"}})
    assert (answer.status_code, answer.json()["brand_name"], answer.json()["model_name"]) == (
        201, "huawei", "MA5800",
    )  # fmt: skip
    assert [(target.host, target.community) for target in asked] == [("::1", "abc")]
    # What is wrong anyway is said without asking.
    assert refused_at(admin.post(OLTS, {"name": "olt-1", "address": "10.0.0.1"})).keys() == {"name"}
    assert len(asked) == 1


def test_one_that_does_not_answer_is_not_saved(admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        connection_test, "ask", lambda _target: Silence(text_reason("10.0.0.1 does not answer"), NoAnswer(""))
    )
    answer = admin.post(OLTS, {"name": "olt-1", "address": "10.0.0.1"})
    assert refused_at(answer) == {"address": "10.0.0.1 does not answer"}
    assert not Olt.objects.exists()


def test_everything_that_is_wrong_is_said_at_once(admin: APIClient) -> None:
    given = {
        "name": "", "port": 0, "snmp_version": "4", "brand": 10**25, "colour": "red",
        "credentials": {"user": "u", "priv": "AES", "secret": 1}, "max_varbinds": 0,
    }  # fmt: skip
    assert refused_at(admin.post(OLTS, given)).keys() == {
        "name", "address", "port", "snmp_version", "brand", "colour", "credentials.secret", "max_varbinds",
    }  # fmt: skip
    assert refused_at(admin.post(OLTS, ["olt-1"])).keys() == {""}


@pytest.mark.parametrize(
    ("credentials", "field"),
    [
        ({"user": "u", "priv": "AES", "priv_password": "12345678"}, "credentials.auth"),
        ({"user": "u", "auth": "SHA-256", "auth_password": "short"}, "credentials.auth_password"),
        ({"auth": "SHA-256", "auth_password": "long enough"}, "credentials.user"),
        ({"user": "u", "community": "public"}, "credentials.community"),
        # What only the command knows: version 2c needs a community.
        ({"user": "u"}, "credentials.community"),
    ],
)
def test_credentials_that_make_no_sense(admin: APIClient, credentials: dict[str, str], field: str) -> None:
    given = {"name": "olt-1", "address": "10.0.0.1", "brand": brand("zte"), "credentials": credentials}
    assert refused_at(admin.post(OLTS, given)).keys() == {field}


def test_a_change_writes_only_what_was_given(admin: APIClient) -> None:
    (olt,) = add_olts("olt-1")
    Olt.objects.update(max_in_flight=3, max_varbinds=10, site="Centro")
    # What the engine wrote after it was read stays.
    answer = admin.patch(f"{OLTS}{olt.id}/", {"max_varbinds": None, "address": "10.0.0.2"})
    assert (answer.status_code, answer.json()["max_varbinds"]) == (200, None)
    olt.refresh_from_db()
    assert (olt.address, olt.max_in_flight, olt.max_varbinds, olt.site) == ("10.0.0.2", 3, None, "Centro")
    assert olt.credentials == Credentials(community="public")
    secret = {"user": "monitor", "auth": "SHA-256", "auth_password": "long enough"}
    answer = admin.patch(f"{OLTS}{olt.id}/", {"snmp_version": "3", "credentials": secret})
    assert answer.status_code == 200
    assert "long enough" not in answer.content.decode()
    olt.refresh_from_db()
    assert olt.credentials.user is not None
    assert olt.credentials.user.auth_password == "long enough"


def test_a_change_that_is_refused_in_part_changes_nothing(admin: APIClient) -> None:
    olt, _other = add_olts("olt-1", "olt-2")
    assert refused_at(admin.patch(f"{OLTS}{olt.id}/", {"site": "Norte", "name": "olt-2"})).keys() == {"name"}
    assert refused_at(admin.patch(f"{OLTS}{olt.id}/", {"site": "Norte", "cpu_pct": 3})).keys() == {"cpu_pct"}
    olt.refresh_from_db()
    assert olt.site == ""


def test_a_model_is_one_of_its_brand(admin: APIClient) -> None:
    (olt,) = add_olts("olt-1")
    own = OltModel.objects.create(brand=olt.brand, name="MA5800")
    other = OltModel.objects.create(brand=Brand.objects.get(name="zte"), name="MA5800")
    assert refused_at(admin.patch(f"{OLTS}{olt.id}/", {"model": other.id})).keys() == {"model"}
    assert admin.patch(f"{OLTS}{olt.id}/", {"model": own.id}).json()["model_name"] == "MA5800"
    assert admin.patch(f"{OLTS}{olt.id}/", {"model": None}).json()["model"] is None


@pytest.mark.both_databases
def test_an_operator_switches_it_off_and_on(admin: APIClient) -> None:
    (olt,) = add_olts("olt-1")
    add_job("state", "olt-1", now=timezone.now())
    operator = asking(Role.OPERATOR)
    assert operator.post(f"{OLTS}{olt.id}/disable/").json() == {
        "nodes": 0, "first_run_at": None, "aborted": 0,
    }  # fmt: skip
    assert node_of("state", "olt-1").next_run_at is None
    assert operator.get(f"{OLTS}{olt.id}/").json()["state"] == "disabled"
    answer = operator.post(f"{OLTS}{olt.id}/enable/").json()
    assert (answer["nodes"], answer["aborted"]) == (1, 0)
    assert node_of("state", "olt-1").next_run_at is not None
    # Configuring is not theirs, not even this.
    assert operator.patch(f"{OLTS}{olt.id}/", {"enabled": False}).status_code == 403
    assert admin.patch(f"{OLTS}{olt.id}/", {"enabled": False}).json()["enabled"] is False
    assert node_of("state", "olt-1").next_run_at is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_who_may_not_configure(role: Role) -> None:
    (olt,) = add_olts("olt-1")
    client = asking(role)
    assert client.post(OLTS, {"name": "x", "address": "10.0.0.1"}).status_code == 403
    assert client.patch(f"{OLTS}{olt.id}/", {}).status_code == 403
    acts = {client.post(f"{OLTS}{olt.id}/{act}/").status_code for act in ("enable", "disable")}
    assert acts == ({403} if role is Role.VIEWER else {200})
    # There is only one way to change it.
    assert asking(Role.ADMINISTRATOR).put(f"{OLTS}{olt.id}/", {}).status_code == 405


def test_a_test_says_what_it_is_or_what_is_wrong(
    asked: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    (olt,) = add_olts("olt-1")
    path = f"{OLTS}{olt.id}/test/"
    assert asking(Role.VIEWER).post(path).status_code == 403
    assert asking(Role.OPERATOR).post(path).json() == {
        "answers": True, "reason": None, "brand": brand("huawei"), "brand_name": "huawei",
        "model_name": "MA5800", "why": "x", "sys_descr": SEEN.sys_descr,
        "sys_object_id": SEEN.sys_object_id, "uptime_s": 7,
    }  # fmt: skip
    assert [(target.host, target.community) for target in asked] == [("10.0.0.1", "public")]
    monkeypatch.setattr(
        connection_test, "ask", lambda _target: Silence(text_reason("no answer from 10.0.0.1"), NoAnswer(""))
    )
    answer: Any = asking(Role.OPERATOR).post(path).json()
    assert (answer["answers"], answer["reason"], answer["brand"]) == (False, "no answer from 10.0.0.1", None)


def test_olts_are_searched() -> None:
    add_olts("north-1", "north-2", "south-1")
    Olt.objects.filter(name="south-1").update(site="Norte", suspended_reason="it does not answer")
    client = asking(Role.VIEWER)

    def found(query: str) -> list[str]:
        return [row["name"] for row in client.get(f"{OLTS}?{query}").json()["results"]]

    assert found("search=NORT") == ["north-1", "north-2", "south-1"]
    assert found("search=north&ordering=-name") == ["north-2", "north-1"]
    assert found("suspended=true&site=Norte") == ["south-1"]
    assert found("enabled=false") == []
