"""The tables of each brand: its indices, its types of values, and its marks for `no value`."""

import pytest

from facho.sim.families import huawei, zte
from facho.sim.families.family import Family, OltColumn
from facho.sim.fleet import Fleet, FleetConfig
from facho.sim.model import Cause, Shape
from facho.sim.scenario import Scenario
from facho.sim.tables import ColumnSpec, IndexSpace, Layout
from facho.snmp.values import Missing, Oid, TimeTicks
from facho.vendors import builtin
from facho.vendors.encode import encode_fact
from tests.unit.sim.asking import DISTANCE, HUAWEI, PORT, RUN_STATUS, RX_POWER, UPTIME, Asker

ZTE_GPON = "1.3.6.1.4.1.3902.1012.3"
ZTE_PORT = 0x1000_0000 | 2 << 16 | 1 << 8


@pytest.mark.parametrize(
    ("slot", "port", "index"),
    [(0, 0, 4194304000), (1, 1, 4194312448), (1, 7, 4194313984), (4, 6, 4194338304)],
)
def test_huawei_pon_ports_have_the_index_seen_on_real_ones(slot: int, port: int, index: int) -> None:
    assert huawei.pon_if_index(slot, port) == index


def test_huawei_ethernet_ports_have_the_index_seen_on_real_ones() -> None:
    assert huawei.ethernet_if_index(7, 1) == 234938432


@pytest.mark.parametrize(
    ("slot", "port", "index"), [(1, 1, 268501248), (1, 2, 268501504), (2, 1, 268566784), (3, 1, 268632320)]
)
def test_zte_onu_tables_have_the_index_seen_on_real_ones(slot: int, port: int, index: int) -> None:
    assert zte.pon_index(slot, port) == index


@pytest.mark.parametrize(("slot", "port", "index"), [(1, 1, 268435456), (1, 2, 268435712), (4, 2, 268632320)])
def test_zte_interfaces_have_the_index_seen_on_real_ones(slot: int, port: int, index: int) -> None:
    assert zte.if_index(slot, port) == index


@pytest.mark.parametrize(("raw", "dbm"), [(5635, -18.73), (6227, -17.546), (65036, -31.0)])
def test_zte_power_is_in_steps_above_30_dbm_below_zero(raw: int, dbm: float) -> None:
    optics = next(table for table in builtin()["zte"].tables if table.name == "gpon_optics")
    power = optics.columns[0]
    assert (power.fact, encode_fact(power.meaning, power.rule, dbm)) == ("onu_rx_dbm", raw)


@pytest.mark.parametrize("family", [huawei.HUAWEI, zte.ZTE], ids=lambda family: family.name)
@pytest.mark.parametrize("onus", [0, 1, 64, 65, 2000])
def test_every_column_of_a_family_can_be_walked(family: Family, onus: int) -> None:
    layout = Layout(family.columns, family.spaces(Shape(onus)))
    firsts = [column.first for column in layout.columns]
    assert firsts == sorted(firsts)
    assert len({column.prefix for column in layout.columns}) == len(layout.columns)


@pytest.mark.parametrize("family", [huawei.HUAWEI, zte.ZTE], ids=lambda family: family.name)
def test_more_onus_than_a_chassis_holds_are_refused(family: Family) -> None:
    with pytest.raises(ValueError, match="chassis"):
        family.spaces(Shape(60_000))
    with pytest.raises(ValueError, match="PON port"):
        family.spaces(Shape(10, onus_per_port=200))


def test_huawei_says_what_it_is() -> None:
    said = Asker().get("1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.2.0", UPTIME, "1.3.6.1.2.1.1.5.0")
    assert said.values[:2] == [b"Huawei Integrated Access Software", Oid.parse("1.3.6.1.4.1.2011.2.294")]
    assert isinstance(said.values[2], TimeTicks)
    assert said.values[3] == b"huawei-000"


def test_huawei_ports_have_names() -> None:
    names = dict(Asker().walk("1.3.6.1.2.1.31.1.1.1.1"))
    assert names[f"1.3.6.1.2.1.31.1.1.1.1.{PORT}"] == b"GPON 0/1/0"


