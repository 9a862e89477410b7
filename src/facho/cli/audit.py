"""`facho audit`: who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.output import AsJson, format_value, print_json, print_rows
from facho.cli.system import database_now, system
from facho.cli.times import parse_time

if TYPE_CHECKING:
    from facho.apps.access.models import AuditEntry
    from facho.apps.access.selectors import Change

app = typer.Typer(no_args_is_help=True, help="The audit log: who changed what, and when.")

_EXAMPLES_LIST: Final = """
**Examples**

`facho audit list`  the last hundred entries, the newest first

`facho audit list --who maria --since 7d`  what one person did this week

`facho audit list --model hosts.olt --name olt-7`  what was done to one OLT

`facho audit list --since 30d --limit 0 --json`  a month, for a script
"""
_COLUMNS: Final = ("at", "who", "how", "address", "token", "action", "model", "name", "changes")


@app.callback()
def _group() -> None:
    # Without it a group of one command would be that command.
    pass


@app.command("list", epilog=_EXAMPLES_LIST)
def list_entries(
    who: Annotated[str, typer.Option(metavar="NAME", help="Only what this person did.")] = "",
    action: Annotated[str, typer.Option(help="Only this action, as change, run or login_failed.")] = "",
    model: Annotated[str, typer.Option(help="Only objects of this kind, as hosts.olt.")] = "",
    name: Annotated[str, typer.Option(help="Only objects of this name.")] = "",
    since: Annotated[str, typer.Option(metavar="TIME", help="An age, as 7d, or a date.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="The most entries; 0 is all.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List what people did, the newest first."""
    with system() as config:
        from facho.apps.access.audit_actions import Action
        from facho.apps.access.models import AuditEntry
        from facho.apps.access.selectors import changes_of
        from facho.engine.commands.errors import CommandError
        from facho.engine.commands.input_checks import unknown_name

        if action and action not in Action.values:
            raise CommandError("action", unknown_name("action", action, Action.values))
        wanted = {"who": who, "action": action, "model": model, "name": name}
        entries = AuditEntry.objects.filter(**{column: value for column, value in wanted.items() if value})
        if since:
            entries = entries.filter(at__gte=parse_time("since", since, database_now(), config.time_zone))
        found = list(entries[:limit] if limit else entries)
        if as_json:
            print_json([_entry_row(entry) for entry in found])
            return
        rows = [
            {**_entry_row(entry), "changes": "; ".join(map(_format_change, changes_of(entry)))}
            for entry in found
        ]
        print_rows(rows, _COLUMNS, "There are no such entries.")


def _entry_row(entry: AuditEntry) -> dict[str, Any]:
    return {column: getattr(entry, column) for column in ("id", "object_id", *_COLUMNS)}


def _format_change(change: Change) -> str:
    if change.is_secret:
        return f"{change.column} changed"
    new = format_value(change.new) or "-"
    if change.has_old:
        return f"{change.column}: {format_value(change.old) or '-'} -> {new}"
    return f"{change.column} {new}"
