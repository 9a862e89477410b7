"""How long the tasks of an OLT are expected to take, for people and for scripts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from facho.apps.execution_coordinator.models import TaskForecast
from facho.cli.acting.showing import print_titled
from facho.config import current
from facho.core.durations import duration
from facho.engine.coordinate.forecasts import predict_durations

_COLUMNS: Final = ("task", "expected", "95 of 100 within", "error", "runs")


def told(olt_id: int, now: datetime) -> list[dict[str, Any]]:
    """`runs` is 0 and `error_pct` null for what never ran there, and is a guess."""
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


def print_told(rows: list[dict[str, Any]]) -> None:
    print_titled("How long its tasks take", [_row(each) for each in rows], _COLUMNS)


def _row(told: dict[str, Any]) -> dict[str, Any]:
    error = told["error_pct"]
    return {
        "task": told["task_type"],
        "expected": duration(timedelta(seconds=told["predicted_s"])),
        "95 of 100 within": duration(timedelta(seconds=told["p95_s"])),
        "error": "not known yet" if error is None else f"{error:.0f} %",
        "runs": told["runs"] or "none yet: a guess",
    }
