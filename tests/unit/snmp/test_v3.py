"""SNMPv3 messages: what is written can be read, and only what the engine signed now is an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from facho.snmp import usm, v3, values
from facho.snmp.errors import (
    BerError,
    DecryptionFailed,
    NotInTimeWindow,
    SecurityError,
    UnknownEngine,
    UnknownUser,
    UnsupportedLevel,
    WrongDigest,
)
from facho.snmp.message import (
    Message,
    PduType,
    Version,
    decode_bindings,
    encode_binding,
    encode_names,
    encode_pdu,
)
from facho.snmp.pacing import Learned, Limits
from facho.snmp.peer import Load, Peer, RequestSettings
from facho.snmp.requester import Requester
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.usm import Auth, Priv, User
from facho.snmp.v3 import Discovery, Engine, Header, Outgoing, Stat, UserSecurity
from facho.snmp.values import Counter32, Oid, TimeTicks, encode_value
from tests.waiting import PATIENCE_S

ENGINE_ID = bytes.fromhex("80001f8804") + b"olt-7"
NAME = Oid.parse("1.3.6.1.2.1.1.3.0").content
ROW = encode_binding(NAME, encode_value(TimeTicks(4711)))
ID = 0x1234_5678
BOOTS, TIME = 5, 1000

GUEST = User("guest")
SIGNER = User("signer", Auth.SHA256, "the signing secret")
HIDER = User("hider", Auth.SHA1, "the signing secret", Priv.AES128, "the hiding secret")
DES_HIDER = replace(HIDER, priv=Priv.DES)
USERS = [GUEST, SIGNER, HIDER, DES_HIDER]
NOBODY = usm.Keys(b"", b"")


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


class Conversation:
    """A user who knows the engine since `clock`, and the engine's side of it."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.clock = Clock()
        self.engine = Engine(self.clock)
        self.security = UserSecurity(user, self.engine)
        self.engine.discovered(v3.decode_header(self.says(report(Stat.UNKNOWN_ENGINE), user=None)))
        if user.auth is not None:
            # It has answered before, and signed.
            self.opens(self.says(response()))

    def says(
        self,
        pdu: bytes,
        *,
        boots: int = BOOTS,
        time: int = TIME,
        engine_id: bytes = ENGINE_ID,
        user: User | None = GUEST,
        message_id: int = ID,
    ) -> bytes:
        """A datagram of the engine, sealed for this user unless for another one or for none."""
        signer = self.user if user is GUEST else user
        outgoing = Outgoing(message_id, engine_id, boots, time, self.user.name.encode(), reportable=False)
        keys = usm.localised_keys(signer, engine_id) if signer else NOBODY
        return v3.seal(outgoing, signer, keys, 77, v3.encode_scoped(engine_id, b"", pdu))

    def opens(self, datagram: bytes) -> Message | None:
        return self.security.open(v3.decode_header(datagram))


def response(request_id: int = ID) -> bytes:
    return encode_pdu(PduType.RESPONSE, request_id, 0, 0, ROW)


def report(stat: Stat) -> bytes:
    return encode_pdu(PduType.REPORT, 0, 0, 0, encode_binding(stat.oid, encode_value(Counter32(1))))


def asked_by(user: User) -> str:
    levels = (user.auth.label if user.auth else "nothing", user.priv.label if user.priv else "")
    return " ".join(filter(None, levels))


@pytest.fixture(params=USERS, ids=asked_by)
def user(request: pytest.FixtureRequest) -> User:
    assert isinstance(request.param, User)
    return request.param


@pytest.fixture(params=[SIGNER, HIDER, DES_HIDER], ids=asked_by)
def signer(request: pytest.FixtureRequest) -> User:
    assert isinstance(request.param, User)
    return request.param


# Headers


def test_a_question_says_who_asks_whom_and_when(user: User) -> None:
    there = Conversation(user)
    there.clock.now += 10
    header = v3.decode_header(there.security.seal(ID, response()))
    signed = user.auth is not None
    assert (header.message_id, header.request_id) == (ID, ID)
    assert (header.engine_id, header.user) == (ENGINE_ID, user.name.encode())
    assert (header.boots, header.time) == ((BOOTS, TIME + 10) if signed else (0, 0))
    assert (header.is_signed, header.is_encrypted) == (signed, user.priv is not None)
    assert header.flags & 0x04
    assert len(header.digest) == (user.auth.size if user.auth else 0)
    assert len(header.salt) == (8 if user.priv else 0)


