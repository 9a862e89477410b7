"""A profile of the operator with facts of its own, from its file to the pages, without a change of Python."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.html import escape

from facho.apps.discovery.extra_facts import UNIS
from facho.apps.discovery.models import Onu
from facho.apps.discovery.olt_clocks import OLT_DATES
from facho.apps.executions.models import State
from facho.apps.hosts.models import Brand, Oid, Olt
from facho.apps.hosts.selectors import DISCOVERY, USUAL_FACTS
from facho.apps.hosts.store import families_to_sync, sync_profiles
from facho.apps.zabbix_pollers.store import register_worker
from facho.cli.doctor.profiles import (
    check_declared_history,
    check_facts_of_jobs,
    check_families,
    check_own_profiles,
    check_profiles_of_workers,
)
from facho.config import Config, current
from facho.core.history_facts import MOST_DECLARED
from facho.core.roles import Role
from facho.engine.collect.part_results import Collection, PartResult, PartState
from facho.engine.collect.work_builder import NothingToAsk, Planned, plan_execution
from facho.engine.commands.errors import CommandError
from facho.engine.commands.jobs import NewJob, create_job
from facho.engine.process.leases import start_execution
from facho.engine.record import recorder
from facho.engine.upkeep.exports import EXPORTS
from facho.snmp.values import Counter64
from facho.vendors import Decoder, known_facts, profiles_in_use
from facho.vendors.facts import TAKEN_NAMES
from facho.vendors.index import join_arcs
from facho.vendors.library import ProfileOrigin
from facho.web.api.v1.health import HealthSerializer
from facho.web.api.v1.onus import WholeOnuSerializer
from facho.web.api.v1.ports import PortSerializer, UnprovisionedSerializer, UplinkSerializer
from facho.web.words.facts import fact_value
from facho.web.words.families import ORIGINS, profile_text
from tests.api_clients import asking
from tests.factories import at, make_execution, make_job, make_node, make_olt
from tests.own_profiles import acme, using_profiles, write

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

CONFIG = Config()
NOW = at("10:00")
FACTS = """\
  onu:
    wifi_clients: {kind: whole number, en: Wi-Fi clients, es: Clientes Wi-Fi, what: its clients}
    pon_mode:
      {kind: word, en: PON mode, es: Modo PON, what: its mode, words: {bridge: bridges, router: routes}}
    noise_db: {kind: number, en: Noise, es: Ruido, what: noise, unit: dB, history: yes}
    frames: {kind: whole number, en: Frames, es: Tramas, what: frames, unit: frames, rate: frames_s}
    frames_s: {kind: rate, en: Frames per s, es: Tramas por s, what: frames, unit: /s, history: yes}
"""
COLUMNS = """\
      wifi_clients: 4
      pon_mode: {column: 5, enum: {1: bridge, 2: router}}
      noise_db: {column: 6, scale: 0.1, unit: dB}
      frames: {column: 7, unit: frames}
