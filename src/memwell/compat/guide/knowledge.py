"""Knowledge with the guide's names: retrieval with sources, measured tuning, and a system that chats about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import NoneType
from typing import Any

import msgspec

from memwell._asyncify import Closing
from memwell.errors import InvalidInput, ModelError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.history import History
from memwell.knowledge import Answer, Chunking, Citation, Document, Found, Knowledge
from memwell.knowledge.answers import by_itself, holds_secret, quoting, replied
from memwell.knowledge.asking import lacks_measure
from memwell.knowledge.recall import DOCUMENT_WEIGHTS, FeatureReranker
from memwell.knowledge.synonyms import Synonyms
from memwell.knowledge.tuning import Tuned, tune
from memwell.language.asking import asked_part, asks_about_past, coverage, is_question, only_asks
from memwell.language.claims import claims, in_jest
from memwell.language.entities import FIRST_NAMES, entities
from memwell.language.sentences import sentences
from memwell.language.words import en_or_zh, language_of
from memwell.longterm.answering import no_longer_true, telling, telling_of
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import KEY
from memwell.messages import Message, Role, ai, human
from memwell.models.local import LocalEmbedder
from memwell.models.ports import ChatModel, Embedder, as_chat_model
from memwell.records import DEFAULT_SPACE
from memwell.runtime.engine import unread
from memwell.runtime.opening import open as open_memory
from memwell.storage import open_backend
from memwell.strategies.summary import Extractive, ModelSummariser
from memwell.values import check_count, check_list, check_metadata, check_text, check_type, now, shown

CHUNK_SIZES = (100, 200, 500, 1000)
Groups = Mapping[str, Sequence[str]]
_LOCAL_MODELS = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "local")
_HIGHEST = sum(max(curve.shares) for curve in DOCUMENT_WEIGHTS.curves.values())
"""The highest score a passage can have."""
_LONGEST_NAME = 24
_OWN_SHARE, _FEATURE_SHARE = 0.7, 0.3
_OPENAI = "https://api.openai.com/v1"
_SUMMED_UP = 10
_PASSAGES = 3
_RECALLED = 20  # Memories that may answer
_MOST_STATED = 50  # Statements about the user that are quoted at once
_NAMES = {"en": ("Conversation", "Memory"), "zh": ("对话", "记忆")}
_NOTED = {"en": "Noted.", "zh": "记下了。"}
_GREETINGS = (
    (
        r"(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))(?: there| again| everyone)?",
        "Hello! How can I help?",
    ),
    (r"(?:many )?(?:thanks|thank you|thx|cheers)(?: (?:a lot|so much|very much|again))?", "You're welcome."),
    (r"(?:good ?)?bye(?:[- ]?bye)?|good night|see you(?: later| soon| tomorrow)?|farewell", "Goodbye!"),
    (r"ok(?:ay)?|all right|got it|great|fine", "All right."),
    ("好的?|好吧|嗯+|知道了|明白了", "好的。"),
    ("[你您]们?好|哈喽|嗨|早|早上好|上午好|下午好|晚上好|早安", "你好！有什么可以帮你？"),
    ("(?:非常|太|十分)?(?:谢谢|感谢|多谢)(?:[你您啦了]|你们)?", "不客气。"),
    ("再见|拜拜|回头见|明天见|晚安", "再见！"),
)
_REQUESTS = re.compile(
    r"\W*(?:please\s+)?(?:list|show|give|find|search|summari[sz]e|compare|name|write|translate|help|recommend|suggest)\b"
    "|(?:请|帮我?|给我)*(?:列出|查|找|搜|总结|比较|推荐|写|翻译|说说|讲讲|介绍|解释|告诉)",
    re.I,
)
_MAKES = re.compile(
    r"\W*(?:please\s+|(?:can|could|would) you\s+(?:please\s+)?)?(?:write|draft|compose|translate|rewrite|rephrase|proofread"
    r"|help|recommend|suggest|imagine|tell (?:me|us) an? (?:\w+ )?(?:joke|story|riddle|poem))\b"
    "|(?:请|能不能|可以)*(?:你|您|帮我?|给我|为我)*(?:写|翻译|推荐|润色|改写|续写|起个?名|讲个?(?:笑话|故事))",
    re.I,
)
"""A request for something that a model makes, and that is not looked up."""
_STATES = re.compile(
    r"[.!。！]\s*\Z|\b(?:I|I['’]\w+|my|we|our|is|are|was|were|has|have|had|got|will|\w{3,}ed)\b|['’](?:s|re|ll) |[我咱]|"
    "[\u4e00-\u9fff].*(?:[是了有在要每会把被给过]|改到|推迟)",
    re.I,
)
"""A message that is no sentence and is not about the speaker is taken for keywords to look up."""
_ASKS_ABOUT_ME = re.compile(
    r"\b(?:what|everything|all|anything|something|much)\b.{0,12}\byou\b.{0,20}\b(?:about|of) me\b"
    "|[你您].{0,3}(?:知道|了解|记得|记住了?)(?:哪些|什么)?(?:关于)?我的?(?:些|哪些)?(?:什么|多少|事|情况|信息|一切)"
    "|关于我.{0,3}[你您].{0,3}(?:知道|了解|记得)|[你您]对我.{0,3}(?:知道|了解|记得)",
    re.I,
)
_TO_WHOM = re.compile(r"\b(?:tell|give|show|teach|explain to|let) (?:me|us)\b|(?:告诉|给|教|跟)我", re.I)
_GENERALLY = re.compile(
    r"\b(?:how|what|where|when) (?:do|can|should|could|would|must) (?:I|we) (?!live|work|have|like|own)"
    "|我们?(?:该|要|应该)?(?:怎么|如何)",
    re.I,
)
_PRIVATE = re.compile(
    r"\b(?:I|I['’]\w+|we|me|my|mine|us|our|ours|myself|he|she|him|her|his|hers|remember|said|say|told|mentioned|talk\w*|yesterday)\b"
    "|[我咱俺他她]|记得|说过|聊过?|提过|昨天",
    re.I,
)
"""A question about the user, their people or the conversation: only what is known answers it."""
_BEARS = 0.25  # The share of a question that a document which speaks of it has
_CITED = re.compile(r"\s*\[\d+\]")
_SPEAKERS = {"Human": "用户", "AI": "助手"}
_PLACEHOLDERS = ("your-", "your_", "sk-your", "<")


def _add_texts(
    knowledge: Knowledge, texts: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None
) -> list[Document]:
    """Add texts, each with its metadata; a text that is stored with the same metadata is not added again.

    Raises ``InvalidInput`` for what is no list of texts, and for another number of metadatas; then nothing is added.
    """
    several = check_list(texts, "documents must be a list of texts")
    checked = [check_text(text, "a document").strip() for text in several]
    nothing: dict[str, Any] = {}
    listed = [nothing] * len(checked) if metadatas is None else metadatas
    given = [check_metadata(dict(one or nothing)) for one in listed]
    if len(given) != len(checked):
        raise InvalidInput(f"{len(checked)} documents need {len(checked)} metadatas, not {len(given)}")
    return [
        knowledge.add(text, id=_content_id(text, metadata), source=_name(text, metadata), metadata=metadata)
        for text, metadata in zip(checked, given, strict=True)
    ]


def _name(text: str, metadata: Mapping[str, Any]) -> str:
    """The name a text is cited by: the source or title of its metadata, or else its beginning."""
    for key in ("source", "title"):
        if isinstance(metadata.get(key), str) and metadata[key].strip():
            return metadata[key]
    # A citation shows what is behind the last slash.
    begin = " ".join(text.split())[: _LONGEST_NAME + 1].replace("/", "∕")
    return begin if len(begin) <= _LONGEST_NAME else f"{begin[:_LONGEST_NAME]}…"


def _content_id(text: str, metadata: Mapping[str, Any]) -> str:
    """The same id for the same content: a program that runs again adds nothing twice."""
    content = msgspec.json.encode([text, metadata], order="sorted")
    return f"doc_{blake2b(content, digest_size=16).hexdigest()}"


class SimpleRAGSystem(Closing):
    """Documents in one file, found by meaning and words, in English and Chinese.

    ``model_name`` names the bundled embedder; give another one as ``embedder``. Without a ``chat`` model answers are
    sentences of the documents. Raises ``InvalidInput`` for another model name.
    """

    def __init__(
        self,
        model_name: str = "all-MiniLM-L6-v2",
        *,
        store: str | Path = "knowledge_base.db",
        chat: ChatModel | Any = None,
        embedder: Any = "local",
    ) -> None:
        if embedder == "local" and model_name not in _LOCAL_MODELS:
            raise InvalidInput(
                f"the embedder {shown(model_name)} is not here; known: {_LOCAL_MODELS[0]!r}, or give your own as embedder="
            )
        self.engine = open_memory(store, embedder=embedder, chat=chat)
        self.knowledge = self.engine.knowledge

    def add_documents(
        self, documents: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None = None
    ) -> list[str]:
        """Add texts, each with its metadata, and return their ids. The same text with the same metadata is stored once.

        Raises ``InvalidInput`` when there are not as many metadatas as documents; then nothing is added.
        """
        ids = [document.id for document in _add_texts(self.knowledge, documents, metadatas)]
        print(f"成功添加 {len(ids)} 个文档到知识库")  # noqa: T201 - the guide's examples show it
        return ids

    def search(self, query: str, top_k: int = 3) -> list[dict[str, Any]]:
        """The best passages, best first: ``document``, ``metadata``, ``score``, ``distance``, ``citation`` and ``why``.

        A score is from 0 to 1; the distance is 1 minus the score.
        """
        return [_as_dict(one) for one in self.knowledge.recall(query, limit=check_count(top_k, "top_k", least=1))]

    def answer(self, query: str, top_k: int = 3) -> Answer:
        """The answer with its sources; a model that cannot be reached is named in its note."""
        return self.knowledge.answer(query, limit=top_k)

    def generate_answer(self, query: str, top_k: int = 3) -> str:
        """The answer in words, its sources below it, and what a reader must know, such as that no model was asked."""
        found = self.answer(query, top_k)
        lines = [found.text, *(f"[{number}] {one.citation}" for number, one in enumerate(found.sources, 1))]
        return "\n".join([*lines, found.note] if found.note else lines)

    def close(self) -> None:
        """Close the store."""
        self.engine.close()


def _as_dict(one: Found) -> dict[str, Any]:
    score = min(max(one.score / _HIGHEST, 0.0), 1.0)
    return {
        "document": one.text,
        "metadata": one.metadata,
        "distance": 1.0 - score,
        "score": score,
        "citation": str(one.citation),
        "why": one.why(language="zh"),
    }


class RAGOptimizer:
    """Measures chunk sizes, query expansion and reranking on your own texts."""

    @staticmethod
    def optimize_chunk_size(
        text: str, chunk_sizes: Sequence[int] = CHUNK_SIZES, *, embedder: Embedder | None = None
    ) -> int:
        """The size in characters whose chunks answer most questions about the text; ``compare_chunk_sizes`` shows them all.

        Where the sizes differ by no more than chance, it is the one nearest to what is usual. Raises ``InvalidInput`` for
        no text and for sizes that are none.
        """
        sizes = _checked_sizes(chunk_sizes)
        best = RAGOptimizer.compare_chunk_sizes(text, sizes, embedder=embedder).best.tokens
        return min(sizes, key=lambda size: (abs(size - best), size))

    @staticmethod
    def compare_chunk_sizes(
        text: str, chunk_sizes: Sequence[int] = CHUNK_SIZES, *, embedder: Embedder | None = None
    ) -> Tuned:
        """All that was measured; ``table()`` shows it."""
        if not check_text(text, "a text").strip():
            raise InvalidInput("there is no text to measure with")
        return tune(
            [text],
            embedder=embedder or LocalEmbedder(),
            sizes=_checked_sizes(chunk_sizes),
            length="characters",
        )

    @staticmethod
    def improve_retrieval_accuracy(
        queries: Sequence[str],
        documents: Sequence[str],
        top_k: int = 5,
        *,
        synonyms: Groups | None = None,
        embedder: Embedder | None = None,
    ) -> dict[str, Any]:
        """Two functions to use, ``query_expansion(query)`` and ``reranking(query, results)``, and what they do to your
        queries: ``results`` has, for each, the documents found without and with them.

        ``synonyms`` adds to the table that comes along. Raises ``InvalidInput`` for queries or documents that are no lists.
        """
        table = Synonyms.bundled() if synonyms is None else Synonyms.bundled().extended(synonyms)
        asked = [check_text(query, "a query") for query in check_list(queries, "queries must be a list of texts")]
        rerank = _reranking(FeatureReranker())
        with open_backend("memory:") as backend:
            knowledge = Knowledge(backend, DEFAULT_SPACE, embedder=embedder or LocalEmbedder(), synonyms=table)
            _add_texts(knowledge, documents, None)
            results = {
                query: _before_and_after(knowledge, query, check_count(top_k, "top_k", least=1), rerank)
                for query in asked
            }
        return {"query_expansion": table.expand, "reranking": rerank, "results": results}


def _before_and_after(knowledge: Knowledge, query: str, top_k: int, rerank: Callable[..., Any]) -> dict[str, list[str]]:
    plain = knowledge.recall(query, limit=top_k, expand=False)
    wider = [{"document": one.text, "score": one.score} for one in knowledge.recall(query, limit=2 * top_k)]
    return {
        "before": [one.text for one in plain],
        "after": [one["document"] for one in rerank(query, wider)[:top_k]],
    }


def _reranking(judge: FeatureReranker) -> Callable[[str, Sequence[Mapping[str, Any]]], list[dict[str, Any]]]:
    def rerank(query: str, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Results in a new order, each with a ``reranked_score``: most of it its own score, the rest what its words say."""
        features = judge.scores(query, [str(one["document"]) for one in results])
        top = max(features, default=0.0) or 1.0
        judged = [
            {**one, "reranked_score": _OWN_SHARE * float(one.get("score", 0.0)) + _FEATURE_SHARE * feature / top}
            for one, feature in zip(results, features, strict=True)
        ]
        return sorted(judged, key=lambda one: -one["reranked_score"])

    return rerank


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    given = check_list(sizes, "chunk_sizes must be a list of sizes")
    if not given:
        raise InvalidInput(f"chunk_sizes must be a list of sizes, not {shown(sizes)}")
    return tuple(Chunking(tokens=size, overlap=0, least=0, length="characters").tokens for size in given)


