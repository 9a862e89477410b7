"""OLTs in the admin: secrets go in and never come out, and the engine's columns are the engine's."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Brand, Oid, Olt, OltModel
from facho.engine.commands.oids import NewOid, add_oid
from facho.snmp.usm import Auth, Priv, User
from tests.factories import add_job, add_olts, know_brands, next_run, node_of

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

ADD = "/admin/hosts/olt/add/"
LIST = "/admin/hosts/olt/"
USER = User("operator-7", Auth.SHA256, "auth-secret-1", Priv.AES128, "priv-secret-1", "vrf-9")


@pytest.fixture(autouse=True)
def _brands() -> None:
    know_brands()


def form_of(**changes: Any) -> dict[str, Any]:
    usual = {
        "name": "Centro",
        "enabled": "on",
        "brand": Brand.objects.get(name="huawei").pk,
        "model": "",
        "address": "10.0.0.1",
        "port": "161",
        "site": "",
        "snmp_version": "2c",
        "community": "",
    }
    return {**usual, **changes}


def change(olt: Olt) -> str:
    return reverse("admin:hosts_olt_change", args=[olt.pk])


def stored(name: str = "Centro") -> Olt:
    return Olt.objects.get(name=name)


def errors_of(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200, "it was saved"
    return dict(answer.context["adminform"].form.errors)


def test_a_new_olt_is_saved_with_its_community(admin_client: Client) -> None:
    answer = admin_client.post(ADD, form_of(community="my-community"))
    assert answer.status_code == 302
    assert stored().credentials == Credentials(community="my-community")


@pytest.mark.parametrize(("written", "seconds"), [("15 min", 900), ("900", 900), ("1 h", 3600), ("", None)])
def test_the_shortest_interval_is_written_in_words(
    admin_client: Client, written: str, seconds: int | None
) -> None:
    given = form_of(community="my-community")
    assert admin_client.post(ADD, {**given, "shortest_interval_s": written}).status_code == 302
    assert stored().shortest_interval_s == seconds
    refused = admin_client.post(change(stored()), {**given, "shortest_interval_s": "often"})
    assert "shortest_interval_s" in errors_of(refused)
    if seconds == 900:
        assert 'value="15 min"' in admin_client.get(change(stored())).content.decode()


def test_a_community_is_kept_when_its_field_is_left_empty(admin_client: Client) -> None:
    admin_client.post(ADD, form_of(community="my-community"))
    assert admin_client.post(change(stored()), form_of(site="Norte")).status_code == 302
    assert stored().site == "Norte"
    assert stored().credentials == Credentials(community="my-community")


def test_a_community_is_replaced_by_what_is_written(admin_client: Client) -> None:
    admin_client.post(ADD, form_of(community="my-community"))
    admin_client.post(change(stored()), form_of(community="another-one"))
    assert stored().credentials == Credentials(community="another-one")


def test_no_secret_reaches_a_page(admin_client: Client) -> None:
    olt = add_olts("Centro")[0]
    for credentials in (Credentials(community="my-community"), Credentials(user=USER)):
        olt.credentials = credentials
        olt.snmp_version = "3" if credentials.user else "2c"
        olt.save()
        history = reverse("admin:hosts_olt_history", args=[olt.pk])
        for page in (change(olt), LIST, history):
            shown = admin_client.get(page).content.decode()
            for secret in (*credentials.secrets(), "operator-7", "vrf-9"):
                assert secret not in shown, page


def test_a_secret_that_was_refused_is_not_sent_back(admin_client: Client) -> None:
    answer = admin_client.post(ADD, form_of(community="my-community", port="0"))
    assert "port" in errors_of(answer)
    assert "my-community" not in answer.content.decode()


def test_an_snmpv3_user_is_saved_whole_and_changed_in_part(admin_client: Client) -> None:
    given = form_of(
        snmp_version="3",
        v3_user="operator-7",
        auth_protocol="SHA256",
        auth_password="auth-secret-1",
        priv_protocol="AES128",
        priv_password="priv-secret-1",
        context="vrf-9",
    )
    assert admin_client.post(ADD, given).status_code == 302
    assert stored().credentials == Credentials(user=USER)
    admin_client.post(change(stored()), form_of(snmp_version="3", priv_protocol="none"))
    assert stored().credentials == Credentials(
        user=User("operator-7", Auth.SHA256, "auth-secret-1", context="vrf-9")
    )


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"v3_user": ""}, "v3_user", "1 a 32 octetos"),
        ({"v3_user": "u", "auth_protocol": "MD5", "auth_password": "short"}, "auth_password", "8 caracteres"),
        (
            {"v3_user": "u", "priv_protocol": "DES", "priv_password": "long-enough"},
            "auth_protocol",
            "necesita autenticación",
        ),
        (
            {"v3_user": "u", "auth_protocol": "MD5", "auth_password": "long-enough", "priv_protocol": "DES"},
            "priv_password",
            "8 caracteres",
        ),
    ],
)
def test_what_is_wrong_with_an_snmpv3_user_is_said_at_its_field(
    admin_client: Client, given: dict[str, str], field: str, said: str
) -> None:
    answer = admin_client.post(ADD, form_of(snmp_version="3", **given), headers={"accept-language": "es"})
    (sentence,) = errors_of(answer)[field]
    assert said in sentence


def test_a_community_is_asked_for_when_the_version_becomes_2c(admin_client: Client) -> None:
    olt = add_olts("Centro")[0]
    olt.credentials, olt.snmp_version = Credentials(user=USER), "3"
    olt.save()
    assert "community" in errors_of(admin_client.post(change(olt), form_of()))
    assert stored().credentials == Credentials(user=USER)


def test_an_address_that_is_none_is_refused_at_its_field(admin_client: Client) -> None:
    answer = admin_client.post(ADD, form_of(community="c", address="10.0.0.1:161"))
    assert "address" in errors_of(answer)


def test_a_model_of_another_brand_is_refused(admin_client: Client) -> None:
    model = OltModel.objects.create(brand=Brand.objects.get(name="zte"), name="C320")
    answer = admin_client.post(ADD, form_of(community="c", model=model.pk))
    assert "model" in errors_of(answer)


def test_a_brand_cannot_change_under_the_jobs_for_it(admin_client: Client) -> None:
    olt = add_olts("Centro")[0]
    add_job("state", "Centro")
    other = Brand.objects.get(name="zte")
    assert "brand" in errors_of(admin_client.post(change(olt), form_of(brand=other.pk)))
    assert stored().brand.name == "huawei"


def written_by(client: Client, path: str, given: dict[str, Any], table: str) -> list[str]:
    """The columns that saving a form writes: the engine may write others in the meantime."""
    with CaptureQueriesContext(connection) as queries:
        assert client.post(path, given).status_code == 302
    updates = [query["sql"] for query in queries if query["sql"].startswith(f'UPDATE "{table}" SET')]
    return [column for sql in updates for column in re.findall(r'"(\w+)" = ', sql.partition("WHERE")[0])]


def test_an_edit_writes_what_was_changed_and_no_column_of_the_engine(admin_client: Client) -> None:
    olt = add_olts("Centro")[0]
    assert written_by(admin_client, change(olt), form_of(site="Norte"), "olts") == ["site"]
    given = form_of(site="Norte", community="another-one")
    assert set(written_by(admin_client, change(olt), given, "olts")) == {"credentials"}
    assert written_by(admin_client, change(olt), form_of(site="Norte"), "olts") == []


def test_an_edit_of_an_oid_leaves_alone_what_the_sync_writes(admin_client: Client) -> None:
    oid = add_oid(NewOid("own", "1.3.6.1.7", "huawei"))
    given = {name: getattr(oid, name) for name in ("name", "oid", "entity", "provides", "profile_oid")}
    path = reverse("admin:hosts_oid_change", args=[oid.pk])
    given |= {"brand": oid.brand_id, "model": "", "name": "another"}
    assert "synced" not in written_by(admin_client, path, given, "oids")
    assert Oid.objects.get(pk=oid.pk).name == "another"


def test_disabling_in_the_form_takes_the_nodes_off_the_schedule(admin_client: Client) -> None:
    olt = add_olts("Centro")[0]
    add_job("state", "Centro")
    given = form_of()
    del given["enabled"]
    assert admin_client.post(change(olt), given).status_code == 302
    assert not stored().enabled
    assert next_run("state", "Centro") is None


def test_the_actions_enable_and_disable(admin_client: Client) -> None:
    olts = add_olts("Centro", "Norte")
    add_job("state", "Centro", "Norte")
    chosen = {"_selected_action": [olt.pk for olt in olts]}
    asked = admin_client.post(LIST, {"action": "disable", **chosen})
    assert 'name="reason"' in asked.content.decode()
    refused = admin_client.post(LIST, {"action": "disable", "reason": " ", **chosen}).content.decode()
    assert 'role="alert"' in refused
    assert not Olt.objects.filter(enabled=False).exists(), "without a reason nothing happens"
    given = {"action": "disable", "reason": "new board", **chosen}
    answer = admin_client.post(LIST, given, follow=True)
    assert set(Olt.objects.filter(enabled=False).values_list("disabled_reason", flat=True)) == {"new board"}
    assert "Se deshabilitaron 2." in answer.content.decode()
    assert next_run("state", "Norte") is None
    admin_client.post(LIST, {"action": "enable", **chosen})
    assert node_of("state", "Norte").next_run_at is not None
