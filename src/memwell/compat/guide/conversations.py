"""Conversations of many users with their profiles, and texts, images, audio and videos by session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, cast

from memwell._asyncify import Closing
from memwell.errors import InvalidInput, NotFound
from memwell.history import History
from memwell.language.keywords import keywords as keywords_of
from memwell.language.sentiment import sentiment
from memwell.language.words import language_of
from memwell.longterm.media import MediaItem
from memwell.longterm.profiles import Profile, profile
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import Traits, with_traits
from memwell.messages import Message, Role, ai, human
from memwell.records import Record, Space, paged
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_memory
from memwell.runtime.transfer.files import spaces_of
from memwell.storage.protocols import ThreadInfo
from memwell.transcript.text import storable
from memwell.values import as_utc, check_count, check_id, check_list, check_text, shown
from memwell.windows import Round

_USERS = "users"
_PROFILE = "user_profile"
_IMPORTED = "imported"
"""Marks a session whose messages may not be in the order of their times."""
_TOPICS, _KEYWORDS, _MONTHS = 5, 10, 12
_READ_FOR_LANGUAGE = 2_000  # characters
_OWN = ("topic", "keywords", "sentiment")

MODALITIES = ("text", "image", "audio", "video")
_PLURAL = {"image": "images", "audio": "audios", "video": "videos"}
_KNOWN = frozenset({"description", "features", "transcript", "sentiment", "data", "path", "name", "metadata"})
_TEXT = "text"
_LEAST = {"coverage": 0.2, "dense": 0.35}
"""The lowest signals of a medium that answers a query; a recall also returns media below them."""


class ConversationMemory(Closing):
    """Questions and answers of users in one file. A user is a space, a session is a conversation in it.

    A stored conversation is on disk when the call returns, and any later session recalls it. Raises ``BackendError`` for
    a SQLite file of another program; ``store_conversation`` takes its rows, each with its timestamp.
    """

    def __init__(self, db_path: str | Path = "conversation_memory.db") -> None:
        self.db_path = db_path
        self._engine: Engine | None = None
        self.init_database()

    def init_database(self) -> None:
        """Open the file, or create it. Does nothing when it is open."""
        if self._engine is None:
            self._engine = open_memory(self.db_path)

    @property
    def engine(self) -> Engine:
        """The store. Raises ``InvalidInput`` after ``close``."""
        if self._engine is None:
            raise InvalidInput("the memory is closed; init_database() opens it again")
        return self._engine

    def store_conversation(
        self,
        session_id: str,
        user_id: str,
        message: str,
        response: str,
        topic: str | None = None,
        keywords: Sequence[str] | None = None,
        *,
        timestamp: datetime | None = None,
    ) -> str:
        """Store a question and its answer, and return their id. Without keywords those of the question are found.

        ``timestamp`` is the time of an earlier conversation, such as a row of another database; without a zone it is in
        UTC. Raises ``InvalidInput`` for a value that is no text, and an empty session or user; then nothing is stored.
        """
        message = check_text(storable(message), "a message")
        response = check_text(storable(response), "a response")
        # Of the answer none: the profile is made of what the user said.
        found = _words(keywords) or self.extract_keywords(message)
        about: dict[str, Any] = {"keywords": found, "sentiment": round(sentiment(message), 4)}
        if topic:
            about["topic"] = check_text(topic, "a topic")
        when: dict[str, Any] = {} if timestamp is None else {"time": as_utc(timestamp, "a timestamp")}
        engine = self._engine_of(user_id)
        history = engine.thread(check_id(session_id, "a session"))
        # Both or neither: what is in the conversation can be recalled.
        with engine.backend.transaction():
            stored = history.add(human(message, metadata=about, **when), ai(response, **when))
            engine.remember(stored, session=session_id, metadata=about)
            if when:
                history.set_metadata(**{_IMPORTED: True})
        return stored[0].id

    def extract_keywords(self, text: str, top_k: int = 5) -> list[str]:
        """The words and phrases a text is about, in Chinese and English, the weightiest first."""
        return [found.word for found in keywords_of(text, limit=check_count(top_k, "top_k"))]

    def get_conversation_history(self, user_id: str, limit: int = 10) -> list[dict[str, Any]]:
        """The latest conversations of a user in all sessions, newest first.

        Each has ``message``, ``response``, ``timestamp`` (in UTC) and ``topic``.
        """
        engine = self._engine_of(user_id)
        found: list[Round] = []
        for info in _threads(engine) if check_count(limit, "limit") else ():
            # The messages of an imported session may not be in the order of their times.
            last = None if info.metadata.get(_IMPORTED) else limit
            found += filter(_has_question, engine.thread(info.thread.id).rounds(last=last))
        newest = nlargest(limit, found, key=lambda one: (one.messages[0].time, one.messages[0].id))
        return [_round_as_dict(one) for one in newest]

    @property
    def conversations(self) -> list[dict[str, Any]]:
        """The guide's table as a view: every question with its answer, of all users, oldest first; a copy.

        Each has ``id``, ``session_id``, ``user_id``, what the history has, ``keywords`` and ``sentiment``.
        """
        rows: list[tuple[datetime, str, dict[str, Any]]] = []
        for space in list(spaces_of(self.engine.backend)):
            if len(space) != 2 or space[0] != _USERS:
                continue
            engine = self.engine.at(space)
            for history in (engine.thread(info.thread.id) for info in _threads(engine)):
                for asked in (one.messages[0] for one in history.rounds() if _has_question(one)):
                    row = {**_conversation_as_dict(history, asked), "user_id": space[1]}
                    rows.append((asked.time, asked.id, row))
        return [row for _, _, row in sorted(rows, key=lambda one: one[:2])]

    def recall(self, user_id: str, query: str, limit: int = 5) -> list[dict[str, Any]]:
        """The conversations of a user that answer a query best, from all sessions, best first.

        Each has what the history has, and ``id``, ``session_id``, ``score`` and ``why``.
        """
        engine = self._engine_of(user_id)
        check_count(limit, "limit")
        answers: dict[str, dict[str, Any]] = {}
        # A question and its answer may both be found, and are one conversation.
        for found in engine.recall(query, limit=2 * limit):
            one = _conversation_of(engine, found)
            if one is not None:
                answers.setdefault(one["id"], {**one, "score": found.score, "why": found.why(language="zh")})
        return list(answers.values())[:limit]

    def build_user_profile(self, user_id: str) -> dict[str, Any]:
        """A user's topics, keywords and moods, with the conversations as evidence; ``{}`` without any.

        It is stored too; ``get_user_profile`` reads it without counting again.
        """
        engine = self._engine_of(user_id)
        made = _profile_of(user_id, engine, self._questions(engine))
        if made:
            engine.backend.kv.put(engine.space, _PROFILE, made)
        return made

    def get_user_profile(self, user_id: str) -> dict[str, Any]:
        """The profile that was built last; ``{}`` when none was built."""
        engine = self._engine_of(user_id)
        entry = engine.backend.kv.get(engine.space, _PROFILE)
        return {} if entry is None else cast("dict[str, Any]", entry.value)

    def close(self) -> None:
        """Close the file."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _engine_of(self, user_id: str) -> Engine:
        return self.engine.at(Space(_USERS, check_id(user_id, "a user")))

    def _questions(self, engine: Engine) -> Iterator[tuple[str, Message]]:
        """The messages of the user, each with its session."""
        for info in _threads(engine):
            for message in engine.thread(info.thread.id):
                if message.role is Role.HUMAN:
                    yield info.thread.id, message


