"""The data of the page of traffic: the ONUs, ports and uplinks that move the most, of all OLTs or of some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from facho.apps.history.models import Subject
from facho.apps.traffic.selectors import (
    NamedRate,
    OltTotal,
    name_rates,
    olt_totals,
    olts_of,
    to_and_from_customers,
    traffic_tops,
)
from facho.core.spreadsheet import csv_lines
from facho.core.traffic import sum_rates
from facho.web.components.list_query import parse_id, parse_site

SUBJECTS: Final = (Subject.ONU, Subject.PORT, Subject.UPLINK)
# Of each list; an export has all that are named.
ROWS: Final = 10
_CSV_COLUMNS: Final = (
    "of", "when", "olt", "site", "place", "name", "description", "to_customers_bps", "from_customers_bps"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrafficQuery:
    site: str = ""
    olt: int | None = None


def parse_traffic_query(given: Mapping[str, str]) -> TrafficQuery:
    return TrafficQuery(parse_site(given), parse_id(given, "olt"))


@dataclass(frozen=True, slots=True)
class SubjectTops:
    subject: str
    now: Sequence[NamedRate]
    # Of each OLT at its own peak of the last day.
    peak: Sequence[NamedRate]


@dataclass(frozen=True, slots=True)
class Total:
    """The traffic of all OLTs together, of those whose last collection is not too long ago.

    An OLT whose total is not known counts neither in the sum nor as one of them.
    """

    subject: str
    olts: int
    to_customers_bps: float | None
    from_customers_bps: float | None


@dataclass(frozen=True, slots=True)
class TrafficPage:
    now: datetime
    totals: Sequence[Total]
    tops: Sequence[SubjectTops]

    @property
    def is_empty(self) -> bool:
        return not any(each.now or each.peak for each in self.tops)


def read_traffic_page(query: TrafficQuery, now: datetime, most: int = ROWS) -> TrafficPage:
    """Read the page in a fixed number of queries."""
    olt_ids = olts_of(query.olt, query.site)
    totals = [each for each in olt_totals(now, olt_ids) if each.is_current]
    return TrafficPage(
        now,
        [_total(subject, [each for each in totals if each.subject == subject]) for subject in SUBJECTS],
        [_subject_tops(subject, olt_ids, now, most) for subject in SUBJECTS],
    )


def _total(subject: str, totals: Sequence[OltTotal]) -> Total:
    known = [each for each in totals if each.in_bps is not None or each.out_bps is not None]
    received, sent = (sum_rates(getattr(each, side) for each in known) for side in ("in_bps", "out_bps"))
    return Total(subject, len(known), *to_and_from_customers(subject, received, sent))


def _subject_tops(subject: str, olt_ids: Sequence[int] | None, now: datetime, most: int) -> SubjectTops:
    tops = traffic_tops(subject, now, olt_ids=olt_ids, most=most)
    return SubjectTops(subject, *name_rates(subject, tops.now, tops.peak))


def traffic_csv(page: TrafficPage) -> Iterator[str]:
    return csv_lines(_CSV_COLUMNS, _csv_rows(page))


def _csv_rows(page: TrafficPage) -> Iterator[list[object]]:
    for tops in page.tops:
        for when, rows in (("now", tops.now), ("peak", tops.peak)):
            for row in rows:
                yield [str(tops.subject), when, *(getattr(row, name) for name in _CSV_COLUMNS[2:])]
