"""Which facts about the speaker a question asks for, by its vector: people ask in more ways than rules can list.

``what do I drive?`` and 我开的什么车 ask for what is owned, without a word for it. The model of the package is learnt by
``benchmarks.questions`` for the vectors of the local embedder. It is sure of less than rules are, and says how sure.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.language.asking import asked_of, asks_about_former, asks_whether
from memwell.language.claims import USER
from memwell.language.fact_questions import POLITE, FactQuestion, fact_question
from memwell.language.segment import ascii_words
from memwell.language.subjects import EN_KIN_ENDS
from memwell.longterm.embedding import QueryVector

LEAST: Final = 0.5
"""From this probability on a question is taken to ask for a relation."""
_MOST = 2
"""How many relations a question is taken to ask for."""

Floats = NDArray[np.float32]


class QuestionModel(NamedTuple):
    """The probability that a question asks for each relation, from its vector."""

    embedder: str
    relations: tuple[str, ...]
    weights: Floats
    base: Floats

    def probabilities(self, vector: Floats) -> dict[str, float]:
        """By relation, for the vector of a question."""
        length = float(np.linalg.norm(vector)) or 1.0
        odds = product((vector / length)[None], self.weights)[0] + self.base
        return dict(zip(self.relations, (1.0 / (1.0 + np.exp(-odds))).tolist(), strict=True))

    def fact(self, vector: Floats) -> FactQuestion | None:
        """The fact of the speaker that a question with this vector likely asks for."""
        likely = sorted(self.probabilities(vector).items(), key=lambda one: -one[1])[:_MOST]
        relations = tuple(name for name, probability in likely if probability >= LEAST)
        return FactQuestion(USER, relations, probability=likely[0][1]) if relations else None


@cache
def default_model() -> QuestionModel:
    """The model of the package."""
    with (
        files("memwell.longterm").joinpath("questions.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as found,
    ):
        weights, base = found["weights"].astype(np.float32), found["base"].astype(np.float32)
        return QuestionModel(str(found["embedder"]), tuple(found["relations"].tolist()), weights, base)


def asked_fact(query: str, asked: QueryVector, *, former: bool = False, of_a_time: bool = False) -> FactQuestion | None:
    """The fact that a question asks for: by the rules, or likely, by its vector, where it is about the speaker.

    "Do I still climb?" asks for one thing, and its words say for which; "What did I do in July?" (``of_a_time``) for what
    was then. What was so before is likely asked for only with ``former``.
    """
    found = fact_question(query)
    if found is not None or asked.vector is None or of_a_time or not may_be_of_speaker(query):
        return found
    model = default_model()
    known = asked.model == model.embedder and (former or not asks_about_former(query))
    return model.fact(asked.vector) if known else None


def may_be_of_speaker(query: str) -> bool:
    """Whether a question may ask for a fact of who asks: not of one of their people, and not whether something is so."""
    if "\n" in query.strip() or asks_whether(query) or _COUNTS(query):
        return False
    whom = asked_of(query)
    if whom is None and query.isascii() and EN_KIN_ENDS.isdisjoint(ascii_words(query.replace("'", " "))):
        return _ME(POLITE.sub(" ", query)) is not None
    return whom == ""


_COUNTS = re.compile(
    "\\bhow (?:many|much|long|often|far)\\b|多久|(?<!号)(?<!号码)(?<!电话)(?<!号是)多少|几[个次天年月只条位本回遍]",
    re.IGNORECASE,
).search
"""What is counted is in several memories, or in one that states no such fact."""
_ME = re.compile(r"\b(?:I|me|my|mine|we|our|us)\b", re.IGNORECASE).search
