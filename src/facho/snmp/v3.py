"""SNMPv3 messages, and what is known of the engine behind an address.

A question travels in a message whose id is the question's request id. What comes back is opened with the keys
of who asked: a message that is not signed as it should be, or that is outside of the engine's time window, is
no answer at all.
"""

from __future__ import annotations

import contextlib
import enum
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from facho.core.reasons import Reason
from facho.snmp import ber, usm
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
    Received,
    Version,
    decode_bindings,
    decode_pdu,
    read_integer,
)

USM: Final = 3
LARGEST_MESSAGE: Final = 65_507
# RFC 3414, 3.2.7: a message older than this is a replay.
TIME_WINDOW_S: Final = 150
# RFC 3411, SnmpEngineID.
_LONGEST_ENGINE_ID: Final = 32

_AUTH: Final = 0x01
_PRIV: Final = 0x02
_REPORTABLE: Final = 0x04


class Stat(enum.Enum):
    """usmStats: why an engine did not process a message, by the OID that its report carries."""

    UNSUPPORTED_LEVEL = 1
    NOT_IN_TIME_WINDOW = 2
    UNKNOWN_USER = 3
    UNKNOWN_ENGINE = 4
    WRONG_DIGEST = 5
    DECRYPTION_ERROR = 6

    @property
    def oid(self) -> bytes:
        return _USM_STATS + bytes((self.value, 0))


_USM_STATS: Final = ber.encode_arcs((43, 6, 1, 6, 3, 15, 1, 1))
_STATS: Final = {stat.oid: stat for stat in Stat}


class Header(NamedTuple):
    """A message as it came, all but the scoped PDU taken apart; `digest_at` is where its signature stands."""

    data: bytes
    message_id: int
    flags: int
    engine_id: bytes
    boots: int
    time: int
    user: bytes
    digest: bytes
    digest_at: int
    salt: bytes
    scoped: bytes

    @property
    def request_id(self) -> int:
        return self.message_id

    @property
    def is_signed(self) -> bool:
        return bool(self.flags & _AUTH)

    @property
    def is_encrypted(self) -> bool:
        return bool(self.flags & _PRIV)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a message says about itself. Sealing it needs the keys."""

    message_id: int
    engine_id: bytes
    boots: int
    time: int
    user: bytes
    reportable: bool = True


def decode_header(data: bytes) -> Header:
    size = len(data)
    start, end = ber.expect_tlv(data, 0, size, ber.SEQUENCE)
    if end != size:
        raise BerError("there are octets after the message")
    version, position = read_integer(data, start, end)
    if version != Version.V3:
        raise BerError(f"SNMP version field {version} is not v3")
    global_start, position = ber.expect_tlv(data, position, end, ber.SEQUENCE)
    message_id, flags = _decode_global(data, global_start, position)
    usm_start, usm_end = ber.expect_tlv(data, position, end, ber.OCTET_STRING)
    engine_id, boots, time, user, digest_at, digest, salt = _decode_parameters(data, usm_start, usm_end)
    tag, scoped_start, scoped_end = ber.read_tlv(data, usm_end, end)
    if scoped_end != end or tag != (ber.OCTET_STRING if flags & _PRIV else ber.SEQUENCE):
        raise BerError("the scoped PDU is not as the message's flags say")
    # A plain one is kept with its header, as it stands in front of an encrypted one's octets too.
    scoped = data[scoped_start:end] if flags & _PRIV else data[usm_end:end]
    return Header(data, message_id, flags, engine_id, boots, time, user, digest, digest_at, salt, scoped)


def _decode_global(data: bytes, position: int, end: int) -> tuple[int, int]:
    message_id, position = read_integer(data, position, end)
    _, position = read_integer(data, position, end)
    flags, position = ber.expect_tlv(data, position, end, ber.OCTET_STRING)
    model, last = read_integer(data, position, end)
    if position - flags != 1 or model != USM or last != end:
        raise BerError("the message's header is not that of the user-based security model")
    return message_id, data[flags]


def _decode_parameters(
    data: bytes, position: int, end: int
) -> tuple[bytes, int, int, bytes, int, bytes, bytes]:
    start, stop = ber.expect_tlv(data, position, end, ber.SEQUENCE)
    if stop != end:
        raise BerError("there are octets after the security parameters")
    engine_start, position = ber.expect_tlv(data, start, end, ber.OCTET_STRING)
    engine_id = data[engine_start:position]
    boots, position = read_integer(data, position, end)
    time, position = read_integer(data, position, end)
    user_start, position = ber.expect_tlv(data, position, end, ber.OCTET_STRING)
    user = data[user_start:position]
    digest_at, position = ber.expect_tlv(data, position, end, ber.OCTET_STRING)
    digest = data[digest_at:position]
    salt_start, position = ber.expect_tlv(data, position, end, ber.OCTET_STRING)
    if position != end or boots < 0 or time < 0:
        raise BerError("the security parameters are not well-formed")
    return engine_id, boots, time, user, digest_at, digest, data[salt_start:position]


def encode_scoped(context_engine: bytes, context: bytes, pdu: bytes) -> bytes:
    return ber.encode_tlv(
        ber.SEQUENCE,
        ber.encode_tlv(ber.OCTET_STRING, context_engine) + ber.encode_tlv(ber.OCTET_STRING, context) + pdu,
    )


def decode_scoped(scoped: bytes) -> Message:
    return decode_pdu(scoped, pdu_position(scoped), Version.V3)


def pdu_position(scoped: bytes) -> int:
    """Where the PDU begins, after the context."""
    start, end = ber.expect_tlv(scoped, 0, len(scoped), ber.SEQUENCE)
    _, position = ber.expect_tlv(scoped, start, end, ber.OCTET_STRING)
    _, position = ber.expect_tlv(scoped, position, end, ber.OCTET_STRING)
    return position


def seal(outgoing: Outgoing, user: usm.User | None, keys: usm.Keys, salt: int, scoped: bytes) -> bytes:
    """The datagram, encrypted and signed as the user's protocols say; without a user neither."""
    auth = user.auth if user else None
    priv = user.priv if user else None
    flags = _REPORTABLE * outgoing.reportable | _AUTH * (auth is not None) | _PRIV * (priv is not None)
    parameters, body = b"", scoped
    if priv is not None:
        parameters, encrypted = usm.encrypt(priv, keys.priv, outgoing.boots, outgoing.time, salt, scoped)
        body = ber.encode_tlv(ber.OCTET_STRING, encrypted)
    blank = bytes(auth.size) if auth else b""
    tail = ber.encode_tlv(ber.OCTET_STRING, parameters)
    security = ber.encode_tlv(
        ber.SEQUENCE,
        ber.encode_tlv(ber.OCTET_STRING, outgoing.engine_id)
        + ber.encode_integer(outgoing.boots)
        + ber.encode_integer(outgoing.time)
        + ber.encode_tlv(ber.OCTET_STRING, outgoing.user)
        + ber.encode_tlv(ber.OCTET_STRING, blank)
        + tail,
    )
    data = ber.encode_tlv(
        ber.SEQUENCE,
        ber.encode_integer(Version.V3)
        + _encode_global(outgoing.message_id, flags)
        + ber.encode_tlv(ber.OCTET_STRING, security)
        + body,
    )
    if auth is None:
        return data
    digest_at = len(data) - len(body) - len(tail) - len(blank)
    return data[:digest_at] + usm.sign(auth, keys.auth, data) + data[digest_at + len(blank) :]


