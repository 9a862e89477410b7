"""Raw values to facts: markers, signs, scales, text, octets; and what is garbage."""

import re
from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from facho.snmp.values import Counter32, Gauge32, Missing, OpaqueFloat, Unknown, Value
from facho.vendors import Decoder, Key, State, builtin, rules
from facho.vendors.errors import BadValue
from facho.vendors.facts import FACTS, Entity
from facho.vendors.rules import compile_rule
from facho.vendors.schema import NumberInText, Rule, Word
from tests.unit.vendors.rows import by_key, column

ONU = FACTS[Entity.ONU]


def read(fact: str, rule: Rule, raw: object) -> object:
    reader = compile_rule(ONU[fact], rule)
    one = reader.one(raw)
    assert reader.all([raw, raw]) == [one, one]
    return one


PI = datetime(2025, 3, 14, 15, 9, 26, tzinfo=UTC)
MAC, NO_MAC = re.compile("[0-9A-F]{12}"), re.compile("(?![0-9A-F]{12}$).*")
ZTE_POWER = Rule((65535, 0, -32768), signed=16, scale=0.002, offset=-30.0)


@pytest.mark.parametrize(
    ("fact", "rule", "raw", "expected"),
    [
        ("onu_rx_dbm", Rule((2147483647,), scale=0.01), -2350, -23.5),
        ("onu_rx_dbm", Rule((2147483647,), scale=0.01), 2147483647, None),
        ("olt_rx_dbm", Rule(scale=0.01, offset=-100.0), 7650, -23.5),
        ("onu_rx_dbm", ZTE_POWER, 5635, -18.73),
        ("onu_rx_dbm", ZTE_POWER, 6227, -17.55),
        ("onu_rx_dbm", ZTE_POWER, 65036, -31.0),
        ("onu_rx_dbm", ZTE_POWER, 65535, None),
        ("onu_rx_dbm", ZTE_POWER, 0, None),
        ("onu_rx_dbm", ZTE_POWER, -32768, None),
        ("olt_rx_dbm", Rule((-80000, 65535000, 0), scale=0.001), -80000, None),
        ("olt_rx_dbm", Rule((-80000, 65535000, 0), scale=0.001), 65535000, None),
        ("olt_rx_dbm", Rule((-80000, 65535000, 0), scale=0.001), -21876, -21.88),
        ("onu_rx_dbm", Rule((32768,), scale=0.002), 32768, None),
        ("olt_rx_dbm", Rule((65534,), scale=0.1), 65534, None),
        ("onu_rx_dbm", Rule((-65535,), scale=0.1), -65535, None),
        ("name", Rule(after="Version ", before=" Software"), b"C320 Version V2.1 Software, (c)", "V2.1"),
        ("onu_rx_dbm", Rule((0,), milliwatts=0.0001), 100, -20.0),
        ("onu_rx_dbm", Rule(milliwatts=0.0001), 301, -15.21),
        ("onu_rx_dbm", Rule(milliwatts=0.0001), 39, -24.09),
        ("onu_tx_dbm", Rule(milliwatts=0.0001), 43032, 6.34),
        ("onu_rx_dbm", Rule(milliwatts=0.0001), 0, None),
        ("temperature_c", Rule(scale=1 / 256), 11040, 43.125),
        ("temperature_c", Rule(scale=0.001, unscaled_below=1000), 47250, 47.25),
        ("temperature_c", Rule(scale=0.001, unscaled_below=1000), 37, 37.0),
        ("temperature_c", Rule(scale=0.001, unscaled_below=1000), -12, -12.0),
        ("temperature_c", Rule(scale=0.001, unscaled_below=1000), -12_000, -12.0),
        ("serial", Rule(), b"BDCM:1a2b3c4d", "BDCM1A2B3C4D"),
        ("voltage_v", Rule(scale=0.00001), Gauge32(331000), 3.31),
        ("voltage_v", Rule(), OpaqueFloat(3.25), 3.25),
        ("distance_m", Rule((-1, 0)), -1, None),
        ("distance_m", Rule((65534,), scale=100.0), 17, 1700),
        ("up_octets", Rule(), Counter32(4294967295), 4294967295),
        # Eight octets of which one is the mark.
        ("serial", Rule(after=","), b"ZTEG\x00,\x01\x02", "ZTEG002C0102"),
        ("serial", Rule(after=","), b"1,ZTEG0000002A", "ZTEG0000002A"),
        ("serial", Rule(fits=NO_MAC), b"FHTT1234abcd", "FHTT1234ABCD"),
        ("serial", Rule(fits=NO_MAC), b"00259E010203", None),
        ("serial", Rule(fits=NO_MAC), b"", None),
        ("mac", Rule(fits=MAC), b"00259E010203", "00:25:9e:01:02:03"),
        ("mac", Rule(fits=MAC), b"FHTT1234ABCD", None),
        ("onu_rx_dbm", Rule(), None, None),
        ("onu_rx_dbm", Rule(), Missing.NO_SUCH_INSTANCE, None),
        ("serial", Rule(), b"HWTC\x12\x34\xab\xcd", "HWTC1234ABCD"),
        ("serial", Rule(), b"HW-C\x12\x34\xab\xcd", "HW-C1234ABCD"),
        ("serial", Rule(), b"\x01WTC\x12\x34\xab\xcd", "015754431234ABCD"),
        ("serial", Rule(), b"UBNT2073", "UBNT32303733"),
        ("serial", Rule(), b"fhtt12345abc\0", "fhtt12345ABC"),
        ("serial", Rule(), b"485754431234abcd", "HWTC1234ABCD"),
        ("serial", Rule(after=","), b"1,ZTEGC0FFEE00", "ZTEGC0FFEE00"),
        ("serial", Rule(), b"", None),
        ("serial", Rule(), bytes(8), None),
        ("mac", Rule(), b"\x00\x1e\x10\xaa\xbb\xcc", "00:1e:10:aa:bb:cc"),
        ("mac", Rule(), b"00:1E:10:AA:BB:CC", "00:1e:10:aa:bb:cc"),
        ("mac", Rule(), b"001e.10aa.bbcc", "00:1e:10:aa:bb:cc"),
        ("mac", Rule(), bytes(6), None),
        ("mac", Rule(("N/A",)), b"N/A", None),
        ("last_up", Rule(), bytes((7, 233, 3, 14, 15, 9, 26, 0)), PI),
        ("last_up", Rule(), bytes((7, 233, 3, 14, 17, 9, 26, 0)) + b"+\x02\x00", PI),
        ("last_up", Rule(), b"2025/03/14 15:09:26", PI),
        ("last_up", Rule(), b"0000-00-00 00:00:00", None),
        ("last_up", Rule(), b"", None),
        ("ip", Rule(), b"\x0a\x01\x02\x03", IPv4Address("10.1.2.3")),
        ("ip", Rule(), b"10.1.2.3\0", IPv4Address("10.1.2.3")),
        ("ip", Rule(), IPv4Address("0.0.0.0"), None),
        ("model", Rule(), b"HG8546M\0\0\0", "HG8546M"),
        ("model", Rule(enum=(Word(33, "AN5506-04", "AN5506-04"),)), 33, "AN5506-04"),
        ("model", Rule(), 34, "34"),
        ("description", Rule(), "São José\n2".encode(), "São José 2"),
        ("description", Rule(strip="$"), b"$$casa 7$$", "casa 7"),
        ("name", Rule(("N/A", "available")), b"available", None),
        ("state", Rule(enum=(Word("LOS", "LOS", "los"),)), b"LOS", State("los", "LOS")),
    ],
)  # fmt: skip
def test_a_raw_value_becomes_a_fact(fact: str, rule: Rule, raw: object, expected: object) -> None:
    assert read(fact, rule, raw) == expected


