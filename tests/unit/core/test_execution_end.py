"""How an execution ends after an attempt, and what follows for its node, its OLT and its quotas."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from facho.core.delay import Why
from facho.core.execution_end import (
    AttemptEnd,
    CollectionEnd,
    CollectionSummary,
    EndState,
    NodeBefore,
    OltReachability,
    ReplanReason,
    Suspension,
    decide_end,
    end_failed_attempt,
    judge_olt,
    probe_after,
)
from facho.core.quota import Outcome, SlotOutcome
from facho.core.reasons import text_reason

NOW: Final = datetime(2025, 6, 10, 10, 0, tzinfo=UTC)
DELAY: Final = timedelta(seconds=120)
MINUTE: Final = timedelta(minutes=1)
NODE: Final = NodeBefore(max_attempts=3, retry_delay=DELAY)
AWAY: Final = OltReachability(away_since=NOW - MINUTE)
RETRY: Final = AttemptEnd(EndState.WAITING, NOW + DELAY)
OVER: Final = AttemptEnd(EndState.FAILED)

COMPLETED: Final = SlotOutcome(Outcome.COMPLETED, 2.0)
FAILED: Final = SlotOutcome(Outcome.FAILED, 1.0, "failed", text_reason("timeout"))
SKIPPED: Final = SlotOutcome(Outcome.SKIPPED, why=Why.CPU_HIGH)


def collected(*outcomes: SlotOutcome, silent: bool = False, was_asked: bool = True) -> CollectionSummary:
    """The parts belong to the nodes 1, 2, 3..."""
    return CollectionSummary(list(enumerate(outcomes, start=1)), was_asked=was_asked, silent=silent)


def decide(
    summary: CollectionSummary,
    *,
    number: int = 1,
    node: NodeBefore | None = NODE,
    olt: OltReachability = OltReachability(),  # noqa: B008
    is_collection: bool = True,
) -> CollectionEnd:
    return decide_end(summary, number, node, olt, NOW, is_collection=is_collection, emergency_failures=5)


@pytest.mark.parametrize(
    ("number", "node", "expected"),
    [
        pytest.param(1, NODE, RETRY, id="the first of three failed"),
        pytest.param(2, NODE, RETRY, id="the second of three failed"),
        pytest.param(1, None, OVER, id="it has no node"),
        pytest.param(1, replace(NODE, may_queue=False), OVER, id="its node was switched off meanwhile"),
        pytest.param(1, replace(NODE, is_suspended=True), OVER, id="its node was suspended meanwhile"),
        pytest.param(1, replace(NODE, is_olt_suspended=True), OVER, id="its OLT was suspended meanwhile"),
        pytest.param(3, replace(NODE, is_suspended=True), OVER, id="the last one of a suspended node"),
    ],
)
def test_another_attempt_follows_or_none(number: int, node: NodeBefore | None, expected: AttemptEnd) -> None:
    assert end_failed_attempt(number, node, NOW) == expected


@pytest.mark.parametrize("number", [3, 5])
@pytest.mark.parametrize(
    ("silent", "suspension", "minutes"), [(False, Suspension.NODE, 5), (True, Suspension.OLT, 60)]
)
def test_the_last_attempt_suspends_the_node_or_a_silent_olt(
    number: int, silent: bool, suspension: Suspension, minutes: int
) -> None:
    """Also when the limit was lowered meanwhile. Each is probed as rarely as its own failed probes say."""
    node = replace(NODE, failed_probes=1, failed_olt_probes=9)
    expected = AttemptEnd(EndState.FAILED, suspension=suspension, probe_in=timedelta(minutes=minutes))
    assert end_failed_attempt(number, node, NOW, silent=silent) == expected


@pytest.mark.parametrize(("failures", "suspension"), [(0, None), (1, Suspension.NODE)])
def test_an_attempt_whose_process_died_suspends_its_node_only_the_second_time(
    failures: int, suspension: Suspension | None
) -> None:
    node = replace(NODE, max_attempts=1, failures_in_a_row=failures)
    assert end_failed_attempt(1, node, NOW, lost=True).suspension is suspension


@pytest.mark.parametrize(
    ("failed_probes", "minutes"), [(0, 1), (1, 5), (2, 15), (3, 60), (4, 60), (1000, 60)]
)
def test_a_silent_device_is_probed_ever_more_rarely_and_then_hourly(failed_probes: int, minutes: int) -> None:
    assert probe_after(failed_probes) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("master", "state"),
    [(COMPLETED, EndState.SUCCESS), (SKIPPED, EndState.ABORTED), (FAILED, EndState.WAITING)],
)
def test_the_part_of_the_master_decides_how_the_execution_ends(master: SlotOutcome, state: EndState) -> None:
    assert decide(collected(master, FAILED)).attempt.state is state
    assert decide(collected(master, COMPLETED)).attempt.state is state


def test_each_part_counts_as_what_it_is() -> None:
    end = decide(collected(COMPLETED, FAILED, SKIPPED))
    assert end.outcomes == {1: COMPLETED, 2: FAILED, 3: SKIPPED}


def test_what_the_family_does_not_have_is_completed_and_a_node_without_a_part_was_suspended() -> None:
    end = decide(replace(collected(COMPLETED), unsupported=[7]))
    assert end.outcomes == {1: COMPLETED, 7: SlotOutcome(Outcome.COMPLETED)}
    assert end.otherwise == SlotOutcome(Outcome.SKIPPED, why=Why.SUSPENDED)


def test_a_part_that_no_node_has_counts_for_nothing() -> None:
    assert decide(CollectionSummary([(None, COMPLETED)])).outcomes == {}


def test_nothing_is_counted_while_another_attempt_follows() -> None:
    assert decide(collected(FAILED), number=2).outcomes is None
    assert decide(collected(FAILED), number=3).outcomes == {1: FAILED}


@pytest.mark.parametrize(
    ("summary", "before", "reachable", "replan"),
    [
        pytest.param(collected(COMPLETED), OltReachability(), True, None, id="it answers as before"),
        pytest.param(collected(COMPLETED), AWAY, True, ReplanReason.BACK, id="it is back"),
        pytest.param(collected(FAILED), AWAY, True, ReplanReason.BACK, id="an error is an answer"),
        pytest.param(
            collected(FAILED, silent=True),
            OltReachability(),
            False,
            ReplanReason.UNREACHABLE,
            id="it went away",
        ),
        pytest.param(collected(FAILED, silent=True), AWAY, False, None, id="it is still away"),
        pytest.param(collected(SKIPPED, was_asked=False), AWAY, None, None, id="it was not asked"),
    ],
)
def test_an_olt_that_goes_away_or_is_back_is_replanned(
    summary: CollectionSummary, before: OltReachability, reachable: bool | None, replan: ReplanReason | None
) -> None:
    after = decide(summary, olt=before).olt
    assert (after.reachable, after.replan) == (reachable, replan)


@pytest.mark.parametrize(
    ("number", "failures", "after", "replan"),
    [
        pytest.param(3, 3, 4, None, id="one more"),
        pytest.param(3, 4, 5, ReplanReason.FAILURES, id="as many as are an emergency"),
        pytest.param(3, 5, 6, None, id="the emergency is known"),
        pytest.param(1, 4, 4, None, id="another attempt follows"),
    ],
)
def test_executions_that_fail_in_a_row_are_counted_until_they_are_an_emergency(
    number: int, failures: int, after: int, replan: ReplanReason | None
) -> None:
    olt = decide(collected(FAILED), number=number, olt=OltReachability(failed_in_a_row=failures)).olt
    assert (olt.failed_in_a_row, olt.replan) == (after, replan)


@pytest.mark.parametrize(("outcome", "after"), [(COMPLETED, 0), (SKIPPED, 4)])
def test_a_success_ends_the_row_of_failures_and_a_skipped_one_does_not(
    outcome: SlotOutcome, after: int
) -> None:
    assert decide(collected(outcome), olt=OltReachability(failed_in_a_row=4)).olt.failed_in_a_row == after


def test_that_an_olt_is_back_is_said_rather_than_that_much_fails_on_it() -> None:
    before = OltReachability(away_since=NOW - MINUTE, failed_in_a_row=4)
    assert decide(collected(FAILED), number=3, olt=before).olt.replan is ReplanReason.BACK


@pytest.mark.parametrize("outcome", [COMPLETED, FAILED])
def test_a_reading_of_one_onu_does_not_count_but_shows_that_the_olt_answers(outcome: SlotOutcome) -> None:
    before = OltReachability(away_since=NOW - MINUTE, failed_in_a_row=4)
    after = decide(collected(outcome), node=None, olt=before, is_collection=False).olt
    assert (after.reachable, after.failed_in_a_row, after.replan) == (True, 4, ReplanReason.BACK)


def test_an_olt_that_could_not_be_asked_at_all_failed_and_nothing_is_known_of_it() -> None:
    before = OltReachability(away_since=NOW - MINUTE, failed_in_a_row=4)
    after = judge_olt(before, EndState.FAILED, None, is_collection=True, emergency_failures=5)
    assert (after.reachable, after.failed_in_a_row, after.replan) == (None, 5, ReplanReason.FAILURES)
