"""The FiberHome profiles: serial or address in one column, and how the AN5116 differs from the AN5516."""

import pytest

from facho.vendors import Decoder, Entity, Key, Profile, builtin
from facho.vendors.index import compile_index
from tests.unit.vendors.rows import by_key, under

AN5516, AN5116 = builtin()["fiberhome"], builtin()["fiberhome_5116"]
DECODER = Decoder(AN5516)
TREE = "1.3.6.1.4.1.5875.800.3"
# 1/1:1 and 1/1:2.
A, OFF = 34078976, 34079232
PON_1 = 34078720


@pytest.mark.parametrize(
    ("raw", "serial", "mac"),
    [
        (b"FHTT1234ABCD", "FHTT1234ABCD", None),
        (b"ZTEGc0ffee00", "ZTEGC0FFEE00", None),
        (b"ALCL\xfa\x01\x02\x03", "ALCLFA010203", None),
        (b"001122AABBCC", None, "00:11:22:aa:bb:cc"),
        (b"00:11:22:AA:BB:CC", None, "00:11:22:aa:bb:cc"),
        (b"00-11-22-AA-BB-CC", None, "00:11:22:aa:bb:cc"),
        (b"\x00\x11\x22\xaa\xbb\xcc", None, "00:11:22:aa:bb:cc"),
        (b"", None, None),
    ],
)
def test_one_column_has_the_serial_or_the_address(raw: bytes, serial: str | None, mac: str | None) -> None:
    found = DECODER.decode(under(TREE, {"10.1.1.10": {A: raw}, "11.1.1.7": {1: raw}}))
    assert found.problems.first == []
    assert found.onus.row(0) == {"serial": serial, "mac": mac}
    assert by_key(found[Entity.AUTOFIND]) == {Key(extra=1): {"serial": serial, "mac": mac}}


def test_what_is_neither_is_reported_once() -> None:
    found = DECODER.decode(under(TREE, {"10.1.1.10": {A: b"no such thing"}}))
    assert found.onus.row(0) == {"serial": None, "mac": None}
    assert [problem.fact for problem in found.problems.first] == ["serial"]


def test_optics_count_where_the_olt_does_not_say_who_can_measure() -> None:
    found = DECODER.decode(under(f"{TREE}.9.3.3.1", {"6": {A: -2145, OFF: -2200}, "11": {OFF: 2}}))
    assert found.onus.columns["onu_rx_dbm"] == [-21.45]
    assert found.onus.keys == [Key(slot=1, port=1, onu=1)]


def layout(profile: Profile, name: str, *arcs: int) -> Key | None:
    return compile_index(next(index for index in profile.indexes if index.name == name)).decode(arcs)


@pytest.mark.parametrize(
    ("profile", "name", "arcs", "key"),
    [
        (AN5516, "onu", (34078976,), Key(slot=1, port=1, onu=1)),
        (AN5516, "onu", (34079232,), Key(slot=1, port=1, onu=2)),
        (AN5516, "pon", (34078720,), Key(slot=1, port=1)),
        (AN5516, "pon_and_onu", (34078720, 2), Key(slot=1, port=1, onu=2)),
        (AN5516, "uni", (606089733,), Key(slot=18, port=4, onu=50, extra=5)),
        (AN5116, "onu", (18 << 27 | 4 << 22 | 50 << 13,), Key(slot=18, port=4, onu=50)),
        (AN5116, "pon", (18 << 27 | 4 << 22,), Key(slot=18, port=4)),
        (AN5116, "pon_and_onu", (1 << 27 | 1 << 22, 2), Key(slot=1, port=1, onu=2)),
        (AN5116, "uni", (18 << 27 | 4 << 22 | 50 << 13 | 5 << 4,), Key(slot=18, port=4, onu=50, extra=5)),
    ],
)
def test_indices_of_both_kinds(profile: Profile, name: str, arcs: tuple[int, ...], key: Key) -> None:
    assert layout(profile, name, *arcs) == key


def test_a_number_of_one_model_is_none_or_another_place_on_the_other() -> None:
    with pytest.raises(ValueError, match="0x02080100"):
        layout(AN5116, "onu", 34078976)


@pytest.mark.parametrize(
    ("profile", "states"),
    [
        (AN5516, ["los", "online", "power_off", "offline"]),
        (AN5116, ["offline", "online", "power_off"]),
    ],
    ids=["5516", "5116"],
)
def test_states_differ_by_model(profile: Profile, states: list[str]) -> None:
    numbers = [
        1 << 27 | 1 << 22 | onu << 13 if profile is AN5116 else PON_1 | onu << 8 for onu in range(1, 9)
    ]
    rows = under(TREE, {"10.1.1.11": {numbers[raw]: raw for raw in range(len(states))}})
    found = Decoder(profile).decode(rows)
    assert list(map(str, found.onus.columns["state"])) == states
    assert found.problems.first == []


def test_the_models_differ_in_nothing_else() -> None:
    def read(profile: Profile) -> dict[str, object]:
        return {
            f"{table.name}.{each.fact}": (each.source, each.otherwise, each.rule)
            for table in profile.tables
            for each in table.columns
        }

    one, other = read(AN5516), read(AN5116)
    assert one.keys() == other.keys()
    assert {fact for fact in one if one[fact] != other[fact]} == {"onus.state"}
    assert AN5516.request_rules == AN5116.request_rules


@pytest.mark.parametrize("profile", [AN5516, AN5116], ids=["5516", "5116"])
def test_passwords_and_communities_are_never_read(profile: Profile) -> None:
    never = {each.oid.removeprefix(f"{TREE}.") for each in profile.request_rules.never}
    assert {"10.1.1.9", "11.1.1.6", "1", "23"} <= never
