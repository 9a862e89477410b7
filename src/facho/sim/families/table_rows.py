"""The rows of the tables of any profile: the places of the ONUs, ports and boards of a simulated OLT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from facho.sim.model import Shape
from facho.sim.tables import Arcs, IndexSpace
from facho.vendors.encode import encode_index, pack, write_name
from facho.vendors.errors import BadIndex
from facho.vendors.facts import Entity
from facho.vendors.index import Key
from facho.vendors.schema import IndexLayout, Named, Packed, Plain, Profile, Table

_FANS: Final = 2
_PSUS: Final = 2
_UPLINKS: Final = 2
# Interfaces of ONUs and ports are counted from the lowest number.
_LAST_INTERFACE: Final = 1_000_000
_UPLINK_NAMES: Final = (
    "ethernet0/9/{}", "xge0/0/{}", "XGE0/{}", "TGigaEthernet0/{}", "1/1/x{}", "sfp+{}"
)  # fmt: skip
_FIELDS: Final = Key._fields


class TableRows:
    """The rows of every table of a profile, for OLTs of one shape. Raises ValueError for a shape that such
    an OLT cannot have."""

    def __init__(self, profile: Profile, shape: Shape) -> None:
        self.profile = profile
        self._shape = shape
        self._always = dict(each for layout in profile.indexes for each in layout.always)
        self._numbers: dict[str, dict[Key, int]] = {}
        self._names: dict[str, dict[Arcs, bytes]] = {}
        # The rows of the model in the order of each index space.
        self.order: dict[str, list[int]] = {}
        self.spaces: dict[str, IndexSpace] = {}
        for table in simulated_tables(profile):
            if space_name(table) not in self.spaces:
                self._add(table)
        self._name_uplinks()
        for oid, names in self._names.items():
            self.spaces[oid] = IndexSpace(sorted(names))
        # For a column of several tables: the space of each of its rows, and the row in it.
        self.shared: dict[str, list[tuple[str, int]]] = {}
        for oid, spaces in shared_columns(profile).items():
            self._share(oid, spaces)

    def name(self, oid: str, row: int) -> bytes:
        """Return the name of an interface, where tables are indexed by interfaces."""
        return self._names[oid][self.spaces[oid].arcs[row]]

    def _add(self, table: Table) -> None:
        keys = list(self._keys(table))
        if table.index.named is None:
            # Check the last one first: if it does not fit, encoding all of them would be in vain.
            for key in keys[-1:]:
                self._arcs(table.index, key)
        else:
            # Also without rows, so that the column exists.
            self._names.setdefault(table.index.named.column, {})
        rows = [self._arcs(table.index, key) for key in keys]
        if len(set(rows)) != len(rows):
            raise ValueError(f"an OLT of '{self.profile.name}' cannot hold {self._shape.onus} ONUs")
        name = space_name(table)
        self.order[name] = sorted(range(len(rows)), key=rows.__getitem__)
        self.spaces[name] = IndexSpace(
            (rows[row] for row in self.order[name]), of_onus=table.entity is Entity.ONU
        )

    def _name_uplinks(self) -> None:
        """Add the uplinks to the names of interfaces, where those tell what a port is."""
        for table in simulated_tables(self.profile):
            for column in table.columns:
                if table.entity is Entity.UPLINK and column.source.oid in self._names:
                    arcs = self.spaces[space_name(table)].arcs
                    names = {each: uplink_name(table, row).encode() for row, each in enumerate(arcs)}
                    self._names[column.source.oid].update(names)

    def _share(self, oid: str, spaces: tuple[str, ...]) -> None:
        rows = {
            arcs: (space, row)
            for space in reversed(spaces)
            for row, arcs in enumerate(self.spaces[space].arcs)
        }
        self.spaces[shared_space(oid)] = IndexSpace(sorted(rows))
        self.shared[oid] = [rows[arcs] for arcs in sorted(rows)]

    def _arcs(self, layout: IndexLayout, key: Key) -> Arcs:
        try:
            return self._encode(layout, key)
        except BadIndex as error:
            raise ValueError(
                f"an OLT of '{self.profile.name}' cannot hold {self._shape.onus} ONUs: there is no {key}"
            ) from error

    def _encode(self, layout: IndexLayout, key: Key) -> Arcs:
        named = layout.named
        if named is None:
            return encode_index(layout, key)
        parts = {part for part in _FIELDS if f"{{{part}}}" in named.names[0]}
        place = Key(**{part: value for part, value in key._asdict().items() if part in parts})
        numbers = self._numbers.setdefault(named.column, {})
        number = numbers.setdefault(place, len(numbers) + 1)
        # The name is that of the port; the number may have the ONU too.
        of_name = pack(named.packings[0], place) if named.packings else number
        self._names[named.column][(of_name,)] = write_name(named, place).encode()
        return encode_index(layout, key, {key: number})

    def _keys(self, table: Table) -> Iterator[Key]:
        gives, shape = table.index.gives, self._shape
        match table.entity:
            case Entity.OLT:
                yield Key()
            case Entity.ONU:
                yield from (self._onu(gives, row) for row in range(shape.onus))
            case Entity.UNI:
                yield from (self._onu(gives, row)._replace(extra=1) for row in range(shape.onus))
            case Entity.PORT:
                yield from (self._port(gives, port) for port in range(shape.ports))
            case Entity.AUTOFIND:
                yield from (self._unknown(gives, row) for row in range(shape.autofind))
            case Entity.BOARD:
                yield from (self._board(gives, board) for board in range(max(1, shape.boards)))
            case Entity.FAN:
                yield from (self._board(gives, 0)._replace(extra=row + 1) for row in range(_FANS))
            case Entity.PSU:
                yield from (self._board(gives, 0)._replace(extra=row + 1) for row in range(_PSUS))
            case Entity.UPLINK:
                yield from (Key(extra=_last_interface(table.index) - row) for row in range(_UPLINKS))

    def _onu(self, gives: frozenset[str], row: int) -> Key:
        if "name" in gives:
            return Key(extra=onu_name(row))
        if "mac" in gives:
            return Key(extra=onu_address(row + 1))
        if "row" in gives:
            return Key(extra=row + 1)
        per_port = self._shape.onus_per_port
        if "port" not in gives:
            return Key(onu=self._lowest("onu") + row)
        return self._port(gives, row // per_port)._replace(onu=self._lowest("onu") + row % per_port)

    def _unknown(self, gives: frozenset[str], row: int) -> Key:
        port = self._port(gives, 0) if "port" in gives else Key()
        return port._replace(extra=row + 1) if "row" in gives else port._replace(onu=row + 1)

    def _port(self, gives: frozenset[str], port: int) -> Key:
        boards = "slot" in gives and "slot" not in self._always
        board, number = divmod(port, self._shape.ports_per_board) if boards else (0, port)
        return self._board(gives, board)._replace(port=self._lowest("port") + number)

    def _board(self, gives: frozenset[str], board: int) -> Key:
        if "slot" not in gives and "row" in gives:
            return Key(frame=self._lowest("frame") if "frame" in gives else None, extra=board + 1)
        return Key(
            self._lowest("frame") if "frame" in gives else None,
            self._lowest("slot") + board if "slot" in gives else None,
        )

    def _lowest(self, part: str) -> int:
        """Return the first number of a part; 1 unless the profile has another."""
        if part in self._always:
            return self._always[part]
        return max((low for layout in self.profile.indexes for low in _lows(layout, part)), default=1)


def _lows(layout: IndexLayout, wanted: str) -> Iterator[int]:
    for part in layout.parts:
        if isinstance(part, Plain) and part.part == wanted and part.low is not None:
            yield part.low
        elif isinstance(part, Packed | Named):
            fields = (field for bits in part.packings for field in bits.fields)
            yield from (field.low for field in fields if field.part == wanted and field.low is not None)


def _last_interface(layout: IndexLayout) -> int:
    highs = (part.high for part in layout.parts if isinstance(part, Plain) and part.high is not None)
    return max(highs, default=_LAST_INTERFACE)


def onu_name(row: int) -> str:
    """Return a serial that is an index. All OLTs of a fleet have the same, because they share their rows."""
    return f"FACH{row:08X}"


def onu_address(row: int) -> str:
    return row.to_bytes(6, "big").hex(":")


def uplink_name(table: Table, row: int) -> str:
    """Return the name of an uplink, as the conditions of its table want it."""
    names = [name.format(row + 1) for name in _UPLINK_NAMES]
    patterns = [when.fits for when in table.rows if when.fits is not None]
    return next((name for name in names if all(each.fullmatch(name) for each in patterns)), names[0])


def simulated_tables(profile: Profile) -> list[Table]:
    """Return the tables of one technology, the first of the profile, and those of none."""
    first = next((table.technology for table in profile.tables if table.entity is Entity.ONU), "")
    return [table for table in profile.tables if table.technology in ("", first)]


def space_name(table: Table) -> str:
    return f"{table.entity}/{table.index.name}"


def shared_columns(profile: Profile) -> dict[str, tuple[str, ...]]:
    """Return the columns that several tables share, such as those of IF-MIB, with their spaces."""
    spaces: dict[str, dict[str, None]] = {}
    for table in simulated_tables(profile):
        for oid in (*(column.source.oid for column in table.columns), *(when.oid for when in table.rows)):
            spaces.setdefault(oid, {})[space_name(table)] = None
    return {oid: tuple(found) for oid, found in spaces.items() if len(found) > 1}


def shared_space(oid: str) -> str:
    return f"shared/{oid}"
