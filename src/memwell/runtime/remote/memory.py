"""A memory behind a service, with the methods of an engine, its histories, its documents and its media."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from memwell._asyncify import Closing, asyncify
from memwell.errors import (
    AccessDenied,
    ConfigurationError,
    FileError,
    InvalidInput,
    MemwellError,
    NotFound,
    NotGranted,
    UnreadableDocument,
    Unsupported,
)
from memwell.filters import FilterLike
from memwell.history import History
from memwell.history.media import MediaLimits
from memwell.history.reading import Target
from memwell.history.writing import media_of
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import MOST_BYTES, Knowledge
from memwell.knowledge.ingest import Ingested, files_under, is_url
from memwell.knowledge.ingest import Progress as IngestProgress
from memwell.knowledge.ingest import Refused as RefusedSource
from memwell.longterm.audit import Action, AuditReport, Repaired, Rules
from memwell.longterm.base import as_ids
from memwell.longterm.changing import Erased, Forgetting, Forgotten
from memwell.longterm.consolidation import Compression
from memwell.longterm.facts import Facts
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.longterm.media import (
    Data,
    Features,
    MediaItem,
    MediaMemory,
    check_features,
    check_kinds,
    check_sentiment,
    read_data,
)
from memwell.longterm.recall import Recalled
from memwell.messages import Content, Media, Message, check_message
from memwell.records import Page, Space, SpaceLike, Thread, as_opened, as_space, paged
from memwell.runtime.context import Context, Receipt, Receipts
from memwell.runtime.engine import Engine, check_path
from memwell.runtime.grants import Grant, SharedMemory
from memwell.runtime.remote.connection import (
    Body,
    Connection,
    Remote,
    RetryPolicy,
    called,
    finished,
    number_of,
    refuses,
    result_of,
)
from memwell.runtime.transfer import Imported, Progress, export_format
from memwell.runtime.transfer.files import named, written
from memwell.runtime.wire import codec, table
from memwell.runtime.wire.codec import Me
from memwell.runtime.wire.operations import filter_data, json_text, message_data
from memwell.runtime.wire.table import (
    OPERATIONS,
    AddMedium,
    AddMessages,
    AnnotateThread,
    EditMessage,
    FetchDocument,
    UploadDocument,
)
from memwell.settings import load_settings
from memwell.storage.protocols import ThreadInfo, Version
from memwell.tokens import default_counter
from memwell.values import as_utc, check_count, check_flag, check_id, check_metadata, check_text, check_type, shown
from memwell.windows import Round, rounds_of

_PAGE = 200
_NO_COPIES = "indexes and earlier versions cannot be sent one by one; export() and import_file() carry them whole"


@refuses("the store belongs to the service; call the methods of the conversation", "backend", "log")
@refuses("a conversation is opened through its memory: memwell.open(url, key=…).thread(id)", "open")
@refuses(_NO_COPIES, "fork", "copy_to")
class RemoteHistory(Remote, History):
    """A conversation of the key's space. It need not exist yet: its first message creates it.

    It caches nothing: each call is one request or a few. Iteration, rounds and metadata are those of ``History``, over
    the methods here.
    """

    def __init__(self, connection: Connection, space: Space, thread: str) -> None:
        super().__init__(connection, thread=thread)
        self.thread = Thread(space, thread)
        self.counter = default_counter()

    def close(self) -> None:
        """Does nothing: the connection belongs to the memory."""

    # Reading

    def info(self) -> ThreadInfo | None:
        """The conversation's counts and times, or None when it does not exist yet."""
        try:
            return self._connection.call("thread", thread=self.thread.id)
        except NotFound:
            return None

    page, apage = called("messages", History.page)  # pyright: ignore[reportAssignmentType]
    search, asearch = called(  # pyright: ignore[reportAssignmentType]
        "search_thread", History.search, reads=lambda hits: [(hit.message, hit.score) for hit in hits]
    )
    window, awindow = called("window", History.window)  # pyright: ignore[reportAssignmentType]

    def last(self, count: int) -> list[Message]:
        """The last messages."""
        wanted = check_count(count, "last")
        newest_first = self._stream(newest_first=True, block=min(max(wanted, 1), _PAGE))
        return list(islice(newest_first, wanted))[::-1]

    def get(self, target: Target) -> Message:
        """One message by index or id. Raises ``NotFound`` when there is none."""
        if isinstance(target, Message):
            target = target.id
        if isinstance(target, str):
            return self._connection.call("message", thread=self.thread.id, message=target)
        return self._at("message_at", check_count(target, "an index"))

    def round(self, number: int) -> Round:
        """One round by its number; 0 is everything before the first. Raises ``NotFound``."""
        check_count(number, "a round's number")
        info = self.info()
        # Round numbers ascend with indexes: read from the nearer end.
        backwards = number > (info.rounds if info else 0) // 2
        for one in self._rounds_backwards() if backwards else rounds_of(self):
            if one.number == number:
                return one
            if (one.number < number) == backwards:
                break
        raise NotFound(f"conversation {self.thread.id!r} has no round {number}")

    def versions(self, target: Target) -> list[Version]:
        """The earlier versions of a message, oldest first."""
        return self._at("message_versions", self._place(target)).items

    def data_of(self, part: Media) -> bytes:
        """The bytes of a part.

        Raises ``Unsupported`` for bytes that the service stores with the conversation, ``InvalidInput`` for a part that
        has only an address, and for what is no medium.
        """
        data = check_type(part, Media, "only an Image, Audio or Video has bytes").data
        if data is not None:
            return data
        if part.blob is not None:
            raise Unsupported("a service does not send the bytes of a conversation; it does send those of media.add")
        raise InvalidInput(f"the part has only the address {shown(part.url)}, and nothing is fetched here")

    # Adding and changing

    trim, atrim = called("trim_thread", History.trim)  # pyright: ignore[reportAssignmentType]
    delete, adelete = called("delete_thread", History.delete, reads=bool)  # pyright: ignore[reportAssignmentType]

    def add(self, *messages: Message) -> list[Message]:
        """As ``History.add``: the messages are on the service's disk when it returns."""
        if not messages:
            return []
        asked = AddMessages(messages=[message_data(one) for one in messages])
        return self._connection.call("add_messages", asked, thread=self.thread.id).messages

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """The message itself when it carries no bytes. Raises ``Unsupported`` when it does."""
        if any(one.data is not None for one in media_of([check_message(message)])):
            raise Unsupported("a service stores no bytes of a conversation; media.add stores them in the memory")
        return message

    def end_round(self) -> None:
        """End the current round: the next message starts a new one."""
        self._annotate(AnnotateThread(end_round=True))

    def start_round(self) -> int:
        """End the current round, if any, and return the number of the round that the next message starts."""
        return self._annotate(AnnotateThread(end_round=True)).rounds + 1

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it.

        It reads first and writes then: of two clients that do so at the same moment, the later one wins.
        """
        merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
        return self._annotate(AnnotateThread(metadata=check_metadata(merged))).metadata

    def edit(self, target: Target, change: Content | Message) -> Message:
        """As ``History.edit``."""
        index = self._place(target)
        if isinstance(change, str):
            asked = EditMessage(content=change)
        else:
            new = change if isinstance(change, Message) else self.get(index).rewritten(change)
            asked = EditMessage(message=message_data(new))
        return self._at("edit_message", index, asked)

    def remove(self, *targets: Target) -> None:
        """Remove messages; ``restore`` restores each. Raises ``NotFound``.

        They go one by one: when one cannot be removed, those before it are restored.
        """
        removed: list[int] = []
        try:
            for index in dict.fromkeys([self._place(target) for target in targets]):
                self._at("remove_message", index)
                removed.append(index)
        except MemwellError:
            for index in removed:
                with suppress(MemwellError):
                    self.restore(index)
            raise

    def restore(self, target: int | Message) -> Message:
        """Take back the last change of a message. Raises ``NotFound`` when it was never changed."""
        return self._at("restore_message", self._place(target))

    def _annotate(self, asked: AnnotateThread) -> ThreadInfo:
        return self._connection.call("annotate_thread", asked, thread=self.thread.id)

    def _at(self, name: str, index: int, asked: Any = None) -> Any:
        return self._connection.call(name, asked, thread=self.thread.id, index=str(index))

    def _place_of(self, message: Message, index: int) -> int:
        try:
            held = [self.get(index)]
        except NotFound:
            held = [one.message for one in self.versions(index) if one.message is not None]
        if any(one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")


_OWN = "the service has its own; configure it there"
_STORE = "the store belongs to the service; call the methods of the memory"

_BLOCK = 500
_MOST_RECEIPTS = 1000
_STEPS = 500
"""How many steps of a plan are sent at once."""

_SECONDS_A_DAY = 86_400


@refuses(_STORE, "backend", "attend")
@refuses("they are of the service's process; its /metrics has them", "snapshots")
@refuses(_OWN, "embedder", "chat")
@refuses("the service has its own clock; recall takes a now for one question", "clock")
@refuses("the service counts what it recalls; feedback() says whether it helped", "note_uses")
@refuses("the service erases what was forgotten when its retention is over; erase() does so at once", "purge")
class RemoteMemory(Closing, Remote):
    """The memory of a key's space behind a service. ``memwell.open("http://…", key="mw_…")`` returns one.

    It has the methods of an ``Engine``, with the same parameters, results and errors, and their async twins. Names that a
    service does not offer raise ``Unsupported``. Safe to use from several threads. Use it in a ``with`` or ``async with``
    block, or call ``close``.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._me = self._asked_for_me()

    @classmethod
    def connect(
        cls, url: str, *, key: str | None = None, space: SpaceLike | None = None, patience: RetryPolicy | None = None
    ) -> Self:
        """Connect to the service at ``url`` and check the key, by default that of the settings.

        Raises ``ConfigurationError`` for an invalid address or key, ``MissingDependency`` without httpx,
        ``BackendUnavailable`` when no service answers, ``AccessDenied`` for an unknown key, ``Unsupported`` for a ``space``
        that is neither the key's nor, for a key with the scope ``spaces``, below it.
        """
        connection = Connection(url, key=load_settings().key if key is None else key, patience=patience)
        try:
            memory = cls(connection)
            return memory if space is None else memory.at(space)
        except BaseException:
            connection.close()
            raise

    def _asked_for_me(self) -> Me | None:
        try:
            return self._connection.call("me")
        except AccessDenied as error:
            if error.code == "missing-scope":
                # The key is valid, but may not read which space it opens.
                return None
            raise

    @property
    def space(self) -> Space:
        """The space of the key. Raises ``AccessDenied`` for a key that may not read."""
        me: Me = self._me or self._connection.call("me")
        return me.key.space

    def at(self, space: SpaceLike) -> Self:
        """This memory itself, for its own space, or that of a space below it, for a key with the scope ``spaces``.

        Raises ``Unsupported`` for any other space: each has keys of its own.
        """
        wanted, own = as_opened(space), self.space
        if wanted == own:
            return self
        if self._me is None or "spaces" not in self._me.key.scopes or wanted[: len(own)] != own:
            raise Unsupported(f"this key opens {own!r}; to open {wanted!r} call memwell.open with a key of that")
        return type(self)(self._connection.at(wanted))

    # Rooms

    def thread(self, id_: str, /) -> RemoteHistory:
        """A conversation of this space; its first message creates it."""
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
        """The documents of this space."""
        return RemoteKnowledge(self._connection, self.space)

    @property
    def media(self) -> RemoteMedia:
        """The images, recordings and videos of this space."""
        return RemoteMedia(self._connection, self)

    def shared(self, owner: SpaceLike) -> RemoteShared:
        """As ``Engine.shared``: the service checks the grant at every call."""
        return RemoteShared(self._connection, as_space(owner), self.space)

    # Remembering and recalling

    remember, aremember = called("remember", Engine.remember)
    remember_thread, aremember_thread = called("remember_thread", Engine.remember_thread)
    recall, arecall = called("recall", Engine.recall, nothing={"limit": list})
    similarities, asimilarities = called("similarities", Engine.similarities, nothing={"ids": dict})
    get, aget = called("memory", Engine.get)
    page, apage = called("memories", Engine.page)
    browse, abrowse = called("browse", Engine.browse)
    activity, aactivity = called("activity", Engine.activity)
    history, ahistory = called("versions", Engine.history)
    count, acount = called("count", Engine.count)
    evaluate, aevaluate = called("worth", Engine.evaluate)
    profile, aprofile = called("profile", Engine.profile)
    facts_about, afacts_about = called("facts_about", Engine.facts_about)
    pending, apending = called("pending", Engine.pending)
    failures, afailures = called("failures", Engine.failures)
    threads, athreads = called("threads", Engine.threads)
    context, acontext = called(
        "context", Engine.context, reads=lambda made: Context(made.messages, made.tokens, made.budget, made.receipt)
    )

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The memories of the space, oldest first. They are fetched page by page."""
        return _all_of(self.page, where, limit)

    def catch_up(self) -> None:
        """Does nothing: the service indexes the words of all memories before it answers."""

    # Changing

    update, aupdate = called("update", Engine.update)
    pin, apin = called("pin", Engine.pin)
    feedback, afeedback = called("feedback", Engine.feedback)
    forget, aforget = called("forget", Engine.forget)
    undo, aundo = called("undo", Engine.undo)
    merge, amerge = called("merge", Engine.merge)

    def forget_by(self, policy: Forgetting, *, dry_run: bool = False) -> Forgotten:
        """Forget what a policy names, or only say what it would forget."""
        older = check_type(policy, Forgetting, "forget_by takes a Forgetting").older_than
        asked = table.ForgetBy(
            importance_below=policy.importance_below,
            older_than_days=None if older is None else older.total_seconds() / _SECONDS_A_DAY,
            unused=policy.unused,
            kinds=policy.kinds,
            where=filter_data(policy.where),
            most=policy.most,
            dry_run=dry_run,
        )
        return result_of(finished(self._connection, self._connection.call("forget_by", asked)), Forgotten)

    def erase(self, ids: str | Iterable[str], *, wait: bool = False) -> Erased:
        """As ``Engine.erase``."""
        return self._connection.call("erase", table.Erase(ids=as_ids(ids), wait=check_flag(wait, "wait")))

    def erase_where(self, where: FilterLike, *, wait: bool = False) -> Erased:
        """As ``Engine.erase_where``."""
        if not where:
            raise InvalidInput("a filter that says nothing would erase everything; erase_all() is for that")
        return self._erase_by(table.EraseBy(where=filter_data(where), wait=check_flag(wait, "wait")))

    def erase_all(self, *, wait: bool = False) -> Erased:
        """Remove the whole memory of the space with its documents and media, for good. Its conversations stay."""
        return self._erase_by(table.EraseBy(everything=True, wait=check_flag(wait, "wait")))

    def _erase_by(self, asked: table.EraseBy) -> Erased:
        return result_of(finished(self._connection, self._connection.call("erase_by", asked)), Erased)

    # Jobs: these methods wait for them

    def flush(self, progress: Callable[[int, int | None], None] | None = None) -> None:
        """As ``Engine.flush``: wait until the service has done all pending work."""
        finished(self._connection, self._connection.call("flush"), progress)

    def audit(self, *, rules: Rules | None = None, progress: Callable[[int], None] | None = None) -> AuditReport:
        """As ``Engine.audit``, with a thousand problems at most and without the texts of memories.

        Raises ``Unsupported`` for ``rules``: a service has its own.
        """
        if rules is not None:
            raise Unsupported("the rules of an audit cannot be sent to a service: it has its own; leave them out")
        job = finished(self._connection, self._connection.call("audit"), progress and (lambda done, of: progress(done)))
        return result_of(job, AuditReport)

    def compress(
        self, *, threshold: float = 0.85, where: FilterLike | None = None, dry_run: bool = False
    ) -> Compression:
        """As ``Engine.compress``."""
        asked = {"threshold": threshold, "where": where, "dry_run": dry_run}
        return result_of(self._merging("compress", asked), Compression)

    def reflect(
        self,
        *,
        least: int = 3,
        most: int = 10,
        where: FilterLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Recalled]:
        """As ``Engine.reflect``."""
        job = self._merging("reflect", {"least": least, "most": most, "where": where, "metadata": metadata})
        return [self.get(id_) for id_ in result_of(job, table.IDS.gives).ids]

    def _merging(self, name: str, asked: Mapping[str, Any]) -> table.Job:
        return finished(self._connection, self._connection.call(name, table.OPERATIONS[name].request(asked)))

    def repair(self, actions: list[Action]) -> Repaired:
        """As ``Engine.repair``, without the texts of the steps that were skipped."""
        steps, operation = list(actions), table.OPERATIONS["repair"]
        parts = [steps[start : start + _STEPS] for start in range(0, len(steps), _STEPS)]
        done: list[Repaired] = [self._connection.call("repair", operation.request({"actions": part})) for part in parts]
        return Repaired(sum(one.done for one in done), tuple(step for one in done for step in one.skipped))

    def export(
        self,
        path: str | Path,
        *,
        vectors: bool = False,
        plaintext: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """As ``Engine.export``, to a local file, which is never encrypted: the secret of a store stays with the service."""
        check_path(path)
        asked = codec.Export(format=export_format(path), vectors=vectors)
        with written(path) as file:
            job = finished(self._connection, self._connection.call("export", asked), progress)
            self._connection.download("job_file", file, id=job.id)
        return number_of(job, "written")

    def import_file(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        user: str | None = None,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """As ``Engine.import_file``, of a local file; a service takes no file at its word."""
        check_path(path)
        if trusted:
            raise Unsupported("a service takes no file at its word; leave trusted out, or import where the store is")
        source = Path(path)
        with named(source, "read"):
            if source.stat().st_size == 0:
                raise InvalidInput(f"the file {str(path)!r} is empty")
        asked = codec.Import(name=source.name, format=format, user=None if user is None else check_id(user, "a user"))
        job = self._connection.upload("import", asked, source)
        return result_of(finished(self._connection, job, progress), Imported)

    # Grants

    grant, agrant = called("grant", Engine.grant)
    revoke, arevoke = called("revoke_grant", Engine.revoke, reads=bool)

    def grants(self) -> list[Grant]:
        """The grants of this memory."""
        return self._connection.call("grants").given

    def shared_with_me(self) -> list[Grant]:
        """The grants of other memories to this space."""
        return self._connection.call("grants").received

    def close(self) -> None:
        """Close the connection. The service goes on."""
        self._connection.close()

    def __repr__(self) -> str:
        whose = "" if self._me is None else f", space={self._me.key.space!r}"
        return f"RemoteMemory({self._connection.address!r}{whose})"

    amemories = asyncify(memories)
    acatch_up = asyncify(catch_up)
    aforget_by = asyncify(forget_by)
    aerase = asyncify(erase)
    aerase_where = asyncify(erase_where)
    aerase_all = asyncify(erase_all)
    aflush = asyncify(flush)
    aaudit = asyncify(audit)
    acompress = asyncify(compress)
    areflect = asyncify(reflect)
    arepair = asyncify(repair)
    aexport = asyncify(export)
    aimport_file = asyncify(import_file)
    agrants = asyncify(grants)
    ashared_with_me = asyncify(shared_with_me)
    ashared = asyncify(shared)


class _Inner(Remote):
    """The base of what is stored in memwell's own space within the key's."""

    def __init__(self, connection: Connection, space: Space) -> None:
        super().__init__(connection)
        self.space = inner_space(space)


@refuses(
    "facts are read from what is remembered, and go when it is forgotten; call remember, forget or undo",
    "learn",
    "withdraw",
    "restore",
    "erase",
)
@refuses("the service finds who is meant by a name", "names_of")
@refuses("the service chooses which memories a session hears", "history_heard", "endings")
@refuses("get() reads the memory that the evidence names", "said")
@refuses("export() has what was stated by hand, and import_file() takes it", "by_hand", "state")
class RemoteFacts(_Inner):
    """The facts of the key's space."""

    about, aabout = called("facts_about", Facts.about)
    history, ahistory = called("facts_history", Facts.history)
    all, aall = called("all_facts", Facts.all)
    conflicts, aconflicts = called("conflicts", Facts.conflicts)
    correct, acorrect = called("correct_fact", Facts.correct)
    retract, aretract = called("retract_fact", Facts.retract)
    walk, awalk = called("graph", Facts.walk)


