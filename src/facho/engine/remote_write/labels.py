"""The labels of OLTs, ports, parts, uplinks and ONUs, encoded once and kept until something changes."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from facho.apps.chassis.models import OltHealth, PonPort, Uplink
from facho.apps.db import sql
from facho.apps.discovery.findings import ONLINE
from facho.apps.discovery.models import Onu, Presence
from facho.apps.history.models import Subject
from facho.apps.history.store import place_of
from facho.apps.hosts.models import Olt
from facho.core.write_request import encode_labels

_UP: Final = "up"
_DOWN: Final = "down"


@dataclass(frozen=True, slots=True)
class OltNames:
    """What the labels of an OLT are made of, and whether it works."""

    name: str
    site: str
    brand: str
    is_enabled: bool
    is_reachable: bool | None

    @property
    def labels(self) -> dict[str, str]:
        return {"olt": self.name, "site": self.site}


def read_names(olt_ids: Sequence[int]) -> dict[int, OltNames]:
    rows = Olt.objects.filter(id__in=olt_ids).order_by()
    columns = ("id", "name", "site", "brand__name", "enabled", "reachable")
    return {olt_id: OltNames(*values) for olt_id, *values in rows.values_list(*columns)}


class SubjectLabels:
    """The labels of many subjects as one run of bytes: a million ONUs take a tenth of a gigabyte."""

    def __init__(self, labels: Mapping[int, bytes]) -> None:
        self._ids = array("q", labels)
        self._bytes = b"".join(labels.values())
        self._ends = array("Q", [0])
        end = 0
        for each in labels.values():
            end += len(each)
            self._ends.append(end)

    def of(self, ids: Sequence[int]) -> list[bytes | None]:
        """Return the labels of each of these subjects, None of one that is not known."""
        known = self._bytes
        found: list[bytes | None] = [
            known[start:end] for start, end in zip(self._ends, self._ends[1:], strict=False)
        ]
        if self._ids == ids:
            # Collections have the ONUs in the order of their rows.
            return found
        positions = dict(zip(self._ids, found, strict=True))
        return [positions.get(each) for each in ids]


@dataclass(frozen=True, slots=True)
class OnuStates:
    """Which ONUs of an OLT work, and how many of each port."""

    ids: Sequence[int] = ()
    # 1 or 0; None of one whose state is not known.
    online: Sequence[float | None] = ()
    # By place: those that work, and those that do not.
    ports: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class OltLabels:
    """The labels of the subjects of one OLT, by subject; of parts also by kind."""

    def __init__(self, olt_id: int, names: OltNames) -> None:
        self._olt_id = olt_id
        self.names = names
        self._subjects: dict[str, SubjectLabels] = {}
        # By subject, when what the labels were read from had been collected.
        self.as_of: dict[str, datetime] = {}
        # OLT, board, fan or power supply, by the id of the part.
        self.kinds: dict[int, str] = {}
        # Ids that no row has: they were removed, or are totals, and never get one.
        self._without_row: defaultdict[str, set[int]] = defaultdict(set)

    def of(self, subject: str, ids: Sequence[int]) -> list[bytes | None]:
        """Return the labels of each; read again when there are new subjects."""
        if subject not in self._subjects:
            self.read(subject)
        found = self._subjects[subject].of(ids)
        if _unknown(ids, found) - self._without_row[subject]:
            self.read(subject)
            found = self._subjects[subject].of(ids)
            self._without_row[subject] |= _unknown(ids, found)
        return found

    def read(self, subject: str) -> None:
        match subject:
            case Subject.ONU:
                self.read_onus()
            case Subject.PORT:
                rows = PonPort.objects.filter(olt=self._olt_id).order_by("id").values_list("id", "place")
                self._keep(subject, {key: self._encode(port=place) for key, place in rows})
            case Subject.PART:
                self._read_parts()
            case Subject.UPLINK:
                links = (
                    Uplink.objects.filter(olt=self._olt_id).order_by("id").values_list("id", "place", "name")
                )
                labels = {key: self._encode(uplink=place, name=name) for key, place, name in links}
                self._keep(subject, labels)

    def read_onus(self) -> OnuStates:
        """Read labels and states of the ONUs, which are in the same rows."""
        columns = ("id", "address", "serial", "mac", "frame", "slot", "port", "state", "presence")
        found = sql.fetch_columns(Onu, self._olt_id, columns)
        ids, addresses, serials, macs, frames, slots, ports, states, presences = found
        places = [
            "" if numbers[-1] is None else place_of(*numbers)
            for numbers in zip(ids, frames, slots, ports, strict=True)
        ]
        # ONUs of EPON have a MAC and no serial.
        labels = {
            onu: self._encode(
                onu=str(onu), place=address or "", port=place, serial=serial, mac="" if serial else mac
            )
            for onu, address, serial, mac, place in zip(ids, addresses, serials, macs, places, strict=True)
        }
        self._keep(Subject.ONU, labels)
        online = [_is_online(*each) for each in zip(states, presences, strict=True)]
        counts = Counter(zip(places, online, strict=True))
        return OnuStates(
            array("q", ids), online, {each: (counts[each, 1.0], counts[each, 0.0]) for each in set(places)}
        )

    def _read_parts(self) -> None:
        rows = list(
            OltHealth.objects.filter(olt=self._olt_id).order_by("id").values_list("id", "kind", "part")
        )
        self.kinds = {key: kind for key, kind, _ in rows}
        self._keep(Subject.PART, {key: self._encode(**_place_of_part(*each)) for key, *each in rows})

    def _keep(self, subject: str, labels: Mapping[int, bytes]) -> None:
        self._subjects[subject] = SubjectLabels(labels)

    def _encode(self, **own: str) -> bytes:
        return encode_labels({**self.names.labels, **own})


def _unknown(ids: Sequence[int], labels: Sequence[bytes | None]) -> set[int]:
    return {each for each, label in zip(ids, labels, strict=True) if label is None}


def _place_of_part(kind: str, part: str) -> dict[str, str]:
    """Return the label of a part: "board 0/1" is the board 0/1, and the OLT itself has none."""
    place = part.removeprefix(kind).strip()
    return {kind: place} if place else {}


def _is_online(state: str, presence: str) -> float | None:
    """Return 1 or 0. One that is gone for good has no state, and its series ends."""
    if presence == Presence.ABSENT or state in ("", "unknown"):
        return None
    return 1.0 if state == ONLINE else 0.0


def is_up(state: str) -> float | None:
    return {_UP: 1.0, _DOWN: 0.0}.get(state)
