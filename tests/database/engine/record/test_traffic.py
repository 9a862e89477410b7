"""From the counters of collections to the rates that are stored of ONUs and ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.discovery.models import Onu
from facho.apps.executions.models import State
from facho.apps.history.models import HistoryFrame, Subject
from facho.apps.history.selectors import onu_series, subject_series
from facho.apps.hosts.models import Brand, Olt
from facho.apps.traffic.models import OltTraffic
from facho.apps.traffic.selectors import dropped_rates, olt_totals, olt_traffic, pon_use, traffic_tops
from facho.apps.traffic.store import read_drops
from facho.cli.doctor.database import check_traffic
from facho.config import Config
from facho.core.rates import Drops
from facho.core.traffic import TOTAL_NUMBER, TopRate
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.work_builder import plan_execution
from facho.engine.process.leases import start_execution
from facho.engine.record import recorder
from facho.engine.record.execution_row import SharedWrites
from facho.snmp.values import Counter32, Counter64
from facho.vendors import Decoded, Entity, Facts, Key
from facho.vendors.decode import Problems
from tests.factories import at, make_execution, make_job, make_node, make_olt
from tests.findings import facts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("brands")]

CONFIG = Config()
NOW = at("10:00")
MBIT = 1_000_000
INTERVAL = timedelta(minutes=5)
# By the number of an ONU: what it is called, and its counters.
Rows = Mapping[int, Mapping[str, Any]]


class Site:
    """An OLT whose collections are made by hand, and a job that reads its counters every five minutes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.olt = make_olt("north", "huawei")
        every = int(INTERVAL.total_seconds())
        self.discovery = make_node(self.olt, make_job("discovery", interval=every))
        self.traffic = make_node(
            self.olt, make_job("traffic", "table", every, facts=["up_octets", "down_octets"])
        )
        self.uptime_s: float | None = 1000.0
        # How long the part that is chained to each collection takes.
        self.chained_s = 0.0
        # The transaction of each collection fails when all is written, and is tried again.
        self.fails_first = False
        self._patched = monkeypatch
        self._slots = count()
        self.discover({1: "HWTC00000001", 2: "HWTC00000002"})

    def discover(self, serials: Mapping[int, str], now: datetime = NOW - INTERVAL) -> None:
        rows = {number: {"serial": serial} for number, serial in serials.items()}
        self._record(self.discovery, now, onus=facts(rows.items()))

    def read(
        self,
        minutes: float,
        rows: Rows,
        ports: Rows | None = None,
        links: Rows | None = None,
        technology: str = "gpon",
    ) -> None:
        """Store what was read so long after ten o'clock."""
        others = rows_of(Entity.PORT, ports or {}, technology), rows_of(Entity.UPLINK, links or {})
        self._record(self.traffic, NOW + timedelta(minutes=minutes), facts(rows.items()), *others)

    def down(self, minutes: float, *octets: int | None, width: type[int] = Counter64) -> None:
        """Store what the first ONUs have received."""
        self.read(
            minutes,
            {
                number: {"down_octets": None if value is None else width(value)}
                for number, value in zip(count(1), octets, strict=False)
            },
        )

    def _record(self, node: Any, now: datetime, onus: Facts, *others: Facts) -> None:
        owes = [[node.id, node.job.task_type, 300]]
        # Each has a slot of its own, also those of one time.
        slot = now + timedelta(microseconds=next(self._slots))
        execution = make_execution(node, slot, State.PENDING, owes=owes)
        started = start_execution(execution.id, "here", lambda: now, CONFIG)
        assert started is not None
        planned = plan_execution(started.execution_id, started.run_id, now, CONFIG, started.subject)
        found = {entity: Facts(entity) for entity in Entity} | {Entity.ONU: onus}
        found |= {each.entity: each for each in others}
        part = PartResult(
            planned.work.parts[0], PartState.SUCCESS, decoded=Decoded(found, Problems()), rows=len(onus)
        )
        uptime_s = self.uptime_s
        if uptime_s is not None:
            uptime_s += (now - NOW).total_seconds()
        parts = [part]
        if self.chained_s:
            if uptime_s is not None:
                part.uptime_s = uptime_s - self.chained_s
            parts.append(PartResult(part.part, PartState.SUCCESS, seconds=self.chained_s))
        collection = Collection(parts, uptime_s=part.uptime_s if self.chained_s else uptime_s)
        if self.fails_first:
            with self._patched.context() as patched:
                patched.setattr(SharedWrites, "write", fails_after(SharedWrites.write))
                with pytest.raises(OperationalError):
                    recorder.record(started, planned, collection, now, CONFIG)
        recorder.record(started, planned, collection, now, CONFIG)

    def rates(self, number: int, fact: str = "down_bps") -> list[tuple[float, float]]:
        """Return the minutes after ten and the megabits per second of the samples of an ONU."""
        onu = Onu.objects.get(olt=self.olt, onu_id=number, address__isnull=False)
        series = onu_series(onu, [fact], NOW - INTERVAL, NOW + timedelta(days=2))
        return [
            ((moment - NOW).total_seconds() / 60, round(value / MBIT, 1))
            for moment, value in zip(series.moments(), series.values[fact], strict=True)
            if value is not None
        ]

    def drops(self) -> Drops:
        return dropped_rates().get(self.olt.pk, Drops())