def test_a_sealed_message_is_opened_to_the_octet_with_the_keys_of_its_user(user: User) -> None:
    keys = usm.localised_keys(user, ENGINE_ID)
    scoped = v3.encode_scoped(ENGINE_ID, b"vrf-7", response())
    outgoing = Outgoing(ID, ENGINE_ID, 2**31 - 1, 2**31 - 1, user.name.encode())
    header = v3.decode_header(v3.seal(outgoing, user, keys, 2**64 - 1, scoped))
    assert v3.plain_scoped(header, user, keys) == scoped
    assert v3.decode_scoped(scoped) == Message(Version.V3, PduType.RESPONSE, ID, 0, 0, ROW)
    assert (header.scoped == scoped) == (user.priv is None)
    if user.auth is not None:
        assert v3.is_signed_by(header, user.auth, keys.auth)
        assert not v3.is_signed_by(header, user.auth, keys.auth + b"x")
        others = [auth for auth in Auth if auth is not user.auth]
        assert not any(v3.is_signed_by(header, auth, keys.auth) for auth in others)


@pytest.mark.parametrize("size", [0, 1, 40, 90, 100, 110, 200, 300, 70_000])
@pytest.mark.parametrize("auth", Auth, ids=lambda auth: auth.label)
def test_the_signature_stands_in_its_place_however_long_the_rest_is(auth: Auth, size: int) -> None:
    """Lengths of one, two and three octets move it."""
    who = User("signer", auth, "the signing secret")
    keys = usm.localised_keys(who, ENGINE_ID)
    scoped = v3.encode_scoped(ENGINE_ID, b"", encode_pdu(PduType.RESPONSE, ID, 0, 0, bytes(size)))
    data = v3.seal(Outgoing(ID, ENGINE_ID, 1, 1, b"n" * (size % 32)), who, keys, 1, scoped)
    header = v3.decode_header(data)
    assert data[header.digest_at : header.digest_at + auth.size] == header.digest != bytes(auth.size)
    assert v3.is_signed_by(header, auth, keys.auth)


def test_the_context_of_the_user_is_asked_for() -> None:
    there = Conversation(replace(GUEST, context="vrf-7"))
    scoped = v3.decode_header(there.security.seal(ID, response())).scoped
    assert scoped == v3.encode_scoped(ENGINE_ID, b"vrf-7", response())


def test_no_two_messages_are_hidden_alike() -> None:
    there = Conversation(HIDER)
    headers = [v3.decode_header(there.security.seal(ID, response())) for _ in range(50)]
    assert len({header.salt for header in headers}) == len({header.scoped for header in headers}) == 50


def test_what_was_hidden_with_another_key_is_no_message() -> None:
    there = Conversation(HIDER)
    header = v3.decode_header(there.says(response()))
    other = usm.localised_keys(replace(HIDER, priv_password="another secret"), ENGINE_ID)
    with pytest.raises(BerError):
        v3.plain_scoped(header, HIDER, other)
    with pytest.raises(BerError, match="there is no key for it"):
        v3.plain_scoped(header, SIGNER, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\x02\x01\x03\x30", b"\x02\x01\x01\x30"),  # the version
        (b"\x04\x01\x00\x02\x01\x03", b"\x04\x01\x00\x02\x01\x04"),  # the security model
        (b"\x04\x01\x00\x02\x01\x03", b"\x04\x01\x02\x02\x01\x03"),  # says that it is encrypted
        (b"\x02\x01\x05\x02\x02\x03\xe8", b"\x02\x01\xfb\x02\x02\x03\xe8"),  # boots
        (b"\x02\x01\x05\x02\x02\x03\xe8", b"\x02\x01\x05\x02\x02\xfc\x18"),  # time
    ],
)
def test_a_header_that_cannot_be_is_refused(old: bytes, new: bytes) -> None:
    datagram = Conversation(GUEST).says(response())
    assert datagram.count(old) == 1
    with pytest.raises(BerError):
        v3.decode_header(datagram.replace(old, new))
    with pytest.raises(BerError):
        v3.decode_header(datagram + b"\x00")


