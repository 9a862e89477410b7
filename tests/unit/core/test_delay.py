"""Whether a run was late, and why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.delay import Blocker, Late, Why, is_delayed, why_late

SLOT: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return SLOT + timedelta(seconds=seconds)


def blocker(number: int, since: float, until: float | None) -> Blocker:
    return Blocker(number, f"job {number}", after(since), None if until is None else after(until))


@pytest.mark.parametrize(
    ("seconds", "delayed"), [(-1, False), (0, False), (5, False), (5.001, True), (600, True)]
)
def test_a_node_is_delayed_past_five_seconds(seconds: float, delayed: bool) -> None:
    assert is_delayed(SLOT, after(seconds)) is delayed


def reason(
    queued: float, started: float, blockers: list[Blocker], *, retried: bool = False
) -> tuple[Why, int | None] | None:
    late = why_late(
        slot=SLOT, queued_at=after(queued), started_at=after(started), retried=retried, blockers=blockers
    )
    if late is None:
        return None
    return late.why, late.blocker.execution_id if late.blocker else None


@pytest.mark.parametrize(
    ("queued", "started", "blockers", "expected"),
    [
        pytest.param(0, 5, [blocker(1, 0, 5)], None, id="not late, whatever held it"),
        pytest.param(1, 60, [], (Why.POLLERS_BUSY, None), id="nothing held the OLT: no poller was free"),
        pytest.param(50, 60, [], (Why.ENGINE_STOPPED, None), id="queued long after its slot"),
        pytest.param(1, 60, [blocker(1, -30, 59)], (Why.OLT_BUSY, 1), id="another one ran meanwhile"),
        pytest.param(1, 60, [blocker(1, -30, None)], (Why.OLT_BUSY, 1), id="it runs still, by its row"),
        pytest.param(
            1, 60, [blocker(1, -30, 0)], (Why.POLLERS_BUSY, None), id="one that had ended is no reason"
        ),
        pytest.param(
            1, 60, [blocker(1, -30, 20)], (Why.POLLERS_BUSY, None), id="a poller was waited for longer"
        ),
        pytest.param(
            1, 60, [blocker(1, 0, 20), blocker(2, 20, 55)], (Why.OLT_BUSY, 2), id="of two the longer is named"
        ),
        pytest.param(
            0,
            60,
            [blocker(1, 0, 16), blocker(2, 20, 37)],
            (Why.OLT_BUSY, 2),
            id="together they held it longer than a poller was missing",
        ),
        pytest.param(
            0, 60, [blocker(1, 0, 30)], (Why.OLT_BUSY, 1), id="half and half: the OLT, since it can be named"
        ),
        pytest.param(
            30,
            60,
            [blocker(1, 0, 60)],
            (Why.OLT_BUSY, 1),
            id="what held it before it was queued counts as stop",
        ),
        pytest.param(
            40,
            60,
            [blocker(1, 0, 60)],
            (Why.ENGINE_STOPPED, None),
            id="the engine was stopped for most of it",
        ),
        pytest.param(-5, 60, [blocker(1, 0, 50)], (Why.OLT_BUSY, 1), id="queued ahead of its slot"),
        pytest.param(
            -50,
            60,
            [blocker(1, -50, 10)],
            (Why.POLLERS_BUSY, None),
            id="what held it before its slot is no reason",
        ),
        pytest.param(
            0, 60, [blocker(1, 40, 120)], (Why.POLLERS_BUSY, None), id="nor what held it after the start"
        ),
    ],
)
def test_the_longest_part_of_the_wait_is_the_reason(
    queued: float, started: float, blockers: list[Blocker], expected: tuple[Why, int | None] | None
) -> None:
    assert reason(queued, started, blockers) == expected


def test_a_retry_is_late_because_it_is_one() -> None:
    assert reason(0, 120, [blocker(1, 0, 110)], retried=True) == (Why.RETRYING, None)
    assert reason(0, 4, [], retried=True) is None


def test_the_whole_delay_is_told_with_the_reason() -> None:
    held_by = blocker(8, -10, 90)
    late = why_late(slot=SLOT, queued_at=after(1), started_at=after(90), retried=False, blockers=[held_by])
    assert late == Late(Why.OLT_BUSY, held_by, timedelta(seconds=90))


def test_when_a_run_counts_as_late_is_a_setting() -> None:
    late = why_late(
        slot=SLOT,
        queued_at=after(0),
        started_at=after(30),
        retried=False,
        blockers=[],
        after=timedelta(seconds=30),
    )
    assert late is None


def test_reasons_are_kept_in_lower_case() -> None:
    assert all(why == why.name.lower() for why in Why)
