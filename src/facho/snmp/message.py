"""SNMPv1 and v2c messages: a version, a community, and a PDU around a list of variable bindings."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from facho.core.reasons import Reason
from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.values import Value, decode_value

MAX_REQUEST_ID: Final = 0x7FFF_FFFF
# Far more than any request asks for. One answer must not keep other agents waiting.
MOST_BINDINGS: Final = 1_000


class Version(enum.IntEnum):
    """The version field of a message."""

    V1 = 0
    V2C = 1
    V3 = 3

    @property
    def label(self) -> str:
        return {Version.V1: "1", Version.V2C: "2c", Version.V3: "3"}[self]


class PduType(enum.IntEnum):
    GET = 0xA0
    GETNEXT = 0xA1
    RESPONSE = 0xA2
    SET = 0xA3
    GETBULK = 0xA5
    REPORT = 0xA8


class ErrorStatus(enum.IntEnum):
    """The error-status of an answer; the names are those of RFC 3416."""

    noError = 0
    tooBig = 1
    noSuchName = 2
    badValue = 3
    readOnly = 4
    genErr = 5
    noAccess = 6
    wrongType = 7
    wrongLength = 8
    wrongEncoding = 9
    wrongValue = 10
    noCreation = 11
    inconsistentValue = 12
    resourceUnavailable = 13
    commitFailed = 14
    undoFailed = 15
    authorizationError = 16
    notWritable = 17
    inconsistentName = 18


def error_name(status: int) -> str:
    try:
        return ErrorStatus(status).name
    except ValueError:
        return f"error status {status}"


@dataclass(frozen=True, slots=True)
class Community:
    """Seals requests and opens answers of v1 and v2c. The community is not in its representation."""

    version: Version
    name: bytes = field(repr=False)
    _head: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        head = values.encode_integer(self.version) + values.encode_tlv(values.OCTET_STRING, self.name)
        object.__setattr__(self, "_head", head)

    @property
    def silence(self) -> Reason:
        return Reason.of("off_or_other_community")

    def wrap(self, pdu: bytes) -> bytes:
        return values.encode_tlv(values.SEQUENCE, self._head + pdu)

    def seal(self, _request_id: int, pdu: bytes) -> bytes:
        return self.wrap(pdu)

    def open(self, received: Received) -> Message | None:
        """Return the answer, or None for a message of another version or community.

        By RFC 1157 an agent answers in the community of the request; nothing else identifies it.
        """
        if not isinstance(received, Message) or received.version != self.version:
            return None
        if received.community != self.name:
            return None
        return received if received.pdu_type == PduType.RESPONSE else None

    def is_unverified(self, _received: Received) -> bool:
        return False


class Received(Protocol):
    """A message of any version, decoded as far as possible without keys."""

    @property
    def request_id(self) -> int: ...


class Security(Protocol):
    """Seals requests and opens answers."""

    @property
    def version(self) -> Version: ...

    @property
    def silence(self) -> Reason:
        """Return what silence of the agent can mean."""

    def seal(self, request_id: int, pdu: bytes) -> bytes: ...

    def open(self, received: Received) -> Message | None:
        """Return the answer, or None for other or untrusted messages. Raises BerError for garbage."""

    def is_unverified(self, received: Received) -> bool:
        """Return whether the message may be forged; then the request is sent once more."""


class Message(NamedTuple):
    """A received message with its variable bindings not yet decoded."""

    version: int
    pdu_type: int
    request_id: int
    error_status: int
    error_index: int
    bindings: bytes
    # In SNMPv1 and v2c only.
    community: bytes = b""

    def __repr__(self) -> str:
        """Return a representation without the community, which is a secret."""
        return f"Message(pdu_type={self.pdu_type}, request_id={self.request_id})"


def encode_pdu(pdu_type: int, request_id: int, first: int, second: int, bindings: bytes) -> bytes:
    return values.encode_tlv(
        pdu_type,
        values.encode_integer(request_id)
        + values.encode_integer(first)
        + values.encode_integer(second)
        + values.encode_tlv(values.SEQUENCE, bindings),
    )


def encode_binding(oid: bytes, value: bytes) -> bytes:
    return values.encode_tlv(values.SEQUENCE, values.encode_tlv(values.OBJECT_IDENTIFIER, oid) + value)


def encode_names(oids: Iterable[bytes]) -> bytes:
    """Return the bindings of a request: names with NULL for a value."""
    return b"".join([encode_binding(oid, b"\x05\x00") for oid in oids])


def decode_message(data: bytes) -> Message:
    size = len(data)
    start, end = values.expect_tlv(data, 0, size, values.SEQUENCE)
    if end != size:
        raise BerError("there are octets after the message")
    version, position = read_integer(data, start, end)
    if version not in (Version.V1, Version.V2C):
        raise BerError(f"SNMP version field {version} is not v1 or v2c")
    name, position = values.expect_tlv(data, position, end, values.OCTET_STRING)
    return decode_pdu(data, position, version, data[name:position])


def decode_pdu(data: bytes, position: int, version: int, community: bytes = b"") -> Message:
    """Decode the PDU from `position` to the end."""
    end = len(data)
    pdu_type, position, pdu_end = values.read_tlv(data, position, end)
    if pdu_end != end:
        raise BerError("there are octets after the PDU")
    request_id, position = read_integer(data, position, end)
    status, position = read_integer(data, position, end)
    index, position = read_integer(data, position, end)
    position, list_end = values.expect_tlv(data, position, end, values.SEQUENCE)
    if list_end != end:
        raise BerError("there are octets after the variable bindings")
    return Message(version, pdu_type, request_id, status, index, data[position:], community)


def read_integer(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return (value, end). Written out, because it is called four times for each answer."""
    start = position + 2
    if start > end or data[position] != values.INTEGER:
        raise BerError("an integer is missing")
    length = data[position + 1]
    if length >= 0x80:
        start, stop = values.expect_tlv(data, position, end, values.INTEGER)
    else:
        stop = start + length
    if not start < stop <= min(end, start + 8):
        raise BerError("an integer is empty, cut off or longer than 8 octets")
    return int.from_bytes(data[start:stop], "big", signed=True), stop


