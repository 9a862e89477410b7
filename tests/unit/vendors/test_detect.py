"""Which profile a device gets, and that it says why.

To add a family: its OLTs with `is_a`, and with `is_no` the devices that come near it and are not of it, such
as the switches of its maker. A device that is no OLT that we know is generic, and says why.
"""

from dataclasses import dataclass, field, replace

import pytest

from facho.core.reasons import Reason
from facho.sim import snmprec
from facho.snmp.values import encode_arcs
from facho.vendors import (
    GENERIC,
    Detection,
    Identity,
    builtin,
    detect,
    find_interface,
    probes,
    searches,
)
from facho.vendors.parse import parse_profile
from facho.vendors.schema import InterfaceSearch
from tests.unit.vendors.recordings import RECORDINGS

P = "1.3.6.1.4.1"


IF_TYPE, IF_NAME = "1.3.6.1.2.1.2.2.1.3", "1.3.6.1.2.1.31.1.1.1.1"
Interfaces = dict[int, tuple[int, bytes]]


@dataclass(frozen=True)
class Case:
    """A device, and what it is taken for."""

    # The family that it is a case for or against.
    about: str
    object_id: str
    descr: str
    profile: str
    model: str = ""
    # What is found under the probes: OID -> value of the first row.
    rows: dict[str, str] = field(default_factory=dict)
    # Something that the reason must say.
    why: str = ""
    # Its interfaces: ifIndex -> ifType and ifName.
    interfaces: Interfaces = field(default_factory=dict)

    def find(self, search: InterfaceSearch) -> str | None:
        column = {IF_TYPE: 0, IF_NAME: 1}[search.when.oid]
        rows = {encode_arcs((number,)): each[column] for number, each in self.interfaces.items()}
        value = find_interface(rows, search)
        return value.decode() if isinstance(value, bytes) else None if value is None else str(value)


def is_a(
    about: str,
    object_id: str,
    descr: str,
    model: str = "",
    *,
    why: str = "",
    interfaces: Interfaces | None = None,
    **rows: str,
) -> Case:
    return Case(about, object_id, descr, about, model, _probed(rows), why, interfaces or {})


def is_no(
    about: str,
    object_id: str,
    descr: str,
    *,
    why: str,
    instead: str = GENERIC,
    interfaces: Interfaces | None = None,
    **rows: str,
) -> Case:
    return Case(about, object_id, descr, instead, "", _probed(rows), why, interfaces or {})


def _probed(rows: dict[str, str]) -> dict[str, str]:
    return {PROBES[name]: value for name, value in rows.items()}


# The rows that cases name, such as `zte_cards="GTGH"`.
PROBES = {
    "bdcom_gpon": f"{P}.3320.10.2.1.1.4",
    "bdcom_epon": f"{P}.3320.101.6.1.1.21",
    "calix_onus": f"{P}.6321.1.2.4.2.6.1.1.2",
    "cdata_gpon": f"{P}.17409.2.8.4.1.1.7",
    "cdata_epon": f"{P}.17409.2.3.4.1.1.8",
    "cdata_fd11": f"{P}.34592.1.3.4.1.1.11",
    "cdata_board": f"{P}.34592.1.3.1.5.2.1.1.7",
    "cdata_model": f"{P}.17409.2.3.1.2.1.1.3",
    "huawei_ports": f"{P}.2011.6.128.1.1.2.21.1.16",
    "ubiquiti_model": f"{P}.41112.1.5.1.1",
    "vsol_epon_ports": f"{P}.37950.1.1.5.12.1.27.1.2",
    "vsol_epon_onus": f"{P}.37950.1.1.5.12.1.25.1.4",
    "vsol_gpon_ports": f"{P}.37950.1.1.6.1.1.18.1.2",
    "vsol_gpon_onus": f"{P}.37950.1.1.6.1.1.1.1.5",
    "zte_cards": f"{P}.3902.1015.2.1.1.3.1.4",
    "c600_cards": f"{P}.3902.1082.10.1.2.4.1.4",
    "fiberhome_ports": f"{P}.5875.800.3.9.3.4.1.5",
    "nokia_onts": f"{P}.637.61.1.35.10.1.1.5",
    "nokia_ports": f"{P}.637.61.1.35.11.9.1.2",
    "datacom_onus": f"{P}.3709.3.6.2.1.1.3",
}

