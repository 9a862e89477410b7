"""The first tab of the page of an OLT: its customers and its health in numbers, what is wrong and next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from facho.apps.chassis.models import Unprovisioned
from facho.apps.chassis.selectors import Health, health_of
from facho.apps.discovery.models import PortOutage
from facho.apps.discovery.onu_counts import OnuCounts, count_onus
from facho.apps.discovery.selectors import states_collected_at
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.config import Config
from facho.core.freshness import is_delivering
from facho.core.olt_status import OltStatus
from facho.web.components.quotas import QuotaRow, ViolationRow, olt_quotas, open_violations
from facho.web.components.recent_events import RecentEvent, recent_events
from facho.web.olts.head import OltHead
from facho.web.olts.nodes import NodeRow, read_nodes

# Of each kind of problem.
_PROBLEMS_SHOWN: Final = 4
_NEXT_SHOWN: Final = 6
_EVENTS_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems of now: the first of each kind, and how many there are in all."""

    outages: Sequence[PortOutage]
    nodes: Sequence[NodeRow]
    # Those that nobody has acknowledged.
    violations: Sequence[ViolationRow]
    # Quotas of this hour that can hardly be met any more.
    at_risk: Sequence[QuotaRow]
    count: int

    @property
    def more(self) -> int:
        shown = (self.outages, self.nodes, self.violations, self.at_risk)
        return self.count - sum(len(rows) for rows in shown)


@dataclass(frozen=True, slots=True)
class OltOverview:
    head: OltHead
    onus: OnuCounts
    unprovisioned: int
    health: Health
    states_at: datetime | None
    states_every: timedelta | None
    cpu_every: timedelta | None
    problems: Problems
    # The nodes with slots of their own that run next.
    next_runs: Sequence[NodeRow]
    events: Sequence[RecentEvent]

    @property
    def is_delivering(self) -> bool:
        return is_delivering(OltStatus(self.head.olt.condition))

    @property
    def memory_pct(self) -> float | None:
        return self.health.highest("memory_pct")

    @property
    def temperature_c(self) -> float | None:
        return self.health.highest("temperature_c")


def read_olt_overview(head: OltHead, config: Config) -> OltOverview:
    olt_id, nodes = head.olt.id, read_nodes(head.olt.id)
    every = collection_intervals([olt_id]).get(olt_id, Intervals())
    return OltOverview(
        head=head,
        onus=count_onus(olt_id),
        unprovisioned=Unprovisioned.objects.filter(olt=olt_id).count(),
        health=health_of(olt_id),
        states_at=states_collected_at([olt_id]).get(olt_id),
        states_every=every.of("state"),
        cpu_every=every.of("olt.cpu_pct"),
        problems=_read_problems(head, nodes, config),
        next_runs=_next_runs(head, nodes),
        events=recent_events(_EVENTS_SHOWN, olt_id),
    )


def _read_problems(head: OltHead, nodes: Sequence[NodeRow], config: Config) -> Problems:
    olt_id = head.olt.id
    outages = list(PortOutage.objects.filter(olt=olt_id, ended_at__isnull=True).defer("onus"))
    failing = [node for node in nodes if node.runs and (node.suspended or node.failures)]
    violations, violation_count = open_violations(olt_id, _PROBLEMS_SHOWN)
    at_risk = [row for row in olt_quotas(olt_id, head.now, config) if row.risk]
    return Problems(
        outages=outages[:_PROBLEMS_SHOWN],
        nodes=failing[:_PROBLEMS_SHOWN],
        violations=violations,
        at_risk=at_risk[:_PROBLEMS_SHOWN],
        count=len(outages) + len(failing) + violation_count + len(at_risk),
    )


def _next_runs(head: OltHead, nodes: Sequence[NodeRow]) -> list[NodeRow]:
    """Return the nodes that are due next. An OLT that is not asked has none."""
    if not head.olt.enabled or head.olt.is_suspended or head.maintained_until is not None:
        return []
    planned = [
        (node.next_run_at, node)
        for node in nodes
        if node.runs and not node.suspended and node.next_run_at is not None
    ]
    return [node for _at, node in sorted(planned, key=lambda each: each[0])[:_NEXT_SHOWN]]