def _words(given: Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    return [check_text(word, "a keyword") for word in check_list(given, "keywords must be a list of texts")]


def _threads(engine: Engine) -> Iterator[ThreadInfo]:
    log = engine.backend.log
    return paged(lambda cursor: log.threads(engine.space, limit=500, cursor=cursor))


def _has_question(one: Round) -> bool:
    return one.messages[0].role is Role.HUMAN


def _round_as_dict(one: Round) -> dict[str, Any]:
    asked = one.messages[0]
    return {
        "message": asked.text,
        "response": "\n".join(message.text for message in one.messages[1:] if message.role is Role.AI),
        "timestamp": f"{asked.time:%Y-%m-%d %H:%M:%S}",
        "topic": asked.metadata.get("topic"),
    }


def _conversation_as_dict(history: History, message: Message) -> dict[str, Any]:
    one = history.round(message.round or 0)
    asked = one.messages[0]
    own = {name: asked.metadata.get(name) for name in ("keywords", "sentiment")}
    return {"id": asked.id, "session_id": history.thread.id, **_round_as_dict(one), **own}


def _conversation_of(engine: Engine, found: Recalled) -> dict[str, Any] | None:
    """The conversation that a memory belongs to; None when it belongs to none, or was deleted."""
    said = next((one for one in found.evidence if one.thread and one.message), None)
    if said is None:
        return None
    history = engine.thread(said.thread)
    try:
        return _conversation_as_dict(history, history.get(said.message))
    except NotFound:
        return None


def _profile_of(user_id: str, engine: Engine, questions: Iterable[tuple[str, Message]]) -> dict[str, Any]:
    """The profile in the guide's shape, as plain data, of the user who asked the questions; ``{}`` without any."""
    records: list[Record] = []
    beginning = ""
    for session, message in questions:
        if len(beginning) < _READ_FOR_LANGUAGE:
            beginning += f"{message.text[:_READ_FOR_LANGUAGE]}\n"
        own = {name: message.metadata[name] for name in _OWN if name in message.metadata}
        metadata = with_traits(own, Traits(session=session))
        records.append(Record(text=message.text, id=message.id, time=message.time, metadata=metadata))
    found = profile(engine.facts, records)
    return _profile_as_dict(user_id, found, language_of(beginning)) if found.records else {}


def _profile_as_dict(user_id: str, found: Profile, language: str) -> dict[str, Any]:
    topics, words = found.topics[:_TOPICS], found.keywords[:_KEYWORDS]
    return {
        "user_id": user_id,
        "top_topics": [[one.word, one.count] for one in topics],
        "top_keywords": [[one.word, one.count] for one in words],
        "total_conversations": found.records,
        "conversation_summary": found.summary("zh" if language == "zh" else "en"),
        "sentiment": {
            "average": 0.0 if found.trend is None else found.trend.sentiment,
            "trend": "unknown" if found.trend is None else found.trend.direction,
            "by_month": {one.month: one.sentiment for one in found.moods[-_MONTHS:]},
        },
        "evidence": {one.word: list(one.evidence) for one in (*words, *topics)},
    }


class MultimodalMemory(Closing):
    """Texts, images, recordings and videos by session, any number of each.

    Bytes of media are stored when they are given (``data`` or ``path``), and checked against their declared type.
    ``store`` is ``memory:`` until the process ends, or a file.
    """

    def __init__(self, *, store: str | Path = "memory:") -> None:
        self.engine = open_memory(store)

    @property
    def memories(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """All items by modality and session, oldest first."""
        held: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in MODALITIES}
        for one in self.engine.memories():
            if one.kind in held:
                held[one.kind].setdefault(one.session, []).append(self._item_as_dict(one))
        return held

    def store_multimodal_memory(self, session_id: str, memories: Mapping[str, Any]) -> list[str]:
        """Store items together, and return their ids. Each modality has one item or a list of them.

        Raises ``InvalidInput`` for an unknown modality or key, and for bytes of another type than declared; then nothing of
        the call is stored.
        """
        check_id(session_id, "a session")
        items = [(modality, one) for modality, given in memories.items() for one in _items(modality, given)]
        with self.engine.backend.transaction():
            return [self._stored(session_id, modality, one) for modality, one in items]

    def _stored(self, session: str, modality: str, thing: Any) -> str:
        if modality == _TEXT:
            return self.engine.remember(thing, session=session, kind=_TEXT).id
        given = cast("dict[str, Any]", thing)
        data = given.get("data", None if given.get("path") is None else Path(given["path"]))
        return self.engine.media.add(
            data,
            kind=modality,
            description=given.get("description", ""),
            transcript=given.get("transcript", ""),
            features=given.get("features"),
            sentiment=given.get("sentiment"),
            session=session,
            name=given.get("name", ""),
            metadata=given.get("metadata"),
        ).id

    def retrieve_context(self, session_id: str, query: str | None = None, limit: int = 5) -> dict[str, Any]:
        """The items of a session: its latest ``text``, all ``texts``, ``images``, ``audios`` and ``videos``.

        With a query the media are those of all sessions that answer it, best first, each with its score and the reason.
        """
        check_id(session_id, "a session")
        texts = [one for one in self.engine.memories() if one.session == session_id and one.kind == _TEXT]
        context: dict[str, Any] = {}
        if texts:
            context = {"text": self._item_as_dict(texts[-1]), "texts": [self._item_as_dict(one) for one in texts]}
        media = self.engine.media
        for kind, plural in _PLURAL.items():
            items = (
                media.items(session=session_id, kinds=kind)
                if query is None
                else _relevant(media.recall(check_text(query, "a query"), kinds=kind, limit=limit))
            )
            if items or query is not None:
                context[plural] = [_media_as_dict(one) for one in items]
        return context

    def close(self) -> None:
        """Close the store."""
        self.engine.close()

    def _item_as_dict(self, one: Recalled) -> dict[str, Any]:
        if one.kind == _TEXT:
            return {"content": one.text, "timestamp": one.time.isoformat(), "type": _TEXT}
        return _media_as_dict(self.engine.media.get(one.id))


def _items(modality: str, given: Any) -> list[Any]:
    """One item or several, checked. Raises ``InvalidInput``."""
    if modality not in MODALITIES:
        raise InvalidInput(f"unknown modality {shown(modality)}; known: {', '.join(MODALITIES)}")
    is_several = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    several: list[Any] = list(cast("Sequence[Any]", given)) if is_several else [given]
    for one in several:
        if modality == _TEXT:
            check_text(one, "a text")
        elif not isinstance(one, Mapping):
            raise InvalidInput(f"{modality} must be a dict or several, not {shown(one)}")
        elif unknown := set(cast("Mapping[str, Any]", one)) - _KNOWN:
            raise InvalidInput(f"unknown key {sorted(unknown)[0]!r} of {modality}; known: {', '.join(sorted(_KNOWN))}")
    return several


def _relevant(items: list[MediaItem]) -> list[MediaItem]:
    """The items that share a word with the query or are near to it in meaning."""
    return [
        one
        for one in items
        if any(one.signals[name].value > least for name, least in _LEAST.items() if name in one.signals)
    ]


def _media_as_dict(item: MediaItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "description": item.description,
        "features": list(item.features),
        "transcript": item.transcript,
        "sentiment": item.sentiment,
        "timestamp": item.time.isoformat(),
        "type": item.kind,
        "session_id": item.session,
        "score": item.score,
        "why": item.why(language="zh") if item.score else "",
    }
