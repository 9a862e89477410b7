"""YAML that remembers its lines: so that a mistake can be named with its file, line and field."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Final

import yaml

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.vendors.errors import BadProfile, Mistake

Scalar = str | int | float | bool | None
_LARGEST_FILE: Final = 1 << 20
_DEEPEST: Final = 50
_LARGEST_NUMBER_BITS: Final = 256
_NO_OID: Final = "0.0"
_DATE_TAG: Final = "tag:yaml.org,2002:timestamp"


class Notes:
    """The mistakes found so far, all of them: people mend a file in one go."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.mistakes: list[Mistake] = []

    def add(self, line: int, field: str, what: str) -> None:
        self.mistakes.append(Mistake(self.file, line, field, what))

    def raise_if_any(self) -> None:
        if self.mistakes:
            raise BadProfile(sorted(self.mistakes, key=lambda mistake: mistake.line))


class Node:
    """A value in the file. Reading it as what it is not notes a mistake and gives something harmless."""

    def __init__(self, node: yaml.Node, field: str, notes: Notes) -> None:
        self._node = node
        self.field = field
        self.notes = notes
        self.line: int = node.start_mark.line + 1
        self._unreadable = False

    def wrong(self, what: str) -> None:
        # What cannot be read at all is said once; that it is no number either goes without saying.
        if not self._unreadable:
            self.notes.add(self.line, self.field, what)

    @property
    def is_map(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)

    def scalar(self) -> Scalar:
        if not isinstance(self._node, yaml.ScalarNode):
            self._cannot_read("expected a single value")
            return None
        written: str = self._node.value
        if self._node.tag == _DATE_TAG:
            # What looks like a date is meant as the text that it is.
            return written
        try:
            value = _Constructor().construct(self._node)
        except (ValueError, LookupError, OverflowError, yaml.YAMLError):
            self._cannot_read(f"'{_short(written)}' cannot be read as {_short(self._node.tag)}")
            return None
        if isinstance(value, int) and value.bit_length() > _LARGEST_NUMBER_BITS:
            self._cannot_read(f"'{_short(written)}' is too large a number")
        elif value is None or isinstance(value, str | int | float | bool):
            return value
        else:
            self._cannot_read(f"a value of {_short(self._node.tag)} has no place in a profile")
        return None

    def _cannot_read(self, what: str) -> None:
        self.wrong(what)
        self._unreadable = True

    def text(self) -> str:
        value = self.scalar()
        return "" if value is None else str(value)

    def oid(self) -> str:
        """An OID; its text is taken from the file, because YAML reads 1.3 as a number."""
        text = self._node.value if isinstance(self._node, yaml.ScalarNode) else ""
        oid, why = checked_oid(text)
        if why:
            self.wrong(f"'{_short(text)}' is not an OID: {why}")
        return oid

    def whole(self, low: int | None = None, high: int | None = None) -> int:
        value = self.scalar()
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong(f"expected a whole number, not {value!r}")
            return low or 0
        if (low is not None and value < low) or (high is not None and value > high):
            self.wrong(f"{value} is not between {low} and {high}")
            return low or 0
        return value

    def number(self) -> float:
        """A number, or a fraction such as 1/256."""
        value = self.scalar()
        if isinstance(value, str):
            above, slash, below = value.partition("/")
            if slash and _is_whole(above) and _is_whole(below) and int(below):
                return int(above) / int(below)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            self.wrong(f"expected a number, not {value!r}")
            return 1.0
        return float(value)

    def flag(self) -> bool:
        value = self.scalar()
        if not isinstance(value, bool):
            self.wrong(f"expected yes or no, not {value!r}")
        return bool(value)

    def pattern(self) -> re.Pattern[str] | None:
        try:
            with warnings.catch_warnings():
                # What a later Python may read otherwise is still a regular expression.
                warnings.simplefilter("ignore")
                return re.compile(self.text())
        except (re.error, OverflowError, RecursionError) as error:
            self.wrong(f"this is no regular expression: {error}")
            return None

    def choice(self, choices: Iterable[str]) -> str:
        text, known = self.text(), tuple(choices)
        if text not in known:
            self.wrong(f"'{text}' is not one of {', '.join(known)}")
            return known[0]
        return text

    def items(self) -> list[Node]:
        """The items of a list; a single value counts as a list of one."""
        if isinstance(self._node, yaml.SequenceNode):
            return [
                Node(each, f"{self.field}[{number}]", self.notes)
                for number, each in enumerate(self._node.value)
            ]
        return [self]

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Key and value, in the order of the file. A key that comes twice is a mistake."""
        if not isinstance(self._node, yaml.MappingNode):
            self.wrong("expected a mapping (key: value)")
            return
        seen: set[str] = set()
        for key, value in self._node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            field = f"{self.field}.{name}" if self.field else name
            if name in seen:
                self.notes.add(key.start_mark.line + 1, field, "is there twice; one of them would be lost")
                continue
            seen.add(name)
            yield Node(key, field, self.notes), Node(value, field, self.notes)

    def map(self, known: Iterable[str], needed: Iterable[str] = ()) -> dict[str, Node]:
        """The keys of a mapping; those that are not known, or missing, are mistakes."""
        allowed = tuple(known)
        found: dict[str, Node] = {}
        for key, value in self.pairs():
            name = key.text()
            if name in allowed:
                found[name] = value
            else:
                key.wrong(f"unknown key '{name}': there are {', '.join(allowed)}")
        if self.is_map:
            for name in needed:
                if name not in found:
                    self.wrong(f"'{name}' is missing")
        return found


def checked_oid(text: str) -> tuple[str, str]:
    """The OID, and what is wrong with it; then it is one that does no harm."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return _NO_OID, "write it as numbers with dots, such as 1.3.6.1.2.1.2.2.1.8"
    if not 2 <= len(parts) <= MOST_ARCS:
        return _NO_OID, f"it needs 2 to {MOST_ARCS} numbers"
    if any(len(part.lstrip("0")) > 10 or int(part) > LARGEST_ARC for part in parts):
        return _NO_OID, f"a number is over {LARGEST_ARC}"
    arcs = [int(part) for part in parts]
    if arcs[0] > 2 or (arcs[0] < 2 and arcs[1] > 39):
        return _NO_OID, "it starts with 0.0 to 0.39, 1.0 to 1.39 or 2.x"
    return ".".join(map(str, arcs)), ""


