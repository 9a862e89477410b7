"""The simulated agent against a much simpler one: a sorted list of OIDs."""

import string
import tempfile
from bisect import bisect_right
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from facho.sim.model import OltModel
from facho.sim.pdu import GET, GET_BULK, GET_NEXT, encode_request
from facho.sim.scenario import Scenario
from facho.sim.snmprec import Record, parse_line, read, sort, write
from facho.sim.tables import ColumnSpec, IndexSpace, Layout
from facho.snmp import values
from facho.snmp.values import Oid, Value, decode_value, encode_value
from tests.unit.sim.asking import (
    DOWN_BYTES,
    PORT,
    RUN_STATUS,
    RX_POWER,
    SERIAL,
    Asker,
    make_olt,
    message,
)

# Few numbers, so that neighbours, prefixes and repeats are common; and some that take several octets.
ARC = st.sampled_from([0, 1, 2, 3, 127, 128, 300, 4194304000])
SUFFIX = st.lists(ARC, min_size=1, max_size=4).map(tuple)
INDEX = st.lists(SUFFIX, min_size=1, max_size=12, unique=True).map(sorted)
PREFIX = st.sampled_from(["1.3.6.1.2", "1.3.6.1.3", "1.3.6.1.4.127", "1.3.6.1.4.128", "1.3.6.1.4.129.1"])
TABLES = st.dictionaries(PREFIX, INDEX, min_size=1)
ASKED = st.tuples(
    st.sampled_from(["1.3", "1.3.6.1", "1.3.6.1.3", "1.3.6.1.4", "2.5"]) | PREFIX, SUFFIX | st.just(())
)


def oid_of(prefix: str, suffix: tuple[int, ...]) -> Oid:
    return Oid.parse(".".join([prefix, *map(str, suffix)]))


def layout_of(tables: dict[str, list[tuple[int, ...]]]) -> tuple[Layout[OltModel], list[Oid]]:
    specs: list[ColumnSpec[OltModel]] = [
        ColumnSpec(prefix, prefix, prefix, lambda _olt, row, _now: row) for prefix in tables
    ]
    layout = Layout(specs, {prefix: IndexSpace(rows) for prefix, rows in tables.items()})
    return layout, sorted(oid_of(prefix, row) for prefix, rows in tables.items() for row in rows)


@given(TABLES, ASKED)
def test_the_next_row_is_the_next_one_of_the_sorted_list(
    tables: dict[str, list[tuple[int, ...]]], asked: tuple[str, tuple[int, ...]]
) -> None:
    layout, every = layout_of(tables)
    oid = oid_of(*asked)
    number, row, exact = layout.place(oid.content)
    while number < len(layout.columns) and row >= len(layout.columns[number].index):
        number, row = number + 1, 0
    expected = bisect_right(every, oid)
    assert exact == (oid in every)
    if expected == len(every):
        assert number == len(layout.columns)
    else:
        column = layout.columns[number]
        assert Oid(column.prefix + column.index.suffixes[row]) == every[expected]


@given(st.integers(1, 200), st.integers(1, 60), st.integers(0, 20), st.integers(484, 3000))
def test_any_way_of_asking_in_bulk_gives_the_same_rows(
    onus: int, repetitions: int, skipped: int, room: int
) -> None:
    asker = Asker(onus=onus, family="zte")
    column = "1.3.6.1.4.1.3902.1012.3.28.1.1.3"
    rows = asker.walk(column, requests=1000)
    asker.olt.scenario = asker.olt.scenario.but(max_message=room)
    assert asker.walk(column, repetitions, requests=1000) == rows
    beside = asker.bulk(column, column, repetitions=min(repetitions, 4)).rows
    assert beside[::2][:onus] == rows[: len(beside[::2])]
    assert asker.bulk(rows[skipped % onus][0], repetitions=1).rows[0] != rows[skipped % onus]


@given(st.binary(max_size=300))
def test_no_datagram_can_hurt_an_olt(garbage: bytes) -> None:
    olt, _ = make_olt()
    olt.datagram_received(garbage, ("127.0.0.1", 9))
    olt.datagram_received(message(garbage), ("127.0.0.1", 9))
    report = olt.report()
    assert report.garbage + report.unknown_community + report.requests == 2


@given(st.binary(min_size=1, max_size=40).map(lambda octets: octets[:-1] + bytes((octets[-1] & 0x7F,))))
def test_no_oid_can_hurt_an_olt(content: bytes) -> None:
    olt, wire = make_olt()
    pdu = values.encode_tlv(
        values.SEQUENCE, values.encode_tlv(values.OBJECT_IDENTIFIER, content) + b"\x05\x00"
    )
    body = b"\x02\x01\x01\x02\x01\x00\x02\x01\x05" + values.encode_tlv(values.SEQUENCE, pdu)
    for tag in (0xA0, 0xA1, 0xA5):
        olt.datagram_received(message(values.encode_tlv(tag, body)), ("127.0.0.1", 9))
    assert olt.report().garbage + len(wire.sent) == 3


