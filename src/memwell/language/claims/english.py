"""Reads claims from English sentences: a subject at the beginning of a clause, its verb, and an object.

Only clauses that begin with their subject are read. That excludes questions, conditions, wishes and reported speech,
because in all of these something precedes the subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from memwell.language.claims.relations import EVENT, FAVOURITE, PAST, PLAN, STARTED, STATE, RuleMatch

# The words of the English rules.


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ADVERBS = _set(
    "really also always just actually currently still now absolutely totally truly mostly recently finally already both "
    "even definitely too usually especially particularly honestly basically simply personally originally all so "
    "genuinely officially happily presently sometimes often kinda lately generally certainly deeply only"
)
MODALS = _set(
    "would could might may should will must shall 'll 'd wouldn't couldn't won't shouldn't mightn't 'd've can ought wanna "
    "gotta"
)
NEGATIONS = _set("don't dont doesn't doesnt not never isn't aren't ain't haven't hasn't cannot can't cant")
PAST_NEGATIONS = _set("didn't wasn't weren't hadn't")
BE = _set("'m am is are 's 're been im")
WAS = _set("was were")
HAVE = _set("'ve have has")
LISTED = _set("a an the my our one two three four five six seven eight nine ten some several")

KIN: dict[str, str] = {
    word: relation
    for relation, words in {
        "married_to": "husband wife spouse",
        "partner": "partner boyfriend girlfriend fiance fiancé fiancee fiancée",
        "parent": "mother father mom mum mommy dad daddy mama papa stepmother stepfather stepmom stepdad",
        "child": "son daughter kid child baby stepson stepdaughter sons daughters kids children",
        "sibling": "sister brother sis bro twin stepsister stepbrother sisters brothers siblings sibling",
        "relative": "grandmother grandfather grandma grandpa granny aunt uncle cousin niece nephew cousins "
        "grandson granddaughter grandparents",
        "friend": "friend bestie buddy pal friends bff roommate flatmate neighbor neighbour",
        "colleague": "colleague coworker co-worker boss manager mentor teammate colleagues",
    }.items()
    for word in words.split()
}
PETS = _set(
    "dog cat puppy kitten rabbit bunny hamster parrot bird fish goldfish turtle tortoise snake lizard gecko horse pony "
    "ferret chicken goat labrador retriever poodle bulldog husky shepherd corgi beagle chihuahua dachshund spaniel terrier "
    "dogs cats puppies kittens rabbits hamsters birds turtles snakes horses chickens pup pups guinea-pig budgie parakeet"
)
THINGS = _set(
    "car house bike bicycle motorcycle boat guitar piano violin apartment flat farm garden truck van camera telescope shop "
    "store restaurant cafe bakery studio business company laptop computer tablet phone drone tent kayak surfboard "
    "skateboard scooter condo cabin cottage motorbike drumset keyboard ukulele"
)
OCCUPATIONS = _set(
    "accountant actor actress analyst animator anthropologist apprentice architect archivist artist astronaut "
    "astronomer athlete attorney author baker banker barber barista bartender biologist blogger bookkeeper bricklayer "
    "broker builder butcher carpenter cashier chef chemist clerk coach cleaner comedian composer consultant "
    "contractor cook counselor counsellor courier curator dancer dentist designer detective developer dietitian "
    "diplomat director doctor driver economist editor electrician engineer entrepreneur farmer filmmaker firefighter "
    "fisherman florist freelancer gardener geologist guard guide hairdresser historian housekeeper illustrator "
    "instructor interpreter journalist judge lawyer lecturer librarian lifeguard linguist magician manager "
    "mathematician mechanic midwife miner model musician neurologist novelist nurse nutritionist officer optician "
    "painter paralegal paramedic pathologist pediatrician performer pharmacist photographer physician physicist "
    "physiotherapist pianist pilot plumber poet policeman policewoman politician postman producer professor "
    "programmer psychiatrist psychologist publisher radiologist realtor receptionist recruiter referee reporter "
    "researcher sailor salesman salesperson saleswoman scientist screenwriter sculptor secretary senator singer "
    "soldier songwriter sociologist statistician stylist superintendent surgeon surveyor tailor teacher technician "
    "therapist translator trainer tutor vet veterinarian waiter waitress welder writer student intern trainee retiree "
    "nanny paediatrician ceo cto cfo founder"
)
NATIONALITIES = _set(
    "american british english scottish irish welsh french german italian spanish portuguese dutch belgian swiss austrian "
    "swedish norwegian danish finnish polish czech hungarian romanian bulgarian greek turkish russian ukrainian chinese "
    "japanese korean indian pakistani bangladeshi thai vietnamese indonesian filipino malaysian australian canadian "
    "mexican brazilian argentinian chilean colombian peruvian cuban egyptian moroccan nigerian kenyan ethiopian israeli "
    "iranian iraqi syrian lebanese singaporean taiwanese"
)
LANGUAGES = NATIONALITIES | _set(
    "mandarin cantonese hindi urdu arabic hebrew farsi persian bengali tamil tagalog swahili latin esperanto catalan "
    "gaelic serbian croatian slovak malay"
)
DIETS = _set("vegan vegetarian pescatarian pescetarian gluten-free lactose-intolerant")
PLAYED = _set(
    "guitar piano violin drums flute cello clarinet saxophone trumpet ukulele bass harp keyboard tennis soccer football "
    "basketball baseball volleyball badminton golf hockey rugby cricket chess poker squash games"
)
NOT_NAMES = _set(
    "christian catholic muslim jewish buddhist hindu "
    "i it he she they we you this that these those there here what who where when why how everyone everybody someone "
    "somebody nobody anyone nothing everything something today tomorrow yesterday yes no yeah well oh wow hey hi hello "
    "thanks thank okay ok sure great good nice maybe perhaps also and but so or if then now just my your his her our "
    "their its the a an one all some many most each every mom mum dad god sorry congrats life love art music "
    "nature family work time cool awesome amazing absolutely definitely glad sounds speaking monday tuesday wednesday "
    "thursday friday saturday sunday january february march april may june july august september october november "
    "december please let still never not none being having getting which both another such much more first last"
)
NOT_OBJECTS = _set(
    "it this that these those you me him her them us your his their its how what when where why who if to-be myself "
    "yourself there here so such one ones everything anything something nothing someone everyone seeing hearing idea much "
    "a-lot lots to is knowing we i they he she more being think being-able every any all none neither either most"
)
LIGHT_VERBS = _set(
    "go going caring care making make doing do getting get being be having have taking take looking look working work "
    "coming come keep keeping try trying see giving give helping help using use putting put thinking think talking talk "
    "learning learn spend spending apply"
)
AFTER_NOUN = _set(
    "and or but with who that which in at on from for since by too now here as because so when while named called to of "
    "anymore again working living these right although though if also then myself back until before after named whose "
    "during over about this last yesterday today already recently again just we i"
)
UNFINISHED = _set(
    "of to in on at a an the and or for with my our few safe some such is are was new very so more up out "
    "maybe even then unique complex"
)
POINTING = _set(
    "it this that these those them you your they they're he she him his her their there here it's that's you're "
    "you've i i'm i've we're us we idea way feeling sound fact how what"
)
KNOWN_TO_ALL = _set("outdoors beach sea ocean mountains rain snow sun piano guitar theater theatre gym cinema")
ENDS_PHRASE = (
    "because but since when while so if though although which who whose that where after before until as for with "
    "whenever than especially even too either these due thanks cause cuz from by during without through about right now "
    "lately these just and-so or then unless except plus like including back very really lol haha"
)


# The English rules: which verb with which words states which relation.

Place: TypeAlias = tuple[int, int]
Taker: TypeAlias = Callable[[str, int, int], list[Place]]
"""From a sentence and the span where an object may be to the spans of the objects."""

_CAPITALS = re.compile(
    r"(?:[Tt]he )?[A-Z][\w’'&.-]*(?:(?: (?:of|de|la|and) | (?:of the) | |-)(?=[A-Z])[A-Z][\w’'&.-]*){0,4}"
).match
_WORDS = re.compile(r"[^\s]+")
_PHRASE_END = re.compile(
    rf"\s+(?:{'|'.join(ENDS_PHRASE.split())})\b|\s+(?:and|or)\s+(?:I|it|we|you|he|she|they|my|that|this|there|would|"
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


class EnglishRule(NamedTuple):
    """What follows a verb: the pattern before the object, how the object is cut out, and the relation."""

    match: Callable[[str, int, int], re.Match[str] | None]
    relation: str
    take: Taker
    kind: str
    confidence: float
    ends: bool = False
    """Whether it says that something has ended."""


def proper(sentence: str, start: int, end: int) -> list[Place]:
    """A row of capitalised words; in a sentence without capitals, the words up to the end of the phrase."""
    found = _CAPITALS(sentence, start, end)
    if found is not None:
        last = found.end()
        while sentence[last - 1] in ".'’-&":
            last -= 1
        return [(start, last)] if sentence[start:last].lower() not in NOT_NAMES else []
    if not sentence.islower():
        return []
    return [place for place in phrase(sentence, start, end) if _count(sentence, place) <= _LOWER_NAME]


def phrase(sentence: str, start: int, end: int) -> list[Place]:
    """A short phrase, unless it only refers to something ("that one")."""
    return _named(sentence, start, _phrase_end(sentence, start, end))


def phrases(sentence: str, start: int, end: int) -> list[Place]:
    """One phrase, or two of the same shape joined by *and*; where the shapes differ, the first."""
    last = _phrase_end(sentence, start, end)
    joint = _JOINED(sentence, start, last)
    if joint is None:
        return _named(sentence, start, last)
    if not POINTING.isdisjoint(sentence[joint.end() : last].lower().split()):
        return []
    left, right = _named(sentence, start, joint.start()), _named(sentence, joint.end(), last)
    if left and right and _alike(sentence, left[0], right[0]):
        return left + right
    return left


def likings(sentence: str, start: int, end: int) -> list[Place]:
    """As ``phrases``, without what only the situation explains: "the rush", "the idea"; of food, the thing itself."""
    places = [place for place in phrases(sentence, start, end) if not _of_the_moment(sentence[place[0] : place[1]])]
    return [(_after_eating(sentence, *place), place[1]) for place in places]


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
    if sentence[end : end + 1] in ('"', "“"):
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
    return words_.startswith("the ") and words_[4:5].islower() and words_[4:] not in KNOWN_TO_ALL


def _alike(sentence: str, left: Place, right: Place) -> bool:
    one, other = sentence[left[0] : left[1]].split(), sentence[right[0] : right[1]].split()
    if one[0].endswith("ing") or other[0].endswith("ing"):
        return one[0].endswith("ing") and other[0].endswith("ing")
    return len(one) == len(other) == 1 or other[0].lower() in LISTED or other[0][0].isupper()


def listed(allowed: Iterable[str], *, most: int = 1) -> Taker:
    """A phrase of at most ``most`` words whose last one is in a list; it may be a plural."""
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
        if following is not None and following[1] not in AFTER_NOUN:
            return []
        return [(start, last)] if last > start else []

    return take


def several(taker: Taker) -> Taker:
    """One or two objects of a taker, joined by *and*."""

    def take(sentence: str, start: int, end: int) -> list[Place]:
        found = taker(sentence, start, end)
        joint = _JOINED(sentence, found[0][1], end) if found else None
        if joint is not None and joint.start() == found[0][1]:
            found += taker(sentence, joint.end(), end)
        return found

    return take


def anything(_sentence: str, start: int, end: int) -> list[Place]:
    """The whole match of the pattern."""
    return [(start, end)] if start < end else []


def _count(sentence: str, place: Place) -> int:
    return len(sentence[place[0] : place[1]].split())


RULES: dict[str, list[EnglishRule]] = {}
"""By verb, in its form; *be* stands for all its forms."""


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
    rule = EnglishRule(re.compile(r"\s*" + pattern, re.DOTALL).match, relation, take, kind, confidence, ends)
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
_JOB = listed(OCCUPATIONS, most=4)
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
_add("be", r"(?:an? )?(?P<o>\S.*)", "diet", listed(DIETS), confidence=0.9)
_add("married", r"(?:to )?(?P<o>[A-Z]\S.*)", "married_to", proper, kind=STARTED, confidence=0.85)
_add("dating", r"(?P<o>[A-Z]\S.*)", "partner", proper)
_add("be", r"engaged to (?P<o>[A-Z]\S.*)", "partner", proper)
_add("be", r"(?:an? )?(?P<o>\S.*)", "nationality", listed(NATIONALITIES), confidence=0.75)
_add("be", r"(?P<o>[A-Z]\w+(?: [A-Z]\w+)?)(?=\s*(?:$|[.!]))", "name", proper, confidence=0.6)
_add("go goes", r"by (?P<o>[A-Z]\S.*)", "name", proper, confidence=0.7)
_add(
    "be",
    r"(?:an? )?(?:big |huge |massive )?(?:fan of|fond of|into|obsessed with|passionate about) (?:both )?(?P<o>\S.*)",
    "likes",
    likings,
)
# "I am interested in" may be about an offer; "I have always been interested in" is about oneself.
_add("been", r"interested in (?P<o>(?!the\b)\S.*)", "likes", likings, confidence=0.7)
_add("like likes love loves enjoy enjoys adore adores loved", r"(?:to |both |also )*(?P<o>\S.*)", "likes", likings)
_add("prefer prefers", r"(?P<o>[^\s]+(?: \w+)?) (?:over|to) ", "likes", likings, confidence=0.65)
_add("hate hates dislike dislikes detest detests loathe", r"(?:to )?(?P<o>\S.*)", "dislikes", likings)
_add(
    "speak speaks",
    r"(?:fluent |some |a little |both |a bit of )?(?P<o>\S.*)",
    "speaks",
    several(listed(LANGUAGES)),
    confidence=0.9,
)
_PET = listed(PETS, most=4)
_add("have has own owns got adopted", rf"{_AN}(?P<o>\S.*)", "pet", _PET, confidence=0.85)
_add("own owns have has", r"an? (?P<o>\S.*)", "owns", listed(THINGS, most=3), confidence=0.75)
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
_add("play plays", r"(?:the |an? )?(?P<o>\S.*)", "hobby", several(listed(PLAYED, most=2)), confidence=0.75)
_add("collect collects", r"(?P<o>\S.*)", "hobby", phrase, confidence=0.7)
_add("stand", r"(?P<o>\S.*)", "dislikes", likings)
_add("eat eats drink drinks", r"(?P<o>\S.*)", "likes", likings, confidence=0.7)
_STOPPED = "stopped quit given gave"
_add(_STOPPED, r"(?:up )?being (?:an? )?(?P<o>\S.*)", "diet", listed(DIETS), ends=True)
_add(_STOPPED, r"(?:up )?playing (?:the )?(?P<o>\S.*)", "hobby", listed(PLAYED, most=2), ends=True)
_add("stopped quit", r"(?:liking|loving|enjoying|eating|drinking) (?P<o>\S.*)", "likes", likings, ends=True)
_add("given gave", r"up (?:eating |drinking )?(?P<o>(?!on\b|to\b)\S.*)", "likes", likings, ends=True)


# Pets by name: "my cat's name is Luna", "a dog called Rex and a cat called Luna".

_ANIMAL = "|".join(sorted(PETS, key=len, reverse=True))
_NAME = r"[A-Z][a-zà-ÿ’-]+(?: [A-Z][a-zà-ÿ’-]+)?"
# A name without a capital is one word at the end of a phrase, or before one of these.
_NO_NAME = (
    "after by for in on not the an a and or it that what so too very unknown secret long short funny silly unusual weird "
    "cute perfect different great nice"
)
_LOWER = rf"(?!(?:{_NO_NAME.replace(' ', '|')})\b)[a-z]{{2,20}}(?=\s*(?:\Z|[.,!;]|(?:and|but|who)\b))"
_IS = r"(?:['’]s name is| is (?:named|called))"
_KIND = rf"(?:[Mm]y|[Oo]ur) (?:[\w-]+ )??(?P<kind>{_ANIMAL})"
_MINE = re.compile(rf"\b{_KIND}(?:{_IS}|(?: named| called)?) (?P<name>(?!I\b){_NAME})")
_MINE_LOWER = re.compile(rf"\b{_KIND}{_IS} (?P<name>{_LOWER})")
_NAME_OF = re.compile(rf"\b[Tt]he name of (?:my|our) (?:[\w-]+ )??(?P<kind>{_ANIMAL}) is (?P<name>{_NAME})")
# At the beginning of a sentence only: elsewhere a name between commas may address a person.
_BETWEEN_COMMAS = re.compile(rf"\s*{_KIND}, (?P<name>(?!I\b){_NAME}), (?=[a-z])").match
_CALLED = r"(?:,? (?:named|called)|,? whose name is|,? (?:and )?(?:his|her|its) name(?: is|['’]s)) "
_NAMED = re.compile(rf"{_CALLED}(?P<name>{_NAME})").match
_NAMED_LOWER = re.compile(rf"{_CALLED}(?P<name>{_LOWER})").match
_AND_NAMED = re.compile(rf"(?:, and|,| and|,? &) (?P<name>(?!I\b){_NAME})(?=\s*(?:\Z|[.,!;]|and\b|who\b|that\b))").match
_AND_ANOTHER = re.compile(
    rf"(?:, and|,| and|,? as well as) (?:an?|one|two|three|four|some) (?P<kind>(?:[\w-]+ ){{0,3}}?(?:{_ANIMAL}))\b"
).match
_MOST = 10


def pets_in_passing(sentence: str, limit: int) -> Iterator[RuleMatch]:
    """The speaker's pets that are named before ``limit``, in any clause."""
    for pattern in (_MINE, _MINE_LOWER, _NAME_OF):
        for found in pattern.finditer(sentence, 0, limit):
            yield from _pet_matches(found)
    between = _BETWEEN_COMMAS(sentence, 0, limit)
    if between is not None:
        yield from _pet_matches(between)


