"""Google's Agent Development Kit over memwell: a session service and a memory service.

    from memwell.integrations.google_adk import MemwellMemoryService, MemwellSessionService

    runner = Runner(app_name="app", agent=agent, session_service=MemwellSessionService("app.db"))

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when google-adk is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from time import time as unix_time
from typing import Any, NamedTuple, cast

from memwell._asyncify import run_blocking
from memwell.errors import Conflict, MissingDependency, NotFound
from memwell.filters import id_begins_with
from memwell.integrations.verbatim import Item, VerbatimHistory
from memwell.longterm.recall import Recalled
from memwell.messages import Role
from memwell.records import DEFAULT_SPACE, Space, SpaceLike, as_space, paged
from memwell.runtime.engine import Engine
from memwell.storage.protocols import Entry
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_count, new_id

try:
    from google.adk.errors._stale_session_error import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State
    from google.genai.types import Content, Part
    from pydantic_core import to_jsonable_python
except ModuleNotFoundError as error:

    class _MissingADK(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingADK.of("memwell.integrations.google_adk needs google-adk", "google-adk") from error

__all__ = ["MemwellMemoryService", "MemwellSessionService"]

_KEY = "google_adk"
_SCOPES = {State.APP_PREFIX: 1, State.USER_PREFIX: 2}


class _Place(NamedTuple):
    """Where a session is: an app and a user have a space each, whose keys hold their states."""

    app: Space
    user: Space
    id: str

    @property
    def key(self) -> str:
        return f"session/{self.id}"


class MemwellSessionService(BaseSessionService):
    """Sessions with their events and states, on disk when a call returns; a call stores all or nothing.

    ``url_or_backend`` is a path, a URL or an open backend. An event comes back as from ADK's own JSON. State that is no
    JSON becomes its text. An append to a session that another process has changed meanwhile raises ADK's
    ``StaleSessionError``.
    """

    def __init__(self, url_or_backend: Store = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = shared_backend(url_or_backend)
        self.space = as_space(space) / "adk"
        self._appending = Lock()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Begin a session. Raises ADK's ``AlreadyExistsError`` for an id that the user has."""
        place = self._place(app_name, user_id, (session_id or "").strip() or new_id())
        now = unix_time()

        def create() -> Session:
            with self.backend.together():
                own = self._put_state(place, state or {})
                try:
                    self.backend.kv.put(place.user, place.key, {"state": own, "updated": now}, expect=0)
                except Conflict:
                    raise AlreadyExistsError(f"Session with id {place.id} already exists.") from None
                self.backend.kv.put(place.app, f"user/{user_id}", {})
                return self._session(place, own, now)

        return await run_blocking(create)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """A session with its events, or those that ``config`` asks for; None where there is none."""
        place = self._place(app_name, user_id, session_id.strip())
        most, after = (config.num_recent_events, config.after_timestamp) if config else (None, None)

        def read() -> Session | None:
            entry = self.backend.kv.get(place.user, place.key)
            if entry is None:
                return None
            held = self._history(place).items(None if after else most)
            events = [one for one in map(Event.model_validate, held) if not after or one.timestamp >= after]
            return self._session(place, *_parts(entry), events[len(events) - most :] if most else events)

        return await run_blocking(read)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """The sessions of a user or of all, the one that changed last at the end, without their events."""

        def read() -> ListSessionsResponse:
            app = self.space / app_name
            users = (
                [user_id]
                if user_id is not None
                else [one.key.removeprefix("user/") for one in self._keys(app, "user/")]
            )
            found = [
                self._session(_Place(app, app / user, one.key.removeprefix("session/")), *_parts(one))
                for user in users
                for one in self._keys(app / user, "session/")
            ]
            return ListSessionsResponse(sessions=sorted(found, key=lambda one: one.last_update_time))

        return await run_blocking(read)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its events; the states of the app and the user stay."""
        place = self._place(app_name, user_id, session_id.strip())

        def delete() -> None:
            with self.backend.together():
                self.backend.kv.delete(place.user, place.key)
                self._history(place).clear()

        await run_blocking(delete)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """The state of a user, its keys without ``user:``."""
        return await run_blocking(lambda: self._state(self.space / app_name / user_id))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event and carry out its changes of state. One that is partial is returned as it is.

        Raises ADK's ``SessionNotFoundError``, and its ``StaleSessionError`` when the stored session is newer.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        await run_blocking(lambda: self._append(session, event))
        return self._commit_event_to_session(session, event)

    def _append(self, session: Session, event: Event) -> None:
        place = self._place(session.app_name, session.user_id, session.id)
        stale = StaleSessionError(f"Session {session.id} has changed since it was read; get it again.")
        # Of two events at once the second sees what the first one set.
        with self._appending, self.backend.together():
            entry = self.backend.kv.get(place.user, place.key)
            if entry is None:
                raise SessionNotFoundError(f"Session {session.id} not found.")
            state, updated = _parts(entry)
            if updated > session.last_update_time:
                raise stale
            state |= self._put_state(place, event.actions.state_delta)
            try:
                value = {"state": state, "updated": event.timestamp}
                self.backend.kv.put(place.user, place.key, value, expect=entry.version)
            except Conflict:
                raise stale from None
            item = Item(_role(event), _text(event.content), event.model_dump(mode="json", exclude_none=True))
            self._history(place).add([item])
            session.last_update_time = event.timestamp

    def _place(self, app: str, user: str, session: str) -> _Place:
        return _Place(self.space / app, self.space / app / user, session)

    def _history(self, place: _Place) -> VerbatimHistory:
        return VerbatimHistory(self.backend, place.id, place.user, _KEY)

    def _put_state(self, place: _Place, state: Mapping[str, Any]) -> dict[str, Any]:
        """Store what belongs to the app and the user; the rest is the session's own."""
        plain: dict[str, Any] = to_jsonable_python(dict(state), fallback=str)
        for key, value in plain.items():
            prefix, _, name = key.partition(":")
            if scope := _SCOPES.get(f"{prefix}:"):
                self.backend.kv.put(place[scope - 1], f"state/{name}", {"value": value})
        return {key: one for key, one in plain.items() if not key.startswith((*_SCOPES, State.TEMP_PREFIX))}

    def _keys(self, space: Space, prefix: str) -> list[Entry]:
        scan = self.backend.kv.scan
        return list(paged(lambda cursor: scan(space, where=id_begins_with(prefix), limit=500, cursor=cursor)))

    def _state(self, space: Space) -> dict[str, Any]:
        entries = self._keys(space, "state/")
        return {one.key.removeprefix("state/"): cast("dict[str, Any]", one.value)["value"] for one in entries}

    def _session(self, place: _Place, own: dict[str, Any], updated: float, events: Sequence[Event] = ()) -> Session:
        state = dict(own)
        for prefix, scope in _SCOPES.items():
            state |= {f"{prefix}{name}": value for name, value in self._state(cast("Space", place[scope - 1])).items()}
        app, user = place.app[-1], place.user[-1]
        return Session(
            id=place.id, app_name=app, user_id=user, state=state, events=list(events), last_update_time=updated
        )


