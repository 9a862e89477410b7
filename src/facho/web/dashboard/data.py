"""All that the dashboard shows, in a fixed number of queries: what changes by the second, and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.core.cache import cache
from django.db.models import Count, Q
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from facho.apps.discovery.models import Onu
from facho.apps.executions import selectors as executions
from facho.apps.executions.models import ACTIVE
from facho.apps.executions.selectors import Ended, Held, Queue
from facho.apps.hosts.health import Health, counts_by_health, with_health
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.models import PollerStats
from facho.apps.zabbix_pollers.selectors import Pool, pool
from facho.config import Config
from facho.core.reasons import Reason
from facho.core.steps import COORDINATOR, SCHEDULER, StepState
from facho.engine.upkeep import system_status
from facho.engine.upkeep.health import state_of_step
from facho.web.components.charts import Chart, Period, Values, line_chart
from facho.web.components.quotas import HourOfQuotas, Violated, last_violations, quotas_of_this_hour
from facho.web.components.recent_events import Happening, last_happenings
from facho.web.server.health_check import looked_at_lately
from facho.web.words.events import HEALTH_PROBLEMS

_QUEUE_SHOWN: Final = 15
_ENDED_SHOWN: Final = 12
_TROUBLE_SHOWN: Final = 20
_QUOTAS_SHOWN: Final = 8
_VIOLATIONS_SHOWN: Final = 5
_HAPPENINGS_SHOWN: Final = 12
_CURVE: Final = timedelta(hours=6)
# A million rows are not counted every two seconds.
_ONUS_COUNTED_EVERY: Final = 30


@dataclass(frozen=True, slots=True)
class Step:
    """The last one of a loop; `age` is None when there has never been any."""

    age: timedelta | None
    state: StepState

    @property
    def stalled(self) -> bool:
        """Not when the clock was set back: that is told with what else ails the system."""
        return self.state in (StepState.NEVER, StepState.STALLED)


@dataclass(frozen=True, slots=True)
class Trouble:
    """An OLT that does not answer or is suspended, or a node that is suspended."""

    olt_id: int
    olt: str
    # Empty when it is all of the OLT.
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
    # Of the OLTs: those that are left alone now.
    under_maintenance: int = 0


@dataclass(frozen=True, slots=True)
class Live:
    """What changes by the second."""

    now: datetime
    step: Step
    coordinator: Step
    pool: Pool
    queue: Queue
    running: tuple[Held, ...]
    counters: Counters


@dataclass(frozen=True, slots=True)
class Overview:
    """What is looked at again after some seconds."""

    now: datetime
    # What ails the system besides its steps and pollers, which the live part tells by the second.
    ailments: tuple[str, ...]
    healths: Mapping[Health, int]
    busy: Chart
    trouble: tuple[Trouble, ...]
    quotas: HourOfQuotas
    violations: tuple[Violated, ...]
    happenings: tuple[Happening, ...]
    ended: tuple[Ended, ...]


def live(now: datetime, config: Config) -> Live:
    held = executions.held(now)
    running = tuple(each for each in held if each.state in ACTIVE)
    pollers = pool(now, config, busy=len(running))
    scheduler, coordinator = last_steps(now, config)
    return Live(
        now=now,
        step=scheduler,
        coordinator=coordinator,
        pool=pollers,
        queue=executions.queue(now, held, pollers.pollers, pollers.free, limit=_QUEUE_SHOWN),
        running=running,
        counters=counters(now),
    )


def overview(now: datetime, config: Config) -> Overview:
    maintained = olts_under_maintenance(now)
    return Overview(
        now=now,
        ailments=_ailments(),
        healths=counts_by_health(maintained),
        busy=_busy_curve(now, config),
        trouble=tuple(trouble(maintained, _TROUBLE_SHOWN)),
        quotas=quotas_of_this_hour(now, config, _QUOTAS_SHOWN),
        violations=tuple(last_violations(_VIOLATIONS_SHOWN)),
        happenings=tuple(last_happenings(_HAPPENINGS_SHOWN)),
        ended=tuple(executions.last_ended(_ENDED_SHOWN)),
    )


def _ailments() -> tuple[str, ...]:
    return tuple(reason.what for reason in looked_at_lately().reasons if reason.what in HEALTH_PROBLEMS)


def _busy_curve(now: datetime, config: Config) -> Chart:
    """How busy the pollers were lately, and from where on they are called saturated."""
    period = Period(now - _CURVE, now, config.time_zone)
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
        # From nothing to all, however little is going on.
        span=(0.0, 100.0),
        longest_gap=3 * config.poller_stats_every,
    )


def last_steps(now: datetime, config: Config) -> tuple[Step, Step]:
    """Of the scheduler, and of the coordinator."""
    steps = system_status.read_last_steps(now)
    scheduler = _step(steps[SCHEDULER], config.scheduler_step, config)
    return scheduler, _step(steps[COORDINATOR], config.coordinator_step, config)


def _step(last: system_status.Step, every: timedelta, config: Config) -> Step:
    age = None if last.age is None else max(timedelta(0), last.age)
    return Step(age, state_of_step(last, every, config))


def trouble(maintained: Collection[int], limit: int) -> list[Trouble]:
    """The OLTs first: their nodes do not run either."""
    return [*_olts_in_trouble(maintained, limit), *_suspended_nodes(limit)][:limit]


def _olts_in_trouble(maintained: Collection[int], limit: int) -> list[Trouble]:
    silent = (Health.UNREACHABLE, Health.SUSPENDED)
    rows = with_health(maintained).filter(condition__in=silent).order_by("name")
    since = Coalesce("suspended_at", "unreachable_since")
    found = rows.values_list("id", "name", "suspended_reason", since, "next_probe_at")[:limit]
    return [Trouble(olt, name, "", why, at, probe) for olt, name, why, at, probe in found]


def _suspended_nodes(limit: int) -> list[Trouble]:
    rows = SnmpJobHost.objects.filter(enabled=True, olt__enabled=True, job__enabled=True)
    suspended = rows.exclude(suspended_reason="").order_by("olt__name", "job__name")
    columns = ("olt_id", "olt__name", "job__name", "suspended_reason", "suspended_at", "next_probe_at")
    return [Trouble(*row) for row in suspended.values_list(*columns)[:limit]]


def counters(now: datetime) -> Counters:
    olts = Counter(counts_by_health(olts_under_maintenance(now)))
    enabled = olts.total() - olts[Health.DISABLED]
    nodes = SnmpJobHost.objects.aggregate(count=Count("id"), enabled=_running_nodes())
    onus = cache.get_or_set("facho.onus", Onu.objects.count, _ONUS_COUNTED_EVERY)
    alone = olts[Health.MAINTENANCE]
    return Counters(olts.total(), enabled, nodes["count"], nodes["enabled"], onus or 0, alone)


def _running_nodes() -> Any:
    return Count("id", filter=Q(enabled=True, job__enabled=True, olt__enabled=True))
