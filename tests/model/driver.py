"""Drives the real engine through simulated time, and tells the rules what it does.

Scheduler, claims, leases, recorder, recovery, probes, commands and coordinator are the real ones, on a real
database. Only the asking is simulated: how long a run takes, and what comes of it.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any, Final

import pytest

from facho.apps.executions.models import Execution
from facho.apps.snmp_jobs.selectors import members_to_ask
from facho.apps.zabbix_pollers.store import update_heartbeat
from facho.config import Config
from facho.core.reasons import text_reason
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.request_plan import Part, Work
from facho.engine.collect.work_builder import OltSnapshot, Planned
from facho.engine.coordinate.coordinator import coordinator_step
from facho.engine.process.leases import (
    HeldLease,
    LeaseKeeper,
    LeaseLost,
    StartedExecution,
    release_lease,
    start_execution,
)
from facho.engine.record.no_collection import hand_back, record_failure
from facho.engine.record.recorder import record
from facho.engine.schedule import probes
from facho.engine.schedule.assign import claim_executions
from facho.engine.schedule.recovery import recover
from facho.engine.schedule.scheduler import scheduler_step
from facho.engine.schedule.slots import queue_due_slots
from facho.snmp import Target
from facho.snmp.peer import Load
from facho.vendors import builtin
from tests.model.rules import Rules

WORKER: Final = "simulated"
SECOND: Final = timedelta(seconds=1)
# Of the leases, the heartbeat, the probes and the coordinator.
EVERY: Final = timedelta(minutes=10)
_ASKED: Final = Load(requests=1)


@dataclass
class Manner:
    """How an OLT answers, from when to when."""

    slower: float = 1.0
    silent: bool = False
    # Nodes of which every run fails.
    broken: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Running:
    started: StartedExecution
    parts: list[Part]
    # Seconds of each part, and how it ends; the master's first.
    came: list[tuple[float, PartState]]
    silent: bool
    guard: ExitStack


class Driver:
    def __init__(self, rules: Rules, config: Config, now: datetime, pollers: int, seed: int) -> None:
        self.rules = rules
        self.config = config
        self.now = now
        self.random = Random(seed)
        self.manners: dict[int, Manner] = {}
        self.up = True
        # Nothing is stepped through that has no meaning: it is called whenever the coordinator has stepped.
        self.look: Callable[[datetime], None] = lambda now: None
        self._pollers = pollers
        self._keeper = LeaseKeeper(config, lambda: self.now)
        self._running: dict[int, _Running] = {}
        self._ends: list[tuple[datetime, int]] = []
        self._happenings: list[tuple[datetime, int, Callable[[datetime], None]]] = []
        self._numbers = count()
        self._next_mark = now

    def take_clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever reads the clock or the settings gets those of the simulation."""
        from facho import config
        from facho.apps.db import database

        _replace(monkeypatch, database.database_now, "database_now", lambda: self.now)
        _replace(monkeypatch, config.current, "current", lambda: self.config)

    def at(self, when: datetime, happens: Callable[[datetime], None]) -> None:
        heapq.heappush(self._happenings, (when, next(self._numbers), happens))

    def go(self, until: datetime) -> None:
        while (now := self._next()) <= until:
            self.now = now
            self._happen(now)
            if self.up:
                self._work(now)
            if now >= self._next_mark:
                self._next_mark += EVERY

    def _next(self) -> datetime:
        times = [self._next_mark]
        times += [when for when, *_ in self._happenings[:1]]
        if self.up:
            times += [when for when, _ in self._ends[:1]]
            due = self.rules.next_due(self.now)
            times += [] if due is None else [_next_second(due)]
        return min(times)

    def _happen(self, now: datetime) -> None:
        while self._happenings and self._happenings[0][0] <= now:
            heapq.heappop(self._happenings)[2](now)

    def _work(self, now: datetime) -> None:
        while self._ends and self._ends[0][0] <= now:
            self._end(heapq.heappop(self._ends)[1])
        is_mark = now >= self._next_mark
        if is_mark:
            self._tend(now)
            self._step(now)
        elif not now.microsecond:
            queue_due_slots(now, self.config)
            self.rules.step(now)
        self._claim(now)
        if is_mark:
            coordinator_step(now, self.config)
            self.look(now)

    def _step(self, now: datetime) -> None:
        scheduler_step(now, self.config)
        self.rules.step(now)

    def _tend(self, now: datetime) -> None:
        self._keeper.renew()
        update_heartbeat(WORKER, self._pollers, now)
        for each in probes.claim_due_probes(now, self.config):
            manner = self.manners.get(each.olt_id, Manner())
            if manner.silent or each.node_id in manner.broken:
                continue
            probes.record_answer(each, now, self.config)
            if each.node_id is None:
                self.rules.olt_back(each.olt_id, now)
            else:
                self.rules.node_back(each.node_id, now)

    def _claim(self, now: datetime) -> None:
        for execution_id in claim_executions(now, self.config):
            started = start_execution(execution_id, WORKER, lambda: self.now, self.config)
            assert started is not None
            assert started.node_id is not None
            assert started.attempt == self.rules.started(started.node_id, now)
            self._begin(started, started.node_id)

    def _begin(self, started: StartedExecution, node_id: int) -> None:
        jobs = members_to_ask(node_id)
        parts = [Part(job.node_id, job.name, job.kind, job.task_type, (), ()) for job in jobs]
        manner = self.manners.get(started.olt_id, Manner())
        came = [self._came(part, manner) for part in parts]
        if came[0][1] is PartState.FAILED:
            came[1:] = [(0.0, PartState.SKIPPED)] * (len(came) - 1)
        self._running[started.execution_id] = _Running(
            started, parts, came, manner.silent, self._held(started)
        )
        took = timedelta(seconds=sum(seconds for seconds, _ in came))
        # Never on the second: what ends and what begins then are two things.
        heapq.heappush(self._ends, (_off_the_second(self.now + took), started.execution_id))

    def _came(self, part: Part, manner: Manner) -> tuple[float, PartState]:
        usual = {"discovery": 60.0, "get_description": 25.0, "get_optics": 45.0}.get(part.task_type, 20.0)
        seconds = round(usual * manner.slower * self.random.uniform(0.6, 1.6), 3)
        fails = manner.silent or part.node_id in manner.broken or self.random.random() < 0.06
        return (9.0, PartState.FAILED) if fails else (seconds, PartState.SUCCESS)

    def _held(self, started: StartedExecution) -> ExitStack:
        stack = ExitStack()
        held: AbstractContextManager[HeldLease] = self._keeper.holding(
            started, lambda: self._lose(started.execution_id)
        )
        stack.enter_context(held)
        return stack

    def _lose(self, execution_id: int) -> None:
        """It was aborted: it stops, and writes nothing."""
        release_lease(self._running[execution_id].started)
        self._running[execution_id].came.clear()

    def _end(self, execution_id: int) -> None:
        each = self._running.pop(execution_id)
        each.guard.close()
        try:
            state = self._record(each)
        except LeaseLost:
            release_lease(each.started)
        else:
            assert state == self._tell(each)

    def _record(self, each: _Running) -> str:
        if not each.came:
            raise LeaseLost
        # Some cannot even be asked.
        if each.came[0][1] is PartState.FAILED and not each.silent and each.started.started_at.second % 2:
            return record_failure(each.started, text_reason("simulated"), self.now, self.config)
        collection = Collection(
            [
                PartResult(
                    part,
                    state,
                    text_reason("" if state is PartState.SUCCESS else "simulated"),
                    seconds=seconds,
                )
                for part, (seconds, state) in zip(each.parts, each.came, strict=True)
            ]
        )
        collection.parts[0].silent = each.silent
        collection.parts[0].load = _ASKED
        return record(each.started, _planned(each.started, each.parts), collection, self.now, self.config)

    def _tell(self, each: _Running) -> str:
        node_id = each.started.node_id
        assert node_id is not None
        if each.came[0][1] is PartState.FAILED:
            return self.rules.failed(node_id, self.now, silent=each.silent)
        parts: Mapping[int, tuple[bool, int]] = {
            part.node_id: (state is PartState.SUCCESS, round(seconds * 1000))
            for part, (seconds, state) in zip(each.parts, each.came, strict=True)
            if part.node_id is not None
        }
        return self.rules.succeeded(node_id, self.now, parts)

    def notice_aborts(self) -> None:
        """As whoever holds a lease does within seconds."""
        self._keeper.renew()

    def kill(self, now: datetime) -> None:
        """Everything is gone at once; what ran is found by its lease when somebody steps again."""
        self.up = False
        self._let_go()

    def stop(self, now: datetime) -> None:
        """In good order: what runs is handed back."""
        self.up = False
        for each in self._running.values():
            if each.came and each.started.node_id is not None:
                hand_back(each.started, now, self.config)
                self.rules.handed_back(each.started.node_id, now)
            release_lease(each.started)
        self._let_go()

    def _let_go(self) -> None:
        for each in self._running.values():
            each.guard.close()
        self._running.clear()
        self._ends.clear()

    def come_up(self, now: datetime, *, coordinator_first: bool = False) -> None:
        self.up = True
        update_heartbeat(WORKER, self._pollers, now)
        if coordinator_first:
            coordinator_step(now, self.config)
        self._find_lost(now)
        self._step(now)
        if not coordinator_first:
            coordinator_step(now, self.config)

    def _find_lost(self, now: datetime) -> None:
        running = Execution.objects.filter(state="RUNNING").order_by("id").values_list("id", flat=True)
        lost = list(running)
        recover(now, self.config)
        for execution_id in lost:
            self._tell_lost(execution_id, now)

    def _tell_lost(self, execution_id: int, now: datetime) -> None:
        columns = Execution.objects.values_list("node_id", "state", "not_before")
        node_id, state, not_before = columns.get(id=execution_id)
        assert node_id is not None
        assert state == self.rules.failed(node_id, now, lost=True)
        waiting = self.rules.nodes[node_id].waiting
        if state == "WAITING" and waiting is not None:
            # Those that are lost time and again come one after the other.
            waiting.not_before = not_before


def _planned(started: StartedExecution, parts: list[Part]) -> Planned:
    profile, target = builtin()["huawei"], Target("127.0.0.1", "public")
    work = Work(
        started.execution_id, started.run_id, started.olt_id, "simulated", target, profile, tuple(parts)
    )
    return Planned(work, (), OltSnapshot({}, "", None, None))


def _replace(monkeypatch: pytest.MonkeyPatch, real: Any, name: str, other: Any) -> None:
    for module in list(sys.modules.values()):
        if getattr(module, name, None) is real:
            monkeypatch.setattr(module, name, other)


def _next_second(when: datetime) -> datetime:
    whole = when.replace(microsecond=0)
    return whole if whole == when else whole + SECOND


def _off_the_second(when: datetime) -> datetime:
    return when if when.microsecond else when + timedelta(milliseconds=7)
