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
    """A column to read, and the column of the profile that has the rules for its values."""

    name: str
    oid: str
    # Empty for an OID of the operator's own: its values go to the execution's result as they are.
    read_as: str = ""
    # A helper without a fact of its own, needed to decode others: the names behind an index.
    helps: bool = False
    # What it is read for; the same column may have facts of other entities too.
    entity: str = Entity.ONU.value


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one node in an execution; that of the master comes first."""

    # None for a collection by hand without a job.
    node_id: int | None
    job: str
    kind: str
    task_type: str
    # Facts such as "serial" or "onu_rx_dbm"; what was collected when is stored by them.
    facts: tuple[str, ...]
    columns: tuple[AskedColumn, ...]
    # Tables that are expensive to walk; a discovery reads them only if the others have no ONU.
    otherwise: tuple[AskedColumn, ...] = ()
    # Missing columns, which are not asked for.
    missing_columns: tuple[AskedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownOnu:
    """An ONU that can be asked about."""

    key: Key
    technology: str = ""
    online: bool = False
    # Not in the tables of discoveries; found in another one.
    undiscovered: bool = False
    # The raw index at which the OLT has it; empty if not known.
    index: bytes = b""


@dataclass(frozen=True, slots=True)
class Batching:
    """The batch sizes of a GET, and the percentage of unanswered ONUs above which it has failed."""

    size: int = 200
    sub_size: int = 50
    most_unanswered: float = 20.0


@dataclass(frozen=True, slots=True)
class Work:
    """All that a poller needs to run an execution without the database."""

    execution_id: int
    # New for each start of the execution; part of the request ids.
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
    # Most values in one GET; the limits of the target are those of walks.
    varbinds: int = 20
    time_limit: timedelta = timedelta(minutes=30)


class PartState(enum.StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(slots=True)
class PartResult:
    """The result of one part. `decoded` has the rows that came, also if it failed."""

    part: Part
    state: PartState
    error: Reason = NO_REASON
    # The OLT did not answer at all.
    silent: bool = False
    seconds: float = 0.0
    decoded: Decoded | None = None
    # Rows of columns without a profile: name -> index in dots -> value for JSON.
    raw: dict[str, dict[str, object]] = field(default_factory=dict)
    rows: int = 0
    onus_asked: int = 0
    # ONUs with missing values, by interface, and why.
    unanswered: dict[str, Reason] = field(default_factory=dict)
    # OIDs of columns that the OLT does not have, and of those that it has.
    missing_columns: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    load: Load = field(default_factory=Load)
    # The columns that were read in fact, with those of `Part.otherwise` if they were needed.
    asked: tuple[AskedColumn, ...] = ()

    def __post_init__(self) -> None:
        # Reasons hold what the OLT said, and are stored and shown.
        self.error = self.error.with_texts(_clean_text)
        clean = {reason: reason.with_texts(_clean_text) for reason in set(self.unanswered.values())}
        self.unanswered = {onu: clean[reason] for onu, reason in self.unanswered.items()}

    @property
    def has_onus(self) -> bool:
        return self.decoded is not None and len(self.decoded.onus) > 0


def _clean_text(text: str) -> str:
    """Mask secrets, and drop NUL, which PostgreSQL refuses."""
    return mask_secrets(text).replace("\0", "")


@dataclass(slots=True)
class Collection:
    """The results of all parts of an execution, which fails if the first part, the master's, fails."""

    parts: list[PartResult]
    learned: Learned | None = None
    cpu_pct: float | None = None
    uptime_s: float | None = None

    @property
    def was_asked(self) -> bool:
        """Tell whether a request was sent; if all columns were left out, none was."""
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
