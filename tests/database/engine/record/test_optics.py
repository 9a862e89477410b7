"""Light that is weak, or less than it used to be, is told when that begins and when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from facho.apps.discovery.findings import Finding
from facho.apps.discovery.models import Onu, OnuEvent
from facho.apps.discovery.store import store_findings
from facho.apps.history.store import append_frame, close_hours
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.config import Config
from facho.core.optics import Limits
from facho.engine.record.onus import publish_optical_changes, update_baselines
from facho.vendors import Key, State
from tests.factories import make_olt
from tests.findings import NOW, an_olt, facts

pytestmark = pytest.mark.django_db

CONFIG = Config()
LIMITS = Limits(weak_dbm=CONFIG.optical_weak, fall_db=CONFIG.optical_fall)
HOUR = timedelta(hours=1)


@pytest.fixture
def olt() -> Olt:
    NotificationRule.objects.create(name="all")
    olt = an_olt()
    rows = [(onu, {"serial": f"S{onu}", "state": State("online", "1")}) for onu in range(1, 11)]
    collect(olt, Finding(facts(rows), True))
    OnuEvent.objects.all().delete()
    return olt


def collect(olt: Olt, finding: Finding, now: datetime = NOW) -> None:
    with transaction.atomic():
        stored = store_findings(olt.pk, [finding], now, limits=LIMITS)
        publish_optical_changes(olt.pk, stored.optical_changes, now)


def store_powers(
    olt: Olt, powers: Mapping[int | Key, float | None], fact: str = "onu_rx_dbm", **more: Any
) -> None:
    collect(olt, Finding(facts((onu, {fact: power, **more}) for onu, power in powers.items())))


def events() -> list[tuple[str, str, str]]:
    rows = OnuEvent.objects.order_by("id").values_list("kind", "serial", "cause")
    found = list(rows)
    OnuEvent.objects.all().delete()
    return found


def notifications() -> list[tuple[str, str, int]]:
    rows = list(NotificationNotice.objects.order_by("id"))
    NotificationNotice.objects.all().delete()
    assert {row.severity for row in rows} <= {"MEDIUM"}
    return [(row.notice, row.about, row.details["count"]) for row in rows]


def test_it_is_told_when_it_becomes_weak_and_when_it_is_well_again(olt: Olt) -> None:
    for power in (-26.9, -27.3, -26.8, -27.5, -25.9):
        store_powers(olt, {1: power, 2: -20.0})
    assert events() == [("weak", "S1", "-27.3 dBm"), ("recovered", "S1", "-25.9 dBm")]
    assert notifications() == [("OPTICAL_WEAK", "S1", 1), ("OPTICAL_RECOVERED", "S1", 1)]


def test_what_was_told_is_remembered_in_the_database(olt: Olt) -> None:
    store_powers(olt, {1: -28.0})
    onu = Onu.objects.get(serial="S1")
    assert (onu.optical_state, onu.onu_rx_dbm) == ("weak", -28.0)


def test_many_of_a_port_are_one_notice_with_the_worst_by_name(olt: Olt) -> None:
    store_powers(olt, {onu: -27.0 - onu for onu in range(1, 9)})
    row = NotificationNotice.objects.get()
    assert (row.notice, row.about, row.details["port"]) == (
        "OPTICAL_WEAK", "S8, S7, S6, S5, S4, S3, S2, S1", "0/1/7"
    )  # fmt: skip
    assert row.details["count"] == 8
    worst = row.details["onus"][0]
    assert worst == {"name": "S8", "place": "0/1/7:8", "power_dbm": -35.0, "usual_dbm": None}
    assert len(row.details["onus"]) == 5
    assert len(events()) == 8


def test_ports_are_told_apart(olt: Olt) -> None:
    there = Key(0, 1, 8, 1)
    collect(olt, Finding(facts([(1, {"serial": "S1"}), (there, {"serial": "T1"})]), True))
    store_powers(olt, {1: -28.0, there: -29.0})
    assert notifications() == [("OPTICAL_WEAK", "S1", 1), ("OPTICAL_WEAK", "T1", 1)]


def test_it_fell_when_it_is_three_decibels_under_its_own_week(olt: Olt) -> None:
    Onu.objects.filter(serial="S1").update(rx_usual_dbm=-20.0, rx_usual_of="onu_rx_dbm")
    for power in (-22.9, -23.0, -22.2, -21.9):
        store_powers(olt, {1: power, 2: power})
    assert events() == [("falling", "S1", "-23.0 dBm"), ("recovered", "S1", "-21.9 dBm")]
    assert notifications() == [("OPTICAL_FALLING", "S1", 1), ("OPTICAL_RECOVERED", "S1", 1)]


def test_who_is_offline_is_not_weak(olt: Olt) -> None:
    store_powers(olt, {1: -40.0}, state=State("los", "2"))
    assert notifications() == []
    store_powers(olt, {1: -40.0}, state=State("online", "1"))
    assert notifications() == [("OPTICAL_WEAK", "S1", 1)]
    # Without a power nothing is known, and nothing is well either.
    store_powers(olt, {1: None})
    assert notifications() == []
    assert Onu.objects.get(serial="S1").optical_state == "weak"


def test_where_the_onu_tells_its_power_that_of_the_olt_does_not_count(olt: Olt) -> None:
    store_powers(olt, {1: -25.0})
    store_powers(olt, {1: -29.0, 2: -29.0}, "olt_rx_dbm")
    assert notifications() == [("OPTICAL_WEAK", "S2", 1)]


def test_what_is_usual_of_one_power_is_not_compared_with_the_other(olt: Olt) -> None:
    Onu.objects.filter(serial="S1").update(rx_usual_dbm=-20.0, rx_usual_of="onu_rx_dbm")
    store_powers(olt, {1: -24.0}, "olt_rx_dbm")
    assert notifications() == []


def test_at_another_port_another_power_is_usual(olt: Olt) -> None:
    Onu.objects.filter(serial="S1").update(rx_usual_dbm=-15.0, rx_usual_of="onu_rx_dbm")
    row = {"serial": "S1", "onu_rx_dbm": -24.0}
    collect(olt, Finding(facts([(Key(0, 2, 3, 1), row)]), True))
    assert notifications() == []
    assert Onu.objects.get(serial="S1").rx_usual_dbm is None


def hours_of(olt: Olt, powers: Mapping[int, list[float | None]], fact: str = "onu_rx_dbm") -> datetime:
    """A value in each hour, the last one two hours ago; all hours are closed."""
    longest = max(map(len, powers.values()))
    for hour in range(longest):
        ids = [onu for onu, values in powers.items() if hour < len(values)]
        at = NOW + hour * HOUR
        append_frame(olt.pk, at, "onu", ids, {fact: [powers[onu][hour] for onu in ids]})
    now = NOW + (longest + 1) * HOUR
    while close_hours(now, grace=timedelta(), most=10):
        pass
    return now


def test_what_is_usual_is_the_middle_of_the_week(olt: Olt) -> None:
    one, two, three = (Onu.objects.get(serial=f"S{onu}").pk for onu in (1, 2, 3))
    week: list[float | None] = [*([-20.0] * 30), *([-26.0] * 10)]
    now = hours_of(olt, {one: week, two: [-21.0] * 23, three: [-22.0, None] * 20})
    assert update_baselines(now, CONFIG) == 1
    usual = dict(Onu.objects.values_list("id", "rx_usual_dbm"))
    # A day of values is the least.
    assert (usual[one], usual[two], usual[three]) == (-20.0, None, None)
    assert Olt.objects.get(id=olt.pk).optics_usual_at == now
    # Once a day.
    hours_of(olt, {two: [-21.0] * 30})
    assert update_baselines(now + 23 * HOUR, CONFIG) == 0
    assert update_baselines(now + 24 * HOUR, CONFIG) == 1
    assert Onu.objects.get(id=two).rx_usual_dbm == -21.0


def test_where_only_the_olt_tells_that_is_what_is_usual(olt: Olt) -> None:
    one, two = (Onu.objects.get(serial=f"S{onu}").pk for onu in (1, 2))
    hours_of(olt, {one: [-25.0] * 30, two: [-25.0] * 30}, "olt_rx_dbm")
    update_baselines(hours_of(olt, {one: [-20.0] * 30}), CONFIG)
    found = dict(Onu.objects.values_list("id", "rx_usual_of"))
    assert (found[one], found[two]) == ("onu_rx_dbm", "olt_rx_dbm")


def test_nobody_is_well_again_by_getting_used_to_it(olt: Olt) -> None:
    onu = Onu.objects.get(serial="S1")
    Onu.objects.filter(id=onu.pk).update(rx_usual_dbm=-20.0, rx_usual_of="onu_rx_dbm")
    store_powers(olt, {1: -24.0})
    update_baselines(hours_of(olt, {onu.pk: [-24.0] * 100}), CONFIG)
    store_powers(olt, {1: -24.0})
    assert notifications() == [("OPTICAL_FALLING", "S1", 1)]
    assert Onu.objects.get(id=onu.pk).rx_usual_dbm == -20.0


def test_what_is_older_than_a_week_does_not_count(olt: Olt) -> None:
    onu = Onu.objects.get(serial="S1").pk
    now = hours_of(olt, {onu: [-20.0] * 30})
    assert update_baselines(now + timedelta(days=7), CONFIG) == 0


def test_olts_that_wait_longest_come_first_and_disabled_ones_never(olt: Olt) -> None:
    Olt.objects.filter(id=olt.pk).update(optics_usual_at=NOW - 25 * HOUR)
    new, off = make_olt(), make_olt(enabled=False)
    update_baselines(NOW, CONFIG)
    noted = dict(Olt.objects.values_list("id", "optics_usual_at"))
    assert (noted[olt.pk], noted[new.pk], noted[off.pk]) == (NOW, NOW, None)


def test_the_onus_page_shows_it(olt: Olt, admin_client: Client) -> None:
    store_powers(olt, {1: -28.4})
    onu = Onu.objects.get(serial="S1")
    shown = admin_client.get(f"/admin/discovery/onu/{onu.pk}/change/", headers={"accept-language": "es"})
    assert "potencia óptica débil" in shown.content.decode()
    assert "-28.4 dBm" in shown.content.decode()