@refuses("context() writes the receipt of the prompt that it makes", "put")
@refuses("erase() takes what it removes out of the receipts", "forget")
class RemoteReceipts(_Inner):
    """The newest thousand receipts of the key's space."""

    get, aget = called("receipt", Receipts.get)

    def all(self) -> Iterator[Receipt]:
        """The receipts, newest first."""
        return iter(self._connection.call("receipts", table.ListReceipts(limit=_MOST_RECEIPTS)).items)

    def of_memory(self, memory_id: str) -> list[Receipt]:
        """The prompts that a memory went into, newest first."""
        asked = table.ListReceipts(limit=_MOST_RECEIPTS, memory=check_id(memory_id, "a memory's id"))
        return self._connection.call("receipts", asked).items

    aof_memory = asyncify(of_memory)


class RemoteShared(Remote):
    """The memory of another space, from ``RemoteMemory.shared``. Every call raises ``NotGranted`` without a grant."""

    def __init__(self, connection: Connection, owner: Space, reader: Space) -> None:
        if owner == reader:
            raise InvalidInput(f"{owner!r} needs no grant for its own memory")
        super().__init__(connection, owner=list(owner))
        self.owner, self.reader = owner, reader
        _ = self.grant

    @property
    def grant(self) -> Grant:
        """The grant as it is now. Raises ``NotGranted`` when there is none."""
        given: list[Grant] = self._connection.call("grants").received
        found = next((one for one in given if one.owner == self.owner), None)
        if found is None:
            raise NotGranted(f"{self.owner!r} has not granted its memory to {self.reader!r}, or no longer does")
        return found

    recall, arecall = called("recall", SharedMemory.recall, nothing={"limit": list})
    get, aget = called("memory", SharedMemory.get)
    page, apage = called("memories", SharedMemory.page)
    count, acount = called("count", SharedMemory.count)
    remember, aremember = called("remember", SharedMemory.remember)

    def memories(self, *, where: FilterLike | None = None, limit: int | None = None) -> list[Recalled]:
        """The owner's memories, oldest first. They are fetched page by page."""
        return _all_of(self.page, where, limit)

    amemories = asyncify(memories)

    def __repr__(self) -> str:
        return f"<the memory of {self.owner!r}, shared with {self.reader!r}, at {self._connection.address}>"


