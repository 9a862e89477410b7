"""The entries of a profile file with their lines and paths, and forms that say which of them may be where."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import yaml

from facho.core.oid_limits import LARGEST_ARC, MOST_ARCS
from facho.vendors.errors import BadProfile, Mistake

_T = TypeVar("_T")
Scalar = str | int | float | bool | None
_LARGEST_FILE: Final = 1 << 20
_DEEPEST: Final = 50
# Values in a file, with those of aliases each time that they are used.
_MOST_VALUES: Final = 200_000
_MOST_MISTAKES: Final = 100
_LONGEST_OID: Final = 300
_LARGEST_NUMBER_BITS: Final = 256
# Longer ones are not read at all: a number in base 60 takes minutes if it is as long as the file.
_LONGEST_NUMBER: Final = 200
_NUMBER_TAGS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_NO_OID: Final = "0.0"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_DATE_TAG: Final = "tag:yaml.org,2002:timestamp"
# The parts of a regular expression: escapes, classes, brackets of groups, repetitions, other characters.
_PATTERN_PART: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#[^)]*\)|[()*+]|\{\d+(?:,\d*)?\}|\{,\d+\}|.", re.DOTALL
)
_REPETITION: Final = re.compile(r"[*+]|\{\d*,(\d*)\}")
_FEW_TIMES: Final = 9


class Mistakes:
    """The mistakes found so far. All are collected, so that a person mends the file in one go."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Mistake] = []

    def add(self, line: int, field: str, what: str) -> None:
        """Raises BadProfile where there are so many that nobody reads them."""
        self.found.append(Mistake(self.file, line, field, what))
        if len(self.found) >= _MOST_MISTAKES:
            self.raise_if_any()

    def raise_if_any(self) -> None:
        if self.found:
            # A part of the file that is read twice has its mistakes twice.
            raise BadProfile(sorted(dict.fromkeys(self.found), key=lambda mistake: mistake.line))


class Entry:
    """A value of the file with its line and path.

    Reading it as a type that it is not adds a mistake and returns a harmless value of that type.
    """

    def __init__(self, node: yaml.Node, field: str, mistakes: Mistakes) -> None:
        self._node = node
        self.field = field
        self.mistakes = mistakes
        self.line: int = node.start_mark.line + 1
        self._unreadable = False

    def wrong(self, what: str) -> None:
        # A value that cannot be read at all is reported once, not again as "no number".
        if not self._unreadable:
            self.mistakes.add(self.line, self.field, what)

    @property
    def is_map(self) -> bool:
        return isinstance(self._node, yaml.MappingNode)

    def scalar(self) -> Scalar:
        if not isinstance(self._node, yaml.ScalarNode):
            self._cannot_read("expected a single value")
            return None
        written: str = self._node.value
        if self._node.tag == _DATE_TAG:
            # No field of a profile is a date; a text that looks like one stays a text.
            return written
        if self._node.tag in _NUMBER_TAGS and len(written) > _LONGEST_NUMBER:
            self._cannot_read(f"'{_short(written)}' is too large a number")
            return None
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

    def name(self) -> str:
        text = self.text()
        if not _NAME.fullmatch(text):
            self.wrong(f"'{text}' is not a name: lower-case letters, digits and _")
        return text

    def oid(self) -> str:
        """Return the OID as written in the file, because YAML reads 1.3 as a number."""
        text = self._node.value if isinstance(self._node, yaml.ScalarNode) else ""
        oid, why = checked_oid(text)
        if why:
            self.wrong(f"'{_short(text)}' is not an OID: {why}")
        return oid

    def raw(self) -> int | str:
        """Return a value as the device sends it."""
        value = self.scalar()
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self.wrong(f"expected a whole number or a text in quotes, not {value!r}")
        return ""

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
        """Return a number, which may be written as a fraction such as 1/256."""
        value = self.scalar()
        if isinstance(value, str):
            above, slash, below = value.partition("/")
            if slash and _is_whole(above) and _is_whole(below) and int(below):
                return int(above) / int(below)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            self.wrong(f"expected a number, not {value!r}")
            return 1.0
        return float(value)

    def factor(self) -> float:
        number = self.number()
        if not number:
            self.wrong("a factor of 0 would lose every value")
        return number or 1.0

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
                found = re.compile(self.text())
        except (re.error, OverflowError, RecursionError) as error:
            self.wrong(f"this is no regular expression: {error}")
            return None
        if _repeats_a_repetition(found.pattern):
            self.wrong("a repetition within a repetition, such as (a+)+, can take hours: write it as one")
        return found

    def choice(self, choices: Iterable[str]) -> str:
        text, known = self.text(), tuple(choices)
        if text not in known:
            self.wrong(f"'{text}' is not one of {', '.join(known)}")
            return known[0]
        return text

    def items(self) -> list[Entry]:
        """Return the items of a list; a single value counts as a list of one."""
        if isinstance(self._node, yaml.SequenceNode):
            return [
                Entry(each, f"{self.field}[{number}]", self.mistakes)
                for number, each in enumerate(self._node.value)
            ]
        return [self]

    def pairs(self) -> Iterator[tuple[Entry, Entry]]:
        """Yield key and value in the order of the file. A key that comes twice is a mistake."""
        if not isinstance(self._node, yaml.MappingNode):
            self.wrong("expected a mapping (key: value)")
            return
        seen: set[str] = set()
        for key, value in self._node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            field = f"{self.field}.{name}" if self.field else name
            if name in seen:
                self.mistakes.add(key.start_mark.line + 1, field, "is there twice; one of them would be lost")
                continue
            seen.add(name)
            yield Entry(key, field, self.mistakes), Entry(value, field, self.mistakes)


