"""Keys are made once, are their owner's alone, and are never lost by halves."""

from __future__ import annotations

import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from facho.config import Config
from facho.keys import CREDENTIALS, SECRET, KeyProblem, Vault, WrongPlace, new_key, secret_key

PLACE = "olts.credentials:7"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(home=tmp_path / "home")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_made_on_first_use_and_then_kept(config: Config) -> None:
    token = Vault(config).encrypt("community", PLACE)
    assert Vault(config).decrypt(token, PLACE) == "community"
    assert len((config.home / CREDENTIALS).read_text().split()) == 1
    assert mode(config.home / CREDENTIALS) == 0o600
    assert list(config.home.iterdir()) == [config.home / CREDENTIALS]


def test_the_key_of_sessions_too(config: Config) -> None:
    assert secret_key(config) == secret_key(config)
    assert len(secret_key(config)) >= 50
    assert mode(config.home / SECRET) == 0o600
    assert secret_key(replace(config, secret_key="given")) == "given"


def test_what_is_closed_does_not_show(config: Config) -> None:
    vault = Vault(config)
    assert "community" not in vault.encrypt("community", PLACE)
    assert vault.encrypt("community", PLACE) != vault.encrypt("community", PLACE)


def test_what_was_closed_for_one_place_is_not_opened_for_another(config: Config) -> None:
    vault = Vault(config)
    token = vault.encrypt("community", PLACE)
    for other in ("olts.credentials:77", "olts.credentials:", "notification_channels.url:7", ""):
        with pytest.raises(WrongPlace, match="encrypted for another row"):
            vault.decrypt(token, other)


def test_what_was_closed_for_no_place_is_opened_only_to_give_it_one(config: Config) -> None:
    vault = Vault(config)
    unbound = Fernet(vault.keys()[0]).encrypt(b'{"community": "old"}').decode()
    with pytest.raises(WrongPlace, match="by a version that did not say for which"):
        vault.decrypt(unbound, PLACE)
    bound = vault.bind_to_place(unbound, PLACE)
    assert vault.decrypt(bound, PLACE) == '{"community": "old"}'
    # And never a second one.
    assert vault.bind_to_place(bound, "olts.credentials:8") == bound


def test_octets_that_are_no_text_survive(config: Config) -> None:
    odd = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert Vault(config).decrypt(Vault(config).encrypt(odd, PLACE), PLACE) == odd


def test_processes_that_start_at_once_have_one_key(config: Config) -> None:
    keys: list[str] = []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        keys.extend(Vault(config).keys())

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_keys_of_the_environment_leave_no_file(config: Config) -> None:
    new, old = new_key(), new_key()
    token = Vault(replace(config, credential_keys=(old,))).encrypt("x", PLACE)
    both = Vault(replace(config, credential_keys=(new, old)))
    assert both.decrypt(token, PLACE) == "x"
    assert Vault(replace(config, credential_keys=(new,))).decrypt(both.reencrypt(token, PLACE), PLACE) == "x"
    assert not config.home.exists()


def test_it_follows_when_another_process_rotates(config: Config) -> None:
    here, there = Vault(config), Vault(config)
    token = here.encrypt("x", PLACE)
    (old,), new = there.keys(), new_key()
    there.replace_keys([new, old])
    assert here.decrypt(there.encrypt("y", PLACE), PLACE) == "y"
    there.replace_keys([new])
    # It still has the old key in memory, and would lock away what it closes now.
    assert there.decrypt(here.encrypt("z", PLACE), PLACE) == "z"
    with pytest.raises(KeyProblem):
        there.decrypt(token, PLACE)


def test_another_key_is_a_sentence_that_says_where_to_put_the_right_one(config: Config) -> None:
    token = Vault(replace(config, credential_keys=(new_key(),))).encrypt("x", PLACE)
    with pytest.raises(KeyProblem, match=f"put it back into {config.home / CREDENTIALS}"):
        Vault(config).decrypt(token, PLACE)
    with pytest.raises(KeyProblem, match="put it back into FACHO_CREDENTIAL_KEYS"):
        Vault(replace(config, credential_keys=(new_key(),))).decrypt(token, PLACE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "is empty"), ("no key\n", "holds something that is no key"), ("\xff", "cannot be read")],
)
def test_a_damaged_key_file_is_a_sentence_and_is_left_alone(config: Config, text: str, sentence: str) -> None:
    config.home.mkdir()
    path = config.home / CREDENTIALS
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(KeyProblem, match=sentence):
        Vault(config).encrypt("x", PLACE)
    assert path.read_bytes() == text.encode("latin-1")


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KeyProblem, match=r"no key can be written|cannot be read"):
        Vault(Config(home=tmp_path / "file" / "home")).encrypt("x", PLACE)


def test_keys_that_are_replaced_stay_their_owners_alone(config: Config) -> None:
    vault = Vault(config)
    vault.keys()
    vault.replace_keys([new_key(), *vault.keys()])
    assert (len(vault.keys()), mode(vault.path)) == (2, 0o600)
    assert list(config.home.iterdir()) == [vault.path]
