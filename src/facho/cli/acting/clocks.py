"""What the doctor says of clocks: whether this machine's is kept right, and whether the database's agrees."""

from __future__ import annotations

import ctypes
from datetime import UTC, datetime, timedelta
from typing import Final

from facho.apps.db.clock import database_now
from facho.cli.acting.checkup import Finding, ok, warning
from facho.config import Config

# A step of the scheduler is good for this long, by the clock of the beat that sent it.
_AGREES_WITHIN: Final = timedelta(seconds=1)
# From <sys/timex.h>: nobody has told the kernel lately that its clock is right.
_UNSYNCHRONISED: Final = 0x0040


class _Timex(ctypes.Structure):
    """The beginning of the kernel's `struct timex`, and more room behind it than all of it takes."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("frequency", ctypes.c_long),
        ("max_error", ctypes.c_long),
        ("estimated_error", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def is_synchronised() -> bool | None:
    """Ask the kernel whether a time service keeps the clock right; None where it does not tell."""
    try:
        ask = ctypes.CDLL(None).adjtimex
    except (AttributeError, OSError):
        # Not Linux.
        return None
    # No modes: nothing is changed, and everybody may ask.
    told = _Timex()
    if ask(ctypes.byref(told)) < 0:
        return None
    return not told.status & _UNSYNCHRONISED


def machine_clock(synchronised: bool | None) -> Finding:
    if synchronised is None:
        return ok("clock", "whether a time service keeps it right cannot be told here")
    if not synchronised:
        told = "no time service keeps this machine's clock right, as its kernel says"
        return warning("clock", told, "start one: systemd-timesyncd or chrony (timedatectl shows it)")
    return ok("clock", "a time service keeps it right")


def database_clock(_now: datetime, _config: Config) -> Finding:
    before = datetime.now(UTC)
    at_database = database_now()
    return compare_clocks(before, at_database, datetime.now(UTC))


def compare_clocks(before: datetime, at_database: datetime, after: datetime) -> Finding:
    """Compare the database's time with this machine's, which was read before and after asking for it."""
    behind, ahead = before - at_database, at_database - after
    if max(behind, ahead) > _AGREES_WITHIN:
        off, where = (behind, "behind") if behind > ahead else (ahead, "ahead of")
        told = f"it is {off.total_seconds():.1f} s {where} this machine's"
        return warning("database's clock", told, "let a time service keep both right")
    return ok("database's clock", "it agrees with this machine's")
