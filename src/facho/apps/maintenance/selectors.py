"""Reads when OLTs are closed: the times in which a maintenance window forbids to ask them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
ANY_WINDOW: Final = (
    "SELECT 1 FROM maintenance_windows WHERE enabled"
    " AND (weekdays <> '' OR (starts_at < %s AND ends_at > %s)) LIMIT 1"
)


def windows_between(after: datetime, until: datetime) -> QuerySet[MaintenanceWindow]:
    """Return the windows that may overlap that time. The plan of a weekly one tells whether it does."""
    once = Q(starts_at__lt=until, ends_at__gt=after)
    return MaintenanceWindow.objects.filter(once | ~Q(weekdays=""), enabled=True)


def closed_times(
    olt_ids: Sequence[int] | None, after: datetime, until: datetime, zone: tzinfo
) -> dict[int, list[Span]]:
    """Return the separate spans in [after, until) of each OLT that has any: its own and its site's.

    None stands for all OLTs. Three queries at most.
    """
    # There are mostly none, and every claim asks: one plain statement is cheap.
    if not sql.fetch_rows(ANY_WINDOW, [sql.db_time(until), sql.db_time(after)]):
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
    return {olt_id: separate for olt_id in wanted if (separate := merge_spans(found[olt_id]))}


def olts_closed_at(moment: datetime, zone: tzinfo) -> set[int]:
    return set(closed_times(None, moment, moment + _TICK, zone))


def olts_of(windows: QuerySet[MaintenanceWindow]) -> list[int]:
    """Return the OLTs of these windows, those of sites included."""
    sites = windows.filter(olt=None).values_list("site", flat=True)
    own = windows.exclude(olt=None).values_list(F("olt_id"), flat=True)
    olts = Olt.objects.filter(Q(site__in=list(sites)) | Q(id__in=list(own)))
    return list(olts.order_by("id").values_list("id", flat=True))


def under_maintenance(olt_id: int, at: datetime) -> bool:
    return olt_id in olts_closed_at(at, current().time_zone)


def maintained_until(olt_id: int, at: datetime) -> datetime | None:
    return olts_under_maintenance(at).get(olt_id)


def olts_under_maintenance(at: datetime) -> dict[int, datetime]:
    """Return the OLTs that are closed at this moment, each with the end of its maintenance."""
    closed = closed_times(None, at, at + _AHEAD, current().time_zone)
    spans_at = {olt_id: span_at(several, at) for olt_id, several in closed.items()}
    return {olt_id: span[1] for olt_id, span in spans_at.items() if span is not None}