# Answers


def test_an_answer_is_opened(user: User) -> None:
    message = Conversation(user).opens(Conversation(user).says(response()))
    assert message == Message(Version.V3, PduType.RESPONSE, ID, 0, 0, ROW)


Forgery = Callable[[Conversation], bytes]
OTHER_ID = ENGINE_ID[:-1] + b"8"


def another_name(there: Conversation) -> bytes:
    """Signed with the right key, and yet it says that another engine did."""
    outgoing = Outgoing(ID, OTHER_ID, BOOTS, TIME, there.user.name.encode(), reportable=False)
    return v3.seal(outgoing, there.user, there.security.keys, 78, v3.encode_scoped(OTHER_ID, b"", response()))


FORGERIES: dict[str, Forgery] = {
    "under another engine's name": another_name,
    "another key": lambda there: there.says(
        response(), user=replace(there.user, auth_password="another secret")
    ),
    "not signed": lambda there: there.says(response(), user=None),
    "older than the window": lambda there: there.says(response(), time=TIME - 151),
    "of an earlier life": lambda there: there.says(response(), boots=BOOTS - 1, time=TIME + 9999),
    "of another engine": lambda there: there.says(response(), engine_id=OTHER_ID),
    "another request's": lambda there: there.says(response(ID + 1)),
    "our own question": lambda there: there.security.seal(ID, encode_pdu(PduType.GET, ID, 0, 0, ROW)),
    "an unsigned clock": lambda there: there.says(
        report(Stat.NOT_IN_TIME_WINDOW), user=None, boots=BOOTS + 1
    ),
    "an old signed report": lambda there: there.says(report(Stat.NOT_IN_TIME_WINDOW), time=TIME - 151),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_the_engine_did_not_sign_now_is_no_answer(signer: User, name: str) -> None:
    there = Conversation(signer)
    assert there.opens(FORGERIES[name](there)) is None
    assert (there.engine.id, there.engine.boots, there.engine.time) == (ENGINE_ID, BOOTS, TIME)
    assert there.opens(there.says(response())) is not None


def test_no_bit_of_an_answer_can_be_changed(signer: User) -> None:
    there = Conversation(signer)
    datagram = there.says(response())
    for bit in range(8 * len(datagram)):
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << (bit % 8)
        try:
            assert there.opens(bytes(changed)) is None, f"bit {bit} of {datagram.hex()}"
        except BerError:
            continue


def test_an_answer_in_clear_to_a_hidden_question_is_refused() -> None:
    there = Conversation(HIDER)
    assert there.opens(there.says(response(), user=replace(HIDER, priv=None))) is None


def test_an_answer_of_another_version_is_refused(user: User) -> None:
    there = Conversation(user)
    assert there.security.open(Message(Version.V2C, PduType.RESPONSE, ID, 0, 0, ROW)) is None


@pytest.mark.parametrize(
    "pdu", [response(ID + 1), encode_pdu(PduType.GET, ID, 0, 0, ROW)], ids=["other id", "a question"]
)
def test_who_does_not_sign_takes_answers_to_the_question_only(pdu: bytes) -> None:
    there = Conversation(GUEST)
    assert there.opens(there.says(pdu)) is None
    assert there.opens(there.says(response())) is not None


# The engine's clock


def test_the_engines_time_goes_on_as_ours_does() -> None:
    there = Conversation(SIGNER)
    assert there.engine.time == TIME
    there.clock.now += 3600.5
    assert there.engine.time == TIME + 3600
    assert v3.decode_header(there.security.seal(ID, response())).time == TIME + 3600


def test_an_answer_may_be_as_old_as_the_window(signer: User) -> None:
    there = Conversation(signer)
    there.clock.now += 300
    assert there.opens(there.says(response(), time=TIME + 149)) is None
    assert there.opens(there.says(response(), time=TIME + 150)) is not None
    assert there.engine.time == TIME + 300


@pytest.mark.parametrize(("boots", "time"), [(BOOTS, TIME + 1), (BOOTS, TIME + 9999), (BOOTS + 1, 3)])
def test_a_newer_answer_sets_our_clock_of_the_engine(signer: User, boots: int, time: int) -> None:
    there = Conversation(signer)
    old = there.says(response())
    assert there.opens(there.says(response(), boots=boots, time=time)) is not None
    there.clock.now += 7
    assert (there.engine.boots, there.engine.time) == (boots, time + 7)
    # What was an answer before is a replay now.
    assert (there.opens(old) is None) == (boots > BOOTS or time > TIME + 150)


def test_a_signed_report_about_the_clock_sets_it(signer: User) -> None:
    there = Conversation(signer)
    # Signed, and not encrypted: so engines send it.
    datagram = there.says(report(Stat.NOT_IN_TIME_WINDOW), boots=9, time=1, user=replace(signer, priv=None))
    message = there.opens(datagram)
    assert message is not None
    assert v3.stat_of(message) is Stat.NOT_IN_TIME_WINDOW
    assert (there.engine.boots, there.engine.time) == (9, 1)


def test_a_question_can_be_written_to_an_engine_that_is_not_known(user: User) -> None:
    header = v3.decode_header(UserSecurity(user, Engine(Clock())).seal(ID, response()))
    assert (header.engine_id, header.user) == (b"", user.name.encode())


def test_an_engine_in_doubt_is_asked_who_it_is_and_heard_meanwhile(signer: User) -> None:
    there = Conversation(signer)
    there.engine.rediscover()
    assert not there.security.is_ready
    assert there.opens(there.says(response())) is not None
    # Only a discovery can put its clock back.
    assert there.opens(there.says(response(), time=1)) is None
    Discovery(there.engine).open(v3.decode_header(there.says(report(Stat.UNKNOWN_ENGINE), time=1, user=None)))
    assert there.engine.time == 1
    assert there.opens(there.says(response(), time=1)) is not None


def test_keys_follow_the_engine_when_it_becomes_another_one(signer: User) -> None:
    there = Conversation(signer)
    before = there.security.keys
    there.engine.discovered(
        v3.decode_header(there.says(report(Stat.UNKNOWN_ENGINE), engine_id=OTHER_ID, user=None))
    )
    assert there.security.keys == usm.localised_keys(signer, OTHER_ID) != before


# Discovery


def discovery() -> tuple[Discovery, Engine, Conversation]:
    engine = Engine(Clock())
    return Discovery(engine), engine, Conversation(SIGNER)


def test_an_engine_is_asked_who_it_is_without_a_user() -> None:
    asked = v3.decode_header(discovery()[0].seal(ID, encode_pdu(PduType.GET, ID, 0, 0, b"")))
    assert (asked.message_id, asked.engine_id, asked.user) == (ID, b"", b"")
    assert (asked.boots, asked.time, asked.flags) == (0, 0, 0x04)


def test_the_report_that_answers_it_says_id_and_clock() -> None:
    who, engine, there = discovery()
    header = v3.decode_header(there.says(report(Stat.UNKNOWN_ENGINE), user=None))
    assert who.open(header) is not None
    assert (engine.id, engine.boots, engine.time) == (ENGINE_ID, BOOTS, TIME)


def test_nothing_else_answers_it() -> None:
    who, engine, there = discovery()
    for datagram in (
        there.says(response(), user=None),
        there.says(report(Stat.UNKNOWN_ENGINE), user=HIDER),
        there.says(report(Stat.UNKNOWN_ENGINE), user=None, engine_id=b""),
    ):
        assert who.open(v3.decode_header(datagram)) is None
    assert who.open(Message(Version.V2C, PduType.RESPONSE, ID, 0, 0, ROW)) is None
    assert engine.id == b""


# Reports

COMPLAINTS = {
    Stat.UNKNOWN_USER: (UnknownUser, "does not know this SNMPv3 user: check its name"),
    Stat.WRONG_DIGEST: (WrongDigest, "check the authentication password and protocol"),
    Stat.DECRYPTION_ERROR: (DecryptionFailed, "check the privacy password and protocol"),
    Stat.UNSUPPORTED_LEVEL: (UnsupportedLevel, "does not offer this security level to this SNMPv3 user"),
    Stat.NOT_IN_TIME_WINDOW: (NotInTimeWindow, "keeps rejecting requests as outside its SNMPv3 time window"),
    Stat.UNKNOWN_ENGINE: (UnknownEngine, "keeps reporting a different SNMPv3 engine ID"),
}


@pytest.mark.parametrize("stat", Stat)
def test_each_report_has_its_error_and_its_sentence(stat: Stat) -> None:
    kind, sentence = COMPLAINTS[stat]
    message = v3.decode_scoped(v3.encode_scoped(b"", b"", report(stat)))
    error = Conversation(HIDER).security.complain(message, "olt-7:161")
    assert type(error) is kind
    assert str(error).startswith("olt-7:161 ")
    assert sentence in str(error)
    # Errors are logged and shown, and a user name is nobody else's business.
    assert HIDER.name not in str(error)


@pytest.mark.parametrize("bindings", [b"", ROW, b"\x30\x05rubbi"], ids=["none", "another", "rubbish"])
def test_a_report_that_says_nothing_is_an_error_too(bindings: bytes) -> None:
    message = Message(Version.V3, PduType.REPORT, 0, 0, 0, bindings)
    error = Conversation(HIDER).security.complain(message, "olt-7:161")
    assert type(error) is SecurityError
    assert str(error) == "olt-7:161 sent a report that SNMPv3 does not define"


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (SIGNER, "it was switched off or became unreachable"),
        (HIDER, "unreachable, or the privacy password or protocol is not what it expects"),
        (replace(SIGNER, context="vrf-7"), "unreachable, or it does not have this context"),
    ],
)
def test_silence_is_explained_by_what_engines_are_silent_about(who: User, said: str) -> None:
    assert str(Conversation(who).security.silence).endswith(said)
    assert "vrf-7" not in str(Conversation(who).security.silence)


