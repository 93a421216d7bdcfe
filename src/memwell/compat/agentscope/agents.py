"""Agents that exchange ``Msg``, hubs and pipelines that join them, and sessions in which their states are saved."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
import re
import tempfile
import warnings
from collections.abc import AsyncGenerator, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast
from urllib.parse import quote

from memwell._asyncify import Closing, run_blocking
from memwell.compat.agentscope.memories import redis_url
from memwell.compat.agentscope.messages import AudioBlock, ContentBlock, Msg, SeenAsTheirs, check_message, messages_in
from memwell.errors import FileError, InvalidInput, NotFound
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space
from memwell.runtime.agents import Agent, Hub
from memwell.runtime.state import Sessions, StateModule, restore, states_of
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.values import check_id, shown

_SPOKEN = frozenset({"text", "thinking", "image", "audio", "video"})


class AgentBase(SeenAsTheirs, Agent[Msg]):
    """An agent: override ``reply``, ``observe`` and ``handle_interrupt``, and call the agent itself.

    Other agents get copies of its replies without thinking blocks. It prints to the console unless that is turned off.
    """

    _their_module = "agentscope.agent"
    console_output: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        """Take in messages of others without an answer. To be overridden; raises ``NotImplementedError``."""
        await super().observe(msg)

    async def print(self, msg: Msg, last: bool = True, speech: AudioBlock | list[AudioBlock] | None = None) -> None:
        """Put a copy, ``last`` and ``speech`` into the queue, and show the message on the console; each if enabled.

        A message may be printed again while it grows; ``last`` says that it is complete. Sound is not played.
        """
        await self._put_out((copy.deepcopy(msg), last, speech))
        if self._console_output:
            self._show(msg.id, _on_console(msg, last), last)

    def copy_for_others(self, message: Msg) -> Msg:
        """A copy with the same id and no thinking block."""
        twin = message.__deepcopy__({})
        if type(twin.content) is list:
            blocks: list[ContentBlock] = [block for block in twin.content if block["type"] != "thinking"]
            twin.content = blocks
        return twin

    async def _deliver_reply(self, message: Msg | None) -> None:
        # Checked here, the mistake is the caller's; on the hub it would be noted as a failure of every other agent.
        await super()._deliver_reply(None if message is None else check_message(message))


class _Guest(AgentBase):
    """An agent of AgentScope's own on a hub of ours, which hears it as one of its subscribers."""

    def __init__(self, agent: Any) -> None:
        super().__init__()
        self.agent = agent

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        await self.agent.observe(msg)

    def join(self, name: str, audience: Hub[Any]) -> None:
        super().join(name, audience)
        self.agent.reset_subscribers(name, [SimpleNamespace(observe=self._deliver_reply)])

    def part(self, name: str, audience: Hub[Any]) -> None:
        super().part(name, audience)
        self.agent.remove_subscribers(name)


class MsgHub(Hub[Msg]):
    """Agents, ours and AgentScope's own, that hear each other as long as the ``async with`` over the hub lasts.

    As ``memwell.runtime.agents.Hub``: deliveries run together, an agent that raises or takes longer than ``timeout_s`` is
    noted in ``failures``, and a deleted agent neither hears the others nor is heard.
    """

    def __init__(
        self,
        participants: Sequence[AgentBase],
        announcement: list[Msg] | Msg | None = None,
        enable_auto_broadcast: bool = True,
        name: str | None = None,
        *,
        timeout_s: float = 30.0,
    ) -> None:
        """Raises ``InvalidInput`` for a participant that is no agent, or an announcement that is no message."""
        messages_in(announcement)
        self._guests: dict[int, _Guest] = {}
        super().__init__(
            participants, announcement, auto_broadcast=enable_auto_broadcast, name=name or None, timeout_s=timeout_s
        )

    def _checked(self, agents: object) -> list[Agent[Msg]]:
        several = cast("Sequence[Any]", agents) if isinstance(agents, list | tuple) else [agents]
        theirs = {id(one): one for one in several if not isinstance(one, Agent) and hasattr(one, "reset_subscribers")}
        self._guests = {key: _Guest(one) for key, one in theirs.items()} | self._guests
        return super()._checked([self._guests.get(id(one), one) for one in several])

    @property
    def participants(self) -> list[Any]:
        """The agents on the hub, in the order they were added; a copy."""
        return [one.agent if isinstance(one, _Guest) else one for one in super().participants]

    @property
    def enable_auto_broadcast(self) -> bool:
        """Whether the other agents observe an agent's replies."""
        return self.auto_broadcast

    async def broadcast(self, msg: list[Msg] | Msg) -> None:
        """Let all agents observe copies of a message or of several. Raises ``InvalidInput`` for anything else."""
        await super().broadcast(messages_in(msg) if isinstance(msg, list) else check_message(msg))


