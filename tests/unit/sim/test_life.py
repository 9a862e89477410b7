"""What happens to an OLT as time and requests go by."""

import pytest

from facho.sim.model import DAY, Motion, OltModel, Shape
from facho.sim.pdu import GET, GET_BULK, TOO_BIG
from facho.sim.presets import combine
from facho.sim.scenario import Scenario
from tests.unit.sim.asking import RUN_STATUS, RX_POWER, SERIAL, UPTIME, Asker


def ticks(asker: Asker) -> int:
    value = asker.get(UPTIME).values[0]
    assert isinstance(value, int)
    return value


def test_uptime_runs() -> None:
    asker = Asker()
    before = ticks(asker)
    asker.clock.now += 2.5
    assert ticks(asker) == before + 250


def test_a_restart_is_silent_for_a_while_and_then_counts_from_zero() -> None:
    asker = Asker()
    asker.olt.restart(silent_for=3.0)
    assert asker.ask(GET, [UPTIME]) is None
    asker.clock.now += 4.0
    assert ticks(asker) == 100
    assert asker.olt.report().restarts == 1


def test_an_agent_restarts_after_so_many_requests_once() -> None:
    asker = Asker(Scenario(restart_after=3, restart_silence_s=1.0))
    assert all(asker.ask(GET, [UPTIME]) for _ in range(3))
    assert asker.ask(GET, [UPTIME]) is None
    asker.clock.now += 1.5
    assert ticks(asker) == 50
    assert all(asker.ask(GET, [UPTIME]) for _ in range(20))


def test_silence_can_be_switched_on_and_off() -> None:
    asker = Asker()
    asker.olt.silence()
    assert asker.ask(GET, [UPTIME]) is None
    asker.olt.silence(False)
    assert asker.ask(GET, [UPTIME])


def test_an_agent_refuses_answers_of_many_values() -> None:
    asker = Asker(Scenario(toobig_varbinds=20))
    assert asker.bulk(SERIAL, repetitions=21).status == TOO_BIG
    assert len(asker.bulk(SERIAL, repetitions=20).rows) == 20


def test_an_agent_refuses_answers_of_many_octets() -> None:
    asker = Asker(Scenario(toobig_bytes=1000))
    assert asker.bulk(SERIAL, repetitions=40).status == TOO_BIG
    assert asker.bulk(SERIAL, repetitions=15).size <= 1000


def powers(asker: Asker) -> list[object]:
    return [value for _, value in asker.bulk(RX_POWER, repetitions=60).rows]


def test_optics_differ_a_little_for_some_onus_after_each_refresh() -> None:
    usual = powers(Asker(onus=60))
    asker = Asker(Scenario(jitter=0.3, jitter_db=0.05, refresh_s=60.0), onus=60)
    first = powers(asker)
    asker.clock.now += 1.0
    assert powers(asker) == first
    asker.clock.now += 60.0
    second = powers(asker)
    assert second != first
    for value, now in [*zip(usual, first, strict=True), *zip(usual, second, strict=True)]:
        assert isinstance(value, int)
        assert isinstance(now, int)
        assert abs(value - now) <= 5
    assert sum(value != now for value, now in zip(usual, first, strict=True)) < 40


def test_zero_repetitions_hang_where_asked() -> None:
    asker = Asker(combine(["zero-hang"]))
    assert asker.ask(GET_BULK, [SERIAL], 0, 0) is None
    assert asker.ask(GET_BULK, [SERIAL], 0, 1)


def test_an_agent_mistakes_the_id() -> None:
    assert Asker(combine(["wrong-id"])).get(UPTIME, request_id=77).request_id == 78


def test_optical_power_wanders_in_steps_and_not_too_far() -> None:
    asker = Asker(Scenario(drift_db=3.0, drift_period_s=100.0, refresh_s=5.0))
    start = asker.walk(RX_POWER)
    asker.clock.now += 1.0
    assert asker.walk(RX_POWER) == start
    asker.clock.now += 20.0
    later = asker.walk(RX_POWER)
    moves = [
        abs(after - before)
        for (_, before), (_, after) in zip(start, later, strict=True)
        if isinstance(before, int) and isinstance(after, int) and 2147483647 not in (before, after)
    ]
    assert 0 < max(moves) <= 600


def test_onus_that_flap_go_and_come_back() -> None:
    asker = Asker(Scenario(flapping=1.0, flap_period_s=100.0, flap_down_s=50.0, refresh_s=1.0))
    seen = [set[object]() for _ in range(100)]
    for _ in range(10):
        asker.clock.now += 10.0
        for states, (_, state) in zip(seen, asker.walk(RUN_STATUS), strict=True):
            states.add(state)
    assert sum(states == {1, 2} for states in seen) > 80


