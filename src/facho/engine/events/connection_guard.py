"""Prevents messages to this machine itself, whatever a name resolves or a server redirects to.

The check is made when a connection is opened, on the address that it is opened to, so that a name that
resolves differently a moment later does not pass. It uses Python's audit events, which no library that
connects through Python's sockets can avoid, and only in the thread that sends.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from facho.core.addresses import is_local_target, network_of

_EVENTS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class _Thread(threading.local):
    # None while the thread is not guarded.
    refused: list[str] | None = None


_thread: Final = _Thread()


class RefusedTarget(OSError):
    """A connection to this machine itself, which is not allowed."""


@contextmanager
def refuse_local_targets() -> Iterator[list[str]]:
    """Refuse connections of this thread to local targets; the list gets the addresses that were refused."""
    _install()
    refused: list[str] = []
    _thread.refused = refused
    try:
        yield refused
    finally:
        _thread.refused = None


@cache
def _install() -> None:
    """Add the audit hook once: it cannot be removed, and does nothing in threads that are not guarded."""
    sys.addaudithook(_watch)


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event not in _EVENTS or _thread.refused is None:
        return
    opened, address = args[0], args[1]
    if address is None:
        # The socket is connected already, and was checked then.
        return
    host = _host(opened, address)
    # A name would be resolved after this check; HTTP and SMTP libraries resolve it before.
    if is_local_target(host) or network_of(host) is None:
        _thread.refused.append(host)
        raise RefusedTarget(f"{host} is an address of this machine")


def _host(opened: socket.socket, address: Any) -> str:
    """Return the address; a socket in the file system is one of this machine."""
    if opened.family not in (socket.AF_INET, socket.AF_INET6):
        return "localhost"
    return str(address[0])
