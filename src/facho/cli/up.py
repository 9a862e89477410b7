"""`facho up`, and the two processes that it is made of: `facho engine` and `facho web`."""

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
from facho.snmp.address import parse_address
from facho.snmp.errors import AddressError

app = typer.Typer()

# What a child may take to end on top of the time that its work has.
_MARGIN_S: Final = 5.0
_EXAMPLES: Final = """
**Examples**

`facho up`  runs the engine and the web here, on SQLite, until Ctrl-C

`facho up --pollers 20 --address 0.0.0.0:8080`  with more pollers, and for others to see
"""

Pollers = Annotated[int | None, typer.Option(min=1, help="Executions at once; FACHO_POLLERS if not given.")]
Address = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to serve; FACHO_WEB_ADDRESS if not given.")
]
WithParent = Annotated[bool, typer.Option(WITH_PARENT, hidden=True)]


@app.command(epilog=_EXAMPLES)
def up(pollers: Pollers = None, address: Address = None) -> None:
    """Collect and show, on this machine: the engine and the web, in two processes."""
    with system(by_a_person=False) as config:
        refuse_with_broker(config)
        _refuse_unusable_web(config)
        sync_with_profiles()
        host, port = free_address(address or config.web_address)
        environment = {"FACHO_WEB_ADDRESS": f"{_bracketed(host)}:{port}"}
        if pollers is not None:
            environment["FACHO_POLLERS"] = str(pollers)
        typer.echo(f"Facho is at http://{_shown(host)}:{port}/  (Ctrl-C ends it)")
        run_engine_and_web(config, environment, stop_on_signals())


def refuse_with_broker(config: Config) -> None:
    """Each would count the other's pollers as its own, and reserve OLTs for them."""
    if config.broker_url:
        fail(
            "FACHO_BROKER_URL is set, and an engine shares no database with workers: "
            "run facho worker, facho beat and facho web, or remove it to have all on this machine"
        )


def _refuse_unusable_web(config: Config) -> None:
    for reason in web_contradictions(config):
        fail(reason)


def sync_with_profiles() -> None:
    """A new version may know more of its vendors, also when its tables are the old ones."""
    from facho.apps.hosts.store import sync_profiles
    from facho.vendors import builtin

    sync_profiles(builtin())


def run_engine_and_web(config: Config, environment: dict[str, str], stopping: threading.Event) -> None:
    children = [Child("engine", ["engine"], environment), Child("web", ["web"], environment)]
    patience = config.stop_within.total_seconds() + _MARGIN_S
    run_children(children, stopping, patience, lambda said: typer.echo(said, err=True))


@app.command()
def engine(pollers: Pollers = None, with_parent: WithParent = False) -> None:
    """Collect, on this machine: the scheduler and its pollers, without the web."""
    stopping = stop_on_signals()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_a_person=False) as config:
        refuse_with_broker(config)
        from facho import logs
        from facho.backends.embedded import run_embedded

        logs.set_up("engine", config)
        run_embedded(config if pollers is None else replace(config, pollers=pollers), stopping)


@app.command()
def web(address: Address = None, with_parent: WithParent = False) -> None:
    """Show: the pages, without collecting."""
    stopping = threading.Event()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_a_person=False) as config:
        from facho import logs

        _refuse_unusable_web(config)
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
            # FACHO_TRUSTED_PROXIES alone says who is believed, not FORWARDED_ALLOW_IPS beside it.
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
    """Ends the program with a sentence when nothing can be served there."""
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


def _shown(host: str) -> str:
    """An address for a browser on this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, _bracketed(host))  # noqa: S104
