"""Runs the parts of one execution: asks on the SNMP loop, decodes here, in the poller's thread."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol, TypeVar

from facho.core.reason_texts import CPU_TOO_HIGH
from facho.core.reasons import NO_REASON, Reason
from facho.core.request_rules import RequestPace
from facho.engine.collect.column_reader import Answers, Progress, get_values, walk_columns
from facho.engine.collect.part_results import (
    DISCOVERY,
    fail_part,
    join_results,
    judge_part,
    largest_cpu,
    report_all_left_out,
    skip_part,
)
from facho.engine.collect.request_plan import (
    CannotAsk,
    GetPlan,
    check_allowed,
    check_walkable,
    plan_get,
    resolve_read_as,
    split_addressable,
)
from facho.engine.collect.session import Guard, NoAddress, Session
from facho.engine.collect.work import AskedColumn, Collection, KnownOnu, Part, PartResult, PartState, Work
from facho.snmp import Client
from facho.snmp.errors import BadOid
from facho.vendors import Decoded, Decoder, Entity, Facts, Key, Profile, State

GET: Final = "get"

T = TypeVar("T")


class Run(Protocol):
    """Hands a coroutine to the SNMP loop, and waits for what it gives or raises."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


def collect(
    work: Work,
    run: Run,
    client: Client,
    guard: Guard | None,
    decode_lock: AbstractContextManager[Any],
    progress: Progress | None = None,
) -> Collection:
    """What came of every part; what `guard` and `run` raise is raised.

    `progress` is told on the SNMP loop how many values came.
    """
    collector = _Collector(work, run, Session(client, work, guard), decode_lock, progress)
    parts = [collector.run_part(part) for part in work.parts]
    return Collection(parts, collector.learned, largest_cpu(parts), collector.uptime_s)


class _Decoders(dict[str, Decoder]):
    """Made once per profile, and again when that has changed. For who holds the lock."""

    def of(self, profile: Profile) -> Decoder:
        decoder = self.get(profile.name)
        if decoder is None or decoder.profile != profile:
            decoder = self[profile.name] = Decoder(profile)
        return decoder


_decoders: Final = _Decoders()


