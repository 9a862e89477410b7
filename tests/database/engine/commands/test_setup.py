"""A database is made ready for use, as often as one likes."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate, get_user_model

from facho.apps.hosts.models import Brand, Oid
from facho.engine.commands.setup import create_administrator, prepare
from facho.engine.upkeep.schema import missing_migrations
from facho.vendors import builtin


@pytest.mark.django_db(transaction=True)
def test_it_knows_what_the_profiles_know_and_doing_it_again_changes_nothing() -> None:
    prepare()
    assert missing_migrations() == []
    assert set(Brand.objects.values_list("name", flat=True)) == set(builtin())
    assert Oid.objects.filter(brand__name="huawei", provides="serial").exists()
    again = prepare()
    assert (again.created, again.updated, again.removed) == (0, 0, 0)


@pytest.mark.django_db
def test_the_first_administrator_gets_a_password_that_is_told_once() -> None:
    password = create_administrator("admin")
    assert password is not None
    user = authenticate(username="admin", password=password)
    assert user is not None
    assert user.is_superuser
    assert create_administrator("other") is None
    assert get_user_model()._default_manager.count() == 1