def fails_after(
    write: Callable[[SharedWrites, datetime], None],
) -> Callable[[SharedWrites, datetime], None]:
    def fail(writes: SharedWrites, now: datetime) -> None:
        write(writes, now)
        raise OperationalError("the server went away")

    return fail


def rows_of(entity: Entity, rows: Rows, technology: str = "gpon") -> Facts:
    names = dict.fromkeys(name for row in rows.values() for name in row)
    return Facts(
        entity,
        [Key(0, 1, port) for port in rows],
        [b""] * len(rows),
        [technology] * len(rows),
        {name: [row.get(name) for row in rows.values()] for name in names},
    )


def megabits(rate: float, seconds: float = 300) -> int:
    """Return the octets that a rate moves."""
    return round(rate * MBIT * seconds / 8)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(monkeypatch)


def test_the_first_counters_are_where_rates_begin(site: Site) -> None:
    site.down(0, 5_000_000, 0)
    assert not HistoryFrame.objects.filter(subject=Subject.ONU).exists()
    site.down(5, 5_000_000 + megabits(8.05), megabits(2.01))
    assert site.rates(1) == [(5, 8.0)]
    assert site.rates(2) == [(5, 2.0)]
    assert site.drops() == Drops()


def test_both_directions_and_the_optics_of_a_collection_are_one_frame(site: Site) -> None:
    site.read(0, {1: {"up_octets": Counter64(0), "down_octets": Counter64(0), "onu_rx_dbm": -20.0}})
    HistoryFrame.objects.all().delete()
    moved = {"up_octets": Counter64(megabits(1.01)), "down_octets": Counter64(megabits(50.1))}
    site.read(5, {1: {**moved, "onu_rx_dbm": -20.5}})
    assert HistoryFrame.objects.filter(subject=Subject.ONU).count() == 1
    assert (site.rates(1, "up_bps"), site.rates(1)) == ([(5, 1.0)], [(5, 50.1)])


def test_the_counters_of_an_onu_are_no_part_of_its_row(site: Site) -> None:
    before = Onu.objects.order_by("id").values()[0]
    site.down(0, 1)
    site.down(5, 2_000_000)
    assert Onu.objects.order_by("id").values()[0] == before


def test_a_restart_of_the_olt_makes_no_rate_and_no_spike(site: Site) -> None:
    site.down(0, megabits(8000))
    site.uptime_s = -240.0
    site.down(5, megabits(9000))
    site.uptime_s = -240.0
    site.down(10, megabits(9000) + megabits(8.05))
    assert site.rates(1) == [(10, 8.0)]
    assert site.drops() == Drops(resets=1)


def test_a_restart_is_seen_though_a_reading_before_did_not_have_the_uptime(site: Site) -> None:
    """The collection between did not bring the first ONU."""
    site.down(0, 0, 0)
    site.uptime_s = None
    site.down(5, None, megabits(8.05))
    site.uptime_s = -540.0
    site.down(10, megabits(9), megabits(16.1))
    assert site.rates(1) == []
    assert site.rates(2) == [(5, 8.0)]
    assert site.drops() == Drops(resets=2)


def test_a_counter_that_starts_anew_makes_no_rate(site: Site) -> None:
    """As that of an ONU that was restarted."""
    site.down(0, megabits(100), 0)
    site.down(5, 1000, megabits(1.01))
    site.down(10, 1000 + megabits(8.05), megabits(2.02))
    assert site.rates(1) == [(10, 8.0)]
    assert [minute for minute, _ in site.rates(2)] == [5, 10]
    assert site.drops() == Drops(resets=1)


