"""The ZTE C600 profile: what tells it from the C300."""

import pytest

from facho.vendors import Decoder, Key, builtin
from facho.vendors.index import compile_index
from facho.vendors.schema import ReadMethod
from tests.unit.vendors.rows import under

PROFILE = builtin()["zte_c600"]
DECODER = Decoder(PROFILE)
TREE = "1.3.6.1.4.1.3902.1082"
# 1/1/1.
PORT_1 = 285278465
A = (PORT_1, 1)


def optics(onu: tuple[int, int]) -> tuple[int, ...]:
    return (*onu, 1)


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["starting", "los", "starting", "online", "power_off", "auth_failed", "offline"], 1)],
)
def test_phases_count_from_one(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(f"{TREE}.500.10.2.3.8.1", {"4": {A: raw}})).onus.columns["state"]
    assert str(said) == state


@pytest.mark.parametrize(("raw", "dbm"), [(6227, -17.55), (5340, -19.32), (65535, None)])
def test_power_is_in_steps_of_two_thousandths(raw: int, dbm: float | None) -> None:
    rows = under(f"{TREE}.500.20.2.2.2.1", {"10": {optics(A): raw}})
    assert DECODER.decode(rows).onus.columns["onu_rx_dbm"] == [dbm]


def test_the_numbers_of_the_c300_are_no_ports_here() -> None:
    index = compile_index(next(index for index in PROFILE.indexes if index.name == "onu"))
    assert index.decode((285278721, 3)) == Key(1, 2, 1, 3)
    with pytest.raises(ValueError, match="0x10010100"):
        index.decode((268501248, 1))


def test_optics_are_asked_of_online_onus_only() -> None:
    asked = {
        table.name: table.batch for table in PROFILE.tables if table.read_method is ReadMethod.GET_ONLINE
    }
    assert asked == {"gpon_optics": 24, "gpon_olt_optics": 24}
