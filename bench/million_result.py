"""The result of `facho bench million`, as a table with sentences and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.harness import Spread, table_of_numbers
from bench.million_figures import Quotas, Runs, Storage
from bench.million_system import GROUPS, ON_TIME_S, Work
from bench.served_values import Comparison
from facho.sim.report import OltReport


@dataclass(frozen=True, slots=True)
class Result:
    work: Work
    database: str
    seconds: float
    runs: Runs
    cpu_s: Mapping[str, float]
    memory_mib: Mapping[str, float]
    worker_peak_mib: float
    bench_cpu_s: float
    machine_cpu_s: float
    quotas: Quotas
    storage: Storage
    page_ms: Spread
    page_errors: int
    served: OltReport
    changed_values: float
    changed_onus: float
    comparison: Comparison
    # Of all collections of the window.
    history: Comparison
    database_counts: Mapping[str, int]
    discovery_s: float

    @property
    def values_per_second(self) -> float:
        return self.runs.values / self.seconds

    @property
    def cores(self) -> dict[str, float]:
        return {name: self.cpu_s.get(name, 0.0) / self.seconds for name in GROUPS}

    @property
    def cpu_ms_per_execution(self) -> float:
        """Return the CPU time of workers and beat for each execution that ended."""
        spent = sum(self.cpu_s.get(name, 0.0) for name in ("workers", "beat"))
        return spent / max(1, self.runs.ended) * 1000

    def _us_per_value(self, seconds: float) -> float:
        return seconds / max(1, self.runs.values) * 1e6

    def as_json(self) -> dict[str, Any]:
        work, runs, served = self.work, self.runs, self.served
        return {
            "values_per_second": round(self.values_per_second),
            "runs_due": runs.due,
            "runs_on_time": runs.on_time,
            "skipped": runs.skipped,
            "delay_s_p50": round(runs.delay_s.p50, 3),
            "delay_s_p99": round(runs.delay_s.p99, 3),
            "cores": {name: round(cores, 4) for name, cores in self.cores.items()},
            "memory_mib": {name: round(self.memory_mib.get(name, 0.0), 1) for name in GROUPS},
            "bytes_per_onu_day": round(self.storage.bytes_per_onu_day),
            "page_ms_p95": round(self.page_ms.p95, 1),
            "stored_equals_served": self.comparison.equal,
            "quotas": {
                **dict(self.quotas.statuses),
                "required": self.quotas.required,
                "completed": self.quotas.completed,
                "failed": self.quotas.failed,
                "skipped": self.quotas.skipped,
                "violations": self.quotas.violations,
            },
            "cpu_us_per_value": {
                **{name: round(self._us_per_value(self.cpu_s.get(name, 0.0)), 3) for name in GROUPS},
                "all": round(self._us_per_value(sum(self.cpu_s.values())), 3),
            },
            "cpu_s_per_30_s": {name: round(30 * cores, 2) for name, cores in self.cores.items()},
            "executions": runs.ended,
            "cpu_ms_per_execution": round(self.cpu_ms_per_execution, 2),
            "next_node_ms_p95": round(runs.next_node_ms.p95, 1),
            "next_nodes": runs.next_node_ms.count,
            "history_bytes_per_sample": round(self.storage.history_bytes_per_sample, 3),
            "history_frame_bytes_per_sample": round(self.storage.frame_bytes_per_sample, 3),
            "rows_bytes_per_onu_day": round(self.storage.rows_bytes_per_onu_day),
            "missing": runs.missing,
            "failed": runs.failed,
            "delay_s_max": round(runs.delay_s.largest, 3),
            "why_late": dict(runs.why_late),
            "duration_s": {
                name: {"p50": round(spread.p50, 3), "p95": round(spread.p95, 3)}
                for name, spread in runs.duration_s.items()
            },
            "worker_peak_rss_mib": round(self.worker_peak_mib, 1),
            "page_ms_p50": round(self.page_ms.p50, 1),
            "pages": self.page_ms.count,
            "page_errors": self.page_errors,
            "requests": served.requests,
            "get_requests": served.get,
            "walk_requests": served.get_bulk,
            "values_served": served.varbinds,
            "retransmissions": served.retransmissions,
            "overlaps": served.overlaps,
            "changed_values_share": round(self.changed_values, 3),
            "changed_onus_share": round(self.changed_onus, 3),
            "compared_values": self.comparison.values,
            "differences": list(self.comparison.differences),
            "history_equals_served": self.history.equal,
            "compared_samples": self.history.values,
            "history_differences": list(self.history.differences),
            "database_counts": dict(self.database_counts),
            "machine_cores": round(self.machine_cpu_s / self.seconds, 3),
            "bench_cores": round(self.bench_cpu_s / self.seconds, 3),
            "database": self.database,
            "olts": work.olts,
            "onus": work.all_onus,
            "interval_s": work.interval_s,
            "get_interval_s": work.get_interval_s,
            "traffic": work.traffic,
            "seconds": round(self.seconds, 1),
            "workers": work.workers,
            "pollers": work.pollers,
            "discovery_s": round(self.discovery_s, 1),
        }

    def print(self) -> None:
        console = Console()
        console.print(self._cost_table())
        runs, quotas, storage = self.runs, self.quotas, self.storage
        ontime = f"{runs.on_time:,} within {ON_TIME_S:g} s" if runs.due else "none"
        statuses = ", ".join(f"{count:,} {name}" for name, count in sorted(quotas.statuses.items()))
        for line in (
            f"{self.values_per_second:,.0f} values per second; {self.changed_values:.0%} of the values, of "
            f"{self.changed_onus:.0%} of the ONUs, differ from those of the interval before.",
            f"{runs.due:,} runs due, {ontime}; {runs.skipped:,} skipped, {runs.missing:,} not begun, "
            f"{runs.failed:,} failed. Delay: p50 {runs.delay_s.p50:.2f} s, p99 {runs.delay_s.p99:.2f} s, "
            f"at most {runs.delay_s.largest:.2f} s.",
            f"{runs.ended / self.seconds:,.1f} executions per second, {self.cpu_ms_per_execution:.1f} ms of "
            f"CPU for each without the database; next node of an OLT: p95 {runs.next_node_ms.p95:,.0f} ms.",
            f"Quotas: {statuses}; {quotas.completed:,} of {quotas.required:,} slots completed so far, "
            f"{quotas.failed:,} failed, {quotas.skipped:,} skipped; {quotas.violations:,} violations.",
            f"{storage.bytes_per_onu_day:,.0f} bytes per ONU and day: "
            f"{storage.history_bytes_per_sample:.2f} for a sample in a closed hour of history "
            f"({storage.frame_bytes_per_sample:.2f} in an open one), "
            f"{storage.rows_bytes_per_onu_day:,.0f} for executions and events, without indexes.",
            f"Dashboard, once a second: p95 {self.page_ms.p95:,.0f} ms of {self.page_ms.count:,}, "
            f"{self.page_errors} errors.",
            f"{self.served.requests:,} requests for {self.served.varbinds:,} values, "
            f"{self.served.retransmissions:,} of them repeated.",
            f"Values now stored and served: {_sentence(self.comparison)}",
            f"History and served: {_sentence(self.history)}",
        ):
            console.print(line)

    def _cost_table(self) -> Table:
        work = self.work
        table = table_of_numbers(
            f"{work.all_onus:,} ONUs of {work.olts:,} OLTs, {work.values_of_onu} values every "
            f"{work.interval_s} s, {self.database}, {self.seconds:.0f} s",
            "part",
            "cores",
            "CPU-seconds in 30 s",
            "us per value",
            "memory (PSS)",
        )
        rows = [(name, self.cpu_s.get(name, 0.0)) for name in GROUPS]
        for name, cpu_s in (*rows, ("all", sum(self.cpu_s.values()))):
            memory = self.memory_mib.get(name, 0.0) if name != "all" else sum(self.memory_mib.values())
            table.add_row(
                name,
                f"{cpu_s / self.seconds:.3f}",
                f"{30 * cpu_s / self.seconds:.2f}",
                f"{self._us_per_value(cpu_s):.2f}",
                f"{memory:,.0f} MiB",
            )
        return table


def _sentence(compared: Comparison) -> str:
    if compared.equal:
        return f"{compared.values:,} values compared, all equal."
    return "; ".join(("DIFFERENT", *compared.differences))
