"""Updates the forecasts with the durations of executions that ended since the last step.

The coordinator does this for a limited number in each step, so that the recorder does not have to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import Q

from facho.apps.db import sql
from facho.apps.discovery.selectors import onus_present
from facho.apps.execution_coordinator.models import CoordinatorState, TaskForecast
from facho.apps.executions.models import Execution, State
from facho.config import Config
from facho.core.forecast import SURE_AFTER, Learned, learn
from facho.engine.collect.part_results import PartState
from facho.engine.coordinate.forecasts import Key, decode_learned
from facho.engine.coordinate.plans import mark_stale

LEARNING: Final = "learning"
_AT_ONCE: Final = 2000
# Older executions are not worth catching up with.
_MAX_AGE: Final = timedelta(days=1)
# An execution can be stored a little after one that ended later, and must not be left out.
_STORE_DELAY: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Position:
    """The last execution that was learned from, in the order of end and id."""

    ended_at: datetime
    execution_id: int

    def as_json(self) -> dict[str, object]:
        return {"until": self.ended_at.isoformat(), "execution": self.execution_id}


class _PartRun(NamedTuple):
    """A successful run of a part."""

    began_at: datetime
    seconds: float


def learn_from_ended(now: datetime, config: Config) -> int:
    """Learn from ended executions; return their number. The work is done before the transaction."""
    state = _load_state(now)
    ended = _load_ended(_start_position(state, now), now - _STORE_DELAY)
    if not ended:
        return 0
    runs = _runs_by_task(ended)
    updated = _updated_forecasts(runs, now, config) if runs else []
    with sql.write_transaction():
        if _claim(state, _Position(ended[-1].ended_at, ended[-1].id), now):
            _store(updated)
            _mark_plans_of_guesses([each for each in updated if _became_sure(each, runs)], now, config)
    return len(ended)


def _became_sure(forecast: TaskForecast, runs: Mapping[Key, Sequence[_PartRun]]) -> bool:
    """Return whether a prediction of this task was a guess before these runs, and is none any more."""
    before = forecast.samples - len(runs[forecast.olt_id, forecast.task_type])
    return before < SURE_AFTER <= forecast.samples


def _mark_plans_of_guesses(sure: Sequence[TaskForecast], now: datetime, config: Config) -> None:
    """Have the plans that were made with guesses for these tasks made again, a few in each step."""
    if sure:
        mark_stale({each.olt_id for each in sure}, now, config)


def _load_state(now: datetime) -> CoordinatorState:
    start = _Position(now - _MAX_AGE, 0).as_json()
    defaults = {"value": start, "updated_at": now}
    return CoordinatorState.objects.get_or_create(name=LEARNING, defaults=defaults)[0]


def _start_position(state: CoordinatorState, now: datetime) -> _Position:
    """Return where to go on. A position in the future, from before the clock was set back, is not used."""
    ended_at = datetime.fromisoformat(state.value["until"])
    if now - _MAX_AGE <= ended_at <= now:
        return _Position(ended_at, state.value["execution"])
    return _Position(now - _MAX_AGE, 0)


def _claim(state: CoordinatorState, position: _Position, now: datetime) -> bool:
    """Return True for one of several steps at the same time: all learned the same, and one stores it."""
    unchanged = CoordinatorState.objects.filter(id=state.id, value=state.value, updated_at=state.updated_at)
    return bool(unchanged.update(value=position.as_json(), updated_at=now))


class _Ended(NamedTuple):
    id: int
    olt_id: int
    state: str
    started_at: datetime | None
    ended_at: datetime
    parts: Sequence[Mapping[str, object]]


def _load_ended(after: _Position, upto: datetime) -> list[_Ended]:
    rows = Execution.objects.filter(ended_at__gte=after.ended_at, ended_at__lte=upto)
    rows = rows.filter(Q(ended_at__gt=after.ended_at) | Q(id__gt=after.execution_id))
    return [_Ended(*row) for row in rows.order_by("ended_at", "id").values_list(*_Ended._fields)[:_AT_ONCE]]


def _runs_by_task(ended: Iterable[_Ended]) -> dict[Key, list[_PartRun]]:
    """Return the successful runs in order. The duration of a time-out tells nothing about the next run."""
    found: dict[Key, list[_PartRun]] = defaultdict(list)
    for each in ended:
        if each.state == State.SUCCESS and each.started_at is not None:
            for task_type, seconds in _successful_parts(each.parts):
                found[each.olt_id, task_type].append(_PartRun(each.started_at, seconds))
    return found


def _successful_parts(parts: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, float]]:
    """Yield task type and seconds. A part without a node is no task, one without seconds asked nothing."""
    for part in parts:
        seconds = part.get("seconds")
        if part.get("state") == PartState.SUCCESS and part.get("node") and isinstance(seconds, int | float):
            yield str(part["task_type"]), float(seconds)


def _updated_forecasts(
    runs: Mapping[Key, Sequence[_PartRun]], now: datetime, config: Config
) -> list[TaskForecast]:
    olts = sorted({olt for olt, _ in runs})
    onus = onus_present(olts)
    rows = TaskForecast.objects.filter(olt__in=olts, task_type__in={task for _, task in runs})
    before = decode_learned(rows)
    return [
        _forecast(key, _learn(before.get(key, Learned()), runs[key], onus.get(key[0], 0), config), now)
        for key in sorted(runs)
    ]


def _learn(learned: Learned, runs: Iterable[_PartRun], onus: int, config: Config) -> Learned:
    for each in runs:
        learned = learn(learned, each.began_at, each.seconds, onus, config.time_zone)
    return learned


def _forecast(key: Key, learned: Learned, now: datetime) -> TaskForecast:
    return TaskForecast(
        olt_id=key[0],
        task_type=key[1],
        state=learned.as_json(),
        fixed_s=learned.fixed_s,
        per_onu_s=learned.per_onu_s,
        samples=learned.samples,
        error_pct=learned.error_pct,
        updated_at=now,
    )


def _store(forecasts: Sequence[TaskForecast]) -> None:
    TaskForecast.objects.bulk_create(
        [each for each in forecasts if each.samples],
        update_conflicts=True,
        unique_fields=["olt", "task_type"],
        update_fields=["state", "fixed_s", "per_onu_s", "samples", "error_pct", "updated_at"],
    )
