"""The memory of agents at work together: their plan, their dialogue, and a channel to whoever watches."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, TypeVar, cast

from memwell._asyncify import asyncify, blocking, run_blocking
from memwell.compat.dbgpt.gpts.channels import Channel
from memwell.compat.dbgpt.gpts.drawing import mermaid_dialogue, mermaid_plan
from memwell.compat.dbgpt.gpts.page import html_page
from memwell.compat.dbgpt.gpts.stores import (
    DefaultGptsMessageMemory,
    DefaultGptsPlansMemory,
    GptsMessageMemory,
    GptsPlansMemory,
    backend_of,
    ordered,
)
from memwell.compat.dbgpt.gpts.values import ActionOutput, GptsMessage, check_gpts_message, copied, reported
from memwell.compat.dbgpt.gpts.views import dialogue_markdown, messages_block, plain_views, streamed_view
from memwell.errors import InvalidInput
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.sharing import Store
from memwell.values import check_count, check_id, new_id, shown

T = TypeVar("T")


@dataclass(eq=False)
class _Watched:
    """What is known of a conversation beside what is stored, from ``init`` to ``clear``."""

    channel: Channel
    enable_vis: bool
    history: list[GptsMessage]
    start_round: int
    latest: int = 0
    last_view: Any = None


class GptsMemory:
    """Plans and dialogues of agents: kept, watched while they grow, and drawn.

    Without memories of your own, plans and messages go to ``store``: a URL, a file's path or an open backend; without one,
    to memory of its own. What DB-GPT has as async methods is async here and has a blocking twin with ``_sync`` behind its
    name; what blocks has an async twin with an ``a`` in front.
    """

    def __init__(
        self,
        plans_memory: GptsPlansMemory | None = None,
        message_memory: GptsMessageMemory | None = None,
        executor: Executor | None = None,
        *,
        store: Store | None = None,
        space: SpaceLike = DEFAULT_SPACE,
        channel_size: int = 100,
    ) -> None:
        check_count(channel_size, "channel_size", least=1)
        if plans_memory is None or message_memory is None:
            backend = backend_of(store)
            plans_memory = plans_memory or DefaultGptsPlansMemory(backend, space=space)
            message_memory = message_memory or DefaultGptsMessageMemory(backend, space=space)
        self._plans_memory = plans_memory
        self._message_memory = message_memory
        self._executor = executor
        self._channel_size = channel_size
        self._watched: dict[str, _Watched] = {}

    @property
    def plans_memory(self) -> GptsPlansMemory:
        """Where plans are kept."""
        return self._plans_memory

    @property
    def message_memory(self) -> GptsMessageMemory:
        """Where dialogues are kept."""
        return self._message_memory

    # A conversation that is watched

    def init(
        self,
        conv_id: str,
        enable_vis_message: bool = True,
        history_messages: Sequence[GptsMessage] | None = None,
        start_round: int = 0,
    ) -> None:
        """Open the conversation's channel; one that was open is completed.

        ``history_messages`` come before the stored ones, those that are not stored already. The first ``start_round``
        messages are not in the views that are pushed. Raises ``InvalidInput`` for a bad value.
        """
        check_id(conv_id, "a conv_id")
        check_count(start_round, "start_round")
        history = [copied(check_gpts_message(one)) for one in history_messages or ()]
        self.clear(conv_id)
        self._watched[conv_id] = _Watched(Channel(self._channel_size), enable_vis_message, history, start_round)

    def enable_vis_message(self, conv_id: str) -> bool:
        """Whether views are Markdown with blocks to draw (which they are until told otherwise) or plain lists."""
        watched = self._watched.get(conv_id)
        return watched.enable_vis if watched else True

    def queue(self, conv_id: str) -> Channel | None:
        """The conversation's channel, or None when it is not open."""
        watched = self._watched.get(conv_id)
        return watched.channel if watched else None

    def clear(self, conv_id: str) -> None:
        """Complete the channel and forget what ``init`` was told; what is stored stays. Clearing twice is fine."""
        watched = self._watched.pop(conv_id, None)
        if watched:
            watched.channel.complete()

    async def push_message(self, conv_id: str, temp_msg: Mapping[str, Any] | str | None = None) -> None:
        """Hand the view of the dialogue on, ``temp_msg`` (a message still being written) at its end.

        Waits for room while somebody reads. Without an open channel nothing happens.
        """
        watched = self._watched.get(conv_id)
        if watched is None or watched.channel.completed:
            return
        count, view = await self._run(self._view, conv_id, watched, temp_msg)
        # Of messages that are appended at the same time, a view with fewer may be ready later: it would take one back.
        if temp_msg is None and count < watched.latest:
            return
        watched.latest = max(count, watched.latest)
        watched.last_view = view
        await watched.channel.put(view)

    async def complete(self, conv_id: str) -> None:
        """Say that nothing more will come: readers get what is left, then the end."""
        channel = self.queue(conv_id)
        if channel is not None:
            channel.complete()

    def chat_messages(self, conv_id: str) -> AsyncIterator[Any]:
        """The views as they are pushed, until the conversation is completed; none when its channel is not open.

        Of several who watch, each view goes to one, and the last to all.
        """
        watched = self._watched.get(conv_id)
        return aiter(_completed()) if watched is None else _views(watched)

    def chat_messages_sync(self, conv_id: str) -> Iterator[Any]:
        """The blocking twin of ``chat_messages``."""
        watched = self._watched.get(conv_id)
        return iter(()) if watched is None else _views_sync(watched)

    # The dialogue

    async def append_message(self, conv_id: str, message: GptsMessage) -> None:
        """Store a message, then push the view of the dialogue.

        Raises ``InvalidInput`` for a message that breaks a rule or belongs to another conversation.
        """
        if check_gpts_message(message).conv_id != conv_id:
            raise InvalidInput(f"the message belongs to {shown(message.conv_id)}, not to {shown(conv_id)}")
        await self._run(self._message_memory.append, message)
        await self.push_message(conv_id)

    async def get_messages(self, conv_id: str) -> list[GptsMessage]:
        """All messages of the conversation, in order, also after a restart; what ``init`` was told of comes first."""
        return await self._run(self._messages, conv_id)

    async def get_agent_messages(self, conv_id: str, agent_role: str) -> list[GptsMessage]:
        """What the agent sent or received."""
        return [one for one in await self.get_messages(conv_id) if agent_role in (one.sender, one.receiver)]

    async def get_agent_history_memory(self, conv_id: str, agent_role: str) -> list[ActionOutput]:
        """What the actions of the agent gave, in order, as far as its messages report it."""
        sent = [one for one in await self.get_agent_messages(conv_id, agent_role) if one.sender == agent_role]
        return [output for output in map(reported, sent) if output is not None]

    async def app_link_chat_message(self, conv_id: str) -> str:
        """The dialogue as Markdown with blocks that DB-GPT's pages draw, from ``start_round`` on."""
        return dialogue_markdown(await self._run(self._viewed, conv_id))

    async def simple_message(self, conv_id: str) -> list[dict[str, Any]]:
        """What the agents said as a plain list."""
        return plain_views(await self._run(self._messages, conv_id))

    async def agent_stream_message(
        self, message: Mapping[str, Any] | str, enable_vis_message: bool = True
    ) -> str | list[dict[str, Any]]:
        """A message still being written as one block, or as a plain list."""
        return messages_block(streamed_view(message)) if enable_vis_message else streamed_view(message)

    append_message_sync = blocking(append_message)
    push_message_sync = blocking(push_message)
    complete_sync = blocking(complete)
    get_messages_sync = blocking(get_messages)
    get_agent_messages_sync = blocking(get_agent_messages)
    get_agent_history_memory_sync = blocking(get_agent_history_memory)
    app_link_chat_message_sync = blocking(app_link_chat_message)
    simple_message_sync = blocking(simple_message)
    agent_stream_message_sync = blocking(agent_stream_message)

    # Drawing

    def mermaid(self, conv_id: str, what: Literal["plan", "dialogue"] = "plan", *, language: str = "en") -> str:
        """The plan as a Mermaid flowchart, or the dialogue as a sequence diagram."""
        if what == "plan":
            return mermaid_plan(ordered(self._plans_memory.get_by_conv_id(conv_id)), language=language)
        if what == "dialogue":
            return mermaid_dialogue(self._messages(conv_id), language=language)
        raise InvalidInput(f"what is drawn is 'plan' or 'dialogue', not {shown(what)}")

    def html(self, conv_id: str, *, language: str = "en", title: str | None = None) -> str:
        """Plan and dialogue as one page of HTML, with nothing to fetch and no script."""
        plans = ordered(self._plans_memory.get_by_conv_id(conv_id))
        return html_page(plans, self._messages(conv_id), language=language, title=conv_id if title is None else title)

    def save_page(
        self, conv_id: str, path: str | os.PathLike[str], *, language: str = "en", title: str | None = None
    ) -> None:
        """Write the page to a file, whole or not at all. Raises ``FileError`` when it cannot be written."""
        # It brings the readers of other programs' files along, which only who saves a page should wait for.
        from memwell.runtime.transfer.files import written  # noqa: PLC0415

        page = self.html(conv_id, language=language, title=title)
        with written(path) as file:
            _let_others_read(path, file)
            file.write(page.encode(errors="replace"))

    amermaid = asyncify(mermaid)
    ahtml = asyncify(html)
    asave_page = asyncify(save_page)

    def _messages(self, conv_id: str) -> list[GptsMessage]:
        stored = self._message_memory.get_by_conv_id(conv_id)
        watched = self._watched.get(conv_id)
        if watched is None or not watched.history:
            return stored
        known = {_mark(one) for one in stored}
        return [*(copied(one) for one in watched.history if _mark(one) not in known), *stored]

    def _viewed(self, conv_id: str) -> list[GptsMessage]:
        watched = self._watched.get(conv_id)
        return self._messages(conv_id)[watched.start_round if watched else 0 :]

    def _view(self, conv_id: str, watched: _Watched, temp_msg: Mapping[str, Any] | str | None) -> tuple[int, Any]:
        being_written = streamed_view(temp_msg) if temp_msg else []
        if not watched.enable_vis:
            messages = self._messages(conv_id)
            return len(messages), plain_views(messages) + being_written
        messages = self._viewed(conv_id)
        blocks = [dialogue_markdown(messages), *([messages_block(being_written)] if being_written else [])]
        return len(messages), "\n".join(block for block in blocks if block)

    async def _run(self, call: Callable[..., T], *args: Any) -> T:
        bound = functools.partial(call, *args)
        if self._executor is None:
            return await run_blocking(bound)
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._executor, functools.partial(context.run, bound))


