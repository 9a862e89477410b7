"""`facho traffic`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from facho.apps.chassis.models import PonPort, Uplink
from facho.apps.db.database import database_now
from facho.apps.history.models import Subject
from facho.apps.history.store import append_frame
from facho.apps.hosts.models import Olt
from facho.cli.olt.details import show_olt
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


def test_the_uplinks_of_an_olt_are_shown_with_rates_that_can_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    olt, now = Olt.objects.get(name="norte"), database_now()
    link = Uplink.objects.create(olt=olt, place="0/9/0", state="up", updated_at=now)
    append_frame(olt.pk, now, Subject.UPLINK, [link.pk], {"in_bps": [300_000_000.0], "out_bps": [0.0]})
    show_olt("norte", as_json=False)
    said = capsys.readouterr().out
    assert "300 Mbit/s" in said
    assert "0 bit/s" in said
    show_olt("norte", as_json=True)
    assert json.loads(capsys.readouterr().out)["uplinks"][0]["in_bps"] == pytest.approx(300e6, rel=0.01)


def test_a_rate_that_is_not_known_is_a_dash_and_no_silence() -> None:
    port = PonPort.objects.get()
    add_traffic(traffic_of(port.olt_id, "port", database_now(), {port.pk: (None, 5 * MBIT)}, counter_bits=32))
    said = run("olt", "norte")
    assert "0 bit/s" not in said
    assert "0.0 %" not in said
    assert "114 Mbit/s" in said
    found = json.loads(run("olt", "norte", "--json"))
    assert found["totals"][0]["from_customers_bps"] is None
    assert found["totals"][0]["certain_to_bps"] == 114_000_000
    assert found["pons"][0]["use_from_customers"] is None
    assert "0 bit/s" not in run("top", "--of", "port")
