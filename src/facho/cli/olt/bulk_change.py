"""Change the selected OLTs: show the changes, ask a person, and save all of them or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from facho.apps.db.database import database_now
from facho.apps.hosts.models import Olt
from facho.cli.errors import exit_code_of, refuse
from facho.cli.olt.wanted import (
    CONNECTION,
    DEFAULT,
    WantedOlt,
    changes_as_json,
    changes_of,
    parse_limit,
    title_of,
)
from facho.cli.output import format_value, list_names, print_json
from facho.config import Config
from facho.engine.collect.work_builder import target_of
from facho.engine.commands.connection_test import Silence, ask_all
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import parse_seconds
from facho.engine.commands.olt_batches import preview_olts
from facho.engine.commands.olts import (
    ChangedOlt,
    OltChanges,
    brand_for,
    check_site,
    olts_named,
    update_olts,
)
from facho.snmp.transport import parse_address

# The options whose names are not those of the columns: `--brand` and `--site` select OLTs.
_OPTIONS: Final = {
    "name": "--new-name",
    "address": "--address",
    "brand": "--new-brand",
    "model": "--new-model",
    "site": "--new-site",
}


@dataclass(frozen=True, slots=True)
class Selection:
    names: Sequence[str]
    site: str | None
    brand: str | None
    every: bool


def limits_from(
    max_in_flight: str | None, max_varbinds: str | None, max_rate: str | None, shortest_interval: str | None
) -> dict[str, float | None]:
    """Return the limits that were given as options."""
    numbers = {
        "max_in_flight": max_in_flight,
        "max_varbinds": max_varbinds,
        "max_requests_per_second": max_rate,
    }
    found = {column: parse_limit(column, text) for column, text in numbers.items() if text is not None}
    if shortest_interval is not None:
        found["shortest_interval_s"] = (
            None if shortest_interval == DEFAULT else parse_seconds(shortest_interval, "shortest_interval_s")
        )
    return found


def change_olts(
    selection: Selection,
    wanted: WantedOlt,
    config: Config,
    *,
    test: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    if wanted == WantedOlt():
        refuse("say what to change: facho olt change --help")
    changes = _changes_by_name(_select(selection), wanted)
    preview = _preview(changes)
    changed = [each for each in preview if each.changes]
    if not as_json:
        _print_preview(changed, len(preview))
    if test:
        _test_connections(changed, config)
    if changed and not dry_run:
        if not yes:
            typer.confirm(f"Change {_count(changed)}?", abort=True, err=True)
        # Columns that stay are not written, and an OLT that stays is enabled again if that is wanted.
        preview = update_olts(changes, database_now())
    if as_json:
        print_json(_as_json(preview, changes, dry_run=dry_run))
    elif dry_run:
        typer.echo("Nothing was changed: this was a dry run.")
    elif changed:
        typer.echo(f"Changed {_count(changed)}.")


def _preview(changes: Mapping[str, OltChanges]) -> list[ChangedOlt]:
    try:
        return preview_olts(changes)
    except CommandError as error:
        option = _OPTIONS.get(error.field)
        if option is None:
            raise
        refuse(f"{option}: {error.message}")


def _select(selection: Selection) -> list[Olt]:
    filtered = selection.site is not None or selection.brand is not None
    if bool(selection.names) + filtered + selection.every != 1:
        refuse("give names, or --site and --brand, or --all")
    if selection.names:
        return olts_named(selection.names)
    olts = Olt.objects.select_related("brand", "model").filter(removed_at=None).order_by("name")
    if selection.site is not None:
        olts = olts.filter(site=check_site(selection.site))
    if selection.brand is not None:
        olts = olts.filter(brand=brand_for(selection.brand))
    return list(olts) or refuse("no OLT matches")


def _changes_by_name(olts: Sequence[Olt], wanted: WantedOlt) -> Mapping[str, OltChanges]:
    if len(olts) > 1:
        for option, value in (("--new-name", wanted.name), ("--address", wanted.address)):
            if value is not None:
                refuse(f"{option} is for one OLT, and {len(olts)} are selected")
    if wanted.address is not None:
        wanted = _with_port(wanted, wanted.address, olts[0].port)
    found = {}
    for olt in olts:
        try:
            found[olt.name] = changes_of(olt, wanted)
        except CommandError as error:
            raise CommandError(error.field, f"{olt.name}: {error.message}") from None
    return found


def _with_port(wanted: WantedOlt, address: str, port: int) -> WantedOlt:
    """Take the port from the address, if it has one."""
    try:
        host, found = parse_address(address, wanted.port or port)
    except ValueError as error:
        refuse(f"--address: {error}")
    if wanted.port is not None and found != wanted.port:
        refuse("the address has another port than --port")
    return replace(wanted, address=host, port=found)


def _print_preview(changed: Sequence[ChangedOlt], selected: int) -> None:
    """Print each change once, with the OLTs that have it: 500 OLTs with one new community are one line."""
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for each in changed:
        for column, change in each.changes.items():
            old, new = (_format_side(column, change.get(key)) for key in ("old", "new"))
            alike[title_of(column), old, new].append(each.olt.name)
    table = Table("what", "now", "will be", "OLTs", "", box=None, pad_edge=False)
    for (what, old, new), names in alike.items():
        table.add_row(*map(Text, (what, old, new, str(len(names)), list_names(names))))
    console = Console(stderr=True)
    if changed:
        console.print(table)
    if stay := selected - len(changed):
        console.print(f"{stay} of {selected} OLTs stay as they are.")


def _format_side(column: str, value: object) -> str:
    if column == "credentials":
        return "(not shown)"
    if value is None and (column.startswith("max_") or column == "shortest_interval_s"):
        return DEFAULT
    return format_value(value) or "-"


def _count(changed: Sequence[ChangedOlt]) -> str:
    return f"{len(changed)} OLT{'' if len(changed) == 1 else 's'}"


def _test_connections(changed: Sequence[ChangedOlt], config: Config) -> None:
    """Ask each OLT with its new address and credentials; end the program if one does not answer."""
    asked = [each.olt for each in changed if each.changes.keys() & CONNECTION]
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("asking the OLTs", total=len(asked))
        answers = ask_all([target_of(olt, config) for olt in asked], lambda: progress.advance(task))
    silent = [
        (olt, answer) for olt, answer in zip(asked, answers, strict=True) if isinstance(answer, Silence)
    ]
    if silent:
        _refuse_silent(silent, len(asked))


def _refuse_silent(silent: Sequence[tuple[Olt, Silence]], asked: int) -> NoReturn:
    for olt, answer in silent:
        typer.echo(f"{olt.name}: {answer.reason}", err=True)
    typer.echo(f"Nothing was changed: {len(silent)} of {asked} OLTs did not answer.", err=True)
    raise typer.Exit(exit_code_of(silent[0][1].error))


def _as_json(
    done: Sequence[ChangedOlt], changes: Mapping[str, OltChanges], *, dry_run: bool
) -> dict[str, Any]:
    named = list(zip(changes, done, strict=True))
    return {
        "saved": not dry_run and any(each.changes for each in done),
        "changed": [
            {"olt": name, "changes": changes_as_json(each.changes)} for name, each in named if each.changes
        ],
        "unchanged": [name for name, each in named if not each.changes],
    }
