"""What happened to the ONUs of a demo: it can have happened, and ends as the simulator has them."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from facho.core.optics import Limits, OpticalState
from facho.demo.onu_story import Event, OnuStory, is_offline, make_onu_story
from facho.demo.readings import PortOptics, moments_of, read_onus, read_ports
from facho.demo.story import Story, make_story
from facho.sim.model import Motion, OltModel, Shape

NOW = datetime(2026, 11, 18, 19, 31, 7, tzinfo=UTC)
MOTION = Motion(drift_db=0.4, drift_period_s=86_400.0, daily_c=4.0, fading=0.1)
STORY = make_story(NOW)
# With a cut of a port, with an outage, and with ONUs that come and go.
OLTS = ("demo-huawei-1", "demo-fiberhome-1", "demo-nokia-1", "demo-zte-1")


def model_of(olt: str) -> OltModel:
    model = OltModel(OLTS.index(olt), Shape(330), seed=1, born=NOW.timestamp(), name=olt)
    model.motion = replace(MOTION, flapping=0.1) if olt == "demo-zte-1" else MOTION
    return model


def onu_story_of(olt: str, story: Story = STORY) -> OnuStory:
    return make_onu_story(model_of(olt), olt, story, Limits())


@pytest.fixture(params=OLTS)
def olt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def events_by_onu(onus: OnuStory, *kinds: str) -> dict[int, list[Event]]:
    found = defaultdict(list)
    for event in onus.events:
        if event.kind in kinds:
            found[event.row].append(event)
    return found


def test_the_same_moment_has_the_same_past(olt: str) -> None:
    assert onu_story_of(olt) == onu_story_of(olt)


def test_nothing_happens_in_the_future_or_before_an_onu_was_found(olt: str) -> None:
    onus = onu_story_of(olt)
    assert all(onus.first_seen[event.row] <= event.at <= NOW for event in onus.events)
    assert onus.events == sorted(onus.events, key=lambda each: each.at)
    assert min(onus.first_seen) == STORY.start


def test_an_onu_goes_offline_and_comes_back_in_turns(olt: str) -> None:
    for changes in events_by_onu(onu_story_of(olt), "online", "offline").values():
        assert changes[0].kind == "offline"
        assert all(one.kind != next_.kind and one.at <= next_.at for one, next_ in pairwise(changes))


def test_it_ends_as_the_simulator_has_the_onus_now(olt: str) -> None:
    model, onus = model_of(olt), onu_story_of(olt)
    now = NOW.timestamp()
    steady = [row for row in range(model.shape.onus) if not model.motion.flapping or not _flaps(model, row)]
    for row in steady:
        state = model.state(row, now)
        never = state.last_down is None
        assert is_offline(onus.offline.get(row, ()), now) == (not state.online and not never), row


def _flaps(model: OltModel, row: int) -> bool:
    moments = [NOW.timestamp() - 10 * number for number in range(13)]
    return len({model.state(row, moment).online for moment in moments}) > 1


def test_a_cut_takes_the_onus_of_its_port_offline_and_brings_them_back() -> None:
    for olt in ("demo-huawei-1", "demo-nokia-1"):
        onus = onu_story_of(olt)
        ((cut, rows),) = onus.cut.items()
        assert len(rows) > 50
        for row in rows:
            assert is_offline(onus.offline[row], cut.since.timestamp() + 60)
            assert not is_offline(onus.offline[row], cut.until.timestamp())


def test_nobody_saw_what_happened_while_the_olt_did_not_answer(olt: str) -> None:
    for outage in STORY.outages_of(olt):
        hidden = [each for each in onu_story_of(olt).events if outage.since < each.at < outage.until]
        assert [each for each in hidden if each.kind in ("online", "offline")] == []


def test_light_is_lost_repaired_and_judged_in_turns(olt: str) -> None:
    onus = onu_story_of(olt)
    judged = events_by_onu(onus, "weak", "falling", "recovered")
    assert any(event.kind == "recovered" for events in judged.values() for event in events)
    for row, events in judged.items():
        states = [event.kind for event in events]
        assert states[0] != "recovered"
        assert "recovered" not in [one for one, next_ in pairwise(states) if one == next_]
        is_well = onus.judged[row].state == OpticalState.WELL
        assert is_well == (states[-1] == "recovered")


def test_the_charts_end_with_what_the_simulator_serves_now(olt: str) -> None:
    model, onus = model_of(olt), onu_story_of(olt)
    moments = moments_of(STORY, olt)
    *_, (last, numbers) = read_onus(model, onus, moments, STORY, model.motion)
    assert last == NOW
    now = NOW.timestamp()
    for row in range(model.shape.onus):
        if not _flaps(model, row) and model.online(row, now):
            assert numbers["onu_rx_dbm"][row] == pytest.approx(model.rx_dbm(row, now), abs=0.011)
            assert numbers["olt_rx_dbm"][row] == pytest.approx(model.olt_rx_dbm(row, now), abs=0.011)
            assert numbers["temperature_c"][row] == round(model.temperature_c(row, now))
        elif not _flaps(model, row):
            assert numbers["onu_rx_dbm"][row] is None


def test_charts_have_a_gap_where_the_olt_did_not_answer_and_no_other(olt: str) -> None:
    moments = moments_of(STORY, olt)
    gaps = [(one, next_) for one, next_ in pairwise(moments) if next_ - one > timedelta(hours=2)]
    outages = STORY.outages_of(olt)
    assert not [each for each in moments for outage in outages if outage.covers(each)]
    assert all(any(one <= outage.since < next_ for outage in outages) for one, next_ in gaps)
    assert moments[0] - STORY.start <= timedelta(hours=2)


def test_ports_end_with_what_they_say_now_and_do_not_invent_what_they_never_say() -> None:
    model = model_of("demo-nokia-1")
    ports = [PortOptics(6.9, 41.0), PortOptics(7.0, None), PortOptics(None, None)]
    *_, (_last, numbers) = read_ports(model, ports, moments_of(STORY, "demo-nokia-1"), NOW)
    assert numbers == {"tx_dbm": [6.9, 7.0, None], "temperature_c": [41, None, None]}
