"""Adding and changing OLTs: what is refused, where, and that nothing is half-saved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import connection

from facho.apps.hosts.credentials import Credentials
from facho.apps.hosts.models import Olt
from facho.core.reasons import text_reason
from facho.engine.collect.identify import Identified
from facho.engine.commands.olts import NewOlt, OltChanges, OltLimits, add_olt, update_olt
from facho.snmp.usm import User
from facho.vendors import Detection, builtin
from tests.factories import add_job, add_olts, at, refused

NOW = at("10:00")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("brands")]

BRANDS = ", ".join(builtin())
NEW = NewOlt("olt-1", "10.0.0.1", brand="huawei")


def seen_as(profile: str, model: str = "") -> Identified:
    return Identified(
        "Huawei Integrated Access Software",
        "1.3.6.1.4.1.2011.2.123",
        7.0,
        Detection(profile, model, text_reason("x")),
    )


def test_an_olt_is_saved_as_it_was_given() -> None:
    new = NewOlt(
        " olt-1 ",
        "2001:DB8::1",
        1161,
        "1",
        Credentials(community="secret"),
        "zte",
        "Centro",
        OltLimits(max_in_flight=2, max_varbinds=10, max_requests_per_second=0.5, shortest_interval_s=300),
    )
    add_olt(new)
    olt = Olt.objects.get()
    assert (olt.name, olt.address, olt.port, olt.snmp_version) == ("olt-1", "2001:db8::1", 1161, "1")
    assert (olt.brand.name, olt.site, olt.enabled) == ("zte", "Centro", True)
    assert olt.credentials == Credentials(community="secret")
    assert (olt.max_in_flight, olt.max_varbinds, olt.shortest_interval_s) == (2, 10, 300)
    assert olt.max_requests_per_second == 0.5


def test_the_community_is_encrypted_in_the_database() -> None:
    add_olt(replace(NEW, credentials=Credentials(community="verysecret")))
    with connection.cursor() as cursor:
        cursor.execute("SELECT credentials FROM olts")
        (stored,) = cursor.fetchone()
    assert "verysecret" not in stored
    assert "verysecret" not in repr(Olt.objects.get().credentials)


def test_a_detected_brand_and_model_are_saved() -> None:
    olt = add_olt(replace(NEW, brand="auto"), detected=seen_as("huawei", "MA5800"))
    assert (olt.brand.name, str(olt.model), olt.sys_object_id) == (
        "huawei",
        "MA5800",
        "1.3.6.1.4.1.2011.2.123",
    )
    # A second one of the model shares its row.
    other = add_olt(replace(NEW, name="olt-2", port=162, brand="auto"), detected=seen_as("huawei", "MA5800"))
    assert other.model_id == olt.model_id


@pytest.mark.parametrize("profile", ["generic", "a-profile-of-somebody-else"])
def test_what_is_not_known_is_generic(profile: str) -> None:
    assert add_olt(replace(NEW, brand="auto"), detected=seen_as(profile)).brand.name == "generic"


def test_a_brand_that_a_person_chose_counts_and_has_no_model_of_another() -> None:
    olt = add_olt(replace(NEW, brand="zte"), detected=seen_as("huawei", "MA5800"))
    assert (olt.brand.name, olt.model) == ("zte", None)


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": "  "}, "name", "a name is needed"),
        ({"name": "x" * 81}, "name", "at most 80 characters"),
        ({"name": "olt\n7"}, "name", "one line"),
        ({"address": "10.0.0.999"}, "address", "'10.0.0.999' is neither"),
        ({"address": ""}, "address", "neither"),
        ({"address": "olt 7"}, "address", "neither"),
        ({"address": "2001:db8::zz"}, "address", "neither"),
        ({"address": "a" * 64}, "address", "neither"),
        ({"port": 0}, "port", "0 is not between 1 and 65535"),
        ({"port": 65536}, "port", "65536 is not between 1 and 65535"),
        ({"version": "2"}, "version", "'2' is none of 1, 2c, 3"),
        ({"version": "3"}, "user", "SNMPv3 needs a user"),
        ({"credentials": Credentials(user=User("me"))}, "community", "need a community"),
        ({"brand": "hauwei"}, "brand", f"unknown brand 'hauwei'; known brands: {BRANDS}"),
        ({"brand": "auto"}, "brand", f"detecting the brand needs a connection test: choose one of {BRANDS}"),
        ({"limits": OltLimits(max_in_flight=0)}, "max_in_flight", "0 is not between"),
        ({"limits": OltLimits(max_varbinds=0)}, "max_varbinds", "0 is not between"),
        ({"limits": OltLimits(max_requests_per_second=0.0)}, "max_requests_per_second", "at least 0.1"),
        ({"limits": OltLimits(shortest_interval_s=0)}, "shortest_interval_s", "0 is not between"),
    ],
)
def test_bad_input_is_refused_at_its_field(change: dict[str, object], field: str, sentence: str) -> None:
    with refused(field, sentence):
        add_olt(replace(NEW, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "::1", "[2001:db8::1]", "olt-7", "olt_7.example.org", "7up.example."]
)
def test_addresses_and_names_are_taken(address: str) -> None:
    assert add_olt(replace(NEW, address=address)).address == address.strip("[]")


def test_a_name_is_given_once() -> None:
    add_olts("olt-1", "olt-2")
    with refused("name", "the name 'olt-1' is already taken"):
        add_olt(NEW)
    with refused("name", "the name 'olt-1' is already taken"):
        update_olt("olt-2", OltChanges(name="olt-1", site="elsewhere"), NOW)


def test_a_change_touches_nothing_else() -> None:
    add_olts("olt-1")
    read_before = Olt.objects.get()
    # The engine learned something between the reading and the saving of a form.
    Olt.objects.update(suspended_reason="silent", learned={"varbinds": 7}, reachable=False)
    update_olt(read_before.name, OltChanges(name="olt-7", site="Norte", port=1161), NOW)
    olt = Olt.objects.get()
    assert (olt.name, olt.site, olt.port) == ("olt-7", "Norte", 1161)
    assert (str(olt.suspended_reason), olt.learned, olt.reachable) == ("silent", {"varbinds": 7}, False)
    assert olt.credentials == Credentials(community="public")


def test_credentials_change_together_with_the_version_that_needs_them() -> None:
    add_olts("olt-1")
    with refused("user", "SNMPv3 needs a user"):
        update_olt("olt-1", OltChanges(version="3"), NOW)
    update_olt("olt-1", OltChanges(version="3", credentials=Credentials(user=User("me"))), NOW)
    assert Olt.objects.get().credentials.user == User("me")


def test_an_olt_with_jobs_of_its_brand_keeps_it() -> None:
    add_olts("olt-1")
    add_job("any", "olt-1", brand="generic", facts=["state"])
    update_olt("olt-1", OltChanges(brand="zte"), NOW)
    update_olt("olt-1", OltChanges(brand="huawei"), NOW)
    add_job("state", "olt-1")
    with refused("brand", "olt-1 has jobs for huawei: detach it from state first"):
        update_olt("olt-1", OltChanges(brand="zte"), NOW)


def test_a_shortest_interval_that_a_job_undercuts_is_refused() -> None:
    add_olts("olt-1")
    add_job("state", "olt-1", interval="5m")
    with refused("shortest_interval_s", "these jobs run more often on it: state"):
        update_olt("olt-1", OltChanges(limits=OltLimits(shortest_interval_s=600)), NOW)
    update_olt("olt-1", OltChanges(limits=OltLimits(shortest_interval_s=300)), NOW)


def test_an_unknown_olt_is_named_with_what_may_have_been_meant() -> None:
    add_olts("olt-norte")
    with refused("olt", "there is no OLT named 'olt-nort'; did you mean olt-norte?"):
        update_olt("olt-nort", OltChanges(site="x"), NOW)


@pytest.mark.parametrize(
    "changes", [OltChanges(address="10.0.0.2"), OltChanges(port=1161), OltChanges(brand="zte")]
)
def test_of_another_device_nothing_is_known_yet(changes: OltChanges) -> None:
    add_olts("olt-1")
    found = {
        "lacks": {"1.2.3": "2026-03-01T11:00:00+00:00"},
        "version": "V1",
        "uptime_s": 60,
        "cpu_pct": 95.0,
    }
    Olt.objects.update(**found)
    same = Olt.objects.get()
    update_olt("olt-1", OltChanges(site="Norte", address=same.address, port=same.port, brand="huawei"), NOW)
    assert Olt.objects.values(*found).get() == found
    update_olt("olt-1", changes, NOW)
    olt = Olt.objects.get()
    assert (olt.lacks, olt.version, olt.uptime_s, olt.cpu_pct) == ({}, "", None, None)
