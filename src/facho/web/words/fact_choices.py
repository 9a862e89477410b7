"""The facts that a job can ask for, in words, with the families that have them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from facho.apps.hosts.selectors import PLACE_FACTS, USUAL_SETS, facts_offered
from facho.vendors import GENERIC, Entity, known_facts, profiles_in_use
from facho.vendors.facts import full_fact_name
from facho.web.words.facts import fact_name

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

_SET_NAMES: Final[Mapping[str, Text]] = {
    "optics": _("Optical values of ONUs"),
    "details": _("Versions and other facts of ONUs"),
    "traffic": _("Traffic"),
    "uplinks": _("Uplinks of the OLT"),
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
    Entity.PSU: _("Power supplies"),
    Entity.UPLINK: _("Uplinks"),
    Entity.OLT: "OLT",
    Entity.AUTOFIND: _("ONUs waiting for activation"),
}


@dataclass(frozen=True, slots=True)
class FactChoice:
    fact: str
    name: str
    # In a few words, and all of them.
    families: str
    families_in_full: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FactGroup:
    name: str
    choices: Sequence[FactChoice]
    chosen: int


def pick_facts(chosen: Collection[str] | None, provided: Collection[str] = ()) -> list[FactGroup]:
    """Return all facts in groups, the usual sets first: those of families, and those that an OID provides.
    What an operator named himself stays a choice.
    """
    wanted = set(chosen or ())
    groups = [
        (str(_("Usual sets")), [(each, str(_SET_NAMES.get(each, each))) for each in sorted(USUAL_SETS)])
    ]
    for entity, facts in known_facts().items():
        names = [
            (full_fact_name(entity, fact), fact_name(fact, entity))
            for fact in facts
            if entity is not Entity.ONU or fact not in PLACE_FACTS
        ]
        groups.append((str(_ENTITY_NAMES.get(entity, entity.value)), names))
    known = {fact for _name, facts in groups for fact, _words in facts}
    if own := sorted(wanted - known):
        groups.append((str(_("Others")), [(fact, fact) for fact in own]))
    return [_group(name, facts, wanted, provided) for name, facts in groups]


def describe_fact(fact: str) -> str:
    """Return the name of a fact or a set, with the thing that it is about unless that is the ONU."""
    if fact in _SET_NAMES:
        return str(_SET_NAMES[fact])
    thing, dot, own = fact.rpartition(".")
    if not dot or thing not in set(Entity):
        return fact_name(fact)
    return f"{_ENTITY_NAMES[Entity(thing)]}: {fact_name(own, Entity(thing))}"


def _group(
    name: str, facts: Sequence[tuple[str, str]], wanted: Collection[str], provided: Collection[str]
) -> FactGroup:
    families, own = _families(), (gettext("by an OID of your own"),) * 2
    offered = [
        FactChoice(
            fact,
            words,
            *(
                own
                if fact in provided and fact not in families
                else _describe_families(families.get(fact, ()))
            ),
            fact in wanted,
        )
        for fact, words in facts
        if fact in families or fact in wanted or fact in provided
    ]
    return FactGroup(name, offered, sum(each.chosen for each in offered))


def _describe_families(having: Sequence[str]) -> tuple[str, str]:
    """Return the families by vendor, the shorter way: who has it, or who has not; and all their titles."""
    profiles = {name: profile for name, profile in profiles_in_use().items() if name != GENERIC}
    lacking = [name for name in profiles if name not in having]
    titles = ", ".join(profiles[name].title for name in having)
    if having and not lacking:
        return gettext("all families"), titles
    if len(lacking) * 2 < len(profiles):
        return gettext("all families except %(families)s") % {"families": _by_vendor(lacking)}, titles
    return _by_vendor(having), titles


def _by_vendor(names: Sequence[str]) -> str:
    """Return the vendor of families, or the title of a family if others of its vendor are not among them."""
    profiles = {name: profile for name, profile in profiles_in_use().items() if name != GENERIC}
    partly = {profile.vendor for name, profile in profiles.items() if name not in names}
    said = [
        profiles[name].title if profiles[name].vendor in partly else profiles[name].vendor for name in names
    ]
    return ", ".join(dict.fromkeys(said))


@lru_cache(maxsize=1)
def _families() -> Mapping[str, Sequence[str]]:
    """Return the families that have each fact and each usual set."""
    found: dict[str, list[str]] = {}
    for name in profiles_in_use():
        if name != GENERIC:
            for fact in _facts_of(name):
                found.setdefault(fact, []).append(name)
    return found


def _facts_of(name: str) -> Iterator[str]:
    profile = profiles_in_use()[name]
    facts = {
        full_fact_name(table.entity, column.fact) for table in profile.tables for column in table.columns
    }
    yield from sorted(facts | USUAL_SETS.intersection(facts_offered(profile)))
