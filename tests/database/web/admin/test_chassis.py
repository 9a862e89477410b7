"""The admin's lists of ports, health and waiting ONUs, as a person reads them."""

from __future__ import annotations

import pytest
from django.test import Client

from facho.apps.chassis.models import OltHealth, PonPort, Unprovisioned
from facho.apps.discovery.models import Onu
from facho.apps.extras import write_extras
from tests.findings import NOW, an_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def in_order(page: str, *words: str) -> bool:
    places = [page.find(word) for word in words]
    return -1 not in places and places == sorted(places)


def test_ports_parts_and_who_waits_are_listed_by_number_in_spanish(admin_client: Client) -> None:
    olt = an_olt()
    for port in (10, 2):
        place = {"olt": olt, "place": f"0/1/{port}", "frame": 0, "slot": 1, "port": port}
        PonPort.objects.create(state="down", down_cause="no_module", updated_at=NOW, **place)
        Unprovisioned.objects.create(identity=f"HWTC{port:08}", first_seen=NOW, last_seen=NOW, **place)
        part = {"part": f"board 0/{port}", "kind": "board", "frame": 0, "slot": port}
        OltHealth.objects.create(olt=olt, state="fault", updated_at=NOW, **part)
    for number, state in enumerate(("online", "online", "los")):
        Onu.objects.create(
            olt=olt, address=f"0/1/2:{number}", frame=0, slot=1, port=2, state=state,
            first_seen=NOW, last_seen=NOW,
        )  # fmt: skip

    def page(name: str) -> str:
        answer = admin_client.get(f"/admin/chassis/{name}/", headers={"accept-language": "es"})
        text = answer.content.decode()
        return text[text.index('id="result_list"') :]

    assert in_order(page("ponport"), "0/1/2", "caído", "sin módulo óptico", "2 / 3", "0/1/10")
    assert in_order(page("olthealth"), "tarjeta 0/2", "averiada", "tarjeta 0/10")
    assert in_order(page("unprovisioned"), "HWTC00000002", "0/1/2", "HWTC00000010")


def test_other_facts_of_who_waits_have_names(admin_client: Client) -> None:
    extras = write_extras({"hw_version": "V7"})
    row = Unprovisioned.objects.create(
        olt=an_olt(), identity="HWTC00000001", first_seen=NOW, last_seen=NOW, extras=extras
    )
    shown = admin_client.get(
        f"/admin/chassis/unprovisioned/{row.pk}/change/", headers={"accept-language": "en"}
    ).content.decode()
    assert "Hardware: V7" in shown
    assert "hw_version" not in shown
