"""A test that starts real processes has a database of its own, of the kind that the run is for."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.waiting import PATIENCE_S

TABLES = """
import django
from django.db import connection

django.setup()
print(connection.introspection.table_names())
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE mine (id integer)")
print(connection.introspection.table_names())
"""


def test_it_is_of_the_kind_that_was_asked_for(database_url: str, pytestconfig: pytest.Config) -> None:
    assert urlsplit(database_url).scheme == pytestconfig.getoption("--database")


@pytest.mark.parametrize("time", ["first", "second"])
def test_another_process_finds_it_empty_each_time(database_url: str, time: str) -> None:
    environment = {**os.environ, "FACHO_DATABASE_URL": database_url}
    done = subprocess.run(
        [sys.executable, "-c", TABLES], env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.splitlines() == ["[]", "['mine']"], done.stderr
