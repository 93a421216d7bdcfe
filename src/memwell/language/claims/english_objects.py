"""The objects of English statements: how a name, a place, an employer, a profession, an age or a phrase is cut out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from memwell.language.claims.english_words import (
    ACTIVITIES,
    AFTER_NOUN,
    DIETS,
    ING,
    JOKE_SUBJECTS,
    KIN,
    KNOWN_TO_ALL,
    LANGUAGES,
    LIGHT_VERBS,
    NATIONALITIES,
    NO_ALLERGENS,
    NO_EMPLOYERS,
    NO_OCCUPATIONS,
    NOT_NAMES,
    NOT_OBJECTS,
    NUMBERS,
    OCCUPATION_ENDINGS,
    OCCUPATIONS,
    PASTIMES,
    PLAYED,
    POINTING,
    UNFINISHED,
    verb_forms,
)
from memwell.language.patterns import LazyPattern

Place: TypeAlias = tuple[int, int]
Taker: TypeAlias = Callable[[str, int, int], list[Place]]
"""From a sentence and the span where an object may be to the spans of the objects."""

UPPER = "A-ZÀ-ÖØ-ÞŁŚŠŽČĐ"
NAME = (
    rf"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[{UPPER}][\w-]*+(?:['’](?!s\b)\w+)?"
    rf"(?: (?!I\b)[{UPPER}](?:\.|[\w-]*+(?:['’](?!s\b)\w+)?)){{0,2}}"
)
"""One to three words with a capital, without the ending of a possessive."""
_CAPITALS = LazyPattern(
    rf"(?:[Tt]he )?(?:\d+ )?[{UPPER}][\w’'&.+-]*+(?:(?: (?:of|de|la|le|du|for|von|del) | of the | & | "
    rf"|-)(?=[{UPPER}\d])[\w’'&.+-]++){{0,4}}"
).match
_SINGLE_NAME = LazyPattern(NAME).match
_CALLED = LazyPattern(rf"(?:(?:an?|the|this|my|our|some) (?:[\w-]+ ){{0,6}}?)?(?:called|named) (?=[{UPPER}])").match
WORDS = LazyPattern(r"[^\s]+")
_ENDS_PHRASE = (
    "because but since when while so if though although which who whose that where after before until as for with "
    "whenever than especially even too either these due thanks cause cuz from by during without through about "
    "right now "
    "lately just then unless except plus like including back very really lol haha instead nowadays rather "
    "anymore again btw tho rn till throughout ever always whether despite every sometimes on-and-off"
)
_PHRASE_END = LazyPattern(
    rf"\s+(?:{'|'.join(_ENDS_PHRASE.split())})\b|\s+(?:and|or)\s+(?:I|it|we|you|he|she|they|my|that|this|there|would|"
    r"am|is|are|was|have|had|has|can|could|will|just|then|to|how|what|feel|think|hope|want|love|hate|like"
    r"|enjoy|need|make|"
    r"got|even|now|so|also|always|really|not|never|don['’]t|it['’]s|I['’]m|live|lives|work|works|moved|bought|went"
    r"|started|left|study)\b|[.!?…:;\"“”()*~\[\]\n\x00]|\s[-–—]\s|—"
    r"|\s+(?:[a-z]+ )?(?:ages|years?|months?|weeks?|days?) ago\b|\s+in the end\b|\s+(?:completely|altogether"
    r"|entirely)\b"
).search
_NEXT_WORD = LazyPattern(r" ([a-z]+)").match
_JOINT = LazyPattern(r"\s*,\s*(?:and|or|&)?\s*|\s+(?:and|or|&)\s+")
_LAST_JOINT = LazyPattern(r",?\s+(?:and|or|&)\s+").search
_PURPOSE = LazyPattern(r" to (?!an? |the |my |our )[a-z]").search  # "… to improve my skills"
_EATING = LazyPattern(
    r"(?:eat|drink)(?:ing)? (?!out\b|in\b|at\b|on\b|with\b|together\b|alone\b|well\b|late\b|healthy\b|up\b"
    r"|less\b|more\b|too\b)",
    re.IGNORECASE,
).match
_LONGEST_PHRASE = 8
_LOWER_NAME = 3
LOWER_WORDS = LazyPattern(
    r"(?!(?:with|without|onto|into|next|together|the|an?|my|our|your|his|her|their|this|that|it|fear|hope|peace|bed"
    r"|denial|trouble|love|touch|case"
    r"|general|fact|"
    r"home|work|school|here|there|person|public|private|time|not|and|town|me|him|them|order|charge|pain|shock"
    r"|two|three|"
    r"one|what|some|any|all|first|last|sync|mind|least|once|night|noon|least|lunch|\d+)\b)"
    r"[a-zà-ÿ][\w’'.&-]*(?: (?!(?:near|with|and|but|now|these|since|for|in|at|as|last|next|this|every|again"
    r"|anymore|any|"
    r"tho|though|lol|btw|rn|atm|here|together|full|part|right|so|because|after|before|until|on|by|from|too"
    r"|till|is|was|"
    r"who|when|while|where|or|not|all|just|if|which|that|with|again|still|alone|there|to|about|already|finally|tbh|"
    r"until|my|our|originally|actually|currently|today|yesterday|tomorrow|soon|instead|thats|haha|thank|thanks"
    r"|please|cos|cuz|i|im|he|she|it|we|they)\b)"
    r"[a-zà-ÿ][\w’'&-]*){0,2}(?=\s|\Z|[,.!;:)])"
).match
_NO_PLACES = frozenset("Heaven Hell Mars Bed Planet".split())


def is_casual(sentence: str) -> bool:
    """Whether a sentence is written without capitals, so that names have none."""
    found = next((character for character in sentence if character.isalpha()), "A")
    return found.islower()


# Takers of typed objects.


def _trimmed(sentence: str, start: int, last: int) -> list[Place]:
    while last > start and sentence[last - 1] in ".'’-&,":
        last -= 1
    words = sentence[start:last]
    return [(start, last)] if words and (words.lower() not in NOT_NAMES or words == "Nice") else []


def name(sentence: str, start: int, end: int) -> list[Place]:
    """The name of a person or a pet, also after "a guy called"."""
    called = _CALLED(sentence, start, end)
    at = start if called is None else called.end()
    found = _SINGLE_NAME(sentence, at, end)
    if found is not None:
        first = found[0].split()[0].rstrip(".").lower()
        known = first in NOT_NAMES and first not in ("mr", "mrs", "ms", "dr", "will", "june", "may", "april")
        other = first in _BRANDS or found[0].lower() in _DEMONYMS
        return [] if known or other else [(at, found.end())]
    return _lower(sentence, at, end, 1) if is_casual(sentence) else []


_DEMONYMS = (LANGUAGES | NATIONALITIES) - {"finn", "dane"}
_BRANDS = frozenset(
    "netflix excel google amazon spotify youtube tiktok powerpoint instagram jira slack zoom python siri alexa "
    "chatgpt ikea uber facebook whatsapp twitter reddit wifi wikipedia microsoft apple pinterest".split()
)
"""Of which people say in jest that they are their friends."""


def _lower(sentence: str, start: int, end: int, most: int) -> list[Place]:
    found = LOWER_WORDS(sentence, start, end)
    if found is not None and found[0] == "nice" and sentence[:start].endswith(" in "):
        return [found.span()]
    if found is None or re.split("['’]", found[0])[0] in NOT_NAMES or len(found[0].split()) > most:
        return []
    return _trimmed(sentence, start, found.end())


def names(sentence: str, start: int, end: int) -> list[Place]:
    """Names in a row: "Nell, Cora and Bridget"."""
    found = name(sentence, start, end)
    while found:
        joint = _JOINT.match(sentence, found[-1][1], end)
        # A name after a comma may address someone, or begin the next clause.
        following = name(sentence, joint.end(), end) if joint is not None else []
        if not following or (
            sentence[following[0][1] : following[0][1] + 1] not in ("", ",", ".", ";", "!", " ", ":", ")")
        ):
            break
        if _VERB_AFTER(sentence, following[0][1]):
            break
        found += following
    return found


_VERB_AFTER = LazyPattern(r"(?:['’]s)? (?:is|was|has|are|were|lives|works|and I)\b|['’]s\b").match


_NEAR_PLACE = LazyPattern(rf"(?:an?|the) (?!one\b)(?:[a-z-]+ ){{1,4}}?(?:of|near|outside|in) (?=[{UPPER}])").match


def place(sentence: str, start: int, end: int) -> list[Place]:
    """A place by its name, also after words for where it is: "a suburb of Cleveland"."""
    near = _NEAR_PLACE(sentence, start, end)
    return proper(sentence, start, end) or ([] if near is None else proper(sentence, near.end(), end))


def proper(sentence: str, start: int, end: int) -> list[Place]:
    """A row of capitalised words; in a sentence without capitals, the words up to the end of the phrase."""
    called = _CALLED(sentence, start, end)
    at = start if called is None else called.end()
    found = _CAPITALS(sentence, at, end)
    if found is not None:
        places = _trimmed(sentence, at, found.end())
        unreal = places and sentence[slice(*places[0])].split(maxsplit=1)[0] in _NO_PLACES
        return [] if unreal else places
    return _lower(sentence, at, end, _LOWER_NAME) if is_casual(sentence) else []


_EMPLOYER = LazyPattern(
    r"(?:the|an?|my|our|this)(?: local| same| big| small| little| tiny| large| family)? "
    r"(?P<o>(?:[a-z][a-z-]* ){0,3}?[a-z][a-z-]+(?: of [A-Z]\w+)?)"
    r"(?=\s*(?:\Z|[,.;!)]|\s(?:in|near|as|on|since|for|and|here|down|by|now|called|where|that|which|who|until"
    r"|after|last|from|"
    r"with|these|but|so|because|at|across|outside|when|before|this|any|anymore)\b))"
).match


def employer(sentence: str, start: int, end: int) -> list[Place]:
    """An organisation: capitalised words, or a common noun that says which kind it is: "the fire service"."""
    found = proper(sentence, start, end)
    common = _EMPLOYER(sentence, start, end)
    if found or common is None:
        return found
    words = common["o"].split()
    no = (
        (words[-1] in NO_EMPLOYERS and words != ["post", "office"])
        or words[0] in NO_EMPLOYERS
        or not KIN.keys().isdisjoint((words[-1], words[-1].removesuffix("s")))
    )
    return [] if no else [common.span("o")]


def phrase(sentence: str, start: int, end: int) -> list[Place]:
    """A short phrase, unless it only refers to something ("that one")."""
    last = _phrase_end(sentence, start, end)
    comma = sentence.find(",", start, last)
    return _named(sentence, start, last if comma < 0 else comma)


def phrases(sentence: str, start: int, end: int) -> list[Place]:
    """One phrase, or several in a row: "jazz, blues and soul"."""
    last = _phrase_end(sentence, start, end)
    joint = _LAST_JOINT(sentence, start, last)
    comma = sentence.find(",", start, last)
    if joint is None:
        return _named(sentence, start, last if comma < 0 else comma)
    after = sentence.find(",", joint.end(), last)
    last = last if after < 0 else after
    places: list[Place] = []
    at = start
    for between in (*_JOINT.finditer(sentence, start, last), None):
        one = _named(sentence, at, last if between is None else between.start())
        if not one or (places and not _alike(sentence, places[0], one[0])):
            return places[:1]
        places += one
        at = last if between is None else between.end()
    return places


def likings(sentence: str, start: int, end: int) -> list[Place]:
    """As ``phrases``, without what only the situation explains: "the rush", "the idea"; of food, the thing itself."""
    places = [
        place
        for place in phrases(sentence, start, end)
        if not _of_the_moment(sentence[place[0] : place[1]])
        and not _SOME_OF_THEM(sentence, place[1])
        and not _MY_PEOPLE(sentence, *place)
    ]
    return [(_after_eating(sentence, *place), place[1]) for place in places]


_MY_PEOPLE = LazyPattern(
    rf"(?:my|our|his|her) (?:[a-z-]+ )??(?:{'|'.join(sorted(KIN, key=len, reverse=True))})\b"
).match
_SOME_OF_THEM = LazyPattern(r" (?:who|whose|that|which)\b").match  # "people who like cats"


def allergens(sentence: str, start: int, end: int) -> list[Place]:
    """What one may be allergic to in earnest."""
    return [one for one in phrases(sentence, start, end) if _in_earnest(sentence[slice(*one)].lower().split())]


def _in_earnest(words: list[str]) -> bool:
    doing = words[-1].endswith("ing") and words[-1] not in ("dressing", "icing", "pudding")
    return NO_ALLERGENS.isdisjoint(words) and words[-1] not in KIN and not doing


def _after_eating(sentence: str, start: int, end: int) -> int:
    eating = _EATING(sentence, start, end)
    return start if eating is None else eating.end()


def _phrase_end(sentence: str, start: int, end: int) -> int:
    cut = _PHRASE_END(sentence, start, end)
    last = end if cut is None else cut.start()
    if cut is not None and sentence[start:last].lower().strip() in LIGHT_VERBS and cut[0].strip().isalpha():
        # "caring for dogs", "go for a walk": the verb alone has no object.
        cut = _PHRASE_END(sentence, cut.end(), end)
        last = end if cut is None else cut.start()
    return last


def _named(sentence: str, start: int, end: int) -> list[Place]:
    if sentence[end : end + 1] in ('"', "“", "\x00"):
        # A title follows: the words before it are only half of the name.
        return []
    while start < end and sentence[end - 1] in " \t,'’-":
        end -= 1
    found = sentence[start:end].lower().split()
    if len(found) > _LONGEST_PHRASE and (purpose := _PURPOSE(sentence, start, end)):
        end = purpose.start()
        found = sentence[start:end].lower().split()
    if not 0 < len(found) <= _LONGEST_PHRASE or found[0].strip(",'’") in NOT_OBJECTS:
        return []
    if found[-1] in UNFINISHED or not POINTING.isdisjoint(found):
        return []
    return [] if len(found) == 1 and found[0] in LIGHT_VERBS else [(start, end)]


def _of_the_moment(words_: str) -> bool:
    return words_.startswith("the ") and words_[4:5].islower() and words_[4:].split(maxsplit=1)[0] not in KNOWN_TO_ALL


_MOST_LISTED = 4
_OF_NOUNS = frozenset("a an the my our his her their some going doing".split())


def _alike(sentence: str, left: Place, right: Place) -> bool:
    one, other = sentence[left[0] : left[1]].split(), sentence[right[0] : right[1]].split()
    if one[0].endswith("ing") or other[0].endswith("ing"):
        short = len(other) == 1 or (len(one) == 1 and len(other) == 2 and other[0].lower() not in _OF_NOUNS)
        return one[0].endswith("ing") and (other[0].endswith("ing") or short)
    return len(other) <= _MOST_LISTED and other[0].lower() not in AFTER_NOUN


def listed(allowed: Iterable[str], *, most: int = 1) -> Taker:
    """A phrase of at most ``most`` words whose last one is in a list; it may be a plural."""
    known = frozenset(allowed)

    def take(sentence: str, start: int, end: int) -> list[Place]:
        last = start
        for count, word in enumerate(WORDS.finditer(sentence, start, end)):
            if count >= most:
                break
            plain = word[0].lower().rstrip(".,!?;:…)")
            if plain in known:
                last = word.start() + len(plain)
            elif last > start or plain in _NO_QUALITIES:
                break
            if len(plain) != len(word[0]):
                break
        return _unless_compound(sentence, start, last, end)

    return take


_NO_QUALITIES = frozenset("few lot of about with for in on at to from million thousand hundred zillion like".split())


def _unless_compound(sentence: str, start: int, last: int, end: int) -> list[Place]:
    following = _NEXT_WORD(sentence, last, end) if last > start else None
    # "a dog problem" is no dog.
    if following is not None and following[1] not in AFTER_NOUN:
        return []
    return [(start, last)] if last > start else []


def several(taker: Taker) -> Taker:
    """One or more objects of a taker, in a row."""

    def take(sentence: str, start: int, end: int) -> list[Place]:
        found = taker(sentence, start, end)
        while found and (joint := _MORE(sentence, found[-1][1], end)):
            more = taker(sentence, joint.end(), end)
            if not more:
                break
            found += more
        return found

    return take


_MORE = LazyPattern(
    r"(?: at (?:home|work|school))?\s*(?:,\s*(?:and|but|or)?|\s(?:and|or|&|plus|as well as))\s*(?:also "
    r")?(?:some |a (?:bit|little|few words|smattering|decent amount)"
    r"(?: of)? |fluent |basic |conversational |broken |decent |passable |half |part |a |the )?"
).match
_JOB_WORD = LazyPattern(r"[A-Za-z][\w-]*").match
_MOST_JOB = 4
_NO_JOB_BEFORE = frozenset(
    "big better bad terrible good great lousy real huge complete keen avid amateur passionate hobby enthusiastic born "
    "keeper".split()
)


def job(sentence: str, start: int, end: int) -> list[Place]:
    """A profession, with the words before it: "head librarian"."""
    last, at = start, start
    for _ in range(_MOST_JOB):
        word = _JOB_WORD(sentence, at, end)
        if word is None:
            break
        # "A Londoner" is from London.
        if is_job(word[0].lower()) and (word[0].islower() or word[0].isupper() or word[0].lower() in OCCUPATIONS):
            last = word.end()
        elif last > start or word[0].lower() in AFTER_NOUN:
            break
        at = word.end()
        if sentence.startswith(("'s ", "’s "), at):
            # "a doctor's wife" is no doctor.
            last, at = start, at + 2
        if sentence[at : at + 1] != " ":
            break
        at += 1
    words = sentence[start:last].lower().split()
    if not words or words[0] in _NO_JOB_BEFORE or (words[0] == "student" and len(words) > 1):
        return []
    return _unless_compound(sentence, start, last, end)


_TRADE = LazyPattern(
    r"[A-Za-z][a-z-]*(?: [a-z][a-z-]*){0,2}?(?=\s*(?:\Z|[,.;!)]|(?:at|for|with|in|on|by|and|since|here|now|but|these|from"
    r"|part|full|so|because|which|when|until|who|to|over|there|while|after)\b))"
).match
_NO_TRADE = frozenset("result team favor favour kid child joke whole group couple unit treat".split())


def trade(sentence: str, start: int, end: int) -> list[Place]:
    """What someone works as, also when the word is no known profession."""
    found = job(sentence, start, end)
    other = None if found else _TRADE(sentence, start, end)
    return found if other is None or other[0].split()[-1] in _NO_TRADE else [other.span()]


def is_job(word: str) -> bool:
    """Whether a word is a profession, by a list or by its ending."""
    if word in OCCUPATIONS:
        return True
    if word in NO_OCCUPATIONS or word in NATIONALITIES or word in DIETS or len(word) < 5:
        return False
    return word.endswith(_JOB_ENDINGS) and not word.endswith(("ent", "ant"))


_JOB_ENDINGS = tuple(OCCUPATION_ENDINGS)


def anything(_sentence: str, start: int, end: int) -> list[Place]:
    """The whole match of the pattern."""
    return [(start, end)] if start < end else []


_SUBJECT = LazyPattern(
    r"[\w&'’/-]+(?: (?!(?:at|in|on|with|from|for|as|now|and|part|full|right|these|this|not|here|but|so|there"
    r"|to|degree|student|because|over|under|after|by|is|myself)\b)[\w&'’/-]+){0,3}"
).match
_NO_SUBJECTS = frozenset(
    "part-time full-time remotely "
    "a an the at in for with abroad hard there here to my about and full part online from late how all what "
    "too it that "
    "again this mainly on up away night every now day together alone as people him her them me more tonight today "
    "book books your through out maps".replace("?", "").split()
)


def field(sentence: str, start: int, end: int) -> list[Place]:
    """A subject that is studied."""
    found = _SUBJECT(sentence, start, end)
    if found is None or found[0].split()[0].lower() in _NO_SUBJECTS:
        return []
    if not JOKE_SUBJECTS.isdisjoint(found[0].lower().split()):
        return []
    return _trimmed(sentence, start, found.end())


def school(sentence: str, start: int, end: int) -> list[Place]:
    """A school by its name."""
    return [
        one for one in proper(sentence, start, end) if JOKE_SUBJECTS.isdisjoint(sentence[slice(*one)].lower().split())
    ]


_DOING = LazyPattern(r"[a-z]+ing\b").match


def pastime(sentence: str, start: int, end: int) -> list[Place]:
    """What people do for pleasure: by a list, or by its verb ("painting miniatures")."""
    doing = _DOING(sentence, start, end)
    if doing is not None and doing[0] in _PASTIMES_DOING:
        return phrase(sentence, start, end)
    return listed(ACTIVITIES | PLAYED, most=3)(sentence, start, end)


_PASTIMES_DOING = frozenset(form for form, what in verb_forms(PASTIMES).items() if ING in what) | ACTIVITIES
_AGE = LazyPattern(
    r"(?P<o>[1-9]\d?|1[01]\d|(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two"
    r"|three|four|five|six|seven|eight|nine))?|\w+teen|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)(?=\b))(?![\w%$€£:/.,-]*\d|[%$€£]|-\w)",
    re.IGNORECASE,
).match
_AGE_END = LazyPattern(
    r"\s*(?:\Z|[,.;!)…]|years?[ -]old\b|years of age\b|yrs?\b|yo\b|y/o\b|(?:and|now|today|on|in|last|this"
    r"|already|next|yesterday|recently|but|so|as|"
    r"not|since|these|any|yet|earlier|before|anymore|years\s*\Z|actually|tho|though|when|with|lol|who)\b)"
).match


def age(sentence: str, start: int, end: int) -> list[Place]:
    """An age in figures or words."""
    found = _AGE(sentence, start, end)
    if found is None or not (found[0][0].isdigit() or found[0].lower().split("-")[0].split()[0] in NUMBERS):
        return []
    return [found.span("o")] if _AGE_END(sentence, found.end()) else []


BIRTHDAY = LazyPattern(
    r"(?:the )?(?:[A-Z][a-z]{2,8}|january|february|march|april|may|june|july|august|september|october|november"
    r"|december)"
    r" (?:the )?\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: (?:of "
    r")?[A-Za-z]{3,9}(?: \d{4})?)?(?!\w|-|:)"
    r"|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?"
    r"|(?:Christmas|New Year['’]?s?|Boxing|Valentine['’]?s?|St\.? [A-Z]\w+['’]?s?|Halloween|Bastille"
    r"|Independence|Leap)"
    r"(?: (?:Eve|Day))?|(?:in )?(?:early |late |mid-?)?(?:January|February|March|April|May|June|July|August"
    r"|September|October|"
    r"November|December)\b"
).match


def birthday(sentence: str, start: int, _end: int) -> list[Place]:
    """A date; it has dots and commas, so that it may run over the end of the clause."""
    found = BIRTHDAY(sentence, start)
    return [] if found is None else _trimmed(sentence, start, found.end())


_NO_MAKES = frozenset(
    "phd ma ba msc bsc mba monday tuesday wednesday thursday friday saturday sunday i tv zoom teams".split()
)


def make(sentence: str, start: int, end: int) -> list[Place]:
    """A thing by its make: "a Volvo"."""
    found = proper(sentence, start, end)
    words = sentence[slice(*found[0])].lower().split() if found else []
    if (
        not words
        or words[0] in _NO_MAKES
        or words[-1] in LANGUAGES | NATIONALITIES | {"degree", "appointment", "meeting"}
    ):
        return []
    return found
