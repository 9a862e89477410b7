"""Who gets in: not who guesses, and nobody for longer than account, role and password are what they were."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from facho.apps.access.models import LoginAddress, LoginAttempt
from facho.config import current
from facho.core.roles import Role
from facho.engine.commands.users import set_password, set_role, set_users_enabled
from facho.web.login import views
from tests.api_clients import person
from tests.factories import at

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("english")]

LOGIN = "/admin/login/"
BOARD = "/coordinator/dashboard/"
PASSWORD = "a-long-password-7"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def is_at(text: str) -> None:
        monkeypatch.setattr(views, "database_now", lambda: at(text))

    is_at("10:00")
    return is_at


@pytest.fixture
def ana() -> User:
    user = person(Role.VIEWER, "ana")
    user.set_password(PASSWORD)
    user.save()
    return user


def log_in(name: str, password: str, address: str = "10.0.0.1", **headers: str) -> Any:
    given = {"username": name, "password": password}
    english = {"accept-language": "en", **headers}
    return Client().post(LOGIN, given, REMOTE_ADDR=address, headers=english)


def said(answer: Any) -> list[str]:
    return list(answer.context["form"].non_field_errors())


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["ana", "nobody-has-this-name"])
def test_an_account_that_is_guessed_at_is_closed_for_a_while_whether_it_exists_or_not(
    ana: User, clock: Callable[[str], None], name: str
) -> None:
    for number in range(10):
        answer = log_in(name, "wrong", f"10.0.0.{number}")
        assert (answer.status_code, len(said(answer))) == (200, 1)
    clock("10:05")
    refused = log_in(name, PASSWORD)
    assert (refused.status_code, said(refused)) == (429, ["Too many attempts failed. Try again at 10:16."])
    # What is refused does not keep it closed for longer.
    assert LoginAttempt.objects.count() == 10
    clock("10:16")
    assert log_in(name, PASSWORD).status_code == (302 if name == "ana" else 200)


def test_a_log_in_that_succeeds_clears_what_failed_from_its_address_alone(
    ana: User, clock: Callable[[str], None]
) -> None:
    for _round in range(3):
        for _number in range(4):
            assert log_in("Ana ", "wrong", "10.0.0.1").status_code == 200
        assert log_in("ana", PASSWORD, "10.0.0.1").status_code == 302
    assert not LoginAttempt.objects.exists()
    # Guesses from elsewhere are not forgotten because the owner came meanwhile.
    for number in range(10):
        log_in("ana", "wrong", f"10.0.1.{number}")
    assert log_in("ana", PASSWORD, "10.0.0.1").status_code == 302
    assert log_in("ana", PASSWORD, "10.0.1.99").status_code == 429


@pytest.mark.both_databases
def test_guesses_from_elsewhere_do_not_keep_out_the_address_that_logged_in_lately(
    ana: User, clock: Callable[[str], None]
) -> None:
    home = "10.0.0.1"
    assert log_in("ana", PASSWORD, home).status_code == 302
    for number in range(10):
        log_in("ana", "wrong", f"10.0.1.{number}")
    # Who guesses is refused, from any address; the owner at home is not, whichever way the name is written.
    assert log_in("ana", PASSWORD, "10.0.1.77").status_code == 429
    assert log_in("Ana ", "wrong", home).status_code == 200
    assert log_in("ana", PASSWORD, home).status_code == 302
    # It is known for this account only.
    for number in range(10):
        log_in("nobody-has-this-name", "wrong", f"10.0.1.{number}")
    assert log_in("nobody-has-this-name", PASSWORD, home).status_code == 429


def test_a_known_address_has_a_count_of_its_own_which_closes_nobody_else_out(
    ana: User, clock: Callable[[str], None]
) -> None:
    home = "10.0.0.1"
    log_in("ana", PASSWORD, home)
    for _number in range(10):
        assert log_in("ana", "wrong", home).status_code == 200
    assert log_in("ana", PASSWORD, home).status_code == 429
    assert log_in("ana", PASSWORD, "10.0.0.2").status_code == 302
    clock("10:16")
    assert log_in("ana", PASSWORD, home).status_code == 302


def test_an_address_is_not_known_for_ever(ana: User, clock: Callable[[str], None]) -> None:
    home = "10.0.0.1"
    log_in("ana", PASSWORD, home)
    LoginAddress.objects.update(at=at("10:00") - current().login_known_for)
    for number in range(10):
        log_in("ana", "wrong", f"10.0.1.{number}")
    assert log_in("ana", PASSWORD, home).status_code == 429


def test_an_address_that_only_failed_is_not_known(ana: User, clock: Callable[[str], None]) -> None:
    log_in("ana", "wrong", "10.0.0.1")
    disable(ana)
    log_in("ana", PASSWORD, "10.0.0.1")
    assert not LoginAddress.objects.exists()


def test_an_address_that_guesses_at_many_is_refused_and_others_are_not(
    ana: User, clock: Callable[[str], None]
) -> None:
    for number in range(30):
        log_in(f"name-{number}", "wrong", "2001:db8::1")
    assert log_in("ana", PASSWORD, "2001:db8::2").status_code == 429
    # Whom nobody trusts is not believed that it is somebody else.
    forged = {"x-forwarded-for": "192.0.2.1"}
    assert log_in("ana", PASSWORD, "2001:db8::2", **forged).status_code == 429
    assert log_in("ana", PASSWORD, "10.0.0.1").status_code == 302


def test_a_new_password_opens_an_account_that_was_closed(ana: User, clock: Callable[[str], None]) -> None:
    for number in range(10):
        log_in("ana", "wrong", f"10.0.0.{number}")
    assert log_in("ana", set_password(ana)).status_code == 302


def test_the_log_has_neither_the_password_nor_the_name_that_was_typed(
    ana: User, clock: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    log_in("ana", "wrong-secret")
    log_in(PASSWORD, "")
    log_in(PASSWORD, "ana")
    actions = [record.__dict__["action"] for record in caplog.records if "action" in record.__dict__]
    assert actions == ["login_failed", "login_failed"]
    for text in (PASSWORD, "wrong-secret"):
        assert text not in str([record.__dict__ for record in caplog.records])
        assert text not in str(list(LoginAttempt.objects.values()))


def change_password(user: User) -> None:
    set_password(user)


def change_role(user: User) -> None:
    set_role(user, "operator")


def disable(user: User) -> None:
    set_users_enabled([user], enabled=False)


def leave_alone(_user: User) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "status"), [(change_password, 302), (change_role, 302), (disable, 302), (leave_alone, 200)]
)
def test_a_session_ends_with_the_account_the_role_and_the_password(
    client: Client, ana: User, change: Callable[[User], None], status: int
) -> None:
    client.force_login(ana)
    assert client.get(BOARD).status_code == 200
    change(User.objects.get(pk=ana.pk))
    assert client.get(BOARD).status_code == status
    assert client.get("/api/v1/nodes/").status_code == (401 if status == 302 else 200)


def test_an_account_without_a_role_is_told_so(client: Client) -> None:
    client.force_login(User.objects.create_user("new"))
    for page in (BOARD, "/admin/", "/admin/hosts/olt/", "/coordinator/dashboard/live/"):
        answer = client.get(page, headers={"accept-language": "en"})
        assert answer.status_code == 403, page
        assert "This account has no role yet." in answer.content.decode(), page


def test_browsers_are_told_to_load_nothing_from_elsewhere(client: Client) -> None:
    headers = client.get(LOGIN).headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not [part for part in policy if part.startswith("script-src") and "inline" in part]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert "camera=()" in headers["Permissions-Policy"]


def test_with_tls_in_front_nothing_is_left_that_django_would_warn_of(tmp_path: Path) -> None:
    program = """
import django, sys
django.setup()
from django.conf import settings
from django.core.management import call_command
call_command("check", deploy=True, fail_level="WARNING")
print(settings.CSRF_TRUSTED_ORIGINS)
"""
    environment = {
        **os.environ,
        "FACHO_HOME": str(tmp_path),
        "FACHO_TLS": "yes",
        "FACHO_TRUSTED_PROXIES": "127.0.0.1",
        "FACHO_ALLOWED_HOSTS": "facho.example.net,.example.org,*",
        "DJANGO_SETTINGS_MODULE": "facho.settings",
    }
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['https://facho.example.net', 'https://*.example.org']"


def test_who_is_logged_in_for_too_long_is_not_any_more(client: Client, ana: User) -> None:
    client.force_login(ana)
    age = client.session.get_expiry_date() - datetime.now(tz=at("10:00").tzinfo)
    assert timedelta(days=6, hours=23) < age <= timedelta(days=7)
