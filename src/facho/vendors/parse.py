"""A profile from its YAML, or every mistake in it with file, line and field."""

from __future__ import annotations

from typing import Final

from facho.vendors.facts import (
    FACTS,
    Confidence,
    Entity,
    Registry,
    check_declared,
    join_facts,
    parse_facts,
)
from facho.vendors.parse_columns import ORIGIN_KEYS, parse_column, parse_interface, parse_rows, pop_origin
from facho.vendors.parse_index import parse_layout
from facho.vendors.profile_entries import (
    Entry,
    Form,
    Mistakes,
    line_of,
    list_of,
    one_of,
    read_file,
    unread,
    whole,
)
from facho.vendors.schema import (
    Column,
    DetectRule,
    IndexLayout,
    NeverRead,
    Origin,
    Profile,
    Quirk,
    ReadMethod,
    RequestRules,
    Table,
    table_oids,
)

# What the columns of the database hold.
_LONGEST_NAME: Final = 40
_LONGEST_TITLE: Final = 120
_LONGEST_MODEL: Final = 60


def _short_name(entry: Entry) -> str:
    name = entry.name()
    if len(name) > _LONGEST_NAME:
        entry.wrong(f"a name has at most {_LONGEST_NAME} characters")
    return name


_NEVER: Final = Form({"oid": Entry.oid, "why": Entry.text}, ("oid", "why"))
_MANNERS: Final = Form(
    {
        "bulk": Entry.flag,
        "repetitions": whole(1, 1000),
        "in_flight": whole(1, 100),
        "never": list_of(lambda entry: _NEVER.read(entry).build(NeverRead)),
    }
)
_DETECT: Final = Form({"any": unread, "except": unread}, ("any",))
_DETECT_RULE: Final = Form(
    {
        "object_id": Entry.oid,
        "object_id_under": Entry.oid,
        "object_id_pattern": Entry.pattern,
        "descr": Entry.pattern,
        "probe": Entry.oid,
        "probe_text": Entry.pattern,
        "interface": parse_interface,
        "model": line_of(_LONGEST_MODEL),
        **ORIGIN_KEYS,
    }
)
_ASK: Final = Form({"how": one_of(ReadMethod), "batch": whole(1, 1000), "slow": Entry.flag})
_TABLE: Final = Form(
    {
        "of": one_of(Entity),
        "oid": Entry.oid,
        "index": Entry.text,
        "technology": Entry.text,
        "rows": unread,
        "ask": _ASK.read,
        "columns": unread,
        **ORIGIN_KEYS,
    },
    ("of", "index", "columns"),
)
_QUIRK: Final = Form({"what": Entry.text, **ORIGIN_KEYS}, ("what",))
_PROFILE: Final = Form(
    {
        "profile": _short_name,
        "title": line_of(_LONGEST_TITLE),
        "vendor": line_of(_LONGEST_TITLE),
        **ORIGIN_KEYS,
        "detect": _DETECT.read,
        "ask": lambda entry: _MANNERS.read(entry).build(RequestRules),
        "facts": unread,
        "indexes": unread,
        "tables": unread,
        "quirks": list_of(_QUIRK.read),
    },
    ("profile", "title", "tables", "indexes", "confidence", "source"),
)
# The parts that the index of a table of each entity must have: one of the sets.
_NEEDED: Final[dict[Entity, tuple[frozenset[str], ...]]] = {
    Entity.ONU: (frozenset({"onu"}), frozenset({"name"}), frozenset({"row"}), frozenset({"mac"})),
    Entity.UNI: (frozenset({"onu", "uni"}),),
    Entity.PORT: (frozenset({"port"}),),
    Entity.BOARD: (frozenset({"slot"}), frozenset({"row"})),
    Entity.FAN: (frozenset({"row"}), frozenset({"slot"})),
    Entity.PSU: (frozenset({"row"}), frozenset({"slot"})),
    Entity.UPLINK: (frozenset({"row"}), frozenset({"name"})),
    Entity.OLT: (frozenset(),),
    Entity.AUTOFIND: (frozenset({"row"}), frozenset({"onu"})),
}
# The shortest OID that is more than a company's number: 1.3.6.1.4.1.<company>.<something>.
_OF_A_COMPANY: Final = 7
_FALLBACK: Final = "generic"
_FACTS: Final = "facts"


