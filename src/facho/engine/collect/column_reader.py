"""Reads the columns of one part from an OLT, on the SNMP loop of the process.

The session has SNMP agents with the guard and the tag of the execution, within the limits of the OLT.

Errors of the OLT are in the answers; what the guard raises is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, cast

from facho.core.reasons import Reason
from facho.core.request_rules import RequestPace, batches, smaller_batch
from facho.engine.collect.request_plan import AskedColumn, Batching, GetGroup, GetPlan, Work
from facho.snmp import (
    Agent,
    Client,
    GetResult,
    Learned,
    Limits,
    Load,
    Missing,
    Oid,
    SnmpError,
    Target,
    Value,
    WalkResult,
)
from facho.snmp.client import receive_limit_of
from facho.snmp.errors import AddressError, AgentRefused, DeadlineExceeded, NoAnswer, TooMuch, UnreadableRows
from facho.snmp.get import UNREAD, PositionResult, Unread
from facho.snmp.get_names import RowNames
from facho.snmp.pacing import within
from facho.snmp.requester import SYS_UP_TIME
from facho.snmp.values import TimeTicks
from facho.snmp.walk import Column
from facho.vendors import Key, Profile

_TAGS: Final = 0x7FFF

Guard = Callable[[], None]


def apply_request_rules(target: Target, profile: Profile) -> Target:
    """Return the target with the limits of the vendor's profile, where these are lower than its own."""
    rules, allowed = profile.request_rules, target.limits
    limits = Limits(
        min(allowed.in_flight, rules.in_flight or allowed.in_flight),
        min(allowed.varbinds, rules.repetitions or allowed.varbinds),
        allowed.requests_per_second,
        min(allowed.most_varbinds, rules.repetitions or allowed.most_varbinds),
    )
    return replace(target, bulk=target.bulk and rules.bulk, limits=limits)


def request_tag(run_id: int) -> int:
    """Return the tag in the request ids of one run of an execution; 0 would be no tag."""
    return run_id % _TAGS + 1


def merge_learned(before: Learned, after: Learned, limits: Limits) -> Learned:
    """Return what is known of the OLT after requests within `limits`.

    A busy OLT gets one request at a time. Success under such limits must not lower what was learned before.
    """
    allowed = within(before, limits)
    return replace(
        after,
        varbinds=_merge_limit(before.varbinds, allowed.varbinds, after.varbinds),
        in_flight=_merge_limit(before.in_flight, allowed.in_flight, after.in_flight),
    )


def _merge_limit(before: int, allowed: int, after: int) -> int:
    return max(before, after) if after >= allowed else after


class NoAddress(Exception):
    """The OLT's name does not resolve. Not an SnmpError, which a guard may raise too."""

    def __init__(self, error: AddressError) -> None:
        self.error = error


# The kind of request of walks; those of GETs are the `batch` of tables.
_WALK: Final = -1


