"""The sentences of the coordinator log, in the active language.

The file has them in the operator's language. A reader of another language gets them put together again from
what the table has of the event: its type and its details.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from typing import Any, Final

from facho.apps.localized_numbers import localized
from facho.apps.localized_times import date_and_minute
from facho.core.event_types import EventType
from facho.core.reasons import NO_REASON, from_json
from facho.engine.events import types
from facho.engine.events.types import EmergencyReplan, Event
from facho.log_files import one_line
from facho.masking import mask_secrets

MAX_LENGTH: Final = 2000


def event_sentence(event: Event, olt: str | None, write_time: Callable[[datetime], str]) -> str:
    """Return the sentence in the active language, without secrets and in one line."""
    values = {**event.log_details(), **event.sentence_values()}
    if olt is not None:
        values["olt"] = olt
    shown = {name: _show(value, write_time) for name, value in values.items()}
    return clean(str(event.log_sentence()) % shown)


def clean(message: str) -> str:
    """Mask and shorten a message. It is masked first: a secret that is cut or escaped is not recognised."""
    text = one_line(mask_secrets(message))
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}..."


def reader_sentence(
    event_type: str, details: Mapping[str, Any], at: datetime, olt: tuple[int, str] | None, stored: str
) -> str:
    """Return the sentence of a row for its reader: `olt` is the id and the name of its OLT.

    A row whose OLT was removed, or that another version wrote, keeps the sentence that is stored.
    """
    kind = _KINDS.get((event_type, str(details.get("why", ""))), _KINDS.get((event_type, "")))
    if kind is None:
        return stored
    olt_id, name = (None, None) if olt is None else olt
    try:
        given = dict(_read_fields(kind, details, at))
        return event_sentence(kind(olt_id=olt_id, **given), name, date_and_minute)
    except (KeyError, TypeError, ValueError, AttributeError):
        return stored


def _show(value: Any, write_time: Callable[[datetime], str]) -> Any:
    """Return a value as the sentence shows it. Integers stay numbers."""
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, float):
        return localized(f"{value:g}")
    return value if isinstance(value, int) else str(value)


def _read_fields(kind: type[Event], details: Mapping[str, Any], at: datetime) -> Iterator[tuple[str, Any]]:
    for each in fields(kind):
        if each.name == "olt_id":
            continue
        if each.name in details:
            yield each.name, _read_value(each, details[each.name])
        elif each.default is MISSING:
            yield each.name, _left_out(kind, each, at)


def _read_value(field: Field[Any], found: Any) -> Any:
    """Return a value from JSON, by the annotation of the field, which is a text."""
    match field.type:
        case "datetime":
            return datetime.fromisoformat(found)
        case "Reason":
            return from_json(found)
    return found


def _left_out(kind: type[Event], field: Field[Any], at: datetime) -> Any:
    """Return a value that the details leave out: the end, which is the moment of the event, or what only
    its notification has.
    """
    if field.name == "until":
        return at
    if issubclass(kind, EmergencyReplan):
        return NO_REASON if field.type == "Reason" else None
    raise KeyError(field.name)


def _kinds() -> Iterator[tuple[tuple[str, str], type[Event]]]:
    for each in vars(types).values():
        if isinstance(each, type) and issubclass(each, Event) and isinstance(each.type, EventType):
            is_replan = issubclass(each, EmergencyReplan)
            yield (each.type.value, getattr(each, "why", "") if is_replan else ""), each


# By the type of the event; that of replanning has one for each reason.
_KINDS: Final[Mapping[tuple[str, str], type[Event]]] = dict(_kinds())
