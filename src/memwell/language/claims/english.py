"""Claims of English sentences: a subject at the head of a clause, a verb that says something of it, and an object.

Only clauses that begin with their subject are read. That leaves out questions, conditions, wishes and what others are
said to have said, because in all of these something stands before the subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memwell.language.claims import english_words as words
from memwell.language.claims.english_pets import named_pets, pets_in_passing
from memwell.language.claims.english_rules import RULES, Place, Rule, phrase, phrases, proper
from memwell.language.claims.found import Found
from memwell.language.claims.relations import FAVOURITE
from memwell.language.claims.timing import EVENT, PAST, STATE

_NAME = r"[A-Z][a-zà-ÿ’-]+(?: [A-Z][a-zà-ÿ’-]+)?"
_KIN = "|".join(sorted(words.KIN, key=len, reverse=True))
_FILLER = (
    r"(?:(?:and|but|so|well|yeah|yes|yep|oh|wow|actually|also|plus|btw|because|hi|hey|hello|sure|no|nope|ok|okay|thanks|"
    r"honestly|anyway|currently|right now|these days|nowadays|now|fun fact|by the way|since|as),? ?(?:[A-Z][a-z]+, )?){0,4}"
)
# Where a clause may begin but for the sentence's start: after a mark, or after a word that joins it to what came before.
_BOUND = re.compile(r"[,;!—–] ?| (?:and|but|so|because|plus) ")
_OPENING = re.compile(r"[\s\"“*-]*").match
_HEAD = re.compile(rf"(?i:{_FILLER})(?P<subject>[Ii]\b|(?i:my|our) |[Ww]e\b|{_NAME}(?= |['’]s ))").match
_CLAUSE_END = re.compile(
    r"[,;!?—–(]|\s-\s|\.(?:\s|\Z)|\s(?:and|but|so|because|though)\s(?:I|I['’]\w+|my|we|he|she|it|they|you)\b"
)
# What makes a sentence, or all of it that follows, no statement of the speaker's own.
_NO_STATEMENT = re.compile(
    r"\A[\s\"“]*(?:if|when|whenever|unless|suppose|supposing|imagine|pretend|once|until|whether|would|could|should|do|does|"
    r"did|am|is|are|was|were|can|will|have|has|who|what|where|why|how|which|let|maybe|perhaps|>)\b|\A\s*>",
    re.IGNORECASE,
).match
_DOUBT = re.compile(
    r"\b(?:if|whether|unless|wish|wishes|imagine|pretend|pretending|suppose|said|says|say|told|tells|asked|joked|joking|"
    r"kidding|claims|claimed|thinks|thought|dreamed|dreamt|as though|in case|in another life|lied)\b",
    re.IGNORECASE,
).search
_DOUBTFUL = frozenset(
    "if whether unless wish wishes imagine pretend pretending suppose said says say told tells asked joked joking kidding "
    "claims claimed thinks thought dreamed dreamt though case another lied".split()
)
_LETTERS = re.compile("[a-z]+").findall
_QUOTED = re.compile(r"[\"“][^\"“”\n]{0,400}\b(?:I|my|we|you|me)\b[^\"“”\n]{0,400}[\"”]", re.IGNORECASE)
_WORD = re.compile(r"\s*(['’]?[A-Za-z][\w’'-]*)").match
_APPOSED = re.compile(
    rf"\b[Mm]y (?:[a-z]+ )??(?P<kin>{_KIN})(?: (?:named |called )?|['’]s name is )(?P<name>(?!I\b){_NAME})(?!['’]s name)"
)
_OWN = re.compile(
    r"(?i:(?P<what>name|birthday|email address|email|e-mail|phone number|phone|number|job|profession|hometown|"
    r"home town|hobby|hobbies|age|nationality|favou?rite [a-z]+(?: [a-z]+)?))(?: of all time)?"
    r"(?:['’]s| is| are| include| includes| has always been) (?:on |in |currently |definitely |probably |actually |"
    r"called )*"
    r"(?P<o>\S.*)",
    re.DOTALL,
).match
_KIN_SUBJECT = re.compile(
    rf"(?:(?:\w+ )??(?P<kin>(?i:{_KIN})))(?P<name>,? {_NAME},?)?(?=\s(?!and\b|or\b)|['’]s )"
).match
_IS_KIN = re.compile(rf"\s*(?:['’]s|is) my (?:\w+ )??(?P<kin>{_KIN})\b(?!['’-])").match
_OWN_RELATIONS = {
    "name": "name",
    "birthday": "birthday",
    "email": "email",
    "e-mail": "email",
    "email address": "email",
    "phone": "phone",
    "number": "phone",
    "phone number": "phone",
    "job": "occupation",
    "profession": "occupation",
    "hometown": "from",
    "home town": "from",
    "hobby": "hobby",
    "hobbies": "hobby",
    "age": "age",
    "nationality": "nationality",
}
_SHAPES = {
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+").match,
    "phone": re.compile(r"\+?\d[\d ()-]{5,18}\d").match,
    "age": re.compile(r"1?\d?\d\b").match,
    "birthday": re.compile(
        r"(?:the )?[A-Za-z]+ \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?|(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?"
        r"[A-Z][a-z]+(?: \d{4})?|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?"
    ).match,
}
_BORN_ON = re.compile(r"\s*on (?P<o>\S.*)", re.DOTALL).match
_OPPOSITE = {"likes": "dislikes"}
# "Any more" with which a thought ends; before a noun it counts something.
_ANY_MORE = re.compile(
    r"\s+(?:anymore\b|any longer\b|any more(?=\s*(?:\Z|[^\w\s]|(?:and|but|or|so|because|since|as|at|in|now|though|either|"
    r"for|these|due|thanks|after|when|which|if)\b)))",
    re.IGNORECASE,
).search
_NO_MORE = re.compile(r"\s+no (?:more|longer)(?=\s*\Z)", re.IGNORECASE).search
_NOT_SO_MUCH = re.compile(r"\b(?:as|so) (?:much|often)\b", re.IGNORECASE).search
# Who eats or drinks something need not like it; who stopped to has no liking for it left.
_HABITS = frozenset("eat eats drink drinks".split())
_LEFT_BEHIND = frozenset(("occupation", "lives_in", "works_at", "studies_at", "from"))
_FIRST_PERSON = frozenset(
    "live reside work study like love enjoy adore prefer hate dislike detest loathe speak have own believe plan play "
    "collect go".split()
)
_MOST_WORDS_BEFORE_VERB = 7
_LONGEST_CLAUSE = 400
_PLURAL_SAYS = frozenset(("lives_in", "pet", "kind", "owns", "visited", "bought", "plans"))


# What a subject does besides. With its s a verb goes with nothing but a third person; without it, it may go with a
# helper before it ("I want to travel and work"), so that the first thing said must be a plain one.
_BESIDES = re.compile(
    r" and (?:also |now |currently |still )?(?=(?:lives|resides|works|studies|speaks|has|owns|likes|loves|enjoys|adores|"
    r"hates|dislikes|plays|collects|is|was born|moved to|graduated from)\b)"
).search
_BESIDES_OWN = re.compile(
    r" and (?:also |now |currently )?(?=(?:live in|work (?:at|for|as)|study at|speak|am|graduated from|moved to)\b)"
).search
_OF_ANOTHER = re.compile(r"\b(?:who|whom|whose|that|which|where|when|while)\b").search
_PLAIN = frozenset(
    "lives_in works_at occupation studies_at from name age nationality speaks diet graduated_from pet".split()
)


class _Predicate(NamedTuple):
    verb: str
    at: int
    negated: bool = False
    ended: bool = False
    was: bool = False
    used_to: bool = False
    perfect: bool = False


def english(sentence: str) -> Iterator[Found]:
    """What an English sentence says, without overlap with what only seems to be said."""
    if _NO_STATEMENT(sentence) or "?" in sentence[-4:]:
        return
    if '"' in sentence or "“" in sentence:
        sentence = _QUOTED.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    # Most sentences hold no doubt, and looking for their words is cheaper than looking for the pattern.
    doubt = None if _DOUBTFUL.isdisjoint(_LETTERS(sentence.lower())) else _DOUBT(sentence)
    limit = len(sentence) if doubt is None else doubt.start()
    yield from _apposed(sentence, limit)
    for head in _heads(sentence):
        if head.start("subject") > limit:
            return
        # No clause is longer than this, and a text without marks must not be searched to its end for every head.
        far = min(len(sentence), head.end() + _LONGEST_CLAUSE)
        stop = _CLAUSE_END.search(sentence, head.end(), far)
        end = far if stop is None else stop.start()
        # A doubt in the clause itself ("I think", "I wish") unsays it.
        if doubt is None or doubt.start() >= end:
            yield from _clause(sentence, head, end)


def _heads(sentence: str) -> Iterator[re.Match[str]]:
    """The clauses that begin with their subject, by how they begin."""
    opening = _OPENING(sentence)
    starts = [0 if opening is None else opening.end(), *(bound.end() for bound in _BOUND.finditer(sentence))]
    at = 0
    for start in starts:
        head = _HEAD(sentence, start) if start >= at else None
        if head is not None:
            at = head.end()
            yield head


def _apposed(sentence: str, limit: int) -> Iterator[Found]:
    """People and pets that are named in passing: "with my sister Anna"."""
    if "y " not in sentence and "ur " not in sentence:
        return
    for found in _APPOSED.finditer(sentence, 0, limit):
        if found["name"].lower() not in words.NOT_NAMES:
            relation = words.KIN[found["kin"]]
            yield Found(relation, *found.span("name"), *found.span(), confidence=0.85)
    yield from pets_in_passing(sentence, limit)


def _clause(sentence: str, head: re.Match[str], end: int) -> Iterator[Found]:
    subject = head["subject"]
    start = head.start("subject")
    if subject in ("I", "i"):
        yield from _said(sentence, start, head.end(), end, "")
    elif subject in ("We", "we"):
        yield from (found for found in _said(sentence, start, head.end(), end, "") if found.relation in _PLURAL_SAYS)
    elif subject.lower() in ("my ", "our "):
        yield from _of_mine(sentence, start, head.end(), end)
    elif subject.split()[0].lower() not in words.NOT_NAMES | words.ADVERBS:
        yield from _of_someone(sentence, start, head.end(), end, subject)


def _of_someone(sentence: str, start: int, at: int, end: int, name: str) -> Iterator[Found]:
    kin = _IS_KIN(sentence, at, end)
    if kin is not None:
        yield Found(words.KIN[kin["kin"]], start, at, start, kin.end(), confidence=0.85)
        besides = _BESIDES(sentence, kin.end(), end)
        if besides is not None and besides.start() == kin.end():
            yield from _said(sentence, besides.end(), besides.end(), end, name)
    else:
        yield from _said(sentence, start, at, end, name)


def _of_mine(sentence: str, start: int, at: int, end: int) -> Iterator[Found]:
    """After *my*: something of the speaker's own, or someone of theirs and what they do."""
    own = _OWN(sentence, at, end)
    if own is not None:
        yield from _own(sentence, start, end, own)
        return
    kin = _KIN_SUBJECT(sentence, at, end)
    if kin is None or kin["kin"].lower() not in words.KIN:
        return
    if kin["name"]:
        yield from _said(sentence, start, kin.end(), end, kin["name"].strip(" ,"))
    else:
        yield from _said(sentence, start, kin.end(), end, "", kin=sentence[at : kin.end()].lower())


