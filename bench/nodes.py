"""Very many nodes, for benchmarks of steps that look at all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from bench.walker import COMMUNITY

INTERVAL: Final = timedelta(seconds=300)
_FACTS: Final = (["state"], ["description"], ["distance_m"], ["down_cause"])


def create_nodes(nodes: int, addresses: Sequence[tuple[str, int]]) -> None:
    """Create an OLT for each address, and so many nodes on all of them together."""
    from django.db import connection

    from facho.apps.db import sql
    from facho.apps.db.database import database_now
    from facho.apps.hosts.models import Olt
    from facho.apps.snmp_jobs.models import SnmpJobHost
    from facho.engine.commands.jobs import NewJob, create_job

    create_olts(addresses)
    olts = list(Olt.objects.order_by("name"))
    jobs = [
        create_job(
            NewJob(f"job-{number}", "huawei", "table", INTERVAL, _FACTS[number % len(_FACTS)]), database_now()
        )
        for number in range(-(-nodes // len(olts)))
    ]
    places = [(job, olt) for job in jobs for olt in olts][:nodes]
    SnmpJobHost.objects.bulk_create(SnmpJobHost(job=job, olt=olt) for job, olt in places)
    if connection.vendor == "postgresql":
        # Autovacuum would have done it long before there are so many rows.
        sql.execute("ANALYZE", [])


def spread_slots(first: datetime) -> None:
    """Make the nodes of an OLT due in pairs, and spread the pairs evenly over the interval.

    Runs that new nodes were given at once are not measured.
    """
    from facho.apps.db.sql import update_rows
    from facho.apps.snmp_jobs.models import SnmpJobHost

    delete_first_runs()
    nodes: dict[int, list[int]] = defaultdict(list)
    for node, olt in SnmpJobHost.objects.order_by("id").values_list("id", "olt_id"):
        nodes[olt].append(node)
    # By turns, so that an OLT's pairs are far from each other.
    pairs = [
        of_olt[at : at + 2]
        for at in range(0, max(map(len, nodes.values())), 2)
        for of_olt in nodes.values()
        if of_olt[at:]
    ]
    apart = INTERVAL / len(pairs)
    update_rows(
        SnmpJobHost,
        ["next_run_at"],
        [(node, first + number * apart) for number, pair in enumerate(pairs) for node in pair],
    )


def delete_first_runs() -> None:
    """Delete the runs that new nodes were given at once, where only slots are measured."""
    from facho.apps.executions.models import Execution, State

    Execution.objects.filter(state=State.WAITING).delete()


def create_olts(addresses: Sequence[tuple[str, int]]) -> list[str]:
    """Create very many OLTs at once, one for each address. Return their names, in the same order."""
    from facho.apps.hosts.credentials import Credentials
    from facho.apps.hosts.models import Brand, Olt

    brand = Brand.objects.get(name="huawei")
    made = [
        Olt(name=f"olt-{number:05d}", brand=brand, address=host, port=port)
        for number, (host, port) in enumerate(addresses)
    ]
    for olt in made:
        olt.credentials = Credentials(COMMUNITY)
    return [olt.name for olt in Olt.objects.bulk_create(made)]


def create_olts_and_jobs(
    addresses: Sequence[tuple[str, int]], jobs: Iterable[tuple[str, str, str, Sequence[str]]]
) -> None:
    """Create an OLT for each address, and attach each job (name, kind, interval, facts) to all of them."""
    from facho.apps.db.database import database_now
    from facho.engine.commands.jobs import NewJob, create_job
    from facho.engine.commands.olts import NewOlt, add_olt

    names = [f"olt-{number:04d}" for number in range(len(addresses))]
    for name, (host, port) in zip(names, addresses, strict=True):
        add_olt(NewOlt(name, host, port, brand="huawei"))
    for name, kind, interval, facts in jobs:
        create_job(NewJob(name, "huawei", kind, interval, facts, olts=names), database_now())
