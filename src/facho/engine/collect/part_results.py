"""What came of a part, from what was answered: did it succeed, and if not, in which words."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from facho.core.reasons import NO_REASON, Reason, several
from facho.core.request_rules import too_many_unanswered
from facho.engine.collect.column_reader import Answers, add_load
from facho.engine.collect.request_plan import tables_of
from facho.engine.collect.work import Part, PartResult, PartState, Work
from facho.snmp import Missing, SnmpError, Value
from facho.snmp.errors import DeadlineExceeded, TooMuch
from facho.snmp.values import Unknown
from facho.vendors import Decoded, Entity, Profile, UnreadableRows
from facho.vendors.errors import BadIndex
from facho.vendors.index import split_arcs

DISCOVERY: Final = "discovery"
_ALWAYS_THERE: Final = frozenset({Entity.PORT, Entity.BOARD, Entity.FAN, Entity.OLT})
# One ONU may not know its own power. When so many do not, it is the OLT that has no such column.
ENOUGH: Final = 10


def find_missing_columns(part: Part, answers: Answers, decoded: Decoded, profile: Profile) -> frozenset[str]:
    """OIDs that were asked for. For a part that did not fail.

    Without what only serves to read the others: a get does not ask for names, and a walk that leaves them out
    would put every ONU somewhere else.
    """
    entities = {oid: {table.entity for table in tables} for oid, tables in tables_of(profile).items()}
    empty = {
        each: entities[each.read_as]
        for each in part.columns
        if not each.helps and entities.get(each.read_as) and not answers.rows.get(each.read_as)
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


def find_missing_tables(part: Part, lacks: frozenset[str], decoded: Decoded, profile: Profile) -> list[str]:
    """By name: those of which every column that was asked for is lacking. Of a discovery that found nobody,
    all: then there is nobody, or no table, and the OLT does not say which.
    """
    found_nobody = part.kind == DISCOVERY and not len(decoded.onus)
    there: dict[str, bool] = {}
    for column in part.columns:
        for table in tables_of(profile).get(column.read_as, ()):
            is_there = column.oid not in lacks and not found_nobody
            there[table.name] = there.get(table.name, False) or is_there
    return [name for name, is_there in there.items() if not is_there]


_MOST_REASONS: Final = 5
_IDENTITIES: Final = ("serial", "mac")
_LIMITS: Final = Reason.of("raise_limits")


def skip_part(part: Part, why: Reason) -> PartResult:
    return PartResult(part, PartState.SKIPPED, why)


def fail_part(part: Part, why: Reason, *, silent: bool = False) -> PartResult:
    return PartResult(part, PartState.FAILED, why, silent)


def judge_part(part: Part, answers: Answers, decoded: Decoded, work: Work) -> PartResult:
    raw, cut = collect_raw_rows(answers.own)
    wrong = _wrong(part, answers, decoded, work)
    notes = [*answers.notes, cut]
    lacks = frozenset[str]() if wrong else find_missing_columns(part, answers, decoded, work.profile)
    if not wrong and (missing := find_missing_tables(part, lacks, decoded, work.profile)):
        notes.append(missing_tables_reason(missing))
    notes += _unreadable_notes(decoded.unreadable)
    return PartResult(
        part,
        PartState.FAILED if wrong else PartState.SUCCESS,
        several([wrong, *notes]),
        answers.silent,
        decoded=decoded,
        raw=raw,
        rows=sum(map(len, decoded.facts.values())) + sum(map(len, raw.values())),
        onus_asked=answers.onus_asked,
        unanswered={str(key): reason for key, reason in answers.incomplete.items()},
        lacking=lacks,
        found=frozenset(each.oid for each in part.columns if answers.rows.get(each.read_as)),
        load=answers.load,
        asked=part.columns,
    )


def join_results(nobody: PartResult, further: PartResult) -> PartResult:
    """Join the outcomes of the two walks of a discovery, the second made because the first found nobody.

    What the first said stands if the second found nobody either. The load of both counts, and so do the rows
    of both that could not be read: who is missing may be in them.
    """
    second_counts = further.state is not PartState.SUCCESS or further.has_onus
    chosen, other = (further, nobody) if second_counts else (nobody, further)
    add_load(chosen.load, other.load)
    chosen.asked = (*nobody.asked, *further.asked)
    if other.decoded is not None and chosen.decoded is not None:
        unreadable = chosen.decoded.unreadable
        more = {table: rows for table, rows in other.decoded.unreadable.items() if table not in unreadable}
        chosen.decoded.unreadable = {**unreadable, **more}
        chosen.error = several([chosen.error, *_unreadable_notes(more)])
    return chosen


def missing_tables_reason(tables: Iterable[str]) -> Reason:
    return Reason.of("table_not_present", tables=", ".join(tables))


def _unreadable_notes(unreadable: Mapping[str, UnreadableRows]) -> list[Reason]:
    return [
        Reason.of("unreadable_indexes", number=rows.rows, table=table, example=rows.example)
        for table, rows in unreadable.items()
    ]


def report_all_left_out(part: Part, profile: Profile) -> PartResult:
    """There was nothing to ask: that is no failure, and no success of anything."""
    tables = {table.name for each in part.left_out for table in tables_of(profile).get(each.read_as, ())}
    return PartResult(part, PartState.SUCCESS, missing_tables_reason(sorted(tables)))


def _wrong(part: Part, answers: Answers, decoded: Decoded, work: Work) -> Reason:
    """Return why it failed; no reason when it did not."""
    if answers.errors:
        return _reasons(answers.errors, work)
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
    return _unreadable(answers, decoded) if part.kind == DISCOVERY else NO_REASON


def _reasons(errors: Sequence[SnmpError], work: Work) -> Reason:
    reasons = list(dict.fromkeys(_reason(error, work) for error in errors))
    more = len(reasons) - _MOST_REASONS
    rest = Reason.of("more", more=more) if more > 0 else NO_REASON
    limits = _LIMITS if any(isinstance(error, TooMuch) for error in errors) else NO_REASON
    return several([*reasons[:_MOST_REASONS], rest, limits])


def _reason(error: SnmpError, work: Work) -> Reason:
    """A part knows only the time that was left for it."""
    if isinstance(error, DeadlineExceeded):
        return Reason.of("time_limit", seconds=work.time_limit.total_seconds())
    return error.reason


def _unreadable(answers: Answers, decoded: Decoded) -> Reason:
    """A discovery that reads nobody's identity has found nobody: nothing may be concluded from it."""
    if not decoded.problems:
        return NO_REASON
    onus = decoded.onus
    identities = [onus.columns[fact] for fact in _IDENTITIES if fact in onus.columns]
    if any(value is not None for values in identities for value in values):
        return NO_REASON
    if len(onus) and not any(fact in _IDENTITIES for _, fact in decoded.problems.counts):
        # It has none, and the places of its ONUs are all that is to be known.
        return NO_REASON
    rows = max(map(len, answers.rows.values()), default=0)
    return Reason.of("no_row_read", number=rows, problem=str(decoded.problems.first[0]))


