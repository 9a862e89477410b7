"""Accounts of people. Each has one role, and one administrator always remains."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from facho.apps.access.models import UserPreferences
from facho.apps.access.selectors import administrators, role_of, role_of_account
from facho.apps.access.store import forget_attempts
from facho.core.roles import OF_PEOPLE, Role, role_named
from facho.core.time_zones import zone_named
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_line, check_name, find_named, taken_name, unknown_choice
from facho.engine.process.command_transaction import command
from facho.masking import add_secrets

_PASSWORD_BYTES: Final = 12
_LONGEST_PERSON_NAME: Final = 150


@dataclass(frozen=True, slots=True)
class NewUser:
    user: User
    # As given, or generated; a generated one is stored nowhere.
    password: str


@command
def add_user(name: str, role: str, password: str | None = None) -> NewUser:
    """Add an account. Without a password one is generated."""
    user = User(username=_free_name(name))
    wanted = _check_role(role)
    password = _set_password(user, password)
    user.save()
    _assign_role(user, wanted)
    return NewUser(user, password)


@command
def set_role(user: User, role: str) -> None:
    """Change the role at once. Whoever is logged in has to log in again."""
    wanted = _check_role(role)
    if wanted is role_of_account(user):
        return
    if wanted is not Role.ADMINISTRATOR:
        _refuse_last_administrator(user, "role")
    _assign_role(user, wanted)


@dataclass(frozen=True, slots=True)
class UserChanges:
    """Changes of a user. A field that is None stays as it is."""

    name: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None


@command
def update_user(user: User, changes: UserChanges) -> None:
    """Change the name that somebody logs in with, and how they are called and written to."""
    found: dict[str, str] = {}
    if changes.name is not None and changes.name.strip() != user.username:
        found["username"] = _free_name(changes.name, user.pk)
    for column in ("first_name", "last_name"):
        if (text := getattr(changes, column)) is not None:
            found[column] = check_line(text, column, longest=_LONGEST_PERSON_NAME)
    if changes.email is not None:
        found["email"] = _check_email(changes.email)
    for column, value in found.items():
        setattr(user, column, value)
    if found:
        user.save(update_fields=list(found))


@command
def set_password(user: User, password: str | None = None) -> str:
    password = _set_password(user, password)
    user.save(update_fields=["password"])
    # Failed attempts with the old password must not lock the account any more.
    forget_attempts(user.username)
    return password


@command
def set_time_zone(user: User, name: str) -> None:
    """Show the pages to a user in that time zone; without a name, in the operator's."""
    name = name.strip()
    if name and zone_named(name) is None:
        raise CommandError(
            "time_zone", _("'%(name)s' is no time zone; an example is America/Santiago") % {"name": name[:64]}
        )
    preferences = UserPreferences.objects.filter(user=user).first() or UserPreferences(user=user)
    if preferences.time_zone != name:
        preferences.time_zone = name
        preferences.save()
    user.__dict__.pop("_facho_time_zone", None)


@command
def set_users_enabled(users: list[User], *, enabled: bool) -> None:
    """Enable or disable accounts. A disabled one is logged out, and its tokens are refused."""
    for user in users:
        if not enabled:
            _refuse_last_administrator(user, "is_active")
        user.is_active = enabled
        user.save(update_fields=["is_active"])


@command
def remove_users(users: list[User]) -> None:
    """Remove accounts with their tokens."""
    for user in users:
        _refuse_last_administrator(user, "name")
        user.delete()


def user_named(name: str, field: str = "name") -> User:
    return find_named(User.objects.all(), name, _("user"), field, column="username")


def _check_email(text: str) -> str:
    email = check_line(text, "email", longest=254)
    try:
        if email:
            validate_email(email)
    except ValidationError as error:
        raise CommandError("email", " ".join(error.messages)) from None
    return email


def _free_name(name: str, own: int | None = None) -> str:
    name = User.normalize_username(check_name(name))
    try:
        User._meta.get_field("username").run_validators(name)
    except ValidationError as error:
        raise CommandError("name", " ".join(error.messages)) from None
    # Names that differ in upper and lower case only would be confused.
    if User.objects.filter(username__iexact=name).exclude(pk=own or 0).exists():
        raise taken_name(name)
    return name


def _check_role(slug: str) -> Role:
    role = role_named(slug)
    if role not in OF_PEOPLE:
        raise unknown_choice(slug, [each.slug for each in OF_PEOPLE], "role")
    return role


def _set_password(user: User, password: str | None) -> str:
    if password is None:
        password = secrets.token_urlsafe(_PASSWORD_BYTES)
        add_secrets(password)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError("password", " ".join(error.messages)) from None
    user.set_password(password)
    return password


def _assign_role(user: User, role: Role) -> None:
    user.groups.set([Group.objects.get(name=role.slug)])
    # The admin site is for staff only; what each page allows depends on the role.
    user.is_staff, user.is_superuser = True, False
    user.save(update_fields=["is_staff", "is_superuser"])
    user.__dict__.pop("_facho_role", None)


def _refuse_last_administrator(user: User, field: str) -> None:
    if role_of(user) is Role.ADMINISTRATOR and not administrators().exclude(id=user.pk).exists():
        name = {"name": user.username}
        raise CommandError(field, _("%(name)s is the last administrator: create another one first") % name)
