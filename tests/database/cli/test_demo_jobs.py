"""The jobs that the demo makes: for a fleet of four vendors, and about all that is shown."""

import pytest

from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import columns_for, spelled_out
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.cli.demo import OLTS, _prepare
from facho.engine.collect.work_builder import first_column
from facho.engine.commands.olts import NewOlt, add_olt
from facho.vendors import GENERIC, builtin

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def test_a_job_is_on_every_olt_that_has_something_for_it_and_asks_for_what_its_profile_reads(
    brands: None,
) -> None:
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    jobs = list(SnmpJob.objects.order_by("id"))
    assert {"discovery", "model", "health", "ports", "autofind"} <= {job.name for job in jobs}
    for olt in Olt.objects.select_related("brand"):
        for job in jobs:
            asked = columns_for(olt, spelled_out(job.facts, builtin()[olt.brand.name], job.kind), job.kind)
            assert bool(asked) == job.nodes.filter(olt=olt).exists(), (olt.name, job.name)
            # The clock of an OLT is a column of the standard.
            assert {column.brand for column in asked} <= {olt.brand.name, GENERIC}, (olt.name, job.name)


def test_it_shows_four_vendors() -> None:
    assert len({builtin()[olt.brand].vendor for olt in OLTS}) == 4


def test_olts_of_an_earlier_demo_are_switched_off(brands: None) -> None:
    add_olt(NewOlt("demo-old", "127.0.0.1", brand="zte", site="demo"))
    add_olt(NewOlt("mine", "127.0.0.1", 1161, brand="zte"))
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    assert set(Olt.objects.filter(enabled=False).values_list("name", flat=True)) == {"demo-old"}


def test_a_node_asks_for_what_its_olt_has_of_a_usual_set(brands: None) -> None:
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    waiting = SnmpJobHost.objects.filter(job__name="autofind").select_related("job", "olt__brand")
    assert {(node.olt.brand.name, first_column(node)) for node in waiting} >= {
        ("huawei", "1.3.6.1.4.1.2011.6.128.1.1.2.48.1.2"),
        ("zte", "1.3.6.1.4.1.3902.1012.3.13.3.1.2"),
    }
