"""The guide's network of four memories, and its model that uses them, over ``memwell.cognition``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from memwell._asyncify import Closing, asyncify
from memwell.cognition import Cognition, Procedure, Suggestion, Weighted, softmax
from memwell.cognition import WorkingMemory as HeldInMind
from memwell.cognition.augmented import (
    WORDS,
    definitions,
    extract,
    learn_from,
    learn_unknown,
    may_be_learnt,
    related_words,
    remembered,
    trouble_of,
)
from memwell.cognition.episodic import mood_of
from memwell.cognition.named import without_secrets
from memwell.cognition.network import EPISODIC, PROCEDURAL, SEMANTIC, WORKING, answers_first, thoughts
from memwell.errors import BadModelOutput, InvalidInput, MemwellError, NotFound
from memwell.language.asking import coverage
from memwell.language.keywords import keywords
from memwell.language.words import en_or_zh
from memwell.longterm.memory import HasMemory, Memory, MemoryLike
from memwell.messages import human
from memwell.models.callables import answer_of
from memwell.models.ports import ChatModel
from memwell.runtime.opening import open as open_memory
from memwell.storage.protocols import Backend
from memwell.values import check_text, shown

_MOST = 5
"""How many memories of one kind are retrieved, and how many of all go into a prompt."""
_TEMPERATURE = 0.1
_NAMES = {kind: f"{kind}_memory" for kind in (WORKING, EPISODIC, SEMANTIC, PROCEDURAL)}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_ANONYMOUS_SOURCE = "conversation"
_ANONYMOUS = "(nobody)"
"""The user of a turn without a user; named users do not see it."""


class _FromMemory(str):
    """An answer taken from memory, from which nothing is learnt."""


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
            found = thoughts(self.core, query, en_or_zh(query))
            if self._cognition is not None:
                found += self._cognition.recall(query, _MOST, user=user_id or _ANONYMOUS, kinds=WORKING)
            return [_as_dict(one) for one in answers_first(found)[:_MOST]]

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
    from memory alone. When it fails, the turn is stored, and the answer is taken from memory and says so. Every step is a
    method that a subclass may override. Raises ``InvalidInput`` for any other model.
    """

    def __init__(self, base_model: Any, memory_network: NeuralMemoryNetwork) -> None:
        self._generate = _generator(base_model)
        self.base_model = base_model
        self.memory = memory_network
        self.learning_rate = 0.001
        """As in the guide. Nothing is trained here: beliefs move by counts of evidence."""

    def process_input(self, input_text: str, user_id: str | None = None) -> str:
        """Answer a text, and learn from it. Raises ``InvalidInput`` for a text that is blank or breaks a rule."""
        if not check_text(input_text, "what is said").strip():
            raise InvalidInput("what is said must not be blank")
        memories = self.retrieve_memories(input_text, user_id)
        try:
            answer, note = self._answered(input_text, memories)
        except BaseException:
            # An interrupted call stores what was said.
            self.update_memories(input_text, "", user_id)
            raise
        self.update_memories(input_text, answer, user_id)
        if not note:
            return str(answer)
        return f"{answer}（{note}）" if en_or_zh(input_text) == "zh" else f"{answer} ({note})"

    def _answered(self, text: str, memories: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """The answer, and why it is not the model's, or an empty text."""
        language = en_or_zh(text)
        if self._generate is None:
            return _FromMemory(extract(text, _as_weighted(memories), language)), ""
        prompt = self.create_enhanced_prompt(text, memories)
        try:
            return _answer_text(answer_of(type(self.base_model).__name__, self._generate, prompt)), ""
        except MemwellError as error:
            note = WORDS[language]["failed"].format(error=trouble_of(error, language))
            return _FromMemory(extract(text, _as_weighted(memories), language)), note

    def retrieve_memories(self, query: str, user_id: str | None = None) -> list[dict[str, Any]]:
        """The best memories of every system, each with its ``weight``; the weights add up to 1."""
        found: list[Any] = []
        for name, system in self.memory.memory_systems.items():
            given = system.retrieve(query, user_id)
            found += [one if isinstance(one, Mapping) else {"type": name, "content": one} for one in given]
        return self.attention_weighting(query, found)

    def attention_weighting(self, query: str, memories: Iterable[Any]) -> list[dict[str, Any]]:
        """The best memories, the weightiest first, by softmax over their scores; one without a score gets one."""
        scored: dict[str, dict[str, Any]] = {}
        for one in memories:
            given = dict(cast("Mapping[str, Any]", one)) if isinstance(one, Mapping) else {"content": one}
            text = str(given.get("content", ""))
            given.setdefault("score", _TEMPERATURE * coverage(query, text))
            # An item of working memory may be an episode too.
            if text not in scored or scored[text]["score"] < given["score"]:
                scored[text] = given
        # Answers come before questions.
        best = answers_first(_as_weighted(scored.values()))[:_MOST]
        weights = softmax([one.score for one in best], _TEMPERATURE)
        return [
            {**scored[one.text], "score": one.score, "weight": weight}
            for one, weight in zip(best, weights, strict=True)
        ]

    def create_enhanced_prompt(self, input_text: str, memories: Sequence[Mapping[str, Any]]) -> str:
        """The prompt: the memories, marked as data, and then the text."""
        language = en_or_zh(input_text)
        speaker = "用户：" if language == "zh" else "User: "
        return f"{remembered(_as_weighted(memories), language)}\n\n{speaker}{input_text}"

    def update_memories(self, input_text: str, response: str, user_id: str | None = None) -> None:
        """Learn from a turn: the concepts it defines, and with a user the episode. The turn is in working memory then."""
        try:
            source = self._kept_turn(input_text, response, user_id)
        except InvalidInput:
            # The gate refused the text; the answer was given all the same.
            return
        cognition, said = self.memory.cognition, without_secrets(input_text)
        self._learn_key(self.extract_key_information(said, without_secrets(response)), user_id, source)
        learn_from(cognition, said, user=user_id, source=source)
        if not isinstance(response, _FromMemory):
            learn_unknown(cognition, response, user=user_id, source=source)

    def _learn_key(self, key_info: Mapping[str, Any], user_id: str | None, source: str) -> None:
        """Learn the concept that a turn defines, for this user alone, if the user said it and it is no secret."""
        concept, definition = key_info["concept"], key_info["definition"]
        if not definition or key_info.get("said_by") == "model" or not may_be_learnt(concept, definition):
            return
        # The gate may refuse it, and the turn may be erased by now.
        with suppress(InvalidInput, NotFound):
            self.memory.cognition.semantic.learn(
                concept,
                definition,
                by=user_id or _ANONYMOUS_SOURCE,
                related=key_info["related"],
                source=source,
                user=user_id or "",
            )

    def _kept_turn(self, input_text: str, response: str, user_id: str | None) -> str:
        """Store a turn and return the id of its episode; a turn without a user is only in working memory."""
        cognition = self.memory.cognition
        if not user_id:
            cognition.working_of(_ANONYMOUS).add(without_secrets(input_text.strip()))
            return ""
        episodic, emotion = cognition.episodic, self.analyze_sentiment(input_text)
        id_ = episodic.store(input_text, emotion=emotion, user=user_id, turn=True)
        episodic.answered(id_, str(response))
        cognition.working_of(user_id).add(episodic.get(id_).event, source=id_)
        return id_

    def extract_key_information(self, input_text: str, response: str = "") -> dict[str, Any]:
        """The concept that a turn defines, with related words; its main keyword without a definition otherwise.

        ``said_by`` is ``user`` or ``model``. A definition of the user comes before one of the model.
        """
        for said_by, text in (("user", input_text), ("model", response)):
            found = next((one for one in definitions(text) if not one.denied), None)
            if found is not None:
                return {
                    "concept": found.concept,
                    "definition": found.definition,
                    "related": related_words(found.concept, found.definition),
                    "said_by": said_by,
                }
        words = [one.word for one in keywords(f"{input_text}\n{response}", limit=_MOST + 1)]
        return {"concept": words[0] if words else "", "definition": "", "related": words[1:], "said_by": "user"}

    def analyze_sentiment(self, text: str) -> str:
        """``positive``, ``neutral`` or ``negative``, in English and Chinese."""
        return mood_of(text)

    aprocess_input = asyncify(process_input)


def _cognition(store: str | Path | Backend | MemoryLike, embedder: Any, capacity: int) -> Cognition:
    memory = store if isinstance(store, Memory | HasMemory) else open_memory(store, embedder=embedder)
    return Cognition(memory, capacity=capacity)


def _as_dict(one: Weighted) -> dict[str, Any]:
    return {"type": _NAMES[one.kind], "content": one.text, "score": one.score, "why": one.why, "id": one.id}


def _as_weighted(memories: Iterable[Mapping[str, Any]]) -> list[Weighted]:
    """Memories in the guide's shape as those of cognition."""
    found: list[Weighted] = []
    for one in memories:
        kind = str(one.get("type", ""))
        text, score, weight = str(one.get("content", "")), float(one.get("score", 0.0)), float(one.get("weight", 0.0))
        id_, why = str(one.get("id", "")), str(one.get("why", ""))
        found.append(Weighted(_KINDS.get(kind, kind), id_, text, score, weight, why))
    return found


def _generator(model: Any) -> Callable[[str], Any] | None:
    """The function from a prompt to an answer. Raises ``InvalidInput`` for what is none."""
    if model is None:
        return None
    if isinstance(model, ChatModel):
        return lambda prompt: model.complete([human(prompt)]).text
    # LangChain's models have both, and their generate takes a list of prompts.
    generate = getattr(model, "invoke", None) or getattr(model, "generate", model)
    if not callable(generate):
        raise InvalidInput(f"base_model must have a method generate, be a function or a ChatModel, not {shown(model)}")
    return generate


def _answer_text(answer: object) -> str:
    """The text of an answer. Raises ``BadModelOutput`` when there is none."""
    text = answer if isinstance(answer, str) else getattr(answer, "text", None) or getattr(answer, "content", None)
    if not isinstance(text, str) or not text.strip():
        raise BadModelOutput(f"it answered no text: {shown(answer)}")
    return text
