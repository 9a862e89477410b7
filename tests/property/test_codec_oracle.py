"""Our messages mean to others what they mean to us: pysnmp and pyasn1 are the second opinion, both ways."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyasn1.codec.ber import decoder, encoder
from pyasn1.type import univ
from pysnmp.proto.api import v1, v2c

from facho.snmp import values
from facho.snmp.message import (
    MAX_REQUEST_ID,
    Community,
    PduType,
    Version,
    decode_bindings,
    decode_message,
    encode_binding,
    encode_pdu,
    peek_request_id,
)
from facho.snmp.values import (
    OPAQUE,
    Counter32,
    Counter64,
    Gauge32,
    Missing,
    Oid,
    OpaqueDouble,
    OpaqueFloat,
    TimeTicks,
    Unknown,
    Value,
    decode_value,
    encode_value,
)
from tests.hypothesis_runs import often

bits32 = st.integers(0, 2**32 - 1) | st.sampled_from([0, 127, 128, 255, 256, 2**31 - 1, 2**31, 2**32 - 1])
bits64 = st.integers(0, 2**64 - 1) | st.sampled_from([2**32, 2**63 - 1, 2**63, 2**64 - 1])
signed32 = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), -129, -128, -1, 0, 128, 2**31 - 1])
octets = st.binary(max_size=40) | st.sampled_from([127, 128, 255, 256, 65_535]).map(bytes)
beginnings = st.sampled_from([(0, 0), (0, 39), (1, 3), (1, 39), (2, 0), (2, 47), (2, 48), (2, 2**32 - 81)])
sub_identifiers = st.lists(st.integers(0, 2**32 - 1), max_size=5) | st.sampled_from(
    [[127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 2**28 - 1, 2**28, 2**32 - 1], [2**32 - 1] * 126]
)
arcs = st.builds(lambda beginning, rest: (*beginning, *rest), beginnings, sub_identifiers)
oids = arcs.map(Oid.of)

values_of_v1: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    signed32,
    octets,
    oids,
    bits32.map(IPv4Address),
    bits32.map(Counter32),
    bits32.map(Gauge32),
    bits32.map(TimeTicks),
    st.floats(width=32, allow_nan=False).map(OpaqueFloat),
    st.floats(allow_nan=False).map(OpaqueDouble),
    st.binary(max_size=9).map(lambda content: Unknown(OPAQUE, content)),
)
values_of_v2c = values_of_v1 | bits64.map(Counter64) | st.sampled_from(Missing)


@dataclass(frozen=True)
class Sent:
    """A message as both sides are to understand it. GETBULK has its two numbers where the others have an
    error.
    """

    version: Version
    community: bytes
    pdu: PduType
    request_id: int
    first: int
    second: int
    bindings: list[tuple[Oid, Value]]


@st.composite
def messages(draw: st.DrawFn) -> Sent:
    old = draw(st.booleans())
    pdus = [PduType.GET, PduType.GETNEXT, PduType.RESPONSE, PduType.SET]
    return Sent(
        version=Version.V1 if old else Version.V2C,
        community=draw(st.binary(max_size=20) | st.just(b"c" * 130)),
        pdu=draw(st.sampled_from(pdus if old else [*pdus, PduType.GETBULK])),
        request_id=draw(st.integers(0, MAX_REQUEST_ID)),
        first=draw(st.integers(0, 5 if old else 18)),
        second=draw(st.integers(0, 300) | st.just(2**31 - 1)),
        bindings=draw(st.lists(st.tuples(oids, values_of_v1 if old else values_of_v2c), max_size=4)),
    )


def our_datagram(sent: Sent) -> bytes:
    bindings = b"".join(encode_binding(oid.content, encode_value(value)) for oid, value in sent.bindings)
    pdu = encode_pdu(sent.pdu, sent.request_id, sent.first, sent.second, bindings)
    return Community(sent.version, sent.community).wrap(pdu)


V1_PDUS = {
    PduType.GET: v1.GetRequestPDU,
    PduType.GETNEXT: v1.GetNextRequestPDU,
    PduType.RESPONSE: v1.GetResponsePDU,
    PduType.SET: v1.SetRequestPDU,
}
V2C_PDUS = {
    PduType.GET: v2c.GetRequestPDU,
    PduType.GETNEXT: v2c.GetNextRequestPDU,
    PduType.RESPONSE: v2c.ResponsePDU,
    PduType.SET: v2c.SetRequestPDU,
    PduType.GETBULK: v2c.GetBulkRequestPDU,
}
V1_TYPES = {
    int: v1.Integer,
    bytes: v1.OctetString,
    Oid: v1.ObjectIdentifier,
    IPv4Address: v1.IpAddress,
    Counter32: v1.Counter,
    Gauge32: v1.Gauge,
    TimeTicks: v1.TimeTicks,
    Unknown: v1.Opaque,
    OpaqueFloat: v1.Opaque,
    OpaqueDouble: v1.Opaque,
    type(None): v1.Null,
}
V2C_TYPES = {
    int: v2c.Integer32,
    bytes: v2c.OctetString,
    Oid: v2c.ObjectIdentifier,
    IPv4Address: v2c.IpAddress,
    Counter32: v2c.Counter32,
    Gauge32: v2c.Gauge32,
    TimeTicks: v2c.TimeTicks,
    Counter64: v2c.Counter64,
    Unknown: v2c.Opaque,
    OpaqueFloat: v2c.Opaque,
    OpaqueDouble: v2c.Opaque,
    type(None): v2c.Null,
}
MARKERS = {
    Missing.NO_SUCH_OBJECT: v2c.NoSuchObject,
    Missing.NO_SUCH_INSTANCE: v2c.NoSuchInstance,
    Missing.END_OF_MIB_VIEW: v2c.EndOfMibView,
}


def plain(value: Value) -> Any:
    """What pysnmp's types are made from."""
    match value:
        case None | Missing():
            return ""
        case Oid():
            return value.arcs
        case IPv4Address():
            return str(value)
        case OpaqueFloat():
            return b"\x9f\x78\x04" + struct.pack(">f", value)
        case OpaqueDouble():
            return b"\x9f\x79\x08" + struct.pack(">d", value)
        case Unknown():
            return value.content
        case bytes():
            return value
        case _:
            return int(value)


