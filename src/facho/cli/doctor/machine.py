"""Checks of this machine: folders, keys, file modes, the clock and the settings of the web."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from facho.cli.doctor.findings import Finding, error, ok, warning
from facho.cli.output import list_names
from facho.config import Config, web_contradictions
from facho.core.addresses import network_of
from facho.core.disk import Room
from facho.file_modes import is_shared_folder, paths_open_to_others
from facho.keys import KeyProblem, Vault
from facho.log_files import write_problem
from facho.snmp.errors import AddressError
from facho.snmp.transport import parse_address

# The folder of the coordinator's log.
_COORDINATOR: Final = "coordinator"
# A step of the scheduler is valid for this long, by the clock of the beat that sent it.
_CLOCKS_AGREE_WITHIN: Final = timedelta(seconds=1)
# From <sys/timex.h>: no time service has set the clock lately.
_UNSYNCHRONISED: Final = 0x0040


class _Timex(ctypes.Structure):
    """The beginning of the kernel's `struct timex`, with room for the rest of it."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("frequency", ctypes.c_long),
        ("max_error", ctypes.c_long),
        ("estimated_error", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def check_folders(config: Config) -> Iterator[Finding]:
    for what, folder in (
        ("home", config.home),
        ("logs", config.logs),
        ("coordinator's log", config.logs / _COORDINATOR),
    ):
        if why_not := write_problem(folder):
            yield error(what, f"{folder}: {why_not}", "let facho's user write there")
            return
        yield ok(what, f"{folder} can be written to")
    yield from _check_room(config.home)


def _check_room(folder: Path) -> Iterator[Finding]:
    """Report a full disk early: the database, which knows how long it lasts, often fails on a full disk."""
    usage = shutil.disk_usage(folder)
    if Room(usage.free, usage.total).scarce:
        text = f"only {usage.free / 10**9:.1f} GB of {usage.total / 10**9:.0f} GB are free in {folder}"
        yield error("home", text, "make room, or collection stops when the database cannot grow")


def check_keys(config: Config) -> Finding:
    vault = Vault(config)
    try:
        count = len(vault.keys())
        vault.encrypt("", "")
    except KeyProblem as problem:
        return error("keys", str(problem), "put the keys back from your backup")
    where = "FACHO_CREDENTIAL_KEYS" if vault.from_environment else str(vault.path)
    if count > 1:
        return warning("keys", f"{where} has {count} keys", "finish the rotation: facho keys rotate")
    return ok("keys", f"one key in {where}")


def check_file_modes(config: Config) -> Iterator[Finding]:
    """Report an open file as an error and an open folder, which shows only names, as a warning."""
    found = paths_open_to_others(config)
    close = "start facho again, which closes its own, or: chmod go= FILE"
    # Others need /tmp or a home folder open: FACHO_HOME has to move instead.
    move = "move FACHO_HOME to a folder of its own: others of this machine need this one"
    for is_folder, is_shared, finding, do in (
        (False, False, error, close),
        (True, False, warning, close),
        (True, True, warning, move),
    ):
        kind = [
            f"{path} can be read by others (mode {mode:04o})"
            for path, mode in found
            if (path.is_dir(), is_shared_folder(path)) == (is_folder, is_shared)
        ]
        if kind:
            yield finding("files", list_names(kind), do)
    if not found:
        yield ok("files", "only facho's user can read the database, the keys and the logs")


def is_synchronised() -> bool | None:
    """Ask the kernel whether a time service keeps the clock right; None where it does not say."""
    try:
        adjtimex = ctypes.CDLL(None).adjtimex
    except (AttributeError, OSError):
        # Not Linux.
        return None
    # Without modes it changes nothing, and needs no privilege.
    answer = _Timex()
    if adjtimex(ctypes.byref(answer)) < 0:
        return None
    return not answer.status & _UNSYNCHRONISED


def check_clock(synchronised: bool | None) -> Finding:
    if synchronised is None:
        return ok("clock", "this system does not report whether its clock is synchronised")
    if not synchronised:
        text = "the kernel reports that this machine's clock is not synchronised"
        return warning("clock", text, "start one: systemd-timesyncd or chrony (timedatectl shows it)")
    return ok("clock", "synchronised by a time service")


def compare_clocks(before: datetime, at_database: datetime, after: datetime) -> Finding:
    """Compare the database's time with this machine's, which was read before and after asking for it."""
    behind, ahead = before - at_database, at_database - after
    if max(behind, ahead) > _CLOCKS_AGREE_WITHIN:
        off, where = (behind, "behind") if behind > ahead else (ahead, "ahead of")
        text = f"it is {off.total_seconds():.1f} s {where} this machine's"
        return warning("database's clock", text, "synchronise both with a time service")
    return ok("database's clock", "it agrees with this machine's")


def check_web(config: Config, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is wrong with TLS, proxies, names and the address, or that nothing is."""
    wrong = [*_web_errors(config), *_web_warnings(config, environment)]
    yield from wrong or [ok("web", _describe_web(config))]


def _web_errors(config: Config) -> Iterator[Finding]:
    for reason in web_contradictions(config):
        yield error("web", reason, "set FACHO_TRUSTED_PROXIES")
    for text in config.trusted_proxies:
        network = network_of(text)
        if network is not None and network.prefixlen == 0:
            text = f"FACHO_TRUSTED_PROXIES has {text}: anybody can claim any address"
            yield error("web", text, "name the addresses that the proxies connect from")


def _web_warnings(config: Config, environment: Mapping[str, str]) -> Iterator[Finding]:
    is_public = _listens_publicly(config)
    behind_proxy = config.tls or bool(config.trusted_proxies)
    if is_public and not config.tls:
        text = f"the pages are served at {config.web_address} without TLS: passwords can be read in transit"
        yield warning("web", text, "put a proxy with TLS in front, and set FACHO_TLS=yes")
    elif config.trusted_proxies and not config.tls:
        text = "a proxy is in front and FACHO_TLS is no: browsers send cookies without TLS, too"
        yield warning("web", text, "set FACHO_TLS=yes, if the proxy has TLS")
    if (is_public or behind_proxy) and not config.allowed_hosts:
        text = "FACHO_ALLOWED_HOSTS is empty: under any name but localhost the pages are refused"
        yield warning("web", text, "set it to the names in people's browsers")
    if "*" in config.allowed_hosts:
        text = "FACHO_ALLOWED_HOSTS has *: the pages answer under any name, also that of somebody else"
        yield warning("web", text, "set it to the names in people's browsers")
    if "FORWARDED_ALLOW_IPS" in environment:
        yield warning("web", "FORWARDED_ALLOW_IPS is not read", "set FACHO_TRUSTED_PROXIES instead")


def _listens_publicly(config: Config) -> bool:
    """Say whether other machines can connect to the pages; the name of a host is taken as public."""
    try:
        host, _port = parse_address(config.web_address, default_port=8000)
        return not ip_address(host).is_loopback
    except (AddressError, ValueError):
        return not config.web_address.startswith("localhost")


def _describe_web(config: Config) -> str:
    if config.tls:
        return f"at {config.web_address}, behind TLS of {', '.join(config.trusted_proxies)}"
    return f"at {config.web_address}, for this machine alone"
