"""Settings: one frozen object, read from the environment; wrong ones are refused by name.

Every field of `Config` is the variable FACHO_<NAME IN CAPITALS>. An env file may hold them too: the one that
FACHO_ENV_FILE names, or facho.env in FACHO_HOME. The environment itself takes precedence.
"""

from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NewType
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from facho.core.addresses import network_of
from facho.core.interval import BadInterval, parse_interval

PREFIX: Final = "FACHO_"
ENV_FILE: Final = "FACHO_ENV_FILE"
# Variables of single commands, not settings.
_OTHERS: Final = frozenset({ENV_FILE, "FACHO_AUTH_PASSWORD", "FACHO_PRIV_PASSWORD"})
LANGUAGES: Final = ("es", "en")
MOST_ROWS_AT_ONCE: Final = 10_000
# The largest number that the column of missed discoveries holds.
_MOST_MISSED: Final = 32_767


# A power, which may be negative, unlike other numbers.
Dbm = NewType("Dbm", float)


class BadSettings(Exception):
    """Settings that cannot be used; the message has one sentence for each mistake."""


def _setting(default: Any, what: str) -> Any:
    return field(default=default, metadata={"what": what})


def _seconds(number: float, what: str) -> Any:
    return _setting(timedelta(seconds=number), what)


def _days(number: float, what: str) -> Any:
    return _setting(timedelta(days=number), what)


