"""`facho notify`: channels, rules and messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from facho.cli.errors import Exit, refuse
from facho.cli.output import AsJson, console, format_seconds, print_json, print_section
from facho.cli.system import database_now, system
from facho.core.channel_services import FIELDS, Service
from facho.engine.commands.errors import CommandError

if TYPE_CHECKING:
    from facho.apps.notifications.models import NotificationChannel, NotificationDelivery, NotificationRule

app = typer.Typer(no_args_is_help=True, help="Notifications: channels, rules and messages.")
channel_app = typer.Typer(no_args_is_help=True, help="Channels: where messages go.")
rule_app = typer.Typer(no_args_is_help=True, help="Rules: which events go to which channels, and when.")
app.add_typer(channel_app, name="channel")
app.add_typer(rule_app, name="rule")

_EXAMPLES_LIST: Final = """
**Examples**

`facho notify list`  channels, rules, and the last messages

`facho notify list --json`

Addresses are never shown.
"""
_EXAMPLES_TEST: Final = """
**Examples**

`facho notify test noc`  sends a message there now, and says whether it was accepted

`facho notify test --address < address.txt`  to an address that is not stored

`facho notify test --service telegram`  asks for what Telegram needs

Exit codes: 0 it was taken, 2 bad use, 4 it was not.
"""
_EXAMPLES_CHANNEL_ADD: Final = """
**Examples**

`facho notify channel add noc`  asks for the address, and does not show it

`facho notify channel add noc --language en < address.txt`

`facho notify channel add noc --service mail`  asks for the server, the sender and the others

`facho notify channel add noc --service telegram < values.txt`  with lines such as chat=-10012345

`facho notify channel add noc --test < address.txt`  adds it if it accepts a test

Addresses are those of apprise: mailtos://user:password@host?to=noc@example.net, tgram://token/chat,
slack://..., https://host/path for a webhook that gets JSON.
"""
_EXAMPLES_CHANNEL: Final = """
**Examples**

`facho notify channel disable noc`

`facho notify channel remove noc`
"""
_EXAMPLES_RULE_ADD: Final = """
**Examples**

`facho notify rule add all --channel noc`  everything, at any time

`facho notify rule add night --channel noc --notice olt_down --notice olt_up --silent 22:00-07:00`

`facho notify rule add north --channel noc --site Norte --severity high --no-repeat 2h`
"""
_EXAMPLES_RULE: Final = """
**Examples**

`facho notify rule disable night`

`facho notify rule remove night`
"""

_CHANNEL_COLUMNS: Final = ("name", "kind", "language", "enabled")
_RULE_COLUMNS: Final = (
    "name", "channels", "notices", "min_severity", "olt", "site", "silent", "no_repeat", "enabled"
)  # fmt: skip
_DELIVERY_COLUMNS: Final = (
    "created_at", "status", "channel", "notice", "olt", "about", "attempts", "sent_at", "why_not", "error"
)  # fmt: skip

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of the channel.")]
ServiceName = Annotated[
    str,
    typer.Option("--service", metavar="SERVICE", help=f"One of {', '.join(FIELDS)}; asks for its values."),
]
Rule = Annotated[str, typer.Argument(metavar="RULE", help="Name of the rule.")]


@app.command("list", epilog=_EXAMPLES_LIST)
def list_all(
    last: Annotated[int, typer.Option(min=0, help="How many of the last messages.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List channels, rules, and the last messages."""
    with system():
        from facho.apps.notifications.models import (
            NotificationChannel,
            NotificationDelivery,
            NotificationRule,
        )

        channels = [_channel_row(each) for each in NotificationChannel.objects.order_by("name")]
        rules = NotificationRule.objects.select_related("olt").prefetch_related("channels").order_by("name")
        sent = NotificationDelivery.objects.select_related("channel", "olt").order_by("-created_at", "-id")
        lists = {
            "channels": channels,
            "rules": [_rule_row(each) for each in rules],
            "deliveries": [_delivery_row(each) for each in sent[:last]],
        }
        if as_json:
            print_json(lists)
        elif not channels:
            console().print("There is no channel yet: facho notify channel add NAME")
        else:
            print_section("Channels", lists["channels"], _CHANNEL_COLUMNS)
            print_section("Rules", lists["rules"], _RULE_COLUMNS)
            print_section("Last messages", lists["deliveries"], _DELIVERY_COLUMNS)


