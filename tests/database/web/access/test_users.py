"""Accounts: one role each, and always an administrator among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.test import Client

from facho.apps.access.selectors import role_of
from facho.cli.token import list_tokens
from facho.cli.user import list_users
from facho.core.roles import Role
from facho.engine.commands.users import (
    add_user,
    remove_users,
    set_password,
    set_role,
    set_users_enabled,
    user_named,
)
from tests.api_clients import person, token_of
from tests.factories import refused

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("english")]

LIST = "/admin/auth/user/"
PASSWORD = "a-long-password-7"


def test_one_is_made_with_a_password_that_is_made_up() -> None:
    made = add_user("ana", "operator")
    assert authenticate(username="ana", password=made.password) == made.user
    assert role_of(user_named("ana")) is Role.OPERATOR
    assert made.password not in made.user.password
    anew = set_password(made.user)
    assert authenticate(username="ana", password=made.password) is None
    assert authenticate(username="ana", password=anew) == made.user


def test_what_makes_no_sense_is_refused_at_its_field() -> None:
    add_user("ana", "viewer")
    with refused("name", "the name 'Ana' is already taken"):
        add_user("Ana", "viewer")
    with refused("name", "Enter a valid username."):
        add_user("ana maria", "viewer")
    with refused("role", "'metrics' is none of viewer, operator, administrator"):
        add_user("beto", "metrics")
    with refused("password", "This password is too short."):
        add_user("beto", "viewer", "abc")
    with refused("name", "there is no user named 'anna'; did you mean ana?"):
        user_named("anna")
    assert User.objects.count() == 1


def test_the_last_administrator_stays() -> None:
    last = person(Role.ADMINISTRATOR, "carla")
    sentence = "carla is the last administrator: create another one first"
    with refused("role", sentence):
        set_role(last, "operator")
    with refused("is_active", sentence):
        set_users_enabled([last], enabled=False)
    with refused("name", sentence):
        remove_users([last])
    other = person(Role.ADMINISTRATOR)
    with refused("is_active", f"{other.username} is the last administrator"):
        set_users_enabled([last, other], enabled=False)
    last.refresh_from_db()
    assert last.is_active
    set_role(last, "viewer")
    assert role_of(user_named("carla")) is Role.VIEWER


def test_a_superuser_that_sinks_is_none_any_more() -> None:
    person(Role.ADMINISTRATOR)
    root = User.objects.create_superuser("root")
    set_role(root, "viewer")
    assert role_of(user_named("root")) is Role.VIEWER
    assert not user_named("root").is_superuser


def test_they_are_listed_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    secret = token_of(person(Role.OPERATOR, "ana"), Role.VIEWER)
    list_users(as_json=True)
    (user,) = json.loads(capsys.readouterr().out)
    assert (user["name"], user["role"], user["enabled"]) == ("ana", "operator", True)
    list_tokens("ana", as_json=True)
    out = capsys.readouterr().out
    (token,) = json.loads(out)
    assert (token["owner"], token["role"], token["state"]) == ("ana", "viewer", "valid")
    assert secret not in out


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(person(Role.ADMINISTRATOR, "carla"))
    return client


def test_the_admin_makes_one_with_a_role(administrator: Client) -> None:
    wanted = {"username": "ana", "role": "operator", "password1": PASSWORD, "password2": PASSWORD}
    refused = administrator.post(f"{LIST}add/", {**wanted, "role": "metrics"})
    assert list(refused.context["adminform"].form.errors) == ["role"]
    assert administrator.post(f"{LIST}add/", wanted).status_code == 302
    assert role_of(user_named("ana")) is Role.OPERATOR
    assert authenticate(username="ana", password=PASSWORD) is not None


def saved(client: Client, user: User, **given: str) -> Any:
    wanted = {"username": user.username, "role": "viewer", "is_active": "on", "email": "", **given}
    return client.post(f"{LIST}{user.pk}/change/", wanted, headers={"accept-language": "en"})


def test_the_admin_changes_a_role_and_keeps_the_last_administrator(administrator: Client) -> None:
    ana, carla = person(Role.VIEWER, "ana"), user_named("carla")
    shown = administrator.get(f"{LIST}{ana.pk}/change/").context["adminform"].form
    assert shown["role"].value() == "viewer"
    assert not {"groups", "user_permissions", "is_staff", "is_superuser"} & set(shown.fields)
    assert saved(administrator, ana, role="operator", email="ana@example.net").status_code == 302
    assert role_of(user_named("ana")) is Role.OPERATOR
    assert user_named("ana").email == "ana@example.net"

    errors = saved(administrator, carla, role="viewer").context["adminform"].form.errors
    assert errors == {"role": ["carla is the last administrator: create another one first"]}
    assert list(saved(administrator, carla, is_active="", role="administrator").context["errors"])
    administrator.post(LIST, {"action": "remove", "reason": "left", "_selected_action": [carla.pk]})
    answer = administrator.post(f"{LIST}{carla.pk}/delete/", {"post": "yes"})
    assert answer["Location"] == f"{LIST}{carla.pk}/change/"
    assert role_of(user_named("carla")) is Role.ADMINISTRATOR
    chosen = {"action": "disable", "reason": "left", "_selected_action": [ana.pk]}
    assert administrator.post(LIST, chosen).status_code == 302
    assert not user_named("ana").is_active
    assert administrator.post(f"{LIST}{ana.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not User.objects.filter(username="ana").exists()