def _all_of(page: Callable[..., Page[Recalled]], where: FilterLike | None, limit: int | None) -> list[Recalled]:
    """The memories of all pages, oldest first, up to a limit."""
    wanted = None if limit is None else check_count(limit, "limit")
    if wanted == 0:
        return []
    block = _BLOCK if wanted is None else min(wanted, _BLOCK)
    pages = paged(lambda cursor: page(where=where, limit=block, cursor=cursor, newest_first=False))
    return list(islice(pages, wanted))


# Documents and media
#
# The service knows a file by its name, and one in a folder by its path from the folder's name on. A file that is gone from
# a folder is not removed there, since another machine may have a folder of the same name; the report warns of it.

_PENDING = "a service counts the pending work of the whole memory: memory.pending(); flush() waits for it"
_MOST_MEDIA = 1000
"""How many media a service lists at most."""


@refuses("the service has its own; configure it there", "embedder", "chat")
@refuses("the service cuts all documents alike; call it where the store is", "chunking", "rechunk")
@refuses("a service does not send the structure of a document; text() has its text", "parsed")
@refuses(_PENDING, "pending")
class RemoteKnowledge(Remote):
    """The documents of the key's space, with the methods of ``Knowledge``."""

    def __init__(self, connection: Connection, space: Space) -> None:
        super().__init__(connection)
        self.space = knowledge_space(space)

    add, aadd = called("add_document", Knowledge.add)
    documents, adocuments = called("documents", Knowledge.documents)
    get, aget = called("document", Knowledge.get)
    text, atext = called("document_text", Knowledge.text)
    count, acount = called("document_count", Knowledge.count)
    recall, arecall = called("look_up", Knowledge.recall)
    answer, aanswer = called("ask", Knowledge.answer)

    def ingest(
        self,
        *sources: str | Path,
        metadata: Mapping[str, Any] | None = None,
        patterns: Iterable[str] = (),
        remove_missing: bool = True,
        most_bytes: int = MOST_BYTES,
        allow_private: bool = False,
        progress: IngestProgress | None = None,
    ) -> Ingested:
        """As ``Knowledge.ingest``: files and folders of this machine are uploaded, addresses are fetched by the service.

        Nothing is removed, whatever ``remove_missing`` says: the report warns of documents that a folder no longer has.
        Raises ``Unsupported`` for ``allow_private`` with an address.
        """
        if allow_private and any(is_url(source) for source in sources):
            raise Unsupported("a service fetches no page of a private network; save it and ingest the file")
        run = Upload(
            self._connection,
            self.documents(),
            metadata=None if metadata is None else check_metadata(metadata),
            patterns=(patterns,) if isinstance(patterns, str) else tuple(patterns),
            most_bytes=check_count(most_bytes, "most_bytes", least=1),
            progress=progress,
        )
        return run.run(sources)

    def remove(self, *ids: str, wait: bool = False) -> int:
        """As ``Knowledge.remove``: how many there were."""
        named = [check_id(id_, "a document's id") for id_ in ids]
        asked = OPERATIONS["remove_document"].request({"wait": check_flag(wait, "wait")})
        return sum(self._connection.call("remove_document", asked, id=id_).done for id_ in named)

    def erase_all(self, *, wait: bool = False) -> int:
        """Remove every document of the space for good; how many there were."""
        return self.remove(*[document.id for document in self.documents()], wait=wait)

    def flush(self, progress: IngestProgress | None = None) -> None:
        """Wait until the service has made all pending vectors, those of memories too."""
        finished(self._connection, self._connection.call("flush"), progress)

    aingest = asyncify(ingest)
    aremove = asyncify(remove)
    aerase_all = asyncify(erase_all)
    aflush = asyncify(flush)


