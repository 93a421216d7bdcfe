"""What a Chinese sentence has claimed so far: its claims, the people and pets spoken of, and how a clause corrects them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from memwell.language.claims import chinese_clauses as clauses
from memwell.language.claims import chinese_objects as objects
from memwell.language.claims.chinese_objects import KIN, TYPES, H
from memwell.language.claims.relations import PAST, RELATIONS, STARTED, STATE, Relation, RuleMatch

_LOOSE = frozenset("likes dislikes hobby owns bought plans visited pet allergic_to diet favourite studies".split())
NEAR = 60
RECENT = 8  # How many claims back the last one may be, after those of one clause.
_NO_RELATION = Relation("")


class Person(NamedTuple):
    """Whom a clause is about: the speaker, a named person, or a relative by the English word."""

    name: str = ""
    kin: str = ""


USER = Person()


class ChineseSubject(NamedTuple):
    """The subject of a clause: where it ends, whom it names (empty where unknown), and for a relative whose they are."""

    end: int
    who: tuple[Person, ...] = ()
    owner: Person = USER
    relation: str = ""
    ex: bool = False
    own: bool = True
    """Whether the clause names it, instead of continuing."""


class NotOfSpeaker(NamedTuple):
    """A clause that is about someone else, and whom (no one where that is not known), or that states nothing."""

    start: int
    end: int
    who: tuple[Person, ...]
    states: bool = True


class ChineseState(NamedTuple):
    """What is stripped before a predicate."""

    formerly: bool = False
    denied: bool = False
    ahead: bool = False


_GLUTEN = ("乳糜泻", "麸质病")
"""Illnesses of those who cannot eat it."""


class SaidSoFar:
    """What a sentence claimed so far: of whom the clauses spoke, the last claim and the last pet."""

    def __init__(self, sentence: str) -> None:
        self.asked = False
        self.text = clauses.cleaned(sentence)
        self.found: list[RuleMatch] = []
        self.subject: ChineseSubject | None = ChineseSubject(0, (USER,), own=False)
        self.people: list[Person] = []
        self.supposed: list[tuple[int, int]] = []
        self.about: list[tuple[int, int, ChineseSubject]] = []
        self.men: set[Person] = set()
        self.women: set[Person] = set()
        self.last: RuleMatch | None = None
        self.pet: RuleMatch | None = None
        self.start: int = 0
        self.end: int = 0
        self.first = self.before = self.last_of_sentence = 0
        self.planned = self.further = self.slip = False
        self.wrong: tuple[int, int] | None = None
        self.relatives: dict[Person, ChineseSubject] = {}
        self.kin_words: defaultdict[str, set[str]] = defaultdict(set)
        self.named: dict[str, str] = {}

    def is_of_another(self, subject: ChineseSubject, start: int) -> bool:
        """Whether the subject of a clause is surely not the speaker: who is named before what people do, or is a child.

        So is *she* of whom nothing is known.
        """
        if not subject.who:
            return self.text[subject.end - 1 : subject.end] in ("他", "她")
        name = subject.who[0].name
        young = clauses.YOUNG(self.text, subject.end - len(name)) if name else None
        if young is not None:
            return start < young.end()
        found = clauses.SKIP(self.text, subject.end)
        return bool(name) and clauses.DOES(self.text, found.end() if found else subject.end) is not None

    def _skip(self, at: int) -> int:
        found = clauses.SKIP(self.text, at, self.end)
        return found.end() if found else at

    def _remember(self, subject: ChineseSubject) -> None:
        self.people += [one for one in subject.who if one != USER and one not in self.people[-1:]]
        self.relatives |= {one: subject for one in subject.who if subject.relation}

    def _say(
        self, relation: str, span: tuple[int, int], who: Person, *, negated: bool = False, confidence: float = 0.85
    ) -> None:
        self._keep(
            RuleMatch(relation, *span, self.start, self.end, who.name, who.kin, negated=negated, confidence=confidence)
        )

    def _keep(self, one: RuleMatch) -> None:
        if one.relation == "pet":
            self._keep_pet(one)
            return
        if one.relation == "allergic_to" and self.text[slice(*one[1:3])] in _GLUTEN:
            one = one._replace(object="麸质")
        last = self._same_relation(one)
        if last is not None and one.negated and one.object_start == one.object_end:
            # What ends without an object, ends what was just said: 在北京住了三年，去年搬走了.
            one = last._replace(negated=True, start=one.start, end=one.end)
            del self.found[self._place(last)]
        elif one.negated and one.object_start == one.object_end and (trade := self._given_up(one)) is not None:
            self.found[self._place(trade)] = self.last = trade._replace(negated=True)
            return
        elif last is not None and one.kind == STATE and (self._is_within(one, last) or self._is_way_of(one, last)):
            return
        elif last is not None and not one.negated and (self.slip or self._succeeds(one, last)):
            self.found[self._place(last)] = last._replace(negated=True)
        elif self._left_unnamed(one):
            if one.relation == "works_at":
                one = one._replace(negated=True)
            self.found.pop()
        self.found.append(one)
        self.last = one
        self._correct(one)

    def _same_relation(self, one: RuleMatch) -> RuleMatch | None:
        """The last claim of the same relation and subject, if it holds and is in a clause before."""
        asked = (one.relation, one.subject, one.kin, False)
        known = (old for old in reversed(self.found[-RECENT:]) if old.start < one.start and old.kind != PAST)
        return next((old for old in known if (old.relation, old.subject, old.kin, old.negated) == asked), None)

    def _given_up(self, one: RuleMatch) -> RuleMatch | None:
        """The trade of the clause before that is given up: 干了十年厨师，现在不干了."""
        if one.relation != "works_at" or "不干" not in self.text[one.start : one.end]:
            return None
        return self._same_relation(one._replace(relation="occupation"))

    def _place(self, last: RuleMatch) -> int:
        """Where the last claim is, searched from the end: a text may have thousands."""
        return next(at for at in range(len(self.found) - 1, -1, -1) if self.found[at] == last)

    def _left_unnamed(self, one: RuleMatch) -> bool:
        """Whether the last claim ends a job that this one names: 退休了，以前是司机; 被裁了，在百度干了六年."""
        last = self.found[-1] if self.found else one
        if one.relation == "works_at" and one.kind != PAST and not one.negated:
            if one.kind == STARTED or not clauses.LASTED(self.text, one.object_end, self.end):
                return False
        elif one.relation != "occupation" or not (one.kind == PAST or one.negated):
            return False
        no_object = last.negated and last.object_start == last.object_end
        return no_object and (last.relation, last.subject, last.kin) == ("works_at", one.subject, one.kin)

    def _succeeds(self, one: RuleMatch, last: RuleMatch) -> bool:
        """Whether a value is the one after the last: 后来搬到西安，现在住广州."""
        changed = one.kind == STARTED or clauses.BY_NOW(self.text, one.start, one.object_start)
        same = self.text[slice(*one[1:3])] == self.text[slice(*last[1:3])]
        return one.relation in clauses.CHANGING and one.kind != PAST and not same and bool(changed)

    def _is_within(self, one: RuleMatch, last: RuleMatch) -> bool:
        """Whether a home is a district of the one before: 搬到深圳了，住在南山区."""
        inner, outer = (self.text[place.object_end - 1 : place.object_end] for place in (one, last))
        return one.relation == "lives_in" and inner in clauses.DISTRICTS and outer not in clauses.DISTRICTS

    def _is_way_of(self, one: RuleMatch, last: RuleMatch) -> bool:
        """Whether a trade in words says only how another one of the same sentence is done: 是开货车的，跑长途."""
        trade = one.relation == "occupation" and self.text[one.object_start] in "做搞跑送开修卖种养教写管"
        return trade and last.start >= self.first and last.kind == STATE and not one.negated

    def _correct(self, one: RuleMatch) -> None:
        """After 不是猫 and then a claim, what was denied is denied of it."""
        if self.wrong is not None and not one.negated and self._fits(self.text[slice(*self.wrong)], one):
            first, last = self.wrong
            self.found.append(one._replace(object_start=first, object_end=last, negated=True, kind=STATE))
            self.wrong = None

    def _fits(self, words: str, last: RuleMatch) -> bool:
        """Whether words can be another value of the last claim's relation."""
        if RELATIONS.get(last.relation, _NO_RELATION).people:
            return objects.is_name(words) and not words.endswith(("朋友", "同事", "同学"))
        if last.relation == "birthday":
            return re.fullmatch(rf"{objects.DATE}|(?:19|20)?\d\d年", words) is not None
        if last.relation == "age" or words.endswith("岁"):
            return last.relation == "age" and re.fullmatch(f"{objects.AGE}岁?", words) is not None
        check = TYPES.get(last.relation)
        if check is not None and not check(words):
            return False
        return last.relation.partition(":")[0] not in _LOOSE or (len(words) <= 8 and not clauses.NO_RETURN(words))

    def _keep_pet(self, one: RuleMatch) -> None:
        """A pet by its name and kind if the name is before its kind or follows at once."""
        before = re.search(rf"叫(?P<name>[{H}A-Za-z]{{1,8}}?)的$", self.text[one.start : one.object_start])
        named = None if one.negated or before else clauses.PET_CALLED(self.text, one.object_end)
        self.last = self.pet = one
        self._correct(one)
        if before is None and named is None:
            self.found.append(one)
            also = clauses.ALSO(self.text, one.object_end, self.end)
            if also is not None:
                self.found.append(one._replace(object_start=also.start("kind"), object_end=also.end("kind")))
            return
        first = one.start + before.start("name") if before else named.start("name")  # pyright: ignore[reportOptionalMemberAccess]
        last = first + len(before["name"]) if before else named.end("name")  # pyright: ignore[reportOptionalMemberAccess]
        end = max(one.end, last)
        self.last = one._replace(object_start=first, object_end=last, end=end)
        self.found.append(self.last)
        if not one.negated:
            name = self.text[first:last]
            self.found.append(one._replace(relation="kind", subject=name, kin="", end=end, kind=STATE))

    def _pets(self, at: int) -> bool:
        """The claims of a clause about pets of the speaker or of the owner of the last one."""
        text, end = self.text, self.end
        mine = clauses.MY_PET(text, at, end) if text[at : at + 1] in ("我", "咱", "家", "养") else None
        if mine is not None and (
            mine["name"]
            or not re.match(
                "的?[毛粮砂叫窝店缸翅肉蛋巢食罐头尾塘圈棚汤子名]", text[mine.end("kind") : mine.end("kind") + 1]
            )
        ):
            return self._my_pet(mine)
        each = clauses.EACH(text, at, end)
        if each is not None and ((each["kind"] or each["kind2"]) or self.pet):
            owner = self.pet or RuleMatch("", 0, 0, self.start, end)
            kind = (
                each.span("kind" if each["kind"] else "kind2")
                if (each["kind"] or each["kind2"])
                else (owner.object_start, owner.object_end)
            )
            pet = RuleMatch("pet", *each.span("name"), self.start, end, owner.subject, owner.kin, confidence=0.9)
            word = self.text[slice(*kind)]
            last = self.found[-RECENT:]
            self.found[-RECENT:] = [one for one in last if one.relation != "pet" or self.text[slice(*one[1:3])] != word]
            self.found += [
                pet,
                pet._replace(relation="kind", object_start=kind[0], object_end=kind[1], subject=each["name"], kin=""),
            ]
            self.last = pet
            return True
        named = clauses.PET_NAMED(text, at, end) if self.pet is not None and self.pet is self.found[-1] else None
        if named is not None and self.pet is not None and not self.pet.negated:
            # 我家狗子是领养来的，名字叫豆包
            kind = self.found.pop()
            called = kind._replace(object_start=named.start("name"), object_end=named.end("name"), end=named.end())
            self.found += [called, kind._replace(relation="kind", subject=named["name"], kin="", kind=STATE)]
            self.last = self.pet = called
            return True
        if self.pet is not None:
            more = clauses.MORE_PETS(text, at, end)
            if more is not None:
                self._keep(
                    self.pet._replace(
                        object_start=more.start("kind"), object_end=more.end("kind"), start=self.start, end=end
                    )
                )
            return more is not None or clauses.PET_CALLED(text, at, end) is not None
        return False

    def _my_pet(self, mine: re.Match[str]) -> bool:
        group = "name" if mine["name"] else "apposed" if mine["apposed"] else "kind"
        gone = clauses.PET_GONE(self.text, mine.end(), self.end) is not None
        kind = mine.span("kind")
        pet = RuleMatch("pet", *mine.span(group), self.start, self.end, negated=gone, confidence=0.9)
        if group == "kind" and re.match("(?:的|是)?叫", self.text[mine.end() : mine.end() + 2]):
            return True
        renamed = clauses.PET_RENAMED(self.text, mine.end("kind")) if group == "kind" else None
        if renamed is not None:
            first, last = renamed.span("wrong")
            self.found.append(pet._replace(object_start=first, object_end=last, negated=True))
            mine, group = renamed, "name"
            self.pet = pet = pet._replace(object_start=mine.start("name"), object_end=mine.end("name"))
        if group == "kind" and not gone:
            self._keep_pet(pet)
            return True
        self.found.append(pet)
        self.last = pet
        if group != "kind" and not gone:
            self.found.append(
                pet._replace(relation="kind", object_start=kind[0], object_end=kind[1], subject=mine[group])
            )
        return True

    def _presupposed(self) -> None:
        """The named relatives that a clause speaks of, even where it asks or supposes."""
        mentioned = clauses.MENTIONED(self.text, self.start, self.end)
        if mentioned is not None:
            self.people.append(Person(kin=KIN[mentioned["kin"]].word))
        for found in clauses.PRESUPPOSED(self.text, self.start, self.end):
            if KIN[found["kin"]].relation and objects.is_person(found["name"]):
                ended = found["kin"].startswith("前") or bool(found["ex"])
                self._say(KIN[found["kin"]].relation, found.span("name"), USER, negated=ended)
        at = max(self.start, self.text.find("我家", self.start, self.end))
        mine = clauses.MY_PET(self.text, at, self.end)
        if mine is not None and mine["apposed"]:
            self._say_pet(mine.span("apposed"))
        for aged in clauses.AGED_KIN(self.text, self.start, self.end):
            if not any(one.relation == "age" and one.start == self.start for one in self.found):
                self._say("age", aged.span("age"), Person(kin=KIN[aged["kin"]].word))
        for fond in clauses.FOND_KIN(self.text, self.start, self.end):
            self._say("likes", fond.span("likes"), Person(kin=KIN[fond["kin"]].word))
        eats = clauses.EATS(self.text, self.start, self.end)
        if eats is not None and not self.found:
            self._say_pet(eats.span("kind"))
        walked = clauses.WALKED(self.text, self.start, self.end)
        if walked is not None:
            self._say_pet(walked.span("kind"))

    def _say_pet(self, span: tuple[int, int]) -> None:
        if all(one.object_start != span[0] for one in self.found):
            self.found.append(RuleMatch("pet", *span, self.start, self.end, confidence=0.85))

    def _instead(self) -> bool:
        """A clause that corrects the claim before: 不是王琳, or after what is wrong or was so before, 现在是俊熙."""
        last = self.last
        found = clauses.INSTEAD(self.text, self.start, self.end)
        if found is None or last is None or last.start >= self.start or last.relation in ("email", "phone"):
            return False
        if found["say"] and found["o"] in KIN:
            # The subject was wrong: 我妹在苏州。我是说我表妹.
            self.found[self._place(last)] = last._replace(negated=True)
            self._keep(last._replace(subject="", kin=KIN[found["o"]].word, start=self.start, end=self.end))
            return True
        if self.text.startswith("的", found.end("o")) and RELATIONS.get(last.relation, _NO_RELATION).people:
            return False
        if found["o"].startswith(f"{self.text[slice(*last[1:3])]}的"):
            return False
        renamed = "其实是" in found[0] and RELATIONS.get(last.relation, _NO_RELATION).people
        back = (self.slip or bool(found["say"]) or renamed) and not clauses.VERBAL(
            self.text, max(self.start, found.end("say")), self.end
        )
        if not (found["no"] or found["yes"] or back):
            return False
        no, words, first = found["no"] not in ("", "是"), found["o"], found.start("o")
        thing = None if no else clauses.THING(words)
        if self._is_of_another(words, last, thing):
            return False
        if thing is not None:
            words, first = words[thing.end() :], first + thing.end()
        formerly = bool(clauses.LEAD_FORMER(self.text, self.start, found.start("o"))) and not no
        ended = last.negated or last.kind == PAST
        if not self._fits(words, last) or ((no or formerly) and ended):
            return False
        later = last.relation in clauses.CHANGING and found["yes"] and clauses.BY_NOW(found[0])
        if later and last.relation == "lives_in" and not objects.known_place(words):
            return False
        trip = last.object.startswith("去")
        if not (no or formerly or ended or back or later) or (trip and not objects.known_place(words)):
            return False
        if not (no or formerly or ended):
            self.found[self._place(last)] = last._replace(negated=True)
        till = found.end("o") - (last.relation == "age" and words.endswith("岁"))
        made = last._replace(object_start=first, object_end=till, start=self.start, end=self.end, kind=STATE)
        made = made._replace(negated=no or formerly, object=f"去{words}" if trip else "")
        self.found.append(made)
        if not no:
            self.last = made
        return True

    def _is_of_another(self, words: str, last: RuleMatch, thing: re.Match[str] | None) -> bool:
        """Whether a correction is of a thing that it names (航班是周五，不是周四), and not of the last claim's value."""
        value = self.text[slice(*last[1:3])]
        if thing is None:
            return words != value and bool(clauses.OF_A_THING(self.text, max(last.end, self.start - NEAR), self.start))
        wrong = clauses.NOT_VALUE(self.text, self.end, self.last_of_sentence)
        named = last.relation in ("pet", "name") or RELATIONS.get(last.relation, _NO_RELATION).people
        return not (named and thing[0] == "名字是") and (wrong is None or wrong["o"] != value)

    def _is_exactly(self) -> bool:
        """Whether the clause is only a place, which says more exactly what the last claim does: 是东北的，哈尔滨."""
        last, words = self.last, self.text[self.start : self.end]
        if last is None or last.relation not in ("from", "lives_in"):
            return False
        if TYPES["alma"](words) and last.relation == "lives_in":
            self._keep(
                last._replace(relation="studies_at", object_start=self.start, object_end=self.end, start=self.start)
            )
            return True
        if not objects.known_place(words):
            return False
        self.found[self._place(last)] = self.last = last._replace(object_start=self.start, object_end=self.end)
        return True

    def _cancelled(self) -> bool:
        last = self.last
        if last is None or last.relation != "plans" or not clauses.CANCELLED(self.text, self.start, self.end):
            return False
        words = last.object or self.text[last.object_start : last.object_end]
        self.found += [last._replace(object=words, negated=True, start=self.start, end=self.end)]
        return True
