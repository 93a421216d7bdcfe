"""The engine: store, models, memory, conversations and background worker of a space. ``memwell.open`` makes one.

import memwell

m = memwell.open("app.db")
m.remember("Ann is allergic to nuts.")
m.recall("what can Ann not eat?")
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from msgspec.structs import replace

from memwell._asyncify import Closing, asyncify
from memwell.errors import InvalidInput, ReadOnlyStore
from memwell.history import History
from memwell.language.asking import is_question
from memwell.language.claims import USER
from memwell.language.sentences import sentences
from memwell.language.words import en_or_zh
from memwell.longterm.changing import READ_UP_TO, Erased, erased_key
from memwell.longterm.facts import Facts
from memwell.longterm.indexing import Indexer
from memwell.longterm.journal import inner_key, inner_space, knowledge_space
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.relevance import MIN_RELEVANCE
from memwell.longterm.snapshot_cache import SnapshotFigures, Snapshots
from memwell.longterm.statements import name_key
from memwell.longterm.uses import all_uses
from memwell.messages import Message, Role
from memwell.models.ports import ChatModel, Embedder, TokenEmbedder
from memwell.records import MAX_SEGMENTS, Page, Space, SpaceLike, as_opened
from memwell.runtime.context import Context, Passage, Receipts, Shares, assemble
from memwell.runtime.grants import OWN_SPACES, Grant, Grants, SharedMemory
from memwell.runtime.transfer import Imported, Progress, detect, export_format, export_jsonl, export_markdown
from memwell.runtime.transfer import import_file as read_file
from memwell.runtime.transfer.files import FileLike, written_by
from memwell.runtime.worker import Worker, is_delayed
from memwell.settings import Settings
from memwell.storage import Backend
from memwell.storage.protocols import ThreadInfo
from memwell.values import as_utc, check_flag, check_id, check_text, shown

if TYPE_CHECKING:
    from memwell.knowledge import Found, Knowledge
    from memwell.longterm.media import MediaMemory
    from memwell.runtime.cache import EmbeddingCache


P = ParamSpec("P")
T = TypeVar("T")

_SEGMENTS_OF_KNOWLEDGE = 3
"""How many segments the deepest space of documents has more than its owner."""
_READ_AT_ONCE = 200
"""The key of when a conversation was begun and of the last message of it that was read."""


class EngineParts:
    """The parts that the engines of all spaces of a store share."""

    def __init__(
        self, backend: Backend, settings: Settings, options: dict[str, Any], *, work: bool, cache: bool
    ) -> None:
        self.backend = backend
        self.settings = settings
        self.snapshots = Snapshots(
            backend.index,
            most_bytes=settings.recall_memory_mb * 2**20,
            keep=settings.recall_cache,
            uses=functools.partial(all_uses, backend.kv),
        )
        self.options = {**options, "snapshots": self.snapshots}
        # Weak, as a store may have a space for every user: an engine without references is made again when needed.
        self.engines: weakref.WeakValueDictionary[Space, Engine] = weakref.WeakValueDictionary()
        self.worker = Worker(
            backend,
            lambda space: self.engine(space).memory,
            retention_s=settings.retention_days * 86_400,
            prepare=self.prepare,
        )
        self.works = work
        self.caches = cache
        self.closed = False

    def engine(self, space: Space) -> Engine:
        engine = self.engines.get(space)
        if engine is None:
            engine = Engine(self, space)
            self.engines[space] = engine
        return engine

    def cached_embedder(self, space: Space) -> EmbeddingCache | None:
        """The configured embedder with a cache; None for a local one, which costs neither money nor network time, and for
        one with token vectors, which are not cached.
        """
        embedder = cast("Embedder | None", self.options["embedder"])
        most = self.settings.embedding_cache_entries
        if embedder is None or isinstance(embedder, TokenEmbedder) or not self.caches or not most:
            return None
        # It imports numpy, which the local embedders import when they are first used.
        from memwell.runtime.cache import EmbeddingCache  # noqa: PLC0415

        inner = inner_space(space)
        return EmbeddingCache(embedder, self.backend.kv, inner, most_entries=most, transaction=self.backend.together)

    def notify(self, space: Space) -> None:
        """A space has pending work."""
        if is_delayed(space, self.notify):
            return
        # A recall in a read-only store may find pending work too.
        with suppress(ReadOnlyStore):
            if self.works and not self.closed:
                self.worker.schedule(space)
            else:
                self.worker.announce(space)

    def prepare(self, space: Space, *, wait: bool = False) -> bool:
        """As ``Snapshots.prepare``."""
        embedder = cast("Embedder | None", self.options["embedder"])
        return self.snapshots.prepare(space, None if embedder is None else embedder.shared_from, wait=wait)

    def used(self, space: Space, ids: Sequence[str], at: datetime) -> None:
        if self.works and ids:
            self.worker.used(space, ids, at)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.worker.close()
            self.snapshots.close()
            self.backend.close()


def _of_memory(
    method: Callable[Concatenate[Memory, P], T],
) -> tuple[Callable[Concatenate[Engine, P], T], Callable[Concatenate[Engine, P], Coroutine[Any, Any, T]]]:
    """The method of the engine's memory, as a method of the engine, and its async twin."""
    name = method.__name__

    @functools.wraps(method)
    def call(self: Engine, /, *args: P.args, **options: P.kwargs) -> T:
        bound: Callable[..., T] = getattr(self.memory, name)
        return bound(*args, **options)

    return call, asyncify(call)


