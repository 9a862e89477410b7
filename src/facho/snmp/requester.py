"""Builds and sends the requests of one conversation with an agent."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from facho.core.reasons import Reason
from facho.snmp.errors import (
    AgentRefused,
    BerError,
    CorruptAnswer,
    NoAnswer,
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
from facho.snmp.peer import Answer, Load, Peer, RequestSettings
from facho.snmp.v3 import Discovery, Stat, UserSecurity, stat_of
from facho.snmp.values import Oid, TimeTicks

# An engine may report another id and then another clock; a third report is a refusal.
_MOST_REPORTS: Final = 3

FORBIDDEN: Final = frozenset({ErrorStatus.authorizationError, ErrorStatus.noAccess})

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

    def ask_get(self, bindings: bytes, load: Load) -> Awaitable[Answer]:
        """Ask for the values of these bindings, as encode_names returns them."""

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

    def record_answer(self, answer: Answer, asked: int, received: int, load: Load, sent: int = 0) -> None:
        load.varbinds += received
        octets = len(answer.message.bindings)
        load.bytes_received += octets
        self.peer.window.answered(
            asked, received, octets, answer.latency, answer.generation, self.settings.timeout, sent
        )

    async def up_time(self, load: Load) -> TimeTicks | None:
        """Return sysUpTime, or None when the agent does not show it. Raises NoAnswer."""
        for _ in range(self.settings.retries + 1):
            with contextlib.suppress(BerError, CorruptAnswer):
                return await self._read_up_time(load)
        return None

    async def _read_up_time(self, load: Load) -> TimeTicks | None:
        answer = await self.ask_get(encode_names((SYS_UP_TIME.content,)), load)
        bindings = decode_bindings(answer.message.bindings)
        load.varbinds += len(bindings)
        load.bytes_received += len(answer.message.bindings)
        value = bindings[0][1] if len(bindings) == 1 else None
        return value if isinstance(value, TimeTicks) else None

    def refused_value(self, status: int) -> AgentRefused:
        code = "value_forbidden" if status in FORBIDDEN else "value_refused"
        return AgentRefused(Reason.of(code, olt=self.peer.name, error=error_name(status)), status)

    def refused_walk(self, status: int, column: Oid) -> AgentRefused:
        code = "walk_forbidden" if status in FORBIDDEN else "walk_refused"
        reason = Reason.of(code, olt=self.peer.name, column=str(column), error=error_name(status))
        return AgentRefused(reason, status)

    def corrupt(self, error: BerError | str) -> CorruptAnswer:
        return CorruptAnswer(Reason.of("broken_message", olt=self.peer.name, why=str(error)))
