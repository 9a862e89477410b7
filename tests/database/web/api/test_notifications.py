"""Channels and rules through the API: who is told what; the addresses are never shown."""

from __future__ import annotations

import pytest

from facho.apps.notifications.models import NotificationChannel, NotificationRule
from facho.core.roles import Role
from tests.api_clients import asking, refused_at
from tests.database.notification_receivers import CONFIG
from tests.database.receivers import web_receiver
from tests.factories import add_olts

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.usefixtures("brands", "local_targets"),
]

CHANNELS = "/api/v1/notification-channels/"
RULES = "/api/v1/notification-rules/"
URL = "json://user:the-secret@127.0.0.1/hook"


def test_a_channel_is_made_and_its_address_is_never_shown() -> None:
    client = asking(Role.ADMINISTRATOR)
    made = client.post(CHANNELS, {"name": "noc", "url": URL, "language": "es"})
    assert made.status_code == 201
    path = f"{CHANNELS}{made.json()['id']}/"
    changed = client.patch(path, {"enabled": False, "name": "noc 2"})
    assert (changed.json()["name"], changed.json()["enabled"], changed.json()["language"]) == (
        "noc 2", False, "es",
    )  # fmt: skip
    for answer in (made, changed, client.get(path), client.get(CHANNELS)):
        assert "the-secret" not in answer.content.decode()
    assert NotificationChannel.objects.get().url.open() == URL
    assert refused_at(client.patch(path, {"url": "nothing", "enabled": True})).keys() == {"url"}
    assert not NotificationChannel.objects.get().enabled
    assert asking(Role.OPERATOR).patch(path, {"enabled": True}).status_code == 403


def test_a_rule_is_made_changed_and_removed() -> None:
    client = asking(Role.ADMINISTRATOR)
    (olt,) = add_olts("north")
    channel = client.post(CHANNELS, {"name": "noc", "url": URL}).json()["id"]
    given = {
        "name": "down", "channels": [channel], "notices": ["OLT_DOWN"], "olt": olt.id,
        "silent_from": "22:00", "silent_to": "06:00", "no_repeat_s": 0,
    }  # fmt: skip
    rule = client.post(RULES, given).json()
    assert (rule["olt_name"], rule["channels"], rule["silent_from"], rule["no_repeat_s"]) == (
        "north", [channel], "22:00:00", 0,
    )  # fmt: skip
    path = f"{RULES}{rule['id']}/"
    assert client.get(f"{RULES}?channel={channel}").json()["results"] == [rule]
    # More than a database has room for.
    assert refused_at(client.get(f"{RULES}?channel={2**64}")).keys() == {"channel"}
    changed = client.patch(path, {"silent_from": None, "silent_to": None, "olt": None}).json()
    assert (changed["silent_from"], changed["olt"], changed["notices"]) == (None, None, ["OLT_DOWN"])
    assert refused_at(client.patch(path, {"silent_from": "22:00"})).keys() == {"silent_to"}
    wrong = {"channels": [], "notices": ["RAIN"], "colour": 1}
    assert refused_at(client.patch(path, wrong)).keys() == {"channels", "notices.0", "colour"}
    # The only channel of a rule stays with it.
    assert refused_at(client.delete(f"{CHANNELS}{channel}/")).keys() == {"channel"}
    assert client.delete(path).status_code == 204
    assert not NotificationRule.objects.exists()
    assert client.delete(f"{CHANNELS}{channel}/").status_code == 204


def test_an_address_is_tested_before_it_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facho.web.api.v1.notifications.current", lambda: CONFIG)
    client = asking(Role.ADMINISTRATOR)
    with web_receiver() as web:
        given = {"service": "webhook", "values": {"url": f"http://127.0.0.1:{web.port}/in"}}
        tried = client.post(f"{CHANNELS}test/", {**given, "name": "noc", "language": "es"})
        assert (tried.status_code, tried.json()["sent"]) == (200, True)
        assert web.got[0]["title"] == "Facho Deluxe: mensaje de prueba"
        assert not NotificationChannel.objects.exists()
        assert client.post(CHANNELS, {"name": "noc", **given, "default_rule": True}).status_code == 201
        assert NotificationRule.objects.get().channels.get().name == "noc"
    bad = {"service": "telegram", "values": {"token": "none", "chat": "1"}}
    assert refused_at(client.post(f"{CHANNELS}test/", bad)).keys() == {"token"}
    assert refused_at(client.post(CHANNELS, {"name": "night"})).keys() == {"url"}
    assert refused_at(client.post(f"{CHANNELS}test/", {**bad, "url": URL})).keys() == {"service"}
    assert asking(Role.OPERATOR).post(f"{CHANNELS}test/", {"url": URL}).status_code == 403
