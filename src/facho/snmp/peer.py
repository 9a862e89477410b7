"""One agent as the transport sees it: requests in flight, and matching answers to them.

All sessions with one address share one Peer, so that its limits hold for all of them. A request that is sent
again gets a new id each time, and an answer to any of its ids counts: a slow first answer is not lost.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from facho.core.reasons import Param, Reason, text_reason
from facho.snmp.errors import BerError, ClientClosed, CorruptAnswer, NoAnswer, TooMuch
from facho.snmp.message import (
    Community,
    Message,
    Received,
    Security,
    Version,
    decode_message,
    peek_head,
    version_of,
)
from facho.snmp.pacing import Decide, RequestWindow, decide
from facho.snmp.transport import Endpoint, SocketAddress, address_name
from facho.snmp.v3 import Engine, decode_header

# An attacker who cannot see our requests must guess their ids to answer in an agent's place. And a late
# answer must not be taken for the answer to another request.
# The numbers are those of 16 bits.
COUNT: Final = 1 << 16
_ROUNDS: Final = 4
_HALF: Final = 8
_LOW: Final = 0xFF


class RequestNumbers:
    """All numbers of 16 bits in random order, then again in the same order.

    The order is that of a Feistel cipher over a counter, with random tables for its rounds.
    """

    def __init__(self) -> None:
        random = secrets.token_bytes(_ROUNDS * (_LOW + 1) + 2)
        self._tables = [random[at * (_LOW + 1) : (at + 1) * (_LOW + 1)] for at in range(_ROUNDS)]
        self._counter = int.from_bytes(random[-2:], "big")

    def next(self) -> int:
        self._counter = (self._counter + 1) % COUNT
        left, right = self._counter >> _HALF, self._counter & _LOW
        for table in self._tables:
            left, right = right, left ^ table[right]
        return left << _HALF | right


# The limits are far above what the largest OLTs have (some 33,000 ONUs, and about 30 MB of answers when all
# is asked at once). Adding one page to a column of this many rows takes less than 10 ms, also when the
# dictionary of its rows grows.
MOST_ROWS: Final = 150_000
MOST_OCTETS: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class ReceiveLimit:
    """The most rows of one column and octets of all answers; shared by the conversations of an execution."""

    rows: int = MOST_ROWS
    octets: int = MOST_OCTETS
    received: int = 0

    @property
    def is_exceeded(self) -> bool:
        return self.received > self.octets


# A request id has 31 bits: an execution's tag in the upper 15, a random number in the lower 16.
TAG_SHIFT: Final = 16
MAX_TAG: Final = 0x7FFF

_SEND_ERRORS: Final = {
    errno.ENETUNREACH: Reason.of("network_unreachable"),
    errno.EHOSTUNREACH: Reason.of("no_route"),
    errno.EACCES: Reason.of("permission_denied"),
}


@dataclass(slots=True)
class Load:
    """The load that one operation put on the agent."""

    requests: int = 0
    timeouts: int = 0
    varbinds: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Dropped:
    """Counts of dropped messages: late, repeated, not asked for, not decodable, or not trusted.

    Untrusted ones are not signed as they should be, or replayed.
    """

    late: int = 0
    duplicate: int = 0
    stray: int = 0
    malformed: int = 0
    untrusted: int = 0


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """Settings with which the requests of one conversation are sent."""

    timeout: float
    retries: int
    tag: int
    guard: Callable[[], None] | None
    receive_limit: ReceiveLimit = field(default_factory=ReceiveLimit)

    def check(self) -> None:
        if self.guard is not None:
            try:
                self.guard()
            except BaseException as error:
                raise Stopped(error) from error


class Stopped(Exception):
    """Wraps an error of the guard, so that it is not taken for an error of the agent or for the deadline."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a group of questions; that of the guard comes first."""
    return next((error for error in errors.exceptions if isinstance(error, Stopped)), errors.exceptions[0])


class Answer(NamedTuple):
    message: Message
    attempt: int
    latency: float
    generation: int
    # It may have been forged.
    unverified: bool = False


class _Sent(NamedTuple):
    question: _Question
    attempt: int
    at: float
    generation: int
    # An unverified answer came already; further ones are dropped.
    had_unverified: bool = False


