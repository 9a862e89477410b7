"""A GET of many ONUs, for some of which the OLT cannot answer: what that costs is counted at the OLT."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from facho.core.request_rules import RequestPace
from facho.engine.collect.part_results import PartState
from facho.engine.collect.request_plan import Batching
from facho.snmp import Learned, Limits
from tests.integration.engine.site import FAMILIES, site

RETRIES = 2
IN_FLIGHT = Limits().in_flight


def most_requests(onus: int, values: int, *, failing: int, silent: int, varbinds: int = 20) -> int:
    """For `silent` ONUs in different batches, `failing` ONUs, and `values` asked of each.

    The uptime comes first. Everything is asked once, and each value that fails once more. When a batch is
    lost, its requests are sent again; then come the uptime, the unanswered in sub-batches, the uptime, one
    sub-batch one by one, and the uptime.
    """
    batching = Batching()
    once = math.ceil(onus / batching.size) * math.ceil(batching.size * values / varbinds)
    lost = IN_FLIGHT * RETRIES + 3 + math.ceil(batching.size * values / varbinds) + batching.sub_size
    return 1 + once + failing * values + silent * lost


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pace", [RequestPace.NORMAL, RequestPace.ONE_AT_A_TIME])
def test_bad_onus_cost_only_themselves_and_are_named(family: str, pace: RequestPace) -> None:
    with site(family, onus=1000) as olt:
        known = olt.known()
        olt.misbehave(generr_rows=(20, 300, 777), silent_rows=(500,))
        with olt.counted() as seen:
            found = olt.ask(olt.part("get", "description", "distance_m"), known=known, pace=pace)
        (part,) = found.parts
        assert part.state is PartState.SUCCESS
        assert str(part.error) == ""
        assert (part.rows, part.onus_asked) == (996, 1000)
        bad = [str(known[row].key) for row in (20, 300, 777, 500)]
        assert part.unanswered.keys() == set(bad)
        assert all("fails (genErr)" in str(part.unanswered[onu]) for onu in bad[:3])
        assert part.unanswered[bad[3]].code == "silent_about_onu"
        assert seen[0].requests == part.load.requests
        assert seen[0].requests <= most_requests(1000, 2, failing=3, silent=1)
        # The request with the ONU and its repetitions, its sub-batch, and the ONU alone.
        assert seen[0].unanswered <= RETRIES + 3


def test_what_an_olt_bears_is_not_judged_by_an_onu_that_it_cannot_reach() -> None:
    with site(onus=400) as olt:
        known = olt.known()
        olt.misbehave(silent_rows=(100,))
        found = olt.ask(olt.part("get", "description"), known=known, learned=Learned(20, 5))
        assert found.learned is not None
        assert (found.learned.varbinds, found.learned.in_flight) == (20, 5)


def test_a_dead_olt_is_asked_for_its_uptime_and_then_left_alone() -> None:
    with site(onus=1000) as olt:
        known = olt.known()
        olt.misbehave(silent=True)
        with olt.counted() as seen:
            found = olt.ask(olt.part("get", "description"), known=known, learned=Learned(20, 2))
        assert not found.succeeded
        assert found.silent
        assert str(found.error).startswith("no answer from 127.0.0.1")
        assert found.parts[0].unanswered == {}
        assert seen[0].requests == 1 + RETRIES
        # Being dead is nothing that the OLT bears well or badly.
        assert found.learned == Learned(20, 2)


def test_an_olt_that_dies_during_a_batch_is_asked_for_its_uptime_and_then_left_alone() -> None:
    with site(onus=1000) as olt:
        work = olt.work(olt.part("get", "description"), known=olt.known())
        found = olt.collect(work, progress=lambda _: olt.fleet.call(0, "silence"))
        assert not found.succeeded
        # It did answer when it was asked for its uptime at first.
        assert not found.silent
        assert found.parts[0].load.requests <= 1 + (IN_FLIGHT + 1) * (1 + RETRIES)


def test_an_olt_that_dies_while_it_is_asked_in_smaller_batches_is_left_alone() -> None:
    with site(onus=400) as olt:
        known = olt.known()
        olt.misbehave(silent_rows=(0,))
        dead_at = 0

        def dies() -> None:
            nonlocal dead_at
            report = olt.fleet.report().total
            if report.unanswered == 1 + RETRIES and not dead_at:
                # The batch is lost. It answers no more, neither for its uptime.
                dead_at = report.requests
                olt.fleet.call(0, "silence")

        found = olt.collect(olt.work(olt.part("get", "description"), known=known), guard=dies)
        assert not found.succeeded
        assert not found.silent
        assert dead_at
        assert olt.fleet.report().total.requests == dead_at + 1 + RETRIES
        assert 0 < found.parts[0].rows < 200


def test_a_get_fails_when_too_many_do_not_answer() -> None:
    with site(onus=100) as olt:
        known = olt.known()
        olt.misbehave(generr_rows=tuple(range(0, 84, 4)))
        (part,) = olt.ask(olt.part("get", "description"), known=known).parts
        assert part.state is PartState.FAILED
        assert str(part.error).startswith(
            "21 of 100 ONUs did not answer, and no more than 20 % may; the first is 0/1/0:0"
        )
        assert (len(part.unanswered), part.rows) == (21, 79)
        assert not part.silent


def test_a_get_succeeds_when_just_few_enough_do_not_answer() -> None:
    with site(onus=100) as olt:
        known = olt.known()
        olt.misbehave(generr_rows=tuple(range(0, 80, 4)))
        (part,) = olt.ask(olt.part("get", "description"), known=known).parts
        assert part.state is PartState.SUCCESS
        assert (len(part.unanswered), part.rows) == (20, 80)


def test_an_olt_that_answers_for_nobody_is_not_asked_for_everybody() -> None:
    with site(onus=300) as olt:
        known = olt.known()
        olt.misbehave(silent_rows=tuple(range(300)))
        batching = Batching(size=100, sub_size=10, most_unanswered=2.0)
        impatient = replace(olt.target, timeout=0.1)
        (part,) = olt.ask(
            olt.part("get", "description"), known=known, batching=batching, target=impatient
        ).parts
        assert part.state is PartState.FAILED
        assert not part.silent
        assert len(part.unanswered) == part.onus_asked == 300
        # Seven one by one prove that it has failed; from then on a batch is asked as it is, and no further.
        assert part.load.timeouts <= 7 + 1 + 3 * IN_FLIGHT * (1 + RETRIES)


def test_an_onu_without_any_of_the_values_has_answered() -> None:
    with site(onus=100) as olt:
        known = olt.known()
        # Nobody has this column.
        (part,) = olt.ask(olt.part("get", "serial_actual"), known=known).parts
        assert part.state is PartState.SUCCESS
        assert (part.rows, part.onus_asked, part.unanswered) == (0, 100, {})


def test_an_onu_that_lacks_one_value_is_named_and_its_others_are_kept() -> None:
    with site(onus=100) as olt:
        known = olt.known()
        olt.misbehave(generr_rows=tuple(range(50)), columns=("distance",))
        (part,) = olt.ask(olt.part("get", "description", "distance_m"), known=known).parts
        # Half of the ONUs lack something, but all of them have answered.
        assert part.state is PartState.SUCCESS
        assert (part.rows, len(part.unanswered)) == (100, 50)


@pytest.mark.parametrize("knobs", [{"toobig_varbinds": 7}, {"max_message": 484}, {"request_loss": 0.1}])
def test_sizes_and_losses_cost_requests_and_no_onu(knobs: dict[str, float]) -> None:
    with site(onus=200) as olt:
        known = olt.known()
        olt.misbehave(**knobs)
        (part,) = olt.ask(olt.part("get", "description", "distance_m"), known=known).parts
        assert part.state is PartState.SUCCESS
        assert (part.rows, part.unanswered) == (200, {})
