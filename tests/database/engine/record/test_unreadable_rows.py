"""Rows whose index the profile cannot read: nobody is taken for gone because of them, and people are told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from facho.apps.discovery.models import Onu, Presence, UnreadableRows
from facho.apps.execution_coordinator.models import CoordinatorLog
from facho.apps.executions.models import Execution, State
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationNotice, NotificationRule
from facho.cli.doctor.database import check_unreadable_rows
from facho.cli.olt import show
from facho.cli.olt.details import chassis_json
from facho.config import Config
from facho.core.notifications import NotificationKind, NotifiedEvent
from facho.core.reasons import in_english
from facho.core.roles import Role
from facho.core.severity import Severity
from facho.engine.collect.column_reader import Answers
from facho.engine.collect.part_results import Collection, judge_part
from facho.engine.collect.work_builder import plan_execution
from facho.engine.commands.olts import OltChanges, update_olt
from facho.engine.events.notification_texts import compose_message
from facho.engine.process.leases import start_execution
from facho.engine.record import recorder
from facho.snmp import Load
from facho.vendors import Decoder
from facho.vendors.index import join_arcs
from facho.web.olts.collection import read_collection_details
from tests.api_clients import asking
from tests.factories import at, make_execution, make_job, make_node, make_olt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

SERIAL = "1.3.6.1.4.1.2011.6.128.1.1.2.43.1.3"
TABLE = "gpon_config"
PORT = 0xFA00_2000
# As a firmware has it that packs its ports in another way.
ODD = 0x1A00_2000
CONFIG = Config()


def rows(*, odd: int) -> dict[bytes, object]:
    """Five ONUs, the last so many of which have an odd index."""
    places = [(PORT if onu < 5 - odd else ODD, onu) for onu in range(5)]
    return {join_arcs(place): b"HWTC" + bytes([0, 0, 0, place[1] + 1]) for place in places}


class Site:
    def __init__(self) -> None:
        self.olt: Olt = make_olt("north")
        self._node = make_node(self.olt, make_job("discovery"))
        self._now = at("10:00")

    def discover(self, found: dict[bytes, object], times: int = 1) -> Execution:
        """The last of so many discoveries."""
        done = [self._discover(found) for _ in range(times)]
        return done[-1]

    def _discover(self, found: dict[bytes, object]) -> Execution:
        self._now += timedelta(minutes=10)
        execution = make_execution(self._node, self._now, State.PENDING)
        started = start_execution(execution.id, "here", lambda: self._now, CONFIG)
        assert started is not None
        planned = plan_execution(execution.id, started.run_id, self._now, CONFIG)
        work = planned.work
        answers = Answers(rows={SERIAL: found}, heard=True, load=Load(requests=1))  # type: ignore[dict-item]
        outcome = judge_part(work.parts[0], answers, Decoder(work.profile).decode(answers.rows), work)
        recorder.record(started, planned, Collection([outcome]), self._now, CONFIG)
        execution.refresh_from_db()
        return execution


@pytest.fixture
def site() -> Site:
    return Site()


def present() -> int:
    return Onu.objects.filter(presence=Presence.PRESENT).count()


def test_onus_in_rows_that_cannot_be_read_are_not_taken_for_gone(site: Site) -> None:
    site.discover(rows(odd=0))
    execution = site.discover(rows(odd=2), times=4)
    assert execution.state == State.SUCCESS
    assert present() == 5
    assert not Onu.objects.filter(missed__gt=0).exists()

    # Once all rows can be read, who is missing is missed again.
    fewer = dict(list(rows(odd=0).items())[:3])
    site.discover(fewer, times=3)
    assert present() == 3


def test_what_could_be_read_is_stored_all_the_same(site: Site) -> None:
    site.discover(rows(odd=2))
    assert set(Onu.objects.values_list("onu_id", flat=True)) == {0, 1, 2}


def test_the_execution_says_how_many_rows_and_which(site: Site) -> None:
    (part,) = site.discover(rows(odd=2)).parts
    example = f"{ODD}.3"
    assert part["unreadable"] == {TABLE: {"rows": 2, "example": example}}
    assert f"2 rows of the table {TABLE} have an index that the profile cannot read" in in_english(
        part["error"]
    )
    assert example in in_english(part["error"])


def test_people_are_warned_once_for_as_long_as_it_lasts(
    site: Site, logged: Callable[[], list[CoordinatorLog]]
) -> None:
    def warnings() -> list[dict[str, object]]:
        return [row.details for row in logged() if row.event_type == "UNREADABLE_ROWS"]

    site.discover(rows(odd=2), times=3)
    assert warnings() == [{"table": TABLE, "rows": 2, "example": f"{ODD}.3"}]
    noted = UnreadableRows.objects.get()
    assert (noted.rows, noted.since, noted.last_seen) == (2, at("10:10"), at("10:30"))
    site.discover(rows(odd=0))
    assert not UnreadableRows.objects.exists()
    site.discover(rows(odd=1))
    assert len(warnings()) == 2


def test_a_notification_is_sent_once_for_as_long_as_it_lasts(site: Site) -> None:
    NotificationRule.objects.create(name="all")
    site.discover(rows(odd=2), times=3)
    notice = NotificationNotice.objects.get(notice=NotificationKind.UNREADABLE_ROWS)
    assert (notice.severity, notice.olt, notice.about) == ("MEDIUM", site.olt, f"table {TABLE}")
    event = NotifiedEvent(
        NotificationKind.UNREADABLE_ROWS,
        Severity.MEDIUM,
        notice.at,
        olt_name="north",
        about=notice.about,
        details=notice.details,
    )
    message = compose_message(event, "en", CONFIG)
    assert message.title == f"north: 2 unreadable rows in {TABLE}"
    assert f"{ODD}.3" in message.body
    assert compose_message(event, "es", CONFIG).title == f"north: 2 filas ilegibles en {TABLE}"


def test_operators_see_it_wherever_they_look(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_unreadable_rows(at("10:00"), CONFIG).level == "ok"
    site.discover(rows(odd=2))
    example = f"{ODD}.3"
    (told,) = chassis_json(site.olt, at("11:00"))["unreadable_rows"]
    assert (told["table"], told["rows"], told["example"]) == (TABLE, 2, example)
    show("north", as_json=False)
    assert "Rows that its profile cannot read" in capsys.readouterr().out
    doctor = check_unreadable_rows(at("11:00"), CONFIG)
    assert doctor.level == "warning"
    assert "north" in doctor.told
    assert example in doctor.told
    (row,) = asking(Role.VIEWER).get("/api/v1/unreadable-rows/").json()["results"]
    assert (row["olt_name"], row["table"], row["rows"], row["example"]) == ("north", TABLE, 2, example)
    details = read_collection_details(site.olt, at("11:00"), CONFIG)
    assert [each.example for each in details.unreadable] == [example]


def test_the_page_of_the_olt_says_so(site: Site, admin_client: Client) -> None:
    site.discover(rows(odd=2))
    page = admin_client.get(f"/olts/{site.olt.id}/facts/").content.decode()
    assert f"2 filas, como {ODD}.3" in page


def test_another_device_at_the_same_name_starts_without_it(site: Site) -> None:
    site.discover(rows(odd=2))
    update_olt("north", OltChanges(address="192.0.2.7"), at("11:00"))
    assert not UnreadableRows.objects.exists()


def test_a_table_that_was_not_read_keeps_its_note_and_one_that_the_profile_lost_does_not(site: Site) -> None:
    for table in ("gpon_optics", "a table of an earlier profile"):
        UnreadableRows.objects.create(
            olt=site.olt, table=table, rows=1, example="1", since=at("10:00"), last_seen=at("10:00")
        )
    site.discover(rows(odd=0))
    assert [each.table for each in UnreadableRows.objects.all()] == ["gpon_optics"]