BDCOM = "BDCOM(tm) GP3600-16B Software, Version 74104 hardware version: A"
CALIX = "Calix, Inc E7-2 XG801 none"
HUAWEI = "Huawei Integrated Access Software"
VSOL = f"{P}.37950.1.1.5.10.14.1"
ZTE = "C320 Version V2.1.0 Software, Copyright (c) by ZTE Corporation Compiled"
C600 = "ZXA10 C600, ZTE ZXA10 Software Version: V1.2.2"
NOKIA = "R5.7.02a NFXS-E FANT-F NOKIA ISAM Copyright (c) 2016 Nokia. All rights reserved."
DATACOM = "DM4610 - 8xGPON + 4xGX + 2xXS, DmOS 5.8.0"
DM4616 = "DM4616 4XGS-PON+4XS (DmOS version 9.0.0-345-1-g479ba56c8a)"
DM4770 = "DM4770 32CX (DmOS version 9.2.0-217-1-g11a5773edd)"
ETHERNET, VLAN, PON, LAG = 6, 136, 250, 161
# Interfaces as recordings of these devices have them.
SWITCH: Interfaces = {0x04108001: (ETHERNET, b"ten-gigabit-ethernet-1/1/1"), 0x05000001: (LAG, b"lag-1"),
                      0x17108001: (ETHERNET, b"hundred-gigabit-ethernet-1/1/1")}  # fmt: skip
XGS_PON: Interfaces = {
    0x04108001: (ETHERNET, b"ten-gigabit-ethernet-1/1/1"),
    0x1A108001: (PON, b"xgspon-1/1/1"),
}
ISAM: Interfaces = {
    20972544: (ETHERNET, b"OAM"),
    0x040001C0: (271, b" PHYSICALUNI"),
    0x05A02000: (PON, b" X-PON"),
    0x05C00000: (270, b" ONT"),
}
DSLAM: Interfaces = {20972544: (ETHERNET, b"OAM"), 0x04000000: (94, b"ADSL"), 0x40560000: (ETHERNET, b"Link")}
# A unit in a building, whose uplink is a PON: it is no port of an LT.
FED_BY_PON: Interfaces = {0x04000000: (97, b"VDSL"), 0x40560000: (PON, b"PON uplink")}
EPON: Interfaces = {0x01000100: (117, b"ge0/0/1"), 0x01000D00: (117, b"pon0/0/1")}
GPON: Interfaces = {0x140000 + port: (PON, b"gpon 0/0/%d" % port) for port in range(1, 5)}
FED_BY_GPON: Interfaces = {
    1: (ETHERNET, b"ge 0/0/1"),
    0x140001: (PON, b"gpon 0/0/1"),
    0x140002: (PON, b"gpon 0/0/2"),
}
CDATA_SWITCH: Interfaces = {0x01000100: (117, b"ge0/0/1"), 0x01000900: (117, b"xge0/0/1")}

