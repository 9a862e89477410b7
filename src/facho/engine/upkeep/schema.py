"""Compare the migrations of the database with those of this program.

Names are compared, which takes one query and imports no migration. Migrations are loaded only where the
names differ.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final

from django.apps import apps
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from facho import __version__

Name = tuple[str, str]

# The row of CoordinatorState with the version of the program that last changed the schema.
SCHEMA: Final = "schema"
_MOST_NAMED: Final = 3


class SchemaProblem(Exception):
    """A database that this program cannot use, with a sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The difference between the migrations of the database and of this program."""

    # Migrations that the database lacks.
    missing: tuple[str, ...] = ()
    # Migrations that this program does not have.
    unknown: tuple[str, ...] = ()
    # The database has no migrations at all.
    empty: bool = False


def is_current() -> bool:
    return _applied_names() == _known_names()


def read_schema_difference() -> Schema:
    applied, known = _applied_names(), _known_names()
    if applied == known:
        return Schema()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return Schema(
        tuple(_dotted((migration.app_label, migration.name)) for migration, _backwards in plan),
        tuple(sorted(map(_dotted, applied - known - _replaced(executor.loader)))),
        empty=not applied,
    )


def missing_migrations() -> list[str]:
    """Return the migrations that the database lacks, such as `hosts.0001_initial`."""
    return list(read_schema_difference().missing)


def refuse_newer(schema: Schema) -> None:
    """Refuse the database of a newer program: rows written by this one would break it."""
    if schema.unknown:
        raise SchemaProblem(newer_sentence(schema.unknown))


def newer_sentence(unknown: Iterable[str]) -> str:
    names = list(unknown)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    shown = ", ".join(names[-_MOST_NAMED:]) + more
    version = _version_of_database()
    newer = f"facho {version}" if version and version != __version__ else "a newer facho"
    return (
        f"the database was changed by {newer} ({shown}), and this is facho {__version__}, which does not "
        "know that: start the newer program, or put back the copy of the database from before the upgrade"
    )


def refuse_unready() -> None:
    """Refuse a database that needs migration, in processes that never migrate."""
    schema = read_schema_difference()
    refuse_newer(schema)
    if schema.missing:
        raise SchemaProblem(missing_sentence(schema.missing))


def missing_sentence(missing: Iterable[str]) -> str:
    return f"the database lacks {len(list(missing))} changes that this version needs: run facho migrate"


def _version_of_database() -> str:
    from facho.apps.execution_coordinator.models import CoordinatorState

    try:
        state = CoordinatorState.objects.filter(name=SCHEMA).values_list("value", flat=True).first()
    except DatabaseError:
        # The tables may differ from those of this version.
        return ""
    return str(state.get("version", "")) if state else ""


def _applied_names() -> frozenset[Name]:
    return frozenset(MigrationRecorder(connection).applied_migrations())


@cache
def _known_names() -> frozenset[Name]:
    found = set()
    for config in apps.get_app_configs():
        module_name, explicit = MigrationLoader.migrations_module(config.label)
        if module_name is None:
            continue
        try:
            module = import_module(module_name)
        except ModuleNotFoundError:
            # An app without migrations.
            assert not explicit
            continue
        found |= {
            (config.label, name)
            for _, name, is_package in pkgutil.iter_modules(module.__path__)
            if not is_package and name[0] not in "_~"
        }
    return frozenset(found)


def _replaced(loader: MigrationLoader) -> frozenset[Name]:
    """Return the migrations that squashed migrations replace."""
    return frozenset(name for migration in loader.replacements.values() for name in migration.replaces)


def _dotted(name: Name) -> str:
    return ".".join(name)