class _Collector:
    def __init__(
        self,
        work: Work,
        run: Run,
        talk: Session,
        decode_lock: AbstractContextManager[Any],
        progress: Progress | None,
    ) -> None:
        self._work = work
        self._run = run
        self._talk = talk
        self._decode_lock = decode_lock
        self._progress = progress
        self._known: KnownOnus = {onu.key: onu for onu in work.known}
        self._end = time.monotonic() + work.time_limit.total_seconds()
        # Only a GET asks ONU by ONU; a walk need not know them.
        self._are_asked_for = any(part.kind == GET for part in work.parts)
        # Why the parts that are left are not run.
        self._stopped = NO_REASON
        self.learned = work.learned
        self.uptime_s: float | None = None

    def run_part(self, part: Part) -> PartResult:
        """The next one. The first is the master's, without which the others make no sense."""
        outcome = self._run_part(part)
        if part is self._work.parts[0] and outcome.state is not PartState.SUCCESS:
            code = "master_failed" if outcome.state is PartState.FAILED else "master_skipped"
            self._stopped = Reason.of(code, job=part.job)
        return outcome

    def _run_part(self, part: Part) -> PartResult:
        if part.kind == GET and self._work.pace is RequestPace.SKIP_GETS:
            return skip_part(part, Reason.of(CPU_TOO_HIGH))
        if not self._stopped and self._end <= time.monotonic():
            self._stopped = Reason.of("time_was_over", seconds=self._work.time_limit.total_seconds())
        if self._stopped:
            return skip_part(part, self._stopped)
        if not part.columns:
            return report_all_left_out(part, self._work.profile)
        started = time.monotonic()
        outcome = self._ask_and_decode(part)
        if part.otherwise and outcome.state is PartState.SUCCESS and not outcome.has_onus:
            outcome = self._look_further(outcome)
        outcome.seconds = time.monotonic() - started
        return outcome

    def _look_further(self, nobody: PartResult) -> PartResult:
        """Walk the tables that are dear to walk, after the others had nobody."""
        part = nobody.part
        further = self._ask_and_decode(replace(part, columns=part.otherwise, otherwise=()))
        found = join_results(nobody, further)
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
        self._talk.heard |= answers.heard
        self.uptime_s = self.uptime_s if answers.uptime_s is None else answers.uptime_s
        if answers.gone:
            self._stopped = Reason.of("stopped_answering", job=part.job)
        else:
            # Who is dead teaches nothing.
            self.learned = self._talk.learned
        decoded = self._decode(part, answers)
        outcome = judge_part(part, answers, decoded, self._work)
        self._learn_onus(outcome)
        return outcome

    def _ask(self, part: Part) -> Coroutine[Any, Any, Answers]:
        """Plan the questions, here, and return what asks them on the SNMP loop, which others wait for."""
        columns = resolve_read_as(self._work.profile, part.columns)
        if part.kind == GET:
            return self._ask_get(columns)
        check_walkable(self._work.profile, columns)
        return self._walk(columns)

    async def _walk(self, columns: Sequence[AskedColumn]) -> Answers:
        agent = await self._talk.for_walks()
        return await walk_columns(agent, columns, self._left, self._progress, olt_id=self._work.olt_id)

    def _ask_get(self, columns: Sequence[AskedColumn]) -> Coroutine[Any, Any, Answers]:
        own = [column for column in columns if not column.read_as]
        read = [column for column in columns if column.read_as]
        by_place, walked = split_addressable(self._work.profile, read)
        plan = plan_get(self._work.profile, by_place, list(self._known.values()))
        return self._ask_planned(plan, own, walked)

    async def _ask_planned(
        self, plan: GetPlan, own: Sequence[AskedColumn], walked: Sequence[AskedColumn]
    ) -> Answers:
        batching = self._work.batching
        answers = await get_values(self._talk, plan, own, batching, self._left, self._progress)
        if walked and not answers.errors:
            answers.take(await self._walk(walked))
        return answers

    @property
    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _decode(self, part: Part, answers: Answers) -> Decoded:
        with self._decode_lock:
            decoded = _decoders.of(self._work.profile).decode(answers.rows)
        if not _asks_about_onus(part):
            decoded.facts[Entity.ONU] = Facts(Entity.ONU)
            rest = decoded.unreadable.items()
            decoded.unreadable = {table: rows for table, rows in rest if rows.entity is not Entity.ONU}
        return decoded

    def _learn_onus(self, outcome: PartResult) -> None:
        """So that a part that runs right after a discovery asks for what that has found."""
        if outcome.decoded is None or not self._are_asked_for:
            return
        onus = outcome.decoded.onus
        if outcome.part.kind == DISCOVERY and outcome.state is PartState.SUCCESS:
            has_gaps = outcome.decoded.has_gaps(Entity.ONU)
            self._known = known_after_discovery(self._known, onus, has_gaps=has_gaps)
        elif len(onus):
            self._known = known_after_part(self._known, onus)


def _asks_about_onus(part: Part) -> bool:
    """What was read for others may be the second place of a fact of ONUs, as the state of interfaces is.
    Alone it must not stand against what the first one said.
    """
    return any(column.entity == Entity.ONU for column in part.columns if column.read_as and not column.helps)


KnownOnus = Mapping[Key, KnownOnu]


def known_after_discovery(known: KnownOnus, onus: Facts, *, has_gaps: bool = False) -> KnownOnus:
    """After a complete discovery: these, and those that discoveries never have. If some of its rows could not
    be read, whoever was known before is still there.
    """
    others = {key: onu for key, onu in known.items() if has_gaps or onu.undiscovered}
    return {**others, **{onu.key: onu for onu in _seen(known, onus)}}


def known_after_part(known: KnownOnus, onus: Facts) -> KnownOnus:
    """After any other part. What it did not see is still there, and what is new waits for a discovery."""
    seen = {onu.key: onu for onu in _seen(known, onus) if onu.key in known}
    # The index of a discovery counts more than that of another table.
    kept = {key: replace(onu, index=known[key].index or onu.index) for key, onu in seen.items()}
    return {**known, **kept}


def _seen(known: KnownOnus, onus: Facts) -> Iterator[KnownOnu]:
    states = onus.columns.get("state") or [None] * len(onus)
    rows = zip(onus.keys, onus.indexes, onus.technologies, states, strict=True)
    for key, index, technology, state in rows:
        before = known.get(key) or KnownOnu(key)
        # An OLT that could not say keeps what was known.
        online = state.meaning == "online" if isinstance(state, State) else before.online
        yield replace(
            before,
            technology=technology or before.technology,
            online=online,
            index=index or before.index,
        )
