"""One ONU in front of a terminal: found by what it is called, shown, and its numbers over time."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from facho.apps.discovery.models import EventKind, Onu, OnuEvent
from facho.apps.discovery.onu_search import onus_named
from facho.apps.discovery.selectors import interface_of
from facho.apps.discovery.store import note_collected
from facho.apps.extras import write_extras
from facho.apps.hosts.models import Olt
from facho.cli.onu import charts, onu_named, show
from facho.config import Config
from facho.engine.commands.errors import CommandError
from tests.factories import at
from tests.findings import an_olt
from tests.history_rows import add_frame

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
SERIAL = "HWTC1234ABCD"
MAC = "a0:b1:c2:d3:e4:f5"


def make(olt: Olt, place: tuple[int | None, int | None, int | None, int], **columns: Any) -> Onu:
    frame, slot, port, onu = place
    columns = {"first_seen": at("08:00"), "last_seen": at("09:00"), **columns}
    address = f"{frame}/{slot}/{port}/{onu}"
    return Onu.objects.create(
        olt=olt, address=address, frame=frame, slot=slot, port=port, onu_id=onu, **columns
    )


@pytest.mark.parametrize(
    "name",
    [
        SERIAL, "hwtc1234abcd", "HWTC-1234ABCD", "485754431234ABCD", MAC, "A0-B1-C2-D3-E4-F5",
        "a0b1.c2d3.e4f5", "0/1/7:3",
    ],
)  # fmt: skip
def test_an_onu_is_found_in_every_form_in_which_it_is_called(name: str) -> None:
    olt = an_olt()
    onu = make(olt, (0, 1, 7, 3), serial=SERIAL, mac=MAC)
    make(olt, (0, 1, 7, 4), serial="HWTC00000001", mac="a0:b1:c2:d3:e4:f6")
    assert onus_named(name, olt) == [onu]
    assert onus_named(name) == ([] if ":3" in name else [onu])


def test_a_box_without_slots_has_interfaces_without_them() -> None:
    olt = an_olt()
    onu = make(olt, (None, None, 7, 3))
    slotted = make(olt, (None, 2, 7, 3))
    assert (onus_named("7:3", olt), onus_named("2/7:3", olt)) == ([onu], [slotted])


def test_an_onu_without_a_number_on_its_port_is_called_by_its_name_there() -> None:
    olt = an_olt()
    onu, other = (
        Onu.objects.create(
            olt=olt, address=f" {name}", port=3, extra=name, first_seen=at("08:00"), last_seen=at("09:00")
        )
        for name in ("UBNT20731888", "UBNT20731889")
    )
    assert [interface_of(each) for each in (onu, other)] == ["3:UBNT20731888", "3:UBNT20731889"]
    for name in ("3:UBNT20731888", "UBNT20731888", " 3:UBNT20731888 "):
        assert onus_named(name, olt) == [onu]
    assert onus_named("1:UBNT20731888", olt) == onus_named("3", olt) == []


def test_an_onu_without_a_port_is_called_by_its_number() -> None:
    olt = an_olt()
    onu = make(olt, (None, None, None, 316), extra="2000001")
    make(olt, (None, None, 1, 316))
    assert interface_of(onu) == "316"
    assert onus_named("316", olt) == onus_named("2000001", olt) == [onu]


def test_who_is_gone_is_meant_only_if_nobody_else_is() -> None:
    olt, other = an_olt(), an_olt("other")
    gone = make(olt, (0, 1, 1, 1), serial=SERIAL, presence="absent")
    assert onus_named(SERIAL) == [gone]
    here = make(other, (0, 1, 1, 1), serial=SERIAL)
    assert onus_named(SERIAL) == [here]


@pytest.mark.parametrize(
    ("name", "olt", "sentence"),
    [
        ("1:1", None, "'1:1' is an interface of every OLT: say which with --olt"),
        (SERIAL, None, f"2 ONUs are '{SERIAL}': {SERIAL} (a 1:1), {SERIAL} (b 1:1): say which with --olt"),
        ("HWTC99", None, "with the serial, MAC or interface 'HWTC99'; did you mean HWTC99990000 (b 1:2)?"),
        ("nobody", "a", "there is no ONU with the serial, MAC or interface 'nobody' on a"),
        ("9:9", "a", "there is no ONU with the serial, MAC or interface '9:9' on a"),
    ],
)
def test_who_cannot_be_told_apart_is_named(name: str, olt: str | None, sentence: str) -> None:
    for each in ("a", "b"):
        make(an_olt(each), (None, None, 1, 1), serial=SERIAL)
    make(Olt.objects.get(name="b"), (None, None, 1, 2), serial="HWTC99990000")
    with pytest.raises(CommandError) as refused:
        onu_named(name, olt)
    assert sentence in refused.value.message
    assert onu_named(SERIAL, "b").olt.name == "b"


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_an_onu_is_shown_with_when_it_was_asked_and_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    olt = an_olt()
    onu = make(olt, (0, 1, 7, 3), serial=SERIAL, state="los", onu_rx_dbm=-21.5, plan="100M", raw_index="7.3")
    note_collected(olt.pk, ["state", "get_state", "port.state"], at("10:00"))
    for minute in range(25):
        OnuEvent.objects.create(
            olt=olt, onu=onu, kind=EventKind.ONLINE, at=at(f"09:{minute:02}"), place="0/1/7:3"
        )
    OnuEvent.objects.create(olt=olt, onu=onu, kind=EventKind.OFFLINE, at=at("09:59"), cause="power_off")
    show(SERIAL, as_json=True)
    told = json.loads(shown(capsys))
    assert (told["interface"], told["state"], told["rx_dbm"], told["plan"]) == (
        "0/1/7:3",
        "los",
        -21.5,
        "100M",
    )
    assert (told["first_seen"], told["presence"]) == (at("08:00").isoformat(), "present")
    assert told["collected"] == {"state": at("10:00").isoformat()}
    assert len(told["events"]) == 20
    assert (told["events"][0]["event"], told["events"][0]["cause"]) == ("offline", "power_off")
    show("0/1/7:3", "olt")
    text = shown(capsys)
    for word in (SERIAL, "Last collected", "Events", "power_off", "100M"):
        assert word in text


def test_an_onu_is_shown_with_the_latest_numbers_that_only_its_history_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("facho.cli.onu.database_now", lambda: at("12:00"))
    olt = an_olt()
    onu = make(olt, (0, 1, 7, 3), serial=SERIAL)
    add_frame(olt, "11:20", {onu.pk: 3.3}, fact="voltage_v")
    add_frame(olt, "11:30", {onu.pk: 16_773_120.0}, fact="down_bps")
    show(SERIAL, as_json=True)
    assert json.loads(shown(capsys))["latest"] == {
        "voltage_v": {"value": 3.3, "at": at("11:20").isoformat()},
        "down_bps": {"value": 16_773_120.0, "at": at("11:30").isoformat()},
    }
    show(SERIAL)
    text = shown(capsys)
    for words in ("voltage_v", "3.3", "16.8 Mbit/s"):
        assert words in text, words


def test_customer_ports_with_different_facts_and_dates_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    unis = {"1": {"state": "up", "speed": "1000"}, "2": {"state": "down"}}
    extras = write_extras(
        {"last_up": "2026-11-16T02:12:33+00:00", "last_down": "2026-11-16 02:02", "unis": unis}
    )
    make(an_olt(), (0, 1, 7, 3), serial=SERIAL, state="online", extras=extras)
    show(SERIAL)
    text = shown(capsys)
    for words in ("Customer ports", "1000", "down", "2026-11-16 02:12:33", "2026-11-16 02:02 "):
        assert words in text, words
    assert "offline" not in text


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Onu:
    """Two hours of power, every five minutes, with a gap of half an hour."""
    monkeypatch.setattr(charts, "database_now", lambda: at("12:00"))
    olt = an_olt()
    onu = make(olt, (0, 1, 7, 3), serial=SERIAL)
    for number in range(24):
        clock = f"{at('10:00') + number * timedelta(minutes=5):%H:%M}"
        if not 6 <= number < 12:
            add_frame(olt, clock, {onu.pk: -20.0 - number / 10})
    add_frame(olt, "11:59", {onu.pk: None, onu.pk + 1: -9.0})
    return onu


def asked(*facts: str, since: str = "24h", until: str = "", **how: bool) -> None:
    charts.show_history(
        onu_named(SERIAL, None), facts, since, until, **{"as_json": False, "as_csv": False, **how}
    )


def test_a_script_gets_every_point(measured: Onu, capsys: pytest.CaptureFixture[str]) -> None:
    asked(as_json=True)
    told = json.loads(shown(capsys))
    assert (told["olt"], told["interface"], told["serial"]) == ("olt", "0/1/7:3", SERIAL)
    assert told["since"] == (at("12:00") - timedelta(hours=24)).isoformat()
    assert told["points"][0] == {"at": at("10:00").isoformat(), "onu_rx_dbm": -20.0}
    assert (len(told["points"]), told["points"][-1]["onu_rx_dbm"]) == (19, None)
    asked("onu_rx_dbm", "bias_ma", since="2025-06-10T11:00+00:00", until="30m", as_csv=True)
    rows = list(csv.DictReader(shown(capsys).splitlines()))
    assert [row["at"][11:16] for row in rows] == ["11:00", "11:05", "11:10", "11:15", "11:20", "11:25"]
    assert (rows[0]["onu_rx_dbm"], rows[0]["bias_ma"]) == ("-21.2", "")


def test_a_person_gets_a_line_and_a_table(
    measured: Onu, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    asked(since="2h")
    few = shown(capsys)
    assert [word for word in ("-22.30", "-20.00", "█", "▁") if word not in few] == []
    assert "temperature_c" not in few
    assert few.count("2025-06-10") == 19
    monkeypatch.setattr(charts, "_MOST_ROWS", 10)
    asked(since="2h")
    many = shown(capsys)
    assert many.count("2025-06-10") == 2
    assert "onu_rx_dbm min" in many
    asked(since="1m")
    assert shown(capsys) == "There are no values in this time.\n"


def test_the_hour_that_comes_twice_in_autumn_is_two_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = ZoneInfo("America/Santiago")
    monkeypatch.setattr(charts, "current", lambda: Config(time_zone=zone))
    first = datetime(2026, 4, 5, 1, 30, tzinfo=UTC)
    moments = [first + number * timedelta(hours=1) for number in range(4)]
    found = charts.History(first, moments[-1], moments, {"onu_rx_dbm": [-20.0, -21.0, -22.0, -23.0]})
    table = charts._spans_table(found)
    assert [cell[11:] for cell in table.columns[0].cells if isinstance(cell, str)] == [
        "22:00", "23:00", "23:00", "00:00"
    ]  # fmt: skip
    assert list(table.columns[1].cells) == ["-20.00", "-21.00", "-22.00", "-23.00"]


@pytest.mark.parametrize(
    ("how", "field", "sentence"),
    [
        ({"since": "soon"}, "since", "'soon' is no time"),
        ({"since": "1h", "until": "2h"}, "since", "not before the end"),
        ({"until": "2026-99-01"}, "until", "is no time"),
    ],
)
def test_times_that_make_no_sense_are_refused(
    measured: Onu, how: dict[str, Any], field: str, sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        asked(**how)
    assert refused.value.field == field
    with pytest.raises(CommandError, match="'state' has no history"):
        asked("state")
