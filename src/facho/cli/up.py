"""`facho up`, `facho engine` and `facho web`: the processes of a system on one machine."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Annotated, Final

import typer

from facho.cli.errors import Exit, fail, refuse
from facho.cli.processes import WITH_PARENT, Child, run_children, stop_on_signals, stop_with_parent
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
WithParent = Annotated[bool, typer.Option(WITH_PARENT, hidden=True)]


@app.command(epilog=_EXAMPLES)
def up(pollers: Pollers = None, address: Address = None) -> None:
    """Run the engine and the web on this machine, in two processes."""
    with system(by_person=False) as config:
        refuse_with_broker(config)
        _check_web_settings(config)
        sync_with_profiles()
        host, port = free_address(address or config.web_address)
        environment = {"FACHO_WEB_ADDRESS": f"{_bracketed(host)}:{port}"}
        if pollers is not None:
            environment["FACHO_POLLERS"] = str(pollers)
        typer.echo(f"Facho is at http://{_local_address(host)}:{port}/  (Ctrl-C ends it)")
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


def sync_with_profiles() -> None:
    """Update the OIDs of the profiles: a new version may have others without a migration."""
    from facho.apps.hosts.store import sync_profiles
    from facho.vendors import builtin

    sync_profiles(builtin())


def run_engine_and_web(config: Config, environment: dict[str, str], stopping: threading.Event) -> None:
    children = [Child("engine", ["engine"], environment), Child("web", ["web"], environment)]
    patience = config.stop_within.total_seconds() + _MARGIN_S
    run_children(children, stopping, patience, lambda text: typer.echo(text, err=True))


@app.command()
def engine(pollers: Pollers = None, with_parent: WithParent = False) -> None:
    """Run the scheduler and its pollers on this machine, without the web."""
    stopping = stop_on_signals()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_person=False) as config:
        refuse_with_broker(config)
        from facho import logs
        from facho.backends.embedded import run_embedded

        logs.set_up("engine", config)
        run_embedded(config if pollers is None else replace(config, pollers=pollers), stopping)


@app.command()
def web(address: Address = None, with_parent: WithParent = False) -> None:
    """Serve the pages, without collecting."""
    stopping = threading.Event()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_person=False) as config:
        from facho import logs

        _check_web_settings(config)
        logs.set_up("web", config)
        _serve(*free_address(address or config.web_address), stopping)


def _serve(host: str, port: int, stopping: threading.Event) -> None:
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
    server.run()
    if not server.started:
        raise typer.Exit(Exit.BAD_USE)


def free_address(text: str) -> tuple[str, int]:
    """Return the host and the port; refuse an address that cannot be served."""
    try:
        host, port = parse_address(text, default_port=8000)
    except AddressError as error:
        refuse(f"the address of the web, {text}: {error}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            refuse(f"the web cannot be served at {text}: {error.strerror}; choose another with --address")
        return host, trial.getsockname()[1]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _local_address(host: str) -> str:
    """Return an address for a browser on this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, _bracketed(host))  # noqa: S104
