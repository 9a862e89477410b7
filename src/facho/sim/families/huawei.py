"""Huawei MA5800: ONU tables are indexed by <ifIndex of the PON port>.<ONT id>, both from zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facho.sim.families.family import SCALAR, Family, OltColumn, Teller, system_columns
from facho.sim.families.telling import customer, date_and_time
from facho.sim.model import Cause, OltModel, Shape
from facho.sim.tables import Changes, ColumnSpec, IndexSpace
from facho.snmp.values import Counter64, Value

XPON: Final = "1.3.6.1.4.1.2011.6.128.1.1"
BOARD: Final = "1.3.6.1.4.1.2011.2.6.7.1.1.2.1"
NO_VALUE: Final = 2147483647
QUERY_FAILED: Final = -1
MAX_ONT_ID: Final = 127
_NEVER: Final = Changes.NEVER

# A 17-slot chassis: two control boards in the middle, an uplink board at the end of the frame.
SERVICE_SLOTS: Final = (*range(1, 9), *range(11, 20))
CONTROL_SLOTS: Final = (9, 10)
UPLINKS: Final = ((9, 0), (9, 1), (10, 0), (10, 1))
VENDORS: Final = (b"HWTC", b"HWTC", b"HWTC", b"ZTEG", b"ALCL", b"FHTT", b"TPLG", b"GPON")
MODELS: Final = (b"HG8310M", b"EG8145V5", b"HG8546M\x00\x00\x00", b"EG8141A5")
CAUSES: Final = {
    None: QUERY_FAILED,
    Cause.NEVER_SEEN: QUERY_FAILED,
    Cause.LOS: 1,
    Cause.LOFI: 3,
    Cause.DEACTIVATED: 8,
    Cause.REBOOT: 31,
    Cause.DYING_GASP: 13,
}


def pon_if_index(slot: int, port: int, frame: int = 0) -> int:
    return 0xFA00_0000 | frame << 18 | slot << 13 | port << 8


def ethernet_if_index(slot: int, port: int, frame: int = 0) -> int:
    return 0x0E00_0000 | frame << 18 | slot << 13 | port << 6


def port_place(shape: Shape, port: int) -> tuple[int, int]:
    """(slot, port) of the n-th PON port."""
    return SERVICE_SLOTS[port // shape.ports_per_board], port % shape.ports_per_board


def spaces(shape: Shape) -> Mapping[str, IndexSpace]:
    _check(shape)
    pon = [pon_if_index(*port_place(shape, port)) for port in range(shape.ports)]
    per_port = shape.onus_per_port
    slots = sorted((*CONTROL_SLOTS, *SERVICE_SLOTS[: shape.boards]))
    return {
        "scalar": SCALAR,
        "onu": IndexSpace(
            ((pon[row // per_port], row % per_port) for row in range(shape.onus)), of_onus=True
        ),
        "pon": IndexSpace((index,) for index in pon),
        "interface": IndexSpace(
            [*((ethernet_if_index(*uplink),) for uplink in UPLINKS), *((i,) for i in pon)]
        ),
        "board": IndexSpace((0, slot) for slot in slots),
        "autofind": IndexSpace((pon[0], number) for number in range(1, shape.autofind + 1)),
    }


def _check(shape: Shape) -> None:
    if shape.onus_per_port > MAX_ONT_ID + 1:
        raise ValueError(f"a Huawei PON port holds {MAX_ONT_ID + 1} ONUs, not {shape.onus_per_port}")
    if shape.ports_per_board > 32 or shape.boards > len(SERVICE_SLOTS):
        raise ValueError(f"a Huawei chassis of {len(SERVICE_SLOTS)} boards cannot hold {shape.onus} ONUs")


def _interface_name(olt: OltModel, row: int, _now: float) -> Value:
    if row < len(UPLINKS):
        slot, port = UPLINKS[row]
        return f"ethernet0/{slot}/{port}".encode()
    slot, port = port_place(olt.shape, row - len(UPLINKS))
    return f"GPON 0/{slot}/{port}".encode()


def _interface_description(_olt: OltModel, row: int, _now: float) -> Value:
    return b"Huawei-MA5800-V100R019-" + (b"ETHERNET" if row < len(UPLINKS) else b"GPON_UNI")


def _interface_state(olt: OltModel, row: int, now: float) -> Value:
    return 1 if row < len(UPLINKS) else _port_state(olt, row - len(UPLINKS), now)


def _port_state(olt: OltModel, port: int, _now: float) -> Value:
    return 2 if port in olt.dark_ports else 1


def _port_cause(olt: OltModel, port: int, _now: float) -> Value:
    return 1 if port in olt.dark_ports else -1


def _serial(olt: OltModel, row: int, _now: float) -> Value:
    return olt.serial(VENDORS[olt.noise(row) >> 13 & 7], row)


def _unknown_serial(olt: OltModel, row: int, _now: float) -> Value:
    return olt.serial(b"HWTC", -1 - row)


def _run_status(olt: OltModel, row: int, now: float) -> Value:
    return 1 if olt.online(row, now) else 2


def _distance(olt: OltModel, row: int, now: float) -> Value:
    return olt.distance_m(row) if olt.online(row, now) else -1


def _last_distance(olt: OltModel, row: int, now: float) -> Value:
    return -1 if olt.state(row, now).cause is Cause.NEVER_SEEN else olt.distance_m(row)


def _admin_state(olt: OltModel, row: int, now: float) -> Value:
    state = olt.state(row, now)
    return 2 if state.cause is Cause.DEACTIVATED and not state.online else 1


def _down_cause(olt: OltModel, row: int, now: float) -> Value:
    return CAUSES[olt.state(row, now).cause]


def _temperature(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.temperature_c(row)) if olt.online(row, now) else NO_VALUE


def _bias(olt: OltModel, row: int, now: float) -> Value:
    return olt.bias_ma(row) if olt.online(row, now) else NO_VALUE


def _tx(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.tx_dbm(row) * 100) if olt.online(row, now) else NO_VALUE


def _rx(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.rx_dbm(row, now) * 100) if olt.online(row, now) else NO_VALUE


def _voltage(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.voltage_v(row) * 1000) if olt.online(row, now) else NO_VALUE


def _olt_rx(olt: OltModel, row: int, now: float) -> Value:
    return round(olt.olt_rx_dbm(row, now) * 100) + 10000 if olt.online(row, now) else NO_VALUE


def _is_control(olt: OltModel, row: int) -> bool:
    slots = sorted((*CONTROL_SLOTS, *SERVICE_SLOTS[: olt.shape.boards]))
    return slots[row] in CONTROL_SLOTS


def _board_name(olt: OltModel, row: int, _now: float) -> Value:
    return b"H901MPLB" if _is_control(olt, row) else b"H901GPHF"


def _board_cpu(olt: OltModel, row: int, _now: float) -> Value:
    return olt.cpu(8 + (olt.number + row) % 30)


def _onu(name: str, oid: str, value: Teller, changes: Changes = Changes.WITH_STATE) -> OltColumn:
    return ColumnSpec(name, f"{XPON}.{oid}", "onu", value, changes)


def _optics(name: str, number: int, value: Teller) -> OltColumn:
    return ColumnSpec(name, f"{XPON}.2.51.1.{number}", "onu", value, Changes.WITH_STATE, optics=True)


def _port(name: str, oid: str, value: Teller) -> OltColumn:
    return ColumnSpec(name, f"{XPON}.{oid}", "pon", value, Changes.WITH_STATE)


ONU_COLUMNS: Final = (
    _onu("serial", "2.43.1.3", _serial, _NEVER),
    _onu("line_profile", "2.43.1.7", lambda olt, row, _: b"line-profile_%d" % (olt.noise(row) & 3), _NEVER),
    _onu("description", "2.43.1.9", lambda olt, row, _: customer(olt, row).encode(), _NEVER),
    _onu("model", "2.45.1.4", lambda olt, row, _: MODELS[olt.noise(row) >> 16 & 3], _NEVER),
    _onu("admin_state", "2.46.1.1", _admin_state),
    _onu("run_status", "2.46.1.15", _run_status),
    _onu("distance", "2.46.1.20", _distance),
    _onu("last_up", "2.46.1.22", lambda olt, row, now: date_and_time(olt.state(row, now).last_up)),
    _onu("last_down", "2.46.1.23", lambda olt, row, now: date_and_time(olt.state(row, now).last_down)),
    _onu("last_down_cause", "2.46.1.24", _down_cause),
    _onu("last_distance", "2.46.1.29", _last_distance),
    _optics("temperature", 1, _temperature),
    _optics("bias", 2, _bias),
    _optics("tx_power", 3, _tx),
    _optics("rx_power", 4, _rx),
    _optics("voltage", 5, _voltage),
    _optics("olt_rx_power", 6, _olt_rx),
    _onu("up_bytes", "4.23.1.3", lambda olt, row, _: Counter64(olt.noise(row) >> 8), _NEVER),
    _onu("down_bytes", "4.23.1.4", lambda olt, row, _: Counter64(olt.noise(row) >> 4), _NEVER),
)

PORT_COLUMNS: Final = (
    _port("pon_oper", "2.21.1.10", _port_state),
    _port("pon_onus", "2.21.1.16", lambda olt, port, _: len(olt.shape.rows_of_port(port))),
    _port("pon_down_cause", "2.21.1.19", _port_cause),
    _port("pon_temperature", "2.23.1.1", lambda olt, port, _: 34 + (olt.number + port) % 9),
    _port("pon_voltage", "2.23.1.2", lambda olt, port, _: 319 + (olt.number + port) % 5),
    _port("pon_bias", "2.23.1.3", lambda olt, port, _: 30 + (olt.number + port) % 11),
    _port("pon_tx_power", "2.23.1.4", lambda olt, port, _: 690 + (olt.number + port) % 50),
    _port("pon_rx_power", "2.23.1.5", lambda _olt, _port, _: NO_VALUE),
)

OTHER_COLUMNS: Final[tuple[OltColumn, ...]] = (
    ColumnSpec("if_descr", "1.3.6.1.2.1.2.2.1.2", "interface", _interface_description),
    ColumnSpec("if_oper_status", "1.3.6.1.2.1.2.2.1.8", "interface", _interface_state, Changes.WITH_STATE),
    ColumnSpec("if_name", "1.3.6.1.2.1.31.1.1.1.1", "interface", _interface_name),
    ColumnSpec("board_cpu", f"{BOARD}.5", "board", _board_cpu, Changes.WITH_STATE),
    ColumnSpec("board_memory", f"{BOARD}.6", "board", lambda olt, row, _: 40 + (olt.number + row) % 20),
    ColumnSpec("board_name", f"{BOARD}.7", "board", _board_name),
    ColumnSpec("board_temperature", f"{BOARD}.10", "board", lambda olt, row, _: 38 + (olt.number + row) % 12),
    ColumnSpec("slot_state", "1.3.6.1.4.1.2011.6.3.3.2.1.8", "board", lambda _olt, _row, _: 2),
    ColumnSpec("version", "1.3.6.1.4.1.2011.6.3.1.999", "scalar", lambda _olt, _row, _: b"MA5800V100R019C10"),
    ColumnSpec("autofind_serial", f"{XPON}.2.48.1.2", "autofind", _unknown_serial),
    ColumnSpec("autofind_model", f"{XPON}.2.48.1.7", "autofind", lambda _olt, row, _: MODELS[row & 3]),
)

HUAWEI: Final = Family(
    "huawei",
    (
        *system_columns("Huawei Integrated Access Software", "1.3.6.1.4.1.2011.2.294"),
        *ONU_COLUMNS,
        *PORT_COLUMNS,
        *OTHER_COLUMNS,
    ),
    spaces,
)
