"""`facho shell`: Python with the models, to ask the database what no list answers."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated, Final

import typer

from facho.cli.errors import fail
from facho.cli.system import system

_EXAMPLES: Final = """
**Examples**

`facho shell`  Python with all models: Olt, Onu, SnmpJob, Execution, ...

`facho shell -c 'print(Olt.objects.filter(site="Centro").count())'`

`facho shell < report.py`

It only reads, unless with --write. What a shell writes is neither checked nor planned: `facho olt change` and
`facho job change` do both.
"""

app = typer.Typer()


@app.command(epilog=_EXAMPLES)
def shell(
    code: Annotated[str | None, typer.Option("-c", "--command", help="Run this and exit.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Allow it to write to the database.")] = False,
) -> None:
    """Start Python with the models of the database."""
    with system():
        from django.core.management import call_command
        from django.db import DatabaseError

        from facho.apps.db.database import is_refused_write, refuse_writes

        if code is None and not sys.stdin.isatty():
            code = sys.stdin.read()
        try:
            with nullcontext() if write else refuse_writes():
                call_command("shell", command=code, interface="python", verbosity=0)
        except DatabaseError as error:
            if write or not is_refused_write(error):
                raise
            fail("a shell only reads; --write lets it write")
