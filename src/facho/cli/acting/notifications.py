"""Channels, rules and messages, for a terminal and for scripts."""

from __future__ import annotations

from datetime import time
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationRule
from facho.cli.acting.showing import every, print_json, print_titled
from facho.cli.output import console
from facho.engine.commands.errors import CommandError

_CHANNEL: Final = ("name", "kind", "language", "enabled")
_RULE: Final = (
    "name", "channels", "notices", "min_severity", "olt", "site", "silent", "no_repeat", "enabled"
)  # fmt: skip
_DELIVERY: Final = (
    "created_at", "status", "channel", "notice", "olt", "about", "attempts", "sent_at", "why_not", "error"
)  # fmt: skip


def silence_of(text: str) -> tuple[time, time] | None:
    """`22:00-07:00`."""
    if not text:
        return None
    since, _dash, until = text.partition("-")
    try:
        return time.fromisoformat(since.strip()), time.fromisoformat(until.strip())
    except ValueError:
        raise CommandError("silent", _("silent hours are from one time to another, as 22:00-07:00")) from None


def list_all(last: int, *, as_json: bool) -> None:
    channels = [_channel(each) for each in NotificationChannel.objects.order_by("name")]
    rules = NotificationRule.objects.select_related("olt").prefetch_related("channels").order_by("name")
    rows = NotificationDelivery.objects.select_related("channel", "olt").order_by("-created_at", "-id")[:last]
    told = {
        "channels": channels,
        "rules": [_rule(each) for each in rules],
        "deliveries": [_delivery(each) for each in rows],
    }
    if as_json:
        print_json(told)
    elif not channels:
        console().print("There is no channel yet: facho notify channel add NAME")
    else:
        print_titled("Channels", told["channels"], _CHANNEL)
        print_titled("Rules", told["rules"], _RULE)
        print_titled("Last messages", told["deliveries"], _DELIVERY)


def _channel(channel: NotificationChannel) -> dict[str, Any]:
    return {
        "name": channel.name,
        "kind": channel.kind,
        "language": channel.language,
        "enabled": channel.enabled,
    }


def _rule(rule: NotificationRule) -> dict[str, Any]:
    silent = rule.silent_from is not None and rule.silent_to is not None
    return {
        "name": rule.name,
        "channels": [channel.name for channel in rule.channels.all()],
        "notices": rule.notices,
        "min_severity": rule.min_severity,
        "olt": rule.olt.name if rule.olt else "",
        "site": rule.site,
        "silent": f"{rule.silent_from:%H:%M}-{rule.silent_to:%H:%M}" if silent else "",
        "no_repeat": every(rule.no_repeat_s) if rule.no_repeat_s else "",
        "enabled": rule.enabled,
    }


def _delivery(row: NotificationDelivery) -> dict[str, Any]:
    columns = ("created_at", "status", "notice", "about", "attempts", "sent_at", "why_not", "error")
    return {
        **{column: getattr(row, column) for column in columns},
        "channel": row.channel.name if row.channel else "",
        "olt": row.olt.name if row.olt else "",
        "message": row.message,
    }
