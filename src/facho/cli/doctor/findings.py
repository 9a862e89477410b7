"""Findings of the doctor: what was checked, how well it is, and what to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from facho.config import Config

if TYPE_CHECKING:
    from facho.engine.upkeep.system_status import Condition


class Level(enum.StrEnum):
    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """The names of the fields are those of `facho doctor --json`."""

    level: Level
    what: str
    told: str
    # Advice for a person.
    do: str = ""


@dataclass(slots=True)
class Checkup:
    findings: list[Finding] = field(default_factory=list)
    # None when the database does not answer: a finding says why.
    coordinator: Condition | None = None

    @property
    def level(self) -> Level:
        """Return the worst level of all findings."""
        return max((finding.level for finding in self.findings), key=list(Level).index)


def ok(what: str, text: str) -> Finding:
    return Finding(Level.OK, what, text)


def warning(what: str, text: str, do: str) -> Finding:
    return Finding(Level.WARNING, what, text, do)


def error(what: str, text: str, do: str) -> Finding:
    return Finding(Level.ERROR, what, text, do)


def start_advice(config: Config) -> str:
    """Return what to do when no process collects."""
    return "start them: facho beat, and facho worker" if config.broker_url else "start the engine: facho up"
