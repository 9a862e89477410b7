"""What a sender does when the receiver takes samples, refuses them, or is away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from facho.apps.db import sql
from facho.apps.discovery.models import Collected
from facho.apps.history.store import append_frame, close_hours
from facho.apps.remote_write.models import RemoteWriteCursor
from facho.apps.remote_write.selectors import read_remote_write
from facho.engine.remote_write.labels import OltLabels, read_names
from facho.engine.remote_write.receiver import Receiver, Refused, Unavailable
from tests.factories import at, make_olt
from tests.remote_write_samples import MakeSite, Site, closing_sites
from tests.remote_write_wire import Series, read_request

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
POWER = "facho_onu_rx_power_dbm"


class ScriptedReceiver(Receiver):
    """Takes what it is sent, unless a test says otherwise."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.config)
        self.series: list[Series] = []
        self.requests = 0
        self.away: Unavailable | None = None
        # The value that it refuses.
        self.bad: float | None = None

    def send(self, body: bytes) -> None:
        self.requests += 1
        if self.away is not None:
            raise self.away
        series = read_request(body)
        if any(value == self.bad for each in series for _, value in each.samples):
            raise Refused("HTTP 400 Bad Request: out of order sample")
        self.series += series

    def powers(self) -> list[float]:
        return [value for each in self.series if each.name == POWER for _, value in each.samples]


@pytest.fixture
def make_site() -> Iterator[MakeSite]:
    with closing_sites() as make:
        yield make


def started(make_site: MakeSite, **settings: object) -> tuple[Site, ScriptedReceiver]:
    """Return a site whose OLTs are known to the sender."""
    site = make_site(at("10:00"), "http://127.0.0.1:9/write", **settings)
    receiver = ScriptedReceiver(site)
    site.sender(receiver).step()
    site.wait(MINUTE)
    return site, receiver


def test_only_what_is_collected_from_now_on_is_sent(make_site: MakeSite) -> None:
    site = make_site(at("10:00"), "http://127.0.0.1:9/write")
    receiver = ScriptedReceiver(site)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender = site.sender(receiver)
    sender.step()
    site.wait(MINUTE)
    site.collect({0: -21.0})
    site.wait(MINUTE)
    sender.step()
    assert receiver.powers() == [-21.0]


