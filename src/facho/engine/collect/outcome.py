"""What came of a part, from what was answered: did it succeed, and if not, in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from facho.core.reasons import NO_REASON, Reason, several
from facho.core.request_rules import too_many_unanswered
from facho.engine.collect.column_reader import Answers, add_load
from facho.engine.collect.missing_columns import DISCOVERY, lacking, tables_not_present
from facho.engine.collect.questions import tables_of
from facho.engine.collect.raw_values import raw_rows
from facho.engine.collect.work import Part, PartOutcome, PartState, Work
from facho.snmp import SnmpError
from facho.snmp.errors import DeadlineExceeded, TooMuch
from facho.vendors import Decoded, Entity, Profile, UnreadableRows

_MOST_REASONS: Final = 5
_IDENTITIES: Final = ("serial", "mac")
_LIMITS: Final = Reason.of("raise_limits")


def skipped(part: Part, why: Reason) -> PartOutcome:
    return PartOutcome(part, PartState.SKIPPED, why)


def failed(part: Part, why: Reason, *, silent: bool = False) -> PartOutcome:
    return PartOutcome(part, PartState.FAILED, why, silent)


def outcome_of(part: Part, answers: Answers, decoded: Decoded, work: Work) -> PartOutcome:
    raw, cut = raw_rows(answers.own)
    wrong = _wrong(part, answers, decoded, work)
    notes = [*answers.notes, cut]
    lacks = frozenset[str]() if wrong else lacking(part, answers, decoded, work.profile)
    if not wrong and (missing := tables_not_present(part, lacks, decoded, work.profile)):
        notes.append(not_present(missing))
    notes += _unreadable_notes(decoded.unreadable)
    return PartOutcome(
        part,
        PartState.FAILED if wrong else PartState.SUCCESS,
        several([wrong, *notes]),
        answers.silent,
        decoded=decoded,
        raw=raw,
        rows=sum(map(len, decoded.facts.values())) + sum(map(len, raw.values())),
        onus_asked=answers.onus_asked,
        unanswered={str(key): reason for key, reason in answers.lacking.items()},
        lacking=lacks,
        found=frozenset(each.oid for each in part.columns if answers.rows.get(each.read_as)),
        load=answers.load,
        asked=part.columns,
    )


def join_outcomes(nobody: PartOutcome, further: PartOutcome) -> PartOutcome:
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


def not_present(tables: Iterable[str]) -> Reason:
    return Reason.of("table_not_present", tables=", ".join(tables))


def _unreadable_notes(unreadable: Mapping[str, UnreadableRows]) -> list[Reason]:
    return [
        Reason.of("unreadable_indexes", number=rows.rows, table=table, example=rows.example)
        for table, rows in unreadable.items()
    ]


def all_left_out(part: Part, profile: Profile) -> PartOutcome:
    """There was nothing to ask: that is no failure, and no success of anything."""
    tables = {table.name for each in part.left_out for table in tables_of(profile).get(each.read_as, ())}
    return PartOutcome(part, PartState.SUCCESS, not_present(sorted(tables)))


def _wrong(part: Part, answers: Answers, decoded: Decoded, work: Work) -> Reason:
    """Return why it failed; no reason when it did not."""
    if answers.errors:
        return _reasons(answers.errors, work)
    most = work.batching.most_unanswered
    if too_many_unanswered(answers.onus_asked, answers.mute, most=most / 100):
        onu, why = next(iter(answers.lacking.items()))
        return Reason.of(
            "too_many_silent_onus",
            number=answers.mute,
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


def largest_cpu(parts: Iterable[PartOutcome]) -> float | None:
    """Of the boards and of the OLT itself, in per cent."""
    return max((cpu for part in parts if part.decoded for cpu in _cpus(part.decoded)), default=None)


def _cpus(decoded: Decoded) -> Iterator[float]:
    for entity in (Entity.BOARD, Entity.OLT):
        for value in decoded[entity].columns.get("cpu_pct", ()):
            if isinstance(value, int | float):
                yield float(value)
