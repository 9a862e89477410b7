"""ONUs whose numbers have a history, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from facho.apps.discovery.models import Onu
from facho.apps.history.store import append_frame
from facho.apps.hosts.models import Olt
from tests.factories import at

_addresses = count(1)


def an_onu(olt: Olt, frame: int | None, slot: int | None, port: int | None) -> Onu:
    seen = at("00:00")
    return Onu.objects.create(
        olt=olt,
        address=f"onu {next(_addresses)}",
        frame=frame,
        slot=slot,
        port=port,
        first_seen=seen,
        last_seen=seen,
    )


def add_frame(olt: Olt, clock: str, power: Mapping[int, float | None], fact: str = "onu_rx_dbm") -> None:
    """Append a frame with the values of one fact, by the id of each ONU."""
    append_frame(olt.pk, at(clock), "onu", list(power), {fact: list(power.values())})
