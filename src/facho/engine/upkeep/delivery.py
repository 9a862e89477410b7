"""Whether the engine and an OLT deliver data now: for the banner of every page, and for those who wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from facho.apps.discovery.models import Collected
from facho.apps.hosts.health import Health, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import maintained_until
from facho.apps.zabbix_pollers.selectors import read_workers
from facho.config import Config
from facho.core.freshness import BLOCKING, EngineProblem, engine_problem, is_delivering
from facho.core.olt_status import OltStatus
from facho.core.pool import alive_workers
from facho.core.reasons import Reason
from facho.core.steps import COORDINATOR, SCHEDULER
from facho.engine.upkeep.health import state_of_step
from facho.engine.upkeep.system_status import read_last_steps


@dataclass(frozen=True, slots=True)
class EngineState:
    now: datetime
    problem: EngineProblem | None
    # When the part of the engine that is missing was last seen.
    seen_at: datetime | None

    @property
    def is_collecting(self) -> bool:
        return self.problem not in BLOCKING


@dataclass(frozen=True, slots=True)
class SilentOlt:
    """An OLT that delivers nothing. `data_from` is when something of it was last collected."""

    olt_id: int
    name: str
    health: Health
    since: datetime | None
    until: datetime | None
    reason: Reason
    data_from: datetime | None


def read_engine_state(now: datetime, config: Config) -> EngineState:
    """Read it in two queries."""
    steps, workers = read_last_steps(now), read_workers()
    alive = alive_workers(workers, now, within=config.worker_seen_within)
    problem = engine_problem(
        state_of_step(steps[SCHEDULER], config.scheduler_step, config),
        state_of_step(steps[COORDINATOR], config.coordinator_step, config),
        sum(worker.pollers for worker in alive),
    )
    match problem:
        case EngineProblem.STOPPED:
            return EngineState(now, problem, steps[SCHEDULER].at)
        case EngineProblem.COORDINATOR_STOPPED:
            return EngineState(now, problem, steps[COORDINATOR].at)
        case EngineProblem.NO_POLLERS:
            return EngineState(now, problem, max((worker.seen_at for worker in workers), default=None))
    return EngineState(now, problem, None)


def read_silent_olt(olt_id: int, now: datetime) -> SilentOlt | None:
    """Return the OLT if it delivers nothing."""
    until = maintained_until(olt_id, now)
    olt = with_health([olt_id] if until else [], Olt.objects.filter(id=olt_id).defer("credentials")).first()
    if olt is None or is_delivering(OltStatus(olt.condition)):
        return None
    data_from = Collected.objects.filter(olt=olt_id).aggregate(at=Max("collected_at"))["at"]
    return SilentOlt(
        olt_id=olt_id,
        name=olt.name,
        health=Health(olt.condition),
        since=olt.down_since,
        until=until,
        reason=olt.suspended_reason,
        data_from=data_from,
    )
