"""All metrics with their help texts. docs/reference/metrics.md lists them too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    SUMMARY = "summary"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A counter's name ends in `_total`; a summary and a histogram have `_sum`, `_count` and more."""

    name: str
    kind: Kind
    what: str
    labels: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """Return the names of its time series."""
        ends = {Kind.SUMMARY: ("_sum", "_count"), Kind.HISTOGRAM: ("_bucket", "_sum", "_count")}
        return tuple(self.name + end for end in ends.get(self.kind, ("",)))


def _gauge(name: str, what: str, *labels: str) -> Metric:
    return Metric(f"facho_{name}", Kind.GAUGE, what, labels)


def _counter(name: str, what: str, *labels: str) -> Metric:
    return Metric(f"facho_{name}_total", Kind.COUNTER, what, labels)


_OF_THE_SYSTEM: Final = (
    _gauge("build_info", "1; which version this is, and on what it runs", "version", "python", "database"),
    _gauge("step_age_seconds", "since the last step of a loop: scheduler or coordinator", "loop"),
    _gauge("workers", "processes with pollers and a recent heartbeat"),
    _gauge("pollers", "pollers of these workers"),
    _gauge("pollers_busy", "of these, those that have an execution"),
    _gauge("pollers_busy_ratio", "share of their time in the last minute that they worked, 0 to 1"),
    _gauge("pollers_saturated", "1 while that is above FACHO_SATURATED_ABOVE"),
    _gauge("queue_size", "executions whose time has come and that wait"),
    _gauge("queue_oldest_wait_seconds", "how long the first of them waits; 0 when none does"),
    _gauge("executions_open", "executions that have not ended: waiting, pending or running", "state"),
    _gauge("nodes", "nodes that are enabled; of these: suspended, and overdue (due and not queued)", "state"),
    _gauge("olts", "OLTs: enabled, disabled; of the enabled: suspended, unreachable, maintenance", "state"),
    _gauge("olts_without_trackers", "enabled OLTs with slots but no tracker in this hour"),
    _gauge("quotas", "quotas of this hour by their status", "status"),
    _gauge("quotas_at_risk", "quotas of this hour that can no longer be met"),
    _gauge("violations", "violations of the last 24 hours by severity", "severity"),
    _gauge("outages_open", "open outages of ports, by cause", "cause"),
    _gauge("notifications", "messages that wait, and those of the last 24 hours that failed", "status"),
    _gauge("log_lines_lost", "lines of the coordinator's log that were lost in the last 24 hours"),
    _gauge("database_bytes", "size of the database"),
    _gauge("disk_free_bytes", "room on the database's disk, if that can be seen from here"),
    _gauge("disk_days_left", "days until that is full; missing while it is not known, or if it never is"),
    _counter("remote_write_samples", "samples that the receiver of remote write took"),
    _counter(
        "remote_write_dropped",
        "samples that it never got: too old, refused by it, or in unreadable collections (one each)",
        "reason",
    ),
    _gauge("remote_write_backlog_seconds", "age of the oldest that was not sent; some minutes are usual"),
    _gauge("remote_write_olts_behind", "OLTs of which something waits for more than ten minutes"),
    _gauge("remote_write_failing", "1 while the receiver takes nothing"),
    _gauge("remote_write_success_age_seconds", "since it last took samples; missing before"),
    Metric(
        "facho_execution_duration_seconds",
        Kind.HISTOGRAM,
        "how long executions took that succeeded or failed, by the kind of their job",
        ("kind",),
    ),
)
_OF_EACH_OLT: Final = (
    _gauge("olt_info", "1; brand and site of an OLT", "olt", "brand", "site"),
    _gauge("olt_enabled", "1 if people have it enabled", "olt"),
    _gauge("olt_suspended", "1 while it is suspended, enabled and not under maintenance", "olt"),
    _gauge("olt_reachable", "1 if it answers; missing before it was ever asked", "olt"),
    _counter("executions", "executions that ended, by result: success or failed", "olt", "result"),
    Metric("facho_olt_execution_seconds", Kind.SUMMARY, "how long these took", ("olt",)),
    _counter("executions_delayed", "of these, those that began too late", "olt"),
    _counter("execution_delay_seconds", "by how much they began after their slots, added up", "olt"),
    _counter("retries", "attempts after the first", "olt"),
    _counter("retry_wait_seconds", "time between an attempt and the next, added up", "olt"),
    _counter("snmp_requests", "requests sent to it", "olt"),
    _counter("snmp_timeouts", "requests that got no answer in time", "olt"),
    _counter("snmp_varbinds", "values that it answered", "olt"),
    _counter("snmp_bytes", "bytes sent to it and received from it", "olt", "direction"),
    _counter("snmp_seconds", "time in which it was being asked", "olt"),
    _gauge(
        "olt_traffic_bits_per_second",
        "traffic of its ONUs, PON ports or uplinks together; missing while it is not collected or not known",
        "olt",
        "of",
        "direction",
    ),
    _counter("rates_dropped", "rates not stored: over (the line rate), resets, gaps", "olt", "of", "reason"),
    _gauge("onus", "its ONUs by state; absent are those that discoveries no longer find", "olt", "state"),
)
_OF_EACH_ONU: Final = (
    _gauge("onu_state", "1, with the state of an ONU", "olt", "onu", "place", "serial", "state"),
    _gauge("onu_rx_power_dbm", "power at the ONU", "olt", "onu", "place", "serial"),
    _gauge("onu_olt_rx_power_dbm", "power of the ONU at the OLT", "olt", "onu", "place", "serial"),
)

METRICS: Final = (*_OF_THE_SYSTEM, *_OF_EACH_OLT)
# On request only, for one OLT at a time: there may be a million of them.
ONU_METRICS: Final = _OF_EACH_ONU
EVERY: Final = {metric.name: metric for metric in (*METRICS, *ONU_METRICS)}