def _on_console(msg: Msg, last: bool) -> str:
    """The words first, because they grow from one printing to the next; other blocks when the message is complete."""
    blocks: list[dict[str, Any]] = msg.get_content_blocks()
    heads = {"text": f"{msg.name}: ", "thinking": f"{msg.name}(thinking): "}
    lines = [heads[block["type"]] + block[block["type"]] for block in blocks if block["type"] in heads]
    if last:
        others = [block for block in blocks if block["type"] not in _SPOKEN]
        lines += [json.dumps(block, indent=4, ensure_ascii=False, default=str) for block in others]
    return "\n".join(lines)


# Pipelines: agents, ours or AgentScope's own, that answer one after the other or all at once


async def sequential_pipeline(agents: Sequence[Any], msg: Any = None) -> Any:
    """The answer of the last agent; each is given the answer of the one before it, the first ``msg``."""
    for agent in agents:
        msg = await agent(msg)
    return msg


async def fanout_pipeline(
    agents: Sequence[Any], msg: Any = None, enable_gather: bool = True, **kwargs: Any
) -> list[Any]:
    """The answers of all agents, each to a copy of ``msg``: at the same time, or one after the other."""
    calls = (agent(copy.deepcopy(msg), **kwargs) for agent in agents)
    return list(await asyncio.gather(*calls)) if enable_gather else [await call for call in calls]


@dataclass
class SequentialPipeline:
    """``sequential_pipeline`` over the same agents, for many messages."""

    agents: list[Any]

    async def __call__(self, msg: Any = None) -> Any:
        return await sequential_pipeline(self.agents, msg)


@dataclass
class FanoutPipeline:
    """``fanout_pipeline`` over the same agents, for many messages."""

    agents: list[Any]
    enable_gather: bool = True

    async def __call__(self, msg: Any = None, **kwargs: Any) -> list[Any]:
        return await fanout_pipeline(self.agents, msg, self.enable_gather, **kwargs)


async def stream_printing_messages(
    agents: Sequence[Any],
    coroutine_task: Coroutine[Any, Any, Any],
    queue: asyncio.Queue[Any] | None = None,
    end_signal: str = "[END]",
    yield_speech: bool = False,
) -> AsyncGenerator[tuple[Any, ...]]:
    """Run a coroutine, and yield what the agents print meanwhile: message, whether it is complete and, if wanted, speech.

    Raises what the coroutine raises. A reader that stops before the end cancels the coroutine.
    """
    queue = asyncio.Queue() if queue is None else queue
    for agent in agents:
        agent.set_msg_queue_enabled(True, queue)
    task = asyncio.create_task(coroutine_task)
    task.add_done_callback(lambda _: queue.put_nowait(end_signal))
    try:
        while not isinstance(item := await queue.get(), str) or item != end_signal:
            yield cast("tuple[Any, ...]", item if yield_speech else item[:2])
        await task
    finally:
        task.cancel()
        for agent in agents:
            agent.set_msg_queue_enabled(False)


# Sessions: the states of agents and memories, saved under the id of a session and of a user