class RemoteMedia(Remote):
    """The media of the key's space, with the methods of ``MediaMemory``.

    ``limits`` are checked here before anything is sent; the service has its own.
    """

    def __init__(self, connection: Connection, memory: RemoteMemory, *, limits: MediaLimits | None = None) -> None:
        super().__init__(connection)
        self.memory = memory
        self.limits = limits or MediaLimits()

    def add(
        self,
        data: Data | None = None,
        *,
        kind: str | None = None,
        description: str = "",
        transcript: str = "",
        features: Features | None = None,
        sentiment: str | float | None = None,
        session: str | None = None,
        speaker: str | None = None,
        name: str = "",
        metadata: Mapping[str, Any] | None = None,
        time: datetime | None = None,
    ) -> MediaItem:
        """As ``MediaMemory.add``, on the service's disk when it returns.

        Its description goes into the address of the request, which holds 60,000 characters: some 6,000 numbers of a vector,
        or as many Chinese characters. Raises ``InvalidInput`` for more.
        """
        words, vector = check_features(features)
        feeling = None if sentiment is None else check_sentiment(sentiment, "")
        asked = AddMedium(
            kind=kind,
            description=check_text(description, "a description"),
            transcript=check_text(transcript, "a transcript"),
            features=list(words) or None,
            # A store keeps half precision.
            vector=None if vector is None else f"[{','.join(f'{number:.6g}' for number in vector)}]",
            sentiment=None if feeling is None else str(feeling),
            session=session,
            speaker=speaker,
            name=name or getattr(data, "name", ""),
            metadata=None if metadata is None else json_text(check_metadata(metadata)),
            time=None if time is None else as_utc(time, "a medium's time"),
        )
        return self._connection.upload("add_medium", asked, self._body(data))

    def _body(self, data: Data | None) -> Body:
        if data is None:
            return None
        if not isinstance(data, Path):
            content = read_data(data, self.limits)
            if not content:
                raise InvalidInput("a medium must not be empty")
            return content
        if not data.is_file():
            raise FileError(f"{str(data)!r} is not a file that can be read")
        size = data.stat().st_size
        if not 0 < size <= self.limits.most_bytes:
            raise InvalidInput(
                f"the file {str(data)!r} has {size:,} bytes; a medium has 1 to {self.limits.most_bytes:,}"
            )
        return data

    recall, arecall = called("recall_media", MediaMemory.recall)
    like, alike = called("like_media", MediaMemory.like)
    get, aget = called("medium", MediaMemory.get)
    erase, aerase = called("erase_media", MediaMemory.erase)

    def items(
        self, *, session: str | None = None, kinds: str | Iterable[str] | None = None, limit: int | None = None
    ) -> list[MediaItem]:
        """The media of the memory or of one session, oldest first.

        Raises ``InvalidInput`` for an unknown kind, ``Unsupported`` without a ``limit`` when there are a thousand or more.
        """
        wanted, chosen = _MOST_MEDIA if limit is None else check_count(limit, "limit"), check_kinds(kinds)
        if not wanted or not chosen:
            return []
        asked = OPERATIONS["media"].request({"session": session, "kinds": chosen, "limit": wanted})
        found: list[MediaItem] = self._connection.call("media", asked).items
        if limit is None and len(found) == _MOST_MEDIA:
            raise Unsupported(f"a service lists {_MOST_MEDIA:,} media; give a limit, or a session")
        return found

    def data(self, id_: str, /) -> bytes:
        """The bytes of a medium. Raises ``NotFound`` as ``get``, and for one that is only described."""
        return self._connection.fetch("medium_data", id=id_)

    def thumbnail(self, id_: str, /) -> bytes | None:
        """The thumbnail of a medium as JPEG, or None. Raises ``NotFound`` as ``get``."""
        try:
            return self._connection.fetch("medium_thumbnail", id=id_)
        except NotFound:
            self.get(id_)
            return None

    def remove(self, *ids: str) -> int:
        """Erase media, given one by one; how many there were."""
        return self.erase(ids).memories if ids else 0

    aadd = asyncify(add)
    aitems = asyncify(items)
    adata = asyncify(data)
    athumbnail = asyncify(thumbnail)
    aremove = asyncify(remove)


