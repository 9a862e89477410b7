"""Channels and rules in the admin: addresses go in and never come out, and a test says what came of it."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import time, timedelta
from typing import Any

import pytest
from django.test import Client

from facho.apps.db.fields import SecretText
from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationRule
from facho.config import current
from tests.database.notification_receivers import Receiver, make_channel, make_rule
from tests.factories import make_olt

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
CHANNELS = "/admin/notifications/notificationchannel/"
RULES = "/admin/notifications/notificationrule/"
ADDRESS = "json://user:pass-word-7@noc.example/in"
BUTTON = "notifications_notificationchannel_send_test"
ENGLISH = {"accept-language": "en"}


def post(client: Client, path: str, **given: Any) -> str:
    return client.post(path, given, headers=ENGLISH, follow=True).content.decode()


def test_an_address_is_entered_and_never_shown(admin_client: Client) -> None:
    post(admin_client, f"{CHANNELS}add/", name="noc", enabled="on", language="es", address=ADDRESS)
    channel = NotificationChannel.objects.get()
    assert (channel.name, channel.enabled, channel.language) == ("noc", True, "es")
    assert channel.url.open() == ADDRESS
    for path in (CHANNELS, f"{CHANNELS}{channel.pk}/change/"):
        shown = admin_client.get(path).content.decode()
        assert "pass-word-7" not in shown
        assert "noc.example" not in shown


def test_the_list_says_of_what_service_a_channel_is_and_which_rules_send_to_it(admin_client: Client) -> None:
    channel = make_channel("noc")
    silent = "none: nothing is sent"
    assert silent in (shown := post(admin_client, CHANNELS))
    assert "Webhook (JSON)" in shown
    make_rule(channel, name="important")
    shown = post(admin_client, CHANNELS)
    assert "important" in shown
    assert silent not in shown


def test_an_empty_address_keeps_the_one_there_is(admin_client: Client) -> None:
    channel = make_channel("noc")
    post(admin_client, f"{CHANNELS}{channel.pk}/change/", name="night", language="en", address="")
    changed = NotificationChannel.objects.get()
    assert (changed.name, changed.language, changed.enabled) == ("night", "en", False)
    assert changed.url.open() == channel.url.open()


def test_an_address_that_is_none_is_refused_at_its_field(admin_client: Client) -> None:
    shown = post(admin_client, f"{CHANNELS}add/", name="noc", address="nonsense://pass-word-8")
    assert "messages cannot be sent to this address" in shown
    assert "pass-word-8" not in shown
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [("", "noc accepted the test."), ("error=500", "noc did not accept the test: error=500")],
)
def test_a_test_is_sent_by_a_button_and_from_the_list(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, error: str, said: str
) -> None:
    monkeypatch.setattr("facho.engine.events.outgoing_messages.send", lambda *_: error)
    monkeypatch.setattr("facho.engine.events.outgoing_messages.import_apprise", lambda: None)
    channel = make_channel("noc")
    path = f"{CHANNELS}{channel.pk}/change/"
    given = {"name": "noc", "enabled": "on", "address": "", BUTTON: "1"}
    assert said in post(admin_client, path, **given)
    chosen = {"action": "send_test_to_each", "_selected_action": channel.pk}
    assert said in post(admin_client, CHANNELS, **chosen)
    assert NotificationDelivery.objects.count() == 2


def test_the_page_of_a_channel_has_the_button(admin_client: Client) -> None:
    shown = admin_client.get(f"{CHANNELS}{make_channel().pk}/change/", headers=ENGLISH).content.decode()
    assert f'name="{BUTTON}"' in shown


def test_a_rule_is_made_and_changed(admin_client: Client) -> None:
    noc, boss, olt = make_channel("noc"), make_channel("boss"), make_olt("olt-7")
    given = {
        "name": "night",
        "enabled": "on",
        "channels": [noc.pk, boss.pk],
        "notices": ["OLT_DOWN", "OLT_UP"],
        "min_severity": "HIGH",
        "olt": olt.pk,
        "silent_from": "22:00",
        "silent_to": "07:00",
        "no_repeat": "2h",
    }
    post(admin_client, f"{RULES}add/", **given)
    rule = NotificationRule.objects.get()
    assert (rule.name, rule.notices, rule.olt, rule.no_repeat_s) == (
        "night",
        ["OLT_DOWN", "OLT_UP"],
        olt,
        7200,
    )
    assert (rule.silent_from, rule.silent_to) == (time(22), time(7))
    assert set(rule.channels.all()) == {noc, boss}
    path = f"{RULES}{rule.pk}/change/"
    assert 'value="2 h"' in admin_client.get(path).content.decode()
    post(admin_client, path, name="day", channels=[noc.pk], min_severity="LOW", no_repeat="")
    rule = NotificationRule.objects.get()
    assert (rule.name, rule.notices, rule.olt, rule.no_repeat_s) == ("day", [], None, 0)
    assert (rule.silent_from, rule.enabled, list(rule.channels.all())) == (None, False, [noc])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"channels": []}, "This field is required"),
        ({"silent_from": "22:00"}, "Silent hours need a start and an end."),
        ({"site": "nowhere"}, "no OLT is at the site"),
        ({"no_repeat": "soon"}, "is not an interval"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_at_its_field(
    admin_client: Client, wrong: dict[str, Any], said: str
) -> None:
    given = {"name": "night", "channels": [make_channel().pk], "min_severity": "LOW", **wrong}
    assert said in post(admin_client, f"{RULES}add/", **given)
    assert not NotificationRule.objects.exists()


def test_the_only_channel_of_a_rule_cannot_be_deleted(admin_client: Client) -> None:
    used, free = make_channel("used"), make_channel("free")
    make_rule(used)
    for channel in (used, free):
        admin_client.post(f"{CHANNELS}{channel.pk}/delete/", {"post": "yes"})
    assert list(NotificationChannel.objects.all()) == [used]


def test_channels_and_rules_are_switched_in_their_lists(admin_client: Client) -> None:
    rule = make_rule(make_channel())
    for path, row in ((CHANNELS, rule.channels.get()), (RULES, rule)):
        assert "1 was disabled." in post(
            admin_client, path, action="disable", reason="test", _selected_action=[row.pk]
        )
        row.refresh_from_db()
        assert not row.enabled
        assert "1 was enabled." in post(admin_client, path, action="enable", _selected_action=[row.pk])


TELEGRAM = {"service": "telegram", "token": "123456789:pass_word_7", "chat": "-10012345"}


def test_a_service_asks_only_for_what_it_needs(admin_client: Client) -> None:
    # What other services need does not count.
    post(admin_client, f"{CHANNELS}add/", name="noc", enabled="on", **TELEGRAM, address="nonsense")
    channel = NotificationChannel.objects.get()
    assert channel.url.open() == "tgram://123456789:pass_word_7/-10012345/"
    path = f"{CHANNELS}{channel.pk}/change/"
    shown = admin_client.get(path).content.decode()
    assert '<option value="telegram" selected>' in shown
    assert "pass_word_7" not in shown
    post(admin_client, path, name="night", enabled="on", service="telegram")
    assert NotificationChannel.objects.get().url.open() == channel.url.open()
    # Another service needs its own values.
    assert "a value is needed" in post(
        admin_client, path, name="night", service="mail", server="mail.example"
    )
    assert NotificationChannel.objects.get().url.open() == channel.url.open()


def test_an_encryption_alone_is_not_ignored(admin_client: Client) -> None:
    url = "mailtos://mail.example?from=a%40b.net&to=c%40d.net&mode=starttls"
    channel = make_channel("noc")
    channel.url = SecretText(url)
    channel.save()
    path = f"{CHANNELS}{channel.pk}/change/"
    assert "a value is needed" in post(admin_client, path, name="night", service="mail", security="tls")
    assert NotificationChannel.objects.get().name == "noc"
    post(admin_client, path, name="night", service="mail", security="starttls")
    assert NotificationChannel.objects.get().name == "night"
    assert NotificationChannel.objects.get().url.open() == url


def test_the_first_channel_offers_a_rule_for_important_events(admin_client: Client) -> None:
    shown = admin_client.get(f"{CHANNELS}add/", headers=ENGLISH).content.decode()
    assert 'name="default_rule"' in shown
    post(admin_client, f"{CHANNELS}add/", name="noc", enabled="on", default_rule="on", **TELEGRAM)
    rule = NotificationRule.objects.get()
    assert (rule.name, [each.name for each in rule.channels.all()]) == ("important events", ["noc"])
    assert {"OLT_DOWN", "OLT_UP", "PORT_OUTAGE", "QUOTA_VIOLATION"} <= set(rule.notices)
    assert "ONU_UNPROVISIONED" not in rule.notices
    # It is not offered again, and not made again.
    assert 'name="default_rule"' not in admin_client.get(f"{CHANNELS}add/").content.decode()
    post(admin_client, f"{CHANNELS}add/", name="night", enabled="on", default_rule="on", **TELEGRAM)
    assert NotificationChannel.objects.count() == 2
    assert NotificationRule.objects.count() == 1


def test_the_values_of_the_form_are_tested_and_not_stored(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = Receiver()
    sent = receiver.taken
    monkeypatch.setattr("facho.engine.events.outgoing_messages.send", receiver)
    assert "noc accepted the test." in post(admin_client, f"{CHANNELS}test/", name="noc", **TELEGRAM)
    assert sent.pop().url == "tgram://123456789:pass_word_7/-10012345/"
    wrong = {**TELEGRAM, "chat": "my chat"}
    assert "Chat: a chat is a number" in post(admin_client, f"{CHANNELS}test/", name="noc", **wrong)
    assert not sent
    assert not NotificationChannel.objects.exists()
    assert not NotificationDelivery.objects.exists()
    # With no new address the stored one is tested.
    stored = make_channel("night")
    path = f"{CHANNELS}{stored.pk}/test/"
    assert "night accepted the test." in post(admin_client, path, name="other", service="webhook")
    assert sent.pop().url == stored.url.open()


def test_a_channel_that_does_not_answer_is_said_in_the_language_of_the_reader(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr("facho.engine.events.outgoing_messages.send", lambda *_: str(go.wait(60)))
    soon = replace(current(), notify_timeout=timedelta(seconds=0.2))
    monkeypatch.setattr("facho.web.admin.notifications.current", lambda: soon)
    given = {"name": "noc", **TELEGRAM}
    answer = admin_client.post(f"{CHANNELS}test/", given, headers={"accept-language": "es"})
    go.set()
    assert "sin respuesta en 0,2 s" in answer.content.decode()
