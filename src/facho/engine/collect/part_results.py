"""The results of parts, judged by their answers: success, error and missing columns.

SNMP cannot tell an empty table from one that is not there. So a column counts as missing only where it must
have rows: for ONUs that the OLT has just named, and for its own ports, boards and health. ONUs that wait to
be provisioned are mostly none, and are always asked for.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from facho.core.reason_texts import TABLE_NOT_PRESENT
from facho.core.reasons import NO_REASON, Reason, several
from facho.core.request_rules import too_many_unanswered
from facho.engine.collect.column_reader import Answers, add_load
from facho.engine.collect.request_plan import AskedColumn, Part, Work, tables_of
from facho.masking import mask_secrets
from facho.snmp import SnmpError, Value
from facho.snmp.errors import AgentRefused, DeadlineExceeded, TooMuch
from facho.snmp.pacing import Learned
from facho.snmp.peer import Load
from facho.snmp.requester import FORBIDDEN
from facho.snmp.values import Unknown, json_value
from facho.vendors import Decoded, Entity, Profile, UnreadableRows
from facho.vendors.errors import BadIndex
from facho.vendors.index import split_arcs
from facho.vendors.schema import Table


class PartState(enum.StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(slots=True)
class PartResult:
    """The result of one part. `decoded` has the rows that came, also if it failed."""

    part: Part
    state: PartState
    error: Reason = NO_REASON
    # The OLT did not answer at all.
    silent: bool = False
    seconds: float = 0.0
    decoded: Decoded | None = None
    # Rows of columns without a profile: name -> index in dots -> value for JSON.
    raw: dict[str, dict[str, object]] = field(default_factory=dict)
    rows: int = 0
    onus_asked: int = 0
    # ONUs with missing values, by interface, and why.
    unanswered: dict[str, Reason] = field(default_factory=dict)
    # OIDs of columns that the OLT does not have, and of those that it has.
    missing_columns: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    # Columns of the profile that the OLT refused to show, and without which the part succeeded.
    refused: frozenset[str] = frozenset()
    load: Load = field(default_factory=Load)
    # The columns that were read in fact, with those of `Part.otherwise` if they were needed.
    asked: tuple[AskedColumn, ...] = ()
    # Of the agent, at the end of the part.
    uptime_s: float | None = None

    def __post_init__(self) -> None:
        # Reasons hold what the OLT said, and are stored and shown.
        self.error = self.error.with_texts(_clean_text)
        clean = {reason: reason.with_texts(_clean_text) for reason in set(self.unanswered.values())}
        self.unanswered = {onu: clean[reason] for onu, reason in self.unanswered.items()}

    @property
    def has_onus(self) -> bool:
        return self.decoded is not None and len(self.decoded.onus) > 0


def _clean_text(text: str) -> str:
    """Mask secrets, and drop NUL, which PostgreSQL refuses."""
    return mask_secrets(text).replace("\0", "")


@dataclass(slots=True)
class Collection:
    """The results of all parts of an execution, which fails if the first part, the master's, fails."""

    parts: list[PartResult]
    learned: Learned | None = None
    learned_gets: Mapping[int, Learned] = field(default_factory=dict)
    cpu_pct: float | None = None
    uptime_s: float | None = None

    @property
    def was_asked(self) -> bool:
        """Tell whether a request was sent; if all columns were left out, none was."""
        return any(part.load.requests for part in self.parts)

    @property
    def succeeded(self) -> bool:
        return self.parts[0].state is PartState.SUCCESS

    @property
    def silent(self) -> bool:
        return self.parts[0].silent

    @property
    def error(self) -> Reason:
        return self.parts[0].error


DISCOVERY: Final = "discovery"
_ALWAYS_THERE: Final = frozenset(
    {Entity.PORT, Entity.BOARD, Entity.FAN, Entity.PSU, Entity.UPLINK, Entity.OLT}
)
# A single ONU may lack a value. When this many lack it, the OLT has no such column.
ENOUGH: Final = 10


def find_missing_columns(part: Part, answers: Answers, decoded: Decoded, profile: Profile) -> frozenset[str]:
    """Return the OIDs that the OLT does not have, for a part that did not fail.

    Helper columns are never among them: a GET does not ask for the names behind an index, and a walk without
    them would put every ONU at another place.
    """
    tables = tables_of(profile)
    empty = {
        each: {table.entity for table in tables[each.read_as]}
        for each in part.columns
        if not each.helps and tables.get(each.read_as) and not answers.rows.get(each.read_as)
    }
    if answers.onus_asked:
        if answers.incomplete:
            return frozenset()
        sure = answers.onus_asked >= ENOUGH
        return frozenset(
            each.oid
            for each, of in empty.items()
            if Entity.ONU in of and (sure or each.read_as in answers.no_such_object)
        )
    known = _ALWAYS_THERE | ({Entity.ONU} if len(decoded.onus) else frozenset())
    return frozenset(each.oid for each, of in empty.items() if of <= known)


