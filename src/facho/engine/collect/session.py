"""The session of one execution: SNMP agents with its guard and its tag, within the limits of the OLT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from facho.core.request_rules import RequestPace
from facho.engine.collect.work import Work
from facho.snmp import Agent, Client, Learned, Limits, Target
from facho.snmp.client import receive_limit_of
from facho.snmp.errors import AddressError
from facho.snmp.pacing import within
from facho.vendors import Profile

_TAGS: Final = 0x7FFF

Guard = Callable[[], None]


def apply_request_rules(target: Target, profile: Profile) -> Target:
    """Return the target with the limits of the vendor's profile, where these are lower than its own."""
    rules, allowed = profile.request_rules, target.limits
    limits = Limits(
        min(allowed.in_flight, rules.in_flight or allowed.in_flight),
        min(allowed.varbinds, rules.repetitions or allowed.varbinds),
        allowed.requests_per_second,
    )
    return replace(target, bulk=target.bulk and rules.bulk, limits=limits)


def request_tag(run_id: int) -> int:
    """Return the tag in the request ids of one run of an execution; 0 would be no tag."""
    return run_id % _TAGS + 1


def merge_learned(before: Learned | None, after: Learned, limits: Limits) -> Learned:
    """Return what is known of the OLT after requests within `limits`.

    A GET has fewer values than a walk, and a busy OLT gets one request at a time. Success under such limits
    must not lower what was learned before.
    """
    if before is None:
        return after
    allowed = within(before, limits)
    return replace(
        after,
        varbinds=_merge_limit(before.varbinds, allowed.varbinds, after.varbinds),
        in_flight=_merge_limit(before.in_flight, allowed.in_flight, after.in_flight),
    )


def _merge_limit(before: int, allowed: int, after: int) -> int:
    return max(before, after) if after >= allowed else after


class NoAddress(Exception):
    """The OLT's name does not resolve. Not an SnmpError, which a guard may raise too."""

    def __init__(self, error: AddressError) -> None:
        self.error = error


class Session:
    """The agents of one execution; an OLT has one session at a time.

    Agents of an OLT share its state in the client, and the limits given last are in force. So each part
    takes its agent from the session before its requests.
    """

    def __init__(self, client: Client, work: Work, guard: Guard | None) -> None:
        # The OLT has answered in this execution.
        self.heard = False
        self._client = client
        self._guard = guard
        self._tag = request_tag(work.run_id)
        self._target = _limit_pace(apply_request_rules(work.target, work.profile), work.pace)
        # Shared by all parts.
        self._receive_limit = receive_limit_of(self._target)
        self._varbinds = work.varbinds
        self._learned = work.learned
        self._limits: Limits | None = None
        # Kept between parts: the client forgets an OLT that has no agent.
        self._agent: Agent | None = None

    @property
    def learned(self) -> Learned | None:
        if self._agent is None or self._limits is None:
            return self._learned
        return merge_learned(self._learned, self._agent.learned, self._limits)

    async def walk_agent(self) -> Agent:
        """Raises NoAddress."""
        return await self._open(self._target)

    async def get_agent(self, most: int = 0, *, retries: int | None = None) -> Agent:
        """Return an agent for GETs of at most `most` values, within the OLT's limit. Raises NoAddress."""
        varbinds = min(self._varbinds, most or self._varbinds)
        target = replace(self._target, limits=replace(self._target.limits, varbinds=varbinds))
        return await self._open(target if retries is None else replace(target, retries=retries))

    async def restore_learned(self, learned: Learned) -> None:
        """Undo the effect of time-outs that were caused by an ONU which the OLT could not reach."""
        assert self._agent is not None
        await self._make_agent(self._agent.target, learned)

    async def _open(self, target: Target) -> Agent:
        if target.limits == self._limits:
            return await self._make_agent(target, None)
        self._learned = self.learned
        self._limits = target.limits
        return await self._make_agent(target, self._learned)

    async def _make_agent(self, target: Target, learned: Learned | None) -> Agent:
        try:
            self._agent = await self._client.agent(
                target, guard=self._guard, tag=self._tag, learned=learned, receive_limit=self._receive_limit
            )
        except AddressError as error:
            raise NoAddress(error) from error
        return self._agent


def _limit_pace(target: Target, pace: RequestPace) -> Target:
    if pace is RequestPace.NORMAL:
        return target
    return replace(target, limits=replace(target.limits, in_flight=1))
