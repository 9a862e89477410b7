"""Whose request it is, when proxies stand between."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Network = IPv4Network | IPv6Network
# Who has one address of IPv6 has all of these.
_ONE_HOUSEHOLD: Final = 64


def network_of(text: str) -> Network | None:
    """Of an address, itself alone."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        return None


def client_address(peer: str, forwarded_for: str, trusted: Iterable[str]) -> str:
    """The last hop that is no trusted proxy. What came before it anybody can have written."""
    networks = [network for text in trusted if (network := network_of(text)) is not None]
    hops = [*(hop.strip() for hop in forwarded_for.split(",") if hop.strip()), peer]
    while len(hops) > 1 and _is_in(hops[-1], networks):
        hops.pop()
    return hops[-1]


def _is_in(address: str, networks: Collection[Network]) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)


def counted_as(address: str) -> str:
    """By what its attempts are counted. What is no address is one like any other."""
    try:
        found = ip_address(address)
    except ValueError:
        return "?"
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or ip_network((found, _ONE_HOUSEHOLD), strict=False))
    return str(found)
