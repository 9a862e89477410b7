"""The Debian packages that the services come from."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.services.unavailable import Unavailable

# Debian keeps each version of PostgreSQL in a folder of its own.
POSTGRESQL_FOLDERS = sorted(
    Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda folder: float(folder.parent.name), reverse=True
)
# Daemons live in sbin, which an ordinary user's PATH leaves out.
SEARCH_PATH = os.pathsep.join(
    [
        *map(str, POSTGRESQL_FOLDERS),
        os.environ.get("PATH", os.defpath),
        "/usr/local/sbin",
        "/usr/sbin",
        "/sbin",
    ]
)

APT_OPTIONS = (
    "-qq",
    "-o=DPkg::Lock::Timeout=120",
    "-o=Acquire::Retries=1",
    "-o=Acquire::http::Timeout=30",
    "-o=Acquire::https::Timeout=30",
)


@dataclass(frozen=True)
class Package:
    name: str
    command: str
    # System services that the package starts by itself; we want the program, not the service.
    services: tuple[str, ...] = ()


SNMPD = Package("snmpd", "snmpd", services=("snmpd", "snmptrapd"))
SNMP_TOOLS = Package("snmp", "snmpbulkwalk")
POSTGRESQL = Package("postgresql", "postgres", services=("postgresql",))
CHROMIUM = Package("chromium", "chromium")
REDIS = Package("redis-server", "redis-server", services=("redis-server",))
NGINX = Package("nginx", "nginx", services=("nginx",))
CADDY = Package("caddy", "caddy", services=("caddy",))
PROMETHEUS = Package("prometheus", "prometheus", services=("prometheus",))
# Load on the web, for `make bench`.
WRK = Package("wrk", "wrk")
PACKAGES = (SNMPD, SNMP_TOOLS, POSTGRESQL, REDIS, NGINX, CADDY, PROMETHEUS, CHROMIUM, WRK)


def find(command: str, package: Package) -> str:
    """The full path of a command, or Unavailable with the package that has it."""
    path = shutil.which(command, path=SEARCH_PATH)
    if path is None:
        raise Unavailable(package.name, f"the Debian package {package.name} is not installed")
    return path


def missing() -> list[Package]:
    return [package for package in PACKAGES if shutil.which(package.command, path=SEARCH_PATH) is None]


def install(packages: list[Package]) -> str | None:
    """Install packages with apt-get. Returns why it could not, or None."""
    if shutil.which("apt-get") is None:
        return "this system has no apt-get"
    root = _become_root()
    if root is None:
        return "neither root nor sudo without a password"
    why = _install_by_apt(root, [package.name for package in packages])
    for package in packages:
        for service in package.services:
            _stop_service(root, service)
    return why


def _install_by_apt(root: tuple[str, ...], names: list[str]) -> str | None:
    if _apt_get(root, "install", *names) is None:
        return None
    # The lists of a fresh machine may be empty or old.
    if (why := _apt_get(root, "update")) is not None:
        return why
    # One by one: a package that this system lacks must not cost us the others.
    reasons = [_apt_get(root, "install", name) for name in names]
    return "; ".join(reason for reason in reasons if reason is not None) or None


def _become_root() -> tuple[str, ...] | None:
    if os.geteuid() == 0:
        return ()
    sudo = ("sudo", "-n")
    if shutil.which("sudo") and _run((*sudo, "true")).returncode == 0:
        return sudo
    return None


def _apt_get(root: tuple[str, ...], verb: str, *names: str) -> str | None:
    # Without a run level that allows it, init scripts do not start what was just installed.
    environment = ("env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
    more = ("--yes", "--no-install-recommends") if verb == "install" else ()
    done = _run((*root, *environment, "apt-get", *APT_OPTIONS, verb, *more, *names), timeout=600)
    if done.returncode == 0:
        return None
    last_line = (done.stdout.strip().splitlines() or ["no message"])[-1]
    return f"{' '.join(('apt-get', verb, *names))} failed: {last_line}"


def _stop_service(root: tuple[str, ...], service: str) -> None:
    if Path("/run/systemd/system").is_dir():
        _run((*root, "systemctl", "disable", "--now", service))
    elif Path("/etc/init.d", service).exists():
        _run((*root, f"/etc/init.d/{service}", "stop"))


def _run(argv: tuple[str, ...], timeout: float = 60) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, stdout=f"no end after {timeout:.0f} s")
