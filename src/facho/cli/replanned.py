"""Output of commands that enable, disable, attach or detach: when nodes run next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from facho.cli.output import format_time, print_json

if TYPE_CHECKING:
    from facho.engine.coordinate.changes import ReplanResult


def print_switched(
    what: str, names: Sequence[str], replanned: ReplanResult, *, enabled: bool, as_json: bool
) -> None:
    word = "enabled" if enabled else "disabled"
    print_replanned(what, names, word, replanned, as_json=as_json)
    if replanned.aborted and not as_json:
        typer.echo(f"{replanned.aborted} executions that had not ended were aborted.")


def print_replanned(
    what: str,
    names: Sequence[str],
    word: str,
    replanned: ReplanResult,
    *,
    as_json: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Print which were `word`, and from when on their nodes run. `more` is added to the JSON."""
    first_runs = replanned.first_runs
    first = min(first_runs.values(), default=None)
    if as_json:
        print_json({word: list(names), "first_run_at": first, "aborted": replanned.aborted, **(more or {})})
        return
    typer.echo(f"{len(names)} {what}{'' if len(names) == 1 else 's'} {word}.")
    if first is not None:
        nodes = "node runs" if len(first_runs) == 1 else "nodes run"
        typer.echo(f"{len(first_runs)} {nodes} from {format_time(first)}.")
