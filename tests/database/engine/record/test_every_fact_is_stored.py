"""Whatever a collection brings is kept somewhere: in a column, among the other facts, or in the history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest
from django.db import models

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned, Uplink
from facho.apps.db.fields import EncryptedField
from facho.apps.discovery.models import ClockState, Onu
from facho.apps.executions.models import State as ExecutionState
from facho.apps.history.models import HistoryFrame
from facho.apps.hosts.models import Olt
from facho.apps.traffic.models import OltTraffic
from facho.config import Config
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.work_builder import plan_execution
from facho.engine.process.leases import start_execution
from facho.engine.record import recorder
from facho.snmp import Load
from facho.snmp.values import Counter64
from facho.vendors import Decoded, Entity, Facts, Key, State
from facho.vendors.decode import Problems
from facho.vendors.facts import FACTS, Fact, Kind, full_fact_name
from tests.declared_facts import declared_facts
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

NOW = at("10:00")
CONFIG = Config()
STORES: tuple[type[models.Model], ...] = (
    Olt, Onu, PonPort, OltHealth, Uplink, Unprovisioned, HistoryFrame, OltTraffic, ClockState,
)  # fmt: skip
KEYS = {
    Entity.ONU: Key(0, 1, 7, 3),
    Entity.UNI: Key(0, 1, 7, 3, "1"),
    Entity.PORT: Key(0, 1, 7),
    Entity.BOARD: Key(0, 1),
    Entity.FAN: Key(0, extra=2),
    Entity.PSU: Key(0, extra=3),
    Entity.UPLINK: Key(extra=9),
    Entity.OLT: Key(),
    Entity.AUTOFIND: Key(0, 1, 7, extra=5),
}
# What every row has, so that it is one.
BASE: dict[Entity, dict[str, Any]] = {
    Entity.ONU: {"serial": "ACME00000001"},
    Entity.AUTOFIND: {"serial": "ACME00000002"},
}
VALUES: dict[Kind, Any] = {
    Kind.SERIAL: "ACME0000002A",
    Kind.MAC: "02:00:00:00:00:2a",
    Kind.DATE: datetime(2025, 6, 1, 2, 14, 7, tzinfo=UTC),
    Kind.IP: IPv4Address("10.0.0.7"),
}
# Where a thing is says the place of its row: these are parts of it, not facts beside it.
PLACES = {(Entity.ONU, name) for name in ("frame", "slot", "port", "onu_id")}
DECLARED = "".join(
    f"""
{entity}:
  own_text: {{kind: text, en: T, es: T, what: a text}}
  own_number: {{kind: number, en: N, es: N, what: a number, unit: people}}
  own_word: {{kind: word, en: W, es: W, what: a word, words: {{red: red, green: green}}}}
  own_level: {{kind: number, en: L, es: L, what: a level, history: yes}}
  own_frames: {{kind: whole number, en: F, es: F, what: frames, unit: frames, rate: own_frames_s}}
  own_frames_s: {{kind: rate, en: F, es: F, what: frames, unit: /s, history: yes}}
"""
    if entity not in (Entity.UNI, Entity.AUTOFIND)
    else f"\n{entity}:\n  own_text: {{kind: text, en: T, es: T, what: a text}}\n"
    for entity in Entity
)


def sample(name: str, fact: Fact) -> Any:
    match fact.kind:
        case Kind.TEXT:
            return f"some {name}"
        case Kind.WORD:
            return State(next(iter(fact.words or ())), "as the vendor says")
        case Kind.NUMBER:
            return 4.5 if fact.low is None else (fact.low + (fact.high or fact.low + 9)) / 2 + 0.5
        case Kind.WHOLE:
            return Counter64(77) if fact.is_counter else 7
        case kind:
            return VALUES[kind]


def rows(entity: Entity, **values: Any) -> Facts:
    told = {**BASE.get(entity, {}), **values}
    return Facts(entity, [KEYS[entity]], [b"\x01"], ["gpon"], {name: [value] for name, value in told.items()})


def snapshot() -> list[Any]:
    return [
        {field.attname: row[field.attname] for field in model._meta.concrete_fields if _is_told(field)}
        for model in STORES
        for row in model._default_manager.order_by("pk").values()
    ]


def _is_told(field: models.Field[Any, Any]) -> bool:
    """Return whether a value can come from an OLT. A secret is another object each time it is read."""
    if isinstance(field, models.DateTimeField):
        return field.attname == "seen_at"
    return not isinstance(field, EncryptedField)


class Site:
    def __init__(self) -> None:
        self.olt = make_olt("north", "huawei")
        self.nodes = {
            kind: make_node(self.olt, make_job(kind, kind, facts=["serial", "autofind"]))
            for kind in ("discovery", "table")
        }
        self.now = NOW
        self.record("discovery", *(rows(entity) for entity in (Entity.ONU, Entity.AUTOFIND)))

    def record(self, kind: str, *found: Facts) -> None:
        self.now += timedelta(minutes=1)
        execution = make_execution(self.nodes[kind], self.now, ExecutionState.PENDING)
        started = start_execution(execution.id, "here", lambda: self.now, CONFIG)
        assert started is not None
        planned = plan_execution(started.execution_id, started.run_id, self.now, CONFIG, started.subject)
        facts = {entity: Facts(entity) for entity in Entity} | {each.entity: each for each in found}
        part = PartResult(
            planned.work.parts[0],
            PartState.SUCCESS,
            decoded=Decoded(facts, Problems()),
            rows=len(found),
            load=Load(requests=1),
        )
        # It comes with every answer.
        uptime_s: Any = next(iter(facts[Entity.OLT].columns.get("uptime_s", ())), None)
        recorder.record(started, planned, Collection([part], uptime_s=uptime_s), self.now, CONFIG)


def lost_facts(facts: dict[Entity, dict[str, Fact]]) -> Iterator[str]:
    """Yield the facts whose values change nothing that is stored."""
    site = Site()
    for entity, named in facts.items():
        for name, fact in named.items():
            if fact.kind is Kind.RATE or (entity, name) in PLACES:
                continue
            # Only a discovery says that another ONU is at a place.
            kind = "discovery" if (entity, name) == (Entity.ONU, "serial") else "table"
            site.record(kind, rows(Entity.ONU), rows(entity))
            before = snapshot()
            site.record(kind, rows(Entity.ONU), rows(entity, **{name: sample(name, fact)}))
            if snapshot() == before:
                yield full_fact_name(entity, name)
            if kind == "discovery":
                site.record(kind, rows(Entity.ONU))


@pytest.mark.usefixtures("brands")
def test_no_fact_of_the_registry_is_collected_for_nothing() -> None:
    assert list(lost_facts({entity: dict(facts) for entity, facts in FACTS.items()})) == []


@pytest.mark.usefixtures("brands")
def test_no_fact_that_an_operator_declares_is_collected_for_nothing() -> None:
    with declared_facts(DECLARED):
        from facho.vendors import known_facts

        own = {
            entity: {name: fact for name, fact in facts.items() if name.startswith("own_")}
            for entity, facts in known_facts().items()
        }
        assert all(own.values())
        assert list(lost_facts(own)) == []


@pytest.mark.usefixtures("brands")
def test_this_would_be_noticed() -> None:
    """A fact that nobody declares is stored by no writer. Customer ports are kept as they come."""
    unknown = {entity: {"of_nobody": Fact(Kind.TEXT, "a text")} for entity in set(Entity) - {Entity.UNI}}
    assert list(lost_facts(unknown)) == [full_fact_name(entity, "of_nobody") for entity in unknown]