def _own(sentence: str, start: int, end: int, own: re.Match[str]) -> Iterator[Found]:
    what = " ".join(own["what"].lower().split())
    relation = _OWN_RELATIONS.get(what)
    if relation is None:
        relation = FAVOURITE + what.partition(" ")[2].removesuffix(" of all")
    at = own.start("o")
    shape = _SHAPES.get(relation)
    if shape is not None:
        # Addresses and dates have dots and commas, so they may run over the clause's end.
        shaped = shape(sentence, at)
        places = [] if shaped is None else [shaped.span()]
    elif relation in ("name", "from", "nationality"):
        places = proper(sentence, at, end)
    else:
        places = phrases(sentence, at, end) if relation == "hobby" else phrase(sentence, at, end)
    for place in places:
        yield Found(relation, *place, start, max(end, place[1]), confidence=0.9)


def _said(sentence: str, start: int, at: int, end: int, subject: str, *, kin: str = "") -> Iterator[Found]:
    """What a clause says of its subject: one thing, or several that *and* joins."""
    besides = (_BESIDES if subject or kin else _BESIDES_OWN)(sentence, at, end)
    if besides is None or _OF_ANOTHER(sentence, at, besides.start()):
        yield from _by_verb(sentence, start, at, end, subject, kin)
        return
    first = list(_by_verb(sentence, start, at, besides.start(), subject, kin))
    if not first or not (subject or kin or all(map(_is_plain, first))):
        yield from _by_verb(sentence, start, at, end, subject, kin)
        return
    yield from first
    yield from _said(sentence, besides.end(), besides.end(), end, subject, kin=kin)


