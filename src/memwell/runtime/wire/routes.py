"""All that the service can be asked, in one table: the server, the client, the description and the tests go by it."""

from __future__ import annotations

from typing import Any

import msgspec

from memwell.knowledge.answers import Answer as DocumentAnswer
from memwell.knowledge.documents import Document
from memwell.knowledge.handle import Counts
from memwell.longterm.changing import Forgotten
from memwell.longterm.consolidation import Compression
from memwell.longterm.erasing import Erased
from memwell.longterm.facts import Fact
from memwell.longterm.journal import Owed
from memwell.longterm.media.items import MediaItem
from memwell.longterm.profiles import Profile
from memwell.longterm.recall import Recalled
from memwell.longterm.remembering import Remembered
from memwell.messages import Message
from memwell.records import Page
from memwell.runtime.context.choosing import Receipt
from memwell.runtime.grants import Grant
from memwell.runtime.wire import documents, memories, running, threads
from memwell.runtime.wire.figures import Figures
from memwell.storage.protocols import ThreadInfo

READ, WRITE, ERASE, ADMIN = "read", "write", "erase", "admin"
ANY_KEY, ANYONE = "any", ""
"""For whoever has a key, whatever it may do; and for everybody."""

JSON, BYTES, EVENTS, TEXT = "application/json", "application/octet-stream", "text/event-stream", "text/plain"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the service can be asked.

    ``takes`` is the body of a POST, PUT or PATCH, and the query of a GET, a DELETE, and of an ``upload``, whose body is a
    file. ``kind`` is what the figures count it as; ``logged`` whether the audit log tells of it; ``media_type`` is that of
    the answer.
    ``atomic`` is whether it is quick and changes the store alone, so that it can be one transaction with its own receipt.
    """

    name: str
    method: str
    path: str
    scope: str
    tag: str
    takes: Any = None
    gives: Any = None
    status: int = 200
    upload: bool = False
    media_type: str = JSON
    kind: str = "read"
    logged: bool = False
    atomic: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The segments of the path; one in braces stands for any text."""
        return tuple(self.path.strip("/").split("/"))

    @property
    def takes_query(self) -> bool:
        """Whether what it takes stands in the address."""
        return self.upload or self.method in ("GET", "DELETE")


def _get(name: str, path: str, tag: str, gives: Any, takes: Any = None, **more: Any) -> Route:
    chosen: dict[str, Any] = {"scope": READ, **more}
    return Route(name=name, method="GET", path=path, tag=tag, gives=gives, takes=takes, **chosen)


def _post(name: str, path: str, tag: str, gives: Any, takes: Any = None, **more: Any) -> Route:
    chosen: dict[str, Any] = {"method": "POST", "scope": WRITE, "kind": "write", **more}
    return Route(name=name, path=path, tag=tag, gives=gives, takes=takes, **chosen)


def _question(name: str, path: str, tag: str, gives: Any, takes: Any, **more: Any) -> Route:
    """A question too long for an address. It changes nothing."""
    return _post(name, path, tag, gives, takes, **{"scope": READ, "kind": "read", **more})


def _job(name: str, path: str, tag: str, takes: Any = None, **more: Any) -> Route:
    """Work that takes a while: answered at once with a job, which tells how far it is."""
    return _post(name, path, tag, running.Job, takes, status=202, **more)


_THREAD = "/v1/threads/{thread}"
_PLACE = _THREAD + "/places/{index}"
_THREADS = (
    _get("threads", "/v1/threads", "conversations", Page[ThreadInfo], threads.ListThreads),
    _get("thread", _THREAD, "conversations", ThreadInfo),
    _get("messages", _THREAD + "/messages", "conversations", Page[Message], threads.ListMessages),
    _post(
        "add_messages",
        _THREAD + "/messages",
        "conversations",
        threads.Added,
        threads.AddMessages,
        status=201,
        atomic=True,
    ),
    _get("message", _THREAD + "/messages/{message}", "conversations", Message),
    _get("message_at", _PLACE, "conversations", Message),
    _post(
        "edit_message", _PLACE, "conversations", Message, threads.EditMessage, method="PUT", logged=True, atomic=True
    ),
    _post("remove_message", _PLACE, "conversations", running.Done, method="DELETE", logged=True, atomic=True),
    _post("restore_message", _PLACE + "/restore", "conversations", Message, logged=True, atomic=True),
    _get("message_versions", _PLACE + "/versions", "conversations", threads.MessageVersions),
    _question(
        "search_thread",
        _THREAD + "/search",
        "conversations",
        threads.FoundMessages,
        threads.SearchThread,
        kind="recall",
    ),
    _question("window", _THREAD + "/window", "conversations", threads.Messages, threads.Window),
    _get("rounds", _THREAD + "/rounds", "conversations", threads.Rounds, threads.ListRounds),
    _post(
        "annotate_thread",
        _THREAD,
        "conversations",
        ThreadInfo,
        threads.AnnotateThread,
        method="PATCH",
        logged=True,
        atomic=True,
    ),
    _post(
        "trim_thread",
        _THREAD + "/trim",
        "conversations",
        threads.Counted,
        threads.TrimThread,
        scope=ERASE,
        logged=True,
    ),
    _post("delete_thread", _THREAD, "conversations", running.Done, method="DELETE", scope=ERASE, logged=True),
    _post("remember_thread", _THREAD + "/remember", "conversations", threads.Counted, atomic=True),
)