# Conversations


class ScriptedEngine:
    """Answers every question at once, as the test wants."""

    def __init__(self, user: User, answer: Callable[[Header], bytes]) -> None:
        self.questions: list[Header] = []
        self._answer = answer
        loop = asyncio.get_running_loop()
        self.peer = Peer(("192.0.2.1", 161), cast(Endpoint, self), loop)
        self.peer.window.configure(Limits(), Learned())
        security = UserSecurity(user, self.peer.engine)
        self.requester = Requester(self.peer, RequestSettings(3600.0, 0, 0, None), security, bulk=True)

    def send(self, data: bytes, _address: SocketAddress) -> None:
        header = v3.decode_header(data)
        self.questions.append(header)
        asyncio.get_running_loop().call_soon(self.peer.received, self._answer(header))

    async def ask(self) -> list[object]:
        # What is expected comes at once; without it the test would wait for the time-out of the question.
        answer = await asyncio.wait_for(self.requester.ask_get(encode_names((NAME,)), Load()), PATIENCE_S)
        return [value for _, value in decode_bindings(answer.message.bindings)]


def scripted(
    user: User, answer: Callable[[Conversation, Header], bytes]
) -> tuple[list[object], list[Header]]:
    """What came of one question, or the error; and every message that it took."""

    async def run() -> tuple[list[object], list[Header]]:
        there = Conversation(user)
        engine = ScriptedEngine(user, lambda asked: answer(there, asked))
        try:
            came = await engine.ask()
        except SecurityError as error:
            came = [error]
        assert engine.peer.pending == 0
        return came, engine.questions

    return asyncio.run(run())


