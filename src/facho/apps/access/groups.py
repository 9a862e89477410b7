"""A group for each role that a person can have. They are no configuration: they are there."""

from __future__ import annotations

from typing import Any

from django.apps import apps as all_apps

from facho.core.roles import OF_PEOPLE


def have_groups(using: str, apps: Any = all_apps, **_: Any) -> None:
    """After every migration, and after a database was emptied."""
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
    except LookupError:
        # A database that has had only a part of the migrations.
        return
    for role in OF_PEOPLE:
        groups.get_or_create(name=role.slug)
