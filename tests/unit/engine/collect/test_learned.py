"""What is learned of an OLT is stored with it, and its own limits hold for every request."""

from __future__ import annotations

import pytest

from facho.apps.hosts.models import Brand, Olt, SnmpVersion
from facho.config import Config
from facho.engine.collect.part_results import Collection
from facho.engine.collect.work_builder import (
    learned_gets_of,
    learned_json,
    learned_of,
    target_of,
    varbinds_of,
)
from facho.snmp import Learned
from facho.snmp.pacing import within

CONFIG = Config()
WALKS, GETS, OPTICS = Learned(200, 3, None, True), Learned(45, 2, 60), Learned(20, 5)


def olt(**columns: object) -> Olt:
    return Olt(name="olt-1", address="192.0.2.1", snmp_version=SnmpVersion.V2C, brand=Brand(), **columns)


def test_walks_and_the_gets_of_each_kind_of_table_are_remembered_apart() -> None:
    stored = learned_json(Collection([], WALKS, {0: GETS, 24: OPTICS}))
    assert (learned_of(olt(learned=stored)), learned_gets_of(olt(learned=stored))) == (
        WALKS,
        {0: GETS, 24: OPTICS},
    )


def test_an_olt_of_which_only_one_kind_was_asked_has_nothing_of_the_other() -> None:
    assert learned_of(olt(learned=learned_json(Collection([], None, {0: GETS})))) is None
    assert learned_gets_of(olt(learned=learned_json(Collection([], WALKS)))) == {}
    assert learned_json(Collection([])) == {}


def test_what_an_earlier_version_stored_is_read() -> None:
    before = {"varbinds": 50, "in_flight": 4, "most_varbinds": None}
    assert learned_of(olt(learned=before)) == Learned(50, 4)
    assert learned_gets_of(olt(learned=before)) == {}


@pytest.mark.parametrize("most", [1, 10, 30])
def test_the_limit_of_an_olt_holds_for_walks_and_gets_whatever_was_learned(most: int) -> None:
    limited = olt(max_varbinds=most)
    limits = target_of(limited, CONFIG).limits
    assert within(Learned(500, 5), limits).varbinds == most
    assert varbinds_of(limited, CONFIG) <= most
    assert limits.most_varbinds == most


def test_without_a_limit_of_its_own_an_olt_may_be_asked_for_more_than_usual() -> None:
    limits = target_of(olt(), CONFIG).limits
    assert (limits.varbinds, limits.most_varbinds) == (CONFIG.walk_repetitions, CONFIG.most_varbinds)