@dataclass(frozen=True, slots=True)
class Config:
    home: Path = _setting(Path("var"), "folder of the database, the keys and the logs")
    database_url: str = field(
        default="", repr=False, metadata={"what": "sqlite:///PATH or postgresql://...; SQLite in FACHO_HOME"}
    )
    profiles: str = _setting("", "folder of your own vendor profiles; profiles in FACHO_HOME if empty")
    broker_url: str = field(
        default="",
        repr=False,
        metadata={"what": "redis://... for pollers on several machines; none is embedded"},
    )
    secret_key: str = field(
        default="",
        repr=False,
        metadata={"what": "key of sessions and forms; generated in FACHO_HOME if not given"},
    )
    credential_keys: tuple[str, ...] = field(
        default=(),
        repr=False,
        metadata={"what": "keys of the SNMP credentials, newest first; generated in FACHO_HOME if not given"},
    )
    time_zone: ZoneInfo = _setting(ZoneInfo("UTC"), "the operator's time zone, as America/Bogota")
    language: str = _setting("es", "language of logs and of people who have chosen none: es or en")
    web_address: str = _setting("127.0.0.1:8000", "where the pages are served")
    web_processes: int = _setting(1, "processes that serve the pages; one uses one core")
    allowed_hosts: tuple[str, ...] = _setting((), "host names under which the pages are served")
    public_url: str = _setting("", "web address of the pages, for links in notifications; none if empty")

    api_requests_a_minute: int = _setting(600, "requests to the API of one token or person in a minute")
    api_refusals_a_minute: int = _setting(30, "requests to the API without a valid token, of one address")
    page_requests_a_minute: int = _setting(1200, "requests of one logged-in browser in a minute")
    address_requests_a_minute: int = _setting(6000, "requests of one address in a minute, of all kinds")
    query_timeout: timedelta = _seconds(30, "a query of a page that takes longer is cancelled")
    write_timeout: timedelta = _seconds(30, "a client that reads nothing for so long is disconnected")
    answer_timeout: timedelta = _seconds(3600, "the longest that an answer may take to be sent")
    body_bytes: int = _setting(2_500_000, "largest body of a request")
    what_if_olts: int = _setting(1000, "most OLTs for which the web computes what a change would do")
    tls: bool = _setting(False, "whether a proxy in front provides TLS; needs FACHO_TRUSTED_PROXIES")
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "addresses or networks of proxies whose headers are trusted (X-Forwarded-For, X-Forwarded-Proto)",
    )
    session_age: timedelta = _days(7, "a session ends after this")
    login_window: timedelta = _seconds(900, "the time in which failed log-ins are counted")
    login_per_account: int = _setting(10, "failed log-ins of an account that are allowed in that time")
    login_per_address: int = _setting(30, "failed log-ins from an address that are allowed in that time")
    login_known_for: timedelta = _days(
        30, "how long failed log-ins from an address that once logged in to an account are counted apart"
    )
    token_lasts: timedelta = _days(90, "lifetime of a token for which none is given")
    token_longest: timedelta = _days(365, "longest lifetime of a token")

    pollers: int = _setting(10, "executions at once, of facho up in all its processes or of one facho worker")
    poller_processes: int = _setting(
        0, "processes that share the pollers of facho up; 0 is half of the cores, and one on two cores"
    )
    poller_stats_every: timedelta = _seconds(60, "how often a row of poller statistics is written")
    saturated_above: float = _setting(75.0, "percentage of busy pollers above which they are saturated")
    queue_overload_after: timedelta = _seconds(
        60, "the queue is overloaded when its oldest execution waits longer"
    )
    worker_seen_within: timedelta = _seconds(15, "a worker without a heartbeat for this long counts as gone")

    scheduler_step: timedelta = _seconds(1, "time between two steps of the scheduler")
    coordinator_step: timedelta = _seconds(5, "time between two steps of the coordinator")
    housekeeping_step: timedelta = _seconds(60, "time between two turns of the housekeeping")
    first_run_delay: timedelta = _seconds(60, "a new node runs for the first time after this")
    spread_limit: timedelta = _seconds(300, "nodes attached or enabled at once are spread over at most this")
    delayed_after: timedelta = _seconds(5, "a run that starts later than this after its slot is delayed")

    lease: timedelta = _seconds(20, "how long an OLT stays leased to a worker that does not renew")
    lease_renew: timedelta = _seconds(5, "how often a worker renews its leases")
    execution_timeout: timedelta = _seconds(1800, "longest duration of an execution")
    stop_within: timedelta = _seconds(10, "a stopping process finishes or hands back its work in this time")

    snmp_port: int = _setting(161, "port of an OLT for which none is given")
    request_timeout: timedelta = _seconds(3, "how long to wait for an answer")
    request_retries: int = _setting(2, "how often to ask again without an answer")
    requests_in_flight: int = _setting(5, "requests under way at once at one OLT, at most")
    varbinds: int = _setting(20, "values asked for in one GET, until the OLT is known to bear more")
    walk_repetitions: int = _setting(50, "rows asked for in one GETBULK, until the OLT is known to bear more")
    most_varbinds: int = _setting(200, "values or rows asked for in one request, at most")
    walk_rows: int = _setting(150_000, "most rows of one column; with more, the walk fails")
    answer_octets: int = _setting(
        67_108_864, "most octets from one OLT in one execution; with more, it fails"
    )
    batch: int = _setting(200, "ONUs of a GET that are tried again together")
    sub_batch: int = _setting(50, "ONUs of a failed batch that are tried again together, before one by one")
    most_unanswered: float = _setting(20.0, "percentage of ONUs without an answer above which a GET failed")

    max_attempts: int = _setting(3, "attempts of an execution whose job sets none")
    retry_delay: timedelta = _seconds(120, "time from a failed attempt to the next, if the job sets none")
    priority_discovery: int = _setting(90, "priority of discoveries")
    priority_walk: int = _setting(60, "priority of walks, tables and bulks")
    priority_get: int = _setting(40, "priority of gets")
    probe_after: tuple[timedelta, ...] = _setting(
        tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60)),
        "pauses between the probes of a suspended OLT or node; the last one repeats",
    )
    come_back: bool = _setting(True, "whether a suspended OLT or node is resumed when it answers a probe")
    absent_after: int = _setting(3, "complete discoveries in a row without an ONU that make it absent")
    missing_again_after: timedelta = _seconds(
        86400, "a missing table is asked for again after this, or after a restart of the OLT"
    )
    cpu_gentle_above: float = _setting(80.0, "CPU percentage above which an OLT gets one request at a time")
    cpu_skip_above: float = _setting(90.0, "CPU percentage of an OLT above which gets are skipped")
    cpu_known_for: timedelta = _seconds(600, "how long a CPU reading of an OLT counts")
    history_close_after: timedelta = _seconds(600, "how long after its end an hour of history is closed")

    quota_kept: float = _setting(80.0, "percentage of its runs below which a task's quota is violated")
    quota_close_within: timedelta = _seconds(
        600, "an hour of quotas is closed at the latest so long after its end"
    )
    quota_catch_up: timedelta = _days(7, "how far back hours are accounted for after the engine was stopped")
    notify_step: timedelta = _seconds(2, "time between two checks for notifications to send")
    notify_timeout: timedelta = _seconds(30, "a message that a channel does not accept in this time fails")
    notify_again_after: tuple[timedelta, ...] = _setting(
        tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60)),
        "pauses between the attempts to send a message; the last one repeats",
    )
    notify_give_up_after: timedelta = _days(1, "a message that cannot be sent is dropped after this")
    notify_local_targets: bool = _setting(
        False, "whether messages may go to this machine itself, its link or a multicast group"
    )

    emergency_failures: int = _setting(3, "failed executions in a row after which an OLT is replanned")

    outage_onus: int = _setting(8, "ONUs of a port that make an outage when they go offline together")
    outage_share: float = _setting(50.0, "percentage of the ONUs of a port that makes an outage too")
    optical_weak: Dbm = _setting(Dbm(-27.0), "power (dBm) below which an ONU is weak")
    optical_fall: float = _setting(3.0, "dB under the baseline of an ONU at which its power has dropped")
    plan_departs_after: timedelta = _seconds(
        10, "a run that begins or ends so far off its plan has the plan checked again"
    )
    plans_at_once: int = _setting(100, "OLTs whose plans are made, followed or closed in one step, at most")

    metrics_kept: timedelta = _seconds(5, "how long an answer of /metrics is cached")
    metrics_onus_every: timedelta = _seconds(60, "how often the ONUs are counted for /metrics")

    remote_write_url: str = _setting("", "where samples are sent by Prometheus remote write; none if empty")
    remote_write_user: str = _setting("", "user of the receiver of remote write")
    remote_write_password: str = field(default="", repr=False, metadata={"what": "password of that user"})
    remote_write_password_file: str = _setting("", "file that has this password")
    remote_write_token: str = field(
        default="", repr=False, metadata={"what": "bearer token of the receiver, instead of a user"}
    )
    remote_write_token_file: str = _setting("", "file that has this token")
    remote_write_tenant: str = _setting("", "tenant at the receiver, sent as X-Scope-OrgID")
    remote_write_ca_file: str = _setting("", "certificates that are trusted instead of the system's (PEM)")
    remote_write_cert_file: str = _setting("", "certificate that is shown to the receiver (PEM)")
    remote_write_key_file: str = _setting("", "key of that certificate, if it is in another file (PEM)")
    remote_write_timeout: timedelta = _seconds(
        30, "a request that the receiver does not answer in this time fails"
    )
    remote_write_step: timedelta = _seconds(15, "how often what was collected is sent")
    remote_write_backlog: timedelta = _days(
        1, "samples wait for the receiver so long; older ones are dropped"
    )
    remote_write_batch: int = _setting(10_000, "samples of one request, about")
    remote_write_connections: int = _setting(2, "requests under way at once, of one sender")

    log_bytes: int = _setting(10_000_000, "a log file that would become longer than this is rotated")
    log_backups: int = _setting(5, "how many rotated files of each log are kept")
    log_queue: int = _setting(10_000, "most entries of the coordinator log that wait for the database")

    keep_executions: timedelta = _days(30, "how long ended executions and skipped slots are kept")
    keep_poller_stats: timedelta = _days(30, "how long poller statistics are kept")
    keep_events: timedelta = _days(365, "how long events of ONUs are kept")
    keep_history: timedelta = _days(90, "how long the history of ONUs is kept")
    keep_quotas: timedelta = _days(365, "how long quotas and their violations are kept")
    keep_audit: timedelta = _days(365, "how long the audit log is kept")
    keep_notifications: timedelta = _days(90, "how long notices and their deliveries are kept")
    keep_plans: timedelta = _days(7, "how long plans of past hours are kept")
    keep_login_attempts: timedelta = _days(30, "how long failed log-ins are kept")
    keep_tokens: timedelta = _days(90, "how long revoked and expired tokens are kept")
    keep_logs: timedelta = _days(7, "how long the coordinator log is kept in the database")
    keep_log_rows: int = _setting(1_000_000, "most entries of the coordinator log in the database")
    retention_chunk: int = _setting(500, "most old rows that are removed at once")

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def profile_folder(self) -> Path:
        return Path(self.profiles) if self.profiles else self.home / "profiles"

    @property
    def broker(self) -> str:
        """Return the URL of the broker; for `rediss://`, with the certificate checks that Celery omits."""
        if not self.broker_url.startswith("rediss://"):
            return self.broker_url
        given = self.broker_url.partition("?")[2]
        safe = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
        added = "&".join(f"{name}={value}" for name, value in safe.items() if f"{name}=" not in given)
        return self.broker_url + ("&" if given else "?") + added if added else self.broker_url

    @property
    def redis(self) -> str:
        """Return the URL of the broker for redis-py, which does not know the `redis+socket://` of Celery."""
        if not self.broker.startswith("redis+socket://"):
            return self.broker
        parts = urlsplit(self.broker)
        query = dict(parse_qsl(parts.query))
        database = query.pop("virtual_host", "").removeprefix("/") or "0"
        return f"unix://{parts.netloc}{parts.path}?{urlencode(query | {'db': database})}"

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{(self.home / 'facho.db').resolve()}"


