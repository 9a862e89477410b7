"""The system that `facho bench million` measures: simulated OLTs, processes of facho, and a viewer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final

from bench.harness import MeasurementFailed, Note
from bench.private_system import database_server_pid, facho_process
from bench.process_groups import ProcessGroups, children_running
from bench.scheduler import allow_files
from bench.served_values import OPTICS, STATES
from bench.web import HOST, free_port, http_get, wait_for_web
from facho.sim.fleet import FleetConfig
from facho.sim.process import FleetProcess
from facho.sim.scenario import Scenario

GROUPS: Final = ("workers", "beat", "web", "database", "broker", "fleet")
WALK_JOB, GET_JOB, TRAFFIC_JOB = "states", "optics", "traffic"
WALKED: Final = [column.fact for column in STATES]
READ: Final = [column.fact for column in OPTICS]
COUNTED: Final = ["up_octets", "down_octets"]
LOOK_EVERY_S: Final = 0.5
# A run that starts within this time of its slot is on time.
ON_TIME_S: Final = 2.0
_DISCOVERY: Final = "discovery"
_DASHBOARD: Final = "/coordinator/dashboard/"
_DISCOVERY_PATIENCE_S: Final = 3600.0
_OTHER_FILES: Final = 200
_QUEUE_PATIENCE_S: Final = 300.0
# Patterns of ONUs in the fleet: few, so that the fleet itself costs little when values change.
_TEMPLATES: Final = 8
_FLAP_PERIOD_S: Final = 1200.0
_FLAP_DOWN_S: Final = 180.0


@dataclass(frozen=True, slots=True)
class Work:
    onus: int = 1_000_000
    olts: int = 250
    interval_s: int = 60
    # Of the optics.
    get_interval_s: int = 60
    minutes: float = 10.0
    # Processes of `facho worker`; without a broker, `facho up` decides.
    workers: int = 2
    pollers: int = 10
    fleets: int = 1
    # The fraction of ONUs whose optics are off their usual values, and of ONUs that come and go.
    jitter: float = 0.3
    flapping: float = 0.005
    # ONUs that are compared with what was served.
    sample: int = 400
    # The octet counters of all ONUs are read too, in every interval.
    traffic: bool = False

    @property
    def onus_of_olt(self) -> int:
        return -(-self.onus // self.olts)

    @property
    def all_onus(self) -> int:
        return self.onus_of_olt * self.olts

    @property
    def values_of_onu(self) -> int:
        return len(WALKED) + len(READ) + (len(COUNTED) if self.traffic else 0)

    @property
    def scenario(self) -> Scenario:
        return Scenario(
            jitter=self.jitter,
            flapping=self.flapping,
            flap_period_s=_FLAP_PERIOD_S,
            flap_down_s=_FLAP_DOWN_S,
            refresh_s=float(self.interval_s),
        )


def start_fleets(work: Work, stack: ExitStack) -> list[FleetProcess]:
    allow_files(work.olts + _OTHER_FILES)
    cuts = [work.olts * number // work.fleets for number in range(work.fleets + 1)]
    return [
        stack.enter_context(
            FleetProcess(
                FleetConfig(
                    olts=end - start,
                    first=start,
                    onus=work.onus_of_olt,
                    templates=_TEMPLATES,
                    addresses=True,
                    scenario=work.scenario,
                )
            )
        )
        for start, end in pairwise(cuts)
    ]


@contextmanager
def running_system(
    work: Work, fleets: Sequence[FleetProcess], with_broker: bool
) -> Iterator[tuple[ProcessGroups, int]]:
    """Start the processes of facho; yield all groups of processes, and the port of the web."""
    port = free_port()
    address = ("--address", f"{HOST}:{port}")
    roots: dict[str, Sequence[int]] = {"fleet": [fleet.pid for fleet in fleets], **_server_roots(with_broker)}
    with ExitStack() as stack:
        if with_broker:
            web = stack.enter_context(facho_process("web", *address))
            beat = stack.enter_context(facho_process("beat"))
            workers = [stack.enter_context(facho_process("worker")) for _ in range(work.workers)]
            wait_for_web(port, web)
            roots |= {"web": [web.pid], "beat": [beat.pid], "workers": [each.pid for each in workers]}
        else:
            up = stack.enter_context(facho_process("up", *address))
            wait_for_web(port, up)
            roots |= {"web": children_running(up.pid, "web"), "workers": [up.pid]}
        _wait_for_pollers(work.workers if with_broker else 1)
        yield ProcessGroups(roots), port


def _server_roots(with_broker: bool) -> dict[str, list[int]]:
    """Return the processes of the servers on this machine."""
    from facho.config import current

    roots: dict[str, list[int]] = {}
    if (server := database_server_pid()) is not None:
        roots["database"] = [server]
    if with_broker:
        from redis import Redis

        with Redis.from_url(current().redis) as broker:
            roots["broker"] = [int(broker.info("server")["process_id"])]
    return roots


def _wait_for_pollers(count: int) -> None:
    from facho.apps.zabbix_pollers.models import Worker

    _wait(lambda: Worker.objects.count() >= count, 120, f"{count} processes of pollers have started")


def _wait(is_true: Callable[[], bool], patience_s: float, what: str) -> None:
    until = time.monotonic() + patience_s
    while not is_true():
        if time.monotonic() > until:
            raise MeasurementFailed(f"not within {patience_s:,.0f} s: {what}{_first_error()}")
        time.sleep(LOOK_EVERY_S)


def _first_error() -> str:
    from facho.apps.executions.models import Execution

    error = Execution.objects.exclude(error="").values_list("error", flat=True).first()
    return f"; an execution failed: {error}" if error else ""


def discover_onus(work: Work, names: Sequence[str], note: Note) -> float:
    """Discover all ONUs once, as soon as there are pollers for it. Return how long it took."""
    from facho.apps.db.database import database_now
    from facho.apps.snmp_jobs.models import SnmpJobHost
    from facho.engine.commands.jobs import NewJob, create_job, disable_jobs

    note(f"attaching the discovery to {work.olts:,} OLTs")
    facts = ["serial", "description"]
    create_job(NewJob(_DISCOVERY, "huawei", "discovery", "24h", facts, olts=names), database_now())
    began = time.monotonic()
    SnmpJobHost.objects.update(next_run_at=database_now())
    _wait_for_cycle(work, (_DISCOVERY,), _DISCOVERY_PATIENCE_S, note, "discovered")
    took = time.monotonic() - began
    disable_jobs([_DISCOVERY], database_now())
    _analyze()
    return took


def _analyze() -> None:
    """Autovacuum would do it within a minute."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def start_jobs(work: Work, names: Sequence[str], note: Note) -> None:
    """Attach all jobs, spread over an interval, and wait until each has run once on every OLT, and until the
    queue that these first runs leave is empty.
    """
    from facho.apps.db.database import database_now
    from facho.engine.commands.jobs import NewJob, create_job

    jobs = [(WALK_JOB, "table", WALKED, work.interval_s), (GET_JOB, "get", READ, work.get_interval_s)]
    if work.traffic:
        jobs.append((TRAFFIC_JOB, "table", COUNTED, work.interval_s))
    began = time.monotonic()
    for number, (name, kind, facts, interval_s) in enumerate(jobs):
        note(f"attaching the job '{name}' to {work.olts:,} OLTs")
        time.sleep(max(0.0, began + number * work.interval_s / len(jobs) - time.monotonic()))
        interval = timedelta(seconds=interval_s)
        create_job(NewJob(name, "huawei", kind, interval, facts, olts=names), database_now())
    patience = max(300.0, 20.0 * max(work.interval_s, work.get_interval_s))
    _wait_for_cycle(work, [name for name, *_ in jobs], patience, note, "in their first cycle")
    _wait_for_empty_queue(note)


