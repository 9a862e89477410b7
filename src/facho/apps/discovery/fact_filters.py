"""Conditions on facts that have no column: `line_profile=residential`, `mac_count>=2`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db.models import FloatField, Func, Model, QuerySet, TextField, Value
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from facho.apps.discovery.extra_facts import onu_extra_facts
from facho.apps.discovery.roster import EXTRAS
from facho.vendors import Entity, known_facts
from facho.vendors.facts import Fact

M = TypeVar("M", bound=Model)
_CONDITION: Final = re.compile(r"\s*([a-z][a-z0-9_]*)\s*(=|>=|<=)\s*(.*?)\s*")
_LOOKUPS: Final = {"=": "exact", ">=": "gte", "<=": "lte"}


class BadCondition(ValueError):
    """A condition that cannot be understood, with a sentence for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class FactCondition:
    fact: str
    lookup: str
    value: str | float

    @classmethod
    def parse(cls, text: str, known: Mapping[str, Fact] | None = None) -> FactCondition:
        """Read a condition on a known fact; if none are given, on one of ONUs. Raises BadCondition."""
        known = _facts_of_onus() if known is None else known
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise BadCondition(_("write a fact as in line_profile=residential or mac_count>=2"))
        fact, sign, value = match.groups()
        if fact not in known:
            names = {"fact": fact, "known": ", ".join(known)}
            raise BadCondition(_("there is no other fact %(fact)s: there are %(known)s") % names)
        if not known[fact].is_number:
            return cls(fact, _LOOKUPS[sign], value)
        try:
            return cls(fact, _LOOKUPS[sign], float(value))
        except ValueError:
            raise BadCondition(_("%(fact)s is a number") % {"fact": fact}) from None

    def narrow(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Keep the rows that meet it. All are read: narrow many by something with an index first."""
        told: Any = JsonValue(EXTRAS, Value(self.fact))
        if isinstance(self.value, float):
            told = Cast(told, FloatField())
        # A name that ends with an underscore would run into that of the lookup.
        name = f"fact_{self.fact}_value"
        found: QuerySet[M] = rows.alias(**{name: told}).filter(**{f"{name}__{self.lookup}": self.value})
        return found


def _facts_of_onus() -> dict[str, Fact]:
    return {fact: known_facts()[Entity.ONU][fact] for fact in onu_extra_facts()}


class JsonValue(Func):
    """The value of a key in a text of JSON, as a text; NULL where it has no such key."""

    template = "(NULLIF(%(expressions)s)"
    arg_joiner = ", '')::jsonb ->> "
    output_field = TextField()

    def as_sqlite(self, compiler: Any, connection: Any, **rest: Any) -> Any:
        return self.as_sql(
            compiler,
            connection,
            template="json_extract(NULLIF(%(expressions)s)",
            arg_joiner=", ''), '$.' || ",
            **rest,
        )
