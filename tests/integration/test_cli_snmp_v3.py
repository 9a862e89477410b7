"""`facho snmp -v 3`: passwords come from the environment or from the terminal, and are never shown."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Self

import pytest

from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.usm import AUTH_PASSWORD, PRIV_PASSWORD
from tests.services import warm

SYS_DESCR = "1.3.6.1.2.1.1.1.0"
SERIALS = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"
ONUS = 40
SAID = "Huawei Integrated Access Software"
HIDER = ("-v", "3", "--user", "sha-256-aes", "--auth", "SHA-256", "--priv", "AES")
BOTH = {"FACHO_AUTH_PASSWORD": AUTH_PASSWORD, "FACHO_PRIV_PASSWORD": PRIV_PASSWORD}
SECONDS = 30.0


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with FleetProcess(FleetConfig(onus=ONUS)) as fleet:
        host, port = fleet.addresses[0]
        yield f"{host}:{port}"


def environment(**more: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("FACHO_")}
    return {**ours, **more}


def facho_snmp(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return warm.run(["snmp", *words], env=environment(**(env or {})))


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stderr.replace("│", " ").split())


def test_a_get_takes_both_passwords_from_the_environment(address: str) -> None:
    done = facho_snmp("get", address, SYS_DESCR, *HIDER, env=BOTH)
    assert (done.returncode, done.stdout) == (0, f"{SYS_DESCR} = OCTET STRING: {SAID}\n")


def test_the_variables_may_have_other_names(address: str) -> None:
    names = ("--auth-password-env", "OLT_A", "--priv-password-env", "OLT_P")
    # What stands under the usual names is not looked at.
    env = {"FACHO_AUTH_PASSWORD": "not this one", "OLT_A": AUTH_PASSWORD, "OLT_P": PRIV_PASSWORD}
    done = facho_snmp("walk", address, SERIALS, *HIDER, *names, "--json", env=env)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert (result["complete"], len(result["rows"])) == (True, ONUS)


@pytest.mark.parametrize(
    "who",
    [
        ("--user", "noauth"),
        ("--user", "sha-512", "--auth", "SHA-512"),
        ("--user", "md5-des", "--auth", "MD5", "--priv", "DES"),
        ("--user", "sha-aes-256-c", "--auth", "SHA", "--priv", "AES-256-C"),
    ],
    ids=lambda who: who[1],
)
def test_every_level_can_be_asked_for(address: str, who: tuple[str, ...]) -> None:
    done = facho_snmp("get", address, SYS_DESCR, "-v", "3", *who, env=BOTH)
    assert (done.returncode, done.stderr) == (0, "")
    assert SAID in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--user", "nobody"), "does not know this SNMPv3 user"),
        (("--user", "sha-256", "--auth", "MD5"), "check the authentication password and protocol"),
        (("--user", "sha-256"), "does not offer this security level"),
    ],
)
def test_who_is_refused_is_told_why_exit_code_4(address: str, words: tuple[str, ...], said: str) -> None:
    done = facho_snmp("get", address, SYS_DESCR, "-v", "3", *words, env=BOTH)
    assert done.returncode == 4
    assert said in sentence(done)


def test_a_wrong_password_is_exit_code_4_and_is_not_shown(address: str) -> None:
    wrong = {"FACHO_AUTH_PASSWORD": "wr0ng-password", "FACHO_PRIV_PASSWORD": PRIV_PASSWORD}
    done = facho_snmp("walk", address, SERIALS, *HIDER, "--json", env=wrong)
    assert done.returncode == 4
    assert "check the authentication password and protocol" in json.loads(done.stdout)["reason"]
    for secret in wrong.values():
        assert secret not in done.stdout + done.stderr


AUTH = ("--auth", "SHA-256")
SHORT = {"FACHO_AUTH_PASSWORD": "shorty7", "FACHO_PRIV_PASSWORD": "shorty7"}
NOT_TEXT = os.fsdecode(b"pass\xffword")


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (("-v", "3"), {}, "SNMPv3 needs --user"),
        (("-v", "3", "--user", "n" * 33), {}, "an SNMPv3 user name has 1 to 32 octets"),
        (("-v", "3", "--user", "u", "--priv", "AES"), {}, "privacy needs authentication: give --auth too"),
        (("-v", "3", "--user", "u", *AUTH), SHORT, "authentication password has at least 8 characters"),
        (
            ("-v", "3", "--user", "u", *AUTH, "--priv", "AES"),
            {**BOTH, "FACHO_PRIV_PASSWORD": "shorty7"},
            "privacy password has at least 8 characters",
        ),
        (
            ("-v", "3", "--user", "u", *AUTH),
            {},
            "no authentication password: put it into the environment variable FACHO_AUTH_PASSWORD",
        ),
        (
            ("-v", "3", "--user", "u", *AUTH, "--priv", "AES", "--priv-password-env", "OLT_P"),
            {"FACHO_AUTH_PASSWORD": AUTH_PASSWORD},
            "no privacy password: put it into the environment variable OLT_P",
        ),
        (("-v", "3", "--user", "u", "--community", "s3cret-thing"), {}, "SNMPv3 has no community"),
        (("-v", "3", "--user", "u", "--community-env", "X"), {"X": "s3cret-thing"}, "has no community"),
        (("--user", "u"), {}, "--user, --auth and --priv are for SNMPv3: add -v 3"),
        (("-v", "1", *AUTH), BOTH, "are for SNMPv3: add -v 3"),
        (("-v", "3", "--user", "u", "--auth", "ROT13"), BOTH, "'ROT13' is not one of"),
    ],
)
def test_bad_use_is_exit_code_2_and_a_sentence(
    words: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    done = facho_snmp("get", "127.0.0.1:9", SYS_DESCR, *words, env=env)
    assert done.returncode == 2
    assert said in sentence(done)
    assert done.stdout == ""
    for secret in ("s3cret-thing", "shorty7", AUTH_PASSWORD, PRIV_PASSWORD):
        assert secret not in done.stderr


def test_a_password_that_is_no_text_is_used_as_it_is(address: str) -> None:
    """An old system's environment may hold octets that are no UTF-8."""
    env = {"FACHO_AUTH_PASSWORD": NOT_TEXT}
    done = facho_snmp("get", address, SYS_DESCR, "-v", "3", "--user", "sha-256", *AUTH, env=env)
    assert done.returncode == 4
    assert "check the authentication password" in sentence(done)
    assert "Traceback" not in done.stderr