class SourceDocument(msgspec.Struct, frozen=True):
    """A passage that an answer rests on."""

    page_content: str
    metadata: dict[str, Any]


class IntelligentMemorySystem(Closing):
    """Knowledge in chunks of 1,000 characters that overlap by 200, a stored conversation, and an optional model.

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
        session_id: str = "default",
    ) -> None:
        self._server: Closing | None = None
        self.llm = as_chat_model(llm) if llm is not None else self._model_of_key(openai_api_key, base_url, model)
        # The model answers; it does not read every message for facts as well.
        self.engine = open_memory(db_path)
        self.text_splitter = Chunking(tokens=1000, overlap=200, length="characters")
        self.vectorstore = Knowledge(
            self.engine.backend,
            self.engine.space,
            embedder=self.engine.embedder,
            chat=self.llm,
            chunking=self.text_splitter,
        )
        self.memory: History = self.engine.thread(session_id)

    def _model_of_key(self, key: str | None, base_url: str, model: str) -> ChatModel | None:
        """The model behind a key; None without one."""
        check_type(key, (str, NoneType), "a key must be text")
        if base_url == _OPENAI and (not key or key.strip().lower().startswith(_PLACEHOLDERS)):
            return None
        # Without a model its client is not loaded.
        from memwell.models.http import OpenAICompatible  # noqa: PLC0415

        server = self._server = OpenAICompatible(base_url, key=key or None)
        return server.chat(model)

    def add_knowledge(self, documents: Sequence[str], metadatas: Sequence[Mapping[str, Any]] | None = None) -> int:
        """Add texts, each with its metadata, and return the number of their chunks. A stored text is not added again.

        Raises ``InvalidInput`` when there are not as many metadatas as documents; then nothing is added.
        """
        pieces = sum(document.chunks for document in _add_texts(self.vectorstore, documents, metadatas))
        print(f"成功添加 {pieces} 个知识片段")  # noqa: T201 - the guide's examples show it
        return pieces

    def create_conversation_chain(self) -> ConversationChain:
        """What answers questions: ``chain({"question": …})`` gives ``answer`` and ``source_documents``."""
        return ConversationChain(self)

    def chat(self, query: str) -> dict[str, Any]:
        """The answer, its sources, and a ``note`` when there is no model or it failed. The turn is stored in any case.

        The documents answer, and what the user said in this conversation and in memories; not what the assistant said.
        """
        response = self.create_conversation_chain()({"question": query})
        sources = [{"content": one.page_content, "metadata": one.metadata} for one in response["source_documents"]]
        return {"answer": response["answer"], "source_documents": sources, "note": response["note"]}

    def get_conversation_summary(self) -> str:
        """A summary of the last ten messages: by the model, or of their own sentences without one or when it fails."""
        last = (one for one in self.memory.last(_SUMMED_UP) if not holds_secret(one.text))
        messages = [one.changed(content=_CITED.sub("", one.text)) for one in last]
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
        """Close the store and the model's connections."""
        self.engine.close()
        if self._server is not None:
            self._server.close()


