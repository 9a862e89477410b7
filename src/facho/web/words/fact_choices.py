"""The facts that a job can ask for, in words, with the families that have them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.selectors import USUAL_SETS, facts_offered
from facho.vendors import GENERIC, Entity, builtin
from facho.vendors.facts import FACTS
from facho.web.words.facts import fact_name

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

_SET_NAMES: Final[Mapping[str, Text]] = {
    "optics": _("Optical values of ONUs"),
    "health": _("Health of the OLT and its boards"),
    "ports": _("Ports of the OLT"),
    "autofind": _("ONUs waiting for activation"),
}
_ENTITY_NAMES: Final[Mapping[Entity, Text | str]] = {
    Entity.ONU: "ONU",
    Entity.UNI: _("Customer ports of ONUs"),
    Entity.PORT: _("Ports of the OLT"),
    Entity.BOARD: _("Boards"),
    Entity.FAN: _("Fans"),
    Entity.OLT: "OLT",
    Entity.AUTOFIND: _("ONUs waiting for activation"),
}


@dataclass(frozen=True, slots=True)
class FactChoice:
    fact: str
    name: str
    families: Sequence[str]
    chosen: bool


@dataclass(frozen=True, slots=True)
class FactGroup:
    name: str
    choices: Sequence[FactChoice]
    chosen: int


def pick_facts(chosen: Collection[str] | None) -> list[FactGroup]:
    """Return all facts in groups, the usual sets first. What an operator named himself stays a choice."""
    wanted = set(chosen or ())
    groups = [
        (str(_("Usual sets")), [(each, str(_SET_NAMES.get(each, each))) for each in sorted(USUAL_SETS)])
    ]
    for entity, facts in FACTS.items():
        names = [(_full_name(entity, fact), fact_name(fact)) for fact in facts]
        groups.append((str(_ENTITY_NAMES.get(entity, entity.value)), names))
    known = {fact for _name, facts in groups for fact, _words in facts}
    if own := sorted(wanted - known):
        groups.append((str(_("Others")), [(fact, fact) for fact in own]))
    return [_group(name, facts, wanted) for name, facts in groups]


def _group(name: str, facts: Sequence[tuple[str, str]], wanted: Collection[str]) -> FactGroup:
    families = _families()
    offered = [
        FactChoice(fact, words, families.get(fact, ()), fact in wanted)
        for fact, words in facts
        if fact in families or fact in wanted
    ]
    return FactGroup(name, offered, sum(each.chosen for each in offered))


def _full_name(entity: Entity, fact: str) -> str:
    return fact if entity is Entity.ONU else f"{entity.value}.{fact}"


@lru_cache(maxsize=1)
def _families() -> Mapping[str, Sequence[str]]:
    """Return the families that have each fact and each usual set."""
    found: dict[str, list[str]] = {}
    for name, profile in builtin().items():
        if name != GENERIC:
            for fact in _facts_of(name):
                found.setdefault(fact, []).append(profile.title)
    return found


def _facts_of(name: str) -> Iterator[str]:
    profile = builtin()[name]
    facts = {_full_name(table.entity, column.fact) for table in profile.tables for column in table.columns}
    yield from sorted(facts | USUAL_SETS.intersection(facts_offered(profile)))
