"""The columns to ask an OLT for, worked out anew only when its OID rows are not the ones of the last time.

An operator's change counts from the next execution on: the rows are read for each, and are the key.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from facho.apps.db import sql
from facho.apps.hosts.models import Brand, Olt
from facho.apps.hosts.selectors import AskedFact, columns_for
from facho.vendors import GENERIC

_ROWS: Final = (
    "SELECT o.id, o.brand_id, o.model_id, o.name, o.oid, o.entity, o.provides, o.profile_oid FROM oids o"
    " WHERE o.brand_id = %s OR o.brand_id = (SELECT id FROM brands WHERE name = %s) ORDER BY o.id"
)
_MOST: Final = 256


def columns_now(olt: Olt, facts: tuple[str, ...], kind: str) -> tuple[AskedFact, ...]:
    rows = tuple(sql.fetch_rows(_ROWS, [olt.brand_id, GENERIC]))
    return _columns(olt.brand_id, olt.brand.name, olt.model_id, facts, kind, rows)


@lru_cache(maxsize=_MOST)
def _columns(
    brand_id: int,
    brand: str,
    model_id: int | None,
    facts: tuple[str, ...],
    kind: str,
    rows: tuple[sql.Row, ...],  # noqa: ARG001 - what the answer follows from
) -> tuple[AskedFact, ...]:
    olt = Olt(brand=Brand(id=brand_id, name=brand), model_id=model_id)
    return tuple(columns_for(olt, facts, kind))
