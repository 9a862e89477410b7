"""`facho export`: what it does."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.apps.db.clock import database_now
from facho.cli.moments import BadMoment, parse_moment
from facho.cli.system import fail
from facho.config import Config
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import olt_named
from facho.engine.upkeep.exports import EXPORTS
from facho.file_modes import umask_of_the_caller


def write(what: str, olt: str | None, since: str, until: str, output: Path | None, config: Config) -> None:
    export = EXPORTS[what]
    if (since or until) and not export.at:
        raise CommandError("since" if since else "until", f"{what} have no time to choose by")
    if olt is not None and not export.of:
        raise CommandError("olt", f"{what} has no OLT to choose by")
    now = database_now()
    rows = export.rows(
        None if olt is None else olt_named(olt),
        _moment("since", since, now, config),
        _moment("until", until, now, config),
    )
    note(Action.EXPORT, rows.model, None, what)
    try:
        with _opened(output) as file:
            for piece in export.csv(rows):
                file.write(piece.encode())
    except OSError as error:
        fail(f"{output or 'the output'} cannot be written: {error.strerror}")


def _opened(output: Path | None) -> BinaryIO:
    if output is None:
        return open(sys.stdout.fileno(), "wb", closefd=False)
    with umask_of_the_caller():
        return output.open("wb")


def _moment(field: str, text: str, now: datetime, config: Config) -> datetime | None:
    try:
        return parse_moment(text, now, config.time_zone) if text else None
    except BadMoment as error:
        raise CommandError(field, str(error)) from None