# The first terminal that the leader of a session opens becomes the terminal of the session.
IN_A_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.executable, [sys.executable, "-m", "facho", "snmp", *sys.argv[1:]])
"""


class Terminal:
    """The command in a terminal of its own, and all that a person would see there."""

    def __init__(self, *words: str) -> None:
        self.shown = ""
        self._line, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", IN_A_TERMINAL, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=environment(TERM="dumb"),
        )
        os.close(theirs)
        self._until = time.monotonic() + SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._line)
        self._process.kill()
        self._process.wait()

    def wait_for(self, text: str) -> None:
        start = len(self.shown)
        while text not in self.shown[start:]:
            assert self._more(), f"the command ended; it had shown {self.shown!r}"

    def _more(self) -> bool:
        left = self._until - time.monotonic()
        assert select.select([self._line], [], [], max(0.0, left))[0], f"stuck after {self.shown!r}"
        try:
            data = os.read(self._line, 4096)
        except OSError:
            # So Linux says that the other side has closed the terminal.
            return False
        self.shown += data.decode()
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self._line, text.encode() + b"\n")

    def end(self) -> int:
        while self._more():
            pass
        return self._process.wait(SECONDS)


def test_a_terminal_is_asked_for_the_passwords_and_does_not_show_them(address: str) -> None:
    with Terminal("get", address, SYS_DESCR, *HIDER) as terminal:
        terminal.wait_for("SNMPv3 authentication password: ")
        terminal.type(AUTH_PASSWORD)
        terminal.wait_for("SNMPv3 privacy password: ")
        terminal.type(PRIV_PASSWORD)
        assert terminal.end() == 0
    assert SAID in terminal.shown
    assert AUTH_PASSWORD not in terminal.shown
    assert PRIV_PASSWORD not in terminal.shown


def test_a_short_password_from_the_terminal_is_refused_and_not_shown() -> None:
    with Terminal("get", "127.0.0.1:9", SYS_DESCR, "-v", "3", "--user", "u", *AUTH) as terminal:
        terminal.wait_for("SNMPv3 authentication password: ")
        terminal.type("shorty7")
        assert terminal.end() == 2
    assert "an SNMPv3 authentication password has at least 8 characters" in terminal.shown
    assert "shorty7" not in terminal.shown