@given(st.lists(st.tuples(SUFFIX, st.integers(-5, 5)), max_size=20))
def test_records_are_sorted_and_the_last_of_an_oid_wins(rows: list[tuple[tuple[int, ...], int]]) -> None:
    records = [Record(oid_of("1.3.6.1", suffix), value) for suffix, value in rows]
    expected = {oid_of("1.3.6.1", suffix): value for suffix, value in rows}
    assert [(record.oid, record.value) for record in sort(records)] == sorted(expected.items())


@given(st.text(string.printable.replace("\n", "").replace("\r", ""), max_size=40))
def test_a_text_is_read_as_it_is(text: str) -> None:
    assert parse_line(f"1.3.6.1.2.1.1.1.0|4|{text}").value == text.encode()


@given(st.binary(max_size=40))
def test_octets_survive_both_ways_to_write_them(octets: bytes) -> None:
    escaped = "".join(f"\\x{octet:02x}" for octet in octets)
    assert parse_line(f"1.3.6.1|4e|{escaped}").value == octets
    assert parse_line(f"1.3.6.1|4x|{octets.hex()}").value == octets


@given(
    st.lists(
        st.tuples(
            ASKED,
            st.text(max_size=12).map(str.encode)
            | st.binary(max_size=12)
            | st.builds(decode_value, st.integers(0, 255), st.binary(max_size=14)),
        ),
        max_size=6,
    )
)
def test_whatever_an_agent_sends_is_written_and_read_back_as_it_was(
    rows: list[tuple[tuple[str, tuple[int, ...]], Value]],
) -> None:
    records = sort(Record(oid_of(*oid), value) for oid, value in rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.snmprec"
        write(file, records)
        again = read(file)
    assert [each.oid for each in again] == [each.oid for each in records]
    assert [type(each.value) for each in again] == [type(each.value) for each in records]
    assert [encode_value(each.value) for each in again] == [encode_value(each.value) for each in records]


# Names of one length and of several, of columns that are constant, move, or are scalars, and no names.
_COLUMNS = (
    SERIAL,
    RUN_STATUS,
    RX_POWER,
    DOWN_BYTES,
    "1.3.6.1.2.1.1.1",
    "1.3.6.1.2.1.1.3",
    "1.3.6.1.2.1.31.1.1.1.1",
)
_ROW = st.tuples(st.sampled_from([PORT, PORT + 256, PORT + 512]), st.integers(0, 5)).map(
    lambda row: f".{row[0]}.{row[1]}"
)
_NAME = st.tuples(
    st.sampled_from(_COLUMNS), _ROW | st.sampled_from(["", ".0", f".{PORT}", ".4294967295.128.1"])
).map("".join)
_REQUEST = st.tuples(
    st.sampled_from([GET, GET_BULK, GET_NEXT]),
    st.lists(_NAME, max_size=8),
    st.sampled_from([0, 0, 0, 1, -1]),
    st.integers(-1, 12) | st.sampled_from([200, 70_000]),
    st.sampled_from([0, -1, 127, 128, 1 << 16, 0x7FFF_FFFF, -(1 << 31)]),
)


@given(
    st.lists(_REQUEST, max_size=8),
    st.sampled_from(
        [Scenario(), Scenario(max_message=484), Scenario(jitter=0.5, flapping=0.3, refresh_s=1.0)]
    ),
    st.sampled_from([0, 2]),
)
def test_quick_answers_are_those_of_the_agent(
    requests: list[tuple[int, list[str], int, int, int]], scenario: Scenario, templates: int
) -> None:
    quick, plain = (Asker(scenario, onus=14, onus_per_port=5, templates=templates) for _ in range(2))
    assert quick.olt._quick is not None
    plain.olt._quick = None
    for tag, names, first, second, identity in requests:
        for asker in (quick, plain):
            asker.clock.now += 0.3
            asker.ask(tag, names, first, second, request_id=identity)
        assert quick.wire.sent == plain.wire.sent
        assert quick.olt.report() == plain.olt.report()


@given(st.data())
def test_damaged_requests_are_treated_alike(data: st.DataObject) -> None:
    quick, plain = (Asker(onus=14, onus_per_port=5) for _ in range(2))
    plain.olt._quick = None
    names = data.draw(st.lists(_NAME, min_size=1, max_size=4))
    tag = data.draw(st.sampled_from([GET, GET_BULK]))
    pdu = encode_request(tag, 77, 0, 5 if tag == GET_BULK else 0, [Oid.parse(name).content for name in names])
    octets = bytearray(message(pdu))
    for _ in range(data.draw(st.integers(0, 2))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    datagram = bytes(octets[: data.draw(st.just(len(octets)) | st.integers(0, len(octets)))])
    for asker in (quick, plain):
        asker.wire.sent.clear()
        asker.olt.datagram_received(datagram, ("127.0.0.1", 9))
    assert quick.wire.sent == plain.wire.sent
    assert quick.olt.report() == plain.olt.report()
