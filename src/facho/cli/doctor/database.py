"""Checks of the broker and the database, and of what the database knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import celery
from django.db import DatabaseError
from django.db.models import F

from facho.apps.access.models import ApiToken, TokenState
from facho.apps.access.selectors import in_state
from facho.apps.db.database import check_reachable, database_now, database_sentence, database_version
from facho.apps.discovery.models import UnreadableRows
from facho.apps.executions.models import ACTIVE, Execution, State
from facho.apps.hosts.credentials import Credentials, Unreadable
from facho.apps.hosts.health import Health, with_health
from facho.apps.hosts.models import Olt
from facho.apps.maintenance.selectors import olts_under_maintenance
from facho.apps.notifications.models import DeliveryStatus, NotificationChannel, NotificationDelivery
from facho.apps.traffic.selectors import DropsOfDay, drops_of_last_day
from facho.apps.zabbix_pollers.selectors import read_workers
from facho.backends.start_checks import bad_version, broker_away, wrong_settings
from facho.cli.doctor.coordinator import check_coordinator
from facho.cli.doctor.findings import Checkup, Finding, error, ok, start_advice, warning
from facho.cli.doctor.machine import check_clock, compare_clocks, is_synchronised
from facho.cli.doctor.profiles import (
    check_declared_history,
    check_facts_of_jobs,
    check_families,
    check_profiles_of_workers,
)
from facho.cli.doctor.remote_write import check_remote_write
from facho.cli.doctor.storage import check_disk, check_retention
from facho.cli.output import list_names
from facho.config import Config
from facho.core.pool import alive_workers
from facho.engine.commands.olt_addresses import shared_addresses
from facho.engine.upkeep.schema import newer_sentence, read_schema_difference
from facho.engine.upkeep.system_status import read_system_status
from facho.keys import KeyProblem, WrongPlace

_MOST_STUCK: Final = 5
_SOON: Final = timedelta(days=14)
# Of the counters of an OLT: the first reading of each has no rate, and OLTs do start.
_MANY_DROPPED: Final = 0.1
# By the reason that the counts have.
_DROP_ADVICE: Final = {
    "over": (
        "they moved more than the line can carry",
        "facho record NAME --mask records what is counted there: it may not be octets, or not of a PON",
    ),
    "resets": (
        "they went back, or the OLT started,",
        "look at the uptime of the OLT (facho olt show NAME): it starts often, or counters are cleared",
    ),
    "gaps": (
        "they were read more than three intervals after the reading before",
        "facho olt show NAME says why the job that collects traffic is late; give it a longer interval",
    ),
}
# What devices are delivered with.
_DEFAULT_COMMUNITY: Final = "public"


def check_system(config: Config, checkup: Checkup) -> Iterator[Finding]:
    """Check everything beyond this machine; the state of the coordinator is added to the checkup."""
    yield check_clock(is_synchronised())
    if config.broker_url:
        yield _check_broker(config)
        yield _check_celery(celery.__version__)
    try:
        check_reachable()
        yield ok("database", database_version())
        schema = read_schema_difference()
        if schema.unknown:
            yield error("schema", newer_sentence(schema.unknown), "until then nothing starts")
            return
        if schema.missing:
            yield error("schema", f"{len(schema.missing)} changes are missing", "facho migrate")
            return
        yield ok("schema", "up to date")
        now = database_now()
        checkup.coordinator = read_system_status(now, config)
        yield from check_coordinator(checkup.coordinator, config)
        for check in CHECKS:
            yield check(now, config)
    except DatabaseError as problem:
        yield error("database", database_sentence(problem), "start it, or correct FACHO_DATABASE_URL")


def _check_broker(config: Config) -> Finding:
    reasons = [*wrong_settings(config)] or [*broker_away(config.broker)]
    if reasons:
        return error("broker", reasons[0], "until then neither facho worker nor facho beat starts")
    return ok("broker", "it answers")


def _check_celery(version: str) -> Finding:
    for reason in bad_version(version):
        return error("celery", reason, "until then neither facho worker nor facho beat starts")
    return ok("celery", version)


def check_credentials(_now: datetime, _config: Config) -> Finding:
    """Check the secrets of OLTs and channels. No key opens those that were encrypted for another row."""
    problems = dict(_unreadable_secrets())
    misplaced = [name for name, problem in problems.items() if isinstance(problem, WrongPlace)]
    shut = [name for name in problems if name not in misplaced]
    sentences, advice = [], []
    if shut:
        sentences.append(f"no key here decrypts those of {len(shut)}: {list_names(shut)}")
        advice.append("put the old key back, or enter them again")
    if misplaced:
        sentences.append(
            f"those of {len(misplaced)} were not encrypted for their row: {list_names(misplaced)}"
        )
        advice.append(f"enter those of {list_names(misplaced)} again" if shut else "enter them again")
    if sentences:
        return error("credentials", "; ".join(sentences), "; ".join(advice))
    return ok("credentials", "all can be decrypted")


def _unreadable_secrets() -> Iterator[tuple[str, KeyProblem]]:
    for olt in Olt.objects.only("name", "credentials"):
        if isinstance(olt.credentials, Unreadable):
            yield olt.name, olt.credentials.problem
    for channel in NotificationChannel.objects.only("name", "url"):
        if channel.url.problem is not None:
            yield f"channel {channel.name}", channel.url.problem


def check_workers(now: datetime, config: Config) -> Finding:
    living = alive_workers(read_workers(), now, within=config.worker_seen_within)
    pollers = sum(worker.pollers for worker in living)
    if not pollers:
        return error("workers", "none is alive: nothing is collected", start_advice(config))
    return ok("workers", f"{len(living)} alive, with {pollers} pollers")


def check_olts(now: datetime, _config: Config) -> Finding:
    by_health: dict[str, list[str]] = {}
    for name, health in with_health(olts_under_maintenance(now)).values_list("name", "condition"):
        by_health.setdefault(health, []).append(name)
    troubled = (Health.SUSPENDED, Health.UNREACHABLE, Health.DEGRADED, Health.OVERLOADED)
    bad = [(health, by_health[health]) for health in troubled if health in by_health]
    if bad:
        text = "; ".join(f"{len(names)} {health.value}: {list_names(names)}" for health, names in bad)
        return warning("OLTs", text, "facho olt show NAME and facho olt test NAME say what is wrong")
    enabled = sum(len(names) for health, names in by_health.items() if health != Health.DISABLED)
    return ok("OLTs", f"{enabled} enabled, none of them unreachable, degraded or overloaded")


def check_addresses(_now: datetime, _config: Config) -> Finding:
    """Name OLTs at one address and port, from versions that did not refuse them."""
    found = shared_addresses()
    if not found:
        return ok("addresses", "no two OLTs have the same address and port")
    each = "; ".join(f"{list_names(names)} are all {address}:{port}" for address, port, names in found[:5])
    text = f"{len(found)} are asked by more than one OLT: {each}"
    return warning("addresses", text, "correct the address of one, or remove it (facho olt remove NAME)")


def check_unreadable_rows(_now: datetime, _config: Config) -> Finding:
    rows = UnreadableRows.objects.filter(olt__enabled=True).order_by("olt__name", "table")
    found = list(rows.values_list("olt__name", "table", "rows", "example"))
    if found:
        names = list(dict.fromkeys(name for name, *_ in found))
        olt, table, count, example = found[0]
        first = f"{count} in the table {table} of {olt}, such as {example}"
        text = (
            f"their index is unknown to the profile (new firmware?) on {len(names)} OLTs: {list_names(names)}"
        )
        return warning("rows", f"{text}; {first}", "facho record NAME --mask records it for a report")
    return ok("rows", "all have an index that the profiles can read")


def check_traffic(now: datetime, _config: Config) -> Finding:
    """Name the OLTs many of whose counters gave no rate in the last day, by the main reason."""
    known = [each for each in drops_of_last_day(now) if each.share > _MANY_DROPPED]
    if not known:
        return ok("traffic", "few counters gave no rate in the last 24 hours")
    sentences, advice = [], []
    for reason, (why, what) in _DROP_ADVICE.items():
        if names := [
            f"{each.olt} ({100 * each.share:.0f} %)" for each in known if _main_reason(each) == reason
        ]:
            sentences.append(f"{why} on {list_names(names)}")
            advice.append(what)
    return warning("traffic", f"counters gave no rate: {'; '.join(sentences)}", "; ".join(advice))


def _main_reason(found: DropsOfDay) -> str:
    return max(_DROP_ADVICE, key=lambda reason: getattr(found.drops, reason))


def check_executions(now: datetime, config: Config) -> Finding:
    """Find executions whose lease has expired, and those that run longer than they may."""
    late = now - config.lease
    expired = Execution.objects.filter(state__in=ACTIVE, lease_expires_at__lt=late)
    endless = Execution.objects.filter(
        state=State.RUNNING, started_at__lt=now - config.execution_timeout - config.lease
    )
    ids = list((expired | endless).order_by("id").values_list("id", flat=True)[:_MOST_STUCK])
    if ids:
        return error("executions", f"stuck: {', '.join(map(str, ids))}", start_advice(config))
    waiting = Execution.objects.filter(state=State.WAITING, not_before__lte=F("queued_at")).count()
    return ok("executions", f"none is stuck; {waiting} wait")


def check_notifications(now: datetime, _config: Config) -> Finding:
    lately = NotificationDelivery.objects.filter(created_at__gte=now - timedelta(days=1))
    failing = lately.filter(status__in=(DeliveryStatus.WAITING, DeliveryStatus.FAILED)).exclude(error="")
    names = sorted(set(failing.order_by().values_list("channel__name", flat=True)) - {None})
    if names:
        text = f"{failing.count()} messages of the last 24 hours could not be sent: {list_names(names)}"
        return warning("notifications", text, "facho notify test CHANNEL says what is wrong")
    return ok("notifications", "none of the last 24 hours failed")


def check_database_clock(_now: datetime, _config: Config) -> Finding:
    before = datetime.now(UTC)
    at_database = database_now()
    return compare_clocks(before, at_database, datetime.now(UTC))


def check_tokens(now: datetime, config: Config) -> Finding:
    valid = ApiToken.objects.filter(in_state(TokenState.VALID, now), owner__is_active=True)
    soon = valid.filter(expires_at__lte=now + _SOON).select_related("owner").order_by("expires_at")
    if names := [_describe_token(token, config) for token in soon]:
        text = f"{len(names)} end within {_SOON.days} days: {list_names(names)}"
        return warning("tokens", text, "make new ones (facho token add), and revoke those")
    return ok("tokens", f"none ends within {_SOON.days} days")


def _describe_token(token: ApiToken, config: Config) -> str:
    ends = token.expires_at.astimezone(config.time_zone)
    return f"{token.name} of {token.owner.get_username()} ({ends:%Y-%m-%d})"


def check_communities(_now: datetime, _config: Config) -> Finding:
    """Name the OLTs with the community that devices are delivered with; other communities are secret."""
    olts = Olt.objects.filter(removed_at=None).order_by("name").only("name", "credentials")
    if names := [olt.name for olt in olts if _has_default_community(olt.credentials)]:
        text = f"{len(names)} OLTs have '{_DEFAULT_COMMUNITY}': {list_names(names)}"
        return warning("communities", text, "give the OLTs another one, or SNMPv3, and enter it in the admin")
    return ok("communities", f"no OLT has '{_DEFAULT_COMMUNITY}'")


def _has_default_community(credentials: Credentials) -> bool:
    try:
        return credentials.community == _DEFAULT_COMMUNITY
    except KeyProblem:
        # check_credentials reports it.
        return False


CHECKS: Final[tuple[Callable[[datetime, Config], Finding], ...]] = (
    check_database_clock,
    check_credentials,
    check_communities,
    check_tokens,
    check_workers,
    check_profiles_of_workers,
    check_families,
    check_facts_of_jobs,
    check_declared_history,
    check_olts,
    check_addresses,
    check_unreadable_rows,
    check_traffic,
    check_executions,
    check_notifications,
    check_retention,
    check_disk,
    check_remote_write,
)
