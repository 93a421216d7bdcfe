"""The tools over the documents of a memory: look passages up, and have a question answered from them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memwell.knowledge import Found
from memwell.language.quoting import clean
from memwell.runtime.engine import Engine
from memwell.service.mcp.fencing import entry, fenced, language_for, one_line, shortened
from memwell.service.mcp.shapes import Language, Passage, Passages, Reply
from memwell.service.mcp.tool import Answer, Arguments, Tool

_MOST_PASSAGES = 20
_Question = Annotated[str, Meta(min_length=1, max_length=10_000)]


class LookUpArguments(Arguments, frozen=True, kw_only=True):
    """What to look up."""

    query: Annotated[_Question, Meta(description="The question, or what it is about.")]
    limit: Annotated[int, Meta(ge=1, le=_MOST_PASSAGES, description="How many passages at most.")] = 5
    language: Language = None


class AskArguments(Arguments, frozen=True, kw_only=True):
    """What to ask."""

    question: Annotated[_Question, Meta(description="The question.")]
    language: Language = None


def _passage(found: Found, language: str) -> Passage:
    text, cut = shortened(found.text)
    place = found.citation
    return Passage(
        found.id,
        text,
        cut,
        round(found.score, 4),
        one_line(found.why(language=language)),
        place.document,
        one_line(place.in_words(language)),
        place.start,
        place.end,
        place.page,
    )


def _entries(passages: list[Passage]) -> list[str]:
    return [
        entry(number, (one.place,), one.text, (f"document {one.document}", f"{one.start}–{one.end}"))
        for number, one in enumerate(passages, start=1)
    ]


def _look_up(memory: Engine, given: LookUpArguments) -> Answer:
    language = language_for(given.query, given.language)
    passages = [_passage(one, language) for one in memory.knowledge.recall(given.query, limit=given.limit)]
    return Answer(fenced(_entries(passages), language), Passages(passages))


def _ask(memory: Engine, given: AskArguments) -> Answer:
    language = language_for(given.question, given.language)
    answer = memory.knowledge.answer(given.question, language=language)
    sources = [_passage(one, language) for one in answer.sources]
    # The answer may be a sentence of a document, so it stands behind bars as the sources do.
    shown = fenced([entry(0, (answer.note,), answer.text), *_entries(sources)], language)
    return Answer(shown, Reply(clean(answer.text), answer.supported, answer.note, sources))


DOCUMENT_TOOLS = (
    Tool(
        name="look_up",
        title="Look up in documents",
        description=(
            "Find passages in the documents that were added to this memory, with their exact places to cite. Use it for "
            f"what stands in files rather than what was said. At most {_MOST_PASSAGES} passages."
        ),
        takes=LookUpArguments,
        gives=Passages,
        does=_look_up,
    ),
    Tool(
        name="ask",
        title="Ask the documents",
        description=(
            "Answer a question from the documents alone, with the passages it rests on. `supported` is false when they do "
            "not say: then do not present it as an answer."
        ),
        takes=AskArguments,
        gives=Reply,
        does=_ask,
    ),
)

__all__ = ["DOCUMENT_TOOLS"]
