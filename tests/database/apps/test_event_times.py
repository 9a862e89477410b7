"""Changes of ONUs are stored with the time at which they happened, where the OLT says it credibly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import ClockState, EventKind, Onu, OnuEvent
from facho.apps.discovery.olt_clocks import ClockReading
from facho.apps.discovery.selectors import last_online, offline_since, onu_extra_values
from facho.apps.discovery.store import note_collected, store_findings
from facho.apps.hosts.models import Olt
from facho.vendors import State
from tests.findings import an_olt, discovered, facts

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

FIRST = datetime(2026, 11, 18, 2, 13, tzinfo=UTC)
SECOND = datetime(2026, 11, 18, 2, 18, tzinfo=UTC)
HAPPENED = datetime(2026, 11, 18, 2, 14, 7, tzinfo=UTC)
# The OLT is in Bogotá, and its clock has no zone.
LOCAL = timedelta(hours=-5)
ONLINE = {"state": State("online", "online")}
NO_CLOCK = timedelta(days=-20_000)


def offline(shown: datetime | None, cause: str = "power_off") -> dict[str, Any]:
    return {
        "state": State("offline", "offline"),
        "down_cause": State(cause, cause),
        "last_down": shown,
    }


def collect(
    olt: Olt, now: datetime, values: dict[str, Any], *, ahead: timedelta | None = LOCAL, **more: Finding
) -> None:
    """Store the values of an ONU; the clock of the OLT is so far ahead of UTC, or it has none."""
    shown = None if ahead is None else now + ahead
    reading = ClockReading(now - timedelta(seconds=2), shown)
    findings = [*more.values(), Finding(facts([(1, values)]), complete=True)]
    with transaction.atomic():
        store_findings(olt.pk, findings, now, reading=reading)
    note_collected(olt.pk, ["state"], now)


@pytest.fixture
def olt() -> Olt:
    olt = an_olt()
    collect(olt, FIRST, ONLINE, found=discovered({1: "HWTC00000001"}))
    return olt


def event(kind: EventKind = EventKind.OFFLINE) -> OnuEvent:
    return OnuEvent.objects.get(kind=kind)


def near(at: datetime | None, expected: datetime) -> bool:
    return at is not None and abs(at - expected) <= timedelta(seconds=3)


def test_an_outage_has_the_time_of_the_olt_beside_when_it_was_seen(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + LOCAL))
    onu = Onu.objects.get()
    assert event().at == SECOND
    assert near(event().happened_at, HAPPENED)
    assert (offline_since(onu).at, offline_since(onu).is_dated) == (event().happened_at, True)
    assert near(datetime.fromisoformat(onu_extra_values(onu)["last_down"]), HAPPENED)
    assert last_online([onu], SECOND)[onu.id] == event().happened_at


def test_a_clock_that_is_years_off_dates_an_outage_that_was_seen(olt: Olt) -> None:
    ClockState.objects.all().delete()
    collect(olt, FIRST, ONLINE, ahead=NO_CLOCK)
    collect(olt, SECOND, offline(HAPPENED + NO_CLOCK), ahead=NO_CLOCK)
    assert near(event().happened_at, HAPPENED)
    assert near(datetime.fromisoformat(onu_extra_values(Onu.objects.get())["last_down"]), HAPPENED)
    # Restarted, it counts from another day, and shows the outage as if it were to come.
    collect(olt, THIRD, offline(HAPPENED + NO_CLOCK), ahead=NO_CLOCK - timedelta(days=9))
    assert near(offline_since(Onu.objects.get()).at, HAPPENED)


def test_a_clock_that_was_just_lost_gives_no_date(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + NO_CLOCK), ahead=NO_CLOCK)
    onu = Onu.objects.get()
    assert event().happened_at is None
    since = offline_since(onu)
    assert (since.at, since.is_dated) == (SECOND, False)
    # The page says what the OLT said.
    assert since.refused.startswith("1972-02-15")
    assert "last_down" not in onu_extra_values(onu)


def test_a_date_of_an_earlier_outage_is_not_that_of_this_one(olt: Olt) -> None:
    collect(olt, SECOND, offline(FIRST - timedelta(days=3) + LOCAL))
    assert event().happened_at is None
    assert offline_since(Onu.objects.get()).at == SECOND


def test_without_a_clock_the_changes_tell_how_it_is_set(olt: Olt) -> None:
    ClockState.objects.all().delete()
    collect(olt, SECOND, offline(HAPPENED + LOCAL), ahead=None)
    assert event().happened_at == HAPPENED
    assert ClockState.objects.get().read_at is None


def test_an_onu_that_is_back_is_not_offline_and_its_return_is_dated(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + LOCAL))
    third, back = SECOND + timedelta(minutes=5), SECOND + timedelta(minutes=2)
    collect(olt, third, {**ONLINE, "last_up": back + LOCAL, "last_down": HAPPENED + LOCAL})
    assert near(event(EventKind.ONLINE).happened_at, back)
    onu = Onu.objects.get()
    assert offline_since(onu).at is None
    assert onu.offline_since is None


def test_a_time_since_its_registration_dates_a_return_without_any_clock(olt: Olt) -> None:
    collect(olt, SECOND, offline(None), ahead=None)
    third = SECOND + timedelta(minutes=5)
    collect(olt, third, {**ONLINE, "registered_s": 60}, ahead=None)
    assert event(EventKind.ONLINE).happened_at == third - timedelta(seconds=60)


def test_an_onu_that_was_offline_when_it_was_first_seen_has_the_date_of_the_olt() -> None:
    olt = an_olt()
    long_ago = FIRST - timedelta(days=40)
    collect(
        olt, FIRST, offline(long_ago + timedelta(seconds=8)), ahead=timedelta(seconds=8),
        found=discovered({1: "HWTC00000001"}),
    )  # fmt: skip
    assert not OnuEvent.objects.filter(kind=EventKind.OFFLINE).exists()
    since = offline_since(Onu.objects.get())
    assert near(since.at, long_ago)
    assert since.is_dated


def test_dates_without_a_zone_are_in_that_of_a_clock_which_says_another_than_the_operator_s() -> None:
    """The OLT is at UTC+8, and so are its dates; the operator is at UTC."""
    olt = an_olt()
    zone = timezone(timedelta(hours=8))

    def collect_zoned(now: datetime, shown: datetime, **more: Finding) -> None:
        findings = [*more.values(), Finding(facts([(1, offline(shown))]), complete=True)]
        with transaction.atomic():
            reading = ClockReading(now - timedelta(seconds=2), now.astimezone(zone))
            store_findings(olt.pk, findings, now, reading=reading)

    collect_zoned(FIRST, FIRST, found=discovered({1: "HWTC00000001"}))
    collect_zoned(FIRST + timedelta(days=3), FIRST + timedelta(days=1, hours=8))
    found = datetime.fromisoformat(onu_extra_values(Onu.objects.get())["last_down"])
    assert near(found, FIRST + timedelta(days=1))


def test_a_clock_that_is_set_later_does_not_change_what_was_dated(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + LOCAL))
    before = onu_extra_values(Onu.objects.get())["last_down"]
    for minutes in (5, 10):
        later = SECOND + timedelta(minutes=minutes)
        collect(olt, later, offline(HAPPENED + LOCAL), ahead=timedelta(hours=3))
    assert ClockState.objects.get().has_jumped
    onu = Onu.objects.get()
    assert onu_extra_values(onu)["last_down"] == before
    assert near(offline_since(onu).at, HAPPENED)


def test_a_collection_with_the_same_dates_writes_no_onu(olt: Olt) -> None:
    def written_by(now: datetime, happened: datetime) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            collect(olt, now, offline(happened + LOCAL))
        return [query["sql"] for query in queries if 'UPDATE "onu_data"' in query["sql"]]

    assert written_by(SECOND, HAPPENED)
    third = SECOND + timedelta(minutes=5)
    assert written_by(third, HAPPENED) == []
    assert written_by(third + timedelta(minutes=5), third)


def test_only_onus_whose_outage_begins_or_ends_are_written_for_it(olt: Olt) -> None:
    def written_by(now: datetime, values: dict[str, Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            collect(olt, now, values)
        return sum('"offline_since" =' in query["sql"] for query in queries if "UPDATE" in query["sql"])

    times = [SECOND + number * timedelta(minutes=5) for number in range(6)]
    unknown, los = {"state": State("unknown", "9")}, {"state": State("los", "3")}
    assert written_by(times[0], unknown) == 0
    assert written_by(times[1], ONLINE) == 0
    assert written_by(times[2], offline(HAPPENED + LOCAL)) == 1
    assert written_by(times[3], los) == 0
    assert written_by(times[4], unknown) == 0
    assert written_by(times[5], ONLINE) == 1
    assert Onu.objects.get().offline_since is None


DISCOVERED = {"state": State("offline", "offline")}
THIRD = SECOND + timedelta(minutes=1)


def collect_state(olt: Olt, now: datetime, state: dict[str, Any]) -> None:
    """Store the state of the ONU alone, as a discovery does: it asks for no dates."""
    with transaction.atomic():
        store_findings(olt.pk, [Finding(facts([(1, state)]), complete=True)], now)
    note_collected(olt.pk, ["state"], now)


def test_an_outage_that_a_discovery_saw_first_is_dated_by_the_next_states(olt: Olt) -> None:
    collect_state(olt, SECOND, DISCOVERED)
    assert event().happened_at is None
    collect(olt, THIRD, offline(HAPPENED + LOCAL))
    assert event().at == SECOND
    assert near(event().happened_at, HAPPENED)
    since = offline_since(Onu.objects.get())
    assert (since.at, since.is_dated) == (event().happened_at, True)


def test_a_return_that_a_discovery_saw_first_is_dated_by_the_next_states(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + LOCAL))
    third, back = SECOND + timedelta(minutes=5), SECOND + timedelta(minutes=2)
    collect_state(olt, third, ONLINE)
    later = third + timedelta(minutes=1)
    collect(olt, later, {**ONLINE, "last_up": back + LOCAL, "last_down": HAPPENED + LOCAL})
    returned = event(EventKind.ONLINE)
    assert (returned.at, near(returned.happened_at, back)) == (third, True)
    assert Onu.objects.get().offline_since is None


def test_an_outage_that_has_ended_meanwhile_is_dated_with_the_return(olt: Olt) -> None:
    collect_state(olt, SECOND, DISCOVERED)
    back = SECOND + timedelta(seconds=20)
    collect(olt, THIRD, {**ONLINE, "last_up": back + LOCAL, "last_down": HAPPENED + LOCAL})
    assert near(event().happened_at, HAPPENED)
    assert near(event(EventKind.ONLINE).happened_at, back)
    assert Onu.objects.get().offline_since is None


@pytest.mark.parametrize(
    "shown",
    [
        # Of an outage that was over before.
        FIRST - timedelta(minutes=30),
        # Of another one since: it cannot be that of the outage that was seen before.
        SECOND + timedelta(seconds=45),
    ],
)
def test_a_later_date_of_another_outage_is_not_that_of_the_one_seen(olt: Olt, shown: datetime) -> None:
    collect_state(olt, FIRST - timedelta(minutes=40), DISCOVERED)
    collect_state(olt, FIRST - timedelta(minutes=20), ONLINE)
    collect_state(olt, SECOND, DISCOVERED)
    collect(olt, THIRD, offline(shown + LOCAL))
    assert set(OnuEvent.objects.filter(kind="offline", at=SECOND).values_list("happened_at", flat=True)) == {
        None
    }
    assert offline_since(Onu.objects.get()).is_dated is False


def test_what_was_dated_once_stays_whatever_date_comes_later(olt: Olt) -> None:
    collect(olt, SECOND, offline(HAPPENED + LOCAL))
    collect(olt, THIRD, offline(HAPPENED + timedelta(seconds=40) + LOCAL))
    assert near(event().happened_at, HAPPENED)
    assert near(offline_since(Onu.objects.get()).at, HAPPENED)


def test_a_date_of_a_clock_that_was_never_set_dates_nothing_later(olt: Olt) -> None:
    ClockState.objects.all().delete()
    collect_state(olt, SECOND, DISCOVERED)
    collect(olt, THIRD, offline(HAPPENED + NO_CLOCK), ahead=NO_CLOCK)
    assert event().happened_at is None
    assert offline_since(Onu.objects.get()).refused.startswith("1972-02-15")


def test_a_date_from_before_the_clock_was_set_dates_nothing_later(olt: Olt) -> None:
    collect_state(olt, SECOND, DISCOVERED)
    ahead = timedelta(hours=3)
    collect(olt, THIRD, offline(HAPPENED + ahead), ahead=ahead)
    assert ClockState.objects.get().has_jumped
    assert event().happened_at is None
    assert not offline_since(Onu.objects.get()).is_dated


def test_each_onu_gets_its_own_date_later(olt: Olt) -> None:
    found = {number: f"HWTC0000000{number}" for number in (1, 2, 3)}
    collect(olt, FIRST, ONLINE, found=discovered(dict(found)))
    states = [(number, ONLINE) for number in found]
    with transaction.atomic():
        store_findings(olt.pk, [Finding(facts(states), complete=True)], FIRST)
        downs = [(number, DISCOVERED) for number in found]
        store_findings(olt.pk, [Finding(facts(downs), complete=True)], SECOND)
    went = {number: HAPPENED + timedelta(seconds=number * 10) for number in found}
    dated = [(number, offline(went[number] + LOCAL)) for number in found]
    with transaction.atomic():
        reading = ClockReading(THIRD - timedelta(seconds=2), THIRD + LOCAL)
        store_findings(olt.pk, [Finding(facts(dated), complete=True)], THIRD, reading=reading)
    for onu in Onu.objects.all():
        assert onu.onu_id is not None
        assert near(offline_since(onu).at, went[onu.onu_id])
        assert near(OnuEvent.objects.get(onu=onu, kind="offline").happened_at, went[onu.onu_id])


def test_the_same_dates_ask_for_no_events(olt: Olt) -> None:
    def events_asked_by(now: datetime, values: dict[str, Any]) -> int:
        with CaptureQueriesContext(connection) as queries:
            collect(olt, now, values)
        return sum("onu_events" in query["sql"] for query in queries)

    collect_state(olt, SECOND, DISCOVERED)
    dated = offline(HAPPENED + LOCAL)
    assert events_asked_by(THIRD, dated) == 2
    assert events_asked_by(THIRD + timedelta(minutes=5), dated) == 0
    assert events_asked_by(THIRD + timedelta(minutes=70), dated) == 0


def test_states_without_dates_ask_for_no_clock(olt: Olt, django_assert_num_queries: Any) -> None:
    with transaction.atomic(), django_assert_num_queries(1):
        store_findings(olt.pk, [Finding(facts([(1, ONLINE)]), complete=True)], SECOND)