# A file's name may have 255 bytes; the ending and that of the unfinished file need a few.
_LONGEST = 200
# Names that this class writes; one with a percent sign may belong to another session.
_OF_OURS = re.compile("[a-z0-9_%-]*%[a-z0-9_%-]*")
_WHOSE = "@session"
"""The key in a file that names its session and user. No keyword looks so, and AgentScope passes over it."""


class SessionNotFound(NotFound, ValueError):
    """There is no such session, and ``allow_not_exist`` is off."""


class SessionBase:
    """Saves the states of modules by session and user, and restores them.

    A subclass defines ``_save`` and ``_load``, or overrides the two public methods.
    """

    async def save_session_state(
        self, session_id: str, user_id: str = "", **state_modules_mapping: StateModule
    ) -> None:
        """Save the states of these modules in place of what the session held. Raises ``FileError`` for a failing disk."""
        await self._save(session_id, user_id, state_modules_mapping)

    async def load_session_state(
        self, session_id: str, user_id: str = "", allow_not_exist: bool = True, **state_modules_mapping: StateModule
    ) -> None:
        """Restore those of these modules that the session holds, all or, when one fails, none.

        Raises ``SessionNotFound`` (a ``ValueError``) when there is no such session and ``allow_not_exist`` is off,
        ``FileError`` for a failing disk, and ``InvalidInput`` for data that is no session or of a newer memwell.
        """
        states = await self._load(session_id, user_id)
        if states is None and not allow_not_exist:
            raise SessionNotFound(f"there is no session {shown(session_id)} of user {shown(user_id)}")
        # A module that the session does not hold is left alone; one that it holds must be there whole.
        known = {name: module for name, module in state_modules_mapping.items() if name in (states or {})}
        restore(known, states or {}, strict=True, what=f"session {shown(session_id)}")

    async def _save(self, session_id: str, user_id: str, modules: dict[str, StateModule]) -> None:
        raise NotImplementedError

    async def _load(self, session_id: str, user_id: str) -> dict[str, Any] | None:
        raise NotImplementedError


class JSONSession(SessionBase):
    """Sessions as JSON files in a folder, in AgentScope's layout, one file a session.

    The file of user ``ann``, session ``s-1`` is ``ann_s-1.json``, and ``s-1.json`` without a user. All but ASCII's small
    letters, digits and ``-`` is escaped, so that no id leaves the folder and no two ids share a file, on any file system.
    A file is replaced as a whole, so a reader never sees half of one.

    A session that AgentScope wrote, ``Ann_S.1.json``, is read until it is saved here. Where its name can mean another
    session too, because of ``_``, a warning names it. A file that was saved here is never read for another session.
    """

    def __init__(self, save_dir: str = "./") -> None:
        self.save_dir = save_dir

    def _path(self, session_id: str, user_id: str) -> Path:
        return Path(self.save_dir, _file_name(session_id, user_id))

    async def _save(self, session_id: str, user_id: str, modules: dict[str, StateModule]) -> None:
        states = json.dumps({**states_of(modules), _WHOSE: [session_id, user_id]}, ensure_ascii=False)
        await run_blocking(partial(_write, self._path(session_id, user_id), states))

    async def _load(self, session_id: str, user_id: str) -> dict[str, Any] | None:
        return await run_blocking(partial(_found, self._path(session_id, user_id), session_id, user_id))


