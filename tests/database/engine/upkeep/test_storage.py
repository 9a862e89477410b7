"""How the database grows is measured each hour, and the doctor says how long its disk lasts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from facho.apps.db.database import sqlite_bytes
from facho.apps.discovery.models import OnuEvent
from facho.apps.execution_coordinator.models import CoordinatorState, StorageSample
from facho.cli.doctor import print_checkup
from facho.cli.doctor.database import check_system
from facho.cli.doctor.findings import Checkup, Finding, Level
from facho.cli.doctor.storage import check_disk, check_retention, format_size
from facho.config import Config
from facho.core.disk import Room
from facho.engine.upkeep import storage
from facho.engine.upkeep.storage import database_room, measure_storage, take_sample
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
CONFIG = Config()
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
GB = 10**9
MB = 10**6

Measured = Callable[..., Finding]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    """What the doctor says of a database that grew so fast for so long, and of what is free now."""

    def told(
        *,
        per_day: int,
        hours: int,
        free: int | None,
        total: int = 100 * GB,
        taken: int = 0,
        database: int = 2_100 * MB,
    ) -> Finding:
        StorageSample.objects.bulk_create(
            StorageSample(
                at=NOW - ago * HOUR,
                database_bytes=database - ago * per_day // 24,
                free_bytes=None if free is None else free + ago * (per_day + taken) // 24,
            )
            for ago in range(1, hours + 1)
        )
        monkeypatch.setattr(storage, "database_bytes", lambda: database)
        monkeypatch.setattr(storage, "database_room", lambda: None if free is None else Room(free, total))
        return check_disk(NOW, CONFIG)

    return told


def test_a_sample_is_taken_once_an_hour_by_whomever() -> None:
    taken = [take_sample(NOW + minutes * timedelta(minutes=1), CONFIG) for minutes in (0, 1, 59, 60, 61)]
    assert [sample is not None for sample in taken] == [True, False, False, True, False]
    assert [row.at for row in StorageSample.objects.order_by("at")] == [NOW, NOW + HOUR]


def test_a_sample_from_the_future_keeps_nobody_from_taking_one() -> None:
    take_sample(NOW + 30 * DAY, CONFIG)
    assert take_sample(NOW, CONFIG) is not None


def test_the_database_and_its_disk_are_measured() -> None:
    sample = measure_storage(NOW, database_room())
    seen = database_room()
    # The server of the tests is on this machine, reached by a socket.
    assert seen is not None
    assert sample.free_bytes is not None
    assert abs(sample.free_bytes - seen.free) < GB
    assert 100_000 < sample.database_bytes < GB


def test_the_log_of_a_sqlite_database_counts(tmp_path: Path) -> None:
    (tmp_path / "facho.db").write_bytes(b"1" * 1000)
    assert sqlite_bytes(tmp_path / "facho.db") == 1000
    (tmp_path / "facho.db-wal").write_bytes(b"1" * 234)
    assert sqlite_bytes(tmp_path / "facho.db") == 1234


def test_a_server_that_does_not_tell_us_its_folder_is_measured_all_the_same() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no roles")
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE plain; SET LOCAL ROLE plain")
        sample = measure_storage(NOW, database_room())
        cursor.execute("RESET ROLE; DROP ROLE plain")
    assert sample.free_bytes is None
    assert sample.database_bytes > 100_000


def test_a_disk_that_cannot_be_seen_is_unknown(tmp_path: Path) -> None:
    assert storage.room_of_folder(tmp_path / "elsewhere") is None


def test_how_long_it_lasts(measured: Measured) -> None:
    found = measured(per_day=310 * MB, hours=48, free=44_330 * MB)
    assert (found.level, found.what) == (Level.OK, "disk")
    assert found.told == "lasts 143 days (database 2.1 GB, grows 310 MB a day, 44 GB free)"


@pytest.mark.parametrize(
    ("per_day", "free", "total", "level"),
    [
        (1 * GB, 15 * GB, 100 * GB, Level.OK),
        (1 * GB, 13 * GB, 100 * GB, Level.WARNING),
        (5 * GB, 9 * GB, 100 * GB, Level.ERROR),
        (1 * MB, GB - 1, 10 * GB, Level.ERROR),
        (1 * MB, 40 * GB, 1000 * GB, Level.ERROR),
    ],
)
def test_how_bad_it_is(measured: Measured, per_day: int, free: int, total: int, level: Level) -> None:
    found = measured(per_day=per_day, hours=24, free=free, total=total, database=90 * GB)
    assert found.level is level
    assert (found.do == "") == (level is Level.OK)


def test_the_first_hours_are_not_alarming(measured: Measured) -> None:
    found = measured(per_day=30 * GB, hours=3, free=30 * GB, database=9 * GB)
    assert (found.level, found.told.split(" (")[0]) == (
        Level.OK,
        "lasts about 1.0 days, a reliable forecast needs six hours of data",
    )


@pytest.mark.parametrize(
    ("hours", "per_day", "free", "told"),
    [
        (0, 0, 44 * GB, "a forecast needs six hours of data (database 2.1 GB, 44 GB free)"),
        (48, 0, 44 * GB, "the database does not grow (database 2.1 GB, 44 GB free)"),
        (48, 1000, 44 * GB, "lasts more than 10 years (database 2.1 GB, grows 1.0 kB a day, 44 GB free)"),
        (
            24,
            1_200 * MB,
            None,
            "the database's disk cannot be seen from here (database 2.1 GB, grows 1.2 GB a day)",
        ),
    ],
)
def test_what_else_can_be_told(
    measured: Measured, hours: int, per_day: int, free: int | None, told: str
) -> None:
    found = measured(per_day=per_day, hours=hours, free=free)
    assert (found.level, found.told) == (Level.OK, told)


def test_what_other_programs_take_is_told(measured: Measured) -> None:
    found = measured(per_day=240 * MB, hours=48, free=24 * GB, taken=4_560 * MB)
    assert found.level is Level.WARNING
    assert found.told == (
        "lasts 5.0 days (database 2.1 GB, grows 240 MB a day, 24 GB free, "
        "less by 4.8 GB a day, mostly because of other programs)"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (310 * MB, "310 MB"), (2.14 * GB, "2.1 GB"), (3e12, "3.0 TB")],
)
def test_sizes_are_short(number: float, text: str) -> None:
    assert format_size(number) == text


def had_a_turn(last: datetime, since: datetime = NOW - DAY, **failed: str) -> None:
    value = {"since": since.isoformat(), "rows": {}, "failed": failed}
    CoordinatorState.objects.create(name="retention", value=value, updated_at=last)


def test_a_retention_that_has_its_turns_is_well() -> None:
    had_a_turn(NOW - timedelta(seconds=20))
    assert check_retention(NOW, CONFIG).told == "its last run was 20 s ago"
    assert check_retention(NOW, CONFIG).level is Level.OK


def test_a_retention_that_has_none_is_told_with_the_tables_that_are_too_long() -> None:
    assert check_retention(NOW, CONFIG).told == "it has never run"
    had_a_turn(NOW - 3 * HOUR)
    assert check_retention(NOW, CONFIG).told == "its last run was 3 h ago"
    OnuEvent.objects.create(olt=make_olt(), kind="new", at=NOW - 370 * DAY)
    found = check_retention(NOW, CONFIG)
    assert found.told == "its last run was 3 h ago; old rows left: onu_events (by 5 days)"
    assert (found.level, found.do) == (Level.WARNING, "start the engine: facho up")


def test_tables_that_could_not_be_shortened_are_named() -> None:
    had_a_turn(NOW, snmp_executions="disk full")
    found = check_retention(NOW, CONFIG)
    assert (found.level, found.told) == (
        Level.WARNING,
        "could not remove old rows of snmp_executions (disk full)",
    )


def test_a_table_that_is_shortened_too_slowly_is_named() -> None:
    had_a_turn(NOW)
    OnuEvent.objects.create(olt=make_olt(), kind="new", at=NOW - 375 * DAY)
    assert check_retention(NOW, CONFIG).told == "old rows left: onu_events (by 10 days)"


def test_before_the_clock_is_believed_nothing_is_too_slow() -> None:
    had_a_turn(NOW, since=NOW - timedelta(minutes=5))
    OnuEvent.objects.create(olt=make_olt(), kind="new", at=NOW - 375 * DAY)
    assert check_retention(NOW, CONFIG).level is Level.OK


def test_the_doctor_tells_both_also_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    checkup = Checkup()
    checkup.findings.extend(check_system(CONFIG, checkup))
    print_checkup(checkup, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert {"retention", "disk"} <= {finding["what"] for finding in told["findings"]}