def _wait_for_cycle(work: Work, jobs: Sequence[str], patience_s: float, note: Note, what: str) -> None:
    """Wait until every node of these jobs has had a success."""
    from facho.apps.executions.models import Execution, State

    nodes = work.olts * len(jobs)

    def is_complete() -> bool:
        done = Execution.objects.filter(node__job__name__in=jobs, state=State.SUCCESS)
        ended = done.order_by().values("node").distinct().count()
        note(f"{ended:,} of {nodes:,} nodes {what}")
        return ended >= nodes

    _wait(is_complete, patience_s, f"{nodes:,} nodes {what}")


def _wait_for_empty_queue(note: Note) -> None:
    """Wait until nothing waits longer than it may in the window; a system that never gets there is measured
    as it is.
    """
    from facho.apps.db.database import database_now
    from facho.apps.executions.models import Execution, State

    until = time.monotonic() + _QUEUE_PATIENCE_S
    while time.monotonic() < until:
        since = database_now() - timedelta(seconds=ON_TIME_S)
        late = Execution.objects.filter(state=State.WAITING, not_before__lt=since).count()
        if not late:
            return
        note(f"{late:,} executions wait since the first cycle")
        time.sleep(LOOK_EVERY_S)


class Viewer:
    """A person with the dashboard open, which is requested once a second."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._get = http_get(port, {"/": dict(headers)})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="viewer")
        # When each request began, and how long it took.
        self.requests: list[tuple[float, float]] = []
        self.errors: list[tuple[float, str]] = []

    def __enter__(self) -> Viewer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        due = time.monotonic()
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1.0, time.monotonic())
            began = time.monotonic()
            try:
                status, _body = self._get(_DASHBOARD)
            except OSError as error:
                self.errors.append((began, str(error)))
                continue
            if status == 200:
                self.requests.append((began, (time.monotonic() - began) * 1000))
            else:
                self.errors.append((began, f"status {status}"))