def test_without_motion_nothing_moves() -> None:
    asker = Asker()
    before = asker.walk(RX_POWER) + asker.walk(RUN_STATUS)
    asker.clock.now += 1000.0
    assert asker.walk(RX_POWER) + asker.walk(RUN_STATUS) == before


def test_what_was_done_to_the_plant_survives_a_change_of_scenario() -> None:
    asker = Asker(combine(["flaky"]))
    asker.olt.cut_fibre(0)
    asker.olt.scenario = Scenario()
    assert {value for _, value in asker.walk(RUN_STATUS)[:64]} == {2}


def test_olts_of_a_template_have_the_same_optics_as_their_pattern_and_other_serials() -> None:
    moving = Scenario(jitter=0.3, flapping=0.2, refresh_s=60.0)
    pattern = Asker(moving, onus=60)
    others = [Asker(moving, onus=60, templates=4, first=number) for number in (4, 8)]
    for _ in range(3):
        for asker in (pattern, *others):
            asker.clock.now += 60.0
        for column in (RUN_STATUS, RX_POWER):
            rows = pattern.bulk(column, repetitions=60).rows
            assert all(other.bulk(column, repetitions=60).rows == rows for other in others)
    serials = [asker.bulk(SERIAL, repetitions=60).values for asker in (pattern, *others)]
    assert len({str(value) for values in serials for value in values}) == 3 * 60


def test_an_olt_whose_state_is_changed_leaves_its_template_and_keeps_the_other_values() -> None:
    asker = Asker(Scenario(jitter=0.3, refresh_s=60.0), onus=60, templates=4, first=5)
    online = asker.bulk(RUN_STATUS, repetitions=60).values.index(1)
    before = asker.bulk(RX_POWER, repetitions=60).values
    asker.olt.take_offline(online)
    after = asker.bulk(RX_POWER, repetitions=60).values
    assert [row for row in range(60) if before[row] != after[row]] == [online]


def test_what_is_served_at_a_moment_can_be_computed_before_and_after() -> None:
    asker = Asker(Scenario(jitter=0.3, refresh_s=60.0), onus=60, templates=4, first=7)
    later = asker.clock.now + 60.0
    expected = [row["values"] for row in asker.olt.served_rows(range(60), ["rx_power"], later)]
    asker.clock.now += 200.0
    assert asker.bulk(RX_POWER, repetitions=60).values != [value for [value] in expected]
    asker.clock.now = later
    assert asker.bulk(RX_POWER, repetitions=60).values == [value for [value] in expected]


def fading_model(**motion: float) -> OltModel:
    model = OltModel(0, Shape(2000), seed=1, born=0.0, name="olt")
    model.motion = Motion(**motion)
    return model


def test_an_onu_that_fades_loses_light_faster_and_faster_until_somebody_repairs_it() -> None:
    model = fading_model(fading=0.02, fade_db=10.0, fade_days=40.0)
    assert 20 < len(model.fading_rows()) < 60
    row = min(model.fading_rows())
    days = [model.faded_db(row, day * DAY) for day in range(80)]
    assert days[:40] == pytest.approx(days[40:])
    assert days.count(0.0) in (40, 42)
    repaired = max(range(1, 80), key=lambda day: days[day - 1] - days[day])
    assert days[repaired - 1] > 8.0
    assert days[repaired] == 0.0
    before = days[repaired - 10 : repaired] if repaired >= 10 else days[repaired + 30 : repaired + 40]
    assert before == sorted(before)


def test_an_onu_that_does_not_fade_keeps_its_light() -> None:
    model = fading_model(fading=0.02)
    steady = next(row for row in range(2000) if row not in model.fading_rows())
    assert model.rx_dbm(steady, 0.0) == model.rx_dbm(steady, 30 * DAY)


def test_the_powers_of_all_onus_at_once_are_those_of_each() -> None:
    model = fading_model(fading=0.05, drift_db=0.6, drift_period_s=1000.0)
    model.dim = {1: 6.0}
    for now in (0.0, 12_345.6, 55 * DAY):
        at_onu, at_olt = model.powers_dbm(now)
        assert at_onu == pytest.approx([model.rx_dbm(row, now) for row in range(2000)])
        assert at_olt == pytest.approx([model.olt_rx_dbm(row, now) for row in range(2000)])


def test_it_is_warmest_once_a_day() -> None:
    model = fading_model(daily_c=4.0)
    hours = [model.temperature_c(0, hour * 3600.0) for hour in range(25)]
    assert hours[0] == pytest.approx(hours[24])
    assert max(hours) - min(hours) == pytest.approx(8.0)
