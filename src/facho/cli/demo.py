"""`facho demo`: the whole system on this machine, against simulated OLTs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from facho.cli.errors import refuse
from facho.cli.processes import stop_on_signals
from facho.cli.system import database_now, system
from facho.cli.up import free_address, refuse_with_broker, run_engine_and_web, sync_with_profiles
from facho.demo.story import PAST
from facho.sim.fleet import FleetConfig, FleetError
from facho.sim.model import Shape
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario

if TYPE_CHECKING:
    from facho.config import Config
    from facho.engine.commands.jobs import NewJob

app = typer.Typer()

_ONUS: Final = 500
_SITE: Final = "demo"
# Short, so that a demo shows something soon.
_INTERVALS: Final = {
    "discovery": "5m",
    "state": "1m",
    "optics": "1m",
    "description": "2m",
    "model": "5m",
    "details": "5m",
    "traffic": "1m",
    "uplinks": "1m",
    "health": "2m",
    "ports": "5m",
    "autofind": "2m",
}
_CHECK_EVERY_S: Final = 0.5
_EXAMPLES: Final = """
**Examples**

`facho demo`  runs until Ctrl-C, with the pages at http://127.0.0.1:8000/

`facho demo --port 9000 --seconds 60`  on another port, and ends by itself

`facho demo --no-past`  without the simulated month before, as a new installation is

`facho onu list`  shows what the demo has collected, from the same folder
"""


@dataclass(frozen=True, slots=True)
class DemoOlt:
    name: str
    brand: str
    scenario: str


OLTS: Final = (
    DemoOlt("demo-huawei-1", "huawei", "plain"),
    DemoOlt("demo-zte-1", "zte", "flapping"),
    DemoOlt("demo-fiberhome-1", "fiberhome", "plain"),
    DemoOlt("demo-nokia-1", "nokia", "plain"),
    DemoOlt("demo-huawei-slow", "huawei", "slow"),
    DemoOlt("demo-zte-flaky", "zte", "flaky"),
)
# Power, temperature and load follow the time of day, and some ONUs lose light: charts are not flat.
_MOTION: Final = {
    "drift_db": 0.4, "drift_period_s": 86_400.0, "daily_c": 4.0, "daily_cpu": 12.0, "fading": 0.012,
    "jitter": 0.3, "jitter_db": 0.12, "refresh_s": 30.0,
}  # fmt: skip


@app.command(epilog=_EXAMPLES)
def demo(
    port: Annotated[
        int, typer.Option(min=1, max=65535, envvar="DEMO_PORT", help="Port of the pages.")
    ] = 8000,
    seconds: Annotated[
        float, typer.Option(min=0, help="End after this many seconds; 0 runs until Ctrl-C.")
    ] = 0,
    past: Annotated[
        bool,
        typer.Option(
            help="On the first start, fill in a simulated month: charts, events, outages, quotas, executions."
        ),
    ] = True,
) -> None:
    """Start six simulated OLTs of four vendors with 3,000 ONUs, and collect from them."""
    host, port = free_address(f"127.0.0.1:{port}")
    stopping = stop_on_signals()
    with system(by_person=False) as config:
        refuse_with_broker(config)
        sync_with_profiles()
        _print_welcome()
        _run(config, f"{host}:{port}", stopping, seconds, past=past)


def _run(config: Config, address: str, stopping: threading.Event, seconds: float, *, past: bool) -> None:
    try:
        with FleetProcess(fleet_config()) as fleet:
            _prepare(fleet.addresses)
            if past:
                fill_in_past_once(fleet, config, stopping)
            set_scenarios(fleet)
            typer.echo(f"Look at them at http://{address}/  (Ctrl-C ends it)")
            with _stopping_after(stopping, seconds), _reporting_onus(stopping):
                run_engine_and_web(config, {"FACHO_WEB_ADDRESS": address}, stopping)
    except FleetError as error:
        refuse(str(error))


def fleet_config(onus: int = _ONUS) -> FleetConfig:
    return FleetConfig(olts=len(OLTS), onus=onus, family=",".join(olt.brand for olt in OLTS))


def set_scenarios(fleet: FleetProcess) -> None:
    for number, olt in enumerate(OLTS):
        fleet.set_scenario(_scenario(olt), number)


def _scenario(olt: DemoOlt) -> Scenario:
    return PRESETS[olt.scenario].scenario.but(**_MOTION)


def fill_in_past_once(
    fleet: FleetProcess, config: Config, stopping: threading.Event, past: timedelta = PAST
) -> bool:
    """Fill in the past before the first start; return False on a later one, or beside other data."""
    from facho.apps.hosts.models import Olt
    from facho.demo.past import PastOlt, Stopped, fill_in_past, has_no_past

    if not has_no_past() or Olt.objects.exclude(name__in=[olt.name for olt in OLTS]).exists():
        return False
    typer.echo("Filling in a simulated month before today: charts, events, outages, quotas ...")
    started = time.monotonic()
    # They answer at once and move as later: nothing of the first collection is lost.
    fleet.set_scenario(Scenario().but(**_MOTION))
    olts = [PastOlt(olt.name, number, _scenario(olt).motion) for number, olt in enumerate(OLTS)]
    _collect_once([olt.name for olt in OLTS], config, stopping)
    settings = fleet.config
    shape = Shape(settings.onus, settings.onus_per_port)
    try:
        fill_in_past(olts, shape, settings.seed, config, stopping, past)
    except Stopped:
        return False
    typer.echo(f"It took {time.monotonic() - started:.1f} s")
    return True


def _collect_once(names: Sequence[str], config: Config, stopping: threading.Event) -> None:
    """Collect everything from these OLTs, by the engine's code, so that their ONUs are known."""
    from facho.cli.manual_execution import manual_runtime, wait_for_turn
    from facho.engine.commands.runs import collect_all
    from facho.engine.schedule.runner import run_execution

    with manual_runtime(config) as runtime:
        for name in names:
            execution = collect_all(name, database_now())
            wait_for_turn(execution, config, stopping)
            run_execution(execution, runtime)


