"""A walk past rows that the agent cannot read comes to an end, however many of them there are."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from unittest.mock import Mock

from facho.snmp import values
from facho.snmp.errors import UnreadableRows
from facho.snmp.message import ErrorStatus, Version, encode_binding
from facho.snmp.peer import ReceiveLimit
from facho.snmp.requester import Requester
from facho.snmp.values import Oid, encode_value
from facho.snmp.walk import walk_table

COLUMN = Oid.parse("1.3.6.1.4.1.99999.1")


class OneRequester:
    """An agent with one good row: of what comes after it, each place is told once, and then fails."""

    bulk = True
    version = Version.V2C

    def __init__(self) -> None:
        self.requests = 0
        self.peer = Mock()
        self.peer.name = "agent"
        self.peer.window.varbinds = 1
        self.settings = Mock(retries=0, receive_limit=ReceiveLimit())
        self.record_answer = Mock()
        self._asked: set[bytes] = set()

    def rows_asked(self, rows: int, _attempt: int) -> int:
        return rows

    async def up_time(self, _load: object) -> None:
        return None

    async def ask_next(self, name: bytes, _rows: int, _load: object) -> Any:
        self.requests += 1
        index = name[len(COLUMN.content) :]
        first, known = values.encode_arcs((1,)), index in self._asked
        self._asked.add(index)
        status = ErrorStatus.genErr if known or index == first else 0
        follower = first if not index else values.encode_arcs((0xFFFF_FFF0,))
        row = encode_binding(COLUMN.content + follower, encode_value(5))
        return Mock(attempt=0, message=Mock(error_status=status, bindings=row))


def test_an_agent_that_fails_wherever_the_walk_goes_on_ends_the_column() -> None:
    requester = OneRequester()
    result = asyncio.run(walk_table(cast(Requester, requester), [COLUMN], None, None))
    assert result.rows == {values.encode_arcs((1,)): 5}
    assert {type(error) for error in result.errors} == {UnreadableRows}
    assert "in more than 100 places, and the walk was ended" in str(result.errors[-1])
    assert requester.requests < 400


def test_the_rows_of_a_failed_walk_are_freed_with_it() -> None:
    """Its errors would keep them until the next garbage collection, by the frames of their tracebacks."""
    result = asyncio.run(walk_table(cast(Requester, OneRequester()), [COLUMN], None, None))
    assert result.errors
    held = [(error.__traceback__, error.__cause__, error.__context__) for error in result.errors]
    assert set(held) == {(None, None, None)}
