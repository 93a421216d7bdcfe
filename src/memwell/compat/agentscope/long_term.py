"""Long-term memories of an agent: of a person, of earlier tasks, of the tools it uses.

They are memwell's long-term memory, found by meaning and by words. Neither ReMe nor a model is needed: statements are
stored as they were said.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, ClassVar, Self, cast

from memwell.compat.agentscope.messages import (
    AudioBlock,
    ImageBlock,
    Msg,
    SeenAsTheirs,
    TextBlock,
    VideoBlock,
    WrongType,
    messages_in,
    to_core,
)
from memwell.errors import MemwellError
from memwell.messages import Message, Role, Text, ToolResult
from memwell.models.ports import Embedder, as_embedder
from memwell.records import DEFAULT_SPACE
from memwell.runtime.engine import Engine
from memwell.runtime.opening import open as open_engine
from memwell.runtime.state import StateModule
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_text, new_id, shown

_SHOWN_OUTPUT = 500
_RECALLED = ("long_term_memory", "retrieved_knowledge")
"""The tags in which an agent puts what it recalled into a user's message."""


class NotStarted(MemwellError, RuntimeError):
    """The memory is used outside of its ``async with``. Nothing was stored."""


@dataclass
class ToolResponse(SeenAsTheirs):
    """The answer of a tool function, or a piece of it."""

    _their_module = "agentscope.tool"

    content: list[TextBlock | ImageBlock | AudioBlock | VideoBlock]
    metadata: dict[str, Any] | None = None
    stream: bool = False
    is_last: bool = True
    is_interrupted: bool = False
    id: str = field(default_factory=new_id)


class LongTermMemoryBase(SeenAsTheirs, StateModule):
    """A long-term memory. A class of your own overrides the methods it needs; the others raise ``NotImplementedError``.

    ``record`` and ``retrieve`` are for the program, ``record_to_memory`` and ``retrieve_from_memory`` are tools for the
    agent itself.
    """

    _their_module = "agentscope.memory"

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> Any:
        """Remember what messages say."""
        raise NotImplementedError("The `record` method is not implemented.")

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """The memories that a message asks for, as text for the prompt."""
        raise NotImplementedError("The `retrieve` method is not implemented.")

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Remember what will be useful later."""
        raise NotImplementedError("The `record_to_memory` method is not implemented.")

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Search the memory."""
        raise NotImplementedError("The `retrieve_from_memory` method is not implemented.")


