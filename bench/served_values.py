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

    @property
    def moments(self) -> tuple[float, float]:
        return (self.began - _CLOCKS).timestamp(), (self.ended + _CLOCKS).timestamp()


@dataclass(frozen=True, slots=True)
class StoredOlt:
    """What is stored of some ONUs of an OLT, by index and fact, and when it was read."""

    onus: Mapping[str, Mapping[str, Any]]
    states: Reading
    optics: Reading
    # The last reading of the states before that of the optics: only who was online then was asked.
    known: Reading


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
        return Comparison(
            self.onus + other.onus, self.values + other.values, self.differences + other.differences
        )


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


def compare_olt(reader: FleetReader, olt: int, rows: Sequence[int], stored: StoredOlt) -> Comparison:
    """Compare ONUs of one OLT with what its last executions were served."""
    differences: list[str] = []
    values = 0
    states, optics, known = (
        [reader.rows(olt, rows, columns, at) for at in reading.moments]
        for columns, reading in (
            (STATES, stored.states),
            (OPTICS, stored.optics),
            (STATES[:1], stored.known),
        )
    )
    for position, row in enumerate(states[0]):
        onu = stored.onus.get(row.index)
        if onu is None:
            differences.append(f"OLT {olt}: the ONU {row.index} is not stored")
            continue
        not_asked = any(moment[position].values[0] != _ONLINE for moment in known)
        for columns, moments in ((STATES, states), (OPTICS, optics)):
            for number, column in enumerate(columns):
                raw = [moment[position].values[number] for moment in moments]
                if columns is OPTICS and not_asked:
                    raw.append(_NO_OPTICS)
                values += 1
                if not _is_one_of(onu[column.fact], map(column.meaning, raw)):
                    differences.append(
                        f"OLT {olt}, ONU {row.index}: {column.fact} is {onu[column.fact]}, "
                        f"and {' or '.join(map(str, dict.fromkeys(raw)))} was served"
                    )
    return Comparison(len(rows), values, tuple(differences[:_MOST_SHOWN]))


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


def read_stored(name: str, walk_job: str, get_job: str) -> StoredOlt:
    from facho.apps.discovery.models import Onu
    from facho.apps.executions.models import Execution, State
    from facho.apps.history.models import HistoryFrame, Subject
    from facho.apps.hosts.models import Olt
    from facho.core.frames import read_sheet

    olt_id = Olt.objects.values_list("id", flat=True).get(name=name)
    done = Execution.objects.filter(olt_id=olt_id, state=State.SUCCESS).order_by("-started_at")

    def last(job: str, before: datetime | None = None) -> Reading:
        runs = done.filter(node__job__name=job)
        found = (runs if before is None else runs.filter(started_at__lt=before)).first()
        if found is None or found.started_at is None or found.ended_at is None:
            raise MeasurementFailed(f"{name} has no execution of the job '{job}' to compare")
        return Reading(found.started_at, found.ended_at)

    optics = last(get_job)
    frames = HistoryFrame.objects.filter(olt_id=olt_id, subject=Subject.ONU, at__gte=optics.began)
    voltages: dict[int, float | None] = {}
    for data in frames.order_by("at", "id").values_list("data", flat=True):
        sheet = read_sheet(bytes(data))
        if _VOLTAGE in sheet.facts:
            voltages = dict(zip(sheet.ids, sheet.first(_VOLTAGE), strict=True))
    fields = [column.fact for column in (*STATES, *OPTICS) if column.fact != _VOLTAGE]
    onus = {}
    for pk, index, *values in Onu.objects.filter(olt_id=olt_id).values_list("id", "raw_index", *fields):
        onus[index] = {**dict(zip(fields, values, strict=True)), _VOLTAGE: voltages.get(pk)}
    return StoredOlt(onus, last(walk_job), optics, last(walk_job, before=optics.began))
