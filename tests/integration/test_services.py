"""A service that is missing is said once, skips its tests at a desk, and fails them in CI."""

import pytest

from tests.services import packages
from tests.services.unavailable import Unavailable

pytest_plugins = ["pytester"]

WITHOUT_SNMPD = """
from tests.services import packages

packages.SEARCH_PATH = ""
"""
TESTS = """
def test_one(snmpd): pass
def test_two(snmpd): pass
def test_three(): pass
"""
THE_LINE = "Unavailable here, *: snmpd (the Debian package snmpd is not installed)"


@pytest.fixture(params=[[], ["-n2"]], ids=["alone", "xdist"])
def run(
    request: pytest.FixtureRequest, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.RunResult:
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    pytester.makeconftest(WITHOUT_SNMPD)
    pytester.makepyfile(TESTS)
    return pytester.runpytest_subprocess("-p", "tests.services.plugin", *request.param)


@pytest.fixture
def at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")


@pytest.mark.usefixtures("at_a_desk")
def test_at_a_desk_its_tests_are_skipped(run: pytest.RunResult) -> None:
    run.assert_outcomes(passed=1, skipped=2)
    assert run.ret == 0
    run.stdout.fnmatch_lines([THE_LINE])


@pytest.mark.usefixtures("in_ci")
def test_in_ci_its_tests_are_errors(run: pytest.RunResult) -> None:
    run.assert_outcomes(passed=1, errors=2)
    assert run.ret != 0
    run.stdout.fnmatch_lines([THE_LINE])


def test_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "SEARCH_PATH", "")
    with pytest.raises(Unavailable, match="the Debian package snmp is not installed"):
        packages.find("snmpget", packages.SNMP_TOOLS)


def test_without_the_right_to_install_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    assert packages.install([packages.SNMPD]) == "neither root nor sudo without a password"
