"""The state of one simulated OLT and its ONUs, independent of the family."""

from __future__ import annotations

import enum
import math
from array import array
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final

from facho.sim.traffic import CounterFault, Counting, OltTraffic, busyness

DAY: Final = 86_400.0


class Cause(enum.Enum):
    """The cause for which an ONU went offline."""

    LOS = "los"
    DYING_GASP = "dying-gasp"
    LOFI = "lofi"
    DEACTIVATED = "deactivated"
    REBOOT = "reboot"
    NEVER_SEEN = "never-seen"


@dataclass(frozen=True, slots=True)
class Shape:
    """The number and arrangement of ONUs: row n is ONU n % onus_per_port of port n // onus_per_port."""

    onus: int
    onus_per_port: int = 64
    ports_per_board: int = 16
    autofind: int = 3

    @property
    def ports(self) -> int:
        return max(1, -(-self.onus // self.onus_per_port))

    @property
    def boards(self) -> int:
        return -(-self.ports // self.ports_per_board)

    def rows_of_port(self, port: int) -> range:
        start = port * self.onus_per_port
        return range(min(start, self.onus), min(start + self.onus_per_port, self.onus))


@dataclass(frozen=True, slots=True)
class OnuState:
    online: bool
    # The last cause, also of an ONU that is back; None when it never went offline.
    cause: Cause | None
    last_up: float | None
    last_down: float | None


@dataclass(frozen=True, slots=True)
class Motion:
    """Changes over time; all zero is no change."""

    drift_db: float = 0.0
    drift_period_s: float = 600.0
    flapping: float = 0.0
    flap_period_s: float = 120.0
    flap_down_s: float = 30.0
    # The fraction of ONUs whose optics are off their usual values, others at each refresh, and how far.
    jitter: float = 0.0
    jitter_db: float = 0.05
    refresh_s: float = 5.0
    # The fraction of ONUs that lose light in the second half of so many days, more each day, up to so many
    # dB. Then somebody repairs them, and it begins anew.
    fading: float = 0.0
    fade_db: float = 10.0
    fade_days: float = 40.0
    # Temperatures rise and fall by so much within a day, and the load of CPUs rises with the traffic.
    daily_c: float = 0.0
    daily_cpu: float = 0.0

    @property
    def still(self) -> bool:
        return not (
            self.drift_db or self.flapping or self.jitter or self.fading or self.daily_c or self.daily_cpu
        )


_STILL: Final = Motion()
# The warmest hour of a day, in UTC: the afternoon in the Americas.
_WARMEST_S: Final = 19 * 3600.0
_FLAP_CAUSES: Final = (Cause.LOS, Cause.DYING_GASP, Cause.LOFI, Cause.REBOOT)


@dataclass(frozen=True, slots=True)
class Template:
    """A pattern of ONUs that several OLTs have: the same states, distances and optics, other identities.

    Tables change at other moments in each of `count` templates, so that they are not all encoded at once.
    """

    number: int
    count: int


class OltModel:
    """One OLT. The same seed and number give the same OLT; times are seconds since 1970."""

    def __init__(
        self,
        number: int,
        shape: Shape,
        *,
        seed: int,
        born: float,
        name: str,
        template: Template | None = None,
    ) -> None:
        self.number = number
        self.shape = shape
        self.name = name
        self.born = born
        self.motion = _STILL
        self.template = template
        self._pattern = f"{seed}/{number if template is None else template.number}"
        # As a share of the refresh.
        self._phase = 0.0 if template is None else template.number / template.count
        random = Random(self._pattern)
        self.booted_at = born - random.uniform(1, 400) * DAY
        self._noise = array("Q", random.randbytes(8 * shape.onus))
        # Noise of the last moment that was asked for.
        self._passing_noise: tuple[float, array[int]] = (0.0, array("Q"))
        # The ONUs that were chosen at random, with their fraction, by the bits that chose them.
        self._chosen: dict[int, tuple[float, frozenset[int]]] = {}
        # Of ONUs whose state somebody changed, and when they were offline before, since and until.
        self.changed_states: dict[int, OnuState] = {}
        self.outages: dict[int, list[tuple[float, float]]] = {}
        self.counting = Counting()
        # How far the clock of the OLT is behind.
        self.clock_behind_s = 0.0
        self.dark_ports: set[int] = set()
        # Additional loss in dB by port, as of a bent fibre.
        self.dim: dict[int, float] = {}
        # The CPU load it reports; 0 is the usual one.
        self.cpu_pct = 0.0

    def noise(self, row: int) -> int:
        """Return 64 random bits that are always the same for this ONU."""
        return self._noise[row]

    @cached_property
    def traffic(self) -> OltTraffic:
        return OltTraffic(self)

    def cpu(self, usual: int, now: float) -> int:
        if self.cpu_pct or not self.motion.daily_cpu:
            return round(self.cpu_pct) or usual
        return min(100, round(usual + self.motion.daily_cpu * (busyness(now) - 0.5)))

    def clock(self, at: float) -> float:
        """Return the time that the clock of the OLT showed at a moment."""
        return at - self.clock_behind_s

    def uptime_ticks(self, now: float) -> int:
        return int(max(0.0, now - self.booted_at) * 100) & 0xFFFF_FFFF

    def state(self, row: int, now: float) -> OnuState:
        state = self.changed_states.get(row) or self.initial_state(row)
        if self.motion.flapping and state.online and row in self._flapping_rows():
            return self._flapped(row, now)
        return state

    def has_changed(self, row: int) -> bool:
        """Return whether the state of an ONU is, or may be, another than at first."""
        return row in self.changed_states or bool(self.motion.flapping and row in self._flapping_rows())

    def online(self, row: int, now: float) -> bool:
        if self.has_changed(row):
            return self.state(row, now).online
        return self._noise[row] & 1023 >= 70

    def epoch(self, now: float) -> float:
        """Return the last moment at which values that change by themselves have changed."""
        every = self.motion.refresh_s
        offset = self._phase * every
        return (now - offset) // every * every + offset

    def counted_at(self, now: float) -> float:
        """Return when the OLT last updated its counters. OLTs of other templates do at other moments."""
        every = self.counting.counters_s
        offset = self._phase * every
        at = (now - offset) // every * every + offset
        if self.counting.is_faulty(CounterFault.REPEAT, now):
            return min(at, self.counting.period(now))
        return at

    def _flapping_rows(self) -> frozenset[int]:
        return self._random_rows(self.motion.flapping, 40)

    def _random_rows(self, fraction: float, shift: int) -> frozenset[int]:
        """Return a fraction of the ONUs, chosen by the 16 bits of their noise above `shift`."""
        known, rows = self._chosen.get(shift, (0.0, frozenset()))
        if known != fraction:
            limit = fraction * 0x10000
            rows = frozenset(
                row for row, noise in enumerate(self._noise) if (noise >> shift & 0xFFFF) < limit
            )
            self._chosen[shift] = fraction, rows
        return rows

    def _jitter(self, row: int, now: float) -> int:
        """Return 48 random bits of this ONU and moment, or 0 while its optics are as usual."""
        moment, noise = self._passing_noise
        if moment != now:
            noise = array("Q", Random(f"{self._pattern}/{now}").randbytes(8 * self.shape.onus))
            self._passing_noise = now, noise
        bits = noise[row]
        return bits >> 16 if (bits & 0xFFFF) < self.motion.jitter * 0x10000 else 0

    def _power_jitter(self, row: int, now: float, shift: int) -> float:
        if not self.motion.jitter or not (bits := self._jitter(row, now)):
            return 0.0
        steps = round(self.motion.jitter_db * 100)
        return ((bits >> shift & 0xFFFF) % (2 * steps + 1) - steps) / 100

    def initial_state(self, row: int) -> OnuState:
        """Return the first state of an ONU: about seven in a hundred are offline, for usual causes."""
        noise = self._noise[row]
        lot = noise & 1023
        since = self.born - (noise >> 50) * 160.0 - 60.0
        if lot >= 70:
            return OnuState(True, (Cause.DYING_GASP, Cause.LOS)[noise >> 10 & 1], since, since - 600.0)
        if lot < 10:
            return OnuState(False, Cause.NEVER_SEEN, None, None)
        cause = Cause.DYING_GASP if lot < 40 else Cause.LOS if lot < 60 else Cause.DEACTIVATED
        return OnuState(False, cause, since - DAY, since)

    def _flapped(self, row: int, now: float) -> OnuState:
        noise = self._noise[row]
        motion = self.motion
        phase = (noise >> 10 & 0xFFFF) / 0x10000 * motion.flap_period_s
        since_down = (now + phase) % motion.flap_period_s
        cause = _FLAP_CAUSES[noise >> 20 & 3]
        down_at = now - since_down
        if since_down < motion.flap_down_s:
            return OnuState(False, cause, down_at - motion.flap_period_s + motion.flap_down_s, down_at)
        return OnuState(True, cause, down_at + motion.flap_down_s, down_at)

    def take_offline(self, row: int, cause: Cause, now: float) -> None:
        before = self.state(row, now)
        if before.online:
            self.changed_states[row] = OnuState(False, cause, before.last_up, now)

    def bring_back(self, row: int, now: float) -> None:
        before = self.state(row, now)
        if not before.online:
            self.outages.setdefault(row, []).append((before.last_down or 0.0, now))
            self.changed_states[row] = OnuState(True, before.cause, now, before.last_down)

    def distance_m(self, row: int) -> int:
        return 200 + (self._noise[row] >> 10 & 0x3FFF)

    def rx_dbm(self, row: int, now: float) -> float:
        """Return the power that the ONU receives from the OLT."""
        return self._received_dbm(row, now) + self._power_jitter(row, now, 0)

    def _received_dbm(self, row: int, now: float) -> float:
        noise = self._noise[row]
        base = -14.0 - (noise >> 24 & 0xFFF) % 1300 / 100
        if self.dim:
            base -= self.dim.get(row // self.shape.onus_per_port, 0.0)
        motion = self.motion
        if motion.fading:
            base -= self.faded_db(row, now)
        if not motion.drift_db:
            return base
        phase = (noise & 0xFF) / 0x100
        return base + motion.drift_db * math.sin(math.tau * (now / motion.drift_period_s + phase))

    def fading_rows(self) -> frozenset[int]:
        return self._random_rows(self.motion.fading, 8)

    def faded_db(self, row: int, now: float) -> float:
        """Return how much light an ONU has lost since it was last repaired."""
        if row not in self.fading_rows():
            return 0.0
        phase = (self._noise[row] >> 52) / 0x1000
        lost = max(0.0, 2 * ((now / (self.motion.fade_days * DAY) + phase) % 1) - 1)
        return self.motion.fade_db * lost**3

    def powers_dbm(self, now: float) -> tuple[list[float], list[float]]:
        """Return the power at each ONU, and at the OLT from each ONU, whatever their states, without jitter.

        As `rx_dbm` and `olt_rx_dbm` of each row, and much quicker for all of them.
        """
        motion = self.motion
        turn = now / motion.drift_period_s
        drift = [motion.drift_db * math.sin(math.tau * (turn + phase / 0x100)) for phase in range(0x100)]
        at_onu = [-14.0 - (noise >> 24 & 0xFFF) % 1300 / 100 + drift[noise & 0xFF] for noise in self._noise]
        for row in self.fading_rows():
            at_onu[row] -= self.faded_db(row, now)
        for port, loss in self.dim.items():
            for row in self.shape.rows_of_port(port):
                at_onu[row] -= loss
        losses = (1.5 + (noise >> 30 & 0x7F) / 100 for noise in self._noise)
        return at_onu, [power - loss for power, loss in zip(at_onu, losses, strict=True)]

    def olt_rx_dbm(self, row: int, now: float) -> float:
        loss = 1.5 + (self._noise[row] >> 30 & 0x7F) / 100
        return self._received_dbm(row, now) - loss + self._power_jitter(row, now, 16)

    def tx_dbm(self, row: int, now: float) -> float:
        return 1.5 + (self._noise[row] >> 36 & 0x7F) / 100 + self._power_jitter(row, now, 32)

    def temperature_c(self, row: int, now: float) -> float:
        usual = 36.0 + (self._noise[row] >> 43 & 0x7F) / 8 + self.warmth_c(now)
        # Whole degrees seldom change.
        return usual + (self.motion.jitter > 0 and self._jitter(row, now) & 3 == 1)

    def warmth_c(self, now: float) -> float:
        """Return how much warmer than usual it is at this time of day."""
        return self.motion.daily_c * math.cos(math.tau * (now - _WARMEST_S) / DAY)

    def voltage_v(self, row: int, now: float) -> float:
        usual = 3.2 + (self._noise[row] >> 48 & 0xF) / 100
        return usual + (self.motion.jitter > 0 and self._jitter(row, now) & 4 == 4) / 50

    def bias_ma(self, row: int) -> int:
        return 8 + (self._noise[row] >> 52 & 0xF)

    def serial(self, vendor: bytes, row: int) -> bytes:
        """Return a serial that is unique in a fleet: four letters, then 32 bits."""
        number = self.number << 16 | row & 0xFFFF
        return vendor + ((number * 0x9E37_79B1 ^ 0x5DEE_CE66) & 0xFFFF_FFFF).to_bytes(4, "big")
