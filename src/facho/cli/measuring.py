"""What the commands of `facho bench` that need a database have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from facho.cli.progress import noting
from facho.cli.target import refuse

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DatabaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="A database that is empty, or has bench in its name and is emptied; SQLite if not given.",
    ),
]


@contextmanager
def measuring() -> Iterator[Callable[[str], None]]:
    """What cannot be measured ends the program with a sentence."""
    from django.db import DatabaseError

    from facho.apps.db.sql import database_sentence
    from facho.bench.own_system import CannotMeasure, Refused
    from facho.bench.snmp import WalkFailed
    from facho.cli.system import fail
    from facho.config import BadSettings
    from facho.sim.fleet import FleetError

    with noting() as note:
        try:
            yield note
        except Refused as error:
            refuse(str(error))
        except (WalkFailed, FleetError, BadSettings, CannotMeasure) as error:
            fail(str(error))
        except DatabaseError as error:
            fail(database_sentence(error))
