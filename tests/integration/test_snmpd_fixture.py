"""The agents that other tests rely on are real ones: net-snmp's own tools agree with what they promise."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.snmpd import Snmpd
from tests.services.snmpsim import Snmpsim

SYS_DESCR = "1.3.6.1.2.1.1.1.0"


@pytest.fixture
def ask(net_snmp: Callable[[str], str], tmp_path: Path) -> Callable[..., list[str]]:
    """Runs a net-snmp tool, returns the lines it printed."""

    def run(tool: str, version: str, community: str, address: str, oid: str) -> list[str]:
        argv = [
            net_snmp(tool),
            f"-v{version}",
            f"-c{community}",
            "-Onqe",
            "-m",
            "",
            "-t1",
            "-r1",
            address,
            oid,
        ]
        # Without a folder of its own the tool writes to the system's.
        env = {"SNMP_PERSISTENT_DIR": str(tmp_path)}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("version", ["1", "2c"])
def test_it_answers_v1_and_v2c(snmpd: Snmpd, ask: Callable[..., list[str]], version: str) -> None:
    address = f"udp:{snmpd.host}:{snmpd.port}"
    lines = ask("snmpget", version, snmpd.community, address, SYS_DESCR)
    assert lines == [f'.{SYS_DESCR} "{snmpd.sys_descr}"']


def test_it_answers_over_ipv6_where_there_is_ipv6(snmpd: Snmpd, ask: Callable[..., list[str]]) -> None:
    if snmpd.host6 is None:
        pytest.skip("no IPv6 here")
    address = f"udp6:[{snmpd.host6}]:{snmpd.port}"
    lines = ask("snmpget", "2c", snmpd.community, address, SYS_DESCR)
    assert lines == [f'.{SYS_DESCR} "{snmpd.sys_descr}"']


def test_a_walk_gives_exactly_the_values_it_promises(snmpd: Snmpd, ask: Callable[..., list[str]]) -> None:
    lines = ask("snmpbulkwalk", "2c", snmpd.community, f"{snmpd.host}:{snmpd.port}", snmpd.table)
    promised = [
        f".{oid} {value}" if isinstance(value, int) else f'.{oid} "{value.decode()}"'
        for oid, value in snmpd.values.items()
    ]
    assert lines == promised


def test_another_community_gets_no_answer(
    snmpd: Snmpd, net_snmp: Callable[[str], str], tmp_path: Path
) -> None:
    argv = [net_snmp("snmpget"), "-v2c", "-cprivate", "-t0.5", "-r0", f"{snmpd.host}:{snmpd.port}", SYS_DESCR]
    env = {"SNMP_PERSISTENT_DIR": str(tmp_path)}
    assert subprocess.run(argv, env=env, capture_output=True, timeout=120).returncode != 0


def test_snmpsim_answers_from_the_records_it_is_given(
    snmpsim: Callable[[str], Snmpsim], ask: Callable[..., list[str]]
) -> None:
    agent = snmpsim("1.3.6.1.4.1.99999.1.10|2|10\n1.3.6.1.4.1.99999.1.9|2|9\n")
    lines = ask("snmpwalk", "2c", agent.community, f"{agent.host}:{agent.port}", "1.3.6.1.4.1.99999")
    # The tool's last line says that the recording ends there.
    assert lines[:2] == [".1.3.6.1.4.1.99999.1.9 9", ".1.3.6.1.4.1.99999.1.10 10"]
