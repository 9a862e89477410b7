"""Asks an OLT for the columns of one part. Runs on the process's one SNMP loop.

What the OLT does wrong is in the answers. What the guard raises is raised, out of everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from facho.core.reasons import Reason
from facho.core.request_rules import batches, smaller_batch
from facho.engine.collect.request_plan import GetPlan, OnuRequest
from facho.engine.collect.session import NoAddress, Session
from facho.engine.collect.work import AskedColumn, Batching
from facho.snmp import Agent, GetResult, Load, Missing, Oid, SnmpError, Value, WalkResult
from facho.snmp.errors import DeadlineExceeded, NoAnswer, TooMuch
from facho.snmp.requester import SYS_UP_TIME
from facho.snmp.values import TimeTicks
from facho.snmp.walk import Column
from facho.vendors import Key

_MOST: Final = 1 << 16


class RowCounts:
    """Of the OLTs that this process asked. When it is full it forgets, and learns again."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, Oid], int] = {}

    def expected(self, olt_id: int, columns: Iterable[Oid]) -> dict[Oid, int]:
        rows = self._rows
        return {oid: rows[olt_id, oid] for oid in columns if (olt_id, oid) in rows}

    def note(self, olt_id: int, columns: Mapping[Oid, Mapping[bytes, Value]]) -> None:
        if len(self._rows) + len(columns) > _MOST:
            self._rows.clear()
        self._rows.update(((olt_id, oid), len(rows)) for oid, rows in columns.items())


_SILENT: Final = Reason.of("silent_about_onu")
_TICKS_PER_S: Final = 100
_NOT_AGAIN: Final = Reason.of("not_asked_alone")

Progress = Callable[[int], None]
Rows = dict[str, dict[bytes, Value]]


@dataclass(slots=True)
class Answers:
    """What came, and what was wrong on the way."""

    # By the OID of the profile's column.
    rows: Rows = field(default_factory=dict)
    # Of the operator's own OIDs, by name.
    own: Rows = field(default_factory=dict)
    errors: list[SnmpError] = field(default_factory=list)
    # What is worth telling although nothing failed.
    notes: list[Reason] = field(default_factory=list)
    load: Load = field(default_factory=Load)
    onus_asked: int = 0
    # Columns of which the agent said that it knows no such thing.
    no_such_object: set[str] = field(default_factory=set)
    # Seconds since the agent started, as it said last.
    uptime_s: float | None = None
    # ONUs of which a value is missing, with the reason; and how many of them gave no value at all.
    lacking: dict[Key, Reason] = field(default_factory=dict)
    mute: int = 0
    # The OLT has stopped answering altogether.
    gone: bool = False
    # Something came from it.
    heard: bool = False

    @property
    def silent(self) -> bool:
        return self.gone and not self.heard

    def take(self, more: Answers) -> None:
        """What was walked besides, for the same part."""
        self.rows |= more.rows
        self.errors += more.errors
        self.gone |= more.gone
        self.heard |= more.heard
        self.uptime_s = self.uptime_s if more.uptime_s is None else more.uptime_s
        add_load(self.load, more.load)


def add_load(total: Load, more: Load) -> None:
    for each in fields(Load):
        setattr(total, each.name, getattr(total, each.name) + getattr(more, each.name))


class TimeLeft:
    """How much is left of the time for everything. Made on the loop."""

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
    """The columns from their first row to their last, at once. Raises BadOid."""
    oids = {column: Oid.parse(column.oid) for column in columns}
    expected = _row_counts.expected(olt_id, oids.values())
    result = await agent.walk_table(oids.values(), deadline=deadline, progress=progress, expected=expected)
    answers = Answers(errors=result.errors, load=result.load, gone=_is_gone(result))
    answers.heard = result.load.varbinds > 0
    answers.uptime_s = _seconds(result.up_time)
    if result.complete:
        _row_counts.note(olt_id, {oid: column.rows for oid, column in result.columns.items()})
    for column, oid in oids.items():
        rows = _rows_to_keep(result.columns[oid])
        if not column.read_as:
            answers.own.setdefault(column.name, {}).update(rows)
        elif column.read_as in answers.rows:
            # Two columns that are read as one: a copy, for the rows of either are not the other's.
            answers.rows[column.read_as] = {**answers.rows[column.read_as], **rows}
        else:
            answers.rows[column.read_as] = rows
    return answers


def _rows_to_keep(column: Column) -> dict[bytes, Value]:
    """Return the rows of a column; none of one that does not end, for it would only take long to read."""
    return {} if any(isinstance(error, TooMuch) for error in column.errors) else column.rows


_row_counts: Final = RowCounts()


def _seconds(ticks: Value | None) -> float | None:
    return ticks / _TICKS_PER_S if isinstance(ticks, TimeTicks) else None


def _is_gone(result: WalkResult) -> bool:
    """Silence on a column is told with the column; if it is not, the OLT did not even tell its uptime."""
    told = {id(error) for column in result.columns.values() for error in column.errors}
    return any(_is_silence(error) for error in result.errors if id(error) not in told)


def _is_silence(error: SnmpError) -> bool:
    return isinstance(error, NoAnswer) and not isinstance(error, DeadlineExceeded)


