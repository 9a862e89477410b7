"""The registry of facts: all that can be known of OLTs and ONUs, the same for all vendors.

The facts themselves are in `facts.yaml`. A profile may declare more of them, in the same form; everything
that stores, shows or exports facts goes by this registry and needs no change for a new one.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Final

from facho.vendors.profile_entries import (
    Entry,
    Fields,
    Form,
    Mistakes,
    bounds,
    line_of,
    one_of,
    read_file,
    unread,
)


class Entity(enum.StrEnum):
    """The kind of thing that a row of a table describes."""

    ONU = "onu"
    UNI = "uni"
    PORT = "port"
    BOARD = "board"
    FAN = "fan"
    PSU = "psu"
    UPLINK = "uplink"
    OLT = "olt"
    AUTOFIND = "autofind"


def full_fact_name(entity: str, fact: str) -> str:
    """Return a fact as jobs name it: `serial` of an ONU, `port.state` of anything else."""
    return fact if entity in ("", Entity.ONU) else f"{entity}.{fact}"


class Kind(enum.StrEnum):
    """The type of a fact: in Python float, int, str, datetime, IPv4Address or State.

    A rate is computed from two readings of a counter; no column provides it.
    """

    NUMBER = "number"
    WHOLE = "whole number"
    TEXT = "text"
    SERIAL = "serial"
    MAC = "mac"
    DATE = "date"
    IP = "ip"
    WORD = "word"
    RATE = "rate"


class Confidence(enum.StrEnum):
    """The confidence in an entry of a profile."""

    AGREED = "agreed"
    SINGLE = "single"
    GUESS = "guess"
    CONFLICT = "conflict"


CONFIDENCE_WORDS: Final[Mapping[Confidence, str]] = {
    Confidence.AGREED: "two or more independent sources agree",
    Confidence.SINGLE: "one source",
    Confidence.GUESS: "guess",
    Confidence.CONFLICT: "sources conflict",
}

Words = Mapping[str, str]

ONU_STATES: Final[Words] = {
    "online": "works",
    "starting": "is being recognised, ranged or configured",
    "los": "gone: the OLT receives no light from it",
    "power_off": "gone: it said that it lost its power",
    "auth_failed": "seen, but not let in",
    "disabled": "switched off by the operator",
    "offline": "gone, and the OLT does not say why",
    "unknown": "in a state that the profile has no word for",
}
DOWN_CAUSES: Final[Words] = {
    "los": "no light: fibre cut or bent, or a dead transmitter",
    "signal": "light, but a signal that could not be used",
    "power_off": "power lost: dying gasp",
    "reboot": "restarted, by whomever",
    "disabled": "switched off by the operator",
    "auth_failed": "not let in: serial, password or registration",
    "rogue": "disturbed others: rogue ONU or attack",
    "optics_off": "its transmitter was switched off",
    "other": "something else; see the vendor's word",
    "unknown": "the OLT does not know, or says a number that the profile has no word for",
}
ADMIN_STATES: Final[Words] = {
    "enabled": "may work",
    "disabled": "switched off by the operator",
    "unknown": "the profile has no word for it",
}
LINK_STATES: Final[Words] = {
    "up": "works",
    "down": "does not",
    "unknown": "neither, or the profile has no word for it",
}
PORT_CAUSES: Final[Words] = {
    "los": "no light",
    "no_module": "no optical module is plugged in",
    "module_fault": "the optical module is broken",
    "disabled": "switched off by the operator",
    "other": "something else; see the vendor's word",
    "unknown": "the OLT does not know, or the profile has no word for it",
}
BOARD_STATES: Final[Words] = {
    "ok": "in service",
    "standby": "healthy, and not in use",
    "starting": "starting, loading or being configured",
    "fault": "broken, too hot, or of the wrong version",
    "mismatch": "another board than the one configured",
    "disabled": "switched off by the operator",
    "offline": "not there, or without power",
    "unknown": "the profile has no word for it",
}
CONFIG_STATES: Final[Words] = {
    "ok": "configured as the operator wanted",
    "starting": "not finished",
    "failed": "the configuration was not taken",
    "mismatch": "the ONU cannot do what is configured",
    "unknown": "the profile has no word for it",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that can be known. `low` and `high` are what is plausible, in `unit`."""

    kind: Kind
    what: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    words: Words | None = None
    # The fact that the movement of this counter becomes; empty for a gauge.
    rate: str = ""
    # Its values are kept over time.
    history: bool = False
    # Its name as people read it, by language.
    labels: Mapping[str, str] = field(default_factory=dict)
    # Where it is declared.
    line: int = field(default=0, compare=False)

    @property
    def is_counter(self) -> bool:
        return bool(self.rate)

    @property
    def has_history(self) -> bool:
        """Return whether it is kept over time, itself or as a rate."""
        return self.history or self.is_counter or self.kind is Kind.RATE

    @property
    def is_number(self) -> bool:
        return self.kind in (Kind.NUMBER, Kind.WHOLE, Kind.RATE)

    def first_difference(self, other: Fact) -> str:
        """Return what would be read or stored otherwise by the other declaration, in words, or an empty text.

        Names and explanations may differ.
        """
        for name, mine, others in (
            ("kind", self.kind.value, other.kind.value),
            ("unit", self.unit, other.unit),
            ("range", (self.low, self.high), (other.low, other.high)),
            ("words", list(self.words or ()), list(other.words or ())),
            ("rate", self.rate, other.rate),
            ("history", self.history, other.history),
        ):
            if mine != others:
                return f"its {name} is {_in_words(mine)} there, and {_in_words(others)} here"
        return ""


