"""Compares what is stored of ONUs with what the simulated OLTs served, without the product's decoder.

The fleet tells the plain numbers that it served at a moment; what they mean is written down here once more. A
value that was read while the OLT's tables changed may be the one before or the one after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from bench.harness import MeasurementFailed
from facho.sim.process import FleetProcess, ServedRow

_NO_OPTICS: Final = 2_147_483_647
_ONLINE: Final = 1
_STATES: Final = {1: "online", 2: "offline"}
_CAUSES: Final = {1: "los", 3: "signal", 7: "disabled", 9: "reboot", 13: "power_off", -1: ""}
# The clocks of the fleet and of the database may differ by so much.
_CLOCKS: Final = timedelta(seconds=0.5)
_MOST_SHOWN: Final = 5
# It has no column of its own: it is in the history alone.
_VOLTAGE: Final = "voltage_v"


def _optics(scale: float, offset: float = 0.0) -> Callable[[int], float | None]:
    return lambda raw: None if raw == _NO_OPTICS else raw * scale + offset


@dataclass(frozen=True, slots=True)
class ServedColumn:
    """A column of the simulated OLT, the fact it is stored as, and what its numbers mean."""

    name: str
    fact: str
    meaning: Callable[[int], Any]


STATES: Final = (
    ServedColumn("run_status", "state", _STATES.__getitem__),
    ServedColumn("last_down_cause", "down_cause", _CAUSES.__getitem__),
    ServedColumn("distance", "distance_m", lambda raw: None if raw in (-1, 0) else raw),
)
OPTICS: Final = (
    ServedColumn("rx_power", "onu_rx_dbm", _optics(0.01)),
    ServedColumn("tx_power", "onu_tx_dbm", _optics(0.01)),
    ServedColumn("olt_rx_power", "olt_rx_dbm", _optics(0.01, -100.0)),
    ServedColumn("temperature", "temperature_c", _optics(1.0)),
    ServedColumn("voltage", "voltage_v", _optics(0.001)),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """When an execution asked an OLT."""

    began: datetime
    ended: datetime

    def moments(self, every_s: float) -> list[float]:
        """Return moments that have every value which was served meanwhile, if values change so often."""
        first, last = (self.began - _CLOCKS).timestamp(), (self.ended + _CLOCKS).timestamp()
        return [*(first + number * every_s for number in range(int((last - first) // every_s) + 1)), last]


@dataclass(frozen=True, slots=True)
class StoredValues:
    """Values of some columns that were read together, by index and fact."""

    columns: tuple[ServedColumn, ...]
    reading: Reading
    # The last reading of the states before: only who was online then is asked for its optics.
    known: Reading
    onus: Mapping[str, Mapping[str, Any]]

    @property
    def facts(self) -> list[str]:
        return [column.fact for column in self.columns]


@dataclass(frozen=True, slots=True)
class Comparison:
    onus: int = 0
    values: int = 0
    # Sentences about values that differ.
    differences: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return self.values > 0 and not self.differences

    def __add__(self, other: Comparison) -> Comparison:
        differences = (*self.differences, *other.differences)[:_MOST_SHOWN]
        return Comparison(self.onus + other.onus, self.values + other.values, differences)


class FleetReader:
    """What several processes of simulated OLTs served; OLTs are numbered through all of them."""

    def __init__(self, fleets: Sequence[FleetProcess]) -> None:
        self._places = [(fleet, olt) for fleet in fleets for olt in range(len(fleet.addresses))]

    def rows(
        self, olt: int, rows: Sequence[int], columns: Sequence[ServedColumn], at: float
    ) -> list[ServedRow]:
        fleet, number = self._places[olt]
        return fleet.values(number, rows, [column.name for column in columns], at)

    def changed_share(self, olt: int, rows: Sequence[int], at: float, later: float) -> tuple[float, float]:
        """Return the share of values that differ at two moments, and of ONUs with such a value."""
        columns = (*STATES, *OPTICS)
        pairs = list(
            zip(self.rows(olt, rows, columns, at), self.rows(olt, rows, columns, later), strict=True)
        )
        values = sum(
            before != after
            for first, second in pairs
            for before, after in zip(first.values, second.values, strict=True)
        )
        return values / (len(pairs) * len(columns)), sum(first != second for first, second in pairs) / len(
            pairs
        )


def compare_values(
    reader: FleetReader, olt: int, rows: Sequence[int], stored: StoredValues, every_s: float
) -> Comparison:
    """Compare ONUs of one OLT with what an execution was served."""
    differences: list[str] = []
    served = [reader.rows(olt, rows, stored.columns, at) for at in stored.reading.moments(every_s)]
    known = [reader.rows(olt, rows, STATES[:1], at) for at in stored.known.moments(every_s)]
    for position, row in enumerate(served[0]):
        onu = stored.onus.get(row.index)
        if onu is None:
            differences.append(f"OLT {olt}: the ONU {row.index} is not stored")
            continue
        not_asked = any(moment[position].values[0] != _ONLINE for moment in known)
        for number, column in enumerate(stored.columns):
            raw = [moment[position].values[number] for moment in served]
            if not_asked and column in OPTICS:
                raw.append(_NO_OPTICS)
            if not _is_one_of(onu[column.fact], map(column.meaning, raw)):
                differences.append(
                    f"OLT {olt}, ONU {row.index}, {stored.reading.ended:%H:%M:%S}: {column.fact} is "
                    f"{onu[column.fact]}, and {' or '.join(map(str, dict.fromkeys(raw)))} was served"
                )
    return Comparison(len(rows), len(rows) * len(stored.columns), tuple(differences))


def _is_one_of(stored: Any, served: Iterator[Any]) -> bool:
    return any(
        stored == value
        or (isinstance(stored, float) and isinstance(value, float) and abs(stored - value) < 1e-6)
        for value in served
    )


def choose_rows(random: Random, olts: int, onus: int, sample: int) -> dict[int, list[int]]:
    """Choose about `sample` ONUs: some of each of many OLTs."""
    chosen = random.sample(range(olts), min(olts, max(1, sample // 20)))
    each = min(onus, max(1, sample // len(chosen)))
    return {olt: sorted(random.sample(range(onus), each)) for olt in sorted(chosen)}


class StoredOlt:
    """What is stored of an OLT that nobody asks any more."""

    def __init__(self, name: str, walk_job: str, get_job: str) -> None:
        from facho.apps.discovery.models import Onu
        from facho.apps.executions.models import Execution, State
        from facho.apps.hosts.models import Olt

        self._id = Olt.objects.values_list("id", flat=True).get(name=name)
        done = Execution.objects.filter(olt_id=self._id, state=State.SUCCESS).order_by("started_at")
        self._states, self._optics = (
            [
                Reading(began, ended)
                for began, ended in done.filter(node__job__name=job).values_list("started_at", "ended_at")
                if began is not None and ended is not None
            ]
            for job in (walk_job, get_job)
        )
        if not self._optics or not self._states or self._states[0].began > self._optics[-1].began:
            raise MeasurementFailed(f"{name} has no executions to compare")
        self._indexes = dict(Onu.objects.filter(olt_id=self._id).values_list("id", "raw_index"))

    def last_values(self) -> Iterator[StoredValues]:
        """Yield the present values of all ONUs, of the states and of the optics."""
        from facho.apps.discovery.models import Onu

        last_frames = [frame for frame in self.frames(self._optics[-1].began) if _VOLTAGE in frame.facts]
        for columns, reading in ((STATES, self._states[-1]), (OPTICS, self._optics[-1])):
            facts = [column.fact for column in columns if column.fact != _VOLTAGE]
            rows = Onu.objects.filter(olt_id=self._id).values_list("raw_index", *facts)
            onus: dict[str, dict[str, Any]] = {
                index: dict(zip(facts, values, strict=True)) for index, *values in rows
            }
            if columns is OPTICS:
                for index, onu in onus.items():
                    onu[_VOLTAGE] = last_frames[-1].onus[index][_VOLTAGE] if last_frames else None
            yield StoredValues(columns, reading, self._known_before(reading), onus)

    def frames(self, since: datetime) -> Iterator[StoredValues]:
        """Yield the collections in the history."""
        from facho.apps.history.models import HistoryFrame, Subject
        from facho.core.frames import read_sheet

        frames = HistoryFrame.objects.filter(olt_id=self._id, subject=Subject.ONU, at__gte=since)
        for at, data in frames.order_by("at", "id").values_list("at", "data"):
            sheet = read_sheet(bytes(data))
            columns = tuple(column for column in (*STATES, *OPTICS) if column.fact in sheet.facts)
            if not columns:
                # Rates are not served: they are computed.
                continue
            values = zip(*(sheet.first(column.fact) for column in columns), strict=True)
            facts = [column.fact for column in columns]
            onus = {
                self._indexes[number]: dict(zip(facts, row, strict=True))
                for number, row in zip(sheet.ids, values, strict=True)
            }
            reading = self._reading_at(at)
            if reading is not None:
                yield StoredValues(columns, reading, self._known_before(reading), onus)

    def _reading_at(self, at: datetime) -> Reading | None:
        """Return the execution that stored a collection of this moment, which is near its end."""
        ended = [each for each in (*self._states, *self._optics) if each.began <= at <= each.ended + _CLOCKS]
        return min(ended, key=lambda each: each.ended, default=None)

    def _known_before(self, reading: Reading) -> Reading:
        return next((each for each in reversed(self._states) if each.began < reading.began), self._states[0])