def _pet_matches(found: re.Match[str]) -> Iterator[RuleMatch]:
    if found["name"].lower() not in NOT_NAMES:
        yield RuleMatch("pet", *found.span("name"), *found.span(), confidence=0.85)
        yield RuleMatch("kind", *found.span("kind"), *found.span(), subject=found["name"], confidence=0.85)


def named_pets(sentence: str, found: RuleMatch) -> Iterator[RuleMatch]:
    """A pet with its name and kind, and the pets that are listed after it."""
    one = found
    for _ in range(_MOST):
        at = one.object_end
        names = list(_names(sentence, at))
        if not names:
            yield one
        for first, last in names:
            name = sentence[first:last]
            end = max(one.end, last)
            yield one._replace(object_start=first, object_end=last, end=end)
            if not one.negated:
                # The kind of a pet never changes.
                yield one._replace(relation="kind", subject=name, kin="", end=end, kind=STATE)
            at = last
        another = _AND_ANOTHER(sentence, at)
        if another is None:
            return
        one = one._replace(object_start=another.start("kind"), object_end=another.end("kind"))
        one = one._replace(end=max(one.end, another.end()))


def _names(sentence: str, at: int) -> Iterator[tuple[int, int]]:
    named = _NAMED(sentence, at) or _NAMED_LOWER(sentence, at)
    while named is not None and named["name"].lower() not in NOT_NAMES:
        yield named.span("name")
        named = _AND_NAMED(sentence, named.end())


