"""Made-up conversations of two people over many sessions, and questions whose evidence is known by construction.

People meet, greet, tell what happened to them, are asked about it and answer. A question is built from the same happening
in other words, so that it shares some words with its evidence, some with the turn before, and some with nothing. Both
people live through happenings of the same kind, listeners repeat what they heard, and later sessions come back to it: these
are the turns that must not be taken for the evidence. The same seed makes the same dialogues.

Question types: *single-hop*, *multi-hop* (several turns), *temporal*, *open-domain* (a conclusion) and *adversarial*, which
asks about the wrong person; its evidence is still the turn where the matter was said.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from benchmarks.recall.evaluate import Query, Sample, Unit
from benchmarks.recall.happenings import CHINESE, ENGLISH, Happening, Phrases

_CUTS = re.compile(r"[，。！？：、,.!?\s\[\]的了我你是在也就都很和有这那]+")
_GLUE = frozenset(
    """about after again also always and because been before could did didn't ever every from have hear here into it's just
    know like love made make more most much never only over really said same should since some sounds such tell than that
    that's the them then there they thing things this time told until very want wanted was went were what when where which
    who why will with without would you your you're""".split()
)


class _Told(NamedTuple):
    """A happening as it was told: who, and which turns hold what."""

    who: int
    happening: Happening
    slots: dict[str, str]
    statement: str
    when: str
    why: str
    answers: list[str]
    month: str


