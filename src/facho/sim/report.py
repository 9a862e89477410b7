"""Counts what an OLT sees of its clients, and reports it as frozen numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from math import inf
from typing import Final

from facho.sim.pdu import GET, GET_BULK, GET_NEXT, SET

_MOST_IDS: Final = 2048
_MOST_TAGS: Final = 32
_SAME_TAG_S: Final = 60.0
_NAMED_PAIRS: Final = 5


@dataclass(frozen=True, slots=True)
class OltReport:
    requests: int = 0
    get: int = 0
    get_next: int = 0
    get_bulk: int = 0
    set: int = 0
    retransmissions: int = 0
    answers: int = 0
    varbinds: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    queue_drops: int = 0
    lost_requests: int = 0
    lost_answers: int = 0
    unanswered: int = 0
    unknown_community: int = 0
    garbage: int = 0
    restarts: int = 0
    # SNMPv3 messages that were answered with a report: discovery, and what could not be accepted.
    reports: int = 0
    # Datagrams of a flood.
    unsolicited: int = 0
    max_outstanding: int = 0
    overlaps: int = 0
    overlapping: tuple[tuple[int, int], ...] = ()


def total(reports: Iterable[OltReport]) -> OltReport:
    """Return the sum of reports, the largest `max_outstanding`, and the first overlapping pairs."""
    every = list(reports)
    summed = {
        field.name: sum(getattr(report, field.name) for report in every)
        for field in fields(OltReport)
        if field.name not in ("overlapping", "max_outstanding")
    }
    pairs = [pair for report in every for pair in report.overlapping][:_NAMED_PAIRS]
    largest = max((report.max_outstanding for report in every), default=0)
    return OltReport(**summed, max_outstanding=largest, overlapping=tuple(pairs))


class OverlapWatch:
    """Finds executions that ask one OLT at the same time, by the tags in their request ids.

    Tags in the order A, B, A mean that A was still going on after B had started. A tag is a number of 15
    bits, so 32,767 executions later another one has it: one that comes again after a minute is not the same.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self.pairs: list[tuple[int, int]] = []
        self._clock = clock
        self._current = 0
        # When another tag came after each of the last few.
        self._left: dict[int, float] = {}

    def add(self, request_id: int) -> None:
        tag = request_id >> 16
        if tag <= 0 or tag == self._current:
            return
        now = self._clock()
        if now - self._left.pop(tag, -inf) < _SAME_TAG_S:
            self._count_overlap(tag)
        if len(self._left) >= _MOST_TAGS:
            del self._left[next(iter(self._left))]
        if self._current:
            self._left[self._current] = now
        self._current = tag

    def _count_overlap(self, tag: int) -> None:
        self.count += 1
        pair = (min(tag, self._current), max(tag, self._current))
        if pair not in self.pairs and len(self.pairs) < _NAMED_PAIRS:
            self.pairs.append(pair)


class Tally:
    """The counters of an OltReport."""

    def __init__(self) -> None:
        self.by_tag = dict.fromkeys((GET, GET_NEXT, GET_BULK, SET), 0)
        self.overlap = OverlapWatch()
        self.requests = self.retransmissions = self.answers = self.varbinds = 0
        self.bytes_in = self.bytes_out = self.queue_drops = self.lost_requests = self.lost_answers = 0
        self.unanswered = self.unknown_community = self.garbage = self.restarts = self.reports = 0
        self.unsolicited = 0
        self.outstanding = self.max_outstanding = 0
        self._ids: dict[int, None] = {}

    def count_request(self, tag: int, request_id: int) -> None:
        self.requests += 1
        self.by_tag[tag] = self.by_tag.get(tag, 0) + 1
        if request_id in self._ids:
            self.retransmissions += 1
        else:
            if len(self._ids) >= _MOST_IDS:
                del self._ids[next(iter(self._ids))]
            self._ids[request_id] = None
        self.overlap.add(request_id)

    def begin_answer(self) -> None:
        self.outstanding += 1
        self.max_outstanding = max(self.max_outstanding, self.outstanding)

    def end_answer(self) -> None:
        self.outstanding -= 1

    def report(self) -> OltReport:
        plain = {
            field.name: getattr(self, field.name)
            for field in fields(OltReport)
            if field.name not in ("get", "get_next", "get_bulk", "set", "overlaps", "overlapping")
        }
        return OltReport(
            **plain,
            get=self.by_tag[GET],
            get_next=self.by_tag[GET_NEXT],
            get_bulk=self.by_tag[GET_BULK],
            set=self.by_tag[SET],
            overlaps=self.overlap.count,
            overlapping=tuple(self.overlap.pairs),
        )
