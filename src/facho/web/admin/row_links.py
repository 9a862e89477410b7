"""Where the rows of a list of the admin lead: to the page of the row, and not to its form."""

from __future__ import annotations

from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from facho.apps.hosts.models import Olt


def lead_to_pages(page: type[ChangeList]) -> type[ChangeList]:
    """Return a change list whose rows link to the page that `view_on_site` of the admin names."""

    class Leading(page):  # type: ignore[misc, valid-type]  # whichever the admin's dress has
        def url_for_result(self, result: Model) -> str:
            find = self.model_admin.view_on_site
            found = find(result) if callable(find) else None
            return str(found or super().url_for_result(result))

    return Leading


def list_url(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def olt_link(olt: Olt) -> SafeString:
    return format_html('<a class="fd-link" href="{}">{}</a>', reverse("olt", args=[olt.pk]), olt.name)


def form_link(row: Model) -> SafeString:
    """Return a small link to the form of a row."""
    meta = row._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])
    name = gettext("Edit %(name)s") % {"name": row}
    return format_html('<a class="fd-edit" href="{}" aria-label="{}">{}</a>', url, name, gettext("Edit"))
