"""Outages of ports: `facho olt outages`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from facho.apps.discovery.models import PortOutage
from facho.cli.acting.showing import print_json, print_rows
from facho.core.durations import about
from facho.engine.commands.olts import olt_named

_COLUMNS: Final = ("olt", "port", "cause", "onus", "began_at", "ended_at", "lasted")
# On a terminal.
_MOST: Final = 50


def list_outages(olt: str | None, *, only_open: bool, as_json: bool) -> None:
    """The last ones first."""
    rows = PortOutage.objects.filter(**({} if olt is None else {"olt": olt_named(olt)}))
    if only_open:
        rows = rows.filter(ended_at__isnull=True)
    if not as_json:
        rows = rows[:_MOST]
    told = [_told(each) for each in rows.select_related("olt").defer("olt__credentials", "onus")]
    if as_json:
        print_json(told)
    else:
        print_rows([{**row, **_in_short(row)} for row in told], _COLUMNS, "No port had an outage.")


def _told(outage: PortOutage) -> dict[str, Any]:
    lasted = None if outage.ended_at is None else outage.ended_at - outage.began_at
    return {
        "olt": outage.olt.name,
        "port": outage.place,
        "cause": outage.cause,
        "onus_affected": outage.onus_affected,
        "onus_known": outage.onus_known,
        "began_at": outage.began_at,
        "ended_at": outage.ended_at,
        "seconds": None if lasted is None else round(lasted.total_seconds()),
    }


def _in_short(row: dict[str, Any]) -> dict[str, str]:
    return {
        "cause": row["cause"].replace("_", " "),
        "onus": f"{row['onus_affected']} of {row['onus_known']}",
        "lasted": "" if row["seconds"] is None else about(timedelta(seconds=row["seconds"])),
    }
