"""All that `facho olt show` shows of an OLT, and its row in `facho olt list`."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

import typer

from facho.apps.chassis.selectors import Health as ChassisHealth
from facho.apps.chassis.selectors import PartRow, ports_of, uplink_rates, uplinks_of
from facho.apps.chassis.selectors import health_of as chassis_health_of
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import unreadable_rows
from facho.apps.execution_coordinator.models import TaskForecast
from facho.apps.execution_coordinator.texts import error_in_words
from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.health import Health, health_of, status_reason
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import masters_of_chained
from facho.cli.output import format_seconds, print_facts, print_json, print_rows, print_section
from facho.config import current
from facho.core.bit_rates import bit_rate
from facho.core.durations import duration
from facho.core.forecast import typical_error
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.olts import olt_named
from facho.engine.coordinate.forecasts import predict_durations
from facho.vendors import Profile

_SUMMARY: Final = (
    "family", "model", "version", "hw_version", "serial", "uptime", "cpu", "memory", "temperature", "lacks"
)  # fmt: skip
_BOARD_COLUMNS: Final = (
    "board", "name", "state", "cpu", "memory", "temperature", "power_w", "sw_version", "hw_version", "serial"
)  # fmt: skip
_FAN_COLUMNS: Final = ("fan", "state", "speed_rpm", "speed_pct")
_PSU_COLUMNS: Final = ("psu", "name", "state", "voltage_v", "power_w", "temperature")
_UPLINK_COLUMNS: Final = (
    "uplink", "name", "description", "state", "speed_mbps", "in_bps", "out_bps", "in_errors_s",
    "out_errors_s", "in_discards_s", "out_discards_s", "tx_dbm", "rx_dbm", "temperature_c",
)  # fmt: skip
_PORT_COLUMNS: Final = (
    "port", "name", "state", "admin_state", "down_cause", "onus", "onus_online", "tx_dbm", "rx_dbm",
    "temperature_c", "voltage_v", "bias_ma",
)  # fmt: skip
_IN_AND_OUT: Final = ("in_bps", "out_bps")
_RATES: Final = (*_IN_AND_OUT, "in_errors_s", "out_errors_s", "in_discards_s", "out_discards_s")
_UNREADABLE_COLUMNS: Final = ("table", "rows", "example", "since", "last_seen")
_NODE_COLUMNS: Final = (
    "node", "job", "kind", "every", "enabled", "after", "next_run_at", "last_run_at", "suspended"
)  # fmt: skip
_FORECAST_COLUMNS: Final = ("task", "expected", "95 of 100 within", "error", "runs")


def show_olt(name: str, *, as_json: bool) -> None:
    olt, now = olt_named(name), database_now()
    maintained = olts_under_maintenance(now)
    facts = {
        **olt_row(olt, maintained),
        "maintenance_until": maintained.get(olt.id),
        "credentials": _credential_kind(olt.credentials),
        "sys_descr": olt.sys_descr,
        "sys_object_id": olt.sys_object_id,
        "max_in_flight": olt.max_in_flight,
        "max_varbinds": olt.max_varbinds,
        "max_requests_per_second": olt.max_requests_per_second,
        "shortest_interval_s": olt.shortest_interval_s,
        "suspended_reason": str(olt.suspended_reason) or None,
        "down_since": olt.down_since,
        "unreachable_since": olt.unreachable_since,
        "next_probe_at": olt.next_probe_at,
        "onus": Onu.objects.filter(olt=olt).count(),
    }
    chassis = chassis_json(olt, now)
    forecasts = _forecast_rows(olt.id, now)
    rows = list(olt.nodes.select_related("job"))
    masters = masters_of_chained(rows)
    nodes = [_node_row(node, masters.get(node.id)) for node in rows]
    if as_json:
        print_json({**facts, **chassis, "nodes": nodes, "forecasts": forecasts})
        return
    print_facts({**facts, **_summarize_chassis(chassis)})
    for title, part, columns in (
        ("Boards", chassis["health"]["boards"], _BOARD_COLUMNS),
        ("Fans", chassis["health"]["fans"], _FAN_COLUMNS),
        ("Power supplies", chassis["health"]["psus"], _PSU_COLUMNS),
        ("Uplinks", chassis["uplinks"], _UPLINK_COLUMNS),
        ("PON ports", chassis["pon_ports"], _PORT_COLUMNS),
        ("Rows that its profile cannot read", chassis["unreadable_rows"], _UNREADABLE_COLUMNS),
    ):
        print_section(title, list(map(_for_people, part)), (*columns, *_extra_columns(part)))
    typer.echo()
    print_rows(nodes, _NODE_COLUMNS, f"It has no jobs yet: facho job attach JOB {name}")
    print_section("How long its tasks take", [_format_forecast(row) for row in forecasts], _FORECAST_COLUMNS)


def _extra_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the facts without a column of their own that some of the rows have."""
    return list(dict.fromkeys(fact for row in rows for fact in row.get("facts", ()) if fact not in row))


