"""Sends what was collected to a receiver of Prometheus remote write, in a process of its own.

A step claims the OLTs that have been due longest, sends what is pending of each (`pending`), and stores how
far that goes. Nothing of this is in the way of a collection: the numbers are stored for the history anyway,
and only positions are kept here. Several senders may run, as threads or processes: each OLT is claimed by
one of them. A sender that was killed leaves its claims, and after a while another one goes on from there.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError

from facho.apps.db.database import Clock, database_now
from facho.apps.remote_write import store
from facho.apps.remote_write.store import Counts, Cursor
from facho.config import Config
from facho.core.write_request import Piece, write_request
from facho.engine.process.loops import run_loop_when_due
from facho.engine.remote_write.labels import OltLabels, read_names
from facho.engine.remote_write.pending import OltProgress, Pending
from facho.engine.remote_write.receiver import Receiver, Refused, Unavailable

log = logging.getLogger(__name__)

# OLTs in one step; between two steps, others have their turn.
_OLTS_PER_STEP: Final = 50
# A claim lasts so long beyond the time-out of a request, and is extended in the middle of it.
_CLAIM_MARGIN: Final = timedelta(minutes=1)
# An OLT whose data cannot be sent because of a bug is tried again after this.
_AFTER_BUG: Final = timedelta(minutes=5)
# Parts of a request that are refused in a row before the rest of it is not divided any more.
_MOST_REFUSED: Final = 32
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(minutes=1)


class Stopped(Exception):
    """The process is to end."""


class LabelCache:
    """The labels of all OLTs, shared by the senders of a process."""

    def __init__(self) -> None:
        self._olts: dict[int, OltLabels] = {}

    def of(self, olt_ids: Sequence[int]) -> dict[int, OltLabels]:
        """Return those of each OLT that there is. They begin anew when it has another name or site."""
        found = {}
        for olt_id, names in read_names(olt_ids).items():
            known = self._olts.get(olt_id)
            if known is None or known.names.labels != names.labels:
                known = self._olts[olt_id] = OltLabels(olt_id, names)
            known.names = names
            found[olt_id] = known
        return found


class ReceiverState:
    """Whether the receiver is away, for all senders of a process: it is logged once, and asked ever less."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pause: timedelta | None = None
        self._has_refused = False

    def begin(self, error: Unavailable) -> timedelta:
        """Return how long to wait before the receiver is asked again."""
        with self._lock:
            if self._pause is None:
                log.warning(
                    "the receiver takes no samples, they wait",
                    extra={"action": "remote_write_failed", "error": str(error)},
                )
            pause = _FIRST_PAUSE if self._pause is None else min(2 * self._pause, _LONGEST_PAUSE)
            self._pause = pause
        return max(pause, error.pause or timedelta())

    def end(self, *, had_refusals: bool) -> None:
        with self._lock:
            if self._pause is not None:
                log.info("the receiver takes samples again", extra={"action": "remote_write_resumed"})
            self._pause = None
            self._has_refused = self._has_refused and had_refusals

    def note_refusal(self, error: Refused) -> None:
        """Log it if it is the first one since a step without any."""
        with self._lock:
            is_first, self._has_refused = not self._has_refused, True
        if is_first:
            log.warning(
                "the receiver refuses samples, they are dropped",
                extra={"action": "remote_write_refused", "error": str(error)},
            )