def huawei_row(asker: Asker, onu: int) -> dict[str, object]:
    columns = {
        "status": "2.46.1.15", "distance": "2.46.1.20", "cause": "2.46.1.24", "up": "2.46.1.22",
        "down": "2.46.1.23", "temperature": "2.51.1.1", "tx": "2.51.1.3", "rx": "2.51.1.4",
        "olt_rx": "2.51.1.6",
    }  # fmt: skip
    said = asker.get(*(f"{HUAWEI}.{column}.{PORT}.{onu}" for column in columns.values()))
    return dict(zip(columns, said.values, strict=True))


def online_onu(asker: Asker) -> int:
    return next(row for row in range(60) if asker.olt.model.online(row, asker.clock.now))


def test_a_huawei_onu_that_goes_offline_has_no_optics_and_a_cause() -> None:
    asker = Asker()
    onu = online_onu(asker)
    before = huawei_row(asker, onu)
    assert before["status"] == 1
    assert isinstance(before["rx"], int)
    assert -2800 < before["rx"] < -1300
    asker.olt.take_offline(onu, Cause.DYING_GASP)
    after = huawei_row(asker, onu)
    assert (after["status"], after["distance"], after["cause"]) == (2, -1, 13)
    assert [after[name] for name in ("temperature", "tx", "rx", "olt_rx")] == [2147483647] * 4
    assert after["down"] == bytes((0x07, 0xE7, 11, 14, 22, 13, 20, 0))


def test_a_huawei_onu_that_comes_back_remembers_why_it_went() -> None:
    asker = Asker()
    onu = online_onu(asker)
    before = huawei_row(asker, onu)
    asker.olt.take_offline(onu, Cause.LOS)
    asker.clock.now += 60
    asker.olt.bring_back(onu)
    after = huawei_row(asker, onu)
    assert (after["status"], after["cause"]) == (1, 1)
    assert after["rx"] == before["rx"]
    assert after["up"] == bytes((0x07, 0xE7, 11, 14, 22, 14, 20, 0))


def test_huawei_reports_olt_rx_with_its_offset() -> None:
    asker = Asker()
    onu = online_onu(asker)
    raw = huawei_row(asker, onu)["olt_rx"]
    assert isinstance(raw, int)
    assert (raw - 10000) / 100 == pytest.approx(asker.olt.model.olt_rx_dbm(onu, 0), abs=0.006)


def test_a_cut_fibre_takes_the_port_and_its_onus_down_and_no_others() -> None:
    asker = Asker(onus=128)
    asker.olt.cut_fibre(0)
    states = [value for _, value in asker.walk(RUN_STATUS)]
    assert set(states[:64]) == {2}
    assert 1 in states[64:]
    port = f"{HUAWEI}.2.21.1.10"
    assert [value for _, value in asker.walk(port)] == [2, 1]
    asker.olt.restore(0)
    assert [value for _, value in asker.walk(port)] == [1, 1]
    assert {value for _, value in asker.walk(RUN_STATUS)[:64]} == {1}


def test_a_power_cut_leaves_the_port_up() -> None:
    asker = Asker(onus=128)
    onu = online_onu(asker)
    asker.olt.cut_power(0)
    assert [value for _, value in asker.walk(f"{HUAWEI}.2.21.1.10")] == [1, 1]
    assert huawei_row(asker, onu)["cause"] == 13


def test_a_scenario_without_the_cut_of_the_last_one_restores_the_port() -> None:
    asker = Asker(onus=128)
    onu = online_onu(asker)
    asker.olt.scenario = Scenario(fibre_cut_ports=(0,))
    assert (huawei_row(asker, onu)["status"], huawei_row(asker, onu)["cause"]) == (2, 1)
    asker.olt.scenario = Scenario(power_cut_ports=(0,), latency_s=0.0)
    assert (huawei_row(asker, onu)["status"], huawei_row(asker, onu)["cause"]) == (2, 13)
    assert [value for _, value in asker.walk(f"{HUAWEI}.2.21.1.10")] == [1, 1]
    asker.olt.scenario = Scenario()
    assert huawei_row(asker, onu)["status"] == 1


