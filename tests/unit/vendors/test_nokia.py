"""The Nokia profile: ONTs picked from among thousands of other interfaces."""

import pytest

from facho.vendors import Decoder, Entity, Key, builtin
from facho.vendors.index import compile_index
from facho.vendors.schema import ReadMethod
from tests.unit.vendors.rows import column

PROFILE = builtin()["nokia"]
DECODER = Decoder(PROFILE)
IF_OPER_STATUS = "1.3.6.1.2.1.2.2.1.8"
BOARD_NAME, BOARD_STATE = (f"1.3.6.1.4.1.637.61.1.23.3.1.{column}" for column in (3, 6))
BOARD_CPU = "1.3.6.1.4.1.637.61.1.9.29.1.1.4"
# 1/1:1.
A = 96468992


@pytest.mark.parametrize(
    ("name", "arcs", "key"),
    [
        ("ont", (96468992,), Key(slot=1, port=1, onu=1)),
        ("ont", (96665600,), Key(slot=1, port=4, onu=1)),
        ("ont", (96714752,), Key(slot=1, port=4, onu=97)),
        ("ont", (17 << 25 | 0x01C00000 | 15 << 16 | 127 << 9,), Key(slot=16, port=16, onu=128)),
        ("pon", (94380032,), Key(slot=1, port=1)),
        ("pon", (94576640,), Key(slot=1, port=4)),
        ("pon", (2 << 25 | 0x01A00000 | 3 << 16,), Key(slot=1, port=4)),
        ("pon_interface", (96468992,), None),
        ("ont_interface", (94380032,), None),
        ("ont_interface", (1089863680,), None),
        ("sfp", (4355, 1), Key(slot=1, port=1)),
        ("sfp", (4353, 1), None),
    ],
)
def test_indices_seen_on_real_olts(name: str, arcs: tuple[int, ...], key: Key | None) -> None:
    assert compile_index(next(index for index in PROFILE.indexes if index.name == name)).decode(arcs) == key


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["online", "offline", "starting", "unknown", "offline", "offline", "offline"], 1)],
)
def test_an_ont_is_what_its_interface_is(raw: int, state: str) -> None:
    (said,) = DECODER.decode({IF_OPER_STATUS: column({A: raw})}).onus.columns["state"]
    assert str(said) == state


def test_an_empty_slot_is_no_board() -> None:
    """The rows of a real ISAM, and one of another table that has no name."""
    rows = {
        BOARD_NAME: column({4352: b"NGFC-E", 4355: b"FWLT-C", 4356: b"EMPTY"}),
        BOARD_STATE: column({4352: 1, 4355: 1, 4356: 2}),
        BOARD_CPU: column({4355: 7, 4353: 3}),
    }
    boards = DECODER.decode(rows)[Entity.BOARD]
    assert {str(key.extra): boards.row(row)["name"] for row, key in enumerate(boards.keys)} == {
        "4352": "NGFC-E",
        "4355": "FWLT-C",
        "4353": None,
    }


def test_optics_are_asked_of_online_onts_only() -> None:
    asked = {table.name for table in PROFILE.tables if table.read_method is ReadMethod.GET_ONLINE}
    assert asked == {"ont_optics", "olt_optics"}
