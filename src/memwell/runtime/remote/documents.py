"""Documents behind a service: sent there, recalled with exact citations, and asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memwell._asyncify import asyncify
from memwell.errors import Unsupported
from memwell.filters import FilterLike
from memwell.knowledge.answers import Answer
from memwell.knowledge.documents import Document, Found, Parsed
from memwell.knowledge.handle import MOST_BYTES, Counts
from memwell.knowledge.ingest import Ingested, Progress
from memwell.longterm.journal import knowledge_space
from memwell.longterm.weights import Weights
from memwell.messages import Message
from memwell.records import Space
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import filter_data, filter_text, messages_data, metadata_data
from memwell.runtime.remote.refusing import Refused, refuse
from memwell.runtime.remote.uploading import Upload, check_private
from memwell.runtime.remote.working import finished
from memwell.runtime.wire import documents as wire
from memwell.runtime.wire.running import Done, Job
from memwell.values import check_count, check_id, check_text

_OWN = "it is the service's own; say so where the service is set up"
_CUT = "how documents are cut is chosen for all at the service; do it over the store itself"
_OWED = "a service tells what all of the memory is owed together: memory.owed(); settle() waits until nothing is"
_PARSED = "a service keeps the structure of a document to itself; text() gives its text"


class RemoteKnowledge:
    """The documents of the key's space. Every method has an async twin with an ``a`` in front."""

    embedder = Refused(_OWN)
    chat = Refused(_OWN)
    uncache = Refused("the service drops what is removed from its caches itself")
    chunking = Refused(_CUT)
    rechunk = Refused(_CUT)
    arechunk = Refused(_CUT)
    parsed = Refused(_PARSED)
    aparsed = Refused(_PARSED)
    owed = Refused(_OWED)
    aowed = Refused(_OWED)

    def __init__(self, connection: Connection, space: Space) -> None:
        self.space = knowledge_space(space)
        self._connection = connection

    # Taking in

    def add(
        self,
        text: str | Parsed,
        *,
        id: str | None = None,  # noqa: A002 - the word that documents have
        source: str = "",
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Document:
        """Take a text in as a document, and return it as it is kept.

        Without an ``id`` it is a new document each time. One with the given id is replaced as a whole; the same again
        changes nothing. Raises ``InvalidInput`` for a text without a word, and for what breaks a rule; ``Unsupported`` for
        what was read already: ``ingest`` sends a file to be read there.
        """
        if isinstance(text, Parsed):
            raise Unsupported("a service reads documents itself; ingest() sends it the file, add() a text")
        asked = wire.AddDocument(
            text=check_text(text, "a document's text"),
            id=id,
            source=check_text(source, "a source"),
            title=check_text(title, "a title"),
            metadata=metadata_data(metadata),
        )
        return self._connection.call("add_document", Document, asked)

    def ingest(
        self,
        *sources: str | Path,
        metadata: Mapping[str, Any] | None = None,
        patterns: Iterable[str] = (),
        remove_missing: bool = True,
        most_bytes: int = MOST_BYTES,
        allow_private: bool = False,
        progress: Progress | None = None,
    ) -> Ingested:
        """Send files and folders of this machine, have http(s) addresses fetched, and say what became of each.

        What is unchanged stays as it is, what has changed is replaced. A source that cannot be read is named in the report,
        and the rest goes on. ``progress`` is told how many are done and of how many. Nothing is removed, whatever
        ``remove_missing`` says: the report tells of documents that a folder of the same name no longer has. Raises
        ``InvalidInput`` for an argument that breaks a rule, ``Unsupported`` for ``allow_private`` with an address.
        """
        check_private(sources, allow_private)
        run = Upload(
            self._connection,
            self.documents(),
            metadata=metadata_data(metadata),
            patterns=(patterns,) if isinstance(patterns, str) else tuple(patterns),
            most_bytes=check_count(most_bytes, "most_bytes", least=1),
            progress=progress,
        )
        return run.run(sources)

    # Looking at documents

    def documents(self, where: FilterLike | None = None) -> list[Document]:
        """The documents, by their ids; ``where`` filters by their metadata (``@id``, ``@time`` and ``@kind``, the media
        type, too). Raises ``InvalidInput`` for a filter that breaks a rule.
        """
        asked = wire.ListDocuments(where=filter_text(where))
        return self._connection.call("documents", wire.Documents, asked).documents

    def get(self, id: str, /) -> Document:  # noqa: A002
        """One document. Raises ``NotFound``."""
        return self._connection.call("document", Document, None, id=check_id(id, "a document's id"))

    def text(self, id: str, /) -> str:  # noqa: A002
        """The text of a document as it was read; the spans of citations are places in it. Raises ``NotFound``."""
        named = check_id(id, "a document's id")
        return self._connection.call("document_text", wire.DocumentText, None, id=named).text

    def count(self) -> Counts:
        """How many documents and chunks there are."""
        return self._connection.call("document_count", Counts)

    # Taking away

    def remove(self, *ids: str) -> int:
        """Remove documents for good, from the store's files too; how many there were. An id that is not there is fine."""
        named = [check_id(id_, "a document's id") for id_ in ids]
        return sum(self._connection.call("remove_document", Done, None, id=id_).done for id_ in named)

    def erase_all(self) -> int:
        """Remove every document of the space for good; how many there were."""
        return self.remove(*[document.id for document in self.documents()])

    def settle(self, progress: Progress | None = None) -> None:
        """Have the service make all vectors that are owed, those of memories too, and wait for it."""
        finished(self._connection, self._connection.call("settle", Job), progress)

    # Asking

    def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        where: FilterLike | None = None,
        documents: str | Iterable[str] | None = None,
        expand: bool = True,
        weights: Weights | None = None,
    ) -> list[Found]:
        """The passages that answer ``query`` best, best first, each with its exact place in its document.

        Raises ``InvalidInput`` for a query or a filter that breaks a rule, ``Unsupported`` for ``weights``.
        """
        refuse(weights, "the weights of passages", "they are the service's own; leave them out")
        named = None if documents is None else [documents] if isinstance(documents, str) else list(documents)
        asked = wire.LookUp(
            query=check_text(query, "a query"),
            limit=check_count(limit, "limit"),
            where=filter_data(where),
            documents=None if named is None else [check_id(one, "a document's id") for one in named],
            expand=bool(expand),
        )
        return self._connection.call("look_up", wire.Passages, asked).passages

    def answer(
        self, question: str, *, limit: int = 5, language: str | None = None, history: Sequence[Message] = ()
    ) -> Answer:
        """What the documents say to a question, with the passages it rests on; *I don't know* when they say nothing.

        ``limit`` passages are looked at; ``language`` is ``en`` or ``zh``, the question's own unless given; ``history`` is
        the conversation so far. Raises ``InvalidInput``.
        """
        asked = wire.Ask(
            question=check_text(question, "a question"),
            limit=check_count(limit, "limit"),
            language=language,
            history=tuple(messages_data(history)),
        )
        return self._connection.call("ask", Answer, asked)

    aadd = asyncify(add)
    aingest = asyncify(ingest)
    adocuments = asyncify(documents)
    aget = asyncify(get)
    atext = asyncify(text)
    acount = asyncify(count)
    aremove = asyncify(remove)
    aerase_all = asyncify(erase_all)
    asettle = asyncify(settle)
    arecall = asyncify(recall)
    aanswer = asyncify(answer)


__all__ = ["RemoteKnowledge"]
