"""ZTE C300: ONU tables are indexed by <PON index>.<ONU id>, interfaces by an index of another kind.

The integers of the two kinds overlap: what is port 1/1/1 in one is another port in the other. The values
follow from the vendor profile; the arrangement of the chassis, and which columns it has, are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facho.sim.families.facts import FactOf, customer, model_of, serial_of, unknown_serial_of
from facho.sim.families.family import SCALAR, Family, OltColumn, profile_columns, system_columns
from facho.sim.families.interfaces import Interface, interface_columns
from facho.sim.model import OltModel, Shape
from facho.sim.tables import ColumnSpec, IndexSpace
from facho.snmp.values import Value
from facho.vendors import builtin

MAX_ONU_ID: Final = 128

# Two control cards in the middle, two uplink cards at the end; the outermost slots hold power.
SERVICE_SLOTS: Final = (*range(2, 10), *range(12, 20))
CONTROL_SLOTS: Final = (10, 11)
UPLINK_SLOTS: Final = (20, 21)
UPLINKS: Final = tuple((slot, port) for slot in UPLINK_SLOTS for port in (1, 2))
FANS: Final = 2
VENDORS: Final = (b"ZTEG", b"ZTEG", b"ZTEG", b"HWTC", b"FHTT", b"GPON", b"TPLG", b"MONU")
MODELS: Final = ("F601", "F660", "F670L", "F680")


def pon_index(slot: int, port: int, shelf: int = 1) -> int:
    """For the ONU tables; slot and port from 1, as printed on the chassis."""
    return 0x1000_0000 | shelf - 1 << 24 | slot << 16 | port << 8


def if_index(slot: int, port: int, shelf: int = 1) -> int:
    """For IF-MIB; the same numbers, counted from zero."""
    return 0x1000_0000 | shelf - 1 << 24 | slot - 1 << 16 | port - 1 << 8


def port_place(shape: Shape, port: int) -> tuple[int, int]:
    """(slot, port) of the n-th PON port."""
    return SERVICE_SLOTS[port // shape.ports_per_board], port % shape.ports_per_board + 1


def card_slots(shape: Shape) -> tuple[int, ...]:
    return tuple(sorted((*SERVICE_SLOTS[: shape.boards], *CONTROL_SLOTS, *UPLINK_SLOTS)))


def spaces(shape: Shape) -> Mapping[str, IndexSpace]:
    _check(shape)
    places = [port_place(shape, port) for port in range(shape.ports)]
    pon = [pon_index(*place) for place in places]
    per_port = shape.onus_per_port
    onus = [(pon[row // per_port], row % per_port + 1) for row in range(shape.onus)]
    return {
        "scalar": SCALAR,
        "onu": IndexSpace(onus, of_onus=True),
        "onu_uni": IndexSpace(((port, onu, 1) for port, onu in onus), of_onus=True),
        "module": IndexSpace((if_index(*place),) for place in places),
        "interface": IndexSpace(
            [*((if_index(*each),) for each in places), *((if_index(*up),) for up in UPLINKS)]
        ),
        "fan": IndexSpace((1, 1, fan) for fan in range(1, FANS + 1)),
        "card": IndexSpace((1, 1, slot) for slot in card_slots(shape)),
        "unconfigured": IndexSpace((pon[0], number) for number in range(1, shape.autofind + 1)),
    }


def _check(shape: Shape) -> None:
    if shape.onus_per_port > MAX_ONU_ID:
        raise ValueError(f"a ZTE PON port holds {MAX_ONU_ID} ONUs, not {shape.onus_per_port}")
    if shape.boards > len(SERVICE_SLOTS):
        raise ValueError(f"a ZTE chassis of {len(SERVICE_SLOTS)} cards cannot hold {shape.onus} ONUs")


def _interface_name(olt: OltModel, row: int, _now: float) -> Value:
    place = _interface(olt, row)
    if place.is_uplink:
        slot, port = UPLINKS[place.number]
        return f"xgei_1/{slot}/{port}".encode()
    slot, port = port_place(olt.shape, row)
    return f"gpon_1/{slot}/{port}".encode()


def _interface(olt: OltModel, row: int) -> Interface:
    ports = olt.shape.ports
    return Interface(False, row) if row < ports else Interface(True, row - ports)


def _description(olt: OltModel, row: int, _now: float) -> object:
    """Some firmware puts separators around the text."""
    text = customer(olt, row)
    return f"$${text}$$" if olt.noise(row) >> 16 & 63 == 0 else text


def _card_type(olt: OltModel, row: int, _now: float) -> object:
    slot = card_slots(olt.shape)[row]
    return "SCXN" if slot in CONTROL_SLOTS else "HUVQ" if slot in UPLINK_SLOTS else "GTGH"


_OWN: Final[Mapping[str, FactOf]] = {
    "type": model_of([f"ZTE-{model}" for model in MODELS]),
    "model": model_of(MODELS),
    "description": _description,
    "serial": serial_of(VENDORS),
    "card_type": _card_type,
    "card_cpu": lambda olt, row, now: olt.cpu(5 + (olt.number + row) % 25, now),
    "card_memory": lambda olt, row, _now: 35 + (olt.number + row) % 20,
    "unconfigured_serial": unknown_serial_of(b"ZTEG"),
}


def _columns(space: str, names: Mapping[str, str]) -> tuple[OltColumn, ...]:
    return profile_columns(builtin()["zte"], space, names, _OWN)


_COLUMNS: Final[tuple[OltColumn, ...]] = (
    *_columns(
        "onu",
        {
            "type": "gpon_config.type",
            "name": "gpon_config.name",
            "description": "gpon_config.description",
            "serial": "gpon_config.serial",
            "admin_state": "gpon_config.admin_state",
            "phase_state": "gpon_state.state",
            "last_up": "gpon_state.last_up",
            "last_down": "gpon_state.last_down",
            "last_down_cause": "gpon_state.down_cause",
            "distance": "gpon_distance.distance_m",
            "model": "gpon_versions.model",
            "vendor_id": "gpon_versions.vendor_id",
            "sw_version": "gpon_versions.sw_version",
            "olt_rx_power": "gpon_olt_optics.olt_rx_dbm",
        },
    ),
    *_columns(
        "onu_uni",
        {
            "rx_power": "gpon_optics.onu_rx_dbm",
            "tx_power": "gpon_optics.onu_tx_dbm",
            "voltage": "gpon_optics.voltage_v",
            "temperature": "gpon_optics.temperature_c",
        },
    ),
    *_columns("scalar", {"clock": "system.clock"}),
    *_columns("onu_uni", {"ip": "gpon_ip.ip", "uni_state": "gpon_uni.state", "uni_speed": "gpon_uni.speed"}),
    *interface_columns("interface", _interface),
    *_columns(
        "module",
        {
            "module_tx_power": "modules.tx_dbm",
            "module_voltage": "modules.voltage_v",
            "module_temperature": "modules.temperature_c",
        },
    ),
    *_columns(
        "fan",
        {
            "fan_speed": "fans.speed_rpm",
            "fan_state": "fans.state",
            "power_voltage": "power_supplies.voltage_v",
            "power_state": "power_supplies.state",
        },
    ),
    *_columns(
        "card",
        {
            "card_type": "cards.name",
            "card_state": "cards.state",
            "card_cpu": "cards.cpu_pct",
            "card_memory": "cards.memory_pct",
            "card_temperature": "cards.temperature_c",
            "card_power": "cards.power_w",
        },
    ),
    *_columns("unconfigured", {"unconfigured_serial": "unconfigured.serial"}),
    ColumnSpec("if_descr", "1.3.6.1.2.1.2.2.1.2", "interface", _interface_name),
    ColumnSpec("if_name", "1.3.6.1.2.1.31.1.1.1.1", "interface", _interface_name),
)

_DESCRIPTION: Final = "C300 Version V2.1.0 Software, Copyright (c) by ZTE Corporation Compiled"

ZTE: Final = Family(
    "zte",
    (
        *system_columns(_DESCRIPTION, "1.3.6.1.4.1.3902.1082.1001.300.2.1"),
        *_COLUMNS,
    ),
    spaces,
)
