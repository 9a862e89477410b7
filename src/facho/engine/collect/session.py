"""The agents through which one execution asks: all with its guard and its tag, within the OLT's limits."""

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
    """As gently as the vendor's OLTs want to be asked, where that is gentler than what is allowed."""
    rules, allowed = profile.request_rules, target.limits
    limits = Limits(
        min(allowed.in_flight, rules.in_flight or allowed.in_flight),
        min(allowed.varbinds, rules.repetitions or allowed.varbinds),
        allowed.requests_per_second,
    )
    return replace(target, bulk=target.bulk and rules.bulk, limits=limits)


def request_tag(run_id: int) -> int:
    """What the request ids of one run of an execution carry; 0 would be no tag."""
    return run_id % _TAGS + 1


def merge_learned(before: Learned | None, after: Learned, limits: Limits) -> Learned:
    """What is known of the OLT after it was asked within `limits`.

    A GET asks for fewer values than a walk, and a busy OLT is asked one request at a time: that this went
    well takes back nothing of what was learned before.
    """
    if before is None:
        return after
    allowed = within(before, limits)
    return replace(
        after,
        varbinds=_carried(before.varbinds, allowed.varbinds, after.varbinds),
        in_flight=_carried(before.in_flight, allowed.in_flight, after.in_flight),
    )


def _carried(before: int, allowed: int, after: int) -> int:
    return max(before, after) if after >= allowed else after


class NoAddress(Exception):
    """The OLT's name does not resolve. No SnmpError: it must not be mixed up with what a guard may raise."""

    def __init__(self, error: AddressError) -> None:
        self.error = error


class Session:
    """One at a time per OLT. Agents share what is known of the OLT, and the limits last given are in force,
    so each part takes its agents from here before it asks.
    """

    def __init__(self, client: Client, work: Work, guard: Guard | None) -> None:
        # Something came from the OLT in this execution.
        self.heard = False
        self._client = client
        self._guard = guard
        self._tag = request_tag(work.run_id)
        self._target = _at_pace(apply_request_rules(work.target, work.profile), work.pace)
        # What the OLT may send in all parts together.
        self._receive_limit = receive_limit_of(self._target)
        self._varbinds = work.varbinds
        self._learned = work.learned
        self._limits: Limits | None = None
        # Held from part to part: what the client knows of an OLT lives as long as somebody talks to it.
        self._agent: Agent | None = None

    @property
    def learned(self) -> Learned | None:
        if self._agent is None or self._limits is None:
            return self._learned
        return merge_learned(self._learned, self._agent.learned, self._limits)

    async def for_walks(self) -> Agent:
        """Raises NoAddress."""
        return await self._open(self._target)

    async def for_gets(self, most: int = 0, *, retries: int | None = None) -> Agent:
        """For GETs of at most `most` values, if that is fewer than an operator allows. Raises NoAddress."""
        varbinds = min(self._varbinds, most or self._varbinds)
        target = replace(self._target, limits=replace(self._target.limits, varbinds=varbinds))
        return await self._open(target if retries is None else replace(target, retries=retries))

    async def forgive(self, learned: Learned) -> None:
        """Go on as before time-outs that were not the OLT's, but those of ONUs that it could not reach."""
        assert self._agent is not None
        await self._ask_for(self._agent.target, learned)

    async def _open(self, target: Target) -> Agent:
        if target.limits == self._limits:
            return await self._ask_for(target, None)
        self._learned = self.learned
        self._limits = target.limits
        return await self._ask_for(target, self._learned)

    async def _ask_for(self, target: Target, learned: Learned | None) -> Agent:
        try:
            self._agent = await self._client.agent(
                target, guard=self._guard, tag=self._tag, learned=learned, receive_limit=self._receive_limit
            )
        except AddressError as error:
            raise NoAddress(error) from error
        return self._agent


def _at_pace(target: Target, pace: RequestPace) -> Target:
    if pace is RequestPace.NORMAL:
        return target
    return replace(target, limits=replace(target.limits, in_flight=1))
