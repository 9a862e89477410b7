"""SNMPv3 messages, and the engine behind an address.

The id of a message is the request id of its PDU. Answers are opened with the keys of the user: a message that
is not signed as it should be, or is outside of the time window of the engine, is no answer.
"""

from __future__ import annotations

import contextlib
import enum
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from facho.core.reasons import Reason
from facho.snmp import usm, values
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
    """usmStats: the reasons for which an engine refuses a message, by the OID in its report."""

    UNSUPPORTED_LEVEL = 1
    NOT_IN_TIME_WINDOW = 2
    UNKNOWN_USER = 3
    UNKNOWN_ENGINE = 4
    WRONG_DIGEST = 5
    DECRYPTION_ERROR = 6

    @property
    def oid(self) -> bytes:
        return _USM_STATS + bytes((self.value, 0))


_USM_STATS: Final = values.encode_arcs((43, 6, 1, 6, 3, 15, 1, 1))
_STATS: Final = {stat.oid: stat for stat in Stat}


class Header(NamedTuple):
    """A received message, decoded up to the scoped PDU; `digest_at` is the position of its signature."""

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
    """The header fields of a message to send."""

    message_id: int
    engine_id: bytes
    boots: int
    time: int
    user: bytes
    reportable: bool = True


def decode_header(data: bytes) -> Header:
    size = len(data)
    start, end = values.expect_tlv(data, 0, size, values.SEQUENCE)
    if end != size:
        raise BerError("there are octets after the message")
    version, position = read_integer(data, start, end)
    if version != Version.V3:
        raise BerError(f"SNMP version field {version} is not v3")
    global_start, position = values.expect_tlv(data, position, end, values.SEQUENCE)
    message_id, flags = _decode_global(data, global_start, position)
    usm_start, usm_end = values.expect_tlv(data, position, end, values.OCTET_STRING)
    engine_id, boots, time, user, digest_at, digest, salt = _decode_parameters(data, usm_start, usm_end)
    tag, scoped_start, scoped_end = values.read_tlv(data, usm_end, end)
    if scoped_end != end or tag != (values.OCTET_STRING if flags & _PRIV else values.SEQUENCE):
        raise BerError("the scoped PDU is not as the message's flags say")
    # A plain one is kept with its header, as it stands in front of an encrypted one's octets too.
    scoped = data[scoped_start:end] if flags & _PRIV else data[usm_end:end]
    return Header(data, message_id, flags, engine_id, boots, time, user, digest, digest_at, salt, scoped)


def _decode_global(data: bytes, position: int, end: int) -> tuple[int, int]:
    message_id, position = read_integer(data, position, end)
    _, position = read_integer(data, position, end)
    flags, position = values.expect_tlv(data, position, end, values.OCTET_STRING)
    model, last = read_integer(data, position, end)
    if position - flags != 1 or model != USM or last != end:
        raise BerError("the message's header is not that of the user-based security model")
    return message_id, data[flags]


def _decode_parameters(
    data: bytes, position: int, end: int
) -> tuple[bytes, int, int, bytes, int, bytes, bytes]:
    start, stop = values.expect_tlv(data, position, end, values.SEQUENCE)
    if stop != end:
        raise BerError("there are octets after the security parameters")
    engine_start, position = values.expect_tlv(data, start, end, values.OCTET_STRING)
    engine_id = data[engine_start:position]
    boots, position = read_integer(data, position, end)
    time, position = read_integer(data, position, end)
    user_start, position = values.expect_tlv(data, position, end, values.OCTET_STRING)
    user = data[user_start:position]
    digest_at, position = values.expect_tlv(data, position, end, values.OCTET_STRING)
    digest = data[digest_at:position]
    salt_start, position = values.expect_tlv(data, position, end, values.OCTET_STRING)
    if position != end or boots < 0 or time < 0:
        raise BerError("the security parameters are not well-formed")
    return engine_id, boots, time, user, digest_at, digest, data[salt_start:position]


