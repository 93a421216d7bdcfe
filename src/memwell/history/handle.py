"""The handle of one conversation: which thread of which store it is, and how the store is opened and closed."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeVar

from memwell._asyncify import Closing, asyncify, run_blocking
from memwell.errors import InvalidInput
from memwell.records import DEFAULT_SPACE, Space, SpaceLike, Thread, as_space
from memwell.storage.protocols import Backend, MessageLog, ThreadInfo
from memwell.storage.registry import open_backend
from memwell.tokens import TokenCounter, default_counter
from memwell.values import shown

Self = TypeVar("Self", bound="ThreadHandle")


_LONGEST = 300


def kept_beside(thread: Thread) -> tuple[Space, str]:
    """Where what is made of a conversation is kept, such as a summary: a space, and how the keys begin. It goes with it."""
    return thread.space / "memwell", f"thread/{key_part(thread.id)}/"


def blobs_beside(thread: Thread) -> Space:
    """The space of the blobs of one conversation alone, so that they can go with it. A value that is kept beside the
    conversation names one by its key ``blob``.
    """
    # One segment, as for what lies beside it: a space has only so many.
    return thread.space / f"memwell thread {key_part(thread.id)}"


def keep_blob(backend: Backend, thread: Thread, data: bytes) -> str:
    """Keep bytes beside a conversation, for who is inside a transaction; ``History.delete`` drops them."""
    space = blobs_beside(thread)
    digest = backend.blobs.put(space, data)
    # A store does not list its blobs. Noted in their own space, where only the end of the conversation reaches.
    backend.kv.put(space, digest, {"blob": digest})
    return digest


def key_part(id_: str) -> str:
    """An id as a part of a key. A long one is digested, and its length in front keeps it from reaching into another."""
    short = id_ if len(id_) <= _LONGEST else blake2b(id_.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    return f"{len(id_)}.{short}"


class ThreadHandle(Closing):
    """A thread of a store, which need not exist yet: it begins with its first message.

    ``store`` is a ``Backend`` or a ``MessageLog``; ``open`` takes a path or URL instead.
    """

    def __init__(
        self,
        store: Backend | MessageLog,
        thread: str,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        counter: TokenCounter | None = None,
    ) -> None:
        if not isinstance(store, Backend) and not hasattr(store, "annotate"):
            raise InvalidInput(
                f"a store must be a Backend or a MessageLog, not {shown(store)}; History.open takes a path"
            )
        self.thread = Thread(as_space(space), thread)
        self.log = store.log if isinstance(store, Backend) else store
        self.counter = counter or default_counter()
        self.backend = store if isinstance(store, Backend) else None
        self._owned = False

    @classmethod
    def open(
        cls: type[Self], url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The conversation in the store at ``url``, which ``close`` closes. Raises what ``open_backend`` raises."""
        backend = open_backend(url)
        try:
            history = cls(backend, thread, space=space, counter=counter)
        except BaseException:
            backend.close()
            raise
        history._owned = True
        return history

    @classmethod
    async def aopen(
        cls: type[Self], url: str, thread: str, *, space: SpaceLike = DEFAULT_SPACE, counter: TokenCounter | None = None
    ) -> Self:
        """The async twin of ``open``."""
        return await run_blocking(lambda: cls.open(url, thread, space=space, counter=counter))

    def close(self) -> None:
        """Close the store, if ``open`` opened it here."""
        if self._owned and self.backend is not None:
            self.backend.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.thread.id!r}, space={self.thread.space!r})"

    def info(self) -> ThreadInfo | None:
        """What is known of the conversation without reading it, or None when it has not begun."""
        found = self.log.threads(self.thread.space, ids=[self.thread.id]).items
        return found[0] if found else None

    ainfo = asyncify(info)


__all__ = ["ThreadHandle", "blobs_beside", "keep_blob", "kept_beside", "key_part"]
