"""What each simulated family counts arrives: rates of its ONUs, ports and uplinks."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest

from facho.apps.chassis.models import Uplink
from facho.apps.executions.models import State
from facho.apps.hosts.models import Brand
from facho.apps.hosts.selectors import facts_offered
from facho.apps.hosts.store import sync_profiles
from facho.apps.traffic.selectors import olt_traffic
from facho.engine.commands.usual_jobs import usual_jobs
from facho.sim.fleet import FleetConfig
from facho.vendors import GENERIC, builtin
from tests.database.engine.record.test_executions import Site
from tests.factories import at, make_job
from tests.virtual_fleet import VirtualFleet

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

ONUS: Final = 70
EVERY: Final = timedelta(minutes=5)
MBIT: Final = 1_000_000
COUNTING: Final = {
    name: tuple(job for job in ("traffic", "uplinks") if job in facts_offered(profile))
    for name, profile in builtin().items()
    if name != GENERIC
}


@pytest.mark.parametrize("family", [name for name, jobs in COUNTING.items() if jobs])
def test_the_rates_of_a_family_arrive(family: str) -> None:
    with VirtualFleet(FleetConfig(olts=1, onus=ONUS, family=family)) as fleet:
        sync_profiles(builtin())
        site = Site(fleet)
        site.olt.brand = Brand.objects.get(name=family)
        site.olt.save()
        site.node(make_job("discovery", interval=86_400, facts=["serial", "state"]), next_run_at=at("10:00"))
        site.step()
        for job in COUNTING[family]:
            facts = list(usual_jobs(builtin()[family])[job].facts)
            every = int(EVERY.total_seconds())
            site.node(make_job(job, "table", every, facts=facts), next_run_at=at("10:05"))
        for _ in range(3):
            site.now += EVERY
            fleet.pass_time(EVERY.total_seconds())
            assert {each.state for each in site.step()} == {State.SUCCESS}

        traffic = olt_traffic(site.olt.pk, site.now)
        assert counted_by(family) <= set(traffic)
        if not traffic:
            # Its uplinks are too expensive to be asked so often.
            return
        # What goes to the customers comes from the network.
        sides = [(each.in_bps, each.out_bps) for name, each in traffic.items() if name != "link"]
        sides += [(each.out_bps, each.in_bps) for name, each in traffic.items() if name == "link"]
        assert min(down or 0 for _up, down in sides) > 10 * MBIT
        for up, down in sides:
            assert up == pytest.approx(sides[0][0], rel=0.05)
            assert down == pytest.approx(sides[0][1], rel=0.05)
        assert (Uplink.objects.filter(olt=site.olt, state="up").count() >= 2) == ("link" in traffic)


def counted_by(family: str) -> set[str]:
    """Return what has counters in the usual jobs of a family; a ZTE counts only ONUs of EPON."""
    offered = {fact for job in COUNTING[family] for fact in facts_offered(builtin()[family])[job]}
    names = {"down_octets": "onu", "port.out_octets": "port", "uplink.in_octets": "link"}
    return {name for fact, name in names.items() if fact in offered and (family, name) != ("zte", "onu")}
