"""Opens requests and seals answers of SNMPv1 and v2c; the agent itself sees PDUs only."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from facho.snmp import values
from facho.snmp.errors import BerError
from facho.snmp.v3 import Header

V1: Final = 0
V2C: Final = 1


class UnknownCommunity(Exception):
    """A request in a community that this agent does not know; like real ones, it does not answer."""


class ReportDue(Exception):
    """A request that an SNMPv3 engine refuses; the report with the reason is the answer."""

    def __init__(self, datagram: bytes) -> None:
        super().__init__()
        self.datagram = datagram


class Opened(NamedTuple):
    """A request that may be answered: the position of its PDU, and the header of the answer."""

    version: int
    data: bytes
    start: int
    end: int
    header: bytes
    # The header of an SNMPv3 request.
    asked: Header | None = None


class Security(Protocol):
    def open(self, datagram: bytes) -> Opened:
        """Open a request. Raises UnknownCommunity, ReportDue, and BerError for garbage."""

    def seal(self, opened: Opened, pdu: bytes) -> bytes: ...

    @property
    def v2c_header(self) -> bytes:
        """Return the beginning of a request by SNMPv2c, and of its answer."""


class CommunitySecurity:
    """SNMPv1 and SNMPv2c: a version, a community in clear, the PDU."""

    def __init__(self, community: str) -> None:
        self._community = community.encode()
        name = values.encode_tlv(values.OCTET_STRING, self._community)
        self._headers = {values.encode_integer(version) + name: version for version in (V1, V2C)}
        self._size = len(name) + 3

    @property
    def v2c_header(self) -> bytes:
        return next(header for header, version in self._headers.items() if version == V2C)

    def open(self, datagram: bytes) -> Opened:
        end = len(datagram)
        start, stop = values.expect_tlv(datagram, 0, end, values.SEQUENCE)
        if stop != end:
            raise BerError("octets are left after the message")
        # Nearly every message starts with the same octets; only the others need a closer look.
        header = datagram[start : start + self._size]
        version = self._headers.get(header)
        if version is not None:
            return Opened(version, datagram, start + self._size, end, header)
        return self._open_slowly(datagram, start, end)

    def _open_slowly(self, datagram: bytes, start: int, end: int) -> Opened:
        version_start, version_end = values.expect_tlv(datagram, start, end, values.INTEGER)
        version = values.decode_signed(datagram[version_start:version_end])
        if version not in (V1, V2C):
            raise BerError(f"version {version} is not spoken here")
        name_start, name_end = values.expect_tlv(datagram, version_end, end, values.OCTET_STRING)
        if datagram[name_start:name_end] != self._community:
            raise UnknownCommunity
        return Opened(version, datagram, name_end, end, datagram[start:name_end])

    def seal(self, opened: Opened, pdu: bytes) -> bytes:
        return b"".join((b"\x30", values.encode_length(len(opened.header) + len(pdu)), opened.header, pdu))
