"""A system with all of it: conversation, knowledge, retrieval and summary, with any OpenAI-compatible model or none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from memwell._asyncify import Closing, asyncify
from memwell.compat.guide.given_texts import add_texts
from memwell.errors import InvalidInput, ModelError
from memwell.history import History
from memwell.knowledge import Chunking, Found, Knowledge
from memwell.language.detect import language_of
from memwell.messages import ai, human
from memwell.models.callables import as_chat_model
from memwell.models.ports import ChatModel
from memwell.runtime.engine import open as open_memory
from memwell.strategies.summary import Extractive, ModelSummariser
from memwell.values import check_text

_OPENAI = "https://api.openai.com/v1"
_SESSION = "default"
_SUMMED_UP = 10
_PASSAGES = 3
_CITED = re.compile(r"\s*\[\d+\]")
_SPEAKERS = {"Human": "用户", "AI": "助手"}
_PLACEHOLDERS = ("your-", "your_", "sk-your", "<")


class SourceDocument(msgspec.Struct, frozen=True):
    """A passage that an answer rests on."""

    page_content: str
    metadata: dict[str, Any]


class IntelligentMemorySystem(Closing):
    """Knowledge in pieces of 1,000 characters that overlap by 200, a conversation that survives, and a model or none.

    ``openai_api_key`` opens OpenAI's API or, with ``base_url``, any that speaks it (Ollama, vLLM); None, and an example's
    placeholder, mean no model. ``llm`` is a model of your own. Nothing is asked before ``chat`` is called.
    """

    def __init__(
        self,
        openai_api_key: str | None = None,
        db_path: str | Path = "memory_system.db",
        *,
        base_url: str = _OPENAI,
        model: str = "gpt-3.5-turbo",
        llm: ChatModel | Any = None,
        session_id: str = _SESSION,
    ) -> None:
        self._server: Closing | None = None
        self.llm = as_chat_model(llm) if llm is not None else self._served(openai_api_key, base_url, model)
        self.engine = open_memory(db_path, chat=self.llm)
        self.text_splitter = Chunking(tokens=1000, overlap=200, length="characters")
        self.vectorstore = Knowledge(
            self.engine.backend,
            self.engine.space,
            embedder=self.engine.embedder,
            chat=self.llm,
            chunking=self.text_splitter,
        )
        self.memory: History = self.engine.thread(session_id)

    def _served(self, key: str | None, base_url: str, model: str) -> ChatModel | None:
        """The model behind a key; None without one."""
        if base_url == _OPENAI and (not key or key.strip().lower().startswith(_PLACEHOLDERS)):
            return None
        # Who has no model does without its client.
        from memwell.models.http import OpenAICompatible  # noqa: PLC0415

        server = self._server = OpenAICompatible(base_url, key=key or None)
        return server.chat(model)

    def add_knowledge(self, documents: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None = None) -> int:
        """Add texts, each with its metadata; how many pieces they were cut into. A text that is there is not added twice.

        Raises ``InvalidInput`` when there are not as many metadatas as documents; then nothing is added.
        """
        pieces = sum(document.chunks for document in add_texts(self.vectorstore, documents, metadatas))
        print(f"成功添加 {pieces} 个知识片段")  # noqa: T201 - the guide's examples show it
        return pieces

    def create_conversation_chain(self) -> ConversationChain:
        """What answers questions: ``chain({"question": …})`` gives ``answer`` and ``source_documents``."""
        return ConversationChain(self)

    def chat(self, query: str) -> dict[str, Any]:
        """The answer, its sources, and a ``note`` when no model or a failing one was behind it. The turn is kept, whatever
        becomes of the model.
        """
        response = self.create_conversation_chain()({"question": query})
        sources = [{"content": one.page_content, "metadata": one.metadata} for one in response["source_documents"]]
        return {"answer": response["answer"], "source_documents": sources, "note": response["note"]}

    def get_conversation_summary(self) -> str:
        """The last ten messages in short: by the model, and by their own sentences when there is none or it fails."""
        messages = [one.changed(content=_CITED.sub("", one.text)) for one in self.memory.last(_SUMMED_UP)]
        if not messages:
            return "暂无对话历史"
        if self.llm is not None:
            try:
                return ModelSummariser(self.llm).fold("", messages)
            except ModelError:
                # The sentences themselves are a summary too.
                pass
        summary = Extractive(200).fold("", messages)
        return _in_chinese(summary) if language_of(summary) == "zh" else summary

    def close(self) -> None:
        """Let go of the store and of the model's connections."""
        self.engine.close()
        if self._server is not None:
            self._server.close()

    aadd_knowledge = asyncify(add_knowledge)
    achat = asyncify(chat)
    aget_conversation_summary = asyncify(get_conversation_summary)


class ConversationChain:
    """Answers questions about the knowledge of a system, and keeps what was said."""

    def __init__(self, system: IntelligentMemorySystem) -> None:
        self._system = system

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ``inputs["question"]``. Raises ``InvalidInput`` when there is none."""
        question = check_text(inputs.get("question", ""), "a question")
        if not question.strip():
            raise InvalidInput("a question must not be empty")
        system = self._system
        before = system.memory.last(2 * _PASSAGES)
        system.memory.add(human(question))
        answer = system.vectorstore.answer(question, limit=_PASSAGES, history=before)
        system.memory.add(ai(answer.text))
        return {
            "question": question,
            "answer": answer.text,
            "source_documents": [_source(one) for one in answer.sources],
            "note": answer.note,
        }

    invoke = __call__


def _in_chinese(summary: str) -> str:
    """The summary with its speakers named in Chinese."""
    for name, chinese in _SPEAKERS.items():
        summary = re.sub(rf"^{name}: ", f"{chinese}：", summary, flags=re.MULTILINE)
    return summary


def _source(one: Found) -> SourceDocument:
    return SourceDocument(one.text, {**one.metadata, "source": one.citation.in_words("zh"), "score": one.score})


__all__ = ["ConversationChain", "IntelligentMemorySystem", "SourceDocument"]