_KIN = "|".join(sorted(KIN, key=len, reverse=True))
_FILLER = (
    r"(?:(?:and|but|so|well|yeah|yes|yep|oh|wow|actually|also|plus|btw|because|hi|hey|hello|sure|no|nope|ok|okay|thanks|"
    r"honestly|anyway|currently|right now|these days|nowadays|now|fun fact|by the way|since|as),? ?(?:[A-Z][a-z]+, )?){0,4}"
)
# Where a clause may begin inside a sentence: after a mark, or after a conjunction.
_BOUND = re.compile(r"[,;!—–] ?| (?:and|but|so|because|plus) ")
_OPENING = re.compile(r"[\s\"“*-]*").match
_HEAD = re.compile(rf"(?i:{_FILLER})(?P<subject>[Ii]\b|(?i:my|our) |[Ww]e\b|{_NAME}(?= |['’]s ))").match
_CLAUSE_END = re.compile(
    r"[,;!?—–(]|\s-\s|\.(?:\s|\Z)|\s(?:and|but|so|because|though)\s(?:I|I['’]\w+|my|we|he|she|it|they|you)\b"
)
# What makes a sentence, or the rest of it, no statement of the speaker.
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
    r"(?i:(?:(?:new|current) (?=e-?mail|phone|number))?"
    r"(?P<what>name|birthday|email address|email|e-mail|phone number|phone|number|job|profession|hometown|"
    r"home town|hobby|hobbies|age|nationality|favou?rite [a-z]+(?: [a-z]+)?))(?: of all time)?"
    r"(?:['’]s| is| are| include| includes| has always been) (?:now |on |in |currently |definitely |probably |"
    r"actually |called )*"
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
# "Any more" at the end of a phrase; before a noun it counts something.
_ANY_MORE = re.compile(
    r"\s+(?:anymore\b|any longer\b|any more(?=\s*(?:\Z|[^\w\s]|(?:and|but|or|so|because|since|as|at|in|now|though|either|"
    r"for|these|due|thanks|after|when|which|if)\b)))",
    re.IGNORECASE,
).search
_NO_MORE = re.compile(r"\s+no (?:more|longer)(?=\s*\Z)", re.IGNORECASE).search
_NOT_SO_MUCH = re.compile(r"\b(?:as|so) (?:much|often)\b", re.IGNORECASE).search
# A person who eats or drinks something need not like it; one who stopped no longer likes it.
_HABITS = frozenset("eat eats drink drinks".split())
_LEFT_BEHIND = frozenset(("occupation", "lives_in", "works_at", "studies_at", "from"))
_FIRST_PERSON = frozenset(
    "live reside work study like love enjoy adore prefer hate dislike detest loathe speak have own believe plan play "
    "collect go".split()
)
_MOST_WORDS_BEFORE_VERB = 7
_LONGEST_CLAUSE = 400
_PLURAL_SAYS = frozenset(("lives_in", "pet", "kind", "owns", "visited", "bought", "plans"))


