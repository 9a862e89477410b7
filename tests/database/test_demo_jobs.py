"""The jobs that the demo makes: for a fleet of two brands, and about all that is shown."""

import pytest

from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import columns_for, spelled_out
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.cli.demo import OLTS, _prepare
from facho.engine.planning import first_column
from facho.vendors import builtin

pytestmark = pytest.mark.django_db


def test_every_job_is_on_every_olt_and_asks_each_for_what_its_profile_reads(brands: None) -> None:
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    jobs = list(SnmpJob.objects.order_by("id"))
    assert {"discovery", "health", "ports", "autofind"} <= {job.name for job in jobs}
    assert SnmpJobHost.objects.count() == len(jobs) * len(OLTS)
    for olt in Olt.objects.select_related("brand"):
        for job in jobs:
            asked = columns_for(olt, spelled_out(job.facts, builtin()[olt.brand.name]), job.kind)
            assert asked, (olt.name, job.name)
            assert {column.brand for column in asked} == {olt.brand.name}, (olt.name, job.name)


def test_a_node_asks_for_what_its_olt_has_of_a_usual_set(brands: None) -> None:
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    waiting = SnmpJobHost.objects.filter(job__name="autofind").select_related("job", "olt__brand")
    assert {(node.olt.brand.name, first_column(node)) for node in waiting} == {
        ("huawei", "1.3.6.1.4.1.2011.6.128.1.1.2.48.1.2"),
        ("zte", "1.3.6.1.4.1.3902.1012.3.13.3.1.2"),
    }
