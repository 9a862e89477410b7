"""ONUs and what happened to them, in the admin."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from facho.apps.discovery.models import Onu, OnuEvent
from tests.findings import an_olt, discovered, store

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
EVENTS = "/admin/discovery/onuevent/"
SPANISH = {"accept-language": "es"}


def shown(client: Client, path: str) -> int:
    count: int = client.get(path).context["cl"].result_count
    return count


def test_events_are_filtered_by_kind_olt_and_time_and_searched_by_serial_and_place(
    admin_client: Client,
) -> None:
    olt, now = an_olt(), timezone.now()
    for hours, kind in ((0, "offline"), (2, "offline"), (50, "moved"), (500, "new")):
        at = now - timedelta(hours=hours, minutes=1)
        OnuEvent.objects.create(olt=olt, kind=kind, at=at, serial=f"HWTC{hours}", place=f"0/1/7:{hours}")
    assert shown(admin_client, EVENTS) == 4
    assert shown(admin_client, f"{EVENTS}?kind__exact=offline") == 2
    assert shown(admin_client, f"{EVENTS}?olt__id__exact={olt.pk}") == 4
    assert [shown(admin_client, f"{EVENTS}?at={ago}") for ago in ("1h", "24h", "7d")] == [1, 2, 3]
    assert shown(admin_client, f"{EVENTS}?q=HWTC50") == 2
    assert shown(admin_client, f"{EVENTS}?q=7:2") == 1


def test_events_are_told_in_the_readers_language(admin_client: Client) -> None:
    OnuEvent.objects.create(olt=an_olt(), kind="offline", cause="power_off", at=timezone.now())
    page = admin_client.get(EVENTS, headers=SPANISH).content.decode()
    assert "sin energía" in page
    assert "Eventos de ONU" in page
    assert "última hora" in page


def test_the_page_of_an_onu_shows_its_last_events(admin_client: Client) -> None:
    store(an_olt(), discovered({1: "A"}))
    onu = Onu.objects.get()
    path = f"/admin/discovery/onu/{onu.pk}/change/"
    for day in range(30):
        at = timezone.now() - timedelta(days=day)
        OnuEvent.objects.create(
            olt=onu.olt, onu=onu, kind="offline", cause="los", at=at, place=f"place-{day:02}"
        )
    with CaptureQueriesContext(connection) as queries:
        page = admin_client.get(path, headers=SPANISH).content.decode()
    assert len(queries) <= 12
    assert "sin luz" in page
    assert "place-00" in page
    assert "place-19" in page
    assert "place-20" not in page


def test_duplicate_serials_can_be_filtered(admin_client: Client) -> None:
    store(an_olt(), discovered({1: "A", 2: "A", 3: "B"}))
    assert shown(admin_client, "/admin/discovery/onu/") == 3
    assert shown(admin_client, "/admin/discovery/onu/?duplicate=yes") == 2


def test_onus_are_searched_by_any_part_of_their_serial(admin_client: Client) -> None:
    olt, now = an_olt(), timezone.now()
    for number, serial in enumerate(("HWTC00C0FFEE", "HWTC00000001")):
        Onu.objects.create(olt=olt, address=f"1.{number}", serial=serial, first_seen=now, last_seen=now)
    assert shown(admin_client, "/admin/discovery/onu/?q=C0FFEE") == 1
    assert shown(admin_client, "/admin/discovery/onu/?q=hwtc00c0") == 1
    assert shown(admin_client, "/admin/discovery/onu/?q=BEEF0000") == 0


def test_onus_are_filtered_by_state_cause_and_power(admin_client: Client) -> None:
    now, olt = timezone.now(), an_olt("filtros")
    for serial, state, optics in (
        ("HWTCAAAA0001", "los", ""),
        ("HWTCAAAA0002", "power_off", "weak"),
        ("HWTCAAAA0003", "online", ""),
    ):
        Onu.objects.create(
            olt=olt,
            address=serial,
            serial=serial,
            state=state,
            optical_state=optics,
            first_seen=now,
            last_seen=now,
        )

    def found(query: str) -> list[str]:
        listed = admin_client.get(f"/admin/discovery/onu/?{query}").context["cl"].result_list
        return sorted(onu.serial[-1] for onu in listed)

    assert found("state=offline") == ["1", "2"]
    assert found("state=los") == ["1"]
    assert found("cause=power_off") == ["2"]
    assert found("weak=yes") == ["2"]
