"""Who says what a fragment is worth and what can be concluded from it: the contracts, and rules that need no model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from memwell.compat.dbgpt.fragments import InsightMemoryFragment, MemoryFragment
from memwell.language.claims import Claim, claims
from memwell.language.sentences import sentences
from memwell.language.summary import lines_of, summarise, written
from memwell.longterm.traits import importance_of
from memwell.values import now

T = TypeVar("T", bound=MemoryFragment)

_HIGHEST = 10.0
_FEWEST_SENTENCES = 3
"""A text of fewer sentences is its own summary."""
_SHARE = 3
"""A summary has this part of the text's characters at most."""


class InsightExtractor(ABC, Generic[T]):
    """Concludes something from a fragment."""

    @abstractmethod
    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        """What can be concluded; it may hold nothing. Whatever this raises reaches who wrote the fragment."""


class ImportanceScorer(ABC, Generic[T]):
    """Says how much a fragment matters."""

    @abstractmethod
    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        """From 0 to 10. Whatever this raises reaches who wrote the fragment."""


class ContentImportanceScorer(ImportanceScorer[T]):
    """Scores by rule, the same for the same text: facts, names, numbers, dates and decisions weigh more than small talk."""

    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        text = memory_fragment.raw_observation
        return _HIGHEST * importance_of(text, claims=len(_claims(text)))


class SentenceInsightExtractor(InsightExtractor[T]):
    """Finds by rule what a long text says at its core, in its own sentences: those that state facts, or that weigh most.

    Insights are shorter than the text they are taken from. A text of one or two sentences has none.
    """

    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        return InsightMemoryFragment(memory_fragment, _insights(memory_fragment.raw_observation))


def _claims(text: str) -> list[Claim]:
    # What is claimed does not hang on the day, only the dates of a claim do, and those are not asked for.
    return claims(text, time=now())


def _insights(text: str) -> list[str]:
    spans = sentences(text)
    if len(spans) < _FEWEST_SENTENCES:
        return []
    starts = [claim.start for claim in _claims(text)]
    stating = [span.text.strip() for span in spans if any(span.start <= at < span.end for at in starts)]
    found = list(dict.fromkeys(stating)) or [written(summarise(lines_of("", text), limit=len(text) // _SHARE))]
    return [one for one in found if one] if sum(map(len, found)) < len(text.strip()) else []


__all__ = ["ContentImportanceScorer", "ImportanceScorer", "InsightExtractor", "SentenceInsightExtractor"]
