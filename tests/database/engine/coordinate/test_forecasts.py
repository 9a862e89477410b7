"""What is predicted for the tasks of OLTs: as learned, else like others, else by how they are asked."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.models import Onu
from facho.apps.execution_coordinator.models import TaskForecast
from facho.apps.hosts.models import Oid, Olt, OltModel
from facho.cli.olt import show
from facho.config import Config
from facho.core.forecast import Learned, Predicted, learn
from facho.engine.coordinate.forecasts import predict_durations
from tests.factories import at, make_brand, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NOW = at("10:00")
CONFIG = Config()


def make_learned(olt: Olt, task_type: str, seconds: float, onus: int, *, runs: int = 5) -> None:
    learned = Learned()
    for run in range(runs):
        when = NOW - timedelta(minutes=5 * (runs - run))
        learned = learn(learned, when, seconds, onus, CONFIG.time_zone)
    TaskForecast.objects.create(
        olt=olt,
        task_type=task_type,
        state=learned.as_json(),
        fixed_s=learned.fixed_s,
        per_onu_s=learned.per_onu_s,
        samples=learned.samples,
        error_pct=learned.error_pct,
        updated_at=NOW,
    )


def make_onus(olt: Olt, count: int) -> None:
    Onu.objects.bulk_create(
        Onu(olt=olt, address=f"{number}", raw_index=f"{number}", first_seen=NOW, last_seen=NOW)
        for number in range(count)
    )


def predicted(olt: Olt, task_type: str = "discovery") -> Predicted:
    return predict_durations([olt.id], NOW, CONFIG)[olt.id, task_type]


def make_asked(brand: str = "huawei", **columns: Any) -> Olt:
    """An OLT with a discovery that never ran."""
    olt = make_olt(brand=brand, **columns)
    make_node(olt, make_job(brand=brand))
    return olt


def test_what_ran_before_is_predicted_by_what_was_learned() -> None:
    olt = make_asked()
    make_learned(olt, "discovery", 20.0, 1000)
    found = predicted(olt)
    assert found.p50_s == pytest.approx(20, rel=0.01)
    assert found.p95_s > found.p50_s
    assert found.sure


def test_what_cannot_be_read_is_as_if_it_never_ran() -> None:
    olt = make_asked()
    make_learned(olt, "discovery", 20.0, 1000)
    TaskForecast.objects.update(state={"of": "another version"})
    assert not predicted(olt).sure


def test_all_nodes_of_all_olts_are_predicted_if_none_are_named() -> None:
    first, second = make_asked(), make_asked()
    make_node(second, make_job(kind="get", task_type="get_optics", facts=["optics"]), enabled=False)
    assert set(predict_durations(None, NOW, CONFIG)) == {
        (first.id, "discovery"),
        (second.id, "discovery"),
        (second.id, "get_optics"),
    }


def test_another_number_of_onus_is_known_from_the_task_that_ran_last() -> None:
    olt = make_asked()
    make_node(olt, make_job(kind="table", task_type="get_state"))
    make_learned(olt, "discovery", 20.0, 1000)
    make_learned(olt, "get_state", 8.0, 2000)
    assert 30 < predicted(olt).p50_s < 40


def test_a_new_olt_is_like_others_of_its_model_then_of_its_brand() -> None:
    brand = make_brand()
    ours = OltModel.objects.create(brand=brand, name="MA5800")
    for seconds in (20.0, 21.0, 90.0):
        make_learned(make_olt(model=ours), "discovery", seconds, 950)
    for _ in range(5):
        make_learned(make_olt(), "discovery", 60.0, 950)
    same, other = make_asked(model=ours), make_asked()
    make_onus(same, 450)
    make_onus(other, 450)
    # A fixed part as of 50 ONUs: 500 of 1,000.
    found = predicted(same)
    # As in the middle of them, and at worst as on the slowest of them.
    assert (found.p50_s, found.p95_s) == pytest.approx((10.5, 45.0))
    assert not found.sure
    assert predicted(other).p50_s == pytest.approx(30)


def test_what_was_learned_from_a_single_run_is_no_example_for_others() -> None:
    make_learned(make_olt(), "discovery", 900.0, 10, runs=1)
    assert predicted(make_asked()).p50_s < 60


def test_where_nobody_ran_it_the_way_of_asking_tells() -> None:
    small, large, gentle = make_asked(), make_asked(), make_asked(max_requests_per_second=1.0)
    make_onus(large, 500)
    assert not predicted(small).sure
    assert predicted(small).p50_s < predicted(large).p50_s < 60
    assert predicted(gentle).p50_s > predicted(small).p50_s


def test_what_onus_are_asked_for_one_by_one_takes_longer_than_a_walk() -> None:
    olt = make_olt()
    make_onus(olt, 200)
    for kind, fact in (("get", "optics"), ("table", "description")):
        make_node(olt, make_job(kind=kind, facts=[fact], task_type=f"get_{fact}", brand="huawei"))
    assert predicted(olt, "get_optics").p50_s > 3 * predicted(olt, "get_description").p50_s


def test_what_an_oid_of_ones_own_provides_takes_as_long_as_a_column_of_the_family() -> None:
    olt = make_olt()
    make_onus(olt, 500)
    Oid.objects.create(name="plans", oid="1.3.6.1.4.1.99999.7", brand=olt.brand, provides="plan")
    for fact in ("plan", "sw_version_standby"):
        make_node(olt, make_job(kind="table", facts=[fact], task_type=f"table_{fact}", brand="huawei"))
    plan, family = predicted(olt, "table_plan"), predicted(olt, "table_sw_version_standby")
    assert plan.p50_s == pytest.approx(family.p50_s, rel=0.5)


@pytest.mark.parametrize("olts", [1, 4])
def test_the_number_of_queries_does_not_depend_on_the_number_of_olts(olts: int) -> None:
    for _ in range(olts):
        make_learned(make_asked(), "discovery", 20.0, 1000)
    with CaptureQueriesContext(connection) as known:
        predict_durations(None, NOW, CONFIG)
    for _ in range(olts):
        make_asked(brand="zte")
    with CaptureQueriesContext(connection) as cold:
        predict_durations(None, NOW, CONFIG)
    assert (len(known), len(cold)) == (2, 6)


def test_an_olt_is_shown_with_what_its_tasks_take(capsys: pytest.CaptureFixture[str]) -> None:
    olt = make_asked(name="north")
    make_node(olt, make_job(kind="get", task_type="get_optics", facts=["optics"], brand="huawei"))
    make_learned(olt, "discovery", 20.0, 1000)
    show("north", as_json=True)
    first, second = json.loads(capsys.readouterr().out)["forecasts"]
    assert (first["task_type"], first["runs"], first["sure"]) == ("discovery", 5, True)
    assert first["predicted_s"] == pytest.approx(20, rel=0.01)
    assert first["error_pct"] == pytest.approx(0.1)
    assert (second["task_type"], second["runs"], second["sure"]) == ("get_optics", 0, False)
    assert second["error_pct"] is None
    show("north", as_json=False)
    told = capsys.readouterr().out
    assert "20 s" in told
    assert "a guess" in told


@pytest.mark.parametrize(
    ("error_pct", "shown"), [(None, "aún no se sabe"), (8.4, "8 %"), (55.0, "55 %")], ids=str
)
def test_the_admin_shows_what_is_expected_and_how_far_off_it_was(
    admin_client: Client, error_pct: float | None, shown: str
) -> None:
    make_learned(make_olt("north"), "discovery", 20.0, 950)
    TaskForecast.objects.update(error_pct=error_pct)
    listed = "/admin/execution_coordinator/taskforecast/"
    single = f"{listed}{TaskForecast.objects.get().pk}/change/"
    rows, row = (_spanish(admin_client, page) for page in (listed, single))
    assert all(shown in page and "20 s" in page for page in (rows, row))
    assert "1,0 s y 20 ms por cada una de 950 ONU" in row


def _spanish(client: Client, page: str) -> str:
    return client.get(page, headers={"accept-language": "es"}).content.decode()