def introduces_itself(there: Conversation, asked: Header, engine_id: bytes = ENGINE_ID) -> bytes:
    return there.says(
        report(Stat.UNKNOWN_ENGINE), user=None, engine_id=engine_id, message_id=asked.message_id
    )


def test_the_first_question_is_who_the_engine_is(user: User) -> None:
    def answer(there: Conversation, asked: Header) -> bytes:
        if not asked.engine_id:
            return introduces_itself(there, asked)
        return there.says(response(asked.message_id), message_id=asked.message_id)

    came, questions = scripted(user, answer)
    assert came == [TimeTicks(4711)]
    assert [question.engine_id for question in questions] == [b"", ENGINE_ID]


@pytest.mark.parametrize("stat", Stat)
def test_an_engine_that_keeps_reporting_is_not_asked_for_ever(signer: User, stat: Stat) -> None:
    def answer(there: Conversation, asked: Header) -> bytes:
        if not asked.engine_id:
            return introduces_itself(there, asked)
        signed = replace(signer, priv=None) if stat is Stat.NOT_IN_TIME_WINDOW else None
        return there.says(report(stat), user=signed, message_id=asked.message_id)

    (error,), questions = scripted(signer, answer)
    assert type(error) is COMPLAINTS[stat][0]
    # An unsigned report is believed when it comes to a second question too.
    assert len(questions) <= 9
    hopeless = stat not in (Stat.UNKNOWN_ENGINE, Stat.NOT_IN_TIME_WINDOW)
    assert (len(questions) == 3) == hopeless


