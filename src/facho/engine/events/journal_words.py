"""Values of the coordinator's log: as people read them in a sentence, and as JSON keeps them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from facho.apps.written import localized
from facho.core.interval import format_interval
from facho.log_files import one_line
from facho.masking import masked

_MOST_LETTERS: Final = 60
_WORST: Final = 5


def shown(value: Any, zone: ZoneInfo) -> Any:
    """In a sentence, in the language that is active. Whole numbers stay what they are."""
    if isinstance(value, datetime):
        return f"{value.astimezone(zone):%Y-%m-%d %H:%M}"
    if isinstance(value, float):
        return localized(f"{value:g}")
    return value if isinstance(value, int) else str(value)


def plain(value: Any) -> Any:
    """What JSON and both databases take, without secrets."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return one_line(masked(str(value)))


def interval(seconds: float) -> str:
    return format_interval(timedelta(seconds=seconds))


def rounded(time: timedelta) -> str:
    """To the second, or to the minute when it is longer than ten: nobody reads 123457s."""
    step = timedelta(minutes=1) if time > timedelta(minutes=10) else timedelta(seconds=1)
    return format_interval(round(time / step) * step)


def what_changed(changed: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(
        f"{name}: {_short(before)} -> {_short(after)}" for name, (before, after) in changed.items()
    )


def tasks_told(report: Mapping[str, Any]) -> str:
    """Those that were not met, the worst first."""
    missed = sorted((task for task in report["tasks"] if task["severity"]), key=lambda task: task["percent"])
    told = (f"{each['task_type']} {each['completed']}/{each['required']}" for each in missed[:_WORST])
    return ", ".join(told)


def _short(value: Any) -> str:
    """Masked before it is cut: a part of a secret would not be found any more."""
    text = masked(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}..."
