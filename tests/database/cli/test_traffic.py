"""`facho traffic`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from facho.apps.chassis.models import PonPort
from facho.apps.db.database import database_now
from facho.cli.traffic import app
from facho.core.rates import Drops
from tests.factories import add_olts, know_brands
from tests.traffic_rows import MBIT, add_traffic, traffic_of

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


@pytest.fixture(autouse=True)
def _port() -> None:
    know_brands()
    olt, _ = add_olts("norte", "sur")
    now = database_now()
    port = PonPort.objects.create(olt=olt, place="0/1/3", frame=0, slot=1, port=3, updated_at=now)
    add_traffic(
        traffic_of(olt.pk, "port", now, {port.pk: (25 * MBIT, 1_244_160_000)}, drops=Drops(gaps=7)),
    )


def run(*words: str) -> str:
    found = CliRunner().invoke(app, words, catch_exceptions=False, env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.output


def test_the_ports_with_the_most_traffic_are_listed() -> None:
    said = run("top", "--of", "port")
    for shown in ("norte", "0/1/3", "1.24 Gbit/s", "25 Mbit/s"):
        assert shown in said, shown
    assert json.loads(run("top", "--of", "port", "--peak", "--json"))[0]["to_customers_bps"] == 1_244_160_000
    assert "There is no traffic" in run("top", "--of", "uplink")
    assert "There is no traffic" in run("top", "--of", "port", "--olt", "sur")


def test_the_traffic_of_an_olt_is_shown_with_its_pons_and_what_was_dropped() -> None:
    said = run("olt", "norte")
    for shown in ("port", "1.24 Gbit/s", "50.0 %", "Rates that were not stored"):
        assert shown in said, shown
    found = json.loads(run("olt", "norte", "--json"))
    assert found["dropped"] == {"over": 0, "resets": 0, "gaps": 7}
    assert found["pons"][0]["use_to_customers"] == 0.5
    assert "It has no traffic" in run("olt", "sur")
