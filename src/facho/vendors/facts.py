"""The facts that profiles can provide, with their units and states: the same for all vendors.

Profiles may name no others, so that ONUs of all brands can be compared.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


class Entity(enum.StrEnum):
    """The kind of thing that a row of a table describes."""

    ONU = "onu"
    UNI = "uni"
    PORT = "port"
    BOARD = "board"
    FAN = "fan"
    OLT = "olt"
    AUTOFIND = "autofind"


def full_fact_name(entity: str, fact: str) -> str:
    """Return a fact as jobs name it: `serial` of an ONU, `port.state` of anything else."""
    return fact if entity in ("", Entity.ONU) else f"{entity}.{fact}"


class Kind(enum.StrEnum):
    """The type of a fact: in Python float, int, str, datetime, IPv4Address or State."""

    NUMBER = "number"
    WHOLE = "whole number"
    TEXT = "text"
    SERIAL = "serial"
    MAC = "mac"
    DATE = "date"
    IP = "ip"
    WORD = "word"


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


def _text(what: str) -> Fact:
    return Fact(Kind.TEXT, what)


def _whole(what: str, unit: str = "", low: float | None = 0, high: float | None = None) -> Fact:
    return Fact(Kind.WHOLE, what, unit, low, high)


def _number(what: str, unit: str, low: float, high: float) -> Fact:
    return Fact(Kind.NUMBER, what, unit, low, high)


def _word(what: str, words: Words) -> Fact:
    return Fact(Kind.WORD, what, words=words)


def _rx(what: str) -> Fact:
    return _number(what, "dBm", -50, 10)


def _tx(what: str) -> Fact:
    return _number(what, "dBm", -15, 12)


_SERIAL: Final = Fact(Kind.SERIAL, "GPON serial: four letters and eight hexadecimal digits")
_MAC: Final = Fact(Kind.MAC, "hardware address, as aa:bb:cc:dd:ee:ff")
_TEMPERATURE: Final = _number("temperature", "C", -60, 150)
_VOLTAGE: Final = _number("supply voltage", "V", 0, 20)
_BIAS: Final = _number("current of the laser", "mA", 0, 500)
_CPU: Final = _number("CPU in use", "%", 0, 100)
_MEMORY: Final = _number("memory in use", "%", 0, 100)
_POWER: Final = _number("power drawn", "W", 0, 20_000)
_VERSION: Final = _text("version of the software")

_ONU: Final[Mapping[str, Fact]] = {
    "serial": _SERIAL,
    "serial_actual": Fact(Kind.SERIAL, "serial that the ONU itself reported"),
    "mac": _MAC,
    "name": _text("name that the operator gave"),
    "description": _text("description that the operator gave"),
    "type": _text("type of ONU that is configured"),
    "model": _text("model that the ONU reports"),
    "vendor_id": _text("maker that the ONU reports"),
    "hw_version": _text("version of the hardware"),
    "sw_version": _VERSION,
    "sw_version_standby": _text("version of the software that is not running"),
    "line_profile": _text("line profile"),
    "srv_profile": _text("service profile"),
    "plan": _text("the customer's plan"),
    "admin_state": _word("what the operator wants", ADMIN_STATES),
    "state": _word("whether it works", ONU_STATES),
    "config_state": _word("whether its configuration was taken", CONFIG_STATES),
    "match_state": _word("whether it can do what is configured", CONFIG_STATES),
    "down_cause": _word("why it went away the last time", DOWN_CAUSES),
    "last_up": Fact(Kind.DATE, "when it came the last time"),
    "last_down": Fact(Kind.DATE, "when it went the last time"),
    "last_dying_gasp": Fact(Kind.DATE, "when it lost its power the last time"),
    "uptime_s": _whole("since when it has been running", "s"),
    "registered_s": _whole("since when it has been registered", "s"),
    "distance_m": _whole("length of the fibre", "m", 0, 100_000),
    "last_distance_m": _whole("length of the fibre when it was last measured", "m", 0, 100_000),
    "mac_count": _whole("hardware addresses behind it"),
    "onu_rx_dbm": _rx("power that the ONU receives"),
    "onu_tx_dbm": _tx("power that the ONU sends"),
    "olt_rx_dbm": _rx("power that the OLT receives from it"),
    "catv_rx_dbm": _rx("power of the television signal"),
    "temperature_c": _TEMPERATURE,
    "voltage_v": _VOLTAGE,
    "bias_ma": _BIAS,
    "ip": Fact(Kind.IP, "IP address"),
    "ip_mac": _MAC,
    "up_octets": _whole("octets from the customer, counted", "octets"),
    "down_octets": _whole("octets to the customer, counted", "octets"),
    "frame": _whole("frame or shelf, where a column says it"),
    "slot": _whole("slot, where a column says it"),
    "port": _whole("PON port, where a column says it"),
    "onu_id": _whole("number on its port, where a column says it"),
}
_PORT: Final[Mapping[str, Fact]] = {
    "name": _text("name"),
    "description": _text("description that the operator gave"),
    "state": _word("whether it works", LINK_STATES),
    "admin_state": _word("what the operator wants", ADMIN_STATES),
    "down_cause": _word("why it went down the last time", PORT_CAUSES),
    "onus_known": _whole("ONUs that are configured"),
    "onus_online": _whole("ONUs that work"),
    "onus_offline": _whole("ONUs that do not"),
    "tx_dbm": _tx("power that the module sends"),
    "rx_dbm": _rx("power that the module receives"),
    "temperature_c": _TEMPERATURE,
    "voltage_v": _VOLTAGE,
    "bias_ma": _BIAS,
    "in_octets": _whole("octets received, counted", "octets"),
    "out_octets": _whole("octets sent, counted", "octets"),
    "speed_mbps": _whole("speed", "Mbit/s"),
}
_BOARD: Final[Mapping[str, Fact]] = {
    "name": _text("kind of board"),
    "state": _word("whether it works", BOARD_STATES),
    "cpu_pct": _CPU,
    "memory_pct": _MEMORY,
    "temperature_c": _TEMPERATURE,
    "power_w": _POWER,
    "sw_version": _VERSION,
    "serial": _text("serial number"),
}
_OLT: Final[Mapping[str, Fact]] = {
    "name": _text("name"),
    "description": _text("what it says that it is"),
    "model": _text("model"),
    "version": _VERSION,
    "serial": _text("serial number"),
    "uptime_s": _whole("seconds since its agent started; wraps after 497 days", "s"),
    "cpu_pct": _CPU,
    "memory_pct": _MEMORY,
    "temperature_c": _TEMPERATURE,
    "power_w": _POWER,
}

FACTS: Final[Mapping[Entity, Mapping[str, Fact]]] = {
    Entity.ONU: _ONU,
    Entity.UNI: {
        "state": _word("whether its link is up", LINK_STATES),
        "admin_state": _word("what the operator wants", ADMIN_STATES),
        "speed": _text("speed, in the vendor's words"),
    },
    Entity.PORT: _PORT,
    Entity.BOARD: _BOARD,
    Entity.FAN: {
        "state": _word("whether it works", BOARD_STATES),
        "speed_rpm": _number("speed", "rpm", 0, 100_000),
        "speed_pct": _number("speed", "%", 0, 100),
    },
    Entity.OLT: _OLT,
    Entity.AUTOFIND: {
        "serial": _SERIAL,
        "mac": _MAC,
        "model": _text("model that the ONU reports"),
        "vendor_id": _text("maker that the ONU reports"),
        "sw_version": _VERSION,
        "hw_version": _text("version of the hardware"),
        "seen_at": Fact(Kind.DATE, "when the OLT found it"),
    },
}
