"""Many simulated OLTs in one event loop."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from facho import vendors
from facho.sim import snmprec
from facho.sim.encoded_tables import EncodedTables
from facho.sim.families.family import Family
from facho.sim.families.from_profile import from_profile
from facho.sim.families.huawei import HUAWEI
from facho.sim.families.zte import ZTE
from facho.sim.model import OltModel, Shape, Template
from facho.sim.olt import Address, SimulatedOlt
from facho.sim.report import OltReport, total
from facho.sim.scenario import Scenario
from facho.sim.security import CommunitySecurity
from facho.sim.tables import Layout
from facho.sim.usm import SIMULATED_USERS, EngineSecurity

FAMILIES: Final[Mapping[str, Family]] = {family.name: family for family in (HUAWEI, ZTE)}
MIXED: Final = "mixed"
_RECEIVE_BUFFER: Final = 1 << 20
_MAX_OLTS: Final = 10_000
_MAX_ONUS: Final = 60_000
_MAX_PORT: Final = 65_535


class FleetError(Exception):
    """The fleet cannot start; the message says why."""


@dataclass(frozen=True, slots=True)
class FleetConfig:
    olts: int = 1
    # The number of the first OLT: fleets of several processes have different ones.
    first: int = 0
    onus: int = 64
    # So many patterns of states, distances and optics, which OLTs have in turns; 0: each has its own. A large
    # fleet then needs little memory, and few tables are encoded when values change.
    templates: int = 0
    # One, or several separated by commas, in turns.
    family: str = "huawei"
    scenario: Scenario = field(default_factory=Scenario)
    community: str = "public"
    seed: int = 1
    host: str = "127.0.0.1"
    # OLT number n listens on base_port + n; 0 takes free ports.
    base_port: int = 0
    # Instead: every OLT on an address of its own, 127.1.0.1 and up, all on base_port.
    addresses: bool = False
    onus_per_port: int = 64
    # Every OLT replays it in place of the tables of a family.
    recording: Path | None = None
    # A vendor profile whose tables are served in place of those of a family.
    profile: Path | None = None


class Fleet:
    """Simulated OLTs: `async with Fleet(FleetConfig(olts=3, onus=500)) as fleet: fleet.olts[0].address`."""

    def __init__(
        self,
        config: FleetConfig,
        clock: Callable[[], float] | None = None,
        families: Mapping[str, Family] = FAMILIES,
    ) -> None:
        self.config = config
        self._families = families = _with_profiles(config, families)
        self._clock = clock or _steady_clock()
        self._born = self._clock()
        self._communities = CommunitySecurity(config.community)
        self._recording = None if config.recording is None else replay(config.recording)
        _check(config, families)
        self._templates: dict[tuple[str, Template], EncodedTables] = {}
        self.olts = [self._olt(number) for number in range(config.first, config.first + config.olts)]

    def _olt(self, number: int) -> SimulatedOlt:
        config = self.config
        shape = Shape(config.onus, config.onus_per_port)
        if self._recording is None or config.recording is None:
            kind = self._family_of(number)
            layout = _layout(self._families[kind], shape)
        else:
            kind, layout = config.recording.stem, self._recording
        model = self._model(number, shape, kind)
        seed = config.seed * 100_003 + number
        security = EngineSecurity(
            self._communities,
            model.name,
            SIMULATED_USERS.values(),
            lambda: self._clock() - model.booted_at,
        )
        tables = EncodedTables(layout, model)
        olt = SimulatedOlt(tables, security, self._clock, seed)
        olt.scenario = config.scenario
        if model.template is not None and not config.scenario.cuts:
            tables.share(self._template_tables(tables, kind))
        return olt

    def _model(self, number: int, shape: Shape, kind: str) -> OltModel:
        count = self.config.templates
        return OltModel(
            number,
            shape,
            seed=self.config.seed,
            born=self._born,
            name=f"{kind}-{number:03d}",
            template=Template(number % count, count) if count else None,
        )

    def _template_tables(self, tables: EncodedTables, kind: str) -> EncodedTables:
        """Return the tables of the OLT's template: those of a model whose state nobody changes."""
        own = tables.model
        assert own.template is not None
        key = kind, own.template
        if key not in self._templates:
            model = self._model(own.number, own.shape, kind)
            model.motion, model.dim = own.motion, own.dim
            model.counting, model.clock_behind_s = own.counting, own.clock_behind_s
            self._templates[key] = EncodedTables(tables.layout, model)
        return self._templates[key]

    def _family_of(self, number: int) -> str:
        names = list(self._families) if self.config.profile else _family_names(self.config)
        return names[number % len(names)]

    async def __aenter__(self) -> Self:
        try:
            for number, olt in enumerate(self.olts):
                await self._listen(number, olt)
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()
        # Transports close in the loop's next turn.
        await asyncio.sleep(0)

    def _close(self) -> None:
        for olt in self.olts:
            olt.close()

    async def _listen(self, number: int, olt: SimulatedOlt) -> None:
        address = self._address(number)
        try:
            endpoint = _bind(address)
        except OSError as error:
            raise FleetError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror}") from error
        olt.address = endpoint.getsockname()
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: olt, sock=endpoint)

    def _address(self, number: int) -> Address:
        config = self.config
        if config.addresses:
            # Free means free on the first address; the others then use the same port.
            port = config.base_port or (self.olts[0].address[1] if number else 0)
            number += config.first
            return f"127.1.{number // 250}.{number % 250 + 1}", port
        return config.host, config.base_port + number if config.base_port else 0

    def report(self) -> OltReport:
        """Return the sum over all OLTs."""
        return total(olt.report() for olt in self.olts)


