"""Which facts each family has: their columns, how they are read, and what that costs.

The cost is that of the what-if: requests for one fact of an OLT with a thousand ONUs, with usual settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from facho.config import Config
from facho.vendors import Entity, Profile
from facho.vendors.costs import rows_per_walk, table_to_get, table_to_walk
from facho.vendors.facts import CONFIDENCE_WORDS, FACTS, Fact, full_fact_name
from facho.vendors.schema import Column, ReadMethod, Table

ONUS: Final = 1000
_HEAD: Final = """\
# Facts

What can be known of an OLT and its ONUs, what each family tells of it, and what that costs. This page is
written by `facho profile facts --markdown`; a test compares it. How profiles describe it:
[profiles.md](profiles.md).

## All facts

A job names a fact of ONUs alone, others with what they are of: `serial`, `port.state`. Facts with *history*
are kept over time and can be charted. A counter is not kept itself: it becomes the rate that is named. A
value out of its plausible range is no value. The words of states are in
[profiles.md](profiles.md#states-and-causes).

`voltage_v`, `bias_ma` and the rates of an ONU are in its history alone: the page of the ONU, `onus/ID/` and
`facho onu show` have the latest values with their time, lists and CSV files have none.
"""
_FAMILIES: Final = f"""\
## Facts of each family

- **column**: where the fact is. *Or* names further columns, which count where the first has no value; those
  in parentheses are asked for only while the first is missing.
- **read**: *walk* reads a whole column; *walk, slow* is heavy for the OLT, and none of the usual jobs that
  run often does it; *GET* asks for the ONUs that are online, each for itself, because the OLT has to
  fetch the value from the ONU.
- **requests**: for this fact alone, of an OLT with {ONUS:,} ONUs, with the usual settings, as the
  [what-if](forecasts.md) counts them before a job has run. Facts of one table share the requests of a GET.
  Columns that only help to read a fact, such as the names of interfaces, are not counted.
- **confidence**: {"; ".join(f"*{confidence}*: {words}" for confidence, words in CONFIDENCE_WORDS.items())}.
"""
_ENTITIES: Final = {
    Entity.ONU: "ONUs",
    Entity.UNI: "Ports of ONUs",
    Entity.PORT: "PON ports",
    Entity.BOARD: "Boards",
    Entity.FAN: "Fans",
    Entity.PSU: "Power supplies",
    Entity.UPLINK: "Uplinks",
    Entity.OLT: "The OLT itself",
    Entity.AUTOFIND: "ONUs that are not configured",
}


@dataclass(frozen=True, slots=True)
class FamilyFact:
    """A fact that a table of a family provides."""

    fact: str
    technology: str
    table: str
    oid: str
    # Further columns for it, as people read them.
    others: tuple[str, ...]
    read: str
    requests: int
    confidence: str


def facts_of(profile: Profile) -> list[FamilyFact]:
    return [_family_fact(profile, table, column) for table in profile.tables for column in table.columns]


def _family_fact(profile: Profile, table: Table, column: Column) -> FamilyFact:
    others = (f"({each.oid})" if each.if_missing else each.oid for each in column.otherwise)
    return FamilyFact(
        full_fact_name(table.entity, column.fact),
        table.technology,
        table.name,
        column.source.oid,
        tuple(dict.fromkeys(others)),
        _read(table),
        _requests(profile, table),
        str(column.origin.confidence),
    )


def _read(table: Table) -> str:
    if table.read_method is ReadMethod.GET_ONLINE:
        return "GET"
    return "walk, slow" if table.slow else "walk"


def _requests(profile: Profile, table: Table) -> int:
    config = Config()
    if table.read_method is ReadMethod.GET_ONLINE:
        return table_to_get(table, 1, ONUS, config.varbinds).requests
    return table_to_walk(profile, table, 1, ONUS, rows_per_walk(profile, config.walk_repetitions)).requests


def facts_page(profiles: Iterable[Profile]) -> str:
    """Return docs/reference/facts.md."""
    registry = [_registry_section(entity) for entity in _ENTITIES]
    return "\n".join([_HEAD, *registry, _FAMILIES, *map(_family_section, profiles)])


def _registry_section(entity: Entity) -> str:
    rows = (_registry_row(entity, name, fact) for name, fact in FACTS[entity].items())
    heading = ("fact", "kind", "unit", "plausible", "history", "becomes", "English", "Spanish", "what")
    return f"### {_ENTITIES[entity]}\n\n{_table(heading, rows)}"


def _registry_row(entity: Entity, name: str, fact: Fact) -> tuple[str, ...]:
    return (
        f"`{full_fact_name(entity, name)}`",
        str(fact.kind),
        fact.unit,
        _plausible(fact),
        "yes" if fact.history else "",
        f"`{full_fact_name(entity, fact.rate)}`" if fact.rate else "",
        fact.labels["en"],
        fact.labels["es"],
        fact.what,
    )


def _plausible(fact: Fact) -> str:
    if fact.low is None or not fact.is_number:
        return ""
    return f"{fact.low:g} and more" if fact.high is None else f"{fact.low:g} to {fact.high:g}"


def _family_section(profile: Profile) -> str:
    heading = ("fact", "table", "column", "read", "requests", "confidence")
    return f"### {profile.title} (`{profile.name}`)\n\n{_table(heading, map(_family_row, facts_of(profile)))}"


def _family_row(fact: FamilyFact) -> tuple[str, ...]:
    return (
        f"`{fact.fact}`" + (f" ({fact.technology})" if fact.technology else ""),
        f"`{fact.table}`",
        " or ".join((fact.oid, *fact.others)),
        fact.read,
        str(fact.requests),
        fact.confidence,
    )


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(_lines(heading, rows))


def _lines(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |\n"
    yield f"|{'---|' * len(heading)}\n"
    for row in rows:
        yield f"| {' | '.join(row)} |\n"
