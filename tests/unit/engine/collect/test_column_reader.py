"""What is kept of a walk that was ended, how hard an execution may ask, and what is remembered of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

from facho.engine.collect.column_reader import apply_request_rules, merge_learned, request_tag, walk_columns
from facho.engine.collect.request_plan import AskedColumn
from facho.snmp import Agent, Learned, Limits, Target, WalkResult
from facho.snmp.errors import TooMuch, UnreadableRows
from facho.snmp.peer import MAX_TAG
from facho.snmp.walk import Column
from facho.vendors import Profile, builtin
from facho.vendors.schema import RequestRules

ENDLESS, UNREADABLE = "1.3.6.1.4.1.2011.6.1", "1.3.6.1.4.1.2011.6.2"


class EndedWalk:
    """An agent whose walk of two columns has ended with errors."""

    async def walk_table(self, oids: Any, **_: Any) -> WalkResult:
        errors = {ENDLESS: TooMuch("more than 150,000 rows"), UNREADABLE: UnreadableRows("row 7")}
        columns = {oid: Column(oid, {b"\x01": 5}, [errors[str(oid)]]) for oid in oids}
        return WalkResult(columns, errors=[error for each in columns.values() for error in each.errors])


def test_of_a_table_that_does_not_end_nothing_is_kept() -> None:
    columns = [AskedColumn(name, oid, name) for name, oid in (("a", ENDLESS), ("b", UNREADABLE))]
    answers = asyncio.run(walk_columns(cast(Agent, EndedWalk()), columns, 60.0))
    assert answers.rows == {"a": {}, "b": {b"\x01": 5}}
    assert len(answers.errors) == 2


TARGET = Target("10.0.0.1", limits=Limits(5, 50, 10.0))


def polite(**rules: int | bool) -> Profile:
    return replace(builtin()["generic"], request_rules=RequestRules(**rules))  # type: ignore[arg-type]


def test_manners_make_it_gentler_and_never_harder() -> None:
    assert apply_request_rules(TARGET, polite()) == TARGET
    gentle = apply_request_rules(TARGET, polite(in_flight=2, repetitions=10, bulk=False))
    assert gentle == replace(TARGET, bulk=False, limits=Limits(2, 10, 10.0))
    assert apply_request_rules(TARGET, polite(in_flight=9, repetitions=100)) == TARGET
    assert not apply_request_rules(replace(TARGET, bulk=False), polite()).bulk


def test_every_run_has_a_tag_and_neighbours_have_others() -> None:
    tags = [request_tag(run_id) for run_id in range(2 * MAX_TAG)]
    assert (min(tags), max(tags)) == (1, MAX_TAG)
    assert all(one != other for one, other in pairwise(tags))


def test_what_limits_held_back_is_not_forgotten() -> None:
    assert merge_learned(Learned(50, 5), Learned(20, 1), Limits(1, 20)) == Learned(50, 5)


def test_what_the_olt_did_not_bear_is_remembered() -> None:
    assert merge_learned(Learned(50, 5), Learned(10, 1), Limits(5, 20)) == Learned(10, 1)
    assert merge_learned(Learned(50, 5), Learned(10, 5, 10), Limits(5, 20)) == Learned(10, 5, 10)


def test_what_it_was_found_to_bear_is_remembered() -> None:
    assert merge_learned(Learned(10, 2), Learned(20, 5), Limits(5, 20)) == Learned(20, 5)
