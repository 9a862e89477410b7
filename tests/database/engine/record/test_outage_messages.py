"""Ports that are cut at a simulated OLT, from the wire to what people are told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from django.db.models import F

from facho.apps.chassis.models import Unprovisioned
from facho.apps.db.fields import SecretText
from facho.apps.discovery.models import Onu, PortOutage
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import NotificationDelivery
from facho.engine.events.sender import Sender
from facho.sim.fleet import FleetConfig
from facho.sim.scenario import Scenario
from tests.database.engine.record import test_executions
from tests.database.engine.record.test_executions import PLAIN, Site
from tests.database.notification_receivers import CONFIG, Receiver, make_channel, make_rule, sender_to
from tests.factories import at, make_job
from tests.virtual_fleet import VirtualFleet

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]

# Two ports of 64.
ONUS = 128
EVERY = timedelta(minutes=5)
# Its own fleet, and the rest as there.
site = test_executions.site


@pytest.fixture
def fleet() -> Iterator[VirtualFleet]:
    with VirtualFleet(FleetConfig(olts=1, onus=ONUS)) as fleet:
        yield fleet


class People:
    """Whom the system tells, and what they have been told."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._receiver = Receiver()
        self.channel = make_channel()
        self.sender = sender_to(self._receiver)
        make_rule(self.channel, no_repeat_s=0)
        master = make_job("discovery", interval=300)
        site.node(master, next_run_at=at("10:00"))
        facts = ["state", "down_cause", "distance_m"]
        site.node(make_job("state", "table", 300, facts=facts, master=master))
        site.step()

    def told_after(self, scenario: Scenario = PLAIN) -> list[str]:
        """The titles of the messages that the next collection causes."""
        self._site.behave(scenario)
        self._site.now += EVERY
        self._site.step()
        before = len(self._receiver.taken)
        self.sender.step(self._site.now)
        return self._receiver.titles[before:]


@pytest.fixture
def people(site: Site) -> People:
    return People(site)


@pytest.mark.parametrize(
    ("scenario", "cause"),
    [
        (Scenario(fibre_cut_ports=(1,)), "fibre cut"),
        (Scenario(power_cut_ports=(1,)), "power cut"),
    ],
)
def test_a_port_of_64_that_is_cut_is_one_message_and_one_at_its_end(
    people: People, scenario: Scenario, cause: str
) -> None:
    online = Onu.objects.filter(port=1, state="online").count()
    assert online > 50
    assert people.told_after() == []
    assert people.told_after(scenario) == [f"north: outage of port 0/1/1, {cause}"]
    outage = PortOutage.objects.get()
    assert (outage.place, outage.onus_affected, outage.onus_known) == ("0/1/1", online, 64)
    assert people.told_after(scenario) == []
    assert people.told_after() == [f"north: outage of port 0/1/1 ended, {cause}"]
    assert people.told_after() == []
    outage.refresh_from_db()
    assert outage.ended_at == outage.began_at + 2 * EVERY


class Hook(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    taken: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its base names it so
        pass


def test_both_messages_arrive_over_http_in_the_language_of_who_reads_them(people: People) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    people.channel.url = SecretText(f"json://127.0.0.1:{server.server_port}/hook")
    people.channel.language = "es"
    people.channel.save()
    people.sender = Sender(CONFIG, wait=timedelta(seconds=120))
    people.told_after(Scenario(power_cut_ports=(0,)))
    people.told_after()
    server.shutdown()
    server.server_close()
    assert [each["title"] for each in Hook.taken] == [
        "north: caída del puerto 0/1/0, corte de energía",
        "north: terminó la caída del puerto 0/1/0, corte de energía",
    ]
    affected = PortOutage.objects.get().onus_affected
    assert f"{affected} de 64 ONUs fuera de línea." in Hook.taken[0]["message"]
    assert "Duró 5 min, desde 10/06/2025 10:05." in Hook.taken[1]["message"]


def test_a_walk_that_breaks_off_tells_nothing_and_the_next_one_does(people: People, site: Site) -> None:
    cut = Scenario(fibre_cut_ports=(0,))
    assert people.told_after(cut.but(silent_rows=(100,), columns=("run_status",))) == []
    assert Onu.objects.filter(port=0, state="online").count() < 64
    assert Olt.objects.get().states_unsure_since == site.now
    assert people.told_after(cut) == ["north: outage of port 0/1/0, fibre cut"]
    assert Olt.objects.get().states_unsure_since is None
    assert people.told_after() == ["north: outage of port 0/1/0 ended, fibre cut"]


def test_a_silent_olt_is_no_outage_of_its_ports(people: People) -> None:
    assert people.told_after(Scenario(silent=True)) == ["north does not answer"]
    assert not PortOutage.objects.exists()


def test_a_bent_fibre_is_one_message_for_its_port(people: People, site: Site) -> None:
    site.node(make_job("optics", "get", 300, facts=["onu_rx_dbm"]), next_run_at=at("10:05"))
    people.told_after()
    # What they have is usual from here on. Below this they become weak, which is other news.
    Onu.objects.update(rx_usual_dbm=F("onu_rx_dbm"), rx_usual_of="onu_rx_dbm")
    strong = Onu.objects.filter(port=0, onu_rx_dbm__gte=-22.0).count()
    bent = Scenario(dim_ports=(0,), dim_db=5.0)
    assert people.told_after(bent) == ["Facho Deluxe: 2 events"]
    titles = [each.splitlines()[0] for each in NotificationDelivery.objects.values_list("message", flat=True)]
    assert titles.count(f"north, port 0/1/0: the optical power of {strong} ONUs fell") == 1
    assert people.told_after(bent) == []
    (title,) = people.told_after()
    assert title.startswith("north, port 0/1/0: the optical power of ")
    assert title.endswith(" ONUs recovered")


def test_new_onus_that_wait_are_one_message(people: People, site: Site) -> None:
    site.node(make_job("waiting", "table", 300, facts=["autofind.serial"]), next_run_at=at("10:05"))
    (title,) = people.told_after()
    waiting = Unprovisioned.objects.count()
    assert waiting > 1
    assert title == f"north: {waiting} new ONUs wait to be provisioned"
    assert people.told_after() == []
