"""Describe dataclasses as they become JSON: times in ISO 8601, durations in seconds."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from typing import Any, Final

from rest_framework import serializers

_PLAIN: Final[Mapping[Any, type[serializers.Field[Any, Any, Any, Any]]]] = {
    bool: serializers.BooleanField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    str: serializers.CharField,
    datetime: serializers.DateTimeField,
    timedelta: serializers.FloatField,
}
# Names of components are part of the API: they stay when a module or a class is renamed.
_PREFIXES: Final = {"system_status": "Condition"}
_CLASSES: Final = {"QueuedExecution": "Queued"}


@cache
def describe_dataclass(value: type) -> type[serializers.Serializer[Any]]:
    """Return a serializer with the fields of a dataclass, for the OpenAPI description only."""
    fields = {name: _field(hint) for name, hint in typing.get_type_hints(value).items()}
    # The module is part of the name, because several modules have a class of the same name.
    module = value.__module__.rpartition(".")[2]
    name = _CLASSES.get(value.__name__, value.__name__)
    name = f"{_PREFIXES.get(module, module.title())}{name}Serializer"
    return type(name, (serializers.Serializer,), fields)


def _field(hint: Any, **rest: Any) -> Any:
    """Return the serializer field of a type hint. Raises KeyError for a type that is not supported yet."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        (kind,) = (each for each in inner if each is not type(None))
        return _field(kind, allow_null=True, **rest)
    if origin is tuple:
        return serializers.ListField(child=_field(inner[0]), **rest)
    if origin is Mapping:
        return serializers.DictField(child=_field(inner[1]), **rest)
    if is_dataclass(hint):
        return describe_dataclass(hint)(**rest)  # type: ignore[arg-type]  # it is a class, from a hint
    if isinstance(hint, type) and issubclass(hint, Enum):
        return serializers.ChoiceField(choices=[each.name.lower() for each in hint], **rest)
    return _PLAIN[hint](**rest)
