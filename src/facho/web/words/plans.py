"""Proposals for an OLT whose work does not fit in an hour, or whose tasks wait for each other."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext

from facho.core.feasibility import Shift
from facho.core.interval import interval_words


def describe_slower_job(infeasible: Mapping[str, Any] | None) -> str:
    """Return what has to run less often, or an empty text when all work fits."""
    if not infeasible:
        return ""
    change = infeasible["change"]
    if not change:
        return gettext("More than one job has to run less often.")
    return gettext("It would fit with %(job)s every %(after)s instead of every %(before)s.") % {
        "job": change["job"],
        "before": interval_words(timedelta(seconds=change["before_s"])),
        "after": interval_words(timedelta(seconds=change["after_s"])),
    }


def describe_shift(shift: Shift) -> str:
    minutes = round(shift.saves.total_seconds() / 60)
    values = {"job": shift.job, "by": interval_words(shift.by), "minutes": minutes}
    return gettext("Shift %(job)s by %(by)s: %(minutes)d min less waiting per day.") % values
