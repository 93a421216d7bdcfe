"""The table of operations, from which REST, OpenAPI, the client and the MCP tools are derived.

A row has the operation's name, its address, the engine's method, a description, and what the method does not show: the name
of the request, further fields, and the answer. A row without a method has a handler in ``memwell.service.rest``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from memwell.history import History
from memwell.knowledge.documents import Document, Found
from memwell.knowledge.handle import Knowledge
from memwell.longterm.base import MemoryVersion
from memwell.longterm.changing import Erased
from memwell.longterm.facts import Clash, Fact, FactEdge, Facts
from memwell.longterm.media import MediaItem, MediaMemory
from memwell.longterm.recall import Recalled
from memwell.longterm.remembering import Remembered
from memwell.messages import Message
from memwell.records import Page, Space
from memwell.runtime.context import Receipt, Receipts
from memwell.runtime.engine import Engine
from memwell.runtime.grants import Grant
from memwell.runtime.jobs import Job
from memwell.runtime.wire import codec
from memwell.runtime.wire.codec import AnswerBody, Request
from memwell.runtime.wire.operations import (
    ADMIN,
    ANY_KEY,
    ANYONE,
    BYTES,
    ERASE,
    READ,
    TEXT,
    WRITE,
    AuditNote,
    Notes,
    Operation,
    Wrapped,
    derived,
    hints_of,
    place_of,
    with_fields,
    wrapped,
)
from memwell.storage.protocols import ThreadInfo
from memwell.storage.protocols import Version as MessageVersion
from memwell.windows import Round

MessageShape: TypeAlias = Literal["memwell", "openai"]
"""The shape of messages: memwell's own, with ``parts``, or that of Chat Completions."""

# Requests that are not derived from a method


class AddMessages(Request, frozen=True):
    """Messages to add at the end, all or none: in the shape of Chat Completions (``role``, ``content``), or memwell's own
    (``role``, ``parts``). With ``remember`` they are also remembered.

    They come back in the shape that they came in, or in that of ``shape``.
    """

    messages: list[dict[str, Any]]
    remember: bool = False
    shape: MessageShape | None = None


class EditMessage(Request, frozen=True):
    """The replacement of a message: another text, or a whole message."""

    content: str | None = None
    message: dict[str, Any] | None = None


class AnnotateThread(Request, frozen=True):
    """Metadata of a conversation, which replaces the earlier metadata, and whether to end the round."""

    metadata: dict[str, Any] | None = None
    end_round: bool = False


class ForgetBy(Request, frozen=True):
    """A policy: memories that satisfy all that is given are forgotten; with ``dry_run`` they are only listed."""

    importance_below: float | None = None
    older_than_days: float | None = None
    unused: bool = False
    kinds: tuple[str, ...] = ()
    where: dict[str, Any] | None = None
    most: int | None = None
    dry_run: bool = False


class Erase(Request, frozen=True):
    """Which memories to remove for good. With ``wait`` the answer comes when they are gone from the store's files, too."""

    ids: list[str]
    wait: bool = False


class EraseBy(Request, frozen=True):
    """What to remove for good: the memories that satisfy a filter, or ``everything``, also documents.

    Exactly one is given. With ``wait`` the job ends when it is gone from the store's files, too.
    """

    where: dict[str, Any] | None = None
    everything: bool = False
    wait: bool = False


class ListReceipts(Request, frozen=True):
    """The newest receipts, or those of the prompts that a memory went into."""

    limit: int = 50
    memory: str | None = None


class UploadDocument(Request, frozen=True):
    """The description of a file whose bytes are the body. ``metadata`` is JSON. A file of the same ``name`` is replaced."""

    name: str
    title: str = ""
    metadata: str | None = None


class FetchDocument(Request, frozen=True):
    """A web page to ingest. Addresses of private networks are refused."""

    url: str
    metadata: dict[str, Any] | None = None


class AddMedium(Request, frozen=True):
    """The description of an image, recording or video whose bytes are the body; without a body it is only described.

    ``features`` are words; ``vector`` a list of numbers as JSON; ``metadata`` is JSON.
    """

    kind: str | None = None
    description: str = ""
    transcript: str = ""
    features: list[str] | None = None
    vector: str | None = None
    sentiment: str | None = None
    session: str | None = None
    speaker: str | None = None
    name: str = ""
    metadata: str | None = None
    time: datetime | None = None


