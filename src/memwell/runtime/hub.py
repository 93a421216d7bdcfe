"""A hub: what one agent on it says, the others observe."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from memwell.errors import InvalidInput
from memwell.runtime.agents import OBSERVE_TIMEOUT_S, Agent, Failure, deliver
from memwell.values import check_id, new_id, shown

M = TypeVar("M")

_FAILURES_KEPT = 1000


class Hub(Generic[M]):
    """Agents that hear each other for as long as the ``async with`` over the hub lasts; each gets copies of its own.

    The announcement is observed by all on entering. A reply is observed by all but the one that gave it, unless
    ``auto_broadcast`` is off. Deliveries run together: an agent that raises, or takes longer than ``timeout_s``, is noted
    in ``failures`` and the others go on. Agents know their hub weakly, so a hub that is gone binds nobody.
    """

    def __init__(
        self,
        participants: Iterable[Agent[M]],
        announcement: M | list[M] | None = None,
        *,
        auto_broadcast: bool = True,
        name: str | None = None,
        timeout_s: float = OBSERVE_TIMEOUT_S,
    ) -> None:
        """Raises ``InvalidInput`` for a participant that is no agent, or a time that is not above 0."""
        self.name = new_id() if name is None else check_id(name, "the name of a hub")
        self.announcement = announcement
        self.auto_broadcast = bool(auto_broadcast)
        self.timeout_s = _checked_time(timeout_s)
        self._agents = {id(agent): agent for agent in _checked(participants)}
        self._failures: deque[Failure] = deque(maxlen=_FAILURES_KEPT)
        self._open = False

    @property
    def participants(self) -> list[Agent[M]]:
        """The agents on the hub, in the order they came; a copy."""
        return list(self._agents.values())

    @property
    def failures(self) -> list[Failure]:
        """Which agents did not take in a message, and why: the latest 1,000, oldest first."""
        return list(self._failures)

    async def __aenter__(self) -> Self:
        """Raises ``InvalidInput`` when the hub is open already, or an agent is on another hub of the same name."""
        if self._open:
            raise InvalidInput(f"hub {self.name!r} is open already")
        self._open = True
        try:
            self._bind(self._agents.values())
            if self.announcement is not None:
                await self.broadcast(self.announcement)
        except BaseException:
            self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _bind(self, agents: Iterable[Agent[M]]) -> None:
        for agent in agents:
            agent.join(self.name, self)

    def _close(self) -> None:
        self._open = False
        for agent in self._agents.values():
            agent.part(self.name, self)

    # Who is on it

    def add(self, new_participant: Agent[M] | Sequence[Agent[M]]) -> None:
        """Let agents in; one that is in stays. Raises ``InvalidInput`` as the constructor and entering do, adding none."""
        agents = [agent for agent in _checked(new_participant) if id(agent) not in self._agents]
        if self._open:
            try:
                self._bind(agents)
            except InvalidInput:
                for agent in agents:
                    agent.part(self.name, self)
                raise
        self._agents |= {id(agent): agent for agent in agents}

    def delete(self, participant: Agent[M] | Sequence[Agent[M]]) -> int:
        """Let agents out: from now on they hear nobody here, and nobody here hears them. Returns how many were in."""
        leaving = [agent for agent in _checked(participant) if id(agent) in self._agents]
        for agent in leaving:
            self.leave(agent)
        return len(leaving)

    def leave(self, agent: Agent[M]) -> None:
        """Let go of one agent; one that is not in is fine."""
        if self._agents.pop(id(agent), None) is not None:
            agent.part(self.name, self)

    # What is said

    async def broadcast(self, message: M | list[M], /) -> None:
        """Let all on the hub observe copies of a message, or of several."""
        await self._deliver(message, None)

    def set_auto_broadcast(self, enable: bool) -> None:
        """Whether the replies of the agents are observed by the others."""
        self.auto_broadcast = bool(enable)

    async def hear(self, message: M, sender: Agent[M]) -> None:
        """What an agent on the hub has replied."""
        if self.auto_broadcast and self._open and id(sender) in self._agents:
            await self._deliver(message, sender)

    async def _deliver(self, message: M | list[M], sender: Agent[M] | None) -> None:
        async def hand_over(agent: Agent[M]) -> None:
            # Others may have left while the first ones were served.
            if id(agent) in self._agents:
                await agent.observe(_copy(agent if sender is None else sender, message))

        receivers = [agent for agent in self._agents.values() if agent is not sender]
        self._failures += await deliver(receivers, hand_over, timeout_s=self.timeout_s)


def _copy(agent: Agent[M], message: M | list[M]) -> M | list[M]:
    if isinstance(message, list):
        return [agent.copy_for_others(each) for each in cast("list[M]", message)]
    return agent.copy_for_others(message)


def _checked(agents: object) -> list[Agent[Any]]:
    if isinstance(agents, Agent):
        return [cast("Agent[Any]", agents)]
    if not isinstance(agents, Iterable):
        raise InvalidInput(f"expected an agent or several, not {shown(agents)}")
    listed = list(cast("Iterable[object]", agents))
    for agent in listed:
        if not isinstance(agent, Agent):
            raise InvalidInput(f"expected an agent, not {shown(agent)}")
    return cast("list[Agent[Any]]", listed)


def _checked_time(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (0 < seconds < math.inf):
        raise InvalidInput(f"timeout_s must be a number of seconds above 0, not {shown(seconds)}")
    return float(seconds)
