"""A memory behind a service, with the names of one in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from memwell._asyncify import Closing
from memwell.errors import AccessDenied, Unsupported
from memwell.records import Space, SpaceLike, as_space
from memwell.runtime.remote.asking import Asking
from memwell.runtime.remote.connection import Connection, Patience
from memwell.runtime.remote.facts import RemoteFacts, RemoteReceipts
from memwell.runtime.remote.keeping import Keeping
from memwell.runtime.remote.refusing import Refused
from memwell.runtime.remote.telling import Telling
from memwell.runtime.remote.threads import RemoteHistory
from memwell.runtime.wire.running import Me

if TYPE_CHECKING:
    from memwell.runtime.remote.documents import RemoteKnowledge
    from memwell.runtime.remote.media import RemoteMedia

_OWN = "it is the service's own; say so where the service is set up"
_STORE = "the store is the service's own; call the methods of the memory"


class RemoteMemory(Closing, Asking, Telling, Keeping):
    """The memory of a key's space behind a service. It is made by ``memwell.open("http://…", key="mw_…")``.

    Every method of a memory in a file is here with the same arguments and gives the same values, and has an async twin with
    an ``a`` in front. What cannot be had over the wire raises ``Unsupported``. Safe to use from several threads. Use it in
    a ``with`` or ``async with`` block, or call ``close``.
    """

    backend = Refused(_STORE)
    indexer = Refused(_STORE)
    attend = Refused(_STORE)
    aattend = Refused(_STORE)
    embedder = Refused(_OWN)
    chat = Refused(_OWN)
    reranker = Refused(_OWN)
    weights = Refused("the weights are the service's own; recall takes others for one question")
    clock = Refused("the service goes by its own clock; recall takes a now for one question")
    uncache = Refused("the service drops what it erases from its caches itself")
    sharing = Refused("another handle of the same memory is another memwell.open of the same address and key")

    def __init__(self, connection: Connection, *, space: SpaceLike | None = None) -> None:
        self._connection = connection
        self._me = self._asked_for_me()
        if space is not None:
            self.at(space)

    @classmethod
    def connect(cls, url: str, *, key: str, space: SpaceLike | None = None, patience: Patience | None = None) -> Self:
        """The memory of the key's space at the service at ``url``, which is asked at once whether it knows the key.

        Raises ``ConfigurationError`` for an address or a key that is none, ``MissingDependency`` without httpx,
        ``BackendUnavailable`` when no service answers, ``AccessDenied`` when it does not know the key, ``Unsupported`` for
        a ``space`` that is not the key's.
        """
        connection = Connection(url, key=key, patience=patience)
        try:
            return cls(connection, space=space)
        except BaseException:
            connection.close()
            raise

    def _asked_for_me(self) -> Me | None:
        try:
            return self._connection.call("me", Me)
        except AccessDenied as error:
            if error.code == "missing-scope":
                # A key that may only write is a key all the same; it cannot be asked which space it opens.
                return None
            raise

    @property
    def space(self) -> Space:
        """The space of the key. Raises ``AccessDenied`` for a key that may not read, which cannot be asked."""
        me = self._me or self._connection.call("me", Me)
        return me.key.space

    def at(self, space: SpaceLike) -> Self:
        """This memory itself, for its own space. Raises ``Unsupported`` for any other: each space has keys of its own."""
        wanted = as_space(space)
        if wanted != self.space:
            raise Unsupported(f"this key opens {self.space!r}; to open {wanted!r} call memwell.open with a key of that")
        return self

    def thread(self, id_: str, /) -> RemoteHistory:
        """A conversation of this space, made when the first message is added."""
        return RemoteHistory(self._connection, self.space, id_)

    @property
    def facts(self) -> RemoteFacts:
        """The facts read from all that was remembered until now."""
        return RemoteFacts(self._connection, self.space)

    @property
    def receipts(self) -> RemoteReceipts:
        """Which memories entered which prompt."""
        return RemoteReceipts(self._connection, self.space)

    @property
    def knowledge(self) -> RemoteKnowledge:
        """The documents of this space: taken in, found with exact citations, and asked."""
        # Who keeps no documents does not wait for what reads them.
        from memwell.runtime.remote.documents import RemoteKnowledge  # noqa: PLC0415

        return RemoteKnowledge(self._connection, self.space)

    @property
    def media(self) -> RemoteMedia:
        """The images, recordings and videos of this space, kept safely and recalled by what they show or say."""
        from memwell.runtime.remote.media import RemoteMedia  # noqa: PLC0415 - as for knowledge

        return RemoteMedia(self._connection, self)

    def close(self) -> None:
        """Let go of the line to the service, which goes on by itself."""
        self._connection.close()

    def __repr__(self) -> str:
        whose = "" if self._me is None else f" {self._me.key.space!r}"
        return f"<memwell {self._connection.address}{whose}>"


__all__ = ["RemoteMemory"]