def _encode_global(message_id: int, flags: int) -> bytes:
    return ber.encode_tlv(
        ber.SEQUENCE,
        ber.encode_integer(message_id)
        + ber.encode_integer(LARGEST_MESSAGE)
        + bytes((ber.OCTET_STRING, 1, flags))
        + ber.encode_integer(USM),
    )


def is_signed_by(header: Header, auth: usm.Auth, key: bytes) -> bool:
    if not header.is_signed or len(header.digest) != auth.size:
        return False
    blank = header.data[: header.digest_at] + bytes(auth.size) + header.data[header.digest_at + auth.size :]
    return usm.is_signed(auth, key, blank, header.digest)


def plain_scoped(header: Header, user: usm.User, keys: usm.Keys) -> bytes:
    """The scoped PDU in clear. Raises BerError for what is none: then it was encrypted with another key."""
    if not header.is_encrypted:
        return header.scoped
    if user.priv is None:
        raise BerError("a message is encrypted, and there is no key for it")
    try:
        plain = usm.decrypt(user.priv, keys.priv, header.boots, header.time, header.salt, header.scoped)
    except ValueError as error:
        raise BerError(str(error)) from error
    # DES pads what it encrypts: octets that follow are no part of it.
    return plain[: ber.expect_tlv(plain, 0, len(plain), ber.SEQUENCE)[1]]


class _Clock(NamedTuple):
    """What an engine said of its clock, and when."""

    boots: int
    time: int
    read_at: float


