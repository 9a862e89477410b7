"""A snmpsim agent that answers from a recording: a second agent, written by other people than snmpd's."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.services.process import LOOPBACK, DidNotStart, answers_snmp, free_udp_port, running
from tests.services.unavailable import Unavailable

COMMUNITY = "public"
SYS_UP_TIME = "1.3.6.1.2.1.1.3.0|67|123"
RESPONDER = "import sys; from snmpsim.commands.responder import main; sys.exit(main())"
# As root it would become nobody, who may not be allowed to read this Python. It serves loopback and our own
# recordings only, so it may stay what it is.
ENVIRONMENT = {"SNMPSIM_ALLOW_ROOT": "true"}


@dataclass(frozen=True)
class Snmpsim:
    """A running agent that answers SNMP v1 and v2c."""

    host: str
    port: int
    community: str


@contextlib.contextmanager
def run_snmpsim(folder: Path, records: str) -> Iterator[Snmpsim]:
    """Serve .snmprec lines (`oid|tag|value`), in any order; a sysUpTime is added where they have none."""
    if importlib.util.find_spec("snmpsim") is None:
        raise Unavailable("snmpsim", "it is not installed", optional=True)
    port = free_udp_port()
    argv = [
        sys.executable,
        "-c",
        RESPONDER,
        f"--data-dir={_recording(folder / 'data', records)}",
        f"--cache-dir={folder / 'cache'}",
        f"--agent-udpv4-endpoint={LOOPBACK}:{port}",
        "--log-level=error",
    ]
    answers = answers_snmp(LOOPBACK, port, COMMUNITY)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(running(argv, log=folder / "snmpsim.log", answers=answers, env=ENVIRONMENT))
        except DidNotStart as error:
            raise Unavailable("snmpsim", f"it does not start; {error}", optional=True) from error
        yield Snmpsim(LOOPBACK, port, COMMUNITY)


def _recording(folder: Path, records: str) -> Path:
    lines = [line for line in records.splitlines() if line]
    if not any(line.startswith("1.3.6.1.2.1.1.3.0|") for line in lines):
        lines.append(SYS_UP_TIME)
    # snmpsim searches by bisection, so it needs the lines in the order of their OIDs.
    lines.sort(key=lambda line: [int(arc) for arc in line.split("|", 1)[0].split(".")])
    folder.mkdir()
    (folder / f"{COMMUNITY}.snmprec").write_text("\n".join(lines) + "\n")
    return folder
