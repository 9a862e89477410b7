"""People's accounts: each has one role, and there is always somebody who may give them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from facho.apps.access.selectors import administrators, role_of, role_of_account
from facho.apps.access.store import forget_attempts
from facho.core.roles import OF_PEOPLE, Role, role_named
from facho.engine.commands.checks import line_of, name_of, no_such
from facho.engine.commands.errors import CommandError
from facho.engine.process.command_transaction import command
from facho.masking import know

_BYTES_OF_A_PASSWORD: Final = 12
_LONGEST_OF_A_PERSON: Final = 150


@dataclass(frozen=True, slots=True)
class NewUser:
    user: User
    # As it was given, or as it was made up: then it is kept nowhere else.
    password: str


@command
def add_user(name: str, role: str, password: str | None = None) -> NewUser:
    """Without a password one is made up."""
    user = User(username=_free_name(name))
    wanted = _role(role)
    password = _set_password(user, password)
    user.save()
    _give(user, wanted)
    return NewUser(user, password)


@command
def set_role(user: User, role: str) -> None:
    """What an account may do changes at once; who is logged in has to log in again."""
    wanted = _role(role)
    if wanted is role_of_account(user):
        return
    if wanted is not Role.ADMINISTRATOR:
        _keep_an_administrator(user, "role")
    _give(user, wanted)


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
            found[column] = line_of(text, column, longest=_LONGEST_OF_A_PERSON)
    if changes.email is not None:
        found["email"] = _email_of(changes.email)
    for column, value in found.items():
        setattr(user, column, value)
    if found:
        user.save(update_fields=list(found))


@command
def set_password(user: User, password: str | None = None) -> str:
    password = _set_password(user, password)
    user.save(update_fields=["password"])
    # Who guessed at the old one keeps nobody out any more.
    forget_attempts(user.username)
    return password


@command
def set_users_enabled(users: list[User], *, enabled: bool) -> None:
    """Who is disabled is logged out, and so are the programs with their tokens."""
    for user in users:
        if not enabled:
            _keep_an_administrator(user, "is_active")
        user.is_active = enabled
        user.save(update_fields=["is_active"])


@command
def remove_users(users: list[User]) -> None:
    """With their tokens."""
    for user in users:
        _keep_an_administrator(user, "name")
        user.delete()


def user_named(name: str, field: str = "name") -> User:
    found = User.objects.filter(username=name).first()
    if found is None:
        known = User.objects.values_list("username", flat=True)
        raise CommandError(field, no_such(_("user"), name, known))
    return found


def _email_of(text: str) -> str:
    email = line_of(text, "email", longest=254)
    try:
        if email:
            validate_email(email)
    except ValidationError as error:
        raise CommandError("email", " ".join(error.messages)) from None
    return email


def _free_name(name: str, own: int | None = None) -> str:
    name = User.normalize_username(name_of(name))
    try:
        User._meta.get_field("username").run_validators(name)
    except ValidationError as error:
        raise CommandError("name", " ".join(error.messages)) from None
    # In another case it would be taken for the same.
    if User.objects.filter(username__iexact=name).exclude(pk=own or 0).exists():
        raise CommandError("name", _("there is a user named '%(name)s' already") % {"name": name})
    return name


def _role(slug: str) -> Role:
    role = role_named(slug)
    if role not in OF_PEOPLE:
        said = {"role": slug, "roles": ", ".join(each.slug for each in OF_PEOPLE)}
        raise CommandError("role", _("'%(role)s' is none of %(roles)s") % said)
    return role


def _set_password(user: User, password: str | None) -> str:
    if password is None:
        password = secrets.token_urlsafe(_BYTES_OF_A_PASSWORD)
        know(password)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError("password", " ".join(error.messages)) from None
    user.set_password(password)
    return password


def _give(user: User, role: Role) -> None:
    user.groups.set([Group.objects.get(name=role.slug)])
    # Its frame shows some things to staff only; what is on them is asked for by role.
    user.is_staff, user.is_superuser = True, False
    user.save(update_fields=["is_staff", "is_superuser"])
    user.__dict__.pop("_facho_role", None)


def _keep_an_administrator(user: User, field: str) -> None:
    if role_of(user) is Role.ADMINISTRATOR and not administrators().exclude(id=user.pk).exists():
        said = {"name": user.username}
        raise CommandError(field, _("%(name)s is the last administrator: make another one first") % said)
