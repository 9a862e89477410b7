"""Huawei MA5800: ONU tables are indexed by <ifIndex of the PON port>.<ONT id>, both from zero.

The values follow from the vendor profile; the arrangement of the chassis, and which columns it has, are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facho.sim.families.facts import FactOf, model_of, serial_of, unknown_serial_of
from facho.sim.families.family import SCALAR, Family, OltColumn, profile_columns, system_columns
from facho.sim.families.interfaces import Interface, interface_columns
from facho.sim.model import OltModel, Shape
from facho.sim.tables import ColumnSpec, IndexSpace
from facho.snmp.values import Value
from facho.vendors import builtin

MAX_ONT_ID: Final = 127

# A 17-slot chassis: two control boards in the middle, an uplink board at the end of the frame.
SERVICE_SLOTS: Final = (*range(1, 9), *range(11, 20))
CONTROL_SLOTS: Final = (9, 10)
UPLINKS: Final = ((9, 0), (9, 1), (10, 0), (10, 1))
VENDORS: Final = (b"HWTC", b"HWTC", b"HWTC", b"ZTEG", b"ALCL", b"FHTT", b"TPLG", b"GPON")
UNIS: Final = 2
POWER_UNITS: Final = 2
MODELS: Final = ("HG8310M", "EG8145V5", "HG8546M\0\0\0", "EG8141A5")


def pon_if_index(slot: int, port: int, frame: int = 0) -> int:
    return 0xFA00_0000 | frame << 18 | slot << 13 | port << 8


def ethernet_if_index(slot: int, port: int, frame: int = 0) -> int:
    return 0x0E00_0000 | frame << 18 | slot << 13 | port << 6


def port_place(shape: Shape, port: int) -> tuple[int, int]:
    """(slot, port) of the n-th PON port."""
    return SERVICE_SLOTS[port // shape.ports_per_board], port % shape.ports_per_board


def board_slots(shape: Shape) -> list[int]:
    return sorted((*CONTROL_SLOTS, *SERVICE_SLOTS[: shape.boards]))


def spaces(shape: Shape) -> Mapping[str, IndexSpace]:
    _check(shape)
    pon = [pon_if_index(*port_place(shape, port)) for port in range(shape.ports)]
    per_port = shape.onus_per_port
    return {
        "scalar": SCALAR,
        "onu": IndexSpace(
            ((pon[row // per_port], row % per_port) for row in range(shape.onus)), of_onus=True
        ),
        "onu_ip": IndexSpace(
            ((pon[row // per_port], row % per_port, 1) for row in range(shape.onus)), of_onus=True
        ),
        "uni": IndexSpace(
            (
                (pon[row // per_port], row % per_port, uni + 1)
                for row in range(shape.onus)
                for uni in range(UNIS)
            ),
            of_onus=True,
        ),
        "pon": IndexSpace((index,) for index in pon),
        "interface": IndexSpace(
            [*((ethernet_if_index(*uplink),) for uplink in UPLINKS), *((i,) for i in pon)]
        ),
        "power": IndexSpace((unit,) for unit in range(1, POWER_UNITS + 1)),
        "board": IndexSpace((0, slot) for slot in board_slots(shape)),
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


def _interface(_olt: OltModel, row: int) -> Interface:
    links = len(UPLINKS)
    return Interface(True, row) if row < links else Interface(False, row - links)


def _uni_state(olt: OltModel, row: int, now: float) -> object:
    """Return whether a port of an ONU is up: the second one often has nothing plugged in."""
    onu, uni = divmod(row, UNIS)
    return "up" if olt.online(onu, now) and (not uni or olt.noise(onu) & 1) else "down"


def _board_name(olt: OltModel, row: int, _now: float) -> object:
    return "H901MPLB" if board_slots(olt.shape)[row] in CONTROL_SLOTS else "H901GPHF"


_OWN: Final[Mapping[str, FactOf]] = {
    "serial": serial_of(VENDORS),
    "model": model_of(MODELS),
    "board_name": _board_name,
    "uni_state": _uni_state,
    "version": lambda olt, _row, _now: f"MA5800V100R{('019C10', '021C10', '023C10')[olt.number % 3]}",
    "autofind_serial": unknown_serial_of(b"HWTC"),
    "autofind_model": lambda _olt, row, _now: MODELS[row & 3],
}


def _columns(space: str, names: Mapping[str, str]) -> tuple[OltColumn, ...]:
    return profile_columns(builtin()["huawei"], space, names, _OWN)


ONU_COLUMNS: Final = _columns(
    "onu",
    {
        "serial": "gpon_config.serial",
        "line_profile": "gpon_config.line_profile",
        "srv_profile": "gpon_config.srv_profile",
        "description": "gpon_config.description",
        "model": "gpon_versions.model",
        "hw_version": "gpon_versions.hw_version",
        "sw_version": "gpon_versions.sw_version",
        "sw_version_standby": "gpon_versions.sw_version_standby",
        "admin_state": "gpon_state.admin_state",
        "run_status": "gpon_state.state",
        "distance": "gpon_state.distance_m",
        "last_up": "gpon_state.last_up",
        "last_down": "gpon_state.last_down",
        "last_down_cause": "gpon_state.down_cause",
        "last_distance": "gpon_state.last_distance_m",
        "last_dying_gasp": "gpon_state.last_dying_gasp",
        "config_state": "gpon_state.config_state",
        "match_state": "gpon_state.match_state",
        "mac_count": "gpon_state.mac_count",
        "temperature": "gpon_optics.temperature_c",
        "bias": "gpon_optics.bias_ma",
        "tx_power": "gpon_optics.onu_tx_dbm",
        "rx_power": "gpon_optics.onu_rx_dbm",
        "voltage": "gpon_optics.voltage_v",
        "olt_rx_power": "gpon_optics.olt_rx_dbm",
        "up_bytes": "gpon_traffic.up_octets",
        "down_bytes": "gpon_traffic.down_octets",
    },
)

_OTHER_COLUMNS: Final[tuple[OltColumn, ...]] = (
    *_columns("onu_ip", {"ip": "gpon_ip.ip", "ip_mac": "gpon_ip.ip_mac"}),
    *_columns("uni", {"uni_state": "gpon_uni.state"}),
    *_columns(
        "pon",
        {
            "pon_oper": "ports.state",
            "pon_onus": "ports.onus_known",
            "pon_down_cause": "ports.down_cause",
            "pon_temperature": "port_optics.temperature_c",
            "pon_voltage": "port_optics.voltage_v",
            "pon_bias": "port_optics.bias_ma",
            "pon_tx_power": "port_optics.tx_dbm",
            "pon_rx_power": "port_optics.rx_dbm",
            "pon_in_octets": "port_traffic.in_octets",
            "pon_out_octets": "port_traffic.out_octets",
        },
    ),
    *_columns(
        "board",
        {
            "board_cpu": "boards.cpu_pct",
            "board_memory": "boards.memory_pct",
            "board_name": "boards.name",
            "board_temperature": "boards.temperature_c",
            "board_power": "boards.power_w",
            "slot_state": "slots.state",
        },
    ),
    *_columns("power", {"power_state": "power_supplies.state", "power_voltage": "power_supplies.voltage_v"}),
    *_columns("scalar", {"version": "system.version", "power": "system.power_w", "clock": "system.clock"}),
    *_columns(
        "autofind",
        {
            "autofind_serial": "autofind.serial",
            "autofind_sw_version": "autofind.sw_version",
            "autofind_model": "autofind.model",
            "autofind_seen_at": "autofind.seen_at",
        },
    ),
    ColumnSpec("if_descr", "1.3.6.1.2.1.2.2.1.2", "interface", _interface_description),
    *interface_columns("interface", _interface),
    ColumnSpec("if_name", "1.3.6.1.2.1.31.1.1.1.1", "interface", _interface_name),
)

HUAWEI: Final = Family(
    "huawei",
    (
        *system_columns("Huawei Integrated Access Software", "1.3.6.1.4.1.2011.2.294"),
        *ONU_COLUMNS,
        *_OTHER_COLUMNS,
    ),
    spaces,
)
