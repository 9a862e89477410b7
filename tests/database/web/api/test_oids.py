"""OIDs through the API: those of the profiles are read, and an operator has others of their own."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from facho.apps.hosts.models import Brand, Oid, OltModel
from facho.core.roles import Role
from facho.engine.commands.jobs import NewJob, create_job
from tests.api_clients import asking, refused_at

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("brands")]

OIDS = "/api/v1/oids/"


def given(**more: Any) -> dict[str, Any]:
    brand = Brand.objects.get(name="huawei").id
    return {"name": "uptime", "oid": "1.3.6.1.4.1.2011.7.1", "brand": brand, **more}


def test_an_administrator_has_oids_of_their_own() -> None:
    client = asking(Role.ADMINISTRATOR)
    model = OltModel.objects.create(brand=Brand.objects.get(name="huawei"), name="MA5800")
    made = client.post(OIDS, given(oid=".1.3.6.1.4.1.2011.7.1", model=model.id, provides="serial"))
    row = made.json()
    assert (made.status_code, row["oid"], row["from_profile"]) == (201, "1.3.6.1.4.1.2011.7.1", False)
    assert (row["brand_name"], row["model_name"], row["provides"]) == ("huawei", "MA5800", "serial")
    changed = client.patch(made["Location"], {"model": None, "entity": "port", "provides": "state"}).json()
    assert changed == {**row, "model": None, "model_name": None, "entity": "port", "provides": "state"}
    assert asking(Role.OPERATOR).delete(made["Location"]).status_code == 403
    assert client.delete(made["Location"]).status_code == 204
    assert not Oid.objects.filter(id=row["id"]).exists()


def test_what_makes_no_sense_is_said_at_its_field() -> None:
    client = asking(Role.ADMINISTRATOR)
    client.post(OIDS, given())
    other = OltModel.objects.create(brand=Brand.objects.get(name="generic"), name="other")
    wrong = {
        "name": "uptime", "oid": "1", "model": other.id, "entity": "router", "provides": "serail",
        "profile_oid": "1.3.6.1.9.9",
    }  # fmt: skip
    for field, value in wrong.items():
        asked = given(**{"name": "another", field: value})
        assert refused_at(client.post(OIDS, asked)).keys() == {field}
    assert "serial" in refused_at(client.post(OIDS, given(name="x", provides="serail")))["provides"]


def test_a_row_of_a_profile_is_not_written() -> None:
    client = asking(Role.ADMINISTRATOR)
    row = Oid.objects.exclude(synced={}).filter(brand__name="huawei")[0]
    path = f"{OIDS}{row.id}/"
    assert client.get(path).json()["from_profile"] is True
    for answer in (client.patch(path, {"oid": "1.3.6.1.7"}), client.delete(path)):
        assert f"{row.name} " in refused_at(answer)["id"]
    row.refresh_from_db()
    assert row.oid == row.synced["oid"]
    # What it is read by serves a row of one's own.
    assert client.post(OIDS, given(profile_oid=row.profile_oid)).json()["profile_oid"] == row.profile_oid


def test_what_a_job_asks_for_stays_where_it_is() -> None:
    client = asking(Role.ADMINISTRATOR)
    path = f"{OIDS}{client.post(OIDS, given()).json()['id']}/"
    create_job(NewJob("walk", "huawei", "walk", "10m", oids=[given()["oid"]]), timezone.now())
    assert "walk" in refused_at(client.delete(path))["id"]
    generic = Brand.objects.get(name="generic").id
    assert refused_at(client.patch(path, {"brand": generic})).keys() == {"brand"}
    assert client.patch(path, {"name": "better"}).json()["name"] == "better"


@pytest.mark.both_databases
def test_rows_are_found_by_what_an_operator_knows() -> None:
    client = asking(Role.VIEWER)
    brand = Brand.objects.create(name="acme")
    model = OltModel.objects.create(brand=brand, name="M1")
    row = Oid.objects.create(
        brand=brand, model=model, name="column", oid="1.3.6.1.77.1", provides="serial", entity="onu"
    )
    Oid.objects.create(brand=brand, name="near", oid="1.3.6.1.770")
    queries: tuple[dict[str, Any], ...] = (
        {"oid": "1.3.6.1.77"}, {"oid": ".1.3.6.1.77.1"}, {"model": model.id}, {"name": "column"},
        {"brand": brand.id, "provides": "serial"}, {"brand": brand.id, "entity": "onu"},
    )  # fmt: skip
    for query in queries:
        found = client.get(OIDS, query).json()["results"]
        assert [each["id"] for each in found] == [row.id], query
    own = client.get(OIDS, {"from_profile": "false"}).json()["results"]
    assert [each["name"] for each in own] == ["column", "near"]
    assert client.get(OIDS, {"from_profile": "true", "brand": str(brand.id)}).json()["results"] == []
