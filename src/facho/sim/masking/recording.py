"""Masks a recording: collects the identities in it, then replaces them by stand-ins."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from facho.sim.masking.columns import SYS_DESCR, Arcs, ColumnContent, Content, find_contents
from facho.sim.masking.heuristics import address_of, classify, identifies_host, is_harmless
from facho.sim.masking.stand_ins import Identities, Random, StandIns, serial_of
from facho.sim.snmprec import Record
from facho.snmp.values import Oid, Value
from facho.vendors import Profile, rules
from facho.vendors.errors import BadValue
from facho.vendors.schema import IndexLayout, OctetsPart, Rule, TextPart

_IDENTIFYING = (Content.TEXT, Content.SERIAL, Content.MAC, Content.IP)
_LARGEST_OCTET = 255
_MAC_LENGTH = 6
_ADDRESS_LENGTHS = (4, 16)


@dataclass(frozen=True, slots=True)
class _Row:
    """A record with its OID taken apart: the numbers of its column, and those of its index."""

    record: Record
    oid: Arcs
    index: Arcs
    column: ColumnContent
    content: Content


def mask_recording(
    records: Iterable[Record], profiles: Sequence[Profile], random: Random = secrets.token_bytes
) -> list[Record]:
    """Return the records with stand-ins; they may no longer be in order.

    The profile that reads the device goes first, others may follow.
    """
    contents = find_contents(profiles)
    rows = []
    for record in records:
        arcs = record.oid.arcs
        column, length = contents.find(arcs, record.value)
        content = _content_of(record.value, column, contents.words)
        rows.append(_Row(record, arcs[:length], arcs[length:], column, content))
    masker = _Masker(StandIns(_collect_identities(rows), random))
    return [_keep_recognised(row, masker.mask(row), profiles) for row in rows]


def _content_of(value: Value, column: ColumnContent, words: frozenset[str]) -> Content:
    """Return what a value holds. A marker for `no value` is only that, whatever its column is for."""
    if not isinstance(value, bytes):
        return column.content
    if value.strip(b"\0 ") in {str(marker).encode() for marker in column.rule.no_value}:
        return Content.FIXED
    if column.content is Content.UNKNOWN:
        return classify(value)
    if column.content is Content.NAMES:
        return Content.FIXED if is_harmless(value, words) else Content.TEXT
    return column.content


def _keep_recognised(row: _Row, masked: Record, profiles: Iterable[Profile]) -> Record:
    """Keep a sysDescr as it was where masking would change the profile by which the device is recognised."""
    old, new = row.record.value, masked.value
    if row.oid != SYS_DESCR or not isinstance(old, bytes) or not isinstance(new, bytes):
        return masked
    before, after = (text.decode("utf-8", "replace") for text in (old, new))
    patterns = [rule.descr for profile in profiles for rule in profile.rules if rule.descr is not None]
    same = all(bool(each.search(before)) == bool(each.search(after)) for each in patterns)
    return masked if same else row.record


def _split_text(value: bytes, rule: Rule) -> tuple[bytes, bytes, bytes]:
    """Return what a person wrote in a text, with what is before and after it: a mark, padding, quotes."""
    start = len(value) - len(_after_mark(value, rule))
    padding = b"\0 " + rule.strip.encode()
    core = value[start:].strip(padding)
    if core:
        start = value.index(core, start)
    return value[:start], core, value[start + len(core) :]


def _after_mark(value: bytes, rule: Rule) -> bytes:
    mark = rule.after.encode()
    return value.partition(mark)[2] if mark and mark in value else value


def _collect_identities(rows: Sequence[_Row]) -> Identities:
    found = Identities()
    # Texts that many devices share: the model as a description identifies nobody.
    public = {
        row.record.value.strip(b"\0 ")
        for row in rows
        if isinstance(row.record.value, bytes)
        and row.column.content is not Content.UNKNOWN
        and row.content in (Content.PUBLIC, Content.FIXED)
    }
    for row in rows:
        value = row.record.value
        if isinstance(value, IPv4Address) and identifies_host(value):
            found.addresses[value] = None
        elif isinstance(value, bytes) and row.content in _IDENTIFYING and not _add_number(found, value, row):
            found.texts[_split_text(value, row.column.rule)[1]] = None
        if row.column.layout is not None:
            _add_index(found, row.index, row.column.layout)
    for text in (b"", *public):
        found.texts.pop(text, None)
    return found


def _add_number(found: Identities, value: bytes, row: _Row) -> bool:
    """Add a serial or an address; return False for a text, and for what should be one and cannot be read."""
    with contextlib.suppress(BadValue):
        match row.content:
            case Content.SERIAL if (serial := serial_of(_after_mark(value, row.column.rule))) is not None:
                found.serials[serial] = None
                return True
            case Content.MAC if (mac := rules.mac(value)) is not None:
                found.macs[bytes.fromhex(mac.replace(":", ""))] = None
                return True
            case Content.IP if (address := address_of(value)) is not None:
                found.addresses[address] = None
                return True
    return False


def _add_index(found: Identities, index: Arcs, layout: IndexLayout) -> None:
    for _, is_mac, part in _octets_in(index, layout):
        if is_mac:
            found.macs[part] = None
        elif not is_harmless(part):
            found.texts[part] = None


def _octets_in(index: Arcs, layout: IndexLayout) -> Iterator[tuple[int, bool, bytes]]:
    """Yield the texts and hardware addresses in an index: where they start, whether it is an address, octets.

    An index that is not as its layout says has none.
    """
    at = 0
    for part in layout.parts:
        start, at = at, at + 1
        if isinstance(part, OctetsPart):
            at = start + part.count
        elif isinstance(part, TextPart) and start < len(index):
            start, at = at, at + index[start]
        else:
            continue
        numbers = index[start:at]
        if len(numbers) == at - start and max(numbers, default=0) <= _LARGEST_OCTET:
            yield start, isinstance(part, OctetsPart) and part.count == _MAC_LENGTH, bytes(numbers)


class _Masker:
    def __init__(self, stand_ins: StandIns) -> None:
        self._new = stand_ins

    def mask(self, row: _Row) -> Record:
        layout = row.column.layout
        index = self._mask_numbers(row.index) if layout is None else self._mask_index(row.index, layout)
        oid = row.record.oid if index == row.index else Oid.of((*row.oid, *index))
        return Record(oid, self._mask_value(row))

    def _mask_index(self, index: Arcs, layout: IndexLayout) -> Arcs:
        for start, is_mac, old in _octets_in(index, layout):
            new = (self._new.macs if is_mac else self._new.texts).get(old, old)
            index = (*index[:start], *new, *index[start + len(old) :])
        return index

    def _mask_value(self, row: _Row) -> Value:
        value = row.record.value
        if isinstance(value, IPv4Address):
            new = self._new.addresses.get(value, value)
            assert isinstance(new, IPv4Address)
            return new
        if row.column.content is Content.FIXED:
            return value
        if isinstance(value, bytes):
            return self._mask_octets(value, row)
        if isinstance(value, Oid):
            numbers = self._mask_numbers(value.arcs)
            # An unchanged OID stays as it was sent: an agent may send one that cannot be encoded.
            return value if numbers == value.arcs else Oid.of(numbers)
        return value

    def _mask_octets(self, value: bytes, row: _Row) -> bytes:
        before, core, after = _split_text(value, row.column.rule)
        whole = self._stand_in(value)
        if whole is not None:
            return whole
        new = self._stand_in(core)
        if new is None and row.content in _IDENTIFYING:
            new = self._new.texts.get(core)
        return self._new.within.replace(value) if new is None else before + new + after

    def _stand_in(self, value: bytes) -> bytes | None:
        """Return the stand-in of a value that is an identity and nothing else, as octets or written."""
        if len(value) in _ADDRESS_LENGTHS:
            address = address_of(value)
            if address in self._new.addresses and address.packed == value:
                return self._new.addresses[address].packed
        return self._new.identities.get(value)

    def _mask_numbers(self, numbers: Arcs) -> Arcs:
        """Mask each run of numbers that can be octets; those over 255 separate the runs."""
        found: list[int] = []
        run = bytearray()
        for number in (*numbers, None):
            if number is not None and number <= _LARGEST_OCTET:
                run.append(number)
                continue
            found.extend(self._new.in_index.replace(bytes(run)))
            run.clear()
            if number is not None:
                found.append(number)
        return tuple(found)