CASES = [
    is_a("bdcom", f"{P}.3320.1.390.0", BDCOM, "GP3600-16B", why="is that of GP3600-16B"),
    is_a("bdcom", f"{P}.3320.1.294.0", "", "P3310C"),
    is_a("bdcom", f"{P}.3320.1.441.0", "", "P3310D"),
    is_a("bdcom", f"{P}.3320.1.2010.0", "", "P3612-2TE"),
    is_a("bdcom", f"{P}.3320.1.2011.0", "", "P3616-2TE"),
    is_a("bdcom", f"{P}.3320.1.777.0", BDCOM, why="its sysDescr is that of BDCOM GP3600/P33xx/P36xx"),
    is_a("bdcom", f"{P}.3320.1.777.0", "BDCOM(tm) P3310B Software, Version 10.1.0B"),
    is_a("bdcom", f"{P}.3320.1.777.0", "BDCOM(tm) P3608-2TE Software"),
    is_a("bdcom", f"{P}.3320.1.777.0", "BDCOM(tm) GP1704-4F Software", bdcom_gpon="0",
         why=f"it has rows in {P}.3320.10.2.1.1.4, a table of BDCOM"),
    is_a("bdcom", f"{P}.3320.1.777.0", "BDCOM(tm) P1500 Software", bdcom_epon="3"),
    is_no("bdcom", f"{P}.3320.1.138.0", "BDCOM(tm) S2528-C Software, Version 2.1.1A",
          why=f"but it lacks the rows in {P}.3320.10.2.1.1.4 or {P}.3320.101.6.1.1.21 that those have"),
    is_no("bdcom", f"{P}.3320.1.139.0", "BDCOM(tm) S2900-24P36 Software", why="but it lacks the rows in"),
    is_no("bdcom", f"{P}.3320.1.140.0", "Switch", bdcom_gpon="1", why="and so do switches and routers"),

    is_a("calix", f"{P}.6321.1.2.4.1.1", CALIX, "E7-2",
         why=f"{P}.6321.1.2.4.1.1 is one of Calix, and its sysDescr is that of E7-2"),
    is_a("calix", f"{P}.6321.1.2.4", CALIX, "E7-2"),
    is_a("calix", f"{P}.6321.1.2.4", "Calix, Inc E7-20"),
    is_a("calix", f"{P}.6321.1.2.4.1.9", "Calix, Inc E9-2", calix_onus="316"),
    is_no("calix", f"{P}.6321.1.2.4.1.9", "Calix, Inc E3-48C", why="but it lacks the rows in"),
    # The E7 without AXOS, and a DSLAM.
    is_no("calix", f"{P}.6321.1.2.2.5", "Calix, Inc E7-2", calix_onus="316", why="OLTs of Calix begin with"),
    is_no("calix", f"{P}.6321.1.2.3", "Calix E5-48", why="no known OLT"),
    is_no("calix", f"{P}.6321.1.2.40", CALIX, why="no known OLT"),

    # The bare number of the company, with or without a dot before it, and any words.
    is_a("cdata_gpon", f"{P}.17409", "FD1608S", cdata_gpon="1",
         why=f"it has rows in {P}.17409.2.8.4.1.1.7, a table of C-Data FD16xx/FD17xx GPON"),
    is_a("cdata_gpon", f".{P}.17409", "zona-norte", cdata_gpon="2"),
    # Tables of GPON are looked for first.
    is_a("cdata_gpon", f"{P}.17409", "EasyPath Ethernet-PON", cdata_gpon="1", cdata_epon="1"),
    # One without ONUs is known by its model, if it says that.
    is_a("cdata_gpon", f"{P}.17409", "zona-sur", cdata_model="FD1608S-B0"),
    is_a("cdata_gpon", f"{P}.17409", "zona-sur", cdata_gpon="1", cdata_model="FD1608S-B0"),
    is_a("cdata_epon", f"{P}.17409", "zona-sur", cdata_epon="1", cdata_model="FD1704SN"),
    is_a("cdata_epon", f"{P}.17409", "zona-sur", cdata_model="FD1208S-B2"),
    is_a("cdata_epon", f"{P}.17409", "zona-sur", cdata_epon="1", cdata_model="FD1208S-B2"),
    # One that says neither has PON ports and the board behind them.
    is_a("cdata_epon", f".{P}.17409", "zaporojskoe-olt", cdata_board="4", interfaces=EPON,
         why=f"and it has an interface with 'pon0/0/1' in {IF_NAME}, as C-Data FD12xx EPON has"),
    is_a("cdata_gpon", f"{P}.17409", "zona-sur", interfaces=GPON),
    is_no("cdata_gpon", f"{P}.17409", "zona-sur", interfaces=FED_BY_GPON, why="but it lacks the rows in"),
    is_no("cdata_epon", f"{P}.17409", "zona-sur", interfaces=EPON, why="but it lacks the rows in"),
    is_no("cdata_epon", f"{P}.17409", "zona-sur", cdata_board="4", interfaces=CDATA_SWITCH,
          why="but it lacks the rows in"),
    is_no("cdata_epon", f"{P}.17409", "zona-sur", interfaces=CDATA_SWITCH, why="but it lacks the rows in"),
    is_no("cdata_gpon", f"{P}.17409", "zona-sur", cdata_model="FD2000", why="it says 'FD2000' in"),
    is_no("cdata_gpon", f"{P}.17409", "FD1608S", why="C-Data FD12xx EPON, but it lacks the rows"),
    is_no("cdata_gpon", f"{P}.17409.1.11", "", cdata_gpon="1", why="that of equipment of cable television"),
    is_no("cdata_gpon", f"{P}.17409.2", "FD1608S", cdata_gpon="1", why="OLTs of C-Data begin with the same"),

    is_a("cdata_epon", f"{P}.17409", "EasyPath Ethernet-PON", cdata_epon="1"),
    is_a("cdata_epon", f".{P}.17409", "olt-norte", cdata_epon="2", why="a table of C-Data FD12xx EPON"),
    # Another maker's, in the same words.
    is_no("cdata_epon", f"{P}.10072.2.20", "EasyPath Ethernet-PON", cdata_epon="1",
          why="no profile knows the maker"),
    is_no("cdata_epon", f"{P}.17409", "EasyPath Ethernet-PON", why="but it lacks the rows in"),

    is_a("cdata_fd11", f"{P}.34592", "GEPON OLT", cdata_fd11="3", why="a table of C-Data FD11xx EPON"),
    is_a("cdata_fd11", f".{P}.34592", "", cdata_fd11="2"),
    is_no("cdata_fd11", f"{P}.34592", "FD1108S", why="C-Data FD11xx EPON, but it lacks the rows"),
    is_no("cdata_fd11", f"{P}.34592.1.2", "EOC", cdata_fd11="3", why="OLTs of C-Data begin with the same"),

    is_a("huawei", f"{P}.2011.2.80.8", HUAWEI, "MA5600V8",
         why=f"its sysObjectID {P}.2011.2.80.8 is that of MA5600V8"),
    is_a("huawei", f"{P}.2011.2.115", HUAWEI, "MA5680T", why="and its sysDescr are those of MA5680T"),
    is_a("huawei", f"{P}.2011.2.123", HUAWEI, "MA5603T"),
    is_a("huawei", f"{P}.2011.2.133", HUAWEI, "MA5683T"),
    is_a("huawei", f"{P}.2011.2.248", HUAWEI, "MA5608T"),
    is_a("huawei", f"{P}.2011.2.294", HUAWEI, "MA5800-X17"),
    is_a("huawei", f"{P}.2011.2.300", HUAWEI, "MA5800-X7"),
    is_a("huawei", f"{P}.2011.2.316", HUAWEI, "MA5800-X15"),
    is_a("huawei", f"{P}.2011.2.381", HUAWEI, "MA5801-GP16"),
    # One that is not listed is known by its own table.
    is_a("huawei", f"{P}.2011.2.999", HUAWEI, huawei_ports="8",
         why=f"it has rows in {P}.2011.6.128.1.1.2.21.1.16, a table of Huawei MA5600T/MA5800"),
    # MDUs say what OLTs say.
    is_no("huawei", f"{P}.2011.2.185", HUAWEI, huawei_ports="8",
          why="that of MDU MA5620, which is not an OLT"),
    is_no("huawei", f"{P}.2011.2.186", HUAWEI,
          why="it could be Huawei MA5600T/MA5800, but it lacks the rows in"),
    is_no("huawei", f"{P}.2011.2.115", "Huawei Versatile Routing Platform Software",
          why="no known OLT"),
    is_no("huawei", f"{P}.2011.2.23.95", "Huawei Versatile Routing Platform Software", huawei_ports="8",
          why="OLTs of Huawei begin with the same 1.3.6.1.4.1.2011, and so do switches and routers"),
    is_no("huawei", f"{P}.2011", "", why="no known OLT"),

    is_a("ufiber", f"{P}.41112.1.5", "EdgeOS v4.4.2.4598.220304.1412", ubiquiti_model="UFiber OLT",
         why=f"it says 'UFiber OLT' in {P}.41112.1.5.1.1"),
    is_a("ufiber", f"{P}.4413", "UISP Fiber OLT XGS 4.6.1", "UISP Fiber OLT XGS"),
    is_no("ufiber", f"{P}.41112.1.5", "EdgeOS v2.0.9", ubiquiti_model="EdgeRouter X",
          why="UISP Fiber, but it says 'EdgeRouter X' in 1.3.6.1.4.1.41112.1.5.1.1, which those do not"),
    is_no("ufiber", f"{P}.41112.1.5", "EdgeOS v2.0.9", why="but it lacks the rows in"),
    is_no("ufiber", f"{P}.41112.1.6", "UAP-AC-Pro", ubiquiti_model="UFiber", why="OLTs of Ubiquiti begin"),
    # Switches with a chip of the same maker.
    is_no("ufiber", f"{P}.4413", "EdgeSwitch 24-Port 250W", why="no known OLT"),
    is_no("ufiber", f"{P}.4413.1.1", "UISP Fiber OLT XGS", why="no known OLT"),

    is_a("vsol_epon", VSOL, "V1600D", why="and its sysDescr are those of V-SOL V1600 EPON"),
    is_a("vsol_epon", f".{VSOL}", "V1600D16"),
    # What it says that it is counts more than what is found.
    is_a("vsol_epon", VSOL, "V1600D8", vsol_gpon_ports="4", vsol_gpon_onus="3"),
    is_a("vsol_epon", VSOL, "olt-norte", vsol_epon_ports="16",
         why=f"it has rows in {P}.37950.1.1.5.12.1.27.1.2, a table of V-SOL V1600 EPON"),
    is_a("vsol_epon", VSOL, "", vsol_epon_onus="1"),
    is_no("vsol_epon", VSOL, "V1600G1", instead="vsol_gpon", vsol_epon_ports="1", why="GPON"),
    is_no("vsol_epon", VSOL, "olt-norte", why="it could be V-SOL V1600 EPON, but it lacks the rows in"),
    is_no("vsol_epon", VSOL, "V1600", why="it could be V-SOL V1600 EPON, but it lacks the rows in"),
    is_no("vsol_epon", f"{P}.37950.1.1.5.10.14.2", "V1600D", vsol_epon_onus="1", why="no known OLT"),
    is_no("vsol_epon", VSOL, "olt-norte", vsol_epon_ports="1", vsol_gpon_ports="1",
          why="V1600 EPON (vsol_epon) or V-SOL V1600G GPON (vsol_gpon): choose one"),

    is_a("vsol_gpon", VSOL, "V1600G1", why="and its sysDescr are those of V-SOL V1600G GPON"),
    is_a("vsol_gpon", VSOL, "V1600G2-B"),
    is_a("vsol_gpon", VSOL, "olt-sur", vsol_gpon_ports="4"),
    is_a("vsol_gpon", VSOL, "olt-sur", vsol_gpon_onus="3"),
    is_no("vsol_gpon", VSOL, "V1600D", instead="vsol_epon", why="EPON"),
    is_no("vsol_gpon", f"{P}.37950", "V1600G1", vsol_gpon_onus="3", why="no known OLT"),

    is_a("zte", f"{P}.3902.1082.1001.320.2.1", ZTE, "C320", why="is that of C320"),
    is_a("zte", f".{P}.3902.1082.1001.300.2.1", ZTE.replace("C320", "C300"), "C300"),
    is_a("zte", f"{P}.3902.1015.320.1.2", ZTE.replace("V2.1.0", "V1.2.5P3"), "C320",
         why=f"its sysObjectID {P}.3902.1015.320.1.2 is one of ZTE, and its sysDescr is that of C320"),
    is_a("zte", f"{P}.3902.1015.300.3.1", "C300 Version V1.2.1 Software", "C300"),
    is_a("zte", f"{P}.3902.1082.1001.777", ZTE, zte_cards="GTGH", why="a table of ZTE C300/C320"),
    is_no("zte", f"{P}.3902.1082.1001.777", ZTE,
          why="it could be ZTE C300/C320, but it lacks the rows in"),
    is_no("zte", f"{P}.3902.3.100.27", "ZXR10 5928 Software, Version: 5900", zte_cards="GTGH",
          why="and so do switches and routers"),
    is_no("zte", f"{P}.3902", "", why="no known OLT"),

    is_a("zte_c600", f"{P}.3902.1082.1001.600.1.1", C600, "C600", why="is that of C600"),
    is_a("zte_c600", f"{P}.3902.1082.1001.610.1.1", C600.replace("C600", "C610"), "C610"),
    is_a("zte_c600", f"{P}.3902.1082.1001.600.7", C600, "C600", why="and its sysDescr is that of C600"),
    is_a("zte_c600", f"{P}.3902.1082.1001.650.1.1", C600.replace("C600", "C650"), "C650", c600_cards="GFGL",
         why=f"it has rows in {P}.3902.1082.10.1.2.4.1.4, a table of ZTE C600/C610/C650"),
    is_a("zte_c600", f"{P}.3902.1082.1001.620.1.1", C600.replace("C600", "C620"), c600_cards="GFGL"),
    is_no("zte_c600", f"{P}.3902.1082.1001.650.1.1", C600.replace("C600", "C650"),
          why="it could be ZTE C600/C610/C650, but it lacks the rows in"),
    # A C320 has the tables of the newer tree as well.
    is_no("zte_c600", f"{P}.3902.1082.1001.777", ZTE, zte_cards="GTGH", c600_cards="GTGH", instead="zte",
          why="a table of ZTE C300/C320"),
    is_no("zte_c600", f"{P}.3902.3.100.27", "ZXR10 5960-64DL Software, Version: V3.00", c600_cards="GFGL",
          why="and so do switches and routers"),

    is_a("fiberhome", f"{P}.5875.800.1001.11", "AN5516-01", "AN5516-01", why="are those of AN5516-01"),
    # Models with the object id of another.
    is_a("fiberhome", f"{P}.5875.800.1001.11", "AN5516-04B", "AN5516-04"),
    is_a("fiberhome", f"{P}.5875.800.1001.11", "AN5516-06", "AN5516-06"),
    is_a("fiberhome", f"{P}.5875.800.1001.11", "OLT norte", why="is that of FiberHome AN5516"),
    is_a("fiberhome", f"{P}.5875.800.1001.12", "AN5516-04", "AN5516-04"),
    is_a("fiberhome", f"{P}.5875.800.1001.99", "AN5516-10", fiberhome_ports="1", why="it has rows in"),
    is_no("fiberhome", f"{P}.5875.800.1001.99", "AN5516-10",
          why="it could be FiberHome AN5516, but it lacks the rows in"),
    is_no("fiberhome", f"{P}.5875.1.8.22", "FiberHome S5800 switch", fiberhome_ports="1",
          why="and so do switches and routers"),
    is_no("fiberhome", f"{P}.5875", "", why="no known OLT"),

    is_a("fiberhome_5116", f"{P}.5875.800.1001.1", "AN5116-02", "AN5116-02", why="is that of AN5116-02"),
    is_a("fiberhome_5116", f"{P}.5875.800.1001.2", "AN5116-06", "AN5116-06"),
    is_a("fiberhome_5116", f"{P}.5875.800.1001.99", "AN5116-06B", fiberhome_ports="1",
         why="a table of FiberHome AN5116"),
    is_no("fiberhome_5116", f"{P}.5875.800.1001.99", "AN5116-06B",
          why="it could be FiberHome AN5116, but it lacks the rows in"),

    is_a("nokia", f"{P}.637.61.1", NOKIA, nokia_onts="ALCL", why=f"it has rows in {P}.637.61.1.35.10.1.1.5"),
    is_a("nokia", f"{P}.637.61.1", NOKIA, nokia_ports="49", why="a table of Nokia ISAM 7360 FX"),
    # Its own tables may not be permitted.
    is_a("nokia", f"{P}.637.61.1", NOKIA, interfaces=ISAM,
         why=f"it has an interface with '250' in {IF_TYPE}, as Nokia ISAM 7360 FX has"),
    is_a("nokia", f"{P}.637.61.1", NOKIA, interfaces={0x23A10000: (PON, b"PON of LT 16")}),
    is_no("nokia", f"{P}.637.61.1", NOKIA, interfaces=DSLAM, why="but it lacks the rows in"),
    is_no("nokia", f"{P}.637.61.1", NOKIA, interfaces=FED_BY_PON, why="but it lacks the rows in"),
    is_no("nokia", f"{P}.637.70.1", "OmniSwitch", interfaces=ISAM, why="and so do switches and routers"),
    # The same words from an ISAM with DSL or Ethernet boards.
    is_no("nokia", f"{P}.637.61.1", NOKIA, why="it could be Nokia ISAM 7360 FX, but it lacks the rows in"),
    is_no("nokia", f"{P}.6527.1.3.17", "TiMOS-C-16.0.R4 cpm/hops64 Nokia 7750 SR", nokia_onts="ALCL",
          why="no profile knows the maker"),
    is_no("nokia", f"{P}.637.70.1", "OmniSwitch", nokia_onts="ALCL", why="and so do switches and routers"),

    is_a("datacom", f"{P}.3709.1.2.137", DATACOM, "DM4610", why="and its sysDescr are those of DM4610"),
    is_a("datacom", f"{P}.3709.1.2.137", "DM4611 4GPON+2GT+2XS (DmOS version 9.0.0)", "DM4611"),
    is_a("datacom", f"{P}.3709.1.2.137", "DM4618 32GPON (DmOS version 9.0.0)", "DM4618"),
    is_a("datacom", f"{P}.3709.1.2.137", DM4616, "DM4616"),
    is_a("datacom", f"{P}.3709.1.2.137", DATACOM.replace("DM4610", "DM4612"),
         why="are those of Datacom DM4610/DM4615/DM4618"),
    # Other words, and PON ports.
    is_a("datacom", f"{P}.3709.1.2.137", "olt-norte", interfaces=XGS_PON, why=f"'250' in {IF_TYPE}"),
    is_a("datacom", f"{P}.3709.1.2.137", "", interfaces={0x06108001: (PON, b"gpon-1/1/1")}),
    # A switch has the same object id.
    is_no("datacom", f"{P}.3709.1.2.137", DM4770, interfaces=SWITCH, why="but it lacks the rows in"),
    is_no("datacom", f"{P}.3709.1.2.137", DM4770.replace("4770", "4616"), interfaces=SWITCH, why="it lacks"),
    is_a("datacom", f"{P}.3709.1.2.139", DATACOM.replace("DM4610", "DM4615"), "DM4615",
         datacom_onus="gpon-1/1/1-onu-0", why=f"it has rows in {P}.3709.3.6.2.1.1.3"),
    is_a("datacom", f"{P}.3709.1.2.141", DATACOM.replace("DM4610", "DM4618"), "DM4618",
         datacom_onus="gpon-1/1/1-onu-0"),
    is_no("datacom", f"{P}.3709.1.2.139", DATACOM.replace("DM4610", "DM4615"),
          why="but it lacks the rows in"),
    is_no("datacom", f"{P}.3709.1.2.120", "DM4370 - 24GX+12XS, DmOS 8.2.0", datacom_onus="1",
          why="and so do switches and routers"),
]  # fmt: skip

