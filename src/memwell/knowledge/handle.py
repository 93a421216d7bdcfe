"""Knowledge: the documents of a space, taken in, recalled with exact citations, and asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput
from memwell.filters import Filter, FilterLike, as_filter, holds
from memwell.knowledge.answers import Answer, Answerer, checked_history, said_before, told_in
from memwell.knowledge.asking import points
from memwell.knowledge.chunking import Chunking, plain
from memwell.knowledge.documents import Document, Found, Parsed
from memwell.knowledge.ingest import Ingested, Ingestion, Progress, Rules
from memwell.knowledge.recall import Asked, Search
from memwell.knowledge.shelf import Shelf, checked_metadata, checked_parsed, own_part
from memwell.knowledge.synonyms import Synonyms
from memwell.longterm.embedding import Wish
from memwell.longterm.journal import Owed, knowledge_space
from memwell.longterm.weights import Weights
from memwell.messages import Message
from memwell.models.ports import ChatModel, Embedder, Reranker
from memwell.records import Space, SpaceLike
from memwell.storage.protocols import Backend
from memwell.values import check_count, check_id, check_text, new_id, now, shown

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load, and this brings it.
    from memwell.longterm.snapshot_cache import Pools

MOST_BYTES = 50_000_000
"""A larger file is refused unless the caller allows it."""

_TRIES = 3
"""How often vectors are tried before texts are looked at one by one for the one that cannot be embedded."""


class Counts(msgspec.Struct, frozen=True):
    """How many documents there are, and into how many chunks they are cut."""

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
    """The documents of one space. Safe to use from several threads and, over a durable store, several processes.

    Without an ``embedder`` passages are found by their words alone; without a ``chat`` model answers are sentences of the
    documents. ``chunking`` is how new documents are cut; None takes what ``rechunk`` last chose, or the default.
    """

    def __init__(
        self,
        backend: Backend,
        space: SpaceLike,
        *,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
        reranker: Reranker | None = None,
        pools: Pools | None = None,
        clock: Callable[[], datetime] = now,
        chunking: Chunking | None = None,
        synonyms: Synonyms | None = None,
        told: Callable[[Space], None] = lambda space: None,
        wish: Wish | None = None,
    ) -> None:
        self.space = knowledge_space(space)
        self.chat = chat
        self._chunking = chunking
        self._shelf = Shelf(backend, self.space, embedder=embedder, clock=clock, told=told, wish=wish)
        self._search = Search(self._shelf, pools=pools, reranker=reranker, synonyms=synonyms)

    @property
    def embedder(self) -> Embedder | None:
        """What makes the vectors."""
        return self._shelf.vectors.embedder

    @property
    def chunking(self) -> Chunking:
        """How a document is cut that is taken in now."""
        return self._chunking or self._shelf.chunking() or Chunking()

    @property
    def uncache(self) -> Callable[[list[str], list[str]], int] | None:
        """Takes removed chunks, by their ids and embedded texts, out of caches; set by whoever keeps them."""
        return self._shelf.uncache

    @uncache.setter
    def uncache(self, value: Callable[[list[str], list[str]], int] | None) -> None:
        self._shelf.uncache = value

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
        changes nothing. Raises ``InvalidInput`` for a text without a word, and for what breaks a rule.
        """
        parsed = checked_parsed(_as_parsed(text))
        own = {**own_part(parsed.metadata), **checked_metadata(metadata)}
        document = self._described(parsed, new_id() if id is None else check_id(id, "a document's id"), own)
        document = replace(
            document, source=check_text(source, "a source"), title=check_text(title, "a title") or parsed.title
        )
        known = None if id is None else self._shelf.manifest(document.id)
        if known is not None and _same(known.document, document):
            return known.document
        return self._shelf.put(document, parsed, self.chunking)[0]

    def _described(self, parsed: Parsed, id_: str, metadata: dict[str, Any]) -> Document:
        data = parsed.text.encode()
        return Document(
            id=id_,
            source="",
            title="",
            media_type=parsed.media_type,
            digest=sha256(data).hexdigest(),
            size=len(data),
            characters=len(parsed.text),
            pages=parsed.pages,
            chunks=0,
            time=self._shelf.clock(),
            metadata=metadata,
            warnings=parsed.warnings,
        )

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
        """Take in files, folders and http(s) addresses, and say what became of each.

        What is unchanged is passed over, what has changed is replaced, and what is gone from a folder is dropped unless
        ``remove_missing`` is false. A source that cannot be read is named in the report, and the rest goes on. ``progress``
        is told how many are done and of how many. Raises ``InvalidInput`` for an argument that breaks a rule.
        """
        rules = Rules(
            self.chunking,
            checked_metadata(metadata),
            (patterns,) if isinstance(patterns, str) else tuple(patterns),
            remove_missing,
            check_count(most_bytes, "most_bytes", least=1),
            allow_private,
            progress,
        )
        return Ingestion(self._shelf, rules).run(sources)

    # Looking at documents

    def documents(self, where: FilterLike | None = None) -> list[Document]:
        """The documents, by their ids; ``where`` filters by their metadata (``@id``, ``@time`` and ``@kind``, the media
        type, too). Raises ``InvalidInput`` for a filter that breaks a rule.
        """
        wanted = as_filter(where)
        found = (manifest.document for manifest in self._shelf.manifests())
        return [document for document in found if wanted is None or _satisfies(document, wanted)]

    def get(self, id: str, /) -> Document:  # noqa: A002
        """One document. Raises ``NotFound``."""
        return self._shelf.required(check_id(id, "a document's id")).document

    def text(self, id: str, /) -> str:  # noqa: A002
        """The text of a document as it was read; the spans of citations are places in it. Raises ``NotFound``."""
        return self.parsed(id).text

    def parsed(self, id: str, /) -> Parsed:  # noqa: A002
        """A document as it was read: its text with its blocks, title and pages. Raises ``NotFound``."""
        return self._shelf.parsed(self._shelf.required(check_id(id, "a document's id")))

    def count(self) -> Counts:
        """How many documents and chunks there are."""
        return Counts(*self._shelf.count())

    # Taking away

    def remove(self, *ids: str) -> int:
        """Remove documents for good, from the store's files too; how many there were. An id that is not there is fine."""
        removed = self._shelf.remove([check_id(id_, "a document's id") for id_ in ids])
        if removed:
            self._shelf.scrub()
        return removed

    def erase_all(self) -> int:
        """Remove every document of the space for good, and all that was noted of them; how many there were."""
        return self._shelf.clear()

    # Keeping in order

    def rechunk(self, chunking: Chunking, progress: Progress | None = None) -> int:
        """Cut every document anew, and new ones from now on; how many chunks there are then.

        Each document changes in one transaction; those that are cut so already are passed over, so it may be broken off.
        """
        if not isinstance(chunking, Chunking):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"chunking must be a Chunking, not {shown(chunking)}")
        self._shelf.keep_chunking(chunking)
        self._chunking = chunking
        manifests = list(self._shelf.manifests())
        for done, manifest in enumerate(manifests, start=1):
            if manifest.chunking != chunking:
                parsed = self._shelf.parsed(manifest)
                self._shelf.put(manifest.document, parsed, chunking, origin=manifest.origin, stamp=manifest.stamp)
            if progress is not None:
                progress(done, len(manifests))
        self._shelf.vectors.settle()
        return self.count().chunks

    def owed(self) -> Owed:
        """How many chunks still lack their vectors; words are never owed."""
        return Owed(0, self._shelf.vectors.owed)

    def settle(self, progress: Progress | None = None) -> None:
        """Make all vectors that are owed: after an embedder has failed, was changed, or was not there before."""
        self._shelf.vectors.settle(progress, tries=_TRIES)
        self._shelf.vectors.owe_missing()
        self._shelf.vectors.settle(progress, tries=_TRIES)

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

        ``where`` filters by metadata, ``documents`` by document; with ``expand`` synonyms of the query's words count a
        little too. Raises ``InvalidInput`` for a query or a filter that breaks a rule.
        """
        check_text(query, "a query")
        if weights is not None and not isinstance(weights, Weights):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"weights must be Weights, not {shown(weights)}")
        named = None if documents is None else tuple([documents] if isinstance(documents, str) else documents)
        for one in named or ():
            check_id(one, "a document's id")
        return self._search.find(
            Asked(query, check_count(limit, "limit"), as_filter(where), named, bool(expand), weights)
        )

    def answer(
        self, question: str, *, limit: int = 5, language: str | None = None, history: Sequence[Message] = ()
    ) -> Answer:
        """What the documents say to a question, with the passages it rests on; *I don't know* when they say nothing.

        ``limit`` passages are looked at; ``language`` is ``en`` or ``zh``, the question's own unless given. ``history`` is
        the conversation so far: a model is told of it, and a question that leans on it is understood by it. A chat model
        that fails is replaced by the documents' own sentences, and the note says so. Raises ``InvalidInput``.
        """
        language = told_in(language, check_text(question, "a question"))
        history = checked_history(history)
        hits = self.recall(question, limit=limit)
        answerer = Answerer(self._search, question, hits, language, history=history)
        before = said_before(history, question)
        if before and (points(question) or (not answerer.supported and answerer.leans)):
            hits = self.recall(f"{before}\n{question}", limit=limit)
            wider = Answerer(self._search, question, hits, language, history=history, before=before)
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
    aowed = asyncify(owed)
    asettle = asyncify(settle)
    arecall = asyncify(recall)
    aanswer = asyncify(answer)


def _as_parsed(text: str | Parsed) -> Parsed:
    if isinstance(text, Parsed):
        return text
    return plain(check_text(text, "a document's text"))


def _same(known: Document, given: Document) -> bool:
    """Whether a document is kept as it is given, whenever that was."""
    return replace(given, chunks=known.chunks, time=known.time, modified=known.modified) == known


def _satisfies(document: Document, wanted: Filter) -> bool:
    return holds(wanted, _Entry(document.id, document.media_type, document.title, document.time, document.metadata))