class Session:
    """The agents of one execution; an OLT has one session at a time.

    Agents of an OLT share its state in the client, and the limits given last are in force. So each part
    takes its agent from the session before its requests.
    """

    def __init__(self, client: Client, work: Work, guard: Guard | None) -> None:
        # The OLT has answered in this execution.
        self.heard = False
        self._client = client
        self._guard = guard
        self._tag = request_tag(work.run_id)
        self._target = _limit_pace(apply_request_rules(work.target, work.profile), work.pace)
        # Shared by all parts.
        self._receive_limit = receive_limit_of(self._target)
        self._varbinds = work.varbinds
        # What was learned, by the kind of request: walks, and GETs by the `batch` of their table.
        self._learned: dict[int, Learned] = dict(work.learned_gets)
        if work.learned is not None:
            self._learned[_WALK] = work.learned
        self._kind = _WALK
        self._limits: Limits | None = None
        # Kept between parts: the client forgets an OLT that has no agent.
        self._agent: Agent | None = None

    @property
    def learned(self) -> Learned | None:
        self._keep_learned()
        return self._learned.get(_WALK)

    @property
    def learned_gets(self) -> dict[int, Learned]:
        self._keep_learned()
        return {kind: learned for kind, learned in self._learned.items() if kind != _WALK}

    def _keep_learned(self) -> None:
        if self._agent is not None and self._limits is not None:
            before = self._learned[self._kind]
            self._learned[self._kind] = merge_learned(before, self._agent.learned, self._limits)

    async def walk_agent(self) -> Agent:
        """Raises NoAddress."""
        return await self._open(_WALK, self._target)

    async def get_agent(self, batch: int = 0, *, retries: int | None = None) -> Agent:
        """Return an agent for GETs of a table, within the OLT's limit. Raises NoAddress.

        `batch` is the usual number of values in one request if the table has its own, else 0.
        """
        varbinds = min(self._varbinds, batch or self._varbinds)
        target = replace(self._target, limits=replace(self._target.limits, varbinds=varbinds))
        return await self._open(batch, target if retries is None else replace(target, retries=retries))

    async def restore_learned(self, learned: Learned) -> None:
        """Undo the effect of time-outs that were caused by an ONU which the OLT could not reach."""
        assert self._agent is not None
        await self._make_agent(self._agent.target, learned)

    async def _open(self, kind: int, target: Target) -> Agent:
        if (kind, target.limits) == (self._kind, self._limits):
            return await self._make_agent(target, None)
        self._keep_learned()
        self._kind, self._limits = kind, target.limits
        return await self._make_agent(target, self._learned_of(kind))

    def _learned_of(self, kind: int) -> Learned:
        """Return what was learned from such requests; before the first of them, from walks."""
        if kind not in self._learned:
            walks = self._learned.get(_WALK, Learned())
            self._learned[kind] = replace(walks, varbinds=min(walks.varbinds, self._varbinds))
        return self._learned[kind]

    async def _make_agent(self, target: Target, learned: Learned | None) -> Agent:
        try:
            self._agent = await self._client.agent(
                target, guard=self._guard, tag=self._tag, learned=learned, receive_limit=self._receive_limit
            )
        except AddressError as error:
            raise NoAddress(error) from error
        return self._agent


def _limit_pace(target: Target, pace: RequestPace) -> Target:
    if pace is RequestPace.NORMAL:
        return target
    return replace(target, limits=replace(target.limits, in_flight=1))


_MOST: Final = 1 << 16


