"""Change the titles of brands; add, change and remove OLT models. Brands come from profiles."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext as _

from facho.apps.hosts.models import Brand, OltModel
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_free_name, check_name
from facho.engine.commands.olts import brand_for
from facho.engine.process.command_transaction import command

_LONGEST_TITLE: Final = 120
_LONGEST_MODEL: Final = 60
_NAMED_AT_MOST: Final = 5


@command
def change_brand_title(name: str, title: str) -> Brand:
    brand = brand_for(name)
    brand.title = check_name(title, "title", longest=_LONGEST_TITLE)
    brand.save(update_fields=["title"])
    return brand


@command
def add_olt_model(brand: str, name: str) -> OltModel:
    found = brand_for(brand)
    name = check_free_name(found.models.all(), name, longest=_LONGEST_MODEL)
    return OltModel.objects.create(brand=found, name=name)


@command
def change_olt_model(model_id: int, name: str) -> OltModel:
    """Rename a model. Its brand stays, because OLTs and OIDs of that brand refer to it."""
    model = _find_model(model_id)
    model.name = check_free_name(model.brand.models.all(), name, model.pk, longest=_LONGEST_MODEL)
    model.save(update_fields=["name"])
    return model


@command
def remove_olt_model(model_id: int) -> None:
    model = _find_model(model_id)
    olts = model.olts.order_by("name").values_list("name", flat=True)
    oids = model.oids.order_by("name").values_list("name", flat=True)
    if users := [*olts[:_NAMED_AT_MOST], *oids[:_NAMED_AT_MOST]]:
        values = {"name": model.name, "users": ", ".join(users[:_NAMED_AT_MOST])}
        raise CommandError("id", _("%(name)s is the model of %(users)s: change these first") % values)
    model.delete()


def _find_model(model_id: int) -> OltModel:
    found = OltModel.objects.select_related("brand").filter(id=model_id).first()
    if found is None:
        raise CommandError("id", _("there is no model %(id)d") % {"id": model_id})
    return found
