"""`facho doctor`: from the settings up, each step on what the one before found well."""

from __future__ import annotations

import enum
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from facho.config import BadSettings, Config, current
from facho.core.disk import Room
from facho.file_modes import belongs_to_the_machine, open_to_others
from facho.keys import KeyProblem, Vault
from facho.log_files import cannot_write

if TYPE_CHECKING:
    from facho.engine.upkeep.system_status import Condition

_MOST_NAMED: Final = 5
# The folder of its log.
COORDINATOR: Final = "coordinator"


class Level(enum.StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    level: Level
    what: str
    told: str
    # What a person can do about it.
    do: str = ""


@dataclass(slots=True)
class Checkup:
    findings: list[Finding] = field(default_factory=list)
    # None where the database cannot tell it: a finding says why.
    coordinator: Condition | None = None

    @property
    def level(self) -> Level:
        """That of the worst."""
        return max((finding.level for finding in self.findings), key=list(Level).index)


def ok(what: str, told: str) -> Finding:
    return Finding(Level.OK, what, told)


def warning(what: str, told: str, do: str) -> Finding:
    return Finding(Level.WARNING, what, told, do)


def error(what: str, told: str, do: str) -> Finding:
    return Finding(Level.ERROR, what, told, do)


def start_it(config: Config) -> str:
    """What to do when nobody is at work."""
    return "start them: facho beat, and facho worker" if config.broker_url else "start the engine: facho up"


def named(names: Collection[str]) -> str:
    return ", ".join(islice(names, _MOST_NAMED)) + (", ..." if len(names) > _MOST_NAMED else "")


def examine() -> Checkup:
    checkup = Checkup()
    checkup.findings.extend(_examine(checkup))
    return checkup


def _examine(checkup: Checkup) -> Iterator[Finding]:
    """Ends where nothing that follows could be told."""
    try:
        config = current()
    except BadSettings as problem:
        for line in str(problem).splitlines():
            yield error("settings", line, "correct it in the environment or in the env file")
        return
    yield ok("settings", f"readable; FACHO_HOME is {config.home.resolve()}")
    yield from _home(config)
    keys = _keys(config)
    yield keys
    yield from _modes(config)
    yield from _web(config)
    if keys.level is not Level.ERROR:
        yield from _system(config, checkup)


def _home(config: Config) -> Iterator[Finding]:
    for what, folder in (
        ("home", config.home),
        ("logs", config.logs),
        ("coordinator's log", config.logs / COORDINATOR),
    ):
        if why_not := cannot_write(folder):
            yield error(what, f"{folder}: {why_not}", "let facho's user write there")
            return
        yield ok(what, f"{folder} can be written to")
    yield from _full(config.home)


def _full(folder: Path) -> Iterator[Finding]:
    """How long the disk lasts is told later, if the database can be asked; on a full disk it often cannot."""
    usage = shutil.disk_usage(folder)
    if Room(usage.free, usage.total).scarce:
        told = f"only {usage.free / 10**9:.1f} GB of {usage.total / 10**9:.0f} GB are free in {folder}"
        yield error("home", told, "make room, or collection stops when the database cannot grow")


def _keys(config: Config) -> Finding:
    vault = Vault(config)
    try:
        count = len(vault.keys())
        vault.close("", "")
    except KeyProblem as problem:
        return error("keys", str(problem), "put the keys back from your backup")
    where = "FACHO_CREDENTIAL_KEYS" if vault.from_environment else str(vault.path)
    if count > 1:
        return warning("keys", f"{where} has {count} keys", "finish the rotation: facho keys rotate")
    return ok("keys", f"one key in {where}")


def _modes(config: Config) -> Iterator[Finding]:
    """A folder tells only names; a file tells what is in it."""
    found = open_to_others(config)
    close = "start facho again, which closes its own, or: chmod go= FILE"
    # Closed, /tmp or a person's own folder would be of no use to the others that need it.
    move = "move FACHO_HOME to a folder of its own: others of this machine need this one"
    for is_folder, is_shared, finding, do in (
        (False, False, error, close),
        (True, False, warning, close),
        (True, True, warning, move),
    ):
        kind = [
            f"{path} can be read by others (mode {mode:04o})"
            for path, mode in found
            if (path.is_dir(), belongs_to_the_machine(path)) == (is_folder, is_shared)
        ]
        if kind:
            yield finding("files", named(kind), do)
    if not found:
        yield ok("files", "the database, the keys and the logs are for facho's user alone")


def _web(config: Config) -> Iterator[Finding]:
    from facho.cli.acting.web_settings import web_settings

    yield from web_settings(config, os.environ)


def _system(config: Config, checkup: Checkup) -> Iterator[Finding]:
    from facho.cli.system import set_up

    set_up()
    from facho.cli.acting.condition import conditions

    yield from conditions(config, checkup)


def print_checkup(checkup: Checkup, *, as_json: bool) -> None:
    if as_json:
        _print_json(checkup)
        return
    console = Console()
    styles = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}
    for finding in checkup.findings:
        line = Text(f"{finding.level:<8}", style=styles[finding.level])
        line.append(f"{finding.what}: {finding.told}", style="default")
        console.print(line, soft_wrap=True)
        if finding.do:
            console.print(Text(f"        {finding.do}"), soft_wrap=True)


def _print_json(checkup: Checkup) -> None:
    from facho.cli.acting.showing import print_json

    condition = checkup.coordinator
    print_json(
        {
            "level": checkup.level,
            "findings": [asdict(finding) for finding in checkup.findings],
            "coordinator": None if condition is None else condition.as_json(),
        }
    )