# Further verbs of a subject. With its s a verb needs a third person; without it, it may depend on an auxiliary ("I want to
# travel and work"), so that the first statement must be a plain one.
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
    """A verb and what its auxiliaries say about it."""

    verb: str
    at: int
    negated: bool = False
    ended: bool = False
    was: bool = False
    used_to: bool = False
    perfect: bool = False


def english(sentence: str) -> Iterator[RuleMatch]:
    """The claims of an English sentence, without overlap with doubtful ones."""
    if _NO_STATEMENT(sentence) or "?" in sentence[-4:]:
        return
    if '"' in sentence or "“" in sentence:
        sentence = _QUOTED.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    # Most sentences have no doubt, and searching for the words is cheaper than the pattern.
    doubt = None if _DOUBTFUL.isdisjoint(_LETTERS(sentence.lower())) else _DOUBT(sentence)
    limit = len(sentence) if doubt is None else doubt.start()
    yield from _apposed(sentence, limit)
    for head in _heads(sentence):
        if head.start("subject") > limit:
            return
        # A bound, because a text without punctuation must not be searched to its end for every clause.
        far = min(len(sentence), head.end() + _LONGEST_CLAUSE)
        stop = _CLAUSE_END.search(sentence, head.end(), far)
        end = far if stop is None else stop.start()
        # A doubt in the clause itself ("I think", "I wish") cancels it.
        if doubt is None or doubt.start() >= end:
            yield from _clause(sentence, head, end)


