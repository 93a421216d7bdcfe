"""``RemoteMemory`` and ``RemoteHistory``: a memory behind a service, with the methods of an engine and its histories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memwell._asyncify import Closing, asyncify
from memwell.errors import AccessDenied, InvalidInput, MemwellError, NotFound, NotGranted, Unsupported
from memwell.filters import FilterLike
from memwell.history import History
from memwell.history.media import MediaLimits
from memwell.history.reading import Target
from memwell.history.writing import media_of
from memwell.longterm.audit import Action, AuditReport, Rules
from memwell.longterm.base import as_ids
from memwell.longterm.changing import Erased, Forgetting, Forgotten
from memwell.longterm.facts import Facts
from memwell.longterm.journal import inner_space
from memwell.longterm.recall import Recalled
from memwell.messages import Content, Media, Message, check_message
from memwell.records import Page, Space, SpaceLike, Thread, as_space, paged
from memwell.runtime.context import Context, Receipt, Receipts
from memwell.runtime.engine import Engine, check_path, keep_earlier_names
from memwell.runtime.grants import Grant, SharedMemory
from memwell.runtime.remote.connection import (
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
from memwell.runtime.wire import running, table
from memwell.runtime.wire.operations import filter_data, message_data
from memwell.runtime.wire.running import Me
from memwell.runtime.wire.table import AddMessages, AnnotateThread, EditMessage
from memwell.settings import load_settings
from memwell.storage.protocols import ThreadInfo, Version
from memwell.tokens import default_counter
from memwell.values import check_count, check_id, check_metadata, check_type, shown
from memwell.windows import Round, rounds_of

if TYPE_CHECKING:
    from memwell.runtime.remote.documents import RemoteKnowledge, RemoteMedia

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
        return self._at("message_versions", self._place(target)).versions

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
        """Remove messages; ``restore`` brings each back. Raises ``NotFound``.

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

    def __init__(self, connection: Connection, *, space: SpaceLike | None = None) -> None:
        super().__init__(connection)
        self._me = self._asked_for_me()
        if space is not None:
            self.at(space)

    @classmethod
    def connect(
        cls, url: str, *, key: str | None = None, space: SpaceLike | None = None, patience: RetryPolicy | None = None
    ) -> Self:
        """Connect to the service at ``url`` and check the key, by default that of the settings.

        Raises ``ConfigurationError`` for an invalid address or key, ``MissingDependency`` without httpx,
        ``BackendUnavailable`` when no service answers, ``AccessDenied`` for an unknown key, ``Unsupported`` for a ``space``
        that is not the key's.
        """
        connection = Connection(url, key=load_settings().key if key is None else key, patience=patience)
        try:
            return cls(connection, space=space)
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
        """This memory itself, for its own space. Raises ``Unsupported`` for any other: each space has keys of its own."""
        wanted = as_space(space)
        if wanted != self.space:
            raise Unsupported(f"this key opens {self.space!r}; to open {wanted!r} call memwell.open with a key of that")
        return self

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
        # Slow to load, and only needed for documents.
        from memwell.runtime.remote.documents import RemoteKnowledge  # noqa: PLC0415

        return RemoteKnowledge(self._connection, self.space)

    @property
    def media(self) -> RemoteMedia:
        """The images, recordings and videos of this space."""
        from memwell.runtime.remote.documents import RemoteMedia  # noqa: PLC0415 - as for knowledge

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
    compress, acompress = called("compress", Engine.compress)
    merge, amerge = called("merge", Engine.merge)
    reflect, areflect = called("reflect", Engine.reflect)

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
        return self._connection.call("forget_by", asked)

    def erase(self, ids: str | Iterable[str]) -> Erased:
        """As ``Engine.erase``."""
        return self._connection.call("erase", table.Erase(ids=as_ids(ids)))

    def erase_where(self, where: FilterLike) -> Erased:
        """As ``Engine.erase_where``."""
        if not where:
            raise InvalidInput("a filter that says nothing would erase everything; erase_all() is for that")
        return self._connection.call("erase", table.Erase(where=filter_data(where)))

    def erase_all(self) -> Erased:
        """Remove the whole memory of the space with its documents and media, for good. Its conversations stay."""
        return self._connection.call("erase", table.Erase(everything=True))

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

    def repair(self, actions: list[Action]) -> int:
        """Carry out a plan of an audit; how many of its steps were done. Every one can be undone."""
        steps, operation = list(actions), table.OPERATIONS["repair"]
        parts = [steps[start : start + _STEPS] for start in range(0, len(steps), _STEPS)]
        return sum(self._connection.call("repair", operation.request({"actions": part})).done for part in parts)

    def export(self, path: str | Path, *, vectors: bool = False, progress: Progress | None = None) -> int:
        """As ``Engine.export``, to a local file."""
        check_path(path)
        asked = running.Export(format=export_format(path), vectors=vectors)
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
        progress: Progress | None = None,
    ) -> Imported:
        """As ``Engine.import_file``, of a local file."""
        check_path(path)
        source = Path(path)
        with named(source, "read"):
            if source.stat().st_size == 0:
                raise InvalidInput(f"the file {str(path)!r} is empty")
        asked = running.Import(name=source.name, format=format, user=None if user is None else check_id(user, "a user"))
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
    arepair = asyncify(repair)
    aexport = asyncify(export)
    aimport_file = asyncify(import_file)
    agrants = asyncify(grants)
    ashared_with_me = asyncify(shared_with_me)
    ashared = asyncify(shared)


keep_earlier_names(RemoteMemory)


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
        return iter(self._connection.call("receipts", table.ListReceipts(limit=_MOST_RECEIPTS)).receipts)

    def of_memory(self, memory_id: str) -> list[Receipt]:
        """The prompts that a memory went into, newest first."""
        asked = table.ListReceipts(limit=_MOST_RECEIPTS, memory=check_id(memory_id, "a memory's id"))
        return self._connection.call("receipts", asked).receipts

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
