"""Measure the error of predicted durations in a simulated week of several OLTs and tasks.

The week is made without the model that predicts it: requests that take their time at an agent whose customers
come home in the evening, noise that stays for a while, time-outs that cost whole seconds, boards that are
plugged in, firmware that makes everything twice as fast or slow from one run to the next, and new OLTs.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean, median, quantiles
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.table import Table

from bench.harness import AsJson, Note, round_or_none, run_benchmark
from facho.core.duration_guess import Pace, guess_from_others
from facho.core.forecast import SURE_AFTER, Learned, Predicted, learn, predict

SEED: Final = 20260301
OLTS: Final = 10
DAYS: Final = 7
INTERVALS: Final = (5, 10, 15, 30, 60)
AHEAD: Final = timedelta(hours=1)

_BEGINS: Final = datetime(2026, 3, 2, tzinfo=UTC)
_ZONE: Final = ZoneInfo("America/Bogota")
_SPIKES: Final = 0.02
_LOST_RUNS: Final = 0.03
_NOISE: Final = 0.15
# Part of the noise stays for about so long.
_LINGERS: Final = timedelta(hours=2)
_LINGERING: Final = 0.06
_BELIEVED: Final = 0.2

app = typer.Typer(add_completion=False)
_EXAMPLES: Final = """
**Examples**

`facho bench forecast`  a simulated week, predicted one run and one hour ahead, beside two simpler ways