def replay(path: Path) -> Layout[OltModel]:
    try:
        return snmprec.layout(snmprec.read(path))
    except snmprec.BadRecording as error:
        raise FleetError(str(error)) from error


def _with_profiles(config: FleetConfig, families: Mapping[str, Family]) -> Mapping[str, Family]:
    """Return the family of the operator's profile alone, or the families and the profiles named."""
    if config.profile is not None:
        try:
            family = from_profile(vendors.load(config.profile))
        except vendors.BadProfile as error:
            raise FleetError(str(error)) from error
        return {family.name: family}
    if config.recording is not None:
        return families
    profiles = (vendors.profiles_in_use().get(name) for name in _family_names(config) if name not in families)
    return {**families, **{profile.name: from_profile(profile) for profile in profiles if profile}}


def _family_names(config: FleetConfig) -> list[str]:
    """Return the names of the families of the OLTs, in turns."""
    return list(FAMILIES) if config.family == MIXED else [name.strip() for name in config.family.split(",")]


def _check(config: FleetConfig, families: Mapping[str, Family]) -> None:
    if not 1 <= config.olts <= _MAX_OLTS:
        raise FleetError(f"a fleet has 1 to {_MAX_OLTS} OLTs, not {config.olts}")
    if not 0 <= config.onus <= _MAX_ONUS or config.onus_per_port < 1:
        raise FleetError(f"an OLT has 0 to {_MAX_ONUS} ONUs, and at least one per port")
    last_port = config.base_port + (0 if config.addresses or not config.base_port else config.olts - 1)
    if not 0 <= config.base_port <= last_port <= _MAX_PORT:
        raise FleetError(f"ports {config.base_port} to {last_port} are not all between 1 and {_MAX_PORT}")
    if config.recording is None:
        unknown = [] if config.profile else [name for name in _family_names(config) if name not in families]
        for name in unknown:
            known_names = ", ".join(dict.fromkeys((*families, *vendors.profiles_in_use())))
            raise FleetError(f"there is no family '{name}': take {known_names} or {MIXED}")
        known = {each.name for family in families.values() for each in family.columns}
        for name in set(config.scenario.columns) - known:
            raise FleetError(f"no family has a column '{name}': there are {', '.join(sorted(known))}")


def _bind(address: Address) -> socket.socket:
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        endpoint.setblocking(False)
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        endpoint.bind(address)
    except BaseException:
        endpoint.close()
        raise
    return endpoint


def _steady_clock() -> Callable[[], float]:
    """Return a clock of the time of day that never jumps, so that the uptime of OLTs does not go back."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset


@lru_cache(maxsize=64)
def _layout(family: Family, shape: Shape) -> Layout[OltModel]:
    """Return the layout, shared by all OLTs of a family and shape to save memory."""
    try:
        return Layout(family.columns, family.spaces(shape))
    except ValueError as error:
        raise FleetError(str(error)) from error
