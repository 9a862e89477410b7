"""The list of the traffic of OLTs: in the words of people, and without the counters, which are large."""

from __future__ import annotations

import csv
import io

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from facho.apps.traffic.models import OltTraffic
from facho.core.roles import Role
from tests.api_clients import person
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
LIST = "/admin/traffic/olttraffic/"


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person(Role.VIEWER))
    return client


@pytest.mark.parametrize(("subject", "to", "of"), [("link", 9e8, 3e6), ("port", 3e6, 9e8)])
def test_it_says_what_goes_to_the_customers(viewer: Client, subject: str, to: float, of: float) -> None:
    """An uplink receives what ports send."""
    fill(1)
    OltTraffic.objects.update(subject=subject, in_bps=900_000_000, out_bps=3_000_000)
    page = viewer.get(LIST, headers={"accept-language": "en"}).content.decode()
    sent, received = (page.index(f"{rate / 1e6:.0f} Mbit/s") for rate in (to, of))
    assert sent < received
    text = viewer.get(f"{LIST}export/").getvalue().decode().removeprefix("\ufeff")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (float(row["to_customers_bps"]), float(row["from_customers_bps"])) == (to, of)


def test_the_counters_are_not_read(viewer: Client) -> None:
    fill(1)
    for path in (LIST, f"{LIST}{OltTraffic.objects.get().pk}/change/", f"{LIST}export/"):
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get(path).getvalue()
        assert not [each for each in queries.captured_queries if '"counters"' in each["sql"]], path