def read_config(environment: Mapping[str, str]) -> Config:
    """Read the settings. Raises BadSettings that names every unknown or malformed variable."""
    given = {**_read_env_file(environment), **environment}
    mistakes: list[str] = []
    values: dict[str, Any] = {}
    types = typing.get_type_hints(Config)
    names = {PREFIX + each.name.upper(): each.name for each in dataclasses.fields(Config)}
    for variable, text in given.items():
        if variable in names:
            try:
                values[names[variable]] = _PARSERS[types[names[variable]]](text)
            except ValueError as error:
                mistakes.append(f"{variable}: {error}")
        elif variable.startswith(PREFIX) and variable not in _OTHERS:
            mistakes.append(f"{variable} is not a setting of facho")
    config = Config(**values)
    mistakes += _find_contradictions(config)
    if mistakes:
        raise BadSettings("\n".join(mistakes))
    return config


@cache
def current() -> Config:
    """Return the settings of this process, which are read once."""
    return read_config(os.environ)


# Whole numbers that may be 0; all others are 1 or more.
_MAY_BE_ZERO: Final = frozenset({"poller_processes", "request_retries"})


def _find_contradictions(config: Config) -> list[str]:
    found = [
        f"{PREFIX}{each.name.upper()} must be 1 or more"
        for each in dataclasses.fields(config)
        if each.type == "int" and each.name not in _MAY_BE_ZERO and getattr(config, each.name) < 1
    ]
    if config.lease_renew * 2 >= config.lease:
        found.append(
            "FACHO_LEASE must be more than twice FACHO_LEASE_RENEW, or a late renewal loses the lease"
        )
    if config.language not in LANGUAGES:
        found.append(f"FACHO_LANGUAGE: '{config.language}' is none of {', '.join(LANGUAGES)}")
    if config.public_url and not config.public_url.startswith(("http://", "https://")):
        found.append("FACHO_PUBLIC_URL must begin with http:// or https://, as https://facho.example.net")
    if not config.database.startswith(("sqlite:///", "postgresql://", "postgres://")):
        found.append("FACHO_DATABASE_URL must begin with sqlite:/// or postgresql://")
    if config.sub_batch > config.batch:
        found.append("FACHO_SUB_BATCH must not be larger than FACHO_BATCH")
    if config.retention_chunk > MOST_ROWS_AT_ONCE:
        found.append(
            f"FACHO_RETENTION_CHUNK must not be larger than {MOST_ROWS_AT_ONCE}: other writers wait meanwhile"
        )
    found += [
        f"FACHO_TRUSTED_PROXIES: '{text}' is no address or network, as 10.0.0.5 or 10.0.0.0/24"
        for text in config.trusted_proxies
        if network_of(text) is None
    ]
    if config.token_lasts > config.token_longest:
        found.append("FACHO_TOKEN_LASTS must not be longer than FACHO_TOKEN_LONGEST")
    found += _remote_write_contradictions(config)
    if not 0 < config.outage_share <= 100:
        found.append("FACHO_OUTAGE_SHARE must be a percentage above 0")
    if config.absent_after > _MOST_MISSED:
        found.append(f"FACHO_ABSENT_AFTER must not be larger than {_MOST_MISSED}")
    return found


