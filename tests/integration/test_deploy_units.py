"""systemd itself reads the units of deploy/."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"


@pytest.mark.parametrize("name", ["facho-up", "facho-web", "facho-beat", "facho-worker@1"])
def test_systemd_finds_no_fault_with_a_unit(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    template = name.partition("@")[0] + ("@" if "@" in name else "")
    text = (UNITS / f"{template}.service").read_text()
    path = tmp_path / f"{name}.service"
    # It looks whether the program is there.
    path.write_text(text.replace("/opt/facho/bin/facho", sys.executable))
    done = subprocess.run([program, "verify", str(path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
