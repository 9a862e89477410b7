"""`facho demo`: the whole system on this machine, against simulated OLTs, with a page to look at."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from facho.cli.children import stop_on_signals
from facho.cli.system import system
from facho.cli.target import refuse
from facho.cli.up import free_address, refuse_beside_workers, run_both, sync_with_profiles
from facho.sim.fleet import FleetConfig, FleetError
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess

if TYPE_CHECKING:
    from facho.config import Config
    from facho.engine.commands.jobs import NewJob

app = typer.Typer()

_ONUS: Final = 500
_SITE: Final = "demo"
_LOOK_EVERY_S: Final = 0.5
_EXAMPLES: Final = """
**Examples**

`facho demo`  runs until Ctrl-C, with the pages at http://127.0.0.1:8000/

`facho demo --port 9000 --seconds 60`  on another port, and ends by itself

`facho onu list`  shows what the demo has collected, from the same folder
"""


@dataclass(frozen=True, slots=True)
class DemoOlt:
    """The families come in turn, as a mixed fleet has them."""

    name: str
    brand: str
    behaves: str


OLTS: Final = (
    DemoOlt("demo-huawei-1", "huawei", "plain"),
    DemoOlt("demo-zte-1", "zte", "plain"),
    DemoOlt("demo-huawei-slow", "huawei", "slow"),
    DemoOlt("demo-zte-flaky", "zte", "flaky"),
    DemoOlt("demo-huawei-2", "huawei", "plain"),
    DemoOlt("demo-zte-2", "zte", "flapping"),
)


@app.command(epilog=_EXAMPLES)
def demo(
    port: Annotated[
        int, typer.Option(min=1, max=65535, envvar="DEMO_PORT", help="Port of the pages.")
    ] = 8000,
    seconds: Annotated[
        float, typer.Option(min=0, help="End after so many seconds; 0 goes on until Ctrl-C.")
    ] = 0,
) -> None:
    """Start six simulated OLTs with 3,000 ONUs, and collect from them as in earnest."""
    host, port = free_address(f"127.0.0.1:{port}")
    stopping = stop_on_signals()
    with system() as config:
        refuse_beside_workers(config)
        sync_with_profiles()
        _greet(host, port)
        _run(config, f"{host}:{port}", stopping, seconds)


def _run(config: Config, address: str, stopping: threading.Event, seconds: float) -> None:
    try:
        with FleetProcess(FleetConfig(olts=len(OLTS), onus=_ONUS, family="mixed")) as fleet:
            for number, olt in enumerate(OLTS):
                fleet.set_scenario(PRESETS[olt.behaves].scenario, number)
            _prepare(fleet.addresses)
            with _ending(stopping, seconds), _counting(stopping):
                run_both(config, {"FACHO_WEB_ADDRESS": address}, stopping)
    except FleetError as error:
        refuse(str(error))


def _greet(host: str, port: int) -> None:
    from facho.engine.commands.setup import create_administrator

    password = create_administrator("admin")
    if password is not None:
        typer.echo(f"Administrator: admin, password: {password}  (it is not shown again)")
    typer.echo(f"Six simulated OLTs, 3,000 ONUs. Look at them at http://{host}:{port}/  (Ctrl-C ends it)")


def _prepare(addresses: Sequence[tuple[str, int]]) -> None:
    """OLTs and jobs as they were left, or new ones; all of them due at once, so that there is much to see."""
    from facho.apps.hosts.models import Olt
    from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobHost
    from facho.engine.clock import database_now
    from facho.engine.commands.jobs import attach, create_job
    from facho.engine.commands.olts import NewOlt, add_olt

    now = database_now()
    for olt, (host, port) in zip(OLTS, addresses, strict=True):
        # The fleet takes whatever ports are free.
        if not Olt.objects.filter(name=olt.name).update(address=host, port=port):
            add_olt(NewOlt(olt.name, host, port, brand=olt.brand, site=_SITE))
    names = [olt.name for olt in OLTS]
    for job in _jobs(names):
        if not SnmpJob.objects.filter(name=job.name).exists():
            create_job(job, now)
        elif missing := _without(job.name, names):
            attach(job.name, missing, now)
    SnmpJobHost.objects.filter(olt__name__in=names, next_run_at__gt=now).update(next_run_at=now)


def _without(job: str, names: Sequence[str]) -> list[str]:
    from facho.apps.snmp_jobs.models import SnmpJobHost

    have = SnmpJobHost.objects.filter(job__name=job, olt__name__in=names).values_list("olt__name", flat=True)
    return [name for name in names if name not in set(have)]


def _jobs(olts: Sequence[str]) -> Iterator[NewJob]:
    """For OLTs of any brand: what each family has for a fact is looked up when it is asked."""
    from facho.engine.commands.jobs import NewJob

    yield NewJob("discovery", "generic", "discovery", "5m", olts=olts)
    yield NewJob("description", "generic", "table", "2m", ["description"], olts=olts)
    yield NewJob("state", "generic", "table", "1m", ["state", "down_cause", "distance_m"], olts=olts)
    # Only ONUs that are online are asked for these: the states that were just walked serve both.
    optics = ["onu_rx_dbm", "onu_tx_dbm", "olt_rx_dbm", "temperature_c"]
    yield NewJob("optics", "generic", "get", "1m", optics, master="state", olts=olts)
    for usual in ("health", "ports", "autofind"):
        yield NewJob(usual, "generic", "table", "5m", [usual], olts=olts)


@contextmanager
def _ending(stopping: threading.Event, seconds: float) -> Iterator[None]:
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
def _counting(stopping: threading.Event) -> Iterator[None]:
    """Says when the first ONUs are there, and when all are."""
    thread = threading.Thread(target=_count, args=(stopping, time.monotonic()), name="count", daemon=True)
    thread.start()
    yield
    thread.join()


def _count(stopping: threading.Event, started: float) -> None:
    from django.db import connection

    from facho.apps.discovery.models import Onu

    told = 0
    while not stopping.wait(_LOOK_EVERY_S):
        count = Onu.objects.filter(olt__site=_SITE).count()
        every = count >= _ONUS * len(OLTS)
        if count and (not told or every):
            typer.echo(f"{count:,} ONUs after {time.monotonic() - started:.1f} s")
            told = count
        if every:
            break
    connection.close()
