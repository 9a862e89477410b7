"""Actions of the admin that take something away: they ask for a reason, and record it."""

import pytest
from django.test import Client

from facho.apps.access.models import AuditEntry
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
from tests.factories import add_job, add_olts, know_brands

pytestmark = pytest.mark.django_db
JOBS = "/admin/snmp_jobs/snmpjob/"
NODES = "/admin/snmp_jobs/snmpjobhost/"
IN_ENGLISH = {"accept-language": "en"}


@pytest.fixture(autouse=True)
def state_job() -> SnmpJob:
    know_brands()
    add_olts("Centro")
    add_job("state", "Centro")
    return SnmpJob.objects.get(name="state")


def post(admin_client: Client, path: str, row: int, action: str, **given: str) -> str:
    data = {"action": action, "_selected_action": [row], **given}
    return admin_client.post(path, data, headers=IN_ENGLISH, follow=True).content.decode()


def is_enabled(job: SnmpJob) -> bool:
    return SnmpJob.objects.filter(pk=job.pk, enabled=True).exists()


def reasons() -> list[str]:
    return [str(entry.changes) for entry in AuditEntry.objects.order_by("id")]


def test_a_job_is_disabled_after_a_reason_that_the_audit_log_has(
    admin_client: Client, state_job: SnmpJob
) -> None:
    asked = post(admin_client, JOBS, state_job.pk, "disable")
    assert "Disable: 1 SNMP job" in asked
    assert "state" in asked
    assert 'name="reason"' in asked
    assert 'role="alert"' in post(admin_client, JOBS, state_job.pk, "disable", reason="  ")
    assert is_enabled(state_job), "without a reason nothing happens"
    assert "1 was disabled." in post(admin_client, JOBS, state_job.pk, "disable", reason="too much load")
    assert not is_enabled(state_job)
    assert "too much load" in reasons()[-1]


def test_a_node_is_disabled_and_detached_after_a_reason(admin_client: Client, state_job: SnmpJob) -> None:
    node = state_job.nodes.get()
    post(admin_client, NODES, node.pk, "disable", reason="new board")
    node.refresh_from_db()
    assert not node.enabled
    assert "new board" in reasons()[-1]
    assert "its executions are deleted" in post(admin_client, NODES, node.pk, "detach")
    assert SnmpJobHost.objects.filter(pk=node.pk).exists()
    post(admin_client, NODES, node.pk, "detach", reason="wrong OLT")
    assert not SnmpJobHost.objects.filter(pk=node.pk).exists()
    assert any("wrong OLT" in each for each in reasons())


def test_a_reason_that_is_too_long_is_refused_and_nothing_is_done(
    admin_client: Client, state_job: SnmpJob
) -> None:
    assert "a reason has at most" in post(admin_client, JOBS, state_job.pk, "disable", reason="x" * 300)
    assert is_enabled(state_job)
