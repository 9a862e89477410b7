"""The target of a job: all OLTs, those of a site or of a brand, or chosen ones."""

from __future__ import annotations

import pytest

from facho.apps.db.database import database_now
from facho.apps.snmp_jobs.models import SnmpJob
from facho.engine.commands.errors import CommandError
from facho.engine.commands.job_repeats import find_repeats
from facho.engine.commands.jobs import JobChanges, NewJob, create_job, detach, update_job
from facho.engine.commands.olts import NewOlt, OltChanges, add_olt, update_olt
from facho.engine.commands.what_if import change_of

pytestmark = pytest.mark.usefixtures("brands")


def add(name: str, brand: str = "huawei", site: str = "") -> None:
    add_olt(NewOlt(name, f"10.0.0.{len(name)}{ord(name[0]) % 10}", brand=brand, site=site))


def job(target: str, site: str = "", brand: str = "", facts: tuple[str, ...] = ("serial",)) -> SnmpJob:
    new = NewJob("inventory", brand, "table", "1h", facts, target=target, site=site)
    return create_job(new, database_now())


def olts(made: SnmpJob) -> list[str]:
    return list(made.nodes.order_by("olt__name").values_list("olt__name", flat=True))


def test_a_job_for_all_gets_the_olts_that_are_added_later_with_a_first_run() -> None:
    add("a")
    made = job("all")
    assert olts(made) == ["a"]
    add("bb", "zte")
    assert olts(made) == ["a", "bb"]
    assert made.nodes.filter(next_run_at=None).count() == 0


def test_a_job_of_a_site_gets_an_olt_that_moves_there() -> None:
    add("a", site="North")
    add("bb", site="South")
    made = job("site", "North")
    assert olts(made) == ["a"]
    update_olt("bb", OltChanges(site="North"), database_now())
    assert olts(made) == ["a", "bb"]


def test_a_job_with_a_brand_takes_the_olts_of_the_brand_alone() -> None:
    add("a")
    made = job("all", brand="zte")
    assert (made.target, olts(made)) == ("brand", [])
    add("bb", "zte")
    assert olts(made) == ["bb"]


def test_a_selection_stays_as_it_was_chosen() -> None:
    made = job("selection")
    add("a")
    assert olts(made) == []


def test_another_target_attaches_what_it_covers_and_detaches_the_rest() -> None:
    add("a", site="North")
    add("bb", site="South")
    made = job("all")
    update_job("inventory", JobChanges(target="site", site="South"), database_now())
    assert olts(made) == ["bb"]


def test_a_mistyped_site_detaches_nothing() -> None:
    add("a", site="North")
    made = job("all")
    with pytest.raises(CommandError, match="no OLT is at the site 'Nroth'; the sites are: North"):
        update_job("inventory", JobChanges(target="site", site="Nroth"), database_now())
    assert olts(made) == ["a"]
    with pytest.raises(CommandError, match="no OLT is at the site 'Nroth'"):
        create_job(
            NewJob("more", "", "table", "1h", ("serial",), target="site", site="Nroth"), database_now()
        )


def test_a_job_of_a_site_without_olts_can_be_changed() -> None:
    add("a", site="North")
    made = job("site", "North")
    update_olt("a", OltChanges(site="South"), database_now())
    update_job("inventory", JobChanges(target="site", priority=7), database_now())
    made.refresh_from_db()
    assert (made.target_site, made.priority) == ("North", 7)


def test_an_olt_that_was_detached_stays_detached_when_something_else_changes() -> None:
    add("a")
    made = job("all")
    detach("inventory", ["a"], database_now())
    update_olt("a", OltChanges(site="North"), database_now())
    assert olts(made) == []


@pytest.mark.parametrize(("target", "field"), [("site", "site"), ("brand", "target"), ("moon", "target")])
def test_a_target_that_says_not_enough_is_refused(target: str, field: str) -> None:
    with pytest.raises(CommandError) as refused:
        job(target)
    assert refused.value.field == field


def test_the_preview_of_a_target_has_all_its_olts_and_the_jobs_that_ask_the_same() -> None:
    add("a")
    job("all", facts=("onu_rx_dbm", "serial"))
    change = change_of(NewJob("more", "", "get", "5m", ("optics",), target="all"), (), None)
    assert list(change.olts.values()) == ["a"]
    assert [each.as_json() for each in change.repeats] == [
        {"job": "inventory", "facts": ["onu_rx_dbm"], "olts": 1}
    ]


def test_jobs_with_the_same_oid_ask_the_same() -> None:
    add("a")
    oid = "1.3.6.1.4.1.99999.1.1"
    create_job(NewJob("uptime", "", "walk", "5m", oids=[oid], olts=["a"]), database_now())
    change = change_of(NewJob("again", "", "walk", "5m", oids=[oid], olts=["a"]), (), None)
    assert [each.as_json() for each in change.repeats] == [{"job": "uptime", "facts": [oid], "olts": 1}]
    other = change_of(NewJob("other", "", "walk", "5m", oids=[f"{oid}.1"], olts=["a"]), (), None)
    assert other.repeats == []


def test_a_job_is_no_repeat_of_itself_nor_of_one_on_other_olts() -> None:
    add("a")
    made = job("all")
    ids = list(made.nodes.values_list("olt_id", flat=True))
    assert find_repeats("table", ["serial"], ids, made.pk) == []
    assert find_repeats("table", ["serial"], [ids[0] + 1], None) == []
    assert len(find_repeats("table", ["serial"], ids, None)) == 1
