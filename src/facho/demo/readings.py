"""The numbers that collections of a month would have found: of ONUs and of ports, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import Final

from facho.demo.onu_story import OnuStory, never_seen
from facho.demo.story import Story
from facho.sim.model import Motion, OltModel

Numbers = Mapping[str, Sequence[float | None]]

# Charts are as fine as they can show: a line breaks where nothing came for more than two hours.
_STEPS: Final = (
    (timedelta(days=366), timedelta(hours=2)),
    (timedelta(hours=48), timedelta(hours=1)),
    (timedelta(hours=24), timedelta(minutes=10)),
)
# Optics jitter as in the simulator; a table of it is enough.
_JITTERS: Final = 4099


@dataclass(frozen=True, slots=True)
class PortOptics:
    """What a port said just now; None for what its OLT does not tell."""

    tx_dbm: float | None
    temperature_c: float | None


def moments_of(story: Story, olt: str) -> list[datetime]:
    """Return when the OLT was asked, the first one first: less often the longer ago, never in an outage."""
    found: list[datetime] = []
    until = story.now
    for ago, step in reversed(_STEPS):
        since = max(story.start, story.now - ago)
        count = max(0, int((until - since) / step))
        found += [until - number * step for number in range(count)]
        until -= count * step
    outages = story.outages_of(olt)
    return sorted(each for each in found if not any(outage.covers(each) for outage in outages))


def read_onus(
    model: OltModel, onus: OnuStory, moments: Sequence[datetime], story: Story, motion: Motion
) -> Iterator[tuple[datetime, Numbers]]:
    """Yield the numbers of all ONUs, by their rows. One that is offline has none.

    The model itself does not jitter; the numbers do, as `motion` says.
    """
    jitter = _jitter_table(motion, model)
    usual_c = [model.temperature_c(row, 0.0) - model.warmth_c(0.0) for row in range(model.shape.onus)]
    steps = set(usual_c)
    silent = SilentOnus(model, onus, story)
    for number, moment in enumerate(moments):
        now = moment.timestamp()
        warmth = model.warmth_c(now)
        at_onu, at_olt = model.powers_dbm(now)
        # Few temperatures are usual.
        degrees = {usual: round(usual + warmth) for usual in steps}
        columns: dict[str, list[float | None]] = {
            "onu_rx_dbm": _shake(at_onu, jitter, 7 * number),
            "olt_rx_dbm": _shake(at_olt, jitter, 13 * number + 1),
            "temperature_c": [degrees[usual] for usual in usual_c],
        }
        for row in silent.silent(now):
            for column in columns.values():
                column[row] = None
        yield moment, columns


def read_ports(
    model: OltModel, ports: Sequence[PortOptics], moments: Sequence[datetime], now: datetime
) -> Iterator[tuple[datetime, Numbers]]:
    """Yield the numbers of the ports, whose temperature follows the time of day up to what it is now."""
    live = model.warmth_c(now.timestamp())
    for moment in moments:
        warmth = model.warmth_c(moment.timestamp()) - live
        temperatures = [port.temperature_c for port in ports]
        yield (
            moment,
            {
                "tx_dbm": [port.tx_dbm for port in ports],
                "temperature_c": [None if each is None else round(each + warmth) for each in temperatures],
            },
        )


class SilentOnus:
    """Which ONUs have no values, for moments that only go on."""

    def __init__(self, model: OltModel, onus: OnuStory, story: Story) -> None:
        changes = [(seen.timestamp(), row, -1) for row, seen in enumerate(onus.first_seen)]
        for row, times in onus.offline.items():
            for each in times:
                changes.append((each.since, row, 1))
                if each.until is not None:
                    changes.append((each.until, row, -1))
        self._changes = sorted(changes, reverse=True)
        # Nobody has values before it was found first.
        self._reasons = [1] * model.shape.onus
        for row in range(model.shape.onus):
            self._reasons[row] += never_seen(model, row, story)
        self._silent = set(range(model.shape.onus))

    def silent(self, now: float) -> set[int]:
        while self._changes and self._changes[-1][0] <= now:
            _, row, change = self._changes.pop()
            self._reasons[row] += change
            (self._silent.add if self._reasons[row] else self._silent.discard)(row)
        return self._silent


def _jitter_table(motion: Motion, model: OltModel) -> list[float]:
    """Return differences in hundredths of a dB."""
    random = Random(model.name)
    most = 100 * motion.jitter_db
    return [
        random.uniform(-most, most) if random.random() < motion.jitter else 0.0
        for _ in range(_JITTERS + model.shape.onus)
    ]


def _shake(powers: Sequence[float], jitter: Sequence[float], offset: int) -> list[float | None]:
    """Return powers in whole hundredths, as OLTs report them."""
    shifted = islice(jitter, offset % _JITTERS, None)
    return [(100 * power + more) // 1 / 100 for power, more in zip(powers, shifted, strict=False)]


def whole_hours(moments: Sequence[datetime]) -> list[datetime]:
    """Return the first moment of each hour."""
    found: dict[datetime, datetime] = {}
    for each in moments:
        found.setdefault(each.astimezone(UTC).replace(minute=0, second=0, microsecond=0), each)
    return list(found.values())