class ReMeLongTermMemoryBase(LongTermMemoryBase):
    """The base of the three memories: long-term memory in the space of the user, opened by ``async with``.

    ``user_name`` is the space, ``run_name`` the session; ``store`` is a path, a URL or an open backend. ``embedding_model``
    is any embedder or function, or None for the one that runs here; ``model`` is for consolidating. ReMe's own settings
    are taken and have no effect. Outside of its ``async with`` every method raises ``NotStarted``, a ``RuntimeError``.
    """

    _kind: ClassVar[str] = "memory"
    _noun: ClassVar[str] = "memory"
    _memories: ClassVar[str] = "memories"

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        run_name: str | None = None,
        model: Any = None,
        embedding_model: Any = None,
        reme_config_path: str | None = None,
        *,
        store: Store = "memwell.db",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.agent_name = agent_name
        self.workspace_id = user_name
        self.run_name = run_name
        self.store = store
        self._options: dict[str, Any] = {"chat": model, "embedder": _embedder(embedding_model)}
        self._engine: Engine | None = None

    @property
    def memory(self) -> Engine:
        """The engine. Raises ``NotStarted`` outside of the ``async with``."""
        if self._engine is None:
            raise NotStarted("ReMeApp context not started. Please use 'async with' to initialize the app.")
        return self._engine

    async def __aenter__(self) -> Self:
        space = self.workspace_id or DEFAULT_SPACE
        self._engine = open_engine(shared_backend(self.store), space=space, work=False, **self._options)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._engine = None

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> None:
        """Remember what messages say; None among them, instructions, thoughts and what was recalled are left out.

        Raises ``WrongType`` (a ``TypeError``) for anything but messages. When the store or a model fails that is a warning.
        """
        messages = messages_in([one for one in msgs if one is not None] if type(msgs) is list else msgs)
        if not messages:
            return
        memory = self.memory
        try:
            await self._keep(memory, messages, kwargs)
        except MemwellError as error:
            warnings.warn(f"Error recording messages to {self._noun}: {error}", stacklevel=2)

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """The memories that the last message asks for, a line each; empty when there are none.

        Raises ``WrongType`` (a ``TypeError``) for anything but messages. When the store or a model fails that is a warning.
        """
        if msg is None:
            return ""
        asked, memory = messages_in(msg), self.memory
        query = (asked[-1].get_text_content() or "") if asked else ""
        try:
            return await self._answer(memory, query, limit) if query.strip() else ""
        except MemwellError as error:
            warnings.warn(f"Error retrieving {self._noun}: {error}", stacklevel=2)
            return ""

    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        """Remember what will be useful later.

        Args:
            thinking: Why it is worth remembering.
            content: What to remember, a complete statement each.
        """
        memory = self.memory
        try:
            return await self._record(memory, check_text(thinking, "thinking"), _texts(content, "content"), kwargs)
        except MemwellError as error:
            return _said(f"Error recording {self._noun}: {error}")

    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Search the memory.

        Args:
            keywords: What to look for, such as names, places or dates; each is looked up by itself.
            limit: How many memories to return for each at most.
        """
        memory = self.memory
        try:
            return _said(await self._found(memory, _texts(keywords, "keywords"), limit))
        except MemwellError as error:
            return _said(f"Error retrieving {self._noun}: {error}")

    # Overridden by the kinds of memory

    async def _keep(self, memory: Engine, messages: list[Msg], options: dict[str, Any]) -> None:
        said = [made for one in messages if _is_said(made := _without_recalled(to_core(one)))]
        await memory.aremember(said, kind=self._kind, session=self.run_name, metadata=self._about(options))
        await memory.aflush()

    async def _record(self, memory: Engine, thinking: str, content: list[str], options: dict[str, Any]) -> ToolResponse:
        about = self._about(options) | ({"thinking": thinking} if thinking else {})
        kept = await memory.aremember(content, kind=self._kind, session=self.run_name, metadata=about)
        await memory.aflush()
        listed = [{"id": id_, "content": (await memory.aget(id_)).text} for id_ in kept.ids]
        return _said(self._recorded(len(kept.ids)), {"result": {"answer": "", "metadata": {"memory_list": listed}}})

    async def _answer(self, memory: Engine, query: str, limit: int) -> str:
        found = await memory.arecall(query, limit=limit, kinds=self._kind)
        return "\n".join(one.text for one in found)

    async def _found(self, memory: Engine, keywords: list[str], limit: int) -> str:
        answers = [(keyword, await self._answer(memory, keyword, limit)) for keyword in keywords]
        found = [f"Keyword '{keyword}':\n{answer}" for keyword, answer in answers if answer]
        return "\n\n".join(found) if found else self._nothing(keywords)

    def _about(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"agent": self.agent_name} if self.agent_name else {}

    def _recorded(self, count: int) -> str:
        return f"Successfully recorded {count} {self._noun}/memories."

    def _nothing(self, keywords: list[str]) -> str:
        return f"No {self._memories} found for the given keywords."


class ReMePersonalLongTermMemory(ReMeLongTermMemoryBase):
    """Memory of a person: preferences, habits, facts."""

    _kind = "personal"

    def _recorded(self, count: int) -> str:
        if not count:
            return "Memory recording completed."
        return f"Successfully recorded {count} memory/memories to personal memory."


class ReMeTaskLongTermMemory(ReMeLongTermMemoryBase):
    """Memory of earlier tasks. A ``score`` given with a record, 1.0 without one, is stored with it."""

    _kind = "task"
    _noun = "task memory"
    _memories = "task experiences"

    def _about(self, options: dict[str, Any]) -> dict[str, Any]:
        return super()._about(options) | {"score": options.get("score", 1.0)}


class ReMeToolLongTermMemory(ReMeLongTermMemoryBase):
    """Memory of tool calls: how often a tool worked, what it cost, and calls that worked and failed.

    What is recorded is a JSON object a call, with ``tool_name`` and, as far as known, ``input``, ``output``, ``success``,
    ``time_cost`` and ``token_cost``. Anything else is left out with a warning.
    """

    _kind = "tool"
    _noun = "tool memory"

    async def _keep(self, memory: Engine, messages: list[Msg], options: dict[str, Any]) -> None:
        texts = [block["text"] for one in messages for block in one.get_content_blocks("text")]
        await self._keep_calls(memory, _calls(texts), options)

    async def _record(self, memory: Engine, thinking: str, content: list[str], options: dict[str, Any]) -> ToolResponse:
        calls = _calls(content)
        if not calls:
            return _said("No valid tool call results to record.")
        count = await self._keep_calls(memory, calls, options | {"thinking": thinking})
        plural = "s" if count > 1 else ""
        return _said(f"Successfully recorded {count} tool execution result{plural} and generated usage guidelines.")

    async def _keep_calls(self, memory: Engine, calls: Sequence[dict[str, Any]], options: dict[str, Any]) -> int:
        count = 0
        for call in calls:
            about = self._about(options) | {"tool_name": call["tool_name"], "call": call}
            kept = await memory.aremember(
                _call_in_words(call), kind=self._kind, session=self.run_name, metadata=about, trust="tool"
            )
            count += len(kept.ids)
        await memory.aflush()
        return count

    async def _answer(self, memory: Engine, query: str, limit: int) -> str:
        names = [name.strip() for name in query.split(",") if name.strip()]
        known = await self._guidelines(memory, names, limit)
        if known:
            return known
        found = await memory.arecall(query, limit=limit, kinds=self._kind)
        return await self._guidelines(memory, [one.metadata["tool_name"] for one in found], limit)

    async def _found(self, memory: Engine, keywords: list[str], limit: int) -> str:
        return await self._guidelines(memory, keywords, limit) or self._nothing(keywords)

    async def _guidelines(self, memory: Engine, names: Iterable[str], limit: int) -> str:
        written: list[str] = []
        for name in dict.fromkeys(names):
            kept = await memory.amemories(where={"tool_name": name})
            calls = [one.metadata["call"] for one in kept if one.kind == self._kind]
            written += [_guideline(name, calls, limit)] if calls else []
        return "\n\n".join(written)

    def _nothing(self, keywords: list[str]) -> str:
        return f"No tool guidelines found for: {','.join(keywords)}"


def _without_recalled(message: Message) -> Message:
    """The message without what an agent recalled, which would be learnt again as a user's word, and grow each time."""
    text = message.text.strip()
    if any(text.startswith(f"<{tag}>") and text.endswith(f"</{tag}>") for tag in _RECALLED):
        # Its tags may stand in blocks of their own, with documents between them.
        return message.changed(parts=())
    tool = LongTermMemoryBase.retrieve_from_memory.__name__
    parts = tuple(
        Text(_outside(part.text)) if isinstance(part, Text) else part
        for part in message.parts
        if not (isinstance(part, ToolResult) and part.name == tool)
    )
    return message.changed(parts=parts) if parts != message.parts else message