def their_value(version: Version, value: Value) -> Any:
    if isinstance(value, Missing):
        return MARKERS[value]("")
    return (V1_TYPES if version == Version.V1 else V2C_TYPES)[type(value)](plain(value))


def their_datagram(sent: Sent) -> bytes:
    api, pdus = (v1, V1_PDUS) if sent.version == Version.V1 else (v2c, V2C_PDUS)
    pdu = pdus[sent.pdu]()
    pdu.setComponentByPosition(0, sent.request_id)
    pdu.setComponentByPosition(1, sent.first)
    pdu.setComponentByPosition(2, sent.second)
    bindings = [(oid.arcs, their_value(sent.version, value)) for oid, value in sent.bindings]
    api.apiPDU.set_varbinds(pdu, bindings)
    message = api.Message()
    api.apiMessage.set_defaults(message)
    api.apiMessage.set_community(message, sent.community)
    api.apiMessage.set_pdu(message, pdu)
    octets: bytes = encoder.encode(message)
    return octets


def assert_they_understand(data: bytes, sent: Sent) -> None:
    api, pdus = (v1, V1_PDUS) if sent.version == Version.V1 else (v2c, V2C_PDUS)
    message, rest = decoder.decode(data, asn1Spec=api.Message())
    assert rest == b""
    assert api.apiMessage.get_version(message) == sent.version
    assert bytes(api.apiMessage.get_community(message)) == sent.community
    pdu = api.apiMessage.get_pdu(message)
    assert pdu.tagSet == pdus[sent.pdu].tagSet
    assert [int(pdu[position]) for position in range(3)] == [sent.request_id, sent.first, sent.second]
    found = [(tuple(name), value.tagSet, value) for name, value in api.apiPDU.get_varbinds(pdu)]
    meant = [(oid.arcs, their_value(sent.version, value)) for oid, value in sent.bindings]
    assert found == [(arcs, value.tagSet, value) for arcs, value in meant]


def exactly(value: Value) -> tuple[type, Value]:
    """Tells Counter32(1) from 1."""
    return type(value), value


@given(messages())
@often(1_000)
def test_pysnmp_understands_what_we_send(sent: Sent) -> None:
    assert_they_understand(our_datagram(sent), sent)


@given(messages())
@often(1_000)
def test_we_understand_what_pysnmp_sends(sent: Sent) -> None:
    data = their_datagram(sent)
    message = decode_message(data)
    assert message[:5] == (sent.version, sent.pdu, sent.request_id, sent.first, sent.second)
    assert [(name, exactly(value)) for name, value in decode_bindings(message.bindings)] == [
        (oid.content, exactly(value)) for oid, value in sent.bindings
    ]
    assert peek_request_id(data) == (sent.request_id if sent.pdu == PduType.RESPONSE else None)


@given(st.integers(-(2**63), 2**63 - 1) | signed32)
@often(1_000)
def test_integers_are_those_of_pyasn1(number: int) -> None:
    encoded, theirs = encode_value(number), encoder.encode(univ.Integer(number))
    assert decoder.decode(encoded) == (number, b"")
    # pyasn1 writes -128 and its like with an octet more than is needed.
    assert theirs in (encoded, bytes((2, len(encoded) - 1, 0xFF)) + encoded[2:])


@given(arcs)
@often(1_000)
def test_oids_are_those_of_pyasn1(arcs: tuple[int, ...]) -> None:
    encoded = encode_value(Oid.of(arcs))
    assert encoded == encoder.encode(univ.ObjectIdentifier(arcs))
    assert tuple(decoder.decode(encoded)[0]) == arcs


@given(values_of_v2c)
@often(2_000)
def test_a_value_survives_the_wire(value: Value) -> None:
    encoded = encode_value(value)
    tag, start, end = values.read_tlv(encoded, 0, len(encoded))
    assert end == len(encoded)
    assert exactly(decode_value(tag, encoded[start:end])) == exactly(value)


@given(st.integers(0, 255), st.binary(max_size=14))
@often(2_000)
def test_any_value_that_came_can_be_sent_on(tag: int, content: bytes) -> None:
    """A broken value too; only the octets may become fewer, where the agent wrote a number too long."""
    value = decode_value(tag, content)
    encoded = encode_value(value)
    again = decode_value(encoded[0], encoded[2:])
    assert (type(again), repr(again)) == (type(value), repr(value))


@given(arcs)
@often(1_000)
def test_an_oid_is_written_as_it_was_read(arcs: tuple[int, ...]) -> None:
    text = ".".join(map(str, arcs))
    oid = Oid.parse(text)
    assert str(oid) == text
    assert oid.arcs == arcs
    assert Oid.parse(f".{text}") == oid == Oid.of(arcs)


@given(st.lists(arcs, min_size=2, max_size=5))
@often(500)
def test_oids_sort_as_their_numbers_do(numbers: list[tuple[int, ...]]) -> None:
    numbers += [arcs[:-1] for arcs in numbers if len(arcs) > 2]
    assert [oid.arcs for oid in sorted(map(Oid.of, numbers))] == sorted(numbers)
