"""What one execution has to do, and what came of it: plain data that crosses threads and layers."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import timedelta

from facho.core.reasons import NO_REASON, Reason
from facho.core.request_rules import RequestPace
from facho.masking import mask_secrets
from facho.snmp import Target
from facho.snmp.pacing import Learned
from facho.snmp.peer import Load
from facho.vendors import Decoded, Entity, Key, Profile


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """A column to ask for, and the column of the profile by whose rules its values are read."""

    name: str
    oid: str
    # Empty for an OID of the operator's own: its values go to the execution's result as they are.
    read_as: str = ""
    # It has no fact, and only serves to read the others: the names behind an index.
    helps: bool = False
    # What it was asked for: the same column may tell something of others, too.
    entity: str = Entity.ONU.value


@dataclass(frozen=True, slots=True)
class Part:
    """One node of a composite: the master's comes first."""

    # None when a person asked by hand for what no job has.
    node_id: int | None
    job: str
    kind: str
    task_type: str
    # The facts it is about, as "serial" or "onu_rx_dbm"; what is collected is dated by them.
    facts: tuple[str, ...]
    columns: tuple[AskedColumn, ...]
    # What a discovery asks for when it found nobody: tables that are dear to walk.
    otherwise: tuple[AskedColumn, ...] = ()
    # Columns that are left out, because the OLT turned out not to have them.
    left_out: tuple[AskedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownOnu:
    """An ONU that can be asked about."""

    key: Key
    technology: str = ""
    online: bool = False
    # Discoveries do not have it; another table named it.
    undiscovered: bool = False
    # The index at which the OLT showed it, as it travelled; empty where that is not known.
    index: bytes = b""


@dataclass(frozen=True, slots=True)
class Batching:
    """How a GET is cut, and when it has failed."""

    size: int = 200
    sub_size: int = 50
    most_unanswered: float = 20.0


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that a poller must know to run an execution without looking anything up."""

    execution_id: int
    # Another one each time that the execution is started: requests carry it, so that an OLT could tell.
    run_id: int
    olt_id: int
    olt: str
    target: Target
    profile: Profile
    parts: tuple[Part, ...]
    known: tuple[KnownOnu, ...] = ()
    learned: Learned | None = None
    pace: RequestPace = RequestPace.NORMAL
    batching: Batching = field(default_factory=Batching)
    # Values in one GET, at most; the target's limits are those of walks.
    varbinds: int = 20
    time_limit: timedelta = timedelta(minutes=30)


class PartState(enum.StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(slots=True)
class PartResult:
    """What came of one part. `decoded` may hold rows even when it failed: those that did come."""

    part: Part
    state: PartState
    error: Reason = NO_REASON
    # Nothing at all came from the OLT.
    silent: bool = False
    seconds: float = 0.0
    decoded: Decoded | None = None
    # Rows of columns that no profile reads: name -> index in dots -> value as JSON can hold it.
    raw: dict[str, dict[str, object]] = field(default_factory=dict)
    rows: int = 0
    onus_asked: int = 0
    # The ONUs without an answer, by their interface, with the reason.
    unanswered: dict[str, Reason] = field(default_factory=dict)
    # Columns, by the OID that was asked for, that the OLT does not have; and those that it has.
    lacking: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    load: Load = field(default_factory=Load)
    # The columns that were asked for in fact: a discovery that finds nobody asks for more of them.
    asked: tuple[AskedColumn, ...] = ()

    def __post_init__(self) -> None:
        # It is stored, shown and told to others, and an OLT may say anything.
        self.error = self.error.with_texts(mask_secrets)

    @property
    def has_onus(self) -> bool:
        return self.decoded is not None and len(self.decoded.onus) > 0


@dataclass(slots=True)
class Collection:
    """What came of an execution. The first part is the master's, whose failure is the execution's."""

    parts: list[PartResult]
    learned: Learned | None = None
    cpu_pct: float | None = None
    uptime_s: float | None = None

    @property
    def was_asked(self) -> bool:
        """Whether anything was sent to the OLT: what is left out because it lacks it says nothing of it."""
        return any(part.load.requests for part in self.parts)

    @property
    def succeeded(self) -> bool:
        return self.parts[0].state is PartState.SUCCESS

    @property
    def silent(self) -> bool:
        return self.parts[0].silent

    @property
    def error(self) -> Reason:
        return self.parts[0].error
