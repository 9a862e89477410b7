"""The encoding's own rules: what is written, what is accepted although it is odd, and what is refused why."""

from itertools import product

import pytest

from facho.snmp import values
from facho.snmp.errors import BerError


@pytest.mark.parametrize(
    ("length", "octets"),
    [(0, "00"), (127, "7f"), (128, "8180"), (255, "81ff"), (256, "820100"), (65_536, "83010000")],
)
def test_a_length_is_written_as_short_as_possible(length: int, octets: str) -> None:
    assert values.encode_length(length) == bytes.fromhex(octets)


@pytest.mark.parametrize(
    ("number", "octets"),
    [
        (0, "020100"),
        (127, "02017f"),
        (128, "02020080"),
        (256, "02020100"),
        (-1, "0201ff"),
        (-128, "020180"),
        (-129, "0202ff7f"),
        (2**31 - 1, "02047fffffff"),
        (-(2**31), "020480000000"),
        (2**64 - 1, "020900ffffffffffffffff"),
    ],
)
def test_an_integer_is_written_as_short_as_possible(number: int, octets: str) -> None:
    assert values.encode_integer(number) == bytes.fromhex(octets)


@pytest.mark.parametrize(
    ("arc", "octets"), [(0, "00"), (127, "7f"), (128, "8100"), (16_384, "818000"), (2**32 - 1, "8fffffff7f")]
)
def test_a_sub_identifier_is_written_in_base_128(arc: int, octets: str) -> None:
    assert values.encode_arc(arc) == bytes.fromhex(octets)
    assert values.decode_arcs(bytes.fromhex(octets)) == (arc,)


def test_an_oid_that_ends_in_the_middle_of_a_sub_identifier_is_refused() -> None:
    with pytest.raises(BerError, match="middle of a sub-identifier"):
        values.decode_arcs(b"\x2b\x81")


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (values.encode_arc(2**32), "over 4294967295"),
        (values.encode_arc(2**35 - 1), "over 4294967295"),
        (values.encode_arc(2**35), "over 4294967295"),
        (b"\x80" * 5 + b"\x01", "over 4294967295"),
        (b"\x01" * 129, "more than 128 sub-identifiers"),
        (b"\xff" * 2_099 + b"\x7f", "2100 octets"),
        (b"\xff" * 60_000 + b"\x7f", "60001 octets"),
    ],
    ids=["2^32", "five octets", "six octets", "padded", "many", "2 kB", "60 kB"],
)
@pytest.mark.parametrize(
    "before", [b"", b"\x2b\x06", b"\x8f\xff\xff\xff\x7f"], ids=["alone", "later", "next"]
)
def test_an_oid_that_no_agent_may_have_is_refused(before: bytes, octets: bytes, reason: str) -> None:
    with pytest.raises(BerError, match=reason if len(octets) < 2000 else "octets"):
        values.decode_arcs(before + octets)


def test_an_oid_may_be_as_long_and_its_numbers_as_large_as_the_standard_says() -> None:
    largest = (2**32 - 1,) * 128
    assert values.decode_arcs(values.encode_arcs(largest)) == largest
    padded = b"\x80\x80\x80\x80\x01"
    assert values.decode_arcs(padded + b"\x7f") == (1, 127)


def test_a_value_says_where_its_content_begins_and_ends() -> None:
    assert values.read_tlv(bytes.fromhex("04026869ff"), 0, 5) == (0x04, 2, 4)


@pytest.mark.parametrize("octets", ["0481026869", "048200026869", "0484000000026869"])
def test_a_length_written_longer_than_needed_is_accepted(octets: str) -> None:
    data = bytes.fromhex(octets)
    tag, start, end = values.read_tlv(data, 0, len(data))
    assert (tag, data[start:end]) == (0x04, b"hi")


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        ("", "cut off before its length"),
        ("04", "cut off before its length"),
        ("0480", "indefinite or of more than 4 octets"),
        ("04850000000001ff", "indefinite or of more than 4 octets"),
        ("0403ffff", "longer than what holds it"),
        ("048202", "longer than what holds it"),
        ("0484ffffffff00", "longer than what holds it"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(octets: str, reason: str) -> None:
    data = bytes.fromhex(octets)
    with pytest.raises(BerError, match=reason):
        values.read_tlv(data, 0, len(data))


def test_a_value_must_end_before_the_one_around_it_does() -> None:
    with pytest.raises(BerError, match="longer than what holds it"):
        values.read_tlv(bytes.fromhex("0403616263"), 0, 4)


def test_another_tag_than_expected_is_named() -> None:
    with pytest.raises(BerError, match="expected tag 0x30, found 0x04"):
        values.expect_tlv(b"\x04\x00", 0, 2, values.SEQUENCE)


@pytest.mark.parametrize("octets", ["", "000000000000000001"])
def test_an_integer_of_no_or_too_many_octets_is_refused(octets: str) -> None:
    with pytest.raises(BerError, match="an integer has"):
        values.decode_signed(bytes.fromhex(octets))


@pytest.mark.parametrize(
    ("octets", "bits", "number"),
    [("00ffffffff", 32, 2**32 - 1), ("ffffffff", 32, 2**32 - 1), ("ff" * 8, 64, 2**64 - 1), ("05", 64, 5)],
)
def test_a_counter_sent_as_a_negative_number_is_what_it_was_meant_to_be(
    octets: str, bits: int, number: int
) -> None:
    assert values.decode_unsigned(bytes.fromhex(octets), bits) == number


@pytest.mark.parametrize(
    ("octets", "bits"), [("", 32), ("01ffffffff", 32), ("000000000000", 32), ("ff" * 9, 64)]
)
def test_a_counter_of_more_bits_than_it_has_is_refused(octets: str, bits: int) -> None:
    with pytest.raises(BerError, match=f"unsigned value of {bits} bits"):
        values.decode_unsigned(bytes.fromhex(octets), bits)


def test_a_number_that_is_too_large_is_found_wherever_it_is() -> None:
    """Every order of octets that matter, as parts of several OIDs."""
    for octets in product((0x01, 0x80, 0x8F, 0x90), repeat=6):
        content = bytes((*octets, 0x7F))
        try:
            values.check_arcs(content)
            is_large = False
        except BerError:
            is_large = True
        assert values.has_large_arc(content) == is_large
        assert values.has_large_arc(b"\x01\x8f\xff\xff\xff\x7f" + content + b"\x90\x01") == is_large