OTHERS = [
    Case("", f"{P}.8072.3.2.10", "Linux host 6.1", GENERIC, why=f"the maker of sysObjectID {P}.8072.3.2.10"),
    Case("", f"{P}.9.1.1208", "Cisco IOS Software", GENERIC, why="no profile knows the maker"),
    Case("", "0.0", "", GENERIC, why="no profile knows the maker of sysObjectID 0.0"),
    Case("", "", HUAWEI, GENERIC, why="it does not report its sysObjectID"),
    Case("", "", "", GENERIC, why="it does not report its sysObjectID"),
]


def _id(case: Case) -> str:
    return f"{case.about or 'other'}-{case.object_id.rpartition('.4.1.')[2]}-{case.profile}"


@pytest.mark.parametrize("case", CASES + OTHERS, ids=_id)
def test_a_device_gets_its_profile_and_the_reason_is_told(case: Case) -> None:
    identity = Identity(case.object_id, case.descr)
    # Only what is asked for can be found.
    asked = {oid: case.rows.get(oid) for oid in probes(identity, builtin())}
    if detect(identity, asked, builtin()).profile == GENERIC:
        asked |= {search.key: case.find(search) for search in searches(identity, asked, builtin())}
    detection = detect(identity, asked, builtin())
    assert (detection.profile, detection.model) == (case.profile, case.model)
    assert str(case.why) in str(detection.why)
    # It goes into a sentence of the one who shows it.
    assert str(detection.why)[0].islower()
    assert not str(detection.why).endswith(".")


