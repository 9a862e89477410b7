"""The coordinator's log: a sentence for each event, first in a file and then in the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import translation

from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.config import Config
from facho.core.journal import Event
from facho.engine.journal import Journal
from tests.database.making import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")
HOUR = timedelta(hours=1)
Logged = Callable[[], list[CoordinatorLog]]
REPORT = {
    "tasks": [
        {"task_type": "get_state", "required": 12, "completed": 12, "percent": 100.0, "severity": None},
        {"task_type": "get_optics", "required": 4, "completed": 2, "percent": 50.0, "severity": "HIGH"},
        {"task_type": "discovery", "required": 4, "completed": 1, "percent": 25.0, "severity": "HIGH"},
    ],
    "reasons": [],
}

# How each event is said, and what an operator reads.
SAID: dict[Event, tuple[Callable[[Journal, int], None], str]] = {
    Event.TASK_ADDED: (
        lambda to, olt: to.task_added(NOW, olt, job="optics", task_type="get_optics", interval_s=300),
        "tarea optics añadida en north-1, cada 5m",
    ),
    Event.TASK_REMOVED: (
        lambda to, olt: to.task_removed(NOW, olt, job="optics", task_type="get_optics", aborted=2),
        "tarea optics retirada de north-1; ejecuciones abortadas: 2",
    ),
    Event.TASK_INTERVAL_CHANGED: (
        lambda to, olt: to.task_interval_changed(
            NOW, olt, job="optics", task_type="get_optics", before_s=300, after_s=90
        ),
        "tarea optics en north-1: cada 90s en vez de cada 5m",
    ),
    Event.OLT_ENABLED: (lambda to, olt: to.olt_enabled(NOW, olt), "north-1 activada"),
    Event.OLT_DISABLED: (
        lambda to, olt: to.olt_disabled(NOW, olt, aborted=0),
        "north-1 desactivada; ejecuciones abortadas: 0",
    ),
    Event.CONFIG_CHANGED: (
        lambda to, olt: to.config_changed(
            NOW, olt, job="optics", changed={"priority": (40, 60), "oids": (("1.2", "1.3"), ())}
        ),
        "cambió la configuración de la tarea optics en north-1: priority: 40 -> 60, oids: 1.2, 1.3 -> ",
    ),
    Event.PLAN_ADJUSTED: (
        lambda to, olt: to.plan_adjusted(NOW, olt, nodes=3),
        "plan de north-1 ajustado; tareas: 3",
    ),
    Event.EMERGENCY_REPLAN: (
        lambda to, olt: to.emergency_replan(NOW, olt, why="failures", failures=3),
        "emergencia: fallaron 3 ejecuciones seguidas en north-1, se planifica de nuevo",
    ),
    Event.QUOTA_VIOLATION: (
        lambda to, olt: to.quota_violation(
            NOW, olt, period_start=NOW - HOUR, period_end=NOW, severity="HIGH", report=REPORT
        ),
        "cuota no cumplida en north-1 de 2026-03-10 04:00 a 2026-03-10 05:00, severidad alta: "
        "discovery 1/4, get_optics 2/4",
    ),
    Event.EXECUTION_ABORTED: (
        lambda to, olt: to.execution_aborted(NOW, olt, execution_id=7, job="optics", why="la pidieron"),
        "ejecución 7 de optics en north-1 abortada: la pidieron",
    ),
    Event.LEASE_LOST: (
        lambda to, olt: to.lease_lost(NOW, olt, execution_id=7, worker="w1"),
        "ejecución 7 en north-1 retirada a w1: venció su reserva",
    ),
    Event.RECOVERED: (
        lambda to, olt: to.recovered(NOW, unstarted=1, abandoned=2, workers=3),
        "recuperado lo que dejó un proceso muerto; en curso: 2, sin empezar: 1, workers olvidados: 3",
    ),
    Event.OLT_SUSPENDED: (
        lambda to, olt: to.olt_suspended(NOW, olt, reason="no answer"),
        "north-1 suspendida: no answer",
    ),
    Event.OLT_BACK: (lambda to, olt: to.olt_back(NOW, olt), "north-1 ha vuelto"),
    Event.NODE_SUSPENDED: (
        lambda to, olt: to.node_suspended(NOW, olt, node_id=1, job="optics", reason="tooBig"),
        "tarea optics suspendida en north-1: tooBig",
    ),
    Event.NODE_BACK: (
        lambda to, olt: to.node_back(NOW, olt, node_id=1, job="optics"),
        "tarea optics de vuelta en north-1",
    ),
    Event.SATURATION_BEGINS: (
        lambda to, olt: to.saturation_begins(NOW, busy_percentage=80.5, queue_size=4),
        "pollers saturados: ocupados al 80.5 %, ejecuciones en espera: 4",
    ),
    Event.SATURATION_ENDS: (
        lambda to, olt: to.saturation_ends(NOW, busy_percentage=70.0, queue_size=0),
        "los pollers ya no están saturados: ocupados al 70 %, en espera: 0",
    ),
    Event.ENGINE_WAS_STOPPED: (
        lambda to, olt: to.engine_was_stopped(NOW, since=NOW - 2 * HOUR),
        "el motor estuvo parado desde 2026-03-10 03:00, durante 2h",
    ),
    Event.CLOCK_CHANGED: (
        lambda to, olt: to.clock_changed(NOW, seconds=-3601.5),
        "el reloj se atrasó unos 1h",
    ),
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    from zoneinfo import ZoneInfo

    return replace(Config(), home=tmp_path, time_zone=ZoneInfo("America/Bogota"))


@pytest.fixture
def own(config: Config, logged: Logged) -> Journal:
    """A journal with a file of its own; `logged` has it written at once."""
    own = Journal(config)
    own.background = False
    return own


def lines(config: Config) -> list[str]:
    return (config.logs / "coordinator" / "main.log").read_text("utf-8").splitlines()


def rows(own: Journal) -> list[CoordinatorLog]:
    own.flush()
    return list(CoordinatorLog.objects.order_by("id"))


def test_every_event_can_be_said() -> None:
    assert set(Event) - set(SAID) == {Event.LOG_LOST}


@pytest.mark.parametrize("event", SAID)
def test_an_event_is_a_sentence_in_the_language_of_the_operator(
    event: Event, own: Journal, config: Config
) -> None:
    say, sentence = SAID[event]
    with translation.override("en"):
        say(own, make_olt("north-1").id)
    (row,) = rows(own)
    assert (row.event_type, row.message, row.timestamp) == (event.value, sentence, NOW)
    assert [line.split(": ", 1)[1] for line in lines(config)] == [sentence]
