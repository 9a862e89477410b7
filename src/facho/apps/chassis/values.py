"""What was told, as it may be stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import models

from facho.apps.discovery.columns import whole
from facho.vendors import Facts, Key, State

# Column -> value.
Values = dict[str, Any]


def rows_of(facts: Facts, columns: Mapping[str, str], model: type[models.Model]) -> Iterator[Values]:
    """Row by row what was told, by the model's columns: `columns` has the fact -> its column."""
    told = [
        [stored(model, column, value) for value in facts.columns[fact]]
        for fact, column in columns.items()
        if fact in facts.columns
    ]
    names = [column for fact, column in columns.items() if fact in facts.columns]
    if not told:
        return ({} for _ in facts.keys)
    return (dict(zip(names, row, strict=True)) for row in zip(*told, strict=True))


def stored(model: type[models.Model], column: str, value: Any) -> Any:
    """As the column holds it; what has no value is empty."""
    field = model._meta.get_field(column)
    match field:
        case models.CharField():
            return _text(value, field.max_length)
        case models.FloatField():
            return float(value) if value is not None and math.isfinite(value) else None
        case models.IntegerField():
            return whole(value)
        case _:
            return value if isinstance(value, datetime) else None


def _text(value: Any, longest: int | None) -> str:
    if value is None:
        return ""
    text = value.meaning if isinstance(value, State) else str(value)
    # PostgreSQL refuses NUL in a text.
    return text.replace("\0", "").strip()[:longest]


def numbers_of(key: Key) -> Values:
    return {"frame": whole(key.frame), "slot": whole(key.slot), "port": whole(key.port)}
