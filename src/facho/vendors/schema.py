"""A vendor profile as data: made from YAML by `parse`, used by `decode`, `encode` and the simulator."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from facho.vendors.facts import Confidence, Entity, Fact, Registry

LONGEST_NAME = 255
PARTS = ("frame", "slot", "port", "onu", "uni", "row", "name", "mac")


@dataclass(frozen=True, slots=True)
class Origin:
    """The confidence in an entry, and the source of it."""

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
    # Set where the confidence is another than that of its index.
    origin: Origin | None = None

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.at


@dataclass(frozen=True, slots=True)
class Bits:
    """One index number that holds several parts; all other bits are those of `value`."""

    fields: tuple[BitField, ...]
    value: int
    origin: Origin | None = None
    # Its ports have other numbers than in their names: they are counted after the uplinks, for example.
    apart: bool = False

    @property
    def fixed(self) -> int:
        """Return the bits that must be as in `value`."""
        return 0xFFFF_FFFF & ~sum(field.mask for field in self.fields)


@dataclass(frozen=True, slots=True)
class Packed:
    """One index number, in one of several packings that their fixed bits tell apart."""

    packings: tuple[Bits, ...]
    # Ignore numbers of no packing: other interfaces in IF-MIB.
    ignore_others: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """One index number that is one part."""

    part: str
    plus: int = 0
    low: int | None = None
    high: int | None = None
    # Ignore numbers out of its range: other interfaces in IF-MIB.
    ignore_others: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """One index number that is ignored; the first row counts."""


@dataclass(frozen=True, slots=True)
class Only:
    """One index number that must have this value; other rows are ignored."""

    value: int


@dataclass(frozen=True, slots=True)
class OctetsPart:
    """Index numbers that are the octets of a hardware address."""

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
    They may have more parts than the names: then the names are those of ports, and the numbers of ONUs.
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
        """Return the parts of a place that it has."""
        return frozenset((*parts_given(self.parts), *(part for part, _ in self.always)))

    @property
    def one_to_one(self) -> bool:
        """Return whether every index is a place, and no two are the same place."""
        return not any(
            isinstance(part, Skip | Only | Named) or (isinstance(part, Packed | Plain) and part.ignore_others)
            for part in self.parts
        )

    @property
    def has_several_rows_each(self) -> bool:
        """Return whether one place has several rows, of which the first counts."""
        return any(isinstance(part, Skip) for part in self.parts)

    @property
    def named(self) -> Named | None:
        return next((part for part in self.parts if isinstance(part, Named)), None)


def parts_given(parts: tuple[IndexPart, ...]) -> Iterator[str]:
    """Yield the parts that are in the numbers."""
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
    """Return the parts in the names; all names have the same."""
    return re.findall(r"\{(\w+)\}", names[0])


@dataclass(frozen=True, slots=True)
class Word:
    """The meaning of a value of an enumeration; None where it means that there is no value."""

    raw: int | str
    word: str
    meaning: str | None


@dataclass(frozen=True, slots=True)
class NumberInText:
    """The texts after and before which a number stands in a text, where they are present."""

    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """Conversion of a raw value to a fact: markers, sign, scale, offset or dBm, then the plausible range."""

    no_value: tuple[int | str, ...] = ()
    signed: int = 0
    scale: float = 1.0
    # Raw values nearer to zero than this are not scaled.
    unscaled_below: float = 0.0
    offset: float = 0.0
    # Milliwatts of a step of the raw value, where power is linear.
    milliwatts: float = 0.0
    number_in_text: NumberInText | None = None
    # A number may come as a text of so many octets, the highest first.
    number_in_octets: bool = False
    text_scale: float = 1.0
    low: float | None = None
    high: float | None = None
    enum: tuple[Word, ...] = ()
    strip: str = ""
    after: str = ""
    before: str = ""
    # Values that do not fit are of another fact in the same column.
    fits: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class When:
    """A condition on rows: another column has one of these raw values, or a text of this form; or has not."""

    oid: str
    values: tuple[int | str, ...] = ()
    fits: re.Pattern[str] | None = None
    unless: bool = False

    def holds(self, raw: object) -> bool:
        """Return whether the condition holds where that column has this raw value; None where it has none."""
        if self.fits is not None:
            return (
                isinstance(raw, bytes) and len(raw) <= LONGEST_NAME and bool(self.fits.fullmatch(_text(raw)))
            )
        having = any(raw == (each.encode() if isinstance(each, str) else each) for each in self.values)
        return having is not self.unless


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip("\0 ")


@dataclass(frozen=True, slots=True)
class Source:
    """A column of the device that has a fact; `rule` where it is not read by the rule of its column."""

    oid: str
    when: When | None = None
    rule: Rule | None = None
    # The OID of the column that is 100 % of the value.
    percent_of: str = ""
    # Of the places in `otherwise`: asked for only while the OLT does not have the column itself.
    if_missing: bool = False

    @property
    def helpers(self) -> Iterator[tuple[str, str]]:
        """Yield the columns that its own rules need: the purpose and OID of each."""
        if self.when is not None:
            yield "when", self.when.oid
        if self.percent_of:
            yield "whole", self.percent_of


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of a table: its column and rule, and other columns that have it in some firmware."""

    fact: str
    source: Source
    rule: Rule
    origin: Origin
    otherwise: tuple[Source, ...] = ()
    # The entry of the fact in the registry.
    meaning: Fact = field(kw_only=True)
    keep_last: bool = False
    note: str = ""
    line: int = 0
    # Another table has the fact too; this one counts where that has no value.
    fallback: bool = False


