"""What a collection said about ONUs, brought into their rows.

Only a discovery that read its table to the end may say who is new, who moved and who is gone. Everything else
brings values of ONUs that are known at their places; and beside such a discovery, a table that was read to
its end also names those that the discovery did not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Final

from django.db import connection

from facho.apps.db import sql
from facho.apps.discovery import statements
from facho.apps.discovery.columns import IDENTITY, PARTS, VALUES
from facho.apps.discovery.discovering import PRESENT, Discovering, fill_identity
from facho.apps.discovery.filling import fill_parts, fill_values, forget_of_offline
from facho.apps.discovery.finding import Finding, Rows
from facho.apps.discovery.happened import Happened, Happening, begun_doubles
from facho.apps.discovery.joining import Joining
from facho.apps.discovery.models import EventKind
from facho.apps.discovery.optics import NEEDED, Crossed, judge_optics, tells_power
from facho.apps.discovery.roster import Roster
from facho.apps.discovery.told import Told, told
from facho.apps.discovery.turns import OpticalChange, Turned, Turns
from facho.core.optics import Limits
from facho.core.presence import ABSENT_AFTER

__all__ = ["Finding", "Stored", "Told", "note_collected", "store_findings"]

_LONGEST_DATUM = 60
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Stored:
    new: int = 0
    moved: int = 0
    # ONUs about which something else is known now, other than their place and presence.
    changed: int = 0
    absent: int = 0
    returned: int = 0
    # Places at which nobody is known.
    unknown: int = 0
    # Places at which another ONU is known: what was said is not about that one.
    other: int = 0
    # ONUs whose serial a complete discovery found at another place too.
    duplicates: int = 0
    # ONUs of this OLT that are present.
    onus: int = 0
    # For the history; it is not counted.
    told: Told = field(default_factory=Told, compare=False, repr=False)
    # For who looks at whole ports; neither are these.
    turns: Turns = field(default_factory=Turns, compare=False, repr=False)
    optics: Sequence[OpticalChange] = field(default=(), compare=False, repr=False)

    def counts(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(self) if each.compare}


def store_findings(
    olt_id: int,
    findings: Sequence[Finding],
    now: datetime,
    *,
    absent_after: int = ABSENT_AFTER,
    limits: Limits = _LIMITS,
) -> Stored:
    """All findings of one collection, in the caller's transaction; who calls it is the OLT's only writer."""
    assert connection.in_atomic_block, "ONU rows and what else the collection leaves are stored together"
    storing = _Storing(olt_id, findings)
    storing.find(absent_after)
    storing.fill()
    storing.judge(limits)
    storing.write(olt_id, now)
    return storing.stored()


def note_collected(olt_id: int, data: Iterable[str], now: datetime) -> None:
    """Date these as collected now."""
    rows = sorted({datum[:_LONGEST_DATUM] for datum in data})
    if rows:
        when = sql.db_time(now)
        given = ", ".join(["(%s, %s, %s)"] * len(rows))
        sql.execute(_COLLECTED.format(given), [value for datum in rows for value in (olt_id, datum, when)])


_COLLECTED: Final = (
    "INSERT INTO olt_collected (olt_id, datum, collected_at) VALUES {}"
    " ON CONFLICT (olt_id, datum) DO UPDATE SET collected_at = excluded.collected_at"
)


class _Storing:
    def __init__(self, olt_id: int, findings: Sequence[Finding]) -> None:
        self._all = [Rows(each) for each in findings]
        discoveries = [rows for rows in self._all if rows.finding.complete_discovery]
        self._others = [rows for rows in self._all if not rows.finding.complete_discovery]
        self._roster = Roster(olt_id, _needed(self._all, discovering=bool(discoveries)))
        self._discovering = Discovering(self._roster, discoveries)
        self._joining = Joining(self._roster, self._others, may_name=bool(discoveries))
        self._doubled: list[int] = []
        self._moved: list[int] = []
        self._crossed: list[Crossed] = []
        self._turned: list[Turned] = []
        self._optics: list[OpticalChange] = []

    def find(self, absent_after: int) -> None:
        """Who is there, and of whom the rest is told."""
        self._discovering.place()
        self._joining.run()
        self._discovering.count([rows for rows in self._others if rows.finding.complete], absent_after)

    def fill(self) -> None:
        for rows in self._others:
            fill_identity(self._roster, rows)
        for stored in VALUES:
            if stored.name in self._roster:
                fill_values(self._roster, self._all, stored)
        for rows in self._others:
            if rows.finding.of_online:
                forget_of_offline(self._roster, rows.finding)
        fill_parts(self._roster, self._all)
        self._roster.settle()
        self._doubled = self._discovering.doubled()
        self._moved = self._roster.moved()

    def judge(self, limits: Limits) -> None:
        if tells_power(self._all):
            self._crossed = judge_optics(self._roster, limits, set(self._moved))

    def write(self, olt_id: int, now: datetime) -> None:
        happened = Happened(self._roster, self._all, list(self._happened()))
        self._roster.write(now)
        self._forget_usual()
        happened.write(olt_id, now)
        self._turned = happened.turned()
        self._optics = [happened.optical(each) for each in self._crossed]

    def _forget_usual(self) -> None:
        """At another port another power is usual."""
        known = [position for position in self._moved if position < self._roster.known]
        rows = [(self._roster.ids[position], None, "") for position in known]
        statements.update(("rx_usual_dbm", "rx_usual_of"), rows)

    def _happened(self) -> Iterator[Happening]:
        for kind, positions in (
            (EventKind.NEW, range(self._roster.known, self._roster.size)),
            (EventKind.RETURNED, self._discovering.returned),
            (EventKind.MOVED, self._moved),
            (EventKind.ABSENT, self._discovering.absent),
            (EventKind.DUPLICATE, begun_doubles(self._roster, self._doubled)),
        ):
            yield from (Happening(kind, position) for position in positions)
        for each in self._crossed:
            yield Happening(EventKind(each.turn.value), each.position, f"{each.power:.1f} dBm")

    def stored(self) -> Stored:
        return Stored(
            new=self._roster.size - self._roster.known,
            moved=len(self._moved),
            changed=len(self._roster.changed),
            absent=len(self._discovering.absent),
            returned=len(self._discovering.returned),
            unknown=len(self._joining.unknown),
            other=len(self._joining.strangers),
            duplicates=len(self._doubled),
            onus=self._roster["presence"].count(PRESENT),
            told=told(self._roster, self._all),
            turns=Turns(self._turned, self._tells_states()),
            optics=self._optics,
        )

    def _tells_states(self) -> bool:
        """Of everybody: from what broke off, and from one ONU, nothing is concluded about ports."""
        parts = (rows.finding for rows in self._all if rows.tells("state"))
        return any(not finding.broken and not finding.of_one for finding in parts)


def _needed(collection: Sequence[Rows], *, discovering: bool) -> Iterator[str]:
    """The columns that what was told is compared with."""
    facts = {fact for rows in collection for fact in (*rows.facts.columns, *rows.finding.of_online)}
    yield from (each.name for each in VALUES if facts.intersection(each.facts))
    if any(rows.finding.of_online for rows in collection):
        yield "state"
    if tells_power(collection):
        yield from NEEDED
    if discovering or any(each.name in facts for each in IDENTITY):
        yield from (each.name for each in IDENTITY)
    if any(each.name in facts for each in PARTS):
        yield from (*(each.name for each in PARTS), "told_parts")
    if discovering:
        yield from ("raw_index", "technology", "missed", "named_by")
