"""The address that a request came from when proxies stand between, and which addresses are local."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import inet_aton
from typing import Final

Network = IPv4Network | IPv6Network
_NO_ADDRESS: Final = "?"
# One household has a whole /64 of IPv6 addresses.
_ONE_HOUSEHOLD: Final = 64
# Besides loopback, link-local, unspecified and multicast addresses, which the standard library knows.
_LOCAL: Final = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "255.255.255.255/32",
        # Metadata services of clouds, besides 169.254.169.254.
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
        "fd00:ec2::254/128",
    )
)
_NAT64: Final = ip_network("64:ff9b::/96")
_LOOPBACK_NAMES: Final = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


def network_of(text: str) -> Network | None:
    """Parse a network; an address alone is a network of one. Return None for anything else."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        return None


def client_address(peer: str, forwarded_for: str, trusted: Iterable[str]) -> str:
    """Return the last hop that is no trusted proxy, or "?" if that is no address.

    Earlier hops can be forged by anybody.
    """
    networks = _networks(trusted)
    hops = [*(hop.strip() for hop in forwarded_for.split(",") if hop.strip()), peer]
    while len(hops) > 1 and _is_in(hops[-1], networks):
        hops.pop()
    found = _parse(hops[-1])
    # Without its zone id, which a header could make arbitrarily long.
    return _NO_ADDRESS if found is None else str(found).partition("%")[0]


def is_trusted(peer: str, trusted: Iterable[str]) -> bool:
    """Return whether the address that connected to us is one of the trusted proxies."""
    return _is_in(peer, _networks(trusted))


def throttle_key(address: str) -> str:
    """Return the key by which attempts from this address are counted; all non-addresses share one key."""
    found = _parse(address)
    if found is None:
        return _NO_ADDRESS
    if isinstance(found, IPv6Address):
        return str(ip_network((found, _ONE_HOUSEHOLD), strict=False))
    return str(found)


def _networks(texts: Iterable[str]) -> list[Network]:
    return [network for text in texts if (network := network_of(text)) is not None]


def _is_in(address: str, networks: Collection[Network]) -> bool:
    found = _parse(address)
    return found is not None and any(found in network for network in networks)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    """Return the address; one of IPv4 that a socket of IPv6 tells (::ffff:10.0.0.5) as what it is."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def is_local_target(host: str) -> bool:
    """Return whether a host is this machine, its link, or a multicast or broadcast address.

    A name is judged without resolving it: only well-known loopback names are local.
    """
    host = host.strip().strip("[]").rstrip(".").lower()
    found = _address_of(host)
    if found is None:
        return host in _LOOPBACK_NAMES or host.endswith(".localhost")
    return any(_is_local(each) for each in (found, _inner(found)) if each is not None)


def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address, also one that is written as 0x7f000001 or 127.1. None for a name.

    A plain number counts as a name: many notification services have one in place of a host.
    """
    with suppress(ValueError):
        return ip_address(host)
    if "." in host or host.startswith("0x"):
        with suppress(OSError, ValueError):
            return IPv4Address(inet_aton(host))
    return None


def _is_local(address: IPv4Address | IPv6Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or address.is_multicast
        or any(address in network for network in _LOCAL)
    )


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def device_address(address: str) -> str:
    """Return the one spelling of an address by which devices are compared; a name is not resolved."""
    text = address.strip().removeprefix("[").removesuffix("]")
    found = _parse(text)
    return text.rstrip(".").lower() if found is None else str(found)


def spellings_of(address: str) -> list[str]:
    """Return the spellings in which the address may be stored, apart from upper and lower case."""
    plain = device_address(address)
    found = _parse(plain)
    if found is None:
        return [plain, f"{plain}."]
    if isinstance(found, IPv6Address):
        return [plain]
    # An IPv4 address inside of IPv6; how Python writes it depends on its version.
    return [plain, f"::ffff:{int(found) >> 16:x}:{int(found) & 0xFFFF:x}", f"::ffff:{plain}"]
