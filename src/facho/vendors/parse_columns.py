"""The columns of a profile's tables: where a fact is, and how a raw value becomes one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from facho.core.oid_limits import LARGEST_ARC
from facho.vendors.nodes import Node, checked_oid
from facho.vendors.schema import Column, NumberInText, Origin, Rule, Source, When, Word
from facho.vendors.vocabulary import FACTS, Confidence, Entity, Fact, Kind

_PLACE_KEYS: Final = ("column", "oid", "when", "percent_of")
_NUMBER_KEYS: Final = (
    "signed", "scale", "unscaled_below", "offset", "milliwatts", "number_in_text", "text_scale", "range",
    "unit",
)  # fmt: skip
_TEXT_KEYS: Final = ("strip", "after", "before", "fits")
_READING_KEYS: Final = (*_NUMBER_KEYS, *_TEXT_KEYS, "no_value", "enum")
_OTHER_KEYS: Final = ("otherwise", "fallback", "keep_last", "note", "confidence", "source")
_KEYS: Final = (*_PLACE_KEYS, *_READING_KEYS, *_OTHER_KEYS)
_NUMERIC: Final = (Kind.NUMBER, Kind.WHOLE)
_NONE: Final = "none"


def parse_column(key: Node, node: Node, entity: Entity, table_oid: str, origin: Origin) -> Column | None:
    name = key.text()
    fact = FACTS[entity].get(name)
    if fact is None:
        key.wrong(f"'{name}' is no fact of {entity}: there are {', '.join(FACTS[entity])}")
        return None
    keys = node.map(_KEYS) if node.is_map else {"column": node}
    _check_kind(keys, name, fact)
    source = _source(node, keys, table_oid)
    if source is None:
        return None
    return Column(
        name,
        source,
        _rule(keys, fact),
        parse_origin(keys, origin),
        tuple(_otherwise(keys["otherwise"], table_oid, name, fact)) if "otherwise" in keys else (),
        keys["keep_last"].flag() if "keep_last" in keys else False,
        keys["note"].text() if "note" in keys else "",
        key.line,
        keys["fallback"].flag() if "fallback" in keys else False,
    )


def parse_origin(keys: dict[str, Node], inherited: Origin) -> Origin:
    """What an entry says of itself, else what holds for all around it."""
    confidence, source = inherited.confidence, inherited.source
    if "confidence" in keys:
        confidence = Confidence(keys["confidence"].choice(tuple(Confidence)))
    if "source" in keys:
        source = keys["source"].text()
    return Origin(confidence, source)


def _check_kind(keys: dict[str, Node], name: str, fact: Fact) -> None:
    if fact.kind not in _NUMERIC:
        for key in ("percent_of", *_NUMBER_KEYS):
            if key in keys:
                keys[key].wrong(f"'{key}' is for numbers, and {name} is a {fact.kind}")
    if "enum" in keys and fact.kind not in (Kind.WORD, Kind.TEXT):
        keys["enum"].wrong(f"'enum' is for states and texts, and {name} is a {fact.kind}")
    if "fits" in keys and fact.kind not in (Kind.SERIAL, Kind.MAC):
        keys["fits"].wrong(f"'fits' is for serials and hardware addresses, and {name} is a {fact.kind}")
    if "unit" in keys and keys["unit"].text() != fact.unit:
        keys["unit"].wrong(
            f"{name} is in {fact.unit or 'no unit'}, not in {keys['unit'].text()}: scale the raw value to it"
        )
    if "scale" in keys and "milliwatts" in keys:
        keys["milliwatts"].wrong("'milliwatts' is a scale of its own: leave 'scale' out")


def _source(node: Node, keys: dict[str, Node], table_oid: str) -> Source | None:
    oid = _oid(node, keys, table_oid)
    if oid is None:
        return None
    when = _when(keys["when"], table_oid) if "when" in keys else None
    whole = _whole(keys["percent_of"], table_oid) if "percent_of" in keys else None
    return Source(oid, when, percent_of=whole or "")


def _when(node: Node, table_oid: str) -> When | None:
    keys = node.map(("column", "oid", "is", "is_not"))
    deciding = _oid(node, keys, table_oid)
    if ("is" in keys) == ("is_not" in keys):
        node.wrong("needs 'is' or 'is_not', and one of them only")
        return None
    unless = "is_not" in keys
    return None if deciding is None else When(deciding, _raw(keys["is_not" if unless else "is"]), unless)


def _whole(node: Node, table_oid: str) -> str | None:
    return _oid(node, node.map(("column", "oid")) if node.is_map else {"column": node}, table_oid)


def _oid(node: Node, keys: dict[str, Node], table_oid: str) -> str | None:
    if "oid" in keys:
        return keys["oid"].oid()
    if "column" not in keys:
        node.wrong("needs 'column' (its number in the table) or 'oid'")
        return None
    number = keys["column"].whole(0, LARGEST_ARC)
    if not table_oid:
        keys["column"].wrong(f"column {number} of what? Its table has no 'oid'")
        return None
    oid, why = checked_oid(f"{table_oid}.{number}")
    if why:
        keys["column"].wrong(f"with it, the OID of the table is none: {why}")
    return oid


def _otherwise(node: Node, table_oid: str, name: str, fact: Fact) -> list[Source]:
    sources = []
    for item in node.items():
        keys = item.map((*_PLACE_KEYS, *_READING_KEYS)) if item.is_map else {"column": item}
        _check_kind(keys, name, fact)
        source = _source(item, keys, table_oid)
        if source is None:
            continue
        # With a word of its own on how to read it, nothing of the column's holds for it.
        own = not keys.keys().isdisjoint(_READING_KEYS)
        sources.append(replace(source, rule=_rule(keys, fact)) if own else source)
    return sources


def _raw(node: Node) -> int | str:
    value = node.scalar()
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        node.wrong(f"expected a whole number or a text in quotes, not {value!r}")
        return ""
    return value


def _rule(keys: dict[str, Node], fact: Fact) -> Rule:
    low, high = _range(keys)
    return Rule(
        tuple(_raw(item) for item in keys["no_value"].items()) if "no_value" in keys else (),
        keys["signed"].whole(2, 64) if "signed" in keys else 0,
        _factor(keys, "scale"),
        keys["unscaled_below"].number() if "unscaled_below" in keys else 0.0,
        keys["offset"].number() if "offset" in keys else 0.0,
        _factor(keys, "milliwatts") if "milliwatts" in keys else 0.0,
        _number_in_text(keys["number_in_text"]) if "number_in_text" in keys else None,
        _factor(keys, "text_scale"),
        low,
        high,
        tuple(_words(keys["enum"], fact)) if "enum" in keys else (),
        keys["strip"].text() if "strip" in keys else "",
        keys["after"].text() if "after" in keys else "",
        keys["before"].text() if "before" in keys else "",
        keys["fits"].pattern() if "fits" in keys else None,
    )


def _factor(keys: dict[str, Node], name: str) -> float:
    if name not in keys:
        return 1.0
    factor = keys[name].number()
    if not factor:
        keys[name].wrong(f"a {name} of 0 would lose every value")
        return 1.0
    return factor


def _range(keys: dict[str, Node]) -> tuple[float | None, float | None]:
    if "range" not in keys:
        return None, None
    ends = [item.number() for item in keys["range"].items()]
    if len(ends) != 2 or ends[0] >= ends[1]:
        keys["range"].wrong("expected [lowest, highest]")
        return None, None
    return ends[0], ends[1]


def _number_in_text(node: Node) -> NumberInText:
    if not node.is_map:
        node.flag()
        return NumberInText()
    keys = node.map(("after", "before"))
    return NumberInText(
        keys["after"].text() if "after" in keys else "", keys["before"].text() if "before" in keys else ""
    )


def _words(node: Node, fact: Fact) -> list[Word]:
    words = []
    for key, value in node.pairs():
        raw = _raw(key)
        if not value.is_map:
            text = value.text()
            words.append(Word(raw, text, _meaning(value, text, fact) if fact.words else text))
            continue
        keys = value.map(("word", "is"), ("word", "is"))
        if "word" in keys and "is" in keys:
            meaning = _meaning(keys["is"], keys["is"].text(), fact)
            words.append(Word(raw, keys["word"].text(), meaning))
    return words


def _meaning(node: Node, text: str, fact: Fact) -> str | None:
    if text == _NONE:
        return None
    if fact.words is None or text not in fact.words:
        known = ", ".join((*(fact.words or ()), _NONE))
        node.wrong(f"'{text}' is not one of {known}; the vendor's own word goes into 'word'")
    return text
