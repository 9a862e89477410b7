"""Reads chosen values with GET. Each ends with a value, or with the error because of which it has none."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from facho.core.reasons import Reason
from facho.snmp.errors import (
    BerError,
    CorruptAnswer,
    DeadlineExceeded,
    NoAnswer,
    SecurityError,
    SnmpError,
    TooBig,
    TooMuch,
    UnreadableRows,
)
from facho.snmp.get_names import GetNames, NameList
from facho.snmp.message import ErrorStatus, Version, decode_bindings
from facho.snmp.peer import Answer, Load, Stopped, first_error
from facho.snmp.requester import Requester
from facho.snmp.values import Missing, Oid, Value


class Unread(enum.Enum):
    """Stands where no value was read."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD


@dataclass(slots=True)
class PositionResult:
    """The values of some names by their position."""

    # Filled in by every GET of these names; UNREAD where none came yet.
    values: list[Value | Unread]
    # The number of values that came, and the positions that failed.
    read: int = 0
    failed: dict[int, SnmpError] = field(default_factory=dict)
    # The error because of which the rest was not read.
    error: SnmpError | None = None
    load: Load = field(default_factory=Load)


@dataclass(slots=True)
class GetResult:
    """The values, the OIDs that failed, and the error because of which the rest was not read."""

    values: dict[Oid, Value] = field(default_factory=dict)
    failed: dict[Oid, SnmpError] = field(default_factory=dict)
    unanswered: list[Oid] = field(default_factory=list)
    error: SnmpError | None = None
    load: Load = field(default_factory=Load)

    @property
    def complete(self) -> bool:
        return self.error is None and not self.failed


async def get_many(requester: Requester, oids: list[Oid], deadline: float | None) -> GetResult:
    """Only errors of the guard, and ClientClosed, are raised."""
    names = NameList([oid.content for oid in oids])
    unread: list[Value | Unread] = [UNREAD] * len(oids)
    found = await get_positions(requester, names, range(len(oids)), unread, deadline)
    read = zip(oids, found.values, strict=True)
    result = GetResult(error=found.error, load=found.load)
    result.values = {oid: value for oid, value in read if not isinstance(value, Unread)}
    result.failed = {oids[position]: error for position, error in found.failed.items()}
    result.unanswered = [oid for oid in oids if oid not in result.values and oid not in result.failed]
    return result


async def get_positions(
    requester: Requester,
    names: GetNames,
    positions: Sequence[int],
    into: list[Value | Unread],
    deadline: float | None,
) -> PositionResult:
    """Ask in batches, several at once, under the limits of the agent; stop when it does not answer.

    Values are put `into` a list of all positions. Only errors of the guard, and ClientClosed, are raised.
    """
    result = PositionResult(into)
    get = _Get(requester, names, result)
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(deadline):
            await get.run(positions)
    except Stopped as stopped:
        raise stopped.error from None
    except (NoAnswer, SecurityError, TooMuch) as error:
        result.error = error
    except TimeoutError:
        result.error = DeadlineExceeded(
            Reason.of("values_not_read_in_time", olt=requester.peer.name, seconds=deadline or 0.0)
        )
    result.load.seconds = loop.time() - started
    return result


class _Get:
    def __init__(self, requester: Requester, names: GetNames, result: PositionResult) -> None:
        self._requester = requester
        self._window = requester.peer.window
        self._names = names
        self._result = result

    async def run(self, positions: Sequence[int]) -> None:
        batches = self._batches(positions)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(len(positions), self._window.limits.in_flight)):
                    group.create_task(self._ask_batches(batches))
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None

    def _batches(self, positions: Sequence[int]) -> Iterator[Sequence[int]]:
        """Yield batches, each as large as the window allows when it is taken."""
        unit, start = self._names.unit, 0
        while start < len(positions):
            size = self._window.varbinds
            if size > unit:
                size -= size % unit
            yield positions[start : start + size]
            start += size

    async def _ask_batches(self, batches: Iterator[Sequence[int]]) -> None:
        for batch in batches:
            pieces = await self._ask_batch(batch)
            while pieces:
                pieces.extend(await self._ask_batch(pieces.pop()))

    async def _ask_batch(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Ask once, keep the values, and return the batches that must be asked again."""
        requester = self._requester
        request = self._names.encode(positions)
        try:
            answer = await requester.ask_get(request, self._result.load)
        except CorruptAnswer as error:
            return self._halves(positions, error)
        status = answer.message.error_status
        if status == ErrorStatus.noError:
            return self._keep_values(positions, answer, len(request))
        if status in (ErrorStatus.tooBig, ErrorStatus.resourceUnavailable):
            self._window.too_big(len(positions))
            name = Oid(self._names.names(positions[:1])[0])
            too_big = TooBig(Reason.of("value_too_big", olt=requester.peer.name, oid=str(name)))
            return self._halves(positions, too_big)
        return self._without_culprit(positions, answer)

    def _keep_values(self, positions: Sequence[int], answer: Answer, sent: int) -> list[Sequence[int]]:
        found = self._names.read(positions, answer.message.bindings)
        if found is None or not isinstance(positions, range):
            return self._keep_named_values(positions, answer, sent)
        self._record_answer(positions, answer, len(found), sent)
        self._result.values[positions.start : positions.stop] = found
        self._result.read += len(found)
        return []

    def _keep_named_values(self, positions: Sequence[int], answer: Answer, sent: int) -> list[Sequence[int]]:
        """Keep the values of an answer in any order, which may lack some."""
        requester, values = self._requester, self._result.values
        try:
            received = dict(decode_bindings(answer.message.bindings))
        except BerError as error:
            return self._halves(positions, requester.corrupt(error))
        names = self._names.names(positions)
        if not received.keys() <= set(names):
            return self._halves(positions, requester.corrupt("it holds values that were not asked for"))
        self._record_answer(positions, answer, len(received), sent)
        missing = []
        for position, name in zip(positions, names, strict=True):
            if name in received:
                values[position] = received[name]
                self._result.read += 1
            else:
                missing.append(position)
        if not missing:
            return []
        return self._halves(missing, requester.corrupt("it lacks values that were asked for"))

    def _record_answer(self, positions: Sequence[int], answer: Answer, received: int, sent: int) -> None:
        # A request that had no room for one more row is full-sized.
        asked = len(positions) + self._names.unit - 1
        self._requester.record_answer(answer, asked, received, self._result.load, sent)

    def _halves(self, positions: Sequence[int], error: SnmpError) -> list[Sequence[int]]:
        if len(positions) == 1:
            self._result.failed[positions[0]] = error
            return []
        middle = len(positions) // 2
        return [positions[middle:], positions[:middle]]

    def _without_culprit(self, positions: Sequence[int], answer: Answer) -> list[Sequence[int]]:
        """Record the value that the agent names as the failing one, and return the others."""
        status, index = answer.message.error_status, answer.message.error_index
        error = self._error_of(status)
        if not 1 <= index <= len(positions):
            return self._halves(positions, error)
        culprit = positions[index - 1]
        if self._requester.version == Version.V1 and status == ErrorStatus.noSuchName:
            self._result.values[culprit] = Missing.NO_SUCH_OBJECT
            self._result.read += 1
        else:
            self._result.failed[culprit] = error
        rest = [position for position in positions if position != culprit]
        return [rest] if rest else []

    def _error_of(self, status: int) -> SnmpError:
        if status == ErrorStatus.genErr:
            return UnreadableRows(Reason.of("value_unreadable", olt=self._requester.peer.name))
        return self._requester.refused_value(status)