# Answers


class AddedMessages(AnswerBody, frozen=True):
    """The stored messages, with their indexes."""

    messages: list[Message]
    remembered: Remembered | None = None


class AddedChatMessages(AnswerBody, frozen=True):
    """The stored messages in the shape of Chat Completions, with their ids and the index of the first."""

    messages: list[dict[str, Any]]
    ids: list[str]
    first: int
    remembered: Remembered | None = None


class FoundMessage(AnswerBody, frozen=True):
    """A message that was found, and its score."""

    message: Message
    score: float


RecalledHit = with_fields("RecalledHit", "A memory that answers, and why it was found, in words.", Recalled, why=str)
PassageHit = with_fields(
    "PassageHit", "A passage that answers, why it was found, and its place, in words.", Found, why=str, place=str
)
MediaHit = with_fields("MediaHit", "A medium that answers, and why it was found, in words.", MediaItem, why=str)


class BuiltPrompt(AnswerBody, frozen=True):
    """A prompt: its messages, its tokens, and its receipt; ``openai`` has the messages for Chat Completions.

    A message that memwell wrote for the prompt has no speaker: its ``time`` is the beginning of 1970, always the same.
    """

    messages: list[Message]
    tokens: int
    budget: int
    receipt: Receipt
    openai: list[dict[str, Any]]


class KnownSubject(AnswerBody, frozen=True):
    """A name, and how many facts there are of it."""

    name: str
    facts: int


class GrantList(AnswerBody, frozen=True):
    """Who may see this memory, and whose memories this key may see."""

    given: list[Grant]
    received: list[Grant]


CHAT_PAGE = Page[dict[str, Any]]
COUNTED = wrapped("Counted", "How many there were, or are.", count=int)
DONE = Wrapped(codec.Done, "done")
IDS = wrapped("Ids", "The ids of memories.", ids=list[str])
NEARNESS = wrapped("Nearness", "The similarity of memories to a query, by their ids.", similarities=dict[str, float])
TEXT_OF = wrapped("DocumentText", "The text of a document as it was read.", text=str)
WORTH = wrapped("Worth", "What a memory has shown to be worth, from 0 to 1.", worth=float)


def all_of(item: Any) -> Wrapped:
    """The answer of a method that returns a list: a page without a next one."""
    return Wrapped(Page[item], "items")


# Rows

_ROOMS = {History: "thread", Facts: "facts", Receipts: "receipts", Knowledge: "knowledge", MediaMemory: "media"}
_SHARED_REQUESTS: dict[str, Any] = {}
OWNER: dict[str, Any] = {"owner": (list[str] | None, None)}
"""For operations on a memory that another space has shared."""

LANGUAGE: dict[str, Any] = {"language": (str, "en")}
SHAPED: dict[str, Any] = {"shape": (MessageShape, "memwell")}


def _row(
    name: str,
    address: str,
    does: Callable[..., Any] | None,
    about: str,
    /,
    *,
    takes: tuple[str, str] | type[Request] | None = None,
    gives: Any = ...,
    fields: dict[str, Any] | None = None,
    of: type = Engine,
    notes: Notes | None = None,
    **more: Any,
) -> Operation:
    """A row. ``takes`` is the name and description of the request, or the request itself."""
    method, _, path = address.partition(" ")
    room = _ROOMS.get(of, "")
    if gives is ...:
        assert does is not None
        gives = hints_of(does)["return"]
    if isinstance(gives, Wrapped):
        gives, more["field"] = gives
    query = method in ("GET", "DELETE")
    if isinstance(takes, tuple):
        assert does is not None
        request, arguments = derived(
            does, takes, skip=path.count("{") - (room == "thread"), query=query, fields=fields or {}
        )
        # Operations may share a request.
        more |= {"takes": _SHARED_REQUESTS.setdefault(takes[0], request), "arguments": arguments}
    else:
        more["takes"] = takes
    usual = {"scope": READ, "kind": "read"} if method == "GET" else {"scope": WRITE, "kind": "write"}
    chosen: dict[str, Any] = {**usual, "logged": notes is not None, "notes": notes, **more}
    return Operation(
        name=name, method=method, path=path, tag="", about=about, gives=gives, does=does, room=room, **chosen
    )