`facho bench forecast --json`  `lines` with `median_pct` and `p90_pct` of each way; `cold`, for new OLTs
"""


@dataclass(frozen=True, slots=True)
class Ran:
    at: datetime
    seconds: float
    onus: int


@dataclass(slots=True)
class _Olt:
    """A simulated OLT; the forecast knows nothing of this."""

    dice: random.Random
    onus: int
    per_day: float
    latency_s: float
    evening: float
    peak: float
    since: datetime
    firmware_at: datetime
    firmware: float
    boards: list[tuple[datetime, int]] = field(default_factory=list)

    def onus_at(self, at: datetime) -> int:
        days: float = (at - _BEGINS) / timedelta(days=1)
        plugged = sum(count for when, count in self.boards if when <= at)
        return round(self.onus * math.pow(1 + self.per_day, days)) + plugged

    def load(self, at: datetime) -> float:
        """Return up to 1.6 in the evening; earlier and for longer at weekends."""
        wall = at.astimezone(_ZONE)
        weekend = wall.weekday() >= 5
        peak, width = (self.peak - 2, 4.5) if weekend else (self.peak, 3.0)
        away = (wall.hour + wall.minute / 60 - peak + 12) % 24 - 12
        return 1 + self.evening * math.exp(-((away / width) ** 2))


def _make_olt(dice: random.Random, number: int) -> _Olt:
    made = _Olt(
        dice,
        onus=dice.randint(150, 3000),
        per_day=dice.uniform(0.01, 0.02),
        latency_s=dice.uniform(0.02, 0.12),
        evening=dice.uniform(0.2, 0.6),
        peak=dice.uniform(19.5, 21.5),
        # Three of ten are new in the second half of the week.
        since=_BEGINS + timedelta(days=dice.uniform(3, 5) if number % 10 >= 7 else 0),
        firmware_at=_BEGINS + timedelta(days=dice.uniform(3, 4)),
        firmware=dice.choice((0.5, 2.0)) if number % 2 else 1.0,
    )
    made.boards = [(_BEGINS + timedelta(days=dice.uniform(1, 7)), dice.randint(32, 256)) for _ in range(2)]
    return made


def _runs(olt: _Olt, interval: timedelta, columns: int, rows: int) -> Iterator[Ran]:
    dice = olt.dice
    at = olt.since + interval * dice.random()
    lingering = 0.0
    while at < _BEGINS + timedelta(days=DAYS):
        stays = math.exp(-interval / _LINGERS)
        lingering = stays * lingering + math.sqrt(1 - stays**2) * dice.gauss(0, _LINGERING)
        if dice.random() > _LOST_RUNS:
            onus = olt.onus_at(at)
            requests = columns * (math.ceil(onus / rows) + 1)
            firmware = olt.firmware if at >= olt.firmware_at else 1.0
            busy = requests * olt.latency_s * olt.load(at) * firmware
            seconds = 0.2 + busy * math.exp(lingering + dice.gauss(0, _NOISE))
            if dice.random() < _SPIKES:
                seconds += dice.choice((3.0, 6.0, 9.0)) + seconds * dice.random()
            yield Ran(at, seconds, onus)
        at += interval


@dataclass(slots=True)
class Errors:
    """Errors of one way to predict, as shares of the real duration."""

    offs: list[float] = field(default_factory=list)
    # For each prediction with a P95: whether the run took no longer.
    within: list[bool] = field(default_factory=list)

    def note(self, predicted_s: float, actual_s: float) -> None:
        self.offs.append(abs(predicted_s - actual_s) / actual_s)

    def figures(self) -> dict[str, Any]:
        found: dict[str, Any] = {"predictions": len(self.offs)}
        if len(self.offs) > 1:
            found["median_pct"] = round(100 * median(self.offs), 1)
            found["p90_pct"] = round(100 * quantiles(self.offs, n=10)[-1], 1)
        if self.within:
            found["within_p95_pct"] = round(100 * fmean(self.within), 1)
        return found

    def __str__(self) -> str:
        found = self.figures()
        return f"{found['median_pct']:.1f}, {found['p90_pct']:.1f} %" if "median_pct" in found else ""


WAYS: Final = ("facho", "same as last time", "mean of the last ten")


@dataclass(slots=True)
class Line:
    """Tasks with one interval, or all of them, predicted so far ahead."""

    tasks: str
    ahead: str
    ways: dict[str, Errors] = field(default_factory=lambda: {way: Errors() for way in WAYS})

    def note(self, ran: Ran, predicted: Predicted, before: Sequence[Ran]) -> None:
        """`before` are the last ten."""
        self.ways["facho"].note(predicted.p50_s, ran.seconds)
        self.ways["facho"].within.append(ran.seconds <= predicted.p95_s)
        self.ways["same as last time"].note(before[-1].seconds, ran.seconds)
        self.ways["mean of the last ten"].note(fmean(each.seconds for each in before), ran.seconds)

    def as_json(self) -> dict[str, Any]:
        ways = {way: errors.figures() for way, errors in self.ways.items()}
        return {"tasks": self.tasks, "ahead": self.ahead, "ways": ways}


@dataclass(slots=True)
class Result:
    lines: list[Line]
    # Of tasks that had never run on their OLT, from others like it.
    cold: Errors
    # Runs after a firmware change until the median error of three is under 20 % again; the mean of all.
    believed_after: float | None
    runs: int
    olts: int
    seed: int

    def as_json(self) -> dict[str, Any]:
        return {
            "work": {"olts": self.olts, "days": DAYS, "runs": self.runs, "seed": self.seed},
            "lines": [line.as_json() for line in self.lines],
            "cold": self.cold.figures(),
            "believed_after_runs": round_or_none(self.believed_after, 1),
        }

    def print(self) -> None:
        title = f"{self.olts} OLTs, a week, {self.runs:,} runs: error, median and p90"
        table = Table("tasks", "ahead", title=title, box=None, pad_edge=False)
        for heading in (*self.lines[0].ways, "within P95"):
            table.add_column(heading, justify="right")
        for line in self.lines:
            within = line.ways["facho"].figures().get("within_p95_pct", 0.0)
            table.add_row(line.tasks, f"one {line.ahead}", *map(str, line.ways.values()), f"{within:.1f} %")
        console = Console()
        console.print(table)
        cold = self.cold.figures()
        if "median_pct" in cold:
            console.print(
                f"The first runs of {cold['predictions']} tasks on new OLTs "
                f"were {cold['median_pct']:.1f} % off in the median."
            )
        if self.believed_after is not None:
            console.print(f"A change of firmware was believed after {self.believed_after:.1f} runs.")


@app.command(epilog=_EXAMPLES)
def forecast(
    olts: Annotated[int, typer.Option(min=2, help="OLTs; three of ten are new in the middle.")] = 10,
    seed: Annotated[int, typer.Option(help="Another number makes another week.")] = 20260301,
    as_json: AsJson = False,
) -> None:
    """Predict how long runs take in a simulated week, and measure the error."""
    run_benchmark(lambda note: measure(olts, seed=seed, note=note), as_json=as_json)


class _Replay:
    """One task on one OLT, run after run: predicted, then learned from."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._before: list[Ran] = []
        self._states: list[Learned] = []
        self._ends: list[datetime] = []
        # One run ahead: when, and how far off.
        self.offs: list[tuple[datetime, float]] = []

    def step(self, ran: Ran) -> None:
        if self._before:
            predicted = self._predict(ran, len(self._before), "run")
            self.offs.append((ran.at, abs(predicted.p50_s - ran.seconds) / ran.seconds))
        if until := bisect_right(self._ends, ran.at - AHEAD):
            self._predict(ran, until, "hour")
        learned = self._states[-1] if self._states else Learned()
        self._states.append(learn(learned, ran.at, ran.seconds, ran.onus, _ZONE))
        self._before.append(ran)
        self._ends.append(ran.at + timedelta(seconds=ran.seconds))

    def _predict(self, ran: Ran, until: int, ahead: str) -> Predicted:
        """Predict from what was known then, with the number of ONUs of the run before."""
        before = self._before[max(0, until - 10) : until]
        predicted = predict(self._states[until - 1], ran.at, before[-1].onus, _ZONE)
        for line in self._lines:
            if line.ahead == ahead:
                line.note(ran, predicted, before)
        return predicted

    def learned_by(self, at: datetime) -> Learned:
        until = bisect_right(self._ends, at)
        return self._states[until - 1] if until else Learned()


