"""What travels to a poller: an id, and nothing that somebody could read on the way."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from facho.apps.db.database import database_now
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.credentials import Credentials
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.zabbix_pollers.store import register_worker
from facho.backends.celery_backend import CeleryBackend
from facho.backends.local_pollers import read_message, write_message
from facho.core.pool import DEFAULT, HIGH_PRIORITY, RETRY
from tests.contract.backends import CONFIG, celery_app
from tests.factories import make_execution, make_node, make_olt
from tests.services.redis import Redis

pytestmark = pytest.mark.django_db
SECRETS = ("s3cret-community", "s3cret-olt", "198.51.100.7")


@pytest.fixture
def node() -> SnmpJobHost:
    credentials = Credentials(community=SECRETS[0])
    return make_node(make_olt(SECRETS[1], credentials=credentials, address=SECRETS[2]))


@pytest.fixture
def backend(own_redis: Redis) -> Iterator[CeleryBackend]:
    with celery_app(own_redis) as app:
        yield CeleryBackend(app)


def test_between_threads_it_is_an_id() -> None:
    assert write_message(7) == '{"execution_id": 7}'
    assert read_message(write_message(7)) == 7


@pytest.mark.parametrize(
    ("columns", "queue", "task"),
    [
        pytest.param({}, DEFAULT, "snmp_jobs.tasks.execute_one", id="a slot"),
        pytest.param({"run_now": True}, HIGH_PRIORITY, "snmp_jobs.tasks.execute_one", id="run now"),
        pytest.param({"attempt": 1}, RETRY, "snmp_jobs.tasks.execute_one_retry", id="a retry"),
    ],
)
def test_between_machines_it_is_an_id(
    node: SnmpJobHost,
    backend: CeleryBackend,
    own_redis: Redis,
    columns: dict[str, Any],
    queue: str,
    task: str,
) -> None:
    now = database_now()
    register_worker("somebody", 1, now)
    execution = make_execution(node, now, State.WAITING, **columns)

    backend.assign(now, CONFIG)

    with own_redis.client() as client:
        (raw,) = client.lrange(queue, 0, -1)
        everything = [raw, *client.keys()]
    sent = json.loads(raw)
    arguments, named, _options = body = json.loads(base64.b64decode(sent["body"]))
    assert (arguments, named) == ([execution.id], {})
    assert sent["headers"]["task"] == task
    said = f"{everything} {body}"
    assert [secret for secret in SECRETS if secret in said] == []


def test_a_message_is_the_one_that_celery_would_send(backend: CeleryBackend, own_redis: Redis) -> None:
    backend.submit(7, DEFAULT)
    backend._app.send_task("snmp_jobs.tasks.execute_one", args=[7], queue=DEFAULT, ignore_result=True)
    with own_redis.client() as client:
        theirs, ours = (json.loads(raw) for raw in client.lrange(DEFAULT, 0, -1))
    for each in (theirs, ours):
        # What differs between two messages of Celery itself.
        identity = each["headers"].pop("id")
        assert each["headers"].pop("root_id") == identity == each["properties"].pop("correlation_id")
        del each["properties"]["delivery_tag"], each["properties"]["reply_to"]
    assert ours == theirs


def test_what_no_broker_takes_waits_for_the_next_step(
    node: SnmpJobHost, backend: CeleryBackend, own_redis: Redis
) -> None:
    execution = make_execution(node, database_now(), State.PENDING)
    own_redis.stop()

    backend.submit(execution.id)

    found = Execution.objects.values_list("state", "lease_expires_at").get(id=execution.id)
    assert found == (State.WAITING, None)


def test_the_first_that_a_worker_claims_for_its_own_queues_needs_no_message(
    node: SnmpJobHost, backend: CeleryBackend, own_redis: Redis
) -> None:
    now = database_now()
    register_worker("somebody", 3, now)
    urgent = make_execution(make_node(), now, run_now=True)
    kept, sent = make_execution(node, now), make_execution(make_node(), now)

    assert backend.assign(now, CONFIG, keep=frozenset({DEFAULT})) == kept.id

    with own_redis.client() as client:
        messages = [
            json.loads(raw) for queue in (HIGH_PRIORITY, DEFAULT) for raw in client.lrange(queue, 0, -1)
        ]
    bodies = [json.loads(base64.b64decode(each["body"])) for each in messages]
    assert [arguments for arguments, *_ in bodies] == [[urgent.id], [sent.id]]
    assert not Execution.objects.filter(state=State.WAITING).exists()
