"""What a strategy is, and the wrappers that add one behaviour to another strategy."""

from __future__ import annotations

from abc import ABC, abstractmethod

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.messages import Message
from memwell.values import shown


class Strategy(ABC):
    """Decides what of a conversation goes back into the prompt. It reads a history and never changes it."""

    @abstractmethod
    def observe(self) -> None:
        """Take in what the history holds and was not taken in yet.

        Call it after every turn. Calling it again changes nothing, and what a crash left undone the next call does.
        """

    @abstractmethod
    def recall(self, query: str | None = None) -> list[Message]:
        """The messages to put into a prompt, in order; ``query`` is what they are wanted for, where that matters."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what the strategy made of the conversation, and begin behind its last message.

        The history keeps its messages.
        """

    aobserve = asyncify(observe)
    arecall = asyncify(recall)
    aclear = asyncify(clear)


class Wrapper(Strategy):
    """A strategy around another one, ``inner``; what it does not override, the inner one does.

    Raises ``InvalidInput`` for an inner one that is no strategy.
    """

    def __init__(self, inner: Strategy) -> None:
        self.inner = checked_strategy(inner)

    def observe(self) -> None:
        self.inner.observe()

    def recall(self, query: str | None = None) -> list[Message]:
        return self.inner.recall(query)

    def clear(self) -> None:
        self.inner.clear()


class ReadOnly(Wrapper):
    """Shows what another strategy recalls, and takes nothing in: for a second reader of a shared memory."""

    def observe(self) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


def checked_strategy(value: object) -> Strategy:
    """Return ``value`` when it is a strategy; raises ``InvalidInput`` otherwise."""
    if not isinstance(value, Strategy):
        raise InvalidInput(f"expected a strategy, not {shown(value)}")
    return value


__all__ = ["ReadOnly", "Strategy", "Wrapper", "checked_strategy"]
