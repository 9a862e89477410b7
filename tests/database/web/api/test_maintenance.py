"""Maintenance windows through the API: an operator leaves OLTs alone for a while."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from facho.apps.maintenance.models import MaintenanceWindow
from facho.core.roles import Role
from tests.api_clients import asking, refused_at
from tests.factories import add_olts

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

WINDOWS = "/api/v1/maintenance-windows/"


def test_an_operator_leaves_an_olt_alone_and_ends_it_early() -> None:
    client, now = asking(Role.OPERATOR), timezone.now()
    (olt,) = add_olts("north")
    given = {"name": "power", "olt": olt.id, "starts_at": (now - timedelta(minutes=1)).isoformat()}
    assert refused_at(client.post(WINDOWS, given)).keys() == {"ends_at"}
    made = client.post(WINDOWS, {**given, "duration": "2h"})
    assert (made.status_code, made.json()["olt_name"], made.json()["weekdays"]) == (201, "north", [])
    assert client.get(f"/api/v1/olts/{olt.id}/").json()["state"] == "maintenance"
    path = f"{WINDOWS}{made.json()['id']}/"
    assert client.patch(path, {"name": "power cut"}).json()["ends_at"] == made.json()["ends_at"]
    assert client.post(f"{path}end/").status_code == 200
    assert client.get(f"/api/v1/olts/{olt.id}/").json()["state"] == "new"
    assert refused_at(client.post(f"{path}end/")).keys() == {"name"}
    assert client.delete(path).status_code == 204
    assert asking(Role.VIEWER).post(WINDOWS, {**given, "duration": "2h"}).status_code == 403


def test_a_weekly_one_has_a_time_of_the_operators_clock() -> None:
    client = asking(Role.OPERATOR)
    (olt,) = add_olts("north")
    given = {"name": "nights", "olt": olt.id, "weekdays": ["mon", "sun"], "duration": "90m"}
    assert refused_at(client.post(WINDOWS, given)).keys() == {"start_time"}
    made = client.post(WINDOWS, {**given, "start_time": "02:00"}).json()
    assert (made["weekdays"], made["start_time"], made["duration_s"]) == (["mon", "sun"], "02:00:00", 5400)
    assert client.patch(f"{WINDOWS}{made['id']}/", {"enabled": False}).json()["duration_s"] == 5400
    assert not MaintenanceWindow.objects.get().enabled
    assert refused_at(client.patch(f"{WINDOWS}{made['id']}/", {"weekdays": ["someday"]}))
