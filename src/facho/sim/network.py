"""The network between a client and an OLT: loses, delays, repeats and damages datagrams."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from facho.sim.scenario import Scenario
from facho.snmp.errors import BerError
from facho.snmp.message import Message, Version, decode_bindings, decode_message, version_of
from facho.snmp.v3 import decode_header, decode_scoped


def is_well_formed(datagram: bytes) -> bool:
    try:
        message = _in_clear(datagram) if version_of(datagram) == Version.V3 else decode_message(datagram)
        if message is not None:
            decode_bindings(message.bindings)
    except BerError:
        return False
    return message is not None


def _in_clear(datagram: bytes) -> Message | None:
    """Return an SNMPv3 message, or None when it is signed: then any damage to it is noticed."""
    header = decode_header(datagram)
    return None if header.is_signed else decode_scoped(header.scoped)


class Delivery(NamedTuple):
    delay_s: float
    datagram: bytes


class Network:
    """A network with the faults of a scenario; the same for the same seed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._random = Random(seed)

    def loses_request(self) -> bool:
        return self._chance(self._scenario.request_loss)

    def changes_id(self) -> bool:
        return self._chance(self._scenario.wrong_id)

    def deliver(self, datagram: bytes) -> list[Delivery]:
        """Return the copies of an answer that arrive, with their delays; none when it is lost."""
        scenario = self._scenario
        if self._chance(scenario.answer_loss) or 0 < scenario.lose_answers_over < len(datagram):
            return []
        copies = 2 if self._chance(scenario.duplicate) else 1
        return [Delivery(self._delay(), self._damage(datagram)) for _ in range(copies)]

    def _delay(self) -> float:
        scenario = self._scenario
        delay = scenario.latency_s + self._random.random() * scenario.jitter_s
        return delay + scenario.reorder_s if self._chance(scenario.reorder) else delay

    def _damage(self, datagram: bytes) -> bytes:
        if self._scenario.truncate_at:
            datagram = datagram[: self._scenario.truncate_at]
        if not self._chance(self._scenario.corrupt):
            return datagram
        damaged = self._change_octet(datagram)
        # A damaged datagram that is still well-formed would not pass the checksum of UDP.
        while is_well_formed(damaged):
            damaged = self._change_octet(datagram)
        return damaged

    def _change_octet(self, datagram: bytes) -> bytes:
        at = self._random.randrange(len(datagram))
        return datagram[:at] + bytes((datagram[at] ^ self._random.randint(1, 255),)) + datagram[at + 1 :]

    def _chance(self, fraction: float) -> bool:
        return fraction > 0 and self._random.random() < fraction
