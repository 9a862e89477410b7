"""Addresses of OLTs: one device is one OLT.

Two OLTs at one address and port would ask one device twice. A proxy that forwards to several devices is the
exception: it tells them apart by the SNMPv3 context (RFC 3413, proxy forwarder applications).
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from typing import Final

from django.db.models import Q
from django.utils.translation import gettext as _

from facho.apps.hosts.credentials import Unreadable
from facho.apps.hosts.models import Olt, SnmpVersion
from facho.core.addresses import device_address, spellings_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_range

_HOST_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_LONGEST_ADDRESS: Final = 253


class TakenAddress(CommandError):
    """The address and port belong to another OLT, which pages link to."""

    def __init__(self, message: str, olt: Olt) -> None:
        super().__init__("address", message)
        self.olt_id, self.olt_name = olt.pk, olt.name


def address_of(text: str) -> str:
    address = text.strip().removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        # Names of hosts are the same in any case. A last dot stays: with it no search domain is tried.
        address = address.lower()
    else:
        return device_address(address)
    looks_numeric = bool(re.fullmatch(r"[0-9.]*|.*:.*", address))
    if looks_numeric or len(address) > _LONGEST_ADDRESS or not _HOST_NAME.fullmatch(address):
        raise CommandError(
            "address", _("'%(text)s' is neither an IPv4 nor an IPv6 address nor a name") % {"text": text}
        )
    return address


def port_of(port: int) -> int:
    return check_range(port, 1, 65_535, "port")


def device_of(olt: Olt) -> tuple[str, int, str | None]:
    """Return what tells the device apart: address, port and SNMPv3 context; the context is None before v3."""
    return device_address(olt.address), olt.port, _context_of(olt)


def refuse_taken_address(olt: Olt) -> None:
    """Refuse the address and port of another OLT, in the transaction of the command that saves it."""
    same = Q()
    for spelling in spellings_of(olt.address):
        same |= Q(address__iexact=spelling)
    others = Olt.objects.filter(same, port=olt.port, removed_at=None).exclude(pk=olt.pk or 0)
    for other in others.order_by("name"):
        if _is_same_device(_context_of(olt), _context_of(other)):
            raise _taken(olt, other)


def shared_addresses() -> list[tuple[str, int, list[str]]]:
    """Return each address and port of more than one OLT that are not told apart by a context."""
    by_place: dict[tuple[str, int], list[int]] = defaultdict(list)
    for pk, address, port in Olt.objects.filter(removed_at=None).values_list("pk", "address", "port"):
        by_place[device_address(address), port].append(pk)
    shared = {place: pks for place, pks in by_place.items() if len(pks) > 1}
    olts = Olt.objects.in_bulk([pk for pks in shared.values() for pk in pks])
    found = []
    for (address, port), pks in sorted(shared.items()):
        contexts = [_context_of(olts[pk]) for pk in pks]
        if len(set(contexts)) < len(pks) or None in contexts:
            found.append((address, port, sorted(olts[pk].name for pk in pks)))
    return found


def _context_of(olt: Olt) -> str | None:
    """Return the SNMPv3 context; None with another version, or with credentials that cannot be decrypted."""
    if olt.snmp_version != SnmpVersion.V3 or isinstance(olt.credentials, Unreadable):
        return None
    return olt.credentials.user.context if olt.credentials.user else ""


def _is_same_device(context: str | None, other: str | None) -> bool:
    return context is None or other is None or context == other


def _taken(olt: Olt, other: Olt) -> TakenAddress:
    values = {"address": olt.address, "port": olt.port, "olt": other.name}
    if SnmpVersion.V3 in (olt.snmp_version, other.snmp_version):
        sentence = _(
            "%(olt)s already has the address %(address)s and the port %(port)d; two OLTs behind a proxy need "
            "SNMPv3 and different contexts"
        )
    else:
        sentence = _("%(olt)s already has the address %(address)s and the port %(port)d")
    return TakenAddress(sentence % values, other)
