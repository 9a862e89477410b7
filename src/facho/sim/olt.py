"""A simulated OLT on UDP: it answers datagrams in the way of its scenario."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, cast

from facho.sim.agent import Agent, Answer
from facho.sim.encoded_tables import EncodedTables
from facho.sim.gate import Gate
from facho.sim.hostile import Attacker
from facho.sim.model import Cause
from facho.sim.network import Network
from facho.sim.pdu import Pdu, encode_response, parse_pdu
from facho.sim.quick_answers import QuickAnswers
from facho.sim.report import OltReport, Tally
from facho.sim.row_faults import NO_FAULTS, RowFaults
from facho.sim.scenario import Scenario
from facho.sim.security import Opened, ReportDue, Security, UnknownCommunity
from facho.sim.usm import EngineSecurity
from facho.snmp.errors import BerError

# The tags and lengths of the message, the PDU and the list, and three integers of at most five octets.
_ENVELOPE = 3 * 4 + 3 * 7
_OTHER_ADDRESS = "127.255.0.1"

# A flood comes in bursts, so many a second.
_BURSTS_PER_S = 50

# Timers of the loop may be early by so much: a request whose answer was sent no longer counts.
_TIMER_S: Final = 0.001

Address = tuple[str, int]


class VirtualCpu:
    """The slow CPU of an agent, which works on one request after the other. It only computes times."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._free_at = 0.0
        self._finishing: deque[float] = deque()

    def admit(self, now: float, varbinds: int, optics: int) -> float | None:
        """Return when the answer is ready, or None when the queue is full and the request is dropped."""
        finishing = self._finishing
        while finishing and finishing[0] <= now + _TIMER_S:
            finishing.popleft()
        costs = self._scenario
        if costs.queue and len(finishing) >= costs.queue:
            return None
        needed = costs.request_s + varbinds * costs.varbind_s + optics * costs.optics_s
        self._free_at = max(now, self._free_at) + needed
        finishing.append(self._free_at)
        return self._free_at


