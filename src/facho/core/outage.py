"""When many ONUs of one port go at once, what that looks like, and when it is over."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# With their last breath they say that they have no power; a cut fibre says nothing of the kind.
_POWER: Final = frozenset({"power_off"})
_FIBRE: Final = frozenset({"los", "signal"})
# One of two ONUs is no mass, although it is half of the port.
_FEWEST: Final = 2
# Some stay switched off, or had gone for a reason of their own.
_BACK_PERCENT: Final = 80


class OutageCause(enum.StrEnum):
    POWER_CUT = "power_cut"
    FIBRE_CUT = "fibre_cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Mass:
    """How many ONUs of a port must go between two collections: so many, or this percentage of them."""

    onus: int = 8
    share: float = 50.0

    def reached(self, fallen: int, onus: int) -> bool:
        return fallen >= self.onus or (fallen >= _FEWEST and fallen * 100 >= self.share * onus)


def cause_of(causes: Iterable[str]) -> OutageCause:
    """What most of them say, of those that say one or the other."""
    told = list(causes)
    power, fibre = (sum(cause in kind for cause in told) for kind in (_POWER, _FIBRE))
    if power == fibre:
        return OutageCause.UNKNOWN
    return OutageCause.POWER_CUT if power > fibre else OutageCause.FIBRE_CUT


def is_over(back: int, affected: int) -> bool:
    return back * 100 >= _BACK_PERCENT * affected


def is_another(fresh: int, onus: int, *, back: int, affected: int, mass: Mass) -> bool:
    """Whether those that fell now are an outage of their own, and not more of the one that is open.

    So it is when they would be one by themselves, and most of the others are back.
    """
    return mass.reached(fresh, onus) and back * 2 > affected
