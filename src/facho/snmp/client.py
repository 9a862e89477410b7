"""The SNMP client of a process, and an Agent for each conversation with a device."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Final, Self
from weakref import WeakValueDictionary

from facho.snmp.errors import ClientClosed
from facho.snmp.get import GetResult, PositionResult, Unread, get_many, get_positions
from facho.snmp.get_names import RowNames
from facho.snmp.message import Community, Security, Version, peek_request_id
from facho.snmp.pacing import Decide, Learned, Limits, decide
from facho.snmp.peer import MAX_TAG, MOST_OCTETS, MOST_ROWS, Dropped, Peer, ReceiveLimit, RequestSettings
from facho.snmp.requester import Requester
from facho.snmp.transport import DEFAULT_PORT, Endpoint, SocketAddress, resolve
from facho.snmp.usm import User
from facho.snmp.v3 import UserSecurity
from facho.snmp.values import Oid, Value
from facho.snmp.walk import WalkResult, first_row, rows_after, walk_table

# Datagrams a second from unknown addresses that are looked at.
_STRANGERS_PER_S: Final = 50


@dataclass(frozen=True, slots=True)
class Target:
    """A device and how to talk to it: in a community, or with SNMPv3 as a user."""

    host: str
    community: str = field(default="public", repr=False)
    port: int = DEFAULT_PORT
    version: Version = Version.V2C
    timeout: float = 3.0
    retries: int = 2
    bulk: bool = True
    limits: Limits = field(default_factory=Limits)
    user: User | None = None
    # What it may send: rows of one column, and octets of all answers of a conversation or an execution.
    most_rows: int = MOST_ROWS
    most_octets: int = MOST_OCTETS

    def __post_init__(self) -> None:
        if (self.user is not None) != (self.version == Version.V3):
            raise ValueError("SNMPv3 needs a user, and a user needs SNMPv3")


def receive_limit_of(target: Target) -> ReceiveLimit:
    return ReceiveLimit(target.most_rows, target.most_octets)


class Client:
    """Owns the sockets. Use it as an async context manager, one per event loop.

    `decide` is the rule by which it adapts to each agent; benchmarks replace it by simpler ones.
    """

    def __init__(self, decide: Decide = decide) -> None:
        self._decide = decide
        self.strangers = 0
        self._stranger_second = 0
        self._strangers_seen = 0
        self._closed = False
        self._endpoints: dict[socket.AddressFamily, Endpoint] = {}
        self._peers: WeakValueDictionary[SocketAddress, Peer] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets; operations under way end with ClientClosed."""
        self._closed = True
        for peer in list(self._peers.values()):
            peer.close()
        for endpoint in self._endpoints.values():
            endpoint.close()
        self._endpoints.clear()

    @property
    def pending(self) -> int:
        """Return the number of requests to all agents that wait for an answer."""
        return sum(peer.pending for peer in self._peers.values())

    async def agent(
        self,
        target: Target,
        *,
        guard: Callable[[], None] | None = None,
        tag: int = 0,
        learned: Learned | None = None,
        receive_limit: ReceiveLimit | None = None,
    ) -> Agent:
        """Return a conversation with a device. Resolves its name, sends nothing.

        `guard` is called before every datagram that leaves, the repeated ones too; what it raises ends the
        operation and is raised to the caller. `tag` is carried in the upper bits of every request id.
        `learned` are the settings that an earlier conversation ended with. `receive_limit` is shared by
        several conversations; without it, this one has the target's for itself.
        """
        if self._closed:
            raise ClientClosed("the SNMP client was closed")
        if not 0 <= tag <= MAX_TAG:
            raise ValueError(f"tag must be 0 to {MAX_TAG}")
        family, address = await resolve(target.host, target.port)
        peer = self._peer(family, address)
        peer.window.configure(target.limits, learned)
        return Agent(
            target,
            peer,
            RequestSettings(
                target.timeout, target.retries, tag, guard, receive_limit or receive_limit_of(target)
            ),
        )

    def _peer(self, family: socket.AddressFamily, address: SocketAddress) -> Peer:
        peer = self._peers.get(address)
        if peer is None:
            loop = asyncio.get_running_loop()
            if family not in self._endpoints:
                self._endpoints[family] = Endpoint(loop, family, self._received)
            peer = Peer(address, self._endpoints[family], loop, self._decide)
            self._peers[address] = peer
        return peer

    def _received(self, data: bytes, address: SocketAddress) -> None:
        peer = self._peers.get(address)
        if peer is not None:
            peer.received(data)
        else:
            self._received_from_stranger(data, address)

    def _received_from_stranger(self, data: bytes, address: SocketAddress) -> None:
        """Drop a datagram from an unknown address, and note the peer whose request it may answer.

        That search goes through all peers, so it is limited to some datagrams a second.
        """
        self.strangers += 1
        second = int(asyncio.get_running_loop().time())
        if second != self._stranger_second:
            self._stranger_second, self._strangers_seen = second, 0
        self._strangers_seen += 1
        if self._strangers_seen > _STRANGERS_PER_S:
            return
        request_id = peek_request_id(data)
        if request_id is None:
            return
        asked = [peer for peer in self._peers.values() if peer.is_waiting_for(request_id)]
        if len(asked) == 1:
            asked[0].answered_from = address


