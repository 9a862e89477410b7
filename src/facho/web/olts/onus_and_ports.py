"""The ONUs of an OLT in numbers, its ports, its outages and the ONUs that wait to be provisioned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count

from facho.apps.chassis.models import Unprovisioned
from facho.apps.chassis.selectors import PortRow, ports_by_place, ports_of
from facho.apps.discovery.models import Onu, PortOutage, Presence
from facho.apps.discovery.onu_counts import OnuCounts, count_onus
from facho.apps.discovery.selectors import HAS_POWER, POWER, WEAK, collected_at, parts_collected_at
from facho.apps.snmp_jobs.selectors import Intervals, collection_intervals
from facho.apps.traffic.selectors import PonUse, pon_use
from facho.core.freshness import is_delivering
from facho.core.olt_status import OltStatus
from facho.vendors import Key
from facho.web.olts.head import OltHead

_OUTAGES_SHOWN: Final = 10
_UNPROVISIONED_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class PortSummary:
    row: PortRow
    # None for a port that is known from its ONUs only.
    port_id: int | None
    # ONUs with known power, and those of them that are weak.
    measured: int
    weak: int
    # None without rates of the last collection.
    use: PonUse | None

    @property
    def weak_percent(self) -> float:
        return 100 * self.weak / self.measured if self.measured else 0


@dataclass(frozen=True, slots=True)
class OnusAndPorts:
    now: datetime
    olt_id: int
    # The health of the OLT, by which one knows whether its values arrive.
    condition: str
    # When its ports were last collected, and how often that is done.
    ports_at: datetime | None
    ports_every: timedelta | None
    onus: OnuCounts
    ports: Sequence[PortSummary]
    outages: Sequence[PortOutage]
    # The first of them.
    unprovisioned: Sequence[Unprovisioned]
    unprovisioned_count: int

    @property
    def is_delivering(self) -> bool:
        return is_delivering(OltStatus(self.condition))


def read_onus_and_ports(head: OltHead) -> OnusAndPorts:
    olt_id = head.olt.id
    waiting = Unprovisioned.objects.filter(olt=olt_id)
    return OnusAndPorts(
        now=head.now,
        olt_id=olt_id,
        condition=head.olt.condition,
        ports_at=parts_collected_at(collected_at(olt_id)).get("port"),
        ports_every=collection_intervals([olt_id]).get(olt_id, Intervals()).of("port.state"),
        onus=count_onus(olt_id),
        ports=list(_port_summaries(olt_id, head.now)),
        outages=recent_outages(olt_id),
        unprovisioned=list(waiting.order_by("-first_seen", "id")[:_UNPROVISIONED_SHOWN]),
        unprovisioned_count=waiting.count(),
    )


def recent_outages(olt_id: int, place: str | None = None) -> list[PortOutage]:
    rows = PortOutage.objects.filter(olt=olt_id).defer("onus")
    return list((rows if place is None else rows.filter(place=place))[:_OUTAGES_SHOWN])


def _port_summaries(olt_id: int, now: datetime) -> Iterator[PortSummary]:
    ports = ports_by_place(olt_id)
    light, uses = _count_powers(olt_id), pon_use(olt_id, now)
    for row in ports_of(olt_id):
        number = ports[row.port].number if row.port in ports else None
        use = None if number is None else uses.get(number)
        yield PortSummary(row, number, *light.get(row.port, (0, 0)), use)


def _count_powers(olt_id: int) -> dict[str, tuple[int, int]]:
    """Return by port the number of ONUs whose power is or was known, and how many of them are weak."""
    onus = Onu.objects.filter(olt=olt_id, presence=Presence.PRESENT, port__isnull=False)
    rows = onus.annotate(power=POWER).order_by().values_list("frame", "slot", "port")
    counted = rows.annotate(measured=Count("id", filter=HAS_POWER), weak=Count("id", filter=WEAK))
    return {str(Key(*place)): (measured, below) for *place, measured, below in counted}
