"""Jobs and nodes in the admin: what a person does there happens by the same commands as everywhere."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import localtime

from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.config import current
from facho.engine.commands.errors import CommandError
from facho.web import what_if_limits
from facho.web.admin import job_preview
from tests.database.engine.commands.test_what_if import takes
from tests.factories import add_job, add_olts, know_brands, node_of, queue

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

ADD = "/admin/snmp_jobs/snmpjob/add/"
JOBS = "/admin/snmp_jobs/snmpjob/"
NODES = "/admin/snmp_jobs/snmpjobhost/"


@pytest.fixture(autouse=True)
def _brands() -> None:
    know_brands()


def rows(prefix: str, existing: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of an inline: the rows that are there, then the new ones."""
    given: dict[str, Any] = {
        f"{prefix}-TOTAL_FORMS": len(existing) + len(new),
        f"{prefix}-INITIAL_FORMS": len(existing),
    }
    for number, row in enumerate([*existing, *new]):
        given |= {f"{prefix}-{number}-{name}": value for name, value in row.items()}
    return given


def form_of(*, oids: Any = ([], []), nodes: Any = ([], []), **changes: Any) -> dict[str, Any]:
    """`oids` and `nodes` are the rows that are there, and the new ones."""
    usual = {
        "name": "state",
        "enabled": "on",
        "brand": Brand.objects.get(name="huawei").pk,
        "kind": "get",
        "interval": "10m",
        "facts": "state, down_cause",
    }
    return {**usual, **changes, **rows("job_oids", *oids), **rows("nodes", *nodes)}


def change(job: SnmpJob) -> str:
    return reverse("admin:snmp_jobs_snmpjob_change", args=[job.pk])


def errors_of(answer: Any) -> dict[str, list[str]]:
    assert answer.status_code == 200, "it was saved"
    return dict(answer.context["adminform"].form.errors)


def node_row(node: SnmpJobHost, **changes: Any) -> dict[str, Any]:
    row = {"id": node.pk, "job": node.job_id, "olt": node.olt_id, "enabled": "on", **changes}
    return {name: value for name, value in row.items() if value is not None}


