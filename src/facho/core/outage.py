"""Outage of a port: many ONUs offline at once, its cause, and its end."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# A dying gasp reports the loss of power; a cut fibre shows as loss of signal.
_POWER: Final = frozenset({"power_off"})
_FIBRE: Final = frozenset({"los", "signal"})
# A single ONU is no outage of the port, even where it is half of it.
_FEWEST: Final = 2
# Some ONUs stay off, or went offline for another reason.
_BACK_PERCENT: Final = 80


class OutageCause(enum.StrEnum):
    POWER_CUT = "power_cut"
    FIBRE_CUT = "fibre_cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OutageSize:
    """The size of an outage between two collections: a number of ONUs, or a share of the port."""

    onus: int = 8
    share: float = 50.0

    def reached(self, fallen: int, onus: int) -> bool:
        return fallen >= self.onus or (fallen >= _FEWEST and fallen * 100 >= self.share * onus)


def cause_of(causes: Iterable[str]) -> OutageCause:
    """Return the cause that most ONUs report, of power and fibre."""
    told = list(causes)
    power, fibre = (sum(cause in kind for cause in told) for kind in (_POWER, _FIBRE))
    if power == fibre:
        return OutageCause.UNKNOWN
    return OutageCause.POWER_CUT if power > fibre else OutageCause.FIBRE_CUT


def is_over(back: int, affected: int) -> bool:
    return back * 100 >= _BACK_PERCENT * affected


def is_new_outage(fresh: int, onus: int, *, back: int, affected: int, mass: OutageSize) -> bool:
    """Return whether newly fallen ONUs are a new outage instead of more of the open one.

    True if they would be an outage by themselves and most of the others are back.
    """
    return mass.reached(fresh, onus) and back * 2 > affected
