"""The jobs that the demo makes: for a fleet of two brands, and about all that is shown."""

import pytest

from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import columns_for
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from facho.cli.demo import OLTS, _prepare

pytestmark = pytest.mark.django_db


def test_every_job_is_on_every_olt_and_asks_each_for_what_its_profile_reads(brands: None) -> None:
    _prepare([("127.0.0.1", 20_000 + number) for number in range(len(OLTS))])
    jobs = list(SnmpJob.objects.order_by("id"))
    assert {"discovery", "health", "ports", "autofind"} <= {job.name for job in jobs}
    assert SnmpJobHost.objects.count() == len(jobs) * len(OLTS)
    for olt in Olt.objects.select_related("brand"):
        for job in jobs:
            asked = columns_for(olt, job.facts, job.kind)
            assert asked, (olt.name, job.name)
            assert {column.brand for column in asked} == {olt.brand.name}, (olt.name, job.name)
