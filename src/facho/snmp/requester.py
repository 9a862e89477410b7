"""Builds and sends the requests of one conversation with an agent, and reads chosen values with GET.

Each OID of a GET ends with a value, or with the error because of which it has none.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from facho.core.reasons import Reason
from facho.snmp.errors import (
    AgentRefused,
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
from facho.snmp.message import (
    ErrorStatus,
    Message,
    PduType,
    Security,
    Version,
    decode_bindings,
    encode_names,
    encode_pdu,
    error_name,
)
from facho.snmp.peer import Answer, Load, Peer, RequestSettings, Stopped, first_error
from facho.snmp.v3 import Discovery, Stat, UserSecurity, stat_of
from facho.snmp.values import Missing, Oid, TimeTicks, Value

# An engine may report another id and then another clock; a third report is a refusal.
_MOST_REPORTS: Final = 3

_FORBIDDEN: Final = frozenset({ErrorStatus.authorizationError, ErrorStatus.noAccess})

SYS_UP_TIME: Final = Oid.parse("1.3.6.1.2.1.1.3.0")


@dataclass(frozen=True, slots=True)
class Requester:
    """The requests of one conversation, as one community or user."""

    peer: Peer
    settings: RequestSettings
    security: Security
    bulk: bool

    @property
    def version(self) -> Version:
        return self.security.version

    def ask_get(self, names: list[bytes], load: Load) -> Awaitable[Answer]:
        bindings = encode_names(names)

        def pdu(request_id: int, _attempt: int) -> bytes:
            return encode_pdu(PduType.GET, request_id, 0, 0, bindings)

        return self._ask(pdu, load)

    def ask_next(self, name: bytes, rows: int, load: Load) -> Awaitable[Answer]:
        """Ask for up to `rows` rows after `name`; each retry asks for half as many, which may fit better."""
        bindings = encode_names((name,))

        def pdu(request_id: int, attempt: int) -> bytes:
            repetitions = self.rows_asked(rows, attempt)
            if repetitions == 1:
                return encode_pdu(PduType.GETNEXT, request_id, 0, 0, bindings)
            return encode_pdu(PduType.GETBULK, request_id, 0, repetitions, bindings)

        return self._ask(pdu, load)

    def _ask(self, pdu: Callable[[int, int], bytes], load: Load) -> Awaitable[Answer]:
        """Return the awaitable of the answer. Not a coroutine: this runs for every page of every walk."""
        security = self.security
        if isinstance(security, UserSecurity):
            return self._ask_as_user(security, pdu, load)
        return self._send(security, pdu, load)

    async def _ask_as_user(
        self, security: UserSecurity, pdu: Callable[[int, int], bytes], load: Load
    ) -> Answer:
        """Ask with SNMPv3. Raises SecurityError when the engine reports that it will not answer."""
        reports = 0
        while True:
            if not security.is_ready:
                await self._discover(security, load)
            try:
                answer = await self._send(security, pdu, load)
            except NoAnswer:
                # Its messages look replayed if it restarted without counting its boots, as cheap ones do.
                security.engine.rediscover()
                raise
            if answer.message.pdu_type != PduType.REPORT:
                return answer
            reports += 1
            if reports == _MOST_REPORTS or not self._is_misunderstanding(answer.message, security):
                raise security.complain(answer.message, self.peer.name)

    def _is_misunderstanding(self, report: Message, security: UserSecurity) -> bool:
        """Return whether asking again may help; the report has already set our clock of the engine."""
        stat = stat_of(report)
        if stat is Stat.UNKNOWN_ENGINE:
            # Another device answers at this address now.
            security.engine.rediscover()
        return stat in (Stat.UNKNOWN_ENGINE, Stat.NOT_IN_TIME_WINDOW)

    async def _discover(self, security: UserSecurity, load: Load) -> None:
        def pdu(request_id: int, _attempt: int) -> bytes:
            return encode_pdu(PduType.GET, request_id, 0, 0, b"")

        await self._send(Discovery(security.engine), pdu, load)

    def _send(self, security: Security, pdu: Callable[[int, int], bytes], load: Load) -> Awaitable[Answer]:
        def build(request_id: int, attempt: int) -> bytes:
            return security.seal(request_id, pdu(request_id, attempt))

        return self.peer.ask(security, build, self.settings, load)

    def rows_asked(self, rows: int, attempt: int) -> int:
        return max(1, rows >> attempt) if self.bulk else 1

    def record_answer(self, answer: Answer, asked: int, received: int, load: Load) -> None:
        load.varbinds += received
        octets = len(answer.message.bindings)
        load.bytes_received += octets
        self.peer.window.answered(
            asked, received, octets, answer.latency, answer.generation, self.settings.timeout
        )

    async def up_time(self, load: Load) -> TimeTicks | None:
        """Return sysUpTime, or None when the agent does not show it. Raises NoAnswer."""
        for _ in range(self.settings.retries + 1):
            with contextlib.suppress(BerError, CorruptAnswer):
                return await self._read_up_time(load)
        return None

    async def _read_up_time(self, load: Load) -> TimeTicks | None:
        answer = await self.ask_get([SYS_UP_TIME.content], load)
        bindings = decode_bindings(answer.message.bindings)
        load.varbinds += len(bindings)
        load.bytes_received += len(answer.message.bindings)
        value = bindings[0][1] if len(bindings) == 1 else None
        return value if isinstance(value, TimeTicks) else None

    def refused_value(self, status: int) -> AgentRefused:
        code = "value_forbidden" if status in _FORBIDDEN else "value_refused"
        return AgentRefused(Reason.of(code, olt=self.peer.name, error=error_name(status)), status)

    def refused_walk(self, status: int, column: Oid) -> AgentRefused:
        code = "walk_forbidden" if status in _FORBIDDEN else "walk_refused"
        reason = Reason.of(code, olt=self.peer.name, column=str(column), error=error_name(status))
        return AgentRefused(reason, status)

    def corrupt(self, error: BerError | str) -> CorruptAnswer:
        return CorruptAnswer(Reason.of("broken_message", olt=self.peer.name, why=str(error)))


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