def _remote_write_contradictions(config: Config) -> Iterator[str]:
    given = [
        f"{PREFIX}{each.name.upper()}"
        for each in dataclasses.fields(config)
        if each.name.startswith("remote_write_") and each.type == "str" and getattr(config, each.name)
    ]
    if not config.remote_write_url:
        if given:
            yield f"FACHO_REMOTE_WRITE_URL is empty, and {given[0]} is set: set both or none"
        return
    yield from _url_mistakes("FACHO_REMOTE_WRITE_URL", config.remote_write_url)
    for one, other in _REMOTE_WRITE_ONE_OF:
        if getattr(config, one) and getattr(config, other):
            yield f"{PREFIX}{one.upper()} and {PREFIX}{other.upper()} are both set: remove one"
    has_password = config.remote_write_password or config.remote_write_password_file
    if bool(config.remote_write_user) != bool(has_password):
        yield "FACHO_REMOTE_WRITE_USER and its password, FACHO_REMOTE_WRITE_PASSWORD(_FILE), need each other"
    if config.remote_write_key_file and not config.remote_write_cert_file:
        yield "FACHO_REMOTE_WRITE_KEY_FILE needs FACHO_REMOTE_WRITE_CERT_FILE, the certificate of the key"
    for name in ("user", "password", "token", "tenant"):
        text = getattr(config, f"remote_write_{name}")
        # A user and a password are sent encoded.
        if not _is_header_text(text) or (name in ("token", "tenant") and not text.isascii()):
            yield f"FACHO_REMOTE_WRITE_{name.upper()} has characters that cannot be sent"
    if ":" in config.remote_write_user:
        yield "FACHO_REMOTE_WRITE_USER must not have a colon: receivers read what follows as the password"
    for name, longest, text in _REMOTE_WRITE_LONGEST:
        if getattr(config, name) > longest:
            yield f"{PREFIX}{name.upper()} must not be longer than {text}"
    for name, most in _REMOTE_WRITE_MOST:
        if getattr(config, name) > most:
            yield f"{PREFIX}{name.upper()} must not be larger than {most}"
    if config.remote_write_backlog < timedelta(hours=1):
        yield "FACHO_REMOTE_WRITE_BACKLOG must be an hour or more: what is too old is dropped by hours"
    # What is too old is counted when its hour has ended, and hours are removed by when they began.
    if config.remote_write_backlog + timedelta(hours=2) > config.keep_history:
        yield (
            "FACHO_REMOTE_WRITE_BACKLOG must be 2 hours shorter than FACHO_KEEP_HISTORY: "
            "the rest is removed before it is sent or counted"
        )


