"""Episodic memory: events with their time, user, context and emotion."""

from __future__ import annotations

from datetime import datetime

import msgspec

from memwell._asyncify import asyncify
from memwell.cognition.named import keeps, why_of, without_secrets
from memwell.errors import InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Not, Where
from memwell.language.asking import only_asks
from memwell.language.sentiment import sentiment
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.recall import Recalled
from memwell.values import as_utc, check_count, check_id, check_text, is_finite, new_id, shown

KIND = "episode"
_BETWEEN = "\n— "  # Separates the event from its context in the text of a memory
_FELT = 0.2  # A sentiment from this on is positive, and below its opposite negative


class Episode(msgspec.Struct, frozen=True):
    """An event."""

    id: str
    event: str
    context: str
    emotion: str
    """The word that was given for it, or ``positive``, ``neutral`` or ``negative`` by the words of the event."""
    sentiment: float
    """From -1 (negative) to 1 (positive)."""
    time: datetime
    user: str = ""
    answer: str = ""
    """The answer, for a turn of a conversation. It is not searched, and no facts are read from it."""
    score: float = 0.0
    why: str = ""


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The metadata of an episode."""

    emotion: str
    sentiment: float = 0.0
    turn: bool = False
    answer: str = ""
    asks: bool = False
    """Whether it is a turn that only asks."""


class EpisodicMemory:
    """The episodes of a memory: the same event twice is two episodes. Every method has an async twin with an ``a``."""

    def __init__(self, memory: MemoryLike) -> None:
        self.memory = as_memory(memory)

    def store(
        self,
        event: str,
        *,
        context: str = "",
        emotion: str | float | None = None,
        time: datetime | None = None,
        user: str | None = None,
        turn: bool = False,
    ) -> str:
        """Store an event, and return its id when it is on disk.

        ``emotion`` is a word or a number from -1 to 1; without one the words of the event decide. ``turn`` marks a turn of
        a conversation: ``answered`` adds the answer, and other users do not recall it. Raises ``InvalidInput`` for a value
        that breaks a rule, and for an event that the memory's gate refuses.
        """
        if not check_text(event, "an event").strip():
            raise InvalidInput("an event must not be blank")
        about = check_text(context, "a context").strip()
        word, felt = _felt(emotion, event)
        kept = _Kept(without_secrets(word), felt, turn, asks=turn and only_asks(event))
        stored = self.memory.remember(
            _text(event.strip(), about),
            id=new_id(),
            kind=KIND,
            speaker=user,
            time=time,
            metadata={KIND: msgspec.to_builtins(kept)},
        )
        return stored.id

    def answered(self, id_: str, answer: str) -> None:
        """Store the answer to a turn. Raises ``NotFound`` when there is no such episode."""
        text = without_secrets(check_text(answer, "an answer"))
        # Before the transaction, which others wait for.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            old = self._found(id_)
            kept = {**old.metadata[KIND], "answer": text}
            self.memory.update(id_, metadata={**old.metadata, KIND: kept}, reason="answered")

    def get(self, id_: str) -> Episode:
        """One episode. Raises ``NotFound``."""
        return as_episode(self._found(id_))

    def _found(self, id_: str) -> Recalled:
        found = self.memory.get(id_)
        if not is_episode(found):
            raise NotFound(f"the memory {shown(id_)} is no episode")
        return found

    def recall(self, query: str, limit: int = 5, *, user: str | None = None) -> list[Episode]:
        """The episodes that answer a query best, of one user or with None of all. Turns that only ask come last."""
        whose = None if user is None else of_user(user)
        found = self.hits(query, limit, whose)
        if len(found) < limit:
            found += self.hits(query, limit - len(found), whose, asking=True)
        return [as_episode(one) for one in found]

    def hits(self, query: str, limit: int, where: Filter | None = None, *, asking: bool = False) -> list[Recalled]:
        """The memories that answer a query best: turns that only ask, or all other episodes."""
        asks: Filter = Where((KIND, "asks"), "eq", True)
        wanted = asks if asking else Not(asks)
        both = wanted if where is None else AllOf((wanted, where))
        return [one for one in self.memory.recall(query, kinds=KIND, limit=limit, where=both) if is_episode(one)]

    def timeline(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        user: str | None = None,
        limit: int | None = None,
    ) -> list[Episode]:
        """The episodes from ``since`` to before ``until``, in order of time; with a limit the latest of them."""
        parts: list[Filter] = [Where("@kind", "eq", KIND)]
        if since is not None:
            parts.append(Where("@time", "ge", as_utc(since, "since")))
        if until is not None:
            parts.append(Where("@time", "lt", as_utc(until, "until")))
        if user is not None:
            parts.append(of_user(user))
        found = [one for one in self.memory.memories(where=AllOf(tuple(parts))) if is_episode(one)]
        found.sort(key=lambda one: (one.time, one.id))
        first = 0 if limit is None else max(0, len(found) - check_count(limit, "limit"))
        return [as_episode(one) for one in found[first:]]

    astore = asyncify(store)
    aanswered = asyncify(answered)
    aget = asyncify(get)
    arecall = asyncify(recall)
    ahits = asyncify(hits)
    atimeline = asyncify(timeline)


def of_user(user: str) -> Filter:
    """A filter for the episodes of one user."""
    return Where(("memwell", "speaker"), "eq", check_id(user, "a user"))


def is_episode(found: Recalled) -> bool:
    """Whether a memory keeps an episode."""
    return keeps(found, KIND, _Kept)


def is_turn(found: Recalled) -> bool:
    """Whether a memory keeps a turn of a conversation."""
    return is_episode(found) and msgspec.convert(found.metadata[KIND], _Kept).turn


def as_episode(found: Recalled) -> Episode:
    """The episode that a memory keeps."""
    kept = msgspec.convert(found.metadata[KIND], _Kept)
    event, _, context = found.text.partition(_BETWEEN)
    felt = (kept.emotion, kept.sentiment)
    said = (found.speaker, kept.answer, found.score, why_of(found))
    return Episode(found.id, event, context, *felt, found.time, *said)


def _text(event: str, context: str) -> str:
    plain = event.replace(_BETWEEN, "\n- ")
    return f"{plain}{_BETWEEN}{context}" if context else plain


def _mood(felt: float) -> str:
    return "positive" if felt >= _FELT else "negative" if felt <= -_FELT else "neutral"


def _felt(emotion: object, event: str) -> tuple[str, float]:
    """The word and the number of an emotion. Raises ``InvalidInput`` for what is neither, nor None."""
    if emotion is None or emotion == "":
        felt = round(sentiment(event), 3)
        return _mood(felt), felt
    if isinstance(emotion, str):
        word = check_text(emotion, "an emotion")
        return word, round(sentiment(word) or sentiment(event), 3)
    if not is_finite(emotion) or not -1 <= emotion <= 1:
        raise InvalidInput(f"an emotion must be a word or a number from -1 to 1, not {shown(emotion)}")
    return _mood(emotion), float(emotion)
