"""Users and groups, in the same dress as the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from facho.web.admin.base import site

if TYPE_CHECKING:
    _Users = UserAdmin[User]
    _Groups = GroupAdmin
else:

    class _Users(UserAdmin, ModelAdmin):
        pass

    class _Groups(GroupAdmin, ModelAdmin):
        pass


site.unregister([User, Group])


@admin.register(User)
class FachoUserAdmin(_Users):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class FachoGroupAdmin(_Groups):
    pass
