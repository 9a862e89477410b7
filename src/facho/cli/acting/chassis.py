"""What an OLT says of itself and who waits at its ports: `facho olt show`, `facho onu unprovisioned`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.chassis.selectors import Health, PartRow, health_of, ports_of, waiting_onus
from facho.apps.discovery.models import UnreadableRows
from facho.apps.discovery.selectors import unreadable_rows
from facho.apps.hosts.models import Olt
from facho.cli.acting.showing import print_json, print_rows, print_titled
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.olts import olt_named
from facho.vendors import Profile

_SUMMARY: Final = ("family", "model", "version", "uptime", "cpu", "memory", "temperature", "lacks")
_BOARDS: Final = ("board", "name", "state", "cpu", "memory", "temperature", "power_w", "sw_version", "serial")
_FANS: Final = ("fan", "state", "speed_rpm")
_PORTS: Final = (
    "port", "name", "state", "admin_state", "down_cause", "onus", "onus_online", "tx_dbm", "rx_dbm",
    "temperature_c", "voltage_v", "bias_ma",
)  # fmt: skip
_UNREADABLE: Final = ("table", "rows", "example", "since", "last_seen")
_WAITING: Final = ("olt", "port", "serial", "mac", "model", "vendor_id", "sw_version", "seen_since")


def told(olt: Olt, now: datetime) -> dict[str, Any]:
    """What is not known is None; lists are ordered by number."""
    health, profile = health_of(olt.id), profile_of(olt)
    return {
        "family": profile.name,
        "model": olt.model.name if olt.model else health.olt.name if health.olt else None,
        "version": olt.version or None,
        "uptime_seconds": _uptime(olt, now),
        "health": _health(health),
        "pon_ports": [asdict(port) for port in ports_of(olt.id)],
        "lacks": _names(profile, olt.lacks),
        "unreadable_rows": [_unreadable(rows) for rows in unreadable_rows(olt.id)],
    }


def summary(told: Mapping[str, Any]) -> dict[str, Any]:
    """What fits on a line each."""
    uptime = told["uptime_seconds"]
    facts = {**told, **told["health"], "uptime": None if uptime is None else timedelta(seconds=uptime)}
    return {name: facts[name] or None for name in _SUMMARY}


def print_tables(told: Mapping[str, Any]) -> None:
    health = told["health"]
    for title, rows, columns in (
        ("Boards", health["boards"], _BOARDS),
        ("Fans", health["fans"], _FANS),
        ("PON ports", told["pon_ports"], _PORTS),
        ("Rows that its profile cannot read", told["unreadable_rows"], _UNREADABLE),
    ):
        print_titled(title, rows, columns)


def list_waiting(olt: str | None, *, as_json: bool) -> None:
    rows = [asdict(row) for row in waiting_onus(None if olt is None else olt_named(olt))]
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _WAITING, "No ONU waits to be provisioned.")


def _unreadable(rows: UnreadableRows) -> dict[str, Any]:
    return {name: getattr(rows, name) for name in _UNREADABLE}


def _uptime(olt: Olt, now: datetime) -> int | None:
    """As it was read, and the time since."""
    if olt.uptime_s is None or olt.uptime_read_at is None:
        return None
    return olt.uptime_s + max(0, int((now - olt.uptime_read_at).total_seconds()))


def _health(health: Health) -> dict[str, Any]:
    return {
        "cpu": health.highest("cpu_pct"),
        "memory": health.highest("memory_pct"),
        "temperature": health.highest("temperature_c"),
        "boards": [_board(board) for board in health.boards],
        "fans": [{"fan": fan.place, "state": fan.state, "speed_rpm": fan.speed_rpm} for fan in health.fans],
    }


def _board(board: PartRow) -> dict[str, Any]:
    return {
        "board": board.place,
        "slot": board.slot,
        "name": board.name,
        "state": board.state,
        "cpu": board.cpu_pct,
        "memory": board.memory_pct,
        "temperature": board.temperature_c,
        "power_w": board.power_w,
        "sw_version": board.sw_version,
        "serial": board.serial,
    }


def _names(profile: Profile, lacks: Collection[str]) -> list[str]:
    """Columns by the names that the profile has for them: `port_optics.rx_dbm`. A fact that is also elsewhere
    is not lacking.
    """
    sources = {
        f"{table.name}.{column.fact}": {source.oid for source in (column.source, *column.otherwise)}
        for table in profile.tables
        for column in table.columns
    }
    named = {name for name, oids in sources.items() if oids.issubset(lacks)}
    own = set(lacks).difference(*sources.values())
    return sorted(named | own)
