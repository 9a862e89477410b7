"""All that a profile knows of one device, asked once by hand: `facho profile try`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from facho.core.reasons import Reason
from facho.engine.collect.column_reader import Clock, add_load
from facho.engine.collect.conversation import with_manners
from facho.engine.collect.identify import identify, identity_of, text_of
from facho.engine.collect.questions import SuffixFinder
from facho.engine.collect.work import KnownOnu
from facho.sim import snmprec
from facho.snmp import Client, Load, Missing, Oid, SnmpError, Target, Value
from facho.snmp.client import Agent
from facho.snmp.errors import DeadlineExceeded
from facho.vendors import Decoder, Detection, Facts, Key, Profile, State, detect, probes
from facho.vendors.schema import ReadMethod, Table, table_oids

_BATCH: Final = 20

Rows = dict[str, dict[bytes, Value]]


class CannotBePlaced(SnmpError):
    """ONUs that no index of a table is read as."""


@dataclass(slots=True)
class Share:
    """Of how many ONUs that are online, how many were asked for what the OLT must ask them for."""

    asked: int
    online: int


@dataclass(slots=True)
class Asked:
    """What came of asking: the profile, the raw rows, and what was wrong on the way."""

    profile: Profile
    detection: Detection
    rows: Rows
    errors: list[SnmpError] = field(default_factory=list)
    # None where there is nothing that ONUs have to be asked for.
    optics: Share | None = None
    load: Load = field(default_factory=Load)
    # What the device would be taken for by itself, where that was found out.
    detected: Detection | None = None


def _with(given: Profile | None, profiles: Mapping[str, Profile]) -> Mapping[str, Profile]:
    """One of the same name takes the place of the built-in one."""
    return profiles if given is None else {**profiles, given.name: given}


def _asked_of(given: Profile | None, profiles: Mapping[str, Profile], detected: Detection) -> Asked:
    if given is None:
        return Asked(profiles[detected.profile], detected, {}, detected=detected)
    return Asked(given, Detection(given.name, "", Reason.of("asked_for_as_that")), {}, detected=detected)


async def ask_device(
    target: Target,
    profiles: Mapping[str, Profile],
    given: Profile | None,
    *,
    optics: int,
    deadline: float,
    progress: Callable[[int], None],
) -> Asked:
    """Raises NoAnswer and the like when the device does not even say what it is.

    `deadline` is in seconds, for all of it. When it is over, what was read until then is kept.
    """
    late = DeadlineExceeded(f"{target.host}: not everything was read in {deadline:g} s")
    clock = Clock(deadline)
    async with Client() as client:
        try:
            async with asyncio.timeout(deadline):
                identified = await identify(client, target, _with(given, profiles))
                asked = _asked_of(given, profiles, identified.detection)
                gentle = await client.agent(with_manners(target, asked.profile))
        except TimeoutError:
            raise late from None
        await _walk(gentle, asked, clock, progress)
        await get_online(gentle, asked, optics, clock, progress)
        # Each step knows only the time that was left for it.
        asked.errors = [late if isinstance(error, DeadlineExceeded) else error for error in asked.errors]
        return asked


async def _walk(agent: Agent, asked: Asked, clock: Clock, progress: Callable[[int], None]) -> None:
    walked = [table for table in asked.profile.tables if table.read_method is ReadMethod.WALK]
    oids = dict.fromkeys(oid for table in walked for oid in table_oids(table))
    result = await agent.walk_table(map(Oid.parse, oids), deadline=clock.left, progress=progress)
    asked.rows.update((str(oid), column.rows) for oid, column in result.columns.items())
    asked.errors.extend(result.errors)
    add_load(asked.load, result.load)


async def get_online(
    agent: Agent, asked: Asked, most: int, clock: Clock, progress: Callable[[int], None]
) -> None:
    """What the OLT has to ask each ONU for: only of those that are online, some of them, a few at a time."""
    tables = [table for table in asked.profile.tables if table.read_method is ReadMethod.GET_ONLINE]
    if not tables:
        return
    onus = Decoder(asked.profile).decode(asked.rows).onus
    online = {table.name: list(_online(onus, table)) for table in tables}
    asked.optics = Share(0, len({onu.key for found in online.values() for onu in found}))
    if asked.errors:
        return
    chosen: set[Key] = set()
    for table in tables:
        suffixes = _suffixes(asked, table, online[table.name][:most])
        if not await _get_table(agent, asked, table, list(suffixes.values()), clock, progress):
            return
        chosen.update(suffixes)
        asked.optics.asked = len(chosen)


def _suffixes(asked: Asked, table: Table, onus: Iterable[KnownOnu]) -> dict[Key, bytes]:
    """Return the index of each ONU in the table, as a job would ask for it; note those that have none."""
    finder = SuffixFinder(asked.profile, table)
    found = {onu.key: finder.find(onu) for onu in onus}
    nowhere = [key for key, suffix in found.items() if suffix is None]
    if nowhere:
        told = f"{len(nowhere):,} ONUs were not asked for, the first is {nowhere[0]}"
        asked.errors.append(
            CannotBePlaced(f"{table.name}: {told}: their index cannot be told from their place")
        )
    return {key: suffix for key, suffix in found.items() if suffix is not None}


async def _get_table(
    agent: Agent,
    asked: Asked,
    table: Table,
    suffixes: list[bytes],
    clock: Clock,
    progress: Callable[[int], None],
) -> bool:
    """Whether it makes sense to go on: an agent that fails on some values is asked for the others."""
    column_of = {
        Oid(Oid.parse(oid).content + suffix): (oid, suffix)
        for suffix in suffixes
        for oid in table_oids(table)
    }
    for batch in _batches(column_of, table.batch or _BATCH):
        result = await agent.get_many(batch, deadline=clock.left)
        add_load(asked.load, result.load)
        for oid, value in result.values.items():
            if not isinstance(value, Missing):
                column, suffix = column_of[oid]
                asked.rows.setdefault(column, {})[suffix] = value
        progress(len(result.values))
        asked.errors.extend(result.failed.values())
        if result.error is not None:
            asked.errors.append(result.error)
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
            yield KnownOnu(key, technology, online=True, index=index)


def ask_recording(path: Path, profiles: Mapping[str, Profile], given: Profile | None) -> Asked:
    """The same from a recording. Raises snmprec.BadRecording."""
    values = {record.oid: record.value for record in snmprec.read(path)}
    contents = {oid.content: value for oid, value in values.items()}
    identity = identity_of(values)
    known = _with(given, profiles)
    found = {oid: next(map(text_of, _under(contents, oid).values()), None) for oid in probes(identity, known)}
    asked = _asked_of(given, profiles, detect(identity, found, known))
    asked.rows.update((oid, _under(contents, oid)) for oid in asked.profile.oids())
    return asked


def _under(contents: Mapping[bytes, Value], oid: str) -> dict[bytes, Value]:
    prefix = Oid.parse(oid).content
    return {
        content[len(prefix) :]: value
        for content, value in contents.items()
        if content.startswith(prefix) and len(content) > len(prefix)
    }