class _Talk:
    """One conversation in the making."""

    def __init__(self, name: str, phrases: Phrases, seed: int) -> None:
        self.name, self.phrases, self.random = name, phrases, random.Random(f"{name}{seed}")
        self.people = self.random.sample(phrases.people, 2)
        self.units: list[Unit] = []
        self.told: list[_Told] = []
        self.moment = datetime(2021 + self.random.randrange(4), 1 + self.random.randrange(12), 3, 15, tzinfo=UTC)
        self.session = 0
        # People live through some of the same things, so that both must be told apart.
        happenings = phrases.read()
        shared = self.random.sample(happenings, min(len(happenings), 26))
        self.plans = [(who, one) for one in shared for who in self._owners()]
        self.random.shuffle(self.plans)

    def _owners(self) -> Sequence[int]:
        return (0, 1) if self.random.random() < 0.35 else (self.random.randrange(2),)

    def hold(self, sessions: int) -> Sample:
        """Let them meet so often, and ask about it."""
        for _ in range(sessions):
            self.session += 1
            self.moment += timedelta(days=self.random.randrange(3, 30), minutes=self.random.randrange(-400, 400))
            self._meet()
        return Sample(self.name, self.units, self._queries())

    def _say(self, who: int, text: str, slots: dict[str, str] | None = None) -> str:
        if slots and self.random.random() < 0.2:
            text = f"{text} {self._pick(self.phrases.questions_back)}"
        filled = self._fill(text, who, slots or {})
        position = sum(unit.session == str(self.session) for unit in self.units)
        identity = f"{self.session}:{position}"
        time = self.moment.timestamp()
        self.units.append(Unit(identity, filled, self.people[who], str(self.session), position, time))
        return identity

    def _fill(self, text: str, who: int, slots: dict[str, str]) -> str:
        filler = self.random.choice(self.phrases.fillers)
        names = {"o": self.people[1 - who], "f": filler, **slots}
        for _ in range(2):  # what is filled in may hold braces itself
            for key, value in names.items():
                text = text.replace("{" + key + "}", value)
        text = " ".join(text.replace(" .", ".").replace(" !", "!").replace(" ,", ",").split())
        return text[:1].upper() + text[1:]

    def _meet(self) -> None:
        first = self.random.randrange(2)
        self._say(first, self._pick(self.phrases.greetings))
        self._say(1 - first, self._pick(self.phrases.news))
        for _ in range(self.random.choice((1, 2, 2, 3))):
            if self.random.random() < 0.35:
                self._chat()
            if self.told and self.random.random() < 0.3:
                self._come_back()
            if self.plans:
                self._tell(*self.plans.pop())
        if self.random.random() < 0.4:
            self._chat()
        self._say(first, self._pick(self.phrases.goodbyes))

    def _pick(self, options: Sequence[str]) -> str:
        return self.random.choice(options)

    def _chat(self) -> None:
        who, (one, other) = self.random.randrange(2), self.random.choice(self.phrases.small_talk)
        self._say(who, one)
        self._say(1 - who, other)

    def _come_back(self) -> None:
        told = self.random.choice(self.told)
        asked, answered = self.random.choice(self.phrases.returns)
        self._say(1 - told.who, asked, told.slots)
        self._say(told.who, answered, told.slots)

    def _slots(self, happening: Happening) -> dict[str, str]:
        phrases = self.phrases
        return {
            "did": happening.did, "do": happening.do, "alt": happening.otherwise, "n0": happening.noun,
            "N": happening.noun[:1].upper() + happening.noun[1:], "n1": happening.other_noun, "why": happening.why,
            "p": self._pick(phrases.places), "w": self._pick(phrases.others), "n": str(self.random.randrange(2, 15)),
            "c": self._pick(phrases.colours),
        }  # fmt: skip

    def _tell(self, who: int, happening: Happening) -> None:
        """The happening is told and asked about; where each thing was said is written down."""
        slots, chance = self._slots(happening), self.random.random
        time = self._pick(self.phrases.times)
        late = bool(time) and chance() < 0.25  # the time comes only when asked for
        slots["t"] = "" if late else time
        slots["T"] = (
            slots["t"][:1].upper() + slots["t"][1:]
            if slots["t"]
            else self._pick(self.phrases.fillers[:4]).rstrip(".。")
        )
        if chance() < 0.6:
            self._say(1 - who, self._pick(self.phrases.openers), slots)
        form = self._pick(self.phrases.statements)
        caption = f" [{happening.photo}]" if chance() < 0.2 else ""
        statement = self._say(who, form + caption, slots)
        when, why = statement, statement if "{why}" in form else ""
        if late:
            self._react(who, slots, self.phrases.when_asked)
            when = self._say(who, self._pick(self.phrases.late_times), {**slots, "u": time})
        answers: list[str] = []
        for detail in happening.details:
            self._react(who, slots, detail.asked)
            caption = f" [{happening.photo}]" if chance() < 0.15 else ""
            answers.append(self._say(who, detail.answer + self._pick(self.phrases.tails) + caption, slots))
        if not why and chance() < 0.5:
            self._react(who, slots, "")
            why = self._say(who, self._pick((self.phrases.because, "{f} " + self.phrases.because)), slots)
        if chance() < 0.4:
            self._react(who, slots, "")
        month = f"{self.moment:%B %Y}" if self.phrases is ENGLISH else f"{self.moment.year}年{self.moment.month}月"
        self.told.append(_Told(who, happening, slots, statement, when, why, answers, month))

    def _react(self, who: int, slots: dict[str, str], asked: str) -> None:
        echo = self._pick(self.phrases.echoes) if self.random.random() < 0.5 else ""
        own = " ".join(self.random.sample(self.phrases.fillers, 2)) if self.random.random() < 0.5 else ""
        self._say(1 - who, f"{self._pick(self.phrases.reactions)} {echo} {own} {asked}", slots)

    def _queries(self) -> list[Query]:
        found: list[tuple[str, str, list[str]]] = []
        for told in self.told:
            found += self._of_one(told)
        found += self._of_many()
        now = self.moment.timestamp() + 86_400
        return [
            Query(str(number), text, frozenset(gold), kind, now)
            for number, (kind, text, gold) in enumerate(dict.fromkeys((k, t, tuple(g)) for k, t, g in found))
        ]

    def _of_one(self, told: _Told) -> list[tuple[str, str, list[str]]]:
        phrases, asked = self.phrases, self._asked
        pairs = [
            ("temporal", asked(self._pick(phrases.whens), told), [told.when]),
            ("single-hop", asked(self._pick(phrases.whats), told), [told.statement]),
            ("open-domain", asked(self._inference(told), told), [told.statement]),
            *(("single-hop", self._about(told, said, before), [turn]) for turn, said, before in self._said(told)),
        ]
        if told.when != told.statement:
            pairs[0][2].append(told.statement)
        if told.why:
            pairs.append(("single-hop", asked(self._pick(phrases.whys), told), [told.why]))
        details = zip(told.happening.details, told.answers, strict=True)
        pairs += [("single-hop", asked(self._worded(detail.later, told), told), [answer]) for detail, answer in details]
        picked = [one for one in pairs if self.random.random() < 0.75]
        # Asked of the other one, who never did it.
        alone = not any(o.happening is told.happening and o.who != told.who for o in self.told)
        wrong = self.random.sample(list(zip(told.happening.details, told.answers, strict=True)), 1) if alone else []
        if alone:
            picked.append(("adversarial", asked(self._pick(phrases.whens), told, other=True), [told.when]))
            turn, said, before = self.random.choice(self._said(told))
            picked.append(("adversarial", self._about(told, said, before, other=True), [turn]))
        for detail, answer in wrong:
            picked.append(("adversarial", asked(self._worded(detail.later, told), told, other=True), [answer]))
        return picked

    def _inference(self, told: _Told) -> str:
        inference = told.happening.inference
        return self.phrases.given.replace("{i}", inference) if self.random.random() < 0.5 else inference

    def _said(self, told: _Told) -> list[tuple[str, str, str]]:
        """Each turn that says something, what it says, and what was asked before it."""
        details = zip(told.answers, told.happening.details, strict=True)
        said = [(told.statement, told.happening.did, told.happening.noun)]
        return said + [(turn, detail.answer, detail.asked) for turn, detail in details]

    def _about(self, told: _Told, said: str, before: str, *, other: bool = False) -> str:
        """A question in words of what was said, of what was asked before it, and of the matter."""
        sources = (said, before, told.happening.noun, told.happening.otherwise)
        count = self.random.choice((2, 2, 3, 4))
        words = [
            self._keyword(self._fill(self.random.choices(sources, (5, 1, 3, 1))[0], 0, told.slots))
            for _ in range(count)
        ]
        joined = self._pick(("", "、", "和")) if self.phrases is CHINESE else self._pick((" ", " and ", " with the "))
        asked = self._pick(self.phrases.about).replace("{k}", joined.join(dict.fromkeys(words)))
        return self._asked(asked, told, other=other)

    def _keyword(self, text: str) -> str:
        if self.phrases is CHINESE:
            pieces = [piece for piece in _CUTS.split(text) if len(piece) > 1] or [text[:4]]
            piece = self._pick(pieces)
            start = self.random.randrange(max(len(piece) - 3, 1))
            return piece[start : start + 4]
        return self._pick(
            [word for word in re.findall(r"[A-Za-z']{4,}", text) if word.lower() not in _GLUE] or ["that"]
        )

    def _worded(self, later: str, told: _Told) -> str:
        """A question in its own words or, as often, in those of the talk."""
        other, same = told.happening.other_noun.removeprefix("the "), told.happening.noun.removeprefix("the ")
        return later.replace(other, same) if self.random.random() < 0.5 else later

    def _asked(self, text: str, told: _Told, *, other: bool = False) -> str:
        who = 1 - told.who if other else told.who
        slots = {**told.slots, "x": self.people[who], "month": told.month, "f": ""}
        return self._fill(text, told.who, slots)

    def _of_many(self) -> list[tuple[str, str, list[str]]]:
        found: list[tuple[str, str, list[str]]] = []
        for who, person in enumerate(self.people):
            mine = [told for told in self.told if told.who == who]
            for category, questions in self.phrases.categories.items():
                gold = [told.statement for told in mine if told.happening.category == category]
                if len(gold) > 1:
                    found += [
                        ("multi-hop", question.strip().replace("{x}", person), gold)
                        for question in questions.split(";")
                    ]
            for one, two in zip(mine[::2], mine[1::2], strict=False):
                question = self._asked(self._pick(self.phrases.pairs).replace("{m0}", two.happening.noun), one)
                found.append(("multi-hop", question, [one.statement, two.statement]))
            for month in sorted({told.month for told in mine}):
                gold = [told.statement for told in mine if told.month == month]
                question = self._pick(self.phrases.months)
                found.append(("temporal", question.replace("{x}", person).replace("{month}", month), gold))
        return found


def dialogues(*, english: int = 14, chinese: int = 8, sessions: int = 15, seed: int = 1) -> list[Sample]:
    """So many conversations in each language, as stores with their questions."""
    talks = [_Talk(f"en-{number}", ENGLISH, seed) for number in range(english)]
    talks += [_Talk(f"zh-{number}", CHINESE, seed) for number in range(chinese)]
    return [talk.hold(sessions) for talk in talks]


__all__ = ["dialogues"]
