"""Builds the work of an execution: the parts of its composite node, each with the columns of its OLT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from facho.apps.discovery.selectors import known_onus
from facho.apps.executions.subjects import ExecutionSubject, execution_subject
from facho.apps.hosts.models import Brand, Oid, Olt, SnmpVersion
from facho.apps.hosts.selectors import (
    DISCOVERY_FACTS,
    NOBODY,
    AskedFact,
    columns_for,
    explicit_columns,
    facts_offered,
    family_problem,
    read_oid_state,
    spelled_out,
    usual_kind,
)
from facho.apps.snmp_jobs.models import JobKind, SnmpJobHost
from facho.apps.snmp_jobs.selectors import NodeJob, job_of_node
from facho.config import Config
from facho.core.reasons import Reason, ReasonError
from facho.core.request_rules import MissingColumns, RequestPace, columns_to_leave_out, request_pace
from facho.engine.collect.onu_read import OnuRead, facts_of_onu, plan_onu_read
from facho.engine.collect.own_columns import find_columns, own_column_helpers, with_own_columns
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import (
    AskedColumn,
    Batching,
    KnownOnu,
    Part,
    Work,
    find_substitutes,
)
from facho.snmp import Limits, Target, Version
from facho.snmp.pacing import Learned
from facho.vendors import GENERIC, Entity, Profile, known_facts, profile_of_family

# Sets of columns: of each brand and model, for each job.
_CACHED: Final = 512


class NothingToAsk(ReasonError):
    """The OLT's family has nothing of what the job is about."""


@dataclass(frozen=True, slots=True)
class OltSnapshot:
    """The state of the OLT before this collection."""

    missing_columns: MissingColumns
    version: str
    uptime_s: int | None
    uptime_read_at: datetime | None
    learned: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planned:
    work: Work
    # Chained parts that the family of this OLT has no columns for.
    unsupported: tuple[PartResult, ...]
    before: OltSnapshot
    # Set when one ONU is read.
    reading: OnuRead | None = None
    # Of the job; None when no job asks.
    interval_s: int | None = None


def plan_execution(
    execution_id: int, run_id: int, now: datetime, config: Config, subject: ExecutionSubject | None = None
) -> Planned:
    """Build the work of an execution. The subject is read unless it is given. Raises NothingToAsk."""
    asked_about = subject or execution_subject(execution_id)
    olt, oid_state = asked_about.olt, asked_about.oid_state
    if problem := family_problem(olt.brand):
        raise NothingToAsk(problem)
    profile = profile_of(olt)
    missing = columns_to_leave_out(olt.lacks, now, again_after=config.missing_again_after)
    reading = None if asked_about.onu_id is None else _plan_onu_read(asked_about.onu_id, olt, profile)
    every = [_part(job, olt, oid_state) for job in asked_about.jobs]
    every = every or list(reading.parts if reading else parts_of_family(olt, profile))
    parts = [leave_out_missing(leave_out_substitutes(part, profile, missing), missing) for part in every]
    if not every or not every[0].columns:
        what = parts[0].job if parts else olt.name
        raise NothingToAsk(Reason.of("nothing_to_ask", name=what, family=profile.name))
    asked = tuple(part for part in parts if part.columns or part.missing_columns)
    profile = with_own_columns(profile, (column for part in asked for column in part.columns))
    return Planned(
        Work(
            execution_id=execution_id,
            run_id=run_id,
            olt_id=olt.id,
            olt=olt.name,
            target=target_of(olt, config),
            profile=profile,
            parts=asked,
            known=(reading.onu,) if reading else tuple(_known(olt.id)) if _needs_known(asked) else (),
            learned=learned_of(olt),
            learned_gets=learned_gets_of(olt),
            pace=request_pace_of(olt.cpu_pct, olt.cpu_read_at, now, config),
            batching=Batching(config.batch, config.sub_batch, config.most_unanswered),
            varbinds=varbinds_of(olt, config),
            time_limit=config.execution_timeout,
        ),
        tuple(_skip_part(part, profile) for part in every if not part.columns),
        OltSnapshot(olt.lacks, olt.version, olt.uptime_s, olt.uptime_read_at, olt.learned),
        reading,
        asked_about.jobs[0].interval_s if asked_about.jobs else None,
    )


def _plan_onu_read(onu_id: int, olt: Olt, profile: Profile) -> OnuRead:
    onu = next(_known(olt.id, only=onu_id), None)
    if onu is None:
        raise NothingToAsk(Reason.of("onu_has_no_place"))
    asked = columns_for(olt, facts_of_onu(profile), JobKind.GET)
    found = plan_onu_read(onu_id, onu, profile, [(each, _column_of(profile.name, each)) for each in asked])
    if not found.parts:
        raise NothingToAsk(Reason.of("nothing_without_walk", family=profile.name))
    return found