class ConversationChain:
    """Answers questions about the knowledge of a system, and stores the conversation."""

    def __init__(self, system: IntelligentMemorySystem) -> None:
        self._system = system

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Answer ``inputs["question"]``. Raises ``InvalidInput`` when there is none."""
        question = check_text(inputs.get("question", ""), "a question")
        if not question.strip():
            raise InvalidInput("a question must not be empty")
        system = self._system
        before = system.memory.last(2 * _PASSAGES)
        [asked] = system.memory.add(human(question))
        _remember(system)
        noted = _NOTED[en_or_zh(question)] if _tells(question) else ""
        # A secret is not sent to a model.
        own = noted if system.llm is None or holds_secret(question) else ""
        if reply := _greeting(question) or own:
            answer = Answer(question, reply, supported=False, extractive=True)
        elif system.llm is not None and (noted or _MAKES.match(question)):
            answer = replied(system.llm, question, history=before, otherwise=noted)
        else:
            answer = _answer(system, asked, before)
        system.memory.add(ai(answer.text))
        return {
            "question": question,
            "answer": answer.text,
            "source_documents": [_source_document(one) for one in answer.sources],
            "note": answer.note,
        }

    invoke = __call__


def _greeting(text: str) -> str:
    """The reply to a message that only greets, thanks, takes leave, or has no word and asks nothing; nothing for others."""
    if not any(char.isalnum() or char in "?？" for char in text):
        return "🙂"
    said = text.strip().strip(".!,~。！，～ ")
    return next((reply for greeting, reply in _GREETINGS if re.fullmatch(greeting, said, re.I)), "")


def _tells(text: str) -> bool:
    """Whether a message states something, and neither asks nor requests anything: also without a question mark."""
    if any(is_question(one.text) for one in sentences(text)) or _only_requests(text) or _asks_unmarked(text):
        return False
    return bool(_STATES.search(text) or in_jest(text) or claims(text, time=now()))


_AUXILIARY = "(?:have|has|had|am|are|is|was|were|do|does|did|can|could|will|would|should) (?:I|we|my)"
_ASKS_UNMARKED = re.compile(
    r"(?:哪[天年月位家所种款]|几[号点岁个月年]|谁|啥|多[大少高重久远]|[怎咋]么?|什么|属相|要不要|能不能|是不是|有没有|会不会)"
    r"(?!都|也|就)[^。！!，,]{0,12}\Z|[^。！!，,]{1,8}(?:不|没)\W*\Z"
    rf"|(?:\A\W*|, ){_AUXILIARY}\b[^.!]*\Z"
    rf"|\b(?:who|what|which|where|when|how (?:much|many|old|long|often))\b[^.!]{{0,60}}\b{_AUXILIARY}\b[^.!]*\Z",
    re.IGNORECASE,
).search
"""How people ask on phones, without a mark: 我生日是哪天, "planning dinners, do I eat meat or not"."""


_LONGEST_UNMARKED = 120


def _asks_unmarked(text: str) -> bool:
    short = len(text) <= _LONGEST_UNMARKED
    return short and _ASKS_UNMARKED(text) is not None and not claims(text, time=now())


def _only_requests(text: str) -> bool:
    return _REQUESTS.match(text) is not None and not claims(text, time=now())


def _in_chinese(summary: str) -> str:
    """The summary with its speakers named in Chinese."""
    for name, chinese in _SPEAKERS.items():
        summary = re.sub(rf"^{name}: ", f"{chinese}：", summary, flags=re.MULTILINE)
    return summary


def _remember(system: IntelligentMemorySystem) -> None:
    """Remember what the user stated in the conversation since the last time, so that facts and recall know it."""
    for page in unread(system.engine, system.memory.thread.id):
        if said := [one for one in page if one.role is Role.HUMAN and _is_statement(one.text)]:
            system.engine.remember(said, session=system.memory.thread.id)


def _is_statement(text: str) -> bool:
    return not (only_asks(text) or _asks_unmarked(text) or _only_requests(text) or _greeting(text))


def _answer(system: IntelligentMemorySystem, asked: Message, before: Sequence[Message]) -> Answer:
    """The answer to a message from the documents, and from what the user said before it."""
    question, memory = _asking(asked.text), system.engine.memory
    about_me = _ASKS_ABOUT_ME.search(question) is not None
    heard = partial(_is_heard, system)
    stating = telling_of(memory, heard=heard)[-_MOST_STATED:] if about_me else telling(memory, question, heard)
    known = [_found(one, question) for one in stating]
    recalled = _recalled(system, asked, question)
    said = [_found(one, question) for one in sorted(recalled, key=lambda one: (one.time, one.id), reverse=True)]
    whole = question if system.llm is None else asked.text
    chat = system.llm if not known and _is_general(system, question, said) else None
    if chat is not None and all(coverage(question, one.text) < _BEARS for one in said):
        return by_itself(chat, asked.text, history=before)
    answer = system.vectorstore.answer(whole, limit=_PASSAGES, history=before, said=said, known=known)
    if chat is not None and not answer.supported and not answer.extractive:
        # The model found nothing in what was said.
        return by_itself(chat, asked.text, history=before)
    # A fact is as current as the facts are.
    return answer if known or asks_about_past(question) else _current(answer, recalled)


def _is_general(system: IntelligentMemorySystem, question: str, said: Sequence[Found]) -> bool:
    """Whether a question is about the world: not about the user, someone they know, or what a document speaks of."""
    if holds_secret(question) or _PRIVATE.search(_GENERALLY.sub(" ", _TO_WHOM.sub(" ", question))):
        return False
    names = [one.text for one in entities(question) if one.kind in ("person", "unknown")]
    if any(name in FIRST_NAMES or any(name in one.text for one in said) for name in names):
        return False
    passages = system.vectorstore.recall(question, limit=_PASSAGES)
    return all(coverage(question, f"{one.citation.title} {one.text}") < _BEARS for one in passages)


def _is_heard(system: IntelligentMemorySystem, one: Recalled) -> bool:
    """Whether the user said it, in this conversation or in none."""
    return one.trust == "user" and one.session in ("", system.memory.thread.id) and _is_statement(one.text)


def _asking(text: str) -> str:
    """The questions of a message that also states something; others whole."""
    asks = [one.text.strip() for one in sentences(text) if only_asks(one.text)]
    return " ".join(asks) if asks else text


def _stated(text: str) -> str:
    """A message without its questions; one that only asks whole."""
    whole = text
    for one in reversed(sentences(text)):
        if only_asks(one.text):
            text = text[: one.start] + text[one.end :]
    return text.strip() or whole


def _recalled(system: IntelligentMemorySystem, asked: Message, question: str) -> list[Recalled]:
    """What the user said before that may answer a message, the best first, without jests."""
    hits = system.engine.recall(asked_part(question), limit=_RECALLED, where=_heard_in(system.memory.thread.id))
    own = asked.id if question == asked.text else ""
    heard = [one for one in hits if one.id != own and _is_heard(system, one) and not in_jest(one.text)]
    jests = {one.id for one in hits if in_jest(one.text)}
    over = no_longer_true(system.engine.memory, question, partial(_is_heard, system))
    by_id = {one.id: one for one in heard if one.superseded_by not in jests and one.id not in over}
    # What is outdated answers only if what is so now does.
    newest = {id_: _newest(by_id, id_) for id_ in by_id}
    return [one for one in by_id.values() if not (new := newest[one.id]) or not lacks_measure(question, new.text)]


def _heard_in(session: str) -> Filter:
    own, none = Where((KEY, "session"), "eq", session), Not(Where((KEY, "session"), "exists"))
    return AllOf((AnyOf((own, none)), Not(Where((KEY, "trust"), "exists"))))


def _current(answer: Answer, recalled: Sequence[Recalled]) -> Answer:
    """The answer; where it quotes what a later statement of the user made outdated, that statement instead."""
    by_id = {one.id: one for one in recalled}
    newest = {one.id: _newest(by_id, one.id) for one in answer.sources}
    if not answer.extractive or not any(newest.values()):
        return answer
    found = [one if (new := newest[one.id]) is None else _found(new, answer.question) for one in answer.sources]
    return quoting(answer.question, {one.id: one for one in found}.values())


def _newest(by_id: Mapping[str, Recalled], id_: str) -> Recalled | None:
    """The last of those that supersede a memory one after the other; None for one that is current."""
    found = None
    while id_ in by_id and (later := by_id.get(by_id[id_].superseded_by)):
        found, id_ = later, later.id
    return found


def _found(one: Recalled, question: str) -> Found:
    name = _NAMES[en_or_zh(question)][not one.session]
    text = _stated(one.text)
    return Found(one.id, text, 0.0, Citation(one.id, "", name, 0, len(text)), {}, {}, question)


def _source_document(one: Found) -> SourceDocument:
    return SourceDocument(one.text, {**one.metadata, "source": one.citation.in_words("zh"), "score": one.score})
