"""Teaches the forecasts what executions took that ended since the last time.

In the coordinator's step, a bounded number of them each time, so that nobody who stores results waits for it.
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
from facho.core.forecast import Learned, learn
from facho.engine.collect.work import PartState
from facho.engine.coordinate.forecasts import Key

LEARNING: Final = "learning"
_AT_ONCE: Final = 500
# What is longer ago than a day was taught by the days before, or is not worth the work of catching up.
_CATCHES_UP: Final = timedelta(days=1)
# What ended now may be stored a little after what ended later, and must not be passed over.
_SETTLES: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class _Until:
    """All that ended before has taught, and of what ended just then all up to this execution."""

    ended_at: datetime
    execution_id: int

    def written(self) -> dict[str, object]:
        return {"until": self.ended_at.isoformat(), "execution": self.execution_id}


class _Ran(NamedTuple):
    """A part that succeeded."""

    began_at: datetime
    seconds: float


def learn_from_ended(now: datetime, config: Config) -> int:
    """How many executions were looked at. The work is done before the transaction, which is short so."""
    state = _state(now)
    until = _until(state, now)
    ended = _ended(until, now - _SETTLES)
    if not ended:
        return 0
    ran = _ran(ended)
    taught = _taught(ran, now, config) if ran else []
    with sql.write_transaction():
        if _claim(state, _Until(ended[-1].ended_at, ended[-1].id), now):
            _store(taught)
    return len(ended)


def _state(now: datetime) -> CoordinatorState:
    begins = _Until(now - _CATCHES_UP, 0).written()
    defaults = {"value": begins, "updated_at": now}
    return CoordinatorState.objects.get_or_create(name=LEARNING, defaults=defaults)[0]


def _until(state: CoordinatorState, now: datetime) -> _Until:
    """Not in the future: a clock that was set back would have us wait for as long."""
    ended_at = datetime.fromisoformat(state.value["until"])
    if now - _CATCHES_UP <= ended_at <= now:
        return _Until(ended_at, state.value["execution"])
    return _Until(now - _CATCHES_UP, 0)


def _claim(state: CoordinatorState, until: _Until, now: datetime) -> bool:
    """Who steps at the same time has taught the same, and only one of us may store it."""
    ours = CoordinatorState.objects.filter(id=state.id, value=state.value, updated_at=state.updated_at)
    return bool(ours.update(value=until.written(), updated_at=now))


class _Ended(NamedTuple):
    id: int
    olt_id: int
    state: str
    started_at: datetime | None
    ended_at: datetime
    parts: Sequence[Mapping[str, object]]


def _ended(after: _Until, upto: datetime) -> list[_Ended]:
    rows = Execution.objects.filter(ended_at__gte=after.ended_at, ended_at__lte=upto)
    rows = rows.filter(Q(ended_at__gt=after.ended_at) | Q(id__gt=after.execution_id))
    return [_Ended(*row) for row in rows.order_by("ended_at", "id").values_list(*_Ended._fields)[:_AT_ONCE]]


def _ran(ended: Iterable[_Ended]) -> dict[Key, list[_Ran]]:
    """What succeeded, in its order: how long a time-out takes says nothing about the next run."""
    found: dict[Key, list[_Ran]] = defaultdict(list)
    for each in ended:
        if each.state == State.SUCCESS and each.started_at is not None:
            for task_type, seconds in _parts(each.parts):
                found[each.olt_id, task_type].append(_Ran(each.started_at, seconds))
    return found


def _parts(parts: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, float]]:
    """Of nodes: what a person asks for by hand is no task. What took no time asked for nothing."""
    for part in parts:
        seconds = part.get("seconds")
        if part.get("state") == PartState.SUCCESS and part.get("node") and isinstance(seconds, int | float):
            yield str(part["task_type"]), float(seconds)


def _taught(ran: Mapping[Key, Sequence[_Ran]], now: datetime, config: Config) -> list[TaskForecast]:
    olts = sorted({olt for olt, _ in ran})
    onus = onus_present(olts)
    rows = TaskForecast.objects.filter(olt__in=olts, task_type__in={task for _, task in ran})
    before = {(olt, task): Learned.from_json(state) for olt, task, state in rows.values_list(*_STATE)}
    return [
        _forecast(key, _learned(before.get(key, Learned()), ran[key], onus.get(key[0], 0), config), now)
        for key in sorted(ran)
    ]


_STATE: Final = ("olt_id", "task_type", "state")


def _learned(learned: Learned, ran: Iterable[_Ran], onus: int, config: Config) -> Learned:
    for each in ran:
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


def _store(taught: Sequence[TaskForecast]) -> None:
    TaskForecast.objects.bulk_create(
        [each for each in taught if each.samples],
        update_conflicts=True,
        unique_fields=["olt", "task_type"],
        update_fields=["state", "fixed_s", "per_onu_s", "samples", "error_pct", "updated_at"],
    )
