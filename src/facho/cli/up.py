"""`facho up`, `facho engine` and `facho web`: the processes of a system on one machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Final

import typer

from facho.cli.errors import Exit, fail, refuse
from facho.cli.processes import Child, WithParent, run_children, stop_on_signals, stop_with_parent
from facho.cli.remote_write import refuse_bad_files, sender_children
from facho.cli.system import system
from facho.config import Config, web_contradictions
from facho.snmp.errors import AddressError
from facho.snmp.transport import parse_address

app = typer.Typer()

# Time for a process to end, beyond the time that its work has.
_MARGIN_S: Final = 5.0
_EXAMPLES: Final = """
**Examples**

`facho up`  runs the engine and the web here, on SQLite, until Ctrl-C

`facho up --pollers 20 --address 0.0.0.0:8080`  with more pollers, and pages for other machines
"""

Pollers = Annotated[int | None, typer.Option(min=1, help="Executions at once; FACHO_POLLERS if not given.")]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to serve; FACHO_WEB_ADDRESS if not given.")
]
PollerChannel = Annotated[int | None, typer.Option(hidden=True)]
SHARED_PORT: Final = "--shared-port"
SharedPort = Annotated[bool, typer.Option(SHARED_PORT, hidden=True)]


@app.command(epilog=_EXAMPLES)
def up(pollers: Pollers = None, address: Address = None) -> None:
    """Run the engine and the web on this machine, in two processes."""
    with system(by_person=False) as config:
        from facho.apps.access.selectors import administrators

        refuse_with_broker(config)
        _check_web_settings(config)
        refuse_bad_files(config)
        sync_with_profiles()
        host, port = free_address(address or config.web_address)
        environment = {"FACHO_WEB_ADDRESS": f"{_bracketed(host)}:{port}"}
        if pollers is not None:
            environment["FACHO_POLLERS"] = str(pollers)
        typer.echo(f"Facho is at http://{_local_address(host)}:{port}/  (Ctrl-C ends it)")
        if not administrators().exists():
            typer.echo("Nobody can log in yet: facho user add NAME --role administrator")
        run_engine_and_web(config, environment, stop_on_signals())


def refuse_with_broker(config: Config) -> None:
    """Refuse to run an engine beside workers: each would count the pollers of the other as its own."""
    if config.broker_url:
        fail(
            "FACHO_BROKER_URL is set, and an engine shares no database with workers: "
            "run facho worker, facho beat and facho web, or remove it to have all on this machine"
        )


def _check_web_settings(config: Config) -> None:
    for reason in web_contradictions(config):
        fail(reason)
    if config.web_processes > 1 and not hasattr(socket, "SO_REUSEPORT"):
        fail("FACHO_WEB_PROCESSES must be 1: on this system several processes cannot serve one address")


def sync_with_profiles() -> None:
    """Update the OIDs of the profiles: a new version may have others without a migration."""
    from facho.apps.hosts.store import sync_profiles
    from facho.vendors import profiles_in_use

    sync_profiles(profiles_in_use())


def run_engine_and_web(config: Config, environment: dict[str, str], stopping: threading.Event) -> None:
    with web_children(config, environment) as web:
        children = [Child("engine", ["engine"], environment), *web, *sender_children(config, environment)]
        _run_children(config, children, stopping)


def _run_children(config: Config, children: list[Child], stopping: threading.Event) -> None:
    patience = config.stop_within.total_seconds() + _MARGIN_S
    run_children(children, stopping, patience, lambda text: typer.echo(text, err=True))


@contextmanager
def web_children(config: Config, environment: dict[str, str]) -> Iterator[list[Child]]:
    """Yield the processes that serve the pages at FACHO_WEB_ADDRESS of the environment.

    If there are several, each listens there, and the kernel spreads the connections over them. The address is
    reserved meanwhile, so that no other program gets it while all of them are restarted.
    """
    if config.web_processes == 1:
        yield [Child("web", ["web"], environment)]
        return
    with _bind_shared(*_parse_web_address(environment["FACHO_WEB_ADDRESS"])):
        yield [
            Child(f"web {number}", ["web", SHARED_PORT], environment)
            for number in range(1, config.web_processes + 1)
        ]


@app.command()
def engine(
    pollers: Pollers = None, with_parent: WithParent = False, poller_channel: PollerChannel = None
) -> None:
    """Run the scheduler and its pollers on this machine, without the web."""
    stopping = stop_on_signals()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_person=False) as config:
        refuse_with_broker(config)
        from facho import logs
        from facho.backends.embedded import run_embedded
        from facho.backends.poller_children import run_poller_child
        from facho.vendors.library import log_own_profiles

        logs.set_up("engine", config)
        if poller_channel is None:
            log_own_profiles()
        own = config if pollers is None else replace(config, pollers=pollers)
        if poller_channel is None:
            run_embedded(own, stopping)
        else:
            run_poller_child(own, poller_channel, stopping)


@app.command()
def web(address: Address = None, with_parent: WithParent = False, shared_port: SharedPort = False) -> None:
    """Serve the pages, without collecting, in as many processes as FACHO_WEB_PROCESSES says."""
    with system(by_person=False) as config:
        from facho import logs
        from facho.vendors.library import log_own_profiles

        _check_web_settings(config)
        if config.web_processes > 1 and not shared_port:
            host, port = free_address(address or config.web_address)
            environment = {"FACHO_WEB_ADDRESS": f"{_bracketed(host)}:{port}"}
            with web_children(config, environment) as children:
                _run_children(config, children, stop_on_signals())
            return
        stopping = threading.Event()
        if with_parent:
            stop_with_parent(stopping)
        logs.set_up("web", config)
        log_own_profiles()
        if shared_port:
            host, port = _parse_web_address(config.web_address)
            _serve(host, port, stopping, [_bind_shared(host, port)])
        else:
            _serve(*free_address(address or config.web_address), stopping)


def _serve(
    host: str, port: int, stopping: threading.Event, sockets: list[socket.socket] | None = None
) -> None:
    """Serve until `stopping` is set or a signal comes, at the address or at these sockets of it."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            "facho.asgi:application",
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            # Only FACHO_TRUSTED_PROXIES decides which proxies are trusted, not FORWARDED_ALLOW_IPS.
            proxy_headers=False,
        )
    )

    def stop() -> None:
        stopping.wait()
        server.should_exit = True

    threading.Thread(target=stop, name="stop", daemon=True).start()
    server.run(sockets)
    if not server.started:
        raise typer.Exit(Exit.BAD_USE)


def free_address(text: str) -> tuple[str, int]:
    """Return the host and the port; refuse an address that cannot be served."""
    host, port = _parse_web_address(text)
    with socket.socket(_family(host), socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            refuse(f"the web cannot be served at {text}: {error.strerror}; choose another with --address")
        return host, trial.getsockname()[1]


def _parse_web_address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text, default_port=8000)
    except AddressError as error:
        refuse(f"the address of the web, {text}: {error}")


def _bind_shared(host: str, port: int) -> socket.socket:
    """Return a socket at an address at which other processes of this user have theirs too."""
    found = socket.socket(_family(host), socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if found.family == socket.AF_INET6:
        # As the server does that has an address of its own.
        found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    found.bind((host, port))
    return found


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _local_address(host: str) -> str:
    """Return an address for a browser on this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, _bracketed(host))  # noqa: S104
