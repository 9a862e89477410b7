"""Each process logs to a file of its own, rotated, and to its standard error.

A line is a constant message and what it is about. A log that cannot be written never stops the work.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Final

from facho.config import Config
from facho.file_modes import repair_modes
from facho.log_files import LineFile, LostLines, one_line
from facho.masking import mask_secrets

# What a record has of its own; the rest is what the caller said with `extra`.
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Formatter(logging.Formatter):
    def __init__(self, config: Config) -> None:
        super().__init__("%(asctime)s [%(levelname)s] %(name)s: %(message)s")
        self._zone = config.time_zone

    def format(self, record: logging.LogRecord) -> str:
        """The only way into the log, also for tracebacks: no secret passes."""
        return mask_secrets(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802, ARG002
        return datetime.fromtimestamp(record.created, self._zone).strftime("%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        about = {name: value for name, value in vars(record).items() if name not in _OWN}
        told = " ".join(f"{name}={value}" for name, value in about.items() if value is not None)
        line = super().formatMessage(record)
        return one_line(f"{line} ({told})" if told else line)


class FileHandler(logging.Handler):
    """Several processes may have the same role, and so the same file."""

    def __init__(self, file: LineFile) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001  a record that cannot be formatted stops nobody, as in logging itself
            self.handleError(record)
            return
        if lost := self._file.write(line, at):
            self._file.write(self.format(_told(lost)), at)

    def close(self) -> None:
        self._file.close()
        super().close()


def _told(lost: LostLines) -> logging.LogRecord:
    about = {"action": "LOG_LOST", "lines": lost.lines, "since": lost.since, "until": lost.until}
    return logging.makeLogRecord(
        {"name": __name__, "levelname": "WARNING", "msg": "lines of this log were lost", **about}
    )


def set_up(role: str, config: Config, *, level: int = logging.INFO) -> None:
    """Begin the log of a process, and tell in it of files that were open to others and are closed now.

    `role` names the file: FACHO_HOME/logs/<role>.log.
    """
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.setLevel(level)
    for old in list(root.handlers):
        root.removeHandler(old)
    file = LineFile(config.logs / f"{role}.log", largest=config.log_bytes, backups=config.log_backups)
    try:
        file.open()
    except OSError as error:
        # It goes on by itself when it can be written again.
        print(f"Warning: no log can be written: {error}", file=sys.stderr)  # noqa: T201
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr), FileHandler(file)]
    handlers[0].setLevel(logging.WARNING)
    # Celery tells of every message twice, each second.
    logging.getLogger("celery").setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(Formatter(config))
        root.addHandler(handler)
    repair_modes(config)