def _in_words(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case "":
            return "none"
        case list() | tuple():
            return "[" + ", ".join("none" if each is None else str(each) for each in value) + "]"
        case _:
            return f"'{value}'"


Registry = Mapping[Entity, Mapping[str, Fact]]
LANGUAGES: Final = ("en", "es")
_WORD_SETS: Final[Mapping[str, Words]] = {
    "onu_states": ONU_STATES,
    "down_causes": DOWN_CAUSES,
    "admin_states": ADMIN_STATES,
    "link_states": LINK_STATES,
    "port_causes": PORT_CAUSES,
    "board_states": BOARD_STATES,
    "config_states": CONFIG_STATES,
}
# A state that no other word fits; decoders return it for numbers that a profile does not know.
_UNKNOWN: Final = "unknown"
_LONGEST_NAME: Final = 40
_LONGEST_LABEL: Final = 60
_LONGEST_UNIT: Final = 20
# The names of other properties in API and CSV files, of what is stored beside the facts, of the usual sets of
# jobs, and of metrics that are sent beside the facts: no declared fact may have them.
TAKEN_NAMES: Final = frozenset(
    {
        "address", "autofind", "cause", "details", "discovery", "extras", "facts", "first_seen", "health",
        "history", "id", "identity", "interface", "kind", "last_seen", "latest", "missed",
        "offline_dated", "offline_since", "olt", "olt_dates", "olt_name", "olt_rx_power_dbm", "online",
        "onus", "onus_online_told", "onus_told", "optical_state", "optics", "part", "place", "ports",
        "presence", "raw_index", "reported_name", "rx_power_dbm", "rx_usual_dbm", "rx_usual_of",
        "shown_state", "site", "status", "technology", "traffic", "tx_power_dbm", "unis", "up",
        "updated_at", "uplinks", "weak",
    }
)  # fmt: skip
# Their values are kept as they were last seen.
_WITHOUT_HISTORY: Final = (Entity.UNI, Entity.AUTOFIND)


def _read_words(entry: Entry) -> Words:
    if not entry.is_map:
        return _WORD_SETS[entry.choice(_WORD_SETS)]
    words = {key.name(): value.text() for key, value in entry.pairs()}
    return {**words, _UNKNOWN: words.get(_UNKNOWN, "the profile has no word for it")}


_FACT: Final = Form(
    {
        "kind": one_of(Kind),
        **dict.fromkeys(LANGUAGES, line_of(_LONGEST_LABEL, 1)),
        "what": Entry.text,
        "unit": line_of(_LONGEST_UNIT),
        "range": bounds(Entry.number),
        "words": _read_words,
        "rate": Entry.name,
        "history": Entry.flag,
    },
    ("kind", *LANGUAGES, "what"),
)


def parse_facts(entry: Entry) -> dict[Entity, dict[str, Fact]]:
    """Read a section of facts, by entity. Mistakes are added to those of the file."""
    entities = Form(dict.fromkeys(map(str, Entity), unread)).read(entry).values
    return {Entity(entity): _parse_facts_of(Entity(entity), of) for entity, of in entities.items()}


def _parse_facts_of(entity: Entity, entry: Entry) -> dict[str, Fact]:
    found = {}
    for key, value in entry.pairs():
        name = key.name()
        if len(name) > _LONGEST_NAME:
            key.wrong(f"a name has at most {_LONGEST_NAME} characters")
        if (fact := _parse_fact(_FACT.read(value))) is not None:
            found[name] = fact
            if fact.has_history and entity in _WITHOUT_HISTORY:
                value.wrong(f"facts of {entity} have no history and no rates")
    _check_rates(entry, found)
    return found


def _parse_fact(fields: Fields) -> Fact | None:
    if not fields.complete:
        return None
    values = dict(fields.values)
    kind: Kind = values.pop("kind")
    if ("words" in values) != (kind is Kind.WORD):
        fields.entry.wrong(f"'words' are for the kind {Kind.WORD.value}, which needs them")
    starts_at_zero = kind in (Kind.WHOLE, Kind.RATE)
    low, high = map(_plain, values.pop("range", (0 if starts_at_zero else None, None)))
    labels = {language: values.pop(language) for language in LANGUAGES}
    fact = Fact(kind, low=low, high=high, labels=labels, line=fields.entry.line, **values)
    if fact.history and not fact.is_number:
        fields.wrong("history", "only numbers have a history")
    if fact.is_counter and kind is not Kind.WHOLE:
        fields.wrong("rate", f"a counter is a {Kind.WHOLE.value}")
    return fact


def _plain(number: float | None) -> float | None:
    return int(number) if number is not None and float(number).is_integer() else number


def _check_rates(entry: Entry, facts: Mapping[str, Fact]) -> None:
    """Each counter names a rate of its own entity, and each rate has one counter."""
    counted = [fact.rate for fact in facts.values() if fact.is_counter]
    rates = [name for name, fact in facts.items() if fact.kind is Kind.RATE]
    if sorted(counted) != sorted(rates):
        entry.wrong(f"counters become {sorted(counted)}, and the rates are {sorted(rates)}")


def _builtin_facts() -> Registry:
    file = resources.files("facho.vendors") / "facts.yaml"
    entry = read_file(file.read_text("utf-8"), "facts.yaml")
    found = parse_facts(entry)
    entry.mistakes.raise_if_any()
    return {entity: found[entity] for entity in Entity}


FACTS: Final = _builtin_facts()


def check_declared(mistakes: Mistakes, declared: Registry, known: Registry) -> None:
    """Refuse facts that are known with another meaning. To declare the same again is no mistake."""
    for entity, facts in declared.items():
        for name, fact in facts.items():
            field_name, other = f"facts.{entity}.{name}", known.get(entity, {}).get(name)
            if name in TAKEN_NAMES:
                mistakes.add(fact.line, field_name, f"'{name}' is the name of something else: choose another")
            elif other is not None and (difference := other.first_difference(fact)):
                text = f"there is a fact '{name}' of {entity} already, and {difference}"
                mistakes.add(fact.line, field_name, text)
            elif other is None and (text := _other_history(name, fact, known)):
                mistakes.add(fact.line, field_name, text)
        known = join_facts(known, {entity: facts})


def _other_history(name: str, fact: Fact, known: Registry) -> str:
    """Return how a fact differs from one of its name of other things: a name has one form in the history."""
    for entity, facts in known.items():
        other = facts.get(name)
        if other is None or not (fact.has_history and other.has_history):
            continue
        if (fact.kind, fact.unit, fact.rate) != (other.kind, other.unit, other.rate):
            return (
                f"'{name}' of {entity} has a history too, and another kind, unit or rate: choose another name"
            )
    return ""


def join_facts(known: Registry, declared: Registry) -> Registry:
    """Return the facts of both; a fact that is known stays as it is, and where it is in the order."""
    return {
        entity: {**known.get(entity, {}), **declared.get(entity, {}), **known.get(entity, {})}
        for entity in Entity
    }
