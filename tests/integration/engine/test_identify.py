"""What a device is, and what is wrong when it does not say."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from facho.engine.identify import Identified, explain, identify, probe
from facho.sim.fleet import FleetConfig
from facho.sim.olt import Address
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario
from facho.sim.usm import SIMULATED_USERS
from facho.snmp import Client, SnmpError, Target, Version
from facho.snmp.errors import NoAnswer
from facho.snmp.message import version_of
from facho.vendors import builtin


@contextlib.contextmanager
def device(family: str = "huawei", **knobs: float) -> Iterator[tuple[FleetProcess, Target]]:
    config = FleetConfig(onus=10, family=family, scenario=Scenario(**knobs))  # type: ignore[arg-type]
    with FleetProcess(config) as fleet:
        host, port = fleet.addresses[0]
        yield fleet, Target(host, port=port, timeout=0.3)


async def _identify(target: Target) -> Identified:
    async with Client() as client:
        return await identify(client, target, builtin())


async def _probe(target: Target) -> float | None:
    async with Client() as client:
        return await probe(client, target)


def what_is_wrong(target: Target) -> str:
    async def ask() -> str:
        try:
            await _identify(target)
        except SnmpError as error:
            return await explain(error, target)
        return ""

    return asyncio.run(ask())


@contextlib.contextmanager
def only(version: Version, address: Address) -> Iterator[Address]:
    """A device that answers one version of SNMP: what is of another does not reach it."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inside,
    ):
        outside.bind(("127.0.0.1", 0))
        inside.settimeout(5)

        def relay() -> None:
            while True:
                request, asker = outside.recvfrom(65535)
                if not request:
                    return
                if version_of(request) == version:
                    inside.sendto(request, address)
                    outside.sendto(inside.recv(65535), asker)

        thread = threading.Thread(target=relay)
        thread.start()
        try:
            yield outside.getsockname()
        finally:
            inside.sendto(b"", outside.getsockname())
            thread.join()


@pytest.mark.parametrize(("family", "model"), [("huawei", "MA5800-X17"), ("zte", "C300")])
def test_a_device_is_recognised(family: str, model: str) -> None:
    with device(family) as (_, target):
        found = asyncio.run(_identify(target))
        assert (found.detection.profile, found.detection.model) == (family, model)
        assert found.sys_descr
        assert found.sys_object_id.startswith("1.3.6.1.4.1.")
        assert found.uptime_s is not None
        assert found.uptime_s >= 0


def test_it_is_asked_one_request_at_a_time() -> None:
    with device(latency_s=0.01) as (fleet, target):
        asyncio.run(_identify(target))
        assert fleet.report().total.max_outstanding == 1


def test_a_probe_is_one_request() -> None:
    with device() as (fleet, target):
        uptime = asyncio.run(_probe(target))
        assert uptime is not None
        assert uptime >= 0
        assert fleet.report().total.requests == 1


def test_a_probe_of_a_silent_device_raises() -> None:
    with device(silent=True) as (_, target), pytest.raises(NoAnswer):
        asyncio.run(_probe(replace(target, retries=0)))


def test_silence_is_told_with_what_it_can_mean() -> None:
    with device(silent=True) as (_, target):
        said = what_is_wrong(replace(target, retries=0))
        assert said.endswith("it is off or unreachable, or does not accept this community and version")


def test_a_wrong_community_is_among_the_reasons_and_is_not_told() -> None:
    with device() as (_, target):
        said = what_is_wrong(replace(target, community="s3cret", retries=0))
        assert "does not accept this community" in said
        assert "s3cret" not in said


def test_a_port_where_nobody_listens_is_told() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = Target("127.0.0.1", port=port, timeout=0.2, retries=0)
    assert what_is_wrong(target) == f"nothing listens on UDP port {port} of 127.0.0.1: the host refused"


@pytest.mark.parametrize(
    ("spoken", "asked", "words"),
    [
        (
            Version.V1,
            Version.V2C,
            "it does not answer SNMP version 2c, but it answers version 1: choose that one",
        ),
        (
            Version.V2C,
            Version.V1,
            "it does not answer SNMP version 1, but it answers version 2c: choose that one",
        ),
    ],
)
def test_a_wrong_version_is_told(spoken: Version, asked: Version, words: str) -> None:
    with device() as (fleet, target), only(spoken, fleet.addresses[0]) as (host, port):
        assert what_is_wrong(replace(target, host=host, port=port, version=asked, retries=0)).endswith(words)


def test_a_name_that_does_not_resolve_is_told() -> None:
    assert what_is_wrong(Target("olt.invalid")) == "the name 'olt.invalid' does not resolve to an address"


def test_a_wrong_password_is_told_and_not_shown() -> None:
    with device() as (_, target):
        user = replace(SIMULATED_USERS["sha-256"], auth_password="another-password")
        said = what_is_wrong(replace(target, version=Version.V3, user=user))
        assert "check the authentication password and protocol" in said
        assert "another" not in said


def test_an_unknown_user_is_told() -> None:
    with device() as (_, target):
        user = replace(SIMULATED_USERS["sha-256"], name="stranger")
        said = what_is_wrong(replace(target, version=Version.V3, user=user))
        assert said.endswith("does not know this SNMPv3 user: check its name")
