"""Reads chosen values: each OID ends with a value, or with the error because of which it has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

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
from facho.snmp.message import ErrorStatus, Version, decode_bindings
from facho.snmp.peer import Answer, Load, Stopped, first_error
from facho.snmp.requester import Requester
from facho.snmp.values import Missing, Oid, Value


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
    """Ask in batches, several at once, under the limits of the agent; stop when it does not answer.

    Only errors of the guard, and ClientClosed, are raised.
    """
    result = GetResult()
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(deadline):
            await _ask_all(requester, oids, result)
    except Stopped as stopped:
        raise stopped.error from None
    except (NoAnswer, SecurityError, TooMuch) as error:
        result.error = error
    except TimeoutError:
        result.error = DeadlineExceeded(
            Reason.of("values_not_read_in_time", olt=requester.peer.name, seconds=deadline or 0.0)
        )
    result.load.seconds = loop.time() - started
    result.unanswered = [oid for oid in oids if oid not in result.values and oid not in result.failed]
    return result


async def _ask_all(requester: Requester, oids: list[Oid], result: GetResult) -> None:
    batches = _batches(requester, oids)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(oids), requester.peer.window.limits.in_flight)):
                group.create_task(_ask_batches(requester, batches, result))
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None


def _batches(requester: Requester, oids: list[Oid]) -> Iterator[list[Oid]]:
    """Yield batches, each as large as the window allows when it is taken."""
    position = 0
    while position < len(oids):
        size = requester.peer.window.varbinds
        yield oids[position : position + size]
        position += size


async def _ask_batches(requester: Requester, batches: Iterator[list[Oid]], result: GetResult) -> None:
    for batch in batches:
        pieces = [batch]
        while pieces:
            pieces.extend(await _ask_batch(requester, pieces.pop(), result))


async def _ask_batch(requester: Requester, oids: list[Oid], result: GetResult) -> list[list[Oid]]:
    """Ask once, keep the values, and return the batches that must be asked again."""
    try:
        answer = await requester.ask_get([oid.content for oid in oids], result.load)
    except CorruptAnswer as error:
        return _halves(oids, error, result)
    status = answer.message.error_status
    if status == ErrorStatus.noError:
        return _keep_values(requester, oids, answer, result)
    if status in (ErrorStatus.tooBig, ErrorStatus.resourceUnavailable):
        requester.peer.window.too_big(len(oids))
        too_big = TooBig(Reason.of("value_too_big", olt=requester.peer.name, oid=str(oids[0])))
        return _halves(oids, too_big, result)
    return _without_culprit(requester, oids, answer, result)


def _keep_values(requester: Requester, oids: list[Oid], answer: Answer, result: GetResult) -> list[list[Oid]]:
    try:
        received = {Oid(name): value for name, value in decode_bindings(answer.message.bindings)}
    except BerError as error:
        return _halves(oids, requester.corrupt(error), result)
    if not received.keys() <= set(oids):
        return _halves(oids, requester.corrupt("it holds values that were not asked for"), result)
    requester.record_answer(answer, len(oids), len(received), result.load)
    result.values.update(received)
    missing = [oid for oid in oids if oid not in received]
    if not missing:
        return []
    return _halves(missing, requester.corrupt("it lacks values that were asked for"), result)


def _halves(oids: list[Oid], error: SnmpError, result: GetResult) -> list[list[Oid]]:
    if len(oids) == 1:
        result.failed[oids[0]] = error
        return []
    middle = len(oids) // 2
    return [oids[middle:], oids[:middle]]


def _without_culprit(
    requester: Requester, oids: list[Oid], answer: Answer, result: GetResult
) -> list[list[Oid]]:
    """Record the OID that the agent names as the failing one, and return the others."""
    status, index = answer.message.error_status, answer.message.error_index
    error = _error_of(requester, status)
    if not 1 <= index <= len(oids):
        return _halves(oids, error, result)
    culprit = oids[index - 1]
    if requester.version == Version.V1 and status == ErrorStatus.noSuchName:
        result.values[culprit] = Missing.NO_SUCH_OBJECT
    else:
        result.failed[culprit] = error
    rest = [oid for oid in oids if oid != culprit]
    return [rest] if rest else []


def _error_of(requester: Requester, status: int) -> SnmpError:
    if status == ErrorStatus.genErr:
        return UnreadableRows(Reason.of("value_unreadable", olt=requester.peer.name))
    return requester.refused_value(status)
