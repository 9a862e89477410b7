"""Users, each with one role. Django's groups and permissions are not shown."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectWidget

from facho.apps.access.models import RoleName
from facho.apps.access.selectors import role_of_account, time_zone_of
from facho.core.roles import OF_PEOPLE, Role
from facho.engine.commands import users as commands
from facho.web.admin.base import RemovableAdmin, SwitchableAdmin, site
from facho.web.admin.columns import display
from facho.web.preferences.views import zone_choices

if TYPE_CHECKING:

    class _Users(SwitchableAdmin[User], RemovableAdmin[User]):
        pass
else:

    class _Users(SwitchableAdmin, RemovableAdmin, UserAdmin):
        pass


site.unregister([User, Group])

_ROLES = [(role.slug, RoleName(role.slug).label) for role in OF_PEOPLE]
_ROLE_COLOURS = {
    Role.VIEWER.slug: "default",
    Role.OPERATOR.slug: "info",
    Role.ADMINISTRATOR.slug: "warning",
    "": "danger",
}


def _role_field() -> forms.ChoiceField:
    return forms.ChoiceField(label=_("Role"), choices=_ROLES, widget=UnfoldAdminSelectWidget)


class NewUserForm(UserCreationForm):  # type: ignore[misc]  # unfold has no types
    role = _role_field()

    class Meta:
        model = User
        fields = ("username",)


class UserForm(UserChangeForm):  # type: ignore[misc]  # unfold has no types
    role = _role_field()
    time_zone = forms.ChoiceField(
        label=capfirst(_("time zone")), required=False, widget=UnfoldAdminSelectWidget
    )

    class Meta:
        model = User
        fields = ("username", "first_name", "last_name", "email", "is_active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        role = role_of_account(kwargs["instance"]) if kwargs.get("instance") else None
        written = {"role": role.slug} if role is not None else {}
        if kwargs.get("instance"):
            written["time_zone"] = time_zone_of(kwargs["instance"])
        super().__init__(*args, **{**kwargs, "initial": {**written, **(kwargs.get("initial") or {})}})
        if "time_zone" in self.fields:
            self.fields["time_zone"].choices = zone_choices(now())


# Fields of the form, and what the command calls them.
_TEXTS = {"username": "name", "first_name": "first_name", "last_name": "last_name", "email": "email"}


class PasswordForm(AdminPasswordChangeForm):  # type: ignore[misc]  # unfold has no types
    """The form of a new user, who always has a password."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.fields.pop("usable_password", None)

    def save(self, commit: bool = True) -> User:  # noqa: ARG002
        commands.set_password(self.user, self.cleaned_data["password1"])
        found: User = self.user
        return found


@admin.register(User)
class FachoUserAdmin(_Users):
    right_to_enable = "change"
    form = UserForm
    add_form = NewUserForm
    change_password_form = PasswordForm
    fields_of_commands = MappingProxyType({"name": "username", "password": "password1"})
    list_display = ("username", "role", "email", "is_active", "last_login")
    list_filter = ("is_active", "groups")
    search_fields = ("username", "first_name", "last_name", "email")
    ordering = ("username",)
    actions = ("enable", "disable", "remove")
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined")
    add_fieldsets = ((None, {"fields": ("username", "role", "password1", "password2")}),)
    fieldsets = (
        (None, {"fields": ("username", "password", "role", "is_active")}),
        (_("Person"), {"fields": (("first_name", "last_name"), "email", "time_zone")}),
        (_("Times"), {"fields": (("last_login", "date_joined"),)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:  # noqa: ARG002
        given = form.cleaned_data
        if not change:
            made = commands.add_user(given["username"], given["role"], given["password1"])
            obj.__dict__.update(made.user.__dict__)
            return
        # Read again, because the form has already changed the other instance.
        user = User.objects.get(pk=obj.pk)
        wanted = {column: given[field] for field, column in _TEXTS.items() if field in form.changed_data}
        commands.update_user(user, commands.UserChanges(**wanted))
        if "role" in form.changed_data:
            commands.set_role(user, given["role"])
        if "time_zone" in form.changed_data:
            commands.set_time_zone(user, given["time_zone"])
        if "is_active" in form.changed_data:
            commands.set_users_enabled([user], enabled=given["is_active"])

    def set_enabled(self, rows: list[User], *, enabled: bool) -> None:
        commands.set_users_enabled(rows, enabled=enabled)

    def remove_rows(self, rows: list[User]) -> None:
        commands.remove_users(rows)

    @display(description=_("role"), label=_ROLE_COLOURS)
    def role(self, user: User) -> tuple[str, Any]:
        role = role_of_account(user)
        return ("", _("none")) if role is None else (role.slug, RoleName(role.slug).label)
