"""Making jobs and attaching them: what is refused, where, and what follows from what was left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from facho.apps.hosts.models import Oid, Olt
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.engine.commands.jobs import (
    JobChanges,
    NewJob,
    attach,
    change_interval,
    change_master,
    create_job,
    duplicate_job,
    enable_jobs,
    update_job,
)
from facho.engine.commands.nodes import change_node_interval, change_node_priority, enable_nodes
from tests.factories import add_job, add_olts, at, node_of, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

NOW = at("10:00")
NEW = NewJob("state", "huawei", "get", "5m", ["state"])
OWN = "1.3.6.1.4.1.99999.1.2"


def test_what_was_left_out_follows_from_the_rest() -> None:
    job = create_job(NEW, NOW)
    assert (job.interval_s, job.priority, job.max_attempts, job.retry_delay_s) == (300, 40, 3, 120)
    assert (job.task_type, job.master, job.enabled) == ("get_state", None, True)


@pytest.mark.parametrize(
    ("kind", "facts", "oids", "priority", "task_type"),
    [
        ("discovery", [], [], 90, "discovery"),
        ("get", ["description", "state"], [], 40, "get_description"),
        ("walk", ["serial"], [], 60, "walk_serial"),
        ("table", ["state", "serial"], [], 60, "table_state"),
        ("bulk", [], [OWN], 60, "bulk_my_columns"),
    ],
)
def test_priority_and_task_type_follow_from_the_kind(
    kind: str, facts: list[str], oids: list[str], priority: int, task_type: str
) -> None:
    job = create_job(NewJob("My columns", "huawei", kind, "5m", facts, oids), NOW)
    assert (job.priority, job.task_type) == (priority, task_type)


def test_what_was_given_counts() -> None:
    new = replace(
        NEW, interval=timedelta(hours=1), priority=99, max_attempts=1, retry_delay="30s", task_type="mine"
    )
    job = create_job(new, NOW)
    assert (job.interval_s, job.priority, job.max_attempts, job.retry_delay_s) == (3600, 99, 1, 30)
    assert job.task_type == "mine"


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": ""}, "name", "a name is needed"),
        ({"brand": "hauwei"}, "brand", "unknown brand"),
        ({"kind": "gte"}, "kind", "'gte' is none of discovery, get"),
        ({"interval": "0"}, "interval", "'0' is not an interval"),
        ({"interval": "0s"}, "interval", "at least 1 s"),
        ({"interval": "5x"}, "interval", "'5x' is not an interval: write a whole number and s, m, h or d"),
        ({"interval": timedelta(0)}, "interval", "at least one"),
        ({"priority": 0}, "priority", "0 is not between 1 and 100"),
        ({"priority": 101}, "priority", "101 is not between 1 and 100"),
        ({"max_attempts": 0}, "max_attempts", "0 is not between 1"),
        ({"retry_delay": "soon"}, "retry_delay", "'soon' is not an interval"),
        ({"task_type": "my task"}, "task_type", "one word"),
        (
            {"facts": ["descripton"]},
            "facts",
            "huawei has no fact 'descripton'; did you mean description",
        ),
        ({"facts": ["port.serial"]}, "facts", "huawei has no fact 'port.serial'"),
        ({"facts": []}, "facts", "a get needs at least one fact"),
        ({"kind": "walk", "facts": ["state", "serial"]}, "oids", "exactly one fact or OID"),
        ({"kind": "walk", "oids": [OWN]}, "oids", "exactly one fact or OID"),
        ({"kind": "table", "facts": []}, "oids", "a table needs at least one fact or OID"),
        ({"kind": "bulk", "facts": []}, "oids", "a bulk needs at least one fact or OID"),
        ({"oids": ["1.3.6.x"]}, "oids", "1.3.6.x: an OID consists of numbers and dots"),
        ({"oids": [OWN, "9.9.9"]}, "oids", "9.9.9: an OID consists of numbers and dots"),
        ({"master": "discovery"}, "master", "there is no job named 'discovery'"),
        ({"olts": ["olt-1", "olt-9"]}, "olts", "there is no OLT named 'olt-9'"),
        ({"olts": ["olt-1", "olt-z"]}, "olts", "the job is for OLTs of huawei, and not for olt-z (zte)"),
        ({"olts": ["olt-g"]}, "olts", "not for olt-g (generic)"),
        (
            {"olts": ["olt-1", "olt-slow"]},
            "interval",
            "5 min is too short for olt-slow: it allows 10 min or longer",
        ),
    ],
)
def test_bad_input_is_refused_at_its_field(change: dict[str, object], field: str, sentence: str) -> None:
    add_olts("olt-1", "olt-slow")
    add_olts("olt-z", brand="zte")
    add_olts("olt-g", brand="generic")
    Olt.objects.filter(name="olt-slow").update(shortest_interval_s=600)
    with refused(field, sentence):
        create_job(replace(NEW, **change), NOW)  # type: ignore[arg-type]


def test_a_name_is_given_once() -> None:
    add_job("state")
    add_job("other")
    with refused("name", "the name 'state' is already taken"):
        create_job(replace(NEW, oids=[OWN]), NOW)
    with refused("name", "the name 'state' is already taken"):
        update_job("other", JobChanges(name="state", priority=1), NOW)


@pytest.mark.parametrize("fact", ["port.state", "uni.state", "olt.version", "ports", "health"])
def test_a_get_takes_only_what_is_about_onus(fact: str) -> None:
    with refused("facts", f"{fact}: it is not about ONUs; use the kind table or walk"):
        create_job(replace(NEW, facts=["state", fact]), NOW)
    job = create_job(replace(NEW, facts=["state", "details"]), NOW)
    with refused("facts", "it is not about ONUs"):
        update_job(job.name, JobChanges(facts=[fact]), NOW)
    create_job(replace(NEW, name="table", kind="table", facts=[fact]), NOW)


def test_a_generic_job_takes_olts_of_any_brand_and_facts_of_all() -> None:
    add_olts("olt-h")
    add_olts("olt-z", brand="zte")
    add_job(
        "any", "olt-h", "olt-z", brand="generic", kind="table", facts=["state", "port.state", "onu_rx_dbm"]
    )
    assert SnmpJobHost.objects.count() == 2


def test_a_column_of_the_profile_is_taken_by_its_number() -> None:
    row = Oid.objects.filter(brand__name="huawei", provides="description").first()
    assert row is not None
    count = Oid.objects.count()
    job = create_job(replace(NEW, kind="walk", facts=[], oids=[f".{row.oid}"]), NOW)
    assert (list(job.oids.all()), Oid.objects.count()) == ([row], count)


def test_a_number_that_nobody_knows_becomes_the_operators_own() -> None:
    job = create_job(replace(NEW, kind="walk", facts=[], oids=[OWN]), NOW)
    own = job.oids.get()
    assert (own.brand.name, own.name, own.oid, own.provides, own.profile_oid) == ("huawei", OWN, OWN, "", "")
    again = create_job(replace(NEW, name="again", kind="walk", facts=[], oids=[OWN]), NOW)
    assert again.oids.get() == own
    # And it says nothing about other brands.
    other = create_job(replace(NEW, name="other", brand="zte", kind="walk", facts=[], oids=[OWN]), NOW)
    assert other.oids.get().brand.name == "zte"


@pytest.mark.parametrize("brand", ["huawei", "generic"])
def test_a_column_of_another_brand_is_refused(brand: str) -> None:
    column = Oid.objects.filter(brand__name="zte", provides="serial").first()
    assert column is not None
    with refused("oids", f"{column.oid} is an OID of zte, and the job is for {brand}"):
        create_job(replace(NEW, brand=brand, kind="walk", facts=[], oids=[column.oid]), NOW)


def test_a_generic_column_is_for_every_brand() -> None:
    column = (
        Oid.objects.filter(brand__name="generic")
        .exclude(oid__in=Oid.objects.filter(brand__name="ufiber").values("oid"))
        .first()
    )
    assert column is not None
    job = create_job(replace(NEW, brand="ufiber", kind="walk", facts=[], oids=[column.oid]), NOW)
    assert job.oids.get() == column


def test_a_chain_to_a_chained_job_is_refused() -> None:
    add_job("discovery", kind="discovery", facts=())
    add_job("names", master="discovery")
    with refused("master", "names itself runs after discovery, and chains have one level"):
        create_job(replace(NEW, master="names"), NOW)
    add_job("state")
    with refused("master", "chains have one level"):
        change_master("state", "names", NOW)


@pytest.mark.parametrize("master", ["discovery", "other"])
def test_circles_and_chains_of_masters_are_refused(master: str) -> None:
    add_job("discovery", kind="discovery", facts=())
    add_job("names", master="discovery")
    add_job("other")
    with refused("master", "itself" if master == "discovery" else "has jobs that run after it (names)"):
        change_master("discovery", master, NOW)


def test_attaching_is_all_or_nothing() -> None:
    add_olts("olt-1")
    add_olts("olt-z", brand="zte")
    add_job("state")
    with refused("olts", "not for olt-z (zte)"):
        attach("state", ["olt-1", "olt-z"], NOW)


def test_an_interval_is_not_shorter_than_its_olts_allow() -> None:
    add_olts("olt-1", "olt-slow")
    Olt.objects.filter(name="olt-slow").update(shortest_interval_s=600)
    add_job("state", "olt-1", "olt-slow", interval="10m")
    with refused("interval", "5 min is too short for olt-slow"):
        change_interval("state", "5m", NOW)
    with refused("interval", "5 min is too short for olt-slow"):
        change_node_interval(node_of("state", "olt-slow").id, "5m", NOW)
    change_node_interval(node_of("state", "olt-1").id, "5m", NOW)
    # The slow one has its own interval now, so the job's may be shorter.
    change_node_interval(node_of("state", "olt-slow").id, "1h", NOW)
    change_interval("state", "5m", NOW)
    with refused("interval", "too short"):
        change_node_interval(node_of("state", "olt-slow").id, None, NOW)


@pytest.mark.parametrize("interval", ["0", "5x", ""])
def test_a_bad_interval_changes_nothing(interval: str) -> None:
    add_olts("olt-1")
    add_job("state", "olt-1")
    with refused("interval", "is not an interval"):
        change_interval("state", interval, NOW)
    with refused("interval", "is not an interval"):
        change_node_interval(node_of("state", "olt-1").id, interval, NOW)


def test_a_job_is_changed_and_keeps_what_its_kind_needs() -> None:
    add_job("state")
    update_job("state", JobChanges(facts=["serial"], oids=[OWN], priority=7, retry_delay="1m"), NOW)
    job = SnmpJob.objects.get()
    assert (job.facts, job.priority, job.retry_delay_s) == (["serial"], 7, 60)
    assert [oid.oid for oid in job.oids.all()] == [OWN]
    update_job("state", JobChanges(oids=[]), NOW)
    assert not job.oids.exists()
    with refused("facts", "a get needs at least one fact"):
        update_job("state", JobChanges(facts=[], priority=9), NOW)


def test_a_copy_asks_for_the_same_and_is_on_no_olt() -> None:
    add_olts("olt-1")
    create_job(replace(NEW, kind="bulk", oids=[OWN], olts=["olt-1"]), NOW)
    copy = duplicate_job("state", "state of others")
    assert (copy.facts, copy.oids.get().oid, copy.nodes.count()) == (["state"], OWN, 0)
    assert SnmpJob.objects.get(name="state").nodes.count() == 1
    with refused("name", "already"):
        duplicate_job("state", "state of others")


def test_a_node_has_its_own_priority() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1")
    node = node_of("state", "olt-1").id
    change_node_priority(node, 77, NOW)
    assert node_of("state", "olt-1").priority == 77
    with refused("priority", "0 is not between 1 and 100"):
        change_node_priority(node, 0, NOW)
    change_node_priority(node, None, NOW)
    assert node_of("state", "olt-1").priority is None


def test_what_does_not_exist_is_named() -> None:
    add_job("state")
    with refused("jobs", "there is no job named 'stat'; did you mean state?"):
        enable_jobs(["state", "stat"], NOW)
    with refused("node", "there is no node 7"):
        enable_nodes([7], NOW)


def test_an_olt_whose_family_has_nothing_of_it_is_refused() -> None:
    (olt,) = add_olts("olt-1", brand="generic")
    new = NewJob("waiting", "generic", "table", "5m", ["autofind.serial"], olts=[olt.name])
    with refused("olts", f"waiting: the family generic of {olt.name} has none of its facts"):
        create_job(new, NOW)
    assert not SnmpJob.objects.exists()


def test_chained_it_is_left_out_there() -> None:
    (olt,) = add_olts("olt-1", brand="generic")
    create_job(NewJob("health", "generic", "table", "5m", ["olt.uptime_s"], olts=[olt.name]), NOW)
    new = NewJob("waiting", "generic", "table", "5m", ["autofind.serial"], master="health", olts=[olt.name])
    assert create_job(new, NOW).nodes.count() == 1