def encode_scoped(context_engine: bytes, context: bytes, pdu: bytes) -> bytes:
    return values.encode_tlv(
        values.SEQUENCE,
        values.encode_tlv(values.OCTET_STRING, context_engine)
        + values.encode_tlv(values.OCTET_STRING, context)
        + pdu,
    )


def decode_scoped(scoped: bytes) -> Message:
    return decode_pdu(scoped, pdu_position(scoped), Version.V3)


def pdu_position(scoped: bytes) -> int:
    """Return the position of the PDU, after the context."""
    start, end = values.expect_tlv(scoped, 0, len(scoped), values.SEQUENCE)
    _, position = values.expect_tlv(scoped, start, end, values.OCTET_STRING)
    _, position = values.expect_tlv(scoped, position, end, values.OCTET_STRING)
    return position


def seal(outgoing: Outgoing, user: usm.User | None, keys: usm.Keys, salt: int, scoped: bytes) -> bytes:
    """Return the datagram, encrypted and signed by the protocols of the user; without a user neither."""
    auth = user.auth if user else None
    priv = user.priv if user else None
    flags = _REPORTABLE * outgoing.reportable | _AUTH * (auth is not None) | _PRIV * (priv is not None)
    parameters, body = b"", scoped
    if priv is not None:
        parameters, encrypted = usm.encrypt(priv, keys.priv, outgoing.boots, outgoing.time, salt, scoped)
        body = values.encode_tlv(values.OCTET_STRING, encrypted)
    blank = bytes(auth.size) if auth else b""
    tail = values.encode_tlv(values.OCTET_STRING, parameters)
    security = values.encode_tlv(
        values.SEQUENCE,
        values.encode_tlv(values.OCTET_STRING, outgoing.engine_id)
        + values.encode_integer(outgoing.boots)
        + values.encode_integer(outgoing.time)
        + values.encode_tlv(values.OCTET_STRING, outgoing.user)
        + values.encode_tlv(values.OCTET_STRING, blank)
        + tail,
    )
    data = values.encode_tlv(
        values.SEQUENCE,
        values.encode_integer(Version.V3)
        + _encode_global(outgoing.message_id, flags)
        + values.encode_tlv(values.OCTET_STRING, security)
        + body,
    )
    if auth is None:
        return data
    digest_at = len(data) - len(body) - len(tail) - len(blank)
    return data[:digest_at] + usm.sign(auth, keys.auth, data) + data[digest_at + len(blank) :]


def _encode_global(message_id: int, flags: int) -> bytes:
    return values.encode_tlv(
        values.SEQUENCE,
        values.encode_integer(message_id)
        + values.encode_integer(LARGEST_MESSAGE)
        + bytes((values.OCTET_STRING, 1, flags))
        + values.encode_integer(USM),
    )


def is_signed_by(header: Header, auth: usm.Auth, key: bytes) -> bool:
    if not header.is_signed or len(header.digest) != auth.size:
        return False
    blank = header.data[: header.digest_at] + bytes(auth.size) + header.data[header.digest_at + auth.size :]
    return usm.is_signed(auth, key, blank, header.digest)


def plain_scoped(header: Header, user: usm.User, keys: usm.Keys) -> bytes:
    """Return the scoped PDU in clear. Raises BerError when it was encrypted with another key."""
    if not header.is_encrypted:
        return header.scoped
    if user.priv is None:
        raise BerError("a message is encrypted, and there is no key for it")
    try:
        plain = usm.decrypt(user.priv, keys.priv, header.boots, header.time, header.salt, header.scoped)
    except ValueError as error:
        raise BerError(str(error)) from error
    # DES pads what it encrypts: octets that follow are no part of it.
    return plain[: values.expect_tlv(plain, 0, len(plain), values.SEQUENCE)[1]]


class _Clock(NamedTuple):
    """A reading of the clock of an engine, and when it came."""

    boots: int
    time: int
    read_at: float