def find_missing_tables(part: Part, missing: frozenset[str], decoded: Decoded, profile: Profile) -> list[str]:
    """Return the names of the tables of which every column that was asked for is missing.

    After a discovery without ONUs these are all: it is not known whether there are no ONUs or no tables.
    """
    found_no_onu = part.kind == DISCOVERY and not len(decoded.onus)
    there: dict[str, bool] = {}
    for column in part.columns:
        for table in tables_of(profile).get(column.read_as, ()):
            is_there = column.oid not in missing and not found_no_onu
            there[table.name] = there.get(table.name, False) or is_there
    return [name for name, is_there in there.items() if not is_there]


_MOST_REASONS: Final = 5
_IDENTITIES: Final = ("serial", "mac")
_CLOCK: Final = "clock"
_LIMITS: Final = Reason.of("raise_limits")


def skip_part(part: Part, why: Reason) -> PartResult:
    return PartResult(part, PartState.SKIPPED, why)


def fail_part(part: Part, why: Reason, *, silent: bool = False) -> PartResult:
    return PartResult(part, PartState.FAILED, why, silent)


def judge_part(part: Part, answers: Answers, decoded: Decoded, work: Work) -> PartResult:
    raw, cut = collect_raw_rows(answers.own)
    without = _dispensable(answers.refused, decoded, work.profile)
    failure = _failure_reason(part, answers, decoded, work, without)
    notes = [*answers.notes, cut]
    missing = frozenset[str]() if failure else find_missing_columns(part, answers, decoded, work.profile)
    if not failure:
        notes.append(_join_errors([error for each in without for error in answers.refused[each]], work))
        absent = missing.difference(each.oid for each in without)
        if tables := find_missing_tables(part, absent, decoded, work.profile):
            notes.append(missing_tables_reason(tables))
    notes += _unreadable_notes(decoded.unreadable)
    return PartResult(
        part,
        PartState.FAILED if failure else PartState.SUCCESS,
        several([failure, *notes]),
        answers.silent,
        decoded=decoded,
        raw=raw,
        rows=sum(map(len, decoded.facts.values())) + sum(map(len, raw.values())),
        onus_asked=answers.onus_asked,
        unanswered={str(key): reason for key, reason in answers.incomplete.items()},
        missing_columns=missing,
        found=frozenset(each.oid for each in part.columns if answers.rows.get(each.read_as)),
        refused=frozenset(each.read_as for each in without),
        load=answers.load,
        asked=part.columns,
        uptime_s=answers.uptime_s,
    )


def _dispensable(
    refused: Mapping[AskedColumn, Iterable[SnmpError]], decoded: Decoded, profile: Profile
) -> list[AskedColumn]:
    """Return the refused columns that the part can do without.

    An OLT may keep its own tables from a community that reads those which all makers have: where other
    columns have rows of all that such a column is about, it is as if it were not there. And without the clock
    of the OLT, the states of its ONUs are still true.
    """
    return [
        each
        for each, errors in refused.items()
        if (_is_clock(each, profile) and len(decoded.onus))
        or (all(map(_is_forbidden, errors)) and _has_others(each, decoded, profile))
    ]


def _is_forbidden(error: SnmpError) -> bool:
    return isinstance(error, AgentRefused) and error.status in FORBIDDEN


def _is_clock(column: AskedColumn, profile: Profile) -> bool:
    tables = tables_of(profile).get(column.read_as, ())
    facts = {each.fact for table in tables for each in table.columns if each.source.oid == column.read_as}
    return (facts or {column.provides}) == {_CLOCK}


def _has_others(column: AskedColumn, decoded: Decoded, profile: Profile) -> bool:
    """Return whether other columns have rows of all that this column is about."""
    tables = tables_of(profile).get(column.read_as, ())
    return bool(tables) and not column.helps and all(_has_rows(table, decoded) for table in tables)


def _has_rows(table: Table, decoded: Decoded) -> bool:
    found = decoded[table.entity]
    return table.technology in found.technologies if table.entity is Entity.ONU else len(found) > 0


def join_results(empty: PartResult, further: PartResult) -> PartResult:
    """Join the results of the two walks of a discovery; the second was made because the first had no ONU.

    The first is kept if the second has none either. The loads are added, and so are the unreadable rows:
    a missing ONU may be in them.
    """
    second_counts = further.state is not PartState.SUCCESS or further.has_onus
    chosen, other = (further, empty) if second_counts else (empty, further)
    add_load(chosen.load, other.load)
    chosen.asked = (*empty.asked, *further.asked)
    chosen.uptime_s = empty.uptime_s if further.uptime_s is None else further.uptime_s
    if other.decoded is not None and chosen.decoded is not None:
        unreadable = chosen.decoded.unreadable
        more = {table: rows for table, rows in other.decoded.unreadable.items() if table not in unreadable}
        chosen.decoded.unreadable = {**unreadable, **more}
        chosen.error = several([chosen.error, *_unreadable_notes(more)])
    return chosen


