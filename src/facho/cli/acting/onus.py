"""`facho onu`: what its commands do."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import typer

from facho.apps.discovery.models import Presence
from facho.apps.discovery.onu_search import filter_onus
from facho.apps.discovery.selectors import onu_rows
from facho.cli.acting.showing import print_json, print_rows
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import olt_named
from facho.vendors.facts import ONU_STATES

_COLUMNS: Final = (
    "olt", "interface", "serial", "mac", "description", "model", "state", "down_cause", "distance_m",
    "rx_dbm", "olt_rx_dbm", "presence",
)  # fmt: skip
# What a person can take in; a script gets all.
_SHOWN: Final = 100


def list_onus(
    olt: str | None,
    search: str,
    state: str,
    *,
    duplicates: bool,
    absent: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    if state and state not in ONU_STATES:
        raise CommandError("state", f"'{state}' is no state of an ONU; these are: {', '.join(ONU_STATES)}")
    onus = filter_onus(
        None if olt is None else olt_named(olt),
        search=search,
        state=state,
        duplicates=duplicates,
        presence="" if absent else Presence.PRESENT,
    )
    most = (0 if as_json else _SHOWN) if limit is None else limit
    rows = [asdict(row) for row in onu_rows(onus[:most] if most else onus)]
    if as_json:
        print_json(rows)
        return
    print_rows(rows, _COLUMNS, "No ONU is like that.")
    if most and (more := onus.count() - len(rows)) > 0:
        typer.echo(f"{more:,} more (--limit 0 shows all)")