# An OLT that is claimed or waits for longer than an hour counts as left from before the clock was set back.
_REMOTE_WRITE_LONGEST: Final = (
    ("remote_write_timeout", timedelta(minutes=10), "10m"),
    ("remote_write_step", timedelta(minutes=10), "10m"),
)
_REMOTE_WRITE_MOST: Final = (("remote_write_batch", 100_000), ("remote_write_connections", 100))
# Two ways to say who we are are none.
_REMOTE_WRITE_ONE_OF: Final = (
    ("remote_write_password", "remote_write_password_file"),
    ("remote_write_token", "remote_write_token_file"),
    ("remote_write_user", "remote_write_token"),
    ("remote_write_user", "remote_write_token_file"),
)


def _url_mistakes(variable: str, url: str) -> Iterator[str]:
    """Yield what is wrong with a URL. It is not repeated: it may have a password."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        is_web = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        parts, is_web = urlsplit(""), False
    if not is_web or not url.isascii() or not url.isprintable() or " " in url:
        example = "https://prometheus.example.net/api/v1/write"
        yield f"{variable} must be a URL that begins with http:// or https://, as {example}"
    elif parts.username is not None or parts.password is not None:
        yield (
            f"{variable} must not have a password: "
            "set FACHO_REMOTE_WRITE_USER and FACHO_REMOTE_WRITE_PASSWORD"
        )
    elif parts.fragment:
        yield f"{variable} must not have a #"


def _is_header_text(text: str) -> bool:
    return text.isprintable() and text == text.strip()


def web_contradictions(config: Config) -> list[str]:
    """Return why the pages cannot be served with these settings; collecting does not need them."""
    if config.tls and not config.trusted_proxies:
        return [
            "FACHO_TLS is yes and FACHO_TRUSTED_PROXIES is empty: no request counts as one by TLS, "
            "and every page would be redirected for ever; set it to the address of the proxy, as 127.0.0.1"
        ]
    return []


def _read_env_file(environment: Mapping[str, str]) -> dict[str, str]:
    named = environment.get(ENV_FILE)
    path = Path(named) if named else Path(environment.get("FACHO_HOME", "var"), "facho.env")
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        if named:
            raise BadSettings(f"{ENV_FILE}: there is no file {path}") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            if not equals:
                raise BadSettings(f"{path}, line {number}: it must be NAME=VALUE")
            found[name.strip()] = value.strip().strip("\"'")
    return found


def _parse_whole(text: str) -> int:
    number = _parse_number(text)
    if number != int(number) or number < 0:
        raise ValueError(f"'{text}' is not a whole number of 0 or more")
    return int(number)


def _parse_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if not 0 <= number < float("inf"):
        raise ValueError(f"'{text}' is not a number of 0 or more")
    return number


def _parse_power(text: str) -> Dbm:
    try:
        power = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number") from None
    if not -60 <= power <= 10:
        raise ValueError(f"'{text}' is no received power: it is between -60 and 10 dBm")
    return Dbm(power)


def _parse_duration(text: str) -> timedelta:
    """Parse an interval, or a plain number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            return parse_interval(text)
        except BadInterval as error:
            raise ValueError(str(error)) from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"'{text}' is not a time of more than 0 seconds")
    return timedelta(seconds=seconds)


def _parse_yes_or_no(text: str) -> bool:
    if text.lower() in ("1", "yes", "true", "on"):
        return True
    if text.lower() in ("0", "no", "false", "off"):
        return False
    raise ValueError(f"'{text}' is neither yes nor no")


def _parse_zone(text: str) -> ZoneInfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"'{text}' is no time zone; one is America/Bogota") from None


def _parse_words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _parse_durations(text: str) -> tuple[timedelta, ...]:
    if not (found := tuple(map(_parse_duration, _parse_words(text)))):
        raise ValueError("at least one time is needed, as in 1m,5m")
    return found


_PARSERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    str: str,
    int: _parse_whole,
    float: _parse_number,
    Dbm: _parse_power,
    bool: _parse_yes_or_no,
    Path: Path,
    timedelta: _parse_duration,
    ZoneInfo: _parse_zone,
    tuple[str, ...]: _parse_words,
    tuple[timedelta, ...]: _parse_durations,
}
