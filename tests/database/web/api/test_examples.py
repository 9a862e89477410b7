"""The examples of the page on the API do what it says, on a real server with a real token."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.executions.models import Execution
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.core.roles import Role
from facho.engine.commands.tokens import create_token
from tests.api_clients import person
from tests.sample_rows import fill
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.one_database


@pytest.fixture
def environment(live_server: Any) -> dict[str, str]:
    fill(5)
    Execution.objects.all().delete()
    Onu.objects.filter(olt__name="olt-003").update(state="los", serial="HWTC00000003")
    owner = person(Role.OPERATOR)
    made = create_token(owner, "of a script", Role.OPERATOR.slug, database_now())
    node = SnmpJobHost.objects.order_by("id")[0].pk
    return {**os.environ, "FACHO_URL": live_server.url, "FACHO_TOKEN": made.secret, "NODE": str(node)}


def blocks(language: str, page: Path) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def said(argv: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_do_what_the_page_says(environment: dict[str, str], pytestconfig: pytest.Config) -> None:
    page = pytestconfig.rootpath / "docs" / "howto" / "api.md"
    (script,) = blocks("python", page)
    told = said([sys.executable, "-c", script], environment).splitlines()
    assert [line.split()[0] for line in told] == [f"olt-{number:03}" for number in range(5)]

    dark, run = blocks("sh", page)
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (onu,) = json.loads(said(["sh", "-c", dark], environment))["results"]
    assert onu["serial"] == "HWTC00000003"
    started = json.loads(said(["sh", "-c", run], environment))
    assert Execution.objects.get().pk == started["execution"]