_MEMORY = "/v1/memories/{id}"
_MEMORIES = (
    _post("remember", "/v1/memories", "memories", Remembered, memories.Remember, status=201, atomic=True),
    _get("memories", "/v1/memories", "memories", Page[Recalled], memories.ListMemories),
    _get("memory", _MEMORY, "memories", Recalled, memories.OwnerOnly),
    _post("update", _MEMORY, "memories", Recalled, memories.UpdateMemory, method="PATCH", logged=True, atomic=True),
    _post("forget_one", _MEMORY, "memories", memories.Ids, method="DELETE", logged=True, atomic=True),
    _post("undo", _MEMORY + "/undo", "memories", Recalled, logged=True, atomic=True),
    _post("pin", _MEMORY + "/pin", "memories", Recalled, memories.Pin, atomic=True),
    _post("feedback", _MEMORY + "/feedback", "memories", Recalled, memories.Feedback, atomic=True),
    _get("versions", _MEMORY + "/versions", "memories", memories.Versions),
    _get("worth", _MEMORY + "/worth", "memories", memories.Worth),
    _get("count", "/v1/count", "memories", threads.Counted, memories.OwnerOnly),
    _question("recall", "/v1/recall", "memories", memories.Recollection, memories.Recall, kind="recall"),
    _question("similarities", "/v1/similarities", "memories", memories.Nearness, memories.Similarities, kind="recall"),
    _post("forget", "/v1/forget", "memories", memories.Ids, memories.Forget, logged=True, atomic=True),
    _post("forget_by", "/v1/forget-by", "memories", Forgotten, memories.ForgetBy, logged=True),
    _post("erase", "/v1/erase", "memories", Erased, memories.Erase, scope=ERASE, logged=True),
    _post("compress", "/v1/compress", "memories", Compression, memories.Compress, logged=True),
    _post("merge", "/v1/merge", "memories", Recalled, memories.MergeMemories, logged=True, atomic=True),
    _post("reflect", "/v1/reflect", "memories", memories.Memories, memories.Reflect, logged=True),
    _get("owed", "/v1/owed", "memories", Owed),
    _get("failures", "/v1/failures", "memories", memories.Ids),
    _job("settle", "/v1/settle", "memories"),
    _job("audit", "/v1/audit", "memories", scope=READ, kind="read"),
    _post("mend", "/v1/mend", "memories", running.Done, memories.Mend, logged=True),
)

_KNOWN = (
    # It leaves a receipt, but changes nothing of what is known.
    _question("context", "/v1/context", "prompts", memories.Prompt, memories.AskContext, kind="recall"),
    _get("receipts", "/v1/receipts", "prompts", memories.ReceiptList, memories.ListReceipts),
    _get("receipt", "/v1/receipts/{id}", "prompts", Receipt),
    _get("facts_about", "/v1/facts", "facts", memories.FactList, memories.FactsAbout),
    _get("all_facts", "/v1/facts/all", "facts", Page[Fact], memories.ListFacts),
    _get("facts_history", "/v1/facts/history", "facts", memories.FactList, memories.FactsHistory),
    _get("conflicts", "/v1/facts/conflicts", "facts", memories.Clashes, memories.Conflicts),
    _get("graph", "/v1/graph", "facts", memories.Graph, memories.WalkGraph),
    _get("profiles", "/v1/profiles", "facts", memories.Subjects),
    _get("profile", "/v1/profiles/{subject}", "facts", Profile, memories.ProfileOf),
)