def _heads(sentence: str) -> Iterator[re.Match[str]]:
    """The beginnings of clauses that start with their subject."""
    opening = _OPENING(sentence)
    starts = [0 if opening is None else opening.end(), *(bound.end() for bound in _BOUND.finditer(sentence))]
    at = 0
    for start in starts:
        head = _HEAD(sentence, start) if start >= at else None
        if head is not None:
            at = head.end()
            yield head


def _apposed(sentence: str, limit: int) -> Iterator[RuleMatch]:
    """People and pets that are named in passing: "with my sister Anna"."""
    if "y " not in sentence and "ur " not in sentence:
        return
    for found in _APPOSED.finditer(sentence, 0, limit):
        if found["name"].lower() not in NOT_NAMES:
            relation = KIN[found["kin"]]
            yield RuleMatch(relation, *found.span("name"), *found.span(), confidence=0.85)
    yield from pets_in_passing(sentence, limit)


def _clause(sentence: str, head: re.Match[str], end: int) -> Iterator[RuleMatch]:
    subject = head["subject"]
    start = head.start("subject")
    if subject in ("I", "i"):
        yield from _said(sentence, start, head.end(), end, "")
    elif subject in ("We", "we"):
        yield from (found for found in _said(sentence, start, head.end(), end, "") if found.relation in _PLURAL_SAYS)
    elif subject.lower() in ("my ", "our "):
        yield from _of_mine(sentence, start, head.end(), end)
    elif subject.split()[0].lower() not in NOT_NAMES | ADVERBS:
        yield from _of_someone(sentence, start, head.end(), end, subject)