def _outside(text: str) -> str:
    """The text around recalled blocks. A block ends at its last tag, as a memory may hold the tag itself."""
    for tag in _RECALLED:
        start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
        if 0 <= start < end:
            text = text[:start] + text[end + len(tag) + 3 :]
    return text


def _is_said(message: Message) -> bool:
    return message.role is not Role.SYSTEM and bool(message.text.strip())


def _texts(value: object, what: str) -> list[str]:
    if not isinstance(value, list):
        raise WrongType(f"{what} must be a list of strings, not {shown(value)}")
    return [check_text(one, f"an item of {what}") for one in cast("list[object]", value)]


def _said(text: str, metadata: dict[str, Any] | None = None) -> ToolResponse:
    return ToolResponse([TextBlock(type="text", text=text)], metadata)


# Tools


def _calls(texts: Iterable[str]) -> list[dict[str, Any]]:
    """The tool calls that texts hold as JSON; other texts are left out with a warning."""
    found: list[dict[str, Any]] = []
    for text in texts:
        try:
            call: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            warnings.warn(f"Failed to parse tool call result JSON: {shown(text)}. Error: {error}", stacklevel=2)
            continue
        if isinstance(call, dict) and isinstance(cast("dict[str, Any]", call).get("tool_name"), str):
            found.append(cast("dict[str, Any]", call))
        else:
            warnings.warn(f"A tool call result is a JSON object with a tool_name, not {shown(text)}", stacklevel=2)
    return found


def _call_in_words(call: dict[str, Any]) -> str:
    arguments = json.dumps(call.get("input", {}), ensure_ascii=False)
    outcome = "failed" if call.get("success") is False else "worked"
    return f"{call['tool_name']}({arguments}) {outcome}: {str(call.get('output', ''))[:_SHOWN_OUTPUT]}"


def _guideline(name: str, calls: Sequence[dict[str, Any]], limit: int) -> str:
    failed = [call for call in calls if call.get("success") is False]
    worked = [call for call in calls if call.get("success") is not False]
    costs = [
        f"{fmean(numbers):.3g} {unit} on average"
        for key, unit in (("time_cost", "s"), ("token_cost", "tokens"))
        if (numbers := [call[key] for call in calls if type(call.get(key)) in (int, float)])
    ]
    head = ", ".join([f"{name}: {len(calls)} recorded, {len(worked)} worked", *costs])
    # The latest of both kinds.
    examples = [*worked[-limit:], *failed[-limit:]] if limit > 0 else []
    return "\n".join([head, *(f"- {_call_in_words(call)}" for call in examples)])


# Models


def _embedder(model: Any) -> Any:
    """An embedder as it is, or one made of a function or of an AgentScope model, whose answer holds the vectors."""
    if model is None:
        return "local"
    if isinstance(model, str | Embedder) or hasattr(model, "embed") or inspect.isroutine(model):
        return model

    async def embed(texts: list[str]) -> Any:
        answer = model(texts)
        answer = await answer if inspect.isawaitable(answer) else answer
        return getattr(answer, "embeddings", answer)

    return as_embedder(embed, name=getattr(model, "model_name", None) or type(model).__name__)
