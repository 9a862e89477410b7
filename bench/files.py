"""List the files of facho that one collection passes through, from a due slot to its stored rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Final

import typer

import facho
from bench.harness import AsJson, MeasurementFailed, Note, run_benchmark
from bench.private_system import private_system, running_engine
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench files`  one discovery with a chained GET: which files a reader has to follow

`facho bench files --json`
"""
_SOURCES: Final = f"{Path(facho.__file__).parent}/"
# A collection is what these do. The loops around them also recover, count and send heartbeats.
_ENTRY_POINTS: Final = frozenset({"queue_due_slots", "claim_executions", "run_execution"})
# All that this thread does is SNMP.
_SNMP_THREAD: Final = "snmp"
_FIRST_RUN: Final = timedelta(seconds=3)
_PATIENCE_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Result:
    files: tuple[str, ...]
    lines: int

    def as_json(self) -> dict[str, Any]:
        return {"count": len(self.files), "lines": self.lines, "files": list(self.files)}

    def print(self) -> None:
        for file in self.files:
            typer.echo(file)
        typer.echo(f"{len(self.files)} files, {self.lines:,} lines")


class CallRecorder:
    """A profile function for all threads that notes in which files functions run below the entry points."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._depth = threading.local()

    def __call__(self, frame: FrameType, event: str, _arg: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(_SOURCES):
            return
        depth = getattr(self._depth, "entered", 0)
        if code.co_name in _ENTRY_POINTS:
            self._depth.entered = depth + (event == "call") - (event == "return")
        if depth or code.co_name in _ENTRY_POINTS or threading.current_thread().name == _SNMP_THREAD:
            self.files.add(code.co_filename.removeprefix(_SOURCES))


@app.command(epilog=_EXAMPLES)
def files(as_json: AsJson = False) -> None:
    """List the files in which functions run during one collection, with SQLite and SNMPv2c."""
    run_benchmark(measure, as_json=as_json)


def measure(note: Note) -> Result:
    recorder = CallRecorder()
    threading.setprofile(recorder)
    try:
        note("one discovery with a chained GET")
        with (
            FleetProcess(FleetConfig(olts=1, onus=100)) as fleet,
            private_system("", first_run_delay=f"{_FIRST_RUN.seconds}s") as config,
        ):
            _add_olt_with_jobs(*fleet.addresses[0])
            # What setting up and starting needs is no part of a collection.
            with running_engine(config):
                recorder.files.clear()
                _wait_until(_has_collected)
    finally:
        threading.setprofile(None)
    names = tuple(sorted(recorder.files))
    return Result(names, sum(len(Path(_SOURCES, name).read_text().splitlines()) for name in names))


def _add_olt_with_jobs(host: str, port: int) -> None:
    from facho.apps.db.database import database_now
    from facho.engine.commands.jobs import NewJob, create_job
    from facho.engine.commands.olts import NewOlt, add_olt

    add_olt(NewOlt("olt-1", host, port, brand="huawei"))
    create_job(NewJob("discovery", "huawei", "discovery", "1h", (), olts=["olt-1"]), database_now())
    optics = NewJob("optics", "huawei", "get", "1h", ("onu_rx_dbm",), master="discovery", olts=["olt-1"])
    create_job(optics, database_now())


def _has_collected() -> bool:
    from facho.apps.executions.models import Execution, State

    ended = Execution.objects.filter(state__in=(State.SUCCESS, State.FAILED)).first()
    if ended is not None and ended.state != State.SUCCESS:
        raise MeasurementFailed(f"the collection failed: {ended.error}")
    return ended is not None


def _wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            raise MeasurementFailed(f"no collection ended within {_PATIENCE_S:.0f} s")
        time.sleep(0.1)
