"""Add, change, end and remove maintenance windows, in which OLTs are not asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_minute
from facho.apps.maintenance.models import MaintenanceWindow
from facho.apps.maintenance.selectors import olts_of
from facho.config import current
from facho.core.maintenance import (
    LONGEST_WEEKLY,
    WEEKDAYS,
    Preset,
    first_overlap,
    preset_span,
    span_at,
    spans,
)
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_choice, check_free_name, find_named, parse_seconds
from facho.engine.commands.olts import check_site, olt_named
from facho.engine.coordinate.changes import replan
from facho.engine.coordinate.maintenance import abort_without_reconciling, report_windows
from facho.engine.process.command_transaction import command

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of an OLT or a site: from `starts_at` to `ends_at`, a preset, or weekly at `start`."""

    name: str
    olt: str = ""
    site: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    weekdays: Sequence[str] = ()
    start: time | None = None
    duration: str | timedelta | None = None
    preset: str = ""
    enabled: bool = True


@command
def add_window(new: Window, now: datetime) -> MaintenanceWindow:
    return _save(MaintenanceWindow(created_at=now), new, now)


@command
def change_window(window_id: int, wanted: Window, now: datetime) -> MaintenanceWindow:
    """Replace everything in a window."""
    window = MaintenanceWindow.objects.get(id=window_id)
    before = _olts([window_id])
    # A changed window counts as a new one: it may run again after it was ended by hand.
    window.ended_at = None
    return _save(window, wanted, now, before)


@command
def end_window(name: str, now: datetime) -> MaintenanceWindow:
    """End the window that is under way. A weekly one comes again."""
    window = window_named(name)
    span = span_at(spans(window.plan, now, now + _TICK, current().time_zone), now)
    if span is None or not window.enabled or span[0] == now:
        raise CommandError("name", _("'%(name)s' is not in progress") % {"name": name})
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
    """Remove windows. A window that is under way ends."""
    ids = [window_named(name).id for name in names]
    olt_ids = _olts(ids)
    MaintenanceWindow.objects.filter(id__in=ids).update(enabled=False)
    _replan(olt_ids, now)
    MaintenanceWindow.objects.filter(id__in=ids).delete()


def window_named(name: str) -> MaintenanceWindow:
    windows = MaintenanceWindow.objects.select_related("olt")
    return find_named(windows, name, _("maintenance window"), "name")


def _save(
    window: MaintenanceWindow, wanted: Window, now: datetime, before: Iterable[int] = ()
) -> MaintenanceWindow:
    window.name = check_free_name(MaintenanceWindow.objects.all(), wanted.name, window.pk)
    window.olt, window.site = _target(wanted)
    for column, value in _time_columns(wanted, now).items():
        setattr(window, column, value)
    window.enabled = wanted.enabled
    if window.enabled:
        _refuse_overlap(window, now)
    window.save()
    _replan([*before, *_olts([window.id])], now)
    return window


def _target(wanted: Window) -> tuple[Olt | None, str]:
    site = wanted.site.strip()
    if bool(wanted.olt) == bool(site):
        raise CommandError("olt", _("a window is for an OLT or for a site: give one of them"))
    if wanted.olt:
        return olt_named(wanted.olt), ""
    return None, check_site(site)


def _time_columns(wanted: Window, now: datetime) -> dict[str, Any]:
    if wanted.preset:
        return _single_columns(_with_preset_times(wanted, now), now)
    is_weekly = bool(wanted.weekdays) or wanted.start is not None
    return _weekly_columns(wanted) if is_weekly else _single_columns(wanted, now)


def _with_preset_times(wanted: Window, now: datetime) -> Window:
    preset = Preset(check_choice(wanted.preset, [each.value for each in Preset], "preset"))
    others = (wanted.starts_at, wanted.ends_at, wanted.start, wanted.duration)
    if wanted.weekdays or any(each is not None for each in others):
        raise CommandError("preset", _("a preset has its own times: give no others"))
    starts_at, ends_at = preset_span(preset, now, current().time_zone)
    return replace(wanted, starts_at=starts_at, ends_at=ends_at)


def _single_columns(wanted: Window, now: datetime) -> dict[str, Any]:
    if wanted.starts_at is None:
        raise CommandError("starts_at", _("give the start, a preset or the weekdays"))
    ends_at = wanted.ends_at
    if ends_at is None and wanted.duration is not None:
        ends_at = wanted.starts_at + timedelta(seconds=parse_seconds(wanted.duration, "duration"))
    if ends_at is None:
        raise CommandError("ends_at", _("give the end"))
    if ends_at <= wanted.starts_at:
        raise CommandError("ends_at", _("it would end before it starts"))
    if ends_at <= now:
        raise CommandError("ends_at", _("that is in the past"))
    times = {"starts_at": wanted.starts_at, "ends_at": ends_at}
    return {**times, "weekdays": "", "start_time": None, "duration_s": None}


def _weekly_columns(wanted: Window) -> dict[str, Any]:
    if wanted.starts_at is not None or wanted.ends_at is not None:
        raise CommandError("starts_at", _("a window is once or every week, not both"))
    if not wanted.weekdays:
        raise CommandError("weekdays", _("a weekly window needs at least one weekday"))
    for day in wanted.weekdays:
        check_choice(day, WEEKDAYS, "weekdays")
    if wanted.start is None:
        raise CommandError("start", _("give the start time"))
    if wanted.duration is None:
        raise CommandError("duration", _("give the duration"))
    seconds = parse_seconds(wanted.duration, "duration")
    if seconds > LONGEST_WEEKLY.total_seconds():
        raise CommandError("duration", _("a weekly window lasts 24 hours at most"))
    days = ",".join(day for day in WEEKDAYS if day in wanted.weekdays)
    times = {"weekdays": days, "start_time": wanted.start, "duration_s": seconds}
    return {**times, "starts_at": None, "ends_at": None}


def _refuse_overlap(window: MaintenanceWindow, now: datetime) -> None:
    """Refuse a window that overlaps with another of the same OLT or site."""
    same = MaintenanceWindow.objects.filter(olt=window.olt, site=window.site, enabled=True)
    for other in same.exclude(id=window.pk or 0):
        both = first_overlap(window.plan, other.plan, now, current().time_zone)
        if both is not None:
            field = "weekdays" if window.weekdays else "starts_at"
            values = {"name": other.name, "when": date_and_minute(both)}
            raise CommandError(field, _("it overlaps with '%(name)s' on %(when)s") % values)


def _olts(window_ids: Iterable[int]) -> list[int]:
    return olts_of(MaintenanceWindow.objects.filter(id__in=list(window_ids)))


def _replan(olt_ids: Iterable[int], now: datetime) -> None:
    """Plan the OLTs again, and end at once what may not run any more."""
    replan(sorted({*olt_ids, *abort_without_reconciling(now, current())}), now)
    report_windows(now, current())