_ASKS: dict[str, Any] = {"scope": READ, "kind": "read"}
"""A read with a body, as the question is too long for an address."""

_RECALLS: dict[str, Any] = {"scope": READ, "kind": "recall"}
_CHANGES: dict[str, Any] = {"atomic": True}
_ERASES: dict[str, Any] = {"scope": ERASE}
_JOB: dict[str, Any] = {"gives": Job, "status": 202}
"""Long work: answered at once with a job."""

# Notes for the audit log

MOST_LOGGED = 100
"""How many ids one entry of the audit log names; of more it has the number."""


def noted_ids(ids: Sequence[str]) -> AuditNote | None:
    """A note about memories by their ids, if there are any."""
    return AuditNote(ids[:MOST_LOGGED], {"memories": len(ids)}) if ids else None


def _one(done: Any, asked: Any, path: Mapping[str, str]) -> AuditNote:
    return AuditNote([done.id])


def _ids(done: list[str], asked: Any, path: Mapping[str, str]) -> AuditNote | None:
    return noted_ids(done)


def _place(done: Any, asked: Any, path: Mapping[str, str]) -> AuditNote:
    return AuditNote([path["thread"]], {"place": place_of(path["index"])})


def _named(done: Any, asked: Any, path: Mapping[str, str]) -> AuditNote | None:
    return AuditNote(list(path.values())) if done else None


_CONVERSATIONS = (
    _row("threads", "GET /v1/threads", Engine.threads, "One page of the conversations, by id.",
         takes=("ListThreads", "Which page of the conversations.")),
    _row("thread", "GET /v1/threads/{thread}", History.info, "What is known of one conversation. Raises ``NotFound``.",
         of=History, gives=ThreadInfo),
    _row("messages", "GET /v1/threads/{thread}/messages", History.page,
         "One page of a conversation; one that has not begun is empty.",
         of=History, takes=("ListMessages", "Which page of the messages, and in which shape: memwell's own, or that of "
                            "Chat Completions (``openai``)."), fields=SHAPED, gives_also=CHAT_PAGE),
    _row("add_messages", "POST /v1/threads/{thread}/messages", None,
         "Add messages, all or none; what of them is for memory is remembered after that, if it is asked for.",
         takes=AddMessages, gives=AddedMessages, gives_also=AddedChatMessages, status=201, atomic=True),
    _row("message", "GET /v1/threads/{thread}/messages/{message}", History.get,
         "One message by its id. Raises ``NotFound``.", of=History),
    _row("message_at", "GET /v1/threads/{thread}/places/{index}", History.get,
         "One message by its index. Raises ``NotFound``.", of=History),
    _row("edit_message", "PUT /v1/threads/{thread}/places/{index}", None,
         "Replace a message or its text; the earlier version is kept.",
         takes=EditMessage, gives=Message, logged=True, **_CHANGES),
    _row("remove_message", "POST /v1/threads/{thread}/places/{index}/remove", History.remove,
         "Remove a message; the earlier version is kept.", of=History, gives=DONE, notes=_place, **_CHANGES),
    _row("restore_message", "POST /v1/threads/{thread}/places/{index}/restore", History.restore,
         "Take back the last change of a message.", of=History, notes=_place, **_CHANGES),
    _row("message_versions", "GET /v1/threads/{thread}/places/{index}/versions", History.versions,
         "The earlier versions of a message.", of=History, gives=all_of(MessageVersion)),
    _row("search_thread", "POST /v1/threads/{thread}/search", History.search,
         "The messages that share a word with the query.", of=History,
         takes=("SearchThread", "What to look for in a conversation."), gives=all_of(FoundMessage), **_RECALLS),
    _row("window", "POST /v1/threads/{thread}/window", History.window, "The last rounds that fit, for a model.",
         of=History, takes=("Window", "The part of a conversation for a model: at most this many tokens or rounds."),
         fields=SHAPED,
         gives=all_of(Message), gives_also=CHAT_PAGE, **_ASKS),
    _row("rounds", "GET /v1/threads/{thread}/rounds", History.rounds, "The last rounds, oldest first.", of=History,
         takes=("ListRounds", "How many of the last rounds; all without a number."), gives=all_of(Round)),
    _row("annotate_thread", "PATCH /v1/threads/{thread}", None,
         "Replace the metadata, or end the round. A conversation that does not exist is created.",
         takes=AnnotateThread, gives=ThreadInfo, logged=True, **_CHANGES),
    _row("trim_thread", "POST /v1/threads/{thread}/trim", History.trim, "Delete the oldest rounds for good.", of=History,
         takes=("TrimThread", "What to keep of a conversation: a number of rounds, or what fits a number of tokens."),
         gives=COUNTED, **_ERASES,
         notes=lambda count, asked, path: AuditNote([path["thread"]], {"messages": count}) if count else None),
    _row("delete_thread", "DELETE /v1/threads/{thread}", History.delete, "Delete a conversation for good.", of=History,
         gives=DONE, notes=_named, **_ERASES),
    _row("remember_thread", "POST /v1/threads/{thread}/remember", Engine.remember_thread,
         "Remember every message of a conversation that is not remembered yet.", gives=COUNTED, atomic=True),
)  # fmt: skip