def test_a_narrow_counter_that_came_round_goes_on(site: Site) -> None:
    start = (1 << 32) - megabits(12)
    site.down(0, start, 0, width=Counter32)
    site.down(5, start + megabits(8.05), megabits(8.05), width=Counter32)
    site.down(10, start + megabits(16.1) - (1 << 32), 0, width=Counter32)
    assert site.rates(1) == [(5, 8.0), (10, 8.0)]
    assert site.rates(2) == [(5, 8.0)]
    assert site.drops() == Drops(resets=1)


def test_a_counter_that_is_wide_now_starts_anew(site: Site) -> None:
    site.down(0, 1000, width=Counter32)
    site.down(5, (1 << 33), width=Counter64)
    site.down(10, (1 << 33) + megabits(8.05), width=Counter64)
    assert site.rates(1) == [(10, 8.0)]


def test_another_onu_at_the_place_starts_anew(site: Site) -> None:
    site.down(0, 1000)
    site.discover({1: "HWTC0000000A", 2: "HWTC00000002"}, NOW + timedelta(minutes=1))
    site.down(5, megabits(500))
    assert site.rates(1) == []
    site.down(10, megabits(508.05))
    assert site.rates(1) == [(10, 8.0)]


def test_an_onu_that_moved_starts_anew(site: Site) -> None:
    site.down(0, 1000, 2000)
    site.discover({3: "HWTC00000001", 2: "HWTC00000002"}, NOW + timedelta(minutes=1))
    moved = {"down_octets": Counter64(megabits(500))}
    site.read(5, {3: moved, 2: {"down_octets": Counter64(2000 + megabits(2.01))}})
    assert site.rates(3) == []
    assert site.rates(2) == [(5, 2.0)]


def test_a_missed_poll_makes_one_rate_over_both_intervals(site: Site) -> None:
    site.down(0, 0, 0)
    site.down(5, None, megabits(1.01))
    site.down(10, megabits(8.05, 600), megabits(2.02))
    assert site.rates(1) == [(10, 8.0)]
    assert [minute for minute, _ in site.rates(2)] == [5, 10]


def test_a_gap_of_more_than_three_intervals_has_no_rate(site: Site) -> None:
    site.down(0, 0)
    site.down(15.1, megabits(8.05, 900))
    site.down(20, megabits(8.05, 900) + megabits(4.02))
    assert [minute for minute, _ in site.rates(1)] == [20]
    assert site.drops() == Drops(gaps=1)


def test_an_answer_from_a_cache_is_no_silence(site: Site) -> None:
    site.down(0, 0, 0)
    site.down(5, megabits(8.05), megabits(1.01))
    site.down(10, megabits(8.05), megabits(1.01))
    site.down(15, megabits(24.15), megabits(3.03))
    assert site.rates(1) == [(5, 8.0), (15, 8.0)]
    assert [minute for minute, _ in site.rates(2)] == [5, 15]


def test_an_onu_that_is_silent_while_others_are_not_has_a_rate_of_nothing(site: Site) -> None:
    site.down(0, 0, 0)
    site.down(5, 0, megabits(1.01))
    assert site.rates(1) == [(5, 0.0)]


def test_a_rate_above_the_line_rate_is_dropped_and_counted(site: Site) -> None:
    site.down(0, 0, 0)
    site.down(5, megabits(2500), megabits(2480.5))
    assert site.rates(1) == []
    assert [minute for minute, _ in site.rates(2)] == [5]
    assert site.drops() == Drops(over=1)


def test_a_port_whose_name_says_xgs_pon_carries_what_xgs_pon_does(site: Site) -> None:
    """Vendors list XGS-PON in the tables of GPON: its traffic is no mistake."""
    for minutes, octets in ((-5, Counter64(0)), (0, Counter64(megabits(8))), (5, Counter64(megabits(8008)))):
        onus = {1: {"down_octets": octets}, 2: {"down_octets": octets}}
        ports = {
            number: {"name": name, "out_octets": octets}
            for number, name in ((7, "XGS-PON 0/1/7"), (8, "GPON 0/1/8"))
        }
        site.read(minutes, onus, ports)
    assert [round(rate, -2) for _, rate in site.rates(1)] == [0, 8000]
    uses = {
        use.technology: round((use.out_bps or 0) / MBIT) for use in pon_use(site.olt.pk, at("10:05")).values()
    }
    assert uses == {"xgspon": 8000}
    assert site.drops() == Drops(over=1)


