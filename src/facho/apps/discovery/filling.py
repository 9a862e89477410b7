"""What was told of ONUs, brought into the columns of the roster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from facho.apps.discovery.columns import PARTS, VALUES, StoredFact
from facho.apps.discovery.finding import Finding, Rows
from facho.apps.discovery.roster import Roster

ONLINE: Final = "online"


def fill_values(roster: Roster, collection: Sequence[Rows], stored: StoredFact) -> None:
    """From the first fact; the others count where it is empty, or where it was not asked for. A finding that
    broke off may have been asked for it.
    """
    first, *others = stored.facts
    told = [rows for rows in collection if rows.tells(first)]
    for rows in told:
        _fill(roster, rows, stored, first)
    for fact in others:
        for rows in (rows for rows in collection if rows.tells(fact)):
            if told or rows.finding.broken:
                roster.fill_empty(stored, rows.at, rows.plain(stored, fact))
            else:
                _fill(roster, rows, stored, fact)


def _fill(roster: Roster, rows: Rows, stored: StoredFact, fact: str) -> None:
    values = rows.plain(stored, fact)
    for keep, at in rows.by_keeping(fact, rows.at):
        roster.fill(stored, at, values, keep=keep)


def forget_of_offline(roster: Roster, finding: Finding) -> None:
    """Who is not online was not asked, and what it had before would look as fresh as what the others say."""
    kept = {fact for fact, _ in finding.keep_last}
    offline = [position for position, state in enumerate(roster["state"]) if state != ONLINE]
    for stored in VALUES:
        if stored.name in finding.of_online and stored.name not in kept:
            stale = [position for position in offline if roster[stored.name][position] != stored.empty]
            for position in stale:
                roster.own(stored.name)[position] = stored.empty


def fill_parts(roster: Roster, collection: Sequence[Rows]) -> None:
    """The numbers of a place that columns tell and the index does not.

    Another number is a move, which only a table that was read to its end can say. Anything else may tell a
    number that was not known.
    """
    for number, part in enumerate(PARTS):
        for rows in (rows for rows in collection if rows.tells(part.name)):
            _fill_part(roster, rows, part, number)


def _fill_part(roster: Roster, rows: Rows, part: StoredFact, number: int) -> None:
    at, values = rows.without_part(number), rows.plain(part)
    if isinstance(at, range) and roster[part.name] == values:
        return
    if rows.finding.is_whole:
        # Nobody is nowhere: who is offline, and has no port in its table, is still where it was.
        roster.fill(part, at, values, keep=True)
    else:
        roster.fill_empty(part, at, values)
    roster.note_told(part.name, at)
