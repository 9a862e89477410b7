"""`facho notify`: channels from the command line, whose addresses are secret."""

from __future__ import annotations

import pytest

from tests.integration.own_facho import OwnFacho, new_facho

SECRET = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"


@pytest.fixture
def facho(tmp_path_factory: pytest.TempPathFactory) -> OwnFacho:
    return new_facho(tmp_path_factory)


def add_channel(facho: OwnFacho, *options: str, given: str) -> tuple[int, str]:
    done = facho.run(
        "notify", "channel", "add", "noc", *options, given=given, FACHO_NOTIFY_LOCAL_TARGETS="true"
    )
    return done.returncode, done.stdout + done.stderr


def channels(facho: OwnFacho) -> list[tuple[str, str]]:
    return [(row["name"], row["kind"]) for row in facho.told("notify", "list")["channels"]]


def test_a_channel_is_added_from_the_values_of_its_service(facho: OwnFacho) -> None:
    code, said = add_channel(
        facho, "--service", "telegram", "--default-rule", given="token=123456789:abcdefg_hij\nchat = @noc\n"
    )
    assert (code, channels(facho)) == (0, [("noc", "tgram")]), said
    assert [rule["channels"] for rule in facho.told("notify", "list")["rules"]] == [["noc"]]


def test_an_address_in_place_of_values_is_refused_and_not_repeated(facho: OwnFacho) -> None:
    for given in (SECRET, f"{SECRET}?token=7"):
        code, said = add_channel(facho, "--service", "slack", given=f"{given}\n")
        assert (code, channels(facho)) == (2, [])
        assert "each line is NAME=VALUE; the names are url" in said
        assert "TIiajkdnlazkcOXrIdevi7FQ" not in said


def test_a_channel_that_takes_no_test_is_not_added(facho: OwnFacho) -> None:
    # Nothing listens on the port of tcpmux.
    address = "http://127.0.0.1:1/in"
    code, said = add_channel(facho, "--test", given=f"{address}\n")
    assert (code, channels(facho)) == (4, [])
    assert "noc did not accept the test" in said
    assert add_channel(facho, given=f"{address}\n")[0] == 0
    assert channels(facho) == [("noc", "http")]
