"""Classifies octets that no profile knows: an identity, something harmless, or a text of a person."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from facho.sim.masking.columns import Content, split_words
from facho.vendors import rules
from facho.vendors.errors import BadValue

# Words of interfaces, states and units: a text of only these and small numbers identifies nobody.
_HARMLESS: Final = frozenset({
    "x", "g", "xp",
    "gpon", "epon", "xgpon", "xgspon", "xg", "xgs", "gepon", "pon", "olt", "onu", "ont", "llid", "uni", "eth",
    "ethernet", "ge", "xge", "fe", "te", "gi", "gigaethernet", "gigabitethernet", "tgigaethernet",
    "tengigabitethernet", "fastethernet", "vlan", "vlanif", "vlaninterface", "loopback", "lo", "null", "mgmt",
    "meth", "aux", "console", "uplink", "port", "slot", "frame", "shelf", "rack", "card", "board", "trunk",
    "sfp", "gei", "xgei", "gigabit", "ten", "twenty", "five", "hundred",
    "lag", "smartgroup", "eponport", "gponport", "up", "down", "on", "off", "online", "offline", "enable",
    "enabled", "disable", "disabled", "active", "inactive", "activated", "deactivated", "true", "false",
    "yes", "no", "none", "na", "n", "a", "unknown", "normal", "abnormal", "ok", "fail", "failed", "fault",
    "auto", "full", "half", "duplex", "working", "logging", "los", "losi", "lofi", "sfi", "dying", "gasp",
    "dyinggasp", "power", "poweroff", "reboot", "registered", "deregistered", "auth", "authfailed", "success",
    "idle", "ready", "init", "initial", "standby", "master", "slave", "present", "absent", "dbm", "mw", "w",
    "v", "mv", "ma", "ua", "c", "db", "nm", "km", "m", "mm", "bps", "kbps", "mbps", "gbps", "hz", "mhz", "s",
    "ms", "h", "d", "day", "days", "rpm",
})  # fmt: skip
_NUMBER: Final = re.compile(r"\d+")
# Longer ones may be a telephone or a document.
_MOST_DIGITS: Final = 4
_MOST_NUMBERS: Final = 8
_DOTTED: Final = re.compile(r"\d+\.\d+\.\d+")
_SERIAL: Final = re.compile(rb"[A-Z]{4}-?[0-9A-Fa-f]{8}")
_MAC: Final = re.compile(rb"(?:[0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}")
_MAC_OF_CISCO: Final = re.compile(rb"(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}")
# The same few states and names come again and again.
_REMEMBERED: Final = 1 << 16
_MAC_LENGTH: Final = 6
_SERIAL_LENGTH: Final = 8
_IPV6_LENGTH: Final = 16


@lru_cache(maxsize=_REMEMBERED)
def classify(value: bytes) -> Content:
    """Return what the octets hold, never UNKNOWN; neither text nor identity is FIXED."""
    bare = value.strip(b"\0 ")
    if not bare:
        return Content.FIXED
    if is_text(bare):
        return _classify_text(bare)
    if len(value) == _MAC_LENGTH:
        return Content.MAC
    if len(value) == _SERIAL_LENGTH and value[:4].isalnum() and not _is_date(value):
        return Content.SERIAL
    return Content.IP if len(value) == _IPV6_LENGTH and address_of(value) is not None else Content.FIXED


def _classify_text(bare: bytes) -> Content:
    if _SERIAL.fullmatch(bare):
        return Content.SERIAL
    if _MAC.fullmatch(bare) or _MAC_OF_CISCO.fullmatch(bare):
        return Content.MAC
    if address_of(bare) is not None:
        return Content.IP
    return Content.FIXED if is_harmless(bare) else Content.TEXT


def is_text(value: bytes) -> bool:
    """Return whether a person could have written it, in whatever encoding."""
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        # Latin-1 of old terminals has letters from 0xC0 on, and no more of them than of the others.
        rare = sum(octet >= 0x80 for octet in value)
        return all(0x20 <= octet < 0x7F or octet >= 0xC0 for octet in value) and 2 * rare < len(value)


@lru_cache(maxsize=_REMEMBERED)
def is_harmless(value: bytes, words: frozenset[str] = frozenset()) -> bool:
    """Return whether it has nothing but small numbers and words that everybody uses, or `words`."""
    if _is_date(value):
        return True
    text = value.decode("utf-8", "replace").strip("\0 ")
    numbers = _NUMBER.findall(text)
    return (
        all(word in _HARMLESS or word in words for word in split_words(text))
        and all(len(number) <= _MOST_DIGITS for number in numbers)
        and len(numbers) <= _MOST_NUMBERS
        and not _DOTTED.search(text)
    )


def _is_date(value: bytes) -> bool:
    try:
        return rules.date(value) is not None
    except BadValue:
        return False


def address_of(value: bytes) -> IPv4Address | IPv6Address | None:
    """Return the address that these octets, or this text, are; None for netmasks and other texts."""
    bare: str | bytes = value
    if len(value) not in (4, _IPV6_LENGTH) or is_text(value):
        bare = value.strip(b"\0 ").decode("ascii", "replace")
    for kind in (IPv4Address, IPv6Address):
        try:
            address = kind(bare)
        except ValueError:
            continue
        return address if identifies_host(address) else None
    return None


def identifies_host(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        # Octets of another meaning would seldom begin like addresses that are in use.
        return address.packed[0] & 0xE0 == 0x20 or address.is_link_local or address.packed[0] in (0xFC, 0xFD)
    return bool(int(address)) and not address.is_loopback and address.packed[0] != 0xFF