_MEMORIES = (
    _row("remember", "POST /v1/memories", Engine.remember,
         "Store texts or messages, in the key's own memory or in one that was shared for writing.", fields=OWNER,
         takes=("Remember", "Something to remember: a text, a message, or several; ``owner`` is the space of a memory "
                "that was shared for writing.\n\n``time`` is when it was said, ``ttl`` after how many seconds it is to "
                "vanish."), status=201, atomic=True),
    _row("memories", "GET /v1/memories", Engine.page,
         "One page of the memories. Of a shared memory, forgotten ones are not listed.", fields=OWNER,
         takes=("ListMemories", "Which page of the memories; ``where`` is a filter as JSON, ``owner`` the space of a "
                "memory that was shared.")),
    _row("browse", "GET /v1/browse", Engine.browse,
         "Memories without a question: sorted, narrowed by words, fields and time, with the values of the fields counted.",
         takes=("Browse", "Which memories, and in which order. ``chosen`` is JSON with a list of values for each field, "
                "``where`` a filter as JSON.")),
    _row("activity", "GET /v1/activity", Engine.activity,
         "How many of the memories that ``browse`` lists were said in each of some equal steps of time.",
         takes=("AskActivity", "Which memories, as for ``browse``, and how many steps.")),
    _row("memory", "GET /v1/memories/{id}", Engine.get, "One memory. Raises ``NotFound``.", fields=OWNER,
         takes=("OwnerOnly", "Whose memory: the key's own, or that of a space that shared it.")),
    _row("update", "PATCH /v1/memories/{id}", Engine.update, "Change a memory; what is left out stays.",
         takes=("UpdateMemory", "What to change of a memory. What is left out stays."), notes=_one, **_CHANGES),
    _row("forget_one", "POST /v1/memories/{id}/forget", Engine.forget, "Forget one memory; ``undo`` restores it.",
         gives=IDS, notes=_ids, **_CHANGES),
    _row("undo", "POST /v1/memories/{id}/undo", Engine.undo, "Take the last change of a memory back.",
         takes=("Undo", "Which change to take back, if only that one."), notes=_one, **_CHANGES),
    _row("pin", "POST /v1/memories/{id}/pin", Engine.pin, "Keep a memory from every policy, or stop keeping it.",
         takes=("Pin", "Whether a memory is never to be forgotten by a policy."), atomic=True),
    _row("feedback", "POST /v1/memories/{id}/feedback", Engine.feedback, "Say whether a memory was of use.",
         takes=("Feedback", "Whether a memory was of use."), atomic=True),
    _row("versions", "GET /v1/memories/{id}/versions", Engine.history, "What a memory was before.",
         gives=all_of(MemoryVersion)),
    _row("worth", "GET /v1/memories/{id}/worth", Engine.evaluate, "What a memory has shown to be worth.", gives=WORTH),
    _row("count", "GET /v1/count", Engine.count, "How many memories may be recalled.",
         fields=OWNER, takes=("OwnerOnly", ""), gives=COUNTED),
    _row("recall", "POST /v1/recall", Engine.recall,
         "The memories that answer a question, each with its reasons in words.", fields=LANGUAGE | OWNER,
         takes=("Recall", "A question to the memory. ``min_relevance`` leaves out hits that are less likely to help; "
                "``language`` is that of the reasons (``en`` or ``zh``); ``owner`` is the space of a memory that was "
                "shared."), gives=all_of(RecalledHit), reads=Page[Recalled], **_RECALLS),
    _row("similarities", "POST /v1/similarities", Engine.similarities, "How near memories are to a query in meaning.",
         takes=("Similarities", "Which memories to compare with a query."), gives=NEARNESS, **_RECALLS),
    _row("forget", "POST /v1/forget", Engine.forget, "Forget memories, all or none of them.", gives=IDS,
         takes=("Forget", "Which memories to forget, and why. Each can be restored until the retention time is "
                "over."), notes=_ids, **_CHANGES),
    _row("forget_by", "POST /v1/forget-by", None,
         "Forget what a policy names, or tell what it would forget, as a job: it reads all memories. A policy without any "
         "condition is refused at once.", takes=ForgetBy, logged=True, **_JOB),
    _row("erase", "POST /v1/erase", None,
         "Remove memories for good, forgotten ones too, by their ids. Raises ``NotFound``, and then removes nothing.",
         takes=Erase, gives=Erased, logged=True, **_ERASES),
    _row("erase_by", "POST /v1/erase-by", None,
         "Remove for good the memories that satisfy a filter, or all of them with all documents, as a job: it reads all "
         "memories. Raises ``InvalidInput`` at once unless it is one of these.", takes=EraseBy, logged=True, **_ERASES,
         **_JOB),
    _row("compress", "POST /v1/compress", Engine.compress,
         "Merge memories that say nearly the same, or tell which it would merge, as a job: it reads all of them.",
         takes=("Compress", "How alike memories must be to be merged."), logged=True, **_JOB),
    _row("merge", "POST /v1/merge", Engine.merge, "Let one memory stand for others.",
         takes=("MergeMemories", "Memories that say the same: which one stays, and which are merged into it."),
         notes=lambda kept, asked, path: noted_ids([kept.id, *asked.others]), **_CHANGES),
    _row("reflect", "POST /v1/reflect", Engine.reflect,
         "Remember what many memories show together, as a job: it reads all of them. Its result has their ids.",
         takes=("Reflect", "How many insights to make, and of what."), logged=True, **_JOB),
    _row("pending", "GET /v1/pending", Engine.pending,
         "Pending work: memories and documents that are not indexed yet, or without a vector."),
    _row("failures", "GET /v1/failures", Engine.failures,
         "The memories that the embedder cannot take, at most 1,000 of them.", gives=all_of(str)),
    _row("flush", "POST /v1/flush", None, "Do all pending work, as a job.", **_JOB),
    _row("audit", "POST /v1/audit", None, "Audit the whole memory, as a job.", **_JOB, **_ASKS),
    _row("repair", "POST /v1/repair", Engine.repair,
         "Carry out steps of an audit's plan; those of memories that changed since are skipped. Raises ``InvalidInput`` "
         "for a step that is about another space.",
         takes=("Repair", "Steps of an audit's plan to carry out."), logged=True),
)  # fmt: skip

