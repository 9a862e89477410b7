"""The web process, for an ASGI server."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import django

from facho.config import current, web_contradictions
from facho.file_modes import repair_modes
from facho.web.server.slow_clients import cut_off_slow_clients

django.setup(set_prefix=False)

from facho.web.server.handler import OneThreadHandler  # noqa: E402  # it needs Django's settings
from facho.web.server.preload import prepare_process  # noqa: E402
from facho.web.server.query_limits import limit_queries  # noqa: E402

# Held until the process ends.
_uses_database = ExitStack()


def _check_settings() -> None:
    """Refuse settings with which the pages cannot be served, whichever ASGI server imports this."""
    for reason in web_contradictions(current()):
        raise SystemExit(f"Error: {reason}")


def _check_database() -> None:
    """Refuse a database of another version, whichever ASGI server imports this."""
    from django.db import connection

    from facho.engine.commands.setup import using_database
    from facho.engine.upkeep.schema import SchemaProblem
    from facho.keys import KeyProblem

    def use_database() -> None:
        try:
            _uses_database.enter_context(using_database())
        finally:
            connection.close()

    try:
        # A server may import this in its event loop, where Django refuses queries.
        with ThreadPoolExecutor(1, thread_name_prefix="schema") as thread:
            thread.submit(use_database).result()
    except (SchemaProblem, KeyProblem) as problem:
        raise SystemExit(f"Error: {problem}") from None


_check_settings()
repair_modes(current())
_check_database()
# After the migrations, which may take longer than a query of a page may.
limit_queries(current().query_timeout)
application = cut_off_slow_clients(
    OneThreadHandler(),
    write=current().write_timeout,
    answer=current().answer_timeout,
    body_bytes=current().body_bytes,
)
prepare_process()
