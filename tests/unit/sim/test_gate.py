"""A gate holds requests until it is released."""

import threading

import pytest

from facho.sim.pdu import GET, GET_BULK
from facho.sim.scenario import Scenario
from tests.unit.sim.asking import DESCRIPTION, RUN_STATUS, SERIAL, UPTIME, Asker, read


def test_a_held_request_is_answered_when_the_gate_is_released() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    assert asker.ask(GET, [UPTIME], request_id=7) is None
    assert gate.held == 1
    gate.release()
    assert [read(each).request_id for each in asker.wire.sent] == [7]


def test_held_requests_are_answered_in_the_order_in_which_they_came() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    for number in (3, 1, 2):
        asker.ask(GET, [UPTIME], request_id=number)
    gate.release()
    assert [read(each).request_id for each in asker.wire.sent] == [3, 1, 2]


def test_an_answer_tells_what_is_so_when_the_gate_is_released() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(GET_BULK, [RUN_STATUS], 0, 10)
    asker.olt.cut_fibre(0)
    gate.release()
    assert set(read(asker.wire.sent[0]).values) == {2}


def test_a_released_gate_holds_nothing_more() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    gate.release()
    gate.release()
    assert asker.ask(GET, [UPTIME])
    assert gate.held == 0
    assert gate.is_released


def test_the_first_requests_can_be_let_pass() -> None:
    asker = Asker()
    gate = asker.olt.hold(skip=2)
    assert [asker.ask(GET, [UPTIME]) is None for _ in range(4)] == [False, False, True, True]
    assert gate.held == 2


def test_only_requests_under_an_oid_are_held_and_only_they_count() -> None:
    asker = Asker()
    gate = asker.olt.hold(under=SERIAL, skip=1)
    assert asker.ask(GET_BULK, [SERIAL], 0, 5)
    assert asker.ask(GET, [UPTIME])
    assert asker.ask(GET_BULK, [DESCRIPTION], 0, 5)
    # A column whose number only begins with the same digits.
    assert asker.ask(GET_BULK, [f"{SERIAL}0"], 0, 5)
    assert asker.ask(GET_BULK, [f"{SERIAL}.4194304000"], 0, 5) is None
    assert asker.ask(GET_BULK, [DESCRIPTION, SERIAL], 0, 5) is None
    assert gate.held == 2


def test_each_of_several_gates_holds_what_it_is_for() -> None:
    asker = Asker()
    serials, states = asker.olt.hold(under=SERIAL), asker.olt.hold(under=RUN_STATUS)
    assert asker.ask(GET_BULK, [SERIAL], 0, 5) is None
    assert asker.ask(GET_BULK, [RUN_STATUS], 0, 5) is None
    serials.release()
    assert asker.ask(GET_BULK, [SERIAL], 0, 5)
    assert asker.ask(GET_BULK, [RUN_STATUS], 0, 5) is None
    assert (serials.held, states.held) == (1, 2)


def test_a_gate_is_released_at_the_end_of_its_block() -> None:
    asker = Asker()
    with asker.olt.hold() as gate:
        asker.ask(GET, [UPTIME])
    assert gate.is_released
    assert len(asker.wire.sent) == 1


def test_who_waits_for_a_request_to_be_held_is_woken_by_it() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    waiting = threading.Thread(target=gate.wait_until_held, args=(2,))
    waiting.start()
    asker.ask(GET, [UPTIME])
    asker.ask(GET, [UPTIME])
    waiting.join(60)
    assert not waiting.is_alive()


def test_waiting_for_a_request_that_does_not_come_says_so() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(GET, [UPTIME])
    with pytest.raises(TimeoutError, match="1 of 2 requests were held within 0 s"):
        gate.wait_until_held(2, seconds=0)


def test_a_restart_loses_what_was_held() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(GET, [UPTIME])
    asker.olt.restart()
    gate.release()
    assert asker.wire.sent == []


def test_a_held_request_is_counted_when_it_comes_and_its_answer_when_it_leaves() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(GET, [UPTIME])
    before = asker.olt.report()
    gate.release()
    after = asker.olt.report()
    assert (before.requests, before.answers, before.unanswered) == (1, 0, 0)
    assert (after.requests, after.answers, after.unanswered) == (1, 1, 0)


def test_an_olt_that_fell_silent_does_not_answer_what_was_held() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(GET, [UPTIME])
    asker.olt.scenario = Scenario(silent=True)
    gate.release()
    assert asker.wire.sent == []
    assert asker.olt.report().unanswered == 1


def test_what_is_no_request_is_garbage_when_it_is_released() -> None:
    asker = Asker()
    gate = asker.olt.hold()
    asker.ask(0xA2, [UPTIME])
    gate.release()
    assert asker.olt.report().garbage == 1
