"""Whatever an agent does: a walk is complete and right, or it says why not. For every scenario there is."""

from __future__ import annotations

from typing import Any

import pytest

from facho.sim.presets import PRESETS, WELL_MEANT
from facho.snmp import Limits
from tests.faults.line import RUN_STATUS, SERIAL, WAYS, Line, Table, on_line, table

# Of these the outcome is known whatever the machine: the one error, or none.
ENDS = {
    "plain": None,
    "slow": None,
    "far": None,
    "duplicating": None,
    "reordering": None,
    "toobig": None,
    "small": None,
    "generr": "UnreadableRows",
    "repeating": "RepeatingOids",
    "cycling": "RepeatingOids",
    "disordered": None,
    "zero-hang": None,
    "truncated": None,
    "other-port": "NoAnswer",
    "other-address": "NoAnswer",
    "wrong-id": "NoAnswer",
    "silent": "NoAnswer",
    "stuck-rows": "NoAnswer",
    "churning": None,
    "fragments-lost": None,
    "flapping": None,
    "fibre-cut": None,
    "power-cut": None,
    "drifting": None,
}


def standing_still(rows: Table) -> Table:
    """Serials never move; states do in some scenarios, but their rows do not."""
    return {oid: rows[oid] if oid == SERIAL else dict.fromkeys(rows[oid]) for oid in (SERIAL, RUN_STATUS)}


def is_right(name: str, rows: Table, truth: Table) -> bool:
    scenario = PRESETS[name].scenario
    if not scenario.churn_every:
        return standing_still(rows) == standing_still(truth)
    # Rows come and go under the walk: none is made up, and most are there.
    inside = all(column.keys() <= truth[oid].keys() for oid, column in rows.items())
    return inside and all(len(column) >= len(truth[oid]) // 2 for oid, column in rows.items())


@pytest.mark.parametrize("how", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("name", WELL_MEANT)
def test_a_walk_is_complete_and_right_or_says_why_not(name: str, how: dict[str, Any]) -> None:
    async def conversation(there: Line) -> None:
        agent = await there.agent(timeout=0.15, retries=2, limits=Limits(in_flight=4), **how)
        result = await agent.walk_table([SERIAL, RUN_STATUS])
        assert result.complete == (not result.errors) == (result.reason is None)
        assert all(map(str, result.errors))
        if result.complete:
            assert is_right(name, table(result), there.truth)
        if name in ENDS:
            said = {type(error).__name__ for error in result.errors}
            assert ENDS[name] in said if ENDS[name] else not said
        for oid, column in result.columns.items():
            assert column.rows.keys() <= there.truth[oid].keys()
        assert there.client.pending == 0

    on_line(PRESETS[name].scenario, conversation, onus=45)
