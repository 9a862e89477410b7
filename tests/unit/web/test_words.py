"""What the pages say of reasons, tasks and events."""

from collections.abc import Iterator

import pytest
from django.utils import translation

from facho.apps.discovery.store import StoredOnus
from facho.apps.execution_coordinator.texts import WHY_LOST, lost_in_words, missed_in_words, why_lost
from facho.core.delay import Why
from facho.core.event_types import EventType
from facho.core.lost_slots import LostSlots
from facho.core.quota import ABORTED, FAILED, LATE, OTHER
from facho.core.reasons import text_reason
from facho.core.violation_report import TaskReport, reasons_of, tasks_of
from facho.web.words.events import EVENTS
from facho.web.words.executions import FIGURES


@pytest.fixture(autouse=True)
def _in_english() -> Iterator[None]:
    with translation.override("en"):
        yield


def task(name: str, completed: int, severity: str | None = "HIGH") -> TaskReport:
    return TaskReport(name, 4, completed, 0, 4 - completed, completed * 25.0, severity, ())


def test_every_reason_and_every_event_has_its_words() -> None:
    assert set(WHY_LOST) == {*Why, FAILED, ABORTED, LATE, OTHER}
    assert set(EVENTS) == set(EventType)


def test_every_count_of_an_execution_has_its_words() -> None:
    assert set(StoredOnus().counts()) <= set(FIGURES)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (
            LostSlots("olt_busy", text_reason("discovery"), 8, 2400),
            "OLT busy with discovery, 8 slots, 40 min",
        ),
        (LostSlots("olt_busy", text_reason(""), 1, 300), "OLT busy, 1 slot, 5 min"),
        (LostSlots("failed", text_reason("no answer"), 2, 7200), "execution failed: no answer, 2 slots, 2 h"),
        (LostSlots("of a later version", text_reason("x"), 1, 30), "of a later version: x, 1 slot, 30 s"),
    ],
)
def test_a_reason_is_a_line(reason: LostSlots, said: str) -> None:
    assert lost_in_words(reason) == said


def test_a_reason_is_told_in_spanish_too() -> None:
    with translation.override("es"):
        assert lost_in_words(LostSlots("olt_busy", text_reason("discovery"), 8, 2400)) == (
            "OLT ocupada con discovery, 8 turnos, 40 min"
        )
        assert why_lost(LostSlots("late")) == "terminó después de cerrada la hora"


def test_what_was_missed_is_told_in_a_few_words() -> None:
    assert missed_in_words([task("a", 0), task("b", 2), task("c", 4, None)]) == "a 0 of 4, b 2 of 4"
    assert missed_in_words([task(name, 1) for name in "abcde"]) == "a 1 of 4, b 1 of 4, c 1 of 4 and 2 more"


def test_a_report_has_the_worst_task_and_the_largest_reason_first() -> None:
    small, large = LostSlots("failed", text_reason("x"), 1, 300), LostSlots("suspended", count=3, lost_s=900)
    figures = {"required": 4, "failed": 0, "skipped": 0}
    report = {
        "tasks": [
            {**figures, "task_type": "fine", "completed": 4, "percent": 100.0, "severity": None},
            {**figures, "task_type": "bad", "completed": 1, "percent": 25.0, "severity": "HIGH"},
        ],
        "reasons": [small.as_json(), large.as_json()],
    }
    assert [each.task_type for each in tasks_of(report)] == ["bad", "fine"]
    assert reasons_of(report) == [large, small]
    assert (list(tasks_of({})), list(reasons_of({}))) == ([], [])
