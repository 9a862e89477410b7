"""No secret that this process has seen is written for people, however it is written."""

import json
from urllib.parse import quote, quote_plus

import pytest

from facho import masking
from facho.apps.hosts.credentials import Credentials
from facho.config import Config
from facho.keys import Vault, secret_key
from facho.masking import add_secrets, add_url_secrets, mask_secrets
from facho.snmp.usm import Auth, Priv, User


@pytest.fixture(autouse=True)
def knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_known", set())
    monkeypatch.setattr(masking, "_forms", ())
    monkeypatch.setattr(masking, "_short", None)


def test_a_secret_is_masked_wherever_it_stands() -> None:
    add_secrets("correct-horse")
    assert mask_secrets("community=correct-horse, b'correct-horse'") == "community=***, b'***'"
    assert mask_secrets("nothing here") == "nothing here"


def test_one_that_begins_like_another_leaves_no_rest() -> None:
    add_secrets("north", "north-of-the-river")
    assert mask_secrets("north-of-the-river and north") == "*** and ***"


def test_a_short_one_is_masked_as_a_whole_word_only() -> None:
    add_secrets("olt")
    assert mask_secrets("olt: volt and olts of olt") == "***: volt and olts of ***"


@pytest.mark.parametrize("secret", ["p@ss/w rd", "it's\\so", "contraseña", "two\nlines", "raw\udcffbyte"])
def test_it_is_known_in_an_address_in_a_representation_and_in_json(secret: str) -> None:
    add_secrets(secret)
    for written in (
        quote(secret, safe="", errors="surrogateescape"),
        quote_plus(secret, errors="surrogateescape"),
        repr({"x": secret}),
        json.dumps({"x": secret}),
    ):
        assert "***" in mask_secrets(f"before {written} after"), written


def test_nothing_is_no_secret() -> None:
    add_secrets("")
    assert mask_secrets("text") == "text"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://facho:s3cret%21pass@db/facho",
        "redis://:s3cret%21pass@cache:6379/0",
        "postgresql://facho@db/facho?password=s3cret%21pass",
    ],
)
def test_passwords_of_addresses_are_known_as_written_and_as_meant(url: str) -> None:
    add_url_secrets(url, "redis://[broken")
    assert mask_secrets("s3cret!pass s3cret%21pass") == "*** ***"


def test_credentials_are_known_as_soon_as_there_are_any() -> None:
    Credentials(community="blue-river")
    Credentials(user=User("reader", Auth.SHA256, "auth-secret-1", Priv.AES128, "priv-secret-2"))
    assert mask_secrets("blue-river reader auth-secret-1 priv-secret-2") == "*** reader *** ***"


def test_our_own_keys_are_known() -> None:
    vault = Vault(Config(credential_keys=("key-of-credentials",)))
    assert vault.keys() == ["key-of-credentials"]
    assert secret_key(Config(secret_key="key-of-sessions")) == "key-of-sessions"
    assert mask_secrets("key-of-credentials key-of-sessions") == "*** ***"
