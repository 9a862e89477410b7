"""Other people's SNMP implementations read the simulated OLTs as we do."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyasn1.codec.ber import decoder, encoder
from pysnmp.proto import api, rfc1905

from facho.sim.fleet import FleetConfig
from facho.sim.olt import Address
from facho.sim.pdu import NO_SUCH_NAME
from facho.sim.process import FleetProcess
from facho.sim.usm import AUTH_PASSWORD, PRIV_PASSWORD
from facho.snmp.values import Counter64
from tests.unit.sim.asking import (
    DOWN_BYTES,
    PORT,
    RUN_STATUS,
    SERIAL,
    UPTIME,
    Asker,
)

Tool = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=2, onus=150, family="mixed")) as process:
        yield process


@pytest.fixture
def tool(net_snmp: Callable[[str], str], tmp_path: Path) -> Tool:
    def run(name: str, fleet: FleetProcess, number: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        host, port = fleet.addresses[number]
        argv = [net_snmp(name), "-c", "public", "-On", "-m", "", "-t", "60", "-r", "0"]
        argv += [argument.replace("AGENT", f"{host}:{port}") for argument in arguments]
        env = {"SNMP_PERSISTENT_DIR": str(tmp_path)}
        return subprocess.run(argv, env=env, capture_output=True, text=True, errors="replace", timeout=120)

    return run


def oids(output: str) -> list[str]:
    return [line.split(" ", 1)[0].removeprefix(".") for line in output.splitlines() if line.startswith(".1")]


@pytest.mark.parametrize(("number", "family"), [(0, "huawei"), (1, "zte")])
def test_snmpbulkwalk_sees_every_row(tool: Tool, fleet: FleetProcess, number: int, family: str) -> None:
    walk = tool("snmpbulkwalk", fleet, number, "-v2c", "-Cr40", "AGENT", ".1")
    expected = [oid for oid, _ in Asker(onus=150, family=family).everything()]
    assert walk.returncode == 0, walk.stderr
    # It prints the end of the view as one more line with the last OID.
    assert oids(walk.stdout)[: len(expected)] == expected


def test_snmpbulkwalk_of_a_column_stops_at_its_end(tool: Tool, fleet: FleetProcess) -> None:
    walk = tool("snmpbulkwalk", fleet, 0, "-v2c", "AGENT", RUN_STATUS)
    assert oids(walk.stdout) == [oid for oid, _ in Asker(onus=150).walk(RUN_STATUS)]


AS_NET_SNMP_HAS_IT = {
    "noauth": (),
    "md5-des": ("-a", "MD5", "-x", "DES"),
    "sha-aes-256": ("-a", "SHA", "-x", "AES-256"),
    "sha-256-aes": ("-a", "SHA-256", "-x", "AES"),
    "sha-384": ("-a", "SHA-384"),
    "sha-512-aes-192": ("-a", "SHA-512", "-x", "AES-192"),
}


def as_user(name: str, protocols: tuple[str, ...], auth_password: str = AUTH_PASSWORD) -> list[str]:
    level = ("noAuthNoPriv", "authNoPriv", "authPriv")[len(protocols) // 2]
    return ["-v3", "-u", name, "-l", level, "-A", auth_password, "-X", PRIV_PASSWORD, *protocols]


@pytest.mark.parametrize(("name", "protocols"), AS_NET_SNMP_HAS_IT.items(), ids=AS_NET_SNMP_HAS_IT.keys())
def test_snmpbulkwalk_reads_as_an_snmpv3_user(
    tool: Tool, fleet: FleetProcess, name: str, protocols: tuple[str, ...]
) -> None:
    walk = tool("snmpbulkwalk", fleet, 0, *as_user(name, protocols), "AGENT", RUN_STATUS)
    assert walk.returncode == 0, walk.stderr
    assert oids(walk.stdout) == [oid for oid, _ in Asker(onus=150).walk(RUN_STATUS)]


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (as_user("nobody", ("-a", "SHA")), "Unknown user name"),
        (as_user("sha", ("-a", "SHA"), "wr0ng-password"), "Authentication failure"),
        (as_user("sha", ()), "Unsupported security level"),
    ],
    ids=["no such user", "wrong password", "level too low"],
)
def test_snmpget_is_told_why_it_is_refused(
    tool: Tool, fleet: FleetProcess, who: list[str], said: str
) -> None:
    done = tool("snmpget", fleet, 0, *who, "AGENT", UPTIME)
    assert done.returncode != 0
    assert said in done.stderr


def test_snmpwalk_in_version_1_skips_64_bit_counters(tool: Tool, fleet: FleetProcess) -> None:
    walk = tool("snmpwalk", fleet, 0, "-v1", "AGENT", ".1")
    every = Asker(onus=150).everything()
    assert oids(walk.stdout) == [oid for oid, value in every if not isinstance(value, Counter64)]


def test_snmpget_prints_the_types(tool: Tool, fleet: FleetProcess) -> None:
    rows = [f"{RUN_STATUS}.{PORT}.0", f"{DOWN_BYTES}.{PORT}.0", UPTIME, "1.3.6.1.2.1.1.2.0", "1.3.6.1.9.0"]
    lines = tool("snmpget", fleet, 0, "-v2c", "AGENT", *rows).stdout.splitlines()
    for line, expected in zip(
        lines, ("INTEGER: ", "Counter64: ", "Timeticks: ", "OID: ", "No Such"), strict=True
    ):
        assert expected in line


def test_snmpset_is_refused(tool: Tool, fleet: FleetProcess) -> None:
    done = tool("snmpset", fleet, 0, "-v2c", "AGENT", "1.3.6.1.2.1.1.5.0", "s", "mine")
    assert done.returncode != 0
    assert "notWritable" in done.stderr


def ask_with_pysnmp(address: Address, version: int, pdu: Any) -> list[tuple[str, Any]] | tuple[int, int]:
    """The rows, or (status, index) of an error, as pysnmp encodes the question and reads the answer."""
    module = api.PROTOCOL_MODULES[version]
    asked = module.Message()
    module.apiMessage.set_defaults(asked)
    module.apiMessage.set_community(asked, "public")
    module.apiMessage.set_pdu(asked, pdu)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(120)
        client.sendto(encoder.encode(asked), address)
        answer, rest = decoder.decode(client.recv(65535), asn1Spec=module.Message())
    assert not rest
    response = module.apiMessage.get_pdu(answer)
    assert module.apiPDU.get_request_id(response) == module.apiPDU.get_request_id(pdu)
    status = int(module.apiPDU.get_error_status(response))
    if status:
        return status, int(module.apiPDU.get_error_index(response))
    return [(str(name), value) for name, value in module.apiPDU.get_varbinds(response)]


def test_pysnmp_reads_the_same_values_in_bulk(fleet: FleetProcess) -> None:
    v2c = api.PROTOCOL_MODULES[api.SNMP_VERSION_2C]
    pdu = v2c.GetBulkRequestPDU()
    v2c.apiBulkPDU.set_defaults(pdu)
    v2c.apiBulkPDU.set_non_repeaters(pdu, 1)
    v2c.apiBulkPDU.set_max_repetitions(pdu, 5)
    v2c.apiBulkPDU.set_varbinds(pdu, [(oid, v2c.null) for oid in (UPTIME, SERIAL, RUN_STATUS)])
    theirs = ask_with_pysnmp(fleet.addresses[0], api.SNMP_VERSION_2C, pdu)
    ours = Asker(onus=150).bulk(UPTIME, SERIAL, RUN_STATUS, repetitions=5, singles=1)
    assert isinstance(theirs, list)
    assert [name for name, _ in theirs] == ours.oids
    assert [bytes(value) for _, value in theirs[1::2]] == ours.values[1::2]
    assert [int(value) for _, value in theirs[2::2]] == ours.values[2::2]


@pytest.mark.parametrize("version", [api.SNMP_VERSION_1, api.SNMP_VERSION_2C])
def test_pysnmp_is_told_what_is_missing(fleet: FleetProcess, version: int) -> None:
    module = api.PROTOCOL_MODULES[version]
    pdu = module.GetRequestPDU()
    module.apiPDU.set_defaults(pdu)
    module.apiPDU.set_varbinds(pdu, [("1.3.6.1.2.1.1.1.0", module.null), ("1.3.6.1.9.0", module.null)])
    theirs = ask_with_pysnmp(fleet.addresses[0], version, pdu)
    if isinstance(theirs, tuple):
        assert (version, theirs) == (api.SNMP_VERSION_1, (NO_SUCH_NAME, 2))
    else:
        assert version == api.SNMP_VERSION_2C
        assert bytes(theirs[0][1]) == b"Huawei Integrated Access Software"
        assert theirs[1][1].isSameTypeWith(rfc1905.noSuchObject)
