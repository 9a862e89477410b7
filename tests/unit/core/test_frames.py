"""Numeric facts over time: what a value keeps, and how few bytes a port's hour takes."""

from __future__ import annotations

import random

import pytest

from facho.core.frames import read_sheet, write_frame
from facho.core.history_facts import FACTS, Damaged, Fact
from facho.core.hours import merge_by_place

AT = 1_772_000_000_000


def kept(fact: str, *values: float | None) -> list[float | None]:
    sheet = read_sheet(write_frame(AT, range(1, len(values) + 1), {fact: values}))
    return [value for samples in sheet.series(fact, range(len(values))) for value in samples.values]


@pytest.mark.parametrize(
    ("fact", "value", "is_kept"),
    [
        ("onu_rx_dbm", -23.4149, -23.41),
        ("onu_tx_dbm", 2.006, 2.01),
        ("temperature_c", 41.26, 41.3),
        ("voltage_v", 3.287, 3.29),
        ("bias_ma", 12.34, 12.3),
        ("distance_m", 61_234, 61_234),
        ("onus_online", 63, 63),
    ],
)
def test_a_value_is_kept_to_what_its_fact_resolves(fact: str, value: float, is_kept: float) -> None:
    assert kept(fact, value) == [is_kept]


@pytest.mark.parametrize("value", [None, 327.68, -327.68, -400.0, 1e300, float("nan"), float("-inf")])
def test_what_is_no_value_or_too_large_is_none_and_harms_no_other(value: float | None) -> None:
    assert kept("onu_rx_dbm", -20.5, value, -327.67, 327.67) == [-20.5, None, -327.67, 327.67]


def test_a_fact_without_any_value_is_left_out() -> None:
    sheet = read_sheet(write_frame(AT, [1, 2], {"onu_rx_dbm": [None, -20.0], "bias_ma": [None, None]}))
    assert sheet.facts == ["onu_rx_dbm"]
    assert sheet.samples("bias_ma", 0) is None
    assert sheet.series("bias_ma", [0, 1]) == []


def test_a_newer_version_is_not_guessed_at() -> None:
    written = write_frame(AT, [1], {"onu_rx_dbm": [-20.0]})
    with pytest.raises(Damaged, match="version 9"):
        read_sheet(b"\x09" + written[1:])
    with pytest.raises(Damaged):
        read_sheet(b"")


def test_codes_of_facts_are_never_changed() -> None:
    """They are in every database."""
    even = {name: (fact.code, fact.steps, fact.width) for name, fact in FACTS.items() if not fact.is_rate}
    assert even == {
        "onu_rx_dbm": (1, 100, 2),
        "onu_tx_dbm": (2, 100, 2),
        "olt_rx_dbm": (3, 100, 2),
        "temperature_c": (4, 10, 2),
        "voltage_v": (5, 100, 2),
        "bias_ma": (6, 10, 2),
        "distance_m": (7, 1, 4),
        "tx_dbm": (8, 100, 2),
        "rx_dbm": (9, 100, 2),
        "onus_online": (10, 1, 2),
        "cpu_pct": (19, 10, 2),
        "memory_pct": (20, 10, 2),
        "power_w": (21, 10, 4),
        "speed_rpm": (22, 1, 4),
        "speed_pct": (23, 10, 2),
    }
    rates = {name: (fact.code, fact.steps) for name, fact in FACTS.items() if fact.is_rate}
    assert rates == {
        "up_bps": (11, 1 / 16),
        "down_bps": (12, 1 / 16),
        "in_bps": (13, 1 / 16),
        "out_bps": (14, 1 / 16),
        "in_errors_s": (15, 1024),
        "out_errors_s": (16, 1024),
        "in_discards_s": (17, 1024),
        "out_discards_s": (18, 1024),
    }


@pytest.mark.parametrize(
    ("fact", "value", "is_kept"),
    [
        ("down_bps", 0, 0),
        ("down_bps", 15, 0),
        ("down_bps", 4095, 4080),
        ("down_bps", 10_000_000, 9_990_144),
        ("down_bps", 9_953_280_000, 9_932_107_776),
        ("out_bps", 400_000_000_000, 399_431_954_432),
        ("in_errors_s", 1 / 900, 1 / 1024),
    ],
)
def test_a_rate_is_rounded_down_by_less_than_half_a_per_cent(fact: str, value: float, is_kept: float) -> None:
    assert kept(fact, value) == [is_kept]


@pytest.mark.parametrize("value", [None, -1.0, 1e300, float("nan"), float("inf")])
def test_what_is_no_rate_is_none_and_harms_no_other(value: float | None) -> None:
    assert kept("up_bps", 32, value, 64) == [32, None, 64]


