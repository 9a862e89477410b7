"""A temporary folder that goes away with the process that made it, however that ends."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

# It waits for the end of a pipe that only its maker holds, so it learns of every end, even that by `kill -9`.
# A PostgreSQL that nobody has stopped by then is told to quit; it takes a minute to miss its files by itself.
KEEPER = """
cat
for file in "$0"/*/postmaster.pid; do
  [ -s "$file" ] && kill -QUIT "$(head -n 1 "$file")"
done
rm -rf "$0" || { sleep 1; rm -rf "$0"; }
"""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Its name is short, whatever TMPDIR says: the path of a unix socket has 107 bytes and no more."""
    folder = Path(tempfile.mkdtemp(prefix="facho-", dir="/tmp"))
    with subprocess.Popen(
        ["sh", "-c", KEEPER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        # Ctrl-C is for pytest; the keeper acts when pytest has ended.
        start_new_session=True,
    ):
        yield folder
