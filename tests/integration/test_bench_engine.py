"""The benchmarks of the whole engine, so small that only their working is seen and not their speed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.harness import Spread
from tests.services.postgres import Postgres
from tests.services.redis import Redis

long = pytest.mark.skipif("TESTS_LONG" not in os.environ, reason="long, and run by make bench")


def bench(*arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as a person starts it."""
    environment = {**os.environ, **({} if home is None else {"FACHO_HOME": str(home)})}
    return subprocess.run(
        [sys.executable, "-m", "facho", "bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )


def result_of(*arguments: str, home: Path | None = None) -> Any:
    done = bench(*arguments, "--json", home=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@long
def test_collect_tells_what_a_value_costs_beside_snmpbulkwalk(
    tmp_path: Path, net_snmp: Callable[[str], str]
) -> None:
    net_snmp("snmpbulkwalk")
    told = result_of("collect", "--olts", "2", "--onus", "100", "--rounds", "1", home=tmp_path / "mine")
    assert told["values"] == 2 * 100 * 6
    for name in ("values_per_cpu_second", "ratio_to_snmpbulkwalk"):
        assert told[name] > 0
        assert told[f"first_{name}"] > 0
    # The operator's own installation is not even made.
    assert not (tmp_path / "mine").exists()


@long
def test_scheduler_tells_how_promptly_nodes_start(tmp_path: Path) -> None:
    told = result_of("scheduler", "--olts", "4", "--nodes", "600", "--seconds", "3", home=tmp_path / "mine")
    assert told["executions"] > 0
    for name in ("step_ms_p95", "start_delay_s_p99", "next_node_ms_p95", "all_due_step_ms"):
        assert told[name] > 0
    assert not (tmp_path / "mine").exists()


@long
def test_coordinator_tells_what_a_step_costs(tmp_path: Path) -> None:
    told = result_of(
        "coordinator", "--olts", "10", "--nodes", "50", "--steps", "3", "--hours", "2", home=tmp_path / "mine"
    )
    for name in ("first", "quiet", "changed", "new_hour", "closing", "state"):
        assert told[f"{name}_ms_p95"] > 0
    assert told["violations"] == 2 * 2
    assert 0 < told["quiet_queries"] < told["changed_queries"]


def test_a_database_with_tables_is_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "facho.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE precious (value)")
    done = bench("collect", "--database-url", f"sqlite:///{database}")
    assert done.returncode == 2
    assert "has tables already" in done.stderr
    with sqlite3.connect(database) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("precious",)]


def test_a_spread_is_told_by_its_percentiles() -> None:
    spread = Spread.of(float(number) for number in range(101))
    assert (spread.p50, spread.p95, spread.p99, spread.largest) == pytest.approx((50, 95, 99, 100))
    assert Spread.of([]).count == 0


@long
def test_workers_tell_how_throughput_grows(own_postgres: Postgres, own_redis: Redis) -> None:
    own_postgres.create_database("bench")
    servers = ("--database-url", own_postgres.url("bench"), "--broker-url", own_redis.url)
    small = ("--most", "1", "--rounds", "1", "--olts", "2", "--large-olts", "1", "--large-onus", "50")
    told = result_of("workers", *servers, *small)
    assert told["values_per_cpu_second"] > 0
    assert told["next_node_ms_p95"] > 0
    assert [(each["workers"], each["to_one_worker"]) for each in told["growth"]] == [(1, 1.0)]


_GROUPS = {"workers", "beat", "web", "database", "broker", "fleet"}
_SMALL_MILLION = ("--onus", "60", "--olts", "3", "--interval", "10", "--minutes", "0.2", "--sample", "60")


def check_million(told: Any) -> None:
    assert told["stored_equals_served"], told["differences"]
    assert told["compared_values"] == 60 * 8
    assert told["history_equals_served"], told["history_differences"]
    assert told["runs_due"] > 0
    assert told["skipped"] == told["missing"] == told["failed"] == told["overlaps"] == 0
    assert told["quotas"]["violations"] == told["quotas"]["failed"] == told["quotas"]["skipped"] == 0
    assert told["quotas"]["completed"] > 0
    assert set(told["cores"]) == set(told["memory_mib"]) == _GROUPS
    assert 0 < told["runs_on_time"] <= told["runs_due"]
    assert told["page_errors"] == 0
    assert told["delay_s_p50"] <= told["delay_s_p99"]
    for name in ("values_per_second", "bytes_per_onu_day", "page_ms_p95", "history_bytes_per_sample"):
        assert told[name] > 0
    for name in ("workers", "web", "fleet"):
        assert told["memory_mib"][name] > 0
    # Values move, or storing them would be too easy.
    assert 0 < told["changed_values_share"] < told["changed_onus_share"] < 1


def test_million_runs_a_whole_system_and_finds_stored_what_was_served(tmp_path: Path) -> None:
    check_million(result_of("million", *_SMALL_MILLION, home=tmp_path / "mine"))
    assert not (tmp_path / "mine").exists()


def test_million_counts_workers_and_servers_apart(own_postgres: Postgres, own_redis: Redis) -> None:
    own_postgres.create_database("bench")
    servers = ("--database-url", own_postgres.url("bench"), "--broker-url", own_redis.url)
    told = result_of("million", *_SMALL_MILLION, *servers, "--workers", "1", "--fleets", "2")
    check_million(told)
    for name in ("beat", "database", "broker"):
        assert told["memory_mib"][name] > 0
    assert told["database_counts"]["transactions"] > 0
