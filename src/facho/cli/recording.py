"""What is asked of a device for a recording: what its profile reads, or whole trees, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from facho.cli.asking import Asked, get_online
from facho.cli.progress import Steps
from facho.engine.collect.column_reader import Clock, add_load
from facho.engine.collect.conversation import Guard, with_manners
from facho.engine.collect.questions import is_under
from facho.sim.snmprec import Record
from facho.snmp import Agent, Client, Limits, Missing, Oid, SnmpError, Target, Value, WalkResult
from facho.snmp.errors import BadOid, BerError, DeadlineExceeded, NoAnswer, SecurityError
from facho.vendors import Profile
from facho.vendors.schema import NeverRead, ReadMethod, table_oids

SYSTEM: Final = "1.3.6.1.2.1.1"
_IF_MIB: Final = ("1.3.6.1.2.1.2", "1.3.6.1.2.1.31")
# ifDescr, ifOperStatus, ifName
_INTERFACES: Final = ("1.3.6.1.2.1.2.2.1.2", "1.3.6.1.2.1.2.2.1.8", "1.3.6.1.2.1.31.1.1.1.1")
# A recording may be of all that a device has, as one tree.
_MOST_ROWS: Final = 5_000_000
_MOST_OCTETS: Final = 512 * 1024 * 1024


class Interrupted(SnmpError):
    """A person stopped it, or the OLT was needed for something else."""


@dataclass(frozen=True, slots=True)
class Gently:
    """How hard a device is asked at most."""

    in_flight: int = 1
    repetitions: int = 10
    pause: float = 0.0

    def limit(self, target: Target) -> Target:
        allowed = target.limits
        rates = [rate for rate in (allowed.requests_per_second, self._rate) if rate is not None]
        limits = Limits(
            min(allowed.in_flight, self.in_flight),
            min(allowed.varbinds, self.repetitions),
            min(rates, default=None),
        )
        return replace(target, limits=limits)

    @property
    def _rate(self) -> float | None:
        return 1 / self.pause if self.pause else None


@dataclass(frozen=True, slots=True)
class Wanted:
    # Empty: what the profile reads.
    trees: tuple[str, ...] = ()
    # Of how many ONUs to ask what the OLT must ask them for.
    onus: int = 64
    # In seconds, for all of it.
    deadline: float = 3600.0


@dataclass(frozen=True, slots=True)
class Piece:
    """What is walked at once."""

    name: str
    oids: tuple[str, ...]


def pieces(profile: Profile, trees: Sequence[str]) -> list[Piece]:
    """Each OID once, also if several tables have it."""
    if trees:
        asked = [Piece(f"tree {tree}", (tree,)) for tree in trees if not is_under(tree, SYSTEM)]
    else:
        asked = [*_tables(profile), *_interfaces(profile), _recognised_by(profile)]
    seen: set[str] = set()
    found = [Piece("system", (SYSTEM,))]
    for piece in asked:
        new = tuple(oid for oid in dict.fromkeys(piece.oids) if oid not in seen and not is_under(oid, SYSTEM))
        seen.update(new)
        if new:
            found.append(Piece(piece.name, new))
    return found


def _tables(profile: Profile) -> Iterator[Piece]:
    never = [each.oid for each in profile.request_rules.never]
    for table in profile.tables:
        if table.read_method is ReadMethod.WALK:
            oids = (oid for oid in table_oids(table) if not any(is_under(oid, each) for each in never))
            yield Piece(table.name, tuple(oids))


def _interfaces(profile: Profile) -> Iterator[Piece]:
    """By their names places are told: they make a recording readable also for another profile."""
    if any(is_under(oid, each) for oid in profile.oids() for each in _IF_MIB):
        yield Piece("interfaces", _INTERFACES)


def _recognised_by(profile: Profile) -> Piece:
    """Without it a recording would be taken for that of another family."""
    return Piece("what it is recognised by", tuple(rule.probe for rule in profile.rules if rule.probe))


def never_read(profiles: Iterable[Profile]) -> list[NeverRead]:
    """Of all of them: in a tree of an unknown device there may be the tables of a known relative."""
    never = {each.oid: each for profile in profiles for each in profile.request_rules.never}
    return list(never.values())


def left_out(trees: Sequence[str], never: Iterable[NeverRead]) -> list[NeverRead]:
    return [each for each in never if any(is_under(each.oid, tree) for tree in trees)]


async def record_into(
    asked: Asked,
    client: Client,
    target: Target,
    wanted: Wanted,
    never: Sequence[NeverRead],
    steps: Steps,
    *,
    guard: Guard | None = None,
    tag: int = 0,
) -> None:
    """What comes is in `asked`, however this ends. Raises AddressError."""
    clock = Clock(wanted.deadline)
    target = replace(target, most_rows=_MOST_ROWS, most_octets=_MOST_OCTETS)
    agent = await client.agent(with_manners(target, asked.profile), guard=guard, tag=tag)
    todo = pieces(asked.profile, wanted.trees)
    steps.begin(len(todo) + 1)
    excluded = [Oid.parse(each.oid) for each in never]
    goes_on = True
    for piece in todo:
        steps.step(piece.name)
        goes_on = await _walk(agent, asked, piece, excluded, clock, steps)
        if not goes_on:
            break
    if goes_on and not wanted.trees:
        steps.step("ONUs that are online")
        await _get(agent, asked, wanted.onus, clock, steps)
    _tell_deadline(asked, wanted.deadline)


async def _walk(
    agent: Agent, asked: Asked, piece: Piece, excluded: Sequence[Oid], clock: Clock, steps: Steps
) -> bool:
    """Whether there is any use in asking for more."""
    oids = map(Oid.parse, piece.oids)
    result = WalkResult({})
    try:
        await agent.walk_table(oids, deadline=clock.left, progress=steps.more, excluded=excluded, into=result)
    finally:
        asked.rows.update((str(oid), column.rows) for oid, column in result.columns.items())
        asked.errors.extend(result.errors)
        add_load(asked.load, result.load)
    return not _is_over(result)


def _is_over(result: WalkResult) -> bool:
    """What went wrong in one column is that column's; a silence of all of it is not."""
    of_columns = {id(error) for column in result.columns.values() for error in column.errors}
    return any(
        isinstance(error, NoAnswer | SecurityError) for error in result.errors if id(error) not in of_columns
    )


async def _get(agent: Agent, asked: Asked, most: int, clock: Clock, steps: Steps) -> None:
    """By the rows that came, also if some of them did not."""
    of_onus = Asked(asked.profile, asked.detection, asked.rows)
    await get_online(agent, of_onus, most, clock, steps.more)
    asked.optics = of_onus.optics
    asked.errors.extend(of_onus.errors)
    add_load(asked.load, of_onus.load)


def _tell_deadline(asked: Asked, deadline: float) -> None:
    """Each piece knows only the time that was left for it."""
    late = DeadlineExceeded(f"not everything was read in {deadline:g} s")
    asked.errors = [late if isinstance(error, DeadlineExceeded) else error for error in asked.errors]


def records_of(rows: Mapping[str, Mapping[bytes, Value]]) -> list[Record]:
    """Each value once. What an agent says that is not there, and OIDs that nobody can write, are none."""
    found = {
        Oid.parse(oid).content + suffix: value
        for oid, column in rows.items()
        for suffix, value in column.items()
        if not isinstance(value, Missing)
    }
    return [Record(Oid(content), value) for content, value in found.items() if _can_be_written(content)]


def _can_be_written(content: bytes) -> bool:
    try:
        Oid.of(Oid(content).arcs)
    except (BadOid, BerError):
        return False
    return True
