"""Executions in the admin: what each part brought in words, and an end to those that should not go on."""

from __future__ import annotations

import pytest
from django.test import Client

from facho.apps.executions.models import Execution, State
from tests.factories import add_job, add_olts, queue

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

LIST = "/admin/executions/execution/"


@pytest.fixture
def execution() -> Execution:
    add_olts("Centro")
    add_job("state", "Centro")
    part = {"job": "state", "task_type": "get_state", "state": "failed", "seconds": 65.0, "rows": 12}
    return queue("state", "Centro", parts=[{**part, "error": "<late>"}], counts={"rows": 12})


def test_its_parts_are_told_in_words(admin_client: Client, execution: Execution) -> None:
    page = admin_client.get(f"{LIST}{execution.pk}/change/").content.decode()
    assert "1 min 05 s" in page
    assert "filas leídas" in page
    assert "&lt;late&gt;" in page
    assert "<late>" not in page
    assert '"seconds"' not in page


def test_one_is_aborted_and_one_that_has_ended_is_not(admin_client: Client, execution: Execution) -> None:
    chosen = {"action": "abort", "_selected_action": [execution.pk]}
    assert "Se abortó" in admin_client.post(LIST, chosen, follow=True).content.decode()
    assert Execution.objects.get().state == State.ABORTED
    assert "ya terminó" in admin_client.post(LIST, chosen, follow=True).content.decode()
