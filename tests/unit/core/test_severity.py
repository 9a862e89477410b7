"""How bad a missed quota is, at the edges."""

from __future__ import annotations

import pytest

from facho.core.severity import Severity, severity_of, worst_severity

LOW, MEDIUM, HIGH, CRITICAL = Severity


@pytest.mark.parametrize(
    ("required", "completed", "severity"),
    [
        (4, 0, CRITICAL),
        (100, 24, CRITICAL),
        (4, 1, HIGH),
        (100, 25, HIGH),
        (4, 2, HIGH),
        (100, 50, HIGH),
        (100, 51, MEDIUM),
        (100, 65, MEDIUM),
        (20, 13, MEDIUM),
        (100, 66, LOW),
        (100, 79, LOW),
        (100, 80, None),
        (12, 9, LOW),
        (12, 10, None),
        (1, 1, None),
    ],
)
def test_severity_by_what_was_done(required: int, completed: int, severity: Severity | None) -> None:
    assert severity_of(required, completed) == severity


def test_who_asks_for_less_is_told_later() -> None:
    assert severity_of(100, 60, kept=60.0) is None
    assert severity_of(100, 79, kept=90.0) == LOW


def test_the_worst_of_the_tasks_is_that_of_the_olt() -> None:
    assert worst_severity([LOW, None, HIGH, MEDIUM]) == HIGH
    assert worst_severity([CRITICAL, HIGH]) == CRITICAL
    assert worst_severity([None, None]) is None
    assert worst_severity([]) is None
