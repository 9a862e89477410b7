"""The rotation of keys: whenever it is interrupted, every credential can still be opened."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db.models import TextField, Value
from django.db.models.functions import Cast

from facho.apps.db import fields
from facho.apps.db.fields import SecretText
from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationChannel
from facho.config import Config, current
from facho.engine.commands import keys as rotation
from facho.engine.commands.keys import rotate
from facho.engine.commands.olts import NewOlt, add_olt
from facho.keys import CREDENTIALS, KeyProblem, Vault, new_key

pytestmark = pytest.mark.django_db

NAMES = [f"olt-{number}" for number in range(5)]


class Killed(BaseException):
    """The process ends here, whatever would have been tidied up."""


@pytest.fixture
def config(brands: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Keys of the test's own, and three OLTs in a chunk of the rotation."""
    own = replace(current(), home=tmp_path)
    vault = Vault(own)
    monkeypatch.setattr("facho.apps.db.fields.vault", lambda: vault)
    monkeypatch.setattr(rotation, "shared_vault", lambda: vault)
    monkeypatch.setattr(rotation, "_CHUNK", 3)
    return own


@pytest.fixture
def _olts(config: Config) -> None:
    for port, name in enumerate(NAMES, 161):
        community = Credentials(community=f"of {name}")
        add_olt(NewOlt(name, "10.0.0.1", port, brand="huawei", credentials=community))


def communities() -> list[str]:
    return [olt.credentials.community for olt in Olt.objects.order_by("name")]


def as_before() -> list[str]:
    return [f"of {name}" for name in NAMES]


def tokens() -> dict[str, str]:
    return dict(Olt.objects.values_list("name", Cast("credentials", TextField())))


def place(name: str) -> str:
    return f"olts.credentials:{Olt.objects.get(name=name).pk}"


def enter(name: str, community: str) -> None:
    olt = Olt.objects.get(name=name)
    olt.credentials = Credentials(community=community)
    olt.save(update_fields=["credentials"])


def key_file(config: Config) -> list[str]:
    return (config.home / CREDENTIALS).read_text().split()


@pytest.mark.usefixtures("_olts")
def test_all_credentials_are_under_a_new_key_and_the_old_one_is_gone(config: Config) -> None:
    (old,), before = key_file(config), tokens()
    done = rotate(config)
    assert (done.encrypted_again, done.unneeded_keys, done.resumed, done.unreadable) == (5, 1, False, ())
    (new,) = key_file(config)
    assert new != old
    assert not set(tokens().values()) & set(before.values())
    assert communities() == as_before()
    with pytest.raises(KeyProblem, match="a key that is not here"):
        Vault(replace(config, credential_keys=(old,))).decrypt(tokens()["olt-1"], place("olt-1"))


@pytest.mark.usefixtures("_olts")
def test_the_addresses_of_channels_are_under_the_new_key_too(config: Config) -> None:
    channel = NotificationChannel(name="noc")
    channel.url = SecretText("json://user:secret@noc.example")
    channel.save()
    assert rotate(config).encrypted_again == 6
    assert NotificationChannel.objects.get().url.open() == "json://user:secret@noc.example"


@pytest.mark.usefixtures("_olts")
def test_the_new_key_file_is_its_owners_alone(config: Config) -> None:
    rotate(config)
    assert stat.S_IMODE((config.home / CREDENTIALS).stat().st_mode) == 0o600
    assert sorted(path.name for path in config.home.iterdir()) == [CREDENTIALS, "credentials.lock"]


@pytest.mark.usefixtures("_olts")
def test_another_process_follows_the_rotation(config: Config) -> None:
    elsewhere = Vault(config)
    assert elsewhere.decrypt(tokens()["olt-0"], place("olt-0"))
    rotate(config)
    assert "of olt-0" in elsewhere.decrypt(tokens()["olt-0"], place("olt-0"))
    # And what it encrypts from now on can be opened.
    assert Vault(config).decrypt(elsewhere.encrypt("later", "here"), "here") == "later"


@pytest.mark.usefixtures("_olts")
@pytest.mark.parametrize(
    ("where", "after", "keys_left"),
    [
        ("replace_keys", 0, 1),
        ("_encrypt_again", 0, 2),
        ("_encrypt_again", 1, 2),
        ("_replace", 2, 2),
        ("_drop_old", 0, 2),
        ("replace_keys", 1, 2),
    ],
)
def test_a_rotation_that_is_killed_anywhere_loses_nothing_and_is_finished_by_the_next(
    config: Config, monkeypatch: pytest.MonkeyPatch, where: str, after: int, keys_left: int
) -> None:
    with monkeypatch.context() as patched:
        owner: object = Vault if where == "replace_keys" else rotation
        patched.setattr(owner, where, _killed_after(getattr(owner, where), after))
        with pytest.raises(Killed):
            rotate(config)
    fields.vault().reload_keys()
    assert len(key_file(config)) == keys_left
    assert communities() == as_before()
    done = rotate(config)
    assert (done.resumed, len(key_file(config))) == (keys_left == 2, 1)
    assert communities() == as_before()


def _killed_after(function: Callable[..., object], calls: int) -> Callable[..., object]:
    left = calls

    def run(*args: object, **kwargs: object) -> object:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        return function(*args, **kwargs)

    return run


@pytest.mark.usefixtures("_olts")
def test_who_enters_credentials_during_the_rotation_wins(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypt = rotation._encrypt_again

    def edited_first(*given: Any) -> int:
        enter("olt-1", "changed")
        return encrypt(*given)

    monkeypatch.setattr(rotation, "_encrypt_again", edited_first)
    assert rotate(config).unreadable == ()
    assert communities() == ["of olt-0", "changed", "of olt-2", "of olt-3", "of olt-4"]


@pytest.mark.usefixtures("_olts")
def test_credentials_that_no_key_opens_are_named_and_the_old_keys_stay(config: Config) -> None:
    lost = Vault(replace(config, credential_keys=(new_key(),))).encrypt("{}", place("olt-3"))
    rows = Olt.objects.filter(name="olt-3")
    rows.update(credentials=Value(lost, output_field=TextField()))
    done = rotate(config)
    assert (done.encrypted_again, done.unneeded_keys, done.unreadable) == (4, 0, ("olt-3",))
    assert len(key_file(config)) == 2
    enter("olt-3", "of olt-3")
    assert (rotate(config).unreadable, communities(), len(key_file(config))) == ((), as_before(), 1)


@pytest.mark.usefixtures("_olts")
def test_with_keys_from_the_environment_it_says_what_can_be_removed(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old,), new = key_file(config), new_key()
    given = replace(config, credential_keys=(new, old))
    monkeypatch.setattr("facho.apps.db.fields.vault", lambda: Vault(given))
    done = rotate(given)
    assert (done.from_environment, done.encrypted_again, done.unneeded_keys, done.resumed) == (
        True,
        5,
        1,
        False,
    )
    # The file is not touched.
    assert key_file(config) == [old]
    alone = replace(given, credential_keys=(new,))
    monkeypatch.setattr("facho.apps.db.fields.vault", lambda: Vault(alone))
    assert communities() == as_before()
    assert (rotate(alone).encrypted_again, rotate(alone).unneeded_keys) == (0, 0)


def test_without_olts_there_is_just_a_new_key(config: Config) -> None:
    Vault(config).keys()
    (old,) = key_file(config)
    assert (rotate(config).encrypted_again, key_file(config) != [old]) == (0, True)
