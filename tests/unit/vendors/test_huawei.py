"""The Huawei profile: ports known by number or by name, and a real OLT."""

import pytest

from facho.vendors import Decoder, Entity, Key, builtin
from facho.vendors.index import split_arcs
from tests.unit.vendors.recordings import RECORDINGS
from tests.unit.vendors.rows import by_key, column, recorded

HUAWEI = builtin()["huawei"]
DECODER = Decoder(HUAWEI)
XPON = "1.3.6.1.4.1.2011.6.128.1.1"
# GPON 0/1/1: above 2^31, as on real OLTs.
PORT_1 = 4194312448


def test_an_interface_that_is_no_pon_port_is_no_pon_port() -> None:
    names = "1.3.6.1.2.1.31.1.1.1.1"
    found = DECODER.decode(
        {names: column({PORT_1: b"GPON 0/1/1", 234938432: b"ethernet0/7/1", 42: b"vlanif1"})}
    )
    assert by_key(found[Entity.PORT]) == {Key(0, 1, 1): {"name": "GPON 0/1/1"}}
    assert len(found.problems) == 0


def test_a_port_of_another_kind_is_known_by_its_name() -> None:
    """No real XGS-PON board's index has been seen; its name would say where it is."""
    rows = {
        "1.3.6.1.2.1.31.1.1.1.1": column({77: b"XGS-PON 0/3/2"}),
        f"{XPON}.2.23.1.1": column({77: 51}),
    }
    ports = DECODER.decode(rows)[Entity.PORT]
    assert by_key(ports) == {Key(0, 3, 2): {"name": "XGS-PON 0/3/2", "temperature_c": 51.0}}


@pytest.mark.parametrize(
    ("number", "place"),
    [(4194304000, "0/0/0"), (4194312448, "0/1/1"), (4194313984, "0/1/7"), (4194338304, "0/4/6")],
)
def test_ports_above_2_31_are_read_from_their_number_alone(number: int, place: str) -> None:
    found = DECODER.decode(
        {f"{XPON}.2.46.1.15": column({(number, 3): 1}), f"{XPON}.2.21.1.10": column({number: 1})}
    )
    assert [str(key) for key in found.onus.keys] == [f"{place}:3"]
    assert [str(key) for key in found[Entity.PORT].keys] == [place]


@pytest.mark.skipif(not (RECORDINGS / "smartax.snmprec").exists(), reason="the recordings are not here")
def test_a_real_olt_has_32_ports_with_optics_and_4_boards() -> None:
    found = DECODER.decode(recorded(HUAWEI, "smartax.snmprec"))
    ports, boards = found[Entity.PORT], found[Entity.BOARD]
    assert found.problems.first == []
    assert [str(key) for key in ports.keys] == [f"0/{slot}/{port}" for slot in (0, 1) for port in range(16)]
    for number, key in enumerate(ports.keys):
        assert ports.columns["name"][number] == f"GPON {key}"
    assert None not in ports.columns["tx_dbm"] + ports.columns["temperature_c"] + ports.columns["voltage_v"]
    assert set(ports.columns["rx_dbm"]) == {None}
    assert {split_arcs(index)[0] > 2**31 for index in ports.indexes} == {True}
    assert by_key(ports)[Key(0, 1, 0)]["tx_dbm"] == 7.16
    assert by_key(ports)[Key(0, 0, 15)]["onus_known"] == 11
    assert boards.columns["name"] == ["H805GPFD", "H805GPFD", "H802SCUN", "H802X2CS"]
    assert boards.columns["cpu_pct"] == [11.0, 12.0, 17.0, None]
    assert [str(state) for state in boards.columns["state"]] == ["ok"] * 4
    assert found[Entity.OLT].columns["version"] == ["MA5603V800R018C10B085"]
    uplinks = by_key(found[Entity.UPLINK])
    assert [row["name"] for row in uplinks.values()] == [
        *(f"ethernet0/7/{port}" for port in range(4)), "ethernet0/8/0", "ethernet0/8/1"
    ]  # fmt: skip
    up = uplinks[Key(extra=234946560)]
    assert (up["speed_mbps"], up["in_octets"], up["in_discards"]) == (10000, 538440087903, 10676400)
    assert len(found.onus) == 0
