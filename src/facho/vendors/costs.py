"""The requests that reading a table of a profile takes, by the number of ONUs: what forecasts guess with."""

from __future__ import annotations

from typing import Final

from facho.core.duration_guess import FROM_ONU_S, LATENCY_S, ROWS_OF_CHASSIS, Table
from facho.vendors import schema
from facho.vendors.facts import Entity
from facho.vendors.schema import Profile

_OF_ONUS: Final = frozenset({Entity.ONU, Entity.UNI})
# ifTable and ifXTable.
_IF_MIB: Final = ("1.3.6.1.2.1.2.2.1.", "1.3.6.1.2.1.31.1.1.1.")


def table_to_get(table: schema.Table, columns: int, onus: int, varbinds: int) -> Table:
    slow = table.read_method is schema.ReadMethod.GET_ONLINE
    return Table(columns, onus, min(varbinds, table.batch or 99), FROM_ONU_S if slow else LATENCY_S)


def table_to_walk(
    profile: Profile, table: schema.Table, columns: int, onus: int, rows_per_request: int
) -> Table:
    """Return the cost of a walk. Where ONUs are interfaces, the table of interfaces has their rows."""
    of_onus = table.entity in _OF_ONUS or (_has_interfaces(table) and _onus_are_interfaces(profile))
    return Table(columns, onus if of_onus else ROWS_OF_CHASSIS, rows_per_request)


def _onus_are_interfaces(profile: Profile) -> bool:
    return any(table.entity in _OF_ONUS and _has_interfaces(table) for table in profile.tables)


def _has_interfaces(table: schema.Table) -> bool:
    return any(column.source.oid.startswith(_IF_MIB) for column in table.columns)


def rows_per_walk(profile: Profile, most: int) -> int:
    rules = profile.request_rules
    return min(most, rules.repetitions or most) if rules.bulk else 1
