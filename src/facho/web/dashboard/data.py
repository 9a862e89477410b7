"""The data of the dashboard, in a fixed number of queries: the live part and the overview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.cache import cache
from django.db.models import Case, Count, Q, When
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext

from facho.apps.discovery.models import Onu
from facho.apps.executions import selectors as executions
from facho.apps.executions.models import ACTIVE
from facho.apps.executions.selectors import EndedExecution, HeldOlt, Queue
from facho.apps.hosts.health import DOWN_SINCE, Health, counts_by_health, status_reason, with_health
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import PollerStats
from facho.apps.zabbix_pollers.selectors import Pool, read_pool
from facho.config import Config
from facho.core.reasons import Reason
from facho.core.steps import COORDINATOR, SCHEDULER, StepState
from facho.engine.upkeep import system_status
from facho.engine.upkeep.health import state_of_step
from facho.web.components.charts import Chart, Period, Values, line_chart
from facho.web.components.quotas import HourQuotas, ViolationRow, hour_quotas, recent_violations
from facho.web.components.recent_events import RecentEvent, recent_events
from facho.web.server.health_check import recent_health
from facho.web.words.events import HEALTH_PROBLEMS

_QUEUE_SHOWN: Final = 5
_RUNNING_SHOWN: Final = 5
_ENDED_SHOWN: Final = 5
_PROBLEMS_SHOWN: Final = 5
# Counted up to this many.
_PROBLEMS_READ: Final = 500
_QUOTAS_SHOWN: Final = 5
_VIOLATIONS_SHOWN: Final = 5
_EVENTS_SHOWN: Final = 5
_CHART_PERIOD: Final = timedelta(hours=6)
# Seconds. A million rows are not counted every two seconds, nor all nodes every second.
_ONUS_COUNTED_EVERY: Final = 30
_NODES_COUNTED_EVERY: Final = 5


@dataclass(frozen=True, slots=True)
class LoopStep:
    """The last step of a loop; `age` is None when there has been none."""

    age: timedelta | None
    state: StepState
    every: timedelta

    @property
    def most_age(self) -> timedelta:
        """Return the age rounded up to whole steps, which stays the same from poll to poll."""
        return -(-(self.age or self.every) // self.every) * self.every

    @property
    def stalled(self) -> bool:
        """Return False when the clock was set back: that is one of the health problems."""
        return self.state in (StepState.NEVER, StepState.STALLED)


@dataclass(frozen=True, slots=True)
class Problem:
    """An OLT that does not answer, is suspended, degraded or overloaded, or a node that is suspended."""

    olt_id: int
    olt: str
    # Empty when it is the whole OLT.
    job: str
    reason: Reason
    since: datetime | None
    next_probe_at: datetime | None


@dataclass(frozen=True, slots=True)
class Counters:
    olts: int
    olts_enabled: int
    nodes: int
    nodes_enabled: int
    onus: int
    # OLTs in a maintenance window.
    under_maintenance: int = 0


@dataclass(frozen=True, slots=True)
class LiveData:
    """The part that refreshes every two seconds."""

    now: datetime
    step: LoopStep
    coordinator: LoopStep
    pool: Pool
    # Percentage of busy pollers above which they are saturated.
    saturated_above: float
    queue: Queue
    running: tuple[HeldOlt, ...]
    counters: Counters

    @property
    def running_first(self) -> tuple[HeldOlt, ...]:
        return self.running[:_RUNNING_SHOWN]

    @property
    def running_more(self) -> int:
        return max(0, len(self.running) - _RUNNING_SHOWN)


@dataclass(frozen=True, slots=True)
class OverviewData:
    """The part that refreshes every ten seconds."""

    now: datetime
    # Without those of the loops and pollers, which the live part shows.
    health_problems: tuple[str, ...]
    healths: Mapping[Health, int]
    busy: Chart
    problems: tuple[Problem, ...]
    quotas: HourQuotas
    violations: tuple[ViolationRow, ...]
    events: tuple[RecentEvent, ...]
    ended: tuple[EndedExecution, ...]

    @property
    def problems_first(self) -> tuple[Problem, ...]:
        return self.problems[:_PROBLEMS_SHOWN]

    @property
    def problems_more(self) -> int:
        return max(0, len(self.problems) - _PROBLEMS_SHOWN)


def read_live(now: datetime, config: Config) -> LiveData:
    held = executions.held_olts(now)
    running = tuple(each for each in held if each.state in ACTIVE)
    pollers = read_pool(now, config, busy=len(running))
    scheduler, coordinator = read_last_steps(now, config)
    return LiveData(
        now=now,
        step=scheduler,
        coordinator=coordinator,
        pool=pollers,
        saturated_above=config.saturated_above,
        queue=executions.read_queue(now, held, pollers.pollers, pollers.free, limit=_QUEUE_SHOWN),
        running=running,
        counters=read_counters(now),
    )


def read_overview(now: datetime, config: Config) -> OverviewData:
    maintained = olts_under_maintenance(now)
    return OverviewData(
        now=now,
        health_problems=_health_problems(),
        healths=counts_by_health(maintained),
        busy=_busy_chart(now, config),
        problems=tuple(read_problems(maintained, _PROBLEMS_READ)),
        quotas=hour_quotas(now, config, _QUOTAS_SHOWN),
        violations=tuple(recent_violations(_VIOLATIONS_SHOWN)),
        events=tuple(recent_events(_EVENTS_SHOWN)),
        ended=tuple(executions.last_ended(_ENDED_SHOWN)),
    )


def _health_problems() -> tuple[str, ...]:
    return tuple(reason.what for reason in recent_health().reasons if reason.what in HEALTH_PROBLEMS)


def _busy_chart(now: datetime, config: Config) -> Chart:
    """Draw how busy the pollers were in the last hours, and the limit of saturation."""
    # Up to a full minute: a chart that moves with every poll would never be unchanged.
    end = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    period = Period(end - _CHART_PERIOD, end, get_current_timezone())
    rows = PollerStats.objects.filter(timestamp__gte=period.start).order_by("timestamp")
    found = list(rows.values_list("timestamp", "busy_percentage"))
    busy = Values(
        gettext("busy"), [int(at.timestamp() * 1000) for at, _ in found], [value for _, value in found]
    )
    return line_chart(
        gettext("Pollers"),
        "%",
        [busy],
        period,
        limit=(config.saturated_above, gettext("saturated")),
        # The whole range, however low the values are.
        span=(0.0, 100.0),
        longest_gap=3 * config.poller_stats_every,
    )


def read_last_steps(now: datetime, config: Config) -> tuple[LoopStep, LoopStep]:
    """Return the last steps of the scheduler and of the coordinator."""
    steps = system_status.read_last_steps(now)
    scheduler = _loop_step(steps[SCHEDULER], config.scheduler_step, config)
    return scheduler, _loop_step(steps[COORDINATOR], config.coordinator_step, config)


def _loop_step(last: system_status.Step, every: timedelta, config: Config) -> LoopStep:
    age = None if last.age is None else max(timedelta(0), last.age)
    return LoopStep(age, state_of_step(last, every, config), every)


def read_problems(maintained: Collection[int], limit: int) -> list[Problem]:
    """Return the OLTs with problems, then the suspended nodes."""
    return [*_olt_problems(maintained, limit), *_node_problems(limit)][:limit]


def _olt_problems(maintained: Collection[int], limit: int) -> list[Problem]:
    """Return those that are silent first; one that fails is counted, but has no reason of its own."""
    silent = (Health.UNREACHABLE, Health.SUSPENDED)
    shown = (*silent, Health.DEGRADED, Health.OVERLOADED)
    silent_first = Case(When(condition__in=silent, then=0), default=1)
    rows = with_health(maintained).filter(condition__in=shown).annotate(down=DOWN_SINCE)
    return [
        Problem(olt.id, olt.name, "", status_reason(olt, Health(olt.condition)), olt.down, olt.next_probe_at)
        for olt in rows.defer("credentials", "learned", "lacks").order_by(silent_first, "name")[:limit]
    ]


def _node_problems(limit: int) -> list[Problem]:
    rows = SnmpJobHost.objects.filter(enabled=True, olt__enabled=True, job__enabled=True)
    suspended = rows.exclude(suspended_reason="").order_by("olt__name", "job__name")
    columns = ("olt_id", "olt__name", "job__name", "suspended_reason", "suspended_at", "next_probe_at")
    return [Problem(*row) for row in suspended.values_list(*columns)[:limit]]


def read_counters(now: datetime) -> Counters:
    olts = Counter(counts_by_health(olts_under_maintenance(now)))
    enabled = olts.total() - olts[Health.DISABLED]
    nodes: Any = cache.get_or_set("facho.nodes", _count_nodes, _NODES_COUNTED_EVERY)
    onus = cache.get_or_set("facho.onus", Onu.objects.count, _ONUS_COUNTED_EVERY)
    alone = olts[Health.MAINTENANCE]
    return Counters(olts.total(), enabled, nodes["count"], nodes["enabled"], onus or 0, alone)


def _count_nodes() -> Mapping[str, int]:
    enabled = Count("id", filter=Q(enabled=True, job__enabled=True, olt__enabled=True))
    return SnmpJobHost.objects.aggregate(count=Count("id"), enabled=enabled)