async def _views(watched: _Watched) -> AsyncIterator[Any]:
    seen: Any = None
    async with contextlib.aclosing(cast("AsyncGenerator[Any]", aiter(watched.channel))) as views:
        async for seen in views:
            yield seen
    if seen is not watched.last_view:
        # It went to somebody else, who watches too.
        yield watched.last_view


def _views_sync(watched: _Watched) -> Iterator[Any]:
    seen: Any = None
    with contextlib.closing(cast("Generator[Any]", iter(watched.channel))) as views:
        for seen in views:
            yield seen
    if seen is not watched.last_view:
        yield watched.last_view


def _let_others_read(path: str | os.PathLike[str], file: BinaryIO) -> None:
    """Give a new file the rights of the one it replaces, or those that any file gets here."""
    if not hasattr(os, "fchmod"):
        return
    try:
        rights = os.stat(path).st_mode
    except FileNotFoundError:
        # Only by making one can it be known: to ask for the mask is to change it for every thread.
        probe = os.path.join(os.path.dirname(os.fspath(path)), f".{new_id()}.part")
        handle = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            rights = os.fstat(handle).st_mode
        finally:
            os.close(handle)
            os.unlink(probe)
    os.fchmod(file.fileno(), stat.S_IMODE(rights))


def _mark(message: GptsMessage) -> tuple[object, ...]:
    return message.created_at, message.sender, message.receiver, message.content


def _completed() -> Channel:
    channel = Channel(1)
    channel.complete()
    return channel


__all__ = ["GptsMemory"]
