"""The OID table follows the profiles and keeps what an operator changed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest

from facho.apps.hosts.models import Brand, Oid, OltModel
from facho.apps.hosts.store import SyncReport, profile_rows, sync_profiles
from facho.apps.snmp_jobs.models import SnmpJob, SnmpJobOid
from facho.vendors import Profile, builtin
from facho.vendors.parse import parse_profile
from tests.waiting import PATIENCE_S

PROFILE = """
profile: acme
title: Acme
confidence: agreed
source: a test
detect: {any: [{object_id: 1.3.6.1.4.1.99999.1.1}]}
indexes:
  onu: [port, onu]
  interface: [{column: 1.3.6.1.2.1.31.1.1.1.1, names: ["pon {port}"]}]
tables:
  config:
    of: onu
    oid: 1.3.6.1.4.1.99999.2.1
    index: onu
    columns:
      serial: 3
      mac: {column: 4, otherwise: {column: 5, when: {column: 6, is: 1}}}
  ports:
    of: port
    oid: 1.3.6.1.4.1.99999.3.1
    index: interface
    columns:
      state: {column: 2, enum: {1: up, 2: down}}
"""
SYNC = """
import django

django.setup()
from facho.apps.hosts.models import Oid
from facho.apps.hosts.store import sync_profiles
from facho.vendors import builtin

