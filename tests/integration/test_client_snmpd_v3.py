"""The client as an SNMPv3 user of a real net-snmp agent: all its protocols, all its refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from facho.snmp import Agent, Client, Oid, Target, Value, Version, WalkResult
from facho.snmp.errors import AgentRefused, NoAnswer, SnmpError, UnknownUser, UnsupportedLevel, WrongDigest
from facho.snmp.usm import Auth, Priv, User
from tests.services import snmpd as service
from tests.services.snmpd import Snmpd

SYS_DESCR = Oid.parse("1.3.6.1.2.1.1.1.0")
AUTHS = {auth.label: auth for auth in Auth}
PRIVS = {priv.label: priv for priv in Priv}
SIGNER = User("sha-256", Auth.SHA256, service.AUTH_PASSWORD)
HIDER = User("sha-256-aes", Auth.SHA256, service.AUTH_PASSWORD, Priv.AES128, service.PRIV_PASSWORD)

T = TypeVar("T")


def known_users() -> list[User]:
    users = [User(service.GUEST)]
    for auth in service.AUTHS:
        users.append(User(auth.lower(), AUTHS[auth], service.AUTH_PASSWORD))
        users += [
            User(
                f"{auth}-{priv}".lower(),
                AUTHS[auth],
                service.AUTH_PASSWORD,
                PRIVS[priv],
                service.PRIV_PASSWORD,
            )
            for priv in service.PRIVS
        ]
    return users


def target(snmpd: Snmpd, user: User, *, host: str = "", timeout: float = 3.0) -> Target:
    return Target(host or snmpd.host, port=snmpd.port, version=Version.V3, timeout=timeout, user=user)


def converse(target: Target, conversation: Callable[[Agent], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Client() as client:
            outcome = await conversation(await client.agent(target))
            assert client.pending == 0
            return outcome

    return asyncio.run(run())


def named(result: WalkResult) -> list[tuple[Oid, Value]]:
    columns = result.columns.values()
    return [
        (Oid(each.oid.content + suffix), value) for each in columns for suffix, value in each.rows.items()
    ]


def promised(snmpd: Snmpd) -> list[tuple[Oid, Value]]:
    return [(Oid.parse(oid), value) for oid, value in snmpd.values.items()]


@pytest.mark.parametrize("user", known_users(), ids=lambda user: user.name)
def test_a_user_reads_exactly_what_the_agent_has(snmpd: Snmpd, user: User) -> None:
    wanted = dict(promised(snmpd)[::100])

    async def conversation(agent: Agent) -> None:
        walked = await agent.walk(Oid.parse(snmpd.table))
        assert walked.reason is None
        assert named(walked) == promised(snmpd)
        got = await agent.get_many([SYS_DESCR, *wanted])
        assert got.complete
        assert got.values == {SYS_DESCR: snmpd.sys_descr.encode(), **wanted}
        assert agent.dropped.untrusted == 0

    converse(target(snmpd, user), conversation)


def test_a_user_reads_over_ipv6(snmpd: Snmpd) -> None:
    if snmpd.host6 is None:
        pytest.skip("no IPv6 here")
    asked = target(snmpd, HIDER, host=snmpd.host6)
    assert named(converse(asked, lambda agent: agent.walk(Oid.parse(snmpd.table)))) == promised(snmpd)


def test_the_engine_is_asked_who_it_is_only_once(snmpd: Snmpd) -> None:
    async def conversation(agent: Agent) -> list[int]:
        return [(await agent.get_many([SYS_DESCR])).load.requests for _ in range(3)]

    assert converse(target(snmpd, HIDER), conversation) == [2, 1, 1]


def test_users_and_communities_share_an_agent(snmpd: Snmpd) -> None:
    targets = [target(snmpd, user) for user in (HIDER, SIGNER, User(service.GUEST))]
    targets.append(Target(snmpd.host, snmpd.community, snmpd.port))

    async def run() -> list[WalkResult]:
        async with Client() as client:
            agents = [await client.agent(each) for each in targets]
            return await asyncio.gather(*(agent.walk(Oid.parse(snmpd.table)) for agent in agents))

    assert [named(result) for result in asyncio.run(run())] == [promised(snmpd)] * 4


REFUSALS: dict[str, tuple[User, type[SnmpError], str]] = {
    "no such user": (replace(HIDER, name="nobody"), UnknownUser, "does not know this SNMPv3 user"),
    "no such guest": (User("nobody"), UnknownUser, "does not know this SNMPv3 user"),
    "wrong authentication password": (
        replace(HIDER, auth_password="wr0ng-password"),
        WrongDigest,
        "check the authentication password and protocol",
    ),
    "wrong authentication protocol": (
        replace(HIDER, auth=Auth.SHA1),
        WrongDigest,
        "check the authentication password and protocol",
    ),
    "encrypts where only signing is known": (
        replace(HIDER, name=SIGNER.name),
        UnsupportedLevel,
        "does not offer this security level",
    ),
    "signs where encryption is due": (
        replace(HIDER, priv=None),
        AgentRefused,
        "authorizationError: these credentials may not read it",
    ),
    "does not even sign": (User(HIDER.name), AgentRefused, "these credentials may not read it"),
    # net-snmp says nothing about these.
    "wrong privacy password": (
        replace(HIDER, priv_password="wr0ng-password"),
        NoAnswer,
        "or the privacy password or protocol is not what it expects",
    ),
    "wrong privacy protocol": (
        replace(HIDER, priv=Priv.DES),
        NoAnswer,
        "or the privacy password or protocol is not what it expects",
    ),
    "a key stretched as Cisco does": (
        User("md5-aes-256", Auth.MD5, service.AUTH_PASSWORD, Priv.AES256C, service.PRIV_PASSWORD),
        NoAnswer,
        "or the privacy password or protocol is not what it expects",
    ),
    "no such context": (replace(SIGNER, context="vrf-99"), NoAnswer, "or it does not have this context"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_who_is_refused_is_told_what_to_check(snmpd: Snmpd, name: str) -> None:
    user, kind, said = REFUSALS[name]

    asked = replace(target(snmpd, user, timeout=0.3 if kind is NoAnswer else 3.0), retries=0)

    async def run() -> None:
        async with Client() as client:
            # Somebody else has found out who the engine is, with all the time that a busy machine needs.
            friend = await client.agent(target(snmpd, SIGNER))
            assert (await friend.get_many([SYS_DESCR])).complete
            agent = await client.agent(asked)
            got = await agent.get_many([SYS_DESCR])
            walked = await agent.walk(Oid.parse(snmpd.table))
        assert (got.complete, got.values, walked.complete, named(walked)) == (False, {}, False, [])
        errors = [error for error in (got.error, *got.failed.values(), *walked.errors) if error]
        assert {type(error) for error in errors} == {kind}
        assert all(said in str(error) for error in errors)
        for secret in (user.auth_password, user.priv_password):
            assert not secret or secret not in "".join(map(repr, errors))

    asyncio.run(run())


def test_a_context_is_asked_for_by_its_name(snmpd: Snmpd) -> None:
    tenant = User(service.TENANT, Auth.SHA256, service.AUTH_PASSWORD, context=service.CONTEXT)
    inside = converse(target(snmpd, tenant), lambda agent: agent.walk(Oid.parse(snmpd.table)))
    assert named(inside) == promised(snmpd)
    outside = target(snmpd, replace(tenant, context=""))
    refused = converse(outside, lambda agent: agent.walk(Oid.parse(snmpd.table)))
    assert [type(error) for error in refused.errors] == [AgentRefused]
    assert named(refused) == []
