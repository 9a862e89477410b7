"""How hard an agent comes to be asked: agents of several tempers, and what is settled on with each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facho.snmp.pacing import (
    MOST_EXCUSED,
    PACKET,
    Epoch,
    Learned,
    Limits,
    Pace,
    decide,
    send_time,
    too_big,
    within,
)

TIMEOUT: Final = 3.0
LIMITS: Final = Limits(in_flight=5, varbinds=50)
EPOCHS: Final = 400

# The latency of one request for so many values, with so many in flight.
Temper = Callable[[int, int], float]


def seen(pace: Pace, latency: float, *, timeouts: int = 0) -> Epoch:
    """An epoch in which every answer was full and took as long as the others."""
    answers = pace.epoch_size(streams=5)
    return Epoch(
        answers,
        timeouts,
        answers * pace.learned.varbinds,
        answers * latency,
        answers * latency / pace.learned.in_flight,
        contended=True,
    )


def converse(temper: Temper, pace: Pace, limits: Limits = LIMITS, epochs: int = EPOCHS) -> list[Pace]:
    """Every pace that was set, the last one last."""
    paces = [pace]
    for _ in range(epochs):
        latency = temper(pace.learned.varbinds, pace.learned.in_flight)
        pace = decide(
            pace, seen(pace, min(latency, TIMEOUT), timeouts=int(latency >= TIMEOUT)), limits, TIMEOUT
        )
        paces.append(pace)
    return paces


def start(learned: Learned | None = None, limits: Limits = LIMITS) -> Pace:
    return Pace.start(learned or Learned(), limits)


def settled(paces: list[Pace]) -> list[Learned]:
    return [pace.learned for pace in paces[len(paces) // 2 :]]


def mostly(share: float, holds: list[bool]) -> bool:
    return sum(holds) >= share * len(holds)


def fast(varbinds: int, in_flight: int) -> float:
    return 0.002 + 0.000_02 * varbinds


def far_away(varbinds: int, in_flight: int) -> float:
    return 0.250 + 0.000_1 * varbinds


def single_cpu(varbinds: int, in_flight: int) -> float:
    """What is asked at once is answered one after the other."""
    return in_flight * (0.040 + 0.001 * varbinds)


def explodes(varbinds: int, in_flight: int) -> float:
    """Copes up to some size, and then suddenly not at all."""
    return 0.050 if varbinds <= 25 else 10.0


@pytest.mark.parametrize("temper", [fast, far_away])
def test_an_agent_with_room_is_asked_as_hard_as_the_limits_allow(temper: Temper) -> None:
    paces = converse(temper, start())
    assert {(learned.varbinds, learned.in_flight) for learned in settled(paces)} == {(50, 5)}


def test_an_agent_with_room_is_known_soon() -> None:
    last = converse(fast, start(), epochs=12)[-1].learned
    assert (last.varbinds, last.in_flight) == (50, 5)


def test_requests_do_not_queue_at_an_agent_that_answers_one_after_the_other() -> None:
    learned = settled(converse(single_cpu, start()))
    assert mostly(0.9, [one.in_flight == 1 for one in learned])
    assert max(one.in_flight for one in learned) <= 2
    assert mostly(0.9, [one.varbinds == 50 for one in learned])


def test_a_size_at_which_latency_explodes_is_left_and_seldom_tried_again() -> None:
    paces = converse(explodes, start())
    assert mostly(0.9, [learned.varbinds <= 25 for learned in settled(paces)])
    assert mostly(0.5, [learned.varbinds > 5 for learned in settled(paces)])


@pytest.mark.parametrize("learned", [Learned(50, 4), Learned(40, 1), Learned(8, 5)])
def test_a_timeout_halves_what_is_asked_at_once(learned: Learned) -> None:
    pace = start(learned)
    after = decide(pace, seen(pace, 0.01, timeouts=1), LIMITS, TIMEOUT).learned
    assert after.varbinds * after.in_flight <= learned.varbinds * learned.in_flight // 2


def test_a_timeout_without_any_answer_is_understood_too() -> None:
    after = decide(start(Learned(40, 1)), Epoch(timeouts=1), LIMITS, TIMEOUT).learned
    assert after.varbinds <= 20


def test_an_agent_that_only_times_out_is_asked_for_one_value_at_a_time() -> None:
    last = converse(lambda _varbinds, _in_flight: 10.0, start(Learned(50, 5)), epochs=20)[-1].learned
    assert (last.varbinds, last.in_flight) == (1, 1)


def test_packets_lost_on_the_way_do_not_make_ever_more_and_smaller_requests_of_them() -> None:
    """A walk over a line that loses one packet in 25 would otherwise end with a request for each value."""
    chance = random.Random(1)
    pace, smallest = start(Learned(20, 2), Limits(5, 20)), 20
    for _ in range(EPOCHS):
        lost = chance.random() < 1 - 0.96 ** pace.epoch_size(streams=5)
        pace = decide(pace, seen(pace, 0.01, timeouts=int(lost)), Limits(5, 20), TIMEOUT)
        smallest = min(smallest, pace.learned.varbinds)
    assert smallest == 20


def test_losses_without_an_answer_in_between_are_not_by_chance_for_long() -> None:
    pace = replace(start(Learned(20, 1)), quiet_latency=0.01)
    sizes = []
    for _ in range(MOST_EXCUSED + 2):
        pace = decide(pace, Epoch(timeouts=1), LIMITS, TIMEOUT)
        sizes.append(pace.learned.varbinds)
    assert sizes == [20] * MOST_EXCUSED + [10, 5]


def test_a_lone_request_to_an_agent_that_takes_its_time_is_made_smaller() -> None:
    pace = start(Learned(20, 1))
    assert decide(pace, seen(pace, 0.2 * TIMEOUT, timeouts=1), LIMITS, TIMEOUT).learned.varbinds == 10


def test_latency_near_the_timeout_is_taken_for_the_warning_that_it_is() -> None:
    pace = start(Learned(50, 4))
    after = decide(pace, seen(pace, 0.9 * TIMEOUT), LIMITS, TIMEOUT).learned
    assert after.in_flight * after.varbinds <= 100


def test_an_agent_that_gets_busy_is_asked_less_at_once() -> None:
    calm = converse(far_away, start())[-1]
    assert calm.learned.in_flight == 5
    busy = decide(calm, seen(calm, 4 * far_away(50, 5)), LIMITS, TIMEOUT)
    assert busy.learned.in_flight < 5


def test_an_agent_that_recovers_is_asked_as_hard_as_before() -> None:
    slow = converse(lambda _varbinds, _in_flight: 10.0, start(Learned(50, 5)), epochs=6)[-1]
    last = converse(fast, slow)[-1].learned
    assert (last.varbinds, last.in_flight) == (50, 5)


def test_jitter_of_a_few_milliseconds_is_not_held_against_the_agent() -> None:
    jitter = random.Random(1)
    paces = converse(lambda _varbinds, _in_flight: 0.001 + 0.018 * jitter.random(), start())
    assert {(learned.varbinds, learned.in_flight) for learned in settled(paces)} == {(50, 5)}


def test_what_was_too_big_once_is_never_asked_again() -> None:
    paces = converse(fast, too_big(start(Learned(40, 1)), 40))
    assert {learned.varbinds for learned in settled(paces)} == {20}
    assert all(pace.learned.varbinds <= 20 for pace in paces)


def test_what_was_too_big_is_remembered_through_timeouts_and_trials() -> None:
    chance = random.Random(2)
    paces = converse(lambda _varbinds, _in_flight: chance.choice([0.01, 0.3, 10.0]), too_big(start(), 16))
    assert all(pace.learned.most_varbinds == 8 and pace.learned.varbinds <= 8 for pace in paces)


def test_too_big_again_halves_again_down_to_one() -> None:
    pace = start(Learned(50, 1))
    for asked in (50, 25, 12, 6, 3, 1, 1):
        pace = too_big(pace, asked)
    assert (pace.learned.varbinds, pace.learned.most_varbinds) == (1, 1)


def test_a_known_agent_is_asked_from_the_start_as_it_was_before() -> None:
    known = Learned(varbinds=37, in_flight=3, most_varbinds=40)
    assert start(known).learned == known


def test_stricter_limits_hold_at_once() -> None:
    assert within(Learned(50, 5), Limits(in_flight=2, varbinds=10)) == Learned(10, 2)


limits = st.builds(Limits, st.integers(1, 20), st.integers(1, 200))
starts = st.builds(Learned, st.integers(1, 500), st.integers(1, 50), st.none() | st.integers(1, 300))
happenings = st.tuples(st.sampled_from(["answers", "timeout", "too big"]), st.floats(0.0, TIMEOUT))


@given(limits, starts, st.lists(happenings, max_size=60))
@settings(max_examples=300)
def test_whatever_happens_the_limits_hold(
    limits: Limits, learned: Learned, happenings: list[tuple[str, float]]
) -> None:
    pace = start(learned, limits)
    for what, latency in happenings:
        if what == "too big":
            pace = too_big(pace, pace.learned.varbinds)
        else:
            pace = decide(pace, seen(pace, latency, timeouts=int(what == "timeout")), limits, TIMEOUT)
        assert 1 <= pace.learned.in_flight <= limits.in_flight
        assert (
            1 <= pace.learned.varbinds <= min(limits.varbinds, pace.learned.most_varbinds or limits.varbinds)
        )


@pytest.mark.parametrize("wrong", [{"in_flight": 0}, {"varbinds": 0}, {"requests_per_second": 0.0}])
def test_limits_that_allow_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="limits: "):
        Limits(**wrong)


def test_requests_leave_as_far_apart_as_the_rate_says() -> None:
    limits = Limits(requests_per_second=10)
    at, earliest = [], 0.0
    for now in (5.0, 5.0, 5.01, 9.0):
        leaves, earliest = send_time(now, earliest, limits)
        at.append(leaves)
    assert at == pytest.approx([5.0, 5.1, 5.2, 9.0])


def test_without_a_rate_requests_leave_at_once() -> None:
    assert send_time(5.0, 0.0, Limits()) == (5.0, 5.0)


MORE: Final = Limits(in_flight=5, varbinds=50, most_varbinds=200)


def sized(pace: Pace, latency: float, *, sent: int = 0, received: int = 0, **how: int | bool) -> Epoch:
    """An epoch in which each value takes so many octets of requests and of answers."""
    epoch = seen(pace, latency)
    octets = {"sent": sent * epoch.varbinds, "received": received * epoch.varbinds}
    return replace(epoch, **octets, **how)  # type: ignore[arg-type]


def grown(pace: Pace, limits: Limits, **how: int | bool) -> int:
    """The most values per request that a fast agent comes to be asked for."""
    most = pace.learned.varbinds
    for _ in range(EPOCHS):
        latency = fast(pace.learned.varbinds, pace.learned.in_flight)
        pace = decide(pace, sized(pace, latency, **how), limits, TIMEOUT)
        most = max(most, pace.learned.varbinds)
    return most


@pytest.mark.parametrize(
    ("how", "most"),
    [
        # More than usual, while all of it fits into one packet.
        ({"received": 20}, PACKET // 20),
        ({"received": 5}, 200),
        # The usual number may be tried in any case.
        ({"received": 100}, 50),
        # Answers in several packets have arrived.
        ({"received": 100, "fragments": True}, 200),
        # That says nothing about requests in several packets.
        ({"sent": 25, "received": 27, "fragments": True}, PACKET // 25),
    ],
)
def test_more_than_usual_is_asked_for_while_it_fits_or_has_been_seen_to_arrive(
    how: dict[str, int], most: int
) -> None:
    assert grown(start(limits=MORE), MORE, **how) == most


def test_a_limit_without_more_is_kept() -> None:
    assert grown(start(), LIMITS, received=1, fragments=True) == LIMITS.varbinds


def test_a_size_beyond_the_usual_at_which_a_request_was_lost_is_not_tried_again() -> None:
    usual = Learned(50, 2)
    pace = Pace(replace(usual, varbinds=100), usual, trial="varbinds")
    after = decide(pace, seen(pace, 0.01, timeouts=1), MORE, TIMEOUT)
    assert (after.learned.varbinds, after.learned.most_varbinds) == (50, 50)
    assert grown(Pace.start(after.learned, MORE), MORE, received=1) == 50


def test_a_usual_size_at_which_a_request_was_lost_is_tried_again() -> None:
    pace = Pace(Learned(40, 2), Learned(20, 2), trial="varbinds")
    after = decide(pace, seen(pace, 0.01, timeouts=1), MORE, TIMEOUT)
    assert (after.learned.varbinds, after.learned.most_varbinds) == (20, None)


def test_after_a_trial_that_was_too_big_the_size_before_it_is_kept() -> None:
    pace = Pace(Learned(60, 2), Learned(50, 2), trial="varbinds")
    assert too_big(pace, 60).learned == Learned(50, 2, 50)
    # A smaller request than before was too big: the rows are larger now.
    assert too_big(pace, 40).learned == Learned(20, 2, 20)


@given(
    st.builds(Learned, st.integers(1, 500), st.integers(1, 9), st.none() | st.integers(1, 300)),
    st.integers(1, 100),
    st.integers(0, 300),
)
def test_no_setting_is_above_the_limits(learned: Learned, varbinds: int, most: int) -> None:
    limits = Limits(5, varbinds, most_varbinds=most)
    pace = Pace.start(learned, limits)
    for _ in range(30):
        assert pace.learned.varbinds <= max(varbinds, most)
        pace = decide(pace, sized(pace, 0.01, received=1), limits, TIMEOUT)
