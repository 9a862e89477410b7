"""What the processes of a PostgreSQL on this machine cost, where they can be seen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from django.db import connection

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_LOCAL: Final = ("", "localhost", "127.0.0.1", "::1")
# In /proc/PID/stat, after the name of the program: state, parent, ...
_PARENT, _USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM = 1, 11, 12, 13, 14


def server_cpu_s() -> float | None:
    """Of the server and all its processes, those that have ended included. None when it is elsewhere."""
    host = str(connection.settings_dict["HOST"])
    if connection.vendor != "postgresql" or not (host in _LOCAL or host.startswith("/")):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    server = _numbers(backend)
    return None if server is None else _of_family(server[_PARENT])


def _of_family(postmaster: int) -> float | None:
    """Those that ended are in the numbers of their parent."""
    own = _numbers(postmaster)
    if own is None:
        return None
    ticks = sum(own[_USER : _CHILDREN_SYSTEM + 1])
    for entry in Path("/proc").iterdir():
        child = _numbers(int(entry.name)) if entry.name.isdigit() else None
        if child is not None and child[_PARENT] == postmaster:
            ticks += child[_USER] + child[_SYSTEM]
    return ticks / _TICKS


def _numbers(pid: int) -> list[int] | None:
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    if "postgres" not in name and "postmaster" not in name:
        return None
    return [int(word) if word.lstrip("-").isdigit() else 0 for word in rest.split()]
