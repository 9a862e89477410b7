"""Whatever the counters of a simulated OLT do, the integral of the rates is no more than what moved."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from facho.core.rates import NONE, Counter, CounterReading, Limits, RateRule, Snapshot, compute_rates
from facho.sim.families.facts import MODEL_FACTS
from facho.sim.families.family import counter
from facho.sim.model import Cause, OltModel, Shape
from facho.sim.scenario import Scenario
from facho.sim.traffic import DOWN, CounterFault
from facho.snmp.values import Counter32
from facho.vendors.facts import Entity
from tests.hypothesis_runs import often

ONUS: Final = 8
BEGAN: Final = 1_767_225_600.0
INTERVAL_S: Final = 300.0
LINE_BPS: Final = 2_488_320_000
RULES: Final = {"down_octets": RateRule("down_bps")}
SERVED: Final = counter(MODEL_FACTS[Entity.ONU]["down_octets"], is_narrow=False)

# What happens before a poll.
Event = Callable[[OltModel, float], None]
EVENTS: Final[dict[str, Event]] = {
    "nothing": lambda _olt, _now: None,
    "restart": lambda olt, now: setattr(olt, "booted_at", now - 20),
    "outage": lambda olt, now: olt.take_offline(0, Cause.LOS, now - 100),
    "return": lambda olt, now: olt.bring_back(0, now - 50),
}
FAULTS: Final = st.lists(st.sampled_from([each.value for each in CounterFault]), max_size=2, unique=True)
POLLS: Final = st.lists(
    st.tuples(st.sampled_from((60.0, 299.0, 300.0, 301.0, 640.0, 2000.0)), st.sampled_from(sorted(EVENTS))),
    min_size=2,
    max_size=25,
)


def read(olt: OltModel, now: float) -> CounterReading:
    """Return what a poll brings: the width of counters is that of their values."""
    at = olt.counted_at(now)
    gone = olt.counting.is_faulty(CounterFault.GONE, now)
    values = [None if gone else SERVED(olt, row, at) for row in range(ONUS)]
    bits = 32 if any(type(each) is Counter32 for each in values) else 64
    column = array("q", [each if isinstance(each, int) else NONE for each in values])
    columns = {} if gone else {Counter("down_octets", bits): column}
    return CounterReading(round(1000 * now), now - olt.booted_at, array("q", range(1, ONUS + 1)), columns)


@often(200)
@given(POLLS, FAULTS, st.integers(0, 599))
def test_the_integral_of_the_rates_is_no_more_than_what_the_simulated_customers_moved(
    polls: Sequence[tuple[float, str]], faults: list[str], offset: int
) -> None:
    olt = OltModel(0, Shape(ONUS), seed=offset, born=BEGAN, name="olt")
    olt.counting = Scenario(counter_faults=tuple(faults)).counting
    # A narrow counter that begins anew just below its end cannot be told from one that came round.
    narrow = {CounterFault.NARROW, CounterFault.WIDEN}.intersection(faults)
    now, known, integral = BEGAN + offset, list[Snapshot](), [0.0] * ONUS
    # Counters can be as old as a fault of repetition lasts.
    first = now - olt.counting.counter_fault_s - olt.counting.counters_s
    before = [olt.traffic.onu_moved(row, DOWN, first) for row in range(ONUS)]
    for seconds, event in polls:
        now += seconds
        if not narrow:
            EVENTS[event](olt, now)
        reading = read(olt, now)
        if not reading.columns:
            continue
        restarted = bool(known) and reading.uptime_s is not None and reading.uptime_s < seconds
        limits = Limits(round(1000 * INTERVAL_S), {"down_octets": LINE_BPS}, restarted)
        starts = {
            number: snapshot.reading.at
            for snapshot in reversed(known)
            for place, number in enumerate(snapshot.reading.ids)
            if any(column[place] != NONE for column in snapshot.reading.columns.values())
        }
        found = compute_rates(known, reading, RULES, limits)
        for row, rate in enumerate(found.rates.get("down_bps", [])):
            if rate is not None:
                assert rate >= 0
                integral[row] += rate * (reading.at - starts[row + 1]) / 8000
        known = found.snapshots
    for row in range(ONUS):
        assert integral[row] <= olt.traffic.onu_moved(row, DOWN, now) - before[row] + len(polls)
