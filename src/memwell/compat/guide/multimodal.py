"""What was written, shown and heard in a session, and what of all sessions answers a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from memwell._asyncify import Closing, asyncify
from memwell.errors import InvalidInput
from memwell.longterm.media import MediaItem
from memwell.longterm.recall import Recalled
from memwell.runtime.engine import open as open_memory
from memwell.values import check_id, check_text, shown

MODALITIES = ("text", "image", "audio", "video")
_PLURAL = {"image": "images", "audio": "audios", "video": "videos"}
_KNOWN = frozenset({"description", "features", "transcript", "sentiment", "data", "path", "name", "metadata"})
_TEXT = "text"
_LEAST = {"coverage": 0.2, "dense": 0.35}


class MultimodalMemory(Closing):
    """Texts, images, recordings and videos by session. Several of each, and nothing takes another's place.

    Bytes of media are kept when they are given (``data`` or ``path``), and checked to be what they are said to be.
    ``store`` is ``memory:`` until the process ends, or a file for good.
    """

    def __init__(self, *, store: str | Path = "memory:") -> None:
        self.engine = open_memory(store)

    @property
    def memories(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """All there is: by modality, by session, oldest first."""
        held: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in MODALITIES}
        for one in self.engine.memories():
            if one.kind in held:
                held[one.kind].setdefault(one.session, []).append(self._shape(one))
        return held

    def store_multimodal_memory(self, session_id: str, memories: Mapping[str, Any]) -> list[str]:
        """Store what belongs together, and return the ids. A modality may come as one thing or as a list of them.

        Raises ``InvalidInput`` for an unknown modality or key, and for bytes that are not what they are said to be; then
        nothing of the call is stored.
        """
        check_id(session_id, "a session")
        if not isinstance(memories, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"memories must be a dict by modality, not {shown(memories)}")
        things = [(modality, one) for modality, given in memories.items() for one in _things(modality, given)]
        with self.engine.backend.transaction():
            return [self._stored(session_id, modality, one) for modality, one in things]

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
        """What a session holds: its latest ``text``, all ``texts``, ``images``, ``audios`` and ``videos``.

        With a query the media are those of all sessions that answer it, best first, each with its score and the reason.
        """
        check_id(session_id, "a session")
        texts = [one for one in self.engine.memories() if one.session == session_id and one.kind == _TEXT]
        context: dict[str, Any] = {}
        if texts:
            context = {"text": self._shape(texts[-1]), "texts": [self._shape(one) for one in texts]}
        media = self.engine.media
        for kind, plural in _PLURAL.items():
            items = (
                media.items(session=session_id, kinds=kind)
                if query is None
                else _answering(media.recall(check_text(query, "a query"), kinds=kind, limit=limit))
            )
            if items or query is not None:
                context[plural] = [_medium(one) for one in items]
        return context

    def close(self) -> None:
        """Let go of the store."""
        self.engine.close()

    astore_multimodal_memory = asyncify(store_multimodal_memory)
    aretrieve_context = asyncify(retrieve_context)

    def _shape(self, one: Recalled) -> dict[str, Any]:
        if one.kind == _TEXT:
            return {"content": one.text, "timestamp": one.time.isoformat(), "type": _TEXT}
        return _medium(self.engine.media.get(one.id))


def _things(modality: str, given: Any) -> list[Any]:
    """One thing or several, checked. Raises ``InvalidInput``."""
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


def _answering(items: list[MediaItem]) -> list[MediaItem]:
    """Those that the query has a word of, or is near to in meaning: a recall gives the nearest, however far it is."""
    return [
        one
        for one in items
        if any(one.signals[name].value > least for name, least in _LEAST.items() if name in one.signals)
    ]


def _medium(item: MediaItem) -> dict[str, Any]:
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


__all__ = ["MODALITIES", "MultimodalMemory"]
