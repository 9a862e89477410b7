"""Every family from raw rows to facts.

A case is two files in tests/families/facts: rows of an OLT as a recording, and as JSON every fact that the
profile must read from them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from facho.vendors import GENERIC, Decoder, builtin
from tests.unit.vendors.facts_cases import CASES, case_rows, decoded_json, expected_of


@pytest.mark.parametrize("case", CASES)
def test_the_profile_reads_every_fact(case: str) -> None:
    expected = expected_of(case)
    profile = builtin()[expected.pop("profile")]
    found = decoded_json(Decoder(profile).decode(case_rows(case)))
    assert found.keys() == expected.keys()
    for entity, wanted in expected.items():
        assert in_order(found[entity]) == in_order(wanted), entity


def in_order(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


# The AN5116 has the tables of the AN5516, which test_fiberhome.py checks.
@pytest.mark.parametrize("name", sorted(builtin().keys() - {GENERIC, "fiberhome_5116"}))
def test_no_fact_of_a_profile_is_untested(name: str) -> None:
    cases = [case for case in map(expected_of, CASES) if case["profile"] == name]
    read = {
        (entity, row.get("technology", ""), fact)
        for case in cases
        for entity, rows in case.items()
        if isinstance(rows, list)
        for row in rows
        if isinstance(row, dict)
        for fact, value in row["facts"].items()
        if value is not None
    }
    offered = {
        (str(table.entity), table.technology, column.fact)
        for table in builtin()[name].tables
        for column in table.columns
    }
    assert offered - read == set()
