"""Damaged SNMPv3 datagrams: refused in order and quickly by both sides, and no damaged one that was signed is
believed.

FUZZ_CASES says how many datagrams each test damages. What fails names the seed that makes it again.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import cast

import pytest

from facho.sim.security import CommunitySecurity, ReportDue, UnknownCommunity
from facho.sim.usm import SIMULATED_USERS, EngineSecurity
from facho.snmp import usm, v3
from facho.snmp.errors import BerError
from facho.snmp.message import (
    Message,
    PduType,
    Version,
    decode_bindings,
    encode_binding,
    encode_pdu,
    peek_request_id,
    version_of,
)
from facho.snmp.peer import Load, Peer, RequestSettings
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.usm import User
from facho.snmp.v3 import Discovery, Engine, Outgoing, Stat, UserSecurity
from facho.snmp.values import Counter32, Oid, encode_value
from tests.property.damage import damaged, random_damages
from tests.property.loop_time import run_in_time

CASES = int(os.environ.get("FUZZ_CASES", "16000"))
PARTS = 4
SEEDS = range(1, PARTS + 1)

ENGINE_ID = bytes.fromhex("80001f8804") + b"olt-7"
BOOTS, TIME, ID = 5, 1000, 0x1234_5678
ROWS = b"".join(
    encode_binding(Oid.parse("1.3.6.1.2.1.2.2.1.10").child(n).content, encode_value(Counter32(n << 24)))
    for n in range(8)
)
WHO = [
    SIMULATED_USERS[name]
    for name in ("noauth", "md5", "sha-512", "sha-des", "sha-256-aes", "md5-aes-256", "sha-224-aes-192-c")
]


def answer_of(user: User | None, pdu: bytes, message_id: int = ID) -> bytes:
    keys = usm.localised_keys(user, ENGINE_ID) if user else usm.Keys(b"", b"")
    name = user.name.encode() if user else b""
    outgoing = Outgoing(message_id, ENGINE_ID, BOOTS, TIME, name, reportable=False)
    return v3.seal(outgoing, user, keys, 1, v3.encode_scoped(ENGINE_ID, b"", pdu))


def response(request_id: int = ID) -> bytes:
    return encode_pdu(PduType.RESPONSE, request_id, 0, 0, ROWS)


def report(stat: Stat) -> bytes:
    return encode_pdu(PduType.REPORT, 0, 0, 0, encode_binding(stat.oid, encode_value(Counter32(1))))


def answers_to(user: User) -> list[bytes]:
    """What an engine may send to this user: most of it is what was asked for."""
    reports = [answer_of(who, report(stat)) for stat in Stat for who in (None, user)]
    return [answer_of(user, response())] * len(reports) + reports


def security_of(user: User) -> UserSecurity:
    engine = Engine(lambda: 50.0)
    engine.discovered(v3.decode_header(answer_of(None, report(Stat.UNKNOWN_ENGINE))))
    return UserSecurity(user, engine)


def damaged_ones(seed: int, originals: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """None of them is what it was before."""
    chance = random.Random(seed)
    for case in range(-(-CASES // PARTS)):
        original = originals[int(chance.random() * len(originals))]
        data = damaged(original, random_damages(chance))
        if data not in originals:
            yield case, data


def say_how_to_repeat(seed: int, case: int, data: bytes) -> str:
    return f"seed {seed}, case {case} (FUZZ_CASES={CASES}): {data.hex()}"


def opened(security: UserSecurity, data: bytes) -> Message | None:
    peek_request_id(data)
    version_of(data)
    with suppress(BerError):
        return security.open(v3.decode_header(data))
    return None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("user", WHO, ids=lambda user: user.name)
def test_a_damaged_answer_is_refused_in_order_and_never_believed(user: User, seed: int) -> None:
    security = security_of(user)
    # One in so many, for there are so many users.
    for case, data in list(damaged_ones(seed, answers_to(user)))[:: len(WHO)]:
        try:
            message = run_in_time(partial(opened, security, data))
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise
        repeat = say_how_to_repeat(seed, case, data)
        if message is not None and user.auth is not None:
            # Only a report may be unsigned, and it changes nothing that we know of the engine.
            assert message.pdu_type == PduType.REPORT, repeat
            assert v3.stat_of(message) is not Stat.NOT_IN_TIME_WINDOW, repeat
        engine = security.engine
        assert (engine.id, engine.boots, engine.time) == (ENGINE_ID, BOOTS, TIME), repeat


@pytest.mark.parametrize("user", WHO, ids=lambda user: user.name)
def test_the_undamaged_answer_is_believed(user: User) -> None:
    message = opened(security_of(user), answer_of(user, response()))
    assert message == Message(Version.V3, PduType.RESPONSE, ID, 0, 0, ROWS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_damaged_introduction_is_refused_or_taken_as_it_reads(seed: int) -> None:
    for case, data in damaged_ones(seed, [answer_of(None, report(Stat.UNKNOWN_ENGINE))]):
        engine = Engine(lambda: 50.0)
        who = Discovery(engine)
        try:
            with suppress(BerError):
                message = who.open(v3.decode_header(data))
                assert (message is None) == (engine.id == b"")
            # Whatever it says, the next question can be written.
            UserSecurity(SIMULATED_USERS["md5-des"], engine).seal(ID, response())
            who.seal(ID, response())
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise


def simulated_engine() -> EngineSecurity:
    return EngineSecurity(CommunitySecurity("public"), "olt-7", SIMULATED_USERS.values(), lambda: float(TIME))


def questions_to(engine: EngineSecurity) -> list[bytes]:
    ours = Engine(lambda: 50.0)
    asked = answer_of(None, report(Stat.UNKNOWN_ENGINE))
    ours.discovered(v3.decode_header(asked)._replace(engine_id=engine.engine_id, boots=1))
    pdu = encode_pdu(PduType.GETBULK, ID, 0, 50, ROWS)
    return [Discovery(ours).seal(ID, pdu), *(UserSecurity(user, ours).seal(ID, pdu) for user in WHO)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_simulated_engine_refuses_a_damaged_question_in_order(seed: int) -> None:
    engine = simulated_engine()
    for case, data in damaged_ones(seed, questions_to(engine)):
        try:
            read = engine.open(data)
        except (BerError, UnknownCommunity):
            continue
        except ReportDue as due:
            v3.decode_header(due.datagram)
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise
        else:
            signed = read.asked is not None and read.asked.is_signed
            assert not signed, say_how_to_repeat(seed, case, data)


def test_a_simulated_engine_opens_the_undamaged_questions() -> None:
    engine = simulated_engine()
    introduction, *questions = questions_to(engine)
    with pytest.raises(ReportDue):
        engine.open(introduction)
    for question in questions:
        read = engine.open(question)
        assert read.data[read.start : read.end] == encode_pdu(PduType.GETBULK, ID, 0, 50, ROWS)


class SilentEndpoint:
    """Takes what is sent and sends it nowhere."""

    def send(self, data: bytes, address: SocketAddress) -> None:
        pass


class Question:
    """A question to a peer that stays open until something answers it."""

    def __init__(self, peer: Peer, user: User) -> None:
        self.request_id = 0
        settings = RequestSettings(timeout=3600.0, retries=0, tag=0x7FFF, guard=None)
        security = UserSecurity(user, peer.engine)
        self.task = asyncio.ensure_future(peer.ask(security, self._build, settings, Load()))

    def _build(self, request_id: int, _attempt: int) -> bytes:
        self.request_id = request_id
        return b""

    @property
    def is_over(self) -> bool:
        """No damaged message answers it or ends it before its time is over; a report does."""
        if not self.task.done():
            return False
        assert self.task.result().message.pdu_type == PduType.REPORT
        return True


async def bombard_peer(user: User, seed: int) -> bytes:
    peer = Peer(("192.0.2.1", 161), cast(Endpoint, SilentEndpoint()), asyncio.get_running_loop())
    peer.engine.discovered(v3.decode_header(answer_of(None, report(Stat.UNKNOWN_ENGINE))))
    chance = random.Random(seed)
    question = Question(peer, user)
    for case in range(CASES // PARTS // 2):
        await asyncio.sleep(0)
        if question.is_over:
            question = Question(peer, user)
            await asyncio.sleep(0)
        pdu = response(question.request_id) if case % 4 else report(Stat.WRONG_DIGEST)
        original = answer_of(user, pdu, question.request_id)
        data = damaged(original, random_damages(chance))
        try:
            run_in_time(partial(peer.received, data if data != original else b""))
        except Exception as error:
            error.add_note(say_how_to_repeat(seed, case, data))
            raise
    await asyncio.sleep(0)
    question = Question(peer, user) if question.is_over else question
    await asyncio.sleep(0)
    peer.received(answer_of(user, response(question.request_id), question.request_id))
    return (await question.task).message.bindings


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["sha-256", "sha-256-aes"])
def test_an_engine_that_sends_rubbish_stops_nothing_and_is_heard_when_it_recovers(
    name: str, seed: int
) -> None:
    bindings = asyncio.run(bombard_peer(SIMULATED_USERS[name], seed))
    assert len(decode_bindings(bindings)) == 8
