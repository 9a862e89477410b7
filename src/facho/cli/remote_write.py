"""`facho remote-write`: the process that sends samples, which `facho up` and `facho beat` start."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import typer

from facho.cli.errors import fail
from facho.cli.processes import Child, WithParent, run_children, stop_on_signals, stop_with_parent
from facho.cli.system import system
from facho.config import Config

app = typer.Typer()

# Time for the process to end, beyond the time that its work has.
_MARGIN_S: Final = 5.0
_EXAMPLES: Final = """
**Examples**

`facho remote-write`  a further sender, on this or another machine, when one does not keep up
"""


@app.command(epilog=_EXAMPLES)
def remote_write(with_parent: WithParent = False) -> None:
    """Send samples to FACHO_REMOTE_WRITE_URL; facho up and facho beat start one such process themselves."""
    stopping = stop_on_signals()
    if with_parent:
        stop_with_parent(stopping)
    with system(by_person=False) as config:
        from facho import logs
        from facho.engine.remote_write.sender import run_senders

        if not config.remote_write_url:
            fail("FACHO_REMOTE_WRITE_URL is not set: there is no receiver to send samples to")
        refuse_bad_files(config)
        logs.set_up("remote-write", config)
        run_senders(config, stopping)


def refuse_bad_files(config: Config) -> None:
    """Refuse to start with a file of a secret or a certificate that cannot be used."""
    if config.remote_write_url:
        from facho.engine.remote_write.receiver import file_problems

        for problem in file_problems(config):
            fail(problem)


def sender_children(config: Config, environment: Mapping[str, str]) -> list[Child]:
    """Return the process that sends samples; none without a receiver."""
    return [Child("remote write", ["remote-write"], environment)] if config.remote_write_url else []


@contextmanager
def running_sender(config: Config) -> Iterator[None]:
    """Run the process that sends samples beside this one."""
    if not (children := sender_children(config, {})):
        yield
        return
    stopping = threading.Event()
    patience = config.stop_within.total_seconds() + _MARGIN_S

    def run() -> None:
        run_children(children, stopping, patience, lambda text: typer.echo(text, err=True))

    thread = threading.Thread(target=run, name="remote write")
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
