"""The English rules: after which verb, in which words, which relation is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from memwell.language.claims import english_words as words
from memwell.language.claims.timing import EVENT, PAST, PLAN, STARTED, STATE

Place: TypeAlias = tuple[int, int]
Taker: TypeAlias = Callable[[str, int, int], list[Place]]
"""From a sentence and where an object may stand in it to where objects do stand."""

_CAPITALS = re.compile(
    r"(?:[Tt]he )?[A-Z][\w’'&.-]*(?:(?: (?:of|de|la|and) | (?:of the) | |-)(?=[A-Z])[A-Z][\w’'&.-]*){0,4}"
).match
_WORDS = re.compile(r"[^\s]+")
_PHRASE_END = re.compile(
    rf"\s+(?:{'|'.join(words.ENDS_PHRASE.split())})\b|\s+(?:and|or)\s+(?:I|it|we|you|he|she|they|my|that|this|there|would|"
    r"am|is|are|was|have|had|has|can|could|will|just|then|to|how|what|feel|think|hope|want|love|hate|like|enjoy|need|make|"
    rf"got|even|now|so|also|always|really|not|never|don['’]t|it['’]s|I['’]m)\b|[.!?…:;\"“”()*~\[\]\n]|\s[-–—]\s|—"
).search
_NEXT_WORD = re.compile(r" ([a-z]+)").match
_JOINED = re.compile(r"\s+(?:and|&)\s+").search
_PURPOSE = re.compile(r" to (?!an? |the |my |our )[a-z]").search  # "… to improve my skills"
_EATING = re.compile(
    r"(?:eat|drink)(?:ing)? (?!out\b|in\b|at\b|on\b|with\b|together\b|alone\b|well\b|late\b|healthy\b|up\b"
    r"|less\b|more\b|too\b)",
    re.IGNORECASE,
).match
_LONGEST_PHRASE = 8
_LOWER_NAME = 3


class Rule(NamedTuple):
    """After a verb: where the object may stand, how it is cut out, and what it says."""

    match: Callable[[str, int, int], re.Match[str] | None]
    relation: str
    take: Taker
    kind: str
    confidence: float
    ends: bool = False
    """Whether it says that something is over."""


def proper(sentence: str, start: int, end: int) -> list[Place]:
    """A row of capitalised words; in a sentence without capitals, the words up to the end of the phrase."""
    found = _CAPITALS(sentence, start, end)
    if found is not None:
        last = found.end()
        while sentence[last - 1] in ".'’-&":
            last -= 1
        return [(start, last)] if sentence[start:last].lower() not in words.NOT_NAMES else []
    if not sentence.islower():
        return []
    return [place for place in phrase(sentence, start, end) if _count(sentence, place) <= _LOWER_NAME]


def phrase(sentence: str, start: int, end: int) -> list[Place]:
    """A short phrase that ends where the thought does, unless it points at something instead of naming it."""
    return _named(sentence, start, _phrase_end(sentence, start, end))


def phrases(sentence: str, start: int, end: int) -> list[Place]:
    """One phrase, or two of the same shape joined by *and*; where the shapes differ, the first."""
    last = _phrase_end(sentence, start, end)
    joint = _JOINED(sentence, start, last)
    if joint is None:
        return _named(sentence, start, last)
    if not words.POINTING.isdisjoint(sentence[joint.end() : last].lower().split()):
        return []
    left, right = _named(sentence, start, joint.start()), _named(sentence, joint.end(), last)
    if left and right and _alike(sentence, left[0], right[0]):
        return left + right
    return left


def likings(sentence: str, start: int, end: int) -> list[Place]:
    """As ``phrases``, without what only the moment explains: "the rush", "the idea"; of what is eaten, the thing."""
    places = [place for place in phrases(sentence, start, end) if not _of_the_moment(sentence[place[0] : place[1]])]
    return [(_after_eating(sentence, *place), place[1]) for place in places]


def _after_eating(sentence: str, start: int, end: int) -> int:
    eating = _EATING(sentence, start, end)
    return start if eating is None else eating.end()


def _phrase_end(sentence: str, start: int, end: int) -> int:
    cut = _PHRASE_END(sentence, start, end)
    last = end if cut is None else cut.start()
    if cut is not None and sentence[start:last].lower().strip() in words.LIGHT_VERBS and cut[0].strip().isalpha():
        # "caring for dogs", "go for a walk": the verb alone says nothing.
        cut = _PHRASE_END(sentence, cut.end(), end)
        last = end if cut is None else cut.start()
    return last


def _named(sentence: str, start: int, end: int) -> list[Place]:
    if sentence[end : end + 1] in ('"', "“"):
        # A title follows: what stands before it is only half of what is meant.
        return []
    while start < end and sentence[end - 1] in " \t,'’-":
        end -= 1
    found = sentence[start:end].lower().split()
    if len(found) > _LONGEST_PHRASE and (purpose := _PURPOSE(sentence, start, end)):
        end = purpose.start()
        found = sentence[start:end].lower().split()
    if not 0 < len(found) <= _LONGEST_PHRASE or found[0].strip(",'’") in words.NOT_OBJECTS:
        return []
    if found[-1] in words.UNFINISHED or not words.POINTING.isdisjoint(found):
        return []
    return [] if len(found) == 1 and found[0] in words.LIGHT_VERBS else [(start, end)]


def _of_the_moment(words_: str) -> bool:
    return words_.startswith("the ") and words_[4:5].islower() and words_[4:] not in words.KNOWN_TO_ALL


def _alike(sentence: str, left: Place, right: Place) -> bool:
    one, other = sentence[left[0] : left[1]].split(), sentence[right[0] : right[1]].split()
    if one[0].endswith("ing") or other[0].endswith("ing"):
        return one[0].endswith("ing") and other[0].endswith("ing")
    return len(one) == len(other) == 1 or other[0].lower() in words.LISTED or other[0][0].isupper()


def listed(allowed: Iterable[str], *, most: int = 1) -> Taker:
    """A phrase of at most ``most`` words of which the last is in a list; it may stand in the plural."""
    known = frozenset(allowed)

    def take(sentence: str, start: int, end: int) -> list[Place]:
        last = start
        for count, word in enumerate(_WORDS.finditer(sentence, start, end)):
            if count >= most:
                break
            plain = word[0].lower().rstrip(".,!?;:…")
            if plain in known:
                last = word.start() + len(plain)
            elif last > start or len(plain) != len(word[0]) or plain in ("few", "lot", "of"):
                break
        following = _NEXT_WORD(sentence, last, end) if last > start else None
        # "a dog problem" is no dog.
        if following is not None and following[1] not in words.AFTER_NOUN:
            return []
        return [(start, last)] if last > start else []

    return take


def several(taker: Taker) -> Taker:
    """One or two of what a taker takes, joined by *and*."""

    def take(sentence: str, start: int, end: int) -> list[Place]:
        found = taker(sentence, start, end)
        joint = _JOINED(sentence, found[0][1], end) if found else None
        if joint is not None and joint.start() == found[0][1]:
            found += taker(sentence, joint.end(), end)
        return found

    return take


def anything(_sentence: str, start: int, end: int) -> list[Place]:
    """What the pattern has matched, as it stands."""
    return [(start, end)] if start < end else []


def _count(sentence: str, place: Place) -> int:
    return len(sentence[place[0] : place[1]].split())


RULES: dict[str, list[Rule]] = {}
"""By verb, in the form in which it stands: *be* for any form of it."""


def _add(
    verbs: str,
    pattern: str,
    relation: str,
    take: Taker,
    *,
    kind: str = STATE,
    confidence: float = 0.8,
    ends: bool = False,
) -> None:
    rule = Rule(re.compile(r"\s*" + pattern, re.DOTALL).match, relation, take, kind, confidence, ends)
    for verb in verbs.split():
        RULES.setdefault(verb, []).append(rule)


_AN = r"(?:an?|the|one|two|three|four|five|six|my|some) "
_PLACE = r"(?P<o>(?:the )?\S.*)"

_add("live lives living reside resides residing based", rf"(?:\w+ )?in {_PLACE}", "lives_in", proper, confidence=0.9)
_add("lived", rf"(?:\w+ )?in {_PLACE}", "lives_in", proper, kind=PAST, confidence=0.85)
_add("moved relocated", rf"(?:back |here |over )?(?:from [^,]*? )?to {_PLACE}", "lives_in", proper, kind=STARTED)
_add("moved relocated", r"(?:here |away |over )?from (?P<o>\S.*)", "lives_in", proper, kind=PAST)
_add("work works working", r"(?:\w+-time )?(?:at|for) (?P<o>\S.*)", "works_at", proper, confidence=0.85)
_add("worked", r"(?:at|for) (?P<o>\S.*)", "works_at", proper, kind=PAST)
_add(
    "started began",
    r"(?:working|work|my new job|a new job|a job) (?:at|for) (?P<o>\S.*)",
    "works_at",
    proper,
    kind=STARTED,
)
_add("got landed have has", r"(?:a|my) (?:new )?job (?:at|with) (?P<o>\S.*)", "works_at", proper, kind=STARTED)
_add("left quit", r"(?:my job at |my position at )(?P<o>\S.*)", "works_at", proper, kind=PAST)
_JOB = listed(words.OCCUPATIONS, most=4)
_add("work works working", rf"as {_AN}(?P<o>\S.*)", "occupation", _JOB, confidence=0.85)
_add("worked", rf"as {_AN}(?P<o>\S.*)", "occupation", _JOB, kind=PAST)
_add("be became", r"(?:an?|the) (?P<o>\S.*)", "occupation", _JOB, confidence=0.75)
_add("be was", r"(?:born and raised )?from (?P<o>\S.*)", "from", proper, confidence=0.85)
_add("born", r"(?:and raised )?in (?P<o>(?!\d)\S.*)", "from", proper, confidence=0.85)
_add("grew", r"up in (?P<o>\S.*)", "from", proper, confidence=0.7)
_add("study studies studying", r"(?:\w+ )?at (?P<o>\S.*)", "studies_at", proper)
_add("studied", r"(?:\w+ )?at (?P<o>\S.*)", "studies_at", proper, kind=PAST)
_add("graduated", r"from (?P<o>\S.*)", "graduated_from", proper, kind=EVENT)
_add("be", r"(?P<o>1?\d?\d)(?= years? old|\s*$|[.!])", "age", anything, confidence=0.8)
_add(
    "turned",
    r"(?P<o>1[01]\d|[1-9]?\d)(?=\s*$|[.!]| (?:on|in|last|this|years|today|yesterday|recently)\b)",
    "age",
    anything,
    confidence=0.8,
)
_add("be", r"(?:\w+ )?allergic to (?P<o>\S.*)", "allergic_to", phrases, confidence=0.9)
_add("have has", r"an? (?:severe |bad |mild )?(?P<o>\w+) allergy", "allergic_to", anything, confidence=0.9)
_add("be", r"(?:an? )?(?P<o>\S.*)", "diet", listed(words.DIETS), confidence=0.9)
_add("married", r"(?:to )?(?P<o>[A-Z]\S.*)", "married_to", proper, kind=STARTED, confidence=0.85)
_add("dating", r"(?P<o>[A-Z]\S.*)", "partner", proper)
_add("be", r"engaged to (?P<o>[A-Z]\S.*)", "partner", proper)
_add("be", r"(?:an? )?(?P<o>\S.*)", "nationality", listed(words.NATIONALITIES), confidence=0.75)
_add("be", r"(?P<o>[A-Z]\w+(?: [A-Z]\w+)?)(?=\s*(?:$|[.!]))", "name", proper, confidence=0.6)
_add("go goes", r"by (?P<o>[A-Z]\S.*)", "name", proper, confidence=0.7)
_add(
    "be",
    r"(?:an? )?(?:big |huge |massive )?(?:fan of|fond of|into|obsessed with|passionate about) (?:both )?(?P<o>\S.*)",
    "likes",
    likings,
)
# "I am interested in" is said of an offer; "I have always been interested in" is said of oneself.
_add("been", r"interested in (?P<o>(?!the\b)\S.*)", "likes", likings, confidence=0.7)
_add("like likes love loves enjoy enjoys adore adores loved", r"(?:to |both |also )*(?P<o>\S.*)", "likes", likings)
_add("prefer prefers", r"(?P<o>[^\s]+(?: \w+)?) (?:over|to) ", "likes", likings, confidence=0.65)
_add("hate hates dislike dislikes detest detests loathe", r"(?:to )?(?P<o>\S.*)", "dislikes", likings)
_add(
    "speak speaks",
    r"(?:fluent |some |a little |both |a bit of )?(?P<o>\S.*)",
    "speaks",
    several(listed(words.LANGUAGES)),
    confidence=0.9,
)
_PET = listed(words.PETS, most=4)
_add("have has own owns got adopted", rf"{_AN}(?P<o>\S.*)", "pet", _PET, confidence=0.85)
_add("own owns have has", r"an? (?P<o>\S.*)", "owns", listed(words.THINGS, most=3), confidence=0.75)
_add(
    "bought purchased", r"(?:myself |us )?(?P<o>(?:an?|the|some|two|three|my|new) \S.*)", "bought", phrases, kind=EVENT
)
_add("visited", r"(?P<o>\S.*)", "visited", proper, kind=EVENT)
_add(
    "went traveled travelled flew drove",
    r"(?:back |on \w+ \w+ |on vacation )?to (?P<o>[A-Z]\S.*)",
    "visited",
    proper,
    kind=EVENT,
)
_add("be been", r"to (?P<o>[A-Z]\S.*)", "visited", proper, kind=EVENT)
_add("believe believes", r"(?P<o>in \S.*)", "believes", phrase, confidence=0.65)
_add(
    "plan plans planning",
    r"(?:on )?(?:to )?(?P<o>(?!ahead|something|everything|on\b)\S.*)",
    "plans",
    phrase,
    kind=PLAN,
    confidence=0.7,
)
_add(
    "going",
    r"to (?P<o>(?!be\b|have to|need|say|keep|try|the\b|a\b|bed\b|sleep|work\b|school\b)\S.*)",
    "plans",
    phrase,
    kind=PLAN,
    confidence=0.65,
)
_add("play plays", r"(?:the |an? )?(?P<o>\S.*)", "hobby", several(listed(words.PLAYED, most=2)), confidence=0.75)
_add("collect collects", r"(?P<o>\S.*)", "hobby", phrase, confidence=0.7)
_add("stand", r"(?P<o>\S.*)", "dislikes", likings)
_add("eat eats drink drinks", r"(?P<o>\S.*)", "likes", likings, confidence=0.7)
_STOPPED = "stopped quit given gave"
_add(_STOPPED, r"(?:up )?being (?:an? )?(?P<o>\S.*)", "diet", listed(words.DIETS), ends=True)
_add(_STOPPED, r"(?:up )?playing (?:the )?(?P<o>\S.*)", "hobby", listed(words.PLAYED, most=2), ends=True)
_add("stopped quit", r"(?:liking|loving|enjoying|eating|drinking) (?P<o>\S.*)", "likes", likings, ends=True)
_add("given gave", r"up (?:eating |drinking )?(?P<o>(?!on\b|to\b)\S.*)", "likes", likings, ends=True)

__all__ = ["RULES", "Place", "Rule", "phrase", "phrases", "proper"]
