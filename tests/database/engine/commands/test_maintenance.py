"""What people may plan, and what they are told otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import time

import pytest

from facho.apps.hosts.models import Olt
from facho.apps.maintenance.models import MaintenanceWindow
from facho.engine.commands.maintenance import Window, add_window, change_window, remove_windows
from tests.factories import add_olts, at, refused

pytestmark = [pytest.mark.usefixtures("brands"), pytest.mark.both_databases]

NOW = at("10:00")
ONCE = Window("work", olt="north", starts_at=at("11:00"), ends_at=at("12:00"))
# The tenth of June 2025 is a Tuesday.
WEEKLY = Window("backup", site="Norte", weekdays=("tue",), start=time(11), duration="1h")


@pytest.fixture(autouse=True)
def _olts(brands: None) -> None:
    add_olts("north", "south")
    Olt.objects.filter(name="north").update(site="Norte")


@pytest.mark.parametrize(
    ("window", "field", "sentence"),
    [
        (replace(ONCE, ends_at=at("11:00")), "ends_at", "it would end before it starts"),
        (replace(ONCE, starts_at=at("08:00"), ends_at=at("09:00")), "ends_at", "that is in the past"),
        (replace(ONCE, starts_at=None), "starts_at", "give the start, a preset or the weekdays"),
        (replace(ONCE, ends_at=None), "ends_at", "give the end"),
        (replace(ONCE, olt=""), "olt", "a window is for an OLT or for a site: give one of them"),
        (replace(ONCE, site="Norte"), "olt", "a window is for an OLT or for a site: give one of them"),
        (replace(ONCE, olt="noth"), "olt", "there is no OLT named 'noth'; did you mean north, south?"),
        (replace(WEEKLY, site="Sur"), "site", "no OLT is at the site 'Sur'; the sites are: Norte"),
        (replace(WEEKLY, weekdays=()), "weekdays", "a weekly window needs at least one weekday"),
        (replace(WEEKLY, weekdays=("day",)), "weekdays", "'day' is none of mon, tue,"),
        (replace(WEEKLY, start=None), "start", "give the start time"),
        (replace(WEEKLY, duration=None), "duration", "give the duration"),
        (replace(WEEKLY, duration="25h"), "duration", "a weekly window lasts 24 hours at most"),
        (replace(WEEKLY, starts_at=at("11:00")), "starts_at", "a window is once or every week, not both"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(window: Window, field: str, sentence: str) -> None:
    with refused(field, sentence):
        add_window(window, NOW)
    assert not MaintenanceWindow.objects.exists()


def test_two_of_the_same_olt_or_site_do_not_overlap() -> None:
    made = add_window(ONCE, NOW)
    add_window(WEEKLY, NOW)
    add_window(replace(ONCE, name="other", olt="south"), NOW)
    with refused("name", "the name 'work' is already taken"):
        add_window(ONCE, NOW)
    with refused("starts_at", "it overlaps with 'work' on 2025-06-10 11:59"):
        add_window(replace(ONCE, name="more", starts_at=at("11:59"), ends_at=at("13:00")), NOW)
    with refused("weekdays", "it overlaps with 'backup' on 2025-06-10 11:30"):
        add_window(replace(WEEKLY, name="more", start=time(11, 30)), NOW)
    # Side by side is apart; and one does not overlap with itself.
    more = add_window(replace(ONCE, name="more", starts_at=at("12:00"), ends_at=at("13:00")), NOW)
    change_window(made.id, replace(ONCE, starts_at=at("10:30")), NOW)
    with refused("starts_at", "it overlaps with 'work' on 2025-06-10 11:00"):
        change_window(more.id, replace(ONCE, name="more"), NOW)


def test_names_that_nothing_has_are_refused() -> None:
    add_window(ONCE, NOW)
    with refused("name", "there is no maintenance window named 'wrok'; did you mean work?"):
        remove_windows(["wrok"], NOW)
