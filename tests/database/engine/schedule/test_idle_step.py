"""A step that has nothing to do: how little it asks the database, and that it misses no work."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import PollerStats, Worker
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.core.steps import SCHEDULER
from facho.engine.events.sender import Sender
from facho.engine.schedule.idle_check import last_step_if_idle
from facho.engine.schedule.probes import wait_for_probe
from facho.engine.schedule.scheduler import scheduler_step
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = pytest.mark.django_db
CONFIG = Config()
NOW = at("10:00:30")
LAST = at("10:00:29")


@pytest.fixture(autouse=True)
def running_system() -> None:
    """A worker that lives, a node that is not due yet, and a step a second ago."""
    register_worker("somebody", 2, LAST)
    make_node(make_olt("olt-1"), make_job("discovery"), next_run_at=at("10:01"))
    scheduler_step(LAST, CONFIG)


def statements(step: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as asked:
        step()
    ours = [each["sql"] for each in asked]
    return [sql for sql in ours if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


def test_a_step_with_nothing_to_do_looks_once_and_says_that_it_was_made() -> None:
    looks, says = statements(lambda: scheduler_step(NOW, CONFIG))
    assert looks.startswith("SELECT")
    assert says.startswith("INSERT INTO coordinator_state")
    assert CoordinatorState.objects.get(name=SCHEDULER).updated_at == NOW


def a_node_is_due() -> None:
    make_node(make_olt("olt-2"), make_job("table", "table"), next_run_at=NOW)


def a_worker_is_lost() -> None:
    Worker.objects.update(seen_at=NOW - timedelta(seconds=16))


def a_reservation_has_expired() -> None:
    make_execution(make_node(make_olt("olt-2")), LAST, State.PENDING, lease_expires_at=NOW)


def a_lease_has_expired() -> None:
    node = make_node(make_olt("olt-2"))
    make_execution(node, LAST, State.RUNNING, lease_token="x", lease_expires_at=NOW)


def an_aborted_one_kept_its_lease() -> None:
    node = make_node(make_olt("olt-2"))
    make_execution(node, LAST, State.ABORTED, lease_token="x", lease_expires_at=NOW)


def a_lease_is_far_ahead() -> None:
    make_execution(make_node(make_olt("olt-2")), LAST, State.PENDING, lease_expires_at=at("10:30"))


def nobody_waits_for_a_manual_one() -> None:
    Execution.objects.create(
        olt=Olt.objects.get(), slot=LAST, not_before=at("09:59"), queued_at=LAST, state=State.WAITING
    )


def a_window_has_begun() -> None:
    MaintenanceWindow.objects.create(
        name="works", site="here", starts_at=LAST, ends_at=at("12:00"), created_at=LAST
    )


def statistics_are_due() -> None:
    PollerStats.objects.all().delete()


def nobody_has_stepped_before() -> None:
    CoordinatorState.objects.filter(name=SCHEDULER).delete()


@pytest.mark.parametrize(
    "work",
    [
        a_node_is_due,
        a_worker_is_lost,
        a_reservation_has_expired,
        a_lease_has_expired,
        an_aborted_one_kept_its_lease,
        a_lease_is_far_ahead,
        nobody_waits_for_a_manual_one,
        a_window_has_begun,
        statistics_are_due,
        nobody_has_stepped_before,
    ],
)
def test_work_is_seen(work: Callable[[], None]) -> None:
    assert last_step_if_idle(NOW, CONFIG) == LAST
    work()
    assert last_step_if_idle(NOW, CONFIG) is None


def test_slots_too_far_ahead_are_looked_for_once_a_minute() -> None:
    SnmpJobHost.objects.update(next_run_at=at("10:02"))
    Worker.objects.update(seen_at=at("10:00:59"))
    PollerStats.objects.update(timestamp=at("10:00:58"))
    assert len(statements(lambda: scheduler_step(at("10:00:59"), CONFIG))) == 2
    assert last_step_if_idle(at("10:01"), CONFIG) == at("10:00:59")
    assert len(statements(lambda: scheduler_step(at("10:01"), CONFIG))) > 2


@pytest.mark.parametrize(
    ("probe_at", "wait_s"),
    [
        pytest.param(None, 1, id="nothing is suspended"),
        pytest.param(at("10:05"), 1, id="another process may suspend, or a person want a probe"),
        pytest.param(at("10:00:30.5"), 0.5, id="until it is due"),
        pytest.param(at("10:00:20"), -10, id="due"),
    ],
)
def test_the_next_probe_is_waited_for(probe_at: datetime | None, wait_s: float) -> None:
    Olt.objects.update(next_probe_at=probe_at)
    waits = []
    assert len(statements(lambda: waits.append(wait_for_probe(NOW, CONFIG)))) == 1
    assert waits == [timedelta(seconds=wait_s)]


def test_probes_that_are_made_sooner_are_waited_for_less() -> None:
    assert wait_for_probe(NOW, Config(probe_after=(timedelta(seconds=1),))) == timedelta(seconds=1)


def test_a_sender_with_nothing_to_send_looks_once() -> None:
    sender = Sender(CONFIG)
    assert len(statements(lambda: sender.step(NOW))) == 1
