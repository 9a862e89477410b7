"""Messages through the real library to real receivers, and what is said of addresses that are none."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import time, timedelta

import pytest

from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationRule
from facho.core.notifications import NotificationKind
from facho.engine.commands.errors import CommandError
from facho.engine.commands.notifications import (
    RuleChanges,
    add_channel,
    remove_channel,
    save_rule,
    set_channel_enabled,
    try_channel,
    update_channel,
)
from facho.engine.events.connection_guard import RefusedTarget, refuse_local_targets
from facho.engine.events.sender import Sender
from facho.masking import mask_secrets
from tests.database.notification_receivers import CONFIG, make_channel, make_rule, queue_event
from tests.database.receivers import MailReceiver, WebReceiver, mail_receiver, web_receiver
from tests.factories import at, make_olt

pytestmark = [
    pytest.mark.one_database,
    pytest.mark.django_db,
    pytest.mark.usefixtures("brands", "local_targets"),
]
NOW = at("10:00")
STRICT = replace(CONFIG, notify_local_targets=False)
SECOND = timedelta(seconds=1)


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as receiver:
        yield receiver


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    with mail_receiver() as receiver:
        yield receiver


def mail_url(receiver: MailReceiver) -> str:
    there = f"127.0.0.1:{receiver.port}"
    return f"mailto://{there}?from=facho@example.net&to=noc@example.net&mode=insecure"


def nobodys_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_what_happens_arrives_at_a_web_server_and_a_mail_server(web: WebReceiver, mail: MailReceiver) -> None:
    channels = [
        add_channel("hook", f"json://127.0.0.1:{web.port}/in", language="en"),
        add_channel("mail", mail_url(mail), language="es"),
    ]
    make_rule(*channels)
    queue_event(NotificationKind.OLT_DOWN, NOW, make_olt("olt-7").id, details={"reason": "no answer in 3 s"})
    sender = Sender(CONFIG, wait=120 * SECOND)
    sender.step(NOW)
    ((title, message),) = [(got["title"], got["message"]) for got in web.got]
    assert title == "olt-7 does not answer"
    assert "2025-06-10 10:00" in message
    (got,) = mail.got
    assert got["Subject"] == "olt-7 no responde"
    assert got["To"] == "noc@example.net"
    part = got.get_body(("plain", "html"))
    assert part is not None
    assert "10/06/2025 10:00" in part.get_content()
    assert set(NotificationDelivery.objects.values_list("status", flat=True)) == {"SENT"}


def test_a_server_that_refuses_and_one_that_is_not_there_are_tried_again(web: WebReceiver) -> None:
    web.status = 500
    refusing = add_channel("refusing", f"json://user:pass-word-7@127.0.0.1:{web.port}")
    absent = add_channel("absent", f"json://127.0.0.1:{nobodys_port()}")
    make_rule(refusing, absent)
    queue_event(NotificationKind.OLT_DOWN, NOW, make_olt("olt-7").id)
    sender = Sender(CONFIG, wait=120 * SECOND)
    sender.step(NOW)
    rows = {row.channel_id: row for row in NotificationDelivery.objects.all()}
    assert {row.status for row in rows.values()} == {"WAITING"}
    assert "500" in rows[refusing.id].error
    assert "onnection error" in rows[absent.id].error
    web.status = 200
    sender.step(NOW + 61 * SECOND)
    assert [got["title"] for got in web.got] == ["olt-7 does not answer"]


def test_a_test_says_what_came_of_it(web: WebReceiver) -> None:
    add_channel("hook", f"json://127.0.0.1:{web.port}", language="es")
    tried = try_channel("hook", NOW, CONFIG)
    assert (tried.sent, tried.sentence) == (True, "hook accepted the test.")
    assert web.got[0]["title"] == "Facho Deluxe: mensaje de prueba"
    web.status = 403
    tried = try_channel("hook", NOW, CONFIG)
    assert not tried.sent
    assert tried.sentence.startswith("hook did not accept the test: ")
    rows = NotificationDelivery.objects.order_by("id").values_list("notice", "status")
    assert list(rows) == [("TEST", "SENT"), ("TEST", "FAILED")]


def test_a_server_that_hangs_is_left_alone_in_time(web: WebReceiver) -> None:
    web.answers.clear()
    add_channel("hook", f"json://127.0.0.1:{web.port}")
    tried = try_channel("hook", NOW, replace(CONFIG, notify_timeout=0.3 * SECOND))
    web.answers.set()
    assert not tried.sent
    assert tried.sentence.startswith("hook did not accept the test: ")


@pytest.mark.parametrize("url", ["", "hello", "nonsense://host", "json://", "slack://short", "file:///etc"])
def test_an_address_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(CommandError) as refused:
        add_channel("hook", url)
    assert refused.value.field == "url"
    assert url in ("", "json://") or url not in refused.value.message
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("syslog://", "channels of this kind"),
        ("apprise://10.0.0.5/token", "channels of this kind"),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#noc?template=/etc/passwd", "refer to files"),
        ("mailto://user:word@mail.example?to=noc@example.net&pgppub=/etc/passwd", "refer to files"),
    ],
)
def test_channels_that_run_programs_or_read_files_are_refused(url: str, said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        add_channel("hook", url)
    assert refused.value.field == "url"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]"])
def test_this_machine_itself_is_no_channel_unless_a_setting_allows_it(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    add_channel("allowed", f"json://{host}/in")
    monkeypatch.setattr("facho.engine.commands.channel_addresses.current", lambda: STRICT)
    for url in (f"json://{host}/in", f"mailto://u:p@gmail.com?to=noc@example.net&smtp={host.strip('[]')}"):
        with pytest.raises(CommandError, match="FACHO_NOTIFY_LOCAL_TARGETS"):
            add_channel("hook", url)
    for url in ("json://10.0.0.5/in", "json://hook.example/in", "https://discord.com/api/webhooks/1234/abcd"):
        add_channel(url, url)


def resolve_to_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a name server does that is asked by somebody who does not believe us."""
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _host, *args, **kwargs: real("127.0.0.1", *args, **kwargs)
    )


