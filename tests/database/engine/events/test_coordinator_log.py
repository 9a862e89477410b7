"""The coordinator log: a sentence for each event, first in a file and then in the database."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import DataError, OperationalError, transaction
from django.utils import timezone, translation

from facho import masking
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.hosts.models import Olt
from facho.apps.localized_times import date_and_minute
from facho.config import Config
from facho.core.event_types import EventType
from facho.core.reasons import text_reason
from facho.engine.events import log_rows, stream
from facho.engine.events import types as events
from facho.engine.events.coordinator_log import LogWriter
from facho.engine.events.sentences import event_sentence
from facho.engine.events.stream import publish
from facho.web.words.events import log_message
from tests.factories import at, make_olt

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
SAID: dict[EventType, tuple[Callable[[int], events.Event], str]] = {
    EventType.TASK_ADDED: (
        lambda olt: events.TaskAdded(olt_id=olt, job="optics", task_type="get_optics", interval_s=300),
        "tarea optics agregada en north-1, cada 5 min",
    ),
    EventType.TASK_REMOVED: (
        lambda olt: events.TaskRemoved(olt_id=olt, job="optics", task_type="get_optics", aborted=2),
        "tarea optics quitada de north-1; ejecuciones abortadas: 2",
    ),
    EventType.TASK_INTERVAL_CHANGED: (
        lambda olt: events.TaskIntervalChanged(
            olt_id=olt, job="optics", task_type="get_optics", before_s=300, after_s=90
        ),
        "tarea optics en north-1: cada 90 s en lugar de cada 5 min",
    ),
    EventType.OLT_ENABLED: (lambda olt: events.OltEnabled(olt_id=olt), "north-1 habilitada"),
    EventType.OLT_DISABLED: (
        lambda olt: events.OltDisabled(olt_id=olt, aborted=0),
        "north-1 deshabilitada; ejecuciones abortadas: 0",
    ),
    EventType.CONFIG_CHANGED: (
        lambda olt: events.ConfigChanged(
            olt_id=olt, job="optics", changed={"priority": (40, 60), "oids": (("1.2", "1.3"), ())}
        ),
        "cambió la configuración de la tarea optics en north-1: OIDs: 1.2, 1.3 → , prioridad: 40 → 60",
    ),
    EventType.PLAN_ADJUSTED: (
        lambda olt: events.PlanAdjusted(olt_id=olt, nodes=3),
        "plan de north-1 ajustado; nodos: 3",
    ),
    EventType.PLAN_INFEASIBLE: (
        lambda olt: events.PlanInfeasible(
            olt_id=olt,
            minutes=72.0,
            at_risk="get_optics 12/24",
            change={"node": 1, "job": "optics", "before_s": 300, "after_s": 480},
        ),
        "más trabajo del que cabe en north-1: 72 minutos por hora, get_optics 12/24; "
        "cabría con optics cada 8 min en lugar de cada 5 min",
    ),
    EventType.EMERGENCY_REPLAN: (
        lambda olt: events.OltFailing(olt_id=olt, failures=3),
        "emergencia: fallaron 3 ejecuciones seguidas en north-1, se replanificó",
    ),
    EventType.QUOTA_VIOLATION: (
        lambda olt: events.QuotaViolated(
            olt_id=olt, period_start=NOW - HOUR, period_end=NOW, severity="HIGH", report=REPORT
        ),
        "cuota no cumplida en north-1 de 2025-06-10 04:00 a 2025-06-10 05:00, severidad alta: "
        "discovery 1/4, get_optics 2/4",
    ),
    EventType.EXECUTION_ABORTED: (
        lambda olt: events.ExecutionAborted(
            olt_id=olt, execution_id=7, job="optics", why=text_reason("la pidieron")
        ),
        "ejecución 7 de optics en north-1 abortada: la pidieron",
    ),
    EventType.LEASE_LOST: (
        lambda olt: events.ExecutionLostLease(olt_id=olt, execution_id=7, worker="w1"),
        "ejecución 7 en north-1 retirada a w1: venció su reserva",
    ),
    EventType.RECOVERED: (
        lambda olt: events.WorkRecovered(unstarted=1, abandoned=2, workers=3),
        "recuperado de procesos muertos; en ejecución: 2, sin empezar: 1, procesos quitados: 3",
    ),
    EventType.OLT_SUSPENDED: (
        lambda olt: events.OltSuspended(olt_id=olt, reason=text_reason("no answer")),
        "north-1 suspendida: no answer",
    ),
    EventType.OLT_BACK: (lambda olt: events.OltResumed(olt_id=olt), "north-1 se recuperó"),
    EventType.NODE_SUSPENDED: (
        lambda olt: events.NodeSuspended(olt_id=olt, node_id=1, job="optics", reason=text_reason("tooBig")),
        "tarea optics suspendida en north-1: tooBig",
    ),
    EventType.NODE_BACK: (
        lambda olt: events.NodeResumed(olt_id=olt, node_id=1, job="optics"),
        "tarea optics recuperada en north-1",
    ),
    EventType.SATURATION_BEGINS: (
        lambda olt: events.SaturationStarted(busy_percentage=80.5, queue_size=4),
        "pollers saturados: ocupados al 80,5 %, ejecuciones en espera: 4",
    ),
    EventType.SATURATION_ENDS: (
        lambda olt: events.SaturationEnded(busy_percentage=70.0, queue_size=0),
        "pollers ya no saturados: ocupados al 70 %, ejecuciones en espera: 0",
    ),
    EventType.PORT_OUTAGE: (
        lambda olt: events.PortOutageStarted(
            olt_id=olt, port="0/1/7", cause="fibre_cut", affected=60, onus=64
        ),
        "caída del puerto 0/1/7 de north-1, corte de fibra: 60 de 64 ONUs fuera de línea",
    ),
    EventType.PORT_OUTAGE_ENDED: (
        lambda olt: events.PortOutageEnded(
            olt_id=olt,
            port="0/1/7",
            cause="fibre_cut",
            affected=60,
            since=NOW - timedelta(minutes=90),
            until=NOW,
        ),
        "terminó la caída del puerto 0/1/7 de north-1 después de 90 min; ONUs afectadas: 60",
    ),
    EventType.ENGINE_WAS_STOPPED: (
        lambda olt: events.EngineWasStopped(since=NOW - 2 * HOUR, until=NOW),
        "el motor estuvo detenido desde 2025-06-10 03:00, durante 2 h",
    ),
    EventType.CLOCK_CHANGED: (
        lambda olt: events.ClockChanged(seconds=-3601.5),
        "el reloj se atrasó unos 1 h",
    ),
    EventType.UNREADABLE_ROWS: (
        lambda olt: events.UnreadableRowsFound(olt_id=olt, table="gpon_onts", rows=2, example="9.9.1"),
        "2 filas de gpon_onts de north-1 tienen un índice que su perfil no puede leer, como 9.9.1: mientras "
        "tanto ninguna ONU se marca como ausente",
    ),
    EventType.REMOVAL_WAITS: (
        lambda olt: events.RemovalHeld(tables={"onu_events": "900 of 1000"}),
        "la retención eliminaría la mayor parte de onu_events: espera hasta que una persona lo confirme",
    ),
    EventType.REMOVAL_RESUMED: (
        lambda olt: events.RemovalResumed(),
        "la retención se reanudó: no elimina más de lo habitual",
    ),
    EventType.MAINTENANCE_BEGINS: (
        lambda olt: events.MaintenanceStarted(olt_id=olt, window="fans", target="north-1", until=NOW + HOUR),
        "empieza el mantenimiento fans de north-1, hasta 2025-06-10 06:00",
    ),
    EventType.MAINTENANCE_ENDS: (
        lambda olt: events.MaintenanceEnded(olt_id=olt, window="fans", target="north-1"),
        "terminó el mantenimiento fans de north-1",
    ),
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return replace(Config(), home=tmp_path, time_zone=ZoneInfo("America/Bogota"))


@pytest.fixture
def own(config: Config, logged: Logged, monkeypatch: pytest.MonkeyPatch) -> LogWriter:
    """A coordinator log with a file of its own; `logged` has it written at once."""
    return publish_to(LogWriter(config), monkeypatch)


def publish_to(writer: LogWriter, monkeypatch: pytest.MonkeyPatch, *, background: bool = False) -> LogWriter:
    writer.background = background
    monkeypatch.setattr(stream, "log_writer", writer)
    return writer


def lines(config: Config) -> list[str]:
    return (config.logs / "coordinator" / "main.log").read_text("utf-8").splitlines()


def rows(own: LogWriter) -> list[CoordinatorLog]:
    own.flush()
    return list(CoordinatorLog.objects.order_by("id"))


def test_levels_are_those_of_the_manual() -> None:
    manual = Path("docs/reference/coordinator-log.md").read_text("utf-8")
    rows_of_the_table = re.findall(r"^\| (`[A-Z_`, ]+`) \| ([A-Z]+) \|", manual, re.MULTILINE)
    documented = {name: level for names, level in rows_of_the_table for name in re.findall(r"\w+", names)}
    assert documented == {event.type: event.level for event in every_kind_of_event()}


def every_kind_of_event() -> list[type[events.Event]]:
    kinds = [each for each in vars(events).values() if isinstance(each, type)]
    return [each for each in kinds if issubclass(each, events.Event) and each.type is not None]


def test_every_event_can_be_said() -> None:
    assert set(EventType) - set(SAID) == {EventType.LOG_LOST}


@pytest.mark.parametrize("event", SAID)
def test_an_event_is_a_sentence_in_the_language_of_the_operator(
    event: EventType, own: LogWriter, config: Config
) -> None:
    make_event, sentence = SAID[event]
    with translation.override("en"):
        publish(make_event(make_olt("north-1").id), NOW)
    (row,) = rows(own)
    assert (row.event_type, row.message, row.timestamp) == (event.value, sentence, NOW)
    assert [line.split(": ", 1)[1] for line in lines(config)] == [sentence]


@pytest.mark.parametrize("event", SAID)
def test_a_reader_of_another_language_has_the_sentence_in_it(event: EventType, own: LogWriter) -> None:
    make_event, spanish = SAID[event]
    publish(make_event(make_olt("north-1").id), NOW)
    (row,) = rows(own)
    with timezone.override(own.config.time_zone):
        assert _read(row, "es") == re.sub(r"2025-06-10", "10/06/2025", spanish)
        with translation.override("en"):
            said = events_by_type(event, make_event(1))
        assert _read(row, "en") == said
        assert said != spanish


def events_by_type(event: EventType, made: events.Event) -> str:
    """Return the English sentence, made of the event itself and not of what was stored."""
    olt = None if made.olt_id is None else "north-1"
    return event_sentence(made, olt, date_and_minute)


def _read(row: CoordinatorLog, language: str) -> str:
    with translation.override(language):
        return log_message(row)


@pytest.mark.parametrize(
    "details", [{}, {"job": 1}, {"since": 5, "until": None, "tasks": [], "period_start": "yesterday"}]
)
@pytest.mark.parametrize("event", EventType)
def test_an_entry_of_another_version_is_read_as_it_is_stored(event: EventType, details: object) -> None:
    at_least = CoordinatorLog(event_type=event.value, message="stored", details=details, timestamp=NOW)
    assert _read(at_least, "en")
    unknown = CoordinatorLog(event_type="OF_TOMORROW", message="stored", details=details, timestamp=NOW)
    assert _read(unknown, "en") == "stored"


def test_an_entry_of_a_removed_olt_keeps_its_name(own: LogWriter) -> None:
    publish(events.OltDisabled(olt_id=make_olt("gone").id, aborted=0), NOW)
    (row,) = rows(own)
    Olt.objects.all().delete()
    row.refresh_from_db()
    assert _read(row, "en") == "gone deshabilitada; ejecuciones abortadas: 0"


def test_a_line_has_the_time_of_the_operator_the_level_and_who_decided_it(
    own: LogWriter, config: Config
) -> None:
    olt = make_olt("north-1")
    publish(events.OltEnabled(olt_id=olt.id), NOW)
    publish(events.ExecutionLostLease(olt_id=olt.id, execution_id=7, worker="w1"), NOW)
    publish(events.WorkRecovered(unstarted=0, abandoned=1, workers=0), NOW)
    assert [line.rsplit(": ", 1)[0].split(": ")[0] for line in lines(config)] == [
        "2025-06-10 05:00:00 [INFO] coordinator.coordinator_loop",
        "2025-06-10 05:00:00 [ERROR] coordinator.executions",
        "2025-06-10 05:00:00 [WARNING] coordinator.scheduler",
    ]
    assert [(row.level, row.olt) for row in rows(own)] == [("INFO", olt), ("ERROR", olt), ("WARNING", None)]


def test_details_are_kept_as_json(own: LogWriter) -> None:
    publish(SAID[EventType.QUOTA_VIOLATION][0](make_olt().id), NOW)
    publish(events.ConfigChanged(olt_id=make_olt().id, job=None, changed={"rate": (float("nan"), None)}), NOW)
    violation, changed = rows(own)
    assert violation.details["period_end"] == "2025-06-10T10:00:00+00:00"
    assert violation.details["report"] == REPORT
    assert changed.details == {"job": None, "changed": {"rate": ["nan", None]}}


def test_the_python_log_has_the_event_as_its_action(own: LogWriter, caplog: pytest.LogCaptureFixture) -> None:
    olt = make_olt()
    with caplog.at_level("INFO"):
        publish(events.OltResumed(olt_id=olt.id), NOW)
    assert [(each.action, each.olt_id) for each in caplog.records] == [("OLT_BACK", olt.id)]  # type: ignore[attr-defined]


def test_no_value_breaks_a_line_or_is_refused_by_a_database(own: LogWriter, config: Config) -> None:
    publish(
        events.OltSuspended(
            olt_id=make_olt("north-1").id, reason=text_reason("a\nb\x00c\udcffd" + "e" * 5000)
        ),
        NOW,
    )
    (line,) = lines(config)
    (row,) = rows(own)
    assert line.endswith(f": {row.message}")
    assert row.message.startswith("north-1 suspendida: a\\nb\\x00c\\udcffdeee")
    assert len(row.message) < 2100


def test_no_secret_is_in_a_sentence_nor_in_the_details(own: LogWriter, config: Config) -> None:
    masking.add_secrets("secret-of-test-journal")
    olt = make_olt()
    # Cut in the middle of the secret, it would not be found any more.
    long = "x" * 50 + " secret-of-test-journal"
    publish(events.OltSuspended(olt_id=olt.id, reason=text_reason("refused secret-of-test-journal")), NOW)
    publish(events.ConfigChanged(olt_id=olt.id, job=None, changed={"site": (long, [{"deep": long}])}), NOW)
    for text in (*lines(config), *(f"{row.message} {row.details}" for row in rows(own))):
        assert "***" in text
        assert "secret-of" not in text


@pytest.mark.django_db(transaction=True)
def test_in_a_transaction_it_is_written_when_that_is_committed_and_only_then(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = publish_to(LogWriter(config), monkeypatch)
    olt = make_olt("north-1")
    with transaction.atomic():
        publish(events.OltDisabled(olt_id=olt.id, aborted=0), NOW)
        transaction.set_rollback(True)
    with transaction.atomic():
        publish(events.OltEnabled(olt_id=olt.id), NOW)
        assert not (config.logs / "coordinator").exists()
    assert [row.message for row in rows(own)] == ["north-1 habilitada"]


def test_the_olt_of_an_entry_may_be_gone(own: LogWriter) -> None:
    gone, stays = make_olt("gone"), make_olt("stays")
    publish(events.OltDisabled(olt_id=gone.id, aborted=0), NOW)
    publish(events.OltEnabled(olt_id=stays.id), NOW)
    Olt.objects.filter(id=gone.id).delete()
    publish(events.OltEnabled(olt_id=gone.pk or 0), NOW)
    first, second, third = rows(own)
    assert (first.olt, first.message) == (None, "gone deshabilitada; ejecuciones abortadas: 0")
    assert (second.olt, second.message) == (stays, "stays habilitada")
    assert third.olt is None


def refusing_inserts(monkeypatch: pytest.MonkeyPatch, error: Exception, refused: str = "") -> None:
    insert = log_rows._insert

    def refuse(entries: Any) -> None:
        if any(refused in entry.message for entry in entries):
            raise error
        insert(entries)

    monkeypatch.setattr(log_rows, "_insert", refuse)


def test_rows_stay_while_the_database_is_away_and_the_oldest_go_when_there_are_too_many(
    config: Config, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = publish_to(LogWriter(replace(config, log_queue=3)), monkeypatch)
    with monkeypatch.context() as away:
        refusing_inserts(away, OperationalError("away"))
        for minute in range(5):
            publish(
                events.WorkRecovered(unstarted=minute, abandoned=0, workers=0),
                NOW + timedelta(minutes=minute),
            )
            assert not own.flush()
    assert own.rows.losses.lines == 2
    assert not any(file.losses.lines for file in own.files.values())
    found = rows(own)
    assert [row.details.get("unstarted") for row in found] == [2, 3, 4, None]
    assert found[-1].event_type == "LOG_LOST"
    assert lines(config)[-1].endswith(
        "se perdieron 2 líneas de coordinator_logs, desde 2025-06-10 05:00 hasta 2025-06-10 05:01"
    )
    assert own.rows.losses.lines == 0


def test_an_entry_that_the_database_refuses_keeps_no_other_from_it(
    own: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "bad", "two"):
        publish(events.OltSuspended(olt_id=make_olt(name).id, reason=text_reason("silent")), NOW)
    refusing_inserts(monkeypatch, DataError("no"), refused="bad")
    assert [row.message.split()[0] for row in rows(own)] == ["one", "two", "se"]


def test_a_full_disk_is_told_to_both_when_there_is_room_again(own: LogWriter, config: Config) -> None:
    path = config.logs / "coordinator" / "main.log"
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/full")
    for minute in range(3):
        publish(events.WorkRecovered(unstarted=1, abandoned=0, workers=0), NOW + timedelta(minutes=minute))
    assert own.files["coordinator/main.log"].losses.lines == 3
    path.unlink()
    publish(events.WorkRecovered(unstarted=2, abandoned=0, workers=0), NOW + timedelta(hours=1))
    said = "se perdieron 3 líneas de coordinator/main.log, desde 2025-06-10 05:00 hasta 2025-06-10 05:02"
    assert [line.rsplit(": ", 1)[1] for line in lines(config)] == ["0", said]
    found = rows(own)
    assert [row.event_type for row in found].count("RECOVERED") == 4
    assert [row.details["lines"] for row in found if row.event_type == "LOG_LOST"] == [3]


def test_a_database_that_cannot_say_the_name_of_an_olt_stops_nobody(
    own: LogWriter, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr("facho.apps.db.sql.fetch_rows", away)
    publish(events.OltResumed(olt_id=12), NOW)
    assert lines(config)[0].endswith("OLT 12 se recuperó")


def test_a_bug_in_writing_stops_nobody(
    own: LogWriter, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facho.engine.events.coordinator_log.masked_json", lambda _: 1 / 0)
    publish(events.WorkRecovered(unstarted=1, abandoned=0, workers=0), NOW)
    assert [record.action for record in caplog.records] == ["bug"]  # type: ignore[attr-defined]


@pytest.mark.django_db(transaction=True)
def test_a_thread_writes_the_rows_and_the_end_of_a_process_waits_for_it(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr("atexit.register", ends.append)
    publish_to(LogWriter(config), monkeypatch, background=True)
    publish(events.WorkRecovered(unstarted=1, abandoned=0, workers=0), NOW)
    publish(events.WorkRecovered(unstarted=2, abandoned=0, workers=0), NOW)
    (end,) = ends
    end()
    assert [row.details["unstarted"] for row in CoordinatorLog.objects.order_by("id")] == [1, 2]
    assert [thread for thread in threading.enumerate() if thread.name == "coordinator-log"] == []