class SimulatedOlt(asyncio.DatagramProtocol):
    """An OLT whose `scenario` can be changed at any time; the state of its ONUs survives the change.

    A port that the old scenario cut is restored, unless the new one cuts it in the same way.
    """

    def __init__(
        self, tables: EncodedTables, security: Security, clock: Callable[[], float], seed: int = 0
    ) -> None:
        self.model = tables.model
        self._tables = tables
        self._agent = Agent(tables)
        self._security = security
        self._clock = clock
        self._seed = seed
        self._tally = Tally()
        self._transport: asyncio.DatagramTransport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._other_socket: socket.socket | None = None
        self._attacker: Attacker | None = None
        self._flood_timer: asyncio.TimerHandle | None = None
        self._flood_target: Address = ("", 0)
        self._down_until = 0.0
        self._gates: tuple[Gate, ...] = ()
        self.address: Address = ("", 0)
        self._quick: QuickAnswers | None = None
        self._scenario = Scenario()
        self.scenario = Scenario()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def scenario(self) -> Scenario:
        return self._scenario

    @scenario.setter
    def scenario(self, scenario: Scenario) -> None:
        restored = {port for port, _ in self._scenario.cuts - scenario.cuts}
        self._scenario = scenario
        self._cpu = VirtualCpu(scenario)
        self._network = Network(scenario, self._seed)
        self._agent.faults = RowFaults(scenario, self._seed) if scenario.has_row_faults else NO_FAULTS
        self._stop_flood()
        # The attacker also makes the datagrams of a flood.
        hostile = scenario.attacks or scenario.flood_per_s
        self._attacker = (
            Attacker(scenario.attacks, self._tables.layout, self._security, self._seed) if hostile else None
        )
        self._agent.hang_on_zero_repetitions = scenario.hang_on_zero_repetitions
        self._requests_before = self._tally.requests
        self._restart_due = scenario.restart_after
        self.model.motion = scenario.motion
        self.model.cpu_pct = scenario.cpu_pct
        self.model.counting = scenario.counting
        self.model.clock_behind_s = scenario.clock_behind_s
        self.model.dim = dict.fromkeys(scenario.dim_ports, scenario.dim_db)
        self._moving = not scenario.motion.still
        self._choose_quick_answers()
        self._at_once = not (scenario.has_cpu or scenario.has_network_faults)
        self._tables.forget_state()
        self._close_other_socket()
        for port in restored:
            self.restore(port)
        for port in scenario.fibre_cut_ports:
            self.cut_fibre(port)
        for port in scenario.power_cut_ports:
            self.cut_power(port)

    def report(self) -> OltReport:
        return self._tally.report()

    def silence(self, silent: bool = True) -> None:
        """Stop answering, or answer again; the rest of the scenario stays."""
        self._scenario = self._scenario.but(silent=silent)
        self._choose_quick_answers()

    def _choose_quick_answers(self) -> None:
        room = self._scenario.max_message - len(self._security.v2c_header) - _ENVELOPE
        is_usual = self._scenario.is_usual and not self._gates
        self._quick = QuickAnswers(self._tables, self._security.v2c_header, room) if is_usual else None

    def hold(self, *, skip: int = 0, under: str = "") -> Gate:
        """Hold requests from now on, after the first `skip`, until the gate is released.

        With an OID, only requests for names under it. SNMPv3 discovery is never held.
        """
        gate = Gate(self._call_in_loop, skip=skip, under=under)
        self._gates = (*(each for each in self._gates if not each.is_released), gate)
        self._choose_quick_answers()
        return gate

    def _call_in_loop(self, serve: Callable[[], None]) -> None:
        """Run it in the loop, or at once before the OLT listens; not at all in a closed loop."""
        if self._loop is None:
            serve()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(serve)

    def restart(self, silent_for: float = 0.0) -> None:
        """Lose all requests under way, stay silent for a while, and count everything from zero."""
        now = self._clock()
        self._down_until = now + silent_for
        self.model.booted_at = self._down_until
        self._tables.forget_state()
        if isinstance(self._security, EngineSecurity):
            self._security.boots += 1
        self._cpu = VirtualCpu(self._scenario)
        self._tally.restarts += 1

    def take_offline(self, onu: int, cause: Cause = Cause.LOS) -> None:
        self.model.take_offline(onu, cause, self._clock())
        self._tables.forget_state()

    def bring_back(self, onu: int) -> None:
        self.model.bring_back(onu, self._clock())
        self._tables.forget_state()

    def cut_fibre(self, port: int) -> None:
        """Take the port and all its ONUs down by loss of signal."""
        self.model.dark_ports.add(port)
        self._cut(port, Cause.LOS)

    def cut_power(self, port: int) -> None:
        """Take all ONUs of the port offline by dying gasp."""
        self._cut(port, Cause.DYING_GASP)

    def _cut(self, port: int, cause: Cause) -> None:
        now = self._clock()
        for row in self.model.shape.rows_of_port(port):
            self.model.take_offline(row, cause, now)
        self._tables.forget_state()

    def restore(self, port: int) -> None:
        """Bring the port and all its ONUs back."""
        self.model.dark_ports.discard(port)
        now = self._clock()
        for row in self.model.shape.rows_of_port(port):
            self.model.bring_back(row, now)
        self._tables.forget_state()

    def served_rows(self, rows: Sequence[int], columns: Sequence[str], at: float) -> list[dict[str, Any]]:
        """Return rows as they are served at a moment: the index in dots, and the plain values of columns."""
        layout = self._tables.layout
        numbers = {placed.spec.name: number for number, placed in enumerate(layout.columns)}
        chosen = [numbers[name] for name in columns]
        index = layout.columns[chosen[0]].index
        return [
            {
                "index": ".".join(map(str, index.arcs[row])),
                "values": [self._tables.value(number, row, at) for number in chosen],
            }
            for row in rows
        ]

    def build_all(self) -> None:
        """Encode every table now rather than at the first request."""
        self._tables.build_all(self._clock())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._loop = asyncio.get_running_loop()

    def error_received(self, exc: Exception) -> None:
        """Ignore the error: a client has gone away."""

    def close(self) -> None:
        self._stop_flood()
        if self._transport is not None:
            self._transport.close()
        self._close_other_socket()

    def _stop_flood(self) -> None:
        if self._flood_timer is not None:
            self._flood_timer.cancel()
            self._flood_timer = None

    def _flood(self, peer: Address) -> None:
        """Send a burst to the last client, and repeat until the scenario or the client changes."""
        assert self._loop is not None
        self._stop_flood()
        for number in range(max(1, int(self._scenario.flood_per_s / _BURSTS_PER_S))):
            if self._attacker is None or self._transport is None or self._transport.is_closing():
                return
            self._tally.unsolicited += 1
            # Every other one comes from another address.
            send = self._send_from_elsewhere if number % 2 else self._transport.sendto
            send(self._attacker.unsolicited(), peer)
        self._flood_timer = self._loop.call_later(1 / _BURSTS_PER_S, self._flood, peer)

    def _close_other_socket(self) -> None:
        if self._other_socket is not None:
            self._other_socket.close()
            self._other_socket = None

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if self._quick is None or not self._answer_quickly(self._quick, data, addr):
            self._receive(data, addr)

    def _answer_quickly(self, quick: QuickAnswers, data: bytes, peer: Address) -> bool:
        """Answer a usual request; False for others, of which nothing is counted yet."""
        now = self._clock()
        if now < self._down_until:
            return False
        if self._moving:
            self._tables.advance(now)
        answer = quick.answer(data, now)
        if answer is None:
            return False
        tally = self._tally
        tally.bytes_in += len(data)
        tally.count_request(answer.tag, answer.request_id)
        tally.max_outstanding = tally.max_outstanding or 1
        self._send(answer.datagram, answer.served, peer)
        return True

    def _receive(self, data: bytes, addr: Address) -> None:
        tally = self._tally
        if self._network.loses_request():
            tally.lost_requests += 1
            return
        tally.bytes_in += len(data)
        if self._scenario.flood_per_s and (self._flood_timer is None or self._flood_target != addr):
            self._flood_target = addr
            self._flood(addr)
        try:
            opened = self._security.open(data)
            pdu = parse_pdu(opened.data, opened.start, opened.end)
            tally.count_request(pdu.tag, pdu.request_id)
        except ReportDue as report:
            tally.reports += 1
            self._send_report(report.datagram, addr)
        except UnknownCommunity:
            tally.unknown_community += 1
        except BerError:
            tally.garbage += 1
        else:
            if not (self._gates and self._is_held(opened, pdu, addr)):
                self._serve(opened, pdu, addr)

    def _is_held(self, opened: Opened, pdu: Pdu, peer: Address) -> bool:
        serve = partial(self._serve_held, self._tally.restarts, opened, pdu, peer)
        return any(gate.hold(pdu, serve) for gate in self._gates)

    def _serve_held(self, restarts: int, opened: Opened, pdu: Pdu, peer: Address) -> None:
        """Serve a held request, unless the OLT restarted meanwhile."""
        if restarts == self._tally.restarts:
            self._serve(opened, pdu, peer)

    def _serve(self, opened: Opened, pdu: Pdu, peer: Address) -> None:
        try:
            answer = self._answer(opened, pdu)
        except BerError:
            self._tally.garbage += 1
            return
        if answer is None:
            self._tally.unanswered += 1
        else:
            self._dispatch(opened, pdu, answer, peer)

    def _send_report(self, datagram: bytes, peer: Address) -> None:
        """Send a report of SNMPv3, unless the OLT is silent or down."""
        if not self._scenario.silent and self._clock() >= self._down_until:
            self._dispatch_datagram(datagram, Answer(b""), peer)

    def _answer(self, opened: Opened, pdu: Pdu) -> Answer | None:
        now = self._clock()
        scenario = self._scenario
        requests = self._tally.requests - self._requests_before
        if self._restart_due and requests > self._restart_due:
            self._restart_due = 0
            self.restart(scenario.restart_silence_s)
        if scenario.silent or now < self._down_until:
            return None
        if self._moving:
            self._tables.advance(now)
        if scenario.churn_every:
            self._agent.faults.set_requests(requests)
        if scenario.counter_faults and self._agent.faults is not NO_FAULTS:
            self._agent.faults.set_time(now)
        room = scenario.max_message - len(opened.header) - _ENVELOPE
        answer = self._agent.answer(opened.version, pdu, room, now)
        if answer is None or answer.status:
            return answer
        if 0 < scenario.toobig_varbinds < answer.served:
            return self._agent.too_big(opened.version, pdu)
        if 0 < scenario.toobig_bytes < len(answer.varbinds) + len(opened.header) + _ENVELOPE:
            return self._agent.too_big(opened.version, pdu)
        return answer

    def _dispatch(self, opened: Opened, pdu: Pdu, answer: Answer, peer: Address) -> None:
        request_id = pdu.request_id
        if self._attacker is not None and self._scenario.attacks:
            for sent in self._attacker.answer(opened, pdu, answer):
                self._dispatch_datagram(sent.datagram, answer._replace(served=sent.varbinds), peer)
            return
        if self._scenario.wrong_id and self._network.changes_id():
            request_id = request_id + 1 & 0x7FFF_FFFF
        response = encode_response(request_id, answer.status, answer.error_index, answer.varbinds)
        self._dispatch_datagram(self._security.seal(opened, response), answer, peer)

    def _dispatch_datagram(self, datagram: bytes, answer: Answer, peer: Address) -> None:
        if self._at_once:
            tally = self._tally
            tally.max_outstanding = tally.max_outstanding or 1
            self._send(datagram, answer.served, peer)
        else:
            self._send_later(datagram, answer, peer)

    def _send_later(self, datagram: bytes, answer: Answer, peer: Address) -> None:
        assert self._loop is not None
        now = self._loop.time()
        ready = self._cpu.admit(now, answer.served, answer.optics) if self._scenario.has_cpu else now
        if ready is None:
            self._tally.queue_drops += 1
            return
        deliveries = self._network.deliver(datagram)
        self._tally.begin_answer()
        if not deliveries:
            self._tally.lost_answers += 1
            self._loop.call_at(ready, self._tally.end_answer)
            return
        last = max(deliveries, key=lambda each: each.delay_s)
        restarts = self._tally.restarts
        for each in deliveries:
            deliver = partial(self._deliver, restarts, each.datagram, answer.served, peer, last=each is last)
            if ready + each.delay_s <= now:
                deliver()
            else:
                self._loop.call_at(ready + each.delay_s, deliver)

    def _deliver(self, restarts: int, datagram: bytes, varbinds: int, peer: Address, *, last: bool) -> None:
        """Send an answer; from its last copy on, the request is not outstanding any more."""
        if last:
            self._tally.end_answer()
        if restarts == self._tally.restarts:
            self._send(datagram, varbinds, peer)

    def _send(self, datagram: bytes, varbinds: int, peer: Address) -> None:
        tally = self._tally
        tally.answers += 1
        tally.varbinds += varbinds
        tally.bytes_out += len(datagram)
        if self._scenario.other_port or self._scenario.other_address:
            self._send_from_elsewhere(datagram, peer)
        elif self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(datagram, peer)

    def _send_from_elsewhere(self, datagram: bytes, peer: Address) -> None:
        """Send from a port or an address other than the one that was asked."""
        if self._other_socket is None:
            self._other_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._other_socket.setblocking(False)
            # The OLTs of a fleet share this address; nothing is read from it.
            self._other_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            host, port = (
                (_OTHER_ADDRESS, self.address[1]) if self._scenario.other_address else (self.address[0], 0)
            )
            self._other_socket.bind((host, port))
        with contextlib.suppress(BlockingIOError):
            self._other_socket.sendto(datagram, peer)
