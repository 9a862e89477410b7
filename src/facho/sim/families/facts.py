"""The facts of a simulated OLT under the names that vendor profiles have for them.

A fact is a function of the OLT, the row and the time. None is what the OLT cannot tell: the optics of an ONU
that is offline, the date of what never happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Final, TypeVar

from facho.sim.model import Cause, OltModel
from facho.sim.traffic import DOWN, UP, UPLINK_SHARES
from facho.vendors.facts import Entity
from facho.vendors.rules import serial

_T = TypeVar("_T")
FactOf = Callable[[OltModel, int, float], object]

_LETTERS: Final = (b"HWTC", b"ZTEG", b"ALCL", b"FHTT", b"TPLG", b"GPON", b"CDTC", b"VSOL")
# Some with letters outside ASCII, because operators write them and decoders trip over them.
_ZONES: Final = ("Centro", "Norte", "Sur", "Este", "Peñón", "São José", "Bairro Alto", "Ñuñoa")
_MODELS: Final = ("S1", "S1-W", "S4-WT", "X4")
_STATES: Final = {Cause.LOS: "los", Cause.DYING_GASP: "power_off"}
_CAUSES: Final = {
    Cause.LOS: "los",
    Cause.LOFI: "signal",
    Cause.DEACTIVATED: "disabled",
    Cause.REBOOT: "reboot",
    Cause.DYING_GASP: "power_off",
}


def always(value: _T) -> Callable[[OltModel, int, float], _T]:
    return lambda _olt, _row, _now: value


def _while_online(fact_of: FactOf) -> FactOf:
    return lambda olt, row, now: fact_of(olt, row, now) if olt.online(row, now) else None


def serial_of(letters: Sequence[bytes]) -> FactOf:
    """Return the serial of an ONU as a fact; its maker is one of eight in `letters`."""
    return lambda olt, row, _now: serial(olt.serial(letters[olt.noise(row) >> 13 & 7], row))


def unknown_serial_of(letters: bytes) -> FactOf:
    return lambda olt, row, _now: serial(olt.serial(letters, -1 - row))


def model_of(models: Sequence[str]) -> FactOf:
    """Return the model of an ONU as a fact: one of four in `models`."""
    return lambda olt, row, _now: models[olt.noise(row) >> 16 & 3]


onu_serial: Final = serial_of(_LETTERS)


def customer(olt: OltModel, row: int, _now: float = 0.0) -> str:
    return f"cli-{olt.number:03d}-{row:05d} {_ZONES[olt.noise(row) >> 10 & 7]}"


def onu_mac(olt: OltModel, row: int, _now: float = 0.0) -> str:
    return (b"\x02\x00" + olt.number.to_bytes(2, "big") + row.to_bytes(2, "big")).hex(":")


def _state(olt: OltModel, row: int, now: float) -> object:
    state = olt.state(row, now)
    if state.online or state.cause is None:
        return "online"
    return _STATES.get(state.cause, "offline")


def _down_cause(olt: OltModel, row: int, now: float) -> object:
    cause = olt.state(row, now).cause
    return None if cause is None else _CAUSES.get(cause)


def _admin_state(olt: OltModel, row: int, now: float) -> object:
    state = olt.state(row, now)
    return "disabled" if state.cause is Cause.DEACTIVATED and not state.online else "enabled"


def _moment(olt: OltModel, at: float | None) -> datetime | None:
    """Return a time by the clock of the OLT."""
    return None if at is None else datetime.fromtimestamp(int(olt.clock(at)), UTC)


def _last_dying_gasp(olt: OltModel, row: int, now: float) -> object:
    state = olt.state(row, now)
    return _moment(olt, state.last_down) if state.cause is Cause.DYING_GASP else None


def _last_distance(olt: OltModel, row: int, now: float) -> object:
    return None if olt.state(row, now).cause is Cause.NEVER_SEEN else olt.distance_m(row)


def _version(olt: OltModel, row: int) -> int:
    """Return which of the versions of its model an ONU has: most have the last or the one before."""
    lot = olt.noise(row) >> 45 & 0xFF
    return 3 - (lot < 100) - (lot < 30) - (lot < 5)


def _uptime(olt: OltModel, row: int, now: float) -> object:
    since = olt.state(row, now).last_up
    return None if since is None else int(max(0.0, now - since))


_ONU: Final[Mapping[str, FactOf]] = {
    "serial": onu_serial,
    "serial_actual": _while_online(onu_serial),
    "mac": onu_mac,
    "name": lambda olt, row, _: f"ONU-{olt.number:03d}-{row:05d}",
    "description": customer,
    "type": model_of(_MODELS),
    "model": model_of(_MODELS),
    "vendor_id": lambda olt, row, now: str(onu_serial(olt, row, now))[:4],
    "hw_version": lambda olt, row, _: f"V1.{olt.noise(row) >> 16 & 1}",
    "sw_version": lambda olt, row, _: f"V2.{_version(olt, row)}",
    "sw_version_standby": lambda olt, row, _: f"V2.{max(0, _version(olt, row) - 1)}",
    "line_profile": lambda olt, row, _: f"line-profile_{olt.noise(row) & 3}",
    "srv_profile": lambda olt, row, _: f"srv-profile_{olt.noise(row) & 1}",
    "plan": lambda olt, row, _: f"FTTH {(olt.noise(row) & 3) + 1}00M",
    "admin_state": _admin_state,
    "state": _state,
    "config_state": _while_online(always("ok")),
    "match_state": _while_online(always("ok")),
    "down_cause": _down_cause,
    "last_up": lambda olt, row, now: _moment(olt, olt.state(row, now).last_up),
    "last_down": lambda olt, row, now: _moment(olt, olt.state(row, now).last_down),
    "last_dying_gasp": _last_dying_gasp,
    "uptime_s": _while_online(_uptime),
    "registered_s": _while_online(_uptime),
    "distance_m": _while_online(lambda olt, row, _: olt.distance_m(row)),
    "last_distance_m": _last_distance,
    "mac_count": _while_online(lambda olt, row, _: olt.noise(row) & 7),
    "onu_rx_dbm": _while_online(lambda olt, row, now: olt.rx_dbm(row, now)),
    "onu_tx_dbm": _while_online(lambda olt, row, now: olt.tx_dbm(row, now)),
    "olt_rx_dbm": _while_online(lambda olt, row, now: olt.olt_rx_dbm(row, now)),
    "catv_rx_dbm": always(None),
    "temperature_c": _while_online(lambda olt, row, now: olt.temperature_c(row, now)),
    "voltage_v": _while_online(lambda olt, row, now: olt.voltage_v(row, now)),
    "bias_ma": _while_online(lambda olt, row, _: olt.bias_ma(row)),
    "ip": _while_online(lambda olt, row, _: IPv4Address(0x0A00_0000 | olt.number << 16 | row + 1)),
    "ip_mac": _while_online(onu_mac),
    "up_octets": lambda olt, row, now: olt.traffic.onu_octets(row, UP, now),
    "down_octets": lambda olt, row, now: olt.traffic.onu_octets(row, DOWN, now),
}

_PORT: Final[Mapping[str, FactOf]] = {
    "name": lambda _olt, port, _: f"PON {port + 1}",
    "description": always(""),
    "state": lambda olt, port, _: "down" if port in olt.dark_ports else "up",
    "admin_state": always("enabled"),
    "down_cause": lambda olt, port, _: "los" if port in olt.dark_ports else None,
    "onus_known": lambda olt, port, _: len(olt.shape.rows_of_port(port)),
    "onus_online": lambda olt, port, now: sum(olt.online(row, now) for row in olt.shape.rows_of_port(port)),
    "onus_offline": lambda olt, port, now: sum(
        not olt.online(row, now) for row in olt.shape.rows_of_port(port)
    ),
    "tx_dbm": lambda olt, port, _: 6.9 + (olt.number + port) % 50 / 100,
    "rx_dbm": always(None),
    "temperature_c": lambda olt, port, now: 34 + (olt.number + port) % 9 + olt.warmth_c(now),
    "voltage_v": lambda olt, port, _: 3.19 + (olt.number + port) % 5 / 100,
    "bias_ma": lambda olt, port, _: 30 + (olt.number + port) % 11,
    "in_octets": lambda olt, port, now: olt.traffic.port_octets(port, UP, now),
    "out_octets": lambda olt, port, now: olt.traffic.port_octets(port, DOWN, now),
    "speed_mbps": always(2488),
}

_BOARD: Final[Mapping[str, FactOf]] = {
    "name": always("PON16"),
    "state": always("ok"),
    "cpu_pct": lambda olt, row, now: olt.cpu(8 + (olt.number + row) % 30, now),
    "memory_pct": lambda olt, row, _: 40 + (olt.number + row) % 20,
    "temperature_c": lambda olt, row, now: 38 + (olt.number + row) % 12 + olt.warmth_c(now),
    "power_w": lambda olt, row, _: 40 + (olt.number + row) % 12,
    "sw_version": lambda olt, row, _: f"V1.{(olt.number + row) % 3}",
    "hw_version": lambda olt, row, _: f"H{(olt.number + row) % 2 + 1}",
    "serial": lambda olt, row, _: f"B{olt.number:04d}{row:02d}",
}


def _works(link: int) -> bool:
    return link < len(UPLINK_SHARES)


# The first uplinks carry traffic; the others have no link.
_UPLINK: Final[Mapping[str, FactOf]] = {
    "name": lambda _olt, link, _now: f"uplink {link + 1}",
    "description": lambda _olt, link, _now: "backbone" if _works(link) else "",
    "state": lambda _olt, link, _now: "up" if _works(link) else "down",
    "admin_state": always("enabled"),
    "speed_mbps": always(10_000),
    "tx_dbm": lambda olt, link, _now: -2.1 - (olt.number + link) % 7 / 10 if _works(link) else None,
    "rx_dbm": lambda olt, link, _now: -5.4 - (olt.number + link) % 9 / 10 if _works(link) else None,
    "temperature_c": lambda olt, link, now: 38 + (olt.number + link) % 6 + olt.warmth_c(now),
    "voltage_v": lambda olt, link, _now: 3.28 + (olt.number + link) % 4 / 100,
    "bias_ma": lambda olt, link, _now: 34 + (olt.number + link) % 5 if _works(link) else None,
    "in_octets": lambda olt, link, now: olt.traffic.uplink_octets(link, DOWN, now),
    "out_octets": lambda olt, link, now: olt.traffic.uplink_octets(link, UP, now),
    "in_errors": lambda olt, link, now: olt.traffic.uplink_errors(link, now),
    "out_errors": always(0),
    "in_discards": lambda olt, link, now: olt.traffic.uplink_discards(link, now),
    "out_discards": lambda olt, link, now: olt.traffic.uplink_discards(link, now) // 3,
}

_OLT: Final[Mapping[str, FactOf]] = {
    "name": lambda olt, _row, _now: olt.name,
    "description": always("simulated"),
    "model": always("simulated"),
    "version": lambda olt, _row, _now: f"V1.{olt.number % 3}",
    "hw_version": lambda olt, _row, _now: f"H{olt.number % 2 + 1}",
    "serial": lambda olt, _row, _now: f"OLT{olt.number:06d}",
    "uptime_s": lambda olt, _row, now: olt.uptime_ticks(now) // 100,
    "clock": lambda olt, _row, now: _moment(olt, now),
    "cpu_pct": lambda olt, _row, now: olt.cpu(10 + olt.number % 40, now),
    "memory_pct": lambda olt, _row, _now: 30 + olt.number % 40,
    "temperature_c": lambda olt, _row, now: 35 + olt.number % 15 + olt.warmth_c(now),
    "power_w": lambda olt, _row, _now: 200 + olt.number % 100,
}

MODEL_FACTS: Final[Mapping[Entity, Mapping[str, FactOf]]] = {
    Entity.ONU: _ONU,
    Entity.UNI: {
        "state": lambda olt, row, now: "up" if olt.online(row, now) else "down",
        "admin_state": always("enabled"),
        "speed": always("1000"),
    },
    Entity.PORT: _PORT,
    Entity.BOARD: _BOARD,
    Entity.FAN: {
        "state": always("ok"),
        "speed_rpm": lambda olt, row, now: round(3300 + 25 * row + 60 * olt.warmth_c(now)),
        "speed_pct": lambda olt, _row, now: round(40 + olt.warmth_c(now)),
    },
    Entity.PSU: {
        "name": always("PSU"),
        "state": always("ok"),
        "voltage_v": lambda olt, row, _: 53.5 + (olt.number + row) % 5 / 10,
        "power_w": lambda olt, row, _: 100 + (olt.number + 3 * row) % 40,
        "temperature_c": lambda olt, row, now: 33 + (olt.number + row) % 6 + olt.warmth_c(now),
    },
    Entity.UPLINK: _UPLINK,
    Entity.OLT: _OLT,
    Entity.AUTOFIND: {
        "serial": unknown_serial_of(b"FACH"),
        "mac": lambda olt, row, _: onu_mac(olt, 0xFF00 + row),
        "model": lambda _olt, row, _now: _MODELS[row & 3],
        "vendor_id": always("FACH"),
        "sw_version": always("V2.0"),
        "hw_version": always("V1.0"),
        "seen_at": lambda olt, _row, _now: _moment(olt, olt.born),
    },
}
# The facts of an ONU that do not tell which OLT it belongs to: OLTs of one template have them in common.
PATTERN_FACTS: Final = frozenset(
    {
        "admin_state", "state", "config_state", "match_state", "down_cause", "last_up", "last_down",
        "last_dying_gasp", "distance_m", "last_distance_m", "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm",
        "temperature_c", "voltage_v", "bias_ma", "up_octets", "down_octets",
    }
)  # fmt: skip
# The facts of an ONU that do not change with its state, so that their columns are encoded only once.
CONSTANT_FACTS: Final = frozenset(
    {
        "serial", "mac", "name", "description", "type", "model", "vendor_id", "hw_version", "sw_version",
        "sw_version_standby", "line_profile", "srv_profile", "plan",
    }
)  # fmt: skip