print(sync_profiles(builtin()).created, Oid.objects.count())
"""


def acme(text: str = PROFILE) -> Mapping[str, Profile]:
    return {"acme": parse_profile(text, "acme.yaml")}


def row(name: str) -> Oid:
    return Oid.objects.get(brand__name="acme", name=name)


def test_rows_are_named_by_table_fact_and_source() -> None:
    rows = [
        (row.name, row.oid.rpartition("99999.")[2], row.entity, row.provides)
        for row in profile_rows(acme()["acme"])
    ]
    assert rows == [
        ("config.serial", "2.1.3", "onu", "serial"),
        ("config.mac", "2.1.4", "onu", "mac"),
        ("config.mac.2", "2.1.5", "onu", "mac"),
        ("ports.state", "3.1.2", "port", "state"),
        ("interface.names", "1.3.6.1.2.1.31.1.1.1.1", "", ""),
        ("config.mac.2.when", "2.1.6", "", ""),
    ]


@pytest.mark.parametrize("name", list(builtin()))
def test_every_column_of_a_built_in_profile_has_a_row_and_names_are_unique(name: str) -> None:
    rows = profile_rows(builtin()[name])
    assert {row.oid for row in rows} == set(builtin()[name].oids())
    assert len({row.name for row in rows}) == len(rows)
    assert all(len(row.name) <= 120 and len(row.provides) <= 40 for row in rows)


@pytest.mark.django_db
def test_it_makes_brands_and_rows_once() -> None:
    first = sync_profiles(builtin())
    assert first == SyncReport(created=Oid.objects.count(), updated=0, kept=0, removed=0)
    assert set(Brand.objects.values_list("name", flat=True)) == set(builtin())
    assert sync_profiles(builtin()) == SyncReport(0, 0, 0, 0)
    assert all(oid.profile_oid == oid.oid and oid.model is None for oid in Oid.objects.all())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "change",
    [{"oid": "1.3.6.1.4.1.5"}, {"name": "mine"}, {"provides": ""}, {"entity": "port"}, {"profile_oid": ""}],
)
def test_what_an_operator_changed_stays(change: dict[str, str]) -> None:
    sync_profiles(acme())
    changed = row("config.serial")
    Oid.objects.filter(pk=changed.pk).update(**change)
    # The profile changes too; and its column is not added a second time.
    report = sync_profiles(acme(PROFILE.replace("serial: 3", "serial: 33")))
    assert report == SyncReport(created=0, updated=0, kept=1, removed=0)
    assert Oid.objects.filter(pk=changed.pk, **change).exists()


@pytest.mark.django_db
def test_a_row_that_became_one_of_a_model_stays() -> None:
    sync_profiles(acme())
    model = OltModel.objects.create(brand=Brand.objects.get(), name="A1")
    Oid.objects.filter(name="config.serial").update(model=model)
    assert sync_profiles(acme(PROFILE.replace("serial: 3", "serial: 33"))).kept == 1
    assert row("config.serial").model == model


@pytest.mark.django_db
def test_a_column_that_moved_in_the_profile_moves_in_the_table() -> None:
    sync_profiles(acme())
    before = row("config.serial").pk
    report = sync_profiles(acme(PROFILE.replace("serial: 3", "serial: 33")))
    assert report == SyncReport(created=0, updated=1, kept=0, removed=0)
    after = row("config.serial")
    assert (after.pk, after.oid) == (before, "1.3.6.1.4.1.99999.2.1.33")
    assert after.profile_oid == after.oid == after.synced["oid"]


@pytest.mark.django_db
def test_a_column_that_left_goes_unless_it_is_used_or_was_changed() -> None:
    three = PROFILE.replace("serial: 3", "serial: 3\n      name: 7\n      description: 8\n      type: 9")
    sync_profiles(acme(three))
    Oid.objects.filter(name="config.description").update(oid="1.3.6.1.4.1.5")
    job = SnmpJob.objects.create(
        name="job", brand=Brand.objects.get(), kind="walk", interval_s=60, priority=50, task_type="t"
    )
    SnmpJobOid.objects.create(job=job, oid=row("config.type"))
    assert sync_profiles(acme()) == SyncReport(created=0, updated=0, kept=1, removed=1)
    left = set(Oid.objects.values_list("name", flat=True))
    assert {"config.description", "config.type"} <= left
    assert "config.name" not in left


@pytest.mark.django_db
def test_an_operators_own_row_of_the_same_name_is_kept() -> None:
    brand = Brand.objects.create(name="acme", title="Our own title")
    Oid.objects.create(brand=brand, name="config.serial", oid="1.3.6.1.4.1.5")
    report = sync_profiles(acme())
    assert (report.created, report.kept) == (5, 1)
    assert row("config.serial").oid == "1.3.6.1.4.1.5"
    assert Brand.objects.get().title == "Our own title"


@pytest.mark.django_db
def test_brands_of_other_profiles_are_left_alone() -> None:
    sync_profiles(builtin())
    count = Oid.objects.count()
    sync_profiles(acme())
    assert Oid.objects.exclude(brand__name="acme").count() == count


def test_two_processes_at_once_make_each_row_once(database_url: str) -> None:
    environment = {**os.environ, "FACHO_DATABASE_URL": database_url}
    migrate = [sys.executable, "-m", "django", "migrate", "--verbosity", "0", "--skip-checks"]
    subprocess.run(migrate, env=environment, timeout=PATIENCE_S, check=True)
    sync = partial(subprocess.Popen, env=environment, stdout=subprocess.PIPE, text=True)
    both = [sync([sys.executable, "-c", SYNC]) for _ in range(2)]
    created, rows = zip(
        *(map(int, each.communicate(timeout=PATIENCE_S)[0].split()) for each in both), strict=True
    )
    wanted = sum(len(profile_rows(profile)) for profile in builtin().values())
    assert sorted(created) == [0, wanted]
    assert rows == (wanted, wanted)


@pytest.mark.django_db
def test_it_takes_few_queries(django_assert_max_num_queries: object) -> None:
    sync_profiles(builtin())
    profiles = {name: replace(profile, tables=profile.tables[1:]) for name, profile in builtin().items()}
    with django_assert_max_num_queries(10):  # type: ignore[operator]
        sync_profiles(profiles)


@pytest.mark.django_db
def test_a_title_of_an_earlier_version_is_replaced_and_that_of_a_person_stays() -> None:
    sync_profiles(builtin())
    Brand.objects.filter(name="huawei").update(title="Huawei MA5600T and MA5800")
    Brand.objects.filter(name="zte").update(title="ZTE del norte")
    sync_profiles(builtin())
    titles = dict(Brand.objects.values_list("name", "title"))
    assert (titles["huawei"], titles["zte"]) == ("Huawei MA5600T/MA5800", "ZTE del norte")
