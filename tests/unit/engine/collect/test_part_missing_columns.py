"""What was asked for, and is not there."""

from __future__ import annotations

import pytest

from facho.engine.collect.column_reader import Answers
from facho.engine.collect.part_results import find_missing_columns
from facho.engine.collect.request_plan import AskedColumn, Part
from facho.engine.collect.work_builder import leave_out_missing, leave_out_substitutes
from facho.vendors import Decoder, builtin

VSOL = builtin()["vsol_epon"]
NAMES = "1.3.6.1.2.1.31.1.1.1.1"


def oid_of(name: str) -> str:
    table, fact = name.split(".")
    return next(
        column.source.oid
        for each in VSOL.tables
        if each.name == table
        for column in each.columns
        if column.fact == fact
    )


POWER, STATE = oid_of("optics.onu_rx_dbm"), oid_of("onus.state")


def lacked(kind: str, *columns: AskedColumn, came: tuple[str, ...] = (), onus: int = 0) -> frozenset[str]:
    answers = Answers(rows={oid: {b"\x01\x01": 1} for oid in came}, onus_asked=onus)
    decoded = Decoder(VSOL).decode(answers.rows)
    return find_missing_columns(Part(1, "job", kind, "get_optics", (), columns), answers, decoded, VSOL)


def asked(oid: str, *, helps: bool = False) -> AskedColumn:
    return AskedColumn(oid, oid, oid, helps=helps)


@pytest.mark.parametrize("helps", [True, False])
def test_the_names_that_a_get_has_no_need_of_are_not_lacking(helps: bool) -> None:
    """Left out of the next discovery, they would put every ONU somewhere else."""
    names = asked(NAMES, helps=helps)
    assert lacked("get", asked(STATE), asked(POWER), names, came=(STATE,), onus=50) == {POWER}


def test_what_serves_to_read_the_others_is_never_left_out_of_a_walk() -> None:
    assert lacked("table", asked(STATE), asked(NAMES, helps=True), came=(STATE,)) == frozenset()
    assert lacked("table", asked(STATE), asked(NAMES), came=(STATE,)) == {NAMES}


def test_names_that_were_lacking_as_names_are_asked_for_where_an_index_needs_them() -> None:
    columns = (asked(STATE), asked(POWER), asked(NAMES, helps=True))
    part = Part(1, "discovery", "discovery", "discovery", (), columns)
    rest = leave_out_missing(part, frozenset({NAMES, POWER}))
    assert (rest.columns, rest.missing_columns) == ((columns[0], columns[2]), (columns[1],))
    everything = leave_out_missing(
        Part(1, "job", "table", "get_state", (), columns), frozenset({NAMES, POWER, STATE})
    )
    assert everything.columns == ()


WIDE, NARROW = "1.3.6.1.2.1.31.1.1.1.6", "1.3.6.1.2.1.2.2.1.10"


@pytest.mark.parametrize(
    ("columns", "missing", "rest"),
    [
        ((WIDE, NARROW, NAMES), frozenset(), (WIDE, NAMES)),
        ((WIDE, NARROW, NAMES), frozenset({WIDE}), (WIDE, NARROW, NAMES)),
        # An operator asked for this one alone.
        ((NARROW, NAMES), frozenset(), (NARROW, NAMES)),
    ],
)
def test_counters_of_32_bits_are_asked_for_only_where_those_of_64_are_missing(
    columns: tuple[str, ...], missing: frozenset[str], rest: tuple[str, ...]
) -> None:
    part = Part(1, "traffic", "table", "get_traffic", (), tuple(map(asked, columns)))
    left = leave_out_substitutes(part, VSOL, missing)
    assert tuple(column.oid for column in left.columns) == rest


def test_an_olt_without_interfaces_in_its_agent_is_not_asked_for_its_uplinks_again() -> None:
    assert lacked("table", asked(oid_of("uplinks.in_errors"))) == {oid_of("uplinks.in_errors")}
