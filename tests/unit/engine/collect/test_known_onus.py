"""Which ONUs later parts ask about."""

from __future__ import annotations

from facho.engine.collect.collector import KnownOnus, known_after_discovery, known_after_part
from facho.engine.collect.request_plan import KnownOnu
from facho.vendors import Entity, Facts, Key, State

A, B, C = (Key(0, 1, 0, onu) for onu in range(3))
ONLINE, LOS = State("online", "working"), State("los", "LOS")


def facts(*rows: tuple[Key, object], technology: str = "gpon", state: bool = True) -> Facts:
    keys = [key for key, _ in rows]
    columns = {"state": [value for _, value in rows]} if state else {}
    return Facts(Entity.ONU, keys, [b""] * len(keys), [technology] * len(keys), columns)


def known(*onus: KnownOnu) -> KnownOnus:
    return {onu.key: onu for onu in onus}


def test_a_discovery_replaces_who_was_known() -> None:
    before = known(KnownOnu(A, "gpon", online=True), KnownOnu(B, "gpon", online=True))
    after = known_after_discovery(before, facts((B, LOS), (C, ONLINE)))
    assert after == known(KnownOnu(B, "gpon", online=False), KnownOnu(C, "gpon", online=True))


def test_a_discovery_leaves_those_that_another_table_named() -> None:
    named = KnownOnu(A, "gpon", online=True, undiscovered=True)
    after = known_after_discovery(known(named, KnownOnu(B, "gpon")), facts((C, ONLINE)))
    assert after == known(named, KnownOnu(C, "gpon", online=True))


def test_a_discovery_without_states_keeps_those_that_were_known() -> None:
    before = known(KnownOnu(A, "gpon", online=True))
    after = known_after_discovery(before, facts((A, None), (B, None), state=False))
    assert after == known(KnownOnu(A, "gpon", online=True), KnownOnu(B, "gpon", online=False))


def test_a_state_that_the_olt_could_not_tell_keeps_the_one_before() -> None:
    before = known(KnownOnu(A, online=True))
    assert known_after_part(before, facts((A, None))) == known(KnownOnu(A, "gpon", online=True))


def test_other_parts_bring_states_and_nobody_new() -> None:
    before = known(KnownOnu(A, online=True), KnownOnu(B))
    after = known_after_part(before, facts((A, LOS), (C, ONLINE)))
    assert after == known(KnownOnu(A, "gpon"), KnownOnu(B))


def test_a_table_that_is_of_no_technology_keeps_that_of_the_onu() -> None:
    before = known(KnownOnu(A, "epon"))
    assert known_after_discovery(before, facts((A, ONLINE), technology="")) == known(
        KnownOnu(A, "epon", online=True)
    )


def test_after_a_discovery_with_rows_that_cannot_be_read_who_was_known_is_asked_about_too() -> None:
    before = known(KnownOnu(A, "gpon", online=True), KnownOnu(B, "gpon"))
    after = known_after_discovery(before, facts((C, ONLINE)), has_gaps=True)
    assert after == {**before, **known(KnownOnu(C, "gpon", online=True))}


def test_the_index_is_that_of_the_discovery_rather_than_that_of_another_table() -> None:
    found = facts((A, ONLINE), (B, ONLINE))
    found.indexes = [b"\x01", b"\x02"]
    before = known(KnownOnu(A, raw_index=b"\x07"), KnownOnu(B))
    assert [onu.raw_index for onu in known_after_discovery(before, found).values()] == [b"\x01", b"\x02"]
    assert [onu.raw_index for onu in known_after_part(before, found).values()] == [b"\x07", b"\x02"]
