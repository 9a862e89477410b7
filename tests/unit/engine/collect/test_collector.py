"""The SNMP loop serves all OLTs: what takes long is not done on it."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest

from facho.engine.collect import collector, request_plan
from facho.engine.collect.column_reader import Answers
from facho.engine.collect.request_plan import AskedColumn, GetPlan, KnownOnu, Part, Work
from facho.snmp import Load, Target
from facho.vendors import Key, builtin
from facho.vendors.index import join_arcs

HUAWEI = builtin()["huawei"]
SERIAL = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"


class HandedOver(Exception):
    """The coroutine reached the SNMP loop, where it is not run."""


def test_a_get_is_planned_before_the_loop_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[GetPlan] = []

    def plan_get(*arguments: Any) -> GetPlan:
        planned.append(request_plan.plan_get(*arguments))
        return planned[-1]

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        coroutine.close()
        raise HandedOver

    monkeypatch.setattr(collector, "plan_get", plan_get)
    part = Part(1, "job", "get", "get", (), (AskedColumn("serial", SERIAL, SERIAL),))
    onu = KnownOnu(Key(0, 1, 0, 5), "gpon", online=True)
    work = Work(1, 1, 1, "olt", Target("192.0.2.1"), HUAWEI, (part,), known=(onu,))
    with pytest.raises(HandedOver):
        collector.collect(work, run, Mock(), None, nullcontext())
    (plan,) = planned
    assert plan.onus == {onu.key}


def test_after_a_discovery_with_unreadable_rows_a_get_asks_for_those_known_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever is in a row that could not be read is still asked about."""
    planned: list[GetPlan] = []

    def plan_get(*arguments: Any) -> GetPlan:
        planned.append(request_plan.plan_get(*arguments))
        return planned[-1]

    rows: dict[bytes, object] = {
        join_arcs((0xFA00_2000, 1)): b"HWTC\x00\x00\x00\x01",
        # As a firmware has it that packs its ports in another way.
        join_arcs((0x1A00_2000, 5)): b"HWTC\x00\x00\x00\x05",
    }
    told = [Answers(rows={SERIAL: rows}, heard=True, load=Load(requests=1))]  # type: ignore[dict-item]

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        coroutine.close()
        if not told:
            raise HandedOver
        return told.pop()

    monkeypatch.setattr(collector, "plan_get", plan_get)
    column = AskedColumn("serial", SERIAL, SERIAL)
    discovery = Part(1, "discovery", "discovery", "discovery", ("serial",), (column,))
    get = Part(2, "job", "get", "get", (), (column,))
    onu = KnownOnu(Key(0, 1, 0, 5), "gpon", online=True)
    work = Work(1, 1, 1, "olt", Target("192.0.2.1"), HUAWEI, (discovery, get), known=(onu,))
    with pytest.raises(HandedOver):
        collector.collect(work, run, Mock(), None, nullcontext())
    (plan,) = planned
    assert onu.key in plan.onus
    assert len(plan.onus) == 2