def version_of(data: bytes) -> int | None:
    """Return the version field of what may be a message."""
    position = 2 + (data[1] & 0x7F if data[1] >= 0x80 else 0) if len(data) > 1 else 0
    return (
        data[position + 2]
        if data[position : position + 2] == b"\x02\x01" and len(data) > position + 2
        else None
    )


class Head(NamedTuple):
    """The start of a message whose rest may be cut off or corrupt."""

    version: int
    request_id: int
    # Empty in v3.
    community: bytes = b""


def peek_request_id(data: bytes) -> int | None:
    head = peek_head(data)
    return None if head is None else head.request_id


def peek_head(data: bytes) -> Head | None:
    """Read the start of an answer; None when even that cannot be read.

    Lengths that point past the end are taken as they are: the agent answered, and whoever asked is to know
    it.
    """
    try:
        _, start, _ = values.read_tlv(data, 0, _unbounded(data, 0))
        version, position = read_integer(data, start, len(data))
        if version == Version.V3:
            _, position, _ = values.read_tlv(data, position, _unbounded(data, position))
            return Head(version, read_integer(data, position, len(data))[0])
        name, position = values.expect_tlv(data, position, len(data), values.OCTET_STRING)
        community = data[name:position]
        pdu_type, position, _ = values.read_tlv(data, position, _unbounded(data, position))
        if pdu_type != PduType.RESPONSE:
            return None
        return Head(version, read_integer(data, position, len(data))[0], community)
    except BerError:
        return None


def _unbounded(data: bytes, position: int) -> int:
    """An end that no length can pass, while the length octets themselves must be there."""
    if position + 2 > len(data):
        raise BerError("a value is cut off before its length")
    return len(data) + (1 << 32)


def iterate_bindings(bindings: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield (name, tag, content) of each binding. Raises BerError unless the whole list is well-formed."""
    position, size, count = 0, len(bindings), 0
    while position < size:
        start, end = values.expect_tlv(bindings, position, size, values.SEQUENCE)
        name_start, name_end = values.expect_tlv(bindings, start, end, values.OBJECT_IDENTIFIER)
        tag, value_start, value_end = values.read_tlv(bindings, name_end, end)
        if value_end != end:
            raise BerError("there are octets after a value")
        if name_end == name_start:
            raise BerError("an OID is empty")
        count += 1
        if count > MOST_BINDINGS:
            raise BerError(f"there are more than {MOST_BINDINGS} values")
        name = bindings[name_start:name_end]
        values.check_arcs(name)
        yield name, tag, bindings[value_start:value_end]
        position = end


def decode_bindings(bindings: bytes) -> list[tuple[bytes, Value]]:
    return [(name, decode_value(tag, content)) for name, tag, content in iterate_bindings(bindings)]
