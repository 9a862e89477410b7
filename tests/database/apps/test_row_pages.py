"""Long lists, page by page: the same rows in the same order as at once, whatever they are ordered by."""

from __future__ import annotations

import pytest
from django.db import connection

from facho.apps.db.row_pages import read_pages
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Brand, Olt
from tests.sample_rows import fill

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
COLUMNS = ("id", "olt__name", "distance_m")


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "order",
    [
        ("-pk",),
        ("olt_id", "frame", "slot", "port", "onu_id"),
        ("-presence", "id"),
        ("distance_m", "-id"),
        ("-distance_m", "-model", "id"),
        ("olt__name", "-id"),
        (),
    ],
    ids=str,
)
def test_pages_are_the_list(order: tuple[str, ...], size: int) -> None:
    fill(7)
    for number, onu in enumerate(Onu.objects.order_by("id")):
        onu.distance_m = (None, 5, 3)[number % 3]
        onu.model = ("b", "a")[number % 2]
        onu.save(update_fields=["distance_m", "model"])
    rows = Onu.objects.exclude(serial="none").order_by(*order)
    pages = list(read_pages(rows, COLUMNS, size))
    found = [row for page in pages for row in page]
    wanted = list(rows.order_by(*order, "id").values_list(*COLUMNS))
    assert found == wanted
    assert max(map(len, pages)) <= size


def test_a_row_that_moves_while_pages_are_read_comes_once() -> None:
    fill(7)
    pages = read_pages(Onu.objects.order_by("olt__name", "id"), ("id",), 2)
    found = list(next(pages))
    # To the end of the order; those behind it move up.
    Olt.objects.filter(name="olt-000").update(name="zzz")
    found += [row for page in pages for row in page]
    assert found == list(Onu.objects.order_by("id").values_list("id"))


@pytest.mark.django_db(transaction=True)
def test_no_connection_of_a_pool_is_kept_between_two_pages() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no pool of connections")
    Brand.objects.bulk_create(Brand(name=f"b{each}", title="b") for each in range(5))
    for order in ("id", "name"):
        for _page in read_pages(Brand.objects.order_by(order), ("id",), 2):
            assert connection.connection is None
