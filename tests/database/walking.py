"""Every page and every answer that can be read, for tests that look at all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from facho.apps.chassis.models import OltHealth, PonPort, Uplink
from facho.apps.discovery.models import Onu
from facho.apps.hosts.models import Olt
from facho.web.olts.tabs import Tab, tab_url
from tests.database.web.admin.test_lists import INLINE, OURS


def pages() -> Iterator[str]:
    yield from ("/coordinator/dashboard/", "/coordinator/dashboard/live/")
    for model in OURS:
        if model not in INLINE:
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            yield reverse(f"{name}_changelist")
            yield reverse(f"{name}_change", args=[model._default_manager.values_list("pk", flat=True)[0]])

    yield from map(reverse, ("olts", "traffic", "versions", "worst-onus", "unprovisioned-onus"))
    olt_id = _first(Olt)
    yield from (tab_url(olt_id, tab) for tab in Tab)
    for name, of_olt in (("port", PonPort), ("part", OltHealth), ("uplink", Uplink)):
        yield reverse(name, args=[olt_id, of_olt.objects.filter(olt=olt_id).values_list("pk", flat=True)[0]])
    yield reverse("onu", args=[_first(Onu)])


def _first(model: type[Model]) -> int:
    found: int = model._default_manager.order_by("pk").values_list("pk", flat=True)[0]
    return found


def pages_of_rows(*models: type[Model]) -> Iterator[str]:
    """All that the admin has of every row, or of those of some models; some pages nobody may see."""
    for model in models or admin.site._registry:
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        yield from (base, f"{base}add/")
        for row in model._default_manager.values_list("pk", flat=True):
            yield from (f"{base}{row}/{part}/" for part in ("change", "history", "delete"))


def answers(client: APIClient) -> Iterator[tuple[str, Any]]:
    """Of everything that can be read: lists, and the first one of each; of an OLT what must be asked so."""
    generator: Any = SchemaGenerator
    described = generator(api_version="1").get_schema(request=None, public=True)["paths"]
    reads = {path: operations["get"] for path, operations in described.items() if "get" in operations}
    for path, operation in reads.items():
        rows = client.get(path.split("{")[0])
        # The identity of a row, however the path calls it.
        first = rows.json()["results"][0]["id"] if "{" in path and "results" in rows.json() else ""
        asked = re.sub(r"\{\w+\}", str(first), path)
        needed = [each["name"] for each in operation.get("parameters", ()) if each.get("required")]
        yield asked, client.get(asked, {"olt": _first(Olt)} if "olt" in needed else {})
