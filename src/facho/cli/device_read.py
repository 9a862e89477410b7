"""Read everything that a profile knows from one device or from a recording of it, outside the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from facho.core.reasons import Reason
from facho.engine.collect.column_reader import TimeLeft, add_load, apply_request_rules
from facho.engine.collect.identify import identify, identity_of, text_of
from facho.engine.collect.request_plan import KnownOnu, SuffixFinder
from facho.sim import snmprec
from facho.snmp import Client, Load, Missing, Oid, SnmpError, Target, Value
from facho.snmp.client import Agent
from facho.snmp.errors import DeadlineExceeded
from facho.vendors import (
    GENERIC,
    Decoder,
    Detection,
    Facts,
    Key,
    Profile,
    State,
    detect,
    find_interface,
    probes,
    searches,
)
from facho.vendors.schema import ReadMethod, Table, table_oids

_BATCH: Final = 20

Rows = dict[str, dict[bytes, Value]]


class UnplacedOnus(SnmpError):
    """ONUs whose index in a table cannot be derived from their place."""


@dataclass(slots=True)
class OnlineOnus:
    """The number of online ONUs, and of those that were asked for facts that the OLT must fetch."""

    asked: int
    online: int


@dataclass(slots=True)
class DeviceRead:
    """The profile, the raw rows that were read, and the errors."""

    profile: Profile
    detection: Detection
    rows: Rows
    errors: list[SnmpError] = field(default_factory=list)
    # None when the profile has no facts that the OLT must fetch from ONUs.
    optics: OnlineOnus | None = None
    load: Load = field(default_factory=Load)
    # What the device is detected as, if that was tried.
    detected: Detection | None = None

    def reason(self, most: int | None = None) -> str | None:
        """Return up to `most` different errors as one text; None when there was none."""
        reasons = list(dict.fromkeys(map(str, self.errors)))
        more = len(reasons[most:]) if most else 0
        return "; ".join([*reasons[:most], *([f"and {more} more"] if more else [])]) or None


def _add_profile(given: Profile | None, profiles: Mapping[str, Profile]) -> Mapping[str, Profile]:
    """Return the built-in profiles with the given one, which replaces one of the same name."""
    return profiles if given is None else {**profiles, given.name: given}


def _start_read(given: Profile | None, profiles: Mapping[str, Profile], detected: Detection) -> DeviceRead:
    if given is None:
        return DeviceRead(profiles[detected.profile], detected, {}, detected=detected)
    return DeviceRead(given, Detection(given.name, "", Reason.of("asked_for_as_that")), {}, detected=detected)


async def read_device(
    target: Target,
    profiles: Mapping[str, Profile],
    given: Profile | None,
    *,
    optics: int,
    deadline: float,
    progress: Callable[[int], None],
) -> DeviceRead:
    """Detect the device and read it, within `deadline` seconds; after that, what was read is kept.

    Raises SnmpError when the device cannot even be detected.
    """
    late = DeadlineExceeded(f"{target.host}: not everything was read in {deadline:g} s")
    clock = TimeLeft(deadline)
    async with Client() as client:
        try:
            async with asyncio.timeout(deadline):
                identified = await identify(client, target, _add_profile(given, profiles))
                read = _start_read(given, profiles, identified.detection)
                gentle = await client.agent(apply_request_rules(target, read.profile))
        except TimeoutError:
            raise late from None
        await _walk(gentle, read, clock, progress)
        await read_online_onus(gentle, read, optics, clock, progress)
        # The message of a step has only the time that was left for it.
        read.errors = [late if isinstance(error, DeadlineExceeded) else error for error in read.errors]
        return read


async def _walk(agent: Agent, read: DeviceRead, clock: TimeLeft, progress: Callable[[int], None]) -> None:
    walked = [table for table in read.profile.tables if table.read_method is ReadMethod.WALK]
    oids = dict.fromkeys(oid for table in walked for oid in table_oids(table))
    result = await agent.walk_table(map(Oid.parse, oids), deadline=clock.left, progress=progress)
    read.rows.update((str(oid), column.rows) for oid, column in result.columns.items())
    read.errors.extend(result.errors)
    add_load(read.load, result.load)


async def read_online_onus(
    agent: Agent, read: DeviceRead, most: int, clock: TimeLeft, progress: Callable[[int], None]
) -> None:
    """Read the facts that the OLT must fetch from ONUs, of up to `most` online ones, in batches."""
    tables = [table for table in read.profile.tables if table.read_method is ReadMethod.GET_ONLINE]
    if not tables:
        return
    onus = Decoder(read.profile).decode(read.rows).onus
    online = {table.name: list(_online(onus, table)) for table in tables}
    read.optics = OnlineOnus(0, len({onu.key for found in online.values() for onu in found}))
    if read.errors:
        return
    chosen: set[Key] = set()
    for table in tables:
        suffixes = _suffixes(read, table, online[table.name][:most])
        if not await _get_table(agent, read, table, list(suffixes.values()), clock, progress):
            return
        chosen.update(suffixes)
        read.optics.asked = len(chosen)


def _suffixes(read: DeviceRead, table: Table, onus: Iterable[KnownOnu]) -> dict[Key, bytes]:
    """Return the index of each ONU in the table, as a job would ask for it; report those that have none."""
    finder = SuffixFinder(read.profile, table)
    found = {onu.key: finder.find(onu) for onu in onus}
    nowhere = [key for key, suffix in found.items() if suffix is None]
    if nowhere:
        missing = f"{len(nowhere):,} ONUs were not asked for, the first is {nowhere[0]}"
        read.errors.append(
            UnplacedOnus(f"{table.name}: {missing}: their index cannot be derived from their place")
        )
    return {key: suffix for key, suffix in found.items() if suffix is not None}


async def _get_table(
    agent: Agent,
    read: DeviceRead,
    table: Table,
    suffixes: list[bytes],
    clock: TimeLeft,
    progress: Callable[[int], None],
) -> bool:
    """Read the table for these indexes; return False when the agent has stopped answering."""
    column_of = {
        Oid(Oid.parse(oid).content + suffix): (oid, suffix)
        for suffix in suffixes
        for oid in table_oids(table)
    }
    for batch in _batches(column_of, table.batch or _BATCH):
        result = await agent.get_many(batch, deadline=clock.left)
        add_load(read.load, result.load)
        for oid, value in result.values.items():
            if not isinstance(value, Missing):
                column, suffix = column_of[oid]
                read.rows.setdefault(column, {})[suffix] = value
        progress(len(result.values))
        read.errors.extend(result.failed.values())
        if result.error is not None:
            read.errors.append(result.error)
            return False
    return True


def _batches(oids: Iterable[Oid], size: int) -> Iterator[list[Oid]]:
    left = iter(oids)
    while batch := list(islice(left, size)):
        yield batch


def _online(onus: Facts, table: Table) -> Iterator[KnownOnu]:
    states = onus.columns.get("state", [])
    rows = zip(onus.keys, onus.indexes, onus.technologies, states, strict=False)
    for key, index, technology, state in rows:
        if technology and table.technology and technology != table.technology:
            continue
        if isinstance(state, State) and state.meaning == "online":
            yield KnownOnu(key, technology, online=True, raw_index=index)


def read_recording(path: Path, profiles: Mapping[str, Profile], given: Profile | None) -> DeviceRead:
    """Read a recording as a device. Raises snmprec.BadRecording."""
    values = {record.oid: record.value for record in snmprec.read(path)}
    contents = {oid.content: value for oid, value in values.items()}
    identity = identity_of(values)
    known = _add_profile(given, profiles)
    found = {oid: next(map(text_of, _under(contents, oid).values()), None) for oid in probes(identity, known)}
    detection = detect(identity, found, known)
    if detection.profile == GENERIC:
        wanted = searches(identity, found, known)
        for search in wanted:
            value = find_interface(_under(contents, search.when.oid), search)
            found[search.key] = None if value is None else text_of(value)
        detection = detect(identity, found, known)
    read = _start_read(given, profiles, detection)
    read.rows.update((oid, _under(contents, oid)) for oid in read.profile.oids())
    return read


def _under(contents: Mapping[bytes, Value], oid: str) -> dict[bytes, Value]:
    prefix = Oid.parse(oid).content
    return {
        content[len(prefix) :]: value
        for content, value in contents.items()
        if content.startswith(prefix) and len(content) > len(prefix)
    }