_PROMPTS = (
    # It leaves a receipt, but changes nothing of what is known.
    _row("context", "POST /v1/context", Engine.context,
         "A prompt that asks a question, within a budget; with ``look_up`` the documents are searched for it too.",
         fields={"look_up": (int, 0)}, gives=BuiltPrompt,
         takes=("AskContext", "A question to put into a prompt of at most ``budget`` tokens.\n\n``documents`` are "
                "passages to offer; ``look_up`` is how many to look up in the documents as well."), **_RECALLS),
    _row("receipts", "GET /v1/receipts", None,
         "The newest receipts, or those of the prompts that a memory went into.", takes=ListReceipts,
         gives=all_of(Receipt)),
    _row("receipt", "GET /v1/receipts/{id}", Receipts.get, "What went into one prompt. Raises ``NotFound``.",
         of=Receipts),
)  # fmt: skip

_FACTS = (
    _row("facts_about", "GET /v1/facts", Facts.about,
         "What holds of someone or something, at a moment, as it is or was believed.", of=Facts, gives=all_of(Fact),
         takes=("FactsAbout", "Of whom or what, and when; ``known_at`` asks what was believed then.")),
    _row("all_facts", "GET /v1/facts/all", Facts.all, "One page of all facts.", of=Facts,
         takes=("ListFacts", "Which page of all facts.")),
    _row("facts_history", "GET /v1/facts/history", Facts.history,
         "All that was ever believed of someone or something.", of=Facts, gives=all_of(Fact),
         takes=("FactsHistory", "Of whom or what: all that was ever believed.")),
    _row("conflicts", "GET /v1/facts/conflicts", Facts.conflicts,
         "The facts that contradict each other. Without a subject it reads all facts.", of=Facts, gives=all_of(Clash),
         takes=("Conflicts", "Of whom or what; of all without a name.")),
    _row("correct_fact", "POST /v1/facts/correct", Facts.correct,
         "Replace a value by hand. It outranks what was said before; the former value stays in the history.", of=Facts,
         takes=("CorrectFact", "Which value of whom is wrong, and the right one. Without ``former`` it is the value that "
                "holds now; with ``valid_from`` that was true until then."),
         fields={"at": None}, unsent={"at": "the service knows when it is asked"}, notes=_one,
         **_CHANGES),
    _row("retract_fact", "POST /v1/facts/retract", Facts.retract,
         "Say by hand that a value was never true, or has ended. Reading the same again does not restore it.",
         of=Facts, takes=("RetractFact", "Which value of whom is not true; with ``ended`` it was true until then."),
         fields={"at": None}, unsent={"at": "the service knows when it is asked"}, notes=_one,
         **_CHANGES),
    _row("graph", "GET /v1/graph", Facts.walk, "The facts that lead from a name to others and on.", of=Facts,
         fields={"start": (str, "user")}, takes=("WalkGraph", "Where to begin, and how far to go."),
         gives=all_of(FactEdge)),
    _row("profiles", "GET /v1/profiles", None,
         "Whom something is known of, the most known first.\n\nAt most 10,000 facts are read, in the order of their "
         "subjects, and at most 1,000 subjects listed.", gives=all_of(KnownSubject)),
    _row("profile", "GET /v1/profiles/{subject}", Engine.profile,
         "What is known of someone; nothing is known of a stranger. It reads all memories.",
         takes=("ProfileOf", "The language of a profile, ``en`` or ``zh``, and whose word it is made of.")),
)  # fmt: skip

