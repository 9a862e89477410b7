"""What befalls OLTs and their nodes in a week, at times and places that chance chooses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Final

from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.engine.commands.errors import CommandError
from facho.engine.commands.nodes import change_node_interval, disable_nodes, enable_nodes
from facho.engine.commands.olts import disable_olts, enable_olts
from facho.engine.commands.runs import run_now
from facho.engine.coordinate.coordinator import coordinator_step
from tests.model.driver import Driver, Manner
from tests.model.rules import Node

MINUTE: Final = timedelta(minutes=1)
Happening = Callable[[datetime], None]


class Happenings:
    """Each by its name; those that have an end bring it about themselves."""

    def __init__(self, driver: Driver, seed: int) -> None:
        self.driver = driver
        self.rules = driver.rules
        self.random = Random(seed)
        self.counted = Counter[str]()

    def plan(self, since: datetime, until: datetime, rounds: int) -> None:
        """Every one of them in each round, in any order."""
        every = [name for _ in range(rounds) for name in self.random.sample(EVERY, len(EVERY))]
        for place, name in enumerate(every):
            share = (place + self.random.random()) / len(every)
            when, happens = _half(since + share * (until - since)), partial(self._happen, name)
            self.driver.at(when, partial(self._when_up, happens))

    def _happen(self, name: str, now: datetime) -> None:
        self.counted[name] += 1
        getattr(self, name)(now)

    def _later(self, now: datetime, minutes: int, happens: Happening) -> None:
        self.driver.at(now + minutes * MINUTE, partial(self._when_up, happens))

    def _when_up(self, happens: Happening, now: datetime) -> None:
        """While the engine is down people wait."""
        if self.driver.up:
            happens(now)
        else:
            self._later(now, 1, happens)

    def _olt(self) -> int:
        return self.random.choice([olt for olt, each in self.rules.olts.items() if each.on])

    def _node(self, *, chained: bool = False) -> Node:
        nodes = self.rules.nodes.values()
        return self.random.choice(
            [node for node in nodes if node.on and (node.master is not None) == chained]
        )

    def _manner(self, olt: int) -> Manner:
        return self.driver.manners.setdefault(olt, Manner())

    def killed(self, now: datetime) -> None:
        """With a node that runs and has been switched off: what is lost of it is not tried again."""
        if running := [node for node in self.rules.nodes.values() if node.running is not None]:
            self._switch_node(self.random.choice(running), 180, now)
        self.driver.kill(now)
        first = self.random.random() < 0.5
        self.driver.at(_whole(now + 120 * MINUTE), partial(self.driver.come_up, coordinator_first=first))

    def stopped(self, now: datetime) -> None:
        self.driver.stop(now)
        self.driver.at(_whole(now + 25 * MINUTE), self.driver.come_up)

    def slow(self, now: datetime) -> None:
        """More work than an hour holds, until somebody repairs it."""
        manner = self._manner(self._olt())
        manner.slower = 20.0
        self._later(now, 200, lambda _: setattr(manner, "slower", 1.0))

    def silent(self, now: datetime) -> None:
        manner = self._manner(self._olt())
        manner.silent = True
        self._later(now, 130, lambda _: setattr(manner, "silent", False))

    def broken(self, now: datetime) -> None:
        self._break(self._node(), now)

    def broken_master(self, now: datetime) -> None:
        master = self._node(chained=True).master
        assert master is not None
        self._break(self.rules.nodes[master], now)

    def _break(self, node: Node, now: datetime) -> None:
        manner = self._manner(node.olt)
        manner.broken.add(node.id)
        self._later(now, 90, lambda _: manner.broken.discard(node.id))

    def node_off(self, now: datetime) -> None:
        self._switch_node(self._node(), 35, now)

    def chained_off(self, now: datetime) -> None:
        self._switch_node(self._node(chained=True), 80, now)

    def _switch_node(self, node: Node, minutes: int, now: datetime) -> None:
        disable_nodes([node.id], now)
        self.rules.node_off(node.id, now)

        def on(then: datetime) -> None:
            enable_nodes([node.id], then)
            self.rules.node_on(node.id, then)

        self._later(now, minutes, on)

    def node_off_by_sql(self, now: datetime) -> None:
        node = self._node()
        row = SnmpJobHost.objects.filter(id=node.id)
        row.update(enabled=False)
        self._notice(now)
        self.rules.node_off(node.id, now)

        def on(then: datetime) -> None:
            row.update(enabled=True)
            self._notice(then)
            self.rules.node_on(node.id, then, by_sql=True)

        self._later(now, 45, on)

    def _notice(self, now: datetime) -> None:
        coordinator_step(now, self.driver.config)

    def interval(self, now: datetime) -> None:
        node = self._node()
        usual = round(node.interval.total_seconds())
        self._change_interval(node, self.random.choice([240, 420, 780, 5400]), now)
        self._later(now, 150, lambda then: self._change_interval(node, usual, then))

    def _change_interval(self, node: Node, seconds: int, now: datetime) -> None:
        interval = timedelta(seconds=seconds)
        if interval != node.interval:
            change_node_interval(node.id, interval, now)
            self.rules.interval_changed(node.id, interval, now)

    def by_hand(self, now: datetime) -> None:
        """Several times: while it waits, while it runs, and while its OLT is away."""
        node = self._node()
        for minutes in (0, 1, 2, 9):
            self._later(now, minutes, lambda then: self._ask(node, then))

    def _ask(self, node: Node, now: datetime) -> None:
        try:
            run_now(node.id, now)
        except CommandError:
            assert not (node.on and self.rules.olts[node.olt].on)
        else:
            self.rules.asked(node.id, now)

    def olt_off_in_its_run(self, now: datetime) -> None:
        self._switch_olt_when_it_runs(self._olt(), 100, now)

    def olt_off_for_a_while(self, now: datetime) -> None:
        self._switch_olt_when_it_runs(self._olt(), 8, now)

    def _switch_olt_when_it_runs(self, olt: int, minutes: int, now: datetime) -> None:
        """Not at the beginning of an hour, which the coordinator sees later here than it would."""
        if not self.rules.olts[olt].on:
            return
        early = now <= self.rules.ledger.clock.period(now).start + 11 * MINUTE
        if early or not self.rules.is_busy(olt):
            again = partial(self._switch_olt_when_it_runs, olt, minutes)
            self.driver.at(now + timedelta(seconds=7), partial(self._when_up, again))
            return
        name = Olt.objects.values_list("name", flat=True).get(id=olt)
        disable_olts([name], now)
        self.rules.olt_off(olt, now)
        self.driver.notice_aborts()

        def on(then: datetime) -> None:
            enable_olts([name], then)
            self.rules.olt_on(olt, then)

        self._later(now, minutes, on)


EVERY: Final = (
    "killed", "stopped", "slow", "slow", "silent", "broken", "broken", "broken_master", "node_off",
    "chained_off", "node_off_by_sql", "interval", "interval", "by_hand", "by_hand", "olt_off_in_its_run",
    "olt_off_for_a_while",
)  # fmt: skip


def _half(when: datetime) -> datetime:
    """Between two steps."""
    return when.replace(microsecond=500_000)


def _whole(when: datetime) -> datetime:
    return when.replace(microsecond=0)
