"""The login page and the password change, for every account."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import BASE_INPUT_CLASSES

from facho.apps.db.database import database_now
from facho.apps.localized_times import minute_clock
from facho.config import current
from facho.core.roles import Role
from facho.engine.commands.users import set_password
from facho.web.access import login_limits
from facho.web.access.pages import for_role
from facho.web.components.page import page_context

# Added so that the time shown in minutes is not too early.
_A_MINUTE: Final = timedelta(minutes=1)


class OwnPasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  # unfold has no types
    def save(self, commit: bool = True) -> User:  # noqa: ARG002
        set_password(self.user, self.cleaned_data["new_password1"])
        found: User = self.user
        return found


@never_cache
@for_role(Role.VIEWER)
def password_change(request: HttpRequest) -> HttpResponse:
    page = PasswordChangeView.as_view(
        form_class=OwnPasswordForm,
        success_url=reverse("admin:password_change_done"),
        template_name=admin.site.password_change_template or PasswordChangeView.template_name,
        extra_context={**admin.site.each_context(request), **page_context(request, _("Password change"))},
    )
    answer: HttpResponse = page(request)  # type: ignore[assignment]  # a template's
    return answer


@never_cache
@for_role(Role.VIEWER)
def password_change_done(request: HttpRequest) -> HttpResponse:
    return admin.site.password_change_done(request, page_context(request, _("Password change successful")))


class LoginForm(AuthenticationForm):
    """Logs in every account: the pages check the role themselves."""

    too_many = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username")
        if self.request is None or not name or not self.cleaned_data.get("password"):
            return super().clean()
        address, now = login_limits.counted_address_of(self.request, current()), database_now()
        try:
            login_limits.begin(name, address, now, current())
            found = super().clean()
        except login_limits.TooMany as refused:
            self.too_many = True
            values = {"time": minute_clock(refused.until + _A_MINUTE)}
            raise ValidationError(_("Too many attempts failed. Try again at %(time)s.") % values) from None
        except ValidationError:
            login_limits.failed(address)
            raise
        login_limits.succeeded(name, self.get_user(), address, now)
        return found


class Login(LoginView):
    """The login page in the style of the admin."""

    template_name = "login/page.html"
    authentication_form = LoginForm

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.too_many:
            response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = admin.site.each_context(self.request)
        return {
            **frame,
            **super().get_context_data(**kwargs),
            "title": _("Log in"),
            "app_path": self.request.get_full_path(),
            "username": self.request.user.get_username(),
            # There is nothing to return to before the login.
            "site_url": None,
        }
