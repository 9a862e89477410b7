"""An OLT with ONUs, ports and a board whose numbers are to be sent, and what arrived, read back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from facho.apps.chassis.models import OltHealth, PonPort, Uplink
from facho.apps.discovery.models import Collected, Onu
from facho.apps.history.store import append_frame
from facho.apps.hosts.models import Olt
from facho.config import Config
from facho.engine.remote_write.receiver import Receiver
from facho.engine.remote_write.sender import LabelCache, ReceiverState, Sender
from tests.factories import make_olt


@dataclass
class Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def make_onus(olt: Olt, count: int, seen: datetime) -> list[Onu]:
    return [
        Onu.objects.create(
            olt=olt,
            address=f"0/1/{number // 2}:{number % 2}",
            frame=0,
            slot=1,
            port=number // 2,
            onu_id=number % 2,
            serial=f"HWTC{number:08X}",
            state="offline" if number == 1 else "online",
            first_seen=seen,
            last_seen=seen,
        )
        for number in range(count)
    ]


@contextmanager
def closing_sites() -> Iterator[MakeSite]:
    """Yield what makes sites whose senders close their connections in the end."""
    with ExitStack() as stack:

        def make(now: datetime, url: str = "", name: str = "Centro-1", **settings: Any) -> Site:
            site = Site(now, url, name, **settings)
            stack.callback(site.close)
            return site

        yield make


class Site:
    """An OLT with four ONUs on two ports, and a sender to a receiver."""

    def __init__(self, now: datetime, url: str = "", name: str = "Centro-1", **settings: Any) -> None:
        self.clock = Clock(now)
        self.olt = make_olt(name, site="Bogotá", reachable=True)
        self.onus = make_onus(self.olt, 4, now)
        self.ports = [
            PonPort.objects.create(olt=self.olt, place=f"0/1/{port}", state="up", updated_at=now)
            for port in range(2)
        ]
        self.board = OltHealth.objects.create(
            olt=self.olt, part="board 0/1", kind="board", frame=0, slot=1, updated_at=now
        )
        self.itself = OltHealth.objects.create(olt=self.olt, part="olt", kind="olt", updated_at=now)
        self.uplink = Uplink.objects.create(
            olt=self.olt, place="0/19/0", name="ge0", state="down", updated_at=now
        )
        self.config = Config(remote_write_url=url, **settings)
        self.stopping = threading.Event()
        self.receiver_state = ReceiverState()
        self._senders: list[Sender] = []

    def sender(self, receiver: Receiver | None = None) -> Sender:
        found = Sender(self.config, self.clock, LabelCache(), self.receiver_state, self.stopping, receiver)
        self._senders.append(found)
        return found

    def close(self) -> None:
        for sender in self._senders:
            sender.close()

    def collect(self, powers: Mapping[int, float | None], **others: float) -> None:
        """Store a collection: the power of each ONU by its position, and traffic of the ports."""
        ids = [self.onus[number].pk for number in powers]
        append_frame(self.olt.pk, self.clock.now, "onu", ids, {"onu_rx_dbm": list(powers.values())})
        if "in_bps" in others:
            ports = [port.pk for port in self.ports]
            append_frame(self.olt.pk, self.clock.now, "port", ports, {"in_bps": [others["in_bps"], None]})
        if "uplink_bps" in others:
            links = [self.uplink.pk]
            append_frame(self.olt.pk, self.clock.now, "link", links, {"in_bps": [others["uplink_bps"]]})
        if "cpu_pct" in others:
            parts = [self.board.pk, self.itself.pk]
            append_frame(self.olt.pk, self.clock.now, "part", parts, {"cpu_pct": [others["cpu_pct"], 1.0]})

    def date_states(self) -> None:
        for datum in ("state", "port.state", "uplink.state"):
            Collected.objects.update_or_create(
                olt=self.olt, datum=datum, defaults={"collected_at": self.clock.now}
            )

    def wait(self, time: timedelta) -> None:
        self.clock.now += time


MakeSite = Callable[..., Site]
