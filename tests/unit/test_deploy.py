"""What deploy/ and its page say is true of this program: commands, settings, names on the broker."""

from __future__ import annotations

import configparser
import dataclasses
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from facho.backends import celery_names
from facho.cli import main
from facho.config import PREFIX, Config, read_config, web_contradictions
from facho.core.pool import SNMP_QUEUES

ROOT = Path(__file__).parents[2]
SYSTEMD = ROOT / "deploy" / "systemd"
COMPOSE = ROOT / "deploy" / "compose"
HOWTO = ROOT / "docs" / "howto" / "scale-out.md"
UNITS = sorted(SYSTEMD.glob("*.service"))
SETTINGS = {PREFIX + field.name.upper() for field in dataclasses.fields(Config)} | {"FACHO_ENV_FILE"}
# What a process of facho is meant to stay under, with a million ONUs.
PROCESS_MB = 400
# What an operator of several machines has to think of.
NEEDED = {
    f"{PREFIX}{name}"
    for name in (
        "DATABASE_URL",
        "BROKER_URL",
        "CREDENTIAL_KEYS",
        "SECRET_KEY",
        "TIME_ZONE",
        "WEB_ADDRESS",
        "ALLOWED_HOSTS",
        "TLS",
        "TRUSTED_PROXIES",
    )
}


def unit(path: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text())
    return parser


def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def ours() -> dict[str, dict[str, Any]]:
    return {name: each for name, each in compose()["services"].items() if each["image"] == "facho"}


def megabytes(text: str) -> float:
    units = {"m": 1, "g": 1024}
    return float(text[:-1]) * units[text[-1].lower()]


def is_a_command(word: str) -> bool:
    return CliRunner().invoke(main, [word, "--help"]).exit_code == 0


def variables(text: str) -> set[str]:
    """Those that are set in an env file, also in one of its comments."""
    return set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE))