def _of_someone(sentence: str, start: int, at: int, end: int, name: str) -> Iterator[RuleMatch]:
    kin = _IS_KIN(sentence, at, end)
    if kin is not None:
        yield RuleMatch(KIN[kin["kin"]], start, at, start, kin.end(), confidence=0.85)
        besides = _BESIDES(sentence, kin.end(), end)
        if besides is not None and besides.start() == kin.end():
            yield from _said(sentence, besides.end(), besides.end(), end, name)
    else:
        yield from _said(sentence, start, at, end, name)


def _of_mine(sentence: str, start: int, at: int, end: int) -> Iterator[RuleMatch]:
    """Claims after *my*: a property of the speaker, or a relative and what they do."""
    own = _OWN(sentence, at, end)
    if own is not None:
        yield from _own(sentence, start, end, own)
        return
    kin = _KIN_SUBJECT(sentence, at, end)
    if kin is None or kin["kin"].lower() not in KIN:
        return
    if kin["name"]:
        yield from _said(sentence, start, kin.end(), end, kin["name"].strip(" ,"))
    else:
        yield from _said(sentence, start, kin.end(), end, "", kin=sentence[at : kin.end()].lower())


def _own(sentence: str, start: int, end: int, own: re.Match[str]) -> Iterator[RuleMatch]:
    what = " ".join(own["what"].lower().split())
    relation = _OWN_RELATIONS.get(what)
    if relation is None:
        relation = FAVOURITE + what.partition(" ")[2].removesuffix(" of all")
    at = own.start("o")
    shape = _SHAPES.get(relation)
    if shape is not None:
        # Addresses and dates contain dots and commas, so they may run over the clause's end.
        shaped = shape(sentence, at)
        places = [] if shaped is None else [shaped.span()]
    elif relation in ("name", "from", "nationality"):
        places = proper(sentence, at, end)
    else:
        places = phrases(sentence, at, end) if relation == "hobby" else phrase(sentence, at, end)
    for place in places:
        yield RuleMatch(relation, *place, start, max(end, place[1]), confidence=0.9)


