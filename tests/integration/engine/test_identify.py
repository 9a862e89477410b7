"""What a device is, and what is wrong when it does not say."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import pytest

from facho.engine.collect.identify import Identified, explain, identify, probe
from facho.sim.fleet import FleetConfig
from facho.sim.scenario import Scenario
from facho.sim.security import Opened, UnknownCommunity
from facho.sim.usm import SIMULATED_USERS, EngineSecurity
from facho.snmp import Client, SnmpError, Target, Version
from facho.snmp.errors import NoAnswer
from facho.snmp.message import version_of
from facho.vendors import builtin
from tests import virtual_time
from tests.virtual_fleet import VirtualFleet


@dataclass
class Device:
    fleet: VirtualFleet

    @property
    def target(self) -> Target:
        host, port = self.fleet.addresses[0]
        return Target(host, port=port, timeout=0.3)

    def identify(self) -> Identified:
        return self.fleet.snmp.submit(_identify(self.target)).result()

    def probe(self) -> float | None:
        return self.fleet.snmp.submit(_probe(self.target)).result()

    def what_is_wrong(self, **asked: Any) -> str:
        return self.fleet.snmp.submit(_what_is_wrong(replace(self.target, **asked))).result()


@contextlib.contextmanager
def device(family: str = "huawei", **knobs: float) -> Iterator[Device]:
    config = FleetConfig(onus=10, family=family, scenario=Scenario(**knobs))  # type: ignore[arg-type]
    with VirtualFleet(config) as fleet:
        yield Device(fleet)


async def _identify(target: Target) -> Identified:
    async with Client() as client:
        return await identify(client, target, builtin())


async def _probe(target: Target) -> float | None:
    async with Client() as client:
        return await probe(client, target)


async def _what_is_wrong(target: Target) -> str:
    try:
        await _identify(target)
    except SnmpError as error:
        return str(await explain(error, target))
    return ""


@contextlib.contextmanager
def answering_only(version: Version) -> Iterator[None]:
    """Devices answer one version of SNMP: what is of another is not heard."""
    opened = EngineSecurity.open

    def open_one(self: EngineSecurity, data: bytes) -> Opened:
        if version_of(data) != version:
            raise UnknownCommunity
        return opened(self, data)

    with patch.object(EngineSecurity, "open", open_one):
        yield


@pytest.mark.parametrize(("family", "model"), [("huawei", "MA5800-X17"), ("zte", "C300")])
def test_a_device_is_recognised(family: str, model: str) -> None:
    with device(family) as there:
        found = there.identify()
        assert (found.detection.profile, found.detection.model) == (family, model)
        assert found.sys_descr
        assert found.sys_object_id.startswith("1.3.6.1.4.1.")
        assert found.uptime_s is not None
        assert found.uptime_s >= 0


def test_it_is_asked_one_request_at_a_time() -> None:
    with device(latency_s=0.01) as there:
        there.identify()
        assert there.fleet.report().total.max_outstanding == 1


def test_a_probe_is_one_request() -> None:
    with device() as there:
        uptime = there.probe()
        assert uptime is not None
        assert uptime >= 0
        assert there.fleet.report().total.requests == 1


def test_a_probe_of_a_silent_device_raises() -> None:
    with device(silent=True) as there, pytest.raises(NoAnswer):
        there.probe()


def test_silence_is_told_with_what_it_can_mean() -> None:
    with device(silent=True) as there:
        said = there.what_is_wrong()
        assert said.endswith("it is off or unreachable, or does not accept this community and version")


def test_a_wrong_community_is_among_the_reasons_and_is_not_told() -> None:
    with device() as there:
        said = there.what_is_wrong(community="s3cret")
        assert "does not accept this community" in said
        assert "s3cret" not in said


def test_a_port_where_nobody_listens_is_told() -> None:
    target = Target("127.0.0.1", port=9, timeout=0.2, retries=0)
    told = virtual_time.run(_what_is_wrong(target))
    assert told == "nothing listens on UDP port 9 of 127.0.0.1: the host refused"


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
    with device() as there, answering_only(spoken):
        assert there.what_is_wrong(version=asked).endswith(words)


def test_a_name_that_does_not_resolve_is_told() -> None:
    assert (
        asyncio.run(_what_is_wrong(Target("olt.invalid")))
        == "the name 'olt.invalid' does not resolve to an address"
    )


def test_a_wrong_password_is_told_and_not_shown() -> None:
    with device() as there:
        user = replace(SIMULATED_USERS["sha-256"], auth_password="another-password")
        said = there.what_is_wrong(version=Version.V3, user=user)
        assert "check the authentication password and protocol" in said
        assert "another" not in said


def test_an_unknown_user_is_told() -> None:
    with device() as there:
        user = replace(SIMULATED_USERS["sha-256"], name="stranger")
        said = there.what_is_wrong(version=Version.V3, user=user)
        assert said.endswith("does not know this SNMPv3 user: check its name")
