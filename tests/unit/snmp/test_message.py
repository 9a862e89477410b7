"""Whole messages, octet by octet, and the reason why each broken one is refused."""

import pytest

from facho.snmp.errors import BerError
from facho.snmp.message import (
    Community,
    ErrorStatus,
    Message,
    PduType,
    Version,
    decode_bindings,
    decode_message,
    encode_binding,
    encode_names,
    encode_pdu,
    error_name,
    peek_request_id,
)
from facho.snmp.values import Missing, Oid, TimeTicks, Unknown, encode_value

SYS_UP_TIME = Oid.parse("1.3.6.1.2.1.1.3.0")
PUBLIC = Community(Version.V2C, b"public")

GET = bytes.fromhex(
    "3026020101 04067075626c6963 a019 020101 020100 020100 300e 300c 06082b06010201010300 0500"
)
GETBULK = bytes.fromhex(
    "3028020101 04067075626c6963 a51b 02027fff 020100 020132 300f 300d 06092b0601020102020102 0500"
)


def answer(request_id: int = 7, status: int = 0, index: int = 0, bindings: bytes = b"") -> bytes:
    return PUBLIC.wrap(encode_pdu(PduType.RESPONSE, request_id, status, index, bindings))


def test_a_get_is_written_octet_by_octet() -> None:
    assert PUBLIC.wrap(encode_pdu(PduType.GET, 1, 0, 0, encode_names([SYS_UP_TIME.content]))) == GET


def test_a_getbulk_asks_for_its_repetitions() -> None:
    names = encode_names([Oid.parse("1.3.6.1.2.1.2.2.1.2").content])
    assert PUBLIC.wrap(encode_pdu(PduType.GETBULK, 0x7FFF, 0, 50, names)) == GETBULK


def test_version_1_differs_in_its_first_number() -> None:
    names = encode_names([SYS_UP_TIME.content])
    old = Community(Version.V1, b"public").wrap(encode_pdu(PduType.GET, 1, 0, 0, names))
    assert old == GET.replace(b"\x02\x01\x01\x04", b"\x02\x01\x00\x04")


def test_an_answer_is_taken_apart() -> None:
    bindings = encode_binding(SYS_UP_TIME.content, encode_value(TimeTicks(63)))
    data = answer(123_456_789, ErrorStatus.genErr, 1, bindings)
    assert decode_message(data) == Message(
        Version.V2C, PduType.RESPONSE, 123_456_789, 5, 1, bindings, b"public"
    )
    assert b"public" not in repr(decode_message(data)).encode()
    assert decode_bindings(bindings) == [(SYS_UP_TIME.content, TimeTicks(63))]


def test_an_answer_with_lengths_longer_than_needed_is_understood() -> None:
    head = "0282000101 0481067075626c6963"
    pdu = "a2820014 02810107 0282000100 02840000000100 30820000"
    data = bytes.fromhex(head + pdu)
    assert decode_message(b"\x30\x83" + len(data).to_bytes(3, "big") + data)[:5] == (
        1,
        PduType.RESPONSE,
        7,
        0,
        0,
    )


def test_an_answer_without_bindings_has_none() -> None:
    assert decode_bindings(decode_message(answer()).bindings) == []


def test_the_community_is_in_the_datagram_but_never_shown() -> None:
    secret = Community(Version.V2C, b"s3cret")
    assert b"s3cret" in secret.wrap(b"")
    assert "s3cret" not in repr(secret)


def test_an_error_status_has_its_name_or_else_its_number() -> None:
    assert error_name(2) == "noSuchName"
    assert error_name(99) == "error status 99"


def replaced(data: bytes, old: str, new: str) -> bytes:
    assert data.count(bytes.fromhex(old)) == 1
    return data.replace(bytes.fromhex(old), bytes.fromhex(new))


BROKEN = {
    "cut off before its length": b"\x30",
    "longer than what holds it": answer()[:-1],
    "octets after the message": answer() + b"\x00",
    "expected tag 0x30": b"\x31" + answer()[1:],
    "version field 3 is not v1 or v2c": replaced(answer(), "020101", "020103"),
    "expected tag 0x04": replaced(answer(), "0406", "0506"),
    "octets after the PDU": replaced(answer(), "a20b", "a20a"),
    "an integer is missing": replaced(answer(), "020107", "040107"),
    "an integer is empty": replaced(answer(), "020107", "020007"),
    "octets after the variable bindings": replaced(answer(bindings=b"\x30\x00"), "3002", "3001"),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_message_is_refused_with_the_reason(reason: str) -> None:
    with pytest.raises(BerError, match=reason):
        decode_message(BROKEN[reason])


@pytest.mark.parametrize(
    ("bindings", "reason"),
    [
        ("3106 06012b 020101", "expected tag 0x30"),
        ("3006 04012b 020101", "expected tag 0x06"),
        ("3007 06012b 020101 00", "octets after a value"),
        ("3005 0600 020101", "an OID is empty"),
        ("3007 06022b81 020101", "middle of a sub-identifier"),
        ("3003 06012b", "cut off before its length"),
        ("3006 06012b 020201", "longer than what holds it"),
        ("3007 06012b 020101", "longer than what holds it"),
        ("3006 06012b 020101 30", "cut off before its length"),
        ("3080 06012b 020101 0000", "indefinite"),
    ],
)
def test_broken_bindings_are_refused_with_the_reason(bindings: str, reason: str) -> None:
    with pytest.raises(BerError, match=reason):
        decode_bindings(bytes.fromhex(bindings))


def test_a_value_that_is_missing_is_no_error() -> None:
    bindings = encode_binding(SYS_UP_TIME.content, encode_value(Missing.NO_SUCH_INSTANCE))
    assert decode_bindings(bindings) == [(SYS_UP_TIME.content, Missing.NO_SUCH_INSTANCE)]


def test_the_request_id_of_a_cut_answer_can_still_be_read() -> None:
    whole = answer(123_456_789, bindings=encode_binding(SYS_UP_TIME.content, bytes(300)))
    with_id = whole.index((123_456_789).to_bytes(4, "big")) + 4
    assert {peek_request_id(whole[:size]) for size in range(with_id, len(whole) + 1)} == {123_456_789}
    assert {peek_request_id(whole[:size]) for size in range(with_id)} == {None}


def test_only_answers_have_a_request_id_worth_reading() -> None:
    assert peek_request_id(GET) is None
    assert peek_request_id(b"") is None


@pytest.mark.parametrize(
    "name", [b"\x2b" + b"\xff" * 2_000 + b"\x7f", b"\x2b\x90\x80\x80\x80\x00", b"\x01" * 129]
)
def test_a_name_that_no_agent_may_have_is_refused(name: bytes) -> None:
    with pytest.raises(BerError, match="an OID has"):
        decode_bindings(encode_binding(name, b"\x05\x00"))


def test_a_value_that_is_such_an_oid_is_kept_as_it_came() -> None:
    content = b"\x2b" + b"\xff" * 2_000 + b"\x7f"
    value = b"\x06" + bytes((0x82,)) + len(content).to_bytes(2, "big") + content
    assert decode_bindings(encode_binding(SYS_UP_TIME.content, value)) == [
        (SYS_UP_TIME.content, Unknown(0x06, content))
    ]


def test_more_values_than_any_request_asks_for_are_refused() -> None:
    row = encode_binding(SYS_UP_TIME.content, b"\x05\x00")
    assert len(decode_bindings(row * 1_000)) == 1_000
    with pytest.raises(BerError, match="more than 1000 values"):
        decode_bindings(row * 1_001)
