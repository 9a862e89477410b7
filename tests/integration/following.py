"""Follows a page: runs its commands one after the other in one process, and says what each said.

`cp FILE ...` adds a profile as the page does, but to a folder of its own that counts as the built-in one.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from typer.testing import CliRunner

from facho.cli import main
from facho.vendors import library
from tests.own_profiles import forget_profiles


def follow(command: str) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] != "facho":
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        # A process of its own would read what is in the folder now.
        forget_profiles()
        return done.returncode, done.stdout + done.stderr
    result = CliRunner().invoke(main, words[1:], catch_exceptions=False)
    return result.exit_code, result.output


def use_few_profiles(folder: Path) -> None:
    """Use the generic profile alone. All of them take seconds to read, and other tests hold them apart."""
    profiles = folder / "vendors" / "profiles"
    profiles.mkdir(parents=True)
    shutil.copy(Path(library.__file__).parent / "profiles" / "generic.yaml", profiles)
    vars(library)["resources"] = SimpleNamespace(files=lambda _package: folder / "vendors")


if __name__ == "__main__":
    use_few_profiles(Path(sys.argv[1]))
    told = [(command, *follow(command)) for command in json.load(sys.stdin)]
    print(json.dumps(told))