# Uploads

STEP = " › "
"""The separator in the name of a file in a folder: a service takes the part after the last slash as the name."""

_UNDER_WAY = 4
"""How many sources are under way at once."""


class UploadItem(NamedTuple):
    """A source to ingest: its name here, its name at the service, and its path."""

    source: str
    name: str
    path: Path | None = None


class Upload:
    """One ingestion of several sources."""

    def __init__(
        self,
        connection: Connection,
        known: Sequence[Document],
        *,
        metadata: dict[str, Any] | None,
        patterns: Sequence[str],
        most_bytes: int,
        progress: IngestProgress | None,
    ) -> None:
        self._connection = connection
        self._known = {one.id: one for one in known}
        self._sources = {one.source for one in known}
        self._metadata = metadata
        self._patterns = patterns
        self._most_bytes = most_bytes
        self._progress = progress
        self._outcomes: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
        self._refused: list[RefusedSource] = []
        self._warnings: list[str] = []
        self._chunks = 0

    def run(self, sources: Iterable[str | Path]) -> Ingested:
        """Send the sources, and wait until each was ingested or refused."""
        began, items = time.monotonic(), self._distinct(sources)
        report: IngestProgress = self._progress or (lambda done, of: None)
        report(0, len(items))
        with ThreadPoolExecutor(_UNDER_WAY) as pool:
            try:
                for done, (item, result) in enumerate(zip(items, pool.map(self._ingested, items), strict=True), 1):
                    self._note(item, result)
                    report(done, len(items))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        outcomes = {name: tuple(found) for name, found in self._outcomes.items()}
        refused, warnings = tuple(self._refused), tuple(self._warnings)
        seconds = time.monotonic() - began
        return Ingested(**outcomes, refused=refused, warnings=warnings, chunks=self._chunks, seconds=seconds)

    # Finding the sources

    def _distinct(self, sources: Iterable[str | Path]) -> list[UploadItem]:
        found: dict[str, UploadItem] = {}
        for item in self._listed(sources):
            before = found.setdefault(item.name, item)
            if before.source != item.source:
                detail = f"{before.source} has the same name, by which a service knows a file; rename one of them"
                self._refused.append(RefusedSource(item.source, "broken", detail))
        return list(found.values())

    def _listed(self, sources: Iterable[str | Path]) -> Iterator[UploadItem]:
        for source in sources:
            if is_url(source):
                address = str(source).partition("#")[0]
                yield UploadItem(address, address)
                continue
            path = Path(source).expanduser().resolve()
            if path.is_dir():
                yield from self._folder(path)
            else:
                yield UploadItem(str(path), path.name, path)

    def _folder(self, folder: Path) -> Iterator[UploadItem]:
        files = list(files_under(folder, patterns=self._patterns, on_error=self._unlisted))
        if not files:
            self._refused.append(RefusedSource(str(folder), "empty", f"no file to read in {folder}"))
        names = {STEP.join((folder.name, *file.relative_to(folder).parts)): file for file in files}
        yield from (UploadItem(str(file), name, file) for name, file in names.items())
        gone = [one for one in self._sources if one.startswith(folder.name + STEP) and one not in names]
        if gone and not self._patterns:
            self._warnings.append(
                f"{folder}: the service has {len(gone)} more documents of a folder of this name; remove() drops them"
            )

    def _unlisted(self, folder: Path, error: OSError) -> None:
        self._refused.append(RefusedSource(str(folder), "unreachable", f"{folder} cannot be read: {error.strerror}"))

    # One source

    def _ingested(self, item: UploadItem) -> Document | Ingested | RefusedSource:
        """The document of a file, the report of a fetched page, or the refusal."""
        connection = self._connection
        try:
            if item.path is None:
                asked = FetchDocument(url=item.source, metadata=self._metadata)
                return result_of(finished(connection, connection.call("fetch_document", asked)), Ingested)
            self._check_file(item.path)
            metadata = None if self._metadata is None else json_text(self._metadata)
            asked = UploadDocument(name=item.name, metadata=metadata)
            return result_of(finished(connection, connection.upload("upload_document", asked, item.path)), Document)
        except UnreadableDocument as error:
            return RefusedSource(item.source, error.reason, str(error))
        except FileError as error:
            return RefusedSource(item.source, "unreachable", str(error))
        except (InvalidInput, ConfigurationError) as error:
            reason = "broken" if isinstance(error, InvalidInput) else "unsupported"
            return RefusedSource(item.source, reason, str(error))

    def _check_file(self, path: Path) -> None:
        if not path.exists():
            raise UnreadableDocument(f"there is no {path}", reason="unreachable")
        if not path.is_file():
            raise UnreadableDocument(f"{path} is no file", reason="unsupported")
        size = path.stat().st_size
        if size == 0:
            raise UnreadableDocument(f"{path} is empty", reason="empty")
        if size > self._most_bytes:
            raise UnreadableDocument(f"{path} has {size:,} bytes, more than {self._most_bytes:,}", reason="too-large")

    def _note(self, item: UploadItem, result: Document | Ingested | RefusedSource) -> None:
        if isinstance(result, RefusedSource):
            self._refused.append(result)
        elif isinstance(result, Ingested):
            for name, found in self._outcomes.items():
                found += getattr(result, name)
            self._warnings += result.warnings
            self._chunks += result.chunks
        else:
            before = self._known.get(result.id)
            outcome = "added" if before is None else "unchanged" if before == result else "changed"
            self._outcomes[outcome].append(item.source)
            if outcome != "unchanged":
                self._chunks += result.chunks
                self._warnings += [f"{item.source}: {warning}" for warning in result.warnings]
