"""Settings are read from the environment, and what is wrong in them is refused by name."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from facho.config import BadSettings, Config, read_config, web_contradictions

WRITE = {"FACHO_REMOTE_WRITE_URL": "https://metrics.example.net/api/v1/write"}
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"FACHO_HOME": str(tmp_path)}


def refused(environment: dict[str, str]) -> list[str]:
    with pytest.raises(BadSettings) as error:
        read_config(environment)
    return str(error.value).splitlines()


def test_without_any_there_are_defaults(home: dict[str, str]) -> None:
    config = read_config(home)
    assert (config.pollers, config.lease, config.language) == (10, timedelta(seconds=20), "es")
    assert config.database == f"sqlite:///{config.home / 'facho.db'}"
    assert config.logs == config.home / "logs"


def test_every_kind_of_setting_is_read(home: dict[str, str]) -> None:
    config = read_config(
        home
        | {
            "FACHO_POLLERS": "20",
            "FACHO_LEASE": "1m",
            "FACHO_REQUEST_TIMEOUT": "0.5",
            "FACHO_SATURATED_ABOVE": "62.5",
            "FACHO_COME_BACK": "no",
            "FACHO_TIME_ZONE": "America/Bogota",
            "FACHO_ALLOWED_HOSTS": "olts.example, 10.0.0.1,",
            "FACHO_PROBE_AFTER": "30s,2m",
            "FACHO_DATABASE_URL": "postgresql://me@server/facho",
        }
    )
    assert (config.pollers, config.saturated_above, config.come_back) == (20, 62.5, False)
    assert (config.lease, config.request_timeout) == (timedelta(minutes=1), timedelta(seconds=0.5))
    assert config.time_zone == ZoneInfo("America/Bogota")
    assert config.allowed_hosts == ("olts.example", "10.0.0.1")
    assert config.probe_after == (timedelta(seconds=30), timedelta(minutes=2))
    assert config.database == "postgresql://me@server/facho"


def test_an_unknown_one_is_refused_by_name(home: dict[str, str]) -> None:
    assert refused(home | {"FACHO_POLLER": "3"}) == ["FACHO_POLLER is not a setting of facho"]


def test_what_is_not_ours_is_left_alone(home: dict[str, str]) -> None:
    assert read_config(home | {"FACHOS": "x", "PATH": "y", "FACHO_AUTH_PASSWORD": "z"}) == read_config(home)


@pytest.mark.parametrize(
    ("variable", "text", "sentence"),
    [
        ("FACHO_POLLERS", "many", "'many' is not a number"),
        ("FACHO_POLLERS", "1.5", "'1.5' is not a whole number of 0 or more"),
        ("FACHO_POLLERS", "-1", "'-1' is not a number of 0 or more"),
        ("FACHO_SATURATED_ABOVE", "nan", "'nan' is not a number of 0 or more"),
        ("FACHO_LEASE", "0", "'0' is not a time of more than 0 seconds"),
        ("FACHO_LEASE", "5x", "'5x' is not an interval"),
        ("FACHO_COME_BACK", "perhaps", "'perhaps' is neither yes nor no"),
        ("FACHO_TIME_ZONE", "Bogota", "'Bogota' is no time zone; one is America/Bogota"),
        ("FACHO_PROBE_AFTER", "", "at least one time is needed"),
        ("FACHO_LANGUAGE", "de", "'de' is none of es, en"),
    ],
)
def test_a_malformed_one_is_refused_by_name(
    home: dict[str, str], variable: str, text: str, sentence: str
) -> None:
    (said,) = refused(home | {variable: text})
    assert said.startswith(f"{variable}: ")
    assert sentence in said


def test_all_mistakes_are_named_at_once(home: dict[str, str]) -> None:
    said = refused(home | {"FACHO_POLLERS": "x", "FACHO_BATCH": "y", "FACHO_NOTHING": "z"})
    assert [line.split()[0].rstrip(":") for line in said] == ["FACHO_POLLERS", "FACHO_BATCH", "FACHO_NOTHING"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"FACHO_LEASE": "10", "FACHO_LEASE_RENEW": "5"},
            "FACHO_LEASE must be more than twice FACHO_LEASE_RENEW",
        ),
        (
            {"FACHO_DATABASE_URL": "mysql://server/facho"},
            "FACHO_DATABASE_URL must begin with sqlite:/// or postgresql://",
        ),
        ({"FACHO_BATCH": "10"}, "FACHO_SUB_BATCH must not be larger than FACHO_BATCH"),
        ({"FACHO_ABSENT_AFTER": "32768"}, "FACHO_ABSENT_AFTER must not be larger than 32767"),
        (
            {"FACHO_REMOTE_WRITE_TOKEN": "secret"},
            "FACHO_REMOTE_WRITE_URL is empty, and FACHO_REMOTE_WRITE_TOKEN is set",
        ),
        (
            {"FACHO_REMOTE_WRITE_URL": "ftp://server/write"},
            "FACHO_REMOTE_WRITE_URL must be a URL that begins with http:// or https://",
        ),
        (
            {"FACHO_REMOTE_WRITE_URL": "https://server:port/write"},
            "FACHO_REMOTE_WRITE_URL must be a URL that begins with http:// or https://",
        ),
        (
            {"FACHO_REMOTE_WRITE_URL": "https://ana:hidden@server/write"},
            "FACHO_REMOTE_WRITE_URL must not have a password",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_USER": "ana"},
            "FACHO_REMOTE_WRITE_USER and its password, FACHO_REMOTE_WRITE_PASSWORD(_FILE), need each other",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_TOKEN": "a", "FACHO_REMOTE_WRITE_TOKEN_FILE": "b"},
            "FACHO_REMOTE_WRITE_TOKEN and FACHO_REMOTE_WRITE_TOKEN_FILE are both set",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_KEY_FILE": "key.pem"},
            "FACHO_REMOTE_WRITE_KEY_FILE needs FACHO_REMOTE_WRITE_CERT_FILE",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_TOKEN": "two\nlines"},
            "FACHO_REMOTE_WRITE_TOKEN has characters that cannot be sent",
        ),
        (WRITE | {"FACHO_REMOTE_WRITE_STEP": "2h"}, "FACHO_REMOTE_WRITE_STEP must not be longer than 10m"),
        (
            WRITE | {"FACHO_REMOTE_WRITE_TIMEOUT": "11m"},
            "FACHO_REMOTE_WRITE_TIMEOUT must not be longer than 10m",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_CONNECTIONS": "100000"},
            "FACHO_REMOTE_WRITE_CONNECTIONS must not be larger than 100",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_TENANT": "Bogotá"},
            "FACHO_REMOTE_WRITE_TENANT has characters that cannot be sent",
        ),
        (
            WRITE | {"FACHO_REMOTE_WRITE_USER": "a:b", "FACHO_REMOTE_WRITE_PASSWORD": "hidden"},
            "FACHO_REMOTE_WRITE_USER must not have a colon",
        ),
        (
            {"FACHO_REMOTE_WRITE_URL": "https://metrics..example.net/write"},
            "FACHO_REMOTE_WRITE_URL must be a URL that begins with http:// or https://",
        ),
        (WRITE | {"FACHO_REMOTE_WRITE_BACKLOG": "10m"}, "FACHO_REMOTE_WRITE_BACKLOG must be an hour or more"),
        (
            WRITE | {"FACHO_REMOTE_WRITE_BACKLOG": "90d"},
            "FACHO_REMOTE_WRITE_BACKLOG must be 2 hours shorter than FACHO_KEEP_HISTORY",
        ),
        ({"FACHO_RETENTION_CHUNK": "10001"}, "FACHO_RETENTION_CHUNK must not be larger than 10000"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    home: dict[str, str], settings: dict[str, str], sentence: str
) -> None:
    (said,) = refused(home | settings)
    assert said.startswith(sentence)
    assert "hidden" not in said


def test_tls_without_a_proxy_that_is_believed_leaves_no_page_to_be_seen(home: dict[str, str]) -> None:
    (said,) = web_contradictions(read_config(home | {"FACHO_TLS": "yes"}))
    assert said.startswith("FACHO_TLS is yes and FACHO_TRUSTED_PROXIES is empty")
    assert web_contradictions(read_config(home | {"FACHO_TLS": "yes", "FACHO_TRUSTED_PROXIES": "::1"})) == []
    assert web_contradictions(read_config(home)) == []


def test_the_env_file_of_the_home_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    lines = [
        "# of this machine",
        "",
        "FACHO_POLLERS = 7",
        'FACHO_WEB_ADDRESS="0.0.0.0:80"',
        "FACHO_BATCH=100",
    ]
    (tmp_path / "facho.env").write_text("\n".join(lines))
    config = read_config({"FACHO_HOME": str(tmp_path), "FACHO_BATCH": "300"})
    assert (config.pollers, config.web_address, config.batch) == (7, "0.0.0.0:80", 300)


def test_another_env_file_can_be_named(tmp_path: Path, home: dict[str, str]) -> None:
    file = tmp_path / "other.env"
    file.write_text("FACHO_POLLERS=3\n")
    assert read_config(home | {"FACHO_ENV_FILE": str(file)}).pollers == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "FACHO_ENV_FILE: there is no file"),
        ("FACHO_POLLERS=3\nFACHO_BATCH\n", "line 2: it must be NAME=VALUE"),
        ("FACHO_POLLER=3\n", "FACHO_POLLER is not a setting of facho"),
        ("FACHO_POLLERS=\xff", "cannot be read"),
    ],
)
def test_a_bad_env_file_is_refused(
    tmp_path: Path, home: dict[str, str], text: str | None, sentence: str
) -> None:
    file = tmp_path / "other.env"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    (said,) = refused(home | {"FACHO_ENV_FILE": str(file)})
    assert sentence in said


def test_secrets_do_not_show(home: dict[str, str]) -> None:
    secrets = {
        "FACHO_DATABASE_URL": "postgresql://me:secret@server/facho",
        "FACHO_SECRET_KEY": "secret",
        "FACHO_CREDENTIAL_KEYS": "secret",
    }
    assert "secret@" not in repr(read_config(home | secrets))
    assert "'secret'" not in repr(read_config(home | secrets))


def test_the_reference_has_every_setting_with_its_meaning_and_default() -> None:
    rows = dict(re.findall(r"^\| `(FACHO_\w+)` \| (.*) \|$", REFERENCE.read_text(), re.MULTILINE))
    assert rows == {
        f"FACHO_{each.name.upper()}": f"{each.metadata['what']} | {written(each)}"
        for each in dataclasses.fields(Config)
    }


def written(setting: dataclasses.Field[object]) -> str:
    """As the reference writes a default, and as the variable would be written."""

    def plain(value: object) -> str:
        match value:
            case timedelta(seconds=0, microseconds=0):
                return f"{value.days}d"
            case timedelta():
                return f"{value.total_seconds():g}s"
            case bool():
                return "yes" if value else "no"
            case float():
                return f"{value:g}"
            case tuple():
                return ",".join(map(plain, value))
            case _:
                return str(value)

    text = plain(setting.default)
    return f"`{text}`" if text else ""


@pytest.mark.parametrize("name", ["FACHO_POLLERS", "FACHO_BATCH", "FACHO_REQUESTS_IN_FLIGHT"])
def test_what_is_needed_at_least_once_cannot_be_none(home: dict[str, str], name: str) -> None:
    assert f"{name} must be 1 or more" in refused(home | {name: "0"})
    read_config(home | {"FACHO_REQUEST_RETRIES": "0"})


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("redis://h/0", "redis://h/0"),
        ("rediss://h/0", "rediss://h/0?ssl_cert_reqs=required&ssl_check_hostname=true"),
        (
            "rediss://h/0?ssl_ca_certs=/ca.pem",
            "rediss://h/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required&ssl_check_hostname=true",
        ),
        (
            "rediss://h/0?ssl_cert_reqs=none&ssl_check_hostname=false",
            "rediss://h/0?ssl_cert_reqs=none&ssl_check_hostname=false",
        ),
    ],
)
def test_a_broker_behind_tls_is_verified_unless_it_is_said_otherwise(given: str, used: str) -> None:
    assert Config(broker_url=given).broker == used


def test_a_history_shorter_than_the_backlog_is_fine_without_remote_write(home: dict[str, str]) -> None:
    assert read_config(home | {"FACHO_KEEP_HISTORY": "12h"}).keep_history == timedelta(hours=12)
