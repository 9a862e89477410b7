"""Texts about the hours of quotas, for pages and notifications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.localized_numbers import about, duration
from facho.apps.localized_times import date_and_minute, minute_clock
from facho.apps.reason_words import reason_words
from facho.core.delay import Why
from facho.core.forecast import TypicalError
from facho.core.lost_slots import LostSlots
from facho.core.quota import ABORTED, FAILED, LATE, OTHER
from facho.core.violation_report import TaskReport

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Text

# Why a slot was lost: what makes runs late, and more.
WHY_LOST: Final[Mapping[str, Text]] = {
    **DELAY_TEXTS,
    FAILED: _("execution failed"),
    ABORTED: _("execution aborted"),
    LATE: _("ended after the hour was closed"),
    OTHER: _("other reason"),
}


def hour_in_words(start: datetime, end: datetime) -> str:
    """Return `2025-06-10 10:00-11:00`, in the active time zone."""
    return f"{date_and_minute(start)}\N{EN DASH}{minute_clock(end)}"


def hours_of_clock(start: datetime, end: datetime) -> str:
    """Return `10:00-11:00`, in the active time zone."""
    return f"{minute_clock(start)}\N{EN DASH}{minute_clock(end)}"


def why_lost(lost: LostSlots) -> str:
    """Return the reason without figures: `OLT busy with discovery`, `failed: no answer`."""
    why = str(WHY_LOST.get(lost.why, lost.why))
    if not lost.what:
        return why
    if lost.why == Why.OLT_BUSY:
        return gettext("OLT busy with %(job)s") % {"job": reason_words(lost.what)}
    return f"{why}: {reason_words(lost.what)}"


def lost_in_words(lost: LostSlots) -> str:
    """Return `OLT busy with discovery, 8 slots, 40 min`."""
    text = ngettext("%(why)s, %(count)d slot, %(time)s", "%(why)s, %(count)d slots, %(time)s", lost.count)
    return text % {
        "why": why_lost(lost),
        "count": lost.count,
        "time": about(timedelta(seconds=lost.lost_s)),
    }


def missed_in_words(tasks: Iterable[TaskReport], *, at_most: int = 3) -> str:
    """Return the tasks that missed their quota: `discovery 2 of 4, get_power 5 of 12`."""
    missed = [task for task in tasks if task.severity]
    text = ", ".join(
        pgettext("task", "%(task)s %(completed)d of %(required)d")
        % {"task": task.task_type, "completed": task.completed, "required": task.required}
        for task in missed[:at_most]
    )
    more = len(missed) - at_most
    return text if more <= 0 else gettext("%(tasks)s and %(count)d more") % {"tasks": text, "count": more}


def error_in_words(typical: TypicalError) -> str:
    """Return `usually within 2 s (8 %)`."""
    said = {"time": duration(timedelta(seconds=typical.seconds)), "percent": f"{typical.percent:.0f}"}
    return gettext("usually within %(time)s (%(percent)s %%)") % said
