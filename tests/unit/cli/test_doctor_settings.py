"""The doctor's looks at the settings of the pages and at clocks, each on its own."""

from __future__ import annotations

import ctypes
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from facho.cli.doctor.machine import check_clock, check_web, compare_clocks, is_synchronised
from facho.config import Config

NOW = datetime(2025, 6, 10, 3, 10, tzinfo=UTC)
WELL = Config(tls=True, trusted_proxies=("10.0.0.5",), allowed_hosts=("facho.example.net",))


def found(config: Config, **environment: str) -> list[tuple[str, str]]:
    return [(finding.level, finding.told) for finding in check_web(config, environment)]


def test_pages_for_this_machine_and_pages_behind_tls_are_well() -> None:
    assert found(Config()) == [("ok", "at 127.0.0.1:8000, for this machine alone")]
    for address in ("localhost:80", "[::1]:8000", "127.0.0.7:1"):
        assert [level for level, _told in found(Config(web_address=address))] == ["ok"], address
    assert found(WELL) == [("ok", "at 127.0.0.1:8000, behind TLS of 10.0.0.5")]


@pytest.mark.parametrize(
    ("config", "level", "words"),
    [
        (
            Config(tls=True, allowed_hosts=("facho.example.net",)),
            "error",
            "FACHO_TRUSTED_PROXIES is empty",
        ),
        (
            Config(tls=True, trusted_proxies=("10.0.0.5", "0.0.0.0/0"), allowed_hosts=("a.net",)),
            "error",
            "FACHO_TRUSTED_PROXIES has 0.0.0.0/0",
        ),
        (Config(tls=True, trusted_proxies=("::/0",), allowed_hosts=("a.net",)), "error", "has ::/0"),
        (Config(web_address="0.0.0.0:8000", allowed_hosts=("a.net",)), "warning", "without TLS: passwords"),
        (Config(web_address="[::]:8000", allowed_hosts=("a.net",)), "warning", "without TLS: passwords"),
        (Config(web_address="facho:8000", allowed_hosts=("a.net",)), "warning", "without TLS: passwords"),
        (Config(trusted_proxies=("::1",), allowed_hosts=("a.net",)), "warning", "FACHO_TLS is no"),
        (Config(tls=True, trusted_proxies=("::1",)), "warning", "FACHO_ALLOWED_HOSTS is empty"),
        (
            Config(tls=True, trusted_proxies=("::1",), allowed_hosts=("*",)),
            "warning",
            "FACHO_ALLOWED_HOSTS has *",
        ),
    ],
)
def test_settings_of_the_pages_that_do_not_fit_together_are_told(
    config: Config, level: str, words: str
) -> None:
    ((told_level, told),) = found(config)
    assert told_level == level
    assert words in told


def test_a_variable_that_is_not_read_is_told() -> None:
    assert found(WELL, FORWARDED_ALLOW_IPS="*") == [("warning", "FORWARDED_ALLOW_IPS is not read")]


@pytest.mark.parametrize(
    ("status", "returned", "told"),
    # The kernel's words, in numbers: synchronised by a phase-locked loop; nobody synchronises; not permitted.
    [(0x2001, 0, True), (0x0040, 5, False), (0x0040, -1, None)],
)
def test_the_kernel_is_asked_about_its_clock(
    monkeypatch: pytest.MonkeyPatch, status: int, returned: int, told: bool | None
) -> None:
    class Libc:
        def adjtimex(self, given: Any) -> int:
            timex = given._obj
            assert timex.modes == 0, "it would set the clock"
            # Where `status` is on 64 bits, behind an int, four longs and what aligns them.
            ctypes.memmove(ctypes.addressof(timex) + 40, status.to_bytes(4, sys.byteorder), 4)
            return returned

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: Libc())
    assert is_synchronised() is told


def test_where_there_is_no_such_kernel_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert is_synchronised() is None


@pytest.mark.parametrize(
    ("synchronised", "level", "words"),
    [
        (True, "ok", "synchronised by a time service"),
        (False, "warning", "not synchronised"),
        (None, "ok", "does not report whether"),
    ],
)
def test_a_clock_that_nobody_keeps_right_is_told(synchronised: bool | None, level: str, words: str) -> None:
    finding = check_clock(synchronised)
    assert finding.level == level
    assert words in finding.told


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [
        (0.0, "ok", "it agrees"),
        # Asking took two seconds: somewhere between them it was that time here too.
        (1.9, "ok", "it agrees"),
        (2.9, "ok", "it agrees"),
        (3.5, "warning", "it is 1.5 s ahead of this machine's"),
        (-0.9, "ok", "it agrees"),
        (-90, "warning", "it is 90.0 s behind this machine's"),
    ],
)
def test_a_database_whose_clock_differs_is_told(seconds: float, level: str, words: str) -> None:
    finding = compare_clocks(NOW, NOW + timedelta(seconds=seconds), NOW + timedelta(seconds=2))
    assert finding.level == level
    assert words in finding.told
