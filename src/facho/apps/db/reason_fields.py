"""Columns that hold a reason, as `core.reasons` writes it; a text of earlier versions is its own reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from django.core.validators import EMPTY_VALUES
from django.db import models
from django.db.models.lookups import Contains, IContains
from django.utils.translation import gettext

from facho.core.reason_texts import TEMPLATES
from facho.core.reasons import NO_REASON, Reason, decode, encode

_PLACEHOLDER: Final = re.compile(r"%\(\w+\)s")

if TYPE_CHECKING:
    _Text = models.TextField["Reason | str", Reason]
    _Char = models.CharField["Reason | str", Reason]
    _Field = models.Field["Reason | str", Reason]
else:
    _Text, _Char, _Field = models.TextField, models.CharField, object


class _ReasonField(_Field):
    """A text field that holds a reason. Migrations see a plain text field, as the database does."""

    empty_values = (*EMPTY_VALUES, NO_REASON)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"blank": True, **kwargs, "default": NO_REASON})

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        plain = models.TextField if isinstance(self, models.TextField) else models.CharField
        return name, f"django.db.models.{plain.__name__}", args, {**kwargs, "default": ""}

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Reason | None:
        return None if value is None else decode(value)

    def to_python(self, value: Any) -> Any:
        return decode(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> Any:
        return encode(value, self.max_length) if isinstance(value, Reason) else value

    def value_to_string(self, row: models.Model) -> str:
        return str(self.get_prep_value(self.value_from_object(row)))

    def run_validators(self, value: Any) -> None:
        """Check nothing: it is cut to its column when it is written."""


class ReasonTextField(_ReasonField, _Text):
    pass


class ReasonCharField(_ReasonField, _Char):
    pass


@ReasonTextField.register_lookup
@ReasonCharField.register_lookup
class ReasonContains(IContains):
    """Search in what people read: the texts of the codes, beside the parameters that are stored."""

    def as_sql(self, compiler: Any, connection: Any) -> Any:  # noqa: ARG002  # Django's way
        codes = [Contains(self.lhs, f'"{code}"') for code in _codes(str(self.rhs).casefold())]
        found = [compiler.compile(each) for each in (IContains(self.lhs, self.rhs), *codes)]
        return f"({' OR '.join(sql for sql, _ in found)})", [each for _, params in found for each in params]


def _codes(wanted: str) -> Iterator[str]:
    """Yield the codes whose text has this in it, in English or in the reader's language."""
    for code, template in TEMPLATES.items():
        texts = (template.text, gettext(template.text))
        if any(wanted in _PLACEHOLDER.sub("", text).casefold() for text in texts):
            yield code
