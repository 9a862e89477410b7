"""Clients of the API, each with a token of a role."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone
from rest_framework.test import APIClient

from facho.apps.access.models import ApiToken
from facho.apps.access.selectors import digest_of
from facho.core.roles import Role


def person(role: Role, name: str = "") -> User:
    user = User.objects.create_user(username=name or f"{role.slug}-{secrets.token_hex(4)}")
    user.groups.add(Group.objects.get(name=role.slug))
    return user


def token_of(owner: User, role: Role, *, expires_in: timedelta = timedelta(days=1)) -> str:
    secret = f"fd_{secrets.token_urlsafe(32)}"
    now = timezone.now()
    ApiToken.objects.create(
        owner=owner,
        name=secret[:12],
        role=role.slug,
        begins=secret[:8],
        digest=digest_of(secret),
        created_at=now,
        expires_at=now + expires_in,
    )
    return secret


def asking(role: Role) -> APIClient:
    """A program with a token of this role."""
    return showing(token_of(person(max(role, Role.VIEWER)), role))


def showing(secret: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def logged_in(user: User) -> APIClient:
    """A person in a browser."""
    client = APIClient()
    client.force_login(user)
    return client


def refused_at(answer: Any) -> dict[str, str]:
    """The fields that a problem blames, and what it says of each."""
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    return {error["field"]: error["message"] for error in answer.json()["errors"]}
