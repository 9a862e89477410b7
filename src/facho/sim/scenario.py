"""The faults of a simulated OLT: one frozen set of knobs, all of them off by default."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from facho.sim.model import Cause, Motion
from facho.sim.traffic import CounterFault, Counting


class Attack(StrEnum):
    """The attacks of a hostile agent, which `facho.sim.hostile` carries out."""

    ENDLESS_TABLE = "endless-table"
    HUGE_OIDS = "huge-oids"
    LONG_OIDS = "long-oids"
    LARGE_ARCS = "large-arcs"
    WRONG_COMMUNITY = "wrong-community"
    NEW_SHAPES = "new-shapes"
    ODD_INDEXES = "odd-indexes"
    BAD_ROWS = "bad-rows"
    HUGE_VALUES = "huge-values"
    FORGED_REPORTS = "forged-reports"


class BadKnob(ValueError):
    """A value that a knob cannot have; the message says which it can."""


_FRACTIONS: Final = (
    "request_loss",
    "answer_loss",
    "duplicate",
    "reorder",
    "corrupt",
    "wrong_id",
    "flapping",
    "jitter",
    "fading",
)
_OF_STATE: Final = frozenset(
    {
        "max_message", "cpu_pct", "fibre_cut_ports", "power_cut_ports", "dim_ports", "dim_db",
        "clock_behind_s", *(each.name for each in fields(Motion)), *(each.name for each in fields(Counting)),
    }
)  # fmt: skip
_MIN_MESSAGE: Final = 484


@dataclass(frozen=True)
class Scenario:
    # A single slow CPU: each request costs, each value costs, a full queue drops (0: no limit). The request
    # being worked on counts as queued.
    request_s: float = 0.0
    varbind_s: float = 0.0
    optics_s: float = 0.0
    queue: int = 0

    # The network between the client and the agent.
    latency_s: float = 0.0
    jitter_s: float = 0.0
    request_loss: float = 0.0
    answer_loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    reorder_s: float = 0.05
    lose_answers_over: int = 0
    truncate_at: int = 0
    corrupt: float = 0.0
    other_port: bool = False
    other_address: bool = False

    # The answers of the agent.
    max_message: int = 65507
    toobig_varbinds: int = 0
    toobig_bytes: int = 0
    wrong_id: float = 0.0
    # The agent has no columns under these OIDs.
    lacks: tuple[str, ...] = ()
    hang_on_zero_repetitions: bool = False

    # Faults of rows of ONU tables, in the columns named or in all.
    columns: tuple[str, ...] = ()
    generr_rows: tuple[int, ...] = ()
    silent_rows: tuple[int, ...] = ()
    repeat_row: int | None = None
    repeat_back_to: int | None = None
    swap_rows: tuple[int, ...] = ()
    churn_every: int = 0
    churn_rows: int = 5

    # Attacks on the client, in turns, and datagrams that it did not ask for.
    attacks: tuple[str, ...] = ()
    flood_per_s: float = 0.0

    # The OLT itself, its clock and its counters.
    cpu_pct: float = 0.0
    clock_behind_s: float = 0.0
    counters_s: float = 5.0
    counter_faults: tuple[str, ...] = ()
    counter_fault_s: float = 600.0
    silent: bool = False
    restart_after: int = 0
    restart_silence_s: float = 2.0

    # Its ports and ONUs.
    fibre_cut_ports: tuple[int, ...] = ()
    power_cut_ports: tuple[int, ...] = ()
    dim_ports: tuple[int, ...] = ()
    dim_db: float = 6.0
    drift_db: float = 0.0
    drift_period_s: float = 600.0
    flapping: float = 0.0
    flap_period_s: float = 120.0
    flap_down_s: float = 30.0
    jitter: float = 0.0
    jitter_db: float = 0.05
    refresh_s: float = 5.0
    fading: float = 0.0
    fade_db: float = 10.0
    fade_days: float = 40.0
    daily_c: float = 0.0
    daily_cpu: float = 0.0

    def __post_init__(self) -> None:
        for name in _FRACTIONS:
            if not 0 <= getattr(self, name) <= 1:
                raise BadKnob(f"{name} is a fraction between 0 and 1, not {getattr(self, name)}")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                raise BadKnob(f"{each.name} cannot be {value}")
        if not _MIN_MESSAGE <= self.max_message <= 65507:
            raise BadKnob(f"max_message is between {_MIN_MESSAGE} and 65507, not {self.max_message}")
        if self.swap_rows and (len(self.swap_rows) != 2 or self.swap_rows[0] == self.swap_rows[1]):
            raise BadKnob("swap_rows takes two rows that differ")
        unknown = [name for name in self.attacks if name not in tuple(Attack)]
        if unknown:
            raise BadKnob(f"there is no attack '{unknown[0]}': take {', '.join(Attack)}")
        unknown = [name for name in self.counter_faults if name not in tuple(CounterFault)]
        if unknown:
            raise BadKnob(f"counters have no fault '{unknown[0]}': take {', '.join(CounterFault)}")
        if self.cpu_pct > 100:
            raise BadKnob(f"cpu_pct is a percentage, not {self.cpu_pct}")
        periods = (
            "refresh_s", "drift_period_s", "flap_period_s", "fade_days", "counters_s", "counter_fault_s",
        )  # fmt: skip
        if not all(getattr(self, name) for name in periods):
            raise BadKnob(f"{', '.join(periods[:-1])} and {periods[-1]} are above 0")

    @cached_property
    def motion(self) -> Motion:
        return Motion(**{each.name: getattr(self, each.name) for each in fields(Motion)})

    @cached_property
    def counting(self) -> Counting:
        return Counting(**{each.name: getattr(self, each.name) for each in fields(Counting)})

    @cached_property
    def has_cpu(self) -> bool:
        return bool(self.request_s or self.varbind_s or self.optics_s or self.queue)

    @cached_property
    def has_row_faults(self) -> bool:
        faults = (self.generr_rows, self.silent_rows, self.swap_rows, self.churn_every, self.lacks)
        return any(faults) or self.repeat_row is not None or CounterFault.GONE in self.counter_faults

    @cached_property
    def has_network_faults(self) -> bool:
        """Return whether an answer may be late, lost, repeated or damaged."""
        return any(
            getattr(self, name)
            for name in (
                "latency_s", "jitter_s", "answer_loss", "duplicate", "reorder", "lose_answers_over",
                "truncate_at", "corrupt", "other_port", "other_address",
            )
        )  # fmt: skip

    @cached_property
    def is_usual(self) -> bool:
        """Return whether requests are answered at once and well, whatever the state of ports and ONUs."""
        return _OF_STATE.issuperset(self.changed()) and not self.has_row_faults

    @property
    def cuts(self) -> set[tuple[int, Cause]]:
        fibre = {(port, Cause.LOS) for port in self.fibre_cut_ports}
        return fibre | {(port, Cause.DYING_GASP) for port in self.power_cut_ports}

    def but(self, **knobs: Any) -> Scenario:
        return replace(self, **knobs)

    def changed(self) -> dict[str, Any]:
        """Return the knobs that are not at their default."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
