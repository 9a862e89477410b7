"""`facho user` and `facho token`, as a person and as a script see them."""

from __future__ import annotations

import pytest

from tests.integration.own_facho import new_facho


def test_a_user_and_a_token_are_made_listed_and_taken_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    facho = new_facho(tmp_path_factory)
    made = facho.run("user", "add", "ana", "--role", "operator", "--ask", given="a-long-password-7\n")
    assert (made.returncode, made.stdout) == (0, "Added ana, operator.\n")
    token = facho.told("token", "add", "p8s", "--user", "ana", "--role", "metrics", "--for", "30d")
    assert (token["role"], token["state"], token["token"][:8]) == ("metrics", "valid", token["begins"])
    assert facho.refuses("token", "add", "x", "--user", "ana", "--role", "administrator") == (
        "Error: --role: a token of ana can be operator at most"
    )
    assert facho.does("token", "revoke", "p8s", "--user", "ana") == "Revoked p8s of ana.\n"
    assert facho.refuses("user", "disable", "anna") == (
        "Error: NAME: there is no user named 'anna'; did you mean ana?"
    )
    assert [row["state"] for row in facho.told("token", "list")] == ["revoked"]