class Engine:
    """The SNMP engine at one address: its id, and its clock.

    The unsigned report that introduces an engine can be forged. It is used for requests, because there is
    nothing else yet; whether an answer is too old is judged by signed messages only.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.is_known = False
        self.id = b""
        # For requests: signed, or from an unsigned report until a signed message came.
        self._assumed_clock = _Clock(0, 0, 0.0)
        # The last engine that signed itself, and its clock.
        self._signed_id = b""
        self._signed_clock: _Clock | None = None

    @property
    def boots(self) -> int:
        return self._assumed_clock.boots

    @property
    def time(self) -> int:
        """Return the seconds since it booted, by our clock of it."""
        return self._time_of(self._assumed_clock)

    def _time_of(self, clock: _Clock) -> int:
        return clock.time + int(self._clock() - clock.read_at) if clock.read_at else 0

    def discovered(self, header: Header) -> None:
        """Take the unsigned introduction of an engine; what it signed before is kept."""
        self.id = header.engine_id
        self.is_known = True
        self._assumed_clock = self._clock_in(header)

    def _clock_in(self, header: Header) -> _Clock:
        return _Clock(header.boots, header.time, self._clock())

    def set_clock(self, header: Header) -> None:
        """Set our clock of the engine by a signed message."""
        self.id = self._signed_id = header.engine_id
        self._assumed_clock = self._signed_clock = self._clock_in(header)

    def rediscover(self) -> None:
        """Discover the engine again before the next request; answers under way are still accepted."""
        self.is_known = False

    def may_be(self, engine_id: bytes) -> bool:
        """Return whether a message may be from this engine, if it is signed."""
        return engine_id == self.id or (self._signed_clock is not None and engine_id == self._signed_id)

    def accepts(self, header: Header) -> bool:
        """Return whether a signed message is from this engine and not too old. Newer ones set its clock."""
        if not self.may_be(header.engine_id):
            return False
        signed = self._signed_clock if header.engine_id == self._signed_id else None
        if signed is None:
            # The first signed message. It answers a current request, whose id could not be guessed.
            self.set_clock(header)
            return True
        if self._is_recent(header, signed):
            if (header.boots, header.time) > (signed.boots, self._time_of(signed)):
                self.set_clock(header)
            else:
                # A signed message is more certain than any introduction since.
                self.id, self._assumed_clock = self._signed_id, signed
            return True
        # An engine may restart without counting its boots. Then it has introduced itself again, and signs by
        # the clock of that introduction.
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
    """Seals the requests of one user to one engine, and opens the answers."""

    version: Final = Version.V3

    def __init__(self, user: usm.User, engine: Engine) -> None:
        self.user = user
        self.engine = engine
        # A salt must not be used twice with one key, also after a restart of ours: it starts at random.
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
        """Return the answer or report, or None when it is not to be trusted."""
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
        # After the check above: our own request, sent back to us, has a clock that may be forged.
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
        """Return an unsigned report, or None for one about the clock, which must be signed."""
        with contextlib.suppress(BerError):
            message = decode_scoped(header.scoped) if not header.is_encrypted else None
            if message is not None and message.pdu_type == PduType.REPORT:
                return None if stat_of(message) is Stat.NOT_IN_TIME_WINDOW else message
        return None

    def is_unverified(self, received: Received) -> bool:
        """Return whether it is an unsigned report, which can be forged."""
        return isinstance(received, Header) and not received.is_signed and _is_report(received)

    def complain(self, message: Message, name: str) -> SecurityError:
        """Return the report as an error. It does not name the user, because it may be logged."""
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
    """The first request to an engine, without a user, which it answers with a report that has its id.

    That report is not signed. Its clock is a first guess for the next request: an engine with another clock
    reports so, signed, and that sets the clock.
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
        """Return False: discovery is never signed, so asking again would not help."""
        return False


def _is_report(header: Header) -> bool:
    """Return whether an unsigned message is a report."""
    return header.scoped[pdu_position(header.scoped)] == PduType.REPORT


def _answers(message: Message, header: Header) -> bool:
    """Return whether it is an answer; our own request, sent back to us, is signed as well."""
    return message.pdu_type == PduType.RESPONSE and message.request_id == header.message_id


def stat_of(message: Message) -> Stat | None:
    try:
        names = [name for name, _ in decode_bindings(message.bindings)]
    except BerError:
        return None
    return next((_STATS[name] for name in names if name in _STATS), None)
