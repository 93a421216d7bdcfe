"""What else a claim or an event ends: with a death, a job or a school end the facts that depend on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from memwell.language.claims.beginnings import day_of_keys, home_in
from memwell.language.claims.english_objects import THINGS
from memwell.language.claims.relations import STARTED, Claim, relation_of, timing_of
from memwell.language.events import BACK, GRADUATED, JOINED, LEFT, MOVED_IN, MOVED_OUT, WEDDING, Event
from memwell.language.fact_questions import is_kind
from memwell.longterm.statements import name_key
from memwell.values import check_text

if TYPE_CHECKING:
    from memwell.longterm.facts import Fact, Facts

_OUTLIVES = frozenset(("name", "birthday", "from", "nationality", "graduated_from", "visited", "bought"))
"""What is still true of the dead."""
_DEATH = re.compile(
    r"\b(?:died|dead|dies|passed|passing|lost|buried|killed|no longer with us|funeral|put (?:\w+ )?(?:down"
    r"|to sleep)|make it"
    r"|rainbow bridge|gone|euthani[sz]ed|goodbye)\b|告别|去世|过世|病逝|离世|逝世|死|走了|没了|不在了|离开了我们"
    r"|[走没]的|[喵汪]星",
    re.IGNORECASE,
).search
_LEFT_ONLY = re.compile(r"走了|告别|\b(?:lost [A-Z]|is gone|['’]s gone|goodbye)").search
"""That someone went away, was lost or was parted with, which of a pet means that it died."""
_ANY_PET = frozenset(("pet", "宠物"))
_ANOTHER = re.compile("又[^，。]{0,4}一[只条](?:，|叫|名)").search
_ENDS_TRADE = re.compile(r"退休|(?:辞职|离职|裸辞).*(?:开|创业|种地|养老|带娃|读)|\bretired?\b", re.IGNORECASE).search
_ALSO = re.compile(r"也|\b(?:also|either|as well)\b", re.IGNORECASE).search
_EITHER = re.compile(r"\W*(?:either|as well)\b").match
_AVOIDS = re.compile(r"不|(?:don['’]t|doesn['’]t|no) ").match
_TRADES = {"law": ("lawyer", "solicitor", "barrister"), "medicine": ("doctor", "physician", "surgeon", "gp")}
_SAME_TRADE = 4
"""How many letters at the beginning two words for one trade share: *nursing* and *nurse*."""


def meant(claim: Claim, others: Sequence[Claim], facts: Facts, said: str = "") -> Iterator[Claim]:
    """The claims that a claim makes of what is known; ``others`` are those that are stated with it, ``said`` the words."""
    words = said[claim.start : claim.end]
    died = claim.negated and _DEATH(words) is not None
    relation = relation_of(claim.relation)
    check_text(claim.object, "a claim's object")
    if relation is None:
        yield claim
    elif not claim.negated and not claim.object and claim.valid_from is not None:
        yield from _restored(claim, facts)
    elif claim.negated and claim.relation == "pet" and claim.object:
        yield from _gone(claim, facts, died=died, pets_only=_LEFT_ONLY(words) is not None)
    elif claim.negated and relation.people and not relation.single:
        yield from _lost(claim, facts, died=died)
    elif claim.negated and claim.relation == "plans" and claim.object:
        yield from _cancelled(claim, facts)
    elif claim.negated and claim.relation == "owns" and claim.object and _is_pet(claim, facts):
        # 把豆豆送人了
        yield from _gone(msgspec.structs.replace(claim, relation="pet"), facts, died=False, pets_only=True)
    elif claim.negated and (relation.single or claim.relation == "owns") and claim.object:
        yield _as_known(claim, facts)
    elif claim.relation == "pet" and _ANOTHER(words):
        yield from _another(claim, facts)
    elif claim.relation == "diet" and not claim.negated and (_ALSO(words) or _EITHER(said, claim.end)):
        yield _added(claim, facts)
    else:
        yield claim
    yield from _with_it(claim, others, facts, words)


def _with_it(claim: Claim, others: Sequence[Claim], facts: Facts, words: str) -> Iterator[Claim]:
    """What else ends with a claim: a partner with a wedding, a position with a job, studies with a school."""
    if not claim.negated and claim.relation == "married_to" and claim.valid_to is None:
        yield from _partners(claim, facts)
    elif claim.negated and claim.relation == "works_at":
        yield from _left(claim, others, facts, for_good=_ENDS_TRADE(words) is not None)
    elif not claim.negated and claim.relation == "graduated_from":
        yield from _graduated(claim, facts)
    elif claim.negated and claim.relation == "studies_at":
        yield from _studied(claim, facts)
    elif claim.negated and claim.relation == "partner":
        yield from _single(claim, others, facts)
    if claim.relation == "married_to" and (claim.negated or claim.valid_from is not None):
        yield from _divorced(claim, facts)


def _single(claim: Claim, others: Sequence[Claim], facts: Facts) -> Iterator[Claim]:
    """The marriage of someone who is single, or is no longer with whom they married."""
    if any(one.relation == "married_to" and not one.negated for one in others):
        # "She's my wife now, not my girlfriend"
        return
    for fact in facts.about(claim.subject, relation="married_to", as_of=claim.time):
        if not claim.object or name_key(fact.object) in facts.names_of(claim.object):
            yield msgspec.structs.replace(claim, relation="married_to", object=fact.object)


def _divorced(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """The marriage of another to someone who is divorced, or who marries a third: "Graham is getting remarried"."""
    who, other = name_key(claim.subject), facts.names_of(claim.object) if claim.object else []
    for fact in (edge.fact for edge in facts.walk(claim.subject, depth=1, as_of=claim.time)):
        to_them = fact.relation == "married_to" and name_key(fact.object) == who
        if to_them and (not other or claim.negated == (name_key(fact.subject) in other)):
            yield msgspec.structs.replace(claim, subject=fact.subject, object=fact.object, negated=True)


def _partners(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """The end of the partner of someone who is married."""
    for fact in facts.about(claim.subject, relation="partner", as_of=claim.time):
        yield msgspec.structs.replace(claim, relation="partner", object=fact.object, negated=True)


def happened(found: Iterable[Event], said: str, speaker: str, time: datetime, facts: Facts) -> list[Claim]:
    """What events say of those who are known: who married whom, who is there again, and where someone lives now."""
    made: list[Claim] = []
    for one in found:
        words = said[one.start : one.end]
        since = timing_of(words, STARTED, time).valid_from
        claim = Claim(
            subject=speaker, relation="", object="", valid_from=since, start=one.start, end=one.end, time=time
        )
        made += _HAPPENS[one.kind](claim, one, said, facts)
    return made


def _wedding(claim: Claim, _: Event, said: str, facts: Facts) -> Iterator[Claim]:
    """Whom someone married who is with a partner."""
    for fact in facts.about(claim.subject, relation="partner", as_of=claim.time):
        yield msgspec.structs.replace(claim, relation="married_to", object=fact.object)


def _back(claim: Claim, event: Event, _: str, facts: Facts) -> Iterator[Claim]:
    """The pet that was lost, and what kind it is."""
    since = claim.time
    lost = [fact for fact in facts.history(claim.subject, "pet") if name_key(fact.object) == name_key(event.name)]
    if not lost or lost[-1].retired_at or lost[-1].valid_to is None or (since and lost[-1].valid_to > since):
        return
    ends = facts.endings(claim.subject, "pet", [lost[-1].object])
    if ends and _IS_DEAD(facts.said(ends[-1])):
        return
    yield msgspec.structs.replace(claim, relation="pet", object=lost[-1].object, valid_from=since)
    for kind in facts.history(lost[-1].object, "kind")[-1:]:
        yield msgspec.structs.replace(
            claim, subject=kind.subject, relation="kind", object=kind.object, valid_from=since
        )


def _moved_in(claim: Claim, _: Event, said: str, facts: Facts) -> Iterator[Claim]:
    """Where someone lives who moved into a home or has its keys: where one was bought, or was to be; that plan is over."""
    known = [fact for relation in ("bought", "plans") for fact in _lately(claim, relation, facts)]
    homes = [(said, None), *((fact.object, fact) for fact in known)]
    found = next(((place, fact) for words, fact in homes if (place := home_in(words))), None)
    if found is None:
        return
    place, plan = found
    day = day_of_keys(said[claim.start : claim.end], claim.time) if claim.time else None
    since = day or claim.valid_from
    yield msgspec.structs.replace(claim, relation="lives_in", object=place["o"] or place["o2"], valid_from=since)
    if plan is not None and plan.relation == "plans" and plan.valid_to is None:
        yield msgspec.structs.replace(claim, relation="plans", object=plan.object, valid_from=since, negated=True)


def _lately(claim: Claim, relation: str, facts: Facts) -> list[Fact]:
    """What was said of someone by a relation, the last first; also what is over."""
    known = [fact for fact in facts.history(claim.subject, relation) if fact.retired_at is None]
    return sorted(known, key=lambda fact: (fact.said_at, fact.id), reverse=True)


def _joined(claim: Claim, event: Event, _: str, facts: Facts) -> Iterator[Claim]:
    """Where someone lives who moved in with the speaker: where that one lives, or no longer where they lived."""
    home = facts.about(claim.subject, relation="lives_in", as_of=claim.time)
    for fact in facts.about(event.name, relation="lives_in", as_of=claim.time):
        moved = msgspec.structs.replace(claim, subject=fact.subject, relation="lives_in")
        yield msgspec.structs.replace(moved, object=home[-1].object if home else "", negated=not home)


def _moved_out(claim: Claim, event: Event, _: str, facts: Facts) -> Iterator[Claim]:
    """The end of a couple of whom one moved out; anyone else who does only lives elsewhere."""
    names = facts.names_of(re.sub(r"\A(?:my|our) ", f"{claim.subject}'s ", event.name, flags=re.IGNORECASE))
    for relation in ("married_to", "partner"):
        for fact in facts.about(claim.subject, relation=relation, as_of=claim.time):
            if name_key(fact.object) in names:
                yield msgspec.structs.replace(claim, relation=relation, object=fact.object, negated=True)


def _left_place(claim: Claim, event: Event, _: str, facts: Facts) -> Iterator[Claim]:
    """The employer that someone left, where it is known by that word: *the aquarium*."""
    who = claim.subject if event.name == "I" else event.name
    for fact in facts.about(who, relation="works_at", as_of=claim.time):
        if _is_alike(name_key(event.thing), name_key(fact.object), "works_at"):
            yield msgspec.structs.replace(
                claim, subject=fact.subject, relation="works_at", object=fact.object, negated=True
            )


def _finished(claim: Claim, event: Event, _: str, facts: Facts) -> Iterator[Claim]:
    """What someone studied who graduated, and where."""
    who = claim.subject if event.name == "I" else event.name
    for relation in ("studies_at", "studies_in", "studies"):
        for fact in facts.about(who, relation=relation, as_of=claim.time):
            yield msgspec.structs.replace(
                claim, subject=fact.subject, relation=relation, object=fact.object, negated=True
            )


_HAPPENS = {
    WEDDING: _wedding, BACK: _back, MOVED_IN: _moved_in, JOINED: _joined, LEFT: _left_place, GRADUATED: _finished,
    MOVED_OUT: _moved_out,
}  # fmt: skip
_IS_DEAD = re.compile(
    r"\b(?:died|dead|passed|put (?:\w+ )?(?:down|to sleep)|buried|killed|euthani[sz]ed|rainbow)\b|去世|过世|死|[喵汪]星",
    re.I,
).search


def _restored(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """What was said in jest to be over, and with it what would have ended with it: a job, the age of who is not dead."""
    with_it = ("works_at", "occupation", "works_in") if claim.relation == "works_at" else (claim.relation,)
    for fact in _ended_at(claim, claim.subject, facts):
        if fact.relation in with_it:
            yield _again(claim, fact)
            others = facts.names_of(fact.object) if claim.relation == "pet" or _is_person(claim.relation) else ()
            yield from (_again(claim, one) for other in others for one in _ended_at(claim, other, facts))


def _ended_at(claim: Claim, subject: str, facts: Facts) -> list[Fact]:
    """What is known of someone and ended when a claim says."""
    known = facts.history(subject)
    return [fact for fact in known if fact.valid_to == claim.valid_from and fact.retired_at is None]


def _again(claim: Claim, fact: Fact) -> Claim:
    return msgspec.structs.replace(claim, subject=fact.subject, relation=fact.relation, object=fact.object)


def _is_person(relation: str) -> bool:
    known = relation_of(relation)
    return known is not None and known.people


def _is_pet(claim: Claim, facts: Facts) -> bool:
    pets = facts.about(claim.subject, relation="pet", as_of=claim.time)
    return name_key(claim.object) in {name_key(fact.object) for fact in pets}


def _another(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """Another pet of the kind of the last one; nothing where none is known, as it may be another thing."""
    pets = facts.about(claim.subject, relation="pet", as_of=claim.time)
    if not pets:
        return
    yield claim
    for kind in facts.about(pets[-1].object, relation="kind", as_of=claim.time):
        yield msgspec.structs.replace(claim, subject=claim.object, relation="kind", object=kind.object)


def _as_known(claim: Claim, facts: Facts) -> Claim:
    """What ends, by the words under which it is known: 字节 for 字节跳动, *nursing* for a nurse."""
    thing = name_key(claim.object)
    held = facts.about(claim.subject, relation=claim.relation, as_of=claim.time)
    alike = [fact for fact in held if _is_alike(thing, name_key(fact.object), claim.relation)]
    if len(alike) == 1 and not any(name_key(fact.object) == thing for fact in held):
        return msgspec.structs.replace(claim, object=alike[0].object)
    return claim


_GOES = re.compile(
    r"去|(?:go(?:ing)?|travel(?:ling)?|fly(?:ing)?|visit(?:ing)?|move|moving)\b(?: to\b)?\s*", re.IGNORECASE
)


def _cancelled(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """The plans that are cancelled, by the words in which they are known: 去西双版纳玩 of 西双版纳不去了."""
    where = _GOES.sub("", name_key(claim.object), count=1).strip()
    edge = r"\b" if where.isascii() else ""
    known = facts.about(claim.subject, relation="plans", as_of=claim.time)
    held = [one for one in known if where and re.search(rf"{edge}{re.escape(where)}{edge}", name_key(one.object))]
    for fact in held:
        yield msgspec.structs.replace(claim, object=fact.object)
        yield from _staying(claim, fact, facts)
    if not held:
        yield claim


def _staying(claim: Claim, plan: Fact, facts: Facts) -> Iterator[Claim]:
    """Where someone still lives on the day on which a plan that is cancelled would have made them move."""
    here = facts.about(claim.subject, relation="lives_in", as_of=claim.time)
    for fact in facts.history(claim.subject, "lives_in"):
        to_come = fact.valid_from is not None and fact.valid_from == plan.valid_to and fact.retired_at is None
        if to_come and name_key(fact.object) in name_key(plan.object):
            home = here[-1].object if here else fact.object
            yield msgspec.structs.replace(
                claim, relation="lives_in", object=home, valid_from=fact.valid_from, negated=not here
            )


def _added(claim: Claim, facts: Facts) -> Claim:
    """What someone does not eat either, with what they did not eat before."""
    held = [fact.object for fact in facts.about(claim.subject, relation="diet", as_of=claim.time)]
    if not (held and _AVOIDS(held[0]) and _AVOIDS(claim.object)) or name_key(claim.object) in name_key(held[0]):
        return claim
    joint = " and " if claim.object.isascii() else "，"
    return msgspec.structs.replace(claim, object=joint.join((held[0], claim.object)))


def _is_alike(one: str, other: str, relation: str) -> bool:
    """Whether two values are the same in other words: one is a part of the other, or both are of one trade."""
    if relation == "occupation":
        trades = _TRADES.get(one, ())
        last = other.rsplit(maxsplit=1)[-1]
        if last in trades or (one.endswith("ing") and one[:_SAME_TRADE] == last[:_SAME_TRADE]):
            return True
    if relation == "owns":
        # A car seat is no car.
        space = " " if one.isascii() and other.isascii() else ""
        if other.startswith((f"{one} in ", f"{one}{space}")) and one not in THINGS:
            # A Volvo is a Volvo V60.
            return True
        return other.startswith(f"{one} in ") or any(
            f"{space}{long}".endswith(f"{space}{short}") for long, short in ((one, other), (other, one))
        )
    if relation not in ("works_at", "studies_at", "lives_in", "occupation", "diet"):
        return False
    if relation == "diet" and "素" in one and "素" in other:
        return True
    if one.isascii() and other.isascii():
        return f" {one} " in f" {other} " or f" {other} " in f" {one} "
    return one in other or other in one


def _gone(claim: Claim, facts: Facts, *, died: bool, pets_only: bool) -> Iterator[Claim]:
    """Of "my cat died", the cat by its name where one is known, and of "Bob died", who Bob was."""
    thing = name_key(claim.object)
    pets = [fact.object for fact in facts.about(claim.subject, relation="pet", as_of=claim.time)]
    cats = [one for one in pets for kind in facts.about(one, relation="kind") if is_kind(name_key(kind.object), thing)]
    if thing in _ANY_PET:
        cats = pets
    if thing not in map(name_key, pets) and len(cats) == 1:
        claim, thing = msgspec.structs.replace(claim, object=cats[0]), name_key(cats[0])
    yield claim
    if thing in map(name_key, pets):
        yield from (one for one in _ended_with([thing], claim, facts) if died or one.relation == "kind")
        return
    for edge in facts.walk(claim.object, depth=1, as_of=claim.time):
        # 我弟的二狗死了: it is the pet of another.
        if edge.fact.relation == "pet" and name_key(edge.fact.object) == thing:
            yield msgspec.structs.replace(claim, subject=edge.fact.subject, object=edge.fact.object)
            yield from (one for one in _ended_with([thing], claim, facts) if died or one.relation == "kind")
    for fact in () if pets_only else facts.about(claim.subject, as_of=claim.time):
        relation = relation_of(fact.relation)
        # A child is put to sleep every evening.
        if relation is not None and relation.people and fact.relation != "child" and name_key(fact.object) == thing:
            yield msgspec.structs.replace(claim, relation=fact.relation)
            yield from _ended_with(facts.names_of(claim.object) if died else (), claim, facts)


def _lost(claim: Claim, facts: Facts, *, died: bool) -> Iterator[Claim]:
    """The end of a relative by name; of "my mother died", of her by her name, and of what was true of her."""
    held = facts.about(claim.subject, relation=claim.relation, as_of=claim.time)
    if any(name_key(fact.object) == name_key(claim.object) for fact in held) or not claim.object:
        yield claim
        # Who is a friend no longer still lives where they live.
        yield from _ended_with(facts.names_of(claim.object) if died and claim.object else (), claim, facts)
        return
    names = facts.names_of(f"{claim.subject}'s {claim.object}")
    ended = [fact for fact in held if name_key(fact.object) in names]
    for fact in ended:
        yield msgspec.structs.replace(claim, object=fact.object)
    yield from _ended_with(names, claim, facts)
    if not ended:
        yield claim


def _ended_with(names: Sequence[str], claim: Claim, facts: Facts) -> Iterator[Claim]:
    """What is no longer true of someone who died, by their names."""
    known = {fact.id: fact for name in names for fact in facts.about(name, as_of=claim.time)}
    for fact in known.values():
        if fact.relation not in _OUTLIVES:
            yield msgspec.structs.replace(claim, subject=fact.subject, relation=fact.relation, object=fact.object)


def _left(claim: Claim, others: Sequence[Claim], facts: Facts, *, for_good: bool) -> Iterator[Claim]:
    """What someone was at the employer that they left, or ``for_good``, where no other job begins.

    A trade that was stated before the employer goes on, and so does one that is said to be someone's own.
    """
    begins = any(one.relation in ("works_at", "occupation") and not one.negated for one in others)
    if begins:
        return
    jobs = facts.about(claim.subject, relation="works_at", as_of=claim.time)
    left = [fact for fact in jobs if not claim.object or name_key(fact.object) == name_key(claim.object)]
    for fact in facts.about(claim.subject, relation="occupation", as_of=claim.time):
        own = _OWN_TRADE(" ".join([fact.object, *(facts.said(source) for source in fact.evidence)]))
        if for_good or (not own and any(_first_said(job) <= _first_said(fact) for job in left)):
            yield msgspec.structs.replace(claim, relation="occupation", object=fact.object)
    if not claim.object:
        for fact in facts.about(claim.subject, relation="works_in", as_of=claim.time):
            yield msgspec.structs.replace(claim, relation="works_in", object=fact.object)


def _first_said(fact: Fact) -> tuple[datetime, int]:
    """When and where in a text a fact was first stated."""
    return fact.learned_at, fact.evidence[0].start


_OWN_TRADE = re.compile(
    r"\b(?:by trade|qualified|trained|freelanc\w*|self-employed|own business|on the side|part-time)\b"
    "|自由职业|兼职|副业|个体",
    re.I,
).search


def _graduated(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """The school that someone is no longer at."""
    school = name_key(claim.object)
    for fact in facts.about(claim.subject, relation="studies_at", as_of=claim.time):
        here = name_key(fact.object)
        if here in school or school in here:
            left = msgspec.structs.replace(
                claim, relation="studies_at", object=fact.object, negated=True, valid_from=None, valid_to=None
            )
            yield left
            yield from _studied(left, facts)


def _studied(claim: Claim, facts: Facts) -> Iterator[Claim]:
    """What someone no longer studies at the school that they left: what one clause said with it, or all without a school.

    What someone learns by themselves goes on.
    """
    schools = facts.about(claim.subject, relation="studies_at", as_of=claim.time)
    left = [fact for fact in schools if not claim.object or name_key(fact.object) == name_key(claim.object)]
    clauses = {(source.record, source.start) for fact in left for source in fact.evidence}
    for fact in facts.about(claim.subject, relation="studies", as_of=claim.time):
        here = {(source.record, source.start) for source in fact.evidence}
        if here <= clauses or (not claim.object and not any(_LEARNS(facts.said(source)) for source in fact.evidence)):
            yield msgspec.structs.replace(claim, relation="studies", object=fact.object)
    if claim.object:
        return
    for fact in facts.about(claim.subject, relation="studies_in", as_of=claim.time):
        yield msgspec.structs.replace(claim, relation="studies_in", object=fact.object)
    for fact in facts.about(claim.subject, relation="occupation", as_of=claim.time):
        if _STUDENT(fact.object):
            yield msgspec.structs.replace(claim, relation="occupation", object=fact.object)


_STUDENT = re.compile(
    r"(?:.* )?(?:student|undergrad\w*|postgrad\w*)(?: .*)?|.{0,6}(?:大学生|研究生|学生|本科生|博士生|硕士生)", re.I
).fullmatch
_LEARNS = re.compile(r"\blearn|\bteaching myself|自学|在学|学着|学习", re.IGNORECASE).search
