"""The ZTE profile: the three kinds of index told apart."""

import pytest

from facho.snmp.values import Counter64
from facho.vendors import Decoder, Key, builtin
from facho.vendors.index import CompiledIndex, compile_index
from facho.vendors.schema import ReadMethod
from tests.unit.vendors.facts_cases import case_rows
from tests.unit.vendors.rows import by_key, column, under

ZTE = builtin()["zte"]
DECODER = Decoder(ZTE)
GPON = "1.3.6.1.4.1.3902.1012.3"
OTHER = "1.3.6.1.4.1.3902.1015"
# 1/1/1 in the PON tables.
PORT_1 = 268501248
A = (PORT_1, 1)


@pytest.mark.parametrize(
    ("raw", "state"),
    [*enumerate(["starting", "los", "starting", "online", "power_off", "auth_failed", "offline"])],
)
def test_phases_count_from_zero(raw: int, state: str) -> None:
    (said,) = DECODER.decode(under(GPON, {"28.2.1.4": {A: raw}})).onus.columns["state"]
    assert str(said) == state


def test_optics_are_asked_of_online_onus_only() -> None:
    asked = {table.name: table.batch for table in ZTE.tables if table.read_method is ReadMethod.GET_ONLINE}
    assert asked == {"gpon_optics": 24, "gpon_olt_optics": 24, "epon_optics": 24}


def layout(name: str) -> CompiledIndex:
    return compile_index(next(index for index in ZTE.indexes if index.name == name))


def test_one_number_is_another_port_in_each_kind_of_index() -> None:
    number = 268501248
    assert layout("onu").decode((number, 1)) == Key(1, 1, 1, 1)
    assert layout("interface").decode((number,)) == Key(1, 2, 2)
    with pytest.raises(ValueError, match="0x10010100"):
        layout("newer_onu").decode((number, 1))


@pytest.mark.parametrize(
    ("kind", "arcs", "key"),
    [
        ("interface", (268435456,), Key(1, 1, 1)),
        ("interface", (268435712,), Key(1, 1, 2)),
        ("interface", (268632064,), Key(1, 4, 1)),
        ("interface", (268632320,), Key(1, 4, 2)),
        ("onu", (268501248, 3), Key(1, 1, 1, 3)),
        ("onu", (268501504, 3), Key(1, 1, 2, 3)),
        ("onu", (268566784, 3), Key(1, 2, 1, 3)),
        ("onu", (268632320, 3), Key(1, 3, 1, 3)),
        ("newer_onu", (285278465, 3), Key(1, 1, 1, 3)),
        ("newer_onu", (285278721, 3), Key(1, 2, 1, 3)),
        ("newer_onu", (285278977, 3), Key(1, 3, 1, 3)),
        ("newer_onu", (285279233, 3), Key(1, 4, 1, 3)),
        ("epon_onu", (0x30000000 | 2 << 19 | 3 << 16 | 17 << 8,), Key(1, 2, 4, 17)),
        ("epon_onu", (0x90000000 | 5 << 20 | 15 << 16 | 64 << 8,), Key(1, 5, 16, 64)),
        ("epon_onu", (0x31000000 | 2 << 19 | 0 << 16 | 1 << 8,), Key(2, 2, 1, 1)),
    ],
)
def test_indices_seen_on_real_olts(kind: str, arcs: tuple[int, ...], key: Key) -> None:
    assert layout(kind).decode(arcs) == key


def test_traffic_of_a_gpon_onu_is_found_by_its_place() -> None:
    """The table of counters has one number for the whole place, as those of EPON have."""
    here = 0x30000000 | 1 << 19 | 0 << 16 | 128 << 8
    onus = case_rows("zte_gpon")
    found = DECODER.decode(onus | {f"{OTHER}.1010.5.56.1.1.2": column({here: Counter64(9)})})
    assert len(found.onus) == 3
    before = by_key(DECODER.decode(onus).onus)
    assert by_key(found.onus) == {
        key: row | {"up_octets": 9 if key == Key(1, 1, 1, 128) else None} for key, row in before.items()
    }
    assert found.onus.technologies == ["gpon"] * 3


def test_a_name_that_contradicts_the_number_is_reported() -> None:
    problems = DECODER.decode(case_rows("zte_chassis")).problems.first
    assert "its name says 1/2/1, its number 1/1/1" in problems[0].why