def test_errors_of_more_packets_than_a_line_carries_are_dropped_and_counted(site: Site) -> None:
    start = 3 << 40
    for minutes, errors in ((0, 0), (5, start), (10, start + 300), (15, start + 300 + 2_000_000 * 300)):
        site.read(minutes, {}, links={1: {"speed_mbps": 1000, "in_errors": Counter64(errors)}})
    link = Uplink.objects.get()
    until = NOW + timedelta(hours=1)
    series = subject_series(site.olt.pk, link.pk, ["in_errors_s"], NOW, until, subject=Subject.UPLINK)
    assert [round(value or 0, 2) for value in series.values["in_errors_s"]] == [1.0]
    assert site.drops() == Drops(over=2)


def test_a_collection_without_any_rate_leaves_the_traffic_of_the_one_before(site: Site) -> None:
    """That nothing is known for an interval does not mean that nothing moved."""
    site.down(0, 0, 0)
    site.down(5, megabits(100), megabits(20))
    site.down(25, megabits(900), megabits(90))
    row = OltTraffic.objects.get(subject="onu")
    assert (row.at, round((row.out_bps or 0) / MBIT)) == (NOW + INTERVAL, 120)


def test_a_recording_that_is_tried_again_counts_once(site: Site) -> None:
    site.down(0, megabits(100), 0)
    site.fails_first = True
    site.down(5, 0, megabits(8.05))
    assert site.rates(2) == [(5, 8.0)]
    assert site.drops() == Drops(resets=1)
    assert HistoryFrame.objects.filter(subject=Subject.ONU).count() == 1


def test_two_collections_at_nearly_the_same_time_make_no_spike(site: Site) -> None:
    """The counters of many agents stand for some seconds, and then jump."""
    site.down(0, 0)
    site.down(5, megabits(8.05))
    site.down(5.05, megabits(8.5))
    site.down(10, megabits(16.1))
    assert site.rates(1) == [(5, 8.0), (10, 8.0)]