def measure(
    olts: int = OLTS,
    intervals: Sequence[int] = INTERVALS,
    seed: int = SEED,
    note: Note | None = None,
) -> Result:
    """Simulate a week; the same seed makes the same week."""
    week = _Week(random.Random(seed), olts)
    for interval in intervals:
        if note is not None:
            note(f"a task every {interval} min on {olts} OLTs")
        week.replay(interval)
    believed = fmean(week.believed_after) if week.believed_after else None
    return Result(week.lines, week.cold, believed, week.runs, olts, seed)


class _Week:
    def __init__(self, dice: random.Random, olts: int) -> None:
        self._dice = dice
        self._olts = sorted((_make_olt(dice, number) for number in range(olts)), key=lambda each: each.since)
        self._totals = [Line("all", ahead) for ahead in ("run", "hour")]
        self.lines = list(self._totals)
        self.cold = Errors()
        self.believed_after: list[int] = []
        self.runs = 0

    def replay(self, interval: int) -> None:
        """Simulate one task on all OLTs."""
        own = [Line(f"every {interval} min", ahead) for ahead in ("run", "hour")]
        self.lines += own
        columns, rows = self._dice.randint(2, 10), self._dice.choice((10, 20, 50))
        done: list[_Replay] = []
        for olt in self._olts:
            runs = list(_runs(olt, timedelta(minutes=interval), columns, rows))
            self._note_first(runs[0], done)
            done.append(replay := _Replay([*own, *self._totals]))
            for ran in runs:
                replay.step(ran)
            self.runs += len(runs)
            if olt.firmware != 1.0 and olt.since < olt.firmware_at:
                self.believed_after.append(_believed_after(replay.offs, olt.firmware_at))

    def _note_first(self, ran: Ran, others: Sequence[_Replay]) -> None:
        """Predict the first run on a new OLT from what the others had learned by then."""
        learned = [each for other in others if (each := other.learned_by(ran.at)).samples >= SURE_AFTER]
        if learned:
            predicted = guess_from_others([Pace(each.fixed_s, each.per_onu_s) for each in learned], ran.onus)
            self.cold.note(predicted.p50_s, ran.seconds)
            self.cold.within.append(ran.seconds <= predicted.p95_s)


def _believed_after(offs: Sequence[tuple[datetime, float]], changed_at: datetime) -> int:
    after = [off for at, off in offs if at >= changed_at]
    return next(run for run in range(len(after)) if median(after[run : run + 3]) < _BELIEVED)