"""
OWN = ("wifi_clients", "pon_mode", "noise_db", "frames")
TABLE = "1.3.6.1.4.1.99999.2.1"


@pytest.fixture
def folder(tmp_path: Path, brands: None) -> Iterator[Path]:
    with using_profiles(write(tmp_path / "profiles", acme=acme(FACTS, COLUMNS))):
        sync_profiles(profiles_in_use())
        yield tmp_path / "profiles"


def collect(node: Any, now: datetime, *columns: object) -> None:
    """Decode what an ONU answers in these columns, and store it."""
    execution = make_execution(node, now, State.PENDING)
    started = start_execution(execution.id, "here", lambda: now, CONFIG)
    assert started is not None
    planned: Planned = plan_execution(started.execution_id, started.run_id, now, CONFIG, started.subject)
    part = planned.work.parts[0]
    index = join_arcs((1, 3))
    rows = {f"{TABLE}.{number}": {index: value} for number, value in enumerate(columns, 2)}
    asked = {column.oid: rows[column.oid] for column in part.columns if column.oid in rows}
    decoded = Decoder(planned.work.profile).decode(asked)
    assert not len(decoded.problems)
    result = PartResult(part, PartState.SUCCESS, decoded=decoded, rows=1)
    recorder.record(started, planned, Collection([result], uptime_s=1e6 + now.timestamp() % 1e6), now, CONFIG)


@pytest.fixture
def onu(folder: Path) -> Onu:
    olt = make_olt("a7", "acme")
    discovery = make_node(olt, make_job("discovery", brand="acme", facts=["serial", "state"]))
    own = make_node(olt, make_job("own", "table", 300, "acme", facts=list(OWN)))
    serial = b"ACME\x00\x00\x00\x2a"
    collect(discovery, NOW - timedelta(minutes=9), serial, 1)
    for minutes, frames in ((5, 1000), (0, 1000 + 300 * 40)):
        collect(own, NOW - timedelta(minutes=minutes), serial, 1, 12, 2, 315, Counter64(frames))
    return Onu.objects.get()


@pytest.fixture
def page(client: Client, django_user_model: Any) -> Client:
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def test_the_facts_are_on_the_page_in_the_api_in_csv_and_found(onu: Onu, page: Client) -> None:
    api = asking(Role.VIEWER)
    shown = api.get(f"/api/v1/onus/{onu.pk}/").json()
    assert shown["facts"] == {"wifi_clients": 12, "pon_mode": "router", "noise_db": 31.5}
    for condition, count in (
        ("wifi_clients>=12", 1),
        ("wifi_clients>=13", 0),
        ("pon_mode=router", 1),
        ("noise_db>=31.5", 1),
        ("noise_db>=32", 0),
    ):
        found = api.get("/api/v1/onus/", {"other_fact": condition, "olt": onu.olt_id}).json()["results"]
        assert len(found) == count
    # It has its columns from when a process starts.
    spec = importlib.util.find_spec("facho.engine.upkeep.exports")
    assert spec is not None
    assert spec.loader is not None
    exports = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exports)
    export = exports.EXPORTS["onus"]
    (told,) = csv.DictReader(io.StringIO("".join(export.csv(export.rows(None, None, None)))))
    assert (told["wifi_clients"], told["pon_mode"], told["noise_db"]) == ("12", "router", "31.5")
    text = page.get(reverse("onu", args=[onu.pk])).content.decode()
    assert "Clientes Wi-Fi" in text
    assert "router" in text
    assert "31,5 dB" in text


def test_its_states_are_shown_readably_and_texts_as_they_are(folder: Path) -> None:
    assert fact_value("pon_mode", "wan_router") == "wan router"
    assert fact_value("line_profile", "fiber_100_home") == "fiber_100_home"


@pytest.mark.parametrize(("fact", "values"), [("noise_db", [31.5, 31.5]), ("frames_s", [40.0])])
def test_numbers_have_a_history_and_counters_a_rate(onu: Onu, fact: str, values: list[float]) -> None:
    since, until = ((NOW + timedelta(minutes=each)).isoformat() for each in (-8, 2))
    query = {"fact": fact, "from": since, "until": until}
    found = asking(Role.VIEWER).get(f"/api/v1/onus/{onu.pk}/history/", query)
    assert found.status_code == 200, found.content
    series = found.json()
    told = next(value for key, value in series.items() if key == "values")[fact]
    assert [round(each, 1) for each in told if each is not None] == values


def test_no_declared_fact_can_have_the_name_of_something_else() -> None:
    """Neither a column of CSV files, nor what is beside the facts in API and database, nor a set of jobs."""
    named = {*USUAL_FACTS, DISCOVERY, UNIS, OLT_DATES}
    for name in ("onus", "ports", "uplinks", "olt_health", "unprovisioned"):
        named.update((*EXPORTS[name].columns, *EXPORTS[name].judged.names))
    for serializer in (
        WholeOnuSerializer,
        PortSerializer,
        UplinkSerializer,
        HealthSerializer,
        UnprovisionedSerializer,
    ):
        named.update(serializer().fields)
    facts = {fact for of in known_facts().values() for fact in of}
    assert named - TAKEN_NAMES <= facts


@pytest.mark.parametrize("name", ["a__b", "a_", "in__gte"])
def test_a_fact_of_any_name_is_found(tmp_path: Path, brands: None, name: str) -> None:
    facts = f"  onu:\n    {name}: {{kind: whole number, en: A, es: A, what: a}}\n"
    with using_profiles(write(tmp_path, acme=acme(facts, f"      {name}: 4\n"))):
        olt = make_olt("a7", "acme")
        Onu.objects.create(olt=olt, address="1:3", extras=f'{{"{name}":12}}', first_seen=NOW, last_seen=NOW)
        for condition, count in ((f"{name}>=12", 1), (f"{name}=11", 0)):
            query = {"other_fact": condition, "olt": olt.pk}
            found = asking(Role.VIEWER).get("/api/v1/onus/", query)
            assert len(found.json()["results"]) == count


def test_the_facts_can_be_chosen_for_a_job_and_others_are_refused(folder: Path, page: Client) -> None:
    text = page.get(reverse("admin:snmp_jobs_snmpjob_add")).content.decode()
    assert "Clientes Wi-Fi" in text
    job = create_job(NewJob("own", "acme", "table", "5m", facts=("wifi_clients", "pon_mode")), NOW)
    assert job.facts == ["wifi_clients", "pon_mode"]
    for fact, sentence in (
        ("wifi_client", "acme has no fact 'wifi_client'; did you mean wifi_clients?"),
        ("distance_m", "acme has no fact 'distance_m'"),
        ("autofind", "acme has no fact 'autofind'"),
        ("frames_s", "'frames_s' is computed: ask for its counter"),
        ("port.speed_mbps", "acme has no fact 'port.speed_mbps'"),
    ):
        with translation.override("en"), pytest.raises(CommandError) as refused:
            create_job(NewJob("other", "acme", "table", "5m", facts=(fact,)), NOW)
        assert str(refused.value).startswith(sentence)
        assert refused.value.field == "facts"


def test_a_fact_that_only_an_oid_of_ones_own_provides_can_be_chosen(folder: Path, page: Client) -> None:
    brand = Brand.objects.get(name="zte")
    Oid.objects.create(name="codes", oid="1.3.6.1.4.1.99999.7", brand=brand, provides="plan")
    for language, words in (("en", "by an OID of your own"), ("es", "por un OID propio")):
        text = page.get(reverse("admin:snmp_jobs_snmpjob_add"), headers={"accept-language": language})
        assert text.content.decode().partition('value="plan"')[2].find(words) in range(200)


# Files that are broken or gone.


def test_a_family_whose_file_is_broken_keeps_what_is_known_and_says_why(
    onu: Onu, folder: Path, page: Client
) -> None:
    before = (Oid.objects.count(), Onu.objects.values().get())
    broken = acme(FACTS, COLUMNS).replace("index: onu", "index: nowhere")
    with using_profiles(write(folder, acme=broken)):
        sync_profiles(profiles_in_use())
        assert (Oid.objects.count(), Onu.objects.values().get()) == before
        node = make_node(onu.olt, make_job("again", "table", brand="acme", facts=["serial"]))
        with pytest.raises(NothingToAsk, match=r"acme\.yaml, line .*there is no index 'nowhere'"):
            plan_execution(make_execution(node, NOW, State.PENDING).id, 1, NOW, CONFIG)
        found = [*check_own_profiles(current()), check_families(NOW, CONFIG)]
        assert [finding.level for finding in found] == ["error", "error"]
        assert "OLTs of the family 'acme' are not collected, and keep what is known" in found[0].told
        assert found[1].told == "1 OLTs have a family without a usable profile: a7"
        text = page.get(reverse("olt", args=[onu.olt_id])).content.decode()
        with translation.override("es"):
            note = str(ORIGINS[ProfileOrigin.UNUSABLE])
        assert note in text
        assert "index &#x27;nowhere&#x27;" in text


def test_a_file_that_is_gone_deletes_nothing(onu: Onu, folder: Path) -> None:
    before = (Brand.objects.count(), Oid.objects.count(), Onu.objects.values().get())
    (folder / "acme.yaml").unlink()
    with using_profiles(folder):
        sync_profiles(profiles_in_use())
        assert (Brand.objects.count(), Oid.objects.count(), Onu.objects.values().get()) == before
        node = make_node(onu.olt, make_job("again", "table", brand="acme", facts=["serial"]))
        with pytest.raises(NothingToAsk, match="there is no profile of the family 'acme' any more"):
            plan_execution(make_execution(node, NOW, State.PENDING).id, 1, NOW, CONFIG)


def test_a_fact_whose_declaration_is_gone_is_not_asked_for_and_the_doctor_names_the_job(
    tmp_path: Path, brands: None
) -> None:
    folder = write(tmp_path, facts=f"facts:\n{FACTS}")
    Oid.objects.create(
        brand=Brand.objects.get(name="huawei"),
        name="mine",
        oid="1.3.6.1.4.1.2011.9.9",
        entity="onu",
        provides="wifi_clients",
    )
    job = make_job("mixed", "table", brand="huawei", facts=["state", "wifi_clients"])
    execution = make_execution(make_node(make_olt("h1"), job, NOW), NOW, State.PENDING)

    def asked() -> bool:
        (part,) = plan_execution(execution.id, 1, NOW, CONFIG).work.parts
        return "mine" in [column.name for column in part.columns]

    with using_profiles(folder):
        assert asked()
        assert check_facts_of_jobs(NOW, CONFIG).level == "ok"
    (folder / "facts.yaml").unlink()
    with using_profiles(folder):
        assert not asked()
        found = check_facts_of_jobs(NOW, CONFIG)
    assert found.level == "warning"
    assert found.told == "1 ask for facts that nothing declares any more: mixed (wifi_clients)"


def test_a_replaced_profile_is_noted_on_the_page_in_the_api_and_by_the_doctor(
    folder: Path, page: Client
) -> None:
    ours = acme().replace("profile: acme", "profile: huawei")
    with using_profiles(write(folder, huawei=ours)):
        assert families_to_sync(profiles_in_use()) == ["huawei"]
        assert check_families(NOW, CONFIG).told.endswith("than the profiles of huawei")
        sync_profiles(profiles_in_use())
        assert check_families(NOW, CONFIG).level == "ok"
        olt = make_olt("north", "huawei")
        with translation.override("es"):
            note = str(ORIGINS[ProfileOrigin.REPLACED])
        assert note in page.get(reverse("olt", args=[olt.pk])).content.decode()
        assert note in page.get(reverse("admin:hosts_brand_changelist")).content.decode()
        brand = asking(Role.VIEWER).get("/api/v1/brands/", {"name": "huawei"}).json()["results"][0]
        assert brand["profile"] == "own-in-place-of-builtin"
        told = [finding.told for finding in check_own_profiles(current())]
        assert told[0] == f"{folder / 'huawei.yaml'} replaces the built-in profile 'huawei'"
    # When it is gone, the built-in profile is as it was.
    (folder / "huawei.yaml").unlink()
    with using_profiles(folder):
        sync_profiles(profiles_in_use())
        assert families_to_sync(profiles_in_use()) == []


def test_a_replacement_that_cannot_be_used_is_noted_on_the_page_and_in_the_api(
    folder: Path, page: Client
) -> None:
    broken = acme().replace("profile: acme", "profile: huawei").replace("index: onu", "index: nowhere")
    with using_profiles(write(folder, mine=broken)):
        olts = {family: make_olt(f"of {family}", family) for family in ("huawei", "zte")}
        with translation.override("es"):
            note = escape(profile_text("huawei"))
        assert "mine.yaml" in note
        assert note in page.get(reverse("olt", args=[olts["huawei"].pk])).content.decode()
        assert "mine.yaml" not in page.get(reverse("olt", args=[olts["zte"].pk])).content.decode()
        assert note in page.get(reverse("admin:hosts_brand_changelist")).content.decode()
        brands = {
            each["name"]: each["profile"]
            for each in asking(Role.VIEWER).get("/api/v1/brands/").json()["results"]
        }
        assert (brands["huawei"], brands["zte"]) == ("builtin-in-place-of-own", "builtin")


def test_the_doctor_names_files_that_are_not_read_for_their_ending(folder: Path) -> None:
    for name in ("a.yml", "B.YAML", "notes.txt"):
        (folder / name).write_text("")
    (found,) = [each for each in check_own_profiles(current()) if each.level == "warning"]
    assert found.told == "not read: B.YAML, a.yml"


def test_the_doctor_names_facts_for_which_the_history_has_no_room(tmp_path: Path) -> None:
    facts = [
        f"    n{number:03}: {{kind: number, en: N, es: N, what: n, history: yes}}\n"
        for number in range(MOST_DECLARED + 2)
    ]
    with using_profiles(write(tmp_path, facts="facts:\n  psu:\n" + "".join(facts[:-2]))):
        assert check_declared_history(NOW, CONFIG).level == "ok"
    with using_profiles(write(tmp_path, facts="facts:\n  psu:\n" + "".join(facts))):
        found = check_declared_history(NOW, CONFIG)
    assert found.level == "warning"
    assert found.told.endswith("127 declared facts are kept, and not n127, n128")


def test_the_doctor_names_workers_with_other_files(folder: Path) -> None:
    register_worker("here:1", 4, NOW)
    assert check_profiles_of_workers(NOW, current()).level == "ok"
    with using_profiles(write(folder, acme=acme(FACTS))):
        found = check_profiles_of_workers(NOW, current())
        assert (found.level, found.told) == (
            "warning",
            f"1 use other profiles than those in {folder}: here:1",
        )


def test_an_olt_of_a_family_of_ones_own_can_be_added(folder: Path) -> None:
    assert Olt(name="x", brand=Brand.objects.get(name="acme")).brand.title == "Acme A7"