def largest_cpu(parts: Iterable[PartResult]) -> float | None:
    """Of the boards and of the OLT itself, in per cent."""
    return max((cpu for part in parts if part.decoded for cpu in _cpus(part.decoded)), default=None)


def _cpus(decoded: Decoded) -> Iterator[float]:
    for entity in (Entity.BOARD, Entity.OLT):
        for value in decoded[entity].columns.get("cpu_pct", ()):
            if isinstance(value, int | float):
                yield float(value)


MOST_ROWS: Final = 10_000
_LONGEST: Final = 1_000

Raw = dict[str, dict[str, object]]


def raw_value(value: Value) -> int | float | str | None:
    """Octets that are no readable text are written 0x.. in hexadecimal; a number keeps its value, not its
    SNMP type.
    """
    match value:
        case bytes():
            return _cut(_text(value))
        case Missing():
            return None
        case Unknown():
            return _cut("0x" + value.content.hex())
        case float() if not math.isfinite(value):
            return str(value)
        case float():
            return float(value)
        case int():
            return int(value)
        case None:
            return None
        case _:
            return str(value)


def _text(octets: bytes) -> str:
    with contextlib.suppress(UnicodeDecodeError):
        text = octets.decode()
        # A text that looks like our hexadecimal is written in hexadecimal, so that each has one reading.
        if all(letter.isprintable() or letter in "\r\n\t" for letter in text) and not text.startswith("0x"):
            return text
    return "0x" + octets.hex()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


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
    came = sum(map(len, own.values()))
    kept = sum(map(len, raw.values()))
    cut = Reason.of("own_rows_cut", total=came, number=kept) if kept < came else NO_REASON
    return raw, cut