_DOCUMENT = "/v1/documents/{id}"
_DOCUMENTS = (
    _get("documents", "/v1/documents", "documents", documents.Documents, documents.ListDocuments),
    _post("add_document", "/v1/documents", "documents", Document, documents.AddDocument, status=201, logged=True),
    _job("upload_document", "/v1/documents/upload", "documents", documents.UploadDocument, upload=True, logged=True),
    _job("fetch_document", "/v1/documents/fetch", "documents", documents.FetchDocument, logged=True),
    _get("document_count", "/v1/documents/count", "documents", Counts),
    _get("document", _DOCUMENT, "documents", Document),
    _get("document_text", _DOCUMENT + "/text", "documents", documents.DocumentText),
    _post("remove_document", _DOCUMENT, "documents", running.Done, method="DELETE", scope=ERASE, logged=True),
    _question("look_up", "/v1/documents/recall", "documents", documents.Passages, documents.LookUp, kind="recall"),
    _question("ask", "/v1/ask", "documents", DocumentAnswer, documents.Ask, kind="recall"),
)

_MEDIUM = "/v1/media/{id}"
_MEDIA = (
    _post("add_medium", "/v1/media", "media", MediaItem, documents.AddMedium, upload=True, status=201),
    _get("media", "/v1/media", "media", documents.Media, documents.ListMedia),
    _question("recall_media", "/v1/media/recall", "media", documents.Media, documents.RecallMedia, kind="recall"),
    _question("like_media", "/v1/media/like", "media", documents.Media, documents.LikeMedia, kind="recall"),
    _post("erase_media", "/v1/media/erase", "media", Erased, documents.EraseMedia, scope=ERASE, logged=True),
    _get("medium", _MEDIUM, "media", MediaItem),
    _get("medium_data", _MEDIUM + "/data", "media", None, media_type=BYTES),
    _get("medium_thumbnail", _MEDIUM + "/thumbnail", "media", None, media_type=BYTES),
)

_RUNNING = (
    _get("me", "/v1/me", "service", running.Me, scope=ANY_KEY),
    _get("figures", "/v1/figures", "service", Figures, running.AskFigures),
    _get("metrics", "/metrics", "service", None, scope=ADMIN, media_type=TEXT),
    _job("export", "/v1/exports", "jobs", running.Export, scope=READ, kind="read", logged=True),
    _job("import", "/v1/imports", "jobs", running.Import, upload=True, logged=True),
    _get("jobs", "/v1/jobs", "jobs", running.Jobs),
    _get("job", "/v1/jobs/{id}", "jobs", running.Job),
    _post("cancel_job", "/v1/jobs/{id}", "jobs", running.Job, method="DELETE", logged=True),
    _get("job_events", "/v1/jobs/{id}/events", "jobs", running.Job, media_type=EVENTS),
    _get("job_file", "/v1/jobs/{id}/file", "jobs", None, media_type=BYTES),
    _get("grants", "/v1/grants", "grants", running.GrantList),
    _post("grant", "/v1/grants", "grants", Grant, running.GiveGrant, status=201, logged=True, atomic=True),
    _post("revoke_grant", "/v1/grants/revoke", "grants", running.Done, running.EndGrant, logged=True, atomic=True),
    _get("keys", "/v1/keys", "keys", running.KeyList, running.ListKeys, scope=ADMIN),
    _post("create_key", "/v1/keys", "keys", running.NewKey, running.CreateKey, scope=ADMIN, status=201, logged=True),
    _post("rotate_key", "/v1/keys/{id}/rotate", "keys", running.NewKey, running.RotateKey, scope=ADMIN, logged=True),
    _post("revoke_key", "/v1/keys/{id}", "keys", running.Key, method="DELETE", scope=ADMIN, logged=True),
    _get("log", "/v1/log", "log", Page[running.LogEntry], running.ListLog, scope=ADMIN),
    _get("verify_log", "/v1/log/verify", "log", running.Verified, scope=ADMIN),
    _get("live", "/health/live", "health", running.Health, scope=ANYONE, kind="other"),
    _get("ready", "/health/ready", "health", running.Health, scope=ANYONE, kind="other"),
)

ROUTES = {route.name: route for route in (*_THREADS, *_MEMORIES, *_KNOWN, *_DOCUMENTS, *_MEDIA, *_RUNNING)}
"""Every route by its name."""


__all__ = ["ADMIN", "ANYONE", "ANY_KEY", "BYTES", "ERASE", "EVENTS", "JSON", "READ", "ROUTES", "Route", "TEXT", "WRITE"]
