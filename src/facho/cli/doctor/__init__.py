"""`facho doctor`: check the settings, the machine and the database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from facho.cli.doctor.findings import Checkup, Finding, Level, error, ok
from facho.cli.doctor.machine import check_file_modes, check_folders, check_keys, check_web
from facho.cli.doctor.profiles import check_own_profiles
from facho.cli.doctor.remote_write import check_files
from facho.cli.errors import Exit
from facho.cli.output import AsJson, print_json
from facho.cli.system import set_up_django
from facho.config import BadSettings, current

app = typer.Typer(add_completion=False)

_EXAMPLES: Final = """
**Examples**

`facho doctor`

`facho doctor --json`

Exit codes: 0 no errors (there may be warnings), 1 errors.
"""
_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}


@app.command(epilog=_EXAMPLES)
def doctor(as_json: AsJson = False) -> None:
    """Check the health of the system, and say what to do."""
    checkup = Checkup()
    checkup.findings.extend(_run_checks(checkup))
    print_checkup(checkup, as_json=as_json)
    if checkup.level is Level.ERROR:
        raise typer.Exit(Exit.FAILED)


def _run_checks(checkup: Checkup) -> Iterator[Finding]:
    """Check from the settings up to the database; stop where a later check would have no basis."""
    try:
        config = current()
    except BadSettings as problem:
        for line in str(problem).splitlines():
            yield error("settings", line, "correct it in the environment or in the env file")
        return
    yield ok("settings", f"readable; FACHO_HOME is {config.home.resolve()}")
    yield from check_folders(config)
    keys = check_keys(config)
    yield keys
    yield from check_file_modes(config)
    yield from check_web(config, os.environ)
    yield from check_own_profiles(config)
    yield from check_files(config)
    if keys.level is not Level.ERROR:
        set_up_django()
        from django.utils import translation

        from facho.cli.doctor.database import check_system

        # Until the process ends: the state of the coordinator is put into words when it is printed.
        translation.activate("en")
        yield from check_system(config, checkup)


def print_checkup(checkup: Checkup, *, as_json: bool) -> None:
    if as_json:
        condition = checkup.coordinator
        print_json(
            {
                "level": checkup.level,
                "findings": [asdict(finding) for finding in checkup.findings],
                "coordinator": None if condition is None else condition.as_json(),
            }
        )
        return
    console = Console()
    for finding in checkup.findings:
        line = Text(f"{finding.level:<8}", style=_STYLES[finding.level])
        line.append(f"{finding.what}: {finding.told}", style="default")
        console.print(line, soft_wrap=True)
        if finding.do:
            console.print(Text(f"        {finding.do}"), soft_wrap=True)
