"""What every way to run keeps to. Another backend joins by a line in `systems`."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution, State, Trigger
from facho.apps.hosts.models import Olt
from facho.apps.hosts.store import sync_profiles
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.vendors import builtin
from tests.contract.backends import CONFIG, System, systems
from tests.factories import make_execution, make_job, make_node, make_olt
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ONUS = 200
# A discovery has begun by then, and is far from its end.
IN_MID_WALK = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", list(systems(metafunc.config.getoption("--database"))))


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(olts=3, onus=ONUS)) as fleet:
        yield fleet


@pytest.fixture
def olts(fleet: FleetProcess) -> list[Olt]:
    sync_profiles(builtin())
    return [make_olt(f"sim-{number}", port=port) for number, (_, port) in enumerate(fleet.addresses)]


@pytest.fixture
def system(request: pytest.FixtureRequest, way: str, olts: list[Olt]) -> Iterator[System]:
    with systems(request.config.getoption("--database"))[way](request) as system:
        yield system


def pending(node: SnmpJobHost) -> Execution:
    now = database_now()
    return make_execution(node, now, State.PENDING, lease_expires_at=now + CONFIG.lease)


def state_of(execution: Execution) -> str:
    return Execution.objects.values_list("state", flat=True).get(id=execution.id)


def test_a_submitted_execution_is_run_and_stored(system: System, olts: list[Olt]) -> None:
    execution = pending(make_node(olts[0]))

    system.submit(execution.id)

    wait_until(lambda: state_of(execution) == State.SUCCESS)
    assert Onu.objects.filter(olt=olts[0]).count() == ONUS
    execution.refresh_from_db()
    assert execution.counts["new"] == ONUS
    assert execution.load["requests"] > 0
    assert execution.parts[0]["state"] == "success"
    assert execution.lease_token == ""


def test_a_message_that_comes_twice_runs_once(system: System, olts: list[Olt]) -> None:
    execution = pending(make_node(olts[0]))

    for _ in range(2):
        system.submit(execution.id)

    wait_until(lambda: state_of(execution) == State.SUCCESS and system.is_idle())
    execution.refresh_from_db()
    assert execution.attempts.count() == 1


@pytest.mark.parametrize("state", [State.WAITING, State.SUCCESS, State.FAILED, State.ABORTED])
def test_what_is_not_pending_is_left_alone(system: System, olts: list[Olt], state: State) -> None:
    now = database_now()
    execution = make_execution(make_node(olts[0]), now, state, not_before=now + timedelta(hours=1))
    system.submit(execution.id)
    system.submit(10**9)
    wait_until(system.is_idle)
    assert state_of(execution) == state
    assert not execution.attempts.exists()


def test_the_next_node_of_an_olt_starts_when_the_one_before_ends(
    system: System, olts: list[Olt], fleet: FleetProcess
) -> None:
    """Nobody steps here: whoever ran the first one claims the second."""
    discovery = make_node(olts[0], make_job("discovery"))
    get = make_node(olts[0], make_job("description", "get", facts=["description"]))
    first = make_execution(discovery, database_now())
    second = make_execution(get, database_now())

    system.assign()

    wait_until(lambda: state_of(second) == State.SUCCESS)
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.state == State.SUCCESS
    assert first.ended_at is not None
    assert second.started_at is not None
    assert second.started_at >= first.ended_at
    assert Onu.objects.exclude(description="").count() > 0
    assert fleet.report().olts[0].overlaps == 0


def test_an_aborted_execution_stops_asking_and_stores_nothing(
    system: System, olts: list[Olt], fleet: FleetProcess
) -> None:
    execution = pending(make_node(olts[1]))
    with fleet.hold(1, skip=IN_MID_WALK) as gate:
        system.submit(execution.id)
        gate.wait_until_held()

        Execution.objects.filter(id=execution.id).update(state=State.ABORTED, ended_at=database_now())

        wait_until(lambda: not Execution.objects.exclude(lease_token="").exists())
        asked = fleet.report().olts[1].requests
    # The answer comes now; another execution passes through the same loop after it.
    after = pending(make_node(olts[0]))
    system.submit(after.id)
    wait_until(lambda: state_of(after) == State.SUCCESS)
    assert fleet.report().olts[1].requests == asked
    assert not Onu.objects.filter(olt=olts[1]).exists()
    assert state_of(execution) == State.ABORTED


def test_a_stop_hands_back_what_cannot_end_in_time(
    system: System, olts: list[Olt], fleet: FleetProcess
) -> None:
    execution = pending(make_node(olts[2]))
    with fleet.hold(2, skip=IN_MID_WALK) as gate:
        system.submit(execution.id)
        gate.wait_until_held()

        # The walk cannot end: it is handed back, or this does not return.
        system.stop()

    execution.refresh_from_db()
    assert (execution.state, execution.attempt, execution.lease_token) == (State.WAITING, 0, "")


def test_run_now_of_what_nobody_knows_any_more_does_no_harm(system: System, olts: list[Olt]) -> None:
    execution = pending(make_node(olts[0]))
    Execution.objects.filter(id=execution.id).update(trigger=Trigger.RUN_NOW)
    execution_id = execution.id
    Execution.objects.all().delete()
    system.submit(execution_id)
    wait_until(system.is_idle)
    again = pending(make_node(olts[1]))
    system.submit(again.id)
    wait_until(lambda: state_of(again) == State.SUCCESS)
