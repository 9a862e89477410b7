"""The client: one for the process, and an Agent for each conversation with one of its devices."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Final, Self
from weakref import WeakValueDictionary

from facho.snmp.adapt import Decide, Learned, Limits, decide
from facho.snmp.address import DEFAULT_PORT, resolve
from facho.snmp.allowance import MOST_OCTETS, MOST_ROWS, Allowance
from facho.snmp.errors import ClientClosed
from facho.snmp.get import GetResult, get_many
from facho.snmp.message import Community, Security, Version, peek_request_id
from facho.snmp.peer import MAX_TAG, Asking, Dropped, Peer
from facho.snmp.talk import Talk
from facho.snmp.transport import Endpoint, SocketAddress
from facho.snmp.usm import User
from facho.snmp.v3 import UserSecurity
from facho.snmp.values import Oid, Value
from facho.snmp.walk import WalkResult, first_row, walk_table

# Datagrams from addresses that were not asked are looked at, so many a second.
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


def allowance_of(target: Target) -> Allowance:
    return Allowance(target.most_rows, target.most_octets)


class Client:
    """Owns the sockets. Use it as an async context manager, one per event loop.

    `decide` is how it adapts to each agent; the benchmarks put something simpler in its place.
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
        """Operations under way end with ClientClosed."""
        self._closed = True
        for peer in list(self._peers.values()):
            peer.close()
        for endpoint in self._endpoints.values():
            endpoint.close()
        self._endpoints.clear()

    @property
    def pending(self) -> int:
        """Requests that wait for their answer, of all agents."""
        return sum(peer.pending for peer in self._peers.values())

    async def agent(
        self,
        target: Target,
        *,
        guard: Callable[[], None] | None = None,
        tag: int = 0,
        learned: Learned | None = None,
        allowance: Allowance | None = None,
    ) -> Agent:
        """A conversation with a device. Resolves its name, sends nothing.

        `guard` is called before every datagram that leaves, the repeated ones too; what it raises ends the
        operation and is raised to the caller. `tag` is carried in the upper bits of every request id.
        `learned` is what an earlier conversation left. `allowance` is what several conversations share; else
        this one has the target's for itself.
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
            Asking(target.timeout, target.retries, tag, guard, allowance or allowance_of(target)),
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
        """Never taken for an answer; but a device that answers from another address is worth a hint.

        To find out whose answer it is, all peers are asked: of a flood, a few a second are enough.
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

    def __init__(self, target: Target, peer: Peer, asking: Asking) -> None:
        self.target = target
        self._peer = peer
        self._talk = Talk(peer, asking, _security(target, peer), target.bulk and target.version != Version.V1)

    @property
    def learned(self) -> Learned:
        return self._peer.window.pace.learned

    @property
    def in_flight(self) -> int:
        """Requests of all conversations with this address that may be under way."""
        return self._peer.window.in_flight

    @property
    def was_answered(self) -> bool:
        """Whether anything at all came from the address yet."""
        return self._peer.was_answered

    @property
    def dropped(self) -> Dropped:
        return self._peer.dropped

    async def get_many(self, oids: Iterable[Oid], *, deadline: float | None = None) -> GetResult:
        """The values of these OIDs, in as few requests as the agent bears. `deadline` is in seconds, for all
        of it.
        """
        return await get_many(self._talk, list(dict.fromkeys(oids)), deadline)

    async def first_row(self, column: Oid) -> tuple[bytes, Value] | None:
        """Whether a column has rows, and the first of them, for one request. Raises SnmpError."""
        return await first_row(self._talk, column)

    async def walk(
        self, column: Oid, *, deadline: float | None = None, progress: Callable[[int], None] | None = None
    ) -> WalkResult:
        return await walk_table(self._talk, [column], deadline, progress)

    async def walk_table(
        self,
        columns: Iterable[Oid],
        *,
        deadline: float | None = None,
        progress: Callable[[int], None] | None = None,
        expected: Mapping[Oid, int] = MappingProxyType({}),
        around: Sequence[Oid] = (),
        into: WalkResult | None = None,
    ) -> WalkResult:
        """Several columns at once. `progress` is told the number of rows of each answer as it comes.

        `expected` is how many rows columns had the last time, so that no page goes far past their end.
        Subtrees of `around` are left out. What comes is put `into` a result, for who may be cancelled.
        """
        oids = list(dict.fromkeys(columns))
        return await walk_table(self._talk, oids, deadline, progress, expected, around, into)


def _security(target: Target, peer: Peer) -> Security:
    if target.user is not None:
        return UserSecurity(target.user, peer.engine)
    return Community(target.version, target.community.encode("utf-8", "surrogateescape"))