def _channel_row(channel: NotificationChannel) -> dict[str, Any]:
    return {column: getattr(channel, column) for column in _CHANNEL_COLUMNS}


def _rule_row(rule: NotificationRule) -> dict[str, Any]:
    silent = rule.silent_from is not None and rule.silent_to is not None
    return {
        "name": rule.name,
        "channels": [channel.name for channel in rule.channels.all()],
        "notices": rule.notices,
        "min_severity": rule.min_severity,
        "olt": rule.olt.name if rule.olt else "",
        "site": rule.site,
        "silent": f"{rule.silent_from:%H:%M}-{rule.silent_to:%H:%M}" if silent else "",
        "no_repeat": format_seconds(rule.no_repeat_s) if rule.no_repeat_s else "",
        "enabled": rule.enabled,
    }


def _delivery_row(delivery: NotificationDelivery) -> dict[str, Any]:
    columns = ("created_at", "status", "notice", "about", "attempts", "sent_at", "why_not", "error")
    return {
        **{column: getattr(delivery, column) for column in columns},
        "channel": delivery.channel.name if delivery.channel else "",
        "olt": delivery.olt.name if delivery.olt else "",
        "message": delivery.message,
    }


@app.command("test", epilog=_EXAMPLES_TEST)
def try_channel(
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of the channel.")] = "",
    address: Annotated[
        bool, typer.Option("--address", help="Test an address from standard input; it is not stored.")
    ] = False,
    service: ServiceName = "",
    as_json: AsJson = False,
) -> None:
    """Send a message to a channel, or to an address that is not stored, now."""
    entered = _read_address_or_values(service) if address or service else None
    if entered is None and not channel:
        refuse("give a channel, or --address")
    with system() as config:
        from facho.engine.commands.notifications import try_address, try_channel

        if entered is None:
            tried = try_channel(channel, database_now(), config)
        else:
            tried = try_address(_composed(service, entered), database_now(), config, name=channel)
        if as_json:
            print_json({"channel": channel, "sent": tried.sent, "sentence": tried.sentence})
        else:
            typer.echo(tried.sentence, err=not tried.sent)
        if not tried.sent:
            raise typer.Exit(Exit.REFUSED)


@channel_app.command("add", epilog=_EXAMPLES_CHANNEL_ADD)
def add_channel(
    name: Channel,
    language: Annotated[str, typer.Option(help="es or en; else that of the settings.")] = "",
    service: ServiceName = "",
    default_rule: Annotated[
        bool, typer.Option("--default-rule", help="Add a rule for important events, if there is no rule.")
    ] = False,
    test: Annotated[bool, typer.Option("--test", help="Send a test first; add nothing if it fails.")] = False,
) -> None:
    """Add a channel; its address is read from standard input, because it holds secrets."""
    entered = _read_address_or_values(service)
    with system() as config:
        from facho.engine.commands.notifications import add_channel, try_address

        url = _composed(service, entered)
        if test:
            tried = try_address(url, database_now(), config, name=name, language=language)
            typer.echo(tried.sentence, err=not tried.sent)
            if not tried.sent:
                raise typer.Exit(Exit.REFUSED)
        add_channel(name, url, language=language, default_rule=default_rule)
        typer.echo(f"{name} was added: facho notify test {name}")


@channel_app.command("address", epilog=_EXAMPLES_CHANNEL_ADD)
def change_address(name: Channel) -> None:
    """Give a channel another address, from standard input."""
    url = _read_address()
    with system():
        from facho.engine.commands.notifications import update_channel

        update_channel(name, url=url)
        typer.echo(f"{name} has another address.")


@channel_app.command("enable", epilog=_EXAMPLES_CHANNEL)
def enable_channel(name: Channel) -> None:
    """Enable a channel again."""
    _set_channel_enabled(name, enabled=True)


@channel_app.command("disable", epilog=_EXAMPLES_CHANNEL)
def disable_channel(name: Channel) -> None:
    """Disable a channel; messages that wait for it are dropped."""
    _set_channel_enabled(name, enabled=False)


@channel_app.command("remove", epilog=_EXAMPLES_CHANNEL)
def remove_channel(name: Channel) -> None:
    """Remove a channel."""
    with system():
        from facho.engine.commands.notifications import remove_channel

        remove_channel(name)
        typer.echo(f"{name} was removed.")