class Engine(Closing):
    """A space of a store, ready to use: its memory, conversations, documents, media, grants, and the background worker.

    ``memwell.open`` makes it. Use it in a ``with`` or ``async with`` block, or call ``close``. The methods of ``memory``
    that programs use most are methods of the engine, too.
    """

    def __init__(self, parts: EngineParts, space: Space) -> None:
        self.backend = parts.backend
        self.space = space
        self.memory = Memory(parts.backend, space, notify=parts.notify, used=parts.used, **parts.options)
        self._cached = parts.cached_embedder(space)
        if self._cached is not None:
            # For stored texts only: a query is usually asked once.
            self.memory.indexer = Indexer(
                self.backend,
                space,
                embedder=self._cached,
                chat=self.memory.chat,
                wanted_embedder=self.memory.wanted_embedder,
            )
        self._parts = parts
        self._knowledge: Knowledge | None = None
        self.memory.uncache = functools.partial(_uncache, weakref.ref(self.memory), self.receipts)

    @property
    def facts(self) -> Facts:
        """The facts read from all that was remembered until now."""
        return self.memory.facts

    @property
    def snapshots(self) -> SnapshotFigures:
        """How well the memories of spaces are at hand in this process, of all spaces of the store."""
        return self._parts.snapshots.figures()

    @property
    def clock(self) -> Callable[[], datetime]:
        """The clock of the memory."""
        return self.memory.clock

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the memory; None when it searches by words only."""
        return self.memory.embedder

    @property
    def chat(self) -> ChatModel | None:
        """The chat model of the memory, if it has one."""
        return self.memory.chat

    remember, aremember = _of_memory(Memory.remember)
    recall, arecall = _of_memory(Memory.recall)
    similarities, asimilarities = _of_memory(Memory.similarities)
    get, aget = _of_memory(Memory.get)
    memories, amemories = _of_memory(Memory.memories)
    page, apage = _of_memory(Memory.page)
    browse, abrowse = _of_memory(Memory.browse)
    activity, aactivity = _of_memory(Memory.activity)
    count, acount = _of_memory(Memory.count)
    history, ahistory = _of_memory(Memory.history)
    update, aupdate = _of_memory(Memory.update)
    pin, apin = _of_memory(Memory.pin)
    feedback, afeedback = _of_memory(Memory.feedback)
    note_uses, anote_uses = _of_memory(Memory.note_uses)
    forget, aforget = _of_memory(Memory.forget)
    forget_by, aforget_by = _of_memory(Memory.forget_by)
    undo, aundo = _of_memory(Memory.undo)
    merge, amerge = _of_memory(Memory.merge)
    compress, acompress = _of_memory(Memory.compress)
    reflect, areflect = _of_memory(Memory.reflect)
    erase, aerase = _of_memory(Memory.erase)
    erase_where, aerase_where = _of_memory(Memory.erase_where)
    purge, apurge = _of_memory(Memory.purge)
    profile, aprofile = _of_memory(Memory.profile)
    facts_about, afacts_about = _of_memory(Memory.facts_about)
    audit, aaudit = _of_memory(Memory.audit)
    repair, arepair = _of_memory(Memory.repair)
    failures, afailures = _of_memory(Memory.failures)
    pending, apending = _of_memory(Memory.pending)
    catch_up, acatch_up = _of_memory(Memory.catch_up)

    def evaluate(self, id_: str, /) -> float:
        """The worth of a memory, from 0 to 1, by its uses and feedback until now. Raises ``NotFound``."""
        self._parts.worker.store_uses(self.space)
        return self.memory.evaluate(id_)

    def at(self, space: SpaceLike) -> Engine:
        """The memory of another space of the same store, such as another user's. Nothing is shared between spaces."""
        wanted = as_opened(space)
        if wanted[:2] in OWN_SPACES:
            raise InvalidInput(f"the space {shown(space)} is memwell's own; choose another")
        return self._parts.engine(wanted)

    def grant(self, to: SpaceLike, *, write: bool = False, until: datetime | None = None) -> Grant:
        """Let another space read this memory, and add to it with ``write``; until a time, or until it is revoked.

        Raises ``InvalidInput`` for this space itself and for a time that is past.
        """
        return self._grants.give(self.space, to, write=write, until=until)

    def revoke(self, to: SpaceLike) -> bool:
        """End the grant of another space at once. Returns whether it had one."""
        return self._grants.revoke(self.space, to)

    def grants(self) -> list[Grant]:
        """The current grants of this memory: who may read it, and who may add to it."""
        return self._grants.given_by(self.space)

    def shared_with_me(self) -> list[Grant]:
        """The current grants to this space: whose memories it may read."""
        return self._grants.given_to(self.space)

    def shared(self, owner: SpaceLike) -> SharedMemory:
        """The memory of a space that was granted to this one. Raises ``NotGranted`` when it was not.

        It checks the grant at every call, so it stops working when the grant ends.
        """
        return SharedMemory(self.at(owner).memory, self.space, self._grants)

    @property
    def _grants(self) -> Grants:
        return Grants(self.backend.kv, self.clock)

    def thread(self, id_: str, /) -> History:
        """A conversation of this space. It is created when the first message is added."""
        return History(self.backend, id_, space=self.space)

    def threads(self, *, limit: int = 50, cursor: str | None = None) -> Page[ThreadInfo]:
        """One page of the conversations of this space, by their ids, without their messages."""
        return self.backend.log.threads(self.space, limit=limit, cursor=cursor)

    def remember_thread(self, id_: str, /) -> int:
        """Remember the messages that came to a conversation since the last time; how many memories that made.

        It costs the same however long the conversation is. A conversation that was deleted and begun again is read from its
        beginning; what was read once is not read again, and what was erased is not remembered again.
        """
        count, kv, inner = 0, self.backend.kv, inner_space(self.space)
        for page in unread(self, id_):
            said = [one for one in page if is_said(one) and kv.get(inner, erased_key(one.id)) is None]
            if said:
                count += len(self.remember(said, session=id_).ids)
        return count

    def context(
        self,
        query: str,
        *,
        thread: str | None = None,
        budget: int = 2000,
        system: str | None = None,
        profile: str | None = None,
        documents: Sequence[Passage | Found] = (),
        limit: int = 20,
        language: str | None = None,
        shares: Shares | None = None,
        now: datetime | None = None,
        min_relevance: float = MIN_RELEVANCE,
        trust: str | Iterable[str] | None = None,
    ) -> Context:
        """A prompt of at most ``budget`` tokens that asks ``query``: the conversation, what is known, and the question.

        ``profile`` names the person whose profile is included, if one is known. ``documents`` are passages such as
        ``knowledge.recall`` finds. Memories whose relevance is below ``min_relevance`` stay out, and with ``trust`` those
        that are the word of others, also of the profile. The frame is in ``language``, by default that of the question.
        ``now`` is the day that the prompt tells, and the reference for words such as *yesterday*. The receipt says what
        went in, what did not and why; ``receipts`` keeps it, except in a read-only store. Raises ``InvalidInput`` when the
        query and the system text alone are over the budget.
        """
        words = language or en_or_zh(check_text(query, "a query"))
        moment = self.clock() if now is None else as_utc(now, "now")
        # It is read twice.
        trust = list(trust) if isinstance(trust, Iterator) else trust
        made = assemble(
            query,
            budget=budget,
            history=None if thread is None else self.thread(thread),
            recaller=_RecallerAt(self.memory, moment, trust),
            profile=None if profile is None else self.memory.profile_text(profile, language=words, trust=trust) or None,
            profile_of="" if profile is None or name_key(profile) == USER else profile,
            documents=[one if isinstance(one, Passage) else passage_of(one) for one in documents],
            system=system,
            limit=limit,
            language=words,
            shares=shares,
            now=moment,
            min_relevance=min_relevance,
        )
        with suppress(ReadOnlyStore):
            stored = self.receipts.put(made.receipt)
            made = replace(made, receipt=replace(made.receipt, id=stored))
        return made

    @property
    def knowledge(self) -> Knowledge:
        """The documents of this space: ingest them, recall passages with exact citations, ask questions."""
        if self._knowledge is None:
            # Imported when first used: it loads everything that reads documents.
            from memwell.knowledge import Knowledge  # noqa: PLC0415

            self._knowledge = Knowledge(
                self.backend,
                self.space,
                embedder=self.memory.embedder,
                chat=self.memory.chat,
                reranker=self.memory.reranker,
                snapshots=self._parts.options["snapshots"],
                clock=self.memory.clock,
                notify=self._parts.notify,
                wanted_embedder=self.memory.wanted_embedder,
            )
        return self._knowledge

    @property
    def media(self) -> MediaMemory:
        """The images, recordings and videos of this space, recalled by what they show or say."""
        from memwell.longterm.media import MediaMemory  # noqa: PLC0415 - as for knowledge

        return MediaMemory(self.memory)

    def flush(self, progress: Callable[[int, int | None], None] | None = None) -> None:
        """Do all pending work now: words, facts and vectors, also of documents.

        ``progress`` is called with how many memories or chunks are done, and of how many.
        """
        self.memory.flush(progress)
        self._parts.prepare(self.space, wait=True)
        if chunks_in(self.backend, self.space):
            self.knowledge.flush(progress)

    def erase_all(self, *, wait: bool = False) -> Erased:
        """Erase the whole memory of the space with its documents and media. Its conversations stay."""
        documents = self.knowledge.erase_all() if chunks_in(self.backend, self.space) else 0
        return replace(self.memory.erase_all(wait=wait), documents=documents)

    @property
    def receipts(self) -> Receipts:
        """Which memories entered which prompt."""
        return Receipts(self.backend.kv, inner_space(self.space), transaction=self.backend.together)

    def export(
        self,
        path: str | Path,
        *,
        vectors: bool = False,
        plaintext: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Write the memory and the conversations of this space to a file: ``.md`` as Markdown, ``.jsonl`` as JSON lines.

        Markdown holds the memories alone, for people to read; JSON lines hold everything, documents too.
        The file of an encrypted store is encrypted too, and ``import_file`` of a store with the same secret reads it;
        with ``plaintext`` it is not. Returns how many lines or memories were written. The file is written whole or not at
        all. Raises ``FileError``
        when it cannot be written, ``InvalidInput`` for the store's own file and for an ending of another format.
        """
        check_path(path)
        check_flag(plaintext, "plaintext")
        if _is_store(self.backend, Path(path)):
            raise InvalidInput(f"{str(path)!r} is the store itself; name another file to export to")
        kind, file = export_format(path), Path(path)
        with ExitStack() as held:
            target: FileLike = file
            if self.backend.encrypted and not plaintext:
                target = held.enter_context(written_by(file, self.backend.export_writer))
            if kind == "markdown":
                return export_markdown(self.memory, target, progress=progress)
            return export_jsonl(self.memory, target, vectors=vectors, progress=progress)

    def import_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        user: str | None = None,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import a file of memwell, mem0, Letta, Zep, LangChain, MCP or ChatGPT, or mem0's folder; its format is detected.

        ``user`` imports the memories of one user of mem0. Texts pass the gate; what a file calls the word of a user gets
        the trust ``imported``, nothing is pinned, system messages stay out of prompts, and what has another content here
        stays: it is named in ``skipped``. ``trusted`` takes memwell's own file at its word. Importing again changes
        nothing. Raises ``FileError`` when the file cannot be read, ``InvalidInput`` for an unknown format, and for an
        option that the format does not have.
        """
        check_path(path)
        if _is_store(self.backend, Path(path)):
            raise InvalidInput(f"{str(path)!r} is the store itself; name the file to import")
        options: dict[str, Any] = {} if user is None else {"user_id": check_id(user, "a user")}
        if options and (format or detect(path, self.backend)) != "mem0":
            raise InvalidInput("only the memories of mem0 belong to users; leave user out")
        if check_flag(trusted, "trusted"):
            if (format or detect(path, self.backend)) != "jsonl":
                raise InvalidInput("only memwell's own export can be taken at its word; leave trusted out")
            options["trusted"] = True
        done = read_file(self.memory, path, format=format, progress=progress, **options)
        self._parts.notify(self.space)
        return done

    def attend(self) -> None:
        """Start the worker if another process has left pending work, and keep what recalls rank with after an erasure.

        Long-running programs call it at intervals.
        """
        if self._parts.works and not self._parts.closed:
            self._parts.worker.start_if_pending()
            self._parts.snapshots.renew()

    def close(self) -> None:
        """Stop the worker and close the store, for every space. Pending work is done when the store is opened again."""
        self._parts.close()

    aevaluate = asyncify(evaluate)
    agrant = asyncify(grant)
    arevoke = asyncify(revoke)
    agrants = asyncify(grants)
    ashared_with_me = asyncify(shared_with_me)
    ashared = asyncify(shared)
    athreads = asyncify(threads)
    aremember_thread = asyncify(remember_thread)
    acontext = asyncify(context)
    aflush = asyncify(flush)
    aattend = asyncify(attend)
    aerase_all = asyncify(erase_all)
    aexport = asyncify(export)
    aimport_file = asyncify(import_file)

    def __repr__(self) -> str:
        return f"<memwell {self.backend.facts().get('kind')} {self.space!r}>"


def _uncache(memory: weakref.ref[Memory], receipts: Receipts, ids: list[str], texts: list[str]) -> int:
    """Drop erased memories from the caches and from receipts; how many receipts changed.

    The memory holds this function, so it is referenced weakly: a reference cycle would wait for the garbage collector.
    """
    alive = memory()
    if alive is not None:
        alive.forget_query_vectors()
        # Also where no cache is in use now: an embedder from before may have had one.
        from memwell.runtime.cache import embedding_ring, forget_texts  # noqa: PLC0415 - as for the embedders

        backend = alive.backend
        forget_texts(embedding_ring(backend.kv, inner_space(alive.space), 1, backend.together), texts)
    return receipts.forget(ids)


def chunks_in(backend: Backend, space: Space) -> int:
    """How many chunks the documents of a space have."""
    if len(space) > MAX_SEGMENTS - _SEGMENTS_OF_KNOWLEDGE:
        # Too many segments for a space of documents below it.
        return 0
    return backend.index.info(knowledge_space(space)).records


_ASSISTANT = "assistant"


class _RecallerAt(NamedTuple):
    """A memory that is asked as at a moment."""

    memory: Memory
    now: datetime
    trust: str | Iterable[str] | None

    def recall(self, query: str, *, limit: int) -> list[Recalled]:
        """The memories that answer the query best, a bare answer with its question."""
        hits = self.memory.recall(query, limit=limit, now=self.now, trust=self.trust)
        return hits if self.trust is not None else self._with_questions(hits)

    def _with_questions(self, found: list[Recalled]) -> list[Recalled]:
        """The hits, with a bare answer and the question of the assistant as one: neither says anything alone."""
        pairs = self.memory.exchanges([one.id for one in found])
        joint: dict[str, Recalled] = {}
        for one in found:
            pair = pairs.get(one.id)
            if pair is None:
                joint.setdefault(one.id, one)
            elif pair[1].id not in joint:
                question, answer = pair
                asked = f"{question.speaker or _ASSISTANT}: {_asked_in(question.text)}"
                said = f"{asked}\n{answer.speaker or USER}: {answer.text}"
                flags = one.flags if one.id == answer.id else answer.flags
                by = one.superseded_by if one.id == answer.id else ""
                joint[answer.id] = replace(
                    answer, text=said, score=one.score, signals=one.signals, relevance=one.relevance, asked=one.asked,
                    flags=flags, superseded_by=by,
                )  # fmt: skip
        return list(joint.values())


def _asked_in(text: str) -> str:
    """The last question of a text, or the text."""
    asked = [one.text.strip() for one in sentences(text) if is_question(one.text)]
    return asked[-1] if asked else text


def unread(engine: Engine, id_: str) -> Iterator[Sequence[Message]]:
    """The messages that came to a conversation since it was last read to be remembered, in pages.

    A page counts as read when the next one is asked for, so that none is lost.
    """
    history, inner = engine.thread(id_), inner_space(engine.space)
    info, key = history.info(), inner_key(READ_UP_TO, id_)
    if info is None:
        return
    begun = info.created.isoformat()
    entry = engine.backend.kv.get(inner, key)
    cursor = str(entry.value[1]) if entry is not None and entry.value[0] == begun else None
    while True:
        page = history.page(limit=_READ_AT_ONCE, cursor=cursor)
        yield page.items
        if page.items:
            engine.backend.kv.put(inner, key, [begun, page.items[-1].index])
        cursor = page.next
        if cursor is None:
            return


def passage_of(found: Found) -> Passage:
    """A passage that was found in a document, for a prompt."""
    return Passage(id=found.id, text=found.text, title=found.citation.in_words(), score=found.score, flags=found.flags)


def is_said(message: Message) -> bool:
    """Whether a message of a conversation is remembered: neither an instruction nor what is hidden from models is."""
    return bool(message.text.strip()) and message.for_model and message.role is not Role.SYSTEM


def check_path(path: object) -> None:
    """Raises ``InvalidInput`` for what cannot be the path of a file."""
    if not isinstance(path, str | Path) or not str(path).strip() or "\0" in str(path):
        raise InvalidInput(f"expected the path of a file, not {shown(path)}")


def _is_store(backend: Backend, path: Path) -> bool:
    """Whether a path is the store's file, or one of its companions such as the WAL."""
    store = getattr(backend, "path", None)
    return (
        store is not None
        and path.resolve().name.startswith(Path(store).name)
        and (path.resolve().parent == Path(store).resolve().parent and path.exists())
    )