def leave_out_substitutes(part: Part, profile: Profile, missing: frozenset[str]) -> Part:
    """Return the part without the columns that stand in for others which it asks for and the OLT has.

    Counters of 32 bits, for example, beside those of 64.
    """
    there = {column.read_as for column in part.columns if column.oid not in missing}
    substitutes = find_substitutes(profile)
    rest = tuple(column for column in part.columns if there.isdisjoint(substitutes.get(column.read_as, ())))
    return part if len(rest) == len(part.columns) else replace(part, columns=rest)


def leave_out_missing(part: Part, oids: frozenset[str]) -> Part:
    """Return the part without the columns that the OLT does not have.

    A discovery without columns would not notice that there are no ONUs, so it keeps all of them. Helper
    columns are left out together with those that they help to read.
    """
    missing = tuple(column for column in part.columns if column.oid in oids and not column.helps)
    rest = tuple(column for column in part.columns if column not in missing)
    if not missing or (part.kind == JobKind.DISCOVERY and not _has_facts(rest)):
        return part
    return replace(part, columns=rest if _has_facts(rest) else (), missing_columns=missing)


def _has_facts(columns: Iterable[AskedColumn]) -> bool:
    """Tell whether there is a column that is not only a helper."""
    return any(not column.helps for column in columns)


def profile_of(olt: Olt) -> Profile:
    return profile_of_family(olt.brand.name)


def _part(job: NodeJob, olt: Olt, oid_state: str | None = None) -> Part:
    facts = _facts(job, profile_of(olt))
    columns = _usual_columns(olt, facts, job.kind, oid_state)
    if job.has_oids:
        columns = tuple(dict.fromkeys((*columns, *_columns(olt, explicit_columns(_named_by(job))))))
    otherwise = _if_nobody(olt, job.kind, oid_state)
    return Part(job.node_id, job.name, job.kind, job.task_type, facts, columns, otherwise)


def _if_nobody(olt: Olt, kind: str, oid_state: str | None = None) -> tuple[AskedColumn, ...]:
    return _usual_columns(olt, (), NOBODY, oid_state) if kind == JobKind.DISCOVERY else ()


def _usual_columns(
    olt: Olt, facts: tuple[str, ...], kind: str, oid_state: str | None
) -> tuple[AskedColumn, ...]:
    if oid_state is None:
        oid_state = read_oid_state(olt.brand_id)
    own = profile_of(olt).name
    return _columns_for_state(own, olt.brand_id, olt.brand.name, olt.model_id, facts, kind, oid_state)


@lru_cache(maxsize=_CACHED)
def _columns_for_state(
    own: str,
    brand_id: int,
    brand: str,
    model_id: int | None,
    facts: tuple[str, ...],
    kind: str,
    oid_state: str,  # noqa: ARG001 - part of the key: the rows that the columns are made of
) -> tuple[AskedColumn, ...]:
    olt = Olt(brand=Brand(id=brand_id, name=brand), model_id=model_id)
    # What an OLT says of a fact whose declaration is gone could not be stored.
    known = [
        each
        for each in columns_for(olt, facts, kind)
        if not each.fact or each.fact in known_facts()[Entity(each.entity or Entity.ONU)]
    ]
    return tuple(dict.fromkeys(_columns_of(own, known)))


def _named_by(job: NodeJob) -> Iterable[Oid]:
    return Oid.objects.filter(jobs=job.job_id).select_related("brand")


def _columns(olt: Olt, asked: Iterable[AskedFact]) -> Iterator[AskedColumn]:
    return _columns_of(profile_of(olt).name, asked)


def _columns_of(own: str, asked: Iterable[AskedFact]) -> Iterator[AskedColumn]:
    """Return the columns to read. Values of columns that are not in the OLT's own profile are kept raw.

    Ports of the generic profile are numbered interfaces: decoded by it, they would become second ports
    beside those that the family has by slot and port.
    """
    columns = [_column_of(own, each) for each in asked]
    yield from columns
    yield from _helpers_of_own(own, columns)


def _column_of(own: str, asked: AskedFact) -> AskedColumn:
    return _own_column(own, asked) or _profile_column(own, asked)


def _helpers_of_own(own: str, columns: Iterable[AskedColumn]) -> Iterator[AskedColumn]:
    """Yield the columns without which the rows of own columns have no place."""
    entities = dict.fromkeys(column.entity for column in columns if column.provides)
    needed = (
        oid for entity in entities for oid in own_column_helpers(profile_of_family(own), Entity(entity))
    )
    read = {column.read_as for column in columns}
    yield from (AskedColumn(oid, oid, oid, helps=True) for oid in dict.fromkeys(needed) if oid not in read)


def _own_column(own: str, asked: AskedFact) -> AskedColumn | None:
    """Return a column that is not in the OLT's own profile, and provides a fact by the rules of that fact, or
    of a column of the profile that has another one.

    It is the operator's, or the generic profile has it of the OLT itself.
    """
    entity = asked.entity or Entity.ONU.value
    is_scalar = entity == Entity.OLT and asked.brand == GENERIC != own
    rule_of = asked.read_as if asked.brand == own and _has_another_fact(own, asked) else ""
    if not asked.fact or (asked.read_as and not is_scalar and not rule_of):
        return None
    column = AskedColumn(asked.name, asked.oid, asked.oid, entity=entity, provides=asked.fact)
    return replace(column, rule_of=rule_of)