def _for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    rates = {name: bit_rate(row[name]) for name in _IN_AND_OUT if row.get(name) is not None}
    return {**row.get("facts", {}), **row, **rates}


def olt_row(olt: Olt, maintained: Container[int] = ()) -> dict[str, Any]:
    health = health_of(olt, maintained)
    state = {Health.FINE: "reachable", Health.NEVER_ASKED: "not asked yet"}.get(health, health.value)
    return {
        "name": olt.name,
        "brand": olt.brand.name,
        "model": olt.model.name if olt.model else None,
        "address": f"[{olt.address}]:{olt.port}" if ":" in olt.address else f"{olt.address}:{olt.port}",
        "snmp_version": olt.snmp_version,
        "site": olt.site,
        "enabled": olt.enabled,
        "state": state,
        "reason": str(status_reason(olt, health)) or None,
    }


def _credential_kind(credentials: Credentials) -> str:
    """Say what was entered, without any of it."""
    if isinstance(credentials, Unreadable):
        return "cannot be opened: enter them again"
    return "community" if credentials.user is None else "SNMPv3 user"


def _node_row(node: SnmpJobHost, master: SnmpJobHost | None) -> dict[str, Any]:
    job = node.job
    return {
        "node": node.id,
        "job": job.name,
        "kind": job.kind,
        "every": format_seconds(node.interval_s or job.interval_s),
        "enabled": node.enabled and job.enabled,
        "after": master.job.name if master else None,
        "next_run_at": node.next_run_at,
        "last_run_at": node.last_run_at,
        "suspended": str(node.suspended_reason) or None,
    }


def _forecast_rows(olt_id: int, now: datetime) -> list[dict[str, Any]]:
    """Return a row for each task; `runs` is 0 and `error_pct` None for a guess about one that never ran."""
    learned = {row.task_type: row for row in TaskForecast.objects.filter(olt=olt_id).defer("state")}
    rows = []
    for (_, task_type), predicted in sorted(predict_durations([olt_id], now, current()).items()):
        row = learned.get(task_type)
        rows.append(
            {
                "task_type": task_type,
                "predicted_s": round(predicted.p50_s, 3),
                "p95_s": round(predicted.p95_s, 3),
                "sure": predicted.sure,
                "error_pct": None if row is None or row.error_pct is None else round(row.error_pct, 1),
                "runs": 0 if row is None else row.samples,
            }
        )
    return rows


def _format_forecast(row: Mapping[str, Any]) -> dict[str, Any]:
    error = typical_error(row["predicted_s"], row["error_pct"])
    return {
        "task": row["task_type"],
        "expected": duration(timedelta(seconds=row["predicted_s"])),
        "95 of 100 within": duration(timedelta(seconds=row["p95_s"])),
        "error": "not known yet" if error is None else error_in_words(error),
        "runs": row["runs"] or "none yet: a guess",
    }


