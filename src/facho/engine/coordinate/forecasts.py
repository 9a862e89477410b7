"""Predicts how long the tasks of OLTs will take: from learned durations, by a guess where they never ran."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Count, QuerySet

from facho.apps.discovery.selectors import onus_present
from facho.apps.execution_coordinator.models import TaskForecast
from facho.apps.hosts.selectors import DISCOVERY_FACTS, facts_of_own_oids, is_about_onus, spelled_out
from facho.apps.snmp_jobs.models import JobKind, SnmpJobHost, SnmpJobOid
from facho.config import Config
from facho.core.duration_guess import (
    ROWS_OF_CHASSIS,
    Pace,
    Table,
    guess_from_others,
    guess_from_requests,
)
from facho.core.forecast import SURE_AFTER, Learned, Predicted, predict
from facho.vendors import GENERIC, Entity, Profile, profile_of_family
from facho.vendors import schema as profiles
from facho.vendors.costs import rows_per_walk, table_to_get, table_to_walk

Key = tuple[int, str]
# Forecasts of other OLTs that a guess uses, the most recent ones.
_MAX_OTHERS: Final = 2000
_DISCOVERED: Final = (*DISCOVERY_FACTS, "state", "description")


def predict_durations(
    olt_ids: Sequence[int] | None, now: datetime, config: Config
) -> Mapping[Key, Predicted]:
    """Return predictions by OLT and task type for all nodes of these OLTs (None: of all), disabled ones too.

    In six queries at most, and in two where every task has run before.
    """
    tasks = _load_tasks(olt_ids)
    job_ids = {each.job_id for each in tasks.values()}
    return LearnedTasks(olt_ids).predict(tasks, lambda: count_named_columns(job_ids), now, config)


class LearnedTasks:
    """The learned durations of the tasks of some OLTs, read once for any number of predictions."""

    def __init__(self, olt_ids: Sequence[int] | None) -> None:
        self._learned, self._onus = _load_learned(olt_ids)

    def predict(
        self,
        tasks: Mapping[Key, TaskToPredict],
        named_columns: Callable[[], Mapping[int, int]],
        now: datetime,
        config: Config,
    ) -> Mapping[Key, Predicted]:
        """Predict durations. `named_columns` counts the columns jobs name, for tasks that never ran."""
        known = [key for key in tasks if key in self._learned]
        found = {key: predict(self._learned[key], now, self._onus[key[0]], config.time_zone) for key in known}
        never_ran = [each for key, each in tasks.items() if key not in found]
        return found | (_guess(never_ran, self._onus, named_columns(), config) if never_ran else {})


class TaskToPredict(NamedTuple):
    """A task of an OLT, with what its duration depends on."""

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
        return profile_of_family(self.brand)


class OwnColumns(NamedTuple):
    """What a task reads by OIDs of the operator's own: columns by number, and facts."""

    named: int
    facts: Collection[str]


def _load_tasks(olt_ids: Sequence[int] | None) -> dict[Key, TaskToPredict]:
    """Return a task for each task type of an OLT; of several nodes with one type, the first."""
    nodes = SnmpJobHost.objects.order_by("-id")
    rows = (nodes if olt_ids is None else nodes.filter(olt__in=olt_ids)).values_list(
        "olt_id", "job__task_type", "job_id", "job__kind", "job__facts", "olt__brand__name", "olt__model_id",
        "olt__max_in_flight", "olt__max_varbinds", "olt__max_requests_per_second",
    )  # fmt: skip
    return {each.key: each for each in (TaskToPredict(*row) for row in rows)}


def _load_learned(olt_ids: Sequence[int] | None) -> tuple[dict[Key, Learned], dict[int, int]]:
    """Return learned durations, and the ONUs of each OLT at the last of them: counting a million is slow."""
    rows: QuerySet[TaskForecast] = TaskForecast.objects.order_by("updated_at")
    if olt_ids is not None:
        rows = rows.filter(olt__in=olt_ids)
    learned = {key: each for key, each in decode_learned(rows).items() if each.samples}
    return learned, {olt: each.onus for (olt, _), each in learned.items()}


def decode_learned(rows: QuerySet[TaskForecast]) -> dict[Key, Learned]:
    """Return the learned durations by OLT and task type, in the order of the rows."""
    states = rows.values_list("olt_id", "task_type", "state")
    return {(olt, task): Learned.from_json(state) for olt, task, state in states}