class RowCounts:
    """The rows that each column had at the last walk, so that a walk need not read past its end.

    Only a hint, of this process. When it is full it is emptied.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[int, Oid], int] = {}

    def expected(self, olt_id: int, columns: Iterable[Oid]) -> dict[Oid, int]:
        rows = self._rows
        return {oid: rows[olt_id, oid] for oid in columns if (olt_id, oid) in rows}

    def store(self, olt_id: int, columns: Mapping[Oid, Mapping[bytes, Value]]) -> None:
        if len(self._rows) + len(columns) > _MOST:
            self._rows.clear()
        self._rows.update(((olt_id, oid), len(rows)) for oid, rows in columns.items())


_SILENT: Final = Reason.of("silent_about_onu")
_TICKS_PER_S: Final = 100
_NOT_ASKED_ALONE: Final = Reason.of("not_asked_alone")

_WITHOUT_VALUE: Final = frozenset({Missing, Unread})

Progress = Callable[[int], None]
Rows = dict[str, dict[bytes, Value]]


@dataclass(slots=True)
class Answers:
    """The values of one part, and the errors."""

    # By the OID of the profile's column.
    rows: Rows = field(default_factory=dict)
    # The values of a GET, until they are moved to the rows.
    got: list[GroupValues] = field(default_factory=list)
    # Of the operator's own OIDs, by name.
    own: Rows = field(default_factory=dict)
    errors: list[SnmpError] = field(default_factory=list)
    # Columns of which the agent refused even the first row: no errors if the part can do without them.
    refused: dict[AskedColumn, list[SnmpError]] = field(default_factory=dict)
    # Remarks about a part that did not fail.
    notes: list[Reason] = field(default_factory=list)
    load: Load = field(default_factory=Load)
    onus_asked: int = 0
    # Columns for which the agent answered noSuchObject.
    no_such_object: set[str] = field(default_factory=set)
    # The last uptime of the agent, in seconds.
    uptime_s: float | None = None
    # ONUs with a missing value, and why; and the number of ONUs without any value.
    incomplete: dict[Key, Reason] = field(default_factory=dict)
    silent_onus: int = 0
    # The OLT has stopped answering altogether.
    gone: bool = False
    # The OLT has answered something.
    heard: bool = False

    @property
    def silent(self) -> bool:
        return self.gone and not self.heard

    def move_to_rows(self) -> None:
        """Move the values of a GET to the rows. Not done on the SNMP loop: it takes long for many ONUs."""
        for group in self.got:
            for column, values in group.columns():
                rows = dict(zip(group.suffixes, values, strict=True))
                if not _WITHOUT_VALUE.isdisjoint(map(type, values)):
                    if Missing.NO_SUCH_OBJECT in values:
                        self.no_such_object.add(column)
                    rows = {suffix: each for suffix, each in rows.items() if type(each) not in _WITHOUT_VALUE}
                if rows:
                    self.rows.setdefault(column, {}).update(cast(dict[bytes, Value], rows))
        self.got.clear()

    def add(self, more: Answers) -> None:
        """Add the answers of a walk for the same part."""
        self.rows |= more.rows
        self.errors += more.errors
        self.refused |= more.refused
        self.gone |= more.gone
        self.heard |= more.heard
        self.uptime_s = self.uptime_s if more.uptime_s is None else more.uptime_s
        add_load(self.load, more.load)


def add_load(total: Load, more: Load) -> None:
    for each in fields(Load):
        setattr(total, each.name, getattr(total, each.name) + getattr(more, each.name))


class TimeLeft:
    """The time that is left until a deadline. Made on the loop."""

    def __init__(self, seconds: float) -> None:
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - self._now())


async def walk_columns(
    agent: Agent,
    columns: Sequence[AskedColumn],
    deadline: float,
    progress: Progress | None = None,
    *,
    olt_id: int = 0,
) -> Answers:
    """Walk the columns at the same time, from the first row to the last. Raises BadOid."""
    oids = {column: Oid.parse(column.oid) for column in columns}
    expected = _row_counts.expected(olt_id, oids.values())
    result = await agent.walk_table(oids.values(), deadline=deadline, progress=progress, expected=expected)
    refused = {
        column: result.columns[oid].errors for column, oid in oids.items() if _is_refused(result.columns[oid])
    }
    refusals = {id(error) for errors in refused.values() for error in errors}
    errors = [error for error in result.errors if id(error) not in refusals]
    answers = Answers(errors=errors, refused=refused, load=result.load, gone=_is_gone(result))
    answers.heard = result.load.varbinds > 0
    answers.uptime_s = uptime_seconds(result.up_time)
    if result.complete:
        _row_counts.store(olt_id, {oid: column.rows for oid, column in result.columns.items()})
    for column, oid in oids.items():
        if column in refused:
            continue
        rows = _rows_to_keep(result.columns[oid])
        if not column.read_as:
            answers.own.setdefault(column.name, {}).update(rows)
        elif column.read_as in answers.rows:
            # Two columns are read as one. Copy: the rows belong to the walk's result.
            answers.rows[column.read_as] = {**answers.rows[column.read_as], **rows}
        else:
            answers.rows[column.read_as] = rows
    return answers


def _is_refused(column: Column) -> bool:
    kinds = (AgentRefused, UnreadableRows)
    return not column.rows and bool(column.errors) and all(isinstance(each, kinds) for each in column.errors)


def _rows_to_keep(column: Column) -> dict[bytes, Value]:
    """Return the rows of a column; none of an endless one, whose rows would take long to decode."""
    return {} if any(isinstance(error, TooMuch) for error in column.errors) else column.rows


_row_counts: Final = RowCounts()


def uptime_seconds(ticks: Value | None) -> float | None:
    return ticks / _TICKS_PER_S if isinstance(ticks, TimeTicks) else None


def _is_gone(result: WalkResult) -> bool:
    """Tell whether the OLT stopped answering: only then an error is of no column."""
    of_columns = {id(error) for column in result.columns.values() for error in column.errors}
    return any(_is_silence(error) for error in result.errors if id(error) not in of_columns)


def _is_silence(error: SnmpError) -> bool:
    return isinstance(error, NoAnswer) and not isinstance(error, DeadlineExceeded)


async def get_values(
    session: Session,
    plan: GetPlan,
    own: Sequence[AskedColumn],
    batching: Batching,
    deadline: float,
    progress: Progress | None = None,
) -> Answers:
    """Get the planned values, and those of the operator's own OIDs as written. Raises BadOid."""
    get = _BatchedGet(session, batching, TimeLeft(deadline), progress)
    try:
        if own or plan.groups:
            await get.begin(0 if own else plan.groups[0].batch)
            await get.ask_own(own)
            await get.ask(plan)
    except _Ended as ended:
        get.answers.errors.append(ended.error)
        get.answers.gone = _is_silence(ended.error)
    except NoAddress as unknown:
        get.answers.errors.append(unknown.error)
        get.answers.gone = True
    return get.finish(plan)


