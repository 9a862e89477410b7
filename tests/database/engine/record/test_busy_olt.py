"""An OLT whose CPU rises is asked more gently, and as before when it falls: from its own answer on."""

from collections.abc import Iterator

import pytest

from facho.apps.chassis.models import OltHealth
from facho.apps.executions.models import Execution, SkippedSlots, State
from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.sim.fleet import FleetConfig
from facho.sim.scenario import Scenario
from facho.vendors import builtin
from tests.database.engine.record.test_executions import Site
from tests.factories import at, make_job
from tests.virtual_fleet import VirtualFleet

pytestmark = pytest.mark.django_db(transaction=True)

# Long enough for requests to meet at the OLT, if more than one is sent.
NEAR = Scenario(latency_s=0.002)


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=200)) as fleet:
        yield fleet


@pytest.fixture
def site(fleet: VirtualFleet) -> Site:
    sync_profiles(builtin())
    return Site(fleet)


def most_at_once(fleet: VirtualFleet) -> int:
    """Requests that were at the OLT at the same time, since the fleet began."""
    return fleet.report().total.max_outstanding


def ran(executions: list[Execution]) -> dict[str, str]:
    return {each.node.job.name: each.state for each in executions if each.node is not None}


def test_an_olt_is_spared_while_its_cpu_is_high_and_for_no_longer(site: Site, fleet: VirtualFleet) -> None:
    Olt.objects.update(learned={"varbinds": 20, "in_flight": 5})
    site.node(make_job("discovery", interval=86_400), next_run_at=at("09:00"))
    site.step()
    site.node(make_job("health", "table", interval=300, facts=["board.cpu_pct"]), next_run_at=at("10:00"))
    names = site.node(
        make_job("names", "get", interval=300, facts=["description"]), next_run_at=at("10:00:30")
    )

    site.behave(NEAR.but(cpu_pct=85.0))
    site.step()
    assert Olt.objects.get().cpu_pct == 85.0
    assert set(OltHealth.objects.values_list("kind", "cpu_pct")) == {("board", 85.0)}
    site.pass_to("10:00:30")
    assert ran(site.step()) == {"names": State.SUCCESS}
    assert most_at_once(fleet) == 1

    site.behave(NEAR.but(cpu_pct=95.0))
    site.pass_to("10:05")
    assert ran(site.step()) == {"health": State.SUCCESS}
    site.pass_to("10:05:30")
    before = site.requests
    assert site.step() == []
    assert site.requests == before
    skipped = SkippedSlots.objects.get()
    assert (skipped.node, skipped.first_slot, skipped.why) == (names, at("10:05:30"), "cpu_high")

    site.behave(NEAR)
    site.pass_to("10:10")
    assert ran(site.step()) == {"health": State.SUCCESS}
    assert most_at_once(fleet) == 1
    site.pass_to("10:10:30")
    assert ran(site.step()) == {"names": State.SUCCESS}
    assert most_at_once(fleet) > 1


def test_a_chained_get_that_is_left_out_keeps_the_time_of_its_last_run(site: Site) -> None:
    site.node(make_job("discovery", interval=86_400), next_run_at=at("09:00"))
    site.step()
    health = make_job("health", "table", interval=300, facts=["board.cpu_pct"])
    site.node(health, next_run_at=at("10:00"))
    names = site.node(make_job("names", "get", facts=["description"], master=health))

    site.pass_to("10:00")
    site.step()
    names.refresh_from_db()
    ran_at = names.last_run_at
    assert ran_at is not None
    assert ran_at >= at("10:00")

    Olt.objects.update(cpu_pct=95.0)
    site.behave(NEAR.but(cpu_pct=95.0))
    site.pass_to("10:05")
    (execution,) = site.step()
    assert [part["state"] for part in execution.parts] == ["success", "skipped"]
    names.refresh_from_db()
    assert names.last_run_at == ran_at
