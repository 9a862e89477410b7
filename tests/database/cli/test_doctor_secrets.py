"""The doctor names tokens that end soon and OLTs left with the community that everybody knows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from facho.apps.db import sql
from facho.apps.db.fields import SecretText
from facho.apps.hosts.credentials import Credentials
from facho.apps.notifications.models import NotificationChannel
from facho.cli.doctor.database import (
    CHECKS,
    check_communities,
    check_credentials,
    check_database_clock,
    check_tokens,
)
from facho.config import Config
from facho.core.roles import Role
from facho.engine.commands.tokens import create_token, revoke_tokens
from facho.snmp.usm import User
from tests.api_clients import person
from tests.factories import at, make_olt

pytestmark = pytest.mark.django_db
NOW = at("10:00")


def test_tokens_that_end_within_two_weeks_are_named() -> None:
    ana, gone = person(Role.OPERATOR, "ana"), person(Role.OPERATOR, "gone")
    for owner, name, days in ((ana, "soon", 13), (ana, "later", 15), (ana, "old", 12), (gone, "soon", 5)):
        create_token(owner, name, "viewer", NOW, expires_at=NOW + timedelta(days=days))
    revoke_tokens([token.pk for token in ana.api_tokens.filter(name="old")], NOW)
    gone.is_active = False
    gone.save()
    found = check_tokens(NOW, Config())
    ends = NOW + timedelta(days=13)
    assert (found.level, found.told) == (
        "warning",
        f"1 end within 14 days: soon of ana ({ends:%Y-%m-%d})",
    )
    # Those that have ended are not about to.
    assert check_tokens(NOW + timedelta(days=16), Config()).level == "ok"


def test_olts_with_the_community_that_everybody_knows_are_named_and_no_other_secret_is() -> None:
    make_olt("b-public", credentials=Credentials(community="public"))
    make_olt("a-public", credentials=Credentials(community="public"), enabled=False)
    make_olt("secret", credentials=Credentials(community="very-secret"))
    make_olt("v3", credentials=Credentials(user=User("public")))
    make_olt("going", credentials=Credentials(community="public"), removed_at=NOW)
    found = check_communities(NOW, Config())
    assert (found.level, found.told) == ("warning", "2 OLTs have 'public': a-public, b-public")


def test_without_such_olts_all_is_well_also_where_no_key_opens_the_credentials() -> None:
    make_olt("lost", credentials=Credentials(community="very-secret"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE olts SET credentials = 'gAAAAAnothing'")
    assert check_communities(NOW, Config()).level == "ok"


def test_secrets_of_another_row_are_to_be_entered_again_and_no_key_is_asked_for() -> None:
    one, two = make_olt("olt-1"), make_olt("olt-2")
    assert check_credentials(NOW, Config()).level == "ok"
    swap = "UPDATE olts SET credentials = (SELECT credentials FROM olts WHERE id = %s) WHERE id = %s"
    sql.execute(swap, [one.pk, two.pk])
    found = check_credentials(NOW, Config())
    assert (found.level, found.told) == ("error", "those of 1 were not encrypted for their row: olt-2")
    assert found.do == "enter them again"


def test_each_secret_that_cannot_be_opened_has_its_own_advice() -> None:
    one, two = make_olt("olt-1"), make_olt("olt-2")
    swap = "UPDATE olts SET credentials = (SELECT credentials FROM olts WHERE id = %s) WHERE id = %s"
    sql.execute(swap, [one.pk, two.pk])
    channel = NotificationChannel(name="noc")
    channel.url = SecretText("json://noc.example")
    channel.save()
    sql.execute("UPDATE notification_channels SET url = 'gAAAAAnothing'", [])
    found = check_credentials(NOW, Config())
    assert "no key here decrypts those of 1: channel noc; those of 1 were not" in found.told
    assert found.do == "put the old key back, or enter them again; enter those of olt-2 again"


def test_the_clock_of_the_database_agrees_with_that_of_its_own_machine() -> None:
    assert check_database_clock(NOW, Config()).level == "ok"


def test_the_doctor_looks_at_all_of_it() -> None:
    assert {check_database_clock, check_communities, check_tokens} <= set(CHECKS)