@rule_app.command("add", epilog=_EXAMPLES_RULE_ADD)
def add_rule(
    name: Rule,
    channel: Annotated[list[str] | None, typer.Option(metavar="CHANNEL", help="Where to send.")] = None,
    notice: Annotated[
        list[str] | None, typer.Option(metavar="NOTICE", help="Which; all if not given.")
    ] = None,
    severity: Annotated[str, typer.Option(help="From low, medium, high or critical on.")] = "low",
    olt: Annotated[str, typer.Option(metavar="OLT", help="Only of this OLT.")] = "",
    site: Annotated[str, typer.Option(help="Only of OLTs of this site.")] = "",
    silent: Annotated[str, typer.Option(metavar="FROM-TO", help="When not to send: 22:00-07:00.")] = "",
    no_repeat: Annotated[str, typer.Option(metavar="TIME", help="Do not repeat in this time.")] = "30m",
) -> None:
    """Add a rule."""
    with system():
        from facho.engine.commands.notifications import RuleChanges, save_rule

        new = RuleChanges(
            name=name,
            channels=channel or (),
            notices=notice or (),
            min_severity=severity,
            olt=olt,
            site=site,
            silent=_parse_silence(silent),
            no_repeat=no_repeat,
        )
        save_rule(None, new)
        typer.echo(f"{name} was added.")


@rule_app.command("enable", epilog=_EXAMPLES_RULE)
def enable_rule(name: Rule) -> None:
    """Enable a rule again."""
    _set_rule_enabled(name, enabled=True)


@rule_app.command("disable", epilog=_EXAMPLES_RULE)
def disable_rule(name: Rule) -> None:
    """Disable a rule."""
    _set_rule_enabled(name, enabled=False)


@rule_app.command("remove", epilog=_EXAMPLES_RULE)
def remove_rule(name: Rule) -> None:
    """Remove a rule."""
    with system():
        from facho.engine.commands.notifications import remove_rule

        remove_rule(name)
        typer.echo(f"{name} was removed.")


def _parse_silence(text: str) -> tuple[time, time] | None:
    """Parse hours such as `22:00-07:00`."""
    if not text:
        return None
    since, _, until = text.partition("-")
    try:
        return time.fromisoformat(since.strip()), time.fromisoformat(until.strip())
    except ValueError:
        raise CommandError("silent", "silent hours are from one time to another, as 22:00-07:00") from None


def _read_address() -> str:
    """Read it from a prompt or standard input: every user of the machine can read command lines."""
    if sys.stdin.isatty():
        return str(typer.prompt("Address of the channel", hide_input=True, err=True))
    if not (address := sys.stdin.readline().strip()):
        refuse("give the address on standard input")
    return address


def _read_address_or_values(service: str) -> dict[str, str]:
    """Read an address, or the values of a service: by prompts, or from lines such as `chat=-10012345`."""
    if not service:
        return {"address": _read_address()}
    if service not in FIELDS:
        refuse(f"--service {service}: none of {', '.join(FIELDS)}")
    if not sys.stdin.isatty():
        return _parse_values(Service(service), [line for line in sys.stdin if line.strip()])
    return {
        field.name: typer.prompt(
            field.name, default=None if field.required else "", hide_input=field.secret, err=True
        )
        for field in FIELDS[Service(service)]
    }


def _parse_values(service: Service, lines: Sequence[str]) -> dict[str, str]:
    known = [field.name for field in FIELDS[service]]
    cells = [line.partition("=") for line in lines]
    found = {name.strip(): value.strip() for name, _, value in cells}
    if not found.keys() <= set(known):
        # Without the line: somebody may have given the address, which is secret.
        refuse(f"each line is NAME=VALUE; the names are {', '.join(known)}")
    return found


def _composed(service: str, entered: dict[str, str]) -> str:
    from facho.engine.commands.channel_addresses import compose_address

    return compose_address(service, entered) if service else entered["address"]


def _set_channel_enabled(name: str, *, enabled: bool) -> None:
    with system():
        from facho.engine.commands.notifications import set_channel_enabled

        set_channel_enabled(name, enabled=enabled)
        typer.echo(f"{name} was {'enabled' if enabled else 'disabled'}.")


def _set_rule_enabled(name: str, *, enabled: bool) -> None:
    with system():
        from facho.engine.commands.notifications import RuleChanges, save_rule

        save_rule(name, RuleChanges(enabled=enabled))
        typer.echo(f"{name} was {'enabled' if enabled else 'disabled'}.")
