"""Kombu's Redis transport, changed so that a worker sleeps until something happens.

Kombu's own asks Redis again every second, because nothing else would end a wait. It also stores every message
under way in Redis once more, to deliver it again if its worker dies; here the database queues such an
execution again, when its lease has expired (docs/decisions/0018-idle-processes-sleep.md).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from queue import Empty
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import RedisError, ResponseError

# Redis ends a wait after this time. It bounds how long a connection that is dead without a sign is trusted.
_LONGEST_WAIT_S: Final = 10


class Waker:
    """Ends the wait of the event loop from another thread, or when a signal has come."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        # A pipe that is full wakes as well.
        with suppress(BlockingIOError):
            os.write(self._write, b"\0")

    def register(self, hub: Any) -> None:
        """Wake this hub from now on; called in the main thread, as Python allows this for signals only there.

        A thread that has done its work leaves the acknowledgement to the hub by `call_soon`, which does not
        wake it. And Python does not return from a wait for a signal whose handler only sets a flag, as
        Celery's do.
        """
        hub.add_reader(self._read, self._empty)
        hub.call_soon = partial(self._call_soon, hub)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def _call_soon(self, hub: Any, callback: Any, *args: Any) -> Any:
        promise = type(hub).call_soon(hub, callback, *args)
        self.wake()
        return promise

    def _empty(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass


@cache
def waker() -> Waker:
    return Waker()


class Channel(redis.Channel):
    # Messages under way are counted in this process only, and are not stored in Redis once more.
    ack_emulation = False
    # Nothing is put back by a process that dies or lost its broker: the database does that.
    do_restore = False
    # We send no priorities: without this Redis would be asked for four lists of each queue.
    priority_steps = (0,)
    _in_poll: Any
    _known_socket: Any = None
    _client_id: int | None = None

    def get_table(self, exchange: str) -> list[tuple[str, str, str]]:
        """Return the queue of an exchange without asking Redis: each of ours has its name and no other."""
        return [(exchange, "", exchange)]

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """Yield one client again and again: kombu makes one for each message, a quarter of its cost."""
        yield client or self._sender

    def put_all(self, queue: str, messages: Sequence[str]) -> None:
        """Put messages, which are texts already, into a queue with one command."""
        self._sender.lpush(queue, *messages)

    @cached_property
    def _sender(self) -> Any:
        return self._create_client()

    def basic_cancel(self, consumer_tag: str) -> Any:
        result = super().basic_cancel(consumer_tag)
        if not self.active_queues:
            self._end_wait()
        return result

    def close(self) -> None:
        self._end_wait()
        if connection := self._in_poll:
            self._in_poll = None
            connection.disconnect()
        super().close()

    def _brpop_start(self, timeout: float | None = None) -> None:
        connection = self.client.connection
        if connection._sock is not self._known_socket:
            self._known_socket, self._client_id = connection._sock, _ask_id(connection)
        super()._brpop_start(timeout)

    def _end_wait(self) -> None:
        """End the wait for a message, so that none is taken that this process will not run."""
        if not self._in_poll or self._client_id is None:
            return
        # A broker that is away has sent nothing that the database does not know.
        with suppress(Empty, RedisError, OSError):
            self._sender.client_unblock(self._client_id)
            # What has come in the last moment goes back to its queue.
            self._brpop_read()


def _ask_id(connection: Any) -> int | None:
    """Return by which number Redis knows the connection; None if it does not tell."""
    connection.send_command("CLIENT", "ID")
    try:
        return int(connection.read_response())
    except ResponseError:
        return None


class Transport(redis.Transport):
    Channel = Channel
    brpop_timeout = _LONGEST_WAIT_S

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        super().register_with_event_loop(connection, loop)
        waker().register(loop)


# For redis:// and rediss://. Kombu keeps the class that it has once found, so everything in this process that
# connects to the broker imports this module first.
TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:{Transport.__name__}"))