def _print_welcome() -> None:
    from facho.engine.commands.setup import create_administrator

    password = create_administrator("admin")
    if password is not None:
        typer.echo(f"Administrator: admin, password: {password}  (it is not shown again)")
    typer.echo("Six simulated OLTs of four vendors, 3,000 ONUs.")


def _prepare(addresses: Sequence[tuple[str, int]]) -> None:
    """Create the OLTs and jobs that are missing, and make all nodes due at once."""
    from facho.apps.hosts.models import Olt
    from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
    from facho.engine.commands.jobs import attach, create_job
    from facho.engine.commands.olts import NewOlt, add_olt, disable_olts

    now = database_now()
    names = [olt.name for olt in OLTS]
    # OLTs of an earlier demo do not answer any more.
    if gone := Olt.objects.filter(site=_SITE, enabled=True).exclude(name__in=names):
        disable_olts([olt.name for olt in gone], now)
    new = []
    for olt, (host, port) in zip(OLTS, addresses, strict=True):
        # The fleet takes free ports, others each time.
        if not Olt.objects.filter(name=olt.name).update(address=host, port=port):
            new.append(NewOlt(olt.name, host, port, brand=olt.brand, site=_SITE))
    for each in new:
        add_olt(each)
    for job in _jobs():
        if not SnmpJob.objects.filter(name=job.name).exists():
            create_job(job, now)
        elif missing := _olts_without(job.name, job.olts):
            attach(job.name, missing, now)
    SnmpJobHost.objects.filter(olt__name__in=names, next_run_at__gt=now).update(next_run_at=now)


def _olts_without(job: str, names: Sequence[str]) -> list[str]:
    from facho.apps.snmp_jobs.models import SnmpJobHost

    have = SnmpJobHost.objects.filter(job__name=job, olt__name__in=names).values_list("olt__name", flat=True)
    return [name for name in names if name not in set(have)]


def _jobs() -> Iterator[NewJob]:
    """Yield the usual jobs, each with the OLTs whose family offers it."""
    from facho.engine.commands.usual_jobs import usual_jobs
    from facho.vendors import builtin

    offered = {olt.name: usual_jobs(builtin()[olt.brand]) for olt in OLTS}
    every = {name: job for jobs in offered.values() for name, job in jobs.items()}
    for name, interval in _INTERVALS.items():
        # Optics are read of online ONUs only: run after the walk of states.
        master = "state" if name == "optics" else ""
        olts = [olt for olt, jobs in offered.items() if name in jobs]
        yield replace(every[name], interval=interval, master=master, olts=olts)


@contextmanager
def _stopping_after(stopping: threading.Event, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, stopping.set) if seconds else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


@contextmanager
def _reporting_onus(stopping: threading.Event) -> Iterator[None]:
    """Print when the first ONUs are found, and when all are."""
    thread = threading.Thread(
        target=_report_onus, args=(stopping, time.monotonic()), name="count", daemon=True
    )
    thread.start()
    yield
    thread.join()


def _report_onus(stopping: threading.Event, started: float) -> None:
    from django.db import connection

    from facho.apps.discovery.models import Onu

    reported = 0
    while not stopping.wait(_CHECK_EVERY_S):
        count = Onu.objects.filter(olt__site=_SITE).count()
        all_found = count >= _ONUS * len(OLTS)
        if count and (not reported or all_found):
            typer.echo(f"{count:,} ONUs after {time.monotonic() - started:.1f} s")
            reported = count
        if all_found:
            break
    connection.close()
