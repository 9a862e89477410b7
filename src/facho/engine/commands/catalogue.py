"""Change the titles of brands; add, change and remove OLT models. Brands themselves come from profiles."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, OltModel
from facho.engine.commands.checks import name_of
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import brand_for
from facho.engine.process.command_transaction import command

_LONGEST_TITLE: Final = 120
_LONGEST_MODEL: Final = 60
_NAMED_AT_MOST: Final = 5


@command
def change_brand_title(name: str, title: str) -> Brand:
    brand = brand_for(name)
    brand.title = name_of(title, "title", longest=_LONGEST_TITLE)
    brand.save(update_fields=["title"])
    return brand


@command
def add_olt_model(brand: str, name: str) -> OltModel:
    model = OltModel(brand=brand_for(brand), name=name_of(name, longest=_LONGEST_MODEL))
    _refuse_taken(model)
    model.save()
    return model


@command
def change_olt_model(model_id: int, name: str) -> OltModel:
    """Another name. Its brand stays: OLTs and OIDs of that brand have it."""
    model = _model_with(model_id)
    model.name = name_of(name, longest=_LONGEST_MODEL)
    _refuse_taken(model)
    model.save(update_fields=["name"])
    return model


@command
def remove_olt_model(model_id: int) -> None:
    model = _model_with(model_id)
    olts = model.olts.order_by("name").values_list("name", flat=True)
    oids = model.oids.order_by("name").values_list("name", flat=True)
    if users := [*olts[:_NAMED_AT_MOST], *oids[:_NAMED_AT_MOST]]:
        said = {"name": model.name, "users": ", ".join(users[:_NAMED_AT_MOST])}
        raise CommandError("id", _("%(name)s is the model of %(users)s: change these first") % said)
    model.delete()


def _model_with(model_id: int) -> OltModel:
    found = OltModel.objects.select_related("brand").filter(id=model_id).first()
    if found is None:
        raise CommandError("id", _("there is no model %(id)d") % {"id": model_id})
    return found


def _refuse_taken(model: OltModel) -> None:
    if model.brand.models.filter(name=model.name).exclude(id=model.pk or 0).exists():
        said = {"name": model.name, "brand": model.brand.name}
        raise CommandError("name", _("%(brand)s has a model named '%(name)s' already") % said)
