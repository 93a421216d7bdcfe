"""Knowledge as its users see it: documents go in, come out, and go away as a whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwell.errors import InvalidInput, NotFound
from memwell.knowledge import Chunking, Knowledge, Parsed
from memwell.knowledge.documents import Block
from memwell.models.scripted import HashEmbedder
from memwell.storage import Backend, open_backend
from tests.knowledge.bench import HANDBOOK, SHELF, SHOUCE, Failing, filled, knowledge_over


def test_documents_added_without_an_id_never_collide(knowledge: Knowledge):
    first = [knowledge.add(f"The {one} is kept here.").id for one in ("rake", "spade")]
    second = [knowledge.add(f"The {one} is kept there.").id for one in ("hoe", "saw")]
    assert len({*first, *second}) == 4 == knowledge.count().documents
    assert [hit.text for hit in knowledge.recall("rake")][:1] == ["The rake is kept here."]
    assert knowledge.add("The rake is kept here.").id not in first


def test_a_document_of_a_given_id_is_replaced_as_a_whole_and_the_same_again_changes_nothing(knowledge: Knowledge):
    knowledge.add("\n\n".join(f"Chapter {n} tells of whale number {n}." * 20 for n in range(12)), id="whales")
    assert knowledge.count().chunks > 3
    short = knowledge.add("Only one dolphin.", id="whales", title="Dolphins", metadata={"year": 1})
    assert (short.chunks, knowledge.count().chunks) == (1, 1)
    assert knowledge.text("whales") == "Only one dolphin."
    assert not [hit for hit in knowledge.recall("whale number") if "whale" in hit.text]
    again = knowledge.add("Only one dolphin.", id="whales", title="Dolphins", metadata={"year": 1})
    assert again == short
    assert knowledge.add("Only one dolphin.", id="whales", metadata={"year": 2}).metadata == {"year": 2}


def test_an_unchanged_chunk_keeps_its_vector(backend: Backend):
    embedder = Failing()
    embedder.broken = False
    knowledge = knowledge_over(backend, embedder=embedder, chunking=Chunking(tokens=16, overlap=0, least=0))
    lines = [f"Line {n} speaks of item {n} and of nothing else at all today." for n in range(20)]
    chunks = knowledge.add("\n\n".join(lines), id="list").chunks
    embedder.texts = 0
    lines[7] = "Line 7 now speaks of another thing and of nothing else at all today."
    assert knowledge.add("\n\n".join(lines), id="list").chunks == chunks
    assert 1 <= embedder.texts <= 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""}, {"text": " \n\u3000 "}, {"text": 3}, {"text": "a\x00b"}, {"text": "\ud800"},
        {"text": "a", "id": ""}, {"text": "a", "metadata": {"document": "x"}},
        {"text": "a", "metadata": {"memwell": {}}}, {"text": "a", "metadata": {"x": object()}},
        {"text": "a", "title": 3}, {"text": Parsed("\x00", ())},
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_and_nothing_is_stored(knowledge: Knowledge, wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        knowledge.add(**wrong)
    assert knowledge.count() == (type(knowledge.count()))(0, 0)


def test_documents_can_be_listed_filtered_and_looked_at(knowledge: Knowledge):
    knowledge.add("One.", id="a", title="First", metadata={"team": "red"})
    knowledge.add("Two.", id="b", source="two.txt", metadata={"team": "blue"})
    assert [one.id for one in knowledge.documents()] == ["a", "b"]
    assert [one.id for one in knowledge.documents({"team": "blue"})] == ["b"]
    document = knowledge.get("a")
    assert (document.title, document.size, document.characters, document.chunks) == ("First", 4, 4, 1)
    assert knowledge.text("b") == "Two."
    for ask in (knowledge.get, knowledge.text):
        with pytest.raises(NotFound):
            ask("c")
    assert knowledge.remove("c", "a") == 1
    assert [one.id for one in knowledge.documents()] == ["b"]


def test_spaces_never_see_each_others_documents(backend: Backend):
    mine, yours = filled(knowledge_over(backend, "ann")), knowledge_over(backend, "bob")
    deeper = Knowledge(backend, mine.space, embedder=HashEmbedder(64))
    for other in (yours, deeper):
        assert other.count().documents == 0
        assert other.recall("paid leave") == []
        assert other.answer("How many days of paid leave?").supported is False
        with pytest.raises(NotFound):
            other.text("handbook")
        assert other.remove("handbook") == 0
    yours.add("Bob has no leave.", id="handbook")
    assert mine.text("handbook") != yours.text("handbook")
    yours.erase_all()
    assert mine.count().documents == len(SHELF)


def test_an_embedder_that_fails_leaves_chunks_to_be_found_by_words_and_settle_completes(backend: Backend):
    embedder = Failing()
    told = list[object]()
    knowledge = filled(knowledge_over(backend, embedder=embedder, notify=told.append))
    chunks = knowledge.count().chunks
    assert knowledge.pending().vectors == chunks
    assert told
    assert "28 days" in knowledge.recall("paid leave of employees")[0].text
    assert backend.index.info(knowledge.space).vectors == 0
    embedder.broken = False
    knowledge.flush()
    assert knowledge.pending().vectors == 0
    assert backend.index.info(knowledge.space).vectors == chunks
    assert "dense" in knowledge.recall("paid leave of employees")[0].signals


def test_what_was_added_before_there_was_an_embedder_gets_its_vectors(backend: Backend):
    filled(knowledge_over(backend, embedder=None))
    knowledge = knowledge_over(backend)
    knowledge.flush()
    info = backend.index.info(knowledge.space)
    assert info.vectors == info.records > 0


def test_documents_are_cut_anew_and_the_choice_lasts(backend: Backend):
    knowledge = filled(knowledge_over(backend))
    before = {one.id: one for one in knowledge.documents()}
    seen = list[tuple[int, int | None]]()
    small = Chunking(tokens=24, overlap=0, least=0)
    chunks = knowledge.rechunk(small, lambda done, total: seen.append((done, total)))
    assert chunks == knowledge.count().chunks > sum(one.chunks for one in before.values())
    assert seen[-1] == (len(SHELF), len(SHELF))
    assert {one.id: one.time for one in knowledge.documents()} == {id_: one.time for id_, one in before.items()}
    assert knowledge_over(backend).chunking == small
    hit = knowledge.recall("factory settings")[0]
    assert hit.text == knowledge.text("router")[hit.citation.start : hit.citation.end]
    with pytest.raises(InvalidInput):
        knowledge.rechunk(256)  # pyright: ignore[reportArgumentType]


def test_a_parsed_document_brings_its_title_its_pages_and_its_metadata(knowledge: Knowledge):
    text = "Leave\nPeople rest.\nPay\nPeople earn."
    blocks = (
        Block("heading", 0, 5, 1, 1),
        Block("paragraph", 6, 18, 0, 1),
        Block("heading", 19, 22, 1, 2),
        Block("paragraph", 23, 35, 0, 2),
    )
    parsed = Parsed(text, blocks, "Rules", "application/pdf", 2, {"author": "Ann", "document": "x"}, ("scanned?",))
    knowledge = Knowledge(open_backend("memory:"), "ann", chunking=Chunking(tokens=8, overlap=0, least=0))
    document = knowledge.add(parsed, id="rules", source="docs/rules.pdf", metadata={"team": "red"})
    assert document.metadata == {"author": "Ann", "team": "red"}
    assert (document.title, document.pages, document.warnings) == ("Rules", 2, ("scanned?",))
    hit = knowledge.recall("earn")[0]
    assert (hit.citation.page, hit.citation.headings) == (2, ("Pay",))
    assert str(hit.citation) == "rules.pdf, p. 2 › Pay"
    assert hit.metadata == {"author": "Ann", "team": "red"}


def test_every_call_has_its_async_twin():
    calls = [name for name in vars(Knowledge) if callable(getattr(Knowledge, name)) and not name.startswith("_")]
    blocking = [name for name in calls if f"a{name}" in calls]
    assert sorted(calls) == sorted([*blocking, *(f"a{name}" for name in blocking)])

    async def use() -> str:
        knowledge = knowledge_over(open_backend("memory:"))
        await knowledge.aadd(HANDBOOK, id="handbook")
        await knowledge.aadd(SHOUCE, id="shouce")
        hits = await knowledge.arecall("When are salaries paid?")
        answer = await knowledge.aanswer("员工每年有多少天年假？")
        assert "十天" in answer.text
        assert await knowledge.aremove("shouce") == 1
        return hits[0].text

    assert "25th" in asyncio.run(use())
