"""A service that is missing is said once, skips its tests at a desk, and fails them in CI."""

import os

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
    request: pytest.FixtureRequest, pytester: pytest.Pytester, services_elsewhere: None
) -> pytest.RunResult:
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


@pytest.fixture(params=[[], ["-n2"]], ids=["alone", "xdist"])
def run_on_postgresql(
    request: pytest.FixtureRequest,
    pytester: pytest.Pytester,
    services_elsewhere: None,
    monkeypatch: pytest.MonkeyPatch,
) -> pytest.RunResult:
    """The server is started before there is any conftest, so its absence comes as a plugin."""
    monkeypatch.setenv("PYTHONPATH", str(pytester.path), prepend=os.pathsep)
    pytester.makepyfile(without="from tests.services import packages; packages.SEARCH_PATH = ''")
    pytester.makepyfile("def test_one(): pass\ndef test_two(database_url): pass")
    plugins = ("-p", "without", "-p", "tests.services.plugin")
    return pytester.runpytest_subprocess(*plugins, "--database", "postgresql", *request.param)


@pytest.mark.usefixtures("at_a_desk")
def test_at_a_desk_without_postgresql_nothing_runs_on_it(run_on_postgresql: pytest.RunResult) -> None:
    run_on_postgresql.assert_outcomes(skipped=2)
    assert run_on_postgresql.ret == 0
    run_on_postgresql.stdout.fnmatch_lines(
        ["Unavailable here, *: postgresql (the Debian package postgresql is not installed)"]
    )


@pytest.mark.usefixtures("in_ci")
def test_in_ci_without_postgresql_a_run_on_it_is_an_error(run_on_postgresql: pytest.RunResult) -> None:
    assert run_on_postgresql.ret == pytest.ExitCode.USAGE_ERROR
    run_on_postgresql.stderr.fnmatch_lines(["*the Debian package postgresql is not installed*"])


SEEN = """
import os

def test_it():
    seen = {name for name in os.environ if name.startswith("FACHO_")}
    assert seen == {"FACHO_HOME", "FACHO_API_REQUESTS_A_MINUTE", "FACHO_API_REFUSALS_A_MINUTE"}
    assert os.environ["FACHO_HOME"] != "/the/persons/own"
"""


@pytest.mark.parametrize("options", [[], ["-n1"]], ids=["alone", "xdist"])
@pytest.mark.usefixtures("services_elsewhere")
def test_no_test_sees_the_settings_of_the_person_who_runs_it(
    options: list[str], pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACHO_HOME", "/the/persons/own")
    monkeypatch.setenv("FACHO_DATABASE_URL", "postgresql://the/persons/own")
    monkeypatch.setenv("FACHO_LANGUAGE", "en")
    pytester.makepyfile(SEEN)
    pytester.runpytest_subprocess("-p", "tests.services.plugin", *options).assert_outcomes(passed=1)


def test_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "SEARCH_PATH", "")
    with pytest.raises(Unavailable, match="the Debian package snmp is not installed"):
        packages.find("snmpget", packages.SNMP_TOOLS)


def test_without_the_right_to_install_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    assert packages.install([packages.SNMPD]) == "neither root nor sudo without a password"