def test_a_sheet_explains_the_facts_that_have_no_fixed_code() -> None:
    declared = {"humidity_pct": Fact(0, 10), "drops_s": Fact(0, 1024, is_rate=True)}
    values: dict[str, list[float | None]] = {
        "humidity_pct": [41.26, None],
        "drops_s": [0.5, 3.0],
        "onu_rx_dbm": [-20.0, None],
    }
    sheet = read_sheet(write_frame(AT, [1, 2], values, declared))
    sheet.check()
    assert set(sheet.facts) == set(values)
    assert sheet.first("humidity_pct") == [41.3, None]
    assert sheet.first("drops_s") == [0.5, 3.0]
    assert sheet.first("onu_rx_dbm") == [-20.0, None]
    assert sheet.samples("never_declared", 0) is None


def test_a_sheet_has_room_for_a_hundred_facts_that_profiles_declare() -> None:
    declared = {f"level_{number}": Fact(0, 100, 4) for number in range(100)}
    values: dict[str, list[float | None]] = {name: [place] for place, name in enumerate(declared)}
    ((_, hour),) = merge_by_place([read_sheet(write_frame(AT, [1], values, declared))], {1: "0/1/7"})
    sheet = read_sheet(hour)
    assert {name: sheet.first(name) for name in sheet.facts} == values


def test_a_declared_fact_that_is_written_in_other_steps_now_keeps_its_earlier_values() -> None:
    before = write_frame(AT, [1], {"humidity_pct": [41.3]}, {"humidity_pct": Fact(0, 10)})
    after = write_frame(AT + 1, [1], {"humidity_pct": [41.25]}, {"humidity_pct": Fact(0, 100)})
    ((_, hour),) = merge_by_place([read_sheet(each) for each in (before, after)], {1: "0/1/7"})
    samples = read_sheet(hour).samples("humidity_pct", 0)
    assert samples is not None
    assert samples.values == [41.3, 41.25]


def test_a_port_s_hour_of_traffic_takes_less_than_two_bytes_a_sample() -> None:
    noise, ids = random.Random(1), range(1, 65)
    usual = [noise.lognormvariate(8, 1) if number % 3 else noise.lognormvariate(15, 1) for number in ids]
    frames = [
        write_frame(
            AT + 300_000 * turn, ids, {"down_bps": [rate * noise.lognormvariate(0, 0.5) for rate in usual]}
        )
        for turn in range(12)
    ]
    ((_, hour),) = merge_by_place([read_sheet(frame) for frame in frames], dict.fromkeys(ids, "0/1/7"))
    assert len(hour) / (64 * 12) < 1.7


def test_a_port_s_hour_of_noisy_optics_takes_little_more_than_a_byte_a_sample() -> None:
    noise = random.Random(1)
    centres = {"onu_rx_dbm": -21.0, "onu_tx_dbm": 2.5, "olt_rx_dbm": -22.0, "temperature_c": 48.0}
    ids = range(1, 65)
    at_home = {fact: [noise.gauss(centre, 3) for _ in ids] for fact, centre in centres.items()}
    frames = [
        write_frame(
            AT + 300_000 * turn,
            ids,
            {fact: [value + noise.gauss(0, 0.2) for value in values] for fact, values in at_home.items()},
        )
        for turn in range(12)
    ]
    ((_, hour),) = merge_by_place([read_sheet(frame) for frame in frames], dict.fromkeys(ids, "0/1/7"))
    assert len(hour) / (64 * 12 * 4) < 1.3


def test_a_time_at_which_a_port_was_not_asked_costs_it_nothing() -> None:
    """A person reads one ONU between two collections: the others' samples stay neighbours."""
    ids = [1, 2, 3, 4]
    all_of_them = [write_frame(AT + 300_000 * turn, ids, {"onu_rx_dbm": [-20.0] * 4}) for turn in range(2)]
    one = write_frame(AT + 1000, [4], {"onu_rx_dbm": [-20.1]})
    places = {1: "0/1/0", 2: "0/1/0", 3: "0/1/1", 4: "0/1/1"}
    hours = {
        place: read_sheet(data)
        for place, data in merge_by_place([read_sheet(each) for each in (*all_of_them, one)], places)
    }
    first, second = (hours[place].series("onu_rx_dbm", range(2)) for place in ("0/1/0", "0/1/1"))
    assert [samples.values for samples in first] == [[-20.0, -20.0], [-20.0, -20.0]]
    assert [samples.values for samples in second] == [[-20.0, None, -20.0], [-20.0, -20.1, -20.0]]


def test_values_that_are_mere_noise_are_not_compressed_in_vain() -> None:
    noise, ids = random.Random(1), range(1, 65)

    def hour(jitter: float) -> bytes:
        frames = [
            write_frame(
                AT + 1000 * turn, ids, {"onu_rx_dbm": [-20 + noise.uniform(-jitter, jitter) for _ in ids]}
            )
            for turn in range(12)
        ]
        ((_, data),) = merge_by_place([read_sheet(frame) for frame in frames], dict.fromkeys(ids, ""))
        return data

    # Two bytes of each first value, and one of each difference.
    values = 64 * (2 + 11)
    assert values < len(hour(0.6)) < values + 150
    assert len(hour(0.02)) < 0.6 * values
