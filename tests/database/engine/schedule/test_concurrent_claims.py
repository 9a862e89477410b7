"""Several threads that claim at once: an OLT gets one execution, and a poller too."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections

from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.zabbix_pollers.store import register_worker
from facho.config import Config
from facho.engine.schedule.assign import claim_executions
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
CONFIG = Config()
NOW = at("10:00:02")
THREADS = 4


@pytest.mark.parametrize("most", [1, None], ids=["for its own poller", "for all pollers"])
def test_no_olt_and_no_poller_gets_two_of_them(most: int | None) -> None:
    jobs = [make_job(priority=priority) for priority in (40, 60, 90)]
    for _ in range(6):
        olt = make_olt()
        for job in jobs:
            make_execution(make_node(olt, job), at("10:00"))
    register_worker("here", 5, NOW)
    together = Barrier(THREADS)

    def claim() -> list[int]:
        try:
            together.wait(30)
            return [each for _ in range(3) for each in claim_executions(NOW, CONFIG, at_most=most)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as threads:
        claims = [threads.submit(claim) for _ in range(THREADS)]
        claimed = [execution for each in claims for execution in each.result(60)]
    assert len(claimed) == len(set(claimed)) == 5
    active = Execution.objects.filter(state__in=ACTIVE)
    assert set(active.values_list("id", flat=True)) == set(claimed)
    assert max(Counter(active.values_list("olt_id", flat=True)).values()) == 1
    assert set(active.values_list("priority", flat=True)) == {90}
    assert Execution.objects.filter(state=State.WAITING).count() == 13