_DOCUMENTS = (
    _row("documents", "GET /v1/documents", Knowledge.documents, "The documents, by their ids.", of=Knowledge,
         takes=("ListDocuments", "Which documents; ``where`` is a filter as JSON."), gives=all_of(Document)),
    _row("add_document", "POST /v1/documents", Knowledge.add,
         "Add a text as a document, and return when it is found by its words.", of=Knowledge,
         takes=("AddDocument", "A text to add as a document. One with the same ``id`` is replaced."),
         status=201, notes=lambda added, asked, path: AuditNote([added.id], {"chunks": added.chunks})),
    _row("upload_document", "POST /v1/documents/upload", None,
         "Read a file as a document, as a job. A file whose first bytes show that it is none is refused at once.",
         takes=UploadDocument, upload=True, logged=True, **_JOB),
    _row("fetch_document", "POST /v1/documents/fetch", None,
         "Fetch a web page as a document, as a job. A private address is refused at once.",
         takes=FetchDocument, logged=True, **_JOB),
    _row("document_count", "GET /v1/documents/count", Knowledge.count, "How many documents and chunks there are.",
         of=Knowledge),
    _row("document", "GET /v1/documents/{id}", Knowledge.get, "One document. Raises ``NotFound``.", of=Knowledge),
    _row("document_text", "GET /v1/documents/{id}/text", Knowledge.text,
         "The text of a document as it was read. Raises ``NotFound``.", of=Knowledge, gives=TEXT_OF),
    _row("remove_document", "DELETE /v1/documents/{id}", Knowledge.remove,
         "Remove a document for good; an unknown one is no error.", of=Knowledge, gives=DONE, notes=_named,
         takes=("RemoveDocument", "With ``wait`` the answer comes when it is gone from the store's files, too."),
         **_ERASES),
    _row("look_up", "POST /v1/documents/recall", Knowledge.recall,
         "The passages that answer a question best, with the reasons and their places.", of=Knowledge,
         fields=LANGUAGE | {"weights": None}, unsent={"weights": "those of passages are the service's own"},
         takes=("LookUp", "A question to the documents. ``language`` is that of the reasons."),
         gives=all_of(PassageHit), reads=Page[Found], **_RECALLS),
    _row("ask", "POST /v1/ask", Knowledge.answer,
         "What the documents say to a question, with the passages it rests on.", of=Knowledge,
         takes=("Ask", "A question to be answered from the documents; ``history`` is the conversation so far, in the "
                "shape of messages."), fields={"said": None, "known": None}, **_RECALLS),
)  # fmt: skip

