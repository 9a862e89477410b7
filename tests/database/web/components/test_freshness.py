"""Pages of an engine or an OLT that delivers nothing: banner, unknown states, old values."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.test import Client

from facho.apps.chassis.models import OltHealth, PonPort
from facho.apps.db.database import database_now
from facho.apps.discovery.models import Collected, Onu
from facho.apps.discovery.onu_search import filter_onus
from facho.apps.discovery.selectors import onu_rows
from facho.apps.execution_coordinator.models import CoordinatorState
from facho.apps.hosts.models import Olt
from facho.apps.snmp_jobs.models import SnmpJobHost
from facho.apps.snmp_jobs.selectors import collection_intervals
from facho.apps.zabbix_pollers.models import Worker
from facho.core.roles import Role
from facho.engine.commands import runs
from facho.engine.upkeep.exports import EXPORTS
from tests.api_clients import person
from tests.factories import add_job, add_olts, know_brands, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]
SPANISH = {"accept-language": "es"}


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.fixture
def now() -> datetime:
    return database_now()


@pytest.fixture
def onu(now: datetime) -> Onu:
    know_brands()
    olt = add_olts("centro")[0]
    Olt.objects.update(reachable=True, cpu_pct=10, cpu_read_at=now)
    Collected.objects.create(olt=olt, datum="state", collected_at=now - timedelta(minutes=1))
    place = {"frame": 0, "slot": 1, "port": 3, "onu_id": 1, "address": "0/1/3/1"}
    return Onu.objects.create(
        olt=olt, serial="HWTC00000001", state="online", first_seen=now, last_seen=now, **place
    )


def run_engine(now: datetime) -> None:
    for name in ("scheduler", "coordinator"):
        CoordinatorState.objects.create(name=name, updated_at=now)
    Worker.objects.create(name="w", pollers=2, started_at=now, seen_at=now)


def get(viewer: Client, path: str, **headers: str) -> str:
    return viewer.get(path, headers=headers or {"accept-language": "en"}).content.decode()


def test_every_page_polls_the_banner(viewer: Client, onu: Onu) -> None:
    for path in ("/olts/", "/onus/worst/", "/search/", "/admin/hosts/olt/"):
        assert 'hx-get="/banner/"' in get(viewer, path), path
    for path in (f"/olts/{onu.olt_id}/", f"/onus/{onu.id}/", f"/olts/{onu.olt_id}/ports/at/0/1/3/"):
        assert f'hx-get="/banner/olts/{onu.olt_id}/"' in get(viewer, path), path


@pytest.mark.both_databases
def test_the_banner_says_what_the_engine_lacks(viewer: Client, now: datetime) -> None:
    assert "The engine has never run" in get(viewer, "/banner/")


@pytest.mark.both_databases
def test_a_running_engine_has_no_banner(viewer: Client, now: datetime) -> None:
    run_engine(now)
    assert "fd-banner" not in get(viewer, "/banner/")


@pytest.mark.both_databases
def test_a_frozen_engine_is_told_with_its_age(viewer: Client, now: datetime) -> None:
    run_engine(now)
    CoordinatorState.objects.update(updated_at=now - timedelta(minutes=3))
    assert "The engine has been stopped for " in get(viewer, "/banner/")
    assert "El motor está detenido desde hace " in get(viewer, "/banner/", **SPANISH)


def test_an_engine_without_pollers_is_told(viewer: Client, now: datetime) -> None:
    run_engine(now)
    Worker.objects.update(seen_at=now - timedelta(minutes=10))
    assert 'data-problem="no_pollers"' in get(viewer, "/banner/")


@pytest.mark.both_databases
def test_an_olt_that_is_down_is_told_on_its_pages_only(viewer: Client, onu: Onu, now: datetime) -> None:
    run_engine(now)
    Olt.objects.update(reachable=False, unreachable_since=now - timedelta(minutes=7))
    assert "fd-banner" not in get(viewer, "/banner/")
    assert "The OLT centro has not answered for" in get(viewer, f"/banner/olts/{onu.olt_id}/")
    assert "La OLT centro no responde desde hace" in get(viewer, f"/banner/olts/{onu.olt_id}/", **SPANISH)


@pytest.mark.both_databases
def test_the_state_behind_a_dead_olt_is_unknown_everywhere(viewer: Client, onu: Onu) -> None:
    paths = (
        f"/onus/{onu.id}/",
        f"/olts/{onu.olt_id}/ports/at/0/1/3/",
        "/search/?q=HWTC0000",
        "/admin/discovery/onu/",
    )
    for path in paths:
        assert "unknown (OLT down)" not in get(viewer, path), path
    Olt.objects.update(reachable=False)
    for path in paths:
        assert "unknown (OLT down)" in get(viewer, path), path
        assert "desconocido (OLT caída)" in get(viewer, path, **SPANISH), path
    shown = viewer.get(f"/api/v1/onus/{onu.id}/").json()
    assert (shown["state"], shown["shown_state"]) == ("online", "unknown")
    (row,) = onu_rows(filter_onus())
    assert (row.state, row.shown_state, row.status, row.unknown_because) == (
        "online", "unknown", "unknown", "unreachable",
    )  # fmt: skip


@pytest.mark.both_databases
def test_filters_and_exports_agree_that_the_state_behind_a_dead_olt_is_unknown(
    viewer: Client, onu: Onu
) -> None:
    Onu.objects.update(state="los", down_cause="los")

    def found(query: str) -> tuple[int, int]:
        shown = len(viewer.get(f"/api/v1/onus/?{query}").json()["results"])
        listed = "HWTC00000001" in get(viewer, f"/admin/discovery/onu/?{query.replace('status', 'state')}")
        return shown, int(listed)

    def exported() -> dict[str, str]:
        (row,) = csv.DictReader("".join(EXPORTS["onus"].csv(Onu.objects.all())).splitlines())
        return {name: row[name] for name in ("state", "shown_state", "status", "cause")}

    def counts() -> list[tuple[int, int]]:
        return [found(query) for query in ("status=offline", "cause=los", "status=unknown", "status=online")]

    assert counts() == [(1, 1), (1, 1), (0, 0), (0, 0)]
    assert exported() == {"state": "los", "shown_state": "los", "status": "offline", "cause": "los"}
    Olt.objects.update(reachable=False)
    assert counts() == [(0, 0), (0, 0), (1, 1), (0, 0)]
    assert exported() == {"state": "los", "shown_state": "unknown", "status": "unknown", "cause": ""}
    shown = viewer.get(f"/api/v1/onus/{onu.id}/").json()
    assert (shown["status"], shown["cause"], shown["down_cause"]) == ("unknown", "", "los")


def test_ports_and_boards_behind_a_dead_olt_are_not_green(viewer: Client, onu: Onu, now: datetime) -> None:
    PonPort.objects.create(
        olt=onu.olt, place="0/1/3", frame=0, slot=1, port=3, state="up", down_cause="los", updated_at=now
    )
    OltHealth.objects.create(olt=onu.olt, part="board 0/1", kind="board", state="ok", updated_at=now)
    Collected.objects.create(olt=onu.olt, datum="port.state", collected_at=now)
    Collected.objects.create(olt=onu.olt, datum="board.state", collected_at=now)
    olt = f"/olts/{onu.olt_id}/"
    lists = ("/admin/chassis/ponport/", "/admin/chassis/olthealth/")
    paths = (f"{olt}ports/part/", f"{olt}hardware/part/", *lists)
    for path in paths:
        assert "unknown (OLT down)" not in get(viewer, path), path
    # The cause is of the last time: a port that is up has none.
    assert "no light" not in get(viewer, paths[0])
    Olt.objects.update(reachable=False)
    cache.clear()
    for path in paths:
        assert "unknown (OLT down)" in get(viewer, path), path
        assert ">in service<" not in get(viewer, path), path
        assert "fd-success" not in get(viewer, path), path


@pytest.mark.parametrize(("age", "is_old"), [(timedelta(minutes=14), False), (timedelta(minutes=16), True)])
def test_a_value_of_a_set_of_facts_is_old_after_three_intervals_of_its_job(
    viewer: Client, onu: Onu, now: datetime, age: timedelta, is_old: bool
) -> None:
    add_job("optics", "centro", facts=["optics"], interval="5m")
    add_job("model", "centro", facts=["model"], interval="1d")
    Collected.objects.all().delete()
    Collected.objects.create(olt=onu.olt, datum="onu_rx_dbm", collected_at=now - age)
    assert ("fd-age fd-old" in get(viewer, f"/onus/{onu.id}/")) == is_old


@pytest.mark.both_databases
def test_a_chained_node_collects_as_often_as_its_master_on_the_same_olt(now: datetime) -> None:
    know_brands()
    norte, sur, oeste = add_olts("norte", "sur", "oeste")
    add_job("state", "norte", "sur", interval="5m", now=now)
    add_job("power", "norte", "sur", "oeste", interval="2m", facts=["optics"], master="state", now=now)
    SnmpJobHost.objects.filter(job__name="state", olt=norte).update(interval_s=3600)
    intervals = collection_intervals([norte.id, sur.id, oeste.id])
    found = {olt.name: intervals[olt.id].of("onu_rx_dbm") for olt in (norte, sur, oeste)}
    # In the west there is no master: it runs by itself.
    assert found == {
        "norte": timedelta(hours=1), "sur": timedelta(minutes=5), "oeste": timedelta(minutes=2),
    }  # fmt: skip


def test_values_of_a_dead_olt_are_old_at_once_in_the_list(viewer: Client, onu: Onu) -> None:
    assert "fd-old" not in get(viewer, "/olts/").replace("fd-only-old", "")
    Olt.objects.update(reachable=False)
    assert "fd-age fd-old" in get(viewer, "/olts/")


def test_values_that_nobody_collected_for_long_are_old(viewer: Client, onu: Onu, now: datetime) -> None:
    Collected.objects.update(collected_at=now - timedelta(days=2))
    assert "fd-age fd-old" in get(viewer, f"/onus/{onu.id}/")


def test_no_onu_is_read_without_a_poller(onu: Onu, now: datetime) -> None:
    with refused("onu", "no poller is alive: the OLT cannot be asked until the engine runs"):
        runs.read_onu(onu.id, now)
    run_engine(now)
    assert runs.read_onu(onu.id, now)


def test_who_waits_for_a_reading_is_told_when_the_pollers_are_gone(
    viewer: Client, onu: Onu, now: datetime
) -> None:
    run_engine(now)
    path = f"/onus/{onu.id}/reading/{runs.read_onu(onu.id, now)}/"
    assert "every 1s" in get(viewer, path)
    Worker.objects.update(seen_at=now - timedelta(minutes=10))
    shown = get(viewer, path)
    assert "No poller is alive any more" in shown
    assert "every 1s" not in shown
