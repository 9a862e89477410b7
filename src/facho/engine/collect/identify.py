"""Identifies a device with a few requests, one at a time, and explains why it does not answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.core.reasons import Reason
from facho.engine.collect.column_reader import uptime_seconds
from facho.snmp import Agent, Client, Oid, SnmpError, Target, Value, Version
from facho.snmp.closed_port import port_is_closed
from facho.snmp.errors import DeadlineExceeded, NoAnswer
from facho.snmp.requester import SYS_UP_TIME
from facho.vendors import GENERIC, Detection, Identity, Profile, detect, find_interface, probes, searches
from facho.vendors.index import index_number, join_arcs
from facho.vendors.schema import InterfaceSearch

_DESCR: Final = Oid.parse("1.3.6.1.2.1.1.1.0")
_OBJECT_ID: Final = Oid.parse("1.3.6.1.2.1.1.2.0")
# sysDescr has at most 255 octets; patterns of profiles are compared with it.
_LONGEST_TEXT: Final = 1024
_MOST_INTERFACES: Final = 100
_ROWS_AT_ONCE: Final = 20
_OTHER: Final = {Version.V1: Version.V2C, Version.V2C: Version.V1}
_NAMES: Final = {Version.V1: "1", Version.V2C: "2c"}


@dataclass(frozen=True, slots=True)
class Identified:
    """The identity of a device, and the profile that was detected for it."""

    sys_descr: str
    # In dots, without one in front; empty when it does not say.
    sys_object_id: str
    # None when it does not say.
    uptime_s: float | None
    detection: Detection


async def identify(client: Client, target: Target, profiles: Mapping[str, Profile]) -> Identified:
    """Read the identity, and the rows by which `profiles` distinguish similar devices. Raises SnmpError.

    The limits given last for an address are in force: use another client while an execution may run.
    """
    agent = await client.agent(replace(target, limits=replace(target.limits, in_flight=1)))
    result = await agent.get_many([_DESCR, _OBJECT_ID, SYS_UP_TIME])
    if result.error is not None:
        raise result.error
    identity = identity_of(result.values)
    found: dict[str, str | None] = {}
    for oid in probes(identity, profiles):
        row = await agent.first_row(Oid.parse(oid))
        found[oid] = None if row is None else text_of(row[1])
    detection = detect(identity, found, profiles)
    if detection.profile == GENERIC and (wanted := searches(identity, found, profiles)):
        found |= {search.key: await _search_interface(agent, search) for search in wanted}
        detection = detect(identity, found, profiles)
    return Identified(
        identity.descr, identity.object_id, uptime_seconds(result.values.get(SYS_UP_TIME)), detection
    )


async def _search_interface(agent: Agent, search: InterfaceSearch) -> str | None:
    """Return the value of the first interface that is wanted. So many rows are looked at in each range."""
    column = Oid.parse(search.when.oid)
    for first, last in search.within or ((0, LARGEST_ARC),):
        index, left = join_arcs((first - 1,)) if first else b"", _MOST_INTERFACES
        while left > 0 and (rows := await agent.rows_after(column, index, _ROWS_AT_ONCE)):
            value = find_interface(dict(rows), search)
            if value is not None:
                return text_of(value)
            index, left = rows[-1][0], left - len(rows)
            if index_number(index) > last:
                break
    return None


async def probe(client: Client, target: Target) -> float | None:
    """Return the uptime in seconds by one GET; None if the device does not have it. Raises SnmpError."""
    agent = await client.agent(target)
    result = await agent.get_many([SYS_UP_TIME])
    if result.error is not None:
        raise result.error
    return uptime_seconds(result.values.get(SYS_UP_TIME))


async def explain(error: SnmpError, target: Target) -> Reason:
    """Return the reason of an error. After a silence look for it, with two more requests."""
    if not isinstance(error, NoAnswer) or isinstance(error, DeadlineExceeded):
        return error.reason
    if await port_is_closed(target):
        return closed_port_reason(target)
    other = _OTHER.get(target.version)
    if other is not None and await _answers(replace(target, version=other, retries=0)):
        versions = {"version": _NAMES[target.version], "other": _NAMES[other]}
        return Reason.of("other_version_answers", olt=target.host, **versions)
    return error.reason


def closed_port_reason(target: Target) -> Reason:
    return Reason.of("port_closed", port=str(target.port), olt=target.host)


async def _answers(target: Target) -> bool:
    async with Client() as client:
        try:
            await probe(client, target)
        except SnmpError:
            return False
    return True


def identity_of(values: Mapping[Oid, Value]) -> Identity:
    descr, object_id = values.get(_DESCR), values.get(_OBJECT_ID)
    return Identity(
        str(object_id) if isinstance(object_id, Oid) else "",
        # Some agents end it with a NUL, which PostgreSQL refuses in a text.
        text_of(descr).replace("\0", "") if isinstance(descr, bytes) else "",
    )


def text_of(value: Value) -> str:
    """Return a text value, cut to a length that patterns can be run on."""
    return value[:_LONGEST_TEXT].decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