class MemwellSession(SessionBase, Closing):
    """Sessions in a memwell store; each user has a space of its own under ``space``, and ids are never paths.

    ``store`` is a path, a URL or a ``Backend``; what is opened here is closed by ``close``. A session is deleted ``ttl``
    seconds after it was last saved or loaded; without ``ttl`` it stays.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Backend = "memwell.db",
        *,
        space: SpaceLike = DEFAULT_SPACE,
        ttl: float | None = None,
    ) -> None:
        self._space, self._ttl = as_space(space), ttl
        self._backend = store if isinstance(store, Backend) else open_backend(store)
        self._owned = self._backend is not store

    def _sessions(self, user_id: str) -> Sessions:
        space = self._space / check_id(user_id, "a user's id") if user_id != "" else self._space
        return Sessions(self._backend, space=space, ttl=self._ttl)

    async def _save(self, session_id: str, user_id: str, modules: dict[str, StateModule]) -> None:
        await self._sessions(user_id).asave(session_id, **modules)

    async def _load(self, session_id: str, user_id: str) -> dict[str, Any] | None:
        return await self._sessions(user_id).astates(session_id)

    def close(self) -> Any:
        """Close the store, if it was opened here."""
        if self._owned:
            self._backend.close()


class RedisSession(MemwellSession):
    """Sessions in Redis, as ``MemwellSession`` keeps them; ``key_prefix`` is one more level of the space.

    The arguments are those of ``RedisMemory``. With a ``key_ttl`` a session expires that many seconds after its last use.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 6379,
        db: int = 0,
        password: str | None = None,
        connection_pool: Any = None,
        key_ttl: int | None = None,
        key_prefix: str = "",
        **kwargs: Any,
    ) -> None:
        known = {"host": host, "port": port, "db": db, "password": password, **kwargs}
        self.key_ttl, self.key_prefix = key_ttl, key_prefix
        super().__init__(redis_url(known, connection_pool), space=key_prefix.strip(":") or DEFAULT_SPACE, ttl=key_ttl)

    def _sessions(self, user_id: str) -> Sessions:
        return super()._sessions(user_id or "default_user")

    async def close(self) -> None:
        """Close the connection."""
        await run_blocking(super().close)

    aclose = close


# Files


def _file_name(session_id: object, user_id: object) -> str:
    session = check_id(session_id, "a session's id")
    user = "" if user_id == "" else check_id(user_id, "a user's id")
    # With a user everything before the first "_" is the user's; without one there is no "_".
    name = f"{_escaped(user)}_{_escaped(session, keep='_')}" if user else _escaped(session)
    if len(name) > _LONGEST:
        digest = sha256(json.dumps([user, session]).encode()).hexdigest()
        # No escape has two percent signs in a row.
        name = f"{name[:100]}%%{digest}"
    return f"{name}.json"


def _escaped(id_: str, keep: str = "") -> str:
    plain = set("abcdefghijklmnopqrstuvwxyz0123456789-" + keep)
    # quote alone would not escape capitals, which some file systems do not distinguish, and "_.~".
    return "".join(
        each if each in plain else f"%{ord(each):02x}" if each.isascii() else quote(each).lower() for each in id_
    )


def _found(path: Path, session_id: str, user_id: str) -> dict[str, Any] | None:
    """The states in the file of a session, ours or AgentScope's; None without one."""
    states = _read(path)
    name = f"{user_id}_{session_id}.json" if user_id else f"{session_id}.json"
    # Looked up in the listing: an id may lead out of the folder, and some file systems ignore case.
    folder = path.parent
    if states is not None or name == path.name or not folder.is_dir() or name not in os.listdir(folder):
        return states
    theirs = path.with_name(name)
    if _OF_OURS.fullmatch(name.removesuffix(".json")):
        problem = f"{theirs} is not read: it may be of session {shown(session_id)}, or of another one"
        warnings.warn(f"{problem}; rename it to {path.name} if it is", stacklevel=2)
        return None
    found = _read(theirs)
    if found is None or _WHOSE in found:
        return None
    if name.count("_") != bool(user_id):
        whose = f"session {shown(session_id)} of user {shown(user_id)}"
        warnings.warn(f"{theirs} is read as {whose}, and its name can mean another one too", stacklevel=2)
    return found


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".session-", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(unfinished, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
            raise
    except OSError as error:
        raise FileError(f"the session file {path} cannot be written: {error}") from error


def _read(path: Path) -> dict[str, Any] | None:
    try:
        states: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"the session file {path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is no saved session: {error}") from None
    if not isinstance(states, dict):
        raise InvalidInput(f"{path} is no saved session: it holds no object")
    return cast("dict[str, Any]", states)
