"""Which requests go to the threads for polls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.urls import reverse

from facho.web.server.handler import is_poll
from facho.web.urls import urlpatterns

WEB = Path(__file__).parents[4] / "src" / "facho" / "web"
# For one person only: the first results of a new OLT, and the reading of an ONU.
FOR_ONE = {"start-wait", "onu-reading"}


def polled_names() -> set[str]:
    """Return the names of the addresses that the templates ask for again and again."""
    templates = "\n".join(path.read_text() for path in WEB.rglob("*.html"))
    polled = re.findall(r"hx-get=\"{% url '([\w-]+)'[^>]*hx-trigger=\"[^\"]*\bevery", templates)
    return set(polled) - FOR_ONE


@pytest.mark.parametrize("name", sorted(polled_names()))
def test_the_parts_that_refresh_by_themselves_are_polls(name: str) -> None:
    (route,) = (each for each in urlpatterns if each.name == name)
    given = {"olt_id": 7, "tab": "ports"}
    path = reverse(name, kwargs={each: given[each] for each in route.pattern.converters})
    assert is_poll({"type": "http", "method": "GET", "path": path})
    assert not is_poll({"type": "http", "method": "POST", "path": path})


def test_all_of_them_were_found() -> None:
    assert polled_names() == {
        "dashboard-live", "dashboard-overview", "timeline", "olt-live", "olt-part", "olt-facts",
        "olt-rows",
        "plan-rows", "traffic-tops",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/banner/", "/banner/olts/7/"])
def test_the_banner_of_every_page_is_a_poll(path: str) -> None:
    assert is_poll({"type": "http", "method": "GET", "path": path})


@pytest.mark.parametrize(
    "path", ["/", "/coordinator/dashboard/", "/olts/7/", "/olts/7/load/", "/api/v1/onus/", "/olts/7/live"]
)
def test_other_pages_are_none(path: str) -> None:
    assert not is_poll({"type": "http", "method": "GET", "path": path})