@pytest.mark.parametrize("uptime_s", [1000.0, None])
def test_a_chained_part_that_takes_long_makes_no_spike_and_no_restart(
    site: Site, uptime_s: float | None
) -> None:
    """The counters are read every five minutes, and stored when the chained part is done."""
    site.uptime_s = uptime_s
    octets = megabits(8.05)
    for minutes, chained_s in ((0, 10.0), (5, 250.0), (10, 10.0), (15, 250.0)):
        site.chained_s = chained_s
        site.down(minutes + chained_s / 60, octets * minutes // 5)
    assert [rate for _, rate in site.rates(1)] == [4.5, 8.0, 4.5]
    assert site.drops() == Drops()


def test_ports_have_rates_totals_and_their_use_of_the_line(site: Site) -> None:
    def counted(*octets: float) -> dict[int, dict[str, Any]]:
        return {
            port: {"in_octets": Counter64(megabits(rate / 4)), "out_octets": Counter64(megabits(rate))}
            for port, rate in enumerate(octets)
        }

    site.read(0, {}, counted(0, 0))
    site.read(5, {}, counted(1244.16, 100.5))
    uses = pon_use(site.olt.pk, NOW + INTERVAL)
    busy, quiet = sorted(uses.values(), key=lambda use: -(use.down or 0))
    assert (round(busy.down or 0, 3), round(busy.up or 0, 3)) == (0.5, 0.25)
    series = subject_series(site.olt.pk, quiet.port_id, ["out_bps"], NOW, NOW + timedelta(hours=1))
    assert [round((value or 0) / MBIT) for value in series.values["out_bps"]] == [100]
    traffic = olt_traffic(site.olt.pk, NOW + INTERVAL)["port"]
    assert round((traffic.out_bps or 0) / MBIT, 1) == 1344.7
    assert [each.number for each in traffic.top] == [busy.port_id, quiet.port_id]
    assert pon_use(site.olt.pk, NOW + timedelta(hours=1)) == {}


def ports_that_moved(*megabits_each: tuple[float, float]) -> dict[int, dict[str, Any]]:
    """Return the counters of ports that have received and sent so many megabits for five minutes."""
    return {
        port: {"in_octets": Counter64(megabits(received)), "out_octets": Counter64(megabits(sent))}
        for port, (received, sent) in enumerate(megabits_each)
    }


def test_a_direction_above_the_line_rate_is_unknown_and_no_silence(site: Site) -> None:
    site.read(0, {}, ports_that_moved((0, 0), (0, 0)))
    site.read(5, {}, ports_that_moved((5000, 100), (20, 200)))
    first, second = PonPort.objects.order_by("place")
    uses = pon_use(site.olt.pk, NOW + INTERVAL)
    assert (uses[first.pk].in_bps, uses[first.pk].up) == (None, None)
    assert uses[first.pk].out_bps == 100 * MBIT
    top = olt_traffic(site.olt.pk, NOW + INTERVAL)["port"].top
    assert top == [TopRate(second.pk, 20 * MBIT, 200 * MBIT), TopRate(first.pk, None, 100 * MBIT)]


def test_a_total_does_not_fall_because_the_rate_of_a_port_is_missing(site: Site) -> None:
    """It is not known then, and the other direction goes on."""
    site.read(0, {}, ports_that_moved((0, 0), (0, 0)))
    site.read(5, {}, ports_that_moved((50, 500), (50, 500)))
    site.read(10, {}, ports_that_moved((100, 9000), (100, 1000)))
    assert (totals(site, TOTAL_NUMBER), totals(site, TOTAL_NUMBER, "in_bps")) == ([998], [100, 100])
    traffic = olt_traffic(site.olt.pk, at("10:10"))["port"]
    assert (traffic.at, traffic.in_bps, traffic.out_bps) == (at("10:10"), 100 * MBIT, None)
    assert (traffic.peak_at, traffic.peak_out_bps) == (at("10:05"), 1000 * MBIT)
    site.read(15, {}, ports_that_moved((150, 9400), (150, 1500)))
    assert totals(site, TOTAL_NUMBER) == [998, 900]


def test_an_uplink_that_is_away_for_more_than_three_intervals_is_no_part_of_the_total(site: Site) -> None:
    for step in range(7):
        row = {"speed_mbps": 1000, "in_octets": Counter64(megabits(300) * step)}
        site.read(5 * step, {}, links={1: row, 2: row} if step < 2 else {1: row})
    until = NOW + timedelta(hours=1)
    series = subject_series(site.olt.pk, TOTAL_NUMBER, ["in_bps"], NOW, until, subject=Subject.UPLINK)
    found = [
        ((moment - NOW).total_seconds() / 60, round(value / MBIT, -1))
        for moment, value in zip(series.moments(), series.values["in_bps"], strict=True)
        if value is not None
    ]
    assert found == [(5, 600), (25, 300), (30, 300)]


def test_a_port_that_moved_next_to_nothing_leaves_the_total_known(site: Site) -> None:
    site.read(0, {}, ports_that_moved((0, 0), (0, 0)))
    site.read(5, {}, ports_that_moved((50, 895), (50, 5)))
    site.read(10, {}, ports_that_moved((100, 1790), (100, 0)))
    assert totals(site, TOTAL_NUMBER) == [900, 893]


@pytest.mark.parametrize(("share", "known"), [(0.02, False), (0.005, True)])
def test_a_total_of_onus_does_not_fall_because_the_rate_of_a_large_one_is_missing(
    site: Site, share: float, known: bool
) -> None:
    PonPort.objects.create(olt_id=site.olt.pk, place="0/1/7", updated_at=NOW)
    large, small = 1000 * (1 - share), 1000 * share
    site.down(0, 0, 0)
    site.down(5, megabits(large), megabits(small))
    site.down(10, megabits(2 * large), 0)
    assert len(totals(site, TOTAL_NUMBER)) == 1 + known
    found = olt_traffic(site.olt.pk, at("10:10"))
    assert [found[each].out_bps is not None for each in ("onu", "port")] == [known, known]


def test_an_onu_of_which_the_olt_has_no_counter_is_no_part_of_the_total(site: Site) -> None:
    PonPort.objects.create(olt_id=site.olt.pk, place="0/1/7", updated_at=NOW)
    site.down(0, 0, 0)
    site.down(5, megabits(512), megabits(512))
    site.down(10, megabits(1024))
    assert totals(site, TOTAL_NUMBER) == [1023, 512]


def test_rates_that_are_all_dropped_leave_the_sums_of_the_collection_before(site: Site) -> None:
    PonPort.objects.create(olt_id=site.olt.pk, place="0/1/7", updated_at=NOW)
    for minutes, moved in ((0, 100), (5, 0), (10, 50), (15, 0)):
        site.down(minutes, megabits(moved))
    assert totals(site, TOTAL_NUMBER) == [50]
    assert olt_traffic(site.olt.pk, at("10:15"))["port"].at == at("10:10")


def test_the_width_of_the_counters_says_which_rates_are_certain(site: Site) -> None:
    """A counter of 32 bits comes round in five minutes at 114.5 Mbit/s."""
    PonPort.objects.create(olt_id=site.olt.pk, place="0/1/7", updated_at=NOW)
    for minutes, moved in ((0, 0), (5, 50)):
        site.down(minutes, megabits(moved), width=Counter32)
    found = olt_traffic(site.olt.pk, NOW + INTERVAL)
    # The ports have no counters of their own.
    assert [found[each].certain_to_bps for each in ("onu", "port")] == [114_000_000, None]
    for minutes, moved in ((10, 0), (15, 50)):
        site.down(minutes, megabits(moved))
    assert [each.certain_to_bps for each in olt_traffic(site.olt.pk, at("10:15")).values()] == [None, None]


def test_a_port_that_is_no_pon_moves_as_much_as_it_says(site: Site) -> None:
    """As the interfaces of an OLT of no known family; one that says nothing may be the fastest PON."""
    Olt.objects.update(brand=Brand.objects.get(name="generic"))
    site.traffic = make_node(site.olt, make_job("ports", "table", 300, facts=["port.in_octets"]))
    site.read(0, {}, {1: {"speed_mbps": 100_000}, 2: {"speed_mbps": 1000}, 3: {}}, technology="")
    for minutes, octets in ((5, 0), (10, megabits(40_000))):
        counted = {port: {"in_octets": Counter64(octets)} for port in (1, 2, 3)}
        site.read(minutes, {}, counted, technology="")
    assert totals(site, PonPort.objects.get(place="0/1/1").pk, "in_bps") == [pytest.approx(40_000, rel=0.005)]
    assert site.drops() == Drops(over=2)


def test_the_interfaces_of_no_known_olt_are_not_added_up(site: Site) -> None:
    """What goes through a port goes through its LAG and its VLAN too, and would count as often."""

    def read_three(minutes: int, octets: int) -> None:
        counted = {number: {"out_octets": Counter64(octets)} for number in (1, 2, 3)}
        site.read(minutes, {}, counted, technology="")

    # As it was until now: added up.
    read_three(0, 0)
    read_three(5, megabits(100))
    Olt.objects.update(brand=Brand.objects.get(name="generic"))
    site.traffic = make_node(site.olt, make_job("ports", "table", 300, facts=["port.out_octets"]))
    assert "port" in olt_traffic(site.olt.pk, NOW + 2 * INTERVAL)
    read_three(10, megabits(200))
    assert totals(site, PonPort.objects.get(place="0/1/1").pk) == [100, 100]
    assert totals(site, TOTAL_NUMBER) == [300]
    now = NOW + 2 * INTERVAL
    assert olt_totals(now) == []
    assert (traffic_tops("port", now).now, traffic_tops("port", now).peak) == ([], [])
    assert (olt_traffic(site.olt.pk, now), pon_use(site.olt.pk, now)) == ({}, {})


def test_the_use_of_a_port_that_does_not_say_its_technology_is_of_the_line_of_its_onus(site: Site) -> None:
    for minutes, octets in ((0, 0), (5, megabits(1244.16))):
        counted = {"out_octets": Counter64(octets)}
        site.read(minutes, {}, {7: counted, 8: counted}, technology="")
    known, empty = sorted(pon_use(site.olt.pk, NOW + INTERVAL).values(), key=lambda use: -(use.down or 0))
    assert (known.technology, round(known.down or 0, 3)) == ("gpon", 0.5)
    assert (empty.technology, round(empty.down or 0, 3)) == ("", 0.124)


def test_ports_without_counters_have_the_traffic_of_their_onus(site: Site) -> None:
    port = PonPort.objects.create(olt_id=site.olt.pk, place="0/1/7", updated_at=NOW)
    site.down(0, 0, 0)
    site.down(5, megabits(100), megabits(20))
    (use,) = pon_use(site.olt.pk, NOW + INTERVAL).values()
    assert (use.port_id, round((use.out_bps or 0) / MBIT), use.technology) == (port.pk, 120, "gpon")
    assert totals(site, port.pk) == totals(site, TOTAL_NUMBER) == [120]


def test_a_port_with_counters_of_its_own_does_not_get_those_of_its_onus(site: Site) -> None:
    for minutes, octets in ((0, 0), (5, megabits(50))):
        site.read(
            minutes,
            {1: {"down_octets": Counter64(2 * octets)}},
            {7: {"out_octets": Counter64(octets)}},
        )
    assert totals(site, TOTAL_NUMBER) == [50]
    # Its counters are asked for by another job: they are still its own.
    site.down(10, megabits(200))
    assert totals(site, TOTAL_NUMBER) == [50]
    site.down(20, megabits(800))
    site.down(25, megabits(900))
    # After three intervals without them, the port does not count any more.
    assert totals(site, TOTAL_NUMBER) == [50, 100]


def totals(site: Site, number: int, fact: str = "out_bps") -> list[int]:
    series = subject_series(site.olt.pk, number, [fact], NOW, NOW + timedelta(hours=1))
    return [round(value / MBIT) for value in series.values[fact] if value is not None]


def test_the_highest_onus_now_and_at_the_last_peak_are_known_by_name(site: Site) -> None:
    first, second = Onu.objects.order_by("onu_id").values_list("id", flat=True)
    site.down(0, 0, 0)
    site.down(5, megabits(100), megabits(20))
    site.down(10, megabits(101), megabits(25))
    tops = traffic_tops("onu", NOW + timedelta(minutes=11))
    assert [(each.number, round((each.out_bps or 0) / MBIT)) for each in tops.now] == [
        (second, 5),
        (first, 1),
    ]
    assert [(each.number, round((each.out_bps or 0) / MBIT)) for each in tops.peak] == [
        (first, 100),
        (second, 20),
    ]
    traffic = olt_traffic(site.olt.pk, NOW + timedelta(minutes=11))["onu"]
    assert (traffic.peak_at, traffic.is_current) == (NOW + INTERVAL, True)
    later = traffic_tops("onu", NOW + timedelta(hours=2))
    assert (later.now, [each.number for each in later.peak]) == ([], [first, second])
    assert traffic_tops("onu", NOW + timedelta(days=2)).peak == []


def test_an_olt_whose_counters_go_back_again_and_again_is_named_with_the_reason(site: Site) -> None:
    for minutes in range(0, 50, 5):
        site.down(minutes, megabits(100), megabits(1) * minutes)
    assert check_traffic(NOW + timedelta(hours=1), CONFIG).level == "ok"
    for minutes in range(50, 100, 5):
        site.down(minutes, megabits(100) - minutes * 1000, megabits(1) * minutes)
    finding = check_traffic(NOW + timedelta(hours=2), CONFIG)
    assert finding.level == "warning"
    assert finding.told == "counters gave no rate: they went back, or the OLT started, on north (25 %)"
    assert "facho olt show NAME" in finding.do
    # After a day without them nobody is told any more.
    assert check_traffic(NOW + timedelta(hours=27), CONFIG).level == "ok"


def test_the_drops_of_a_day_are_counted_by_hour(site: Site) -> None:
    site.down(0, 0)
    site.down(5, megabits(99_999))
    site.down(65, megabits(1))
    site.down(65 + 24 * 60, megabits(2))
    row = OltTraffic.objects.get(subject="onu")
    assert [each[1:] for each in read_drops(row.drops_by_hour)] == [(1, 0, 0, 1)]


def test_counters_that_cannot_be_read_begin_anew(site: Site) -> None:
    site.down(0, 0)
    OltTraffic.objects.update(counters=b"\0\1\2\3\4\5\6\7\x08")
    site.down(5, megabits(8.05))
    site.down(10, megabits(16.1))
    assert site.rates(1) == [(10, 8.0)]


def test_tops_of_several_olts_are_one_list() -> None:
    olts = [Olt.objects.get(pk=make_olt(f"olt-{number}").pk) for number in range(3)]
    for number, olt in enumerate(olts):
        OltTraffic.objects.create(
            olt=olt, subject="onu", at=NOW, interval_s=300, counters=b"", top=f"[[{number},1,{number}]]"
        )
    tops = traffic_tops("onu", NOW, most=2)
    assert tops.now == [TopRate(2, 1, 2), TopRate(1, 1, 1)]
    assert traffic_tops("onu", NOW, olt_ids=[olts[0].pk]).now == [TopRate(0, 1, 0)]
