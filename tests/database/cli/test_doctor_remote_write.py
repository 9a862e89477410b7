"""What the doctor says of remote write, and what to do about it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from facho.apps.remote_write import store
from facho.apps.remote_write.models import RemoteWriteCursor
from facho.apps.remote_write.store import Counts
from facho.cli.doctor.findings import Finding, Level
from facho.cli.doctor.remote_write import check_remote_write
from facho.config import Config
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
CONFIG = Config(remote_write_url="https://metrics.example.net/write")
NOW = at("10:00")


def finding() -> Finding:
    return check_remote_write(NOW, CONFIG)


@pytest.fixture
def _sending() -> None:
    make_olt()
    store.add_new_olts(NOW)
    store.store_progress("", [], Counts(sent=1000), NOW)


def test_without_a_receiver_it_is_off() -> None:
    assert check_remote_write(NOW, Config()).told == "off: FACHO_REMOTE_WRITE_URL is empty"


def test_without_an_olt_there_is_nothing_to_send() -> None:
    assert (finding().level, finding().told) == (Level.OK, "there is no OLT yet")


def test_without_a_process_that_sends_there_is_what_to_start() -> None:
    make_olt()
    found = finding()
    assert (found.level, found.told) == (Level.ERROR, "no process sends samples; 0 samples sent")
    assert found.do == "start the engine: facho up, or facho remote-write"


@pytest.mark.usefixtures("_sending")
def test_all_is_well_while_samples_are_sent() -> None:
    found = finding()
    assert (found.level, found.told) == (Level.OK, "up to date; 1,000 samples sent")


@pytest.mark.usefixtures("_sending")
def test_a_receiver_that_is_away_is_named_with_its_reason_and_since_when() -> None:
    store.store_failure(NOW - timedelta(minutes=40), "no connection: Connection refused")
    store.store_failure(NOW - timedelta(minutes=1), "HTTP 503 Service Unavailable")
    found = finding()
    assert found.level is Level.ERROR
    assert found.told.startswith("the receiver has taken nothing for 40 min: HTTP 503 Service Unavailable")
    assert found.do.startswith("samples wait for 1 d, then the oldest are dropped")


@pytest.mark.usefixtures("_sending")
def test_olts_that_wait_for_their_turn_do_not_hide_that_the_receiver_is_away() -> None:
    make_olt("olt-that-waits")
    store.add_new_olts(NOW - timedelta(minutes=30))
    store.store_failure(NOW - timedelta(minutes=40), "no connection: Connection refused")
    assert finding().told.startswith("the receiver has taken nothing for 40 min")


@pytest.mark.usefixtures("_sending")
def test_olts_that_are_behind_are_counted() -> None:
    RemoteWriteCursor.objects.update(sent_to=NOW - timedelta(minutes=50))
    found = finding()
    assert found.level is Level.WARNING
    assert found.told.startswith("1 OLTs are up to 50 min behind")


@pytest.mark.usefixtures("_sending")
def test_dropped_samples_are_counted_by_reason_and_a_refusal_is_shown_for_a_day() -> None:
    store.store_progress("", [], Counts(too_old=20, refused=3), None)
    store.store_refusal(NOW - timedelta(hours=2), "HTTP 400 Bad Request: out of order sample")
    found = finding()
    assert found.level is Level.WARNING
    assert found.told == (
        "the receiver refused samples 2 h ago: HTTP 400 Bad Request: out of order sample; "
        "1,000 samples sent; dropped: 20 too old, 3 refused"
    )
    store.store_refusal(NOW - timedelta(days=2), "old")
    assert finding().level is Level.OK
