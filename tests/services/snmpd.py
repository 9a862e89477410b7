"""A private net-snmp agent on loopback, with a table whose every value the tests know."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.services import packages
from tests.services.process import (
    LOOPBACK,
    LOOPBACK6,
    DidNotStart,
    answers_snmp,
    free_udp_port,
    has_ipv6,
    running,
)
from tests.services.unavailable import Unavailable

COMMUNITY = "public"
SYS_DESCR = "A private snmpd for tests"
# netSnmpPlaypen: net-snmp keeps this subtree for experiments.
TABLE = "1.3.6.1.4.1.8072.9999.9999.7.1"
ROWS = 1000

# SNMPv3: a user for each protocol that Debian builds net-snmp with, by a name that says it (`sha-256-aes`),
# who may read at that level and no lower; and one who neither signs nor encrypts.
AUTHS = ("MD5", "SHA", "SHA-224", "SHA-256", "SHA-384", "SHA-512")
PRIVS = ("DES", "AES", "AES-192", "AES-256")
GUEST = "guest"
AUTH_PASSWORD = "auth-password"
PRIV_PASSWORD = "priv-password"
# One who signs with SHA-256 and may read in this context only, where the agent has what it has in none.
TENANT = "tenant"
CONTEXT = "vrf-7"


@dataclass(frozen=True)
class Snmpd:
    """A running agent that answers SNMP v1, v2c and v3, on `host` and, if it is set, on `host6`."""

    host: str
    host6: str | None
    port: int
    community: str
    sys_descr: str
    # The table's entry OID, and what a walk of it must give, in the agent's order.
    table: str
    values: Mapping[str, int | bytes]
    config: Path
    log: Path


def known_values() -> dict[str, int | bytes]:
    """Column 1 counts, column 2 is a name, column 3 is negative as optical powers are."""
    values: dict[str, int | bytes] = {}
    rows = range(1, ROWS + 1)
    values |= {f"{TABLE}.1.{row}": row for row in rows}
    values |= {f"{TABLE}.2.{row}": b"ONU %04d" % row for row in rows}
    values |= {f"{TABLE}.3.{row}": -1000 - row for row in rows}
    return values


@contextlib.contextmanager
def run_snmpd(folder: Path) -> Iterator[Snmpd]:
    program = packages.find("snmpd", packages.SNMPD)
    with contextlib.ExitStack() as stack:
        try:
            agent = stack.enter_context(_started(program, folder, free_udp_port()))
        except DidNotStart:
            # Another process may have taken the port between our look and its bind.
            try:
                agent = stack.enter_context(_started(program, folder, free_udp_port()))
            except DidNotStart as error:
                raise Unavailable("snmpd", f"it does not start; {error}") from error
        yield agent


@contextlib.contextmanager
def _started(program: str, folder: Path, port: int) -> Iterator[Snmpd]:
    host6 = LOOPBACK6 if has_ipv6() else None
    agent = Snmpd(
        host=LOOPBACK,
        host6=host6,
        port=port,
        community=COMMUNITY,
        sys_descr=SYS_DESCR,
        table=TABLE,
        values=known_values(),
        config=folder / "snmpd.conf",
        log=folder / "snmpd.log",
    )
    agent.config.write_text(_configuration(agent))
    argv = [program, "-f", "-r", "-C", "-c", str(agent.config), "-Lo", "-p", str(folder / "snmpd.pid")]
    # It needs no MIB files: all names in its configuration are numeric.
    argv += ["-m", "", "-M", str(folder)]
    env = {"SNMP_PERSISTENT_DIR": str(folder / "persistent"), "SNMPCONFPATH": str(folder)}
    with running(argv, log=agent.log, answers=answers_snmp(LOOPBACK, port, COMMUNITY), env=env):
        yield agent


def _configuration(agent: Snmpd) -> str:
    addresses = [f"udp:{agent.host}:{agent.port}"]
    lines = [f"rocommunity {agent.community} {agent.host}"]
    if agent.host6:
        addresses.append(f"udp6:[{agent.host6}]:{agent.port}")
        lines.append(f"rocommunity6 {agent.community} {agent.host6}")
    lines.append(f"agentAddress {','.join(addresses)}")
    lines.append(f"sysDescr {agent.sys_descr}")
    lines.append("dontLogTCPWrappersConnects yes")
    lines += _users()
    lines += _context(agent)
    lines += [_override(oid, value) for oid, value in agent.values.items()]
    return "\n".join(lines) + "\n"


def _users() -> Iterator[str]:
    yield from (f"createUser {GUEST}", f"rouser {GUEST} noauth")
    for auth in AUTHS:
        signer = auth.lower()
        yield from (f"createUser {signer} {auth} {AUTH_PASSWORD}", f"rouser {signer} auth")
        for priv in PRIVS:
            hider = f"{auth}-{priv}".lower()
            yield f"createUser {hider} {auth} {AUTH_PASSWORD} {priv} {PRIV_PASSWORD}"
            yield f"rouser {hider} priv"


def _context(agent: Snmpd) -> Iterator[str]:
    yield from (f"createUser {TENANT} SHA-256 {AUTH_PASSWORD}", "view everything included .1")
    yield f"rouser {TENANT} auth -V everything {CONTEXT}"
    yield f"proxy -Cn {CONTEXT} -v 2c -c {agent.community} {agent.host}:{agent.port} .1.3.6.1"


def _override(oid: str, value: int | bytes) -> str:
    if isinstance(value, int):
        return f"override {oid} integer {value}"
    return f'override {oid} octet_str "{value.decode()}"'
