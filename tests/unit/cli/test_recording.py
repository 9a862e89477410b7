"""What is asked for a recording."""

from __future__ import annotations

from facho.cli.record import is_address
from facho.cli.record.walk import RequestLimits, excluded_subtrees, never_read, to_records, walk_steps
from facho.sim.snmprec import Record
from facho.snmp import Limits, Missing, Oid, Target, Value
from facho.vendors import builtin
from facho.vendors.schema import ReadMethod, table_oids

PASSWORDS = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.4"


def test_all_that_a_profile_walks_is_asked_for_once_and_nothing_that_onus_are_asked_for() -> None:
    for profile in builtin().values():
        asked = [oid for piece in walk_steps(profile, ()) for oid in piece.oids]
        assert len(asked) == len(set(asked))
        assert asked[0] == "1.3.6.1.2.1.1"
        for table in profile.tables:
            for oid in table_oids(table):
                covered = any(f"{oid}.".startswith(f"{each}.") for each in asked)
                assert covered or table.read_method is ReadMethod.GET_ONLINE
                if table.read_method is ReadMethod.GET_ONLINE and table.index.named is None:
                    assert oid not in asked


def test_a_recording_has_what_its_device_is_recognised_by() -> None:
    for profile in builtin().values():
        asked = {oid for piece in walk_steps(profile, ()) for oid in piece.oids}
        assert {rule.probe for rule in profile.rules if rule.probe} <= asked


def test_trees_take_the_place_of_tables_and_the_system_group_is_always_there() -> None:
    asked = walk_steps(builtin()["huawei"], ["1.3.6.1.4.1.2011", "1.3.6.1.2.1.1"])
    assert [piece.oids for piece in asked] == [("1.3.6.1.2.1.1",), ("1.3.6.1.4.1.2011",)]


def test_what_is_never_read_is_left_out_of_a_tree_and_named() -> None:
    never = never_read(builtin().values())
    assert PASSWORDS in {each.oid for each in excluded_subtrees(["1.3.6.1.4.1.2011"], never)}
    assert excluded_subtrees(["1.3.6.1.4.1.99999"], never) == []
    assert len({each.oid for each in never}) == len(never)


def test_nobody_is_asked_harder_than_an_operator_allows() -> None:
    slow = Target("10.0.0.1", limits=Limits(5, 4, 2.0))
    assert RequestLimits(2, 10, 0.1).apply(slow).limits == Limits(2, 4, 2.0)
    assert RequestLimits(2, 10, 0.1).apply(Target("10.0.0.1")).limits == Limits(2, 10, 10.0)
    assert RequestLimits().apply(Target("10.0.0.1")).limits == Limits(1, 10, None)


def test_what_is_not_there_and_what_nobody_could_write_is_not_recorded() -> None:
    column: dict[bytes, Value] = {
        b"\x01": 7,
        b"\x02": Missing.NO_SUCH_INSTANCE,
        b"\xff\xff\xff\xff\xff\x7f": 8,
    }
    assert to_records({"1.3.6.1.9": column}) == [Record(Oid.parse("1.3.6.1.9.1"), 7)]


def test_what_is_an_address_and_what_may_be_the_name_of_an_olt() -> None:
    addresses = ["10.0.0.1", "10.0.0.1:1161", "[2001:db8::7]:161", "2001:db8::7", "olt-7:161"]
    assert all(map(is_address, addresses))
    assert not any(map(is_address, ["olt-7", "olt-7.example.net", "norte"]))