def test_there_is_a_unit_for_one_machine_and_three_for_several() -> None:
    named = [path.name for path in UNITS]
    assert named == ["facho-beat.service", "facho-up.service", "facho-web.service", "facho-worker@.service"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_exists(path: Path) -> None:
    words = unit(path)["Service"]["ExecStart"].split()
    assert words[0] == "/opt/facho/bin/facho"
    assert f"facho-{words[1]}" == path.stem.rstrip("@")
    assert is_a_command(words[1])


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_lets_its_process_hand_back_what_runs_and_starts_it_again(path: Path) -> None:
    service = unit(path)["Service"]
    assert float(service["TimeoutStopSec"]) > 2 * Config().stop_within.total_seconds()
    assert (service["KillSignal"], service["KillMode"]) == ("SIGTERM", "mixed")
    assert service["Restart"] == "always"
    assert unit(path)["Unit"]["StartLimitIntervalSec"] == "0"


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_can_write_to_its_home_and_nowhere_else(path: Path) -> None:
    service = unit(path)["Service"]
    home = service["Environment"].removeprefix("FACHO_HOME=")
    assert home == service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    assert service["User"] == "facho"
    assert (service["ProtectSystem"], service["NoNewPrivileges"]) == ("strict", "yes")
    assert service["CapabilityBoundingSet"] == ""


def test_units_differ_only_in_what_they_start_and_where_it_lives() -> None:
    own = {"ExecStart", "Environment", "StateDirectory", "WorkingDirectory", "MemoryHigh", "MemoryMax"}
    shared = [
        {key: value for key, value in unit(path)["Service"].items() if key not in own} for path in UNITS
    ]
    assert all(each == shared[0] for each in shared)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_a_unit_leaves_memory_to_others_and_its_processes_what_they_need(path: Path) -> None:
    service = unit(path)["Service"]
    # `facho up` is itself, the engine and the web.
    processes = 3 if path.stem == "facho-up" else 1
    assert PROCESS_MB * processes < megabytes(service["MemoryHigh"]) < megabytes(service["MemoryMax"])


def test_containers_leave_memory_to_others_and_have_what_they_need() -> None:
    for name, service in ours().items():
        assert megabytes(service["mem_limit"]) > PROCESS_MB, name
    assert "mem_limit" in compose()["services"]["redis"]


def test_processes_of_one_machine_do_not_share_a_log_file() -> None:
    homes = [unit(path)["Service"]["StateDirectory"] for path in UNITS]
    assert len(set(homes)) == len(homes)
    assert "%i" in unit(SYSTEMD / "facho-worker@.service")["Service"]["StateDirectory"]


def test_the_env_file_names_what_an_operator_must_think_of(tmp_path: Path) -> None:
    text = (SYSTEMD / "facho.env.example").read_text()
    assert variables(text) >= NEEDED
    # A unit's own FACHO_HOME would lose against it.
    assert "FACHO_HOME" not in variables(text)
    every = tmp_path / "every.env"
    every.write_text(re.sub(r"^#(?=[A-Z_]+=)", "", text, flags=re.MULTILINE))
    config = read_config({"FACHO_ENV_FILE": str(every), "FACHO_HOME": str(tmp_path)})
    assert config.broker_url.startswith("redis://")
    assert web_contradictions(config) == []


def test_nothing_names_a_variable_of_the_server_below_which_is_not_read() -> None:
    pages = [
        path for folder in ("deploy", "docs/howto") for path in (ROOT / folder).rglob("*") if path.is_file()
    ]
    assert not [path for path in pages if b"FORWARDED_ALLOW_IPS" in path.read_bytes()]


def test_the_container_of_the_web_believes_the_gateway_of_its_network_and_nobody_else() -> None:
    web, (network,) = ours()["web"]["environment"], compose()["networks"]["default"]["ipam"]["config"]
    assert web["FACHO_TRUSTED_PROXIES"] == f"${{FACHO_TRUSTED_PROXIES:-{network['gateway']}}}"
    assert ip_address(network["gateway"]) in ip_network(network["subnet"])
    assert web["FACHO_TLS"] == "${FACHO_TLS:-yes}"
    (port,) = ours()["web"]["ports"]
    assert port.startswith("127.0.0.1:")


def test_every_setting_that_is_named_exists() -> None:
    files = [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    for path in [*files, HOWTO]:
        named = set(re.findall(r"\bFACHO_[A-Z_]*[A-Z]", path.read_text()))
        assert named <= SETTINGS, path


def test_containers_start_commands_that_exist() -> None:
    assert sorted(ours()) == ["beat", "migrate", "web", "worker"]
    for name, service in ours().items():
        assert service["command"] == [name]
        assert is_a_command(name)
        assert {key for key in service["environment"] if key.startswith(PREFIX)} <= SETTINGS


def test_two_beats_and_two_workers_run_in_containers() -> None:
    assert [ours()[name]["deploy"]["replicas"] for name in ("beat", "worker")] == [2, 2]


def test_containers_have_time_to_hand_back_what_runs() -> None:
    for service in ours().values():
        assert float(service["stop_grace_period"].removesuffix("s")) > Config().stop_within.total_seconds()


def test_containers_wait_for_what_they_need() -> None:
    services = compose()["services"]
    for name, service in ours().items():
        for needed, how in service["depends_on"].items():
            wanted = "service_completed_successfully" if needed == "migrate" else "service_healthy"
            assert how["condition"] == wanted, (name, needed)
            assert needed == "migrate" or "healthcheck" in services[needed]
        assert name == "migrate" or "migrate" in service["depends_on"]
    assert "healthcheck" in services["web"]


def test_containers_know_each_variable_that_a_person_sets_for_them() -> None:
    text = (COMPOSE / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{([A-Z_]+)", text)) == variables((COMPOSE / ".env.example").read_text())


def test_own_profiles_survive_a_new_image_and_are_the_same_for_all_processes() -> None:
    home = re.search(r"FACHO_HOME=(\S+)", (COMPOSE / "Dockerfile").read_text())
    assert home is not None
    for service in ours().values():
        assert service["volumes"] == [f"./profiles:{home[1]}/profiles:ro"]
    assert "FACHO_PROFILES=/etc/facho/profiles" in (ROOT / "deploy/systemd/facho.env.example").read_text()


def test_containers_do_not_start_without_secrets() -> None:
    text = (COMPOSE / "compose.yaml").read_text()
    for secret in ("POSTGRES_PASSWORD", "FACHO_CREDENTIAL_KEYS", "FACHO_SECRET_KEY"):
        used = re.findall(rf"\$\{{{secret}(.*?)\}}", text)
        assert used
        assert all(each.startswith(":?") for each in used)
        assert re.search(rf"^{secret}=$", (COMPOSE / ".env.example").read_text(), re.MULTILINE)


def test_the_image_is_made_from_locks_and_holds_no_secret() -> None:
    lines = (COMPOSE / "Dockerfile").read_text().splitlines()
    assert any(
        "--require-hashes -r requirements/build.lock -r requirements/runtime.lock" in each for each in lines
    )
    assert [each for each in lines if each.startswith("USER")] == ["USER facho"]
    text = "\n".join(each for each in lines if not each.startswith("#"))
    assert not re.search(r"SECRET|PASSWORD|CREDENTIAL", text)


def test_the_builder_gets_what_is_copied_and_nothing_else() -> None:
    allowed = (COMPOSE / "Dockerfile.dockerignore").read_text().split()
    lines = (COMPOSE / "Dockerfile").read_text().splitlines()
    copied = [
        source
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    assert copied
    assert sorted(f"!{source}" for source in copied) == sorted(
        each for each in allowed if each.startswith("!")
    )
    assert "*" in allowed
    assert all((ROOT / source).exists() for source in copied)


def test_the_page_names_every_queue_task_and_entry() -> None:
    text = HOWTO.read_text()
    names = [value for name, value in vars(celery_names).items() if name.isupper() and isinstance(value, str)]
    for name in {*names, *SNMP_QUEUES}:
        assert f"`{name}`" in text, name
