"""When nodes run and what becomes of their slots, by the rules alone, told what happened in its order.

It has its own grids, queue, retries and suspensions, and refuses what the rules do not allow: a run that
nobody waits for, or a second one on an OLT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.model.ledger import COMPLETED, FAILED, SKIPPED, Entry, Key, Ledger


@dataclass(slots=True)
class Run:
    """For a slot, with what it counts for; or because a person asked, for nothing."""

    entries: list[Entry]
    not_before: datetime
    attempt: int = 0
    by_hand: bool = False
    # Somebody asked for it to go first, and it may be a slot's too.
    first: bool = False


@dataclass(slots=True)
class Node:
    id: int
    olt: int
    task_type: str
    interval: timedelta
    # The node that it is chained to: it has no time of its own.
    master: int | None
    max_attempts: int
    retry_delay: timedelta
    on: bool = True
    next: datetime | None = None
    waiting: Run | None = None
    running: Run | None = None
    failures: int = 0
    suspended: bool = False


@dataclass(slots=True)
class Olt:
    nodes: list[Node] = field(default_factory=list)
    on: bool = True
    suspended: bool = False


@dataclass
class Rules:
    ledger: Ledger
    nodes: dict[int, Node] = field(default_factory=dict)
    olts: dict[int, Olt] = field(default_factory=dict)

    def attached(self, nodes: Sequence[Node], now: datetime) -> None:
        """One job to several OLTs at once: they are spread, and those that are moved also run at once."""
        for place, node in enumerate(nodes):
            self.nodes[node.id] = node
            self.olts.setdefault(node.olt, Olt()).nodes.append(node)
            if node.master is None:
                moved = place * min(node.interval, timedelta(seconds=300)) / len(nodes)
                node.next = now + timedelta(seconds=60) + moved
                if moved:
                    node.waiting = Run([], now, by_hand=True)

    def next_due(self, now: datetime) -> datetime | None:
        """When there is something new for the scheduler to do: a slot, or a retry."""
        nodes = self.nodes.values()
        slots = (node.next for node in nodes if node.next is not None)
        retries = (node.waiting.not_before for node in nodes if node.waiting is not None)
        return min((*slots, *(when for when in retries if when > now)), default=None)

    def _of(self, olt: int) -> list[Node]:
        return self.olts[olt].nodes

    def is_busy(self, olt: int) -> bool:
        return any(node.running is not None for node in self._of(olt))

    def step(self, now: datetime) -> None:
        """Somebody looks for slots that have come."""
        for node in self.nodes.values():
            slots = []
            while node.next is not None and node.next <= now:
                slots.append(node.next)
                node.next += node.interval
            for slot in slots[:-1]:
                self._skip(node, slot, now)
            for slot in slots[-1:]:
                self._came(node, slot, now)

    def _came(self, node: Node, slot: datetime, now: datetime) -> None:
        waiting = node.waiting
        if node.suspended or self.olts[node.olt].suspended:
            self._skip(node, slot, now)
        elif waiting is None and node.running is None:
            node.waiting = Run(self._owed(node, slot), slot)
        elif waiting is not None and waiting.not_before > now:
            # Its retry has not come: this slot is the next attempt.
            self._failed(waiting, now)
            node.waiting = Run(self._owed(node, slot), slot, waiting.attempt)
        elif waiting is not None and waiting.by_hand:
            waiting.entries, waiting.by_hand = self._owed(node, slot), False
        else:
            self._skip(node, slot, now)

    def _owed(self, node: Node, slot: datetime) -> list[Entry]:
        chained = [each for each in self._of(node.olt) if each.master == node.id and each.on]
        return [self.ledger.open(each.id, each.olt, each.task_type, slot) for each in (node, *chained)]

    def _skip(self, node: Node, slot: datetime, now: datetime) -> None:
        self._end(self._owed(node, slot), SKIPPED, now)

    def _end(self, entries: Sequence[Entry], outcome: str, now: datetime) -> None:
        for entry in entries:
            self.ledger.settle(entry, outcome, now)

    def _failed(self, run: Run, now: datetime) -> None:
        """What is chained to a master that failed does not run."""
        self._end(run.entries[:1], FAILED, now)
        self._end(run.entries[1:], SKIPPED, now)

    def asked(self, node_id: int, now: datetime) -> None:
        """A person wants it now: the one that waits, or one for no slot."""
        node = self.nodes[node_id]
        if node.waiting is None:
            node.waiting = Run([], now, by_hand=True)
        node.waiting.first = True
        node.waiting.not_before = min(node.waiting.not_before, now)

    def started(self, node_id: int, now: datetime) -> int:
        """Which attempt it is."""
        node = self.nodes[node_id]
        assert not self.is_busy(node.olt), f"a second run on OLT {node.olt} at {now}"
        assert node.waiting is not None, f"node {node_id} runs at {now}, and nobody waits for it"
        assert node.waiting.not_before <= now, f"node {node_id} runs at {now}, before its time"
        node.running, node.waiting = node.waiting, None
        node.running.attempt += 1
        return node.running.attempt

    def succeeded(self, node_id: int, now: datetime, parts: Mapping[int, tuple[bool, int]]) -> str:
        """Of each part that ran, whether it succeeded and how many milliseconds it took."""
        node = self.nodes[node_id]
        for entry in self._ended(node).entries:
            done, took = parts.get(entry.node, (None, 0))
            outcome = SKIPPED if done is None else COMPLETED if done else FAILED
            self.ledger.settle(entry, outcome, now, took)
        node.failures = 0
        if self.olts[node.olt].suspended:
            self.olt_back(node.olt, now)
        if node.suspended:
            self.node_back(node_id, now)
        return "SUCCESS"

    def failed(self, node_id: int, now: datetime, *, silent: bool = False, lost: bool = False) -> str:
        node = self.nodes[node_id]
        run = self._ended(node)
        node.failures += 1
        suspended = node.suspended or self.olts[node.olt].suspended
        is_on = node.on and self.olts[node.olt].on
        if run.attempt < node.max_attempts and not suspended and is_on and node.waiting is None:
            # What its process lost is taken up again at once.
            run.not_before = now if lost else now + node.retry_delay
            node.waiting = run
            return "WAITING"
        self._failed(run, now)
        if run.attempt >= node.max_attempts and not suspended and not (lost and node.failures < 2):
            self._suspend(node, now, silent=silent)
        return "FAILED"

    def _ended(self, node: Node) -> Run:
        run = node.running
        assert run is not None, f"node {node.id} ends, and does not run"
        node.running = None
        return run

    def _suspend(self, node: Node, now: datetime, *, silent: bool) -> None:
        if not silent:
            node.suspended = True
            return
        self.olts[node.olt].suspended = True
        for each in self._of(node.olt):
            if each.waiting is not None and not each.waiting.first:
                self._abort_waiting(each, now)

    def handed_back(self, node_id: int, now: datetime) -> None:
        """Its process stopped in good order: that was no attempt."""
        node = self.nodes[node_id]
        run = self._ended(node)
        run.attempt -= 1
        if node.on and self.olts[node.olt].on and node.waiting is None:
            node.waiting = run
        else:
            self._end(run.entries, SKIPPED, now)

    def _abort_waiting(self, node: Node, now: datetime) -> None:
        if node.waiting is not None:
            self._end(node.waiting.entries, SKIPPED, now)
            node.waiting = None

    def olt_back(self, olt: int, now: datetime) -> None:
        self.olts[olt].suspended = False
        for node in self._of(olt):
            self._begin_anew(node, now)

    def node_back(self, node_id: int, now: datetime) -> None:
        self.nodes[node_id].suspended = False
        self._begin_anew(self.nodes[node_id], now)

    def _begin_anew(self, node: Node, now: datetime) -> None:
        """After one full interval, if nothing keeps it off."""
        if not node.on or not self.olts[node.olt].on:
            return
        if node.master is None:
            node.next = now + node.interval
        # A quota that has slots to come is not interrupted any more.
        self.ledger.interrupted -= {key for key in self.to_come(now) if key.olt == node.olt}

    def node_off(self, node_id: int, now: datetime) -> None:
        """What runs finishes, and counts."""
        node = self.nodes[node_id]
        node.on, node.next = False, None
        self._abort_waiting(node, now)

    def node_on(self, node_id: int, now: datetime, *, by_sql: bool = False) -> None:
        """A person who enables it also brings it back; one who writes SQL does what he writes."""
        node = self.nodes[node_id]
        node.on = True
        if not by_sql:
            node.suspended, node.failures = False, 0
        self._begin_anew(node, now)

    def interval_changed(self, node_id: int, interval: timedelta, now: datetime) -> None:
        self.nodes[node_id].interval = interval
        self._begin_anew(self.nodes[node_id], now)

    def olt_off(self, olt: int, now: datetime) -> None:
        """What runs is stopped, too."""
        self.ledger.interrupt(olt, now, self.to_come(now))
        self.olts[olt].on = False
        for node in self._of(olt):
            node.next = None
            self._abort_waiting(node, now)
            if node.running is not None:
                self._end(node.running.entries, SKIPPED, now)
                node.running = None

    def olt_on(self, olt: int, now: datetime) -> None:
        was_away = self.olts[olt].suspended
        self.olts[olt].on, self.olts[olt].suspended = True, False
        for node in self._of(olt):
            if was_away or node.suspended:
                node.suspended, node.failures = False, 0
            self._begin_anew(node, now)

    def to_come(self, now: datetime) -> Counter[Key]:
        """Slots that are still on the grids, in the hour of now."""
        period = self.ledger.clock.period(now)
        found = Counter[Key]()
        for node in self.nodes.values():
            master = node if node.master is None else self.nodes[node.master]
            slot = master.next if node.on else None
            while slot is not None and slot <= period.end:
                found[Key(node.olt, node.task_type, period)] += 1
                slot += master.interval
        return found
