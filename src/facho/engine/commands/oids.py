"""Add, change and remove operators' own rows of the OID table. Other rows come from profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, Oid
from facho.config import current
from facho.engine.collect.own_columns import find_columns, has_place
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_choice, check_free_name, unknown_name
from facho.engine.commands.job_columns import parse_oid
from facho.engine.commands.olts import brand_for, model_named
from facho.engine.process.command_transaction import command
from facho.vendors import Entity, known_facts, profile_of_family
from facho.vendors.facts import Fact, Kind

_NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True)
class NewOid:
    """An OID to add. `model` "" is all models of the brand; values are decoded as those of `read_as`."""

    name: str
    oid: str
    brand: str
    model: str = ""
    entity: str = ""
    provides: str = ""
    read_as: str = ""


@command
def add_oid(new: NewOid) -> Oid:
    return Oid.objects.create(**_columns(new))


@command
def change_oid(oid_id: int, changes: Mapping[str, str]) -> Oid:
    """Change the given fields of NewOid."""
    row = _find_own(oid_id)
    before = row.brand_id, row.model_id
    columns = _columns(NewOid(**{**oid_as_given(row), **changes}), row.pk)
    for column, value in columns.items():
        setattr(row, column, value)
    if before != (row.brand_id, row.model_id):
        _refuse_used(row, "brand")
    row.save(update_fields=list(columns))
    return row


@command
def remove_oid(oid_id: int) -> None:
    row = _find_own(oid_id)
    _refuse_used(row, "id")
    row.delete()


def _find_own(oid_id: int) -> Oid:
    row = Oid.objects.select_related("brand", "model").filter(id=oid_id).first()
    if row is None:
        raise CommandError("id", _("there is no OID %(id)d") % {"id": oid_id})
    if row.synced:
        values = {"name": row.name, "brand": row.brand.name}
        sentence = _("%(name)s comes from the profile of %(brand)s: add a row of your own beside it")
        raise CommandError("id", sentence % values)
    return row


def oid_as_given(row: Oid) -> dict[str, str]:
    """Return the row in the fields of the commands: brands and models by name."""
    return {
        "name": row.name,
        "oid": row.oid,
        "brand": row.brand.name,
        "model": row.model.name if row.model else "",
        "entity": row.entity,
        "provides": row.provides,
        "read_as": row.profile_oid,
    }


def _columns(wanted: NewOid, own_id: int | None = None) -> dict[str, Any]:
    brand = brand_for(wanted.brand)
    model = model_named(brand, wanted.model)
    return {
        "name": check_free_name(Oid.objects.filter(brand=brand, model=model), wanted.name, own_id),
        "oid": parse_oid(wanted.oid, "oid"),
        "brand": brand,
        "model": model,
        **_check_fact(wanted.entity, wanted.provides, brand),
        "profile_oid": _check_read_as(brand, wanted),
    }


def _check_fact(entity: str, provides: str, brand: Brand) -> dict[str, str]:
    """Check a fact against its entity; an empty entity means ONUs."""
    if entity:
        check_choice(entity, [each.value for each in Entity], "entity")
    known = known_facts()[Entity(entity or Entity.ONU)]
    if provides and provides not in known:
        values = {"folder": current().profile_folder, "entity": entity or Entity.ONU.value, "fact": provides}
        declare = _(
            ". To have a new fact, declare it in a YAML file of %(folder)s, under facts: %(entity)s: %(fact)s"
        )
        raise CommandError("provides", unknown_name(_("fact"), provides, known) + declare % values)
    if provides and known[provides].kind is Kind.RATE:
        raise CommandError("provides", _("%(fact)s is computed: provide its counter") % {"fact": provides})
    about = Entity(entity or Entity.ONU)
    if provides and not brand.is_generic and not has_place(profile_of_family(brand.name), about):
        sentence = _(
            "the profile of %(brand)s has no table of these things, so that nobody knows which one a row is "
            "about: add the table in a profile of your own"
        )
        raise CommandError("entity", sentence % {"brand": brand.name})
    return {"entity": entity, "provides": provides}


def _check_read_as(brand: Brand, wanted: NewOid) -> str:
    if not wanted.read_as:
        return ""
    column = parse_oid(wanted.read_as, "read_as")
    if not any(row.synced for row in Oid.objects.filter(brand=brand, profile_oid=column)):
        values = {"oid": column, "brand": brand.name}
        raise CommandError("read_as", _("the profile of %(brand)s has no column %(oid)s") % values)
    if wanted.provides:
        fact = known_facts()[Entity(wanted.entity or Entity.ONU)][wanted.provides]
        read = [each.meaning for _table, each, _source in find_columns(brand.name, column)]
        if read and not any(_fits_rules_of(fact, each) for each in read):
            values = {"oid": column, "kind": read[0].kind.value, "fact": wanted.provides}
            sentence = _("%(oid)s has values of the kind %(kind)s, which do not fit %(fact)s")
            raise CommandError("read_as", sentence % values)
    return column


def _fits_rules_of(fact: Fact, other: Fact) -> bool:
    """Return whether the rules of a column with one fact give values of the other."""
    numbers = (Kind.NUMBER, Kind.WHOLE)
    is_same = fact.kind is other.kind or (fact.kind in numbers and other.kind in numbers)
    return is_same and set(fact.words or ()) == set(other.words or ())


def _refuse_used(row: Oid, field: str) -> None:
    """Refuse to take an OID away from jobs: they would silently ask for less."""
    used = row.job_oids.order_by("job__name").values_list("job__name", flat=True)
    if jobs := list(used[:_NAMED_AT_MOST]):
        values = {"name": row.name, "jobs": ", ".join(jobs)}
        raise CommandError(field, _("%(name)s is used by %(jobs)s: remove it there first") % values)