def _is_plain(found: Found) -> bool:
    return found.relation in _PLAIN and not found.negated and found.kind in (STATE, EVENT)


def _by_verb(sentence: str, start: int, at: int, end: int, subject: str, kin: str) -> Iterator[Found]:
    """What a clause says of its subject, by its verb."""
    said = _predicate(sentence, at, end)
    if said is None or (said.negated and _NOT_SO_MUCH(sentence, said.at, end)):
        return
    said, last = _until_any_more(sentence, said, end)
    if said.verb == "born" and (born := _BORN_ON(sentence, said.at)):
        date = _SHAPES["birthday"](sentence, born.start("o"))
        if date is not None:
            yield Found("birthday", *date.span(), start, max(end, date.end()), subject, kin, confidence=0.9)
        return
    if (subject or kin) and said.verb in _FIRST_PERSON and not (said.negated or said.used_to):
        # "Unconditional love is…": without its s, the verb is no verb of a third person's.
        return
    rules = RULES.get(said.verb, [])
    for rule in RULES["been"] + rules if said.perfect and said.verb == "be" else rules:
        found = rule.match(sentence, said.at, last)
        places = rule.take(sentence, *found.span("o")) if found else []
        if places and _fits(rule, said, bool(subject or kin)):
            for place in places:
                found = _found(rule, said, place, start, end, subject, kin)
                yield from named_pets(sentence, found) if found.relation == "pet" else (found,)
            return


