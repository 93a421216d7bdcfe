"""Answers of models that were already paid for: langchain-core's ``BaseCache``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, cast

from langchain_core.caches import BaseCache
from langchain_core.messages import message_to_dict, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput
from memwell.integrations.langchain_core.places import DEFAULT_URL, inner_space
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.sharing import Store, shared_backend

_DIGEST = 32
_BLOCK = 500
_KINDS: dict[str, type[Generation]] = {
    "Generation": Generation,
    "GenerationChunk": GenerationChunk,
    "ChatGeneration": ChatGeneration,
    "ChatGenerationChunk": ChatGenerationChunk,
}


class MemwellCache(BaseCache):
    """Answers by their whole question: the prompt and the model's settings. Several processes may share it.

    ``ttl`` is for how many seconds an answer is kept; None is until ``clear``. Caches of different spaces see nothing of
    each other. What is read back is built of langchain-core's own generations and messages and nothing else.
    """

    def __init__(
        self, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE, ttl: float | None = None
    ) -> None:
        self.backend = shared_backend(url_or_backend)
        self.space = inner_space(space, "cache")
        self.ttl = ttl

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        """The answer that was stored for this question, or None. One that cannot be read counts as none."""
        entry = self.backend.kv.get(self.space, _key(prompt, llm_string))
        if entry is None:
            return None
        try:
            return [_generation(one) for one in cast("list[dict[str, Any]]", entry.value)]
        except (TypeError, ValueError, LookupError):
            # Another version of langchain-core may have written it; asking the model again is always right.
            return None

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Store the answer to a question. One that is not plain JSON data, or is too large, is not kept."""
        try:
            self.backend.kv.put(self.space, _key(prompt, llm_string), [_kept(one) for one in return_val], ttl=self.ttl)
        except InvalidInput:
            # The caller has its answer; that it cannot be cached must not take it away.
            return

    def clear(self, **kwargs: Any) -> None:
        """Drop every answer of this cache, all or none."""
        with self.backend.together():
            while entries := self.backend.kv.scan(self.space, limit=_BLOCK).items:
                for entry in entries:
                    self.backend.kv.delete(self.space, entry.key)

    async def alookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        """The async twin of ``lookup``."""
        return await run_blocking(partial(self.lookup, prompt, llm_string))

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """The async twin of ``update``."""
        await run_blocking(partial(self.update, prompt, llm_string, return_val))

    async def aclear(self, **kwargs: Any) -> None:
        """The async twin of ``clear``."""
        await run_blocking(self.clear)


def _key(prompt: str, llm_string: str) -> str:
    first, second = (one.encode("utf-8", "surrogatepass") for one in (prompt, llm_string))
    # The length in front keeps two pairs apart that read the same when written one behind the other.
    return blake2b(b"%d:%b%b" % (len(first), first, second), digest_size=_DIGEST).hexdigest()


def _kept(generation: Generation) -> dict[str, Any]:
    kind = type(generation).__name__
    if _KINDS.get(kind) is not type(generation):
        raise InvalidInput(f"a {kind} cannot be cached")
    kept: dict[str, Any] = {"kind": kind, "info": generation.generation_info}
    if isinstance(generation, ChatGeneration):
        return {**kept, "message": message_to_dict(generation.message)}
    return {**kept, "text": generation.text}


def _generation(kept: dict[str, Any]) -> Generation:
    kind = _KINDS[kept["kind"]]
    if issubclass(kind, ChatGeneration):
        return kind(message=messages_from_dict([kept["message"]])[0], generation_info=kept["info"])
    return kind(text=kept["text"], generation_info=kept["info"])


__all__ = ["MemwellCache"]
