"""The traffic of simulated OLTs: its patterns, its sums, and where counters begin anew."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import pytest

from facho.sim.encoded_tables import EncodedTables
from facho.sim.families.huawei import HUAWEI
from facho.sim.model import DAY, Cause, OltModel, Shape
from facho.sim.presets import combine
from facho.sim.tables import Layout
from facho.sim.traffic import DOWN, UP
from facho.snmp.values import Counter32, Counter64

SHAPE: Final = Shape(256)
# A Wednesday, 00:00 where the customers are.
MIDNIGHT: Final = datetime(2026, 3, 4, 4, tzinfo=UTC).timestamp()
HOUR: Final = 3600.0
PERIOD: Final = 600.0


def make_model(number: int = 0) -> OltModel:
    return OltModel(number, SHAPE, seed=1, born=MIDNIGHT, name="olt")


def online_row(model: OltModel) -> int:
    return next(row for row in range(SHAPE.onus) if model.online(row, MIDNIGHT))


def port_mbps(model: OltModel, port: int, direction: int, at: float, seconds: float = HOUR) -> float:
    counted = [model.traffic.port_octets(port, direction, at + after) for after in (0.0, seconds)]
    return (counted[1] - counted[0]) * 8 / seconds / 1e6


def onu_mbps(model: OltModel, row: int, direction: int, at: float, seconds: float = HOUR) -> float:
    counted = [model.traffic.onu_octets(row, direction, at + after) for after in (0.0, seconds)]
    return (counted[1] - counted[0]) * 8 / seconds / 1e6


def link_mbps(model: OltModel, link: int, direction: int, at: float, seconds: float = HOUR) -> float:
    counted = [model.traffic.uplink_octets(link, direction, at + after) for after in (0.0, seconds)]
    return (counted[1] - counted[0]) * 8 / seconds / 1e6


def test_evenings_are_busy_and_nights_are_quiet() -> None:
    model = make_model()
    night, evening = (port_mbps(model, 0, DOWN, MIDNIGHT + hour * HOUR) for hour in (4, 20.5))

    assert evening > 3 * night
    assert night > 0


def test_weekends_differ() -> None:
    model = make_model()
    workday, saturday = (
        sum(port_mbps(model, port, DOWN, MIDNIGHT + day * DAY + 9 * HOUR, 8 * HOUR) for port in range(4))
        for day in (0, 3)
    )

    assert saturday > 1.1 * workday


def test_some_customers_are_heavy_and_no_port_is_beyond_its_line_rate() -> None:
    model = make_model()
    rates = [onu_mbps(model, row, DOWN, MIDNIGHT, DAY) for row in range(SHAPE.onus)]
    online = sorted(rate for rate in rates if rate)

    assert online[-1] > 10 * online[len(online) // 2] > 0
    for hour in range(0, 168, 2):
        for port in range(SHAPE.ports):
            assert port_mbps(model, port, DOWN, MIDNIGHT + hour * HOUR) < 1500
            assert 0 < port_mbps(model, port, UP, MIDNIGHT + hour * HOUR) < 600


@pytest.mark.parametrize("direction", [UP, DOWN])
def test_a_port_moves_what_its_onus_move_and_the_uplinks_what_the_ports_move(direction: int) -> None:
    model = make_model()
    ports = [port_mbps(model, port, direction, MIDNIGHT) for port in range(SHAPE.ports)]
    for port in range(SHAPE.ports):
        onus = sum(onu_mbps(model, row, direction, MIDNIGHT) for row in SHAPE.rows_of_port(port))
        assert onus == pytest.approx(ports[port], rel=0.001)
    links = [link_mbps(model, link, direction, MIDNIGHT) for link in range(3)]

    assert sum(links) == pytest.approx(sum(ports), rel=0.001)
    assert links[2] == 0


def test_counters_only_grow_second_by_second() -> None:
    model = make_model()
    row = online_row(model)
    counted = [model.traffic.onu_octets(row, UP, MIDNIGHT + second) for second in range(3000)]

    assert all(before < after for before, after in pairwise(counted))


def test_an_onu_that_is_offline_keeps_its_counter_and_begins_anew_when_it_returns() -> None:
    model = make_model()
    row = online_row(model)
    port_before = port_mbps(model, 0, DOWN, MIDNIGHT, 60)
    before = model.traffic.onu_octets(row, DOWN, MIDNIGHT)
    model.take_offline(row, Cause.LOS, MIDNIGHT)

    assert model.traffic.onu_octets(row, DOWN, MIDNIGHT + HOUR) == pytest.approx(before, abs=2)
    assert port_mbps(model, 0, DOWN, MIDNIGHT + 1, 60) < port_before

    model.bring_back(row, MIDNIGHT + HOUR)
    assert model.traffic.onu_octets(row, DOWN, MIDNIGHT + HOUR) == 0
    assert 0 < model.traffic.onu_octets(row, DOWN, MIDNIGHT + 2 * HOUR) < before


def test_a_port_does_not_catch_up_after_an_outage_of_its_onus() -> None:
    model = make_model()
    for row in SHAPE.rows_of_port(0):
        model.take_offline(row, Cause.LOS, MIDNIGHT)
    stood = [model.traffic.port_octets(0, DOWN, MIDNIGHT + hour * HOUR) for hour in (0, 1, 2)]
    for row in SHAPE.rows_of_port(0):
        model.bring_back(row, MIDNIGHT + 2 * HOUR)

    assert stood[0] == pytest.approx(stood[2], abs=2)
    assert model.traffic.port_octets(0, DOWN, MIDNIGHT + 2 * HOUR) == pytest.approx(stood[2], abs=100)
    assert port_mbps(model, 0, DOWN, MIDNIGHT + 2 * HOUR) > 0


def test_all_counters_begin_anew_when_the_olt_starts() -> None:
    model = make_model()
    row = online_row(model)
    account = model.traffic.onu_moved(row, DOWN, MIDNIGHT)
    model.booted_at = MIDNIGHT

    assert model.traffic.onu_octets(row, DOWN, MIDNIGHT) == 0
    assert model.traffic.port_octets(0, DOWN, MIDNIGHT) == 0
    assert model.traffic.uplink_octets(0, DOWN, MIDNIGHT) == 0
    assert model.traffic.onu_octets(row, DOWN, MIDNIGHT - 30) == 0
    # The account goes on.
    moved = model.traffic.onu_moved(row, DOWN, MIDNIGHT + HOUR) - account
    assert moved == pytest.approx(model.traffic.onu_octets(row, DOWN, MIDNIGHT + HOUR), abs=2)


def test_uplinks_have_errors_and_discards_now_and_then() -> None:
    model = make_model()
    week = [MIDNIGHT + hour * HOUR for hour in range(169)]
    for count in (model.traffic.uplink_errors, model.traffic.uplink_discards):
        counted = [count(0, at) for at in week]
        moves = [after - before for before, after in pairwise(counted)]
        assert min(moves) >= 0
        assert 0 in moves
        assert max(moves) > 10
        assert count(2, week[-1]) == 0


class Served:
    """The counters of the ONUs of a Huawei OLT, as its tables serve them."""

    def __init__(self, *names: str, settings: tuple[str, ...] = ()) -> None:
        scenario = combine(names, settings)
        self.model = make_model()
        self.model.counting = scenario.counting
        self.model.clock_behind_s = scenario.clock_behind_s
        layout = Layout(HUAWEI.columns, HUAWEI.spaces(SHAPE))
        self.tables = EncodedTables(layout, self.model)
        self._number = next(n for n, each in enumerate(layout.columns) if each.spec.name == "down_bytes")
        self.row = online_row(self.model)

    def value(self, at: float) -> object:
        return self.tables.value(self._number, self.row, at)

    def octets(self, at: float) -> int:
        value = self.value(at)
        assert isinstance(value, int)
        return value

    def encoded(self, at: float) -> bytes:
        return self.tables.column(self._number, at).varbind(self.row)


# The beginning of an even period of faults.
EVEN: Final = MIDNIGHT // (2 * PERIOD) * 2 * PERIOD


def test_counters_are_updated_every_few_seconds() -> None:
    served = Served()
    readings = [served.encoded(EVEN + second) for second in (0, 4, 5, 9, 10)]

    assert readings[0] == readings[1] != readings[2] == readings[3] != readings[4]
    assert type(served.value(EVEN)) is Counter64


def test_counters_that_go_back_lose_half_of_what_they_moved() -> None:
    served = Served("counters-back", settings=("counters_s=1",))
    last, first = served.octets(EVEN - 1), served.octets(EVEN)

    assert first < last
    assert served.octets(EVEN + 300) > first


def test_counters_that_jump_are_far_too_high_and_come_back() -> None:
    served = Served("counters-jump", settings=("counters_s=1",))
    before, high, after = (served.octets(EVEN + seconds) for seconds in (PERIOD - 1, PERIOD, 2 * PERIOD))

    assert high - before > 1 << 41
    assert before < after < high


def test_counters_of_a_cache_stand() -> None:
    served = Served("counters-repeat")
    inside = {served.octets(EVEN + seconds) for seconds in (PERIOD, PERIOD + 300, 2 * PERIOD - 1)}

    assert len(inside) == 1
    assert served.octets(EVEN) < inside.pop() < served.octets(EVEN + 2 * PERIOD)


def test_narrow_counters_wrap() -> None:
    served, whole = Served("counters-narrow"), Served()
    counted = served.value(EVEN)

    assert type(counted) is Counter32
    assert counted == whole.octets(EVEN) & 0xFFFF_FFFF != whole.octets(EVEN)


def test_counters_that_widen_have_32_bits_and_then_64() -> None:
    served = Served("counters-widen")

    assert [type(served.value(EVEN + at)) for at in (0, PERIOD)] == [Counter32, Counter64]


def test_the_clock_of_an_olt_can_be_years_behind() -> None:
    served = Served("old-clock")
    column = next(n for n, each in enumerate(served.tables.layout.columns) if each.spec.name == "last_up")
    value = served.tables.value(column, served.row, EVEN)
    assert isinstance(value, bytes)
    here = datetime.fromtimestamp(EVEN, UTC)

    # It was last up weeks before at most.
    assert here.year - 25 <= int.from_bytes(value[:2], "big") <= here.year - 24