class MemwellMemoryService(BaseMemoryService):
    """Memories for ADK's agents; every user of every app has a space below that of ``memory``, which ``memwell.open`` gave.

    An event is remembered once, however often its session is added; what a user said has the trust ``user``, all else
    ``model``. ``limit`` memories at most are found.
    """

    def __init__(self, memory: Engine, *, limit: int = 5) -> None:
        self.memory = memory
        self.limit = check_count(limit, "limit")

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember the texts of a session's events."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember the texts of events, with metadata that is plain JSON."""
        own = self._of(app_name, user_id)

        def remember() -> None:
            for event in events:
                if text := _text(event.content):
                    is_user = event.author == "user"
                    # What is there already, also changed or forgotten, stays as it is.
                    with suppress(Conflict):
                        own.remember(
                            text,
                            id=f"adk:{session_id or ''}:{event.id}" if event.id else None,
                            session=session_id,
                            speaker=user_id if is_user else event.author,
                            time=datetime.fromtimestamp(event.timestamp, UTC),
                            trust="user" if is_user else "model",
                            metadata={**(custom_metadata or {}), _KEY: {"author": event.author}},
                        )

        await run_blocking(remember)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember entries; one with the id of another memory raises ``Conflict``."""
        own = self._of(app_name, user_id)

        def remember() -> None:
            for one in memories:
                if text := _text(one.content):
                    metadata = {**one.custom_metadata, **(custom_metadata or {}), _KEY: {"author": one.author}}
                    time = None if one.timestamp is None else datetime.fromisoformat(one.timestamp).astimezone(UTC)
                    own.remember(text, id=one.id, speaker=one.author, time=time, metadata=metadata)

        await run_blocking(remember)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """What answers a query, best first; a blank one finds nothing."""
        if not query.strip():
            return SearchMemoryResponse()
        hits = await self._of(app_name, user_id).arecall(query, limit=self.limit)
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory: it is found no more, and erased when memwell's retention is over."""
        with suppress(NotFound):
            await self._of(app_name, user_id).aforget(memory_id or ())

    def _of(self, app_name: str, user_id: str) -> Engine:
        return self.memory.at(self.memory.space / app_name / user_id)


def _parts(entry: Entry) -> tuple[dict[str, Any], float]:
    held = cast("dict[str, Any]", entry.value)
    return held["state"], held["updated"]


def _role(event: Event) -> Role:
    if event.get_function_responses():
        return Role.TOOL
    return Role.HUMAN if event.author == "user" else Role.AI


def _text(content: Content | None) -> str:
    """The words of a content, without the thoughts of a model."""
    parts = (content.parts if content else None) or ()
    return "\n".join(part.text for part in parts if part.text and part.text.strip() and not part.thought)


def _entry(hit: Recalled) -> MemoryEntry:
    author = (hit.metadata.get(_KEY) or {}).get("author") or hit.speaker or None
    return MemoryEntry(
        id=hit.id,
        content=Content(role="user" if author == "user" else "model", parts=[Part(text=hit.text)]),
        author=author,
        timestamp=hit.time.isoformat(),
        custom_metadata={key: value for key, value in hit.metadata.items() if key != _KEY},
    )
