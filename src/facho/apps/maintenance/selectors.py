"""Reads when OLTs are left alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Final

from django.db.models import F, Q, QuerySet

from facho.apps.db import sql
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.config import current
from facho.core.maintenance import Span, merge_spans, span_at, spans

_TICK: Final = timedelta(microseconds=1)
# Windows that follow one another within this time are reported as one.
_AHEAD: Final = timedelta(days=2)
_ANY: Final = (
    "SELECT 1 FROM maintenance_windows WHERE enabled"
    " AND (weekdays <> '' OR (starts_at < %s AND ends_at > %s)) LIMIT 1"
)


def windows_between(after: datetime, until: datetime) -> QuerySet[MaintenanceWindow]:
    """Those that may have something of that time: which weekly ones do, their plan says."""
    once = Q(starts_at__lt=until, ends_at__gt=after)
    return MaintenanceWindow.objects.filter(once | ~Q(weekdays=""), enabled=True)


def closed_times(
    olt_ids: Sequence[int] | None, after: datetime, until: datetime, zone: tzinfo
) -> dict[int, list[Span]]:
    """The spans of each OLT that has any; of all OLTs, if none are named. Three queries at most."""
    # Mostly there are none, and everybody who claims asks: a plain statement is soon answered.
    if not sql.fetch_rows(_ANY, [sql.db_time(until), sql.db_time(after)]):
        return {}
    found: dict[int, list[Span]] = defaultdict(list)
    sites: dict[str, list[Span]] = defaultdict(list)
    for window in windows_between(after, until):
        several = spans(window.plan, after, until, zone)
        (sites[window.site] if window.olt_id is None else found[window.olt_id]).extend(several)
    if sites:
        for olt_id, site in Olt.objects.filter(site__in=sites).values_list("id", "site"):
            found[olt_id] += sites[site]
    wanted = found.keys() if olt_ids is None else found.keys() & set(olt_ids)
    return {olt_id: apart for olt_id in wanted if (apart := merge_spans(found[olt_id]))}


def olts_of(windows: QuerySet[MaintenanceWindow]) -> list[int]:
    """The OLTs that they are about."""
    sites = windows.filter(olt=None).values_list("site", flat=True)
    own = windows.exclude(olt=None).values_list(F("olt_id"), flat=True)
    olts = Olt.objects.filter(Q(site__in=list(sites)) | Q(id__in=list(own)))
    return list(olts.order_by("id").values_list("id", flat=True))


def windows_of(olt_ids: Sequence[int] | None, after: datetime, until: datetime) -> Mapping[int, list[Span]]:
    """Of each OLT that has any in [after, until), those of its site with its own, apart from each other.

    Of all OLTs, if none are named.
    """
    return closed_times(olt_ids, after, until, current().time_zone)


def under_maintenance(olt_id: int, at: datetime) -> bool:
    return bool(windows_of([olt_id], at, at + _TICK))


def maintained_until(olt_id: int, at: datetime) -> datetime | None:
    lasting = span_at(windows_of([olt_id], at, at + _AHEAD).get(olt_id, ()), at)
    return None if lasting is None else lasting[1]


def olts_under_maintenance(at: datetime) -> dict[int, datetime]:
    """With each until when."""
    every = windows_of(None, at, at + _AHEAD)
    lasting = {olt_id: span_at(several, at) for olt_id, several in every.items()}
    return {olt_id: span[1] for olt_id, span in lasting.items() if span is not None}