def is_profile(entry: Entry) -> bool:
    """Return whether a file has more than facts: one without its name is no profile, but a mistake."""
    return not entry.is_map or {key.text() for key, _ in entry.pairs()} != {_FACTS}


def parse_facts_of_file(entry: Entry, known: Registry = FACTS) -> Registry:
    """Read the facts that a file declares, whatever else it has. Mistakes are added to those of the file."""
    sections = [value for key, value in entry.pairs() if key.text() == _FACTS] if entry.is_map else []
    return _parse_own_facts(sections[0], known) if sections else {}


def name_of_profile(entry: Entry) -> str:
    """Return the name of the profile in a file, also of one with mistakes; empty for none."""
    found = [value.text() for key, value in entry.pairs() if key.text() == "profile"] if entry.is_map else []
    return found[0] if found else ""


def parse_profile(text: str, file: str, known: Registry = FACTS, own_file: str = "") -> Profile:
    """Return the profile in a text. Its columns may have the known facts, and those that it declares.

    Raises BadProfile.
    """
    entry = read_file(text, file)
    fields = _PROFILE.read(entry)
    values = fields.values
    origin = pop_origin(fields, Origin(Confidence.GUESS, ""))
    detect = values["detect"].values if "detect" in values else {}
    rules, exceptions = (
        tuple(_parse_detect_rule(item, origin, exception=key == "except") for item in detect[key].items())
        if key in detect
        else ()
        for key in ("any", "except")
    )
    if not rules and values.get("profile") != _FALLBACK:
        entry.wrong("'detect' needs at least one rule in 'any': no device would ever get this profile")
    own_facts = _parse_own_facts(values["facts"], known) if "facts" in values else {}
    facts = join_facts(known, own_facts)
    indexes = {
        layout.name: layout
        for key, value in (values["indexes"].pairs() if "indexes" in values else ())
        if (layout := parse_layout(_short_name(key), value, origin)) is not None
    }
    tables = tuple(
        table
        for key, value in (values["tables"].pairs() if "tables" in values else ())
        if (table := _parse_table(_short_name(key), value, indexes, origin, facts)) is not None
    )
    request_rules: RequestRules = values.get("ask", RequestRules())
    _check_joins(entry.mistakes, tables)
    _check_doubles(entry.mistakes, tables)
    _check_never(entry.mistakes, tables, request_rules)
    quirks = [each.build(Quirk, origin=pop_origin(each, origin)) for each in values.get("quirks", ())]
    entry.mistakes.raise_if_any()
    return Profile(
        values["profile"],
        values["title"],
        values.get("vendor", ""),
        rules,
        exceptions,
        tuple(indexes.values()),
        tables,
        request_rules,
        origin,
        tuple(quirk for quirk in quirks if quirk is not None),
        own_facts,
        own_file,
    )


def _parse_own_facts(entry: Entry, known: Registry) -> Registry:
    own = parse_facts(entry)
    check_declared(entry.mistakes, own, known)
    return own


def _parse_detect_rule(entry: Entry, origin: Origin, *, exception: bool) -> DetectRule:
    fields = _DETECT_RULE.read(entry)
    rule = DetectRule(pop_origin(fields, origin), **fields.values)
    exact = rule.object_id.count(".") + 1 > _OF_A_COMPANY
    has_object_id = rule.object_id or rule.object_id_under or rule.object_id_pattern
    told_by_names = rule.descr and has_object_id
    told_by_interface = rule.interface and has_object_id
    if not exact and not exception and not (rule.probe or told_by_names or told_by_interface):
        entry.wrong(
            "says too little: a vendor's switches share its enterprise number and its words. Name a whole "
            "object_id, or an object_id with a descr or an interface, or a probe of a table that only this "
            "family has"
        )
    if rule.probe_text and not rule.probe:
        entry.wrong("'probe_text' needs a 'probe'")
    return rule


