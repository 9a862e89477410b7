"""Runs the parts of one execution: requests on the SNMP loop, decoding in the thread of the poller."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from facho.core.reason_texts import CPU_TOO_HIGH
from facho.core.reasons import NO_REASON, Reason
from facho.core.request_rules import RequestPace
from facho.engine.collect.column_reader import (
    Answers,
    Guard,
    NoAddress,
    Progress,
    Session,
    get_values,
    walk_columns,
)
from facho.engine.collect.part_results import (
    DISCOVERY,
    Collection,
    PartResult,
    PartState,
    fail_part,
    join_results,
    judge_part,
    largest_cpu,
    report_all_left_out,
    skip_part,
)
from facho.engine.collect.request_plan import (
    AskedColumn,
    CannotAsk,
    GetPlan,
    KnownOnu,
    Part,
    Work,
    check_allowed,
    check_walkable,
    plan_get,
    resolve_read_as,
    split_addressable,
)
from facho.snmp import Client
from facho.snmp.errors import BadOid
from facho.vendors import Decoded, Decoder, Entity, Facts, Key, Profile, State

GET: Final = "get"

T = TypeVar("T")


class Run(Protocol):
    """Runs a coroutine on the SNMP loop, and returns or raises what it does."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


def collect(
    work: Work,
    run: Run,
    client: Client,
    guard: Guard | None,
    decode_lock: AbstractContextManager[Any],
    progress: Progress | None = None,
) -> Collection:
    """Return the results of all parts. Raises what `guard` and `run` raise.

    `progress` is called on the SNMP loop with the number of values that came.
    """
    collector = _Collector(work, run, Session(client, work, guard), decode_lock, progress)
    parts = [collector.run_part(part) for part in work.parts]
    return Collection(
        parts, collector.learned, collector.learned_gets, largest_cpu(parts), collector.uptime_s
    )


class _Decoders(dict[int, Decoder]):
    """One decoder for each profile, which it keeps, so that no other one gets its id. Used under the decode
    lock.
    """

    def of(self, profile: Profile) -> Decoder:
        decoder = self.get(id(profile))
        if decoder is None:
            decoder = self[id(profile)] = Decoder(profile)
        return decoder


_decoders: Final = _Decoders()