class Engine:
    """What is known of the SNMP engine at one address: its id, and its clock.

    Anybody can send the unsigned report that introduces an engine. What it says is used to ask, for something
    must be; whether an answer is too old is judged by what was signed.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.is_known = False
        self.id = b""
        # What we ask by: signed or, until something signed came, as an unsigned report said.
        self._assumed_clock = _Clock(0, 0, 0.0)
        # The last engine that signed itself, and its clock.
        self._signed_id = b""
        self._signed_clock: _Clock | None = None

    @property
    def boots(self) -> int:
        return self._assumed_clock.boots

    @property
    def time(self) -> int:
        """Seconds since it booted, as far as we know."""
        return self._time_of(self._assumed_clock)

    def _time_of(self, told: _Clock) -> int:
        return told.time + int(self._clock() - told.read_at) if told.read_at else 0

    def discovered(self, header: Header) -> None:
        """Take an engine's unsigned introduction, without forgetting what it signed before."""
        self.id = header.engine_id
        self.is_known = True
        self._assumed_clock = self._clock_in(header)

    def _clock_in(self, header: Header) -> _Clock:
        return _Clock(header.boots, header.time, self._clock())

    def set_clock(self, header: Header) -> None:
        """By a signed message."""
        self.id = self._signed_id = header.engine_id
        self._assumed_clock = self._signed_clock = self._clock_in(header)

    def rediscover(self) -> None:
        """Have it asked anew who it is before the next question. Until it has said so, what we know holds:
        others may be waiting for its answers.
        """
        self.is_known = False

    def may_be(self, engine_id: bytes) -> bool:
        """Whether a message may be this engine's, if it is signed."""
        return engine_id == self.id or (self._signed_clock is not None and engine_id == self._signed_id)

    def accepts(self, header: Header) -> bool:
        """Whether a signed message is this engine's and not too old. Newer ones set our clock of it."""
        if not self.may_be(header.engine_id):
            return False
        signed = self._signed_clock if header.engine_id == self._signed_id else None
        if signed is None:
            # The first that it signs. It answers a question of now, whose id nobody could guess.
            self.set_clock(header)
            return True
        if self._is_recent(header, signed):
            if (header.boots, header.time) > (signed.boots, self._time_of(signed)):
                self.set_clock(header)
            else:
                # Whoever introduced itself meanwhile, this is the engine.
                self.id, self._assumed_clock = self._signed_id, signed
            return True
        # An engine may restart without counting its boots. Then it has introduced itself anew, and what it
        # signs is as it said.
        if (
            header.engine_id == self.id
            and self._assumed_clock != signed
            and self._agrees(header, self._assumed_clock)
        ):
            self.set_clock(header)
            return True
        return False

    def _is_recent(self, header: Header, clock: _Clock) -> bool:
        if header.boots != clock.boots:
            return header.boots > clock.boots
        return header.time >= self._time_of(clock) - TIME_WINDOW_S

    def _agrees(self, header: Header, clock: _Clock) -> bool:
        return header.boots == clock.boots and abs(header.time - self._time_of(clock)) <= TIME_WINDOW_S


