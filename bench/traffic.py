"""The traffic of many OLTs, stored as collections store it, and a month of one of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bench.optics import EVERY, HOUR

if TYPE_CHECKING:
    from facho.apps.traffic.store import TrafficRow
    from facho.core.traffic import TopRate, TrafficTotal

_SEED: Final = 20
_INTERVAL_S: Final = 300
# Of an OLT; the last peak was so many hours ago, and each since then was lower.
_UPLINKS: Final = 2
_PEAKS: Final = 8
_MOST_BPS: Final = {"onu": 50_000_000, "port": 900_000_000, "link": 4_000_000_000}
# The counters of 1,000 ONUs take about this. Pages do not read them.
_COUNTERS: Final = 16_000


def fill_traffic(olts: Sequence[int], until: int) -> None:
    """Store the traffic of these OLTs at this time, of their ONUs, ports and uplinks."""
    from facho.apps.chassis.models import PonPort, Uplink
    from facho.apps.db import sql
    from facho.apps.discovery.models import Onu
    from facho.apps.traffic.store import upsert_traffic

    now, chosen = datetime.fromtimestamp(until, UTC), random.Random(_SEED)
    Uplink.objects.bulk_create(
        Uplink(olt_id=olt, place=f"0/9/{number}", name=f"ethernet0/9/{number}", updated_at=now)
        for olt in olts
        for number in range(_UPLINKS)
    )
    with sql.write_transaction():
        for olt in olts:
            subjects = {"onu": Onu, "port": PonPort, "link": Uplink}
            upsert_traffic(
                [
                    _row(
                        olt,
                        name,
                        list(model._default_manager.filter(olt=olt).values_list("id", flat=True)[:64]),
                        now,
                        chosen,
                    )
                    for name, model in subjects.items()
                ]
            )


def _row(olt: int, subject: str, numbers: Sequence[int], now: datetime, chosen: random.Random) -> TrafficRow:
    from facho.apps.traffic.store import KnownTraffic, traffic_row
    from facho.core.traffic import MOST_NAMED, DropsOfHour, TopRate

    top = [
        TopRate(number, chosen.randrange(_MOST_BPS[subject] // 7), chosen.randrange(_MOST_BPS[subject]))
        for number in numbers
    ]
    ports = {} if subject == "onu" else {each.number: (each.in_bps, each.out_bps, "gpon") for each in top}
    totals = [_total(now - hours * HOUR, top[:MOST_NAMED]) for hours in range(_PEAKS, -1, -1)]
    drops = [DropsOfHour(total.at, 12 * len(numbers)) for total in totals]
    known = KnownTraffic(_INTERVAL_S, now, totals[-1], ports, totals, drops_by_hour=drops)
    row = traffic_row(olt, subject, known)
    return replace(row, counters=chosen.randbytes(_COUNTERS))


def _total(at: datetime, top: Sequence[TopRate]) -> TrafficTotal:
    from facho.apps.history.store import milliseconds
    from facho.core.traffic import TrafficTotal

    return TrafficTotal(
        milliseconds(at), sum(each.in_bps or 0 for each in top), sum(each.out_bps or 0 for each in top), top
    )


def fill_month(olt: int, until: int, days: int) -> None:
    """Store every five minutes the traffic of the ports and uplinks of an OLT, and their totals."""
    from facho.apps.chassis.models import PonPort, Uplink
    from facho.apps.history.store import insert_past_frames, make_frame
    from facho.core.traffic import TOTAL_NUMBER

    now, chosen = datetime.fromtimestamp(until, UTC), random.Random(_SEED)
    frames = []
    for subject, model in (("port", PonPort), ("link", Uplink)):
        numbers = [TOTAL_NUMBER, *model.objects.filter(olt=olt).order_by("id").values_list("id", flat=True)]
        for step in range(days * timedelta(days=1) // EVERY):
            rates = {
                side: [chosen.randrange(_MOST_BPS[subject]) for _ in numbers]
                for side in ("in_bps", "out_bps")
            }
            frames += make_frame(olt, now - step * EVERY, subject, numbers, rates)
    insert_past_frames(frames, now)
