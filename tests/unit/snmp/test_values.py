"""What an agent's values become, and which OIDs people may write."""

from ipaddress import IPv4Address

import pytest

from facho.snmp.errors import BadOid
from facho.snmp.values import (
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
    type_name,
)

ENCODED: list[tuple[str, Value, str]] = [
    ("0201ff", -1, "INTEGER"),
    ("04026869", b"hi", "OCTET STRING"),
    ("0400", b"", "OCTET STRING"),
    ("0500", None, "NULL"),
    ("06032b0601", Oid.parse("1.3.6.1"), "OBJECT IDENTIFIER"),
    ("4004c0000201", IPv4Address("192.0.2.1"), "IpAddress"),
    ("410500ffffffff", Counter32(2**32 - 1), "Counter32"),
    ("420107", Gauge32(7), "Gauge32"),
    ("43020100", TimeTicks(256), "TimeTicks"),
    ("460900ffffffffffffffff", Counter64(2**64 - 1), "Counter64"),
    ("44079f7804c1ac0000", OpaqueFloat(-21.5), "Opaque float"),
    ("440b9f7908c035800000000000", OpaqueDouble(-21.5), "Opaque double"),
    ("4402beef", Unknown(0x44, b"\xbe\xef"), "Opaque"),
    ("8000", Missing.NO_SUCH_OBJECT, "noSuchObject"),
    ("8100", Missing.NO_SUCH_INSTANCE, "noSuchInstance"),
    ("8200", Missing.END_OF_MIB_VIEW, "endOfMibView"),
]


@pytest.mark.parametrize(("octets", "value", "name"), ENCODED, ids=[name for _, _, name in ENCODED])
def test_each_type_of_value_has_its_octets_and_its_name(octets: str, value: Value, name: str) -> None:
    data = bytes.fromhex(octets)
    decoded = decode_value(data[0], data[2:])
    assert (type(decoded), decoded) == (type(value), value)
    assert encode_value(value) == data
    assert type_name(value) == name


def test_the_forgotten_uinteger32_is_a_gauge() -> None:
    value = decode_value(0x47, b"\x07")
    assert (type(value), value) == (Gauge32, 7)


@pytest.mark.parametrize(
    ("tag", "content"),
    [
        (0x02, ""),
        (0x02, "00" * 9),
        (0x05, "00"),
        (0x06, ""),
        (0x06, "2b81"),
        (0x40, "c00002"),
        (0x41, "01ffffffff"),
        (0x46, ""),
        (0x44, "9f7804c1ac00"),
        (0x82, "00"),
        (0x99, "01"),
        (0x30, "020101"),
    ],
)
def test_a_broken_or_unknown_value_is_kept_as_it_came(tag: int, content: str) -> None:
    octets = bytes.fromhex(content)
    assert decode_value(tag, octets) == Unknown(tag, octets)
    assert encode_value(Unknown(tag, octets)) == bytes((tag, len(octets))) + octets


@pytest.mark.parametrize("text", ["1.3.6.1.2.1", ".1.3.6.1.2.1"])
def test_an_oid_is_written_with_or_without_a_leading_dot(text: str) -> None:
    assert Oid.parse(text).content == b"\x2b\x06\x01\x02\x01"


@pytest.mark.parametrize("text", ["0.0", "1.39", "2.0", "2.40", "2.999.1", "1.3.6.1.4.1.2011.4294967295"])
def test_an_oid_reads_back_as_it_was_written(text: str) -> None:
    assert str(Oid.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "write it as numbers with dots"),
        ("1..3", "write it as numbers with dots"),
        ("..1.3", "write it as numbers with dots"),
        ("1.3.", "write it as numbers with dots"),
        ("1.3.-6", "write it as numbers with dots"),
        ("sysDescr.0", "write it as numbers with dots"),
        ("1.3.²", "write it as numbers with dots"),
        ("1", "needs 2 to 128 numbers"),
        (".".join(["1"] * 129), "needs 2 to 128 numbers"),
        ("3.1", "starts with 0.0 to"),
        ("1.40", "starts with 0.0 to"),
        ("1.3.4294967296", "over 4294967295"),
    ],
)
def test_what_is_no_oid_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadOid, match=reason) as refused:
        Oid.parse(text)
    assert f"'{text}'" in str(refused.value)


def test_an_oid_from_numbers_has_no_negative_ones() -> None:
    with pytest.raises(BadOid, match="negative"):
        Oid.of((1, 3, -1))
    with pytest.raises(BadOid):
        Oid.of((-1, 3))


def test_oids_sort_by_numbers_and_not_by_text() -> None:
    names = ["1.3.10", "1.3.9", "1.3", "1.3.9.1", "2.5"]
    assert [str(oid) for oid in sorted(map(Oid.parse, names))] == ["1.3", "1.3.9", "1.3.9.1", "1.3.10", "2.5"]


def test_the_child_of_an_oid_is_below_it() -> None:
    assert Oid.parse("1.3.6").child(1, 300) == Oid.parse("1.3.6.1.300")
