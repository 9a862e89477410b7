"""Windows in which OLTs are left alone: add, change, end and remove them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import olts_of
from facho.config import current
from facho.core.maintenance import LONGEST_WEEKLY, WEEKDAYS, first_overlap, span_at, spans
from facho.engine.commands.checks import name_of, no_such, seconds_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import olt_named
from facho.engine.coordinate.changes import replan
from facho.engine.coordinate.maintenance import abort_unwanted, report_windows
from facho.engine.process.command_transaction import command

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """Of an OLT or of a site. Once, from `starts_at` to `ends_at`; or on weekdays, at `start`, so long."""

    name: str
    olt: str = ""
    site: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    weekdays: Sequence[str] = ()
    start: time | None = None
    duration: str | timedelta | None = None
    enabled: bool = True


@command
def add_window(new: Window, now: datetime) -> MaintenanceWindow:
    return _save(MaintenanceWindow(created_at=now), new, now)


@command
def change_window(window_id: int, wanted: Window, now: datetime) -> MaintenanceWindow:
    """All of it is as it is wanted now."""
    window = MaintenanceWindow.objects.get(id=window_id)
    before = _olts([window_id])
    # What was ended by hand is over, and what comes is another window.
    window.ended_at = None
    return _save(window, wanted, now, before)


@command
def end_window(name: str, now: datetime) -> MaintenanceWindow:
    """The one that lasts now ends now; a weekly one comes again in its time."""
    window = window_named(name)
    lasting = span_at(spans(window.plan, now, now + _TICK, current().time_zone), now)
    if lasting is None or not window.enabled or lasting[0] == now:
        raise CommandError("name", _("'%(name)s' is not under way") % {"name": name})
    if window.weekdays:
        window.ended_at = now
    else:
        window.ends_at = now
    window.save(update_fields=["ends_at", "ended_at"])
    _replan(_olts([window.id]), now)
    return window


@command
def switch_windows(names: Sequence[str], now: datetime, *, enabled: bool) -> None:
    windows = [window_named(name) for name in names]
    for window in windows:
        window.enabled = enabled
        if enabled:
            _refuse_overlap(window, now)
        window.save(update_fields=["enabled"])
    _replan(_olts(window.id for window in windows), now)


@command
def remove_windows(names: Sequence[str], now: datetime) -> None:
    """What lasts ends with them."""
    ids = [window_named(name).id for name in names]
    olt_ids = _olts(ids)
    MaintenanceWindow.objects.filter(id__in=ids).update(enabled=False)
    _replan(olt_ids, now)
    MaintenanceWindow.objects.filter(id__in=ids).delete()


def window_named(name: str) -> MaintenanceWindow:
    found = MaintenanceWindow.objects.filter(name=name).select_related("olt").first()
    if found is None:
        known = MaintenanceWindow.objects.values_list("name", flat=True)
        raise CommandError("name", no_such(_("maintenance window"), name, known))
    return found


def _save(
    window: MaintenanceWindow, wanted: Window, now: datetime, before: Iterable[int] = ()
) -> MaintenanceWindow:
    window.name = _free_name(wanted.name, window.pk or 0)
    window.olt, window.site = _target(wanted)
    for column, value in _times(wanted, now).items():
        setattr(window, column, value)
    window.enabled = wanted.enabled
    if window.enabled:
        _refuse_overlap(window, now)
    window.save()
    _replan([*before, *_olts([window.id])], now)
    return window


def _free_name(name: str, own_id: int) -> str:
    name = name_of(name)
    if MaintenanceWindow.objects.filter(name=name).exclude(id=own_id).exists():
        raise CommandError("name", _("there is a window named '%(name)s' already") % {"name": name})
    return name


def _target(wanted: Window) -> tuple[Olt | None, str]:
    site = wanted.site.strip()
    if bool(wanted.olt) == bool(site):
        raise CommandError("olt", _("a window is about an OLT or a site: name one of them"))
    if wanted.olt:
        return olt_named(wanted.olt), ""
    sites = Olt.objects.exclude(site="").order_by("site").values_list("site", flat=True).distinct()
    if site not in sites:
        there_are = ", ".join(sites) or _("none")
        said = {"site": site, "sites": there_are}
        raise CommandError("site", _("no OLT is at the site '%(site)s'; the sites are: %(sites)s") % said)
    return None, site


def _times(wanted: Window, now: datetime) -> dict[str, Any]:
    is_weekly = bool(wanted.weekdays) or wanted.start is not None
    return _weekly(wanted) if is_weekly else _once(wanted, now)


def _once(wanted: Window, now: datetime) -> dict[str, Any]:
    if wanted.starts_at is None:
        raise CommandError("starts_at", _("say when it starts, or on which weekdays"))
    ends_at = wanted.ends_at
    if ends_at is None and wanted.duration is not None:
        ends_at = wanted.starts_at + timedelta(seconds=seconds_of(wanted.duration, "duration"))
    if ends_at is None:
        raise CommandError("ends_at", _("say when it ends"))
    if ends_at <= wanted.starts_at:
        raise CommandError("ends_at", _("it would end before it starts"))
    if ends_at <= now:
        raise CommandError("ends_at", _("that is over already"))
    times = {"starts_at": wanted.starts_at, "ends_at": ends_at}
    return {**times, "weekdays": "", "start_time": None, "duration_s": None}


def _weekly(wanted: Window) -> dict[str, Any]:
    if wanted.starts_at is not None or wanted.ends_at is not None:
        raise CommandError("starts_at", _("a window is once or every week, not both"))
    if not wanted.weekdays:
        raise CommandError("weekdays", _("a weekly window needs at least one weekday"))
    for day in wanted.weekdays:
        if day not in WEEKDAYS:
            said = {"day": day, "days": ", ".join(WEEKDAYS)}
            raise CommandError("weekdays", _("'%(day)s' is none of %(days)s") % said)
    if wanted.start is None:
        raise CommandError("start", _("say at which time it starts"))
    if wanted.duration is None:
        raise CommandError("duration", _("say how long it lasts"))
    seconds = seconds_of(wanted.duration, "duration")
    if seconds > LONGEST_WEEKLY.total_seconds():
        raise CommandError("duration", _("a weekly window lasts 24 hours at most"))
    days = ",".join(day for day in WEEKDAYS if day in wanted.weekdays)
    times = {"weekdays": days, "start_time": wanted.start, "duration_s": seconds}
    return {**times, "starts_at": None, "ends_at": None}


def _refuse_overlap(window: MaintenanceWindow, now: datetime) -> None:
    """With others of the same OLT, or of the same site."""
    same = MaintenanceWindow.objects.filter(olt=window.olt, site=window.site, enabled=True)
    for other in same.exclude(id=window.pk or 0):
        both = first_overlap(window.plan, other.plan, now, current().time_zone)
        if both is not None:
            field = "weekdays" if window.weekdays else "starts_at"
            said = {"name": other.name, "when": f"{localtime(both, current().time_zone):%Y-%m-%d %H:%M}"}
            raise CommandError(field, _("it overlaps with '%(name)s' on %(when)s") % said)


def _olts(window_ids: Iterable[int]) -> list[int]:
    return olts_of(MaintenanceWindow.objects.filter(id__in=list(window_ids)))


def _replan(olt_ids: Iterable[int], now: datetime) -> None:
    """What is owed changes with the windows; and what may not run any more ends at once."""
    replan(sorted({*olt_ids, *abort_unwanted(now, current())}), now)
    report_windows(now, current())
