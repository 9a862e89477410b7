"""Whoever tests a connection through the web gets an answer, whatever the OLT sends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from facho.apps.hosts.models import Olt
from facho.core.roles import Role
from facho.sim.fleet import FleetConfig
from facho.sim.presets import PRESETS
from facho.sim.process import FleetProcess
from tests.api_clients import asking, person
from tests.factories import know_brands, make_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

# Those whose answers cannot be written as text, and one that is as large as can be. All answer at once.
HOSTILE = ("long-oids", "huge-oids", "large-arcs", "huge-values")


@pytest.fixture(scope="module")
def fleet() -> Iterator[FleetProcess]:
    with FleetProcess(FleetConfig(onus=5)) as fleet:
        yield fleet


@pytest.fixture(params=HOSTILE)
def olt(request: pytest.FixtureRequest, fleet: FleetProcess) -> Olt:
    know_brands()
    fleet.set_scenario(PRESETS[request.param].scenario)
    host, port = fleet.addresses[0]
    return make_olt("hostile", address=host, port=port)


def test_a_program_that_tests_the_connection_is_told(olt: Olt) -> None:
    answer = asking(Role.ADMINISTRATOR).post(f"/api/v1/olts/{olt.id}/test/")
    assert answer.status_code == 200
    told = answer.json()
    assert told["answers"] or told["reason"]


def test_a_program_that_adds_it_is_told(olt: Olt) -> None:
    new = {
        "name": "new",
        "address": olt.address,
        "port": olt.port,
        "credentials": {"community": "public"},
    }
    assert asking(Role.ADMINISTRATOR).post("/api/v1/olts/", new).status_code in (201, 400)


@pytest.mark.parametrize("address", ["/admin/hosts/olt/{}/test/", "/olts/{}/test/"])
def test_a_person_who_tests_the_connection_is_told(olt: Olt, address: str) -> None:
    client = Client(headers={"accept-language": "en", "hx-request": "true"})
    client.force_login(person(Role.OPERATOR))
    answer = client.post(address.format(olt.pk))
    assert answer.status_code == 200
    assert answer.content.strip()
