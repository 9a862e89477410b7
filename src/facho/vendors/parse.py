"""A profile from its YAML, or every mistake in it with file, line and field."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from facho.vendors.nodes import Node, read
from facho.vendors.parse_columns import parse_column, parse_origin
from facho.vendors.parse_index import always_parts, index_parts
from facho.vendors.schema import (
    Asking,
    Column,
    DetectRule,
    IndexLayout,
    Manners,
    NeverRead,
    Origin,
    Profile,
    Quirk,
    Table,
    table_oids,
)
from facho.vendors.vocabulary import Confidence, Entity

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_RULE_KEYS: Final = (
    "object_id", "object_id_under", "object_id_pattern", "descr", "probe", "probe_text", "model",
    "confidence", "source",
)  # fmt: skip
_TABLE_KEYS: Final = (
    "of", "oid", "index", "technology", "ask", "columns", "confidence", "source"
)  # fmt: skip
# What an index must tell of each entity; one of the sets.
_NEEDED: Final[dict[Entity, tuple[frozenset[str], ...]]] = {
    Entity.ONU: (frozenset({"onu"}), frozenset({"name"}), frozenset({"row"}), frozenset({"mac"})),
    Entity.UNI: (frozenset({"onu", "uni"}),),
    Entity.PORT: (frozenset({"port"}),),
    Entity.BOARD: (frozenset({"slot"}), frozenset({"row"})),
    Entity.FAN: (frozenset({"row"}), frozenset({"slot"})),
    Entity.OLT: (frozenset(),),
    Entity.AUTOFIND: (frozenset({"row"}), frozenset({"onu"})),
}
# The shortest OID that is more than a company's number: 1.3.6.1.4.1.<company>.<something>.
_OF_A_COMPANY: Final = 7
_FALLBACK: Final = "generic"


def parse_profile(text: str, file: str) -> Profile:
    """Raises BadProfile."""
    node = read(text, file)
    profile = _profile(node)
    node.notes.raise_if_any()
    assert profile is not None
    return profile


def _profile(node: Node) -> Profile | None:
    keys = node.map(
        (
            "profile",
            "title",
            "vendor",
            "confidence",
            "source",
            "detect",
            "ask",
            "indexes",
            "tables",
            "quirks",
        ),
        ("profile", "title", "tables", "indexes", "confidence", "source"),
    )
    if "tables" not in keys or "indexes" not in keys:
        return None
    name = _name(keys["profile"]) if "profile" in keys else ""
    origin = parse_origin(keys, Origin(Confidence.GUESS, ""))
    rules, exceptions = _detection(keys["detect"], origin) if "detect" in keys else ((), ())
    if not rules and name != _FALLBACK:
        node.wrong("'detect' needs at least one rule in 'any': no device would ever get this profile")
    indexes = {layout.name: layout for layout in _indexes(keys["indexes"], origin)}
    manners = _manners(keys["ask"]) if "ask" in keys else Manners()
    tables = tuple(_tables(keys["tables"], indexes, origin))
    _check_joins(keys["tables"], tables)
    _check_doubles(keys["tables"], tables)
    _check_never(keys["tables"], tables, manners)
    return Profile(
        name,
        keys["title"].text() if "title" in keys else "",
        keys["vendor"].text() if "vendor" in keys else "",
        rules,
        exceptions,
        tuple(indexes.values()),
        tables,
        manners,
        origin,
        tuple(_quirk(item, origin) for item in keys["quirks"].items()) if "quirks" in keys else (),
    )


def _name(node: Node) -> str:
    text = node.text()
    if not _NAME.fullmatch(text):
        node.wrong(f"'{text}' is no name: lower-case letters, digits and _")
    return text


def _detection(node: Node, origin: Origin) -> tuple[tuple[DetectRule, ...], tuple[DetectRule, ...]]:
    keys = node.map(("any", "except"), ("any",))
    rules = tuple(_rule(item, origin) for item in keys["any"].items()) if "any" in keys else ()
    exceptions = (
        tuple(_rule(item, origin, exception=True) for item in keys["except"].items())
        if "except" in keys
        else ()
    )
    return rules, exceptions


def _rule(node: Node, origin: Origin, *, exception: bool = False) -> DetectRule:
    keys = node.map(_RULE_KEYS)
    rule = DetectRule(
        parse_origin(keys, origin),
        keys["object_id"].oid() if "object_id" in keys else "",
        keys["object_id_under"].oid() if "object_id_under" in keys else "",
        keys["object_id_pattern"].pattern() if "object_id_pattern" in keys else None,
        keys["descr"].pattern() if "descr" in keys else None,
        keys["probe"].oid() if "probe" in keys else "",
        keys["probe_text"].pattern() if "probe_text" in keys else None,
        keys["model"].text() if "model" in keys else "",
    )
    exact = rule.object_id.count(".") + 1 > _OF_A_COMPANY
    if not exact and not exception and not (rule.probe or (rule.descr and _has_object_id(rule))):
        node.wrong(
            "says too little: a vendor's switches share its enterprise number and its words. Name a whole "
            "object_id, or an object_id with a descr, or a probe of a table that only this family has"
        )
    if rule.probe_text and not rule.probe:
        node.wrong("'probe_text' needs a 'probe'")
    return rule


def _has_object_id(rule: DetectRule) -> bool:
    return bool(rule.object_id or rule.object_id_under or rule.object_id_pattern)


def _indexes(node: Node, origin: Origin) -> list[IndexLayout]:
    layouts = []
    for key, value in node.pairs():
        keys = ("parts", "always", "confidence", "source")
        inner = value.map(keys, ("parts",)) if value.is_map else {"parts": value}
        if "parts" in inner:
            parts = index_parts(inner["parts"])
            always = always_parts(inner["always"], parts) if "always" in inner else ()
            layouts.append(IndexLayout(_name(key), parts, parse_origin(inner, origin), always))
    return layouts


def _manners(node: Node) -> Manners:
    keys = node.map(("bulk", "repetitions", "in_flight", "never"))
    never = []
    for item in keys["never"].items() if "never" in keys else []:
        inner = item.map(("oid", "why"), ("oid", "why"))
        if "oid" in inner and "why" in inner:
            never.append(NeverRead(inner["oid"].oid(), inner["why"].text()))
    return Manners(
        keys["bulk"].flag() if "bulk" in keys else True,
        keys["repetitions"].whole(1, 1000) if "repetitions" in keys else 0,
        keys["in_flight"].whole(1, 100) if "in_flight" in keys else 0,
        tuple(never),
    )


def _tables(node: Node, indexes: dict[str, IndexLayout], origin: Origin) -> list[Table]:
    return [
        table
        for key, value in node.pairs()
        if (table := _table(_name(key), value, indexes, origin)) is not None
    ]


def _table(name: str, node: Node, indexes: dict[str, IndexLayout], origin: Origin) -> Table | None:
    keys = node.map(_TABLE_KEYS, ("of", "index", "columns"))
    if not {"of", "index", "columns"} <= keys.keys():
        return None
    entity = Entity(keys["of"].choice(tuple(Entity)))
    if entity != keys["of"].text():
        # Whatever else could be said of it would be about another kind of thing.
        return None
    index = indexes.get(keys["index"].text())
    if index is None:
        keys["index"].wrong(f"there is no index '{keys['index'].text()}': there are {', '.join(indexes)}")
        return None
    if not any(needed <= index.gives for needed in _NEEDED[entity]):
        needed = " or ".join("+".join(sorted(each)) for each in _NEEDED[entity])
        keys["index"].wrong(f"index '{index.name}' does not tell {needed}, which a table of {entity} needs")
    mine = parse_origin(keys, origin)
    oid = keys["oid"].oid() if "oid" in keys else ""
    columns = tuple(
        column
        for key, value in keys["columns"].pairs()
        if (column := parse_column(key, value, entity, oid, mine)) is not None
    )
    table = Table(name, entity, index, columns, mine, line=node.line)
    if "technology" in keys:
        table = replace(table, technology=keys["technology"].text())
    return _asked(table, keys["ask"]) if "ask" in keys else table


def _asked(table: Table, node: Node) -> Table:
    keys = node.map(("how", "batch", "slow"))
    how = Asking(keys["how"].choice(tuple(Asking))) if "how" in keys else Asking.WALK
    if how is Asking.GET_ONLINE and table.entity is not Entity.ONU:
        node.wrong("only tables of ONUs can be asked for those that are online")
    return replace(
        table,
        asking=how,
        batch=keys["batch"].whole(1, 1000) if "batch" in keys else 0,
        slow=keys["slow"].flag() if "slow" in keys else False,
    )


def _quirk(node: Node, origin: Origin) -> Quirk:
    keys = node.map(("what", "confidence", "source"), ("what",))
    return Quirk(keys["what"].text() if "what" in keys else "", parse_origin(keys, origin))


def _check_joins(node: Node, tables: tuple[Table, ...]) -> None:
    """Tables about the same things must tell their places in the same way, or they cannot be joined."""
    first: dict[tuple[Entity, str], Table] = {}
    for table in tables:
        if "mac" in table.index.gives:
            continue
        other = first.setdefault((table.entity, table.technology), table)
        if other.index.gives != table.index.gives:
            node.notes.add(
                table.line,
                f"tables.{table.name}.index",
                f"tells {_listed(table)}, but '{other.name}' tells {_listed(other)}: they cannot be joined",
            )


def _listed(table: Table) -> str:
    return ", ".join(sorted(table.index.gives)) or "nothing"


def _check_doubles(node: Node, tables: tuple[Table, ...]) -> None:
    seen: dict[tuple[Entity, str, str], tuple[Table, Column]] = {}
    for table in tables:
        for column in table.columns:
            place = (table.entity, table.technology, column.fact)
            field = f"tables.{table.name}.columns.{column.fact}"
            if place not in seen and column.fallback:
                node.notes.add(column.line, field, "there is nothing before it that it could stand in for")
            elif place in seen and not column.fallback:
                other, before = seen[place]
                node.notes.add(
                    column.line,
                    field,
                    f"two columns for one fact: '{other.name}' has it too (line {before.line}); "
                    "put the second into 'otherwise' of the first, or make it a 'fallback'",
                )
            seen.setdefault(place, (table, column))


def _check_never(node: Node, tables: tuple[Table, ...], manners: Manners) -> None:
    for table in tables:
        for oid in table_oids(table):
            for never in manners.never:
                if f"{oid}.".startswith(f"{never.oid}."):
                    node.notes.add(
                        table.line, f"tables.{table.name}", f"{oid} is never to be read: {never.why}"
                    )
