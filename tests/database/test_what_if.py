"""What a job would do to its OLTs, said before it is saved; and grids that are moved."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facho.apps.execution_coordinator.models import ExecutionPlan, QuotaTracker, TaskForecast
from facho.apps.snmp_jobs.models import SnmpJob
from facho.config import Config
from facho.core.forecast import Learned, learn
from facho.engine.commands.jobs import NewJob
from facho.engine.commands.nodes import shift_grid
from facho.engine.what_if import what_if
from tests.database.setting_up import add_job, add_olts, at, next_run, node_of, refused

pytestmark = pytest.mark.django_db
CONFIG = Config()
NOW = at("10:00")


def takes(olt: str, task_type: str, seconds: float) -> None:
    """So long, as it was measured ten times."""
    learned = Learned()
    for hours in range(10):
        learned = learn(learned, NOW - timedelta(hours=hours), seconds, 100, CONFIG.time_zone)
    TaskForecast.objects.create(
        olt_id=node_of("state", olt).olt_id, task_type=task_type, state=learned.written(),
        samples=learned.samples, fixed_s=learned.fixed_s, per_onu_s=learned.per_onu_s, updated_at=NOW,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _north_and_south(brands: None) -> None:
    add_olts("north", "south")
    add_job("state", "north", "south", interval="5m")
    for olt in ("north", "south"):
        takes(olt, "get_state", 60.0)
    takes("north", "get_onu_rx_dbm", 280.0)
    takes("south", "get_onu_rx_dbm", 30.0)


def test_a_job_that_is_not_saved_yet_shows_where_it_would_not_fit() -> None:
    new = NewJob("optics", "huawei", "get", "5m", ["onu_rx_dbm"], olts=["north", "south"])
    before = QuotaTracker.objects.count(), ExecutionPlan.objects.count()
    north, south = what_if(new, (), None, NOW, CONFIG)
    assert (north.olt, round(north.before.p50_min), round(north.after.p50_min)) == ("north", 12, 68)
    assert north.becomes_impossible
    assert north.problem is not None
    assert north.problem.change is not None
    assert (north.problem.change.job, north.as_json()["would_fit"]["interval"]) == ("optics", "8m")
    assert (south.olt, round(south.after.p50_min), south.becomes_impossible) == ("south", 18, False)
    assert south.sure
    # Nothing of it has happened.
    assert not SnmpJob.objects.filter(name="optics").exists()
    assert (QuotaTracker.objects.count(), ExecutionPlan.objects.count()) == before


def test_a_job_on_one_more_olt_and_a_shorter_interval() -> None:
    add_job("optics", "south", interval="5m", facts=["onu_rx_dbm"])
    (north,) = what_if("optics", ["north"], None, NOW, CONFIG)
    assert north.becomes_impossible
    both = what_if("state", (), "30s", NOW, CONFIG)
    assert [(each.olt, each.becomes_impossible) for each in both] == [("south", True), ("north", True)]
    assert both[0].as_json()["at_risk"][0]["task_type"] == "get_state"
    assert SnmpJob.objects.get(name="state").interval_s == 300


def test_what_the_change_would_be_refused_for_is_refused_here_too() -> None:
    with refused("interval", "is not an interval"):
        what_if("state", (), "soon", NOW, CONFIG)


def test_a_grid_is_moved_and_the_hour_is_counted_and_planned_anew() -> None:
    assert next_run("state", "north") == "10:01:00"
    shift_grid(node_of("state", "north").id, "150s", NOW)
    assert next_run("state", "north") == "10:03:30"
    north = QuotaTracker.objects.get(olt__name="north")
    assert north.quota_required == 12
    plan = ExecutionPlan.objects.get(olt__name="north", status="ACTIVE")
    assert plan.plan_data["entries"][0][1] == 210.0


def test_a_grid_is_not_moved_by_a_whole_interval_nor_that_of_a_chained_node() -> None:
    add_job("names", "north", facts=["description"], master="state")
    with refused("by", "shorter than its interval"):
        shift_grid(node_of("state", "north").id, "5m", NOW)
    with refused("node", "runs after"):
        shift_grid(node_of("names", "north").id, "1m", NOW)
