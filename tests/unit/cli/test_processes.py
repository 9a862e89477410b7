"""Processes that another command of facho starts."""

from __future__ import annotations

import subprocess
import sys

_FAILS_AT_ITS_START = """
import sys, threading
from facho.cli.processes import stop_with_parent
stopping = threading.Event()
stop_with_parent(stopping)
stopping.wait(0.2)
sys.exit(1)
"""


def test_a_process_that_cannot_start_ends_with_its_error_alone() -> None:
    """It watches its standard input meanwhile, and Python aborts at its end if that is locked."""
    program = [sys.executable, "-c", _FAILS_AT_ITS_START]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 1
