"""The facts of each subject that have a history, as the registry of facts has them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from facho.apps.history.models import Subject
from facho.core.history_facts import FACTS, Fact
from facho.core.rates import RateRule
from facho.vendors import Entity, known_facts
from facho.vendors.facts import Fact as KnownFact
from facho.vendors.facts import Kind

ENTITIES: Final[Mapping[str, tuple[Entity, ...]]] = {
    Subject.ONU: (Entity.ONU,),
    Subject.PORT: (Entity.PORT,),
    Subject.PART: (Entity.OLT, Entity.BOARD, Entity.FAN, Entity.PSU),
    Subject.UPLINK: (Entity.UPLINK,),
}
_BITS: Final = "bit/s"
# The fewest bits that a line carries for one count, by the unit of a counter: a packet has 64 octets or more.
_LEAST_BITS: Final[Mapping[str, int]] = {"packets": 512}
# Of facts that profiles declare: they may be anything, so they get more room than those with a code.
_DECLARED: Final = Fact(0, 100, 4)
_DECLARED_WHOLE: Final = Fact(0, 1, 4)
_DECLARED_BITS: Final = Fact(0, 1 / 16, is_rate=True)
_DECLARED_EVENTS: Final = Fact(0, 1024, is_rate=True)


def _facts(subject: str) -> Mapping[str, KnownFact]:
    known = known_facts()
    return {name: fact for entity in ENTITIES[subject] for name, fact in known[entity].items()}


@cache
def history_facts(subject: str) -> tuple[str, ...]:
    """Return the facts of a subject that have a history, rates with them."""
    return tuple(name for name, fact in _facts(subject).items() if fact.history)


@cache
def declared_facts(subject: str) -> Mapping[str, Fact]:
    """Return how the values of those facts are written that have no code in the format."""
    facts = _facts(subject)
    return {name: _written_as(facts[name]) for name in history_facts(subject) if name not in FACTS}


def _written_as(fact: KnownFact) -> Fact:
    if fact.kind is Kind.RATE:
        return _DECLARED_BITS if fact.unit == _BITS else _DECLARED_EVENTS
    return _DECLARED_WHOLE if fact.kind is Kind.WHOLE else _DECLARED


@cache
def counters(subject: str) -> Mapping[str, RateRule]:
    """Return the counters of a subject, and what each becomes."""
    facts = _facts(subject)
    return {
        name: RateRule(fact.rate) if facts[fact.rate].unit == _BITS else _rule_of_events(fact)
        for name, fact in facts.items()
        if fact.is_counter
    }


def counter_of_rate(rate: str, subject: str) -> str | None:
    """Return the counter that becomes this rate; None for what is no rate."""
    return next((name for name, rule in counters(subject).items() if rule.rate == rate), None)


def _rule_of_events(fact: KnownFact) -> RateRule:
    return RateRule(fact.rate, of_octets=False, least_bits=_LEAST_BITS.get(fact.unit, 1))


@cache
def collected_facts(subject: str) -> tuple[str, ...]:
    """Return the facts that a collection brings for the history: numbers, and counters for their rates."""
    facts = _facts(subject)
    numbers = (name for name in history_facts(subject) if facts[name].kind is not Kind.RATE)
    return (*numbers, *counters(subject))
