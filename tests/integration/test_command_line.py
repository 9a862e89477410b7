"""The `facho` command as its own process."""

import os
import subprocess
import sys

import pytest

from facho import __version__
from tests.services import warm


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


@pytest.mark.parametrize(("words", "pollers"), [(["olt", "add"], "3"), (["olt", "list"], "many")])
def test_the_tests_own_commands_say_what_a_persons_say(words: list[str], pollers: str) -> None:
    """Most tests of the command line fork theirs from a process that has imported it already."""
    env = {**os.environ, "FACHO_POLLERS": pollers}
    cold = subprocess.run([sys.executable, "-m", "facho", *words], capture_output=True, text=True, env=env)
    done = warm.run(words, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert done.returncode != 0
