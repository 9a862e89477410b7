"""What the coordinator knows, in the API: quotas, violations, plans, its log, its state; ports and health."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.serializers import BaseSerializer, ListField

from facho.apps.chassis.models import PonPort
from facho.apps.db.database import database_now
from facho.apps.discovery.models import PortOutage
from facho.apps.execution_coordinator.models import (
    CoordinatorLog,
    ExecutionPlan,
    QuotaTracker,
    QuotaViolation,
)
from facho.apps.executions.models import State
from facho.apps.history.store import append_frame
from facho.core.roles import Role
from facho.engine.upkeep.system_status import Condition
from facho.web.api.dataclass_schema import describe_dataclass
from tests.api_clients import asking
from tests.factories import at, make_execution, make_node, make_olt
from tests.sample_rows import NOW, fill

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def ask(path: str, **query: Any) -> Any:
    answer = asking(Role.VIEWER).get(f"/api/v1/{path}/", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def found(path: str, **query: Any) -> list[int]:
    return [row["id"] for row in ask(path, **query)["results"]]


def test_quotas_that_cannot_be_kept_are_found() -> None:
    fill(2)
    kept, lost = QuotaTracker.objects.order_by("id")
    QuotaTracker.objects.filter(id=kept.id).update(quota_completed=4, quota_skipped=0, quota_pending=0)
    assert found("quotas", at_risk="true") == [lost.id]
    assert found("quotas", at_risk="false") == [kept.id]
    QuotaTracker.objects.filter(id=kept.id).update(status="COMPLETED")
    assert found("quotas", status=["COMPLETED", "PARTIAL"]) == [kept.id]
    (row,) = ask("quotas", status="IN_PROGRESS", task_type="get_state")["results"]
    assert (row["quota_required"], row["quota_skipped"]) == (4, 2)
    assert row["reasons"] == [{"why": "olt_busy", "what": "discovery", "count": 2, "lost_s": 600}]


def test_a_violation_has_its_report() -> None:
    fill(2)
    first = QuotaViolation.objects.order_by("id")[0]
    QuotaViolation.objects.filter(id=first.id).update(severity="LOW", notified=True)
    assert found("violations", severity="LOW") == found("violations", notified="true") == [first.id]
    said = ask(f"violations/{first.id}")
    assert said["report"] == first.report
    assert said["report"]["tasks"][0]["severity"] == "HIGH"


def test_a_plan_by_itself_has_its_runs() -> None:
    fill(2)
    first, second = ExecutionPlan.objects.order_by("id")
    runs = {"tasks": [], "entries": [[1, 0.0, 1.5, 9.0, "", 1.5]], "lost": [], "quotas": []}
    ExecutionPlan.objects.filter(id=first.id).update(infeasible={"change": None}, plan_data=runs)
    assert found("plans", fits="false") == [first.id]
    assert found("plans", fits="true", status="ACTIVE") == [second.id]
    assert "plan_data" not in ask("plans")["results"][0]
    assert ask(f"plans/{first.id}")["plan_data"] == runs


def test_a_forecast_says_what_a_run_would_take_now() -> None:
    fill(1)
    (row,) = ask("forecasts", task_type="get_state")["results"]
    assert 0 < row["p50_s"] <= row["p95_s"]


def test_the_log_is_narrowed_to_what_matters() -> None:
    fill(1)
    bad = CoordinatorLog.objects.create(
        event_type="LEASE_LOST", level="ERROR", message="gone", details={"worker": "w"}, timestamp=NOW
    )
    assert found("logs", level=["ERROR", "CRITICAL"]) == found("logs", event_type="LEASE_LOST") == [bad.id]
    (row,) = ask("logs", everybody="true")["results"]
    assert (row["olt"], row["olt_name"], row["details"]) == (None, None, {"worker": "w"})


def test_outages_that_last_are_found() -> None:
    fill(2)
    over, lasts = PortOutage.objects.order_by("id")
    PortOutage.objects.filter(id=over.id).update(ended_at=NOW, onus={"7": "los"})
    assert found("outages", open="true") == [lasts.id]
    (row,) = ask("outages", open="false", cause="fibre_cut")["results"]
    assert (row["id"], row["onus"]) == (over.id, {"7": "los"})


def test_a_port_has_a_history_of_its_own() -> None:
    olt = make_olt()
    port = PonPort.objects.create(olt=olt, place="0/1/7", updated_at=at("10:00"))
    append_frame(olt.pk, at("10:00"), "port", [port.pk], {"tx_dbm": [4.25], "onus_online": [61.0]})
    day = {"from": at("00:00").isoformat(), "until": at("23:00").isoformat()}
    said = ask(f"ports/{port.pk}/history", fact=["tx_dbm", "onus_online"], **day)
    assert said["times"] == ["2025-06-10T10:00:00Z"]
    assert said["values"] == {"tx_dbm": [4.25], "onus_online": [61.0]}


def differences(field: Any, said: Any, place: str = "") -> list[str]:
    """Between what is described and what is said, by name."""
    if isinstance(field, BaseSerializer) and said is not None:
        names = field.fields  # type: ignore[attr-defined]  # of a serializer that is no list
        unlike = [f"{place}: {name}" for name in names.keys() ^ said.keys()]
        return unlike + [each for name in names for each in differences(names[name], said.get(name), name)]
    if isinstance(field, ListField):
        return [each for one in said for each in differences(field.child, one, place)]
    return []


def test_the_state_of_the_coordinator_is_as_it_is_described() -> None:
    fill(3)
    now = database_now()
    node = make_node(next_run_at=now)
    make_execution(node, now, State.RUNNING)
    make_execution(make_node(node.olt), now)
    said = ask("coordinator")
    assert differences(describe_dataclass(Condition)(), said) == []
    assert said["executions"]["running"] == 1
    assert [each["because_of"] for each in said["queue"]["first"] if each["olt_id"] == node.olt_id] == [
        node.job.name
    ]


def test_the_state_takes_as_many_queries_for_much_as_for_little() -> None:
    client = asking(Role.VIEWER)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/api/v1/coordinator/").status_code == 200
        # PostgreSQL is asked what time it is, once for the token and once for the state; SQLite has no clock.
        return len([query for query in captured if "clock_timestamp" not in query["sql"]])

    # The third waits in the queue.
    fill(3)
    client.get("/api/v1/coordinator/")
    few = queries()
    fill(7, beginning_at=3)
    assert queries() == few <= 19