Read = Callable[[Entry], Any]


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping of the file that was read by its Form: the values of its keys, and where they are."""

    entry: Entry
    entries: dict[str, Entry]
    values: dict[str, Any]
    complete: bool

    def wrong(self, key: str, what: str) -> None:
        self.entries[key].wrong(what)

    def build(self, make: Callable[..., _T], **more: object) -> _T | None:
        """Call it with the values of the keys, or return None where a required one is missing."""
        return make(**self.values, **more) if self.complete else None


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The keys that a mapping may have, how each is read, and which are required.

    A form with `short` also takes a single value, which stands for that key.
    """

    keys: Mapping[str, Read]
    required: tuple[str, ...] = ()
    short: str = ""

    def read(self, entry: Entry) -> Fields:
        entries = {self.short: entry} if self.short and not entry.is_map else self._known(entry)
        missing = [key for key in self.required if key not in entries]
        for key in missing if entry.is_map else ():
            entry.wrong(f"'{key}' is missing")
        values = {key: self.keys[key](value) for key, value in entries.items()}
        return Fields(entry, entries, values, not missing)

    def _known(self, entry: Entry) -> dict[str, Entry]:
        known = {}
        for key, value in entry.pairs():
            name = key.text()
            if name in self.keys:
                known[name] = value
            else:
                key.wrong(f"unknown key '{name}': there are {', '.join(self.keys)}")
        return known


def whole(low: int, high: int) -> Read:
    return lambda entry: entry.whole(low, high)


def one_of(choices: Iterable[str]) -> Read:
    """Return a reader of one of these words; members of an enumeration stay members."""
    known = {str(choice): choice for choice in choices}
    return lambda entry: known[entry.choice(known)]


def line_of(longest: int, shortest: int = 0) -> Callable[[Entry], str]:
    """Return a reader of texts of one line that people see."""

    def read(entry: Entry) -> str:
        text = entry.text()
        if not shortest <= len(text) <= longest or not text.isprintable():
            entry.wrong(
                f"expected one line of {shortest or 'at most'}{' to' * bool(shortest)} {longest} characters"
            )
        return text

    return read


def list_of(read: Read) -> Read:
    """Return a reader of lists that leaves out the items that could not be read."""
    return lambda entry: tuple(value for item in entry.items() if (value := read(item)) is not None)


def bounds(read: Read) -> Read:
    """Return a reader of ranges [lowest, highest] whose ends are read by `read`."""

    def read_bounds(entry: Entry) -> tuple[Any, Any]:
        ends = [read(item) for item in entry.items()]
        if len(ends) == 2 and ends[0] <= ends[1]:
            return ends[0], ends[1]
        entry.wrong("expected [lowest, highest]")
        return None, None

    return read_bounds


