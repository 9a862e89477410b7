"""Walk a device for a recording, step by step: the tables of its profile, or whole subtrees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from facho.cli.device_read import DeviceRead, read_online_onus
from facho.cli.progress import Steps
from facho.engine.collect.column_reader import Guard, TimeLeft, add_load, apply_request_rules
from facho.engine.collect.request_plan import is_under
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
    """The recording was stopped by a person or by the engine."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The most load that a recording puts on a device."""

    in_flight: int = 1
    repetitions: int = 10
    pause: float = 0.0

    def apply(self, target: Target) -> Target:
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
class RecordingScope:
    # Subtrees to walk instead of the tables of the profile.
    trees: tuple[str, ...] = ()
    # The most ONUs for facts that the OLT must fetch from them.
    onus: int = 64
    # Seconds for the whole recording.
    deadline: float = 3600.0


@dataclass(frozen=True, slots=True)
class WalkStep:
    """Columns that are walked together."""

    name: str
    oids: tuple[str, ...]


def walk_steps(profile: Profile, trees: Sequence[str]) -> list[WalkStep]:
    """Return the steps of a recording, with each OID once."""
    if trees:
        requested = [WalkStep(f"tree {tree}", (tree,)) for tree in trees if not is_under(tree, SYSTEM)]
    else:
        requested = [*_table_steps(profile), *_interface_steps(profile), _detection_step(profile)]
    seen: set[str] = set()
    found = [WalkStep("system", (SYSTEM,))]
    for step in requested:
        new = tuple(oid for oid in dict.fromkeys(step.oids) if oid not in seen and not is_under(oid, SYSTEM))
        seen.update(new)
        if new:
            found.append(WalkStep(step.name, new))
    return found


def _table_steps(profile: Profile) -> Iterator[WalkStep]:
    never = [each.oid for each in profile.request_rules.never]
    for table in profile.tables:
        if table.read_method is ReadMethod.WALK:
            oids = (oid for oid in table_oids(table) if not any(is_under(oid, each) for each in never))
            yield WalkStep(table.name, tuple(oids))


def _interface_steps(profile: Profile) -> Iterator[WalkStep]:
    """Yield the interface names, from which other profiles derive places."""
    if any(is_under(oid, each) for oid in profile.oids() for each in _IF_MIB):
        yield WalkStep("interfaces", _INTERFACES)


def _detection_step(profile: Profile) -> WalkStep:
    """Return the OIDs of detection, or a recording would be detected as another family."""
    probes = (rule.probe for rule in profile.rules if rule.probe)
    interfaces = (rule.interface.when.oid for rule in profile.rules if rule.interface)
    return WalkStep("detection", (*probes, *interfaces))


def never_read(profiles: Iterable[Profile]) -> list[NeverRead]:
    """Return the subtrees that any profile never reads: an unknown device may have those of a known one."""
    never = {each.oid: each for profile in profiles for each in profile.request_rules.never}
    return list(never.values())


def excluded_subtrees(trees: Sequence[str], never: Iterable[NeverRead]) -> list[NeverRead]:
    return [each for each in never if any(is_under(each.oid, tree) for tree in trees)]


async def record_device(
    read: DeviceRead,
    client: Client,
    target: Target,
    scope: RecordingScope,
    never: Sequence[NeverRead],
    steps: Steps,
    *,
    guard: Guard | None = None,
    tag: int = 0,
) -> None:
    """Add all that the device answers to `read`, also when this ends early. Raises AddressError."""
    clock = TimeLeft(scope.deadline)
    target = replace(target, most_rows=_MOST_ROWS, most_octets=_MOST_OCTETS)
    agent = await client.agent(apply_request_rules(target, read.profile), guard=guard, tag=tag)
    plan = walk_steps(read.profile, scope.trees)
    steps.begin(len(plan) + 1)
    excluded = [Oid.parse(each.oid) for each in never]
    answering = True
    for step in plan:
        steps.step(step.name)
        answering = await _walk(agent, read, step, excluded, clock, steps)
        if not answering:
            break
    if answering and not scope.trees:
        steps.step("ONUs that are online")
        await _read_onus(agent, read, scope.onus, clock, steps)
    _name_deadline(read, scope.deadline)


async def _walk(
    agent: Agent, read: DeviceRead, step: WalkStep, excluded: Sequence[Oid], clock: TimeLeft, steps: Steps
) -> bool:
    """Walk one step; return False when the agent has stopped answering."""
    oids = map(Oid.parse, step.oids)
    result = WalkResult({})
    try:
        await agent.walk_table(oids, deadline=clock.left, progress=steps.more, excluded=excluded, into=result)
    finally:
        read.rows.update((str(oid), column.rows) for oid, column in result.columns.items())
        read.errors.extend(result.errors)
        add_load(read.load, result.load)
    return not _has_stopped_answering(result)


def _has_stopped_answering(result: WalkResult) -> bool:
    """Say whether the agent itself failed, not only a column of it."""
    of_columns = {id(error) for column in result.columns.values() for error in column.errors}
    return any(
        isinstance(error, NoAnswer | SecurityError) for error in result.errors if id(error) not in of_columns
    )


async def _read_onus(agent: Agent, read: DeviceRead, most: int, clock: TimeLeft, steps: Steps) -> None:
    """Read ONUs by the rows that were read, also when some steps failed."""
    onu_read = DeviceRead(read.profile, read.detection, read.rows)
    await read_online_onus(agent, onu_read, most, clock, steps.more)
    read.optics = onu_read.optics
    read.errors.extend(onu_read.errors)
    add_load(read.load, onu_read.load)


def _name_deadline(read: DeviceRead, deadline: float) -> None:
    """Name the deadline of the recording: the error of a step has only the time that was left for it."""
    late = DeadlineExceeded(f"not everything was read in {deadline:g} s")
    read.errors = [late if isinstance(error, DeadlineExceeded) else error for error in read.errors]


def to_records(rows: Mapping[str, Mapping[bytes, Value]]) -> list[Record]:
    """Return each value once, without missing ones and without OIDs that cannot be written."""
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
