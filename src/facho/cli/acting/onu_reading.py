"""One ONU, read now by the engine that runs; the person waits for what it says."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

import typer

from facho.apps.db.clock import database_now
from facho.apps.executions.models import OPEN, Execution, State
from facho.apps.zabbix_pollers.selectors import pool
from facho.cli.acting.onu_pages import onu_named
from facho.cli.acting.showing import print_facts, print_json, print_titled
from facho.cli.exits import Exit
from facho.cli.progress import noting
from facho.cli.system import fail
from facho.cli.turns import LOOK_EVERY_S
from facho.config import Config
from facho.engine.commands.runs import read_onu

_NO_ENGINE: Final = "no engine is running that could ask: start one with facho up"


def read(name: str, olt: str | None, config: Config, stopping: threading.Event, *, as_json: bool) -> None:
    onu = onu_named(name, olt)
    if not _engine_runs(config):
        fail(_NO_ENGINE)
    asked = read_onu(onu.id, database_now())
    with noting() as note:
        note("waiting for the OLT")
        ended = _wait(asked, config, stopping)
    _show(ended, as_json=as_json)
    if ended.state != State.SUCCESS:
        raise typer.Exit(Exit.INCOMPLETE)


def _engine_runs(config: Config) -> bool:
    return pool(database_now(), config, busy=0).pollers > 0


def _wait(execution_id: int, config: Config, stopping: threading.Event) -> Execution:
    """Whoever else asked for it may wait too: it is not ended when this person goes away."""
    while (found := Execution.objects.get(id=execution_id)).state in OPEN:
        if stopping.wait(LOOK_EVERY_S):
            raise typer.Exit(Exit.INCOMPLETE)
        if not _engine_runs(config):
            fail(f"{_NO_ENGINE}; execution {execution_id} waits for it")
    return found


def _show(execution: Execution, *, as_json: bool) -> None:
    result: Mapping[str, Any] = {"facts": {}, "unread": {}, **execution.result}
    if as_json:
        told = {"execution": execution.id, "state": execution.state, "error": execution.error or None}
        print_json({**told, "ended_at": execution.ended_at, **result})
        return
    print_facts(result["facts"])
    unread = [{"fact": fact.replace("_", " "), "why": why} for fact, why in result["unread"].items()]
    print_titled("Not read", unread, ("fact", "why"))
    if execution.error:
        typer.echo(f"Error: {execution.error}", err=True)
