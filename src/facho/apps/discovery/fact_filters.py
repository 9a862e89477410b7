"""Conditions on facts that have no column: `line_profile=residential`, `mac_count>=2`, `uni.state=down`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db.models import BooleanField, Func, Model, QuerySet, Value
from django.utils.translation import gettext as _

from facho.apps.discovery.extra_facts import UNIS, onu_extra_facts
from facho.apps.discovery.roster import EXTRAS
from facho.vendors import Entity, known_facts
from facho.vendors.facts import Fact, full_fact_name

M = TypeVar("M", bound=Model)
_OF_UNI: Final = f"{Entity.UNI}."
_CONDITION: Final = re.compile(rf"\s*((?:{re.escape(_OF_UNI)})?[a-z][a-z0-9_]*)\s*(=|>=|<=)\s*(.*?)\s*")


class BadCondition(ValueError):
    """A condition that cannot be understood, with a sentence for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class FactCondition:
    """A condition on a fact of a row, or of any of the customer ports of an ONU."""

    fact: str
    sign: str
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
        return cls(fact, sign, _parse_number(fact, value) if known[fact].is_number else value)

    def narrow(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Keep the rows that meet it. All are read: narrow many by something with an index first."""
        found: QuerySet[M] = rows.filter(_Holds(self))
        return found


def _parse_number(fact: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadCondition(_("%(fact)s is a number") % {"fact": fact})
    return number


def _facts_of_onus() -> dict[str, Fact]:
    known = known_facts()
    return {
        **{fact: known[Entity.ONU][fact] for fact in onu_extra_facts()},
        **{full_fact_name(Entity.UNI, name): fact for name, fact in known[Entity.UNI].items()},
    }


class _Holds(Func):
    """Whether a condition holds for a text of JSON. A number is compared with numbers alone: a fact that is
    declared anew has values of the kind that it had, until it is collected.
    """

    output_field = BooleanField()

    def __init__(self, condition: FactCondition) -> None:
        super().__init__(EXTRAS, Value(condition.value))
        self._condition = condition

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **_rest: Any) -> Any:  # noqa: ARG002
        return self._write(compiler, "{}::jsonb", _COMPARED, _OF_PORTS)

    def as_sqlite(self, compiler: Any, connection: Any, **_rest: Any) -> Any:  # noqa: ARG002
        return self._write(compiler, "{}", _COMPARED_IN_SQLITE, _OF_PORTS_IN_SQLITE)

    def _write(self, compiler: Any, json: str, compared: Mapping[bool, str], of_ports: str) -> Any:
        """Write the statement. Names of facts have letters, digits and underscores alone."""
        (text, before), (value, given) = map(compiler.compile, self.get_source_expressions())
        condition, json = self._condition, json.format(f"NULLIF({text}, '')")
        fact = condition.fact.removeprefix(_OF_UNI)
        of_port = fact != condition.fact
        told = compared[isinstance(condition.value, float)].format(
            json="ports.value" if of_port else f"({json})", fact=fact
        )
        holds = f"{told} {condition.sign} {value}"
        return of_ports.format(json=json, holds=holds) if of_port else holds, [*before, *given]


# How the value of a fact is read, if it is compared with a number.
_COMPARED: Final = {
    False: "{json} ->> '{fact}'",
    True: "CASE jsonb_typeof({json} -> '{fact}') WHEN 'number' THEN ({json} ->> '{fact}')::float END",
}
_COMPARED_IN_SQLITE: Final = {
    False: "json_extract({json}, '$.{fact}')",
    True: (
        "CASE WHEN json_type({json}, '$.{fact}') IN ('integer', 'real')"
        " THEN json_extract({json}, '$.{fact}') END"
    ),
}
_OF_PORTS: Final = f"EXISTS (SELECT 1 FROM jsonb_each({{json}} -> '{UNIS}') AS ports WHERE {{holds}})"  # noqa: S608
_OF_PORTS_IN_SQLITE: Final = (
    f"EXISTS (SELECT 1 FROM json_each({{json}}, '$.{UNIS}') AS ports WHERE {{holds}})"  # noqa: S608
)
