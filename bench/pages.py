"""The pages and API addresses that `facho bench web` measures."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

from bench.optics import PER_PORT
from bench.rows import Rows, mac_of


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    path: str
    goal_ms: float = 200.0
    most_bytes: int | None = None


def pages(rows: Rows) -> tuple[Page, ...]:
    """Return all pages, for an ONU and an OLT in the middle of the rows."""
    onu, olt = rows.onus // 2, rows.olts // 2
    serial, mac = f"HWTC{10000000 + onu}", mac_of(onu)
    port = (olt - 1) * -(-(rows.onus // rows.olts) // PER_PORT) + 1
    return (
        Page("dashboard", "/coordinator/dashboard/"),
        Page("dashboard, its poll", "/coordinator/dashboard/live/", 50, 30_000),
        Page("page of OLTs", "/olts/"),
        Page("page of an OLT", f"/olts/{olt}/"),
        Page("page of an OLT, ONUs and ports", f"/olts/{olt}/ports/"),
        Page("page of an OLT, hardware", f"/olts/{olt}/hardware/"),
        Page("page of an OLT, hardware of a month", f"/olts/{olt}/hardware/?hours=720"),
        Page("page of an OLT, traffic", f"/olts/{olt}/traffic/"),
        Page("page of an OLT, traffic of a month", f"/olts/{olt}/traffic/?hours=720"),
        Page("page of an OLT, collection", f"/olts/{olt}/collection/"),
        Page("page of an OLT, load", f"/olts/{olt}/load/"),
        Page("page of an OLT, events", f"/olts/{olt}/events/"),
        Page("page of an OLT, poll of its head", f"/olts/{olt}/live/"),
        Page("page of an OLT, poll of its overview", f"/olts/{olt}/overview/part/"),
        Page("page of an OLT, poll of its collection", f"/olts/{olt}/collection/part/"),
        Page("page of a port", f"/olts/{olt}/ports/{port}/"),
        Page("page of an ONU", f"/onus/{onu}/"),
        Page("page of an ONU, a month", f"/onus/{onu}/?days=30"),
        Page("versions", "/versions/"),
        Page("versions, of an OLT", f"/versions/?olt={olt}"),
        Page("worst ONUs by power", "/onus/worst/"),
        Page("worst ONUs by power, of an OLT", f"/onus/worst/?olt={olt}"),
        Page("worst ONUs by flapping", "/onus/worst/?by=flaps"),
        Page("worst ONUs by flapping, a week", "/onus/worst/?by=flaps&days=7"),
        Page("traffic", "/traffic/"),
        Page("traffic, of an OLT", f"/traffic/?olt={olt}"),
        Page("unprovisioned ONUs", "/onus/unprovisioned/"),
        Page("search: beginning of a serial", f"/search/?q={serial[:9]}"),
        Page("search: middle of a serial", f"/search/?q={serial[3:10]}"),
        Page("search: beginning of a MAC", f"/search/?q={mac[:13]}"),
        Page("search: middle of a MAC", f"/search/?q={mac[6:16]}"),
        Page("search: beginning of a description", f"/search/?q=customer+{onu % 1000}"),
        Page("search: middle of a description", f"/search/?q=of+{onu}"),
        Page("search: address of an OLT", "/search/?q=127.0.0"),
        Page("search: a port", "/search/?q=0/1/3"),
        Page("first run", "/start/"),
        Page("first run, its jobs", f"/start/{olt}/jobs/"),
        Page("first run, its ONUs", f"/start/{olt}/wait/"),
        Page("OLTs", "/api/v1/olts/"),
        Page("ONUs", "/api/v1/onus/"),
        Page("ONUs, far inside", f"/api/v1/onus/?cursor={_cursor('id', onu)}"),
        Page("ONUs of an OLT", f"/api/v1/onus/?olt={olt}"),
        Page("ONUs without light", "/api/v1/onus/?state=los"),
        Page("ONUs by serial", f"/api/v1/onus/?q={serial[:10]}"),
        Page("ONUs by description", f"/api/v1/onus/?q=customer+{onu % 1000}"),
        Page("versions, counted", "/api/v1/versions/"),
        Page("ONUs by firmware", "/api/v1/onus/?sw_version=V5R010C00S125"),
        Page("ONUs by model and hardware", "/api/v1/onus/?model=HG8145&hw_version=190D.A"),
        Page("ONU", f"/api/v1/onus/{onu}/"),
        Page("ONU, its history", f"/api/v1/onus/{onu}/history/"),
        Page("ports", "/api/v1/ports/"),
        Page("traffic of OLTs", "/api/v1/traffic/"),
        Page("traffic, its highest", "/api/v1/traffic/top/"),
        Page("traffic, the use of PONs", f"/api/v1/olts/{olt}/pons/"),
        Page("executions", "/api/v1/executions/"),
        Page("executions that failed", "/api/v1/executions/?state=FAILED"),
        Page("events", "/api/v1/events/"),
        Page("quotas", "/api/v1/quotas/"),
        Page("violations", "/api/v1/violations/"),
        Page("log", "/api/v1/logs/"),
        Page("queue", "/api/v1/pollers/queue/"),
        Page("coordinator", "/api/v1/coordinator/"),
        Page("metrics", "/metrics"),
        Page("health", "/health"),
        Page("admin: OLTs", "/admin/hosts/olt/"),
        Page("admin: ONUs", "/admin/discovery/onu/"),
        Page("admin: ONUs by firmware", "/admin/discovery/onu/?model=HG8145&sw_version=V5R010C00S125"),
        Page("admin: ONUs by serial", f"/admin/discovery/onu/?q={serial}"),
        Page("admin: ONUs of an OLT by power", f"/admin/discovery/onu/?olt__id__exact={olt}&o=6"),
        Page("admin: events", "/admin/discovery/onuevent/"),
        Page("admin: ports", "/admin/chassis/ponport/"),
        Page("admin: jobs", "/admin/snmp_jobs/snmpjob/"),
        Page("admin: nodes", "/admin/snmp_jobs/snmpjobhost/"),
        Page("admin: executions", "/admin/executions/execution/"),
        Page("admin: quotas", "/admin/execution_coordinator/quotatracker/"),
        Page("admin: violations", "/admin/execution_coordinator/quotaviolation/"),
        Page("admin: log", "/admin/execution_coordinator/coordinatorlog/"),
    )


def _cursor(column: str, number: int) -> str:
    """Encode a cursor as the API does."""
    return base64.urlsafe_b64encode(json.dumps(["n", column, number, number]).encode()).decode()