DBM = NumberInText("(", " dBm")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"0.00 mW (-27.45 dBm)", -27.45),
        (b"0.03 mW (-14.61 dBm)", -14.61),
        (b"-19.32(dBm)", -19.32),
        (b"-19.32 (dBm)", -19.32),
        (b"-21.5", -21.5),
        (b"-21.5 dbm", -21.5),
        (b" -9.1 dBm\0", -9.1),
        (b"N/A", None),
        (b"-", None),
        (b"", None),
        (b"-65535", None),
    ],
)
def test_the_number_inside_a_text_is_found(raw: bytes, expected: float | None) -> None:
    rule = Rule(("N/A", "-", -65535), number_in_text=DBM)
    assert read("onu_rx_dbm", rule, raw) == expected


@pytest.mark.parametrize("raw", [b"0.00 mW (N/A)", b"0.00 mW (-inf dBm)", b"0.00 mW ()", b"0.00 mW (- dBm)"])
def test_a_number_that_is_not_the_one_that_is_meant_is_none(raw: bytes) -> None:
    with pytest.raises(BadValue, match="there is no number in"):
        compile_rule(ONU["onu_rx_dbm"], Rule(number_in_text=DBM)).one(raw)


def test_what_a_device_sent_is_told_without_what_a_database_refuses() -> None:
    with pytest.raises(BadValue, match="there is no number in") as refused:
        compile_rule(ONU["onu_rx_dbm"], Rule(number_in_text=DBM)).one(b"no\0pe")
    assert str(refused.value).isprintable()


