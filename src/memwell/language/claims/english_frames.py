"""The English verb frames: which verb with which words after it states which relation, and how its object is cut out.

A frame is found by the verb's infinitive; ``be hire`` stands for the passive ("I was hired by"), and ``be`` also for what
is said with an adjective or a noun ("I am allergic to").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memwell.language.claims.english_objects import (
    UPPER,
    WORDS,
    Place,
    Taker,
    age,
    allergens,
    anything,
    employer,
    field,
    is_job,
    job,
    likings,
    listed,
    make,
    name,
    names,
    pastime,
    phrase,
    phrases,
    proper,
    school,
    several,
)
from memwell.language.claims.english_words import (
    DIETS,
    FIELDS,
    LANGUAGES,
    NATIONALITIES,
    PASTIMES,
    PETS,
    PLAYED,
    THINGS,
    verb_forms,
)
from memwell.language.patterns import LazyPattern

# The table of frames.

HOLDS, BEGINS, ENDS, HAPPENS = "holds", "begins", "ends", "happens"
"""What the present of a verb says: that something is so, begins, ends, or happens once."""


class VerbFrame(NamedTuple):
    """What follows a verb: the pattern before the object, how the object is cut out, and the relation."""

    match: Callable[[str, int, int], re.Match[str] | None]
    relation: str
    take: Taker
    mode: str
    confidence: float
    after: str
    """Which flags of the predicate are needed: "not", "can", "now", "been" or none."""


FRAMES: dict[str, list[VerbFrame]] = {}
"""By verb, in the infinitive."""


def _add(
    verbs: str, pattern: str, relation: str, take: Taker, mode: str = HOLDS, *, confidence: float = 0.8, after: str = ""
) -> None:
    frame = VerbFrame(LazyPattern(r"\s*" + pattern, re.DOTALL).match, relation, take, mode, confidence, after)
    for verb in verbs.split(";"):
        FRAMES.setdefault(verb.strip(), []).append(frame)


_O = r"(?P<o>\S.*)"
_AN = r"(?:an?|the|one|two|three|four|five|six|my|some|another|her|his|our|their) "
_HERE = (
    r"(?:right |just |back |over |here |out |up |down |near |still |happily |currently |alone |together "
    r"|permanently |now |again |full[- ]time )*"
)
_JOINED_TO = (
    r"(?:here |over |back |across |out |up |down |again |on |away |house |home |permanently |abroad |all the "
    r"way |from [^,;]*? )*"
)

# Where.
_add(
    "live; reside; dwell; be base; be settle; be locate",
    rf"{_HERE}(?:down )?(?:in|near) (?:the (?=[a-z]+ of ))?{_O}",
    "lives_in",
    proper,
    confidence=0.9,
)
_add(
    "stay",
    rf"(?!.*\b(?:until|till|tonight|this week(?:end)?|over(?:night)?|for (?:an?|the|one|two|three|four|five|some"
    rf"|\d+)|hotel"
    rf"|airbnb)\b){_HERE}(?:in|near) {_O}",
    "lives_in",
    proper,
)
_add(
    "live; be base",
    rf"(?:with [^,;]{{1,40}}? |alone |just |right )?(?:outside|in|near)(?: of)? {_O}",
    "lives_in",
    proper,
)
_add(
    "move; relocate; emigrate; immigrate; be transfer; be relocate; be post; be station; be move; resettle",
    rf"{_JOINED_TO}(?:to|into|in(?![^,;]* to an? )) (?!the [A-Z]\w+ (?:office|branch|team))(?:an? [a-z "
    rf"]{{2,20}}? in )?{_O}",
    "lives_in",
    proper,
    BEGINS,
)
_add("settle", rf"(?:down )?in {_O}", "lives_in", proper, BEGINS)
_add(
    "move; relocate; emigrate",
    rf"(?:here |away |over |out |back )*(?:from|of|out of) (?:an? [a-z ]{{2,20}}? in )?{_O}",
    "lives_in",
    proper,
    ENDS,
)
_add("swap; trade; exchange; ditch", rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?) for [{UPPER}]", "lives_in", proper, ENDS)
_add("swap; trade; exchange; ditch", rf"[{UPPER}]\S*(?: [{UPPER}]\S*)? for {_O}", "lives_in", proper, BEGINS)
_add("be", rf"(?:back |home |here |over |living )*in (?P<o>[{UPPER}]\S.*)", "lives_in", proper, after="now")
_add("call", rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?) (?:my |our )?home\b", "lives_in", anything)

_add("be", rf"an? (?:[\w-]+ ){{1,4}}?(?:living|based) (?:in|near|outside) {_O}", "lives_in", proper)

# Whence.
_add("be", rf"an? (?:[\w-]+ ){{1,4}}?from (?P<o>[{UPPER}]\S.*)", "from", proper)
_add(
    "be; hail; come",
    rf"(?:born and raised |originally |all the way |actually )*from (?:an? (?:[a-z]+ ){{1,3}}(?:near|outside"
    rf"|in) )?{_O}",
    "from",
    proper,
    confidence=0.85,
)
_add(
    "be bear; be raise; be bring; be rear",
    r"(?:up )?(?:,? ?(?:and|&) (?:raised|bred|brought up|grew up) )?(?:in|near) (?P<o>(?!\d)\S.*)",
    "from",
    proper,
    HAPPENS,
    confidence=0.85,
)
_add("spend", rf"(?:my|his|her) (?:childhood|early years|youth|teens) in {_O}", "from", proper, HAPPENS)
_add(
    "grow",
    rf"up (?:on [a-z ]{{3,20}} |just )?(?:in|near|outside)(?: of)? {_O}",
    "from",
    proper,
    HAPPENS,
    confidence=0.7,
)
_add("be", rf"(?:a |an )?(?:proud )?native of {_O}", "from", proper)
_add(
    "be",
    r"(?:an? |both |half |part |actually |originally |proud )*(?P<o>\S.*)",
    "nationality",
    several(listed(NATIONALITIES)),
    confidence=0.75,
)
_add(
    "be grant; be give; get; gain; obtain; receive; take; acquire",
    r"(?:my |the |an? )?(?P<o>[A-Z]\w+) (?:citizenship|nationality|passport)",
    "nationality",
    anything,
    BEGINS,
)
_add("become; be make", r"an? (?P<o>[A-Z]\w+) (?:citizen|national)\b", "nationality", anything, BEGINS)
_add("be", r"an? (?P<o>[A-Z]\w+) (?:citizen|national)\b", "nationality", anything)
_add("have; hold", r"(?:an? |my |both )?(?P<o>[A-Z]\w+) (?:citizenship|nationality|passport)", "nationality", anything)
_add(
    "give; renounce; lose",
    r"(?:up )?(?:my |his |her )(?P<o>[A-Z]\w+) (?:citizenship|nationality|passport)",
    "nationality",
    anything,
    ENDS,
)

# Work.
_add(
    "work",
    rf"(?:[^,;]{{0,50}}? )?(?:at|for|over at) (?:the )?(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    confidence=0.85,
)
_add("work", r"in (?P<o>(?:an?|the) \S.*)", "works_at", employer)
_add(
    "be",
    r"an? (?:[\w-]+ ){1,3}?(?:at|for|in) (?P<o>(?:an?|the) [a-z]\S.*)",
    "works_at",
    lambda s, at, e: employer(s, at, e) if _follows_job(s, at) else [],
)
_add(
    "work",
    rf"(?:\w+-time |weekends |nights |shifts |days |evenings |freelance |mostly )?(?:at|for) {_O}",
    "works_at",
    employer,
    confidence=0.85,
)
_add("work", rf"(?:.{{0,40}}? )?as (?:an?|the|their|head) {_O}", "occupation", job, confidence=0.85)
_add(
    "work",
    r"with (?P<o>(?:an? )?(?:guy|woman|man|lady|girl|bloke|chap|person|dude) (?:called|named) \S.*)",
    "colleague",
    name,
)
_add(
    "be employ; be contract; be hire; be recruit; be poach; be headhunt; be take; be snap; be appoint",
    rf"(?:on |up |away |as [^,;]{{1,40}}? )?(?:by|at|with) {_O}",
    "works_at",
    employer,
    BEGINS,
)
_add(
    "be employ; be hire; be recruit; be take; be appoint; be promote; be qualify; be train; be make",
    rf"(?:on )?(?:(?:by|at|with|from) [^,;]{{1,40}}? )?(?:as|to) (?:an? |the |their )?{_O}",
    "occupation",
    job,
    BEGINS,
)
_add(
    "be give; be offer", rf"(?:the |an? )(?:job|post|role|position) (?:of|as) (?:an? )?{_O}", "occupation", job, BEGINS
)
_add(
    "start; begin",
    r"(?:working|work|my new job|a new job|a job|a (?:new )?position|my new role|a new role|work(?:ing)? as "
    r"[^,;]{1,30}?|as [^,;]{1,30}?)? ?(?:at|for|with) " + _O,
    "works_at",
    proper,
    BEGINS,
)
_add(
    "join", r"(?:the )?(?P<o>(?!team\b|us\b|them\b|a\b|forces\b|in\b)\S.*)", "works_at", proper, BEGINS, confidence=0.7
)
_add(
    "get; land; have; find; accept; take; score; snag",
    rf"(?:an?|my|the)(?: \w+)? (?:job|position|role|gig|post|offer)(?: as [^,;]{{1,40}}?)? (?:at|with|from) "
    rf"{_O}",
    "works_at",
    employer,
    BEGINS,
)
_add(
    "have; hold",
    rf"(?:an?|my|the)(?: \w+)? (?:job|position|role|post)(?: as [^,;]{{1,40}}?)? (?:at|with) {_O}",
    "works_at",
    employer,
)
_add(
    "be",
    rf"(?:an?|the|their|head of [a-z ]+|in (?:sales|marketing|finance|accounts|hr|HR|IT|procurement|logistics"
    rf"|design|support)) ?(?!(?:[\w-]+ ){{0,3}}(?:student|undergrad|undergraduate|pupil|freshman|major|sophomore"
    rf"|postgrad|candidate|graduate|regular"
    rf"|member|fan)\b)(?:[\w-]+ ){{0,4}}?(?:at|for) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "works_at",
    proper,
)
_add("be", rf"(?:back |now |over )*at {_O}", "works_at", proper, after="now")
_add("be", rf"(?:back |now |over )*with {_O}", "works_at", employer, after="job")
_add("be", rf"(?:with|at) (?:the )?{_O}", "works_at", employer, after="been")
_add(
    "be",
    rf"an? (?:[\w-]+ ){{1,3}}?with (?P<o>[{UPPER}]\S.*)",
    "works_at",
    lambda s, at, e: proper(s, at, e) if _follows_job(s, at) else [],
)
_add("teach", rf"(?:[a-z]+ ){{0,3}}at {_O}", "works_at", employer)
_add(
    "run; manage; head; lead; clean; deliver; cook; design; sell; code; program; drive",
    rf"(?:[a-z][a-z ]{{2,30}}? )(?:at|for) (?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    after="present",
)
_add(
    "be",
    rf"(?:on|in) the [a-z ]{{0,20}}?(?:shift|team|department|board|staff|kitchen|warehouse) (?:at|of) "
    rf"(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
)
_add(
    "be offer",
    rf"(?:an? |the )[a-z ]{{0,20}}?(?:job|role|position|post) (?:at|with|by) {_O}",
    "works_at",
    employer,
    BEGINS,
    after="accepted",
)
_add("make; earn", rf"(?:my|a|his|her) living as (?:an? )?{_O}", "occupation", job)
_add("hand", rf"in my (?:notice|resignation) (?:at|to) {_O}", "works_at", employer, ENDS)
_add(
    "switch; change",
    rf"(?:jobs |employers |companies |over )?(?:from (?P<o>[{UPPER}]\S.*?) to (?=[{UPPER}]))",
    "works_at",
    proper,
    ENDS,
    after="job",
)
_add(
    "switch; change",
    rf"(?:jobs |employers |companies |over |from [^,;]*? )*to {_O}",
    "works_at",
    proper,
    BEGINS,
    after="job",
)
_add(
    "leave; quit; resign; retire",
    rf"(?:from )?(?:my (?:old |previous )?(?:job|position|role|post) (?:at|with) ){_O}",
    "works_at",
    employer,
    ENDS,
)
_add("quit", rf"(?:working (?:at|for) )?(?:the )?(?P<o>[{UPPER}]\S.*)", "works_at", proper, ENDS)
_add("resign; retire; step", r"(?:down )?(?:from|at) (?:my job at )?(?P<o>(?!work|my)\S.*)", "works_at", employer, ENDS)
_add(
    "quit; leave",
    rf"[{UPPER}][^,;]*? to (?:join|work (?:for|at)|start at) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "works_at",
    proper,
    BEGINS,
)
_add("leave", rf"(?P<o>[{UPPER}]\S.*)", "left", proper, ENDS)
_add("leave", rf"[{UPPER}][^,;]*? for (?P<o>(?:[{UPPER}]|an? )\S.*)", "joined", proper, BEGINS)
_add(
    "quit; leave; lose",
    r"(?P<o>)(?:my|his|her|the|a|our|that|their)(?: \w+)? (?:day )?(?:job|position|role|work|company"
    r"|firm)\b(?! (?:at|with|for)\b)",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
_add(
    "be fire; be sack; be lay; be let; be make; be dismiss; be can; be axe",
    rf"(?:off |go |redundant )?(?:by|from|at) {_O}",
    "works_at",
    employer,
    ENDS,
)
_add(
    "be fire; be sack; be lay; be let; be make; be dismiss",
    r"(?P<o>)(?:off|go|redundant)?(?: from (?:my|his|her) (?:job|work|position))?(?=\s*(?:\Z|[,.;!]|(?:last"
    r"|this|yesterday|today|on|in|two|a|and|because|so|recently)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="laid",
)
_add("stop; finish", rf"working (?:at|for) {_O}", "works_at", employer, ENDS)
_add(
    "quit; resign",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:and|last|this|yesterday|today|to|because|so)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
_add("become; go", r"(?P<o>self-employed|freelance)\b(?! [a-z]+(?:er|or|ist)\b)", "occupation", anything, BEGINS)
_add("be", r"(?:an? )?(?P<o>\S.*)", "occupation", job, after="bare")
_add("go", r"from (?:an? )?(?P<o>[a-z -]{3,30}?) to ", "occupation", job, ENDS)
_add("go", rf"from [a-z -]{{3,30}}? to (?:an? )?{_O}", "occupation", job, BEGINS)
_add(
    "be",
    r"(?P<o>)(?:unemployed|out of work|between jobs|jobless|out of a job)\b",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)

# Profession.
_add(
    "be",
    rf"(?:an?|the)(?: (?:qualified|trained|licensed|professional|full-time|part-time|freelance|self-employed"
    rf"|newly qualified|certified|\d\d-year-old|proud|humble|simple))* {_O}",
    "occupation",
    job,
    confidence=0.75,
)
_add("become; be become", rf"(?:an?|the) {_O}", "occupation", job, BEGINS, confidence=0.75)
_add("train; qualify; retrain", rf"(?:as|to be) (?:an?) {_O}", "occupation", job, BEGINS)
_add("do", rf"[a-z ]{{0,30}}as (?:an?) {_O}", "occupation", job)
_add("be", r"(?:an? )?(?P<o>[a-z-]+ing|[a-z-]+) for a living", "occupation", anything)
for _relation in ("works_at", "occupation"):
    _add(
        "retire",
        r"(?P<o>)(?:from work)?(?=\s*(?:\Z|[,.;!]|(?:last|this|in|two|three|a|early|after)\b))",
        _relation,
        lambda _s, at, _e: [(at, at)],
        ENDS,
    )

# Study.
_add("be", rf"an? (?:[\w-]+ )?(?:graduate|alumnus|alumna|alum) of {_O}", "graduated_from", school)
_add("study; be study", rf"(?:\w+ ){{0,4}}?at (?:the )?{_O}", "studies_at", school)
_add(
    "study; major; specialise; specialize; minor",
    r"(?:to be (?:an? )?|for a degree in |in (?![A-Z])|towards? a degree in )?(?P<o>\S.*)",
    "studies",
    field,
)
_add("read", rf"(?P<o>[\w ]{{2,30}}?) at (?=the Univ|[{UPPER}])", "studies", field)
_add("read", rf"[\w ]{{2,30}}? at (?:the )?(?P<o>[{UPPER}].*)", "studies_at", school)
_add(
    "do; pursue; take; finish; complete; work",
    rf"(?:on )?(?:an?|my|his|her|the) (?:[\w-]+ )?(?:degree|phd|PhD|master['’]?s|masters|bachelor['’]?s"
    rf"|doctorate|diploma|apprenticeship|course|MA|BA|MSc|BSc|MBA|A-levels)(?: degree)? (?:in|on) {_O}",
    "studies",
    field,
    after="ing",
)
_add(
    "do; pursue; take; finish; complete; work",
    rf"(?:on )?(?:an?|my|his|her|the) (?:[\w-]+ ){{0,6}}?(?:at|with) (?P<o>[{UPPER}].*)",
    "studies_at",
    school,
    after="ing",
)
_add(
    "go; attend; be",
    rf"(?:to )?(?:the )?(?P<o>(?:University|College) of \S.*|[{UPPER}][^,;.]{{0,40}}?(?:College|University"
    rf"|School|Academy|High|Institute|Elementary|Primary)\b)",
    "studies_at",
    school,
    after="present",
)
_add("attend", rf"(?P<o>[{UPPER}]\S.*)", "studies_at", school)
_add(
    "be enroll; be enrol; enroll; enrol; be register",
    rf"(?:\w+ )?(?:in [a-z ]{{2,30}} )?(?:at|in) (?P<o>(?:the )?[{UPPER}].*)",
    "studies_at",
    school,
    BEGINS,
)
_add(
    "be enroll; be enrol; enroll; enrol",
    r"in (?P<o>(?!the\b|an?\b)[a-z][a-z ]{2,30}?)(?: at|\s*\Z|[,.;])",
    "studies",
    field,
    BEGINS,
)
_add(
    "be accept; be admit",
    rf"(?:by|into|to|at) (?:study \w+ at )?(?P<o>(?:the )?[{UPPER}].*)",
    "studies_at",
    school,
    BEGINS,
)
_add("start; begin", rf"(?:studying|a degree in|a course in|a PhD in|a master['’]s in) {_O}", "studies", field, BEGINS)
_add(
    "be",
    r"(?:an? )(?:[\w-]+[- ]year )?(?P<o>[a-z][a-z ]{2,25}?) (?:student|undergrad|undergraduate|major)\b",
    "studies",
    field,
)
_add(
    "be",
    rf"(?:an? )(?:[\w-]+ ){{0,4}}?(?:student|undergrad|undergraduate|freshman|sophomore|postgrad|candidate)(?: "
    rf"(?:in|of) [a-z ]{{2,30}}?)? at (?:the )?{_O}",
    "studies_at",
    school,
)
_add("be", rf"at (?:the )?(?P<o>[{UPPER}].*?)(?=,? (?:reading|studying|doing)\b)", "studies_at", school)
_add("be", rf"(?:at [^,;]{{2,40}}?,? )(?:reading|studying) {_O}", "studies", field)
_add(
    "be",
    rf"in (?:my|his|her) (?:\w+ year)(?: of [a-z ]{{2,30}}?)? at (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
)
_add("be", rf"in (?:my|his|her) (?:\w+ year) of {_O}", "studies", field)
_add(
    "transfer; switch; change",
    rf"(?:schools |colleges )?from (?P<o>[{UPPER}]\S.*?) to (?=[{UPPER}])",
    "studies_at",
    school,
    ENDS,
    after="school",
)
_add(
    "transfer; switch; change",
    rf"(?:schools |colleges |from [^,;]*? )*to {_O}",
    "studies_at",
    school,
    BEGINS,
    after="school",
)
_add(
    "change; switch",
    r"(?:my |his |her )?(?:major|majors|course|courses|degree|subject|subjects)? ?from (?P<o>[a-z][\w "
    r"]{2,25}?) to ",
    "studies",
    field,
    ENDS,
    after="major",
)
_add(
    "change; switch",
    rf"(?:my |his |her )?(?:major|majors|course|courses|degree|subject|subjects) (?:from [a-z][\w ]{{2,25}}? "
    rf")?to {_O}",
    "studies",
    field,
    BEGINS,
)
_add(
    "switch; change; go; transfer", r"(?:over )?from (?P<o>[a-z ]{3,25}?) to ", "studies", listed(FIELDS, most=3), ENDS
)
_add(
    "switch; change; go; transfer",
    rf"(?:over )?(?:from [a-z ]{{3,25}}? )?to {_O}",
    "studies",
    listed(FIELDS, most=3),
    BEGINS,
)
_add(
    "take; do; attend",
    rf"(?:an? )?(?:[a-z-]+ ){{0,2}}?(?:class|classes|course|courses|lessons) (?:in|on) {_O}",
    "studies",
    field,
    after="ing",
)
_add(
    "drop; flunk; be kick; be expel; be throw",
    rf"(?:out )?(?:of|from) (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
    ENDS,
)
_add(
    "give; abandon; quit; drop",
    r"(?:up )?(?:on )?my (?P<o>[a-z ]{3,25}?) (?:degree|course|studies|major)\b",
    "studies",
    field,
    ENDS,
)
_add(
    "have; hold",
    rf"(?:an?|my) (?:[\w'’-]+ ){{1,5}}?from (?P<o>(?:the )?[{UPPER}].*)",
    "graduated_from",
    school,
    after="degree",
)
_add("graduate", rf"(?:\w+ ){{0,4}}?(?:from|at) {_O}", "graduated_from", school, HAPPENS)
_add(
    "finish; qualify",
    rf"(?:my \w+ |school |uni )?(?:at|from) (?P<o>[{UPPER}].*)",
    "graduated_from",
    school,
    HAPPENS,
    after="school",
)
_add(
    "get; have; earn; receive; do; be award; complete; hold",
    rf"(?:an?|my|his|her|the) (?:[\w'’-]+ ){{1,5}}?(?:from|by|at) (?P<o>(?:the )?[{UPPER}].*)",
    "graduated_from",
    school,
    HAPPENS,
    after="degree",
)

# Languages.
_FLUENT = (
    r"(?:fluent |some |a little |both |a bit of |a word of |any |a few words of |basic |conversational |broken "
    r"|native |decent |good |only |mainly |mostly |two languages: |three languages: )*"
)
_add("speak", rf"{_FLUENT}{_O}", "speaks", several(listed(LANGUAGES)), confidence=0.9)
_add(
    "be",
    rf"(?:\w+ )?(?:fluent|conversational|proficient|bilingual)(?: in|:|,)? (?:both )?{_O}",
    "speaks",
    several(listed(LANGUAGES)),
)
_add(
    "be raise; be bring; grow",
    rf"(?:up )?(?:bilingual|trilingual|speaking)(?: in|:|,)? {_O}",
    "speaks",
    several(listed(LANGUAGES)),
    HAPPENS,
)
_add("know; understand", rf"{_FLUENT}{_O}", "speaks", several(listed(LANGUAGES)))
_add("speak", rf"no {_O}", "speaks", several(listed(LANGUAGES)), ENDS, after="present")
_add("get", rf"by in {_O}", "speaks", several(listed(LANGUAGES)), after="can")
_add(
    "be",
    rf"an? native (?:speaker of )?{_O}",
    "speaks",
    lambda s, at, e: several(listed(LANGUAGES))(s, at, e) or _speaker(s, at),
)

# Age.
_add("be", rf"(?:now |only |just |actually |already |finally )*{_O}", "age", age)
_add("be", r"(?:an? )(?P<o>\d{1,3})[- ]year[- ]old", "age", anything)
_add("turn; hit; reach", rf"(?:the big )?{_O}", "age", age, HAPPENS)

# Health and food.
_add("be", rf"(?:\w+ )?(?:allergic|intolerant) to (?:both )?(?:the )?{_O}", "allergic_to", allergens, confidence=0.9)
_add(
    "be",
    r"(?:severely |badly |very |a bit )?(?P<o>lactose|gluten|fructose|histamine|dairy|soy|egg)[- ]intolerant",
    "allergic_to",
    anything,
    confidence=0.9,
)
_add(
    "have",
    r"an? (?:severe |mild |bad |serious |slight )*(?P<o>(?!severe\b)[a-z]+(?: [a-z]+)?) (?:allergy"
    r"|intolerance)\b(?! to)",
    "allergic_to",
    anything,
    confidence=0.9,
)
_add("have", rf"(?:an? )?(?:[a-z]+ )?(?:allergy|intolerance) to {_O}", "allergic_to", allergens, confidence=0.9)
_add(
    "develop; be diagnose; get",
    rf"(?:with )?(?:an? )?(?:[a-z]+ )?(?:allergy|intolerance) to {_O}",
    "allergic_to",
    allergens,
    BEGINS,
    confidence=0.9,
)
_add(
    "be diagnose; develop",
    r"(?:with )?(?:an? )?(?:severe |mild |bad )?(?P<o>[a-z]+(?: [a-z]+)?) (?:allergy|intolerance)",
    "allergic_to",
    anything,
    BEGINS,
)
_add(
    "eat; tolerate; digest; have; handle",
    r"(?:any )?(?P<o>(?:gluten|dairy|lactose|nuts|peanuts|shellfish|eggs|wheat|milk|soy|seafood|fish"
    r"|fructose)\b)",
    "allergic_to",
    anything,
    after="cannot",
)
_add(
    "outgrow; lose",
    r"(?:my|his|her|the) (?P<o>[a-z]+(?: [a-z]+)?) (?:allergy|intolerance)",
    "allergic_to",
    anything,
    ENDS,
)
_add(
    "be; go; eat; become; turn; be raise; keep",
    rf"(?:an? )?(?:strict |strictly |lifelong |committed |fully |full |mostly |proud |completely |raised "
    rf")*{_O}",
    "diet",
    listed(DIETS, most=1),
    confidence=0.9,
)
_add("be; go; follow", rf"on (?:an? |the )?{_O}", "diet", listed(DIETS, most=1))
_add("be; follow; be put; keep", r"(?:on )?(?:an? |the )?(?P<o>[\w-]+(?:-\w+)?) diet\b(?! of)", "diet", anything)
_add("be put; go; start; switch", r"(?:on |to )+(?:an? |the )?(?P<o>[\w-]+) diet\b(?! of)", "diet", anything, BEGINS)
_add("stop; quit; give", rf"(?:up )?being (?:an? )?{_O}", "diet", listed(DIETS), ENDS)
_add("go; switch; change", r"from (?P<o>[a-z-]+) to ", "diet", listed(DIETS), ENDS)
_add("go; switch; change", rf"from [a-z-]+ to {_O}", "diet", listed(DIETS), BEGINS)

# Love.
_add(
    "be marry; marry; wed",
    rf"(?:to )?(?P<o>(?:[{UPPER}]|an? \w+ (?:called|named) )\S.*)",
    "married_to",
    name,
    BEGINS,
    confidence=0.85,
)
_add(
    "date; see; be engage", rf"(?:to )?(?P<o>(?:[{UPPER}]|an? \w+ (?:called|named) )\S.*)", "partner", name, after="ing"
)
_add("be engage; be propose", rf"(?:to )?(?:by )?(?P<o>[{UPPER}]\S.*)", "partner", name, BEGINS)
_add(
    "be; get",
    rf"(?:back )?(?:together with|in a relationship with|going out with) (?P<o>(?:[{UPPER}]|an? \w+ (?:called"
    rf"|named) )\S.*)",
    "partner",
    name,
)
_add("go", rf"out with (?P<o>[{UPPER}]\S.*)", "partner", name, after="ing")
_add("be", rf"with (?P<o>[{UPPER}]\w+)", "partner", name, after="love")
_add("break; split", rf"(?:up )?(?:with|from) (?P<o>[{UPPER}]\S.*)", "partner", name, ENDS)
_add("divorce; be divorce; be separate; separate", rf"(?:from )?(?P<o>[{UPPER}]\S.*)", "married_to", name, ENDS)
_add("be", rf"(?:good |close |best |great |old |still )*friends with {_O}", "friend", names)
_add("be supervise; be mentor; be manage", rf"by (?P<o>(?:[{UPPER}])\S.*)", "colleague", name, BEGINS)
_add(
    "be",
    r"(?P<o>)single\b(?! (?:mother|father|mum|mom|dad|parent))",
    "partner",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)
_add("tie", rf"the knot with {_O}", "married_to", name, BEGINS)
_add(
    "be",
    rf"(?:an?|the) (?:proud |single )?(?:mother|father|mum|mom|dad|parent) (?:of|to) (?:[a-z]+,? "
    rf")?(?P<o>[{UPPER}]\S.*)",
    "child",
    names,
)
_add(
    "be; be marry",
    r"(?P<o>)(?:divorced|unmarried|a widow|a widower|widowed)\b",
    "married_to",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)
_add("be marry", r"(?P<o>)(?=\s*(?:\Z|[,.;!]|yet\b|any))", "married_to", lambda _s, at, _e: [(at, at)], after="not")

# Animals and things.
_PET = listed(PETS, most=4)
_GOT = r"(?:got |myself |ourselves |us |just )*"
_add("keep", rf"(?:{_AN})?{_O}", "pet", several(listed(PETS)), confidence=0.8)
_add("have; own", rf"{_GOT}(?:any |{_AN})?(?!to\b|not\b){_O}", "pet", several(_PET), confidence=0.85)
_add(
    "get; adopt; buy; rescue; foster; take; bring",
    rf"(?:in |home |myself |ourselves |us )*{_AN}{_O}",
    "pet",
    several(_PET),
    BEGINS,
    confidence=0.85,
)
_add("run", rf"(?:an?|my own|our own) {_O}", "owns", listed(THINGS, most=4))
_add("own; co-own", rf"(?:{_AN}|both )?(?:a pair of )?{_O}", "owns", phrases, confidence=0.75)
_add("have; get", rf"{_GOT}(?:an?|my|our|two|three|another) {_O}", "owns", listed(THINGS, most=4), confidence=0.75)
_add("have; get", rf"{_GOT}an? (?P<o>(?:\w+ ){{0,2}}?[{UPPER}][a-z]\S.*)", "owns", make, after="now")
_add(
    "have",
    rf"an? (?:(?:old|new|vintage|second-hand|used|red|blue|white|black|battered|trusty) "
    rf")*(?P<o>[{UPPER}]\w+)(?=\s*(?:\Z|[,.;]))",
    "owns",
    make,
)
_add("drive; ride; fly; sail", rf"(?:an?|my|our) (?:[a-z-]+ )*?(?P<o>(?:\d{{4}} )?[{UPPER}]\S.*)", "owns", proper)
_add("drive; ride", rf"(?:an?|my|our) (?:[a-z-]+ )*?{_O}", "owns", listed(THINGS, most=4))
_add("sell; trade; pawn; scrap; ditch", r"(?:in |off )?(?:my|our|the|his|her) (?P<o>\S.*)", "owns", phrase, ENDS)
_add(
    "trade; swap", r"(?:in )?(?:my|our|the|his|her) [^,;]{2,40}? for (?:an? |the )?(?P<o>\S.*)", "owns", phrase, BEGINS
)
_add("get", rf"(?:an? )(?P<o>[{UPPER}]\S.*)", "owns", make, BEGINS)
_add(
    "change", rf"(?:my|his|her) (?:sur|last |first |family )?name (?:from [{UPPER}]\w+ )?to {_O}", "name", name, BEGINS
)
_add("give; donate; get; throw", rf"(?:away |rid of |out )(?:my|our) {_O}", "owns", phrase, ENDS)
_add("have", rf"an? (?P<o>[{UPPER}]\w+(?: [{UPPER}]\S*)+)", "owns", make)
_add("inherit; be leave", r"(?:an?|the|my \w+['’]s) (?P<o>\S.*)", "owns", phrase, BEGINS)
_add(
    "buy; purchase; order",
    r"(?:myself |us |ourselves |him |her )?(?P<o>(?:an?|the|some|two|three|four|my|new|our|his|her) \S.*)",
    "bought",
    phrases,
    HAPPENS,
)
_add(
    "treat", r"(?:myself|ourselves|himself|herself) to (?P<o>(?:an?|the|some|two|new) \S.*)", "bought", phrases, HAPPENS
)
_add(
    "get",
    r"(?:myself|ourselves|himself|herself|themselves) (?P<o>(?:an?|the|some|two|new) \S.*)",
    "bought",
    phrases,
    HAPPENS,
)

# Taste.
_add(
    "like; love; enjoy; adore; cherish; relish",
    rf"(?:to |both |also |listening to |the sound of )*{_O}",
    "likes",
    likings,
)
_add("be", rf"no (?:great |big )?fan of {_O}", "dislikes", likings)
_add(
    "be",
    rf"(?:an? |more |really |quite )*(?:big |huge |massive |lifelong |great |real |total |die-hard |avid "
    rf")*(?:fan of|fond of|into|obsessed with|passionate about|crazy about|mad about|nuts about|keen on"
    rf"|partial to|hooked on|a sucker for|sucker for|big on|a fan of|in love with|addicted to|mad on|wild "
    rf"about) (?:both )?(?!to\b){_O}",
    "likes",
    likings,
)
# "I am interested in" may be about an offer; "I have always been interested in" is about oneself.
_add("be", r"interested in (?P<o>(?!the\b)\S.*)", "likes", likings, confidence=0.7, after="been")
_add("prefer", r"(?P<o>[^\s]+(?: \w+)?) (?:over|to) ", "likes", likings, confidence=0.65)
_add("have", rf"an? (?:soft spot|weakness|thing|passion) for {_O}", "likes", likings)
_add("hate; dislike; detest; loathe; despise; abhor", rf"(?:to |the sound of )?{_O}", "dislikes", likings)
_add("stand; bear; abide; stomach", _O, "dislikes", likings, after="cannot")
_add("care", rf"(?:much )?for {_O}", "likes", likings, after="not")
_add("mind", _O, "dislikes", likings, ENDS, after="never")
_add("be disgust; be repulse; be put; be creep", rf"(?:off |out )?by {_O}", "dislikes", likings)
_add("go", r"(?:right |completely |totally |really |a bit )*off (?P<o>(?!to\b|on\b|the\b)\S.*)", "likes", likings, ENDS)
_add("eat; drink", _O, "likes", likings, confidence=0.7, after="over")
_add("stop; quit", rf"(?:liking|loving|enjoying|eating|drinking) {_O}", "likes", likings, ENDS)
_add("give", r"up (?:eating |drinking )?(?P<o>(?!on\b|to\b|my\b|the\b|being\b|playing\b)\S.*)", "likes", likings, ENDS)
_add("stop; quit; give", rf"(?:up )?(?:doing|practi[sc]ing|collecting|going) {_O}", "hobby", phrase, ENDS)
_add("stop; quit; give", rf"(?:up )?playing (?:the )?{_O}", "hobby", listed(PLAYED, most=2), ENDS)
_add(
    "go",
    r"(?P<o>(?:[a-z-]+ )?[a-z]+ing)\b(?! to (?!the\b|an?\b))",
    "hobby",
    lambda s, at, e: [] if s[at:e].split()[-1] in _NO_GOING else [(at, e)],
    after="present",
)
_add(
    "play", rf"(?:the |an? |some |a lot of |a bit of )?{_O}", "hobby", several(listed(PLAYED, most=2)), confidence=0.75
)
_add("be", rf"an? (?:keen|avid|passionate|amateur|enthusiastic|hobby) {_O}", "hobby", phrase)
_add(
    "spend",
    r"(?:all |most of )?(?:my|most|his|her|our) (?:weekends|evenings|free time|spare time|sundays|saturdays"
    r"|days off|weekend) (?P<o>(?!working|in\b|at\b|with\b)[a-z]+ing\b.*)",
    "hobby",
    phrase,
)
_add(
    "sing; play; be",
    r"(?P<o>in (?:an?|the|my|our) (?:[a-z]+ )?(?:choir|band|orchestra|quartet|book club|chess club|running club))\b",
    "hobby",
    anything,
)
_add("get", r"(?:really |back )?into (?P<o>[a-z]\S.*)", "likes", likings, BEGINS)
_CRAFTS = (
    "paint; knit; crochet; sew; sketch; sculpt; embroider; weave; brew; forage; whittle; carve; restore; "
    "build; bake; quilt"
)
_GENERAL = (
    r"(?P<o>(?!(?:my|the|an?|it|this|that|him|her|you|your|out|up|into|to|for|in|at|on|with|from|off|down|away"
    r"|some|all|them|me|us|and|or|every)\b)[a-z][a-z -]{2,30}?)(?=\s*(?:\Z|[,.;!]|(?:on|in|every|at|for|to"
    r"|as)\b))"
)
_add(_CRAFTS, _GENERAL, "hobby", lambda s, at, e: [(_verb_before(s, at)[0], e)], after="present")
_add(
    _CRAFTS + "; " + "; ".join(sorted(PASTIMES)),
    r"(?P<o>)",
    "hobby",
    lambda s, at, _e: [_verb_before(s, at)],
    after="over",
)
_add(
    "write",
    r"(?P<o>poetry|poems|songs|novels|short stories|haiku|fiction|fan fiction|a blog)\b",
    "hobby",
    lambda s, at, e: [(_verb_before(s, at)[0], e)],
    after="present",
)
_add(
    "collect",
    r"(?P<o>(?!my\b|the\b|him\b|her\b|them\b|you\b|dust\b|unpaid\b|bills\b|parking\b|regrets\b|debts\b"
    r"|excuses\b|our\b|data\b|rent\b)\S.*)",
    "hobby",
    phrase,
    confidence=0.7,
)
_add("keep", r"(?P<o>bees|pigeons|an allotment|an aquarium|tropical fish)\b", "hobby", anything)
_add(
    "practise; practice; take; pick",
    r"(?:up )(?P<o>(?!the (?!piano|guitar|violin|cello|drums)|my\b|a\b|an\b|some\b|where\b|so\b|too\b"
    r"|on\b)\S.*)",
    "hobby",
    phrase,
    HAPPENS,
)
_add("do; practise; practice; run", rf"(?:a (?:lot|bit) of |some )?{_O}", "hobby", pastime)
_add("start; begin; try", rf"(?:doing |to do |learning |with )?{_O}", "hobby", pastime, BEGINS)
_add("stop; quit; give; drop", rf"(?:up |doing )*{_O}", "hobby", pastime, ENDS)
_add("relax; unwind; destress", r"(?:by|with) (?P<o>(?:an? )?\S.*)", "hobby", phrase, after="present")
_add("be", rf"an? (?:huge |big |massive |lifelong |die-hard )*(?P<o>[{UPPER}][\w ]{{1,25}}?) fan\b", "likes", anything)
_add(
    "be", r"an? (?P<o>runner|climber|cyclist|swimmer|hiker|birder|birdwatcher|gamer|surfer|skier)\b", "hobby", anything
)
_add(
    "be divorce; be widow",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|now\b|since\b))",
    "married_to",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
_add("believe", r"(?P<o>in \S.*)", "believes", phrase, confidence=0.65)

# Travel.
_add("visit; tour; explore", r"(?P<o>\S.*)", "visited", several(proper), HAPPENS)
_add(
    "go; travel; fly; drive; sail; cycle; hike; backpack; be; come",
    rf"(?:back |on \w+ \w+ |on vacation |on holiday |over |down |up |all over |round |around |away |home "
    rf")*(?:to|around|through|over) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "visited",
    several(proper),
    HAPPENS,
    after="trip",
)
_add("be", rf"(?:over |down |up |back )*in (?P<o>(?:the )?[{UPPER}]\S.*)", "visited", proper, HAPPENS, after="then")
_add(
    "get; come; return; be",
    rf"(?:back |home |just )+from (?:an? (?:trip|week|holiday|weekend|fortnight|month) (?:to|in) "
    rf")?(?P<o>(?:the )?[{UPPER}]\S.*)",
    "visited",
    proper,
    HAPPENS,
)
_add(
    "spend",
    rf"(?:[\w ]{{2,30}}?) (?:in|at|exploring|touring|visiting) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "visited",
    proper,
    HAPPENS,
    after="trip",
)

# Names.
_add("be call; be name; be christen; be baptise; be baptize; be know; be spell", rf"(?:as )?{_O}", "name", name)
_add("be call; be name; be christen; be baptise; be baptize", rf"{_O}", "name", name, BEGINS)
_add("go", rf"by (?:the name (?:of )?)?(?P<o>[{UPPER}]\S.*)", "name", name, confidence=0.7)

_NO_GOING = frozenset(
    "looking going anything something nothing everything missing wrong getting asking doing crying morning "
    "evening working being having trying".split()
)


def _follows_job(sentence: str, at: int) -> bool:
    words = sentence[max(0, at - 40) : at].lower().split()
    return len(words) > 1 and is_job(words[-2])


def _speaker(sentence: str, at: int) -> list[Place]:
    word = WORDS.match(sentence, at)
    return [word.span()] if word is not None and word[0].lower() in LANGUAGES else []


def _verb_before(sentence: str, at: int) -> Place:
    last = len(sentence[:at].rstrip())
    return (sentence.rfind(" ", 0, last) + 1, last)


FORMS = verb_forms(
    {verb.removeprefix("be ") for verb in FRAMES}
    | set(
        "intend plan decide book reserve schedule cancel call postpone die pass euthanize rehome give want need "
        "try hope wish "
        "think feel know say tell like help learn apply attend throw host celebrate start meet see pick catch take "
        "enter run "
        "compete perform play present launch open publish sign undergo bring come travel head leave fly name go have "
        "lose find spill expect register sign tie end share understand hand donate throw eat cook coach make watch "
        "win hear wait sit walk talk write send ask seem look happen use "
        "remember forget mention replace".split()
    )
)
"""What each form of a known verb may be."""