def test_a_clock_that_was_wrong_is_set_and_the_question_asked_again(signer: User) -> None:
    def answer(there: Conversation, asked: Header) -> bytes:
        if not asked.engine_id:
            return introduces_itself(there, asked)
        if asked.boots != 9:
            return there.says(
                report(Stat.NOT_IN_TIME_WINDOW),
                boots=9,
                time=1,
                user=replace(signer, priv=None),
                message_id=asked.message_id,
            )
        return there.says(response(asked.message_id), boots=9, time=1, message_id=asked.message_id)

    came, questions = scripted(signer, answer)
    assert came == [TimeTicks(4711)]
    assert [question.boots for question in questions] == [0, BOOTS, 9]


def test_another_engine_at_the_address_is_discovered_anew(signer: User) -> None:
    """The first one is gone after it has said who it is."""
    met: list[bytes] = []

    def answer(there: Conversation, asked: Header) -> bytes:
        if not asked.engine_id:
            met.append(OTHER_ID if met else ENGINE_ID)
            return introduces_itself(there, asked, met[-1])
        if asked.engine_id != OTHER_ID:
            return introduces_itself(there, asked, OTHER_ID)
        return there.says(response(asked.message_id), engine_id=OTHER_ID, message_id=asked.message_id)

    came, questions = scripted(signer, answer)
    assert came == [TimeTicks(4711)]
    assert [question.engine_id for question in questions] == [
        b"",
        ENGINE_ID,
        ENGINE_ID,
        b"",
        OTHER_ID,
    ]


FORGED_CLOCKS = [(2**31 - 1, 2**31 - 1), (BOOTS + 1, 0), (BOOTS, TIME + 100_000), (0, 0)]


@pytest.mark.parametrize(("boots", "time"), FORGED_CLOCKS)
def test_an_unsigned_introduction_does_not_make_us_refuse_the_engine(
    signer: User, boots: int, time: int
) -> None:
    there = Conversation(signer)
    for engine_id in (ENGINE_ID, OTHER_ID):
        forged = there.says(
            report(Stat.UNKNOWN_ENGINE), user=None, boots=boots, time=time, engine_id=engine_id
        )
        assert Discovery(there.engine).open(v3.decode_header(forged)) is not None
        assert there.opens(there.says(response())) is not None
        assert (there.engine.id, there.engine.boots, there.engine.time) == (ENGINE_ID, BOOTS, TIME)
        # And what was too old before is too old still.
        assert there.opens(there.says(response(), time=TIME - 151)) is None


@pytest.mark.parametrize(("boots", "time"), FORGED_CLOCKS)
def test_our_own_question_sent_back_after_a_forged_introduction_sets_no_clock(
    signer: User, boots: int, time: int
) -> None:
    """It is signed, with the clock that the introduction claimed."""
    there = Conversation(signer)
    forged = there.says(report(Stat.UNKNOWN_ENGINE), user=None, boots=boots, time=time)
    assert Discovery(there.engine).open(v3.decode_header(forged)) is not None
    assert there.opens(there.security.seal(ID, encode_pdu(PduType.GET, ID, 0, 0, ROW))) is None
    assert there.opens(there.says(response())) is not None
    assert (there.engine.id, there.engine.boots, there.engine.time) == (ENGINE_ID, BOOTS, TIME)