def _is_whole(text: str) -> bool:
    text = text.strip()
    return text.isascii() and text.isdigit() and len(text) <= 30


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


class _Constructor(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """For one value: it keeps notes on what it makes, and several threads may read profiles at once."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    def construct(self, node: yaml.ScalarNode) -> object:
        value: object = self.construct_object(node)
        return value


# The one in C, where PyYAML was built with it, is ten times as fast.
_COMPOSER: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _too_deep(text: str) -> int:
    """The line where it gets too deep, or 0: the composer in C goes down by recursion, and dies of it."""
    depth = 0
    for event in yaml.parse(text, Loader=_COMPOSER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                return 1 if event.start_mark is None else event.start_mark.line + 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 0


def read(text: str, file: str) -> Node:
    """Raises BadProfile when the text is no YAML at all."""
    notes = Notes(file)
    if len(text) > _LARGEST_FILE:
        notes.add(1, "", f"a profile has at most {_LARGEST_FILE} characters")
        notes.raise_if_any()
    node = None
    try:
        line = _too_deep(text)
        if line:
            notes.add(line, "", f"more than {_DEEPEST} lists and mappings in one another")
        else:
            node = yaml.compose(text, Loader=_COMPOSER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"
        notes.add(1 if mark is None else mark.line + 1, "", f"this is not YAML: {problem}")
    if notes.mistakes or node is None:
        if not notes.mistakes:
            notes.add(1, "", "the file is empty")
        raise BadProfile(notes.mistakes)
    return Node(node, "", notes)
