"""What people enter for a service becomes the address to which messages are sent."""

from __future__ import annotations

import pytest

from facho.core.channel_services import (
    BadServiceValue,
    Fault,
    Service,
    as_webhook,
    compose_address,
    service_of,
)
from facho.engine.events.outgoing_messages import check_address

MAIL = {"server": "mail.example.net", "sender": "facho@example.net", "to": "noc@example.net"}


@pytest.mark.parametrize(
    ("service", "values", "kind"),
    [
        (Service.WEBHOOK, {"url": "https://noc.example/hook?token=abc"}, "JSON"),
        (Service.MAIL, MAIL, "E-Mail"),
        (
            Service.MAIL,
            {**MAIL, "port": "465", "security": "tls", "user": "a@b.net", "password": "p/@:s"},
            "E-Mail",
        ),
        (Service.MAIL, {**MAIL, "security": "none", "to": "a@x.net, b@y.net"}, "E-Mail"),
        (Service.TELEGRAM, {"token": "123456789:abcdefg_hij", "chat": "-10012345"}, "Telegram"),
        (Service.TELEGRAM, {"token": "123456789:abcdefg_hij", "chat": "@noc_alerts"}, "Telegram"),
        (
            Service.SLACK,
            {"url": "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"},
            "Slack",
        ),
        (
            Service.TEAMS,
            {"url": "https://p.logic.azure.com:443/workflows/3XXX5/triggers/manual/paths/invoke?sig=iXXXU"},
            "Power Automate / Workflows (for MSTeams)",
        ),
        (
            Service.DISCORD,
            {"url": "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"},
            "Discord",
        ),
        (Service.OTHER, {"address": "ntfys://ntfy.example/alerts"}, "ntfy"),
    ],
)
def test_what_a_service_needs_becomes_an_address(service: Service, values: dict[str, str], kind: str) -> None:
    assert check_address(compose_address(service, values)) == kind


@pytest.mark.parametrize(
    ("service", "values", "field", "fault"),
    [
        (Service.WEBHOOK, {}, "url", Fault.MISSING),
        (Service.WEBHOOK, {"url": "noc.example"}, "url", Fault.WEB_ADDRESS),
        (Service.WEBHOOK, {"url": "file:///etc/passwd"}, "url", Fault.WEB_ADDRESS),
        (Service.WEBHOOK, {"url": "https://a", "colour": "red"}, "colour", Fault.UNKNOWN),
        (Service.SLACK, {"url": "https://noc.example/services/T1"}, "url", Fault.SERVICE_ADDRESS),
        (Service.TEAMS, {"url": "https://noc.example/in"}, "url", Fault.SERVICE_ADDRESS),
        (Service.DISCORD, {"url": "https://noc.example/api/webhooks/1"}, "url", Fault.SERVICE_ADDRESS),
        (Service.MAIL, {**MAIL, "server": "mail.example.net/x?template=/etc"}, "server", Fault.HOST),
        (Service.MAIL, {**MAIL, "port": "70000"}, "port", Fault.PORT),
        (Service.MAIL, {**MAIL, "port": "9" * 5000}, "port", Fault.PORT),
        (Service.MAIL, {**MAIL, "password": "secret"}, "user", Fault.MISSING),
        (Service.MAIL, {**MAIL, "security": "rot13"}, "security", Fault.SECURITY),
        (Service.MAIL, {**MAIL, "to": "noc"}, "to", Fault.MAIL_ADDRESS),
        (Service.TELEGRAM, {"token": "abc", "chat": "1"}, "token", Fault.BOT_TOKEN),
        (Service.TELEGRAM, {"token": "1:abc", "chat": "my chat"}, "chat", Fault.CHAT),
    ],
)
def test_a_wrong_value_is_named_at_its_field(
    service: Service, values: dict[str, str], field: str, fault: Fault
) -> None:
    with pytest.raises(BadServiceValue) as wrong:
        compose_address(service, values)
    assert (wrong.value.field, wrong.value.fault) == (field, fault)


def test_a_web_address_is_a_webhook_and_keeps_its_options() -> None:
    hook = "https://u:p@noc.example:8443/in?token=a%20b&empty="
    assert as_webhook(hook) == "jsons://u:p@noc.example:8443/in?-token=a%20b&-empty="
    assert as_webhook("http://noc.example/in") == "json://noc.example/in"
    assert as_webhook("slack://a/b/c") is None
    assert as_webhook("https://[") is None


def test_the_service_is_known_by_the_beginning_of_an_address() -> None:
    assert service_of("mailtos") is Service.MAIL
    assert service_of("https") is Service.WEBHOOK
    assert service_of("ntfy") is Service.OTHER
