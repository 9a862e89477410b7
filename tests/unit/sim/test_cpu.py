"""The model of an agent's single CPU: it only says when, it never waits."""

import pytest

from facho.sim.olt import VirtualCpu
from facho.sim.scenario import Scenario

COSTS = Scenario(request_s=0.010, varbind_s=0.001, optics_s=0.005, queue=2)


def test_an_idle_cpu_takes_as_long_as_the_request_costs() -> None:
    assert VirtualCpu(COSTS).admit(100.0, varbinds=10, optics=2) == pytest.approx(
        100.0 + 0.010 + 0.010 + 0.010
    )


def test_requests_wait_for_the_one_before() -> None:
    cpu = VirtualCpu(COSTS)
    assert cpu.admit(100.0, 0, 0) == pytest.approx(100.010)
    assert cpu.admit(100.004, 0, 0) == pytest.approx(100.020)


def test_a_full_queue_drops_and_costs_nothing() -> None:
    cpu = VirtualCpu(COSTS)
    cpu.admit(100.0, 0, 0)
    cpu.admit(100.0, 0, 0)
    assert cpu.admit(100.0, 0, 0) is None
    assert cpu.admit(100.011, 0, 0) == pytest.approx(100.030)


def test_an_idle_stretch_is_not_saved_up() -> None:
    cpu = VirtualCpu(COSTS)
    cpu.admit(100.0, 0, 0)
    assert cpu.admit(500.0, 0, 0) == pytest.approx(500.010)


def test_a_queue_of_zero_has_no_limit() -> None:
    cpu = VirtualCpu(Scenario(request_s=1.0))
    assert [cpu.admit(0.0, 0, 0) for _ in range(3)] == [1.0, 2.0, 3.0]
