"""Secrets are encrypted for their row: moved to another one, they do not open."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.db import connection
from django.db.models import Model, TextField, Value
from django.db.models.functions import Cast

from facho.apps.db.fields import EncryptedField, PresetKeyField, SecretText, encrypt_for_rows, vault
from facho.apps.executions.subjects import execution_subject
from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationChannel
from facho.keys import KeyProblem, Vault, new_key
from tests.factories import at, make_execution, make_node, make_olt

pytestmark = pytest.mark.django_db


def token(model: type[Model], column: str, key: int) -> str:
    found: str = model._default_manager.values_list(Cast(column, TextField()), flat=True).get(pk=key)
    return found


def store(model: type[Model], column: str, key: int, text: str) -> None:
    model._default_manager.filter(pk=key).update(**{column: Value(text, output_field=TextField())})


def olt_with(community: str, name: str) -> Olt:
    olt = make_olt(name)
    olt.credentials = Credentials(community=community)
    olt.save()
    return olt


def channel_with(url: str) -> NotificationChannel:
    channel = NotificationChannel(name=url)
    channel.url = SecretText(url)
    channel.save()
    return channel


def unbound(text: str) -> str:
    """As earlier versions stored it."""
    return Fernet(vault().keys()[0]).encrypt(text.encode()).decode()


def test_credentials_that_two_olts_swapped_open_for_neither() -> None:
    one, two = olt_with("first", "olt-1"), olt_with("second", "olt-2")
    tokens = [token(Olt, "credentials", olt.pk) for olt in (one, two)]
    for olt, other in zip((one, two), reversed(tokens), strict=True):
        store(Olt, "credentials", olt.pk, other)
    for olt in Olt.objects.all():
        assert isinstance(olt.credentials, Unreadable)
        with pytest.raises(KeyProblem, match="encrypted for another row of the database"):
            _ = olt.credentials.community
    for olt, own in zip((one, two), tokens, strict=True):
        store(Olt, "credentials", olt.pk, own)
    assert [olt.credentials.community for olt in Olt.objects.order_by("name")] == ["first", "second"]


def test_what_an_execution_asks_with_is_that_of_its_olt() -> None:
    node = make_node()
    execution = make_execution(node, at("10:00"))
    node.olt.credentials = Credentials(community="its own")
    node.olt.save()
    assert execution_subject(execution.pk).olt.credentials.community == "its own"
    store(Olt, "credentials", node.olt.pk, token(Olt, "credentials", olt_with("not its own", "other").pk))
    assert isinstance(execution_subject(execution.pk).olt.credentials, Unreadable)


def test_the_address_of_a_channel_opens_for_no_other_channel_and_no_olt() -> None:
    one, two = channel_with("json://one.example"), channel_with("json://two.example")
    store(NotificationChannel, "url", two.pk, token(NotificationChannel, "url", one.pk))
    with pytest.raises(KeyProblem):
        NotificationChannel.objects.get(pk=two.pk).url.open()
    olt = olt_with("x", "olt-1")
    store(Olt, "credentials", olt.pk, token(NotificationChannel, "url", one.pk))
    assert isinstance(Olt.objects.get(pk=olt.pk).credentials, Unreadable)


def test_a_row_without_a_readable_secret_can_be_changed_and_keeps_it() -> None:
    channel = channel_with("json://one.example")
    store(NotificationChannel, "url", channel.pk, "lost")
    found = NotificationChannel.objects.get(pk=channel.pk)
    found.name = "another"
    found.save()
    assert token(NotificationChannel, "url", channel.pk) == "lost"


def test_many_rows_made_at_once_have_secrets_of_their_own() -> None:
    brand = make_olt().brand
    rows = []
    for number in range(3):
        olt = Olt(name=f"many-{number}", brand=brand, address="10.0.0.1")
        olt.credentials = Credentials(community=f"of {number}")
        rows.append(olt)
    Olt.objects.bulk_create(rows)
    found = Olt.objects.filter(name__startswith="many").order_by("name")
    assert [olt.credentials.community for olt in found] == ["of 0", "of 1", "of 2"]


def test_a_key_is_not_given_again_when_its_row_is_gone() -> None:
    first = olt_with("x", "olt-1")
    key = first.pk
    first.delete()
    assert olt_with("y", "olt-2").pk > key


def test_a_secret_cannot_be_written_without_its_row() -> None:
    olt = olt_with("x", "olt-1")
    with pytest.raises(TypeError, match="encrypted for its row"):
        Olt.objects.filter(pk=olt.pk).update(credentials=Credentials(community="y"))


def test_an_upgrade_encrypts_what_is_there_for_its_row_and_then_nothing_else_is_accepted() -> None:
    olt, channel = olt_with("x", "olt-1"), channel_with("json://one.example")
    store(Olt, "credentials", olt.pk, unbound('{"community": "from before"}'))
    store(NotificationChannel, "url", channel.pk, unbound("json://before.example"))
    assert isinstance(Olt.objects.get(pk=olt.pk).credentials, Unreadable)
    for module in (
        "facho.apps.hosts.migrations.0006_credentials_of_one_olt",
        "facho.apps.notifications.migrations.0003_addresses_of_one_channel",
    ):
        import_module(module).bind(apps, SimpleNamespace(connection=connection))
    assert Olt.objects.get(pk=olt.pk).credentials.community == "from before"
    assert NotificationChannel.objects.get(pk=channel.pk).url.open() == "json://before.example"


def test_an_upgrade_moves_nothing_that_is_bound_already() -> None:
    one, two = olt_with("first", "olt-1"), olt_with("second", "olt-2")
    store(Olt, "credentials", two.pk, token(Olt, "credentials", one.pk))
    encrypt_for_rows(connection, "olts", "credentials")
    assert isinstance(Olt.objects.get(pk=two.pk).credentials, Unreadable)


def test_an_upgrade_leaves_a_row_that_no_key_opens_as_it_is_and_goes_on() -> None:
    olt, other = olt_with("x", "olt-1"), olt_with("y", "olt-2")
    lost = Fernet(new_key()).encrypt(b"{}").decode()
    store(Olt, "credentials", olt.pk, lost)
    encrypt_for_rows(connection, "olts", "credentials")
    store(Olt, "credentials", other.pk, unbound('{"community": "z"}'))
    encrypt_for_rows(connection, "olts", "credentials")
    assert token(Olt, "credentials", olt.pk) == lost
    assert Olt.objects.get(pk=other.pk).credentials.community == "z"


def test_an_upgrade_does_not_overwrite_what_is_entered_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    olt = olt_with("x", "olt-1")
    entered = vault().encrypt('{"community": "entered meanwhile"}', f"olts.credentials:{olt.pk}")
    store(Olt, "credentials", olt.pk, unbound('{"community": "from before"}'))
    bind = Vault.bind_to_place

    def bind_slowly(self: Vault, found: str, place: str) -> str:
        store(Olt, "credentials", olt.pk, entered)
        return bind(self, found, place)

    monkeypatch.setattr(Vault, "bind_to_place", bind_slowly)
    encrypt_for_rows(connection, "olts", "credentials")
    assert Olt.objects.get(pk=olt.pk).credentials.community == "entered meanwhile"


def test_every_encrypted_column_has_a_key_before_its_row() -> None:
    """Or its first secret would be encrypted for no row."""
    models = {
        model
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, EncryptedField)
    }
    assert models == {Olt, NotificationChannel}
    assert all(isinstance(model._meta.pk, PresetKeyField) for model in models)
