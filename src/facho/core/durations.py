"""Lengths of time as people read them: `0.4 s`, `3 min 05 s`, `2 h 10 min`."""

from __future__ import annotations

from datetime import timedelta


def duration(length: timedelta) -> str:
    """The two largest units; below ten seconds, tenths."""
    seconds = max(0.0, length.total_seconds())
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def about(length: timedelta) -> str:
    """The same without a second unit of nothing: `40 min`."""
    return duration(length).removesuffix(" 00 s").removesuffix(" 00 min").removesuffix(" 00 h")
