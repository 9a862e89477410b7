"""Each process logs to a file of its own, rotated, and to its standard error.

A line is a constant message and what it is about. A log that cannot be written never stops the work.
"""

from __future__ import annotations

import logging
import sys
from datetime import datetime
from logging.handlers import RotatingFileHandler
from typing import Final

from facho.config import Config

_LARGEST: Final = 10_000_000
_BACKUPS: Final = 5
# What a record has of its own; the rest is what the caller said with `extra`.
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Formatter(logging.Formatter):
    def __init__(self, config: Config) -> None:
        super().__init__("%(asctime)s [%(levelname)s] %(name)s: %(message)s")
        self._zone = config.time_zone

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802, ARG002
        return datetime.fromtimestamp(record.created, self._zone).strftime("%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        about = {name: value for name, value in vars(record).items() if name not in _OWN}
        told = " ".join(f"{name}={value}" for name, value in about.items() if value is not None)
        line = super().formatMessage(record)
        return f"{line} ({told})" if told else line


def set_up(role: str, config: Config, *, level: int = logging.INFO) -> None:
    """`role` names the file: FACHO_HOME/logs/<role>.log."""
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.setLevel(level)
    for old in list(root.handlers):
        root.removeHandler(old)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setLevel(logging.WARNING)
    try:
        config.logs.mkdir(parents=True, exist_ok=True)
        file = RotatingFileHandler(
            config.logs / f"{role}.log", maxBytes=_LARGEST, backupCount=_BACKUPS, encoding="utf-8"
        )
        handlers.append(file)
    except OSError as error:
        print(f"Warning: no log can be written: {error}", file=sys.stderr)  # noqa: T201
    # Celery tells of every message twice, each second.
    logging.getLogger("celery").setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(Formatter(config))
        root.addHandler(handler)
