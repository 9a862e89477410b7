"""Texts about executions: why they wait, their results, and the runs of the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from facho.apps.executions.delay_texts import DELAY_TEXTS
from facho.apps.executions.models import State
from facho.apps.executions.selectors import QueuedExecution, WaitCause
from facho.apps.localized_numbers import duration
from facho.apps.localized_times import clock
from facho.core.delay import Why
from facho.web.components.timeline import Lane, TimelineRun

if TYPE_CHECKING:
    # It becomes a string in the reader's language.
    from django.utils.functional import _StrPromise as Text

OUTCOMES: Final[Mapping[str, Text]] = {
    "success": State.SUCCESS.label,
    "failed": State.FAILED.label,
    "skipped": _("skipped"),
}
FIGURES: Final[Mapping[str, Text | str]] = {
    "rows": _("rows read"),
    "unanswered": _("ONUs without answer"),
    "new": _("new ONUs"),
    "moved": _("moved ONUs"),
    "changed": _("changed ONUs"),
    "absent": _("absent ONUs"),
    "returned": _("returned ONUs"),
    "unknown": _("places without a known ONU"),
    "other": _("places with another ONU"),
    "duplicates": _("duplicate serials"),
    "onus": "ONUs",
    "requests": _("requests"),
    "timeouts": _("requests without answer"),
    "varbinds": _("values requested"),
    "bytes_sent": _("bytes sent"),
    "bytes_received": _("bytes received"),
    "seconds": _("seconds of SNMP"),
}


def wait_reason(queued: QueuedExecution) -> str:
    """Return why an execution has not started."""
    if queued.reason is WaitCause.RETRY:
        return gettext("retry at %(time)s") % {"time": clock(queued.since)}
    if queued.because_of:
        return _WAIT_REASONS[queued.reason] % {"job": queued.because_of}
    return str(_WAIT_REASONS_WITHOUT_JOB.get(queued.reason) or _WAIT_REASONS[queued.reason])


_WAIT_REASONS: Final[Mapping[WaitCause, Text]] = {
    WaitCause.STARTING: _("starting"),
    WaitCause.OLT_BUSY: _("OLT busy with %(job)s"),
    WaitCause.BEHIND: _("behind %(job)s on the same OLT"),
    WaitCause.POLLERS_BUSY: _("all pollers busy"),
    WaitCause.NO_POLLERS: _("no active poller"),
}
# A collection by hand has no job.
_WAIT_REASONS_WITHOUT_JOB: Final[Mapping[WaitCause, Text]] = {
    WaitCause.OLT_BUSY: _("OLT busy with a manual execution"),
    WaitCause.BEHIND: _("behind another execution on the same OLT"),
}


def describe_run(run: TimelineRun) -> str:
    """Return `Optics, success, 10:05:00, 3.2 s; 12 s late: OLT busy with discovery`."""
    outcome = gettext("planned") if run.execution_id is None else str(State(run.outcome).label)
    texts = [run.job or gettext("by hand"), outcome, clock(run.start)]
    if run.length is not None:
        texts.append(duration(run.length))
    text = ", ".join(texts)
    if not run.late:
        return text
    late = gettext("%(delay)s late") % {"delay": duration(run.delay)}
    return f"{text}; {late}: {_late_reason(run)}" if run.why or run.waited_for else f"{text}; {late}"


def _late_reason(run: TimelineRun) -> str:
    if run.waited_for and run.why in ("", Why.OLT_BUSY):
        return str(_WAIT_REASONS[WaitCause.OLT_BUSY] % {"job": run.waited_for})
    return str(DELAY_TEXTS.get(run.why, run.why))


def describe_lane(lane: Lane) -> str:
    """Return the text of a lane for screen readers."""
    return gettext(
        "%(olt)s: %(success)d succeeded, %(failed)d failed, %(aborted)d aborted, %(late)d late, "
        "%(planned)d planned"
    ) % {
        "olt": lane.olt,
        "success": lane.count(State.SUCCESS),
        "failed": lane.count(State.FAILED),
        "aborted": lane.count(State.ABORTED),
        "late": lane.late,
        "planned": lane.count("PLANNED"),
    }