def test_a_new_job_is_made_with_its_olts_and_oids_and_they_are_spread(admin_client: Client) -> None:
    olts = add_olts("Centro", "Norte")
    oid = Oid.objects.create(brand=olts[0].brand, name="own", oid="1.3.6.1.4.1.9.9")
    new_nodes = [{"olt": olt.pk, "enabled": "on"} for olt in olts]
    given = form_of(oids=([], [{"oid": oid.pk}]), nodes=([], new_nodes))
    assert admin_client.post(ADD, given).status_code == 302
    job = SnmpJob.objects.get()
    assert (job.interval_s, job.facts, job.priority, job.max_attempts) == (
        600,
        ["state", "down_cause"],
        40,
        3,
    )
    assert job.task_type == "get_state"
    assert list(job.oids.all()) == [oid]
    first, second = (node_of("state", name).next_run_at for name in ("Centro", "Norte"))
    assert first is not None
    assert second is not None
    assert (second - first).total_seconds() == 150


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        ("5", "no es un intervalo: escriba un número entero y s, min, h o d, por ejemplo 15 min"),
        ("0s", "es demasiado corto: un intervalo debe ser de 1 s como mínimo"),
        ("900d", "es demasiado largo: un intervalo puede ser de 366 d como máximo"),
        ("five minutes", "no es un intervalo"),
    ],
)
def test_an_interval_that_is_none_is_refused_at_its_field(
    admin_client: Client, interval: str, told: str
) -> None:
    answer = admin_client.post(ADD, form_of(interval=interval), headers={"accept-language": "es"})
    (sentence,) = errors_of(answer)["interval"]
    assert sentence.startswith(f"«{interval}» {told}")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"facts": "stat"}, "facts"),
        ({"facts": ""}, "facts"),
        ({"name": " "}, "name"),
        ({"priority": "101"}, "priority"),
        ({"task_type": "two words"}, "task_type"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_made(
    admin_client: Client, given: dict[str, str], field: str
) -> None:
    assert field in errors_of(admin_client.post(ADD, form_of(**given)))
    assert not SnmpJob.objects.exists()


def test_an_olt_of_another_brand_is_refused_with_its_name(admin_client: Client) -> None:
    (olt,) = add_olts("Puerto", brand="zte")
    answer = admin_client.post(ADD, form_of(nodes=([], [{"olt": olt.pk, "enabled": "on"}])))
    assert "Puerto (zte)" in str(errors_of(answer)["__all__"])
    assert not SnmpJob.objects.exists()


def test_a_job_cannot_run_after_itself(admin_client: Client) -> None:
    job = add_job()
    assert "master" in errors_of(admin_client.post(change(job), form_of(master=job.pk)))


def test_a_changed_interval_gives_its_nodes_new_times(admin_client: Client) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    before = node_of("state", "Centro")
    given = form_of(interval="1h", facts="state", nodes=([node_row(before)], []))
    assert admin_client.post(change(job), given).status_code == 302
    job.refresh_from_db()
    assert job.interval_s == 3600
    assert node_of("state", "Centro").next_run_at != before.next_run_at


def test_saving_without_a_change_moves_nothing(admin_client: Client) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    before = SnmpJobHost.objects.values().get()
    given = form_of(
        facts="state", priority="40", max_attempts="3", retry_delay="2m", task_type="get_state",
        nodes=([node_row(node_of("state", "Centro"))], []),
    )  # fmt: skip
    assert admin_client.post(change(job), given).status_code == 302
    assert SnmpJobHost.objects.values().get() == before


def test_the_order_of_the_boxes_of_facts_is_no_change(admin_client: Client) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    SnmpJob.objects.filter(pk=job.pk).update(facts=["down_cause", "state"])
    given = form_of(
        name="states", facts="state, down_cause", nodes=([node_row(node_of("state", "Centro"))], [])
    )
    assert admin_client.post(change(job), given).status_code == 302
    assert SnmpJob.objects.values_list("name", "facts").get() == ("states", ["down_cause", "state"])


def test_a_job_gets_another_name_and_its_nodes_follow(admin_client: Client) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    given = form_of(
        name="states", interval="20m", facts="state", nodes=([node_row(node_of("state", "Centro"))], [])
    )
    assert admin_client.post(change(job), given).status_code == 302
    assert node_of("states", "Centro").job.interval_s == 1200


def test_rows_of_olts_are_added_changed_and_removed(admin_client: Client) -> None:
    _, _, sur = add_olts("Centro", "Norte", "Sur")
    job = add_job("state", "Centro", "Norte")
    existing = [
        node_row(node_of("state", "Centro"), DELETE="on"),
        node_row(node_of("state", "Norte"), enabled=None, interval="30m", priority="77"),
    ]
    given = form_of(facts="state", nodes=(existing, [{"olt": sur.pk, "enabled": "on"}]))
    assert admin_client.post(change(job), given).status_code == 302
    assert {node.olt.name for node in job.nodes.all()} == {"Norte", "Sur"}
    north = node_of("state", "Norte")
    assert (north.enabled, north.interval_s, north.priority, north.next_run_at) == (False, 1800, 77, None)
    assert node_of("state", "Sur").next_run_at is not None


def test_a_row_that_runs_is_not_pulled_away(admin_client: Client) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    queue("state", "Centro", State.RUNNING, lease_token="t")
    given = form_of(facts="state", nodes=([node_row(node_of("state", "Centro"), DELETE="on")], []))
    assert "Centro" in str(errors_of(admin_client.post(change(job), given))["__all__"])
    assert job.nodes.count() == 1


def test_oids_are_added_and_removed(admin_client: Client) -> None:
    job = add_job("plain", kind="table")
    brand = job.brand
    first, second = (
        Oid.objects.create(brand=brand, name=f"own {number}", oid=f"1.3.6.1.4.1.9.{number}")
        for number in (1, 2)
    )
    given = {"name": "plain", "facts": "state"}
    admin_client.post(change(job), form_of(**given, oids=([], [{"oid": first.pk}])))
    assert list(job.oids.all()) == [first]
    row = {"id": job.job_oids.get().pk, "job": job.pk, "oid": first.pk, "DELETE": "on"}
    admin_client.post(change(job), form_of(**given, oids=([row], [{"oid": second.pk}])))
    assert list(job.oids.all()) == [second]


@pytest.mark.parametrize("model", ["snmpjob", "snmpjobhost"])
def test_the_actions_enable_and_disable(admin_client: Client, model: str) -> None:
    add_olts("Centro")
    job = add_job("state", "Centro")
    row = job if model == "snmpjob" else node_of("state", "Centro")
    path, chosen = f"/admin/snmp_jobs/{model}/", {"_selected_action": [row.pk]}
    admin_client.post(path, {"action": "disable", "reason": "test", **chosen})
    row.refresh_from_db()
    assert not row.enabled
    assert node_of("state", "Centro").next_run_at is None
    admin_client.post(path, {"action": "enable", **chosen})
    assert node_of("state", "Centro").next_run_at is not None


def test_run_now_says_which_execution_it_became(admin_client: Client) -> None:
    add_olts("Centro")
    add_job("state", "Centro")
    chosen = {"action": "run_now", "_selected_action": [node_of("state", "Centro").pk]}
    answer = admin_client.post(NODES, chosen, follow=True, headers={"accept-language": "en"})
    execution = Execution.objects.get()
    assert f"Execution {execution.pk}: state runs next on Centro." in answer.content.decode()
    assert execution.run_now


def test_a_job_is_run_now_on_all_its_olts_where_it_can(admin_client: Client) -> None:
    add_olts("Centro", "Norte", "Sur")
    job = add_job("state", "Centro", "Norte", "Sur")
    Olt.objects.filter(name="Sur").update(enabled=False)
    chosen = {"action": "run_now", "_selected_action": [job.pk]}
    said = admin_client.post(JOBS, chosen, follow=True, headers={"accept-language": "en"}).content.decode()
    assert "state runs next on 2 OLTs. Not on 1: the OLT Sur is disabled" in said
    assert set(Execution.objects.filter(run_now=True).values_list("olt__name", flat=True)) == {
        "Centro",
        "Norte",
    }


def test_run_now_on_what_is_disabled_says_why_not(admin_client: Client) -> None:
    add_olts("Centro")
    add_job("state", "Centro", enabled=False)
    chosen = {"action": "run_now", "_selected_action": [node_of("state", "Centro").pk]}
    answer = admin_client.post(NODES, chosen, follow=True, headers={"accept-language": "en"})
    assert "the job state is disabled" in answer.content.decode()
    assert not Execution.objects.exists()


def test_a_node_is_added_changed_and_detached_on_its_own_page(admin_client: Client) -> None:
    (olt,) = add_olts("Centro")
    job = add_job("state")
    given = {"job": job.pk, "olt": olt.pk, "enabled": "on", "interval": "", "priority": ""}
    assert admin_client.post(f"{NODES}add/", given).status_code == 302
    node = node_of("state", "Centro")
    assert node.next_run_at is not None
    page = reverse("admin:snmp_jobs_snmpjobhost_change", args=[node.pk])
    assert admin_client.post(page, {**given, "interval": "1h"}).status_code == 302
    node.refresh_from_db()
    assert node.interval_s == 3600
    admin_client.post(NODES, {"action": "detach", "reason": "test", "_selected_action": [node.pk]})
    assert not SnmpJobHost.objects.exists()


def test_what_a_node_would_do_is_shown_before_it_is_saved(admin_client: Client) -> None:
    (north,) = add_olts("north")
    job = add_job("state")
    given = {"job": job.pk, "olt": north.pk, "enabled": "on", "interval": "", "priority": ""}
    answer = admin_client.post(f"{NODES}add/", {**given, "_what_if": "1"})
    assert [each["olt"] for each in answer.context["what_if"]["olts"]] == ["north"]
    assert "<form" not in answer.content.decode()
    assert not SnmpJobHost.objects.exists()
    assert 'name="_what_if"' in admin_client.get(f"{NODES}add/").content.decode()


def test_an_interval_of_a_node_that_would_not_fit_is_saved_by_who_is_sure(admin_client: Client) -> None:
    (north,) = add_olts("north")
    job = add_job("state", "north")
    takes("north", "get_state", 50.0)
    node = node_of("state", "north")
    page = reverse("admin:snmp_jobs_snmpjobhost_change", args=[node.pk])
    given = {"job": job.pk, "olt": north.pk, "enabled": "on", "interval": "30s", "priority": ""}
    (each,) = admin_client.post(page, {**given, "_what_if": "1"}).context["what_if"]["olts"]
    assert each["becomes_impossible"]
    answer = admin_client.post(page, given)
    assert "__all__" in errors_of(answer)
    assert 'name="_sure"' in answer.content.decode()
    node.refresh_from_db()
    assert node.interval_s is None
    assert admin_client.post(page, {**given, "_sure": "1"}).status_code == 302
    node.refresh_from_db()
    assert node.interval_s == 30


def test_what_a_job_would_do_is_shown_before_it_is_saved(admin_client: Client) -> None:
    (north,) = add_olts("north")
    form = form_of(nodes=([], [{"olt": north.pk, "enabled": "on"}]), _what_if="1")
    answer = admin_client.post(ADD, form)
    assert [each["olt"] for each in answer.context["what_if"]["olts"]] == ["north"]
    assert 'class="fd-name">north<' in answer.content.decode()
    assert "<form" not in answer.content.decode()
    assert not SnmpJob.objects.exists()


def test_a_preview_says_what_is_wrong(admin_client: Client) -> None:
    answer = admin_client.post(ADD, form_of(interval="often", _what_if="1"))
    (mistake,) = answer.context["mistakes"]
    assert mistake.startswith("Intervalo: ")


def test_what_would_not_fit_is_saved_by_who_is_sure(admin_client: Client) -> None:
    add_olts("north")
    job = add_job("state", "north")
    takes("north", "get_state", 50.0)
    row = node_row(node_of("state", "north"))
    given = form_of(interval="30s", facts="state", nodes=([row], []))
    assert "__all__" in errors_of(answer := admin_client.post(change(job), given))
    assert 'name="_sure"' in answer.content.decode()
    assert SnmpJob.objects.get(pk=job.pk).interval_s == job.interval_s
    assert admin_client.post(change(job), {**given, "_sure": "1"}).status_code == 302
    assert SnmpJob.objects.get(pk=job.pk).interval_s == 30


@pytest.mark.parametrize(
    ("most", "asks", "why"), [(2, True, "wait for its result"), (0, False, "in a few seconds")]
)
def test_what_cannot_be_checked_now_is_saved_by_who_is_sure(
    admin_client: Client, admin_user: User, monkeypatch: pytest.MonkeyPatch, most: int, asks: bool, why: str
) -> None:
    turns = what_if_limits.Turns(most)
    monkeypatch.setattr(what_if_limits, "_turns", turns)
    add_olts("north")
    job = add_job("state", "north")
    takes("north", "get_state", 50.0)
    given = form_of(interval="30s", facts="state", nodes=([node_row(node_of("state", "north"))], []))
    with turns.take(admin_user.pk, may_change=True) if asks else nullcontext():
        answer = admin_client.post(change(job), given, headers={"accept-language": "en"})
        (sentence,) = errors_of(answer)["__all__"]
        assert sentence.startswith("Not saved: ")
        assert f"{why}; or save without this check, below." in sentence
        assert 'name="_sure"' in answer.content.decode()
        assert SnmpJob.objects.get(pk=job.pk).interval_s == job.interval_s
        assert admin_client.post(change(job), {**given, "_sure": "1"}).status_code == 302
    assert SnmpJob.objects.get(pk=job.pk).interval_s == 30


def test_what_is_saved_without_a_check_is_said_when_it_is_saved(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_preview, "current", lambda: replace(current(), what_if_olts=0))
    (north,) = add_olts("north")
    form = form_of(nodes=([], [{"olt": north.pk, "enabled": "on"}]))

    def said(answer: Any) -> bool:
        return any("Saved without checking" in str(each) for each in answer.context["messages"])

    english = {"accept-language": "en"}
    with monkeypatch.context() as refusing:
        refusing.setattr("facho.web.admin.snmp_jobs._save_job", refuse)
        assert not said(admin_client.post(ADD, form, follow=True, headers=english))
    assert not SnmpJob.objects.exists()
    assert said(admin_client.post(ADD, form, follow=True, headers=english))
    assert SnmpJob.objects.exists()


def refuse(*_: Any, **__: Any) -> None:
    raise CommandError("name", "not now")


def test_a_copy_has_a_name_of_its_own(admin_client: Client) -> None:
    job = add_job("state")
    chosen = {"action": "duplicate", "_selected_action": [job.pk]}
    for _time in range(2):
        admin_client.post("/admin/snmp_jobs/snmpjob/", chosen)
    assert set(SnmpJob.objects.values_list("name", flat=True)) == {
        "state",
        "state (copia)",
        "state (copia 2)",
    }


def test_the_list_says_how_often_and_when_next(admin_client: Client) -> None:
    add_olts("Centro")
    add_job("state", "Centro")
    SnmpJobHost.objects.update(next_run_at=localtime().replace(hour=10, minute=41, second=0))
    assert ", próxima 10:41:00" in admin_client.get("/admin/snmp_jobs/snmpjob/").content.decode()
