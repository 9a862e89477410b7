"""Logging of each process: to a rotated file for its role, and warnings to standard error.

A line is a constant message and fields. A log that cannot be written never stops the work.
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

# The attributes of every log record; all others are fields of `extra`.
_RECORD_ATTRIBUTES: Final = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",
}


class Formatter(logging.Formatter):
    def __init__(self, config: Config) -> None:
        super().__init__("%(asctime)s [%(levelname)s] %(name)s: %(message)s")
        self._zone = config.time_zone

    def format(self, record: logging.LogRecord) -> str:
        """Mask secrets in the whole entry, tracebacks included."""
        return mask_secrets(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802, ARG002
        return datetime.fromtimestamp(record.created, self._zone).strftime("%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        fields = {name: value for name, value in vars(record).items() if name not in _RECORD_ATTRIBUTES}
        text = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        line = super().formatMessage(record)
        return one_line(f"{line} ({text})" if text else line)


class FileHandler(logging.Handler):
    """Writes to a file that several processes of one role may share."""

    def __init__(self, file: LineFile) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001  a record that cannot be formatted is dropped, as logging itself does
            self.handleError(record)
            return
        if lost := self._file.write(line, at):
            self._file.write(self.format(_loss_record(lost)), at)

    def close(self) -> None:
        self._file.close()
        super().close()


def _loss_record(lost: LostLines) -> logging.LogRecord:
    fields = {"action": "LOG_LOST", "lines": lost.lines, "since": lost.since, "until": lost.until}
    return logging.makeLogRecord(
        {"name": __name__, "levelname": "WARNING", "msg": "log lines lost", **fields}
    )


def set_up(role: str, config: Config, *, level: int = logging.INFO) -> None:
    """Set up logging of a process to FACHO_HOME/logs/<role>.log, and close files that are open to others."""
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.setLevel(level)
    for old in list(root.handlers):
        root.removeHandler(old)
    file = LineFile(config.logs / f"{role}.log", largest=config.log_bytes, backups=config.log_backups)
    try:
        file.open()
    except OSError as error:
        # Writing resumes by itself when it is possible again.
        print(f"Warning: no log can be written: {error}", file=sys.stderr)  # noqa: T201
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr), FileHandler(file)]
    handlers[0].setLevel(logging.WARNING)
    # Celery logs every message twice.
    logging.getLogger("celery").setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(Formatter(config))
        root.addHandler(handler)
    repair_modes(config)
