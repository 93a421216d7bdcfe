"""``SimpleLLMChat``: a chat within a context window. Messages that no longer fit leave the context and are kept."""

from __future__ import annotations

from collections import deque
from typing import Any

from memwell._asyncify import Closing
from memwell.errors import InvalidInput
from memwell.history import History
from memwell.messages import Message, Role
from memwell.transcript import from_openai
from memwell.transcript.text import speaker, storable
from memwell.values import check_count, check_text, shown

_LEAST = 2
"""The last question and its answer stay in the context, however long they are."""
_ROLES = {Role.HUMAN: "user", Role.SYSTEM: "system"}
"""The roles that a chat has. What a tool answered is on the model's side: as a user's message it would be answered."""


class SimpleLLMChat(Closing):
    """The messages of a conversation that fit ``max_context`` tokens, counted exactly; the earliest leave first.

    All messages are kept in ``store``, ``memory:`` until the process ends or a file: ``recall`` finds those that left the
    context, and a chat that is opened again goes on where it was. Raises ``InvalidInput`` for a limit below 1.
    """

    def __init__(self, max_context: int = 4096, *, store: str = "memory:", session: str = "default") -> None:
        self.max_context = check_count(max_context, "max_context", least=1)
        self.history = History.open(store, session)

    def _context(self) -> deque[Message]:
        """The longest end of the conversation that fits; an answer leaves with its question."""
        kept: deque[Message] = deque()
        tokens = 0
        for message in reversed(self.history):
            if not message.for_model:
                continue
            tokens += self.history.counter.count_message(message)
            if len(kept) >= _LEAST and tokens > self.max_context:
                while len(kept) > _LEAST and kept[0].role is Role.AI:
                    kept.popleft()
                break
            kept.appendleft(message)
        return kept

    @property
    def conversation(self) -> list[dict[str, str]]:
        """The messages in the context, oldest first, as ``{"role": …, "content": …}``."""
        return [_as_dict(message) for message in self._context()]

    @property
    def tokens(self) -> int:
        """How many tokens the context has."""
        return sum(map(self.history.counter.count_message, self._context()))

    @property
    def forgotten(self) -> int:
        """How many messages have left the context. ``recall`` still finds them."""
        return len(self.history) - len(self._context())

    def add_message(self, role: str, content: str) -> None:
        """Add what was said; the earliest messages leave the context when it is full, an answer with its question.

        Raises ``InvalidInput`` for a role that is not ``user``, ``assistant`` or ``system``, and content that is no text.
        """
        if role not in ("user", "assistant", "system"):
            raise InvalidInput(f"a role must be 'user', 'assistant' or 'system', not {shown(role)}")
        self.history.add(
            *from_openai([{"role": role, "content": check_text(storable(content), "a message's content")}])
        )

    def get_context(self) -> list[dict[str, str]]:
        """The messages to give to a model."""
        return self.conversation

    def recall(self, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """What was said about something, in the context or not, best first, each with its ``score``."""
        hits = self.history.search(query, limit=limit)
        within = {message.id for message in self._context()}
        return [{**_as_dict(message), "score": score, "in_context": message.id in within} for message, score in hits]

    def close(self) -> None:
        """Close the store."""
        self.history.close()


def _as_dict(message: Message) -> dict[str, str]:
    role = speaker(message) if message.role is Role.CHAT else message.role
    return {"role": _ROLES.get(role, "assistant"), "content": message.text}
