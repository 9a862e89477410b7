"""A recording with stand-ins in place of customers, so that it can be given away."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from facho.sim.snmprec import Record
from facho.snmp.values import Oid, Value
from facho.vendors import Profile
from facho.vendors.masking import Row, mask
from facho.vendors.masking.stand_ins import Random


def masked(
    records: Iterable[Record], profiles: Sequence[Profile], random: Random = secrets.token_bytes
) -> list[Record]:
    """The profile that reads the device goes first. The records may be in another order than before."""
    given = list(records)
    rows = [Row(record.oid.arcs, _plain(record.value)) for record in given]
    return [
        Record(Oid.of(new.oid), _like(old.value, new.value))
        for old, new in zip(given, mask(rows, profiles, random), strict=True)
    ]


def _plain(value: Value) -> object:
    return value.arcs if isinstance(value, Oid) else value


def _like(old: Value, new: object) -> Value:
    if isinstance(old, Oid):
        assert isinstance(new, tuple)
        # What was not changed stays as it travelled: an agent may send an OID that nobody could write.
        return old if new == old.arcs else Oid.of(new)
    return new  # type: ignore[return-value]