def _has_another_fact(own: str, asked: AskedFact) -> bool:
    """Return whether the profile column that a row is read as has facts, and not the one of the row."""
    facts = {(table.entity.value, column.fact) for table, column, _ in find_columns(own, asked.read_as)}
    return bool(facts) and (asked.entity or Entity.ONU.value, asked.fact) not in facts


def _profile_column(own: str, asked: AskedFact) -> AskedColumn:
    return AskedColumn(
        asked.name,
        asked.oid,
        asked.read_as if asked.brand == own else "",
        helps=not asked.fact,
        entity=asked.entity or Entity.ONU.value,
    )


def _facts(job: NodeJob, profile: Profile) -> tuple[str, ...]:
    facts = spelled_out(job.facts, profile, job.kind)
    return tuple(dict.fromkeys((*DISCOVERY_FACTS, *facts))) if job.kind == JobKind.DISCOVERY else facts


def parts_of_family(olt: Olt, profile: Profile) -> Iterator[Part]:
    """Yield all parts that the family offers, for a collection by hand, with the ONUs first."""
    for name, facts in facts_offered(profile).items():
        kind = usual_kind(profile, name)
        columns = tuple(_columns(olt, columns_for(olt, facts, kind)))
        if columns:
            task_type = name if kind == JobKind.DISCOVERY else f"get_{name}"
            yield Part(None, name, kind, task_type, facts, columns, _if_nobody(olt, kind))


def first_column(node: SnmpJobHost) -> str | None:
    """Return the OID that a probe of the node asks for."""
    columns = _part(job_of_node(node.id), node.olt).columns
    return columns[0].oid if columns else None


def _needs_known(parts: Iterable[Part]) -> bool:
    """A GET needs the known ONUs also after a discovery, which may not say who is online."""
    return any(part.kind == JobKind.GET for part in parts)


def _known(olt_id: int, *, only: int | None = None) -> Iterator[KnownOnu]:
    return map(KnownOnu._make, known_onus(olt_id, only=only))


def _skip_part(part: Part, profile: Profile) -> PartResult:
    return PartResult(part, PartState.SKIPPED, Reason.of("family_has_nothing", family=profile.name))


SNMP_VERSIONS = {SnmpVersion.V1: Version.V1, SnmpVersion.V2C: Version.V2C, SnmpVersion.V3: Version.V3}


def target_of(olt: Olt, config: Config) -> Target:
    limits = Limits(
        olt.max_in_flight or config.requests_in_flight,
        olt.max_varbinds or config.walk_repetitions,
        olt.max_requests_per_second,
        olt.max_varbinds or config.most_varbinds,
    )
    return Target(
        olt.address,
        olt.credentials.community,
        olt.port,
        SNMP_VERSIONS[SnmpVersion(olt.snmp_version)],
        config.request_timeout.total_seconds(),
        config.request_retries,
        limits=limits,
        user=olt.credentials.user,
        most_rows=config.walk_rows,
        most_octets=config.answer_octets,
    )


def varbinds_of(olt: Olt, config: Config) -> int:
    """Return the usual number of values of one GET."""
    return min(olt.max_varbinds or config.varbinds, config.varbinds)


def learned_of(olt: Olt) -> Learned | None:
    return _learned(olt.learned) if "varbinds" in olt.learned else None


def learned_gets_of(olt: Olt) -> dict[int, Learned]:
    found: dict[str, dict[str, Any]] = olt.learned.get("gets", {})
    return {int(batch): _learned(learned) for batch, learned in found.items()}


def _learned(found: dict[str, Any]) -> Learned:
    return Learned(
        found["varbinds"], found["in_flight"], found.get("most_varbinds"), found.get("fragments", False)
    )


def learned_json(collection: Collection) -> dict[str, Any]:
    """Return what was learned of the OLT: from walks, and in `gets` from GETs by the `batch` of the table."""
    gets = {str(batch): _as_json(learned) for batch, learned in collection.learned_gets.items()}
    walks = {} if collection.learned is None else _as_json(collection.learned)
    return walks | ({"gets": gets} if gets else {})


def _as_json(learned: Learned) -> dict[str, Any]:
    return {name: getattr(learned, name) for name in _LEARNED}


_LEARNED: Final = tuple(each.name for each in fields(Learned))


def request_pace_of(
    cpu_pct: float | None, read_at: datetime | None, now: datetime, config: Config
) -> RequestPace:
    return request_pace(
        cpu_pct,
        read_at,
        now,
        gentle_above=config.cpu_gentle_above,
        skip_above=config.cpu_skip_above,
        known_for=config.cpu_known_for,
    )