def missing_tables_reason(tables: Iterable[str]) -> Reason:
    return Reason.of(TABLE_NOT_PRESENT, tables=", ".join(tables))


def _unreadable_notes(unreadable: Mapping[str, UnreadableRows]) -> list[Reason]:
    return [
        Reason.of("unreadable_indexes", number=rows.rows, table=table, example=rows.example)
        for table, rows in unreadable.items()
    ]


def report_all_left_out(part: Part, profile: Profile) -> PartResult:
    """Return the result of a part whose columns are all missing on the OLT, which is not a failure."""
    tables = {
        table.name for each in part.missing_columns for table in tables_of(profile).get(each.read_as, ())
    }
    return PartResult(part, PartState.SUCCESS, missing_tables_reason(sorted(tables)))


def _failure_reason(
    part: Part, answers: Answers, decoded: Decoded, work: Work, without: Sequence[AskedColumn]
) -> Reason:
    """Return why the part failed, if it did."""
    refusals = (errors for column, errors in answers.refused.items() if column not in without)
    if errors := [*answers.errors, *chain.from_iterable(refusals)]:
        return _join_errors(errors, work)
    most = work.batching.most_unanswered
    if too_many_unanswered(answers.onus_asked, answers.silent_onus, most=most / 100):
        onu, why = next(iter(answers.incomplete.items()))
        return Reason.of(
            "too_many_silent_onus",
            number=answers.silent_onus,
            total=answers.onus_asked,
            percent=most,
            onu=str(onu),
            why=why,
        )
    return _no_identity_reason(answers, decoded) if part.kind == DISCOVERY else NO_REASON


def _join_errors(errors: Sequence[SnmpError], work: Work) -> Reason:
    reasons = list(dict.fromkeys(_error_reason(error, work) for error in errors))
    more = len(reasons) - _MOST_REASONS
    rest = Reason.of("more", more=more) if more > 0 else NO_REASON
    limits = _LIMITS if any(isinstance(error, TooMuch) for error in errors) else NO_REASON
    return several([*reasons[:_MOST_REASONS], rest, limits])


def _error_reason(error: SnmpError, work: Work) -> Reason:
    """Return the reason of an error. A time limit is that of the execution, not what the part had left."""
    if isinstance(error, DeadlineExceeded):
        return Reason.of("time_limit", seconds=work.time_limit.total_seconds())
    return error.reason


def _no_identity_reason(answers: Answers, decoded: Decoded) -> Reason:
    """Return a reason if a discovery could not read the identity of any ONU: it proves nothing then."""
    if not decoded.problems:
        return NO_REASON
    onus = decoded.onus
    identities = [onus.columns[fact] for fact in _IDENTITIES if fact in onus.columns]
    if any(value is not None for values in identities for value in values):
        return NO_REASON
    if len(onus) and not any(fact in _IDENTITIES for _, fact in decoded.problems.counts):
        # ONUs of this OLT have no identity, only places.
        return NO_REASON
    rows = max(map(len, answers.rows.values()), default=0)
    return Reason.of("no_row_read", number=rows, problem=str(decoded.problems.first[0]))


def largest_cpu(parts: Iterable[PartResult]) -> float | None:
    """Return the highest CPU load of the boards and of the OLT itself, in per cent."""
    return max((cpu for part in parts if part.decoded for cpu in _cpu_loads(part.decoded)), default=None)


def _cpu_loads(decoded: Decoded) -> Iterator[float]:
    for entity in (Entity.BOARD, Entity.OLT):
        for value in decoded[entity].columns.get("cpu_pct", ()):
            if isinstance(value, int | float):
                yield float(value)


# Values of the operator's own OIDs, as the JSON result of an execution holds them.
MOST_ROWS: Final = 10_000
_LONGEST: Final = 1_000

Raw = dict[str, dict[str, object]]


def raw_value(value: Value) -> int | float | str | None:
    """Return a value for JSON, without the rest of a long text."""
    shown = json_value(value)
    too_long = isinstance(value, bytes | Unknown) and isinstance(shown, str) and len(shown) > _LONGEST
    return f"{str(shown)[:_LONGEST]}..." if too_long else shown


def dotted_index(suffix: bytes) -> str:
    try:
        return ".".join(map(str, split_arcs(suffix))) if suffix else ""
    except BadIndex:
        return "0x" + suffix.hex()


def collect_raw_rows(own: Mapping[str, Mapping[bytes, Value]], most: int = MOST_ROWS) -> tuple[Raw, Reason]:
    """Return name -> index in dots -> value, and the reason if not all of it was kept."""
    raw: Raw = {}
    room = most
    for name, rows in own.items():
        raw[name] = {dotted_index(suffix): raw_value(value) for suffix, value in islice(rows.items(), room)}
        room -= len(raw[name])
    total = sum(map(len, own.values()))
    kept = sum(map(len, raw.values()))
    cut = Reason.of("own_rows_cut", total=total, number=kept) if kept < total else NO_REASON
    return raw, cut
