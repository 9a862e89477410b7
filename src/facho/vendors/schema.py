"""A vendor profile as data. `parse` makes it from YAML, `decode` works by it, the simulator serves by it."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from facho.vendors.facts import FACTS, Confidence, Entity, Fact

PARTS = ("frame", "slot", "port", "onu", "uni", "row", "name", "mac")


@dataclass(frozen=True, slots=True)
class Origin:
    """How sure an entry is, and what it was learned from."""

    confidence: Confidence
    source: str


@dataclass(frozen=True, slots=True)
class BitField:
    """Some bits of an index number: `(number >> at & mask) + plus` is the part."""

    part: str
    at: int
    width: int
    plus: int = 0
    low: int | None = None
    high: int | None = None
    # Where it is less sure than the index that it is in.
    origin: Origin | None = None

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.at


@dataclass(frozen=True, slots=True)
class Bits:
    """One index number that holds several parts; the bits of none of them are those of `value`."""

    fields: tuple[BitField, ...]
    value: int
    origin: Origin | None = None
    # Its ports are numbered otherwise than in the names, such as after the uplinks.
    apart: bool = False

    @property
    def fixed(self) -> int:
        """The bits that must be as in `value`."""
        return 0xFFFF_FFFF & ~sum(field.mask for field in self.fields)


@dataclass(frozen=True, slots=True)
class Packed:
    """One index number, in one of several packings that their fixed bits tell apart."""

    packings: tuple[Bits, ...]
    # Numbers that are packed in none of these ways are of no interest: other interfaces in IF-MIB.
    ignore_others: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """One index number that is one part."""

    part: str
    plus: int = 0
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """One index number that says nothing about the ONU; the first row counts."""


@dataclass(frozen=True, slots=True)
class Only:
    """One index number that must be this; other rows are of no interest."""

    value: int


@dataclass(frozen=True, slots=True)
class OctetsPart:
    """So many index numbers that are the octets of a hardware address."""

    part: str
    count: int


@dataclass(frozen=True, slots=True)
class TextPart:
    """A text in the index: its length, then its characters."""

    part: str


@dataclass(frozen=True, slots=True)
class Named:
    """One index number whose meaning is the name that another column has for it, such as ifName.

    Where the names were not read, or as a check of them, `packings` may say how the number itself is built.
    They may tell more than the names do: those are of the ports then, and the numbers of their ONUs.
    """

    column: str
    names: tuple[str, ...]
    packings: tuple[Bits, ...] = ()
    ignore_others: bool = False


IndexPart = Packed | Plain | Skip | Only | OctetsPart | TextPart | Named


@dataclass(frozen=True, slots=True)
class IndexLayout:
    name: str
    parts: tuple[IndexPart, ...]
    origin: Origin
    # Parts that are not in the numbers, because these OLTs have only one such: slot 0 of a box without slots.
    always: tuple[tuple[str, int], ...] = ()

    @property
    def gives(self) -> frozenset[str]:
        """The parts of a place that it tells."""
        return frozenset((*parts_given(self.parts), *(part for part, _ in self.always)))

    @property
    def one_to_one(self) -> bool:
        """Whether every index is a place, and no two of them the same."""
        return not any(
            isinstance(part, Skip | Only | Named) or (isinstance(part, Packed) and part.ignore_others)
            for part in self.parts
        )

    @property
    def has_several_rows_each(self) -> bool:
        """Whether one place has several rows by rule, of which the first counts."""
        return any(isinstance(part, Skip) for part in self.parts)

    @property
    def named(self) -> Named | None:
        return next((part for part in self.parts if isinstance(part, Named)), None)


def parts_given(parts: tuple[IndexPart, ...]) -> Iterator[str]:
    """The parts that are in the numbers."""
    for part in parts:
        match part:
            case Packed():
                yield from (field.part for field in part.packings[0].fields)
            case Named():
                yield from parts_in_names(part.names)
                yield from (field.part for bits in part.packings[:1] for field in bits.fields)
            case Plain() | OctetsPart() | TextPart():
                yield part.part


def parts_in_names(names: tuple[str, ...]) -> list[str]:
    """The parts that names tell; all of them tell the same."""
    return re.findall(r"\{(\w+)\}", names[0])


@dataclass(frozen=True, slots=True)
class Word:
    """What a value of an enumeration means. No `meaning` is no value: the OLT could not say."""

    raw: int | str
    word: str
    meaning: str | None


@dataclass(frozen=True, slots=True)
class NumberInText:
    """Where the number is in a text: after and before these, if they are there."""

    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a raw value becomes a fact: marker, sign, scale, offset or dBm, then the plausible range."""

    no_value: tuple[int | str, ...] = ()
    signed: int = 0
    scale: float = 1.0
    # Raw values nearer to zero than this are in the unit already.
    unscaled_below: float = 0.0
    offset: float = 0.0
    # Milliwatts of a step of the raw value, where power is told linearly.
    milliwatts: float = 0.0
    number_in_text: NumberInText | None = None
    text_scale: float = 1.0
    low: float | None = None
    high: float | None = None
    enum: tuple[Word, ...] = ()
    strip: str = ""
    after: str = ""
    before: str = ""
    # Other values are of another fact, which shares the column.
    fits: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class When:
    """The value counts only in rows where another column has this raw value; or only where it has not."""

    oid: str
    value: int | str
    unless: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact can be read, and how, if it is not as its column is read."""

    oid: str
    when: When | None = None
    rule: Rule | None = None
    # The value is a share of what this column has in the same row, and is read as a percentage of it.
    percent_of: str = ""

    @property
    def helpers(self) -> Iterator[tuple[str, str]]:
        """The columns that have to be read with it: what each is for, and its OID."""
        if self.when is not None:
            yield "when", self.when.oid
        if self.percent_of:
            yield "whole", self.percent_of


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of a table: where it is, how to read it, and other places that some firmware has it in."""

    fact: str
    source: Source
    rule: Rule
    origin: Origin
    otherwise: tuple[Source, ...] = ()
    keep_last: bool = False
    note: str = ""
    line: int = 0
    # Another table has the fact too, and this one counts where that has no value.
    fallback: bool = False


