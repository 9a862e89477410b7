"""Add, change, test and remove notification channels, and the rules that select what they get."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.access.audit_actions import Action
from facho.apps.access.audit_recording import note
from facho.apps.db.fields import SecretText
from facho.apps.localized_numbers import number
from facho.apps.notifications.models import (
    DeliveryStatus,
    Language,
    NotificationChannel,
    NotificationDelivery,
    NotificationRule,
)
from facho.apps.reason_words import reason_words
from facho.config import Config
from facho.core.interval import BadInterval, parse_interval
from facho.core.notifications import IMPORTANT_KINDS, RULE_KINDS, HoldReason, NotificationKind, NotifiedEvent
from facho.core.reasons import known_reason
from facho.core.severity import Severity
from facho.engine.commands.channel_addresses import check_address
from facho.engine.commands.errors import CommandError
from facho.engine.commands.input_checks import check_choice, check_free_name, find_named, unknown_name
from facho.engine.commands.olts import check_site, olt_named
from facho.engine.events import outgoing_messages
from facho.engine.events.notification_texts import Message, compose_message
from facho.engine.events.outgoing_messages import BackgroundSend, OutgoingMessage
from facho.engine.process.command_transaction import command
from facho.keys import KeyProblem

_LONGEST_REPEAT_S: Final = 30 * 86_400


def add_channel(
    name: str, url: str, *, language: str = "", enabled: bool = True, default_rule: bool = False
) -> NotificationChannel:
    """Add a channel, and with `default_rule` a rule for important events, unless there is a rule already."""
    # Outside the transaction: importing apprise is slow, and other writers would wait.
    return _add_channel(name, check_address(url), language, enabled, default_rule)


@command
def _add_channel(
    name: str, url: SecretText, language: str, enabled: bool, default_rule: bool
) -> NotificationChannel:
    channel = NotificationChannel(
        name=check_free_name(NotificationChannel.objects.all(), name),
        language=check_choice(language, Language.values, "language"),
        enabled=enabled,
    )
    channel.url = url
    channel.save()
    if default_rule and not NotificationRule.objects.exists():
        save_rule(None, RuleChanges(_("important events"), [channel.name], list(IMPORTANT_KINDS)))
    return channel


def update_channel(
    name: str,
    *,
    new_name: str | None = None,
    url: str | None = None,
    language: str | None = None,
    enabled: bool | None = None,
) -> NotificationChannel:
    """Change a channel. What is None stays."""
    return _update_channel(name, new_name, None if url is None else check_address(url), language, enabled)


@command
def _update_channel(
    name: str, new_name: str | None, url: SecretText | None, language: str | None, enabled: bool | None
) -> NotificationChannel:
    channel = channel_named(name)
    if new_name is not None:
        channel.name = check_free_name(NotificationChannel.objects.all(), new_name, channel.pk)
    if url is not None:
        channel.url = url
    if language is not None:
        channel.language = check_choice(language, Language.values, "language")
    channel.save()
    if enabled is not None:
        set_channel_enabled(channel.name, enabled=enabled)
    return channel


@command
def set_channel_enabled(name: str, *, enabled: bool) -> None:
    """Enable or disable a channel. What waits for a disabled one is never sent: it would be old news."""
    channel = channel_named(name)
    NotificationChannel.objects.filter(id=channel.id).update(enabled=enabled)
    if not enabled:
        _suppress_waiting(channel)


@command
def remove_channel(name: str) -> None:
    channel = channel_named(name)
    alone = [rule.name for rule in channel.rules.all() if rule.channels.count() == 1]
    if alone:
        rules = {"rules": ", ".join(alone)}
        raise CommandError(
            "channel", _("it is the only channel of %(rules)s: change or remove these first") % rules
        )
    _suppress_waiting(channel)
    channel.delete()


def _suppress_waiting(channel: NotificationChannel) -> None:
    waiting = NotificationDelivery.objects.filter(channel=channel, status=DeliveryStatus.WAITING)
    waiting.update(status=DeliveryStatus.SUPPRESSED, next_try_at=None, why_not=HoldReason.CHANNEL_OFF)


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """Changes of a rule, or a new one, which needs a name and channels.

    What is None stays, or is the default. Without notices it selects all, without an OLT or a site those of
    all OLTs; an empty `silent` ends the silence.
    """

    name: str | None = None
    channels: Sequence[str] | None = None
    notices: Sequence[str] | None = None
    min_severity: str | None = None
    olt: str | None = None
    site: str | None = None
    silent: tuple[time, time] | tuple[()] | None = None
    no_repeat: str | None = None
    enabled: bool | None = None


@command
def save_rule(name: str | None, changes: RuleChanges) -> NotificationRule:
    """Change the rule of that name, or add one if `name` is None."""
    rule = NotificationRule() if name is None else rule_named(name)
    _change(rule, changes)
    return rule


@command
def remove_rule(name: str) -> None:
    rule_named(name).delete()


def _change(rule: NotificationRule, changes: RuleChanges) -> None:
    if changes.name is not None:
        rule.name = check_free_name(NotificationRule.objects.all(), changes.name, rule.pk)
    if changes.notices is not None:
        rule.notices = _check_notices(changes.notices)
    if changes.min_severity is not None:
        severities = [each.value for each in Severity]
        rule.min_severity = check_choice(changes.min_severity.upper(), severities, "min_severity")
    if changes.silent is not None:
        rule.silent_from, rule.silent_to = changes.silent or (None, None)
    if changes.no_repeat is not None:
        rule.no_repeat_s = _check_no_repeat(changes.no_repeat)
    if changes.enabled is not None:
        rule.enabled = changes.enabled
    _change_place(rule, changes)
    channels = None if changes.channels is None else _find_channels(changes.channels)
    rule.save()
    if channels is not None:
        rule.channels.set(channels)


def _change_place(rule: NotificationRule, changes: RuleChanges) -> None:
    if changes.olt is not None:
        rule.olt = olt_named(changes.olt) if changes.olt else None
    if changes.site is not None:
        rule.site = check_site(changes.site) if changes.site.strip() else ""
    if rule.olt is not None and rule.site:
        raise CommandError("site", _("a rule is for one OLT or for one site, not for both"))


def channel_named(name: str, field: str = "channel") -> NotificationChannel:
    return find_named(NotificationChannel.objects.all(), name, _("channel"), field)


def rule_named(name: str) -> NotificationRule:
    return find_named(NotificationRule.objects.all(), name, _("rule"), "rule")


def _check_notices(names: Iterable[str]) -> list[str]:
    known = [each.value for each in RULE_KINDS]
    wanted = list(dict.fromkeys(name.strip().upper() for name in names))
    for name in wanted:
        if name not in known:
            raise CommandError("notices", unknown_name(_("notice"), name, known))
    return wanted


def _check_no_repeat(text: str) -> int:
    if text.strip() in ("", "0"):
        return 0
    try:
        seconds = int(parse_interval(text).total_seconds())
    except BadInterval as error:
        raise CommandError("no_repeat", reason_words(error.reason)) from None
    if seconds > _LONGEST_REPEAT_S:
        raise CommandError("no_repeat", _("at most 30 days"))
    return seconds


def _find_channels(names: Sequence[str]) -> list[NotificationChannel]:
    if not names:
        raise CommandError("channels", _("a rule needs at least one channel"))
    return [channel_named(name, "channels") for name in dict.fromkeys(names)]


@dataclass(frozen=True, slots=True)
class ChannelTest:
    """The result of a test of a channel, in a sentence."""

    sent: bool
    sentence: str


def try_channel(name: str, now: datetime, config: Config) -> ChannelTest:
    """Send a test at once and wait for the result, whatever the rules say and if the channel is disabled."""
    channel = channel_named(name)
    try:
        url = channel.url.open()
    except KeyProblem as problem:
        return ChannelTest(False, str(problem))
    message, error = _send_test(url, channel.name, channel.language, now, config)
    _record_test(channel, f"{message.title}\n{message.body}", error, now)
    return _test_result(channel.name, error)


def try_address(
    url: str, now: datetime, config: Config, *, name: str = "", language: str = ""
) -> ChannelTest:
    """Send a test to an address that need not be stored, and store nothing."""
    language = check_choice(language, Language.values, "language")
    address, name = check_address(url).open(), name.strip() or _("new channel")
    _message, error = _send_test(address, name, language, now, config)
    note(Action.TEST, NotificationChannel, None, name)
    return _test_result(name, error)


def _send_test(url: str, name: str, language: str, now: datetime, config: Config) -> tuple[Message, str]:
    event = NotifiedEvent(NotificationKind.TEST, Severity.LOW, now, details={"channel": name})
    message = compose_message(event, language, config)
    outgoing = OutgoingMessage(url, message.title, message.body, config.notify_local_targets)
    sending = BackgroundSend(outgoing, config.notify_timeout, outgoing_messages.send)
    if sending.wait(config.notify_timeout):
        return message, sending.error or ""
    return message, _("no answer in %(seconds)s s") % {
        "seconds": number(config.notify_timeout.total_seconds())
    }


def _test_result(name: str, error: str) -> ChannelTest:
    if error:
        names = {"channel": name, "error": reason_words(known_reason(error))}
        return ChannelTest(False, _("%(channel)s did not accept the test: %(error)s") % names)
    return ChannelTest(True, _("%(channel)s accepted the test.") % {"channel": name})


def _record_test(channel: NotificationChannel, message: str, error: str, now: datetime) -> None:
    outcome: dict[str, Any] = {"status": DeliveryStatus.SENT, "sent_at": now}
    if error:
        outcome = {"status": DeliveryStatus.FAILED, "error": error}
    NotificationDelivery.objects.create(
        channel=channel,
        notice=NotificationKind.TEST,
        severity=Severity.LOW,
        message=message,
        attempts=1,
        first_try_at=now,
        created_at=now,
        **outcome,
    )
    note(Action.TEST, NotificationChannel, channel.id, channel.name)