def _until_any_more(sentence: str, said: _Predicate, end: int) -> tuple[_Predicate, int]:
    """The predicate and where its object must end: "not … any more" ends something, and is no part of what it ends."""
    over = (_ANY_MORE if said.negated else _NO_MORE)(sentence, said.at, end)
    if over is None:
        return said, end
    # "I can't stand milk any more" begins something.
    return said._replace(ended=said.ended or said.verb != "stand"), over.start()


def _fits(rule: Rule, said: _Predicate, other: bool) -> bool:
    if said.was and not said.used_to and rule.kind != PAST and rule.relation not in _LEFT_BEHIND:
        return False
    if said.verb == "stand" and not said.negated:
        return False
    if said.verb in _HABITS and not (said.ended or said.used_to):
        return False
    if said.verb == "loved" and not said.perfect:
        return False
    # "Paris is Anna" and "my brother is Tom" name nobody by this rule.
    return not (rule.relation == "name" and other)


def _found(rule: Rule, said: _Predicate, place: Place, start: int, end: int, subject: str, kin: str) -> Found:
    relation, negated = rule.relation, said.negated and said.verb != "stand"
    if negated and relation in _OPPOSITE and not said.ended:
        relation, negated = _OPPOSITE[relation], False
    kind = PAST if (said.was or said.used_to) and relation != "from" else rule.kind
    if kind == PAST and said.perfect and relation in _LEFT_BEHIND:
        # "I have lived in" goes on; "I lived in" is over.
        kind = STATE
    return Found(
        relation,
        *place,
        start,
        end,
        subject,
        kin,
        kind=kind,
        lasting=said.perfect,
        negated=negated or said.ended or rule.ends,
        confidence=rule.confidence,
    )


def _predicate(sentence: str, at: int, end: int) -> _Predicate | None:
    """The verb of a clause and what its helpers make of it; None for what might be, and for a clause without one."""
    negated = ended = was = used_to = perfect = is_ = False
    for _ in range(_MOST_WORDS_BEFORE_VERB):
        found = _WORD(sentence, at, end)
        word = "" if found is None else found[1].lower().replace("’", "'")
        after = at if found is None else found.end()
        if word in words.MODALS or word in words.PAST_NEGATIONS or word == "did":
            return None
        if word in words.NEGATIONS:
            negated = True
        elif word == "anymore" or (word == "no" and sentence.startswith(" longer", after)):
            ended, after = True, after + (len(" longer") if word == "no" else 0)
        elif word == "used" and sentence.startswith(" to ", after):
            used_to, after = True, after + len(" to")
        elif word in words.BE or (word == "be" and used_to):
            is_ = True
        elif word in words.WAS:
            was = is_ = True
        elif word in words.HAVE and _is_helper(sentence, after, end):
            perfect = True
        elif word in words.ADVERBS or word in ("do", "does"):
            pass
        elif is_ and word not in RULES:
            return _Predicate("be", at, negated, ended, was, used_to, perfect)
        elif not word or (is_ and word in ("like", "love", "left")):
            return None
        else:
            return _Predicate(word, after, negated, ended, was and word != "born", used_to, perfect)
        at = after
    return _Predicate("be", at, negated, ended, was, used_to, perfect) if is_ else None


_PARTICIPLES = frozenset(
    "been lived worked moved visited adopted bought studied loved got started begun always never just recently also "
    "traveled travelled graduated played hated enjoyed stopped quit given".split()
)


def _is_helper(sentence: str, at: int, end: int) -> bool:
    following = _WORD(sentence, at, end)
    return following is not None and following[1].lower() in _PARTICIPLES


__all__ = ["english"]