def _said(sentence: str, start: int, at: int, end: int, subject: str, *, kin: str = "") -> Iterator[RuleMatch]:
    """The claims of a clause about its subject: one, or several joined by *and*."""
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


def _is_plain(found: RuleMatch) -> bool:
    return found.relation in _PLAIN and not found.negated and found.kind in (STATE, EVENT)


def _by_verb(sentence: str, start: int, at: int, end: int, subject: str, kin: str) -> Iterator[RuleMatch]:
    """The claims of a clause about its subject, by its verb."""
    said = _predicate(sentence, at, end)
    if said is None or (said.negated and _NOT_SO_MUCH(sentence, said.at, end)):
        return
    said, last = _until_any_more(sentence, said, end)
    if said.verb == "born" and (born := _BORN_ON(sentence, said.at)):
        date = _SHAPES["birthday"](sentence, born.start("o"))
        if date is not None:
            yield RuleMatch("birthday", *date.span(), start, max(end, date.end()), subject, kin, confidence=0.9)
        return
    if (subject or kin) and said.verb in _FIRST_PERSON and not (said.negated or said.used_to):
        # "Unconditional love is…": without its s it is no verb of a third person.
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
    """The predicate and the end of its object: "not … any more" ends something, and is no part of the object."""
    over = (_ANY_MORE if said.negated else _NO_MORE)(sentence, said.at, end)
    if over is None:
        return said, end
    # "I can't stand milk any more" states a dislike.
    return said._replace(ended=said.ended or said.verb != "stand"), over.start()


