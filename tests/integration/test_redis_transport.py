"""The transport of messages: it waits in Redis, it is woken, and it takes nothing that nobody will run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue
from kombu.asynchronous import Hub

from facho.backends.celery_names import EXECUTE
from facho.backends.redis_transport import Transport, waker
from facho.backends.start_checks import broker_away
from facho.core.pool import DEFAULT
from tests.contract.backends import celery_app
from tests.services.redis import Redis
from tests.waiting import wait_until

QUEUE = Queue(DEFAULT, Exchange(DEFAULT), routing_key=DEFAULT)


@pytest.fixture
def connection(own_redis: Redis) -> Iterator[Any]:
    with Connection(own_redis.url) as connection:
        yield connection


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub, before = Hub(), signal.set_wakeup_fd(-1)
    waker().register(hub)
    yield hub
    signal.set_wakeup_fd(before)
    hub.close()


def is_woken(hub: Hub) -> bool:
    return bool(hub.poller.poll(0))


def blocked(redis: Redis) -> int:
    """How many clients wait for a message."""
    with redis.client() as client:
        return int(client.info("clients")["blocked_clients"])


def wait_for_message(connection: Any, redis: Redis) -> Any:
    """A consumer that waits for a message, as that of a worker does between two turns of its loop."""
    consumer = connection.Consumer([QUEUE], callbacks=[lambda body, message: message.ack()])
    consumer.consume()
    connection.transport.cycle.on_poll_start()
    wait_until(lambda: blocked(redis) == 1, what="it waits in Redis")
    return consumer


def test_all_that_connects_to_the_broker_uses_it(own_redis: Redis) -> None:
    assert list(broker_away(own_redis.url)) == []
    with celery_app(own_redis) as app, app.connection_for_read() as connection:
        assert isinstance(connection.transport, Transport)


def test_a_thread_that_has_done_its_work_wakes_the_loop(hub: Hub) -> None:
    assert not is_woken(hub)
    done: list[int] = []
    thread = threading.Thread(target=hub.call_soon, args=(done.append, 1))
    thread.start()
    thread.join()
    assert is_woken(hub)
    loop = hub.create_loop()
    next(loop)
    assert done == [1]
    assert not is_woken(hub)


def test_a_signal_wakes_the_loop(hub: Hub) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        wait_until(lambda: is_woken(hub))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_consumer_that_stops_waits_no_more(connection: Any, own_redis: Redis) -> None:
    consumer = wait_for_message(connection, own_redis)
    consumer.cancel()
    assert blocked(own_redis) == 0


def test_a_message_of_the_last_moment_goes_back_to_its_queue(connection: Any, own_redis: Redis) -> None:
    consumer = wait_for_message(connection, own_redis)
    with celery_app(own_redis) as app:
        app.send_task(EXECUTE, args=[7], queue=DEFAULT)
    wait_until(lambda: blocked(own_redis) == 0, what="Redis has sent it")
    consumer.cancel()
    with own_redis.client() as client:
        assert client.llen(DEFAULT) == 1


def test_a_close_waits_for_no_broker(connection: Any, own_redis: Redis) -> None:
    wait_for_message(connection, own_redis)
    own_redis.stop()
    connection.close()


def test_redis_has_a_message_once(connection: Any, own_redis: Redis) -> None:
    with celery_app(own_redis) as app, own_redis.client() as client:
        app.send_task(EXECUTE, args=[7], queue=DEFAULT)
        taken: list[Any] = []
        with connection.Consumer([QUEUE], on_message=taken.append, accept=["json"]):
            connection.drain_events(timeout=10)
            keys = {key.decode() for key in client.scan_iter()}
        assert len(taken) == 1
        assert not [key for key in keys if not key.startswith("_kombu.binding.")]
