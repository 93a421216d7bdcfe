"""``Memory`` and ``AsyncMemory``: the calls of mem0, its arguments and its results, over spaces of a memwell store.

A user, an agent or a run is a space below the memory's own: that of the first of ``user_id``, ``agent_id`` and ``run_id``
that is given. The others are in the metadata, and an index in the store says which spaces hold something of them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, date, datetime
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast
from uuid import uuid4

import msgspec

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput, NotFound
from memwell.filters import id_begins_with
from memwell.longterm.gate import fingerprint
from memwell.longterm.recall import Recalled
from memwell.records import DEFAULT_SPACE, Space, SpaceLike, as_space, paged
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_engine
from memwell.storage.registry import Store, shared_backend
from memwell.transcript.openai import from_openai
from memwell.values import shown

P = ParamSpec("P")
T = TypeVar("T")

_IDS = ("user_id", "agent_id", "run_id")
_PROMOTED = (*_IDS, "actor_id", "role", "attributed_to", "expiration_date")
_CORE = frozenset({"data", "hash", "created_at", "updated_at", "id", "text_lemmatized", *_PROMOTED})
_IDENTITY = frozenset({*_IDS, "actor_id"})
_OPERATORS = {"eq": "$eq", "ne": "$ne", "gt": "$gt", "gte": "$ge", "lt": "$lt", "lte": "$le", "contains": "$contains"}
_PROCEDURAL = "procedural_memory"
_NEAR = 5
_PAGE = 100
_DEFAULT: Any = object()


class Memory:
    """The memories of users, agents and runs, in one store.

    ``config`` is taken and has no effect; ``url`` is a path, a URL or an open backend, ``space`` the space below which
    everything is. ``chat`` is any chat model of memwell's, None for none; ``embedder`` any embedder, by default the one
    that runs on this machine. What breaks a rule raises ``InvalidInput``, a ``ValueError``.
    """

    def __init__(
        self,
        config: Any = None,
        *,
        url: Store = "memwell.db",
        space: SpaceLike = DEFAULT_SPACE,
        chat: Any = None,
        embedder: Any = "local",
    ) -> None:
        if isinstance(config, str | Path):
            raise InvalidInput(f"the first argument is mem0's configuration; name a store with url={str(config)!r}")
        self.config = config
        self.space = as_space(space)
        self.engine = open_engine(
            shared_backend(url), space=self.space / "mem0", chat=chat, embedder=embedder, work=False
        )

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """A memory with the arguments under the key ``memwell`` of a configuration; the other keys have no effect."""
        return cls(config_dict, **config_dict.get("memwell", {}))

    def at(self, *, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> Engine:
        """The memory of a user, an agent or a run as memwell sees it. Raises ``InvalidInput`` without any of them."""
        return self.engine.at(self._home(_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})))

    def add(
        self,
        messages: str | Mapping[str, Any] | list[dict[str, Any]],
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Remember what messages say: a memory a message, with what was extracted from it.

        With ``infer`` a text that is known already is left out. ``prompt`` has no effect. A text that memwell's gate
        refuses, such as a blank one, is not in the result. Raises ``InvalidInput`` without an id, for messages of another
        type and for a ``timestamp``, which mem0's own server alone takes.
        """
        if timestamp is not None:
            raise InvalidInput("timestamp is of mem0's platform; metadata={'created_at': '2026-05-01'} sets a time")
        if memory_type not in (None, _PROCEDURAL):
            raise InvalidInput(f"memory_type must be {_PROCEDURAL!r} or None, not {shown(memory_type)}")
        ids = _ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        engine = self.engine.at(self._home(ids))
        _check_mapping(metadata, "metadata")
        about = {key: value for key, value in (metadata or {}).items() if key not in _IDENTITY} | ids
        if (day := _day(expiration_date)) is not None:
            about["expiration_date"] = day
        said = _messages(messages)
        if memory_type == _PROCEDURAL and agent_id is not None:
            lines = "\n".join(f"{one['role']}: {one['content']}" for one in said)
            said, about, infer = [{"content": lines}], about | {"memory_type": _PROCEDURAL}, False
        results = [self._added(engine, one, about, infer) for one in said]
        self._index(engine.space, ids)
        engine.flush()
        return {"results": [one for one in results if one is not None]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **others: Any,
    ) -> dict[str, Any]:
        """The memories that answer a query best, best first.

        ``score`` is the cosine of the query and the memory, or the probability that it helps, whichever is higher;
        ``threshold`` is the least of it. With ``explain`` each has ``score_details``, the shares of its signals. ``rerank``
        has no effect. Raises ``InvalidInput`` for a blank query, filters without an id, and ids outside of the filters.
        """
        if reference_date is not None:
            raise InvalidInput("reference_date is of mem0's platform; leave it out")
        _check(top_k, others, threshold)
        if not isinstance(query, str) or not query.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a query must be a text that is not blank, not {shown(query)}")
        where = _where(filters, show_expired)
        homes = self._homes(_ids(filters or {}))
        found: list[dict[str, Any]] = []
        for engine in [self.engine.at(home) for home in homes if top_k]:
            hits = engine.recall(query.strip(), limit=top_k, where=where)
            cosines = engine.similarities(query.strip(), [hit.id for hit in hits])
            for hit in hits:
                score = min(max(cosines.get(hit.id, 0.0), hit.relevance), 1.0)
                if score >= (threshold or 0.0):
                    more = {"score_details": {name: one.share for name, one in hit.signals.items()}} if explain else {}
                    found.append({**self._item(engine, hit), "score": score, **more})
        if len(homes) > 1:
            found.sort(key=lambda one: -one["score"])
        return {"results": found[:top_k]}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """One memory; None when there is none."""
        engine = self._holding(memory_id)
        try:
            return None if engine is None else self._item(engine, engine.get(memory_id))
        except NotFound:
            return None

    def get_all(
        self, *, filters: Mapping[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **others: Any
    ) -> dict[str, Any]:
        """The memories that satisfy the filters, oldest first. Raises ``InvalidInput`` for filters without an id."""
        _check(top_k, others)
        where = _where(filters, show_expired)
        engines = [self.engine.at(home) for home in self._homes(_ids(filters or {}))]
        found = [(engine, one) for engine in engines if top_k for one in engine.memories(where=where, limit=top_k)]
        found.sort(key=lambda one: one[1].time)
        return {"results": [self._item(*one) for one in found[:top_k]]}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _DEFAULT,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text of a memory, or add to its metadata; ``expiration_date=None`` takes that away.

        Its ids cannot be changed. Raises ``InvalidInput`` for an unknown memory, and when nothing is to be changed.
        """
        text = data if text is None else text
        _check_mapping(metadata, "metadata")
        if text is None and metadata is None and expiration_date is _DEFAULT:
            raise InvalidInput("update needs a text, metadata or an expiration_date")
        engine, known = self._known(memory_id)
        added = {key: value for key, value in (metadata or {}).items() if key not in _IDENTITY}
        about = known.metadata | added
        if expiration_date is not _DEFAULT:
            about["expiration_date"] = _day(expiration_date)
        about = {key: value for key, value in about.items() if key != "expiration_date" or value is not None}
        engine.update(memory_id, text, metadata=about)
        engine.flush()
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory: it is found no more, and erased when memwell's retention is over. Raises ``InvalidInput``."""
        engine, known = self._known(memory_id)
        engine.forget(known.id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Forget every memory with these ids, as ``delete`` does. Raises ``InvalidInput`` without an id."""
        ids = _ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        for home in self._homes(ids):
            engine = self.engine.at(home)
            held = [one.id for one in engine.memories(where=ids)]
            if held:
                engine.forget(held)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What happened to a memory, oldest first: added, updated, deleted. Empty for one that is not known."""
        engine = self._holding(memory_id)
        if engine is None:
            return []
        try:
            versions = engine.history(memory_id)
        except NotFound:
            return []
        current = self.get(memory_id)
        texts = [one.record.text for one in versions] + ([] if current is None else [current["memory"]])
        first, begun = (versions[0].record if versions else engine.get(memory_id)), None
        created, rows = first.time.isoformat(), list[dict[str, Any]]()
        about: dict[str, Any] = first.metadata
        for at, text in enumerate([*texts, *([None] if current is None else [])]):
            event = "ADD" if at == 0 else "UPDATE" if text is not None else "DELETE"
            changed = created if at == 0 else versions[at - 1].until.isoformat()
            row = {"id": f"{memory_id}:{at}", "memory_id": memory_id, "old_memory": begun, "new_memory": text}
            row |= {"event": event, "created_at": created, "updated_at": changed, "is_deleted": text is None}
            rows.append(row | {"actor_id": about.get("actor_id"), "role": about.get("role")})
            begun = text
        return rows

    def reset(self) -> None:
        """Erase all memories of all users, agents and runs, for good."""
        for home in self._below():
            self.engine.at(home).erase_all()
        kv = self.engine.backend.kv
        with self.engine.backend.together():
            while entries := kv.scan(self.engine.space, limit=_PAGE).items:
                for entry in entries:
                    kv.delete(self.engine.space, entry.key)

    def close(self) -> None:
        """Nothing: what names the same store in one process shares it until the process ends."""

    def chat(self, query: str) -> None:
        """Raises ``NotImplementedError``, as mem0's does."""
        raise NotImplementedError("chat is not implemented; context() of memwell makes a prompt")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Which space

    def _home(self, ids: Mapping[str, str]) -> Space:
        key = next(key for key in _IDS if key in ids)
        return self.engine.space / key.removesuffix("_id") / ids[key]

    def _index(self, home: Space, ids: Mapping[str, str]) -> None:
        values = {_key(key, value, *home[-2:]): list(home) for key, value in ids.items()}
        self.engine.backend.kv.put_many(self.engine.space, values)

    def _homes(self, ids: Mapping[str, str]) -> list[Space]:
        """The spaces that can hold memories with these ids: one for a user, several for an agent or a run."""
        if "user_id" in ids:
            return [self._home(ids)]
        key = next(iter(ids))
        where = id_begins_with(_key(key, ids[key])[:-1] + ",")
        scan = partial(self.engine.backend.kv.scan, self.engine.space, where=where, limit=_PAGE)
        return [Space(*cast("list[str]", one.value)) for one in paged(lambda cursor: scan(cursor=cursor))]

    def _below(self) -> list[Space]:
        depth = len(self.engine.space)
        spaces = paged(lambda cursor: self.engine.backend.spaces(cursor=cursor))
        return [one for one in spaces if len(one) == depth + 2 and one[:depth] == self.engine.space]

    def _holding(self, memory_id: str) -> Engine | None:
        entry = self.engine.backend.kv.get(self.engine.space, _key("memory", str(memory_id)))
        return None if entry is None else self.engine.at(Space(*cast("list[str]", entry.value)))

    def _known(self, memory_id: str) -> tuple[Engine, Recalled]:
        engine = self._holding(memory_id)
        try:
            if engine is not None:
                return engine, engine.get(memory_id)
        except NotFound:
            pass
        raise InvalidInput(f"there is no memory {shown(memory_id)}; give an id that add, search or get_all returned")

    # What goes in and comes out

    def _added(
        self, engine: Engine, said: Mapping[str, Any], about: Mapping[str, Any], infer: bool
    ) -> dict[str, Any] | None:
        text, role, actor = said["content"], said.get("role"), said.get("name")
        if infer and any(fingerprint(hit.text) == fingerprint(text) for hit in engine.recall(text, limit=_NEAR)):
            return None
        own = {key: value for key, value in about.items() if key not in _CORE or key in _PROMOTED}
        own |= {key: value for key, value in (("role", role), ("actor_id", actor)) if value and not infer}
        id_ = str(uuid4())
        with engine.backend.together():
            trust = "model" if role == "assistant" else None
            kept = engine.remember(
                text, id=id_, time=_moment(about.get("created_at")), metadata=own, trust=trust, speaker=actor
            )
            if not kept.ids:
                return None
            self.engine.backend.kv.put(self.engine.space, _key("memory", id_), list(engine.space))
        result = {"id": id_, "memory": engine.get(id_).text, "event": "ADD"}
        return result if infer or role is None else {**result, "actor_id": actor, "role": role}

    def _item(self, engine: Engine, found: Recalled) -> dict[str, Any]:
        created = found.time.isoformat()
        changed = engine.history(found.id)[-1].until.isoformat() if found.version > 1 else created
        item: dict[str, Any] = {"id": found.id, "memory": found.text}
        item["hash"] = md5(found.text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()
        item |= {"metadata": None, "created_at": created, "updated_at": changed}
        item |= {key: found.metadata[key] for key in _PROMOTED if key in found.metadata}
        item["metadata"] = {key: value for key, value in found.metadata.items() if key not in _CORE} or None
        return item


def _key(*parts: str) -> str:
    return msgspec.json.encode(parts).decode()


def _ids(given: Mapping[str, Any]) -> dict[str, str]:
    found = {key: str(given[key]).strip() for key in _IDS if given.get(key) is not None}
    for key, value in found.items():
        if not value or any(map(str.isspace, value)):
            raise InvalidInput(f"{key} must be a name without white space, not {shown(given[key])}")
    if not found:
        raise InvalidInput("name at least one of user_id, agent_id and run_id; search and get_all take it in filters")
    return found


def _check_mapping(given: object, name: str) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a dictionary, not {shown(given)}")


def _check(top_k: object, others: Mapping[str, Any], threshold: object = None) -> None:
    if "limit" in others:
        raise InvalidInput("unknown argument limit; top_k says how many")
    if others:
        raise InvalidInput(
            f"unknown arguments {', '.join(others)}; ids belong into filters, such as filters={{'user_id': 'ann'}}"
        )
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
        raise InvalidInput(f"top_k must be a whole number from 0, not {shown(top_k)}")
    if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        raise InvalidInput(f"threshold must be a number from 0 to 1, not {shown(threshold)}")


def _day(value: object) -> str | None:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"expiration_date must be a day such as '2026-05-01', not {shown(value)}") from error
    if day is not None and not isinstance(day, date):
        raise InvalidInput(f"expiration_date must be a day such as '2026-05-01', not {shown(value)}")
    return None if day is None else day.isoformat()[:10]


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else cast(datetime, value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, AttributeError) as error:
        raise InvalidInput(f"created_at must be a time in ISO 8601, not {shown(value)}") from error


def _messages(given: Any) -> list[dict[str, Any]]:
    """What was said, each with ``role``, ``content`` and maybe ``name``; instructions and what has no text are left out."""
    if isinstance(given, str):
        given = {"role": "user", "content": given}
    items = cast("list[Any]", [given] if isinstance(given, Mapping) else given)
    if type(items) is not list:
        raise InvalidInput(f"messages must be a text, a message or a list of messages, not {shown(items)}")
    found: list[dict[str, Any]] = []
    for one in items:
        message = cast("Mapping[str, Any]", one if isinstance(one, Mapping) else {})
        if "role" not in message:
            raise InvalidInput(f"a message has a role and content, unlike {shown(cast('object', one))}")
        if message.get("content") is None or message["role"] in ("system", "developer"):
            continue
        [said] = from_openai([dict(message)])
        if said.text.strip():
            found.append({"role": message["role"], "content": said.text, "name": message.get("name")})
    return found


# Filters


def _where(filters: Mapping[str, Any] | None, show_expired: bool) -> dict[str, Any]:
    _check_mapping(filters, "filters")
    ids = _ids(filters or {})
    given = [ids, *(_condition(key, value) for key, value in (filters or {}).items() if key not in _IDS)]
    if not show_expired:
        given.append({"$not": {"expiration_date": {"$lt": datetime.now(UTC).date().isoformat()}}})
    return {"$and": given}


def _condition(key: str, value: Any) -> dict[str, Any]:
    if key in ("AND", "OR", "NOT"):
        if not isinstance(value, list) or not value:
            raise InvalidInput(
                f"{key} takes a list of conditions that is not empty, not {type(cast(object, value)).__name__}"
            )
        parts = [{"$and": [_condition(*pair) for pair in one.items()]} for one in cast("list[dict[str, Any]]", value)]
        return {"$not": {"$or": parts}} if key == "NOT" else {f"${key.lower()}": parts}
    if not isinstance(value, dict):
        return {key: {"$exists": True}} if value == "*" else {key: value}
    compared: list[dict[str, Any]] = []
    for operator, operand in cast("dict[str, Any]", value).items():
        if operator in ("in", "nin"):
            one: dict[str, Any] = {key: {"$in": operand}}
            compared.append(one if operator == "in" else {"$not": one})
        elif operator in _OPERATORS:
            compared.append({key: {_OPERATORS[operator]: operand}})
        else:
            raise InvalidInput(f"unknown operator {shown(operator)}; known: in, nin, {', '.join(_OPERATORS)}")
    return {"$and": compared}


# The same without blocking


def _twin(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    async def call(self: AsyncMemory, /, *args: P.args, **options: P.kwargs) -> T:
        return await run_blocking(partial(method, self.memory, *args, **options))

    call.__name__ = method.__name__
    call.__doc__ = f"As ``Memory.{method.__name__}``.\n\n{method.__doc__ or ''}"
    return call


class AsyncMemory:
    """``Memory`` for programs with an event loop: the same calls, arguments and results, awaited."""

    def __init__(self, config: Any = None, **options: Any) -> None:
        self.memory = Memory(config, **options)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """As ``Memory.from_config``."""
        return cls(config_dict, **config_dict.get("memwell", {}))

    add = _twin(Memory.add)
    search = _twin(Memory.search)
    get = _twin(Memory.get)
    get_all = _twin(Memory.get_all)
    update = _twin(Memory.update)
    delete = _twin(Memory.delete)
    delete_all = _twin(Memory.delete_all)
    history = _twin(Memory.history)
    reset = _twin(Memory.reset)
    chat = _twin(Memory.chat)

    def close(self) -> None:
        """As ``Memory.close``."""
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
