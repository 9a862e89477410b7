"""Counters of simulated OLTs, from the wire to the stored rates, with every fault that counters have.

The simulator keeps an account of what each ONU really moved. Whatever its counters say, no stored rate is
negative, none is a spike, and all of them together are no more than what moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import pytest

from facho.apps.discovery.models import Onu
from facho.apps.history.selectors import onu_series
from facho.apps.traffic.selectors import dropped_rates, olt_traffic
from facho.core.rates import Drops
from facho.sim.fleet import FleetConfig
from facho.sim.model import Cause
from facho.sim.presets import combine
from facho.sim.scenario import Scenario
from facho.sim.traffic import DOWN, UP
from tests.database.engine.record import test_executions
from tests.database.engine.record.test_executions import Site
from tests.factories import at, make_job
from tests.virtual_fleet import VirtualFleet

pytestmark = pytest.mark.django_db(transaction=True)

# Two ports of 64.
ONUS: Final = 128
EVERY: Final = timedelta(minutes=5)
START: Final = at("10:00")
DIRECTIONS: Final = {"up_bps": UP, "down_bps": DOWN}
MBIT: Final = 1_000_000
# The clocks of the test and of the fleet differ by the time of the collections.
SLACK_S: Final = 60.0
# Its own fleet, and the rest as there.
site = test_executions.site


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=ONUS)) as fleet:
        yield fleet


class Polls:
    """An OLT whose counters are read every five minutes, and the account that it keeps."""

    def __init__(self, site: Site, fleet: VirtualFleet) -> None:
        self._site = site
        self._fleet = fleet
        self._site.node(make_job("discovery", interval=86_400), next_run_at=START)
        self._site.step()
        facts = ["up_octets", "down_octets", "port.in_octets", "port.out_octets"]
        every = int(EVERY.total_seconds())
        self._site.node(make_job("traffic", "table", every, facts=facts), next_run_at=START + EVERY)

    def take(self, count: int, scenario: Scenario | None = None) -> None:
        if scenario is not None:
            self._site.behave(scenario)
        for _ in range(count):
            self.wait()
            self._site.step()

    def wait(self, times: int = 1) -> None:
        """Let the time of some polls pass, without any of them."""
        self._site.now += times * EVERY
        self._fleet.pass_time(times * EVERY.total_seconds())

    def rates(self, row: int, fact: str) -> Sequence[float | None]:
        return onu_series(self.onus[row], [fact], START, START + timedelta(days=1)).values[fact]

    @property
    def onus(self) -> list[Onu]:
        return list(Onu.objects.order_by("frame", "slot", "port", "onu_id"))

    @property
    def drops(self) -> Drops:
        return dropped_rates().get(self._site.olt.pk, Drops())

    def check(self, most: float = 1.1) -> int:
        """Check the rates of all ONUs against the account; return how many there are.

        None is more than `most` times the highest that the ONU had.
        """
        found = 0
        until = self._fleet.clock()
        since = until - (self._site.now - START).total_seconds() - SLACK_S
        for row, onu in enumerate(self.onus):
            series = onu_series(onu, list(DIRECTIONS), START, START + timedelta(days=1))
            for fact, direction in DIRECTIONS.items():
                rates = [rate for rate in series.values[fact] if rate is not None]
                # Each is of one interval at least.
                stored = sum(rates) * EVERY.total_seconds() / 8
                assert stored <= self.moved(row, direction, since, until)
                highest = 1000 + most * self._highest(row, direction, since, until)
                assert all(0 <= rate <= highest for rate in rates)
                found += len(rates)
        return found

    def moved(self, row: int, direction: int, since: float, until: float) -> int:
        return self._fleet.moved(0, row, direction, until) - self._fleet.moved(0, row, direction, since)

    def _highest(self, row: int, direction: int, since: float, until: float) -> float:
        """Return the highest rate that an ONU really had over an interval."""
        every = EVERY.total_seconds()
        starts = (since + number * every / 5 for number in range(int((until - since) / every * 5)))
        return 1.1 * max(self.moved(row, direction, start, start + every) for start in starts) * 8 / every


@pytest.fixture
def polls(site: Site, fleet: VirtualFleet) -> Polls:
    return Polls(site, fleet)


def test_the_stored_rates_are_what_the_customers_moved(polls: Polls, fleet: VirtualFleet) -> None:
    polls.take(4)
    began = fleet.clock()
    polls.take(6)

    online = sum(onu.last_seen is not None for onu in polls.onus)
    assert polls.check() == 9 * 2 * online
    for row in (0, 5, 77):
        rates = [rate or 0.0 for rate in polls.rates(row, "down_bps")][-6:]
        moved = polls.moved(row, DOWN, began, fleet.clock())
        # Counters are updated every five seconds only.
        assert sum(rates) / 6 == pytest.approx(moved * 8 / (fleet.clock() - began), rel=0.05)
    assert polls.drops == Drops()


def test_ports_have_the_traffic_of_their_onus(polls: Polls, site: Site) -> None:
    polls.take(3)
    traffic = olt_traffic(site.olt.pk, site.now)

    assert traffic["port"].out_bps == pytest.approx(traffic["onu"].out_bps, rel=0.03)
    assert traffic["port"].in_bps == pytest.approx(traffic["onu"].in_bps, rel=0.03)
    assert (traffic["onu"].out_bps or 0) > 10 * MBIT


@pytest.mark.parametrize(
    "name",
    [
        "counters-back", "counters-jump", "counters-repeat", "counters-gone", "counters-narrow",
        "counters-widen", "old-clock",
    ],
)  # fmt: skip
def test_counters_with_faults_never_make_a_spike(polls: Polls, name: str) -> None:
    polls.take(12, combine([name]))

    # What moved before a reading of a cache counts with what moved after it.
    assert polls.check(most=2.2) > 3 * 2 * ONUS


def test_counters_that_are_away_now_and_then_are_asked_for_again(polls: Polls, site: Site) -> None:
    """The names of the uplinks arrive all the time, and their errors."""
    site.node(make_job("uplinks", "table", 300, facts=["uplinks"]), next_run_at=START + EVERY)
    polls.take(3)
    polls.take(8, combine(["counters-gone"]))
    polls.take(3, Scenario())

    assert olt_traffic(site.olt.pk, site.now)["link"].at == site.now


def test_counters_that_jump_are_dropped_and_counted(polls: Polls) -> None:
    polls.take(6, combine(["counters-jump"]))

    assert polls.drops.over >= ONUS
    assert polls.drops.resets >= ONUS


def test_a_restart_of_the_olt_is_no_rate_and_then_rates_go_on(polls: Polls, fleet: VirtualFleet) -> None:
    polls.take(4)
    before = polls.check()
    fleet.call(0, "restart")
    polls.take(1)

    assert polls.check() == before
    assert polls.drops.resets > 0
    polls.take(2)
    assert polls.check() == before + before // 3 * 2


def test_an_onu_that_restarts_begins_anew(polls: Polls, fleet: VirtualFleet) -> None:
    polls.take(3)
    row = next(row for row in range(64) if polls.onus[row].last_seen == polls.onus[0].last_seen)
    fleet.call(0, "take_offline", row, Cause.REBOOT)
    polls.wait()
    fleet.call(0, "bring_back", row)
    polls.take(3)
    polls.check()

    assert polls.drops.resets > 0


def test_no_rate_is_stored_over_a_gap_of_more_than_three_intervals(polls: Polls) -> None:
    polls.take(3)
    before = polls.check()
    polls.wait(4)
    polls.take(1)

    assert polls.check() == before
    assert polls.drops.gaps > 0


def test_a_port_that_was_cut_is_quiet_and_does_not_catch_up(polls: Polls, site: Site) -> None:
    polls.take(3)
    usual = olt_traffic(site.olt.pk, site.now)["port"].out_bps or 0
    polls.take(3, Scenario(fibre_cut_ports=(0, 1)))
    assert (olt_traffic(site.olt.pk, site.now)["port"].out_bps or 0) < usual / 100
    polls.take(3, Scenario())
    polls.check()

    assert olt_traffic(site.olt.pk, site.now)["port"].out_bps == pytest.approx(usual, rel=0.5)