class Sender:
    """Sends in steps. One for each thread."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        labels: LabelCache,
        receiver_state: ReceiverState,
        stopping: threading.Event,
        receiver: Receiver | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._labels = labels
        self._receiver_state = receiver_state
        self._stopping = stopping
        self._receiver = receiver or Receiver(config)
        self._hold = config.remote_write_timeout + _CLAIM_MARGIN
        self._token = ""
        self._extend_at = 0.0

    def step(self) -> timedelta:
        """Send what is pending of some OLTs. Return how long to wait before the next step."""
        now = self._clock()
        store.add_new_olts(now)
        self._token = token = secrets.token_hex(16)
        self._extend_at = time.monotonic() + self._hold.total_seconds() / 3
        claimed = store.claim_olts(now, token, now + self._hold, _OLTS_PER_STEP)
        if not claimed:
            return self._idle()
        batch = _Batch(token, self)
        try:
            for cursor, labels in self._with_labels(claimed):
                batch.send_olt(cursor, labels)
            batch.flush()
        except Unavailable as error:
            batch.store_unsent()
            store.store_failure(self._clock(), str(error))
            store.release_claims(token, now)
            return self._receiver_state.begin(error)
        except Stopped:
            batch.store_unsent()
            store.release_claims(token, now)
            return timedelta()
        self._receiver_state.end(had_refusals=bool(batch.refused))
        return timedelta() if len(claimed) == _OLTS_PER_STEP or batch.has_more else self._idle()

    def _idle(self) -> timedelta:
        return min(self._config.remote_write_step, timedelta(seconds=1))

    def _with_labels(self, claimed: Sequence[Cursor]) -> Iterator[tuple[Cursor, OltLabels]]:
        known = self._labels.of([cursor.olt_id for cursor in claimed])
        for cursor in claimed:
            # One that was removed meanwhile has none, and no position any more.
            if cursor.olt_id in known:
                yield cursor, known[cursor.olt_id]

    def close(self) -> None:
        self._receiver.close()

    # What a batch needs of its sender.

    def read(self, progress: OltProgress, labels: OltLabels, now: datetime) -> Iterator[Piece]:
        return Pending(progress, labels, now, self._config).pieces()

    def deliver(self, pieces: Sequence[Piece]) -> Counts:
        """Send pieces. Of those that are refused together, find out which ones are refused alone."""
        counts, waiting, in_vain, reason = Counts(), [pieces], 0, ""
        while waiting:
            several = waiting.pop()
            samples = sum(piece.samples for piece in several)
            if self._stopping.is_set():
                raise Stopped
            self._extend_claims()
            try:
                self._receiver.send(write_request(several))
                counts += Counts(sent=samples)
                in_vain = 0
            except Refused as error:
                in_vain += 1
                if len(several) == 1 or in_vain > _MOST_REFUSED:
                    counts += Counts(refused=samples)
                    self._receiver_state.note_refusal(error)
                    reason = str(error)
                else:
                    middle = len(several) // 2
                    waiting += (several[middle:], several[:middle])
        if reason:
            store.store_refusal(self._clock(), reason)
        return counts

    @property
    def batch_size(self) -> int:
        return self._config.remote_write_batch

    @property
    def every(self) -> timedelta:
        return self._config.remote_write_step

    def _extend_claims(self) -> None:
        if time.monotonic() >= self._extend_at:
            store.extend_claims(self._token, self._clock() + self._hold)
            self._extend_at = time.monotonic() + self._hold.total_seconds() / 3

    def now(self) -> datetime:
        return self._clock()


class _Batch:
    """What one step sends: requests filled with the pieces of several OLTs."""

    def __init__(self, token: str, sender: Sender) -> None:
        self._token = token
        self._sender = sender
        self._pieces: list[Piece] = []
        self._samples = 0
        # Not sent to their end.
        self._read: list[OltProgress] = []
        self._is_reading = False
        self.refused = 0
        self.has_more = False

    def send_olt(self, cursor: Cursor, labels: OltLabels) -> None:
        # The step may have begun minutes ago, and hours are closed meanwhile.
        now = self._sender.now()
        progress = OltProgress(cursor, cursor)
        try:
            self._is_reading = True
            self._read.append(progress)
            for piece in self._sender.read(progress, labels, now):
                self._add(piece)
        except (Unavailable, Stopped, DatabaseError):
            raise
        except Exception:
            # A bug with the data of one OLT must not keep the samples of all others.
            log.exception("samples not sent", extra={"action": "bug", "olt_id": cursor.olt_id})
            progress.cursor = replace(progress.begin, due_at=now + _AFTER_BUG)
        else:
            self.has_more = self.has_more or progress.has_more
            next_at = now if progress.has_more else now + self._sender.every
            progress.cursor = replace(progress.cursor, due_at=next_at)
        self._is_reading = False

    def _add(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._samples += piece.samples
        if self._samples >= self._sender.batch_size:
            self.flush()

    def flush(self) -> None:
        """Send what was read, and store how far OLTs were sent that were read to their end.

        So a process that is killed has not sent much that is sent again.
        """
        counts, sent_at = Counts(), None
        if self._pieces:
            counts = self._sender.deliver(self._pieces)
            sent_at = self._sender.now()
        self._pieces, self._samples = [], 0
        # The last one is not at its end while it is being read.
        done = len(self._read) - self._is_reading
        sent, self._read = self._read[:done], self._read[done:]
        self.refused += counts.refused
        counts = sum((progress.too_old + progress.unreadable for progress in sent), counts)
        store.store_progress(self._token, [progress.cursor for progress in sent], counts, sent_at)

    def store_unsent(self) -> None:
        """Store what was dropped of OLTs that were not sent to their end."""
        now = self._sender.now()
        cursors = [replace(progress.begin, due_at=now) for progress in self._read]
        counts = sum((progress.too_old for progress in self._read), Counts())
        store.store_progress(self._token, cursors, counts, None)


def run_senders(config: Config, stopping: threading.Event) -> None:
    """Send until `stopping` is set, in as many threads as there may be requests at once."""
    labels, receiver_state = LabelCache(), ReceiverState()
    threads = [
        threading.Thread(
            target=_run_sender,
            args=(Sender(config, database_now, labels, receiver_state, stopping), config, stopping),
            name=f"remote write {number}",
        )
        for number in range(1, config.remote_write_connections + 1)
    ]
    log.info("remote write started", extra={"action": "remote_write_started"})
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run_sender(sender: Sender, config: Config, stopping: threading.Event) -> None:
    try:
        run_loop_when_due("remote_write", sender.step, config.remote_write_step, stopping)
    finally:
        sender.close()