@pytest.mark.parametrize("case", [case for case in CASES + OTHERS if case.profile == GENERIC], ids=_id)
def test_no_switch_and_no_unit_in_a_building_becomes_an_olt_by_its_interfaces(case: Case) -> None:
    device = replace(
        case,
        interfaces={1: (ETHERNET, b"ge0/0/1"), 2: (VLAN, b"vlan1"), **SWITCH, **FED_BY_PON, **FED_BY_GPON},
    )
    identity = Identity(device.object_id, device.descr)
    asked = {oid: device.rows.get(oid) for oid in probes(identity, builtin())}
    asked |= {search.key: device.find(search) for search in searches(identity, asked, builtin())}
    assert detect(identity, asked, builtin()).profile == GENERIC


@pytest.mark.parametrize("name", sorted(set(builtin()) - {GENERIC}))
def test_every_family_has_a_device_that_is_of_it_and_one_that_is_not(name: str) -> None:
    about = [case for case in CASES if case.about == name]
    assert any(case.profile == name for case in about)
    assert any(case.profile != name and case.why for case in about)


@pytest.mark.parametrize(
    ("file", "profile", "model"),
    [
        ("axos_e7-2.snmprec", "calix", "E7-2"),
        ("bdcom.snmprec", "bdcom", "GP3600-16B"),
        ("smartax.snmprec", "huawei", "MA5603T"),
        ("vsolution_v1600d.snmprec", "vsol_epon", ""),
    ],
)
@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")
def test_a_real_device_is_known(file: str, profile: str, model: str) -> None:
    values = {str(record.oid): record.value for record in snmprec.read(RECORDINGS / file)}
    descr = values["1.3.6.1.2.1.1.1.0"]
    assert isinstance(descr, bytes)
    identity = Identity(str(values["1.3.6.1.2.1.1.2.0"]), descr.decode())
    asked = {
        probe: next((str(value) for oid, value in values.items() if oid.startswith(f"{probe}.")), None)
        for probe in probes(identity, builtin())
    }
    detection = detect(identity, asked, builtin())
    assert (detection.profile, detection.model) == (profile, model)


