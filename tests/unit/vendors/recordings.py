"""Walks of real devices, where there are any; they are not part of the project."""

import os
from pathlib import Path

_PROJECT = Path(__file__).parents[3]
RECORDINGS = Path(os.environ.get("RECORDINGS", _PROJECT / ".." / "shared" / "recordings"))
