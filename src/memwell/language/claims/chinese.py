"""Reads claims from Chinese sentences: clause by clause, the subject first, then what its predicate states.

A clause without a subject continues the one before; the first one is the speaker's. What is asked, supposed, doubted,
quoted or part of a story states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memwell.language.claims import chinese_clauses as clauses
from memwell.language.claims import chinese_frames as frames
from memwell.language.claims import chinese_objects as objects
from memwell.language.claims.chinese_frames import (
    CLAUSES,
    FAMILIES,
    GOING,
    WILL,
    ChineseFrame,
    relation_of_group,
)
from memwell.language.claims.chinese_objects import KIN, TYPES
from memwell.language.claims.chinese_said import (
    NEAR,
    RECENT,
    USER,
    ChineseState,
    ChineseSubject,
    NotOfSpeaker,
    Person,
    SaidSoFar,
)
from memwell.language.claims.relations import (
    CHINESE_FAVOURITES,
    EVENT,
    PAST,
    PLAN,
    STARTED,
    STATE,
    RuleMatch,
)
from memwell.language.entities import is_a_word

_LONGEST_CLAUSE, _MOST_PREDICATES, _NEAREST = 200, 3, 4


def chinese(sentence: str) -> Iterator[RuleMatch]:
    """The claims of a Chinese sentence; 我叫 Kevin is read as 我叫Kevin."""
    kept = _without_spaces(sentence)
    if len(kept) > len(sentence):
        yield from clauses.each_named(sentence, _Reading(sentence).read())
        return
    ends = [0, *(at + 1 for at in kept)]
    for one in _Reading("".join(sentence[at] for at in kept[:-1])).read():
        empty = one.object_start == one.object_end
        yield one._replace(
            object_start=kept[one.object_start],
            object_end=(kept if empty else ends)[one.object_end],
            start=kept[one.start],
            end=ends[one.end],
        )


def _without_spaces(sentence: str) -> list[int]:
    """Where the characters of a sentence are, without the spaces around Latin words; and its end."""
    spaces = {at for found in clauses.LATIN(sentence) for group in (1, 2, 3) for at in range(*found.span(group))}
    return [at for at in range(len(sentence) + 1) if at not in spaces]


def not_of_speaker(sentence: str) -> list[NotOfSpeaker]:
    """The clauses of a Chinese sentence that are about who does something by name (雯雯入职了), or whom only 她 names.

    And those that state nothing, of anyone: 万一我被外派, or all that is laughed about.
    """
    kept = _without_spaces(sentence)
    reading = _Reading("".join(sentence[at] for at in kept[:-1]))
    reading.read()
    supposed = [NotOfSpeaker(kept[start], kept[end], (), states=False) for start, end in reading.supposed]
    return supposed + [
        NotOfSpeaker(kept[start], kept[end], subject.who)
        for start, end, subject in reading.about
        if subject.own and reading.is_of_another(subject, start)
    ]


class _Stating(SaidSoFar):
    """Reads the predicates of a clause by the frames."""

    def _predicates(self, at: int, subject: ChineseSubject, state: ChineseState) -> None:
        """The claims of the predicates from a position to the end of the clause."""
        if subject.own and subject.who == (USER,) and self._pets(self.start):
            return
        for turn in range(_MOST_PREDICATES):
            self.further = turn > 0
            end = self._predicate(at, subject, state)
            if end is None or end >= self.end:
                return
            at, state = end, ChineseState(state.formerly)

    def _predicate(self, at: int, subject: ChineseSubject, state: ChineseState) -> int | None:
        text, end = self.text, self.end
        while True:
            after = self._skip(at)
            ahead = state.ahead or (bool(clauses.AHEAD(text, at, after)) and not clauses.PAST_TIME(text, at, after))
            state = state._replace(ahead=ahead)
            past = clauses.FORMERLY(text, after, end)
            for place in (
                () if past else (after, at) if after > at and not clauses.DENIED(text, after, end) else (after,)
            ):
                found = self._framed(place, subject, state)
                if found is not None:
                    return found
            no = None if past else clauses.DENIED(text, after, end)
            if past is None and no is None:
                return None
            state = state._replace(formerly=state.formerly or past is not None, denied=state.denied or no is not None)
            at = (past or no).end()  # pyright: ignore[reportOptionalMemberAccess]

    def _framed(self, at: int, subject: ChineseSubject, state: ChineseState) -> int | None:
        """Apply the first frame that matches; the end of what it read."""
        usual = clauses.USUAL(self.text, self.start, self.end)
        soon = state.ahead and not self._happened()
        ahead = self.planned or (state.ahead and not self._happened())
        more = [WILL] if ahead and not state.denied and not usual else []
        past = clauses.PAST_TIME(self.text, self.start, self.end) and not state.formerly
        if not past and "了" not in self.text[at : self.end]:
            more += [frames.DOES, frames.USUALLY] if clauses.HABIT(self.text, self.start, at) else [frames.USUALLY]
        if at >= self.end:
            return None
        for frame in self._possible(at, more):
            if not (frame.sure or subject.own or self.found):
                continue
            found = frame.match(self.text, at, self.end)
            if found is None or (soon and (frame.kind in (STARTED, EVENT) or frame.groups[:1] == ("no_works_at",))):
                continue
            if not frame.groups:
                return self.end
            if self._state_all(frame, found, subject, state):
                return self.end if self.last is self.pet else max(found.end(), at + 1)
        return None

    def _happened(self) -> bool:
        """Whether the clause tells what was done at a time that may be over: 五月去医院了."""
        clause = (self.text, self.start, self.end)
        rest = (self.text, self.start, min(self.last_of_sentence, self.end + NEAR))
        # 周六去喝喜酒，跳了一晚上舞 is over; 周六去爬山，票都订了 is not.
        went_on = bool(clauses.THEN_DID(*rest)) and not clauses.DECIDED(*rest)
        return (bool(clauses.DONE(*clause)) or went_on) and not clauses.SURELY_AHEAD(*clause)

    def _possible(self, at: int, more: list[ChineseFrame]) -> Iterator[ChineseFrame]:
        for family in FAMILIES:
            if family.has_cue(self.text, at, self.end):
                yield from family.frames
        yield from more
        yield GOING

    def _state_all(
        self, frame: ChineseFrame, found: re.Match[str], subject: ChineseSubject, state: ChineseState
    ) -> bool:
        """Whether the objects of a frame have their types; its claims are kept then."""
        made: list[RuleMatch] = []
        sort = self._sort(frame, found)
        for group in frame.groups:
            if found[group] is None:
                continue
            relation, kind, ended = relation_of_group(group)
            if kind in ("value", "sure"):
                relation = sort
                kind = "spot" if sort == "lives_in" and not clauses.MOVES(found[0]) else sort
            passing = relation == "diet" or (ended and relation == "likes")
            if passing and clauses.FOR_NOW(self.text, self.start, found.start(group)):
                return True
            spans = self._objects(frame, found, group, kind)
            if not kind or not spans or self._is_vetoed(relation, found, group, subject, state):
                return False
            if relation == "favourite":
                relation = f"favourite:{CHINESE_FAVOURITES.get(found['what'], found['what'])}"
            if relation == "age" and not subject.own and self.last is not None and self.last.relation == "pet":
                # 我家狗叫Max，3岁了
                pet = self.text[slice(*self.last[1:3])]
                subject = subject._replace(who=(Person(pet),))
                if pet in objects.PETS:
                    return True
            if relation == "studies" and not ended and objects.is_pastime(self.text[slice(*spans[0])]):
                relation = "hobby"
            for who in subject.who:
                made += [self._match(relation, span, who, frame, state, ended) for span in spans]
            # The place alone is named where it is the topic: 日本不去了.
            made = [one._replace(object=f"去{found[group]}") for one in made] if kind == "trip" else made
        if made and frame.kind == STATE and not (state.denied or state.formerly):
            made += self._home_of(made[0], found, subject)
        for one in made:
            self._keep(one)
        return bool(made)

    def _sort(self, frame: ChineseFrame, found: re.Match[str]) -> str:
        """The relation of the values of a frame that leaves it open; empty if nothing tells."""
        typed = [found[group] for group in frame.groups if "value" in group or "sure" in group]
        sort = frames.sort_of(typed, found[0], sure="value" not in "".join(frame.groups)) if typed else ""
        at_work = not sort and "sure" in frame.groups
        at_work = at_work and clauses.AT_WORK(self.text, max(self.first, self.start - NEAR), self.start) is not None
        return "works_at" if at_work else sort

    def _home_of(self, made: RuleMatch, found: re.Match[str], subject: ChineseSubject) -> list[RuleMatch]:
        """Where people live who do their trade, keep their shop or study in a place: 在东莞做模具."""
        place = clauses.IN_PLACE(self.text, found.start(), found.end())
        if (
            place is None
            or made.negated
            or made.relation not in ("occupation", "works_at", "owns", "studies", "studies_at")
        ):
            return []
        if made.relation == "owns" and "开" not in found[0]:
            return []
        first = place.start("place")
        last = next(
            (at for at in range(place.end("place"), first + 1, -1) if objects.known_place(self.text[first:at])), 0
        )
        if made.object_start == first and not clauses.SOME_FIRM(self.text, last):
            return []  # 南京银行 is in any town
        home = made._replace(relation="lives_in", object_start=first, object_end=last, confidence=0.75)
        return [home._replace(subject=who.name, kin=who.kin) for who in subject.who] if last else []

    def _objects(self, frame: ChineseFrame, found: re.Match[str], group: str, kind: str) -> list[tuple[int, int]]:
        """Where the objects of a group are that have its type; an empty one stands for every value."""
        if not found[group]:
            return [found.span(group)]
        spans = objects.parts(self.text, *found.span(group), many=frame.many)
        check = TYPES.get(kind, bool)
        return [span for span in spans if check(self.text[slice(*span)])]

    def _is_vetoed(
        self, relation: str, found: re.Match[str], group: str, subject: ChineseSubject, state: ChineseState
    ) -> bool:
        """Whether a claim of a type that fits is still none: 我在北京, 快三十岁了, 喜欢色彩多的."""
        ended = group.startswith("no_")
        if relation == "name" and not ended and (subject.who[0].kin or not self._may_name(subject)):
            return True
        if relation == "age" and (state.ahead or clauses.NEARLY(self.text, self.start, self.end)):
            return True
        if relation in ("from", "nationality") and not subject.own and self._lists_people():
            return True
        if relation in ("from", "nationality", "lives_in"):
            here = group == "sure" and relation == "lives_in" and subject.who[0] == USER
            # 我在太原 may be a visit; 老家大同，现在在太原 is not.
            now = clauses.BY_NOW(self.text, self.start, found.start()) and any(
                one.relation == "from" for one in self.found[-RECENT:]
            )
            now = now or clauses.ELSEWHERE(self.text, self.first, self.start) is not None
            return found[group].endswith("的") or (here and not now)
        if relation == "studies_at" and "录取" in found[0] and clauses.STARTS_LATER(self.text, found.end()):
            return True
        if relation in ("likes", "dislikes", "hobby") and not subject.own and clauses.ALL_DO(self.text, self.start):
            return len(subject.who) == 1
        if relation in ("likes", "dislikes", "diet", "hobby") and not subject.own and self._speaks_of_pet():
            return True
        if (
            group == "no_job"
            and subject.relation not in ("parent", "relative", "married_to")
            and "正式" not in found[0]
        ):
            # 我退了 may be of anything.
            return True
        left = group == "no_firm" and not found[group]
        if left and not any(one.relation == "works_at" for one in self.found[-RECENT:]):
            # Person left, is known: 在阿里干了五年，去年走的.
            return True
        if group == "back" and not any(one.relation == "lives_in" for one in self.found[-RECENT:]):
            # 回长沙了 may be a visit; after a home elsewhere it is a move.
            return True
        if relation == "age" and len(found[group]) == 1 and not found[group].isdigit() and "岁" not in found[0]:
            return True
        described = relation in ("likes", "dislikes") and self._describes(*found.span(group))
        return described or (ended and state.denied)

    def _lists_people(self) -> bool:
        """Whether the clause is one of several of its form, which are of no one: 广东人，福建人，谁会做生意."""
        before = clauses.SO_WERE(self.text, max(0, self.start - 5), self.start)
        return before is not None or clauses.SO_ARE(self.text, self.end) is not None

    def _speaks_of_pet(self) -> bool:
        """Whether the last claim is of a named pet, which a clause without a subject may be about: 猫叫年糕，爱晒太阳."""
        pets = [self.text[slice(*one[1:3])] for one in self.found[-RECENT:] if one.relation == "pet"]
        last = self.found[-1] if pets else None
        if last is None or last.relation == "pet":
            return False
        return last.subject in pets

    def _describes(self, start: int, end: int) -> bool:
        """Whether an object is a description, not a name: 喜欢色彩多的."""
        described = self.text[end : end + 1] == "的" and end - start > 1 and not clauses.FANS(self.text, end)
        return described and not clauses.SOFTENED(self.text, max(0, start - 8), start)

    def _may_name(self, subject: ChineseSubject) -> bool:
        """Whether 叫 can name the subject: it is in the clause, or nothing else was spoken of."""
        if self.further:
            return False
        first = not re.search(r"\w", self.text[self.first : self.start])
        return (
            subject.own
            or first
            or "改名" in self.text
            or "我姓" in self.text[max(self.first, self.start - NEAR) : self.start]
            or (self.last is not None and self.last.relation in ("name", "age"))
        )

    def _match(
        self, relation: str, span: tuple[int, int], who: Person, frame: ChineseFrame, state: ChineseState, ended: bool
    ) -> RuleMatch:
        kind = PAST if state.formerly and frame.kind in (STATE, STARTED, PLAN) else frame.kind
        if (
            self.last
            and self.last.kind == PAST
            and self.last.relation == relation == "lives_in"
            and frame.kind == STATE
        ):
            # 小时候住在外婆家，在绍兴
            kind = kind if clauses.BY_NOW(self.text, self.start, span[0]) else PAST
        if relation == "occupation":
            own = span[0] + 2 * self.text.startswith("退休", span[0])
            ended, span = ended or clauses.RETIRED(self.text, self.start, own) is not None, (own, span[1])
        if kind == PAST and frame.kind == PLAN:
            ended = True
            kind = PLAN
        return RuleMatch(
            relation,
            *span,
            self.start,
            self.end,
            who.name,
            who.kin,
            kind=kind,
            negated=ended or state.denied,
            confidence=frame.confidence,
        )

    def _is_someone(self, name: str) -> bool:
        """Whether what looks like a name at the front of a clause is one."""
        if is_a_word(name) or frames.TRADES(name) or (TYPES["occupation"](name) and not name.endswith(clauses.TITLES)):
            return False
        return Person(name) in self.people or objects.is_person(name)

    def _relate(self, relation: str, who: Person, *, negated: bool) -> None:
        """The claim that a named person is something to the speaker."""
        at = self.text.rfind(who.name, self.before, self.end)
        if at >= 0:
            self._say(relation, (at, at + len(who.name)), USER, negated=negated, confidence=0.85)


class _People(_Stating):
    """Finds whom a clause is about, and the claims that are of people themselves."""

    def _subject(self, at: int) -> ChineseSubject | None:
        """The subject at a position, with none in it if it is unknown; None without one."""
        text, end = self.text, self.end
        kin = clauses.KIN(text, at, end)
        if kin is not None:
            return self._chain(self._of_kin(kin, USER if kin["own"] else self._topic(kin["alone"])))
        me = clauses.ME(text, at, end)
        if me is not None:
            return self._chain(ChineseSubject(me.end(), (USER,)))
        pronoun = clauses.PRONOUN(text, at, end)
        if pronoun is not None:
            return self._chain(self._spoken_of(pronoun))
        pets = [text[slice(*one[1:3])] for one in self.found[-RECENT:] if one.relation == "pet"]
        spoken_of = [*self.people[-RECENT:], *(Person(one) for one in pets if one not in objects.PETS)]
        known = next((one for one in spoken_of if one.name and text.startswith(one.name, at)), None)
        if known is not None:
            return self._chain(ChineseSubject(at + len(known.name), (known,)))
        name = (clauses.NAME_OF_KIN if clauses.IS_MINE(text, at, self.last_of_sentence) else clauses.NAME)(
            text, at, end
        )
        nickname = clauses.NICKNAME(text, at, end)
        if nickname is not None and not is_a_word(nickname["name"]) and clauses.SAID_OF_ONE(text, nickname.end(), end):
            # 莉莉六岁了: of whom an age or an allergy is said is someone.
            return ChineseSubject(nickname.end(), (Person(nickname["name"]),))
        young = clauses.YOUNG(text, at, self.last_of_sentence)
        if young is not None and not objects.is_kin(young["name"]):
            return ChineseSubject(young.end("name"), (Person(young["name"]),))
        doer = clauses.DOER(text, at, end)
        if doer is not None and objects.is_nickname(doer["name"]):
            return ChineseSubject(doer.end(), (Person(doer["name"]),))
        if name is not None and self._is_someone(name[0]):
            return self._chain(ChineseSubject(name.end(), (Person(name[0]),)))
        if clauses.OTHERS(text, at, end):
            return ChineseSubject(end, (), USER)
        return None

    def _spoken_of(self, pronoun: re.Match[str]) -> ChineseSubject:
        """Whom a pronoun means, or with a word for a relative (他老婆) that relative."""
        if pronoun["both"]:
            return ChineseSubject(pronoun.end(), tuple(self.people[-2:]))
        others = self.women if pronoun[0] == "他" else self.men
        who = [one for one in self.people if one not in others][-1:]
        known = self.relatives.get(who[0], ChineseSubject(0)) if who else ChineseSubject(0)
        subject = known._replace(end=pronoun.end(), who=tuple(who), own=True)
        kin = clauses.HIS_KIN(self.text, pronoun.end(), self.end)
        if kin is None:
            return subject
        if not subject.who:
            return subject._replace(end=kin.end())
        self._remember(subject)
        return self._relative(kin, KIN[kin["kin"]], subject.who[0], ex=False)

    def _of_kin(self, found: re.Match[str], owner: Person = USER) -> ChineseSubject:
        word = found["kin"] or found["alone"]
        word = word.removeprefix("另一个")
        kin = KIN.get(word) or KIN.get(word.removeprefix("前")) or KIN.get(word[-2:]) or KIN[word[-1:]]
        if found["alone"] and kin.relation == "sibling" and clauses.CHILDREN(self.text, self.first, self.start):
            kin = objects.Kin("child", "child")
        if (
            owner != USER
            and word in clauses.IN_LAWS
            and not (found["name"] or clauses.NAMES_KIN(self.text, found.end(), self.end))
        ):
            owner = USER
        if owner != USER and word in clauses.IN_LAWS:
            kin = objects.Kin("married_to", kin.word)
        ex = bool(found["ex"]) or word.startswith("前")
        return self._relative(found, kin, owner, ex)

    def _topic(self, word: str) -> Person:
        """Whose relative a word without an owner is: the speaker's, or the named person's who was spoken of."""
        if (
            word in clauses.IN_LAWS
            and self.last is not None
            and self.last.relation == "sibling"
            and not self.last.subject
        ):
            return Person(self.text[self.last.object_start : self.last.object_end])
        if word in KIN and self.subject is not None and self.subject.relation == KIN[word].relation:
            return self.subject.owner
        if (
            self.text.startswith(("现在的", "后来的", "新"), self.start)
            and self.subject
            and self.subject.who[:1] != (USER,)
        ):
            return self.subject.who[0] if self.subject.who else USER
        near = KIN[word].relation in ("married_to", "partner", "child") if word in KIN else False
        known = self.subject.who[:1] if self.subject is not None and near else ()
        if self.subject is not None and self.subject.relation == "married_to" and self.subject.owner == USER:
            return USER
        return known[0] if known and known[0].name else USER

    def _relative(self, found: re.Match[str], kin: objects.Kin, owner: Person, ex: bool) -> ChineseSubject:
        end = found.start("name") if found["name"] else found.end()
        sure = found["name"] and not is_a_word(found["name"]) and found["name"] not in KIN
        last = found.end() if sure else objects.given_name(self.text, end, self.end)
        if last > end:
            name = self.text[end:last]
            if kin.relation:
                self._say(kin.relation, (end, last), owner, negated=ex, confidence=0.85)
            return ChineseSubject(last, (Person(name),), owner, kin.relation, ex)
        if owner == USER:
            # An elder and a younger brother are two people with one English word.
            groups = found.groupdict()
            self.kin_words[kin.word].add("".join(dict.fromkeys(groups["kin"] or groups["alone"])))
            name = (
                self.named.get(kin.word)
                if kin.relation in clauses.FAMILY and len(self.kin_words[kin.word]) == 1
                else ""
            )
            return ChineseSubject(end, (Person(name) if name else Person(kin=kin.word),), owner, kin.relation, ex)
        called = clauses.NAMES_KIN(self.text, end, self.end)
        if called is not None and called["any"] and kin.relation and objects.is_name(called["any"]):
            self._say(kin.relation, called.span("any"), owner, confidence=0.9)
            return ChineseSubject(self.end, (Person(called["any"]),), owner, kin.relation)
        return ChineseSubject(end, (), owner, kin.relation, ex)

    def _chain(self, subject: ChineseSubject) -> ChineseSubject:
        """The relative of a subject (李薇的女儿), which is the subject then."""
        for _ in range(2):
            found = clauses.CHAIN(self.text, subject.end, self.end) or clauses.HAS_KIN(self.text, subject.end, self.end)
            if found is None or len(subject.who) != 1:
                break
            kin = KIN[found["kin"]]
            bore = subject.relation in ("married_to", "partner") and clauses.BORE(found[0])
            owner = subject.owner if bore else subject.who[0]
            self._remember(subject)
            subject = self._relative(found, kin, owner, ex=False)
        return subject

    def _between(self, subject: ChineseSubject) -> bool:
        """Claims of two people (我和阿杰分手了), and those of one who lost or lacks another (我离婚了)."""
        at = self._skip(subject.end)
        at += self.text.startswith(("要", "会"), at)
        who = subject.who[0]
        if at >= self.end:
            return False
        self._wed(who, subject.end)
        if (who == USER or who.name) and clauses.PAIR_CUE(self.text, subject.end, self.end):
            for pattern, relation, ended in clauses.BETWEEN:
                found = pattern.match(self.text, at, self.end) or pattern.match(self.text, subject.end, self.end)
                if found is not None and not ended and clauses.INTENDS(found[0]):
                    continue
                if found is not None and objects.is_person(found["name"]):
                    self._say(relation, found.span("name"), who, negated=ended, confidence=0.9)
                    self.people.append(Person(found["name"]))
                    return "婚礼" not in found[0]
            with_name = clauses.WITH_NAME(self.text, at, self.end)
            if with_name is not None and objects.is_person(with_name["name"]):
                self.people.append(Person(with_name["name"]))
        for pattern, relation in clauses.ALONE if clauses.ALONE_CUE(self.text, at, self.end) else ():
            found = pattern.match(self.text, at, self.end)
            if found is not None:
                self._say(relation, (at, at), who, negated=True, confidence=0.9)
                return "又嫁" not in found[0]
        return self._is_kin(subject)

    def _wed(self, who: Person, at: int) -> None:
        """Remember who is spoken of after a wedding, and as a man or as a woman."""
        found = clauses.WEDS(self.text, at, self.end)
        if found is None or not objects.is_person(found["name"]):
            return
        spouse = Person(found["name"])
        self.people.append(spouse)
        if found["verb"]:
            men, women = ({spouse}, {who}) if found["verb"] == "嫁" else ({who}, {spouse})
            self.men |= men
            self.women |= women

    def _is_kin(self, subject: ChineseSubject) -> bool:
        who = subject.who[0]
        if not who.name:
            return False
        found = clauses.IS_KIN(self.text, subject.end, self.end)
        if found is not None and KIN[found["kin"]].relation:
            self._relate(KIN[found["kin"]].relation, who, negated=bool(found["no"]))
            return True
        pair = clauses.COUPLE(self.text, subject.end, self.end)
        if pair is not None and KIN[pair["kin"]].relation:
            ended = bool(re.search("离了|离婚|分手", self.text[pair.end() : self.end]))
            self._say(KIN[pair["kin"]].relation, pair.span("name"), who, negated=ended, confidence=0.85)
            return True
        return False

    def _kin_named(self, subject: ChineseSubject, state: ChineseState) -> bool:
        """The name of a relative (我妹妹叫小红), what follows it (叫小红五岁), or that one died."""
        who = subject.who[0] if subject.who else Person(kin="?")
        if who == USER or not subject.relation:
            return False
        if clauses.DIED(self.text, subject.end, self.end) and subject.own:
            return self._died(subject)
        # The name of a second child or sibling: 大的叫果果，小的叫豆豆.
        if who.name and (subject.own or not clauses.SECOND(self.text, subject.end, self.end)):
            return False
        if self._both_named(subject, sure=who.kin in ("parents", "twins", "child")):
            return True
        at = self._skip(subject.end)
        found = clauses.NAMES_KIN(self.text, at, self.end) or clauses.NAMES_KIN(self.text, subject.end, self.end)
        if found is None:
            return False
        group = "any" if found["any"] else "sure"
        if not (objects.is_name if group == "any" else objects.is_person)(found[group]) or who.kin == "parents":
            return False
        if subject.relation in ("married_to", "partner") and clauses.BORE(self.text, self.first, at):
            # 我太太生了，叫陈安: the name is the child's.
            subject = ChineseSubject(subject.end, (Person(kin="child"),), subject.owner, "child")
        self._say(subject.relation, found.span(group), subject.owner, negated=subject.ex, confidence=0.9)
        self.subject = subject._replace(who=(Person(found[group]),), end=found.end(group))
        if subject.owner == USER and who.kin:
            self._called(who, found[group])
        self._remember(self.subject)
        self._predicates(found.end(group), self.subject, state)
        return True

    def _called(self, who: Person, name: str) -> None:
        """Give what was said of a relative by the word for them (我女儿三岁) to the name, if there is only one such."""
        self.named[who.kin] = "" if self.named.get(who.kin, name) != name else name
        if len(self.kin_words[who.kin]) == 1 and self.named[who.kin]:
            self.found = [one._replace(subject=name, kin="") if one.kin == who.kin else one for one in self.found]
            self.last = self.found[-1] if self.found else None

    def _died(self, subject: ChineseSubject) -> bool:
        last, who = self.found[-1] if self.found else None, subject.who[0]
        if who.name and last is not None and last.relation == subject.relation:
            self.found[-1] = self.last = last._replace(negated=True, start=self.start, end=self.end)
        elif who.name:
            self._relate(subject.relation, who, negated=True)
        elif who.kin and subject.relation in ("parent", "relative") and who.kin != "parents":
            # 我爷爷住在武汉。他去世了: the word for him is in a clause before.
            said = clauses.KIN_SAID(self.text, 0, subject.end)
            word = next((one for one in reversed(list(said)) if KIN[one[0]].word == who.kin), None)
            if word is not None:
                self._say(subject.relation, word.span(), subject.owner, negated=True)
        return True

    def _both_named(self, subject: ChineseSubject, *, sure: bool) -> bool:
        two = clauses.TWO_NAMES(self.text, subject.end, self.end)
        if two is None or not (sure or all(len(two[one]) > 1 and objects.is_name(two[one]) for one in ("one", "two"))):
            return False  # 李和平 is one name
        for group in ("one", "two"):
            self._say(subject.relation, two.span(group), subject.owner, confidence=0.9)
        self.subject = subject._replace(who=(Person(two["one"]), Person(two["two"])))
        self._remember(self.subject)
        return True


class _Reading(_People):
    """Reads one sentence clause by clause, the subjects first."""

    def read(self) -> list[RuleMatch]:
        """All claims of the text, in order."""
        for sentence in clauses.SENTENCE(self.text):
            start, end = sentence.span()
            self.before, self.first, self.last_of_sentence = self.first, start, end
            self.asked = self.text[start:end].rstrip(' ”」』"')[-1:] in ("？", "?")
            self.subject, self.planned = ChineseSubject(start, (USER,), own=False), False
            if (slip := clauses.SLIP_OF(self.text, start, end)) is None:
                self._sentence(start, end)
            else:
                self.found += _of_slip(slip)
        return self.found

    def _sentence(self, start: int, end: int) -> None:
        text = self.text
        clear = clauses.NOT_A_JOKE(text, start, end) or clauses.STORY_OK(text, start, end)
        doubt = None if clear else clauses.DOUBT(text, start, end)
        limit = start if clauses.LAUGHS(text, start, end) else end if doubt is None else doubt.start()
        unless = clauses.UNLESS(text, start, end)
        limit = limit if unless is None else min(limit, unless.end())
        for clause in clauses.CLAUSE.finditer(text, start, end):
            self.start, self.end = clause.span()
            if self._cancelled():
                continue
            if clauses.SLIP(text, self.start, self.end):
                self.slip = True
                unread = self.last is None or self.last.end <= self.before < self.first - _NEAREST
                if unread and self.start > _NEAREST:
                    # 年糕8岁了。不对，是7岁: whom the sentence before is about was not read.
                    self.last, self.subject = None, ChineseSubject(self.end, (), own=False)
                elif self.last is not None:
                    # 我妹妹对花生过敏。说错了，是对虾过敏: what is said instead is of the same person.
                    self.subject = ChineseSubject(self.end, (Person(self.last.subject, self.last.kin),), own=False)
                continue
            if clauses.JOKE(text, self.start, self.end):
                self.found = [one for one in self.found if one.start < self.before]
                self.last = None
            if not 1 < self.end - self.start <= _LONGEST_CLAUSE:
                continue
            asks = clauses.QUESTION(text, self.start, self.end) or text[self.end : self.end + 1] in ("？", "?")
            tail = clauses.TAIL(text, self.start + _NEAREST, self.end) if asks else None
            if tail is not None and not clauses.QUESTION(text, self.start, tail.start()) and self._is_own_or_ahead():
                # 下周去长沙出差有啥能吃的: what comes before the question is stated.
                self.end = tail.start()
                asks = False
            stated = self.end <= limit and not asks and not clauses.HEDGE(text, self.start, self.end)
            undecided = self._is_undecided()
            stated = stated and not undecided
            if undecided or limit == start:
                self.supposed.append((self.start, self.end))
            if stated and self._clause() == "reported":
                break
            if self.subject is not None:
                self.about.append((self.start, self.end, self.subject))
            if not stated and self.end <= limit:
                # 我男朋友比我小两岁，是教练: the next clause is about him too.
                self.subject = self._subject(self._lead()[0]) or self.subject
            self.slip = stated and clauses.SAID_SO(text, self.start, self.end) is not None
            self._presupposed()

    def _is_undecided(self) -> bool:
        """Whether the next clause says that this one may not come to be: 明年搬到杭州，还没定."""
        undecided = clauses.UNDECIDED(self.text, self.end)
        return undecided is not None and not clauses.PLANNED(self.text, self.start, self.end)

    def _is_own_or_ahead(self) -> bool:
        """Whether the clause is of the speaker's or of a relative's, or tells of a time to come."""
        at, _, ahead = self._lead()
        return ahead or bool(clauses.ME(self.text, at, self.end) or clauses.KIN(self.text, at, self.end))

    def _clause(self) -> str:
        self.planned = self.planned or bool(clauses.DECIDED(self.text, self.start, self.end))
        if self.last and self.last.relation in ("pet", "owns") and clauses.NOT_MINE(self.text, self.start, self.end):
            self.found = [one for one in self.found if one.start != self.last.start]
            self.last = self.pet = None
            return ""
        denied = None if self.last else clauses.NOT_THAT(self.text, self.start, self.end)
        if denied is not None:
            self.wrong = denied.span("o")
            return ""
        if self._contacts() or self._instead() or self._is_exactly() or self._whole():
            return ""
        at, formerly, ahead = self._lead()
        subject = self._subject(at)
        if subject is None:
            self._without_subject(at, ChineseState(formerly, False, ahead))
            return ""
        self.subject = subject
        if not subject.who:
            return ""
        if subject.who[0] != USER and clauses.REPORTS(self.text, subject.end, self.end):
            return "reported"
        self._remember(subject)
        if self._between(subject) or self._kin_named(subject, ChineseState(formerly, False, ahead)):
            return ""
        company = clauses.COMPANY(self.text, subject.end, self.end)
        if company is not None:
            if company["us"] and subject.who[0] != USER:
                subject = subject._replace(who=(*subject.who, USER))
            if company["kin"] and not company["kinname"] and subject.who[0] == USER and KIN[company["kin"]].relation:
                kin = KIN[company["kin"]]
                self._remember(ChineseSubject(0, (Person(kin=kin.word),), USER, kin.relation))
            if company["kin"] and self.text.startswith(("都", "一起"), company.end()):
                other = Person(company["kinname"]) if company["kinname"] else Person(kin=KIN[company["kin"]].word)
                subject = subject._replace(who=(*subject.who, other))
            named = company["name"] and objects.is_person(company["name"]) and company[0][0] == "和"
            others = (*subject.who, Person(company["name"])) if named else subject.who
            subject = subject._replace(end=company.end(), who=others)
        self._predicates(subject.end, subject, ChineseState(formerly, False, ahead))
        return ""

    def _lead(self) -> tuple[int, bool, bool]:
        """Where the subject begins, and whether what stands before it tells of the past or the future."""
        at = self.start
        formerly = False
        while True:
            lead = clauses.LEAD(self.text, at, self.end)
            at = lead.end() if lead else at
            past = clauses.FORMERLY(self.text, at, self.end)
            if past is None:
                break
            formerly, at = True, past.end()
        # Adverbs may have eaten the subject's first character.
        ahead = bool(clauses.AHEAD(self.text, self.start, at)) and not clauses.PAST_TIME(self.text, self.start, at)
        if at > self.start and self.text[at - 1] == "我":
            at -= 1
        return at, formerly, ahead

    def _without_subject(self, at: int, state: ChineseState) -> None:
        subject = self.subject
        last = self.last
        if last is not None and last.relation == "pet" and clauses.PET_GONE(self.text, at, self.end):
            self.found = [one for one in self.found if one is not last and one.relation != "kind"]
            self._say("pet", (last.object_start, last.object_end), Person(last.subject, last.kin), negated=True)
            return
        if self._pets(at) or self._pets(self.start) or subject is None:
            return
        if not subject.who:
            self._kin_named(subject._replace(end=at), state)
            return
        company = clauses.COMPANY(self.text, at, self.end)
        at = company.end() if company and not clauses.BREAKS(self.text, at, self.end) else at
        both = [one for one in self.people if one.name][-2:] if "都" in self.text[self.start : at + 1] else []
        if len(both) > 1 and all(one in self.relatives and self.relatives[one].relation == "parent" for one in both):
            # 爸爸叫张国强，妈妈叫李秀英，都在洛阳
            subject = subject._replace(who=tuple(both))
        carried = ChineseSubject(at, subject.who, subject.owner, subject.relation, subject.ex, own=False)
        known = len(self.found)
        if self._between(carried) or self._kin_named(carried, state):
            return
        self._predicates(at, carried, state)
        if (
            len(self.found) == known
            and clauses.STRANGER(self.text, at, self.end)
            and not clauses.FORMERLY(self.text, at, self.end)
        ):
            self.subject = None

    def _contacts(self) -> bool:
        text, known = self.text, len(self.found)
        for relation, pattern, cue in clauses.CONTACTS:
            before = self.start
            for found in pattern.finditer(text, self.start, self.end):
                if not cue(text, self.before) or clauses.NOT_OWN(text, self.first):
                    continue
                subject = self._subject(self._lead()[0]) or self.subject
                of_kin = clauses.OF_KIN(text, self.start, found.start())
                if of_kin is not None:
                    subject = ChineseSubject(
                        self.start, (Person(of_kin["name"] or "", "" if of_kin["name"] else KIN[of_kin["kin"]].word),)
                    )
                if subject is None or not subject.who:
                    if self.text[self._lead()[0]] not in "那这":
                        continue
                    subject = ChineseSubject(self.start, (USER,))
                self.subject = subject._replace(own=False)
                gone = clauses.GONE(text, before, found.start()) or clauses.GONE_AFTER(text, found.end(), self.end)
                if self.slip and self.last is not None and self.last.relation == relation:
                    self.found[self._place(self.last)] = self.last._replace(negated=True)
                self._say(relation, found.span(), subject.who[0], negated=gone is not None, confidence=0.95)
                before = found.end()
        return len(self.found) > known

    def _whole(self) -> bool:
        if not clauses.TOPIC_CUE(self.text, self.start, self.end):
            return False
        lead = self._lead()[0]
        for frame in CLAUSES:
            for at in dict.fromkeys((self.start, lead)):
                found = frame.match(self.text, at, self.end)
                if found is not None and self._state_all(frame, found, ChineseSubject(at, (USER,)), ChineseState()):
                    return True
        return False


def _of_slip(slip: re.Match[str]) -> list[RuleMatch]:
    """我刚才生日说错了，是五月三号: what was said of it before is wrong, whenever that was."""
    before, at, value = f"我的{slip['what']}是", slip.start(), slip.span("value")
    read = [one for one in _Reading(before + slip["value"]).read() if one.object_start >= len(before)]
    by = value[0] - len(before)
    right = [one._replace(object_start=one.object_start + by, object_end=one.object_end + by) for one in read]
    right = [one._replace(start=value[0], end=slip.end()) for one in right]
    return [one._replace(object_start=at, object_end=at, start=at, negated=True) for one in right] + right
