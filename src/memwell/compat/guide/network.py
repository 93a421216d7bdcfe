"""The guide's network of four memories, and its model that uses them, over ``memwell.cognition``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from memwell._asyncify import Closing
from memwell.cognition import AugmentedModel, Cognition, Procedure, Suggestion, Weighted
from memwell.cognition import WorkingMemory as HeldInMind
from memwell.cognition.network import EPISODIC, PROCEDURAL, SEMANTIC, WORKING, answers_first, thoughts
from memwell.errors import InvalidInput
from memwell.language.words import en_or_zh
from memwell.longterm.memory import HasMemory, Memory, MemoryLike
from memwell.models.ports import ChatModel, prompted
from memwell.runtime.opening import open as open_memory
from memwell.storage.protocols import Backend
from memwell.values import shown

_MOST = 5
"""How many memories of one kind are retrieved, and how many of all go into a prompt."""
_NAMES = {kind: f"{kind}_memory" for kind in (WORKING, EPISODIC, SEMANTIC, PROCEDURAL)}


class _System:
    """One stored memory of a network; without a network it has a store in memory. ``core`` is cognition's own."""

    kind = ""

    def __init__(self, *, cognition: Cognition | None = None) -> None:
        self._cognition = cognition or _cognition("memory:", "local", 7)
        self.core: Any = getattr(self._cognition, self.kind)

    def retrieve(self, query: str, user_id: str | None = None) -> list[dict[str, Any]]:
        """What matches a query, best first: items of this user, and items for everyone."""
        return [_as_dict(one) for one in self._cognition.recall(query, _MOST, user=user_id or "", kinds=self.kind)]


class NeuralMemoryNetwork(Closing):
    """Working, episodic, semantic and procedural memory. All but the working memory is stored in ``store``.

    ``store`` is ``memory:`` until the process ends, the path of a file, or an open memory of memwell; ``embedder`` is as
    for ``memwell.open``. Raises what opening a store raises.
    """

    def __init__(
        self, *, store: str | Path | Backend | MemoryLike = "memory:", embedder: Any = "local", capacity: int = 7
    ) -> None:
        self.cognition = _cognition(store, embedder, capacity)
        self.working_memory = self.WorkingMemory(capacity, cognition=self.cognition)
        self.episodic_memory = self.EpisodicMemory(cognition=self.cognition)
        self.semantic_memory = self.SemanticMemory(cognition=self.cognition)
        self.procedural_memory = self.ProceduralMemory(cognition=self.cognition)
        self.memory_systems: dict[str, Any] = {name: getattr(self, name) for name in _NAMES.values()}

    def close(self) -> None:
        """Close the store."""
        if isinstance(self.cognition.memory, Closing):
            self.cognition.memory.close()

    class WorkingMemory:
        """At most ``capacity`` current items. A new item replaces the least active one."""

        def __init__(self, capacity: int = 7, *, cognition: Cognition | None = None) -> None:
            self.core = HeldInMind(capacity) if cognition is None else cognition.working
            self._cognition = cognition

        @property
        def capacity(self) -> int:
            return self.core.capacity

        @property
        def items(self) -> list[Any]:
            """The items in the order in which they were last added."""
            return self.core.items()

        def add_item(self, item: Any, attention: float = 1.0) -> Any | None:
            """Add an item, and return the one that it replaced, or None."""
            return self.core.add(item, attention)

        def get_active_items(self) -> list[Any]:
            """The same as ``items``; ``core.active()`` has them by attention."""
            return self.core.items()

        def retrieve(self, query: str, user_id: str | None = None) -> list[dict[str, Any]]:
            """The items, and this user's recent turns, that match a query, best first."""
            if self._cognition is None:
                found = answers_first(thoughts(self.core, query, en_or_zh(query)))[:_MOST]
            else:
                found = self._cognition.recall(query, _MOST, user=user_id or "", kinds=WORKING)
            return [_as_dict(one) for one in found]

    class EpisodicMemory(_System):
        """Events with their context, emotion and time."""

        kind = EPISODIC

        @property
        def episodes(self) -> dict[str, dict[str, Any]]:
            """All episodes in order of time, each by its event and its moment."""
            found: dict[str, dict[str, Any]] = {}
            for one in self.core.timeline():
                key = f"{one.event}_{one.time.isoformat()}"
                found[key if key not in found else f"{key}_{one.id}"] = {
                    "event": one.event,
                    "context": one.context or one.answer,
                    "emotion": one.emotion,
                    "timestamp": one.time,
                    "sentiment": one.sentiment,
                    "user_id": one.user or None,
                    "id": one.id,
                }
            return found

        def store_episode(self, event: str, context: Any = "", emotion: Any = None, user_id: str | None = None) -> str:
            """Store an event, and return its id. Without an emotion the words of the event decide."""
            felt = emotion if emotion is None or isinstance(emotion, str | int | float) else str(emotion)
            if isinstance(context, Mapping):
                pairs = cast("Mapping[object, object]", context).items()
                context = "; ".join(f"{key}: {value}" for key, value in pairs)
            said = "" if context is None else str(context)
            return self.core.store(event, context=said, emotion=felt, user=user_id)

    class SemanticMemory(_System):
        """Concepts, their definitions and what they are related to."""

        kind = SEMANTIC

        @property
        def concepts(self) -> dict[str, dict[str, Any]]:
            """All concepts by name, of every user; of two of one name the one that is for everyone."""
            return {
                one.name: {"definition": one.definition, "related": list(one.related), "confidence": one.confidence}
                for one in sorted(self.core.concepts(), key=lambda one: one.user is None)
            }

        def store_concept(self, concept: str, definition: str, related_concepts: Iterable[str] = ()) -> None:
            """Store a concept for everyone. Its confidence begins at 0.8, and ``core`` moves it with evidence."""
            self.core.store(concept, definition, related_concepts or ())

    class ProceduralMemory(_System):
        """Procedures, and how often they succeeded."""

        kind = PROCEDURAL

        @property
        def procedures(self) -> dict[str, dict[str, Any]]:
            """All procedures by name. The success rate is 0.0 until the first outcome."""
            return {
                one.name: {
                    "steps": list(one.steps),
                    "preconditions": list(one.preconditions),
                    "success_rate": one.success_rate.value if one.success_rate.observations else 0.0,
                    "observations": one.success_rate.observations,
                }
                for one in self.core.procedures()
            }

        def store_procedure(self, name: str, steps: Iterable[str], preconditions: Iterable[str] = ()) -> None:
            """Store how something is done."""
            self.core.store(name, steps, preconditions or ())

        def record_outcome(self, name: str, success: bool, note: str = "") -> Procedure:
            """Record an outcome: the success rate is learnt from it. Raises ``NotFound``."""
            return self.core.outcome(name, success, note)

        def suggest(self, situation: str | Iterable[str], goal: str = "") -> list[Suggestion]:
            """What to do in a situation, the best first."""
            return self.core.suggest(situation, goal)


