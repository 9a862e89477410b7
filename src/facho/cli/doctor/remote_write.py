"""Checks of remote write: its files, its receiver, and how far it is behind."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from facho.cli.doctor.findings import Finding, error, ok, start_advice, warning
from facho.config import Config
from facho.core.durations import about

if TYPE_CHECKING:
    from facho.apps.remote_write.selectors import RemoteWriteState

_WHAT: Final = "remote write"
_RECENT: Final = timedelta(days=1)
# No sender has had an OLT for so long: more than the longest pause that a receiver may name.
_IDLE: Final = timedelta(minutes=10)
# Further behind than a visit of each OLT and a short absence of the receiver explain.
_BEHIND: Final = timedelta(minutes=15)
_HOW: Final = "see docs/howto/remote-write.md"


def check_files(config: Config) -> Iterator[Finding]:
    """Check the files of secrets and certificates, without the database."""
    if config.remote_write_url:
        from facho.engine.remote_write.receiver import file_problems

        for problem in file_problems(config):
            yield error(_WHAT, problem, "correct the setting or the file; until then nothing is sent")


def check_remote_write(now: datetime, config: Config) -> Finding:
    from facho.apps.remote_write.selectors import read_remote_write

    if not config.remote_write_url:
        return ok(_WHAT, "off: FACHO_REMOTE_WRITE_URL is empty")
    state = read_remote_write(now)
    dropped = ", ".join(f"{count:,} {_DROPPED[why]}" for why, count in state.dropped.items() if count)
    counts = f"{state.sent:,} samples sent" + (f"; dropped: {dropped}" if dropped else "")
    return _receiver_finding(state, counts, now, config) or _drops_finding(state, counts, now)


_DROPPED: Final = {"too_old": "too old", "refused": "refused", "unreadable": "unreadable collections"}


def _receiver_finding(state: RemoteWriteState, counts: str, now: datetime, config: Config) -> Finding | None:
    from facho.apps.hosts.models import Olt

    if state.last_due_at is None and not Olt.objects.exists():
        return ok(_WHAT, "there is no OLT yet")
    if state.last_due_at is None or now - state.last_due_at > _IDLE:
        text = f"no process sends samples; {counts}"
        return error(_WHAT, text, f"{start_advice(config)}, or facho remote-write")
    if state.failing_since is not None:
        since = about(now - state.failing_since)
        text = f"the receiver has taken nothing for {since}: {state.problem}; {counts}"
        do = f"samples wait for {about(config.remote_write_backlog)}, then the oldest are dropped; {_HOW}"
        return error(_WHAT, text, do)
    if state.backlog > _BEHIND:
        text = f"{state.olts_behind} OLTs are up to {about(state.backlog)} behind; {counts}"
        return warning(_WHAT, text, f"wait, or start another sender: facho remote-write; {_HOW}")
    return None


def _drops_finding(state: RemoteWriteState, counts: str, now: datetime) -> Finding:
    if state.refused_at is not None and now - state.refused_at < _RECENT:
        text = f"the receiver refused samples {about(now - state.refused_at)} ago: {state.refusal}; {counts}"
        return warning(_WHAT, text, f"if it says out of order, allow it older samples; {_HOW}")
    return ok(_WHAT, f"up to date; {counts}")
