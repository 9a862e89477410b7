"""What came of a part, from what was answered: did it succeed, and if not, in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

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
_LIMITS: Final = (
    "if it has this many, raise FACHO_WALK_ROWS for the rows of a column, or FACHO_ANSWER_OCTETS for octets"
)


def skipped(part: Part, why: str) -> PartOutcome:
    return PartOutcome(part, PartState.SKIPPED, why)


def failed(part: Part, why: str, *, silent: bool = False) -> PartOutcome:
    return PartOutcome(part, PartState.FAILED, why, silent)


def outcome_of(part: Part, answers: Answers, decoded: Decoded, work: Work) -> PartOutcome:
    raw, cut = raw_rows(answers.own)
    wrong = _wrong(part, answers, decoded, work)
    notes = [*answers.notes, *([cut] if cut else [])]
    lacks = frozenset[str]() if wrong else lacking(part, answers, decoded, work.profile)
    if not wrong and (missing := tables_not_present(part, lacks, decoded, work.profile)):
        notes.append(not_present(missing))
    notes += _unreadable_notes(decoded.unreadable)
    return PartOutcome(
        part,
        PartState.FAILED if wrong else PartState.SUCCESS,
        "; ".join([*([wrong] if wrong else []), *notes]),
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
        chosen.error = "; ".join(filter(None, [chosen.error, *_unreadable_notes(more)]))
    return chosen


def not_present(tables: Iterable[str]) -> str:
    return f"table not present: {', '.join(tables)}"


def _unreadable_notes(unreadable: Mapping[str, UnreadableRows]) -> list[str]:
    return [
        f"{rows.rows:,} rows of the table {table} have an index that the profile cannot read, such as "
        f"{rows.example} (new firmware?): nothing is concluded from what is missing in it"
        for table, rows in unreadable.items()
    ]


def all_left_out(part: Part, profile: Profile) -> PartOutcome:
    """There was nothing to ask: that is no failure, and no success of anything."""
    tables = {table.name for each in part.left_out for table in tables_of(profile).get(each.read_as, ())}
    return PartOutcome(part, PartState.SUCCESS, not_present(sorted(tables)))


def _wrong(part: Part, answers: Answers, decoded: Decoded, work: Work) -> str:
    """Why it failed; nothing when it did not."""
    if answers.errors:
        return _reasons(answers.errors, work)
    most = work.batching.most_unanswered
    if too_many_unanswered(answers.onus_asked, answers.mute, most=most / 100):
        first = next(f"{key}: {reason}" for key, reason in answers.lacking.items())
        asked = f"{answers.mute:,} of {answers.onus_asked:,} ONUs"
        return f"{asked} did not answer, and no more than {most:g} % may; the first is {first}"
    return _unreadable(answers, decoded) if part.kind == DISCOVERY else ""


def _reasons(errors: Sequence[SnmpError], work: Work) -> str:
    reasons = list(dict.fromkeys(_reason(error, work) for error in errors))
    more = len(reasons) - _MOST_REASONS
    limits = [_LIMITS] if any(isinstance(error, TooMuch) for error in errors) else []
    return "; ".join([*reasons[:_MOST_REASONS], *([f"and {more} more"] if more > 0 else []), *limits])


def _reason(error: SnmpError, work: Work) -> str:
    """A part knows only the time that was left for it."""
    if isinstance(error, DeadlineExceeded):
        return f"not finished within the time limit of {work.time_limit.total_seconds():g} s"
    return str(error)


def _unreadable(answers: Answers, decoded: Decoded) -> str:
    """A discovery that reads nobody's identity has found nobody: nothing may be concluded from it."""
    if not decoded.problems:
        return ""
    onus = decoded.onus
    identities = [onus.columns[fact] for fact in _IDENTITIES if fact in onus.columns]
    if any(value is not None for values in identities for value in values):
        return ""
    if len(onus) and not any(fact in _IDENTITIES for _, fact in decoded.problems.counts):
        # It has none, and the places of its ONUs are all that is to be known.
        return ""
    rows = max(map(len, answers.rows.values()), default=0)
    return f"none of the {rows:,} rows could be read; the first: {decoded.problems.first[0]}"


def largest_cpu(parts: Iterable[PartOutcome]) -> float | None:
    """Of the boards and of the OLT itself, in per cent."""
    return max((cpu for part in parts if part.decoded for cpu in _cpus(part.decoded)), default=None)


def _cpus(decoded: Decoded) -> Iterator[float]:
    for entity in (Entity.BOARD, Entity.OLT):
        for value in decoded[entity].columns.get("cpu_pct", ()):
            if isinstance(value, int | float):
                yield float(value)
