"""The names of facts, and their values with units."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from django.template.defaultfilters import filesizeformat
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, localize
from django.utils.translation import get_language, pgettext_lazy

from facho.apps import localized_numbers, localized_times
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import onu_extra_values
from facho.vendors import Entity, known_facts
from facho.vendors.facts import LANGUAGES, Kind
from facho.web.words.states import BOARD_STATES, DOWN_CAUSES, LINK_STATES, ONU_STATES, PORT_CAUSES

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text


class DatedFact(NamedTuple):
    """A fact in words, when it was last collected, and how often that is done."""

    name: str
    text: str
    at: datetime | None = None
    every: timedelta | None = None


_CONFIG_STATES: Final[Mapping[str, Text]] = {
    "ok": pgettext_lazy("configuration", "applied"),
    "starting": pgettext_lazy("configuration", "in progress"),
    "failed": pgettext_lazy("configuration", "rejected"),
    "mismatch": pgettext_lazy("configuration", "not supported by the ONU"),
    "unknown": pgettext_lazy("configuration", "unknown"),
}
_ADMIN_STATES: Final[Mapping[str, Text]] = {
    "enabled": pgettext_lazy("ONU", "enabled"),
    "disabled": ONU_STATES["disabled"],
    "unknown": ONU_STATES["unknown"],
}
_LINK_ADMIN_STATES: Final[Mapping[str, Text]] = {
    "enabled": pgettext_lazy("port", "enabled"),
    "disabled": pgettext_lazy("port", "disabled"),
    "unknown": pgettext_lazy("port", "unknown"),
}
_OF_LINKS: Final = {"state": LINK_STATES, "admin_state": _LINK_ADMIN_STATES, "down_cause": PORT_CAUSES}
_OF_PARTS: Final = {"state": BOARD_STATES}
_WORDS: Final[Mapping[Entity, Mapping[str, Mapping[str, Text]]]] = {
    Entity.ONU: {
        "state": ONU_STATES,
        "down_cause": DOWN_CAUSES,
        "config_state": _CONFIG_STATES,
        "match_state": _CONFIG_STATES,
        "admin_state": _ADMIN_STATES,
    },
    **dict.fromkeys((Entity.UNI, Entity.PORT, Entity.UPLINK), _OF_LINKS),
    **dict.fromkeys((Entity.BOARD, Entity.FAN, Entity.PSU), _OF_PARTS),
}
_UNITS: Final = {"C": "°C"}
_DECIMALS: Final = {"V": 2}


def sort_facts(facts: Mapping[str, object], entity: Entity = Entity.ONU) -> list[tuple[str, object]]:
    """Sort facts as the registry lists them: a database keeps no order in JSON."""
    places = {fact: place for place, fact in enumerate(known_facts()[entity])}
    return sorted(facts.items(), key=lambda each: places.get(each[0], len(places)))


def shown_facts(onu: Onu) -> list[tuple[str, str]]:
    """Return the facts of an ONU without a column of their own, in the reader's language."""
    return [(fact, _stored_value(fact, value)) for fact, value in sort_facts(onu_extra_values(onu))]


def _stored_value(fact: str, value: object) -> str:
    """Dates are stored on our clock; as an OLT sends them they are on its own."""
    known = known_facts()[Entity.ONU].get(fact)
    if known is not None and known.kind is Kind.DATE and (at := parse_datetime(str(value))) is not None:
        return localized_times.date_and_time(at)
    return fact_value(fact, value)


def named_facts(facts: Mapping[str, object], entity: Entity) -> list[tuple[str, str]]:
    """Return the names and values of facts without a column of their own, in the reader's language."""
    return [
        (fact_name(fact, entity), fact_value(fact, value, entity))
        for fact, value in sort_facts(facts, entity)
    ]


def fact_name(fact: str, entity: Entity = Entity.ONU) -> str:
    """Return the name of a fact in the reader's language; one that nobody declares keeps its own."""
    known = known_facts()[entity].get(fact)
    language = (get_language() or LANGUAGES[0]).partition("-")[0]
    return fact if known is None else known.labels.get(language, known.labels[LANGUAGES[0]])


def fact_unit(fact: str, entity: Entity = Entity.ONU) -> str:
    """Return the unit of a fact as it is shown; empty for one without."""
    known = known_facts()[entity].get(fact)
    return "" if known is None else _UNITS.get(known.unit, known.unit)


def fact_value(fact: str, value: object, entity: Entity = Entity.ONU) -> str:
    """Return a value in the reader's language: `-21,4 dBm`, `online`, `3 d 04 h`."""
    if value is None or value == "":
        return ""
    known = known_facts()[entity].get(fact)
    if (words := _WORDS.get(entity, {}).get(fact)) is not None:
        return str(words.get(str(value), value))
    if known is not None and known.kind is Kind.WORD:
        # A state that a profile declares has no name in any language.
        return str(value).replace("_", " ")
    if known is not None and known.kind is Kind.DATE:
        return olt_date(str(value))
    unit = known.unit if known is not None else ""
    return _with_unit(value, unit) if isinstance(value, int | float) else str(value)


def _with_unit(number: float, unit: str) -> str:
    if unit == "s":
        return localized_numbers.about(timedelta(seconds=number))
    if unit == "octets":
        return filesizeformat(number)
    if unit == "bit/s":
        return localized_numbers.bit_rate(number)
    if unit == "/s":
        # Even one error in an interval of some minutes counts.
        return f"{localized_numbers.number(round(number, 3))} {unit}"
    return f"{localize(round(number, _DECIMALS.get(unit, 1)))} {_UNITS.get(unit, unit)}".strip()


def olt_date(written: str) -> str:
    """Format a date on the clock of the OLT, which has no time zone."""
    at = parse_datetime(written)
    return written if at is None else date_format(at, "SHORT_DATETIME_FORMAT")