def test_samples_wait_while_the_receiver_is_away_and_it_is_asked_ever_less(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    receiver.away = Unavailable("no connection: Connection refused")
    pauses = []
    for power in (-20.0, -21.0, -22.0):
        site.collect({0: power})
        site.wait(MINUTE)
        pauses.append(sender.step().total_seconds())
    assert pauses == [1, 2, 4]
    state = read_remote_write(site.clock.now)
    assert state.problem == "no connection: Connection refused"
    assert state.failing_since == at("10:02")
    receiver.away = None
    sender.step()
    assert receiver.powers() == [-20.0, -21.0, -22.0]
    state = read_remote_write(site.clock.now)
    assert (state.failing_since, state.problem) == (None, "")


def test_a_pause_that_the_receiver_names_is_kept(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    receiver.away = Unavailable("HTTP 429 Too Many Requests", timedelta(seconds=42))
    assert site.sender(receiver).step() == timedelta(seconds=42)


def test_an_outage_is_logged_once(make_site: MakeSite, caplog: pytest.LogCaptureFixture) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    receiver.away = Unavailable("HTTP 503")
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            site.wait(MINUTE)
            sender.step()
        receiver.away = None
        site.wait(MINUTE)
        sender.step()
    actions = [getattr(record, "action", "") for record in caplog.records]
    assert actions == ["remote_write_failed", "remote_write_resumed"]


def test_of_samples_that_are_refused_together_the_good_ones_arrive(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    receiver.bad = -21.0
    for power in (-20.0, -21.0, -22.0, -23.0):
        site.collect({0: power, 2: power - 5})
        site.wait(MINUTE)
    site.sender(receiver).step()
    assert receiver.powers() == [-20.0, -25.0, -22.0, -27.0, -23.0, -28.0]
    state = read_remote_write(site.clock.now)
    assert state.refused == 2
    assert state.refusal == "HTTP 400 Bad Request: out of order sample"


def test_refusals_that_go_on_stay_recent_and_are_logged_once(
    make_site: MakeSite, caplog: pytest.LogCaptureFixture
) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    receiver.bad = -21.0
    for _ in range(3):
        site.collect({0: -21.0})
        site.wait(MINUTE)
        sender.step()
    assert read_remote_write(site.clock.now).refused_at == site.clock.now
    actions = [getattr(record, "action", "") for record in caplog.records]
    assert actions.count("remote_write_refused") == 1


def test_a_receiver_that_refuses_everything_is_not_asked_for_each_sample(make_site: MakeSite) -> None:
    site, receiver = started(make_site, remote_write_step=timedelta(seconds=1))
    for number in range(39):
        site.collect({0: -20.0 - number / 10})
        site.wait(timedelta(seconds=1))
    receiver.bad = -20.0
    before = receiver.requests
    send = receiver.send

    def refuse(body: bytes) -> None:
        receiver.bad = read_request(body)[0].samples[0][1]
        send(body)

    receiver.send = refuse  # type: ignore[method-assign]
    site.sender(receiver).step()
    assert receiver.requests - before < 80
    assert receiver.powers() == []
    assert read_remote_write(site.clock.now).refused >= 39


def test_two_senders_send_nothing_twice(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    for number in range(5):
        make_olt(f"other-{number}")
    site.collect({0: -20.0})
    site.wait(MINUTE)
    first, second = site.sender(receiver), site.sender(receiver)
    first.step()
    second.step()
    assert receiver.powers() == [-20.0]


def test_the_work_of_a_killed_sender_is_done_by_another_after_a_while(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    site.collect({0: -20.0})
    RemoteWriteCursor.objects.update(claim="dead", due_at=site.clock.now + timedelta(seconds=90))
    site.wait(MINUTE)
    site.sender(receiver).step()
    assert receiver.powers() == []
    site.wait(MINUTE)
    site.sender(receiver).step()
    assert receiver.powers() == [-20.0]


def test_numbers_that_cannot_be_read_stop_neither_their_olt_nor_others(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    site.collect({0: -20.0})
    sql.execute("UPDATE onu_history_frames SET data = %s", [b"damaged"])
    site.wait(MINUTE)
    site.collect({0: -21.0})
    site.wait(MINUTE)
    site.sender(receiver).step()
    assert receiver.powers() == [-21.0]
    assert read_remote_write(site.clock.now).unreadable == 1


def test_what_waits_too_long_is_dropped_by_hours_and_counted_once(make_site: MakeSite) -> None:
    site, receiver = started(make_site, remote_write_backlog=timedelta(hours=2))
    sender = site.sender(receiver)
    receiver.away = Unavailable("HTTP 503")
    for hour in range(5):
        for minute in (10, 40):
            site.clock.now = at(f"{10 + hour}:{minute}")
            site.collect({0: -20.0 - hour, 1: None, 2: -25.0})
            sender.step()
            close_hours(site.clock.now, grace=site.config.history_close_after, most=10)
    # At 14:40 what is from before 12:00 is too old: four collections of three values.
    state = read_remote_write(site.clock.now)
    assert state.too_old == 12
    receiver.away = None
    for _ in range(10):
        site.wait(timedelta(seconds=1))
        sender.step()
    assert sorted(set(receiver.powers())) == [-25.0, -24.0, -23.0, -22.0]
    assert read_remote_write(site.clock.now).too_old == 12


def test_nothing_counts_as_dropped_of_a_time_without_a_sender(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    site.collect({0: -20.0})
    site.wait(timedelta(days=3))
    site.collect({0: -21.0})
    site.wait(MINUTE)
    for _ in range(40):
        site.wait(timedelta(seconds=1))
        site.sender(receiver).step()
    assert receiver.powers() == [-21.0]
    assert read_remote_write(site.clock.now).too_old == 0


def test_what_was_queued_before_everything_stood_still_counts_as_dropped(make_site: MakeSite) -> None:
    site, receiver = started(make_site, remote_write_backlog=timedelta(hours=2))
    sender = site.sender(receiver)
    receiver.away = Unavailable("HTTP 503")
    for minute in (10, 40, 70):
        site.clock.now = at("10:00") + minute * MINUTE
        site.collect({0: -20.0, 2: -21.0})
        sender.step()
    receiver.away = None
    site.wait(timedelta(days=2))
    site.sender(receiver).step()
    # Those of the hour in which the sender ended may have been collected without it.
    assert read_remote_write(site.clock.now).too_old == 4
    assert receiver.powers() == []


def behind(make_site: MakeSite) -> tuple[Site, ScriptedReceiver]:
    """Return a site of which nothing was taken since before 9:50, just before the hour is closed."""
    site = make_site(at("09:40"), "http://127.0.0.1:9/write", remote_write_batch=1)
    receiver = ScriptedReceiver(site)
    site.sender(receiver).step()
    for time, power in (("09:50", -20.0), ("10:05", -21.0)):
        site.clock.now = at(time)
        site.collect({0: power}, in_bps=800.0)
    return site, receiver


def test_nothing_is_lost_of_an_hour_that_is_closed_just_before_it_is_read(make_site: MakeSite) -> None:
    site, receiver = behind(make_site)
    site.clock.now = at("10:10") - timedelta(seconds=2)
    close_hours(at("10:10"), grace=site.config.history_close_after, most=10)
    sender = site.sender(receiver)
    sender.step()
    sender.step()
    assert receiver.powers() == [-20.0, -21.0]


def test_nothing_is_lost_of_an_hour_that_is_closed_while_other_olts_are_sent(make_site: MakeSite) -> None:
    first, receiver = behind(make_site)
    second = make_site(at("09:40"), "", "Centro-2")
    first.sender(receiver).step()
    for time, power in (("09:50", -25.0), ("10:05", -26.0)):
        second.clock.now = at(time)
        second.collect({0: power})
    RemoteWriteCursor.objects.update(sent_to=at("09:40"), due_at=at("09:41"))
    receiver.series.clear()
    first.clock.now = at("10:05")
    send = receiver.send

    def send_slowly(body: bytes) -> None:
        send(body)
        first.clock.now = max(first.clock.now, at("10:12"))
        close_hours(first.clock.now, grace=first.config.history_close_after, most=10)

    receiver.send = send_slowly  # type: ignore[method-assign]
    sender = first.sender(receiver)
    for _ in range(3):
        sender.step()
    assert sorted(receiver.powers()) == [-26.0, -25.0, -21.0, -20.0]


def test_nothing_is_lost_or_sent_twice_of_an_hour_that_is_half_closed(make_site: MakeSite) -> None:
    """Each subject of an hour is closed in a transaction of its own."""
    site, receiver = behind(make_site)
    site.clock.now = at("10:11")
    ports = sql.fetch_rows("SELECT olt_id, at, data FROM onu_history_frames WHERE subject = 'port'", [])
    close_hours(site.clock.now, grace=site.config.history_close_after, most=10)
    sql.execute("DELETE FROM onu_history WHERE subject = 'port'", [])
    sql.execute("DELETE FROM onu_history_frames WHERE subject = 'port'", [])
    for olt_id, moment, data in ports:
        values = [olt_id, "port", sql.db_time(sql.parse_time(moment)), bytes(data)]
        sql.execute(
            "INSERT INTO onu_history_frames (olt_id, subject, at, data) VALUES (%s, %s, %s, %s)", values
        )
    sender = site.sender(receiver)
    sender.step()
    sender.step()
    assert receiver.powers() == [-20.0, -21.0]
    traffic = [
        time for each in receiver.series if each.name == "facho_port_in_bps" for time, _ in each.samples
    ]
    assert traffic == [at("09:50").timestamp() * 1000, at("10:05").timestamp() * 1000]


def test_onus_that_were_found_or_moved_during_an_outage_are_sent_from_closed_hours(
    make_site: MakeSite,
) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    new = type(site.onus[0]).objects.create(
        olt=site.olt, address="0/1/9:0", frame=0, slot=1, port=9, serial="NEW",
        first_seen=site.clock.now, last_seen=site.clock.now,
    )  # fmt: skip
    site.onus.append(new)
    site.collect({1: -24.0, 3: -25.0, 4: -28.0})
    site.clock.now = at("13:00")
    close_hours(site.clock.now, grace=site.config.history_close_after, most=10)
    # The port is without an ONU now.
    for onu in (site.onus[2], site.onus[3]):
        onu.address, onu.port = f"0/1/7:{onu.onu_id}", 7
        onu.save()
    sender.step()
    assert sorted(receiver.powers()) == [-28.0, -25.0, -24.0, -20.0]


def test_an_onu_is_looked_up_although_others_were_just_found(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    for number in range(3):
        site.onus.append(
            type(site.onus[0]).objects.create(
                olt=site.olt, address=f"0/1/9:{number}", serial=f"NEW{number}",
                first_seen=site.clock.now, last_seen=site.clock.now,
            )
        )  # fmt: skip
        site.collect({4 + number: -20.0 - number})
        site.wait(timedelta(seconds=16))
        sender.step()
    assert receiver.powers() == [-20.0, -21.0, -22.0]


def test_ids_without_a_row_are_not_looked_up_each_time(
    make_site: MakeSite, django_assert_num_queries: Callable[..., AbstractContextManager[object]]
) -> None:
    site, _ = started(make_site)
    names = read_names([site.olt.pk])[site.olt.pk]
    labels = OltLabels(site.olt.pk, names)
    ids = [site.ports[0].pk, 0]
    labels.of("port", ids)
    with django_assert_num_queries(0):
        label, nothing = labels.of("port", ids)
    assert label is not None
    assert nothing is None


class Killed(BaseException):
    """Ends a sender at once."""


def test_a_sender_that_is_killed_has_stored_what_was_taken_before(make_site: MakeSite) -> None:
    site, receiver = started(make_site, remote_write_batch=2)
    other = make_site(site.clock.now, "", "Centro-2")
    site.sender(receiver).step()
    site.wait(MINUTE)
    for number, each in enumerate((site, other)):
        each.clock.now = site.clock.now
        each.collect({0: -20.0 - number, 2: -25.0 - number})
    site.wait(MINUTE)
    send, before = receiver.send, receiver.requests

    def die_at_third(body: bytes) -> None:
        if receiver.requests - before == 2:
            raise Killed
        send(body)

    receiver.send = die_at_third  # type: ignore[method-assign]
    with pytest.raises(Killed):
        site.sender(receiver).step()
    receiver.send = send  # type: ignore[method-assign]
    site.wait(3 * MINUTE)
    site.sender(receiver).step()
    powers = receiver.powers()
    assert (powers.count(-20.0), powers.count(-25.0)) == (1, 1)
    assert {-21.0, -26.0} <= set(powers)


def test_good_samples_among_many_bad_ones_arrive(make_site: MakeSite) -> None:
    """What a killed sender had sent is between what is new."""
    site, receiver = started(make_site, remote_write_step=timedelta(seconds=1))
    receiver.bad = -20.0
    for number in range(38):
        site.collect({0: -20.0 if number % 2 else -21.0 - number})
        site.wait(timedelta(seconds=1))
    site.sender(receiver).step()
    assert receiver.powers() == [-21.0 - number for number in range(0, 38, 2)]


def test_an_onu_that_moves_or_gets_another_serial_is_sent_with_its_new_labels(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    onu = site.onus[0]
    onu.serial, onu.address, onu.port = "ZTEG00000001", "0/1/1:7", 1
    onu.save()
    site.date_states()
    site.wait(MINUTE)
    sender.step()
    site.collect({0: -21.0})
    site.wait(MINUTE)
    sender.step()
    first, *_, last = (each.labels for each in receiver.series if each.name == POWER)
    assert (first["serial"], first["place"], first["port"]) == ("HWTC00000000", "0/1/0:0", "0/1/0")
    assert (last["serial"], last["place"], last["port"]) == ("ZTEG00000001", "0/1/1:7", "0/1/1")


def test_labels_that_another_sender_has_read_again_are_not_sent_as_they_were(make_site: MakeSite) -> None:
    """Two processes take turns; an ONU is exchanged while the other one has the OLT."""
    site, receiver = started(make_site)
    one, other = site.sender(receiver), site.sender(receiver)
    for sender in (one, other):
        site.collect({0: -20.0})
        site.wait(MINUTE)
        sender.step()
    site.onus[0].serial = "ZTEG00000001"
    site.onus[0].save()
    site.date_states()
    site.wait(MINUTE)
    one.step()
    site.collect({0: -21.0})
    site.wait(MINUTE)
    other.step()
    *_, last = (each.labels for each in receiver.series if each.name == POWER)
    assert last["serial"] == "ZTEG00000001"


def test_the_first_power_of_an_onu_is_sent_with_the_serial_that_was_collected_with_it(
    make_site: MakeSite,
) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    site.onus[0].serial = "ZTEG00000001"
    site.onus[0].save()
    Collected.objects.create(olt=site.olt, datum="serial", collected_at=site.clock.now)
    site.collect({0: -21.0})
    site.wait(MINUTE)
    sender.step()
    serials = [each.labels["serial"] for each in receiver.series if each.name == POWER]
    assert serials == ["HWTC00000000", "ZTEG00000001"]


def test_an_uplink_that_is_renamed_is_sent_with_its_new_name(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    for name in ("ge0", "to-the-core"):
        site.uplink.name = name
        site.uplink.save()
        site.date_states()
        site.wait(MINUTE)
        sender.step()
        site.collect({}, uplink_bps=8000.0)
        site.wait(MINUTE)
        sender.step()
    named = [each.labels["name"] for each in receiver.series if each.name == "facho_uplink_in_bps"]
    assert named == ["ge0", "to-the-core"]


def test_an_onu_that_was_just_found_is_looked_up(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    found = type(site.onus[0]).objects.create(
        olt=site.olt, address="0/1/9:0", serial="NEW", first_seen=site.clock.now, last_seen=site.clock.now
    )
    append_frame(site.olt.pk, site.clock.now, "onu", [found.pk], {"onu_rx_dbm": [-28.0]})
    site.wait(MINUTE)
    sender.step()
    assert [each.labels["serial"] for each in receiver.series if each.name == POWER][-1] == "NEW"


def test_an_onu_without_a_serial_is_sent_with_its_mac(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    onu = site.onus[0]
    onu.serial, onu.mac = "", "aa:bb:cc:00:00:01"
    onu.save()
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    labels = next(each.labels for each in receiver.series if each.name == POWER)
    assert (labels["mac"], "serial" in labels) == ("aa:bb:cc:00:00:01", False)


def test_a_clock_that_was_set_back_does_not_stop_it(make_site: MakeSite) -> None:
    site, receiver = started(make_site)
    sender = site.sender(receiver)
    site.collect({0: -20.0})
    site.wait(MINUTE)
    sender.step()
    site.wait(timedelta(days=-1))
    sender.step()
    site.wait(MINUTE)
    site.collect({0: -21.0})
    site.wait(MINUTE)
    sender.step()
    assert receiver.powers()[-1] == -21.0
