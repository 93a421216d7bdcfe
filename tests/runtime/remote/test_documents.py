"""Documents behind a service: texts, questions and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from memwell.errors import InvalidInput, NotFound, Unsupported
from memwell.knowledge import Parsed
from memwell.longterm.weights import Weights
from memwell.messages import ai, human
from tests.runtime.remote.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def test_a_text_is_kept_found_asked_and_removed(served: Served):
    with served.memory("texts") as m:
        text = "# Leave\n\nEmployees have thirty days of leave a year.\n\n# 休假\n\n员工每年有三十天假期。"
        kept = m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026})
        assert m.knowledge.add(text, id="hb", source="handbook.md", title="Handbook", metadata={"year": 2026}) == kept
        assert m.knowledge.get("hb") == kept
        assert m.knowledge.documents({"year": 2026}) == [kept]
        assert m.knowledge.documents({"year": 2025}) == []
        assert (m.knowledge.count().documents, m.knowledge.text("hb")) == (1, text)
        found = m.knowledge.recall("how many days of leave?", documents="hb", where={"year": 2026})
        assert text[found[0].citation.start : found[0].citation.end] == found[0].text
        assert "handbook.md" in found[0].citation.in_words()
        assert found[0].why()
        answer = m.knowledge.answer("How many days of leave do employees have?")
        assert "thirty" in answer.text
        history = [human("What about leave?"), ai("What of it?")]
        assert m.knowledge.answer("how many days?", history=history, language="en").text
        m.knowledge.settle()
        assert (m.knowledge.remove("hb", "nothing"), m.knowledge.remove(), m.knowledge.documents()) == (1, 0, [])
        with pytest.raises(NotFound):
            m.knowledge.text("hb")


def test_all_documents_can_go(served: Served):
    with served.memory("all gone") as m:
        for number in range(3):
            m.knowledge.add(f"Text number {number}.")
        assert (m.knowledge.erase_all(), m.knowledge.erase_all(), m.knowledge.count().chunks) == (3, 0, 0)


def test_what_is_refused(served: Served):
    with served.memory("refused") as m:
        with pytest.raises(InvalidInput):
            m.knowledge.add(" ")
        with pytest.raises(InvalidInput):
            m.knowledge.recall("x", limit=-1)
        with pytest.raises(InvalidInput):
            m.knowledge.documents({"$odd": 1})
        with pytest.raises(Unsupported, match="weights"):
            m.knowledge.recall("x", weights=Weights({}))
        with pytest.raises(Unsupported, match="ingest"):
            m.knowledge.add(Parsed("x", ()))
        assert m.knowledge.count().documents == 0


def test_the_async_twins(served: Served):
    async def use() -> list[str]:
        async with served.memory("twins") as m:
            await m.knowledge.aadd("The harbour opens at nine.", id="h")
            return [found.text for found in await m.knowledge.arecall("harbour")]

    assert asyncio.run(use()) == ["The harbour opens at nine."]
