"""`facho onu`: what its commands do."""

from __future__ import annotations

from typing import Any, Final

import typer
from django.db.models import F, Q, QuerySet

from facho.apps.discovery.models import Onu, Presence
from facho.cli.acting.showing import print_json, print_rows
from facho.engine.commands.olts import olt_named
from facho.vendors import Key

_COLUMNS: Final = (
    "olt", "interface", "serial", "mac", "description", "model", "state", "down_cause", "distance_m",
    "onu_rx_dbm", "olt_rx_dbm", "presence",
)  # fmt: skip


def list_onus(
    olt: str | None, search: str | None, state: str | None, *, absent: bool, limit: int, as_json: bool
) -> None:
    onus = _filtered(olt, search, state, absent=absent)
    rows = [_described(onu) for onu in (onus[:limit] if limit else onus).iterator()]
    if as_json:
        print_json(rows)
        return
    print_rows(rows, _COLUMNS, "No ONU is like that.")
    if limit and (more := onus.count() - len(rows)) > 0:
        typer.echo(f"{more:,} more (--limit 0 shows all)")


def _filtered(olt: str | None, search: str | None, state: str | None, *, absent: bool) -> QuerySet[Onu]:
    onus = Onu.objects.select_related("olt").defer("olt__credentials")
    if not absent:
        onus = onus.filter(presence=Presence.PRESENT)
    if olt is not None:
        onus = onus.filter(olt=olt_named(olt))
    if state is not None:
        onus = onus.filter(state=state)
    for word in (search or "").split():
        onus = onus.filter(
            Q(serial__icontains=word) | Q(mac__icontains=word) | Q(description__icontains=word)
        )
    places = (F(part).asc(nulls_first=True) for part in ("frame", "slot", "port", "onu_id"))
    return onus.order_by("olt__name", *places, "id")


def _described(onu: Onu) -> dict[str, Any]:
    own = {
        "olt": onu.olt.name,
        "interface": str(Key(onu.frame, onu.slot, onu.port, onu.onu_id)) or onu.extra,
        "slot": onu.slot,
        "port": onu.port,
        "onu": onu.onu_id,
        "serial": onu.serial,
        "mac": onu.mac,
        "description": onu.description,
        "model": onu.model,
        "plan": onu.plan,
        "state": onu.state,
        "down_cause": onu.down_cause,
    }
    measured = ("distance_m", "onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c")
    seen = {"first_seen": onu.first_seen, "last_seen": onu.last_seen}
    return {**own, **{name: getattr(onu, name) for name in measured}, **seen, "presence": onu.presence}
