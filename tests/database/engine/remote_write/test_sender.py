"""What a sender does when the receiver takes samples, refuses them, or is away."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest

from facho.apps.db import sql
from facho.apps.history.store import append_frame, close_hours
from facho.apps.remote_write.models import RemoteWriteCursor
from facho.apps.remote_write.selectors import read_remote_write
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
