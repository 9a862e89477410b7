"""A chart's numbers: what is closed and what is not, from every port that an ONU was on."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from facho.apps.discovery.models import EventKind, Onu, OnuEvent
from facho.apps.history import selectors
from facho.apps.history.models import HistoryHour
from facho.apps.history.selectors import Series, onu_series, port_series, subject_series
from facho.apps.history.store import append_frame, close_hours
from facho.vendors import Key
from tests.factories import at
from tests.findings import an_olt
from tests.history_rows import add_frame, an_onu

pytestmark = pytest.mark.django_db
POWER = "onu_rx_dbm"


def close(clock: str) -> int:
    return close_hours(at(clock), grace=timedelta(), most=10)


def told(series: Series, fact: str = POWER) -> dict[str, float | None]:
    assert list(series.times) == sorted(set(series.times))
    clocks = [f"{moment:%H:%M}" for moment in series.moments()]
    return dict(zip(clocks, series.values[fact], strict=True))


def power_of(onu: Onu, start: str = "00:00", end: str = "23:59") -> dict[str, float | None]:
    return told(onu_series(onu, [POWER], at(start), at(end)))


def moved(onu: Onu, before: Key, after: Key) -> None:
    onu.frame, onu.slot, onu.port = after[:3]
    onu.save()
    OnuEvent.objects.create(
        olt=onu.olt, onu=onu, kind=EventKind.MOVED, at=at("10:30"), place=str(after), before=str(before)
    )


def test_closed_and_open_hours_are_one_series() -> None:
    olt = an_olt()
    onu, other = an_onu(olt, 0, 1, 7), an_onu(olt, 0, 1, 7)
    for clock, power in (("09:30", -20.0), ("10:00", None), ("10:30", -20.2), ("11:05", -20.3)):
        add_frame(olt, clock, {other.pk: -9.0, onu.pk: power})
        if clock == "10:30":
            close("10:45")
    assert HistoryHour.objects.count() == 1
    assert power_of(onu) == {"09:30": -20.0, "10:00": None, "10:30": -20.2, "11:05": -20.3}
    # From the first until before the second, inside of hours too.
    assert power_of(onu, "09:30", "10:30") == {"09:30": -20.0, "10:00": None}
    assert power_of(onu, "09:31", "10:31") == {"10:00": None, "10:30": -20.2}
    assert power_of(onu, "12:00") == {}


def test_facts_that_were_collected_apart_share_their_times() -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    add_frame(olt, "10:02", {onu.pk: 41.5}, "temperature_c")
    append_frame(olt.pk, at("10:04"), "onu", [onu.pk], {POWER: [-20.4], "temperature_c": [41.6]})
    for _ in ("open", "closed"):
        series = onu_series(onu, [POWER, "temperature_c", "bias_ma"], at("10:00"), at("11:00"))
        assert told(series) == {"10:00": -20.0, "10:02": None, "10:04": -20.4}
        assert told(series, "temperature_c") == {"10:00": None, "10:02": 41.5, "10:04": 41.6}
        assert set(told(series, "bias_ma").values()) == {None}
        close("12:00")


def test_two_parts_of_one_collection_are_one_time() -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    add_frame(olt, "10:00", {onu.pk: None, onu.pk + 1: -30.0})
    add_frame(olt, "10:00", {onu.pk: 41.5}, "temperature_c")
    assert power_of(onu) == {"10:00": -20.0}
    close("12:00")
    assert power_of(onu) == {"10:00": -20.0}


def test_an_hour_that_is_closed_while_it_is_read_is_neither_lost_nor_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    add_frame(olt, "10:05", {onu.pk: -20.1})
    read_closed = selectors._Query.closed_sheets

    def closes_first(asked: selectors._Query, places: list[str]) -> object:
        assert close("12:00") == 1
        return read_closed(asked, places)

    monkeypatch.setattr(selectors._Query, "closed_sheets", closes_first)
    assert power_of(onu) == {"10:00": -20.0, "10:05": -20.1}


def test_an_onu_that_moved_has_its_whole_history() -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    others = [an_onu(olt, 0, 1, port) for port in (7, 8, 9)]
    for hour, (before, after) in enumerate([(7, 8), (8, 9)], 9):
        add_frame(olt, f"{hour:02}:00", {onu.pk: -20.0 - hour, **{each.pk: -9.0 for each in others}})
        close(f"{hour + 1:02}:00")
        moved(onu, Key(0, 1, before, 3), Key(0, 1, after, 12))
    add_frame(olt, "11:00", {onu.pk: -31.0})
    assert set(HistoryHour.objects.values_list("place", flat=True)) == {"0/1/7", "0/1/8", "0/1/9"}
    assert power_of(onu) == {"09:00": -29.0, "10:00": -30.0, "11:00": -31.0}


@pytest.mark.parametrize("nowhere", [Key(extra="pon-1/onu-2"), Key(extra="aa:00:00:00:00:01")])
def test_one_that_had_no_port_has_its_history_too(nowhere: Key) -> None:
    olt = an_olt()
    onu = an_onu(olt, None, None, None)
    add_frame(olt, "09:00", {onu.pk: -20.0})
    close("10:00")
    moved(onu, nowhere, Key(None, 1, 2, 3))
    add_frame(olt, "10:00", {onu.pk: -21.0})
    close("11:00")
    assert power_of(onu) == {"09:00": -20.0, "10:00": -21.0}


def test_one_whose_slot_was_told_after_its_port_has_its_history_too() -> None:
    olt = an_olt()
    onu = an_onu(olt, None, None, 3)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    close("11:00")
    # That is no move.
    onu.frame, onu.slot = 0, 2
    onu.save()
    add_frame(olt, "11:30", {onu.pk: -21.0})
    close("12:00")
    assert power_of(onu) == {"10:00": -20.0, "11:30": -21.0}


def test_a_port_has_all_its_onus() -> None:
    olt = an_olt()
    stays, leaves, elsewhere = (an_onu(olt, 0, 1, port) for port in (7, 7, 8))
    add_frame(olt, "10:00", {stays.pk: -20.0, leaves.pk: -30.0, elsewhere.pk: -9.0})
    close("11:00")
    moved(leaves, Key(0, 1, 7, 1), Key(0, 1, 8, 1))
    add_frame(olt, "11:00", {stays.pk: -20.1, leaves.pk: -30.1, elsewhere.pk: -9.1})
    found = port_series(olt.pk, "0/1/7", [POWER], at("10:00"), at("12:00"))
    assert {onu: told(series) for onu, series in found.items()} == {
        stays.pk: {"10:00": -20.0, "11:00": -20.1},
        leaves.pk: {"10:00": -30.0},
    }
    assert port_series(olt.pk, "0/9/9", [POWER], at("10:00"), at("12:00")) == {}


def test_a_port_s_own_numbers() -> None:
    olt = an_olt()
    add_frame(olt, "10:00", {1: -20.0})
    for clock, online in (("10:00", 60), ("11:00", 61)):
        append_frame(olt.pk, at(clock), "port", [1, 2], {"onus_online": [online, 5], "tx_dbm": [4.5, None]})
    close("11:00")
    series = subject_series(olt.pk, 1, ["onus_online", "tx_dbm"], at("10:00"), at("12:00"))
    assert told(series, "onus_online") == {"10:00": 60, "11:00": 61}
    assert told(series, "tx_dbm") == {"10:00": 4.5, "11:00": 4.5}


@pytest.mark.parametrize("harm", [slice(0, -1), slice(3, None)])
def test_what_is_damaged_is_a_gap(harm: slice, caplog: pytest.LogCaptureFixture) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "09:00", {onu.pk: -20.0})
    add_frame(olt, "10:00", {onu.pk: -21.0})
    close("10:00")
    close("11:00")
    row = HistoryHour.objects.get(hour=at("09:00"))
    row.data = bytes(row.data)[harm]
    row.save()
    with caplog.at_level(logging.ERROR):
        assert power_of(onu) == {"10:00": -21.0}
    assert [record.action for record in caplog.records] == ["history_damaged"]  # type: ignore[attr-defined]


def test_the_value_block_may_be_damaged_alone(caplog: pytest.LogCaptureFixture) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    append_frame(olt.pk, at("10:00"), "onu", [onu.pk], {POWER: [-20.0], "distance_m": [1200]})
    close("11:00")
    row = HistoryHour.objects.get()
    row.data = bytes(row.data)[:-1] + bytes([row.data[-1] ^ 255])
    row.save()
    with caplog.at_level(logging.ERROR):
        series = onu_series(onu, [POWER, "distance_m"], at("10:00"), at("11:00"))
    assert told(series) == {"10:00": -20.0}
    assert [record.action for record in caplog.records] == ["history_damaged"]  # type: ignore[attr-defined]
