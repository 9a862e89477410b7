"""The `facho` command itself; each group of commands has tests of its own."""

import pytest
from typer.testing import CliRunner

from facho import __version__
from facho.cli import main


def test_it_tells_its_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"facho {__version__}\n")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_shows_examples(option: str) -> None:
    result = CliRunner().invoke(main, [option])
    assert result.exit_code == 0
    assert "Examples" in result.output


def test_bad_use_has_its_own_exit_code() -> None:
    assert CliRunner().invoke(main, ["no-such-command"]).exit_code == 2