class UserSecurity:
    """How one user's questions to one engine are sealed, and their answers opened."""

    version: Final = Version.V3

    def __init__(self, user: usm.User, engine: Engine) -> None:
        self.user = user
        self.engine = engine
        # Never the same twice with one key; a random start keeps it so over restarts.
        self._salt = secrets.randbits(64)
        self._keys_of: tuple[bytes, usm.Keys] | None = None

    @property
    def silence(self) -> Reason:
        cause = Reason.of("went_off")
        if self.user.priv is not None:
            cause = Reason.of("or", first=cause, second=Reason.of("privacy_differs"))
        if self.user.context:
            cause = Reason.of("or", first=cause, second=Reason.of("no_such_context"))
        return cause

    @property
    def is_ready(self) -> bool:
        return self.engine.is_known

    @property
    def keys(self) -> usm.Keys:
        if self._keys_of is None or self._keys_of[0] != self.engine.id:
            self._keys_of = (self.engine.id, usm.localised_keys(self.user, self.engine.id))
        return self._keys_of[1]

    def seal(self, request_id: int, pdu: bytes) -> bytes:
        engine = self.engine
        self._salt += 1
        scoped = encode_scoped(engine.id, self.user.context.encode(), pdu)
        boots, time = (engine.boots, engine.time) if self.user.auth else (0, 0)
        outgoing = Outgoing(request_id, engine.id, boots, time, self.user.name.encode())
        return seal(outgoing, self.user, self.keys, self._salt, scoped)

    def open(self, received: Received) -> Message | None:
        """The answer or report in it; None when it is not to be trusted."""
        if not isinstance(received, Header):
            return None
        if self.user.auth is None:
            return self._open_unsigned(received)
        if not received.is_signed:
            return self._open_unsigned_report(received)
        if not self.engine.may_be(received.engine_id):
            return None
        keys = usm.localised_keys(self.user, received.engine_id)
        if not is_signed_by(received, self.user.auth, keys.auth):
            return None
        message = decode_scoped(plain_scoped(received, self.user, keys))
        is_report = message.pdu_type == PduType.REPORT
        if not is_report and not self._is_answer(message, received):
            return None
        # Only now: our own question, sent back to us, carries a clock that an unsigned report may have set.
        if not self.engine.accepts(received):
            return None
        if is_report and stat_of(message) is Stat.NOT_IN_TIME_WINDOW:
            self.engine.set_clock(received)
        return message

    def _is_answer(self, message: Message, header: Header) -> bool:
        encrypted = header.is_encrypted or self.user.priv is None
        return encrypted and _answers(message, header)

    def _open_unsigned(self, header: Header) -> Message | None:
        message = decode_scoped(header.scoped) if not header.is_encrypted else None
        if message is None or message.pdu_type == PduType.REPORT:
            return message
        return message if _answers(message, header) else None

    def _open_unsigned_report(self, header: Header) -> Message | None:
        """An engine cannot sign for a user it does not know. But a clock is believed only when signed."""
        with contextlib.suppress(BerError):
            message = decode_scoped(header.scoped) if not header.is_encrypted else None
            if message is not None and message.pdu_type == PduType.REPORT:
                return None if stat_of(message) is Stat.NOT_IN_TIME_WINDOW else message
        return None

    def is_unverified(self, received: Received) -> bool:
        """An unsigned report may be anybody's. What else is opened was signed, or is not to be signed."""
        return isinstance(received, Header) and not received.is_signed and _is_report(received)

    def complain(self, message: Message, name: str) -> SecurityError:
        """Return the report as an error. It may be logged, and so it does not name the user."""
        kind, reason = _COMPLAINTS.get(stat_of(message), (SecurityError, "unknown_report"))
        return kind(Reason(reason, (("olt", name),)))


_COMPLAINTS: Final[dict[Stat | None, tuple[type[SecurityError], str]]] = {
    Stat.UNKNOWN_USER: (UnknownUser, "unknown_user"),
    Stat.WRONG_DIGEST: (WrongDigest, "wrong_digest"),
    Stat.DECRYPTION_ERROR: (DecryptionFailed, "decryption_failed"),
    Stat.UNSUPPORTED_LEVEL: (UnsupportedLevel, "unsupported_level"),
    Stat.NOT_IN_TIME_WINDOW: (NotInTimeWindow, "not_in_time_window"),
    Stat.UNKNOWN_ENGINE: (UnknownEngine, "unknown_engine"),
}


class Discovery:
    """The first question to an engine: who are you? Asked without a user, answered with a report.

    Nothing signs that report. What it says of the engine's clock is a first guess, with which the next
    question is asked: an engine that disagrees reports so, signed, and that sets the clock.
    """

    version: Final = Version.V3

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def silence(self) -> Reason:
        return Reason.of("off_or_no_snmpv3")

    def seal(self, request_id: int, pdu: bytes) -> bytes:
        outgoing = Outgoing(request_id, b"", 0, 0, b"")
        return seal(outgoing, None, usm.Keys(b"", b""), 0, encode_scoped(b"", b"", pdu))

    def open(self, received: Received) -> Message | None:
        if not isinstance(received, Header) or received.is_encrypted:
            return None
        if not 1 <= len(received.engine_id) <= _LONGEST_ENGINE_ID:
            return None
        message = decode_scoped(received.scoped)
        if message.pdu_type != PduType.REPORT:
            return None
        self._engine.discovered(received)
        return message

    def is_unverified(self, _received: Received) -> bool:
        """Nobody signs who is asked who it is."""
        return False


def _is_report(header: Header) -> bool:
    """Return whether an unsigned message is a report."""
    return header.scoped[pdu_position(header.scoped)] == PduType.REPORT


def _answers(message: Message, header: Header) -> bool:
    """Our own question, sent back to us, is signed as well as any answer."""
    return message.pdu_type == PduType.RESPONSE and message.request_id == header.message_id


def stat_of(message: Message) -> Stat | None:
    try:
        names = [name for name, _ in decode_bindings(message.bindings)]
    except BerError:
        return None
    return next((_STATS[name] for name in names if name in _STATS), None)
