"""Operators' own rows of the OID table. Those of the profiles follow the profiles."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Oid, OltModel
from facho.engine.commands.asked import number_of
from facho.engine.commands.checks import name_of, no_such
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import brand_for, model_named
from facho.engine.process.command_transaction import command
from facho.vendors import Entity
from facho.vendors.vocabulary import FACTS

_NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True)
class NewOid:
    """`model` "" is every one of the brand; values are read as those of the profile's column `read_as`."""

    name: str
    oid: str
    brand: str
    model: str = ""
    entity: str = ""
    provides: str = ""
    read_as: str = ""


@dataclass(frozen=True, slots=True)
class OidChanges:
    """What is not None changes."""

    name: str | None = None
    oid: str | None = None
    brand: str | None = None
    model: str | None = None
    entity: str | None = None
    provides: str | None = None
    read_as: str | None = None


@command
def add_oid(new: NewOid) -> Oid:
    row = Oid(**_columns(new))
    _refuse_taken(row)
    row.save()
    return row


@command
def change_oid(oid_id: int, changes: OidChanges) -> Oid:
    row = _own(oid_id)
    before = row.brand_id, row.model_id
    columns = _columns(_changed(row, changes))
    for column, value in columns.items():
        setattr(row, column, value)
    if before != (row.brand_id, row.model_id):
        _refuse_used(row, "brand")
    _refuse_taken(row)
    row.save(update_fields=list(columns))
    return row


@command
def remove_oid(oid_id: int) -> None:
    row = _own(oid_id)
    _refuse_used(row, "id")
    row.delete()


def _own(oid_id: int) -> Oid:
    row = Oid.objects.select_related("brand", "model").filter(id=oid_id).first()
    if row is None:
        raise CommandError("id", _("there is no OID %(id)d") % {"id": oid_id})
    if row.synced:
        said = {"name": row.name, "brand": row.brand.name}
        sentence = _("%(name)s comes from the profile of %(brand)s: add a row of your own beside it")
        raise CommandError("id", sentence % said)
    return row


def _changed(row: Oid, changes: OidChanges) -> NewOid:
    """The row as it shall be, in the words of who asks for it."""
    wanted = {each.name: getattr(changes, each.name) for each in fields(changes)}
    given = {name: value for name, value in wanted.items() if value is not None}
    return NewOid(**{**oid_as_given(row), **given})


def oid_as_given(row: Oid) -> dict[str, str]:
    """Return the row as commands take it: brands and models by their names."""
    return {
        "name": row.name,
        "oid": row.oid,
        "brand": row.brand.name,
        "model": row.model.name if row.model else "",
        "entity": row.entity,
        "provides": row.provides,
        "read_as": row.profile_oid,
    }


def _columns(wanted: NewOid) -> dict[str, Any]:
    brand = brand_for(wanted.brand)
    return {
        "name": name_of(wanted.name),
        "oid": number_of(wanted.oid, "oid"),
        "brand": brand,
        "model": model_named(brand, wanted.model),
        **_fact(wanted.entity, wanted.provides),
        "profile_oid": _read_as(brand, wanted.read_as),
    }


def _fact(entity: str, provides: str) -> dict[str, str]:
    """What nothing is said of is about ONUs."""
    if entity and entity not in list(Entity):
        said = {"entity": entity, "known": ", ".join(Entity)}
        raise CommandError("entity", _("'%(entity)s' is none of %(known)s") % said)
    known = FACTS[Entity(entity or Entity.ONU)]
    if provides and provides not in known:
        raise CommandError("provides", no_such(_("fact"), provides, known))
    return {"entity": entity, "provides": provides}


def _read_as(brand: Brand, read_as: str) -> str:
    if not read_as:
        return ""
    column = number_of(read_as, "read_as")
    if not any(row.synced for row in Oid.objects.filter(brand=brand, profile_oid=column)):
        said = {"oid": column, "brand": brand.name}
        raise CommandError("read_as", _("the profile of %(brand)s has no column %(oid)s") % said)
    return column


def _refuse_taken(row: Oid) -> None:
    model: OltModel | None = row.model
    if Oid.objects.filter(brand=row.brand, model=model, name=row.name).exclude(id=row.pk or 0).exists():
        said = {"name": row.name, "brand": row.brand.name}
        raise CommandError("name", _("%(brand)s has an OID named '%(name)s' already") % said)


def _refuse_used(row: Oid, field: str) -> None:
    """A job would go on without it, and nobody would know."""
    used = row.job_oids.order_by("job__name").values_list("job__name", flat=True)
    if jobs := list(used[:_NAMED_AT_MOST]):
        said = {"name": row.name, "jobs": ", ".join(jobs)}
        raise CommandError(field, _("%(name)s is asked for by %(jobs)s: take it out there first") % said)