def unread(entry: Entry) -> Entry:
    """Leave an entry to be read when that is known on which it depends."""
    return entry


def checked_oid(text: str) -> tuple[str, str]:
    """Return the OID and an empty text, or a harmless OID and what is wrong with the text."""
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        return _NO_OID, "write it as numbers with dots, such as 1.3.6.1.2.1.2.2.1.8"
    if not 2 <= len(parts) <= MOST_ARCS:
        return _NO_OID, f"it needs 2 to {MOST_ARCS} numbers"
    if len(text) > _LONGEST_OID:
        return _NO_OID, f"it has at most {_LONGEST_OID} characters"
    if any(len(part.lstrip("0")) > 10 or int(part) > LARGEST_ARC for part in parts):
        return _NO_OID, f"a number is over {LARGEST_ARC}"
    arcs = [int(part) for part in parts]
    if arcs[0] > 2 or (arcs[0] < 2 and arcs[1] > 39):
        return _NO_OID, "it starts with 0.0 to 0.39, 1.0 to 1.39 or 2.x"
    return ".".join(map(str, arcs)), ""


def _repeats_a_repetition(pattern: str) -> bool:
    """Return whether a group that may come often has a part that may come often.

    Each more character of a text can double the time that matching it takes, and nothing can interrupt that.
    """
    groups, before = [False], False
    for part in _PATTERN_PART.findall(pattern):
        is_repetition = _may_come_often(part)
        if is_repetition and before:
            return True
        if part == "(":
            groups.append(False)
        # A comment of a verbose expression may have a bracket alone.
        before = part == ")" and len(groups) > 1 and groups.pop()
        groups[-1] |= before or is_repetition
    return False


def _may_come_often(part: str) -> bool:
    found = _REPETITION.fullmatch(part)
    return found is not None and (not found[1] or int(found[1]) > _FEW_TIMES)


def _is_whole(text: str) -> bool:
    text = text.strip()
    return text.isascii() and text.isdigit() and len(text) <= 30


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


class _Constructor(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """A constructor for one value: it keeps state, and several threads may read profiles at once."""

    def __init__(self) -> None:
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    def construct(self, node: yaml.ScalarNode) -> object:
        value: object = self.construct_object(node)
        return value


# The one in C, where PyYAML was built with it, is ten times as fast.
_COMPOSER: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _too_deep(text: str) -> int:
    """Return the line where nesting gets too deep, or 0: the composer in C recurses and would crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_COMPOSER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                return 1 if event.start_mark is None else event.start_mark.line + 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 0


def _too_large(node: yaml.Node) -> str:
    """Return why a file is refused whose aliases make it larger than it looks, or an empty text."""
    sizes: dict[int, int | None] = {}

    def size_of(each: yaml.Node) -> int:
        known = sizes.get(id(each), 0)
        if known is None:
            raise RecursionError
        if known:
            return known
        sizes[id(each)] = None
        parts = each.value if isinstance(each, yaml.CollectionNode) else ()
        inner = (part for item in parts for part in (item if isinstance(item, tuple) else (item,)))
        total = 1 + sum(map(size_of, inner))
        sizes[id(each)] = total
        return total

    try:
        if size_of(node) > _MOST_VALUES:
            return f"its aliases stand for more than {_MOST_VALUES} values"
    except RecursionError:
        return "its aliases stand for themselves, or are too deep in one another"
    return ""


def read_file(text: str, file: str) -> Entry:
    """Return the entry that holds the whole file. Raises BadProfile where the text is not YAML."""
    mistakes = Mistakes(file)
    node = None
    try:
        if len(text) > _LARGEST_FILE:
            mistakes.add(1, "", f"a profile has at most {_LARGEST_FILE} characters")
        elif line := _too_deep(text):
            mistakes.add(line, "", f"more than {_DEEPEST} lists and mappings in one another")
        else:
            node = yaml.compose(text, Loader=_COMPOSER)
            if node is None:
                mistakes.add(1, "", "the file is empty")
            elif why := _too_large(node):
                mistakes.add(1, "", why)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"
        mistakes.add(1 if mark is None else mark.line + 1, "", f"this is not YAML: {problem}")
    mistakes.raise_if_any()
    assert node is not None
    return Entry(node, "", mistakes)