async def get_values(
    talk: Session,
    plan: GetPlan,
    own: Sequence[AskedColumn],
    batching: Batching,
    deadline: float,
    progress: Progress | None = None,
) -> Answers:
    """The values that are planned, and those of the operator's own OIDs as written. Raises BadOid."""
    asking = _BatchedGet(talk, batching, TimeLeft(deadline), progress)
    try:
        if own or plan.groups:
            await asking.begin()
            await asking.ask_own(own)
            await asking.ask(plan)
    except _Ended as ended:
        asking.answers.errors.append(ended.error)
        asking.answers.gone = _is_silence(ended.error)
    except NoAddress as unknown:
        asking.answers.errors.append(unknown.error)
        asking.answers.gone = True
    return asking.finish(plan)


class _Ended(Exception):
    """There is no use in asking for anything more."""

    def __init__(self, error: SnmpError) -> None:
        self.error = error


class _BatchedGet:
    """One GET of many ONUs.

    Requests that it can take, for a batch of B ONUs with c values each, V in a request, F in flight and r
    retries: one for V values, r more for each of F that may be lost before the first counts as lost, and one
    more for each value that the agent fails on. Then, if an ONU makes it silent: its uptime; the unanswered
    in sub-batches, each once; its uptime again after each that is lost, and the ONUs of that one by one; and
    its uptime after each ONU that is lost. So an ONU that makes it silent costs at most one sub-batch asked
    one by one, and no ONU is asked more than three times.
    """

    def __init__(self, talk: Session, batching: Batching, clock: TimeLeft, progress: Progress | None) -> None:
        self.answers = Answers()
        self._talk = talk
        self._batching = batching
        self._sizes = (batching.size, batching.sub_size, 1)
        self._clock = clock
        self._progress = progress
        self._came: set[Key] = set()
        self._most_mute = 0.0

    async def begin(self) -> None:
        """A dead OLT is found out with one question, rather than with all that may be in flight."""
        self._agent = await self._talk.for_gets()
        if not self._talk.heard:
            await self._check_alive()

    async def ask(self, plan: GetPlan) -> None:
        self._most_mute = len(plan.onus) * self._batching.most_unanswered / 100
        for most, questions in plan.groups.items():
            self._agent = await self._talk.for_gets(most)
            self._hasty = await self._talk.for_gets(most, retries=0)
            for batch in batches(questions, self._batching.size):
                await self._ask_batch(batch)

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
        self.answers.lacking.update(plan.nowhere)
        self.answers.onus_asked = len(plan.onus)
        self.answers.mute = self._mute
        return self.answers

    @property
    def _mute(self) -> int:
        return len(self.answers.lacking.keys() - self._came)

    async def _ask_batch(self, batch: Sequence[OnuRequest]) -> None:
        self._before = self._agent.learned
        left = await self._ask_once(self._agent, batch)
        if left:
            await self._check_alive()
            await self._ask_smaller(left, smaller_batch(self._batching.size, sizes=self._sizes) or 1)

    async def _ask_smaller(self, questions: Sequence[OnuRequest], size: int) -> None:
        """Each once: who has been silent before is not waited for again and again."""
        for batch in batches(questions, size):
            if self._mute > self._most_mute:
                # It has failed already: what is left is not worth the OLT's time.
                self._name(batch, _NOT_AGAIN)
                continue
            left = await self._ask_once(self._hasty, batch)
            if not left:
                continue
            await self._check_alive()
            below = smaller_batch(min(size, len(batch)), sizes=self._sizes)
            if below is not None:
                await self._ask_smaller(left, below)
                continue
            self._name(left, _SILENT)
            # That the OLT waited for this ONU says nothing about how hard the OLT may be asked.
            await self._talk.forgive(self._before)

    async def _ask_once(self, agent: Agent, batch: Sequence[OnuRequest]) -> list[OnuRequest]:
        """What stayed unanswered because of silence."""
        result = await self._get(agent, (oid for question in batch for oid in question.values))
        left = [rest for question in batch if (rest := self._keep(question, result)) is not None]
        if result.error is not None and not _is_silence(result.error):
            raise _Ended(result.error)
        return left

    def _keep(self, question: OnuRequest, result: GetResult) -> OnuRequest | None:
        """What of the question is still without an answer."""
        rest: dict[Oid, tuple[str, bytes]] = {}
        for oid, (column, suffix) in question.values.items():
            if oid in result.values:
                self._came.add(question.onu)
                value = result.values[oid]
                if not isinstance(value, Missing):
                    self.answers.rows.setdefault(column, {})[suffix] = value
                elif value is Missing.NO_SUCH_OBJECT:
                    self.answers.no_such_object.add(column)
            elif oid in result.failed:
                self.answers.lacking[question.onu] = result.failed[oid].reason
            else:
                rest[oid] = column, suffix
        return OnuRequest(question.onu, rest) if rest else None

    def _name(self, questions: Iterable[OnuRequest], reason: Reason) -> None:
        self.answers.lacking.update((question.onu, reason) for question in questions)

    async def _check_alive(self) -> None:
        """One question that any agent answers. A dead one must not be asked for anything more."""
        result = await self._get(self._agent, [SYS_UP_TIME])
        if result.error is not None:
            raise _Ended(result.error)
        self.answers.uptime_s = _seconds(result.values.get(SYS_UP_TIME))

    async def _get(self, agent: Agent, oids: Iterable[Oid]) -> GetResult:
        result = await agent.get_many(oids, deadline=self._clock.left)
        add_load(self.answers.load, result.load)
        self.answers.heard |= bool(result.values or result.failed)
        if self._progress is not None:
            self._progress(len(result.values))
        return result
