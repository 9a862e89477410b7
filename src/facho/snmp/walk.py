"""Walks the columns of a table. The result has every row that was read, and why others are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.core.reasons import Reason
from facho.snmp import values
from facho.snmp.bad_row_search import Index, past_bad_row
from facho.snmp.errors import (
    AgentRestarted,
    BerError,
    ClientClosed,
    CorruptAnswer,
    DeadlineExceeded,
    NoAnswer,
    OidsWentBack,
    RepeatingOids,
    SecurityError,
    SnmpError,
    TooBig,
    TooMuch,
    UnreadableRows,
)
from facho.snmp.message import ErrorStatus, Message, Version
from facho.snmp.page import ColumnReader, End, Page
from facho.snmp.peer import Load, Stopped, first_error
from facho.snmp.requester import Requester
from facho.snmp.values import Oid, TimeTicks, Value

_TICKS: Final = 1 << 32
# An agent's clock may be coarse and our walk slow; a restart puts it back by far more than this share of the
# walk and these seconds.
_CLOCK_SHARE: Final = 0.1
_CLOCK_SLACK: Final = 10.0
# Clocks of several boards may differ by a little.
_TICK_JITTER: Final = 100
# A search for the end of a bad row that takes more requests than this is given up.
_MOST_PROBES: Final = 300
# Stop reading a column that has more unreadable places than this.
_MOST_BAD_PLACES: Final = 100


@dataclass(slots=True)
class Column:
    """A column as far as it was read. Rows are keyed by the raw index suffix, in the order of the agent."""

    oid: Oid
    rows: dict[bytes, Value] = field(default_factory=dict)
    errors: list[SnmpError] = field(default_factory=list)
    pages_out_of_order: int = 0


@dataclass(slots=True)
class WalkResult:
    columns: dict[Oid, Column]
    load: Load = field(default_factory=Load)
    errors: list[SnmpError] = field(default_factory=list)
    # The last reading of sysUpTime; None when the agent does not show it.
    up_time: TimeTicks | None = None

    @property
    def complete(self) -> bool:
        return not self.errors

    @property
    def reason(self) -> str | None:
        """Return why the walk is not complete, as a sentence."""
        return "; ".join(dict.fromkeys(map(str, self.errors))) or None

    @property
    def rows(self) -> dict[bytes, Value]:
        """Return the rows of a walk of one column."""
        (column,) = self.columns.values()
        return column.rows

    def uneven_rows(self) -> set[bytes]:
        """Return the indexes that some columns lack: the table is so, or changed while it was walked."""
        keys = [column.rows.keys() for column in self.columns.values()]
        every: set[bytes] = set().union(*keys)
        return {index for index in every if not all(index in column for column in keys)}


async def walk_table(
    requester: Requester,
    oids: list[Oid],
    deadline: float | None,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int] = MappingProxyType({}),
    excluded: Sequence[Oid] = (),
    into: WalkResult | None = None,
) -> WalkResult:
    """Walk the columns at once, under the limits of the agent.

    `expected` is how many rows a column had the last time. Where that is right, the agent is not made to read
    a page of whatever comes after the column, which may be what costs it most.

    `excluded` subtrees are skipped: a few rows of the first of them may come in one answer with the rows
    before it, and are left out of the result.

    `into` is a result of the caller, which has the rows that were read also when the walk is cancelled.

    Errors of the agent are in the result. Only errors of the guard, and ClientClosed, are raised.
    """
    result = WalkResult({}) if into is None else into
    result.columns.update((oid, Column(oid)) for oid in oids)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(deadline):
            await _walk_between_clock_readings(requester, result, progress, expected, excluded)
    except Stopped as stopped:
        raise stopped.error from None
    except (NoAnswer, SecurityError, TooMuch) as error:
        result.errors.append(error)
    except TimeoutError:
        late = Reason.of("walk_not_finished_in_time", olt=requester.peer.name, seconds=deadline or 0.0)
        result.errors.append(DeadlineExceeded(late))
    result.load.seconds = loop.time() - started
    result.errors.extend(error for column in result.columns.values() for error in column.errors)
    for each in result.errors:
        _forget_frames(each)
    return result


def _forget_frames(error: SnmpError) -> None:
    """Drop the traceback: its frames hold the rows, which would stay until the next garbage collection."""
    error.__traceback__ = error.__cause__ = error.__context__ = None


async def first_row(requester: Requester, column: Oid) -> tuple[bytes, Value] | None:
    """Return the first row of a column by one GETNEXT, or None when it has no rows.

    Raises NoAnswer, SecurityError, CorruptAnswer and TooMuch.
    """
    return next(iter(await rows_after(requester, column, b"", 1)), None)


async def rows_after(requester: Requester, column: Oid, index: bytes, rows: int) -> list[tuple[bytes, Value]]:
    """Return the rows of a column that follow an index, by one request for so many. Raises as first_row()."""
    try:
        answer = await requester.ask_next(column.content + index, rows, Load())
        page = ColumnReader(column.content).read(answer.message.bindings)
    except Stopped as stopped:
        raise stopped.error from None
    except BerError as error:
        raise requester.corrupt(error) from error
    if answer.message.error_status:
        return []
    return list(zip(page.indexes, page.values, strict=True))


async def _walk_between_clock_readings(
    requester: Requester,
    result: WalkResult,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int],
    excluded: Sequence[Oid],
) -> None:
    loop = asyncio.get_running_loop()
    before, read_at = await requester.up_time(result.load), loop.time()
    result.up_time = before
    await _walk_columns(requester, result, progress, expected, excluded)
    if before is None:
        return
    after = await requester.up_time(result.load)
    result.up_time = before if after is None else after
    if after is not None and restarted(before, after, loop.time() - read_at):
        seconds = {"before": round(before / 100), "after": round(after / 100)}
        result.errors.append(AgentRestarted(Reason.of("restarted", olt=requester.peer.name, **seconds)))


def restarted(before: TimeTicks, after: TimeTicks, elapsed: float) -> bool:
    """Return whether sysUpTime shows a restart between two readings `elapsed` seconds apart."""
    expected = before + elapsed * 100
    slack = 100 * (_CLOCK_SLACK + _CLOCK_SHARE * elapsed)
    if expected + slack < _TICKS:
        return after < before - _TICK_JITTER or after < expected - slack
    # It wraps every 497 days, and this may have been the day.
    return slack < (expected - after) % _TICKS < _TICKS / 2


async def _walk_columns(
    requester: Requester,
    result: WalkResult,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int],
    excluded: Sequence[Oid],
) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for oid, column in result.columns.items():
                walk = _ColumnWalk(requester, column, result.load, progress, expected.get(oid, 0), excluded)
                group.create_task(walk.run())
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None


class _ColumnWalk:
    def __init__(
        self,
        requester: Requester,
        column: Column,
        load: Load,
        progress: Callable[[int], None] | None,
        expected: int,
        excluded: Sequence[Oid],
    ) -> None:
        self._requester = requester
        self._column = column
        self._load = load
        self._progress = progress
        self._expected = expected
        self._reader = ColumnReader(column.oid.content)
        # Parameters of all reasons about the column.
        self._where = {"column": str(column.oid), "olt": requester.peer.name}
        self._cursor = b""
        self._cursor_arcs: Index = ()
        self._bad_places = 0
        prefix = column.oid.content
        self._excluded = [oid.content[len(prefix) :] for oid in excluded if oid.content.startswith(prefix)]

    async def run(self) -> None:
        """Read the column to its end. Raises NoAnswer when the agent does not even tell its sysUpTime."""
        try:
            while not self._add_rows(await self._next_page()):
                self._skip_excluded()
        except NoAnswer as error:
            await self._requester.up_time(self._load)
            self._column.errors.append(NoAnswer(self._silence_reason(error)))
        except ClientClosed:
            raise
        except SnmpError as error:
            self._column.errors.append(error)
        finally:
            self._remove_excluded()

    def _silence_reason(self, error: NoAnswer) -> Reason:
        if not self._cursor:
            return Reason.of("silent_at_first_row", **self._where, why=error.reason)
        return Reason.of("silent_after_row", **self._where, row=self._name(self._cursor), why=error.reason)

    def _add_rows(self, page: Page) -> bool:
        """Add the rows of a page; return True at the end of the column."""
        rows, received = self._column.rows, len(page.indexes)
        expected = len(rows) + received
        most = self._requester.settings.receive_limit.rows
        if expected > most:
            raise TooMuch(Reason.of("too_many_rows", **self._where, most=most))
        rows.update(zip(page.indexes, page.values, strict=True))
        if len(rows) != expected:
            raise RepeatingOids(Reason.of("rows_repeat", **self._where, row=self._name(page.last)))
        if received:
            arcs = values.decode_arcs(page.last)
            # Some firmware does not sort its rows. They are read all the same: a repetition raises above.
            if arcs <= self._cursor_arcs:
                self._column.pages_out_of_order += 1
            self._cursor, self._cursor_arcs = page.last, arcs
            if self._progress is not None:
                self._progress(received)
        if page.end is End.WENT_BACK:
            raise OidsWentBack(Reason.of("went_back", **self._where))
        return page.end is not None

    def _skip_excluded(self) -> None:
        """Move the cursor out of an excluded subtree, to its end."""
        for subtree in self._excluded:
            if self._cursor.startswith(subtree):
                self._cursor = subtree + values.encode_arcs((LARGEST_ARC,))
                self._cursor_arcs = values.decode_arcs(self._cursor)

    def _remove_excluded(self) -> None:
        """Remove excluded rows, at the end only: until then they show whether rows repeat."""
        if self._excluded:
            subtrees = tuple(self._excluded)
            kept = {
                index: value for index, value in self._column.rows.items() if not index.startswith(subtrees)
            }
            self._column.rows = kept

    async def _next_page(self) -> Page:
        """Return the page after the cursor, which is moved past every row that the agent cannot read."""
        while True:
            page = await self._page_at_cursor()
            if page is not None:
                return page
            await self._move_past_bad_row()

    async def _page_at_cursor(self) -> Page | None:
        """Ask for the page in ever smaller pieces while the agent cannot give it; None before a bad row."""
        rows = wanted = self._requester.rows_asked(self._rows_wanted(), 0)
        broken = 0
        while True:
            try:
                page, rows, status = await self._ask(self._cursor, rows, wanted)
            except CorruptAnswer:
                broken += rows == 1
                if broken > self._requester.settings.retries:
                    raise
                rows = max(1, rows // 2)
                continue
            if page is not None:
                return page
            if status == ErrorStatus.genErr and rows == 1:
                return None
            if status not in _TOO_MUCH:
                raise self._requester.refused_walk(status, self._column.oid)
            if status != ErrorStatus.genErr:
                self._requester.peer.window.too_big(rows)
                if rows == 1:
                    raise TooBig(Reason.of("row_too_big", **self._where))
            rows //= 2
            wanted = rows

    def _rows_wanted(self) -> int:
        """Return how many rows to ask for: at the expected end one more than is left, to see that it ends.

        Past the expected end the column has grown, and a full page is asked for.
        """
        left = self._expected - len(self._column.rows)
        most = self._requester.peer.window.varbinds
        return most if left < 0 or not self._expected else min(most, left + 1)

    async def _ask(self, cursor: bytes, rows: int, wanted: int) -> tuple[Page | None, int, int]:
        """Return (page or None, rows asked for in the last attempt, error status).

        `wanted` is the number of rows that was asked for first, and was lost or came broken.
        """
        requester = self._requester
        answer = await requester.ask_next(self._column.oid.content + cursor, rows, self._load)
        asked = requester.rows_asked(rows, answer.attempt)
        message = answer.message
        if message.error_status:
            return self._end_of_v1(message), asked, message.error_status
        try:
            page = self._reader.read(message.bindings)
        except BerError as error:
            requester.peer.window.timed_out(answer.generation, requester.settings.timeout)
            raise requester.corrupt(error) from error
        received = len(page.indexes)
        if not received and page.end is None:
            requester.peer.window.timed_out(answer.generation, requester.settings.timeout)
            raise requester.corrupt("it holds no value at all")
        # Without GETBULK one row is all that can be asked for, and counts as a full-sized answer.
        requester.record_answer(
            answer, asked if requester.bulk else requester.peer.window.varbinds, received, self._load
        )
        if asked < wanted and received == asked:
            requester.peer.window.smaller_worked(wanted, len(message.bindings) * wanted // asked)
        return page, asked, 0

    def _end_of_v1(self, message: Message) -> Page | None:
        """Return the end of the column for "no such name", which is how SNMPv1 tells the end of the MIB."""
        if self._requester.version == Version.V1 and message.error_status == ErrorStatus.noSuchName:
            return Page([], [], End.END_OF_MIB)
        return None

    async def _move_past_bad_row(self) -> None:
        self._bad_places += 1
        if self._bad_places > _MOST_BAD_PLACES:
            many = Reason.of("unreadable_in_many_places", **self._where, most=_MOST_BAD_PLACES)
            raise UnreadableRows(many)
        last_good = self._cursor_arcs
        search = past_bad_row(last_good)
        probe = next(search)
        try:
            for _ in range(_MOST_PROBES):
                page, _, status = await self._ask(values.encode_arcs(probe), 1, 1)
                if page is None and status != ErrorStatus.genErr:
                    raise self._requester.refused_walk(status, self._column.oid)
                probe = search.send(None if page is None else values.decode_arcs(page.last))
        except StopIteration as found:
            past: Index | None = found.value
        else:
            past = None
        unreadable = UnreadableRows(self._unreadable_reason(last_good, past))
        if past is None:
            raise unreadable
        self._column.errors.append(unreadable)
        self._cursor, self._cursor_arcs = values.encode_arcs(past), past

    def _unreadable_reason(self, last_good: Index, past: Index | None) -> Reason:
        if past is None and not last_good:
            return Reason.of("unreadable_from_start", **self._where)
        if past is None:
            return Reason.of("unreadable_after_row", **self._where, row=_dotted(last_good))
        if not last_good:
            return Reason.of("unreadable_first_row", **self._where, until=_dotted(past))
        return Reason.of("unreadable_row", **self._where, row=_dotted(last_good), until=_dotted(past))

    def _name(self, suffix: bytes) -> str:
        return _dotted(values.decode_arcs(suffix))


def _dotted(index: Index) -> str:
    return ".".join(map(str, index))


_TOO_MUCH: Final = frozenset({ErrorStatus.tooBig, ErrorStatus.resourceUnavailable, ErrorStatus.genErr})
