"""How many of the facts that sentences state are read from them, and how many of those read are right.

A data set is JSON: a list of sentences, each ``{"text": …, "facts": [[subject, relation, object, "now" or "ended"], …]}``,
or such lists by name, nested as deep as you like. A fact is right when its subject, relation, object and state are; an
object may have more words around it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims import Claim, claims
from memwell.language.claims.relations import known_relation
from memwell.longterm.indexing import Extracted, SaidText, model_claims
from memwell.models.ports import ChatModel

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
"""When the sentences are said."""
_TOGETHER = 16
_SMALL = re.compile(r"\b(?:a|an|the|my|our|his|her|their|some|any|to|in|at|on|for|of)\b|[^\w]+|[的了]", re.IGNORECASE)
_ALIKE = (frozenset({"likes", "hobby"}), frozenset({"bought", "owns"}), frozenset({"partner", "married_to"}))
_UNLABELLED = frozenset(("kind", "believes", "works_in", "studies_in"))
"""Relations that are not labelled, so that none of them is wrong."""
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}
_KIN = {"mom": "mother", "mum": "mother", "dad": "father", "wife": "partner", "husband": "partner"}


class LabelledSentence(msgspec.Struct, frozen=True):
    """A sentence with the facts that a careful reader would note."""

    text: str
    facts: list[tuple[str, str, str, Literal["now", "ended"]]]
    kind: str = ""


class ReadFact(NamedTuple):
    """A fact as it is compared."""

    subject: str
    relation: str
    object: str
    ended: bool

    def __str__(self) -> str:
        return f"{self.subject} {self.relation} {self.object}".rstrip() + (" (ended)" if self.ended else "")

    def is_same(self, other: ReadFact) -> bool:
        """Whether both say the same."""
        if _plain(self.subject) != _plain(other.subject):
            return False
        if self.ended is not other.ended:
            return _OPPOSITE.get(self.relation) == other.relation and _same_words(self.object, other.object)
        if self.ended and not (self.object and other.object):
            return self.relation == other.relation
        relations = {self.relation, other.relation}
        alike = len(relations) == 1 or any(relations <= group for group in _ALIKE)
        return alike and _same_words(self.object, other.object)


def _plain(text: str) -> str:
    words = _SMALL.sub(" ", text.lower().replace("'s", " ")).split()
    return " ".join(_KIN.get(word, word) for word in words)


def _same_words(one: str, other: str) -> bool:
    one, other = _plain(one).replace(" ", ""), _plain(other).replace(" ", "")
    return bool(one and other) and (one in other or other in one)


class JudgedSentence(NamedTuple):
    """What was made of one sentence."""

    kind: str
    text: str
    right: list[ReadFact]
    missed: list[ReadFact]
    wrong: list[ReadFact]
    failure: str = ""
    """Why a chat model read nothing from it, if it gave no usable answer."""

    def mistakes(self) -> list[tuple[str, str]]:
        """What is *missed*, and what is *wrong*, each as a fact in words."""
        pairs = (("missed", self.missed), ("wrong", self.wrong))
        return [(what, f"{one}") for what, some in pairs for one in some]


class FactShares(NamedTuple):
    """How many facts are stated and read, and in percent how many of each are right; None of nothing."""

    facts: int
    read: int
    precision: float | None
    recall: float | None

    @classmethod
    def of(cls, some: Sequence[JudgedSentence]) -> FactShares:
        """The shares of sentences together."""
        right, missed, wrong = (sum(len(one[place]) for one in some) for place in (2, 3, 4))
        return cls(right + missed, right + wrong, _percent(right, right + wrong), _percent(right, right + missed))


def _percent(some: int, of: int) -> float | None:
    return round(100 * some / of, 1) if of else None


def load(path: Path) -> dict[str, list[LabelledSentence]]:
    """The lists of a data set by name; a list alone has the file's name.

    Raises ``InvalidInput`` for what is no data set, and for a relation that is not known, with those that are.
    """
    try:
        found = dict(_lists(json.loads(path.read_text("utf-8")), path.stem))
    except OSError as error:
        raise InvalidInput(f"the data set {str(path)!r} cannot be read: {error}") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{str(path)!r} holds no sentences with their facts: {error}") from error
    for relation in dict.fromkeys(fact[1] for some in found.values() for one in some for fact in one.facts):
        known_relation(relation)
    return found


def _lists(data: object, name: str) -> Iterator[tuple[str, list[LabelledSentence]]]:
    if isinstance(data, Mapping):
        for key, value in cast("Mapping[str, object]", data).items():
            yield from _lists(value, f"{name}, {key}")
    else:
        yield name, msgspec.convert(data, list[LabelledSentence])


def judge(
    sentences: Sequence[LabelledSentence],
    chat: ChatModel | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[JudgedSentence]:
    """What the rules, or a chat model, read from sentences, compared with what they state.

    Where the model gave no usable answer, nothing is read: what the rules read instead is not its merit.
    """
    found: list[JudgedSentence] = []
    for at in range(0, len(sentences), _TOGETHER):
        some = sentences[at : at + _TOGETHER]
        if chat is None:
            read = [Extracted(tuple(claims(one.text, time=NOW)), (), "rules") for one in some]
        else:
            read = model_claims(chat, [SaidText(one.text, "", NOW) for one in some])
        found += [_judged(*one) for one in zip(some, read, strict=True)]
        progress(len(found))
    return found


def _judged(sentence: LabelledSentence, read: Extracted) -> JudgedSentence:
    failure = read.reasons[0] if read.source == "rules" and read.reasons else ""
    missed = [
        ReadFact(subject, relation, object_, state == "ended") for subject, relation, object_, state in sentence.facts
    ]
    right: list[ReadFact] = []
    wrong: list[ReadFact] = []
    for found in dict.fromkeys(
        _as_read(one) for one in (() if failure else read.claims) if one.relation not in _UNLABELLED
    ):
        same = next((fact for fact in missed if fact.is_same(found)), None)
        if same is not None:
            missed.remove(same)
            right.append(same)
        elif not any(fact.is_same(found) for fact in right):
            wrong.append(found)
    return JudgedSentence(sentence.kind, sentence.text, right, missed, wrong, failure)


def _as_read(claim: Claim) -> ReadFact:
    ended = claim.negated or (claim.valid_to is not None and claim.valid_to <= NOW)
    return ReadFact(claim.subject, claim.relation, claim.object, ended)


def summary(some: Sequence[JudgedSentence]) -> dict[str, Any]:
    """The shares of all, and for each relation and kind, as plain data."""
    names = Counter(name_of(fact) for one in some for fact in (*one.right, *one.missed))
    return {
        **FactShares.of(some)._asdict(),
        "relations": {
            name: FactShares.of([_only(one, name) for one in some])._asdict() for name, _ in names.most_common()
        },
        "kinds": {
            kind: FactShares.of([one for one in some if one.kind == kind])._asdict()
            for kind in dict.fromkeys(one.kind for one in some)
        },
    }


def name_of(fact: ReadFact) -> str:
    """The relation without what it is narrowed to: ``favourite`` of ``favourite:colour``."""
    return fact.relation.partition(":")[0]


def _only(one: JudgedSentence, name: str) -> JudgedSentence:
    right, missed, wrong = ([fact for fact in facts if name_of(fact) == name] for facts in one[2:5])
    return JudgedSentence(one.kind, one.text, right, missed, wrong)
