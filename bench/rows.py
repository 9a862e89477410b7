"""The rows of a large operator, inserted by SQL that generates them: a million takes seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bench.nodes import create_nodes
from bench.optics import PER_PORT, fill_history
from bench.traffic import fill_month, fill_traffic

if TYPE_CHECKING:
    from django.db.models import Model

_PER_SLOT: Final = 16
_NODES_OF_AN_OLT: Final = 10
_TASKS: Final = 4
_ADDRESS: Final = ("127.0.0.1", 9)
_HOUR_S: Final = 3600
_MAKER: Final = "00:25:9e:"


@dataclass(frozen=True, slots=True)
class Rows:
    olts: int = 500
    onus: int = 1_000_000
    executions: int = 300_000
    events: int = 300_000
    logs: int = 300_000
    hours: int = 48
    history_days: int = 30


def insert_rows(rows: Rows) -> None:
    """Fill the database with OLTs, ONUs, executions, events, history, quotas and logs."""
    create_nodes(rows.olts * _NODES_OF_AN_OLT, [_ADDRESS] * rows.olts)
    maker = _Maker(rows)
    maker.onus()
    maker.versions()
    maker.ports()
    maker.executions()
    maker.events()
    maker.history()
    maker.traffic()
    maker.quotas()
    maker.logs()
    maker.engine()
    _analyze()


class _Maker:
    def __init__(self, rows: Rows) -> None:
        from facho.apps.hosts.models import Olt
        from facho.apps.snmp_jobs.models import SnmpJobHost

        self.rows = rows
        self.now = int(time.time())
        self.first_olt, self.first_node = _first(Olt), _first(SnmpJobHost)
        self.nodes = rows.olts * _NODES_OF_AN_OLT
        self.per_olt = max(1, rows.onus // rows.olts)

    def onus(self) -> None:
        from facho.apps.discovery.models import Onu

        place = f"i % {self.per_olt}"
        slot, port = f"{place} / {PER_PORT * _PER_SLOT}", f"{place} / {PER_PORT} % {_PER_SLOT}"
        _insert(
            Onu,
            self.per_olt * self.rows.olts,
            olt_id=f"{self.first_olt} + i / {self.per_olt}",
            address=f"'0/' || ({slot}) || '/' || ({port}) || '/' || ({place} % {PER_PORT})",
            frame="0",
            slot=slot,
            port=port,
            onu_id=f"{place} % {PER_PORT}",
            serial="'HWTC' || (10000000 + i)",
            mac=_mac("i"),
            description="'customer ' || (i * 7919 % 1000000) || ' of ' || i",
            technology="'gpon'",
            # Twelve models with six firmwares each.
            model="'HG8' || (145 + i % 12)",
            sw_version="'V' || (5 + i % 12) || 'R0' || (10 + i / 12 % 6) || 'C00S125'",
            hw_version="'19' || (i % 3) || 'D.A'",
            state="CASE i % 20 WHEN 0 THEN 'los' WHEN 1 THEN 'dying_gasp' ELSE 'online' END",
            # One in 33 is weak.
            onu_rx_dbm="CASE i % 33 WHEN 0 THEN -28 ELSE -14 END - i % 12",
            olt_rx_dbm="-17 - i % 14",
            optical_state="CASE i % 33 WHEN 0 THEN 'weak' ELSE '' END",
            distance_m="i % 20000",
            first_seen=_timestamp(str(self.now - 86400)),
            last_seen=_timestamp(str(self.now - 86400)),
        )

    def versions(self) -> None:
        from facho.apps.discovery.versions import recount_versions
        from facho.apps.hosts.models import Olt

        for olt_id in Olt.objects.order_by("id").values_list("id", flat=True):
            recount_versions(olt_id)

    def ports(self) -> None:
        from facho.apps.chassis.models import PonPort

        each = -(-self.per_olt // PER_PORT)
        number = f"i % {each}"
        _insert(
            PonPort,
            each * self.rows.olts,
            olt_id=f"{self.first_olt} + i / {each}",
            place=f"'0/' || ({number} / {_PER_SLOT}) || '/' || ({number} % {_PER_SLOT})",
            frame="0",
            slot=f"{number} / {_PER_SLOT}",
            port=f"{number} % {_PER_SLOT}",
            state="'up'",
            updated_at=_timestamp(str(self.now)),
        )

    def executions(self) -> None:
        """Insert one for each five minutes of each node; the last of some nodes still wait."""
        from facho.apps.executions.models import Execution

        slot, waits = f"{self.now} - i / {self.nodes} * 300 - i % 300", f"i < {self.rows.olts // 5}"
        ran = f"CASE WHEN {waits} THEN NULL ELSE {_timestamp(f'{slot} + 1')} END"
        _insert(
            Execution,
            self.rows.executions,
            node_id=f"{self.first_node} + i % {self.nodes}",
            olt_id=f"{self.first_olt} + i % {self.nodes} % {self.rows.olts}",
            state=f"CASE WHEN {waits} THEN 'WAITING' WHEN i % 50 = 0 THEN 'FAILED' ELSE 'SUCCESS' END",
            trigger="'schedule'",
            slot=_timestamp(slot),
            not_before=_timestamp(slot),
            queued_at=_timestamp(slot),
            started_at=ran,
            ended_at=ran,
            delay_ms="i % 3000",
            attempt="1",
        )

    def events(self) -> None:
        from facho.apps.discovery.models import Onu, OnuEvent

        onus = self.per_olt * self.rows.olts
        # A few come and go, the others did once.
        onu = f"CASE WHEN i % 3 = 0 THEN i % {min(999, onus)} ELSE i * 7919 % {onus} END"
        _insert(
            OnuEvent,
            self.rows.events,
            olt_id=f"{self.first_olt} + ({onu}) / {self.per_olt}",
            onu_id=f"{_first(Onu)} + ({onu})",
            kind="CASE i % 2 WHEN 0 THEN 'online' ELSE 'offline' END",
            at=_timestamp(f"{self.now} - i"),
            serial=f"'HWTC' || (10000000 + ({onu}))",
            place="'0/1/' || i % 16 || ':' || i % 64",
            cause="'los'",
        )

    def history(self) -> None:
        """Insert a month of the port in the middle only: all ports would take hours."""
        from facho.apps.discovery.models import Onu

        middle = Onu.objects.order_by("id")[max(1, self.per_olt * self.rows.olts // 2) - 1]
        of_port = Onu.objects.filter(olt=middle.olt_id, slot=middle.slot, port=middle.port)
        fill_history(list(of_port.order_by("id")), self.now, self.rows.history_days)

    def traffic(self) -> None:
        """Insert that of all OLTs, and a month of the one in the middle."""
        olts = range(self.first_olt, self.first_olt + self.rows.olts)
        fill_traffic(olts, self.now)
        fill_month(olts[self.rows.olts // 2 - 1], self.now, self.rows.history_days)

    def quotas(self) -> None:
        from facho.apps.execution_coordinator.models import QuotaTracker, QuotaViolation

        hour = f"{self.now - self.now % _HOUR_S} - i / {self.rows.olts * _TASKS} * {_HOUR_S}"
        _insert(
            QuotaTracker,
            self.rows.olts * _TASKS * self.rows.hours,
            olt_id=f"{self.first_olt} + i % {self.rows.olts}",
            task_type=f"'table_fact_' || (i / {self.rows.olts} % {_TASKS})",
            quota_required="12",
            quota_completed="12",
            status="'COMPLETED'",
            **self._hour(hour),
            created_at=_timestamp(hour),
            updated_at=_timestamp(hour),
        )
        hour = f"{self.now - self.now % _HOUR_S} - i / {self.rows.olts} * {_HOUR_S}"
        _insert(
            QuotaViolation,
            self.rows.olts * self.rows.hours // 4,
            olt_id=f"{self.first_olt} + i % {self.rows.olts}",
            severity="'HIGH'",
            **self._hour(hour),
            created_at=_timestamp(f"{hour} + {_HOUR_S}"),
        )

    def _hour(self, start: str) -> dict[str, str]:
        return {"period_start": _timestamp(start), "period_end": _timestamp(f"{start} + {_HOUR_S}")}

    def logs(self) -> None:
        from facho.apps.execution_coordinator.models import CoordinatorLog

        _insert(
            CoordinatorLog,
            self.rows.logs,
            olt_id=f"{self.first_olt} + i % {self.rows.olts}",
            event_type="'TASK_ADDED'",
            level="'INFO'",
            message="'a task was added: number ' || i",
            timestamp=_timestamp(f"{self.now} - i"),
        )

    def engine(self) -> None:
        """Register pollers and a scheduler, as if an engine were running."""
        from facho.apps.db.database import database_now
        from facho.apps.execution_coordinator.models import CoordinatorState
        from facho.apps.zabbix_pollers.store import register_worker
        from facho.core.steps import SCHEDULER

        now = database_now()
        register_worker("bench", 10, now)
        CoordinatorState.objects.update_or_create(name=SCHEDULER, defaults={"updated_at": now})


def mac_of(number: int) -> str:
    """Return the MAC of the ONU with this number, as SQL made it."""
    digits = f"{number % 1_000_000:06}"
    return f"{_MAKER}{digits[:2]}:{digits[2:4]}:{digits[4:]}"


def _mac(number: str) -> str:
    digits = f"CAST(1000000 + {number} % 1000000 AS TEXT)"
    return f"'{_MAKER}' || " + " || ':' || ".join(f"substr({digits}, {at}, 2)" for at in (2, 4, 6))


def _first(model: type[Model]) -> int:
    return int(model._default_manager.order_by("id").values_list("id", flat=True)[0])


def _timestamp(epoch: str) -> str:
    from django.db import connection

    if connection.vendor == "postgresql":
        return f"to_timestamp({epoch})"
    return f"strftime('%Y-%m-%d %H:%M:%f', {epoch}, 'unixepoch')"


def _insert(model: type[Model], count: int, /, **expressions: str) -> None:
    """Insert rows whose columns are SQL expressions of `i`, from 0; other columns get their defaults."""
    from facho.apps.db import sql

    columns, values, parameters = [], [], []
    for name, (value, parameter) in _values(model, expressions).items():
        columns.append(f'"{name}"')
        values.append(value)
        parameters += parameter
    sql.execute(
        f"INSERT INTO {model._meta.db_table} ({', '.join(columns)})"  # noqa: S608  # all of it from here
        " WITH RECURSIVE numbers(i) AS"
        " (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < %s)"
        f" SELECT {', '.join(values)} FROM numbers",
        [count, *parameters],
    )


def _values(model: type[Model], expressions: Mapping[str, str]) -> dict[str, tuple[str, list[Any]]]:
    from django.db import connection

    found: dict[str, tuple[str, list[Any]]] = {}
    for field in model._meta.concrete_fields:
        column = field.attname
        if column in expressions:
            found[column] = (expressions[column].replace("%", "%%"), [])
        elif not (field.primary_key or field.null):
            found[column] = ("%s", [field.get_db_prep_save(field.get_default(), connection)])
    return found


def _analyze() -> None:
    """Do what autovacuum would have done long before there are so many rows."""
    from facho.apps.db import sql

    sql.execute("ANALYZE", [])
