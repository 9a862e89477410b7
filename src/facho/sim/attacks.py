"""The names of the attacks of a hostile agent, as scenarios list them. facho.sim.hostile makes them."""

from __future__ import annotations

from typing import Final

ENDLESS_TABLE: Final = "endless-table"
HUGE_OIDS: Final = "huge-oids"
LONG_OIDS: Final = "long-oids"
LARGE_ARCS: Final = "large-arcs"
WRONG_COMMUNITY: Final = "wrong-community"
NEW_SHAPES: Final = "new-shapes"
ODD_INDEXES: Final = "odd-indexes"
BAD_ROWS: Final = "bad-rows"
HUGE_VALUES: Final = "huge-values"
FORGED_REPORTS: Final = "forged-reports"

ATTACKS: Final = (
    ENDLESS_TABLE,
    HUGE_OIDS,
    LONG_OIDS,
    LARGE_ARCS,
    WRONG_COMMUNITY,
    NEW_SHAPES,
    ODD_INDEXES,
    BAD_ROWS,
    HUGE_VALUES,
    FORGED_REPORTS,
)
