"""The cases in tests/families/facts: rows of an OLT as a recording, and the facts in them as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final

from facho.sim import snmprec
from facho.vendors import Decoded, Facts, Key, State, builtin
from tests.unit.vendors.rows import Table, rows_of

FACTS: Final = Path(__file__).parents[2] / "families" / "facts"
CASES: Final = sorted(path.stem for path in FACTS.glob("*.snmprec"))
Row = dict[str, Any]


def expected_of(case: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((FACTS / f"{case}.json").read_text(encoding="utf-8"))
    return expected


def case_rows(case: str) -> Table:
    """Return the columns that have rows; one without counts as not read."""
    records = snmprec.read(FACTS / f"{case}.snmprec")
    profile = builtin()[expected_of(case)["profile"]]
    rows = rows_of(profile, {record.oid.content: record.value for record in records})
    return {oid: column for oid, column in rows.items() if column}


def decoded_json(decoded: Decoded) -> dict[str, Any]:
    """Return every row of every entity, and the rows and facts that could not be read."""
    found: dict[str, Any] = {
        str(entity): [_row_json(facts, number, key) for number, key in enumerate(facts.keys)]
        for entity, facts in decoded.facts.items()
        if len(facts)
    }
    problems = [f"{each.table}.{each.fact} {each.index}" for each in decoded.problems.first]
    return found | ({"problems": problems} if problems else {})


def _row_json(facts: Facts, number: int, key: Key) -> Row:
    place = {part: value for part, value in key._asdict().items() if value is not None}
    technology = facts.technologies[number]
    return {
        "at": place,
        **({"technology": technology} if technology else {}),
        "facts": {fact: _value_json(value) for fact, value in facts.row(number).items()},
    }


def _value_json(value: object) -> object:
    """Return a state as its meaning, with the vendor's own word in parentheses where that is another."""
    match value:
        case State():
            return value.meaning if value.meaning == value.word else f"{value.meaning} ({value.word})"
        case datetime():
            return value.isoformat()
        case IPv4Address():
            return str(value)
        case _:
            return value
