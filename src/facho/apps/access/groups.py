"""A group for each role of people. They always exist and are not configuration."""

from __future__ import annotations

from typing import Any

from django.apps import apps as all_apps

from facho.core.roles import OF_PEOPLE


def have_groups(using: str, apps: Any = all_apps, **_: Any) -> None:
    """Create the groups of the roles, after every migration and after a database was emptied."""
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
    except LookupError:
        # Only a part of the migrations has been applied.
        return
    for role in OF_PEOPLE:
        groups.get_or_create(name=role.slug)
