"""What an OLT saw, and above all whether two executions asked it at the same time."""

from collections.abc import Iterable

import pytest

from facho.sim.report import OltReport, OverlapWatch, total
from tests.unit.sim.asking import SERIAL, UPTIME, Asker


def watch(tags: Iterable[int]) -> OverlapWatch:
    seen = OverlapWatch()
    for number, tag in enumerate(tags):
        seen.add(tag << 16 | number)
    return seen


def test_one_execution_after_another_is_no_overlap() -> None:
    assert watch([1, 1, 1, 2, 2, 3]).count == 0


def test_an_execution_that_comes_back_after_another_started_overlaps_it() -> None:
    seen = watch([1, 1, 2, 1])
    assert (seen.count, seen.pairs) == (1, [(1, 2)])


def test_every_return_counts_but_a_pair_is_named_once() -> None:
    seen = watch([1, 2, 1, 2, 1])
    assert (seen.count, seen.pairs) == (3, [(1, 2)])


def test_untagged_requests_overlap_nothing() -> None:
    assert watch([0, 5, 0, 5, 0]).count == 0


def test_a_tag_that_comes_around_again_long_after_is_another_execution() -> None:
    assert watch([7, *range(100, 140), 7]).count == 0


@pytest.mark.parametrize(("later_s", "overlaps"), [(59.0, 1), (60.0, 0)])
def test_a_tag_that_comes_again_after_a_minute_is_another_execution(later_s: float, overlaps: int) -> None:
    times = iter([0.0, 1.0, 1.0 + later_s])
    seen = OverlapWatch(lambda: next(times))
    for tag in (7, 8, 7):
        seen.add(tag << 16)
    assert seen.count == overlaps


def test_negative_ids_carry_no_tag() -> None:
    seen = OverlapWatch()
    for request_id in (-5, 3 << 16, -5, 3 << 16):
        seen.add(request_id)
    assert seen.count == 0


def test_an_olt_reports_what_it_was_asked() -> None:
    asker = Asker()
    asker.get(UPTIME)
    asker.next(SERIAL)
    asker.bulk(SERIAL, repetitions=10)
    report = asker.olt.report()
    assert (report.requests, report.get, report.get_next, report.get_bulk, report.set) == (3, 1, 1, 1, 0)
    assert (report.answers, report.varbinds) == (3, 12)
    assert report.bytes_in > 100
    assert report.bytes_out > report.bytes_in


def test_the_same_id_again_is_a_retransmission() -> None:
    asker = Asker()
    for request_id in (70, 71, 70, 70):
        asker.get(UPTIME, request_id=request_id)
    assert asker.olt.report().retransmissions == 2


def test_an_olt_reports_overlapping_executions() -> None:
    asker = Asker()
    for number, tag in enumerate((11, 12, 11)):
        asker.get(UPTIME, request_id=tag << 16 | number)
    report = asker.olt.report()
    assert (report.overlaps, report.overlapping) == (1, ((11, 12),))


def test_a_fleet_reports_the_sum() -> None:
    one = OltReport(requests=3, max_outstanding=2, overlaps=1, overlapping=((1, 2),))
    two = OltReport(requests=4, max_outstanding=5)
    assert total([one, two]) == OltReport(requests=7, max_outstanding=5, overlaps=1, overlapping=((1, 2),))


def test_garbage_is_counted_and_ignored() -> None:
    asker = Asker()
    for garbage in (b"", b"\x30", b"\x30\x80", b"hello", bytes(70000), b"\x30\x03\x02\x01\x01"):
        asker.olt.datagram_received(garbage, ("127.0.0.1", 9))
    assert asker.olt.report().garbage == 6
    assert asker.get(UPTIME).status == 0