_MEDIA = (
    _row("add_medium", "POST /v1/media", None,
         "Remember a medium with the bytes that were sent, or one that is only described when there are none.",
         takes=AddMedium, gives=MediaItem, upload=True, status=201),
    _row("media", "GET /v1/media", MediaMemory.items, "The media of the space, oldest first.", of=MediaMemory,
         fields={"limit": (int, 50)}, takes=("ListMedia", "Which media."), gives=all_of(MediaItem)),
    _row("recall_media", "POST /v1/media/recall", MediaMemory.recall,
         "The media that answer a question best, with the reasons.", of=MediaMemory, fields=LANGUAGE,
         takes=("RecallMedia", "A question to the media."), gives=all_of(MediaHit), reads=Page[MediaItem], **_RECALLS),
    _row("like_media", "POST /v1/media/like", MediaMemory.like,
         "The media whose features are most like the given ones.", of=MediaMemory,
         takes=("LikeMedia", "A vector of features to find the like of."), gives=all_of(MediaHit),
         reads=Page[MediaItem], **_RECALLS),
    _row("erase_media", "POST /v1/media/erase", MediaMemory.erase,
         "Remove media for good. Raises ``NotFound`` for an id that is no medium, and removes nothing then.",
         of=MediaMemory, takes=("EraseMedia", "Which media to remove for good."), **_ERASES,
         notes=lambda erased, asked, path: AuditNote(asked.ids, {"memories": erased.memories, "total": erased.total})
         if erased.total else None),
    _row("medium", "GET /v1/media/{id}", MediaMemory.get, "One medium. Raises ``NotFound``.", of=MediaMemory),
    _row("medium_data", "GET /v1/media/{id}/data", None,
         "The bytes of a medium as they were given. Raises ``NotFound``.", gives=None, media_type=BYTES),
    _row("medium_thumbnail", "GET /v1/media/{id}/thumbnail", None,
         "A small picture of a medium. Raises ``NotFound`` when it has none.", gives=None, media_type=BYTES),
)  # fmt: skip

_SERVICE = (
    _row("me", "GET /v1/me", None, "The caller's key, and the service.", gives=codec.Me, scope=ANY_KEY),
    _row("spaces", "GET /v1/spaces", None,
         "One page of the spaces that a key with the scope spaces, or admin, may name, with their counts.",
         takes=codec.ListSpaces, gives=Page[codec.SpaceCounts], scope=ANY_KEY),
    _row("figures", "GET /v1/figures", None,
         "The metrics of the key's space; those of the whole service are for its operator.",
         takes=codec.AskFigures, gives=codec.ServiceFigures),
    _row("metrics", "GET /metrics", None, "The metrics of the whole service for Prometheus.", gives=None, scope=ADMIN,
         media_type=TEXT),
)  # fmt: skip