def test_text_and_integers_of_one_column_have_scales_of_their_own() -> None:
    rule = Rule(scale=0.1, number_in_text=NumberInText())
    assert read("onu_rx_dbm", rule, -215) == read("onu_rx_dbm", rule, b"-21.5") == -21.5


@pytest.mark.parametrize(
    ("fact", "raw", "why"),
    [
        ("onu_rx_dbm", -51, "not within -50 to 10"),
        ("onu_rx_dbm", 11, "not within -50 to 10"),
        ("onu_tx_dbm", -16, "not within -15 to 12"),
        ("onu_tx_dbm", 13, "not within"),
        ("onu_rx_dbm", OpaqueFloat("nan"), "not within"),
        ("onu_rx_dbm", b"-21", "is no number"),
        ("onu_rx_dbm", Unknown(68, b"xx"), "is no number"),
        ("distance_m", -5, "not within"),
        ("distance_m", 100_001, "not within"),
        ("up_octets", -5, "not within"),
        ("up_octets", b"5", "is no number"),
        ("serial", 7, "is no serial"),
        ("serial", b"short", "is no serial"),
        ("mac", b"zz:1E:10:AA:BB:CC", "is no hardware address"),
        ("last_up", bytes((7, 233, 13, 1, 1, 1, 1, 1)), "is no date"),
        ("last_up", b"yesterday", "is no date"),
        ("ip", b"10.1.2", "is no IP address"),
        ("ip", 5, "is no IP address"),
        ("description", OpaqueFloat(1.5), "is no text"),
        ("description", b"x" * 65536, "65536 octets"),
    ],
)
def test_garbage_is_refused_with_a_reason(fact: str, raw: object, why: str) -> None:
    reader = compile_rule(ONU[fact], Rule())
    with pytest.raises(BadValue, match=why) as caught:
        reader.one(raw)
    with pytest.raises(BadValue, match=why):
        reader.all([raw])
    assert len(str(caught.value)) < 200
    assert caught.value.instead is None


def test_a_text_in_another_encoding_is_kept_as_far_as_it_can_be_read() -> None:
    with pytest.raises(BadValue) as caught:
        rules.text(b"Pe\xf1\xf3n")
    assert caught.value.instead == "Peñón"


def test_a_state_without_a_word_is_unknown_and_reported_with_its_number() -> None:
    reader = compile_rule(ONU["state"], Rule(enum=(Word(1, "online", "online"),)))
    with pytest.raises(BadValue) as caught:
        reader.one(99)
    assert caught.value.instead == State("unknown", "99")


