"""Knowledge: stores the documents of a space, recalls passages with exact citations, and answers questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.filters import FilterLike, as_filter, record_test
from memwell.knowledge.answers import Answer, Answerer, answer_language, checked_history, said_before
from memwell.knowledge.asking import has_pronoun
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.documents import Document, Found, Parsed, described
from memwell.knowledge.ingest import Ingested, Ingestion, IngestOptions, Progress
from memwell.knowledge.recall import Search, SearchRequest
from memwell.knowledge.shelf import DocumentStore, checked_metadata, checked_parsed, own_part
from memwell.knowledge.synonyms import Synonyms
from memwell.language.asking import asked_part
from memwell.longterm.embedding import WantedEmbedder
from memwell.longterm.journal import PendingWork, knowledge_space
from memwell.longterm.snapshot_cache import Snapshots
from memwell.longterm.weights import Weights
from memwell.messages import Message
from memwell.models.ports import ChatModel, Embedder, Reranker
from memwell.records import Space, SpaceLike
from memwell.storage.protocols import Backend
from memwell.values import check_count, check_flag, check_id, check_text, check_type, new_id, now

MOST_BYTES = 50_000_000
"""A larger file is refused unless the caller allows it."""

_TRIES = 3  # How often a batch of vectors is tried before its texts are tried one by one


class Counts(msgspec.Struct, frozen=True):
    """The numbers of documents and chunks."""

    documents: int
    chunks: int


class _Entry(NamedTuple):
    """A document as a filter sees it."""

    id: str
    kind: str
    text: str
    time: datetime
    metadata: dict[str, Any]


class Knowledge:
    """The documents of one space. Safe for threads and, over a durable store, for processes.

    Without an ``embedder`` passages are found by words alone; without a ``chat`` model answers are quoted sentences.
    ``chunking`` is for new documents; None takes the one that ``rechunk`` last chose, or the default.
    """

    def __init__(
        self,
        backend: Backend,
        space: SpaceLike,
        *,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        snapshots: Snapshots | None = None,
        clock: Callable[[], datetime] = now,
        chunking: Chunking | None = None,
        synonyms: Synonyms | None = None,
        notify: Callable[[Space], None] = lambda space: None,
        wanted_embedder: WantedEmbedder | None = None,
    ) -> None:
        self.space = knowledge_space(space)
        self.chat = chat
        self._chunking = chunking
        self._shelf = DocumentStore(
            backend, self.space, embedder=embedder, clock=clock, notify=notify, wanted_embedder=wanted_embedder
        )
        self._search = Search(self._shelf, snapshots=snapshots, reranker=reranker, synonyms=synonyms)

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, or None."""
        return self._shelf.vectors.embedder

    @property
    def chunking(self) -> Chunking:
        """The chunking for new documents."""
        return self._chunking or self._shelf.chunking() or Chunking()

    # Storing

    def add(
        self,
        text: str | Parsed,
        *,
        id: str | None = None,  # noqa: A002 - the word that documents have
        source: str = "",
        title: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Document:
        """Store a text as a document, and return its description.

        Without an ``id`` it is a new document each time; with one it replaces the document of that id, and the same again
        changes nothing. Raises ``InvalidInput`` for a text without a word, and for values that break a rule.
        """
        parsed = checked_parsed(text if isinstance(text, Parsed) else plain(check_text(text, "a document's text")))
        own = {**own_part(parsed.metadata), **checked_metadata(metadata)}
        document = described(
            parsed,
            parsed.text.encode(),
            id=new_id() if id is None else check_id(id, "a document's id"),
            source=check_text(source, "a source"),
            title=check_text(title, "a title") or parsed.title,
            time=self._shelf.clock(),
            metadata=own,
        )
        known = None if id is None else self._shelf.manifest(document.id)
        if known is not None:
            stored = known.document
            if replace(document, chunks=stored.chunks, time=stored.time, modified=stored.modified) == stored:
                return stored
        return self._shelf.put(document, parsed, self.chunking)[0]

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
        """Ingest files, folders and http(s) addresses, and report the outcome of each.

        Unchanged sources are skipped, changed ones replaced, and files gone from a folder removed unless ``remove_missing``
        is false. A source that cannot be read is named in the report. ``progress`` is called with the number of finished
        sources and their total. Raises ``InvalidInput`` for an argument that breaks a rule.
        """
        options = IngestOptions(
            self.chunking,
            checked_metadata(metadata),
            (patterns,) if isinstance(patterns, str) else tuple(patterns),
            remove_missing,
            check_count(most_bytes, "most_bytes", least=1),
            allow_private,
            progress,
        )
        return Ingestion(self._shelf, options).run(sources)

    # Reading

    def documents(self, where: FilterLike | None = None) -> list[Document]:
        """The documents, by their ids; ``where`` filters by their metadata (``@id``, ``@time`` and ``@kind``, the media
        type, too). Raises ``InvalidInput`` for a filter that breaks a rule.
        """
        wanted = as_filter(where)
        found = [manifest.document for manifest in self._shelf.manifests()]
        if wanted is None:
            return found
        fits = record_test(wanted)
        return [one for one in found if fits(_Entry(one.id, one.media_type, one.title, one.time, one.metadata))]

    def get(self, id: str, /) -> Document:  # noqa: A002
        """One document. Raises ``NotFound``."""
        return self._shelf.required(check_id(id, "a document's id")).document

    def text(self, id: str, /) -> str:  # noqa: A002
        """The text of a document as it was read; citations are spans of it. Raises ``NotFound``."""
        return self.parsed(id).text

    def parsed(self, id: str, /) -> Parsed:  # noqa: A002
        """A document as it was read: its text with its blocks, title and pages. Raises ``NotFound``."""
        return self._shelf.parsed(self._shelf.required(check_id(id, "a document's id")))

    def count(self) -> Counts:
        """The numbers of documents and chunks."""
        return Counts(*self._shelf.count())

    # Removing

    def remove(self, *ids: str, wait: bool = False) -> int:
        """Remove documents for good; returns how many existed. Unknown ids are ignored.

        From the files of a PostgreSQL or Redis store a worker removes them soon; ``wait`` waits for that.
        """
        check_flag(wait, "wait")
        removed = self._shelf.remove([check_id(id_, "a document's id") for id_ in ids])
        if removed:
            self._shelf.scrub(wait=wait)
        return removed

    def erase_all(self, *, wait: bool = False) -> int:
        """Remove all documents of the space, as ``remove`` does; returns how many existed."""
        return self._shelf.clear(wait=check_flag(wait, "wait"))

    # Upkeep

    def rechunk(self, chunking: Chunking, progress: Progress | None = None) -> int:
        """Cut all documents and future ones in this way; returns the number of chunks.

        Each document changes in one transaction, and finished ones are skipped, so it can be interrupted.
        """
        check_type(chunking, Chunking, "chunking must be a Chunking")
        self._shelf.keep_chunking(chunking)
        self._chunking = chunking
        manifests = list(self._shelf.manifests())
        for done, manifest in enumerate(manifests, start=1):
            if manifest.chunking != chunking:
                parsed = self._shelf.parsed(manifest)
                self._shelf.put(manifest.document, parsed, chunking, origin=manifest.origin, stamp=manifest.stamp)
            if progress is not None:
                progress(done, len(manifests))
        self._shelf.vectors.flush()
        return self.count().chunks

    def pending(self) -> PendingWork:
        """The number of chunks without a vector."""
        return PendingWork(0, self._shelf.vectors.pending)

    def flush(self, progress: Progress | None = None) -> None:
        """Make all pending vectors: after an embedder has failed, was changed, or was missing."""
        self._shelf.vectors.flush(progress, tries=_TRIES)
        self._shelf.vectors.queue_missing()
        self._shelf.vectors.flush(progress, tries=_TRIES)

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
        """The passages that answer ``query`` best, each with its citation.

        ``where`` filters by metadata, ``documents`` by document; with ``expand`` synonyms of the query's words count a
        little too. Raises ``InvalidInput`` for a query or a filter that breaks a rule.
        """
        check_text(query, "a query")
        check_type(weights, (Weights, NoneType), "weights must be Weights")
        named = None if documents is None else tuple([documents] if isinstance(documents, str) else documents)
        for one in named or ():
            check_id(one, "a document's id")
        return self._search.find(
            SearchRequest(query, check_count(limit, "limit"), as_filter(where), named, bool(expand), weights)
        )

    def answer(
        self,
        question: str,
        *,
        limit: int = 5,
        language: str | None = None,
        history: Sequence[Message] = (),
        said: Sequence[Found] = (),
        known: Sequence[Found] = (),
    ) -> Answer:
        """Answer a question from the documents, with sources; *I don't know* when they do not answer it.

        ``limit`` passages are used; ``language`` is ``en`` or ``zh``, by default the question's. ``history`` is the
        conversation so far, which the question may refer to; ``said`` is what the user said, newest first, which may
        answer too; ``known`` is what is known to answer it, and is quoted whole. A chat model is asked whenever there is a
        passage; when it fails, sentences of the documents answer, and the note says so. Raises ``InvalidInput``.
        """
        language = answer_language(language, check_text(question, "a question"))
        history = checked_history(history)
        asked = asked_part(question)
        hits = self.recall(asked, limit=limit)
        answerer = Answerer(self._search, question, hits, language, history=history, said=said, known=known)
        before = said_before(history, asked)
        if before and (has_pronoun(asked) or (not answerer.supported and answerer.refers_back)):
            hits = self.recall(f"{before}\n{asked}", limit=limit)
            wider = Answerer(
                self._search, question, hits, language, history=history, before=before, said=said, known=known
            )
            if wider.supported or (self.chat is not None and wider.support > answerer.support):
                answerer = wider
        return answerer.answer(self.chat)

    aadd = asyncify(add)
    aingest = asyncify(ingest)
    adocuments = asyncify(documents)
    aget = asyncify(get)
    atext = asyncify(text)
    aparsed = asyncify(parsed)
    acount = asyncify(count)
    aremove = asyncify(remove)
    aerase_all = asyncify(erase_all)
    arechunk = asyncify(rechunk)
    apending = asyncify(pending)
    aflush = asyncify(flush)
    arecall = asyncify(recall)
    aanswer = asyncify(answer)
