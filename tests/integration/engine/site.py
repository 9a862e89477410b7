"""A simulated OLT in a process of its own, and the collector on a loop of its own, as a poller has it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import Mock, patch

from facho.engine.collect.collector import collect
from facho.engine.collect.part_results import Collection, PartResult
from facho.engine.collect.request_plan import AskedColumn, KnownOnu, Part, Work
from facho.engine.schedule.runner import SnmpLoop, SnmpTask
from facho.sim.fleet import FleetConfig
from facho.sim.report import OltReport
from facho.sim.scenario import Scenario
from facho.snmp import Target
from facho.vendors import Entity, Profile, State, builtin
from tests.virtual_fleet import VirtualFleet

FAMILIES: Final = ("huawei", "zte")
TIMEOUT_S: Final = 0.5


@dataclass(slots=True)
class Site:
    fleet: VirtualFleet
    snmp: SnmpLoop
    profile: Profile

    @property
    def target(self) -> Target:
        host, port = self.fleet.addresses[0]
        return Target(host, port=port, timeout=TIMEOUT_S)

    def part(self, kind: str, *facts: str, job: str = "", entity: Entity = Entity.ONU) -> Part:
        """All columns of the profile that have these facts, as a job would ask for them."""
        columns = tuple(
            AskedColumn(f"{table.name}.{column.fact}", source.oid, source.oid)
            for table in self.profile.tables
            for column in table.columns
            for source in (column.source, *column.otherwise)
            if table.entity is entity and column.fact in facts
        )
        return Part(1, job or kind, kind, kind, facts, columns)

    def work(self, *parts: Part, **more: Any) -> Work:
        return replace(Work(7, 7, 1, "olt", self.target, self.profile, parts), **more)

    def collect(
        self,
        work: Work,
        guard: Callable[[], None] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Collection:
        return collect(work, SnmpTask(self.snmp).run, self.snmp.client, guard, threading.Lock(), progress)

    def ask(self, *parts: Part, **more: Any) -> Collection:
        return self.collect(self.work(*parts, **more))

    def known(self) -> tuple[KnownOnu, ...]:
        """The ONUs that it has, asked by another client before it misbehaves."""
        onus = self.discover().decoded
        assert onus is not None
        facts = onus.onus
        rows = zip(facts.keys, facts.technologies, facts.columns["state"], strict=True)
        return tuple(
            KnownOnu(key, technology, isinstance(state, State) and state.meaning == "online")
            for key, technology, state in rows
        )

    def discover(self) -> PartResult:
        return self.ask(self.part("discovery", "serial", "state"), execution_id=1).parts[0]

    def misbehave(self, **knobs: Any) -> None:
        self.fleet.set_scenario(Scenario(**knobs))

    @contextmanager
    def counted(self) -> Iterator[list[OltReport]]:
        """What the OLT saw meanwhile, as differences; filled in at the end."""
        before = self.fleet.report().total
        seen: list[OltReport] = []
        yield seen
        after = self.fleet.report().total
        seen.append(
            replace(
                after,
                requests=after.requests - before.requests,
                get=after.get - before.get,
                get_next=after.get_next - before.get_next,
                get_bulk=after.get_bulk - before.get_bulk,
                varbinds=after.varbinds - before.varbinds,
                unanswered=after.unanswered - before.unanswered,
            )
        )


@contextmanager
def site(family: str = "huawei", *, onus: int = 100, **knobs: Any) -> Iterator[Site]:
    config = FleetConfig(onus=onus, family=family, scenario=Scenario(**knobs))
    with (
        VirtualFleet(config) as fleet,
        patch("facho.engine.collect.collector.time", Mock(monotonic=fleet.time)),
    ):
        yield Site(fleet, fleet.snmp, builtin()[family])
