"""What happened in the month before a demo: one set of facts, from which events, charts and quotas follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from facho.sim.model import Cause

# Less than executions and poller statistics are kept for, so that nothing of it is too old at once.
PAST: Final = timedelta(days=29)
# Executions are kept one by one for so long; before, only hours of quotas tell of them.
EXECUTIONS: Final = timedelta(hours=24)
# Some ONUs of one OLT began to come and go.
FLAPPING: Final = timedelta(minutes=30)
# The coordinator log is kept for a week.
LOGGED: Final = timedelta(days=6, hours=12)

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class OltOutage:
    """An OLT that did not answer. Its ONUs worked, but nobody saw it."""

    olt: str
    since: datetime
    until: datetime
    # Somebody has looked into it and acknowledged the violation of its quotas.
    is_seen: bool = False

    def covers(self, moment: datetime) -> bool:
        return self.since < moment <= self.until


@dataclass(frozen=True, slots=True)
class PortCut:
    """A port, from 0, whose ONUs went offline together."""

    olt: str
    port: int
    cause: Cause
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Move:
    """An ONU, by its row in the simulator, that came to its port from the last one of its OLT."""

    olt: str
    row: int
    # At a whole hour, so that each hour of its chart is at one port.
    at: datetime


@dataclass(frozen=True, slots=True)
class Story:
    start: datetime
    now: datetime
    outages: tuple[OltOutage, ...]
    cuts: tuple[PortCut, ...]
    moves: tuple[Move, ...]

    def outages_of(self, olt: str) -> list[OltOutage]:
        return [each for each in self.outages if each.olt == olt]

    def moves_of(self, olt: str) -> list[Move]:
        return [each for each in self.moves if each.olt == olt]

    def cuts_of(self, olt: str) -> list[PortCut]:
        return [each for each in self.cuts if each.olt == olt]


def make_story(now: datetime, past: timedelta = PAST) -> Story:
    """Return what happened in the `past` before `now`, at the same distances from it each time."""
    start = now - past
    outages = tuple(each for each in _outages(now) if each.since > start + _HOUR)
    cuts = tuple(each for each in _cuts(now) if each.since > start + _HOUR)
    moves = tuple(each for each in _moves(now) if each.at > start + _HOUR)
    return Story(start, now, outages, cuts, moves)


def _outages(now: datetime) -> Iterator[OltOutage]:
    """Yield outages that lie within an hour, so that its quotas are missed."""
    since = _whole_hour(now - timedelta(hours=53)) + timedelta(minutes=9)
    yield OltOutage("demo-fiberhome-1", since, since + timedelta(minutes=41))
    since = _whole_hour(now - timedelta(days=6, hours=3)) + timedelta(minutes=14)
    yield OltOutage("demo-nokia-1", since, since + timedelta(minutes=38), is_seen=True)


def _cuts(now: datetime) -> Iterator[PortCut]:
    since = now - timedelta(days=4, hours=7, minutes=22)
    yield PortCut("demo-huawei-1", 2, Cause.LOS, since, since + timedelta(minutes=112))
    since = now - timedelta(days=9, hours=2, minutes=41)
    yield PortCut("demo-nokia-1", 4, Cause.DYING_GASP, since, since + timedelta(minutes=47))


def _moves(now: datetime) -> Iterator[Move]:
    yield Move("demo-huawei-1", 29, _whole_hour(now - timedelta(days=12)))
    yield Move("demo-zte-flaky", 83, _whole_hour(now - timedelta(days=3)))


def _whole_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
