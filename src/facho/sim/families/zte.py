"""ZTE C300: ONU tables are indexed by <PON index>.<ONU id>, interfaces by an index of another kind.

The integers of the two kinds overlap: what is port 1/1/1 in one is another port in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facho.sim.families.family import SCALAR, Family, OltColumn, Teller, system_columns
from facho.sim.families.telling import customer, date_and_time
from facho.sim.model import Cause, OltModel, Shape
from facho.sim.tables import Changes, ColumnSpec, IndexSpace
from facho.snmp.values import Value

GPON: Final = "1.3.6.1.4.1.3902.1012.3"
CARD: Final = "1.3.6.1.4.1.3902.1015.2.1.1.3.1"
OPTICS_NO_VALUE: Final = 65535
OLT_RX_NO_VALUE: Final = -80000
MAX_ONU_ID: Final = 128
_NEVER: Final = Changes.NEVER

# Two control cards in the middle, two uplink cards at the end; the outermost slots hold power.
SERVICE_SLOTS: Final = (*range(2, 10), *range(12, 20))
CONTROL_SLOTS: Final = (10, 11)
UPLINK_SLOTS: Final = (20, 21)
VENDORS: Final = (b"ZTEG", b"ZTEG", b"ZTEG", b"HWTC", b"FHTT", b"GPON", b"TPLG", b"MONU")
MODELS: Final = (b"ZTE-F601", b"ZTE-F660", b"ZTE-F670L", b"ZTE-F680")
CAUSES: Final = {
    None: 1,
    Cause.NEVER_SEEN: 1,
    Cause.LOS: 2,
    Cause.LOFI: 4,
    Cause.DYING_GASP: 9,
    Cause.DEACTIVATED: 10,
    Cause.REBOOT: 12,
}
WORKING: Final = 3
OFFLINE_PHASES: Final = {Cause.LOS: 1, Cause.DYING_GASP: 4}
OFFLINE: Final = 6


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
        "interface": IndexSpace((if_index(*place),) for place in places),
        "card": IndexSpace((1, 1, slot) for slot in card_slots(shape)),
        "unconfigured": IndexSpace((pon[0], number) for number in range(1, shape.autofind + 1)),
    }


def _check(shape: Shape) -> None:
    if shape.onus_per_port > MAX_ONU_ID:
        raise ValueError(f"a ZTE PON port holds {MAX_ONU_ID} ONUs, not {shape.onus_per_port}")
    if shape.boards > len(SERVICE_SLOTS):
        raise ValueError(f"a ZTE chassis of {len(SERVICE_SLOTS)} cards cannot hold {shape.onus} ONUs")


def _interface_name(olt: OltModel, row: int, _now: float) -> Value:
    slot, port = port_place(olt.shape, row)
    return f"gpon_1/{slot}/{port}".encode()


def _interface_state(olt: OltModel, port: int, _now: float) -> Value:
    return 2 if port in olt.dark_ports else 1


def _serial(olt: OltModel, row: int, _now: float) -> Value:
    return olt.serial(VENDORS[olt.noise(row) >> 13 & 7], row)


def _unknown_serial(olt: OltModel, row: int, _now: float) -> Value:
    return olt.serial(b"ZTEG", -1 - row)


def _description(olt: OltModel, row: int, _now: float) -> Value:
    """Some firmware puts separators around the text."""
    text = customer(olt, row).encode()
    return b"$$" + text + b"$$" if olt.noise(row) >> 16 & 63 == 0 else text


def _phase(olt: OltModel, row: int, now: float) -> Value:
    state = olt.state(row, now)
    if state.online or state.cause is None:
        return WORKING
    return OFFLINE_PHASES.get(state.cause, OFFLINE)


def _admin_state(olt: OltModel, row: int, now: float) -> Value:
    state = olt.state(row, now)
    return 2 if state.cause is Cause.DEACTIVATED and not state.online else 1


def _down_cause(olt: OltModel, row: int, now: float) -> Value:
    return CAUSES[olt.state(row, now).cause]


def _distance(olt: OltModel, row: int, now: float) -> Value:
    return olt.distance_m(row) if olt.online(row, now) else 0


def raw_power(dbm: float) -> int:
    """Steps of 0.002 dB above -30 dBm; below that the 16 bits wrap around."""
    return round((dbm + 30) * 500) & 0xFFFF


def _rx(olt: OltModel, row: int, now: float) -> Value:
    return raw_power(olt.rx_dbm(row, now)) if olt.online(row, now) else OPTICS_NO_VALUE


def _tx(olt: OltModel, row: int, now: float) -> Value:
    return raw_power(olt.tx_dbm(row)) if olt.online(row, now) else OPTICS_NO_VALUE


def _voltage(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.voltage_v(row) * 50) if olt.online(row, now) else OPTICS_NO_VALUE


def _temperature(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.temperature_c(row) * 256) if olt.online(row, now) else OPTICS_NO_VALUE


def _olt_rx(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.olt_rx_dbm(row, now) * 1000) if olt.online(row, now) else OLT_RX_NO_VALUE


def _card_type(olt: OltModel, row: int, _now: float) -> Value:
    slot = card_slots(olt.shape)[row]
    return b"SCXN" if slot in CONTROL_SLOTS else b"HUVQ" if slot in UPLINK_SLOTS else b"GTGH"


def _card_cpu(olt: OltModel, row: int, _now: float) -> Value:
    return olt.cpu(5 + (olt.number + row) % 25)


def _onu(name: str, oid: str, value: Teller, changes: Changes = Changes.WITH_STATE) -> OltColumn:
    return ColumnSpec(name, f"{GPON}.{oid}", "onu", value, changes)


def _optics(name: str, number: int, value: Teller) -> OltColumn:
    oid = f"{GPON}.50.12.1.1.{number}"
    return ColumnSpec(name, oid, "onu_uni", value, Changes.WITH_STATE, optics=True)


ONU_COLUMNS: Final = (
    _onu("type", "28.1.1.1", lambda olt, row, _: MODELS[olt.noise(row) >> 16 & 3], _NEVER),
    _onu("name", "28.1.1.2", lambda olt, row, _: f"ONU-{olt.number:03d}-{row:05d}".encode(), _NEVER),
    _onu("description", "28.1.1.3", _description, _NEVER),
    _onu("serial", "28.1.1.5", _serial, _NEVER),
    _onu("admin_state", "28.1.1.17", _admin_state),
    _onu("phase_state", "28.2.1.4", _phase),
    _onu("last_up", "28.2.1.5", lambda olt, row, now: date_and_time(olt.state(row, now).last_up)),
    _onu("last_down", "28.2.1.6", lambda olt, row, now: date_and_time(olt.state(row, now).last_down)),
    _onu("last_down_cause", "28.2.1.7", _down_cause),
    _onu("distance", "11.4.1.2", _distance),
    _onu("model", "50.11.2.1.9", lambda olt, row, _: MODELS[olt.noise(row) >> 16 & 3][4:], _NEVER),
    _optics("rx_power", 10, _rx),
    _optics("tx_power", 14, _tx),
    _optics("voltage", 17, _voltage),
    _optics("temperature", 19, _temperature),
    ColumnSpec(
        "olt_rx_power",
        "1.3.6.1.4.1.3902.1015.1010.11.2.1.2",
        "onu",
        _olt_rx,
        Changes.WITH_STATE,
        optics=True,
    ),
)

OTHER_COLUMNS: Final[tuple[OltColumn, ...]] = (
    ColumnSpec("if_descr", "1.3.6.1.2.1.2.2.1.2", "interface", _interface_name),
    ColumnSpec("if_oper_status", "1.3.6.1.2.1.2.2.1.8", "interface", _interface_state, Changes.WITH_STATE),
    ColumnSpec("if_name", "1.3.6.1.2.1.31.1.1.1.1", "interface", _interface_name),
    ColumnSpec("card_type", f"{CARD}.4", "card", _card_type),
    ColumnSpec("card_state", f"{CARD}.5", "card", lambda _olt, _row, _: 1),
    ColumnSpec("card_cpu", f"{CARD}.9", "card", _card_cpu, Changes.WITH_STATE),
    ColumnSpec("card_memory", f"{CARD}.11", "card", lambda olt, row, _: 35 + (olt.number + row) % 20),
    ColumnSpec("unconfigured_serial", f"{GPON}.13.3.1.2", "unconfigured", _unknown_serial),
)

_DESCRIPTION: Final = "C300 Version V2.1.0 Software, Copyright (c) by ZTE Corporation Compiled"

ZTE: Final = Family(
    "zte",
    (
        *system_columns(_DESCRIPTION, "1.3.6.1.4.1.3902.1082.1001.300.2.1"),
        *ONU_COLUMNS,
        *OTHER_COLUMNS,
    ),
    spaces,
)