class ReadMethod(enum.StrEnum):
    """The requests by which a table may be read."""

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
    # The most values in one request; 0 is the choice of the client.
    batch: int = 0
    # It costs the OLT much, so that a slower schedule is proposed.
    slow: bool = False
    line: int = 0
    # Conditions on its rows, which must all hold; other rows are ignored.
    rows: tuple[When, ...] = ()

    def helpers(self, source: Source) -> Iterator[tuple[str, str]]:
        """Yield the columns that have to be read with a source: the purpose and OID of each."""
        yield from (("rows", when.oid) for when in self.rows)
        yield from source.helpers


@dataclass(frozen=True, slots=True)
class NeverRead:
    oid: str
    why: str


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Limits of the requests to OLTs of a family."""

    bulk: bool = True
    repetitions: int = 0
    in_flight: int = 0
    never: tuple[NeverRead, ...] = ()


@dataclass(frozen=True, slots=True)
class InterfaceSearch:
    """An interface that the device must have: a row of IF-MIB for which a condition holds."""

    when: When
    # The first and last number of the interfaces to look at; all where there are none.
    within: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> str:
        """Return the name under which it is told what was found."""
        wanted = self.when.fits.pattern if self.when.fits else self.when.values
        return f"{self.when.oid} {wanted} {self.within}"


@dataclass(frozen=True, slots=True)
class DetectRule:
    """Conditions that must all hold. A `probe` is an OID under which there must be a row."""

    origin: Origin
    object_id: str = ""
    object_id_under: str = ""
    object_id_pattern: re.Pattern[str] | None = None
    descr: re.Pattern[str] | None = None
    probe: str = ""
    probe_text: re.Pattern[str] | None = None
    interface: InterfaceSearch | None = None
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
    # Facts that it declares besides those of the registry.
    own_facts: Registry = field(default_factory=dict)

    def oids(self, *entities: Entity) -> tuple[str, ...]:
        """Return the columns to read for these entities, or for all, each once."""
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
    """Yield the columns to read for a table, with the names that its index needs."""
    if table.index.named is not None:
        yield table.index.named.column
    for column in table.columns:
        for source in (column.source, *column.otherwise):
            yield source.oid
            yield from (oid for _, oid in table.helpers(source))
