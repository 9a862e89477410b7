"""Forms with a what-if panel: their effect on OLTs is worked out before they are saved."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from facho.engine.commands.errors import CommandError
from facho.web.admin import job_preview
from facho.web.admin.base import SwitchableAdmin
from facho.web.server.refusals import Refused

M = TypeVar("M", bound=Model)


class PreviewedAdmin(SwitchableAdmin[M]):
    """Saving looks first, while `request.previews` is set, and then saves what fits or is wanted anyway."""

    change_form_after_template = "facho_admin/job_what_if.html"

    class Media:
        js = ("facho/preview.js",)
        css = {"all": ("facho/pages.css",)}  # noqa: RUF012  # Django's way

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method == "POST" and job_preview.is_wanted(request):
            answer = self._preview(request, object_id)
            if answer is not None:
                return answer
        response = super().changeform_view(request, object_id, form_url, extra_context)
        if getattr(request, "unchecked", False) and response.status_code == HTTPStatus.FOUND:
            messages.warning(request, gettext("Saved without checking its effect on the OLTs."))
        return response

    def _preview(self, request: HttpRequest, object_id: str | None) -> HttpResponse | None:
        """Check the form as for saving, without saving it. None continues with saving.

        Not in the transaction that saves it: the engine would wait until everything is worked out.
        """
        asked = job_preview.ASKED in request.POST
        request.previews = True  # type: ignore[attr-defined]  # read where it is saved
        try:
            page = self._changeform_view(request, object_id, "", None)  # type: ignore[attr-defined]  # Django's
        except job_preview.Previewed as previewed:
            if asked:
                return job_preview.panel(request, previewed)
            job_preview.weigh(request, previewed.found)
            return None
        except CommandError as refused:
            # Saving reports the error at its field.
            return job_preview.refused(request, [refused.message]) if asked else None
        except Refused as refused:
            if asked:
                return job_preview.refused(request, [refused.sentence])
            job_preview.keep_refusal(request, refused)
            return None
        except job_preview.CheckSkipped:
            request.unchecked = True  # type: ignore[attr-defined]  # read when it is saved
            return None
        finally:
            request.previews = False  # type: ignore[attr-defined]
        if asked and isinstance(page, TemplateResponse):
            return job_preview.refused(request, job_preview.mistakes(page.context_data))
        return page if asked else None
