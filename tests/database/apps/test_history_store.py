"""Numbers are kept as frames, and hours that are over are put in order by port."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import DataError, OperationalError

from facho.apps.history import store
from facho.apps.history.facts import declared_facts, history_facts
from facho.apps.history.models import HistoryFrame, HistoryHour, Subject
from facho.apps.history.store import (
    append_frame,
    close_hours,
    insert_past_frames,
    make_frame,
    milliseconds,
    places_of_olt,
)
from facho.apps.hosts.models import Olt
from facho.core.frames import read_sheet
from facho.core.history_facts import FACTS
from tests.factories import at
from tests.findings import an_olt
from tests.history_rows import add_frame, an_onu

pytestmark = pytest.mark.django_db
GRACE = timedelta(minutes=10)


def close(clock: str, most: int = 10) -> int:
    return close_hours(at(clock), grace=GRACE, most=most)


def hours(olt: Olt, subject: str = Subject.ONU) -> dict[tuple[str, str], dict[int, list[float | None]]]:
    """By place and hour: the power, or the ONUs online, of each subject."""
    fact = "onu_rx_dbm" if subject == Subject.ONU else "onus_online"
    found = {}
    for row in HistoryHour.objects.filter(olt=olt, subject=subject):
        sheet = read_sheet(bytes(row.data))
        values = [list(samples.values) for samples in sheet.series(fact, range(len(sheet.ids)))]
        found[row.place, f"{row.hour:%H:%M}"] = dict(zip(sheet.ids, values, strict=True))
    return found


def test_an_hour_becomes_a_row_for_each_port() -> None:
    olt = an_olt()
    one, other = an_onu(olt, 0, 1, 7), an_onu(olt, None, 2, 1)
    add_frame(olt, "10:00", {one.pk: -20.0, other.pk: -25.0})
    add_frame(olt, "10:55", {other.pk: -25.5, one.pk: -20.1})
    assert close("11:10") == 1
    assert hours(olt) == {
        ("0/1/7", "10:00"): {one.pk: [-20.0, -20.1]},
        ("2/1", "10:00"): {other.pk: [-25.0, -25.5]},
    }
    assert not HistoryFrame.objects.exists()


def test_collections_of_the_past_are_stored_in_closed_hours_and_the_running_one_stays_open() -> None:
    olt = an_olt()
    one, other = an_onu(olt, 0, 1, 7), an_onu(olt, None, 2, 1)
    ids = [one.pk, other.pk]
    frames = [
        frame
        for clock, powers in (("09:00", [-20.0, -25.0]), ("09:30", [-20.1, None]), ("10:00", [-20.2, -25.2]))
        for frame in make_frame(olt.pk, at(clock), Subject.ONU, ids, {"onu_rx_dbm": powers})
    ]
    insert_past_frames(frames, at("10:05"))
    assert hours(olt) == {
        ("0/1/7", "09:00"): {one.pk: [-20.0, -20.1]},
        ("2/1", "09:00"): {other.pk: [-25.0]},
    }
    assert [frame.at for frame in HistoryFrame.objects.all()] == [at("10:00")]


def test_collections_of_the_past_are_stored_at_the_port_where_an_onu_was_then() -> None:
    olt = an_olt()
    moved = an_onu(olt, 0, 1, 7)
    frames = make_frame(olt.pk, at("09:00"), Subject.ONU, [moved.pk], {"onu_rx_dbm": [-20.0]})
    insert_past_frames(frames, at("10:05"), {moved.pk: "0/1/3"})
    assert hours(olt) == {("0/1/3", "09:00"): {moved.pk: [-20.0]}}


def test_an_hour_is_left_open_for_what_comes_late() -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:59:59.999", {onu.pk: -20.0})
    add_frame(olt, "11:00", {onu.pk: -21.0})
    assert close("11:09:59") == 0
    assert close("11:10") == 1
    assert close("11:59") == 0
    assert hours(olt) == {("0/1/7", "10:00"): {onu.pk: [-20.0]}}
    assert HistoryFrame.objects.get().at == at("11:00")


def test_onus_without_a_port_are_kept_by_their_numbers() -> None:
    olt = an_olt()
    nameless = an_onu(olt, None, None, None)
    forgotten = nameless.pk + 64
    add_frame(olt, "10:00", {nameless.pk: -20.0, forgotten: -21.0})
    close("11:30")
    assert hours(olt) == {
        (f"#{nameless.pk // 64}", "10:00"): {nameless.pk: [-20.0]},
        (f"#{forgotten // 64}", "10:00"): {forgotten: [-21.0]},
    }


def test_the_ports_of_an_olt_are_kept_together() -> None:
    olt = an_olt()
    append_frame(olt.pk, at("10:00"), "port", [1, 2], {"onus_online": [60, 3], "onu_rx_dbm": [1, 2]})
    close("11:30")
    assert hours(olt, Subject.PORT) == {("", "10:00"): {1: [60], 2: [3]}}
    assert read_sheet(bytes(HistoryHour.objects.get().data)).facts == ["onus_online"]


def test_what_says_nothing_is_not_kept() -> None:
    olt = an_olt()
    append_frame(olt.pk, at("10:00"), "onu", [1, 2], {"onu_rx_dbm": [None, None], "state": [1, 2]})
    append_frame(olt.pk, at("10:00"), "onu", [], {"onu_rx_dbm": []})
    assert not HistoryFrame.objects.exists()


def test_every_fact_with_a_history_can_be_written() -> None:
    assert {fact for subject in Subject for fact in history_facts(subject)} == set(FACTS)
    assert not any(map(declared_facts, Subject))


def test_what_comes_late_is_added_to_its_hour_where_it_was() -> None:
    olt = an_olt()
    stays, moves = an_onu(olt, 0, 1, 7), an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {stays.pk: -20.0, moves.pk: -30.0})
    close("11:10")
    moves.port = 8
    moves.save()
    add_frame(olt, "10:30", {stays.pk: -20.5, moves.pk: -30.5})
    add_frame(olt, "10:45", {stays.pk: -20.7})
    assert close("12:00") == 1
    assert hours(olt) == {
        ("0/1/7", "10:00"): {stays.pk: [-20.0, -20.5, -20.7], moves.pk: [-30.0, None, None]},
        ("0/1/8", "10:00"): {moves.pk: [-30.5]},
    }


def test_one_turn_does_so_much_and_the_longest_open_come_first() -> None:
    olts = [an_olt(name) for name in ("a", "b", "c")]
    for olt, clock in zip(olts, ("10:20", "08:20", "09:20"), strict=True):
        add_frame(olt, clock, {an_onu(olt, 0, 1, 7).pk: -20.0})
    assert close("12:00", most=2) == 2
    assert [bool(hours(olt)) for olt in olts] == [False, True, True]
    assert close("12:00", most=2) == 1
    assert close("12:00", most=2) == 0


Meanwhile = Callable[[], object]


def done_before_writing(monkeypatch: pytest.MonkeyPatch, meanwhile: Meanwhile) -> None:
    """Once: somebody else does this after we have read and before we write."""
    write = store._write

    def late(closed: store._ClosedHour) -> None:
        monkeypatch.setattr(store, "_write", write)
        meanwhile()
        write(closed)

    monkeypatch.setattr(store, "_write", late)


def test_who_closes_an_hour_second_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    done_before_writing(monkeypatch, lambda: close("11:10"))
    assert close("11:10") == 0
    assert hours(olt) == {("0/1/7", "10:00"): {onu.pk: [-20.0]}}


def test_two_that_bring_late_values_at_once_lose_none(monkeypatch: pytest.MonkeyPatch) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    close("11:10")
    add_frame(olt, "10:10", {onu.pk: -20.1})

    def other_closes_its_own() -> None:
        """Frames that came after we had looked."""
        ours = HistoryFrame.objects.get()
        HistoryFrame.objects.filter(pk=ours.pk).update(at=at("15:00"))
        add_frame(olt, "10:20", {onu.pk: -20.2})
        close("12:00")
        HistoryFrame.objects.filter(pk=ours.pk).update(at=at("10:10"))

    done_before_writing(monkeypatch, other_closes_its_own)
    assert close("12:00") == 0
    assert close("12:00") == 1
    assert hours(olt) == {("0/1/7", "10:00"): {onu.pk: [-20.0, -20.1, -20.2]}}


def test_who_is_killed_in_the_middle_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})

    def dies(_closed: store._ClosedHour) -> list[HistoryHour]:
        raise OperationalError("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_hour_rows", dies)
        with pytest.raises(OperationalError):
            close("11:10")
    assert HistoryFrame.objects.count() == 1
    assert close("11:10") == 1
    assert hours(olt) == {("0/1/7", "10:00"): {onu.pk: [-20.0]}}


@pytest.mark.parametrize("trouble", [ZeroDivisionError, DataError])
def test_what_is_wrong_with_one_olt_keeps_no_other_open(
    trouble: type[Exception], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = an_olt("bad"), an_olt("good")
    for olt in (bad, good):
        add_frame(olt, "10:00", {an_onu(olt, 0, 1, 7).pk: -20.0})

    def some_places(olt_id: int) -> object:
        if olt_id == bad.pk:
            raise trouble
        return places_of_olt(olt_id)

    monkeypatch.setattr(store, "places_of_olt", some_places)
    with caplog.at_level(logging.ERROR):
        assert close("11:10") == 1
    assert hours(good)
    assert [(record.action, record.olt_id) for record in caplog.records] == [  # type: ignore[attr-defined]
        ("hour_not_closed", bad.pk)
    ]


def spoil(row: HistoryFrame | HistoryHour) -> bytes:
    row.data = bytes(row.data)[:-1] + bytes([row.data[-1] ^ 255])
    row.save()
    return bytes(row.data)


def test_a_damaged_frame_is_lost_alone(caplog: pytest.LogCaptureFixture) -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    for clock, power in (("10:00", -20.0), ("10:05", -20.1), ("10:10", -20.2)):
        add_frame(olt, clock, {onu.pk: power})
    spoil(HistoryFrame.objects.get(at=at("10:05")))
    with caplog.at_level(logging.ERROR):
        assert close("11:10") == 1
    assert hours(olt) == {("0/1/7", "10:00"): {onu.pk: [-20.0, -20.2]}}
    assert not HistoryFrame.objects.exists()
    assert [record.action for record in caplog.records] == ["history_damaged"]  # type: ignore[attr-defined]


def test_an_hour_that_cannot_be_read_is_left_for_who_can() -> None:
    olt = an_olt()
    onu = an_onu(olt, 0, 1, 7)
    add_frame(olt, "10:00", {onu.pk: -20.0})
    close("11:10")
    spoiled = spoil(HistoryHour.objects.get())
    add_frame(olt, "10:05", {onu.pk: -20.1})
    assert close("11:30") == 1
    assert bytes(HistoryHour.objects.get().data) == spoiled
    assert not HistoryFrame.objects.exists()


def test_an_olt_takes_its_history_with_it() -> None:
    olt = an_olt()
    add_frame(olt, "10:00", {an_onu(olt, 0, 1, 7).pk: -20.0})
    close("11:10")
    add_frame(olt, "11:00", {1: -20.0})
    olt.delete()
    assert not HistoryFrame.objects.exists()
    assert not HistoryHour.objects.exists()


def test_a_time_is_kept_to_the_millisecond() -> None:
    olt = an_olt()
    add_frame(olt, "10:00:00.123987", {1: -20.0})
    frame = HistoryFrame.objects.get()
    assert frame.at == at("10:00:00.123")
    assert read_sheet(bytes(frame.data)).times == [milliseconds(frame.at)]
