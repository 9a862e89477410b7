"""One simulated OLT on the wire: datagrams in, datagrams out, in the way its scenario wants."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from facho.sim.agent import Agent, Answer
from facho.sim.cpu import CpuCosts, VirtualCpu
from facho.sim.gate import Gate
from facho.sim.hostile import Attacker
from facho.sim.model import Cause
from facho.sim.path import Path
from facho.sim.report import OltReport, Tally
from facho.sim.rows import NO_FAULTS, RowFaults
from facho.sim.scenario import Scenario
from facho.sim.security import Opened, ReportDue, Security, UnknownCommunity
from facho.sim.usm import EngineSecurity
from facho.sim.view import View
from facho.sim.wire import Pdu, encode_response, parse_pdu
from facho.snmp.errors import BerError

# The tags and lengths of the message, the PDU and the list, and three integers of at most five octets.
_ENVELOPE = 3 * 4 + 3 * 7
_OTHER_ADDRESS = "127.255.0.1"

# A flood comes in bursts, so many a second.
_BURSTS_PER_S = 50

Address = tuple[str, int]


class SimulatedOlt(asyncio.DatagramProtocol):
    """Change `scenario` at any time; what the OLT knows about its ONUs survives the change. A port that the
    last one had cut is restored, unless the new one cuts it in the same way.
    """

    def __init__(self, view: View, security: Security, clock: Callable[[], float], seed: int = 0) -> None:
        self.model = view.model
        self._view = view
        self._agent = Agent(view)
        self._security = security
        self._clock = clock
        self._seed = seed
        self._tally = Tally()
        self._transport: asyncio.DatagramTransport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stranger: socket.socket | None = None
        self._attacker: Attacker | None = None
        self._flooding: asyncio.TimerHandle | None = None
        self._flooded: Address = ("", 0)
        self._down_until = 0.0
        self._gates: tuple[Gate, ...] = ()
        self.address: Address = ("", 0)
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
        healed = {port for port, _ in self._scenario.cuts - scenario.cuts}
        self._scenario = scenario
        self._cpu = self._idle_cpu()
        self._path = Path(scenario, self._seed)
        self._agent.faults = RowFaults(scenario, self._seed) if scenario.has_row_faults else NO_FAULTS
        self._stop_flood()
        # What it sends by itself is made up by the same hand.
        hostile = scenario.attacks or scenario.flood_per_s
        self._attacker = (
            Attacker(scenario.attacks, self._view.layout, self._security, self._seed) if hostile else None
        )
        self._agent.hang_on_zero_repetitions = scenario.hang_on_zero_repetitions
        self._requests_before = self._tally.requests
        self._restart_due = scenario.restart_after
        self.model.motion = scenario.motion
        self.model.cpu_pct = scenario.cpu_pct
        self.model.dim = dict.fromkeys(scenario.dim_ports, scenario.dim_db)
        self._moving = not scenario.motion.still
        self._at_once = not (scenario.has_cpu or scenario.has_path)
        self._view.forget_state()
        self._dismiss_stranger()
        for port in healed:
            self.restore(port)
        for port in scenario.fibre_cut_ports:
            self.cut_fibre(port)
        for port in scenario.power_cut_ports:
            self.cut_power(port)

    def _idle_cpu(self) -> VirtualCpu:
        scenario = self._scenario
        return VirtualCpu(CpuCosts(scenario.request_s, scenario.varbind_s, scenario.optics_s, scenario.queue))

    def report(self) -> OltReport:
        return self._tally.report()

    def silence(self, silent: bool = True) -> None:
        """Stops answering; the rest of the scenario stays."""
        self._scenario = self._scenario.but(silent=silent)

    def hold(self, *, skip: int = 0, under: str = "") -> Gate:
        """Hold requests from now on, after the first `skip`, until the gate is released.

        With an OID, only requests for names under it. SNMPv3 discovery is never held.
        """
        gate = Gate(self._call_in_loop, skip=skip, under=under)
        self._gates = (*(each for each in self._gates if not each.is_released), gate)
        return gate

    def _call_in_loop(self, serve: Callable[[], None]) -> None:
        """Serves at once without a loop, which an OLT has when it listens. A closed loop serves nobody."""
        if self._loop is None:
            serve()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(serve)

    def restart(self, silent_for: float = 0.0) -> None:
        """Loses what was on its way, says nothing for a while, and counts its uptime from zero."""
        now = self._clock()
        self._down_until = now + silent_for
        self.model.booted_at = self._down_until
        if isinstance(self._security, EngineSecurity):
            self._security.boots += 1
        self._cpu = self._idle_cpu()
        self._tally.restarts += 1

    def take_offline(self, onu: int, cause: Cause = Cause.LOS) -> None:
        self.model.take_offline(onu, cause, self._clock())
        self._view.forget_state()

    def bring_back(self, onu: int) -> None:
        self.model.bring_back(onu, self._clock())
        self._view.forget_state()

    def cut_fibre(self, port: int) -> None:
        """Every ONU of the port loses its signal, and the port with them."""
        self.model.dark_ports.add(port)
        self._cut(port, Cause.LOS)

    def cut_power(self, port: int) -> None:
        """Every ONU of the port says with its last breath that it has no power."""
        self._cut(port, Cause.DYING_GASP)

    def _cut(self, port: int, cause: Cause) -> None:
        now = self._clock()
        for row in self.model.shape.rows_of_port(port):
            self.model.take_offline(row, cause, now)
        self._view.forget_state()

    def restore(self, port: int) -> None:
        """The fibre is spliced, the power is back."""
        self.model.dark_ports.discard(port)
        now = self._clock()
        for row in self.model.shape.rows_of_port(port):
            self.model.bring_back(row, now)
        self._view.forget_state()

    def build_all(self) -> None:
        """Encodes every table now rather than when first asked."""
        self._view.build_all(self._clock())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)
        self._loop = asyncio.get_running_loop()

    def error_received(self, exc: Exception) -> None:
        """A client that has gone away; the next one may be there."""

    def close(self) -> None:
        self._stop_flood()
        if self._transport is not None:
            self._transport.close()
        self._dismiss_stranger()

    def _stop_flood(self) -> None:
        if self._flooding is not None:
            self._flooding.cancel()
            self._flooding = None

    def _flood(self, peer: Address) -> None:
        """Sends a burst to who asked last, and goes on until the scenario changes or somebody else asks."""
        assert self._loop is not None
        self._stop_flood()
        for number in range(max(1, int(self._scenario.flood_per_s / _BURSTS_PER_S))):
            if self._attacker is None or self._transport is None or self._transport.is_closing():
                return
            self._tally.unsolicited += 1
            # Every other one comes from an address that nobody asked.
            send = self._send_as_stranger if number % 2 else self._transport.sendto
            send(self._attacker.unsolicited(), peer)
        self._flooding = self._loop.call_later(1 / _BURSTS_PER_S, self._flood, peer)

    def _dismiss_stranger(self) -> None:
        if self._stranger is not None:
            self._stranger.close()
            self._stranger = None

    def datagram_received(self, data: bytes, addr: Any) -> None:
        tally = self._tally
        if self._path.loses_request():
            tally.lost_requests += 1
            return
        tally.bytes_in += len(data)
        if self._scenario.flood_per_s and (self._flooding is None or self._flooded != addr):
            self._flooded = addr
            self._flood(addr)
        try:
            opened = self._security.open(data)
            pdu = parse_pdu(opened.data, opened.start, opened.end)
            tally.see(pdu.tag, pdu.request_id)
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

    def _serve_held(self, life: int, opened: Opened, pdu: Pdu, peer: Address) -> None:
        """A restart loses what was held, like everything that was on its way."""
        if life == self._tally.restarts:
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
        """An OLT that is silent or down does not report, either."""
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
            self._view.advance(now)
        if scenario.churn_every:
            self._agent.faults.count(requests)
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
        if self._scenario.wrong_id and self._path.mistakes_id():
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
        deliveries = self._path.deliver(datagram)
        self._tally.take()
        if not deliveries:
            self._tally.lost_answers += 1
            self._loop.call_at(ready, self._tally.release)
            return
        last = max(deliveries, key=lambda each: each.delay_s)
        life = self._tally.restarts
        for each in deliveries:
            leave = partial(self._leave, life, each.datagram, answer.served, peer, last=each is last)
            if ready + each.delay_s <= now:
                leave()
            else:
                self._loop.call_at(ready + each.delay_s, leave)

    def _leave(self, life: int, datagram: bytes, varbinds: int, peer: Address, *, last: bool) -> None:
        """It is not outstanding any more when whoever asked could know of it."""
        if last:
            self._tally.release()
        if life == self._tally.restarts:
            self._send(datagram, varbinds, peer)

    def _send(self, datagram: bytes, varbinds: int, peer: Address) -> None:
        tally = self._tally
        tally.answers += 1
        tally.varbinds += varbinds
        tally.bytes_out += len(datagram)
        if self._scenario.other_port or self._scenario.other_address:
            self._send_as_stranger(datagram, peer)
        elif self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(datagram, peer)

    def _send_as_stranger(self, datagram: bytes, peer: Address) -> None:
        """From a port, or from an address, that nobody asked."""
        if self._stranger is None:
            self._stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._stranger.setblocking(False)
            # The OLTs of a fleet may share this address, and nobody reads from it.
            self._stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            host, port = (
                (_OTHER_ADDRESS, self.address[1]) if self._scenario.other_address else (self.address[0], 0)
            )
            self._stranger.bind((host, port))
        with contextlib.suppress(BlockingIOError):
            self._stranger.sendto(datagram, peer)