def _fits(rule: EnglishRule, said: _Predicate, other: bool) -> bool:
    if said.was and not said.used_to and rule.kind != PAST and rule.relation not in _LEFT_BEHIND:
        return False
    if said.verb == "stand" and not said.negated:
        return False
    if said.verb in _HABITS and not (said.ended or said.used_to):
        return False
    if said.verb == "loved" and not said.perfect:
        return False
    # "Paris is Anna" and "my brother is Tom" state no name by this rule.
    return not (rule.relation == "name" and other)


def _found(
    rule: EnglishRule, said: _Predicate, place: Place, start: int, end: int, subject: str, kin: str
) -> RuleMatch:
    relation, negated = rule.relation, said.negated and said.verb != "stand"
    if negated and relation in _OPPOSITE and not said.ended:
        relation, negated = _OPPOSITE[relation], False
    kind = PAST if (said.was or said.used_to) and relation != "from" else rule.kind
    if kind == PAST and said.perfect and relation in _LEFT_BEHIND:
        # "I have lived in" continues; "I lived in" is over.
        kind = STATE
    return RuleMatch(
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
    """The verb of a clause with its auxiliaries; None for a hypothetical clause, and for one without a verb."""
    negated = ended = was = used_to = perfect = is_ = False
    for _ in range(_MOST_WORDS_BEFORE_VERB):
        found = _WORD(sentence, at, end)
        word = "" if found is None else found[1].lower().replace("’", "'")
        after = at if found is None else found.end()
        if word in MODALS or word in PAST_NEGATIONS or word == "did":
            return None
        if word in NEGATIONS:
            negated = True
        elif word == "anymore" or (word == "no" and sentence.startswith(" longer", after)):
            ended, after = True, after + (len(" longer") if word == "no" else 0)
        elif word == "used" and sentence.startswith(" to ", after):
            used_to, after = True, after + len(" to")
        elif word in BE or (word == "be" and used_to):
            is_ = True
        elif word in WAS:
            was = is_ = True
        elif word in HAVE and _is_helper(sentence, after, end):
            perfect = True
        elif word in ADVERBS or word in ("do", "does"):
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