BASE = "1.3.6.1.4.1.2011.6.128.1.1.2"
PORT = 4194312448
GARBAGE: tuple[Value, ...] = (
    None, 2**70, -1, 1.5, b"", b"\xff\xfe", b"x" * 65536, Unknown(68, b""), IPv4Address(1),
    Missing.NO_SUCH_OBJECT,
)  # fmt: skip


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda raw: repr(raw)[:20])
def test_garbage_in_one_row_never_costs_another_row(garbage: Value) -> None:
    decoder = Decoder(builtin()["huawei"])
    facts: dict[str, Value] = {
        "43.1.3": b"HWTC\0\0\0\1", "43.1.9": b"casa", "45.1.10": b"\2\0\0\0\0\1", "46.1.15": 1, "46.1.20": 7,
        "46.1.22": bytes((7, 233, 3, 14, 15, 9, 26, 0)), "46.1.24": 13, "51.1.4": -2000, "49.1.2": b"\1\2\3\4"
    }  # fmt: skip
    rows = {}
    for end, good in facts.items():
        more = (0,) if end.startswith("49") else ()
        rows[f"{BASE}.{end}"] = column(
            {(PORT, 1, *more): good, (PORT, 2, *more): garbage, (PORT, 3, *more): good}
        )
    found = decoder.decode(rows)
    onus = by_key(found.onus)
    assert onus[Key(0, 1, 1, 1)] == onus[Key(0, 1, 1, 3)]
    assert None not in onus[Key(0, 1, 1, 1)].values()
    assert all(problem.index.startswith(f"{PORT}.2") for problem in found.problems.first)
    if garbage not in (None, b"", -1, Missing.NO_SUCH_OBJECT):
        assert len(found.problems) > 0
    assert all(len(str(problem)) < 250 for problem in found.problems.first)


def test_a_row_with_an_index_of_another_kind_is_reported_and_left_out() -> None:
    good = (PORT, 1)
    odd: list[tuple[int, ...]] = [(PORT,), (PORT, 1, 1), (5, 1), (PORT, 256), (PORT, 2**32 - 1)]
    rows = column({good: 1, **dict.fromkeys(odd, 2)})
    rows[b"\x80\x01"] = 2
    rows[b"\x81"] = 2
    found = Decoder(builtin()["huawei"]).decode({f"{BASE}.46.1.15": rows})
    assert [str(key) for key in found.onus.keys] == ["0/1/1:1"]
    assert found.onus.columns["state"] == [State("online", "online")]
    assert len(found.problems) == len(odd) + 2


def test_only_the_first_problems_are_kept_and_all_are_counted() -> None:
    rows = column({(PORT, number % 256): number for number in range(200, 456)})
    found = Decoder(builtin()["huawei"]).decode({f"{BASE}.46.1.15": rows})
    assert (len(found.problems), len(found.problems.first)) == (256, 100)
    assert found.problems.counts == {("gpon_state", "state"): 256}


def test_a_column_that_was_not_read_leaves_an_empty_field_not_a_missing_onu() -> None:
    rows = {
        f"{BASE}.46.1.15": column({(PORT, 1): 1, (PORT, 2): 1}),
        f"{BASE}.51.1.4": column({(PORT, 2): -2000}),
        f"{BASE}.43.1.9": column({(PORT, 3): b"late"}),
    }
    onus = Decoder(builtin()["huawei"]).decode(rows).onus
    assert set(onus.columns) == {"state", "onu_rx_dbm", "description"}
    assert {str(key): row["onu_rx_dbm"] for key, row in by_key(onus).items()} == {
        "0/1/1:1": None,
        "0/1/1:2": -20.0,
        "0/1/1:3": None,
    }
    assert all(len(values) == len(onus) for values in onus.columns.values())


def test_a_date_in_text_is_read_once() -> None:
    written = b"2031-01-02 03:04:05"
    first = rules.date(written)
    before = rules._written_date.cache_info()
    assert rules.date(written) is first
    after = rules._written_date.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses)


@pytest.mark.parametrize("raw", [b"0001-01-01 00:00:00", b"9999-12-31 23:59:59", b"\0\1\1\1\0\0\0\0"])
def test_a_date_at_an_end_of_the_calendar_is_none(raw: bytes) -> None:
    """In another zone it would be outside of it, and the page that shows it would fail."""
    with pytest.raises(BadValue, match="a date of the year"):
        rules.date(raw)
