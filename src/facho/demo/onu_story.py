"""What happened to each ONU of a simulated OLT: when it came and went, and how its light was judged.

It ends as the simulator has the ONUs now, so that the first live collection finds nothing new.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from facho.core.optics import Limits, baseline_of, judge_power, optical_change
from facho.demo.story import FLAPPING, PortCut, Story
from facho.sim.model import Cause, OltModel

CAUSES: Final = {
    Cause.LOS: "los",
    Cause.DYING_GASP: "power_off",
    Cause.LOFI: "signal",
    Cause.REBOOT: "reboot",
    Cause.DEACTIVATED: "disabled",
}
# ONUs of each OLT that were connected within the past.
_CONNECTED: Final = 8
_HOUR_S: Final = 3600.0
_MINUTE_S: Final = 60.0
# Hours of a week, and of a day.
_WEEK: Final = 168
_DAY: Final = 24
_SMALLEST_CHANGE_DB: Final = 0.1


class Offline(NamedTuple):
    """A time, in seconds since 1970, in which an ONU was offline. It has no end if it still is."""

    since: float
    until: float | None
    cause: str


class Event(NamedTuple):
    row: int
    at: datetime
    kind: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """How the power of an ONU is judged now, and its baseline if it has one."""

    state: str
    usual_dbm: float | None


@dataclass(frozen=True, slots=True)
class OnuStory:
    """All ONUs of an OLT, by their rows in the simulator."""

    # When each was found first.
    first_seen: Sequence[datetime]
    offline: Mapping[int, Sequence[Offline]]
    # In the order of time.
    events: Sequence[Event]
    # Of those whose power came near a limit.
    judged: Mapping[int, Judged]
    # The ONUs that each cut of a port took offline.
    cut: Mapping[PortCut, Sequence[int]] = field(default_factory=dict)


def make_onu_story(model: OltModel, olt: str, story: Story, limits: Limits) -> OnuStory:
    first_seen = _first_seen(model, olt, story)
    flapping = set(_flapping_rows(model, story.now.timestamp()))
    offline: dict[int, list[Offline]] = {}
    for row in range(model.shape.onus):
        times = _flaps(model, row, story) if row in flapping else _usual_times(model, row, story)
        seen = [_observe(each, olt, story) for each in times if _is_known(each, first_seen[row])]
        if kept := [each for each in seen if each is not None]:
            offline[row] = kept
    cut = {each: _cut_port(model, each, offline, first_seen, story) for each in story.cuts_of(olt)}
    events = [
        *(Event(row, at, "new") for row, at in enumerate(first_seen)),
        *(event for row, times in offline.items() for event in _state_events(row, times, first_seen[row])),
    ]
    judged: dict[int, Judged] = {}
    for row in _near_limits(model, limits, flapping):
        found = _judge(model, row, first_seen[row], offline.get(row, ()), story, limits)
        events += found[0]
        judged[row] = found[1]
    return OnuStory(first_seen, offline, sorted(events, key=lambda each: each.at), judged, cut)


def never_seen(model: OltModel, row: int, story: Story) -> bool:
    """Return whether an ONU is provisioned and was never connected."""
    return model.state(row, story.now.timestamp()).cause is Cause.NEVER_SEEN


def is_offline(times: Sequence[Offline], moment: float) -> bool:
    return any(each.since <= moment and (each.until is None or moment < each.until) for each in times)


def _first_seen(model: OltModel, olt: str, story: Story) -> list[datetime]:
    """Nearly all were there when the OLT was added; a few were connected since."""
    found = [story.start] * model.shape.onus
    random = Random(f"connected {olt}")
    there = [row for row in range(model.shape.onus) if model.online(row, story.now.timestamp())]
    span = story.now - story.start
    for row in random.sample(there, min(_CONNECTED, len(there))):
        found[row] = story.start + span * random.uniform(0.1, 0.97)
    return found


def _flapping_rows(model: OltModel, now: float) -> Iterator[int]:
    """Yield the ONUs that the simulator makes come and go: their last change is not long ago."""
    period = model.motion.flap_period_s
    for row in range(model.shape.onus) if model.motion.flapping else ():
        if (down := model.state(row, now).last_down) is not None and now - down <= period:
            yield row


def _flaps(model: OltModel, row: int, story: Story) -> Iterator[Offline]:
    """Yield the times in which an ONU was offline as a collection in each minute saw it."""
    now = story.now.timestamp()
    minutes = int(FLAPPING.total_seconds() / _MINUTE_S)
    moments = [now - number * _MINUTE_S for number in range(minutes, 0, -1)]
    since: float | None = None
    cause = ""
    for moment in moments:
        state = model.state(row, moment)
        if not state.online and since is None:
            since, cause = moment, CAUSES.get(state.cause or Cause.LOS, "")
        elif state.online and since is not None:
            yield Offline(since, moment, cause)
            since = None
    if since is not None:
        # Whether it is offline at this moment is what the next collection says.
        yield Offline(since, now, cause)


def _usual_times(model: OltModel, row: int, story: Story) -> Iterator[Offline]:
    """Yield when an ONU was offline by what the OLT remembers of it: its last time."""
    state = model.state(row, story.now.timestamp())
    if state.last_down is not None and state.cause is not None:
        yield Offline(state.last_down, state.last_up if state.online else None, CAUSES[state.cause])


def _is_known(times: Offline, first_seen: datetime) -> bool:
    return times.until is None or times.since > first_seen.timestamp()


def _observe(times: Offline, olt: str, story: Story) -> Offline | None:
    """Return what collections saw: nothing while the OLT did not answer."""
    since, until = times.since, times.until
    for outage in story.outages_of(olt):
        begin, end = outage.since.timestamp(), outage.until.timestamp()
        since = end if begin < since <= end else since
        until = end if until is not None and begin < until <= end else until
    return None if until is not None and until <= since else Offline(since, until, times.cause)


def _cut_port(
    model: OltModel,
    cut: PortCut,
    offline: dict[int, list[Offline]],
    first_seen: Sequence[datetime],
    story: Story,
) -> list[int]:
    """Add a cut to the ONUs of its port that worked then; return them."""
    since, until = cut.since.timestamp(), cut.until.timestamp()
    affected = []
    for row in model.shape.rows_of_port(cut.port):
        known = offline.get(row, [])
        near = (each for each in known if each.since <= until and (each.until is None or each.until >= since))
        if not never_seen(model, row, story) and next(near, None) is None and first_seen[row] < cut.since:
            offline[row] = sorted([*known, Offline(since, until, CAUSES[cut.cause])])
            affected.append(row)
    return affected


def _state_events(row: int, times: Sequence[Offline], first_seen: datetime) -> Iterator[Event]:
    """Yield its changes. One that was offline when it was found has not changed."""
    for each in times:
        if each.since > first_seen.timestamp():
            yield Event(row, _moment(each.since), "offline", each.cause)
        if each.until is not None:
            yield Event(row, _moment(each.until), "online")


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _near_limits(model: OltModel, limits: Limits, without: set[int]) -> list[int]:
    """Return the ONUs whose power may cross a limit: the weak ones, and those that lose light."""
    lowest = model.motion.drift_db + limits.better_db
    at_onu, _ = model.powers_dbm(0.0)
    return [
        row
        for row, power in enumerate(at_onu)
        if row not in without and (row in model.fading_rows() or power - lowest < limits.weak_dbm)
    ]


def _judge(
    model: OltModel,
    row: int,
    first_seen: datetime,
    offline: Sequence[Offline],
    story: Story,
    limits: Limits,
) -> tuple[list[Event], Judged]:
    """Judge the power in each hour as collections do, with the baseline that the housekeeping works out."""
    events: list[Event] = []
    week: deque[float] = deque(maxlen=_WEEK)
    before, usual = "", None
    if never_seen(model, row, story):
        return [], Judged(before, usual)
    for number, at in enumerate(_hours(first_seen, story.now)):
        moment = at.timestamp()
        if is_offline(offline, moment):
            continue
        power = round(model.rx_dbm(row, moment), 2)
        week.append(power)
        if number % _DAY == 0 and not before and (found := baseline_of(week)) is not None:
            usual = found if usual is None or abs(found - usual) >= _SMALLEST_CHANGE_DB else usual
        now = judge_power(power, usual, before, limits)
        if (change := optical_change(before, now)) is not None:
            events.append(Event(row, at, change.value, f"{power:.1f} dBm"))
        before = now.value
    return events, Judged(before, usual)


def _hours(start: datetime, now: datetime) -> Iterator[datetime]:
    """Yield a moment of each hour, the last of them now."""
    hours = int((now - start).total_seconds() // _HOUR_S)
    for number in range(hours, -1, -1):
        yield now - timedelta(hours=number)