@pytest.mark.parametrize(("boots", "time"), FORGED_CLOCKS)
def test_a_forged_introduction_before_the_first_answer_costs_a_question(
    signer: User, boots: int, time: int
) -> None:
    def answer(there: Conversation, asked: Header) -> bytes:
        if not asked.engine_id:
            return there.says(
                report(Stat.UNKNOWN_ENGINE), user=None, boots=boots, time=time, message_id=asked.message_id
            )
        if asked.boots != BOOTS or abs(asked.time - TIME) > 150:
            signed = replace(signer, priv=None)
            return there.says(report(Stat.NOT_IN_TIME_WINDOW), user=signed, message_id=asked.message_id)
        return there.says(response(asked.message_id), message_id=asked.message_id)

    came, questions = scripted(signer, answer)
    assert came == [TimeTicks(4711)]
    assert len(questions) == 3


@pytest.mark.parametrize("stat", Stat)
def test_a_forged_report_does_not_keep_the_answer_from_being_heard(user: User, stat: Stat) -> None:
    """The engine's own answer to the same question comes after it."""

    async def run() -> None:
        there = Conversation(user)

        def answer(asked: Header) -> bytes:
            if not asked.engine_id:
                return introduces_itself(there, asked)
            forged = there.says(report(stat), user=None, message_id=asked.message_id, engine_id=OTHER_ID)
            loop = asyncio.get_running_loop()
            for _ in range(3):
                loop.call_soon(engine.peer.received, forged)
            return there.says(response(asked.message_id), message_id=asked.message_id)

        engine = ScriptedEngine(user, answer)
        assert await engine.ask() == [TimeTicks(4711)]
        assert len(engine.questions) <= 3

    asyncio.run(run())


def test_an_engine_id_is_not_longer_than_the_standard_says() -> None:
    who, engine, there = discovery()
    header = v3.decode_header(there.says(report(Stat.UNKNOWN_ENGINE), user=None, engine_id=b"x" * 33))
    assert who.open(header) is None
    assert engine.id == b""


def test_the_reports_of_usm_have_the_names_of_the_standard() -> None:
    assert {Oid(stat.oid): stat for stat in Stat} == {
        Oid.parse(f"1.3.6.1.6.3.15.1.1.{stat.value}.0"): stat for stat in Stat
    }
    assert values.decode_arcs(Stat.UNKNOWN_USER.oid)[-2:] == (3, 0)


@pytest.mark.parametrize(("boots", "time"), FORGED_CLOCKS)
def test_a_forged_introduction_lets_nothing_old_be_played_again(signer: User, boots: int, time: int) -> None:
    """What was signed long ago is no answer, though somebody said that the clock was set back."""
    there = Conversation(signer)
    forged = there.says(report(Stat.UNKNOWN_ENGINE), user=None, boots=boots, time=time)
    assert Discovery(there.engine).open(v3.decode_header(forged)) is not None
    assert there.opens(there.says(response(), time=TIME - 151)) is None
    assert there.opens(there.says(response(), boots=BOOTS - 1)) is None
    assert there.opens(there.says(response())) is not None


@pytest.mark.parametrize("stat", [Stat.UNKNOWN_USER, Stat.WRONG_DIGEST])
def test_a_second_forged_report_to_the_first_question_confirms_nothing(signer: User, stat: Stat) -> None:
    """Who forges does not know the id of the second question, and goes on about the first one."""

    async def run() -> None:
        there = Conversation(signer)

        def answer(asked: Header) -> bytes:
            if not asked.engine_id:
                return introduces_itself(there, asked)
            first = engine.questions[1].message_id
            forged = there.says(report(stat), user=None, message_id=first, engine_id=OTHER_ID)
            if asked.message_id != first:
                honest = there.says(response(asked.message_id), message_id=asked.message_id)
                asyncio.get_running_loop().call_later(0.02, engine.peer.received, honest)
            return forged

        engine = ScriptedEngine(signer, answer)
        assert await engine.ask() == [TimeTicks(4711)]
        assert len(engine.questions) == 3

    asyncio.run(run())
