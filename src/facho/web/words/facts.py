"""The names of the facts of an ONU, and their values with units."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.template.defaultfilters import filesizeformat
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, localize
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from facho.apps.localized_numbers import about
from facho.vendors import Entity
from facho.vendors.facts import FACTS, Kind
from facho.web.words.states import DOWN_CAUSES, ONU_STATES

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

ONU_FACTS: Final[Mapping[str, Text | str]] = {
    "serial": _("Serial"),
    "serial_actual": _("Reported serial"),
    "mac": "MAC",
    "name": _("Name"),
    "description": _("Description"),
    "type": _("Configured type"),
    "model": _("Model"),
    "vendor_id": _("Maker"),
    "hw_version": _("Hardware"),
    "sw_version": _("Software"),
    "sw_version_standby": _("Standby software"),
    "line_profile": _("Line profile"),
    "srv_profile": _("Service profile"),
    "plan": _("Plan"),
    "admin_state": _("Administrative state"),
    "state": _("State"),
    "config_state": _("Configuration"),
    "match_state": _("Configuration match"),
    "down_cause": _("Cause of the last outage"),
    "last_up": _("Last time up"),
    "last_down": _("Last time down"),
    "last_dying_gasp": _("Last dying gasp"),
    "uptime_s": _("Uptime"),
    "registered_s": _("Registered for"),
    "distance_m": _("Distance"),
    "last_distance_m": _("Last distance measured"),
    "mac_count": _("MAC addresses"),
    "onu_rx_dbm": _("Power at the ONU"),
    "onu_tx_dbm": _("Power sent by the ONU"),
    "olt_rx_dbm": _("Power at the OLT"),
    "catv_rx_dbm": _("CATV power"),
    "temperature_c": _("Temperature"),
    "voltage_v": _("Voltage"),
    "bias_ma": _("Laser current"),
    "ip": _("IP address"),
    "ip_mac": _("MAC of its IP address"),
    "up_octets": _("Bytes from the customer"),
    "down_octets": _("Bytes to the customer"),
}
_CONFIG_STATES: Final[Mapping[str, Text]] = {
    "ok": pgettext_lazy("configuration", "applied"),
    "starting": pgettext_lazy("configuration", "in progress"),
    "failed": pgettext_lazy("configuration", "rejected"),
    "mismatch": pgettext_lazy("configuration", "not supported by the ONU"),
    "unknown": pgettext_lazy("configuration", "unknown"),
}
_WORDS: Final[Mapping[str, Mapping[str, Text]]] = {
    "state": ONU_STATES,
    "down_cause": DOWN_CAUSES,
    "config_state": _CONFIG_STATES,
    "match_state": _CONFIG_STATES,
    "admin_state": {
        "enabled": pgettext_lazy("ONU", "enabled"),
        "disabled": ONU_STATES["disabled"],
        "unknown": ONU_STATES["unknown"],
    },
}
_UNITS: Final = {"C": "°C"}
_DECIMALS: Final = {"V": 2}


def sort_facts(facts: Mapping[str, object]) -> list[tuple[str, object]]:
    """Sort facts as they are listed above: a database keeps no order in JSON."""
    places = {fact: place for place, fact in enumerate(ONU_FACTS)}
    return sorted(facts.items(), key=lambda each: places.get(each[0], len(places)))


def fact_name(fact: str) -> str:
    return str(ONU_FACTS.get(fact, fact))


def fact_value(fact: str, value: object) -> str:
    """Return a value in the reader's language: `-21,4 dBm`, `online`, `3 d 04 h`."""
    if value is None or value == "":
        return ""
    known = FACTS[Entity.ONU].get(fact)
    if fact in _WORDS:
        return str(_WORDS[fact].get(str(value), value))
    if known is not None and known.kind is Kind.DATE:
        return _date(str(value))
    unit = known.unit if known is not None else ""
    return _with_unit(value, unit) if isinstance(value, int | float) else str(value)


def _with_unit(number: float, unit: str) -> str:
    if unit == "s":
        return about(timedelta(seconds=number))
    if unit == "octets":
        return filesizeformat(number)
    return f"{localize(round(number, _DECIMALS.get(unit, 1)))} {_UNITS.get(unit, unit)}".strip()


def _date(written: str) -> str:
    """Format a date on the clock of the OLT, which has no time zone."""
    at = parse_datetime(written)
    return written if at is None else date_format(at, "SHORT_DATETIME_FORMAT")