_JOBS = (
    _row("export", "POST /v1/exports", None,
         "Write the whole space to a file, as a job. Raises ``InvalidInput`` for an unknown format.",
         takes=codec.Export, logged=True, **_JOB, **_ASKS),
    _row("import", "POST /v1/imports", None,
         "Import a file, as a job. Raises ``InvalidInput`` at once for an unknown format.",
         takes=codec.Import, upload=True, logged=True, **_JOB),
    _row("jobs", "GET /v1/jobs", None, "The jobs of the key's space, newest first.", gives=Page[Job]),
    _row("job", "GET /v1/jobs/{id}", None, "One job. Raises ``NotFound``, for one of another space too.",
         gives=Job),
    _row("cancel_job", "POST /v1/jobs/{id}/cancel", None,
         "Cancel a job: at once while it waits, at its next step while it runs. What it has stored stays. Raises "
         "``NotFound``.", gives=Job, logged=True),
    _row("job_file", "GET /v1/jobs/{id}/file", None,
         "The file that a job has made. Raises ``NotFound`` when there is none, or it expired.", gives=None,
         media_type=BYTES),
)  # fmt: skip

_GRANTS = (
    _row("grants", "GET /v1/grants", None, "Who may see this memory, and whose memories this key may see.",
         gives=GrantList),
    _row("grant", "POST /v1/grants", Engine.grant, "Let another space read this memory, or add to it too.",
         takes=("GiveGrant", "To whom to show this memory."), status=201, **_CHANGES,
         notes=lambda given, asked, path: AuditNote([given.to.encoded()], {"write": int(given.write)})),
    _row("revoke_grant", "POST /v1/grants/revoke", Engine.revoke, "End a grant at once.",
         takes=("EndGrant", "Whose grant to end."), gives=DONE, **_CHANGES,
         notes=lambda done, asked, path: AuditNote([Space(*asked.to).encoded()]) if done else None),
)  # fmt: skip

_OPERATOR: dict[str, Any] = {"scope": ADMIN, "logged": True}
_KEYS = (
    _row("keys", "GET /v1/keys", None, "One page of all keys, or of those of one space, by id.", takes=codec.ListKeys,
         gives=Page[codec.Key], scope=ADMIN),
    _row("create_key", "POST /v1/keys", None,
         "Make a key for any space but memwell's own. Its token is shown this once.", takes=codec.CreateKey,
         gives=codec.NewKey, status=201, **_OPERATOR),
    _row("rotate_key", "POST /v1/keys/{id}/rotate", None,
         "Rotate the secret of a key, also of the caller's. Raises ``NotFound``.", takes=codec.RotateKey,
         gives=codec.NewKey, **_OPERATOR),
    _row("revoke_key", "POST /v1/keys/{id}/revoke", None,
         "Revoke a key at once and for good, also the caller's. Raises ``NotFound``.", gives=codec.Key,
         **_OPERATOR),
)  # fmt: skip

_LOG = (
    _row("log", "GET /v1/log", None, "One page of the audit log, newest first.", takes=codec.ListLog,
         gives=Page[codec.LogEntry], scope=ADMIN),
    _row("verify_log", "GET /v1/log/verify", None, "Whether the log is unchanged. It reads all of it.",
         gives=codec.Verified, scope=ADMIN),
)  # fmt: skip

_HEALTH = (
    _row("sign_in", "POST /v1/sign-in", None,
         "Exchange the code of a link that ``memwell serve`` printed for its key, once. Raises ``AccessDenied``.",
         takes=codec.SignIn, gives=codec.SignedIn, scope=ANYONE, kind="other"),
    _row("live", "GET /health/live", None, "The process answers.", gives=codec.Health, scope=ANYONE, kind="other"),
    _row("ready", "GET /health/ready", None,
         "The service can do its work. Raises ``Busy`` while it stops, and within a second what the store raises.",
         gives=codec.Health, scope=ANYONE, kind="other"),
)  # fmt: skip

_TAGS: dict[str, Iterable[Operation]] = {
    "conversations": _CONVERSATIONS,
    "memories": _MEMORIES,
    "prompts": _PROMPTS,
    "facts": _FACTS,
    "documents": _DOCUMENTS,
    "media": _MEDIA,
    "service": _SERVICE,
    "jobs": _JOBS,
    "grants": _GRANTS,
    "keys": _KEYS,
    "log": _LOG,
    "health": _HEALTH,
}
OPERATIONS = {row.name: replace(row, tag=tag) for tag, rows in _TAGS.items() for row in rows}
"""Every operation by its name."""
