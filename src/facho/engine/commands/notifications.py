"""Channels to people, and rules that say who is told what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, time
from typing import Any, Final

from django.utils.translation import gettext as _

from facho.apps.access.audited import note
from facho.apps.access.words import Action
from facho.apps.db.secret_text import SecretText
from facho.apps.executions.failure_words import translated
from facho.apps.hosts.models import Olt
from facho.apps.notifications.models import (
    DeliveryStatus,
    Language,
    NotificationChannel,
    NotificationDelivery,
    NotificationRule,
)
from facho.config import Config, current
from facho.core.interval import BadInterval, parse_interval
from facho.core.notifications import RULE_KINDS, HoldReason, NotificationKind, NotifiedEvent
from facho.core.severity import Severity
from facho.engine.commands.checks import name_of, no_such
from facho.engine.commands.errors import CommandError
from facho.engine.commands.olts import olt_named
from facho.engine.events import outgoing_messages
from facho.engine.events.notification_texts import compose_message
from facho.engine.events.outgoing_messages import BackgroundSend, BadAddress, OutgoingMessage, Refusal
from facho.engine.process.command_transaction import command
from facho.keys import KeyProblem

_LONGEST_REPEAT_S: Final = 30 * 86_400


def add_channel(name: str, url: str, *, language: str = "", enabled: bool = True) -> NotificationChannel:
    # Before anybody has to wait for it: apprise is slow to begin with.
    return _add_channel(name, _address_of(url), language, enabled)


@command
def _add_channel(name: str, url: SecretText, language: str, enabled: bool) -> NotificationChannel:
    channel = NotificationChannel(
        name=_free_name(NotificationChannel, name), language=_language_of(language), enabled=enabled
    )
    channel.url = url
    channel.save()
    return channel


def update_channel(
    name: str, *, new_name: str | None = None, url: str | None = None, language: str | None = None
) -> NotificationChannel:
    """What is not None changes."""
    return _update_channel(name, new_name, None if url is None else _address_of(url), language)


@command
def _update_channel(
    name: str, new_name: str | None, url: SecretText | None, language: str | None
) -> NotificationChannel:
    channel = channel_named(name)
    if new_name is not None and new_name.strip() != channel.name:
        channel.name = _free_name(NotificationChannel, new_name)
    if url is not None:
        channel.url = url
    if language is not None:
        channel.language = _language_of(language)
    channel.save()
    return channel


@command
def set_channel_enabled(name: str, *, enabled: bool) -> None:
    """What waits for one that is switched off is not sent later: it would be old news."""
    channel = channel_named(name)
    NotificationChannel.objects.filter(id=channel.id).update(enabled=enabled)
    if not enabled:
        waiting = NotificationDelivery.objects.filter(channel=channel, status=DeliveryStatus.WAITING)
        waiting.update(status=DeliveryStatus.SUPPRESSED, next_try_at=None, why_not=HoldReason.CHANNEL_OFF)


@command
def remove_channel(name: str) -> None:
    channel = channel_named(name)
    alone = [rule.name for rule in channel.rules.all() if rule.channels.count() == 1]
    if alone:
        said = {"rules": ", ".join(alone)}
        raise CommandError(
            "channel", _("it is the only channel of %(rules)s: change or remove these first") % said
        )
    waiting = NotificationDelivery.objects.filter(channel=channel, status=DeliveryStatus.WAITING)
    waiting.update(status=DeliveryStatus.SUPPRESSED, next_try_at=None, why_not=HoldReason.CHANNEL_OFF)
    channel.delete()


@dataclass(frozen=True, slots=True)
class NewRule:
    """Without notices it is about all of them, without an OLT or a site about all OLTs."""

    name: str
    channels: Sequence[str]
    notices: Sequence[str] = ()
    min_severity: str = Severity.LOW.value
    olt: str = ""
    site: str = ""
    silent: tuple[time, time] | None = None
    no_repeat: str = "30m"
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """What is not None changes. `silent` without times ends the silence."""

    name: str | None = None
    channels: Sequence[str] | None = None
    notices: Sequence[str] | None = None
    min_severity: str | None = None
    olt: str | None = None
    site: str | None = None
    silent: tuple[time, time] | tuple[()] | None = None
    no_repeat: str | None = None
    enabled: bool | None = field(default=None)


def add_rule(new: NewRule) -> NotificationRule:
    return save_rule(None, RuleChanges(**{each.name: getattr(new, each.name) for each in fields(new)}))


def update_rule(name: str, changes: RuleChanges) -> NotificationRule:
    return save_rule(name, changes)


@command
def save_rule(name: str | None, changes: RuleChanges) -> NotificationRule:
    """A new one, if it has had no name."""
    rule = NotificationRule() if name is None else rule_named(name)
    _change(rule, changes)
    return rule


@command
def remove_rule(name: str) -> None:
    rule_named(name).delete()


def _change(rule: NotificationRule, changes: RuleChanges) -> None:
    if changes.name is not None and (not rule.pk or changes.name.strip() != rule.name):
        rule.name = _free_name(NotificationRule, changes.name)
    if changes.notices is not None:
        rule.notices = _notices_of(changes.notices)
    if changes.min_severity is not None:
        rule.min_severity = _severity_of(changes.min_severity)
    if changes.silent is not None:
        rule.silent_from, rule.silent_to = changes.silent or (None, None)
    if changes.no_repeat is not None:
        rule.no_repeat_s = _repeat_of(changes.no_repeat)
    if changes.enabled is not None:
        rule.enabled = changes.enabled
    _change_place(rule, changes)
    channels = None if changes.channels is None else _channels_of(changes.channels)
    rule.save()
    if channels is not None:
        rule.channels.set(channels)


def _change_place(rule: NotificationRule, changes: RuleChanges) -> None:
    if changes.olt is not None:
        rule.olt = olt_named(changes.olt) if changes.olt else None
    if changes.site is not None:
        rule.site = _site_of(changes.site)
    if rule.olt is not None and rule.site:
        raise CommandError("site", _("a rule is about one OLT or about one site, not about both"))


def channel_named(name: str) -> NotificationChannel:
    found = NotificationChannel.objects.filter(name=name).first()
    if found is None:
        known = NotificationChannel.objects.values_list("name", flat=True)
        raise CommandError("channel", no_such(_("channel"), name, known))
    return found


def rule_named(name: str) -> NotificationRule:
    found = NotificationRule.objects.filter(name=name).first()
    if found is None:
        known = NotificationRule.objects.values_list("name", flat=True)
        raise CommandError("rule", no_such(_("rule"), name, known))
    return found


def _free_name(model: type[NotificationChannel] | type[NotificationRule], text: str) -> str:
    name = name_of(text)
    if model._default_manager.filter(name=name).exists():
        raise CommandError("name", _("there is one named '%(name)s' already") % {"name": name})
    return name


def _address_of(url: str) -> SecretText:
    try:
        outgoing_messages.check_address(url.strip(), local_targets=current().notify_local_targets)
    except BadAddress as bad:
        raise CommandError("url", _refusal_in_words(bad.refusal)) from None
    return SecretText(url.strip())


def _refusal_in_words(refusal: Refusal) -> str:
    match refusal:
        case Refusal.UNKNOWN:
            return _(
                "this is no address that a message can be sent to; one is json://host/path, "
                "mailtos://user:password@host?to=noc@example.net or tgram://token/chat"
            )
        case Refusal.KIND:
            known = ", ".join(sorted(outgoing_messages.KINDS))
            return _("messages are not sent to channels of this kind; those that can be: %(known)s") % {
                "known": known
            }
        case Refusal.FILE:
            return _("an address must not name files of this machine")
        case Refusal.LOCAL:
            return _(
                "messages are not sent to this machine itself, its link or a multicast group, "
                "unless FACHO_NOTIFY_LOCAL_TARGETS allows it"
            )


def _language_of(language: str) -> str:
    if language not in Language.values:
        known = ", ".join(value for value in Language.values if value)
        raise CommandError(
            "language", _("'%(language)s' is none of %(known)s") % {"language": language, "known": known}
        )
    return language


def _notices_of(names: Iterable[str]) -> list[str]:
    known = [each.value for each in RULE_KINDS]
    wanted = list(dict.fromkeys(name.strip().upper() for name in names))
    for name in wanted:
        if name not in known:
            raise CommandError("notices", no_such(_("notice"), name, known))
    return wanted


def _severity_of(name: str) -> str:
    if name.upper() not in list(Severity):
        said = {"name": name, "known": ", ".join(Severity)}
        raise CommandError("min_severity", _("'%(name)s' is none of %(known)s") % said)
    return name.upper()


def _site_of(site: str) -> str:
    site = site.strip()
    if site and not Olt.objects.filter(site=site).exists():
        known = Olt.objects.exclude(site="").order_by().values_list("site", flat=True).distinct()
        raise CommandError("site", no_such(_("site"), site, known))
    return site


def _repeat_of(text: str) -> int:
    if text.strip() in ("", "0"):
        return 0
    try:
        seconds = int(parse_interval(text).total_seconds())
    except BadInterval as error:
        raise CommandError("no_repeat", translated(str(error))) from None
    if seconds > _LONGEST_REPEAT_S:
        raise CommandError("no_repeat", _("at most 30 days"))
    return seconds


def _channels_of(names: Sequence[str]) -> list[NotificationChannel]:
    if not names:
        raise CommandError("channels", _("a rule needs at least one channel"))
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(channel_named(name))
        except CommandError as error:
            raise CommandError("channels", error.message) from None
    return found


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a test, in a sentence."""

    sent: bool
    sentence: str


def try_channel(name: str, now: datetime, config: Config) -> Tried:
    """Sends at once, whatever the rules say and whether or not the channel is enabled, and waits for it."""
    channel = channel_named(name)
    event = NotifiedEvent(NotificationKind.TEST, Severity.LOW, now, details={"channel": channel.name})
    message = compose_message(event, channel.language, config)
    try:
        url = channel.url.open()
    except KeyProblem as problem:
        return Tried(False, str(problem))
    outgoing = OutgoingMessage(url, message.title, message.body, config.notify_local_targets)
    sending = BackgroundSend(outgoing, config.notify_timeout, outgoing_messages.send)
    seconds = config.notify_timeout.total_seconds()
    error = sending.error if sending.wait(config.notify_timeout) else f"no answer in {seconds:g} s"
    _note_test(channel, f"{message.title}\n{message.body}", error or "", now)
    names = {"channel": channel.name, "error": error}
    if error:
        return Tried(False, _("%(channel)s did not take the test: %(error)s") % names)
    return Tried(True, _("%(channel)s took the test.") % names)


def _note_test(channel: NotificationChannel, message: str, error: str, now: datetime) -> None:
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
