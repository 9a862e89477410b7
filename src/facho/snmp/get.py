"""Asking for chosen values: every OID ends with a value, or with the error that kept it from having one."""

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
from facho.snmp.peer import Answer, Load, Stopped, first_of
from facho.snmp.talk import Talk
from facho.snmp.values import Missing, Oid, Value


@dataclass(slots=True)
class GetResult:
    """`values` and `failed` together hold what was answered; `error` says why the rest was not."""

    values: dict[Oid, Value] = field(default_factory=dict)
    failed: dict[Oid, SnmpError] = field(default_factory=dict)
    unanswered: list[Oid] = field(default_factory=list)
    error: SnmpError | None = None
    load: Load = field(default_factory=Load)

    @property
    def complete(self) -> bool:
        return self.error is None and not self.failed


async def get_many(talk: Talk, oids: list[Oid], deadline: float | None) -> GetResult:
    """Asks in batches, several at once, under the agent's limits. Silence ends it: the dead are left alone.

    Only what the guard raises, and a closed client, are raised.
    """
    result = GetResult()
    loop = asyncio.get_running_loop()
    started = loop.time()
    try:
        async with asyncio.timeout(deadline):
            await _ask_all(talk, oids, result)
    except Stopped as stopped:
        raise stopped.error from None
    except (NoAnswer, SecurityError, TooMuch) as error:
        result.error = error
    except TimeoutError:
        result.error = DeadlineExceeded(
            Reason.of("values_not_read_in_time", olt=talk.peer.name, seconds=deadline or 0.0)
        )
    result.load.seconds = loop.time() - started
    result.unanswered = [oid for oid in oids if oid not in result.values and oid not in result.failed]
    return result


async def _ask_all(talk: Talk, oids: list[Oid], result: GetResult) -> None:
    batches = _batches(talk, oids)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(oids), talk.peer.window.limits.in_flight)):
                group.create_task(_ask_batches(talk, batches, result))
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


def _batches(talk: Talk, oids: list[Oid]) -> Iterator[list[Oid]]:
    """As large as the agent bears at the moment each one is cut."""
    position = 0
    while position < len(oids):
        size = talk.peer.window.varbinds
        yield oids[position : position + size]
        position += size


async def _ask_batches(talk: Talk, batches: Iterator[list[Oid]], result: GetResult) -> None:
    for batch in batches:
        pieces = [batch]
        while pieces:
            pieces.extend(await _ask_batch(talk, pieces.pop(), result))


async def _ask_batch(talk: Talk, oids: list[Oid], result: GetResult) -> list[list[Oid]]:
    """Asks once, keeps what came, and returns what is to be asked again in other pieces."""
    try:
        answer = await talk.ask_get([oid.content for oid in oids], result.load)
    except CorruptAnswer as error:
        return _halves(oids, error, result)
    status = answer.message.error_status
    if status == ErrorStatus.noError:
        return _keep(talk, oids, answer, result)
    if status in (ErrorStatus.tooBig, ErrorStatus.resourceUnavailable):
        talk.peer.window.too_big(len(oids))
        too_big = TooBig(Reason.of("value_too_big", olt=talk.peer.name, oid=str(oids[0])))
        return _halves(oids, too_big, result)
    return _without_culprit(talk, oids, answer, result)


def _keep(talk: Talk, oids: list[Oid], answer: Answer, result: GetResult) -> list[list[Oid]]:
    try:
        came = {Oid(name): value for name, value in decode_bindings(answer.message.bindings)}
    except BerError as error:
        return _halves(oids, talk.corrupt(error), result)
    if not came.keys() <= set(oids):
        return _halves(oids, talk.corrupt("it holds values that were not asked for"), result)
    talk.learn(answer, len(oids), len(came), result.load)
    result.values.update(came)
    missing = [oid for oid in oids if oid not in came]
    return _halves(missing, talk.corrupt("it lacks values that were asked for"), result) if missing else []


def _halves(oids: list[Oid], error: SnmpError, result: GetResult) -> list[list[Oid]]:
    if len(oids) == 1:
        result.failed[oids[0]] = error
        return []
    middle = len(oids) // 2
    return [oids[middle:], oids[:middle]]


def _without_culprit(talk: Talk, oids: list[Oid], answer: Answer, result: GetResult) -> list[list[Oid]]:
    """The agent says which OID it fails on; the others are asked again without it."""
    status, index = answer.message.error_status, answer.message.error_index
    error = _error_of(talk, status)
    if not 1 <= index <= len(oids):
        return _halves(oids, error, result)
    culprit = oids[index - 1]
    if talk.version == Version.V1 and status == ErrorStatus.noSuchName:
        result.values[culprit] = Missing.NO_SUCH_OBJECT
    else:
        result.failed[culprit] = error
    rest = [oid for oid in oids if oid != culprit]
    return [rest] if rest else []


def _error_of(talk: Talk, status: int) -> SnmpError:
    if status == ErrorStatus.genErr:
        return UnreadableRows(Reason.of("value_unreadable", olt=talk.peer.name))
    return talk.refused_value(status)