def test_a_bent_fibre_takes_light_from_its_port_and_from_no_other() -> None:
    asker = Asker(onus=128)
    before = [value for _, value in asker.walk(f"{HUAWEI}.2.51.1.4")]
    asker.olt.scenario = Scenario(dim_ports=(0,), dim_db=4.5)
    after = [value for _, value in asker.walk(f"{HUAWEI}.2.51.1.4")]
    both = zip(before, after, strict=True)
    lost = [was - now for was, now in both if isinstance(was, int) and isinstance(now, int)]
    assert set(lost[:64]) <= {0, 450}
    assert 450 in lost[:64]
    assert set(lost[64:]) == {0}


def test_every_onu_of_a_fleet_has_a_serial_of_its_own() -> None:
    one, two = Asker(onus=1000), Asker(onus=1000, olts=2)
    second = two.olt.model
    second.number = 1
    serials = [value for _, value in one.walk(f"{HUAWEI}.2.43.1.3") + two.walk(f"{HUAWEI}.2.43.1.3")]
    assert len(set(serials)) == 2000
    assert all(isinstance(serial, bytes) and len(serial) == 8 for serial in serials)


def test_some_onus_are_offline_from_the_start_and_agree_in_every_table() -> None:
    asker = Asker(onus=600)
    states = [value for _, value in asker.walk(RUN_STATUS)]
    assert 10 < states.count(2) < 90
    distances = [value for _, value in asker.walk(DISTANCE)]
    powers = [value for _, value in asker.walk(RX_POWER)]
    for state, distance, power in zip(states, distances, powers, strict=True):
        assert (state == 2) == (distance == -1) == (power == 2147483647)


def test_zte_optics_have_a_third_index_part() -> None:
    said = Asker(family="zte").next(f"{ZTE_GPON}.50.12.1.1.10")
    assert said.oids == [f"{ZTE_GPON}.50.12.1.1.10.{ZTE_PORT}.1.1"]


def test_a_zte_onu_that_goes_offline_says_so_in_its_own_way() -> None:
    asker = Asker(family="zte")
    onu = online_onu(asker)
    columns = [f"{ZTE_GPON}.28.2.1.4", f"{ZTE_GPON}.28.2.1.7", f"{ZTE_GPON}.11.4.1.2"]
    olt_rx = "1.3.6.1.4.1.3902.1015.1010.11.2.1.2"
    suffix = f"{ZTE_PORT}.{onu + 1}"
    oids = [f"{column}.{suffix}" for column in (*columns, olt_rx)]
    oids.append(f"{ZTE_GPON}.50.12.1.1.10.{suffix}.1")
    assert asker.get(*oids).values[0] == 3
    asker.olt.take_offline(onu, Cause.LOS)
    assert asker.get(*oids).values == [1, 2, 0, -80000, 65535]
    asker.olt.bring_back(onu)
    asker.olt.take_offline(onu, Cause.DYING_GASP)
    assert asker.get(*oids).values[:2] == [4, 9]


def test_zte_has_cards_and_unconfigured_onus() -> None:
    asker = Asker(family="zte")
    cards = asker.walk("1.3.6.1.4.1.3902.1015.2.1.1.3.1.4")
    assert [value for _, value in cards] == [b"GTGH", b"SCXN", b"SCXN", b"HUVQ", b"HUVQ"]
    assert len(asker.walk(f"{ZTE_GPON}.13.3.1.2")) == 3


def test_an_olt_without_onus_still_has_its_ports() -> None:
    asker = Asker(onus=0)
    assert asker.walk(RUN_STATUS) == []
    assert asker.get(f"{RUN_STATUS}.{PORT}.0").values == [Missing.NO_SUCH_OBJECT]
    assert len(asker.walk(f"{HUAWEI}.2.21.1.10")) == 1


def test_a_family_of_ones_own_can_be_served() -> None:
    rows = IndexSpace([(1,), (7,)])
    column: OltColumn = ColumnSpec("colour", "1.3.6.1.4.1.99999.1", "lamp", lambda _olt, row, _now: row * 10)
    mine = Family("mine", (column,), lambda _shape: {"lamp": rows})
    fleet = Fleet(FleetConfig(family="mine"), families={"mine": mine})
    place = fleet.olts[0]._tables.layout.place(Oid.parse("1.3.6.1.4.1.99999.1.7").content)
    assert place == (0, 2, True)
    assert fleet.olts[0].name == "mine-000"
