"""An OLT is asked what it is from its form, before that is saved, and the answer is in the page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from facho.apps.access.models import AuditEntry
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
from tests.api_clients import person
from tests.factories import add_olts, know_brands

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

NEW = "/admin/hosts/olt/test/"
SEEN = Identified(
    "<b>MA5800-X7</b>",
    "1.3.6.1.4.1.2011.2.1",
    7200.0,
    Detection("huawei", "MA5800-X7", text_reason("its name")),
)
FORM = {"name": "", "address": "10.0.0.9", "port": "1161", "snmp_version": "2c", "community": "typed"}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    know_brands()
    found: list[Target] = []

    def ask(target: Target) -> Identified:
        found.append(target)
        return SEEN

    monkeypatch.setattr(connection_test, "ask", ask)
    return found


def client_of(role: Role) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(person(role))
    return client


@pytest.fixture
def administrator() -> Client:
    return client_of(Role.ADMINISTRATOR)


def of(olt: Olt) -> str:
    return f"/admin/hosts/olt/{olt.pk}/test/"


def said(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_new_one_is_asked_with_what_was_typed_and_nothing_is_saved(
    administrator: Client, asked: list[Target]
) -> None:
    model = OltModel.objects.create(brand=Brand.objects.get(name="huawei"), name="MA5800-X7")
    page = said(administrator.post(NEW, FORM))
    assert [(each.host, each.port, each.community) for each in asked] == [("10.0.0.9", 1161, "typed")]
    assert f'data-use-model="{model.pk}"' in page
    assert "&lt;b&gt;MA5800" in page
    assert "<b>" not in page
    assert not Olt.objects.exists()
    assert AuditEntry.objects.get(action="test").name == "10.0.0.9"


def test_what_is_needed_to_ask_is_said_and_nobody_is_asked(
    administrator: Client, asked: list[Target]
) -> None:
    page = said(administrator.post(NEW, {**FORM, "port": "none", "community": ""}))
    assert "Port: " in page
    assert "Community: " in page
    assert "Name" not in page
    assert "neither an IPv4" in said(administrator.post(NEW, {**FORM, "address": "10.0.0.1:161"}))
    assert not asked


def test_a_secret_that_is_left_empty_is_the_stored_one(administrator: Client, asked: list[Target]) -> None:
    (olt,) = add_olts("Centro")
    olt.credentials = Credentials(community="stored")
    olt.save(update_fields=["credentials"])
    said(administrator.post(of(olt), {**FORM, "community": ""}))
    assert (asked[0].host, asked[0].community) == ("10.0.0.9", "stored")
    assert Olt.objects.get().address == olt.address


def test_an_operator_asks_with_what_is_stored_whatever_is_sent(asked: list[Target]) -> None:
    (olt,) = add_olts("Centro")
    page = said(client_of(Role.OPERATOR).post(of(olt), FORM))
    assert asked[0].host == olt.address
    assert "data-use-brand" not in page


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_who_may_not(role: Role, asked: list[Target]) -> None:
    (olt,) = add_olts("Centro")
    client = client_of(role)
    assert client.post(NEW, FORM).status_code == 403
    assert (client.post(of(olt), FORM).status_code == 403) is (role is Role.VIEWER)
    page = client.get(f"/admin/hosts/olt/{olt.pk}/change/").content.decode()
    assert (f'hx-post="{of(olt)}"' in page) is (role is Role.OPERATOR)
    assert len(asked) == (role is Role.OPERATOR)


def test_why_it_does_not_answer_is_said(administrator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    silence = Silence(text_reason("10.0.0.9: <nobody> is there"), NoAnswer("no answer"))
    monkeypatch.setattr(connection_test, "ask", lambda _target: silence)
    assert "10.0.0.9: &lt;nobody&gt; is there" in said(administrator.post(NEW, FORM))


def test_a_few_are_tested_from_the_list_and_the_rest_is_told(
    administrator: Client, asked: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    olts = add_olts(*(f"olt-{number}" for number in range(7)))
    chosen = {"action": "test_each", "_selected_action": [olt.pk for olt in olts]}
    page = administrator.post("/admin/hosts/olt/", chosen, follow=True).content.decode()
    assert f"olt-0 answers: {Brand.objects.get(name='huawei')} MA5800-X7" in page
    assert "2 more were not tested." in page
    assert len(asked) == 5
    monkeypatch.setattr(
        connection_test, "ask", lambda _target: Silence(text_reason("no answer"), NoAnswer("no answer"))
    )
    assert "olt-0: no answer" in administrator.post("/admin/hosts/olt/", chosen, follow=True).content.decode()


def test_the_form_says_which_secrets_are_set_and_none_of_them(administrator: Client) -> None:
    (olt,) = add_olts("Centro")
    olt.credentials = Credentials(community="stored-one")
    olt.save(update_fields=["credentials"])
    page = administrator.get(f"/admin/hosts/olt/{olt.pk}/change/")
    fields = page.context["adminform"].form.fields
    assert fields["community"].help_text.startswith("Set.")
    assert fields["auth_password"].help_text == "Not set."
    assert "stored-one" not in page.content.decode()