class ReadMethod(enum.StrEnum):
    """How a table may be read."""

    WALK = "walk"
    GET_ONLINE = "get-online"


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    entity: Entity
    index: IndexLayout
    columns: tuple[Column, ...]
    origin: Origin
    technology: str = ""
    read_method: ReadMethod = ReadMethod.WALK
    # How many values of it one request may ask for; 0 is the client's own choice.
    batch: int = 0
    # What it costs the OLT, so that a slower schedule can be chosen.
    slow: bool = False
    line: int = 0

    def fact(self, column: Column) -> Fact:
        return FACTS[self.entity][column.fact]


@dataclass(frozen=True, slots=True)
class NeverRead:
    oid: str
    why: str


@dataclass(frozen=True, slots=True)
class RequestRules:
    """How gently to ask: for every table of the family."""

    bulk: bool = True
    repetitions: int = 0
    in_flight: int = 0
    never: tuple[NeverRead, ...] = ()


@dataclass(frozen=True, slots=True)
class DetectRule:
    """All that it names must hold. A `probe` is an OID under which there must be a row."""

    origin: Origin
    object_id: str = ""
    object_id_under: str = ""
    object_id_pattern: re.Pattern[str] | None = None
    descr: re.Pattern[str] | None = None
    probe: str = ""
    probe_text: re.Pattern[str] | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Quirk:
    what: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Profile:
    name: str
    title: str
    vendor: str
    rules: tuple[DetectRule, ...]
    exceptions: tuple[DetectRule, ...]
    indexes: tuple[IndexLayout, ...]
    tables: tuple[Table, ...]
    request_rules: RequestRules
    origin: Origin
    quirks: tuple[Quirk, ...] = ()

    def oids(self, *entities: Entity) -> tuple[str, ...]:
        """Every column to read for these entities (all of them, if none is named), each once."""
        found: dict[str, None] = {}
        for table in self.tables:
            if not entities or table.entity in entities:
                found.update(dict.fromkeys(table_oids(table)))
        return tuple(found)

    def origins(self) -> Iterator[Origin]:
        yield from (rule.origin for rule in self.rules)
        yield from (index.origin for index in self.indexes)
        for bits in (bits for index in self.indexes for part in index.parts for bits in packings_of(part)):
            origins = (bits.origin, *(field.origin for field in bits.fields))
            yield from (origin for origin in origins if origin is not None)
        yield from (column.origin for table in self.tables for column in table.columns)


def packings_of(part: IndexPart) -> tuple[Bits, ...]:
    return part.packings if isinstance(part, Packed | Named) else ()


def table_oids(table: Table) -> Iterator[str]:
    """What has to be read for this table, with the names that its index needs."""
    if table.index.named is not None:
        yield table.index.named.column
    for column in table.columns:
        for source in (column.source, *column.otherwise):
            yield source.oid
            yield from (oid for _, oid in source.helpers)
