"""Tokens: made, shown once, never above their owner, revoked. By commands, in the API and in the admin."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from facho.apps.access.models import ApiToken
from facho.apps.access.selectors import role_of_token, token_shown
from facho.config import current
from facho.core.roles import Role, needs_log_in
from facho.engine.commands.tokens import create_token, revoke_tokens
from facho.web.api.v1.urls import router
from tests.api_clients import asking, logged_in, person, showing, token_of
from tests.factories import at, refused

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.usefixtures("english")]

NOW = at("10:00")
TOKENS = "/api/v1/tokens/"
LIST = "/admin/access/apitoken/"


def make(owner: User, role: str = "viewer", **given: Any) -> str:
    return create_token(owner, given.pop("name", "one"), role, NOW, **given).secret


def test_one_is_good_until_its_end_and_only_its_digest_is_kept() -> None:
    secret = make(person(Role.OPERATOR), "operator")
    token = token_shown(secret, NOW)
    assert token is not None
    assert role_of_token(token) is Role.OPERATOR
    assert token.expires_at == NOW + current().token_lasts
    assert token_shown(secret, token.expires_at) is None
    kept = str(ApiToken.objects.values().get())
    assert secret not in kept
    assert secret[8:] not in kept


def test_one_that_is_revoked_is_refused_and_its_name_is_free() -> None:
    owner = person(Role.VIEWER)
    secret = make(owner)
    assert revoke_tokens([ApiToken.objects.get().id], NOW) == 1
    assert token_shown(secret, NOW) is None
    make(owner)


def test_what_makes_no_sense_is_refused_at_its_field() -> None:
    owner = person(Role.OPERATOR, "ana")
    make(owner)
    with refused("name", "the name 'one' is already taken"):
        make(owner)
    with refused("role", "a token of ana can be operator at most"):
        make(owner, "administrator", name="two")
    with refused("role", "a token of ana can be viewer at most"):
        make(owner, "operator", name="two", asked_by=Role.VIEWER)
    with refused("role", "'root' is not a role"):
        make(owner, "root", name="two")
    with refused("expires_at", "that is in the past"):
        make(owner, name="two", expires_at=NOW)
    with refused("expires_at", "a token is valid for 365 d at most"):
        make(owner, name="two", expires_at=NOW + timedelta(days=366))
    owner.groups.clear()
    with refused("owner", "ana has no role"):
        make(User.objects.get(pk=owner.pk), name="two")


def test_the_api_shows_a_new_one_once_and_revokes_it() -> None:
    client = logged_in(person(Role.OPERATOR))
    answer = client.post(TOKENS, {"name": "report", "role": "viewer"})
    assert (answer.status_code, answer["Cache-Control"]) == (201, "no-store")
    made = answer.json()
    assert showing(made["token"]).get(TOKENS).status_code == 200
    listed = client.get(f"{TOKENS}?state=valid").json()["results"]
    assert [row["name"] for row in listed if row["id"] == made["id"]] == ["report"]
    assert made["token"] not in str(listed)
    assert client.delete(f"{TOKENS}{made['id']}/").status_code == 204
    assert showing(made["token"]).get(TOKENS).status_code == 401
    assert client.get(f"{TOKENS}{made['id']}/").json()["state"] == "revoked"


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.ADMINISTRATOR])
def test_a_token_reads_the_list_but_makes_and_revokes_no_tokens(role: Role) -> None:
    owner = person(Role.ADMINISTRATOR)
    make(owner, "administrator", name="main")
    main = owner.api_tokens.get(name="main")
    client = showing(token_of(owner, role))
    for answer in (
        client.post(TOKENS, {"name": "more", "role": "viewer"}),
        client.delete(f"{TOKENS}{main.pk}/"),
    ):
        assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
        assert "un token no puede administrar tokens ni cuentas" in answer.json()["detail"]
    main.refresh_from_db()
    assert main.revoked_at is None
    assert not owner.api_tokens.filter(name="more").exists()
    assert client.get(TOKENS).status_code == 200


def test_no_view_of_the_api_lets_a_token_change_accounts_or_tokens() -> None:
    changing = [
        (prefix, action)
        for prefix, view, _basename in router.registry
        for action in ("create", "update", "partial_update", "destroy", *getattr(view, "rights", {}))
        if hasattr(view, action) and getattr(view, "about", "").split(".")[0] in ("auth", "access")
    ]
    assert changing == [("tokens", "create"), ("tokens", "destroy")]
    for right in ("add", "change", "delete", "enable", "run", "test"):
        for model in ("auth.user", "auth.group", "access.apitoken", "access.loginattempt"):
            assert needs_log_in(right, model)
    assert not needs_log_in("change", "hosts.olt")


def test_the_description_offers_no_token_for_what_needs_a_log_in() -> None:
    paths = asking(Role.VIEWER).get("/api/v1/schema/", headers={"accept": "application/json"}).json()["paths"]
    ways = {
        method: {name for each in operation["security"] for name in each}
        for path in (TOKENS, f"{TOKENS}{{id}}/")
        for method, operation in paths[path].items()
    }
    assert ways == {
        "get": {"token", "cookieAuth"},
        "post": {"cookieAuth"},
        "delete": {"cookieAuth"},
    }


def test_everybody_has_their_own_and_administrators_see_all() -> None:
    ana, beto = person(Role.VIEWER, "ana"), person(Role.OPERATOR, "beto")
    make(ana)
    make(beto)
    theirs = f"{TOKENS}{beto.api_tokens.get().pk}/"
    as_ana = logged_in(ana)
    assert {row["owner_name"] for row in as_ana.get(TOKENS).json()["results"]} == {"ana"}
    assert as_ana.get(theirs).status_code == 404
    assert as_ana.delete(theirs).status_code == 404
    for_other = {"name": "x", "role": "viewer", "owner": beto.pk}
    assert as_ana.post(TOKENS, for_other).json()["errors"][0]["field"] == "owner"
    administrator = logged_in(person(Role.ADMINISTRATOR))
    assert administrator.post(TOKENS, for_other).json()["owner_name"] == "beto"
    assert administrator.delete(theirs).status_code == 204


def test_the_list_takes_as_many_queries_for_50_as_for_5() -> None:
    counts = []
    client = asking(Role.ADMINISTRATOR)
    for count in (5, 45):
        for _number in range(count):
            token_of(person(Role.VIEWER), Role.VIEWER)
        client.get(TOKENS)
        with CaptureQueriesContext(connection) as queries:
            client.get(TOKENS)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def added(client: Client, **given: str) -> Any:
    until = timezone.now() + timedelta(days=7)
    wanted = {
        "name": "mine",
        "role": "viewer",
        "expires_at_0": f"{until:%Y-%m-%d}",
        "expires_at_1": "10:00",
        **given,
    }
    return client.post(f"{LIST}add/", wanted, headers={"accept-language": "en"})


def test_the_admin_shows_a_new_one_on_the_page_that_made_it_and_on_no_other(client: Client) -> None:
    client.force_login(person(Role.VIEWER, "ana"))
    made = added(client)
    assert "no-store" in made["Cache-Control"]
    secret = made.context["secret"]
    assert secret in made.content.decode()
    assert showing(secret).get(TOKENS).status_code == 200
    token = ApiToken.objects.get()
    assert token.owner.username == "ana"
    for page in (LIST, f"{LIST}{token.pk}/change/"):
        assert secret not in client.get(page).content.decode()
    client.post(LIST, {"action": "revoke", "reason": "lost", "_selected_action": [token.pk]})
    assert showing(secret).get(TOKENS).status_code == 401


def test_the_admin_offers_no_role_above_ones_own_and_takes_none(client: Client) -> None:
    client.force_login(person(Role.OPERATOR))
    form = client.get(f"{LIST}add/").context["adminform"].form
    assert [slug for slug, _label in form.fields["role"].choices] == ["metrics", "viewer", "operator"]
    assert "owner" not in form.fields
    assert list(added(client, role="administrator").context["adminform"].form.errors) == ["role"]
    assert not ApiToken.objects.exists()


def test_in_the_admin_others_see_and_revoke_only_their_own(client: Client) -> None:
    beto = person(Role.OPERATOR, "beto")
    make(beto)
    client.force_login(person(Role.VIEWER))
    theirs = beto.api_tokens.get()
    assert client.get(LIST).context["cl"].result_count == 0
    client.post(LIST, {"action": "revoke", "reason": "lost", "_selected_action": [theirs.pk]})
    theirs.refresh_from_db()
    assert theirs.revoked_at is None
    client.force_login(person(Role.ADMINISTRATOR))
    assert added(client, owner=str(beto.pk)).context["token"].owner == beto
