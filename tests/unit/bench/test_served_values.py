"""The comparison of what is stored with what was served: it must find every difference."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.served_values import (
    OPTICS,
    STATES,
    FleetReader,
    Reading,
    ServedColumn,
    StoredValues,
    compare_values,
)
from facho.sim.process import ServedRow

BEGAN = datetime(2026, 3, 1, 12, 0, 10, tzinfo=UTC)
READING = Reading(BEGAN, BEGAN + timedelta(seconds=2))
BEFORE = Reading(BEGAN - timedelta(seconds=30), BEGAN - timedelta(seconds=29))
SERVED = {
    "run_status": 1, "last_down_cause": 13, "distance": 1200, "rx_power": -1958, "tx_power": 215,
    "olt_rx_power": 7790, "temperature": 47, "voltage": 3280,
}  # fmt: skip
STORED: dict[str, Any] = {
    "state": "online", "down_cause": "power_off", "distance_m": 1200, "onu_rx_dbm": -19.58,
    "onu_tx_dbm": 2.15, "olt_rx_dbm": -22.1, "temperature_c": 47.0, "voltage_v": 3.28,
}  # fmt: skip


class FakeFleet(FleetReader):
    """One ONU, whose received power changes at a moment and whose state may be another before."""

    def __init__(self, changes_at: datetime | None = None, state_before: int = 1) -> None:
        super().__init__([])
        self._changes_at = changes_at
        self._state_before = state_before

    def rows(
        self, olt: int, rows: Sequence[int], columns: Sequence[ServedColumn], at: float
    ) -> list[ServedRow]:
        now = dict(SERVED)
        if self._changes_at is not None and at >= self._changes_at.timestamp():
            now["rx_power"] = -1960
        if at < (BEGAN - timedelta(seconds=10)).timestamp():
            now["run_status"] = self._state_before
        return [ServedRow("4194312192.5", tuple(now[column.name] for column in columns))]


def differences(fleet: FleetReader, **changed: Any) -> list[str]:
    onus = {"4194312192.5": {**STORED, **changed}}
    return [
        difference
        for columns in (STATES, OPTICS)
        for difference in compare_values(
            fleet, 0, [0], StoredValues(columns, READING, BEFORE, onus), 60.0
        ).differences
    ]


def test_what_was_served_is_equal() -> None:
    assert differences(FakeFleet()) == []


@pytest.mark.parametrize("fact", STORED)
def test_any_other_value_differs(fact: str) -> None:
    other = f"not {STORED[fact]}" if isinstance(STORED[fact], str) else STORED[fact] + 0.01
    assert len(differences(FakeFleet(), **{fact: other})) == 1
    assert len(differences(FakeFleet(), **{fact: None})) == 1


def test_a_value_that_changed_during_the_reading_may_be_old_or_new_and_nothing_else() -> None:
    fleet = FakeFleet(changes_at=BEGAN + timedelta(seconds=1))
    assert differences(fleet, onu_rx_dbm=-19.58) == differences(fleet, onu_rx_dbm=-19.60) == []
    assert differences(fleet, onu_rx_dbm=-19.59)
    # Not a value from before the reading.
    assert differences(FakeFleet(changes_at=BEGAN - timedelta(seconds=5)), onu_rx_dbm=-19.58)


def test_optics_may_be_unknown_only_of_who_was_not_online_before() -> None:
    unknown = dict.fromkeys(column.fact for column in OPTICS)
    assert differences(FakeFleet(state_before=2), **unknown) == []
    assert len(differences(FakeFleet(state_before=1), **unknown)) == len(OPTICS)


def test_an_onu_that_is_not_stored_differs() -> None:
    stored = StoredValues(STATES, READING, BEFORE, {})
    assert not compare_values(FakeFleet(), 0, [0], stored, 60.0).equal
