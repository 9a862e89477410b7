"""For how long the holder of an OLT may send."""

from __future__ import annotations

from datetime import timedelta

from facho.engine.process.leases import send_deadline

LENGTH = timedelta(seconds=20)


def test_the_holder_stops_sending_before_another_may_start() -> None:
    asked_at = 1000.0
    # However long the renewal took, the database counted its length from later on.
    assert send_deadline(asked_at, LENGTH) == 1015.0
    assert send_deadline(asked_at, LENGTH) < asked_at + LENGTH.total_seconds()


def test_a_shorter_lease_leaves_less_time() -> None:
    assert send_deadline(1000.0, timedelta(seconds=2)) == 1001.5