class Agent:
    """One conversation with a device. Cheap to make; all conversations with an address share its limits."""

    def __init__(self, target: Target, peer: Peer, settings: RequestSettings) -> None:
        self.target = target
        self._peer = peer
        self._requester = Requester(
            peer, settings, _security(target, peer), target.bulk and target.version != Version.V1
        )

    @property
    def learned(self) -> Learned:
        return self._peer.window.learned

    @property
    def in_flight(self) -> int:
        """Return the number of requests in flight, of all conversations with this address."""
        return self._peer.window.in_flight

    @property
    def was_answered(self) -> bool:
        """Return whether the address has answered anything yet."""
        return self._peer.was_answered

    @property
    def dropped(self) -> Dropped:
        return self._peer.dropped

    async def get_many(self, oids: Iterable[Oid], *, deadline: float | None = None) -> GetResult:
        """Read these OIDs in as few requests as the agent bears; `deadline` is in seconds, for all."""
        return await get_many(self._requester, list(dict.fromkeys(oids)), deadline)

    async def get_rows(
        self,
        names: RowNames,
        positions: Sequence[int],
        into: list[Value | Unread],
        *,
        deadline: float | None = None,
    ) -> PositionResult:
        """Read these positions of a table as get_many does, `into` a list with a place for each of its
        positions.
        """
        return await get_positions(self._requester, names, positions, into, deadline)

    async def first_row(self, column: Oid) -> tuple[bytes, Value] | None:
        """Return the first row of a column, or None when it has no rows. Raises SnmpError."""
        return await first_row(self._requester, column)

    async def rows_after(self, column: Oid, index: bytes, rows: int) -> list[tuple[bytes, Value]]:
        """Return the rows of a column that follow an index, by one request. Raises SnmpError."""
        return await rows_after(self._requester, column, index, rows)

    async def walk(
        self, column: Oid, *, deadline: float | None = None, progress: Callable[[int], None] | None = None
    ) -> WalkResult:
        return await walk_table(self._requester, [column], deadline, progress)

    async def walk_table(
        self,
        columns: Iterable[Oid],
        *,
        deadline: float | None = None,
        progress: Callable[[int], None] | None = None,
        expected: Mapping[Oid, int] = MappingProxyType({}),
        excluded: Sequence[Oid] = (),
        into: WalkResult | None = None,
    ) -> WalkResult:
        """Walk several columns at once. `progress` is called with the number of rows of each answer.

        `expected` is how many rows the columns had the last time, so that no page goes far past their end.
        `excluded` subtrees are left out. Rows are put `into` a result of the caller, who may be cancelled.
        """
        oids = list(dict.fromkeys(columns))
        return await walk_table(self._requester, oids, deadline, progress, expected, excluded, into)


def _security(target: Target, peer: Peer) -> Security:
    if target.user is not None:
        return UserSecurity(target.user, peer.engine)
    return Community(target.version, target.community.encode("utf-8", "surrogateescape"))
