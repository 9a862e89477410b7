"""The `facho` command as its own process."""

import subprocess
import sys

from facho import __version__


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "facho", "--version"], capture_output=True, text=True)
    assert done.stdout == f"facho {__version__}\n"


def test_a_traceback_never_shows_local_variables() -> None:
    program = """
from facho.cli import main

@main.command()
def fail() -> None:
    community = "very" + "secret"
    raise RuntimeError("broken")

main(["fail"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "broken" in done.stderr
    assert "verysecret" not in done.stdout + done.stderr