def _guess(
    tasks: Sequence[TaskToPredict], onus: Mapping[int, int], named_columns: Mapping[int, int], config: Config
) -> dict[Key, Predicted]:
    others, provided = _load_others(tasks), facts_of_own_oids()
    onus = {**onus_present(sorted({each.olt_id for each in tasks} - onus.keys())), **onus}
    found = {}
    for task in tasks:
        paces, count = others.of_same_kind(task), onus.get(task.olt_id, 0)
        own = _facts(task) & (provided.get(task.brand, set()) | provided.get(GENERIC, set()))
        columns = OwnColumns(named_columns.get(task.job_id, 0), own)
        found[task.key] = (
            guess_from_others(paces, count) if paces else _guess_from_requests(task, count, columns, config)
        )
    return found


class _OtherOlts:
    """Durations of tasks on OLTs where they ran: by brand and model, and by brand."""

    def __init__(self, rows: Iterable[tuple[str, str, int | None, float, float]]) -> None:
        self._paces: dict[tuple[str, str, int | None], list[Pace]] = defaultdict(list)
        for task_type, brand, model, *pace in rows:
            self._paces[task_type, brand, None].append(Pace(*pace))
            if model is not None:
                self._paces[task_type, brand, model].append(Pace(*pace))

    def of_same_kind(self, task: TaskToPredict) -> Sequence[Pace]:
        of_model = self._paces.get((task.task_type, task.brand, task.model_id))
        return of_model or self._paces.get((task.task_type, task.brand, None)) or ()


def _load_others(tasks: Iterable[TaskToPredict]) -> _OtherOlts:
    task_types, brands = {each.task_type for each in tasks}, {each.brand for each in tasks}
    rows = TaskForecast.objects.filter(
        task_type__in=task_types, olt__brand__name__in=brands, samples__gte=SURE_AFTER
    ).order_by("-updated_at")
    columns = ("task_type", "olt__brand__name", "olt__model_id", "fixed_s", "per_onu_s")
    return _OtherOlts(rows.values_list(*columns)[:_MAX_OTHERS])


def count_named_columns(job_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of columns that each of these jobs names one by one."""
    rows = SnmpJobOid.objects.filter(job__in=job_ids).order_by().values_list("job_id")
    return dict(rows.annotate(count=Count("id")))


def _guess_from_requests(task: TaskToPredict, onus: int, own: OwnColumns, config: Config) -> Predicted:
    rules = task.profile.request_rules
    in_flight = min(task.max_in_flight or config.requests_in_flight, rules.in_flight or 99)
    return guess_from_requests(_tables(task, onus, own, config), in_flight, task.most_per_second)


def _tables(task: TaskToPredict, onus: int, own: OwnColumns, config: Config) -> Iterator[Table]:
    """Yield the tables to read: a GET names its values, a walk reads them in pages."""
    walked, is_get = _rows_per_walk(task, config), task.kind == JobKind.GET
    varbinds = min(task.max_varbinds or config.varbinds, config.varbinds)
    if own.named:
        yield Table(own.named, 1 if is_get else onus, walked)
    for fact in own.facts:
        yield Table(1, onus if is_about_onus(fact) else ROWS_OF_CHASSIS, varbinds if is_get else walked)
    for table, columns in _columns(task):
        if is_get and table.entity is Entity.ONU:
            yield table_to_get(table, columns, onus, varbinds)
        else:
            yield table_to_walk(task.profile, table, columns, onus, walked)


def _rows_per_walk(task: TaskToPredict, config: Config) -> int:
    return rows_per_walk(task.profile, task.max_varbinds or config.walk_repetitions)


def _columns(task: TaskToPredict) -> Iterator[tuple[profiles.Table, int]]:
    """Yield the tables that provide what the job asks for, with the number of their columns."""
    facts = _facts(task)
    for table in task.profile.tables:
        prefix = "" if table.entity is Entity.ONU else f"{table.entity.value}."
        columns = sum(f"{prefix}{column.fact}" in facts for column in table.columns)
        if columns:
            yield table, columns


def _facts(task: TaskToPredict) -> set[str]:
    discovered = _DISCOVERED if task.kind == JobKind.DISCOVERY else ()
    return {*spelled_out(task.facts, task.profile, task.kind), *discovered}