def _parse_table(
    name: str, entry: Entry, indexes: dict[str, IndexLayout], origin: Origin, facts: Registry
) -> Table | None:
    fields = _TABLE.read(entry)
    values = fields.values
    if not fields.complete or values["of"] != fields.entries["of"].text():
        # Without its entity, every further mistake would be about another kind of thing.
        return None
    entity: Entity = values["of"]
    index = indexes.get(values["index"])
    if index is None:
        fields.wrong("index", f"there is no index '{values['index']}': there are {', '.join(indexes)}")
        return None
    if not any(needed <= index.gives for needed in _NEEDED[entity]):
        needed = " or ".join("+".join(sorted(each)) for each in _NEEDED[entity])
        fields.wrong("index", f"index '{index.name}' does not tell {needed}, which a table of {entity} needs")
    asked = values["ask"].values if "ask" in values else {}
    if asked.get("how") is ReadMethod.GET_ONLINE and entity is not Entity.ONU:
        fields.wrong("ask", "only tables of ONUs can be asked for those that are online")
    origin = pop_origin(fields, origin)
    columns = [
        parse_column(key, value, entity, values.get("oid", ""), origin, facts)
        for key, value in values["columns"].pairs()
    ]
    return Table(
        name,
        entity,
        index,
        tuple(column for column in columns if column is not None),
        origin,
        values.get("technology", ""),
        asked.get("how", ReadMethod.WALK),
        asked.get("batch", 0),
        asked.get("slow", False),
        entry.line,
        parse_rows(values["rows"], values.get("oid", "")) if "rows" in values else (),
    )


def _check_joins(mistakes: Mistakes, tables: tuple[Table, ...]) -> None:
    """Tables of the same entity must have the same parts in their index, or they cannot be joined."""
    first: dict[tuple[Entity, str], Table] = {}
    for table in tables:
        if "mac" in table.index.gives:
            continue
        other = first.setdefault((table.entity, table.technology), table)
        if other.index.gives != table.index.gives:
            mine, others = (", ".join(sorted(each.index.gives)) or "nothing" for each in (table, other))
            mistakes.add(
                table.line,
                f"tables.{table.name}.index",
                f"tells {mine}, but '{other.name}' tells {others}: they cannot be joined",
            )


def _check_doubles(mistakes: Mistakes, tables: tuple[Table, ...]) -> None:
    seen: dict[tuple[Entity, str, str], tuple[Table, Column]] = {}
    for table in tables:
        for column in table.columns:
            place = (table.entity, table.technology, column.fact)
            field = f"tables.{table.name}.columns.{column.fact}"
            if place not in seen and column.fallback:
                mistakes.add(column.line, field, "there is nothing before it that it could stand in for")
            elif place in seen and not column.fallback:
                other, before = seen[place]
                mistakes.add(
                    column.line,
                    field,
                    f"two columns for one fact: '{other.name}' has it too (line {before.line}); "
                    "put the second into 'otherwise' of the first, or make it a 'fallback'",
                )
            seen.setdefault(place, (table, column))


def _check_never(mistakes: Mistakes, tables: tuple[Table, ...], request_rules: RequestRules) -> None:
    never = {each.oid: each.why for each in request_rules.never}
    for table in tables:
        for oid in table_oids(table):
            arcs = oid.split(".")
            for length in range(1, len(arcs) + 1):
                if why := never.get(".".join(arcs[:length])):
                    mistakes.add(table.line, f"tables.{table.name}", f"{oid} is never to be read: {why}")
