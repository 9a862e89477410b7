"""Recordings of real agents, replayed."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest

from facho.sim.fleet import Fleet, FleetConfig, FleetError
from facho.sim.snmprec import BadRecording, Record, line_of, parse_line, read
from facho.snmp.values import Counter32, Counter64, Gauge32, Missing, Oid, OpaqueFloat, TimeTicks, Value
from tests.unit.sim.asking import UPTIME, Asker
from tests.unit.vendors.recordings import RECORDINGS

RECORDING = """\
1.3.6.1.2.1.2.2.1.2.10|4|ten
1.3.6.1.2.1.2.2.1.2.9|4|nine|with a bar
1.3.6.1.2.1.1.1.0|4|An agent
1.3.6.1.2.1.1.3.0|67|12345
1.3.6.1.2.1.1.5.0|4x|00ff80

1.0.8802.1.1.2.1.3.3.0|4|before the others
"""


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("2", "-1", -1),
        ("2", "4194304000", 4194304000),
        ("4", "plain | text", b"plain | text"),
        ("4", "", b""),
        ("4x", "00ff", b"\x00\xff"),
        ("5", "", None),
        ("68x", "9f780441c80000", OpaqueFloat(25.0)),
        ("2x", "0100000000", 4294967296),
        ("4e", r"a\x0d\nb\\c", b"a\r\nb\\c"),
        ("6", "1.3.6.1", Oid.parse("1.3.6.1")),
        ("64", "10.0.0.1", IPv4Address("10.0.0.1")),
        ("65", "7", Counter32(7)),
        ("66", "4294967295", Gauge32(4294967295)),
        ("67", "12", TimeTicks(12)),
        ("70", "18446744073709551615", Counter64(18446744073709551615)),
    ],
)
def test_every_type_is_read(kind: str, text: str, value: Value) -> None:
    record = parse_line(f"1.3.6.1.2.1.1.1.0|{kind}|{text}")
    assert (record.value, type(record.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b"plain | text ", "4|plain | text "),
        ("Núñez".encode(), "4|Núñez"),
        (b"", "4|"),
        (b"two\r\nlines", "4x|74776f0d0a6c696e6573"),
        (b"Nu\xf1ez", "4x|4e75f1657a"),
        (-1, "2|-1"),
        (1 << 40, "2x|010000000000"),
        (Gauge32(7), "66|7"),
        (None, "5|"),
        (Oid.parse("1.3.6.1"), "6|1.3.6.1"),
        (IPv4Address("10.0.0.1"), "64|10.0.0.1"),
        (OpaqueFloat(25.0), "68x|9f780441c80000"),
    ],
)
def test_a_value_is_written_as_people_read_it_where_that_says_all(value: Value, line: str) -> None:
    assert line_of(Record(Oid.parse("1.3.6.1.9.0"), value)) == f"1.3.6.1.9.0|{line}"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1.3.6.1|4", "expected OID"),
        ("1.3.x|4|a", "not an OID"),
        ("1.3.6.1|99|a", "type '99'"),
        ("1.3.6.1|999x|00", "type '999x'"),
        ("1.3.6.1|5|a", "no value"),
        ("1.3.6.1|2|many", "many"),
        ("1.3.6.1|65|4294967296", "32 bits"),
        ("1.3.6.1|4x|0g", "hexadecimal"),
        ("1.3.6.1|64|10.0.0", "10.0.0"),
    ],
)
def test_a_malformed_line_is_named_with_its_file(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.snmprec"
    path.write_text(f"1.3.6.1.2.1.1.1.0|4|fine\n{line}\n")
    with pytest.raises(BadRecording, match=rf"bad\.snmprec, line 2: .*{complaint}"):
        read(path)


def test_a_recording_that_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="No such file"):
        Fleet(FleetConfig(recording=tmp_path / "none.snmprec"))


@pytest.fixture
def replay(tmp_path: Path) -> Asker:
    path = tmp_path / "agent.snmprec"
    path.write_text(RECORDING)
    return Asker(recording=path)


def test_records_are_served_in_order_whatever_their_order_in_the_file(replay: Asker) -> None:
    assert replay.everything() == [
        ("1.0.8802.1.1.2.1.3.3.0", b"before the others"),
        ("1.3.6.1.2.1.1.1.0", b"An agent"),
        (UPTIME, replay.get(UPTIME).values[0]),
        ("1.3.6.1.2.1.1.5.0", b"\x00\xff\x80"),
        ("1.3.6.1.2.1.2.2.1.2.9", b"nine|with a bar"),
        ("1.3.6.1.2.1.2.2.1.2.10", b"ten"),
    ]


def test_a_recorded_agent_can_be_asked_for_single_values(replay: Asker) -> None:
    said = replay.get("1.3.6.1.2.1.2.2.1.2.9", "1.3.6.1.2.1.2.2.1.2.11", "1.3.6.1.9.1.0", "1.3.6.1.2.1.1.1.0")
    assert said.values == [b"nine|with a bar", Missing.NO_SUCH_INSTANCE, Missing.NO_SUCH_OBJECT, b"An agent"]


def test_the_uptime_of_a_recording_runs_and_can_start_again(replay: Asker) -> None:
    replay.olt.restart()
    replay.clock.now += 1.0
    assert replay.get(UPTIME).values == [TimeTicks(100)]


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recordings of real devices at hand")
@pytest.mark.parametrize("name", ["smartax", "bdcom", "vsolution_v1600d", "axos_e7-2"])
def test_real_recordings_can_be_walked_to_their_end(name: str) -> None:
    path = RECORDINGS / f"{name}.snmprec"
    rows = Asker(recording=path).everything()
    assert [oid for oid, _ in rows] == [str(record.oid) for record in read(path)]
