"""Stores what a collection found about ONUs: rows, history, optical power, and outages of their ports.

Outages begin, grow and end with the states of the ONUs of a port. The baseline of the power of each ONU is
computed here too, by the housekeeping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.db.models import F, Q

from facho.apps.chassis.selectors import onus_by_port
from facho.apps.db import sql
from facho.apps.db.sql import fetch_by_id, update_rows
from facho.apps.discovery.event_times import DatedOutage
from facho.apps.discovery.findings import ONLINE, Finding
from facho.apps.discovery.models import EventKind, Onu, OnuEvent, Optics, PortOutage, Presence
from facho.apps.discovery.olt_clocks import ClockReading
from facho.apps.discovery.onu_events import POWERS, PowerChange, StateChange, StateChanges, port_of
from facho.apps.discovery.roster import IDENTITY, VALUES
from facho.apps.discovery.store import StoredOnus, store_findings, store_unreadable
from facho.apps.history.models import Subject
from facho.apps.history.selectors import values_by_hour
from facho.apps.history.store import make_frame, places_of_olt
from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import PLACE_FACTS
from facho.apps.snmp_jobs.models import JobKind
from facho.config import Config
from facho.core.onu_states import offline_cause
from facho.core.optics import Limits, baseline_of
from facho.core.outage import OutageSize, cause_of, is_new_outage, is_over
from facho.engine.collect.onu_read import fail_as_other_onu, limit_finding
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import Part, tables_of
from facho.engine.collect.work_builder import Planned
from facho.engine.events.stream import publish
from facho.engine.events.types import (
    OpticalPowerChanged,
    PortOutageEnded,
    PortOutageStarted,
    UnreadableRowsFound,
)
from facho.engine.record.execution_row import Recording
from facho.engine.record.olt_state import lists_unprovisioned
from facho.engine.record.traffic import add_rates
from facho.vendors import Decoded, Entity, Profile
from facho.vendors.facts import full_fact_name
from facho.vendors.schema import ReadMethod


def store_onus(
    planned: Planned, collection: Collection, now: datetime, config: Config, *, begin: datetime | None = None
) -> tuple[StoredOnus, Collection]:
    """Return what became of the ONUs, and the collection: failed, if another ONU was at the place to read.

    `begin` is when the OLT was first asked.
    """
    findings = list(findings_of(collection.parts, planned.work.profile))
    if planned.reading is not None:
        findings = [limit_finding(each) for each in findings]
    limits = Limits(weak_dbm=config.optical_weak, fall_db=config.optical_fall)
    reading = ClockReading(begin or now, _read_clock(collection) if begin else None, config.time_zone)
    stored = store_findings(
        planned.work.olt_id,
        findings,
        now,
        absent_after=config.absent_after,
        limits=limits,
        reading=reading,
    )
    is_another = planned.reading is not None and stored.other
    return stored, fail_as_other_onu(collection) if is_another else collection


def _read_clock(collection: Collection) -> datetime | None:
    """Return what the clock of the OLT showed, if it was asked."""
    clocks = (
        value
        for part in collection.parts
        if part.decoded is not None
        for value in part.decoded[Entity.OLT].columns.get("clock", ())
    )
    return next((each for each in clocks if isinstance(each, datetime)), None)


def write_onu_history(recording: Recording) -> None:
    frame, reading = recording.stored.frame, recording.planned.reading
    frame = add_rates(recording, Subject.ONU, frame)
    if reading is not None:
        frame = frame.of_one(reading.onu_id)
    recording.writes.frames += make_frame(
        recording.olt_id, recording.now, Subject.ONU, frame.ids, frame.columns
    )


def findings_of(parts: Iterable[PartResult], profile: Profile) -> Iterator[Finding]:
    """Yield what each part found. One that was read to its end without a row shows that nobody is there."""
    for outcome in parts:
        succeeded, kind = outcome.state is PartState.SUCCESS, outcome.part.kind
        if outcome.decoded is not None and (succeeded or _is_about_onus(outcome.decoded)):
            yield Finding(
                outcome.decoded.onus,
                complete_discovery=succeeded and kind == JobKind.DISCOVERY,
                keep_last=kept_facts(profile, outcome.part),
                complete=succeeded and kind not in (JobKind.DISCOVERY, JobKind.GET),
                broken=not succeeded,
                unanswered=frozenset(outcome.unanswered),
                of_online=facts_of_online(profile, outcome.part)
                if succeeded and kind == JobKind.GET
                else frozenset(),
                task=outcome.part.task_type,
                unis=outcome.decoded[Entity.UNI],
                has_gaps=outcome.decoded.has_gaps(Entity.ONU),
                hides_identities=_hides_identities(outcome, profile),
            )


def _hides_identities(outcome: PartResult, profile: Profile) -> bool:
    identities = {each.name for each in IDENTITY}
    return any(
        column.fact in identities and source.oid in outcome.refused
        for table in profile.tables
        if outcome.refused and table.entity is Entity.ONU
        for column in table.columns
        for source in (column.source, *column.otherwise)
    )


def _is_about_onus(decoded: Decoded) -> bool:
    return bool(len(decoded.onus) or len(decoded[Entity.UNI]))


def kept_facts(profile: Profile, part: Part) -> frozenset[tuple[str, str]]:
    """Return the facts whose empty answer keeps the stored value, with their technologies."""
    asked = {column.read_as for column in (*part.columns, *part.otherwise)}
    return frozenset(
        (column.fact, table.technology)
        for table in profile.tables
        if table.entity is Entity.ONU
        for column in table.columns
        if column.keep_last and any(source.oid in asked for source in (column.source, *column.otherwise))
    )


def facts_of_online(profile: Profile, part: Part) -> frozenset[str]:
    """Return the facts that the OLT reads from each ONU, for which only online ONUs were asked."""
    asked = {column.read_as for column in part.columns if part.kind == JobKind.GET}
    return frozenset(
        column.fact
        for table in profile.tables
        if table.read_method is ReadMethod.GET_ONLINE
        for column in table.columns
        if any(source.oid in asked for source in (column.source, *column.otherwise))
    )


# A stored fact that several facts can fill: the ONU's name serves as its description.
_FILLED_BY: Final[Mapping[str, tuple[str, ...]]] = {each.name: each.facts for each in VALUES}


def write_collected(recording: Recording) -> None:
    """Date the facts and tasks that were collected. A reading of one ONU collects none."""
    planned = recording.planned
    if planned.reading is None:
        parts, profile = recording.collection.parts, planned.work.profile
        data = {datum for part in parts for datum in collected_data(part, profile)}
        recording.writes.collected.append((recording.olt_id, data, recording.now))


def collected_data(outcome: PartResult, profile: Profile) -> set[str]:
    """Return the facts of a part of which rows arrived, and its task if anything did.

    SNMP cannot tell an empty table from one that is not there, so a fact without rows was not collected. The
    list of ONUs that wait to be provisioned is usually empty, and an empty one is an answer.
    """
    part, decoded = outcome.part, outcome.decoded
    if decoded is None or outcome.state is not PartState.SUCCESS:
        return set()
    answered = (Entity.AUTOFIND,) if lists_unprovisioned(outcome, profile) else ()
    asked = {*part.facts, *_facts_of_columns(outcome, profile)}
    facts = {fact for fact in asked if _has_arrived(fact, decoded, answered)}
    return facts | {part.task_type} if facts or outcome.raw or _has_values(decoded) else set()


def _has_values(decoded: Decoded) -> bool:
    columns = (column for facts in decoded.facts.values() for column in facts.columns.values())
    return any(value is not None for column in columns for value in column)


def _facts_of_columns(outcome: PartResult, profile: Profile) -> Iterator[str]:
    """Yield the facts of the columns that were asked for: a job may name columns instead of facts, and a
    discovery also asks what tells that an ONU is there.
    """
    tables = tables_of(profile)
    for column in (*outcome.part.columns, *outcome.asked):
        if column.helps:
            continue
        if column.provides:
            yield full_fact_name(column.entity, column.provides)
        for table in tables.get(column.read_as, ()):
            for each in table.columns:
                sources = {source.oid for source in (each.source, *each.otherwise)}
                if column.read_as in sources and each.fact not in PLACE_FACTS:
                    yield full_fact_name(table.entity, each.fact)


def _has_arrived(name: str, decoded: Decoded, answered: Iterable[Entity]) -> bool:
    prefix, dot, fact = name.rpartition(".")
    entity = next((each for each in Entity if each == prefix), None) if dot else Entity.ONU
    if entity is None:
        return False
    facts = _FILLED_BY.get(fact, (fact,)) if entity is Entity.ONU else (fact,)
    return entity in answered or any(_has_rows(entity, each, decoded) for each in facts)


def _has_rows(entity: Entity, fact: str, decoded: Decoded) -> bool:
    """Return whether the OLT sent rows that could be read; a row without a value is an answer too."""
    values = decoded[entity].columns.get(fact, [])
    if any(value is not None for value in values):
        return True
    return bool(values) and not any(each == fact for _, each in decoded.problems.counts)


def write_unreadable_rows(recording: Recording) -> None:
    parts, planned, now = recording.collection.parts, recording.planned, recording.now
    found = {
        table: rows
        for part in parts
        if part.decoded is not None
        for table, rows in part.decoded.unreadable.items()
    }
    if not found and (not recording.before.had_unreadable or planned.reading is not None):
        return
    profile = planned.work.profile
    read = {table for part in parts for table in tables_read(part, profile)}
    unread = {table.name for table in profile.tables} - read
    for table, each in store_unreadable(recording.olt_id, found, unread, now).items():
        event = UnreadableRowsFound(
            olt_id=recording.olt_id, table=table, rows=each.rows, example=each.example
        )
        publish(event, now)


def tables_read(outcome: PartResult, profile: Profile) -> set[str]:
    """Return the names of the tables that a part walked to their end."""
    if outcome.state is not PartState.SUCCESS or outcome.part.kind == JobKind.GET:
        return set()
    columns = (column for column in outcome.asked if not column.helps)
    return {table.name for column in columns for table in tables_of(profile).get(column.read_as, ())}


# So many ONUs of one event are named, the worst first.
_MAX_NAMED: Final = 5
_WEEK: Final = timedelta(days=7)
_EVERY: Final = timedelta(days=1)
# In one pass of the housekeeping: a port is about ten milliseconds of work.
_MAX_PORTS: Final = 64
_MAX_OLTS: Final = 20
# A smaller change of a baseline is noise, and not written.
_SMALLEST_CHANGE_DB: Final = 0.1


def write_optics(recording: Recording) -> None:
    publish_optical_changes(recording.olt_id, recording.stored.optical_changes, recording.now)


def publish_optical_changes(olt_id: int, changes: Sequence[PowerChange], now: datetime) -> None:
    """Publish one event for all ONUs of a port to which the same happened in a collection."""
    ordered = sorted(changes, key=_kind_and_port)
    for (kind, port), several in groupby(ordered, key=_kind_and_port):
        worst = sorted(several, key=lambda each: each.power_dbm)
        names = [each.name for each in worst]
        onus = [_onu_json(each) for each in worst[:_MAX_NAMED]]
        event = OpticalPowerChanged(olt_id=olt_id, change=kind, port=port, names=names, onus=onus)
        publish(event, now)


def _kind_and_port(change: PowerChange) -> tuple[EventKind, str]:
    return change.kind, change.port


def _onu_json(change: PowerChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "place": change.place,
        "power_dbm": change.power_dbm,
        "usual_dbm": change.usual_dbm,
    }


def update_baselines(now: datetime, _config: Config) -> int:
    """Compute the baselines of each OLT once a day. Return how many ONUs have another one now."""
    changed = ports = 0
    for olt_id in _due_olts(now):
        places = sorted(set(places_of_olt(olt_id).values()))
        changed += sum(_update_port(olt_id, place, now) for place in places)
        sql.update_row(Olt, olt_id, {"optics_usual_at": now})
        ports += len(places)
        if ports >= _MAX_PORTS:
            break
    return changed


def _due_olts(now: datetime) -> list[int]:
    """Return the OLTs that waited longest. A date in the future was written before the clock was set back."""
    never = Q(optics_usual_at__isnull=True)
    due = never | Q(optics_usual_at__lte=now - _EVERY) | Q(optics_usual_at__gt=now)
    olts = Olt.objects.filter(due, enabled=True).order_by(F("optics_usual_at").asc(nulls_first=True), "id")
    return list(olts.values_list("id", flat=True)[:_MAX_OLTS])


def _update_port(olt_id: int, place: str, now: datetime) -> int:
    baselines = _compute_baselines(olt_id, place, now)
    if not baselines:
        return 0
    with sql.write_transaction():
        rows = _changed_baselines(baselines)
        update_rows(Onu, ("rx_usual_dbm", "rx_usual_of"), rows, is_adapted=True)
    return len(rows)


def _compute_baselines(olt_id: int, place: str, now: datetime) -> dict[int, tuple[float, str]]:
    found: dict[int, tuple[float, str]] = {}
    # The first power counts, and so it is the last one that is set.
    for fact in reversed(POWERS):
        for onu, hours in values_by_hour(olt_id, place, fact, now - _WEEK, now).items():
            if (baseline := baseline_of(hours)) is not None:
                found[onu] = baseline, fact
    return found


def _changed_baselines(baselines: Mapping[int, tuple[float, str]]) -> list[tuple[int, float, str]]:
    """Return the baselines to write, with the rows locked.

    The baseline of an ONU that is flagged stays, or the ONU would recover by getting used to the bad value.
    ONUs that are being stored at this moment are left for the next day, so that nobody waits.
    """
    onus = Onu.objects.filter(id__in=list(baselines), presence=Presence.PRESENT).filter(
        Q(optical_state=Optics.WELL) | Q(rx_usual_dbm__isnull=True)
    )
    known = onus.select_for_update(skip_locked=True).values_list("id", "rx_usual_dbm", "rx_usual_of")
    return [
        (onu, *baselines[onu])
        for onu, before, fact in known.order_by("id")
        if before is None
        or fact != baselines[onu][1]
        or abs(before - baselines[onu][0]) >= _SMALLEST_CHANGE_DB
    ]


# The id of an ONU that went offline, as JSON has it, and its cause.
Causes = dict[str, str]

_STATUS_COLUMNS: Final = ("state", "down_cause", "presence", "frame", "slot", "port")


def write_outages(recording: Recording) -> None:
    changes, unsure_since = recording.stored.state_changes, recording.before.unsure_since
    update_outages(recording.olt_id, changes, unsure_since, recording.now, recording.config)


def update_outages(
    olt_id: int, changes: StateChanges, unsure_since: datetime | None, now: datetime, config: Config
) -> None:
    """Begin, grow and end the outages of an OLT, after its ONUs are stored.

    Nothing follows from a collection that broke off: the next whole one decides.
    """
    if changes.dated:
        _date_outages(olt_id, changes.dated)
    if not changes.is_whole:
        if changes.onus and unsure_since is None:
            sql.update_row(Olt, olt_id, {"states_unsure_since": now})
        return
    if not changes.onus and unsure_since is None:
        return
    _OltOutages(olt_id, now, config).update(changes.onus, unsure_since)
    if unsure_since is not None:
        sql.update_row(Olt, olt_id, {"states_unsure_since": None})


def _date_outages(olt_id: int, dated: Sequence[DatedOutage]) -> None:
    """Let open outages begin when the first of their ONUs went, which the OLT said only later."""
    for outage in PortOutage.objects.filter(olt=olt_id, ended_at__isnull=True):
        of_outage = (each for each in dated if str(each.onu_id) in outage.onus)
        went = [each.happened_at for each in of_outage if each.seen == outage.began_at]
        if went:
            outage.began_at = min(went)
            outage.save(update_fields=("began_at",))


class _OltOutages:
    """The open outages of one OLT, by port."""

    def __init__(self, olt_id: int, now: datetime, config: Config) -> None:
        self._olt_id = olt_id
        self._now = now
        self._mass = OutageSize(config.outage_onus, config.outage_share)
        # When the first ONU of each port went offline, as the OLT dates it.
        self._began: dict[str, datetime] = {}
        rows = PortOutage.objects.filter(olt=olt_id, ended_at__isnull=True)
        self._open = {outage.place: outage for outage in rows}

    def update(self, changes: Sequence[StateChange], unsure_since: datetime | None) -> None:
        offline = _offline_by_port(changes)
        self._began = _first_by_port(changes)
        concerned = {str(each.onu_id) for each in changes}
        if unsure_since is not None:
            for port, causes in self._offline_since(unsure_since).items():
                offline[port] = {**causes, **offline.get(port, {})}
            concerned |= {onu for outage in self._open.values() for onu in outage.onus}
        totals = self._count_onus(offline)
        for port, causes in offline.items():
            self._add_offline(port, causes, totals.get(port, 0))
        for outage in [each for each in self._open.values() if not concerned.isdisjoint(each.onus)]:
            self._end_if_over(outage)

    def _count_onus(self, offline: Mapping[str, Causes]) -> dict[str, int]:
        """Count the ONUs of each port. The count is not needed for one ONU on a port without an outage."""
        if not any(len(causes) > 1 or port in self._open for port, causes in offline.items()):
            return {}
        counted = onus_by_port([self._olt_id]).get(self._olt_id, {})
        return {port: each.known for port, each in counted.items()}

    def _offline_since(self, since: datetime) -> dict[str, Causes]:
        """Return the ONUs that went offline in collections that broke off, and still are."""
        events = OnuEvent.objects.filter(
            olt=self._olt_id, at__gte=since, at__lt=self._now, kind=EventKind.OFFLINE, onu__isnull=False
        )
        causes = dict(events.order_by("id").values_list("onu_id", "cause"))
        offline: dict[str, Causes] = {}
        for onu_id, status in _present_onus(causes).items():
            if status.port and not status.is_online:
                # A collection that broke off may not have read the causes.
                offline.setdefault(status.port, {})[str(onu_id)] = causes[onu_id] or status.cause
        return offline

    def _add_offline(self, port: str, causes: Causes, total: int) -> None:
        outage = self._open.get(port)
        if outage is None:
            if self._mass.reached(len(causes), total):
                self._begin(port, causes, total)
            return
        fresh = {onu: cause for onu, cause in causes.items() if onu not in outage.onus}
        back = _count_online(_present_onus(map(int, outage.onus)))
        if is_new_outage(len(fresh), total, back=back, affected=outage.onus_affected, mass=self._mass):
            self._end(outage)
            self._begin(port, causes, total)
        elif fresh:
            self._grow(outage, fresh, total)

    def _begin(self, port: str, causes: Causes, total: int) -> None:
        outage = PortOutage(
            olt_id=self._olt_id,
            place=port,
            began_at=min(self._began.get(port, self._now), self._now),
            cause=cause_of(causes.values()).value,
            onus_affected=len(causes),
            onus_known=total,
            onus=causes,
        )
        outage.save(force_insert=True)
        self._open[port] = outage
        event = PortOutageStarted(
            olt_id=self._olt_id, port=port, cause=outage.cause, affected=outage.onus_affected, onus=total
        )
        publish(event, self._now)

    def _grow(self, outage: PortOutage, fresh: Causes, total: int) -> None:
        """Add ONUs to an outage. Its event is not published again."""
        outage.onus = {**outage.onus, **fresh}
        outage.onus_affected = len(outage.onus)
        outage.onus_known = max(total, outage.onus_affected)
        outage.cause = cause_of(outage.onus.values()).value
        outage.save(update_fields=("onus", "onus_affected", "onus_known", "cause"))

    def _end_if_over(self, outage: PortOutage) -> None:
        """End an outage when enough are back. ONUs that are gone for good are not waited for."""
        present = _present_onus(map(int, outage.onus))
        if is_over(_count_online(present), len(present)):
            self._end(outage)

    def _end(self, outage: PortOutage) -> None:
        outage.ended_at = self._now
        outage.save(update_fields=("ended_at",))
        del self._open[outage.place]
        event = PortOutageEnded(
            olt_id=self._olt_id,
            port=outage.place,
            cause=outage.cause,
            affected=outage.onus_affected,
            since=outage.began_at,
            until=self._now,
        )
        publish(event, self._now)


@dataclass(frozen=True, slots=True)
class _OnuStatus:
    is_online: bool
    port: str
    # Why it is offline, if it is.
    cause: str


def _present_onus(onu_ids: Iterable[int]) -> dict[int, _OnuStatus]:
    """Return the status of those that are present, by id."""
    read = fetch_by_id(Onu, list(onu_ids), _STATUS_COLUMNS)
    found = {onu_id: dict(zip(_STATUS_COLUMNS, values, strict=True)) for onu_id, values in read.items()}
    return {
        onu_id: _OnuStatus(
            each["state"] == ONLINE, port_of(each), offline_cause(each["down_cause"], each["state"])
        )
        for onu_id, each in found.items()
        if each["presence"] == Presence.PRESENT
    }


def _count_online(onus: Mapping[int, _OnuStatus]) -> int:
    return sum(onu.is_online for onu in onus.values())


def _first_by_port(changes: Sequence[StateChange]) -> dict[str, datetime]:
    first: dict[str, datetime] = {}
    for each in changes:
        if each.kind is EventKind.OFFLINE and each.was_online and each.happened_at is not None:
            first[each.port] = min(each.happened_at, first.get(each.port, each.happened_at))
    return first


def _offline_by_port(changes: Sequence[StateChange]) -> dict[str, Causes]:
    offline: dict[str, Causes] = {}
    for each in changes:
        if each.kind is EventKind.OFFLINE and each.was_online and each.port:
            offline.setdefault(each.port, {})[str(each.onu_id)] = each.cause
    return offline
