"""What the parts of a collection said about ONUs, on its way into their rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from facho.apps.discovery.columns import ADDRESSES, StoredFact
from facho.apps.discovery.recognise import NOBODY
from facho.apps.discovery.roster import Positions
from facho.vendors import Facts


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part of a collection said about ONUs."""

    facts: Facts
    # It was a discovery, and it read its tables to the end.
    complete_discovery: bool = False
    # Facts of which an empty answer says nothing, each with the technology it is so for; "" is all of them.
    keep_last: frozenset[tuple[str, str]] = frozenset()
    # It was no discovery, but it walked, and to the end.
    complete: bool = False
    # It broke off: what it does not have may be there all the same.
    broken: bool = False
    # ONUs, by their address, that did not answer for all that they were asked.
    unanswered: frozenset[str] = frozenset()
    # Facts that only ONUs that are online were asked for.
    of_online: frozenset[str] = frozenset()
    # It asked about one ONU only.
    of_one: bool = False
    # The task that it was part of.
    task: str = "table"
    # Rows came that nobody can tell the ONU of: who is not in it may be one of those.
    has_gaps: bool = False

    @property
    def is_whole(self) -> bool:
        """Who is not in it is not in its tables."""
        return self.complete_discovery or self.complete


@dataclass(slots=True)
class Rows:
    """A finding, and the positions of its rows in the roster; negative for those that have none."""

    finding: Finding
    addresses: list[str] = field(init=False)
    at: Positions = field(default_factory=list)

    def __post_init__(self) -> None:
        self.addresses = ADDRESSES.all(self.facts.keys)

    @property
    def facts(self) -> Facts:
        return self.finding.facts

    def tells(self, fact: str) -> bool:
        return fact in self.facts.columns

    def plain(self, stored: StoredFact, fact: str = "") -> list[Any]:
        values = self.facts.columns.get(fact or stored.name)
        return [stored.empty] * len(self.facts) if values is None else stored.plain(values)

    def by_keeping(self, fact: str, at: Positions) -> Iterable[tuple[bool, Positions]]:
        """Whether an empty answer keeps what was known, with those of the positions for which it is so."""
        kept = {technology for name, technology in self.finding.keep_last if name == fact}
        unanswered = self.finding.unanswered
        if self.finding.broken or "" in kept or (kept and kept.issuperset(self.facts.technologies)):
            return [(True, at)]
        if not kept and not unanswered:
            return [(False, at)]
        keeps = [
            technology in kept or address in unanswered
            for technology, address in zip(self.facts.technologies, self.addresses, strict=True)
        ]
        return [(True, _only(keeps, at)), (False, _only([not each for each in keeps], at))]

    def without_part(self, number: int) -> Positions:
        """Of the rows whose index does not tell this part of their place."""
        lacking = [key[number] is None for key in self.facts.keys]
        return self.at if all(lacking) else _only(lacking, self.at)


def _only(chosen: Iterable[bool], at: Positions) -> Positions:
    return [position if this else NOBODY for this, position in zip(chosen, at, strict=True)]