class _Collector:
    def __init__(
        self,
        work: Work,
        run: Run,
        session: Session,
        decode_lock: AbstractContextManager[Any],
        progress: Progress | None,
    ) -> None:
        self._work = work
        self._run = run
        self._session = session
        self._decode_lock = decode_lock
        self._progress = progress
        self._known: KnownOnus = {onu.key: onu for onu in work.known}
        self._end = time.monotonic() + work.time_limit.total_seconds()
        # Only a GET has requests for single ONUs. The parts before the last one tell it which.
        self._last_get = max(
            (number for number, part in enumerate(work.parts) if part.kind == GET), default=0
        )
        self._parts_run = 0
        # Why the remaining parts are not run.
        self._stop_reason = NO_REASON
        self.learned, self.learned_gets = work.learned, work.learned_gets
        self.uptime_s: float | None = None

    def run_part(self, part: Part) -> PartResult:
        """Run the next part. If the first, that of the master, does not succeed, the others are skipped."""
        result = self._run_part(part)
        self._parts_run += 1
        if part is self._work.parts[0] and result.state is not PartState.SUCCESS:
            code = "master_failed" if result.state is PartState.FAILED else "master_skipped"
            self._stop_reason = Reason.of(code, job=part.job)
        return result

    def _run_part(self, part: Part) -> PartResult:
        if part.kind == GET and self._work.pace is RequestPace.SKIP_GETS:
            return skip_part(part, Reason.of(CPU_TOO_HIGH))
        if not self._stop_reason and self._end <= time.monotonic():
            self._stop_reason = Reason.of("time_was_over", seconds=self._work.time_limit.total_seconds())
        if self._stop_reason:
            return skip_part(part, self._stop_reason)
        if not part.columns:
            return report_all_left_out(part, self._work.profile)
        started = time.monotonic()
        result = self._ask_and_decode(part)
        if part.otherwise and result.state is PartState.SUCCESS and not result.has_onus:
            result = self._walk_expensive_tables(result)
        result.seconds = time.monotonic() - started
        return result

    def _walk_expensive_tables(self, empty: PartResult) -> PartResult:
        """Walk the tables that are expensive to walk, after the others had no ONU."""
        part = empty.part
        further = self._ask_and_decode(replace(part, columns=part.otherwise, otherwise=()))
        found = join_results(empty, further)
        found.part = part
        return found

    def _ask_and_decode(self, part: Part) -> PartResult:
        try:
            check_allowed(self._work.profile, part.columns)
            answers = self._run(self._ask(part))
        except (CannotAsk, BadOid) as error:
            return fail_part(part, error.reason)
        except NoAddress as unknown:
            return fail_part(part, unknown.error.reason, silent=True)
        answers.move_to_rows()
        self._session.heard |= answers.heard
        self.uptime_s = self.uptime_s if answers.uptime_s is None else answers.uptime_s
        if answers.gone:
            self._stop_reason = Reason.of("stopped_answering", job=part.job)
        else:
            # An OLT that stopped answering says nothing about its limits.
            self.learned, self.learned_gets = self._session.learned, self._session.learned_gets
        decoded = self._decode(part, answers)
        result = judge_part(part, answers, decoded, self._work)
        self._learn_onus(result)
        return result

    def _ask(self, part: Part) -> Coroutine[Any, Any, Answers]:
        """Plan the requests in this thread, and return the coroutine that sends them on the SNMP loop."""
        columns = resolve_read_as(self._work.profile, part.columns)
        if part.kind == GET:
            return self._plan_get(columns)
        check_walkable(self._work.profile, columns)
        return self._walk(columns)

    async def _walk(self, columns: Sequence[AskedColumn]) -> Answers:
        agent = await self._session.walk_agent()
        return await walk_columns(
            agent, columns, self._seconds_left, self._progress, olt_id=self._work.olt_id
        )

    def _plan_get(self, columns: Sequence[AskedColumn]) -> Coroutine[Any, Any, Answers]:
        own = [column for column in columns if not column.read_as]
        read = [column for column in columns if column.read_as]
        by_place, walked = split_addressable(self._work.profile, read)
        plan = plan_get(self._work.profile, by_place, list(self._known.values()))
        return self._send_get(plan, own, walked)

    async def _send_get(
        self, plan: GetPlan, own: Sequence[AskedColumn], walked: Sequence[AskedColumn]
    ) -> Answers:
        batching = self._work.batching
        answers = await get_values(self._session, plan, own, batching, self._seconds_left, self._progress)
        if walked and not answers.errors:
            answers.add(await self._walk(walked))
        return answers

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _decode(self, part: Part, answers: Answers) -> Decoded:
        with self._decode_lock:
            decoded = _decoders.of(self._work.profile).decode(answers.rows)
        if not _asks_about_onus(part):
            decoded.facts[Entity.ONU] = Facts(Entity.ONU)
            rest = decoded.unreadable.items()
            decoded.unreadable = {table: rows for table, rows in rest if rows.entity is not Entity.ONU}
        return decoded

    def _learn_onus(self, result: PartResult) -> None:
        """Update the known ONUs, so that a part right after a discovery asks for the ONUs it found."""
        if result.decoded is None or self._parts_run >= self._last_get:
            return
        onus = result.decoded.onus
        if result.part.kind == DISCOVERY and result.state is PartState.SUCCESS:
            has_gaps = result.decoded.has_gaps(Entity.ONU)
            self._known = known_after_discovery(self._known, onus, has_gaps=has_gaps)
        elif len(onus):
            self._known = known_after_part(self._known, onus)


def _asks_about_onus(part: Part) -> bool:
    """Tell whether the part was to read ONUs.

    A column that is read for ports may also be a fallback for a fact of ONUs, as the state of interfaces is.
    Without the first choice beside it, its values must not replace those of the ONUs.
    """
    return any(column.entity == Entity.ONU for column in part.columns if column.read_as and not column.helps)


KnownOnus = Mapping[Key, KnownOnu]


def known_after_discovery(known: KnownOnus, onus: Facts, *, has_gaps: bool = False) -> KnownOnus:
    """Return the ONUs of a complete discovery, and those that discoveries never find.

    If some of its rows could not be read, all that were known before are kept.
    """
    others = {key: onu for key, onu in known.items() if has_gaps or onu.undiscovered}
    return {**others, **{onu.key: onu for onu in _update_seen(known, onus)}}


def known_after_part(known: KnownOnus, onus: Facts) -> KnownOnus:
    """Update known ONUs after any other part: none is removed, and new ones wait for a discovery."""
    after = dict(known)
    for onu in _update_seen(known, onus):
        before = known.get(onu.key)
        if before is not None and onu is not before:
            # The index from a discovery is preferred to that of another table.
            after[onu.key] = onu._replace(raw_index=before.raw_index or onu.raw_index)
    return after


def _update_seen(known: KnownOnus, onus: Facts) -> Iterator[KnownOnu]:
    """Yield the ONUs as they are now; the same object where nothing changed, which is usual."""
    states = onus.columns.get("state") or [None] * len(onus)
    rows = zip(onus.keys, onus.indexes, onus.technologies, states, strict=True)
    for key, index, technology, state in rows:
        before = known.get(key) or KnownOnu(key)
        # Without a state, keep the last one.
        online = state.meaning == "online" if isinstance(state, State) else before.online
        technology, index = technology or before.technology, index or before.raw_index
        if (technology, online, index) == (before.technology, before.online, before.raw_index):
            yield before
        else:
            yield KnownOnu(key, technology, online, before.undiscovered, index)