class GroupValues:
    """The values of one group of a plan, ONU by ONU; UNREAD where none came."""

    def __init__(self, group: GetGroup) -> None:
        self.onus = group.onus
        self.suffixes = group.suffixes
        self.names = RowNames(tuple(group.columns), group.suffixes)
        self.values: list[Value | Unread] = [UNREAD] * len(self.names)
        self.failed: dict[int, SnmpError] = {}
        self._columns = tuple(group.columns.values())

    def columns(self) -> Iterator[tuple[str, list[Value | Unread]]]:
        """Yield each column of the profile with its values, as many as there are ONUs."""
        for number, column in enumerate(self._columns):
            yield column, self.values[number :: len(self._columns)]

    def unread(self, rows: Sequence[int]) -> Sequence[int]:
        """Return the positions of the ONUs in `rows` that neither have a value nor failed."""
        values, failed = self.values, self.failed
        return [
            each for row in rows for each in self.of_row(row) if values[each] is UNREAD and each not in failed
        ]

    def of_row(self, row: int) -> range:
        size = len(self._columns)
        return range(row * size, row * size + size)


class _Ended(Exception):
    """The OLT must not be sent further requests."""

    def __init__(self, error: SnmpError) -> None:
        self.error = error


class _BatchedGet:
    """A GET of many ONUs, in batches.

    The requests that it can take, for a batch of B ONUs with c values each, V in a request, F in flight and r
    retries: one for V values, r more for each of F that may be lost before the first counts as lost, and one
    more for each value that the agent fails on. Then, if an ONU makes it silent: its uptime; the unanswered
    in sub-batches, each once; its uptime again after each that is lost, and the ONUs of that one by one; and
    its uptime after each ONU that is lost. So an ONU that makes it silent costs at most one sub-batch asked
    one by one, and no ONU is asked more than three times.
    """

    def __init__(
        self, session: Session, batching: Batching, clock: TimeLeft, progress: Progress | None
    ) -> None:
        self.answers = Answers()
        self._session = session
        self._batching = batching
        self._sizes = (batching.size, batching.sub_size, 1)
        self._clock = clock
        self._progress = progress
        self._answered: set[Key] = set()
        self._max_silent_onus = 0.0

    async def begin(self, batch: int) -> None:
        """Check with one request that the OLT answers, before many are in flight."""
        self._agent = await self._session.get_agent(batch)
        if not self._session.heard:
            await self._check_alive()

    async def ask(self, plan: GetPlan) -> None:
        self._max_silent_onus = len(plan.onus) * self._batching.most_unanswered / 100
        for group in plan.groups:
            self._agent = await self._session.get_agent(group.batch)
            self._agent_without_retries = await self._session.get_agent(group.batch, retries=0)
            self._group = GroupValues(group)
            self.answers.got.append(self._group)
            for rows in batches(range(len(group.onus)), self._batching.size):
                await self._ask_batch(rows)

    async def ask_own(self, columns: Sequence[AskedColumn]) -> None:
        if not columns:
            return
        oids = {column.name: Oid.parse(column.oid) for column in columns}
        result = await self._get(self._agent, oids.values())
        if result.error is not None:
            raise _Ended(result.error)
        self.answers.errors.extend(result.failed.values())
        for name, oid in oids.items():
            value = result.values.get(oid, Missing.NO_SUCH_OBJECT)
            if not isinstance(value, Missing):
                self.answers.own[name] = {b"": value}
            elif oid not in result.failed:
                self.answers.notes.append(Reason.of("no_value_at_oid", name=name, oid=str(oid)))

    def finish(self, plan: GetPlan) -> Answers:
        self.answers.incomplete.update(plan.nowhere)
        self.answers.onus_asked = len(plan.onus)
        self.answers.silent_onus = self._silent_onus
        return self.answers

    @property
    def _silent_onus(self) -> int:
        return len(self.answers.incomplete.keys() - self._answered)

    async def _ask_batch(self, rows: Sequence[int]) -> None:
        self._before = self._agent.learned
        first, last = self._group.of_row(rows[0]), self._group.of_row(rows[-1])
        left = await self._ask_once(self._agent, rows, range(first.start, last.stop))
        if left:
            await self._check_alive()
            await self._ask_smaller(left, smaller_batch(self._batching.size, sizes=self._sizes) or 1)

    async def _ask_smaller(self, rows: Sequence[int], size: int) -> None:
        """Send each batch once, without retries: silent ONUs must not cost a time-out each time."""
        for batch in batches(rows, size):
            if self._silent_onus > self._max_silent_onus:
                # The part has failed already: spare the OLT the rest.
                self._mark_incomplete(batch, _NOT_ASKED_ALONE)
                continue
            left = await self._ask_once(self._agent_without_retries, batch, self._group.unread(batch))
            if not left:
                continue
            await self._check_alive()
            below = smaller_batch(min(size, len(batch)), sizes=self._sizes)
            if below is not None:
                await self._ask_smaller(left, below)
                continue
            self._mark_incomplete(left, _SILENT)
            # The time-outs were caused by the ONU, and must not slow down the requests to the OLT.
            await self._session.restore_learned(self._before)

    async def _ask_once(self, agent: Agent, rows: Sequence[int], positions: Sequence[int]) -> list[int]:
        """Ask for these positions of the ONUs in `rows`, and return the rows that are still unanswered."""
        group = self._group
        result = await agent.get_rows(group.names, positions, group.values, deadline=self._clock.left)
        self._count(result.load, result.read, result.failed)
        if result.read == len(positions):
            self._answered.update([group.onus[row] for row in rows])
            return []
        left = self._unanswered(rows, result)
        if result.error is not None and not _is_silence(result.error):
            raise _Ended(result.error)
        return left

    def _unanswered(self, rows: Sequence[int], result: PositionResult) -> list[int]:
        """Note the ONUs that have an answer or a failed value, and return those without all answers."""
        group, left = self._group, []
        group.failed.update(result.failed)
        for row in rows:
            positions = group.of_row(row)
            if any(group.values[each] is not UNREAD for each in positions):
                self._answered.add(group.onus[row])
            for each in positions:
                if each in result.failed:
                    self.answers.incomplete[group.onus[row]] = result.failed[each].reason
            if group.unread([row]):
                left.append(row)
        return left

    def _mark_incomplete(self, rows: Iterable[int], reason: Reason) -> None:
        self.answers.incomplete.update((self._group.onus[row], reason) for row in rows)

    async def _check_alive(self) -> None:
        """Read the uptime, which any agent answers; stop if it does not."""
        result = await self._get(self._agent, [SYS_UP_TIME])
        if result.error is not None:
            raise _Ended(result.error)
        self.answers.uptime_s = uptime_seconds(result.values.get(SYS_UP_TIME))

    async def _get(self, agent: Agent, oids: Iterable[Oid]) -> GetResult:
        result = await agent.get_many(oids, deadline=self._clock.left)
        self._count(result.load, len(result.values), result.failed)
        return result

    def _count(self, load: Load, read: int, failed: Mapping[Any, SnmpError]) -> None:
        add_load(self.answers.load, load)
        self.answers.heard |= bool(read or failed)
        if self._progress is not None:
            self._progress(read)