def test_a_device_that_is_known_to_be_no_olt_is_asked_for_nothing() -> None:
    assert probes(Identity(f"{P}.2011.2.185", HUAWEI), builtin()) == ()
    assert probes(Identity(f"{P}.2011.2.186", HUAWEI), builtin()) == (PROBES["huawei_ports"],)


TWIN = """\
profile: {name}
title: One of two
confidence: guess
source: a test
detect:
  any:
    - {{object_id: 1.3.6.1.4.1.37950.1.1.5.10.14.1, descr: '{descr}'}}
    - {{object_id: 1.3.6.1.4.1.17409, probe: 1.3.6.1.4.1.17409.2.8.4.1.1.7, probe_text: '^{text}'}}
indexes: {{onu: [port, onu]}}
tables: {{onus: {{of: onu, oid: 1.3.6.1.4.1.37950.2, index: onu, columns: {{name: 1}}}}}}
"""


def test_relatives_with_one_object_id_are_told_apart_by_their_words_or_their_tables() -> None:
    twins = {
        name: parse_profile(TWIN.format(name=name, descr=descr, text=text), name)
        for name, descr, text in (("epon", "^V1600[^G]", "A"), ("gpon", "^V1600G", "B"))
    }
    shared = "1.3.6.1.4.1.37950.1.1.5.10.14.1"
    assert detect(Identity(shared, "V1600D"), {}, twins).profile == "epon"
    assert detect(Identity(shared, "V1600G1"), {}, twins).profile == "gpon"
    company = Identity("1.3.6.1.4.1.17409", "olt-7")
    assert detect(company, {"1.3.6.1.4.1.17409.2.8.4.1.1.7": "B1"}, twins).profile == "gpon"
    assert detect(company, {}, twins).profile == "generic"


def test_a_device_that_two_profiles_claim_is_generic() -> None:
    twins = {
        name: parse_profile(TWIN.format(name=name, descr="V", text="A"), name) for name in ("one", "two")
    }
    detection = detect(Identity("1.3.6.1.4.1.37950.1.1.5.10.14.1", "V1600D"), {}, twins)
    assert detection == Detection(
        "generic",
        "",
        Reason.of("several_families", what="One of two (one) or One of two (two)"),
    )


def test_what_a_device_says_is_quoted_shortly() -> None:
    profiles = {"one": parse_profile(TWIN.format(name="one", descr="V", text="A"), "one")}
    said = {"1.3.6.1.4.1.17409.2.8.4.1.1.7": "B\n" + "b" * 1000}
    why = detect(Identity("1.3.6.1.4.1.17409", ""), said, profiles).why
    assert str(why) == (
        f"it could be One of two, but it says 'B{'b' * 36}...' in 1.3.6.1.4.1.17409.2.8.4.1.1.7, "
        "which those do not"
    )