def chassis_json(olt: Olt, now: datetime) -> dict[str, Any]:
    """Return what the OLT says of itself; unknown values are None, lists are ordered by number."""
    health, profile = chassis_health_of(olt.id), profile_of(olt)
    return {
        "family": profile.name,
        "model": olt.model.name if olt.model else health.olt.name if health.olt else None,
        "version": olt.version or None,
        "hw_version": health.olt.hw_version if health.olt else None,
        "serial": health.olt.serial if health.olt else None,
        "uptime_seconds": _uptime_s(olt, now),
        "health": _health_json(health),
        "uplinks": _uplink_rows(olt.id, now),
        "pon_ports": [asdict(port) for port in ports_of(olt.id)],
        "lacks": _name_missing_columns(profile, olt.lacks),
        "unreadable_rows": [
            {name: getattr(rows, name) for name in _UNREADABLE_COLUMNS} for rows in unreadable_rows(olt.id)
        ],
    }


def _summarize_chassis(chassis: Mapping[str, Any]) -> dict[str, Any]:
    uptime = chassis["uptime_seconds"]
    facts = {**chassis, **chassis["health"], "uptime": None if uptime is None else timedelta(seconds=uptime)}
    others = {f"reported_{fact}": value for fact, value in chassis["health"]["facts"].items()}
    return {**{name: facts[name] or None for name in _SUMMARY}, **others}


def _uptime_s(olt: Olt, now: datetime) -> int | None:
    """Return the uptime as it was read, plus the time since."""
    if olt.uptime_s is None or olt.uptime_read_at is None:
        return None
    return olt.uptime_s + max(0, int((now - olt.uptime_read_at).total_seconds()))


def _health_json(health: ChassisHealth) -> dict[str, Any]:
    return {
        "cpu": health.highest("cpu_pct"),
        "memory": health.highest("memory_pct"),
        "temperature": health.highest("temperature_c"),
        "boards": [_board_row(board) for board in health.boards],
        "fans": [_fan_row(fan) for fan in health.fans],
        "psus": [_psu_row(psu) for psu in health.psus],
        "facts": health.olt.facts if health.olt else {},
    }


def _board_row(board: PartRow) -> dict[str, Any]:
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
        "hw_version": board.hw_version,
        "serial": board.serial,
        "facts": board.facts,
    }


def _fan_row(fan: PartRow) -> dict[str, Any]:
    return {
        "fan": fan.place,
        "state": fan.state,
        "speed_rpm": fan.speed_rpm,
        "speed_pct": fan.speed_pct,
        "facts": fan.facts,
    }


def _psu_row(psu: PartRow) -> dict[str, Any]:
    return {
        "psu": psu.place,
        "name": psu.name,
        "state": psu.state,
        "voltage_v": psu.voltage_v,
        "power_w": psu.power_w,
        "temperature": psu.temperature_c,
        "facts": psu.facts,
    }


def _uplink_rows(olt_id: int, now: datetime) -> list[dict[str, Any]]:
    """Return the uplinks with their last rates, None for what is not known."""
    rates = uplink_rates(olt_id, now)
    return [
        {**asdict(link), **{name: rates.get(link.id, {}).get(name) for name in _RATES}}
        for link in uplinks_of(olt_id)
    ]


def _name_missing_columns(profile: Profile, lacks: Collection[str]) -> list[str]:
    """Return missing columns by their names in the profile, as `port_optics.rx_dbm`.

    A fact that another column still provides is not missing.
    """
    sources = {
        f"{table.name}.{column.fact}": {source.oid for source in (column.source, *column.otherwise)}
        for table in profile.tables
        for column in table.columns
    }
    named = {name for name, oids in sources.items() if oids.issubset(lacks)}
    own = set(lacks).difference(*sources.values())
    return sorted(named | own)
