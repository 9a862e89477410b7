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


def follow(command: str, profiles: Path) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] == "cp":
        shutil.copy(words[1], profiles)
        library.builtin.cache_clear()
        return 0, ""
    if words[0] != "facho":
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    result = CliRunner().invoke(main, words[1:], catch_exceptions=False)
    return result.exit_code, result.output


def own_profiles(folder: Path) -> Path:
    """With those that no vendor made. All of them take seconds to read, and other tests hold them apart."""
    profiles = folder / "vendors" / "profiles"
    profiles.mkdir(parents=True)
    shutil.copy(Path(library.__file__).parent / "profiles" / "generic.yaml", profiles)
    vars(library)["resources"] = SimpleNamespace(files=lambda _package: folder / "vendors")
    return profiles


if __name__ == "__main__":
    profiles = own_profiles(Path(sys.argv[1]))
    told = [(command, *follow(command, profiles)) for command in json.load(sys.stdin)]
    print(json.dumps(told))
