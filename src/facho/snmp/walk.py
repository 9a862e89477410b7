"""Walking columns of a table: COMPLETE, or the reasons why not, together with every row that was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.core.reasons import Reason
from facho.snmp import ber
from facho.snmp.around import Index, past_bad_row
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
from facho.snmp.peer import Load, Stopped, first_of
from facho.snmp.talk import Talk
from facho.snmp.values import Oid, TimeTicks, Value

_TICKS: Final = 1 << 32
# An agent's clock may be coarse and our walk slow; a restart puts it back by far more than this share of the
# walk and these seconds.
_CLOCK_SHARE: Final = 0.1
_CLOCK_SLACK: Final = 10.0
# Clocks of several boards may differ by a little.
_TICK_JITTER: Final = 100
# A search for the way around a bad row that takes longer than this has lost its way.
_MOST_PROBES: Final = 300
# A column with more places that the agent cannot read than this is not read on.
_MOST_BAD_PLACES: Final = 100


@dataclass(slots=True)
class Column:
    """One column as far as it was read. Rows are keyed by the raw index suffix, in the order in which they
    came.
    """

    oid: Oid
    rows: dict[bytes, Value] = field(default_factory=dict)
    errors: list[SnmpError] = field(default_factory=list)
    pages_out_of_order: int = 0


@dataclass(slots=True)
class WalkResult:
    columns: dict[Oid, Column]
    load: Load = field(default_factory=Load)
    errors: list[SnmpError] = field(default_factory=list)
    # Its last reading; None when the agent does not show it.
    up_time: TimeTicks | None = None

    @property
    def complete(self) -> bool:
        return not self.errors

    @property
    def reason(self) -> str | None:
        """Why the walk is not complete, as a sentence."""
        return "; ".join(dict.fromkeys(map(str, self.errors))) or None

    @property
    def rows(self) -> dict[bytes, Value]:
        """The rows of a walk of one column."""
        (column,) = self.columns.values()
        return column.rows

    def uneven_rows(self) -> set[bytes]:
        """Indices that some columns lack: the table is so, or it changed while it was walked."""
        keys = [column.rows.keys() for column in self.columns.values()]
        every: set[bytes] = set().union(*keys)
        return {index for index in every if not all(index in column for column in keys)}


async def walk_table(
    talk: Talk,
    oids: list[Oid],
    deadline: float | None,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int] = MappingProxyType({}),
    around: Sequence[Oid] = (),
    into: WalkResult | None = None,
) -> WalkResult:
    """Walks the columns at once, under the agent's limits.

    `expected` is how many rows a column had the last time. Where that is right, the agent is not made to read
    a page of whatever comes after the column, which may be what costs it most.

    Subtrees to go `around` are not asked for, and not in the result: of the first of them a few rows may come
    in one answer with those before it.

    What comes is put `into` a result of the caller's, who has it also when the walk is cancelled.

    What the agent does wrong is in the result. Only what the guard raises, and a closed client, are raised.
    """
    result = WalkResult({}) if into is None else into
    result.columns.update((oid, Column(oid)) for oid in oids)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(deadline):
            await _walk_between_clock_readings(talk, result, progress, expected, around)
    except Stopped as stopped:
        raise stopped.error from None
    except (NoAnswer, SecurityError, TooMuch) as error:
        result.errors.append(error)
    except TimeoutError:
        late = Reason.of("walk_not_finished_in_time", olt=talk.peer.name, seconds=deadline or 0.0)
        result.errors.append(DeadlineExceeded(late))
    result.load.seconds = loop.time() - started
    result.errors.extend(error for column in result.columns.values() for error in column.errors)
    for each in result.errors:
        _forget_frames(each)
    return result


def _forget_frames(error: SnmpError) -> None:
    """Drop the traceback: its frames hold the rows, which would stay until the next garbage collection."""
    error.__traceback__ = error.__cause__ = error.__context__ = None


async def first_row(talk: Talk, column: Oid) -> tuple[bytes, Value] | None:
    """The first row of a column by one GETNEXT, or None when the agent has none to give.

    Raises NoAnswer, SecurityError, CorruptAnswer and TooMuch.
    """
    try:
        answer = await talk.ask_next(column.content, 1, Load())
        page = ColumnReader(column.content).read(answer.message.bindings)
    except Stopped as stopped:
        raise stopped.error from None
    except BerError as error:
        raise talk.corrupt(error) from error
    if answer.message.error_status or not page.indexes:
        return None
    return page.indexes[0], page.values[0]


async def _walk_between_clock_readings(
    talk: Talk,
    result: WalkResult,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int],
    around: Sequence[Oid],
) -> None:
    loop = asyncio.get_running_loop()
    before, read_at = await talk.up_time(result.load), loop.time()
    result.up_time = before
    await _walk_columns(talk, result, progress, expected, around)
    if before is None:
        return
    after = await talk.up_time(result.load)
    result.up_time = before if after is None else after
    if after is not None and restarted(before, after, loop.time() - read_at):
        seconds = {"before": round(before / 100), "after": round(after / 100)}
        result.errors.append(AgentRestarted(Reason.of("restarted", olt=talk.peer.name, **seconds)))


def restarted(before: TimeTicks, after: TimeTicks, elapsed: float) -> bool:
    """Whether sysUpTime shows a restart between two readings `elapsed` seconds apart."""
    expected = before + elapsed * 100
    slack = 100 * (_CLOCK_SLACK + _CLOCK_SHARE * elapsed)
    if expected + slack < _TICKS:
        return after < before - _TICK_JITTER or after < expected - slack
    # It wraps every 497 days, and this may have been the day.
    return slack < (expected - after) % _TICKS < _TICKS / 2


async def _walk_columns(
    talk: Talk,
    result: WalkResult,
    progress: Callable[[int], None] | None,
    expected: Mapping[Oid, int],
    around: Sequence[Oid],
) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for oid, column in result.columns.items():
                walk = _ColumnWalk(talk, column, result.load, progress, expected.get(oid, 0), around)
                group.create_task(walk.run())
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


class _ColumnWalk:
    def __init__(
        self,
        talk: Talk,
        column: Column,
        load: Load,
        progress: Callable[[int], None] | None,
        expected: int,
        around: Sequence[Oid],
    ) -> None:
        self._talk = talk
        self._column = column
        self._load = load
        self._progress = progress
        self._expected = expected
        self._reader = ColumnReader(column.oid.content)
        # Of what goes wrong with the column.
        self._where = {"column": str(column.oid), "olt": talk.peer.name}
        self._cursor = b""
        self._cursor_arcs: Index = ()
        self._bad_places = 0
        prefix = column.oid.content
        self._around = [oid.content[len(prefix) :] for oid in around if oid.content.startswith(prefix)]

    async def run(self) -> None:
        """Raises NoAnswer when the agent has gone silent altogether: then there is no use in asking for other
        columns.
        """
        try:
            while not self._take(await self._next_page()):
                self._go_around()
        except NoAnswer as error:
            await self._talk.up_time(self._load)
            self._column.errors.append(NoAnswer(self._silence(error)))
        except ClientClosed:
            raise
        except SnmpError as error:
            self._column.errors.append(error)
        finally:
            self._leave_out()

    def _silence(self, error: NoAnswer) -> Reason:
        if not self._cursor:
            return Reason.of("silent_at_first_row", **self._where, why=error.reason)
        return Reason.of("silent_after_row", **self._where, row=self._name(self._cursor), why=error.reason)

    def _take(self, page: Page) -> bool:
        """Keeps the page's rows; True at the end of the column."""
        rows, came = self._column.rows, len(page.indexes)
        expected = len(rows) + came
        most = self._talk.asking.allowance.rows
        if expected > most:
            raise TooMuch(Reason.of("too_many_rows", **self._where, most=most))
        rows.update(zip(page.indexes, page.values, strict=True))
        if len(rows) != expected:
            raise RepeatingOids(Reason.of("rows_repeat", **self._where, row=self._name(page.last)))
        if came:
            arcs = ber.decode_arcs(page.last)
            # Some firmware does not sort. Every row comes once all the same, and a repetition is an error
            # above.
            if arcs <= self._cursor_arcs:
                self._column.pages_out_of_order += 1
            self._cursor, self._cursor_arcs = page.last, arcs
            if self._progress is not None:
                self._progress(came)
        if page.end is End.WENT_BACK:
            raise OidsWentBack(Reason.of("went_back", **self._where))
        return page.end is not None

    def _go_around(self) -> None:
        """Whoever is in a subtree that is not wanted goes on after its end."""
        for unwanted in self._around:
            if self._cursor.startswith(unwanted):
                self._cursor = unwanted + ber.encode_arcs((LARGEST_ARC,))
                self._cursor_arcs = ber.decode_arcs(self._cursor)

    def _leave_out(self) -> None:
        """Only at the end: until then, rows that come again must be noticed."""
        if self._around:
            unwanted = tuple(self._around)
            kept = {
                index: value for index, value in self._column.rows.items() if not index.startswith(unwanted)
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
        rows = wanted = self._talk.rows_asked(self._rows_wanted(), 0)
        broken = 0
        while True:
            try:
                page, rows, status = await self._ask(self._cursor, rows, wanted)
            except CorruptAnswer:
                broken += rows == 1
                if broken > self._talk.asking.retries:
                    raise
                rows = max(1, rows // 2)
                continue
            if page is not None:
                return page
            if status == ErrorStatus.genErr and rows == 1:
                return None
            if status not in _TOO_MUCH:
                raise self._talk.refused_walk(status, self._column.oid)
            if status != ErrorStatus.genErr:
                self._talk.peer.window.too_big(rows)
                if rows == 1:
                    raise TooBig(Reason.of("row_too_big", **self._where))
            rows //= 2
            wanted = rows

    def _rows_wanted(self) -> int:
        """As many as the agent bears; at the expected end, one more than is left, to see that it is the end.

        Past it, the column has grown and nothing is expected any more.
        """
        left = self._expected - len(self._column.rows)
        most = self._talk.peer.window.varbinds
        return most if left < 0 or not self._expected else min(most, left + 1)

    async def _ask(self, cursor: bytes, rows: int, wanted: int) -> tuple[Page | None, int, int]:
        """(page or None, the rows that were asked for in the end, error status).

        `wanted` is what was asked for at first, when that was lost or came broken.
        """
        talk = self._talk
        answer = await talk.ask_next(self._column.oid.content + cursor, rows, self._load)
        asked = talk.rows_asked(rows, answer.attempt)
        message = answer.message
        if message.error_status:
            return self._end_of_v1(message), asked, message.error_status
        try:
            page = self._reader.read(message.bindings)
        except BerError as error:
            talk.peer.window.timed_out(answer.generation, talk.asking.timeout)
            raise talk.corrupt(error) from error
        came = len(page.indexes)
        if not came and page.end is None:
            talk.peer.window.timed_out(answer.generation, talk.asking.timeout)
            raise talk.corrupt("it holds no value at all")
        # Without GETBULK one row is all that can be asked for, and counts as a full-sized answer.
        talk.learn(answer, asked if talk.bulk else talk.peer.window.varbinds, came, self._load)
        if asked < wanted and came == asked:
            talk.peer.window.smaller_worked(wanted, len(message.bindings) * wanted // asked)
        return page, asked, 0

    def _end_of_v1(self, message: Message) -> Page | None:
        """SNMPv1 says "no such name" where later versions say that the MIB ends."""
        if self._talk.version == Version.V1 and message.error_status == ErrorStatus.noSuchName:
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
                page, _, status = await self._ask(ber.encode_arcs(probe), 1, 1)
                if page is None and status != ErrorStatus.genErr:
                    raise self._talk.refused_walk(status, self._column.oid)
                probe = search.send(None if page is None else ber.decode_arcs(page.last))
        except StopIteration as found:
            past: Index | None = found.value
        else:
            past = None
        unreadable = UnreadableRows(self._unreadable(last_good, past))
        if past is None:
            raise unreadable
        self._column.errors.append(unreadable)
        self._cursor, self._cursor_arcs = ber.encode_arcs(past), past

    def _unreadable(self, last_good: Index, past: Index | None) -> Reason:
        if past is None and not last_good:
            return Reason.of("unreadable_from_start", **self._where)
        if past is None:
            return Reason.of("unreadable_after_row", **self._where, row=_dotted(last_good))
        if not last_good:
            return Reason.of("unreadable_first_row", **self._where, until=_dotted(past))
        return Reason.of("unreadable_row", **self._where, row=_dotted(last_good), until=_dotted(past))

    def _name(self, suffix: bytes) -> str:
        return _dotted(ber.decode_arcs(suffix))


def _dotted(index: Index) -> str:
    return ".".join(map(str, index))


_TOO_MUCH: Final = frozenset({ErrorStatus.tooBig, ErrorStatus.resourceUnavailable, ErrorStatus.genErr})
