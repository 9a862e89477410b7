"""IF-MIB of the families with an arrangement of their own: the rows of their uplinks and PON ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from facho.sim.families.facts import MODEL_FACTS, FactOf, always
from facho.sim.families.family import OltColumn, ValueOf, counter
from facho.sim.model import OltModel
from facho.sim.tables import Changes, ColumnSpec
from facho.snmp.values import Gauge32, Value
from facho.vendors.facts import Entity

_IF_TABLE: Final = "1.3.6.1.2.1.2.2.1"
_IF_X_TABLE: Final = "1.3.6.1.2.1.31.1.1.1"
_ETHERNET: Final = 6
_GPON: Final = 250


class Interface(NamedTuple):
    """An uplink or a PON port, counted from 0."""

    is_uplink: bool
    number: int


PlaceOf = Callable[[OltModel, int], Interface]
_UPLINK: Final = MODEL_FACTS[Entity.UPLINK]
_PORT: Final[Mapping[str, FactOf]] = {
    **MODEL_FACTS[Entity.PORT],
    **dict.fromkeys(("in_errors", "out_errors", "in_discards", "out_discards"), always(0)),
}
# The counters of these columns, in the tables of 32 and of 64 bits.
_NARROW: Final = {13: "in_discards", 14: "in_errors", 19: "out_discards", 20: "out_errors"}
_WIDE: Final = {6: "in_octets", 10: "out_octets"}


def interface_columns(space: str, place_of: PlaceOf) -> tuple[OltColumn, ...]:
    """Return what all interfaces have, but their names."""

    def fact(name: str) -> FactOf:
        def value(olt: OltModel, row: int, now: float) -> object:
            place = place_of(olt, row)
            return (_UPLINK if place.is_uplink else _PORT)[name](olt, place.number, now)

        return value

    def kind(olt: OltModel, row: int, _now: float) -> Value:
        return _ETHERNET if place_of(olt, row).is_uplink else _GPON

    state, alias, speed = fact("state"), fact("description"), fact("speed_mbps")
    plain: tuple[tuple[str, str, ValueOf, Changes], ...] = (
        ("if_type", f"{_IF_TABLE}.3", kind, Changes.NEVER),
        ("if_admin_status", f"{_IF_TABLE}.7", always(1), Changes.NEVER),
        (
            "if_oper_status",
            f"{_IF_TABLE}.8",
            lambda olt, row, now: 1 if state(olt, row, now) == "up" else 2,
            Changes.WITH_STATE,
        ),
        ("if_alias", f"{_IF_X_TABLE}.18", lambda *at: str(alias(*at)).encode(), Changes.NEVER),
        ("if_high_speed", f"{_IF_X_TABLE}.15", lambda *at: Gauge32(_whole(speed(*at))), Changes.NEVER),
    )
    counted = [
        *((f"if_{name}", f"{_IF_TABLE}.{column}", name, True) for column, name in _NARROW.items()),
        *((f"if_hc_{name}", f"{_IF_X_TABLE}.{column}", name, False) for column, name in _WIDE.items()),
    ]
    return (
        *(ColumnSpec(name, oid, space, value, changes) for name, oid, value, changes in plain),
        *(
            ColumnSpec(name, oid, space, counter(fact(of), is_narrow=is_narrow), Changes.GROWING)
            for name, oid, of, is_narrow in counted
        ),
    )


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