class MemoryAugmentedLLM:
    """A model that recalls from all four memories, weighs by attention, answers, and learns from the turn.

    ``base_model`` has a method ``generate``, is a function of a prompt, a ``ChatModel`` of memwell, or None for answers
    from memory alone. The turn is stored before the model is asked; when it fails, the answer is taken from memory and
    says so. Raises ``InvalidInput`` for any other model.
    """

    def __init__(self, base_model: Any, memory_network: NeuralMemoryNetwork) -> None:
        self.base_model = base_model
        self.memory = memory_network
        self.learning_rate = 0.001
        """As in the guide. Nothing is trained here: beliefs move by counts of evidence."""
        self._model = AugmentedModel(_chat_model(base_model), memory_network.cognition, limit=_MOST)

    def process_input(self, input_text: str, user_id: str | None = None) -> str:
        """Answer a text, and learn from it. Raises ``InvalidInput`` for a text that is blank or breaks a rule."""
        response = self._model.respond(input_text, user=user_id)
        if not response.note or self.base_model is None:
            return response.text
        is_chinese = en_or_zh(input_text) == "zh"
        return f"{response.text}（{response.note}）" if is_chinese else f"{response.text} ({response.note})"

    def retrieve_memories(self, query: str, user_id: str | None = None) -> list[dict[str, Any]]:
        """The best memories of every system, the weightiest first, each with its ``weight``; the weights add up to 1."""
        found = self.memory.cognition.recall(query, _MOST, user=user_id or "")
        return [{**_as_dict(one), "weight": one.weight} for one in found]

    def update_memories(self, input_text: str, response: str, user_id: str | None = None) -> None:
        """Learn from a turn that was answered elsewhere, as ``process_input`` does from its own."""
        self._model.learn(input_text, response, user=user_id)


def _cognition(store: str | Path | Backend | MemoryLike, embedder: Any, capacity: int) -> Cognition:
    memory = store if isinstance(store, Memory | HasMemory) else open_memory(store, embedder=embedder)
    return Cognition(memory, capacity=capacity)


def _as_dict(one: Weighted) -> dict[str, Any]:
    return {"type": _NAMES[one.kind], "content": one.text, "score": one.score, "why": one.why, "id": one.id}


def _chat_model(model: Any) -> ChatModel | None:
    """A model of prompts as one of messages. Raises ``InvalidInput`` for what is none."""
    if model is None or isinstance(model, ChatModel):
        return model
    # LangChain's models have both, and their generate takes a list of prompts.
    generate = getattr(model, "invoke", None) or getattr(model, "generate", model)
    if not callable(generate):
        raise InvalidInput(f"base_model must have a method generate, be a function or a ChatModel, not {shown(model)}")
    return prompted(generate, type(model).__name__)
