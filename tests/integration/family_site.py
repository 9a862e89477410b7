"""OLTs that replay recordings, and the engine that identifies, adds and collects from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from facho.apps.chassis.selectors import unprovisioned_onus
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Onu
from facho.apps.discovery.selectors import onu_rows
from facho.apps.executions.models import Execution
from facho.apps.hosts.models import Olt
from facho.apps.hosts.selectors import facts_offered, usual_kind
from facho.cli.olt.details import chassis_json
from facho.config import Config
from facho.engine.collect.identify import identify
from facho.engine.collect.work_builder import profile_of
from facho.engine.commands.jobs import NewJob, create_job
from facho.engine.commands.olts import NewOlt, add_olt
from facho.engine.commands.runs import collect_all, run_now
from facho.engine.schedule.assign import claim_execution
from facho.engine.schedule.runner import Runtime, SnmpLoop, run_execution
from facho.sim import snmprec
from facho.sim.fleet import Fleet, FleetConfig
from facho.snmp import Target
from facho.vendors import builtin

# Nobody renews a lease here, however long a busy machine takes.
CONFIG = replace(Config(), lease=timedelta(hours=1))
# Whose it is and when it was seen is the same for all cases.
_ONU_LEAVES_OUT = (
    "shown_state",
    "unknown_because",
    "status",
    "cause",
    "weak",
    "olt",
    "presence",
    "last_seen",
    # Times; test_event_times.py tests them.
    "offline_since",
    "offline_dated",
    # Which facts of this kind a family has is tested in test_facts.py.
    "hw_version",
    "sw_version",
    "ip",
    "facts",
    "unis",
)
_WAITING = ("port", "serial", "mac", "model")

Told = dict[str, Any]


class FamilySite:
    """One recording, served over UDP by the loop that also asks: a process of its own would cost more."""

    def __init__(self, snmp: SnmpLoop, fleet: Fleet, config: Config) -> None:
        self._snmp = snmp
        self._fleet = fleet
        self._config = config
        self._runtime = Runtime(config, "here", snmp, database_now)

    @property
    def port(self) -> int:
        return self._fleet.olts[0].address[1]

    def add(self, name: str = "olt") -> Olt:
        """As what it is detected as."""
        host, port = self._fleet.olts[0].address
        asked = identify(self._snmp.probe_client, Target(host, port=port), builtin())
        detected = self._snmp.submit(asked).result()
        return add_olt(NewOlt(name, host, port), detected=detected)

    def collect(self, olt: Olt) -> Execution:
        """All that its family offers, as `facho collect` does."""
        return self._run(collect_all(olt.name, database_now()))

    def collect_one_by_one(self, olt: Olt) -> Iterator[Execution]:
        """The same as jobs of their own, the discovery last: it must not undo what the others know better."""
        profile = profile_of(olt)
        for name, facts in reversed(facts_offered(profile).items()):
            now, kind = database_now(), usual_kind(profile, name)
            job = create_job(NewJob(name, profile.name, kind, "5m", facts, olts=[olt.name]), now)
            yield self._run(run_now(job.nodes.get().id, now))

    def _run(self, execution_id: int) -> Execution:
        assert claim_execution(execution_id, database_now(), self._config)
        run_execution(execution_id, self._runtime)
        return Execution.objects.get(id=execution_id)


@contextmanager
def family_site(recording: Path, config: Config = CONFIG) -> Iterator[FamilySite]:
    with SnmpLoop() as snmp:
        fleet = Fleet(FleetConfig(recording=recording))
        snmp.submit(fleet.__aenter__()).result()
        try:
            yield FamilySite(snmp, fleet, config)
        finally:
            snmp.submit(fleet.__aexit__(None, None, None)).result()


def without(recording: Path, folder: Path, *oids: str) -> Path:
    """The recording of an OLT that has nothing under these OIDs."""
    under = tuple(f"{oid}." for oid in oids)
    rest = [record for record in snmprec.read(recording) if not str(record.oid).startswith(under)]
    shorter = folder / recording.name
    snmprec.write(shorter, rest)
    return shorter


def told_of(olt: Olt) -> Told:
    """What `facho olt show`, `facho onu list` and `facho onu unprovisioned` say of it, without the times."""
    olt.refresh_from_db()
    shown = chassis_json(olt, database_now())
    return {
        **{name: shown[name] for name in ("family", "model", "version", "health")},
        "onus": onus_of(olt),
        "pon_ports": [
            {**_without(port, "updated_at", "facts"), **port["facts"]} for port in shown["pon_ports"]
        ],
        "unprovisioned": [{name: getattr(row, name) for name in _WAITING} for row in unprovisioned_onus(olt)],
    }


def onus_of(olt: Olt) -> list[Told]:
    return [_without(asdict(row), *_ONU_LEAVES_OUT) for row in onu_rows(Onu.objects.filter(olt=olt))]


def _without(row: Told, *names: str) -> Told:
    return {name: value for name, value in row.items() if name not in names}
