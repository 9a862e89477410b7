"""Who may do what."""

from __future__ import annotations

import pytest

from facho.core.roles import OF_PEOPLE, Role, lowest_role, may, role_named


@pytest.mark.parametrize(
    ("right", "model", "lowest"),
    [
        ("view", "hosts.olt", Role.VIEWER),
        ("run", "snmp_jobs.snmpjobhost", Role.OPERATOR),
        ("enable", "hosts.olt", Role.OPERATOR),
        ("acknowledge", "execution_coordinator.quotaviolation", Role.OPERATOR),
        ("add", "maintenance.maintenancewindow", Role.OPERATOR),
        ("change", "hosts.olt", Role.ADMINISTRATOR),
        ("view", "auth.user", Role.ADMINISTRATOR),
        ("view", "access.auditentry", Role.ADMINISTRATOR),
        ("add", "access.apitoken", Role.VIEWER),
    ],
)
def test_the_lowest_role_that_may(right: str, model: str, lowest: Role) -> None:
    assert lowest_role(right, model) is lowest
    assert [role for role in Role if may(role, right, model)] == [role for role in Role if role >= lowest]


def test_nobody_and_the_reader_of_metrics_may_nothing() -> None:
    for role in (None, Role.METRICS):
        assert not may(role, "view", "hosts.olt")


def test_a_right_that_there_is_not_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        may(Role.ADMINISTRATOR, "frobnicate", "hosts.olt")


def test_roles_by_their_names() -> None:
    assert [role_named(role.slug) for role in Role] == list(Role)
    assert role_named("root") is None
    assert Role.METRICS not in OF_PEOPLE
