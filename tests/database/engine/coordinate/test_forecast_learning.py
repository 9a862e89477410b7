"""What executions took teaches the forecasts, once each, and only what says how long the next one takes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from facho.apps.execution_coordinator.models import CoordinatorState, TaskForecast
from facho.apps.executions.models import Execution, State
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.config import Config
from facho.core.forecast import Learned
from facho.engine.coordinate import forecast_learning
from facho.engine.coordinate.forecast_learning import learn_from_ended
from facho.engine.coordinate.forecasts import predict_durations
from tests.database.engine.coordinate.test_forecasts import make_onus
from tests.engine_day import Day
from tests.factories import at, know_brands, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = at("10:00")
CONFIG = Config()
AGO = timedelta(minutes=5)


def part(node: SnmpJobHost, seconds: float, **columns: Any) -> dict[str, Any]:
    return {
        "node": node.id,
        "task_type": node.job.task_type,
        "state": "success",
        "seconds": seconds,
        **columns,
    }


def ended(node: SnmpJobHost, seconds: float = 20.0, *, ago: timedelta = AGO, **columns: Any) -> Execution:
    when = NOW - ago
    columns.setdefault("state", State.SUCCESS)
    columns.setdefault("parts", [part(node, seconds)])
    began = when - timedelta(seconds=seconds)
    return make_execution(node, began, started_at=began, ended_at=when, **columns)


def learned(node: SnmpJobHost) -> Learned:
    return Learned.from_json(TaskForecast.objects.get(olt=node.olt, task_type=node.job.task_type).state)


def test_every_part_that_succeeded_teaches_its_own_task() -> None:
    olt = make_olt()
    make_onus(olt, 30)
    master, chained = make_node(olt), make_node(olt, make_job(kind="get", task_type="get_optics"))
    for minutes in (15, 10, 5):
        parts = [part(master, 20.0), part(chained, 60.0)]
        ended(master, ago=timedelta(minutes=minutes), parts=parts)
    assert learn_from_ended(NOW, CONFIG) == 3
    rows = TaskForecast.objects.values_list("task_type", "samples", "updated_at")
    assert list(rows) == [("discovery", 3, NOW), ("get_optics", 3, NOW)]
    assert learned(chained).onus == 30
    found = predict_durations([olt.id], NOW, CONFIG)
    assert found[olt.id, "get_optics"].p50_s == pytest.approx(60, rel=0.01)
    assert found[olt.id, "get_optics"].sure


def test_the_error_is_that_of_the_prediction_before_the_run() -> None:
    node = make_node()
    for run, seconds in enumerate((20.0, 20.0, 20.0, 25.0)):
        ended(node, seconds, ago=AGO - timedelta(seconds=run))
    learn_from_ended(NOW, CONFIG)
    before = TaskForecast.objects.get().error_pct
    ended(node, 40.0, ago=timedelta(seconds=30))
    learn_from_ended(NOW + AGO, CONFIG)
    after = TaskForecast.objects.get().error_pct
    assert before is not None
    assert after is not None
    assert after > before


def test_nothing_teaches_twice() -> None:
    node = make_node()
    ended(node)
    assert [learn_from_ended(NOW, CONFIG), learn_from_ended(NOW, CONFIG)] == [1, 0]
    ended(node, ago=timedelta(minutes=1))
    assert learn_from_ended(NOW + AGO, CONFIG) == 1
    assert learned(node).samples == 2


def test_those_that_ended_at_one_instant_are_taken_up_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecast_learning, "_AT_ONCE", 2)
    node = make_node()
    for _ in range(5):
        ended(node, trigger="run-now")
    assert [learn_from_ended(NOW + timedelta(seconds=i), CONFIG) for i in range(4)] == [2, 2, 1, 0]
    assert learned(node).samples == 5


def test_what_ended_just_now_waits_for_others_that_are_still_being_stored() -> None:
    node = make_node()
    ended(node, ago=timedelta(seconds=2))
    assert learn_from_ended(NOW, CONFIG) == 0
    ended(node, ago=timedelta(seconds=4))
    assert learn_from_ended(NOW + timedelta(minutes=1), CONFIG) == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"state": State.FAILED},
        {"state": State.ABORTED},
        {"parts": [{"node": None, "task_type": "discovery", "state": "success", "seconds": 1.0}]},
        {"parts": [{"node": 1, "task_type": "discovery", "state": "failed", "seconds": 9.0}]},
        {"parts": [{"node": 1, "task_type": "discovery", "state": "success", "seconds": 0.0}]},
        {"parts": []},
    ],
)
def test_what_says_nothing_about_the_next_run_teaches_nothing(columns: dict[str, Any]) -> None:
    ended(make_node(), **columns)
    assert learn_from_ended(NOW, CONFIG) == 1
    assert not TaskForecast.objects.exists()


def test_who_learned_the_same_meanwhile_has_done_it_for_us(monkeypatch: pytest.MonkeyPatch) -> None:
    node = make_node()
    ended(node)
    teach = forecast_learning._updated_forecasts

    def with_another(*args: Any) -> list[TaskForecast]:
        monkeypatch.setattr(forecast_learning, "_updated_forecasts", teach)
        learn_from_ended(NOW, CONFIG)
        return teach(*args)

    monkeypatch.setattr(forecast_learning, "_updated_forecasts", with_another)
    learn_from_ended(NOW, CONFIG)
    assert learned(node).samples == 1


@pytest.mark.parametrize("until", [NOW - timedelta(days=9), NOW + timedelta(days=1)])
def test_after_a_long_stop_or_a_clock_that_was_wrong_it_goes_on_with_today(until: datetime) -> None:
    node = make_node()
    ended(node, ago=timedelta(days=5))
    value = {"until": until.isoformat(), "execution": 3}
    CoordinatorState.objects.create(name="learning", value=value, updated_at=NOW)
    learn_from_ended(NOW, CONFIG)
    assert not TaskForecast.objects.exists()
    ended(node, ago=timedelta(seconds=-30))
    learn_from_ended(NOW + AGO, CONFIG)
    assert learned(node).samples == 1


@pytest.mark.parametrize("olts", [1, 5])
def test_the_number_of_queries_does_not_depend_on_the_number_of_executions(olts: int) -> None:
    nodes = [make_node() for _ in range(olts)]
    ended(nodes[0], ago=timedelta(minutes=9))
    learn_from_ended(NOW, CONFIG)
    for node in nodes:
        ended(node, ago=timedelta(minutes=-1))
    with CaptureQueriesContext(connection) as queries:
        learn_from_ended(NOW + AGO, CONFIG)
    asked = [query["sql"] for query in queries if query["sql"].split()[0] in ("SELECT", "INSERT", "UPDATE")]
    assert len(asked) == 6, asked


def test_a_day_of_the_engine_teaches_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    know_brands()
    day = Day(NOW)
    olt = make_olt()
    make_node(olt, make_job(interval=300), NOW + timedelta(minutes=1))
    day.pass_until(at("10:30"))
    row = TaskForecast.objects.get()
    assert (row.task_type, row.samples >= 4) == ("discovery", True)
    assert predict_durations([olt.id], day.now, day.config)[olt.id, "discovery"].p50_s == pytest.approx(
        2, rel=0.05
    )
