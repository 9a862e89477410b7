"""How long the tasks of OLTs will take: as they were learned, and guessed where they never ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Count, QuerySet

from facho.apps.discovery.selectors import onus_present
from facho.apps.execution_coordinator.models import TaskForecast
from facho.apps.hosts.selectors import DISCOVERY_FACTS, spelled_out
from facho.apps.snmp_jobs.models import JobKind, SnmpJobHost, SnmpJobOid
from facho.config import Config
from facho.core.duration_guess import (
    FROM_ONU_S,
    LATENCY_S,
    ROWS_OF_CHASSIS,
    Pace,
    Table,
    guess_from_others,
    guess_from_requests,
)
from facho.core.forecast import SURE_AFTER, Learned, Predicted, predict
from facho.vendors import GENERIC, Entity, Profile, builtin
from facho.vendors import schema as profiles

Key = tuple[int, str]
# Of others like it, so many tell enough: those that ran last.
_MOST_OTHERS: Final = 2000
_DISCOVERED: Final = (*DISCOVERY_FACTS, "state", "description")


def predict_durations(
    olt_ids: Sequence[int] | None, now: datetime, config: Config
) -> Mapping[Key, Predicted]:
    """By OLT and task type, for all nodes of these OLTs, or of all: also of those that are switched off.

    In five queries at most, and two where every task ran before.
    """
    asked = _asked(olt_ids)
    named = {each.job_id for each in asked.values()}
    return LearnedTasks(olt_ids).predict(asked, lambda: count_named_columns(named), now, config)


class LearnedTasks:
    """The learned durations of the tasks of some OLTs, read once and asked as often as needed."""

    def __init__(self, olt_ids: Sequence[int] | None) -> None:
        self._learned, self._onus = _learned(olt_ids)

    def predict(
        self,
        asked: Mapping[Key, TaskToPredict],
        named: Callable[[], Mapping[int, int]],
        now: datetime,
        config: Config,
    ) -> Mapping[Key, Predicted]:
        """`named` tells how many columns jobs name one by one; it is asked only where a task never ran."""
        known = [key for key in asked if key in self._learned]
        found = {key: predict(self._learned[key], now, self._onus[key[0]], config.time_zone) for key in known}
        cold = [each for key, each in asked.items() if key not in found]
        return found | (_guessed(cold, self._onus, named(), config) if cold else {})


class TaskToPredict(NamedTuple):
    """A task of an OLT, as far as it tells how long it may take."""

    olt_id: int
    task_type: str
    job_id: int
    kind: str
    facts: Sequence[str]
    brand: str
    model_id: int | None
    max_in_flight: int | None
    max_varbinds: int | None
    most_per_second: float | None

    @property
    def key(self) -> Key:
        return self.olt_id, self.task_type

    @property
    def profile(self) -> Profile:
        return builtin().get(self.brand) or builtin()[GENERIC]


def _asked(olt_ids: Sequence[int] | None) -> dict[Key, TaskToPredict]:
    """Of several nodes with one task type, the first."""
    nodes = SnmpJobHost.objects.order_by("-id")
    rows = (nodes if olt_ids is None else nodes.filter(olt__in=olt_ids)).values_list(
        "olt_id", "job__task_type", "job_id", "job__kind", "job__facts", "olt__brand__name", "olt__model_id",
        "olt__max_in_flight", "olt__max_varbinds", "olt__max_requests_per_second",
    )  # fmt: skip
    return {each.key: each for each in (TaskToPredict(*row) for row in rows)}


def _learned(olt_ids: Sequence[int] | None) -> tuple[dict[Key, Learned], dict[int, int]]:
    """And how many ONUs each OLT had when something was last learned of it: counting a million takes long."""
    rows: QuerySet[TaskForecast] = TaskForecast.objects.order_by("updated_at")
    if olt_ids is not None:
        rows = rows.filter(olt__in=olt_ids)
    every = ((olt, task, Learned.from_json(state)) for olt, task, state in rows.values_list(*_STATE))
    learned = {(olt, task): each for olt, task, each in every if each.samples}
    return learned, {olt: each.onus for (olt, _), each in learned.items()}


_STATE: Final = ("olt_id", "task_type", "state")


def _guessed(
    asked: Sequence[TaskToPredict], onus: Mapping[int, int], named: Mapping[int, int], config: Config
) -> dict[Key, Predicted]:
    others = _others(asked)
    onus = {**onus_present(sorted({each.olt_id for each in asked} - onus.keys())), **onus}
    found = {}
    for each in asked:
        paces, count = others.like(each), onus.get(each.olt_id, 0)
        found[each.key] = (
            guess_from_others(paces, count)
            if paces
            else _by_asking(each, count, named.get(each.job_id, 0), config)
        )
    return found


class _Others:
    """What tasks take where they ran: by brand and model, and by brand."""

    def __init__(self, rows: Iterable[tuple[str, str, int | None, float, float]]) -> None:
        self._paces: dict[tuple[str, str, int | None], list[Pace]] = defaultdict(list)
        for task_type, brand, model, *pace in rows:
            self._paces[task_type, brand, None].append(Pace(*pace))
            if model is not None:
                self._paces[task_type, brand, model].append(Pace(*pace))

    def like(self, asked: TaskToPredict) -> Sequence[Pace]:
        models = (asked.model_id, None)
        return next(
            filter(None, (self._paces.get((asked.task_type, asked.brand, each)) for each in models)), ()
        )


def _others(asked: Iterable[TaskToPredict]) -> _Others:
    tasks, brands = {each.task_type for each in asked}, {each.brand for each in asked}
    rows = TaskForecast.objects.filter(
        task_type__in=tasks, olt__brand__name__in=brands, samples__gte=SURE_AFTER
    ).order_by("-updated_at")
    return _Others(rows.values_list(*_PACE)[:_MOST_OTHERS])


_PACE: Final = ("task_type", "olt__brand__name", "olt__model_id", "fixed_s", "per_onu_s")


def count_named_columns(job_ids: Iterable[int]) -> dict[int, int]:
    """How many columns these jobs name one by one."""
    rows = SnmpJobOid.objects.filter(job__in=job_ids).order_by().values_list("job_id")
    return dict(rows.annotate(count=Count("id")))


def _by_asking(asked: TaskToPredict, onus: int, named: int, config: Config) -> Predicted:
    rules = asked.profile.request_rules
    in_flight = min(asked.max_in_flight or config.requests_in_flight, rules.in_flight or 99)
    return guess_from_requests(_tables(asked, onus, named, config), in_flight, asked.most_per_second)


def _tables(asked: TaskToPredict, onus: int, named: int, config: Config) -> Iterator[Table]:
    """As the profile says that each is to be asked: a GET names its values, a walk gets them by pages."""
    walked = _rows_per_walk(asked, config)
    if named:
        yield Table(named, 1 if asked.kind == JobKind.GET else onus, walked)
    for table, columns in _columns(asked):
        rows = onus if table.entity is Entity.ONU else ROWS_OF_CHASSIS
        if asked.kind == JobKind.GET and table.entity is Entity.ONU:
            values = min(asked.max_varbinds or config.varbinds, config.varbinds, table.batch or 99)
            slow = table.read_method is profiles.ReadMethod.GET_ONLINE
            yield Table(columns, rows, values, FROM_ONU_S if slow else LATENCY_S)
        else:
            yield Table(columns, rows, walked)


def _rows_per_walk(asked: TaskToPredict, config: Config) -> int:
    rules = asked.profile.request_rules
    most = asked.max_varbinds or config.walk_repetitions
    return min(most, rules.repetitions or most) if rules.bulk else 1


def _columns(asked: TaskToPredict) -> Iterator[tuple[profiles.Table, int]]:
    """The tables that have what the job asks for, with the number of their columns."""
    facts = {*spelled_out(asked.facts, asked.profile)}
    if asked.kind == JobKind.DISCOVERY:
        facts |= {*_DISCOVERED}
    for table in asked.profile.tables:
        about = "" if table.entity is Entity.ONU else f"{table.entity.value}."
        columns = sum(f"{about}{column.fact}" in facts for column in table.columns)
        if columns:
            yield table, columns