class _Question:
    """A question under way, with the request ids under which it was sent."""

    __slots__ = ("answer", "broken", "ids", "late", "security")

    def __init__(self, security: Security, loop: asyncio.AbstractEventLoop) -> None:
        self.security = security
        self.ids: list[int] = []
        self.answer: asyncio.Future[Answer | None] = loop.create_future()
        # An answer that came after the time-out, before its task ran.
        self.late: Answer | None = None
        # Raised when no better answer comes in time.
        self.broken: CorruptAnswer | None = None

    def expire(self) -> None:
        if not self.answer.done():
            self.answer.set_result(None)


class Peer:
    """The agent at one address."""

    def __init__(
        self,
        address: SocketAddress,
        endpoint: Endpoint,
        loop: asyncio.AbstractEventLoop,
        decide: Decide = decide,
    ) -> None:
        self.address = address
        self.window = RequestWindow(loop, decide, self._oldest)
        self.dropped = Dropped()
        self.answered_from: SocketAddress | None = None
        self.other_community = False
        self._endpoint = endpoint
        self._loop = loop
        self._numbers = RequestNumbers()
        self._sent: dict[int, _Sent] = {}
        self._answered: deque[int] = deque(maxlen=64)
        self._expired: deque[int] = deque(maxlen=64)
        self._closed = False

    @property
    def name(self) -> str:
        return address_name(self.address)

    @cached_property
    def engine(self) -> Engine:
        """The SNMPv3 engine at the address."""
        return Engine(self._loop.time)

    @property
    def pending(self) -> int:
        return len(self._sent)

    def _oldest(self) -> float:
        """Return the age in seconds of the oldest unanswered request."""
        now = self._loop.time()
        return max((now - sent.at for sent in self._sent.values()), default=0.0)

    @property
    def was_answered(self) -> bool:
        return bool(self._answered)

    def is_waiting_for(self, request_id: int) -> bool:
        return request_id in self._sent

    def close(self) -> None:
        self._closed = True
        for sent in self._sent.values():
            if not sent.question.answer.done():
                sent.question.answer.set_exception(ClientClosed("the SNMP client was closed"))

    async def ask(
        self, security: Security, build: Callable[[int, int], bytes], settings: RequestSettings, load: Load
    ) -> Answer:
        """Send `build(request id, attempt)` up to 1 + retries times and return the answer.

        Raises NoAnswer after the last of them, CorruptAnswer for an answer that cannot be decoded (in v3 not
        before the time is over, for only an answer that can be decoded shows who sent it), and TooMuch when
        the agent has sent more than it may.
        """
        question = _Question(security, self._loop)
        unverified: Answer | None = None
        attempt = 0
        try:
            while attempt <= settings.retries:
                # Entered for each attempt, because the window may have shrunk. An answer that comes while
                # waiting for it counts.
                await self.window.enter()
                try:
                    answer = await self._attempt(question, build, attempt, settings, load)
                finally:
                    self.window.leave()
                if answer is not None:
                    settings.receive_limit.received += len(answer.message.bindings)
                if answer is not None and (unverified is not None or not answer.unverified):
                    self._check_received(settings.receive_limit)
                    return answer
                question.answer = self._loop.create_future()
                if answer is None and question.broken is not None and unverified is None:
                    raise question.broken
                if answer is None:
                    attempt += 1
                else:
                    # Ask once more: the answer to the first request still counts, and a forger of this
                    # message does not know the id of the second one.
                    unverified = answer
            if unverified is not None:
                return unverified
            raise NoAnswer(self._silence_reason(settings, security))
        finally:
            for request_id in question.ids:
                if self._sent.pop(request_id, None) is not None:
                    self._expired.append(request_id)

    async def _attempt(
        self,
        question: _Question,
        build: Callable[[int, int], bytes],
        attempt: int,
        settings: RequestSettings,
        load: Load,
    ) -> Answer | None:
        await self.window.wait_for_turn()
        if question.answer.done():
            return question.answer.result()
        generation = self._send(question, build, attempt, settings, load)
        timer = self._loop.call_later(settings.timeout, question.expire)
        try:
            answer = await question.answer
        finally:
            timer.cancel()
        if answer is None and question.late is None:
            load.timeouts += 1
            self.window.timed_out(generation, settings.timeout)
        return (
            question.late if answer is None or (answer.unverified and question.late is not None) else answer
        )

    def _send(
        self,
        question: _Question,
        build: Callable[[int, int], bytes],
        attempt: int,
        settings: RequestSettings,
        load: Load,
    ) -> int:
        """Send one request and return the generation of the settings at that time."""
        settings.check()
        self._check_received(settings.receive_limit)
        if self._closed:
            raise ClientClosed("the SNMP client was closed")
        request_id = self._new_id(settings.tag)
        data = build(request_id, attempt)
        question.ids.append(request_id)
        self._sent[request_id] = _Sent(question, attempt, self._loop.time(), self.window.generation)
        load.requests += 1
        load.bytes_sent += len(data)
        try:
            self._endpoint.send(data, self.address)
        except OSError as error:
            why = _SEND_ERRORS.get(error.errno or 0) or text_reason(error.strerror or str(error))
            raise NoAnswer(Reason.of("cannot_send", olt=self.name, why=why)) from error
        return self.window.generation

    def _check_received(self, receive_limit: ReceiveLimit) -> None:
        if receive_limit.is_exceeded:
            raise TooMuch(Reason.of("too_many_octets", olt=self.name, most=receive_limit.octets))

    def _new_id(self, tag: int) -> int:
        while True:
            request_id = tag << TAG_SHIFT | self._numbers.next()
            # 0 is what broken agents answer with; a number still in use would mix two answers.
            if request_id and request_id not in self._sent:
                return request_id

    def _silence_reason(self, settings: RequestSettings, security: Security) -> Reason:
        sent = settings.retries + 1
        asked: dict[str, Param] = {"olt": self.name, "sent": sent, "seconds": sent * settings.timeout}
        if self.answered_from is not None:
            return Reason.of("answer_from_elsewhere", **asked, other=address_name(self.answered_from))
        why = Reason.of("answers_in_other_community") if self.other_community else security.silence
        return Reason.of("no_answer", **asked, why=why)

    def received(self, data: bytes) -> None:
        try:
            received = decode_header(data) if version_of(data) == Version.V3 else decode_message(data)
            request_id = received.request_id
            sent = self._sent.get(request_id)
            message = sent.question.security.open(received) if sent else None
        except BerError as error:
            self._received_corrupt(data, error)
            return
        if sent is None or message is None:
            self._count_dropped(request_id)
            self._note_community(sent, received)
            return
        unverified = sent.question.security.is_unverified(received)
        if unverified and sent.had_unverified:
            self.dropped.untrusted += 1
            return
        if unverified:
            self._sent[request_id] = sent._replace(had_unverified=True)
        else:
            del self._sent[request_id]
            self._answered.append(request_id)
            # The agent knows the community, so a later silence has another cause.
            self.other_community = False
        answer = Answer(message, sent.attempt, self._loop.time() - sent.at, sent.generation, unverified)
        if sent.question.answer.done():
            if not unverified:
                sent.question.late = answer
        else:
            sent.question.answer.set_result(answer)

    def _received_corrupt(self, data: bytes, error: BerError) -> None:
        self.dropped.malformed += 1
        head = peek_head(data)
        sent = self._sent.get(head.request_id) if head is not None else None
        if head is None or sent is None or sent.question.answer.done():
            return
        question, security = sent.question, sent.question.security
        broken = CorruptAnswer(Reason.of("broken_message", olt=self.name, why=str(error)))
        if not isinstance(security, Community):
            # Its signature cannot be checked, so it may have been forged.
            question.broken = broken
        elif (head.version, head.community) == (security.version, security.name):
            question.answer.set_exception(broken)

    def _note_community(self, sent: _Sent | None, received: Received) -> None:
        """Note an answer in another community, as a hint for the error message."""
        security = sent.question.security if sent is not None else None
        if isinstance(security, Community) and isinstance(received, Message):
            self.other_community |= received.community != security.name

    def _count_dropped(self, request_id: int) -> None:
        if request_id in self._sent:
            self.dropped.untrusted += 1
        elif request_id in self._expired:
            self.dropped.late += 1
        elif request_id in self._answered:
            self.dropped.duplicate += 1
        else:
            self.dropped.stray += 1
