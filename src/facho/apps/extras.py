"""Facts without a column of their own, kept as JSON in the column `extras` of their entity.

The text is canonical, so that texts are equal exactly when the facts are. Values keep their type: numbers
stay numbers, dates are ISO 8601, states are their meanings. The type of each fact is in the registry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping
from datetime import datetime
from typing import Any

from facho.apps.db.sql import db_text
from facho.vendors import Entity, State, known_facts
from facho.vendors.facts import Kind

_LONGEST = 255
# Largest whole number that JSON readers keep exactly.
_LARGEST = 2**53


def facts_without_column(entity: Entity, own: Container[str]) -> tuple[str, ...]:
    """Return the facts of an entity that may be kept as extras: all but those in a column of their `own`.

    Counters become rates, and rates are in the history alone.
    """
    return tuple(
        name
        for name, fact in known_facts()[entity].items()
        if name not in own and not (fact.is_counter or fact.kind is Kind.RATE)
    )


def extra_value(value: object) -> int | float | str | None:
    """Return a decoded value as JSON holds it; None for what has no value."""
    match value:
        case None | "":
            return None
        case bool():
            return int(value)
        case int():
            return value if abs(value) <= _LARGEST else float(value)
        case float():
            return value if math.isfinite(value) else None
        case State():
            return value.meaning
        case datetime():
            return value.isoformat()
        case _:
            return db_text(str(value), _LONGEST).strip() or None


def write_extras(values: Mapping[str, Any]) -> str:
    """Return the text of these facts; empty if there is none."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False) if values else ""


def read_extras(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def merge_extras(text: str, found: Mapping[str, Any]) -> str:
    """Return the text with the facts that were found; None removes one."""
    merged = {**read_extras(text), **found}
    return write_extras({fact: value for fact, value in merged.items() if value is not None})
