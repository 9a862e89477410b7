"""What is kept of a walk that was ended."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from facho.engine.collect.column_reader import walk_columns
from facho.engine.collect.request_plan import AskedColumn
from facho.snmp import Agent, WalkResult
from facho.snmp.errors import TooMuch, UnreadableRows
from facho.snmp.walk import Column

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