def test_a_name_that_resolves_to_this_machine_is_not_connected_to(
    web: WebReceiver, mail: MailReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_to_loopback(monkeypatch)
    options = "from=facho@example.net&to=noc@example.net&mode=insecure"
    urls = (f"json://hook.example:{web.port}", f"mailto://mail.example:{mail.port}?{options}")
    for number, url in enumerate(urls):
        add_channel(f"{number}", url)
        tried = try_channel(f"{number}", NOW, STRICT)
        assert "127.0.0.1: messages are not sent to this machine itself" in tried.sentence
        queue_event(NotificationKind.OLT_DOWN, NOW, make_olt(f"olt-{number}").id)
    assert not web.got
    assert not mail.got
    make_rule(*NotificationChannel.objects.all())
    queue_event(NotificationKind.OLT_DOWN, NOW, make_olt("olt-9").id)
    Sender(STRICT, wait=10 * SECOND).step(NOW)
    assert not web.got
    assert not mail.got
    # Names and receivers are as they should be: only the setting is in the way.
    assert try_channel("0", NOW, CONFIG).sent
    assert try_channel("1", NOW, CONFIG).sent


def test_other_threads_connect_to_this_machine_while_a_message_is_sent(web: WebReceiver) -> None:
    with refuse_local_targets() as refused:
        with pytest.raises(RefusedTarget):
            socket.create_connection(("127.0.0.1", web.port))
        with ThreadPoolExecutor(1) as other:
            other.submit(socket.create_connection, ("127.0.0.1", web.port)).result().close()
    assert refused == ["127.0.0.1"]
    socket.create_connection(("127.0.0.1", web.port)).close()


def test_a_redirect_is_not_followed(web: WebReceiver) -> None:
    web.status, web.location = 307, f"http://127.0.0.1:{web.port}/elsewhere"
    add_channel("hook", f"json://127.0.0.1:{web.port}/in?redirect=yes")
    assert not try_channel("hook", NOW, CONFIG).sent
    assert web.asked == ["/in"]


def test_an_address_is_encrypted_and_never_written(
    web: WebReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    web.status = 500
    caplog.set_level(logging.DEBUG)
    url = f"json://user:pass-word-7@127.0.0.1:{web.port}/Token77Abc?+X-Key=Key99Secret"
    channel = add_channel("hook", url)
    raw = NotificationChannel.objects.filter(id=channel.id).extra(select={"raw": "url"}).values("raw")[0]
    assert "json" not in raw["raw"]
    assert "pass-word-7" not in repr(NotificationChannel.objects.get().url)
    try_channel("hook", NOW, CONFIG)
    row = NotificationDelivery.objects.get()
    for secret in ("pass-word-7", "Token77Abc", "Key99Secret"):
        assert secret not in row.error + row.message
        assert secret not in mask_secrets(caplog.text)


@pytest.mark.parametrize(
    ("new", "field", "said"),
    [
        ({"channels": []}, "channels", "at least one channel"),
        ({"channels": ["nok"]}, "channels", "did you mean noc"),
        ({"notices": ["OLT_DWN"]}, "notices", "did you mean OLT_DOWN"),
        ({"notices": ["TEST"]}, "notices", "no notice"),
        ({"min_severity": "bad"}, "min_severity", "none of LOW"),
        ({"olt": "olt-8"}, "olt", "olt-7"),
        ({"site": "Sur"}, "site", "no OLT is at the site"),
        ({"olt": "olt-7", "site": "Norte"}, "site", "not for both"),
        ({"no_repeat": "soon"}, "no_repeat", "soon"),
        ({"name": " "}, "name", "a name is needed"),
        ({"name": "taken"}, "name", "already"),
    ],
)
def test_a_rule_that_is_wrong_is_refused_at_its_field(new: dict[str, object], field: str, said: str) -> None:
    make_rule(make_channel("noc"), name="taken")
    make_olt("olt-7", site="Norte")
    given = {"name": "night", "channels": ["noc"], **new}
    with pytest.raises(CommandError) as refused:
        save_rule(None, RuleChanges(**given))  # type: ignore[arg-type]  # what is wrong with it is the point
    assert refused.value.field == field
    assert said in refused.value.message
    assert NotificationRule.objects.count() == 1


def test_a_rule_is_made_and_changed() -> None:
    make_channel("noc")
    make_channel("boss")
    rule = save_rule(
        None, RuleChanges("night", ["noc"], ["olt_down"], silent=(time(22), time(7)), no_repeat="2h")
    )
    assert (rule.notices, rule.no_repeat_s, rule.silent_from) == (["OLT_DOWN"], 7200, time(22))
    save_rule("night", RuleChanges(channels=["noc", "boss"], silent=(), no_repeat="0", enabled=False))
    rule = NotificationRule.objects.get()
    assert [channel.name for channel in rule.channels.order_by("name")] == ["boss", "noc"]
    assert (rule.silent_from, rule.silent_to, rule.no_repeat_s, rule.enabled) == (None, None, 0, False)
    assert rule.notices == ["OLT_DOWN"]


def test_the_only_channel_of_a_rule_stays_and_one_that_is_off_keeps_nothing_waiting() -> None:
    make_rule(make_channel("noc"), name="night")
    NotificationDelivery.objects.create(
        channel=NotificationChannel.objects.get(), notice="OLT_DOWN", created_at=NOW, next_try_at=NOW
    )
    with pytest.raises(CommandError, match="night"):
        remove_channel("noc")
    set_channel_enabled("noc", enabled=False)
    row = NotificationDelivery.objects.get()
    assert (row.status, row.why_not, row.next_try_at) == ("SUPPRESSED", "channel_off", None)


def test_a_channel_can_be_renamed_and_given_another_address() -> None:
    make_channel("noc")
    update_channel("noc", new_name="night", url="json://other.example/in")
    channel = NotificationChannel.objects.get()
    assert (channel.name, channel.url.open(), channel.kind) == ("night", "json://other.example/in", "json")
