"""Parse the query parameters of pages: which OLTs, which page of a list, which period.

Invalid parameters are ignored: they come from an address, not from a form with fields that can be marked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet

from facho.apps.chassis.selectors import HARDWARE_VERSION, MODEL_NAME
from facho.apps.hosts.health import TROUBLE, Health

# The hours of the timeline that one can choose.
HOURS: Final = (1, 2, 6, 12)
_DEFAULT_HOURS: Final = 2
_LONGEST_TEXT: Final = 120
_LONGEST_NUMBER: Final = 6
_ID: Final = re.compile(r"\d{1,18}", re.ASCII)


def parse_page(given: Mapping[str, str]) -> int:
    page = given.get("page", "")
    return int(page) if page.isdecimal() and len(page) < _LONGEST_NUMBER else 1


def parse_choice(given: Mapping[str, str], name: str, choices: Sequence[int], default: int) -> int:
    value = given.get(name, "")
    return int(value) if value in map(str, choices) else default


def parse_site(given: Mapping[str, str]) -> str:
    return given.get("site", "")[:_LONGEST_TEXT].replace("\0", "")


def parse_id(given: Mapping[str, str], name: str) -> int | None:
    found = given.get(name, "")
    return int(found) if _ID.fullmatch(found) else None


@dataclass(frozen=True, slots=True)
class OltQuery:
    text: str = ""
    # A value of `Health`, or "trouble" for all that need a person.
    health: str = ""
    site: str = ""
    page: int = 1
    hours: int = _DEFAULT_HOURS
    # Of its brand, its model, its software and its hardware; empty for any.
    brand: str = ""
    model: str = ""
    version: str = ""
    hw_version: str = ""
    # Not empty on a wall display, where the pages turn by themselves.
    wall: str = ""

    def filter(self, rows: QuerySet[Any], *, text_in: Sequence[str]) -> QuerySet[Any]:
        """Filter OLTs that are annotated with their health; `text_in` are the columns to search."""
        if self.text:
            matches = Q()
            for column in text_in:
                matches |= Q(**{f"{column}__icontains": self.text})
            rows = rows.filter(matches)
        if self.site:
            rows = rows.filter(site=self.site)
        if self.model:
            rows = rows.annotate(model_name=MODEL_NAME).filter(model_name=self.model)
        if self.hw_version:
            rows = rows.alias(hardware=HARDWARE_VERSION).filter(hardware=self.hw_version)
        same = {"brand__name": self.brand, "version": self.version}
        rows = rows.filter(**{column: value for column, value in same.items() if value})
        if self.health == "trouble":
            return rows.filter(condition__in=TROUBLE)
        return rows.filter(condition=self.health) if self.health in Health.values else rows


def parse_olt_query(given: Mapping[str, str]) -> OltQuery:
    return OltQuery(
        text=_parse_text(given, "text").strip(),
        health=given.get("health", ""),
        site=parse_site(given),
        brand=_parse_text(given, "brand"),
        model=_parse_text(given, "model"),
        version=_parse_text(given, "version"),
        hw_version=_parse_text(given, "hw_version"),
        page=parse_page(given),
        hours=parse_choice(given, "hours", HOURS, _DEFAULT_HOURS),
        wall="1" if given.get("wall") else "",
    )


def _parse_text(given: Mapping[str, str], name: str) -> str:
    return given.get(name, "")[:_LONGEST_TEXT].replace("\0", "")


@dataclass(frozen=True, slots=True)
class PlanQuery:
    """OLTs of the next 60 minutes."""

    text: str = ""
    # Not empty for OLTs with conflicts only.
    conflicts: str = ""
    page: int = 1


def parse_plan_query(given: Mapping[str, str]) -> PlanQuery:
    text = _parse_text(given, "text").strip()
    return PlanQuery(text, "1" if given.get("conflicts") else "", parse_page(given))
