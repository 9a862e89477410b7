"""The API is what its description says: whatever is asked, no answer is one that the description lacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection, transaction
from django.urls import resolve
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.reasons import text_reason
from facho.core.roles import Role
from facho.engine.commands import connection_test as olts
from facho.engine.commands.connection_test import Silence
from facho.snmp.errors import NoAnswer
from tests.api_clients import person, token_of
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

EXAMPLES = 300 if os.environ.get("TESTS_LONG") else 2
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
# Found again in every run, and kept nowhere: what a run has found must not depend on the runs before it.
QUIET = settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """As Django's own client does it: the end of a request is not the end of the test's transaction."""
    ends = (signals.request_started, signals.request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield
    for signal in ends:
        signal.connect(close_old_connections)


def wait_for_examples() -> None:
    """To think of one takes longer than a transaction may idle, on a machine that has much to do."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


@pytest.fixture(autouse=True)
def _nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses are anybody's."""
    monkeypatch.setattr(olts, "ask", lambda _target: Silence(text_reason("it does not answer"), NoAnswer("")))


def described() -> dict[str, Any]:
    """The description, with rows that exist for examples: a random number hardly ever meets one."""
    generator: Any = SchemaGenerator
    found: dict[str, Any] = generator(api_version="1").get_schema(request=None, public=True)
    for path, asked_for in found["paths"].items():
        for operation in asked_for.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and "[0-9]" in parameter["schema"].get("pattern", ""):
                    parameter["schema"] = {"type": "string", "enum": [*rows_of(path), "987654321"]}
    return found


def rows_of(path: str) -> list[str]:
    view: Any = resolve(path.replace("{id}", "1")).func
    return [str(row.pk) for row in view.cls.queryset.order_by("pk")[:3]]


def operations() -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(described())
    schema.app = get_wsgi_application()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        yield found.ok()


def asked(operation: Any, secret: str) -> Callable[[], None]:
    right = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @QUIET
    @given(case=right | wrong)
    def ask(case: Any) -> None:
        # What one example changes, the next one does not meet.
        with transaction.atomic():
            case.call_and_validate(headers={"Authorization": f"Bearer {secret}"}, checks=CHECKS)
            transaction.set_rollback(True)

    return ask


def test_no_answer_is_one_that_the_description_lacks() -> None:
    wait_for_examples()
    fill(3)
    # Else each plan that is made anew begins with every slot since the rows' own day.
    SnmpJobHost.objects.update(next_run_at=timezone.now())
    secret = token_of(person(Role.ADMINISTRATOR), Role.ADMINISTRATOR)
    wrong = {}
    for operation in operations():
        try:
            asked(operation, secret)()
        except FailureGroup as error:
            wrong[operation.label] = str(error)
    assert not wrong, "\n\n".join(f"{label}: {why}" for label, why in wrong.items())
