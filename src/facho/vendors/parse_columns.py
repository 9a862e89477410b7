"""The columns of a profile's tables: where a fact is, and how a raw value becomes one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.vendors.facts import Confidence, Entity, Fact, Kind, Registry
from facho.vendors.profile_entries import (
    Entry,
    Fields,
    Form,
    bounds,
    checked_oid,
    list_of,
    one_of,
    unread,
    whole,
)
from facho.vendors.schema import Column, InterfaceSearch, NumberInText, Origin, Rule, Source, When, Word

ORIGIN_KEYS: Final = {"confidence": one_of(Confidence), "source": Entry.text}
_NO_MEANING: Final = "none"
_CELL_KEYS: Final = {"column": whole(0, LARGEST_ARC), "oid": Entry.oid}
_CELL: Final = Form(_CELL_KEYS, short="column")
_WHEN: Final = Form(
    {**_CELL_KEYS, "is": list_of(Entry.raw), "is_not": list_of(Entry.raw), "fits": Entry.pattern}
)
_SOURCE_KEYS: Final = {**_CELL_KEYS, "when": _WHEN.read, "percent_of": _CELL.read}
_WORD: Final = Form({"word": Entry.text, "is": unread}, ("word", "is"))
_NUMBER_IN_TEXT: Final = Form({"after": Entry.text, "before": Entry.text})


def _number_in_text(entry: Entry) -> NumberInText:
    if entry.is_map:
        return NumberInText(**_NUMBER_IN_TEXT.read(entry).values)
    entry.flag()
    return NumberInText()


_NUMBER_KEYS: Final = {
    "signed": whole(2, 64),
    "scale": Entry.factor,
    "unscaled_below": Entry.number,
    "offset": Entry.number,
    "milliwatts": Entry.factor,
    "number_in_text": _number_in_text,
    "number_in_octets": Entry.flag,
    "text_scale": Entry.factor,
    "range": bounds(Entry.number),
    "unit": Entry.text,
}
_RULE_KEYS: Final = {
    **_NUMBER_KEYS,
    "strip": Entry.text,
    "after": Entry.text,
    "before": Entry.text,
    "fits": Entry.pattern,
    "no_value": list_of(Entry.raw),
    "enum": unread,
}
_OTHERWISE: Final = Form({**_SOURCE_KEYS, **_RULE_KEYS, "if_missing": Entry.flag}, short="column")
_COLUMN: Final = Form(
    {
        **_SOURCE_KEYS,
        **_RULE_KEYS,
        "otherwise": list_of(_OTHERWISE.read),
        "fallback": Entry.flag,
        "keep_last": Entry.flag,
        "note": Entry.text,
        **ORIGIN_KEYS,
    },
    short="column",
)
# The keys that only facts of some kinds may have, and what these facts are called.
_KINDS: Final = {
    **dict.fromkeys(("percent_of", *_NUMBER_KEYS), ("numbers", (Kind.NUMBER, Kind.WHOLE))),
    "enum": ("states and texts", (Kind.WORD, Kind.TEXT)),
    "fits": ("serials and hardware addresses", (Kind.SERIAL, Kind.MAC)),
}


def parse_column(
    key: Entry, entry: Entry, entity: Entity, table_oid: str, origin: Origin, facts: Registry
) -> Column | None:
    name = key.text()
    fact = facts[entity].get(name)
    if fact is None:
        key.wrong(f"'{name}' is no fact of {entity}: there are {', '.join(facts[entity])}")
        return None
    if fact.kind is Kind.RATE:
        key.wrong(f"'{name}' is computed from a counter: name the counter")
        return None
    fields = _COLUMN.read(entry)
    source, rule = _parse_source(fields, table_oid), _parse_rule(fields, name, fact)
    otherwise = [_parse_otherwise(each, table_oid, name, fact) for each in fields.values.pop("otherwise", ())]
    origin = pop_origin(fields, origin)
    if source is None:
        return None
    return Column(
        name,
        source,
        rule,
        origin,
        tuple(each for each in otherwise if each is not None),
        meaning=fact,
        line=key.line,
        **fields.values,
    )


def pop_origin(fields: Fields, inherited: Origin) -> Origin:
    """Take the origin of an entry from its fields; what it does not name holds as for all around it."""
    given = {key: fields.values.pop(key) for key in ORIGIN_KEYS if key in fields.values}
    return replace(inherited, **given)


def _parse_otherwise(fields: Fields, table_oid: str, name: str, fact: Fact) -> Source | None:
    if_missing: bool = fields.values.pop("if_missing", False)
    source = _parse_source(fields, table_oid)
    rule = _parse_rule(fields, name, fact)
    if source is None:
        return None
    source = replace(source, if_missing=if_missing)
    # A place that says anything about how it is read takes nothing from the rule of its column.
    own = not fields.entries.keys().isdisjoint(_RULE_KEYS)
    return replace(source, rule=rule) if own else source


def _parse_source(fields: Fields, table_oid: str) -> Source | None:
    when: Fields | None = fields.values.pop("when", None)
    whole: Fields | None = fields.values.pop("percent_of", None)
    oid = _pop_oid(fields, table_oid)
    condition = parse_when(when, table_oid) if when else None
    percent_of = _pop_oid(whole, table_oid) if whole else None
    return None if oid is None else Source(oid, condition, percent_of=percent_of or "")


_INTERFACE: Final = Form({**_WHEN.keys, "within": list_of(bounds(Entry.whole))})


def parse_interface(entry: Entry) -> InterfaceSearch | None:
    """Return an interface to look for, from a condition and the ranges in which it may be."""
    fields = _INTERFACE.read(entry)
    within = fields.values.pop("within", ())
    when = parse_when(fields, "")
    return None if when is None else InterfaceSearch(when, within)


def parse_rows(entry: Entry, table_oid: str) -> tuple[When, ...]:
    """Return the conditions on the rows of a table: one, or a list of them."""
    found = (parse_when(_WHEN.read(item), table_oid) for item in entry.items())
    return tuple(when for when in found if when is not None)


def parse_when(fields: Fields, table_oid: str) -> When | None:
    oid = _pop_oid(fields, table_oid)
    if len(fields.values) != 1:
        fields.entry.wrong("needs 'is', 'is_not' or 'fits', and one of them only")
        return None
    [(key, value)] = fields.values.items()
    if value == ():
        fields.wrong(key, "there is no value in it")
    if oid is None or not value:
        return None
    return When(oid, fits=value) if key == "fits" else When(oid, value, unless=key == "is_not")


def _pop_oid(fields: Fields, table_oid: str) -> str | None:
    number: int | None = fields.values.pop("column", None)
    oid: str | None = fields.values.pop("oid", None)
    if oid is not None:
        return oid
    if number is None:
        fields.entry.wrong("needs 'column' (its number in the table) or 'oid'")
        return None
    if not table_oid:
        fields.wrong("column", f"column {number} of what? Its table has no 'oid'")
        return None
    oid, why = checked_oid(f"{table_oid}.{number}")
    if why:
        fields.wrong("column", f"with it, the OID of the table is none: {why}")
    return oid


def _parse_rule(fields: Fields, name: str, fact: Fact) -> Rule:
    for key, entry in fields.entries.items():
        facts, kinds = _KINDS.get(key, ("", (fact.kind,)))
        if fact.kind not in kinds:
            entry.wrong(f"'{key}' is for {facts}, and {name} is a {fact.kind}")
    values = {key: fields.values.pop(key) for key in _RULE_KEYS if key in fields.values}
    unit = values.pop("unit", fact.unit)
    if unit != fact.unit:
        fields.wrong(
            "unit", f"{name} is in {fact.unit or 'no unit'}, not in {unit}: scale the raw value to it"
        )
    if "scale" in values and "milliwatts" in values:
        fields.wrong("milliwatts", "'milliwatts' is a scale of its own: leave 'scale' out")
    low, high = values.pop("range", (None, None))
    words = (
        [_parse_word(key, entry, fact) for key, entry in values.pop("enum").pairs()]
        if "enum" in values
        else ()
    )
    return Rule(low=low, high=high, enum=tuple(word for word in words if word is not None), **values)


def _parse_word(key: Entry, entry: Entry, fact: Fact) -> Word | None:
    raw = key.raw()
    if not entry.is_map:
        return Word(raw, entry.text(), _meaning(entry, fact) if fact.words else entry.text())
    fields = _WORD.read(entry)
    return Word(raw, fields.values["word"], _meaning(fields.values["is"], fact)) if fields.complete else None


def _meaning(entry: Entry, fact: Fact) -> str | None:
    text = entry.text()
    if text == _NO_MEANING:
        return None
    if fact.words is None or text not in fact.words:
        known = ", ".join((*(fact.words or ()), _NO_MEANING))
        entry.wrong(f"'{text}' is not one of {known}; the vendor's own word goes into 'word'")
    return text
