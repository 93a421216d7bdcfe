"""The frames of English verbs, and those that say where people live, are from, work and study.

A frame is found by the verb's infinitive; ``be hire`` stands for the passive ("I was hired by"), and ``be`` also for what
is said with an adjective or a noun ("I am allergic to").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memwell.language.claims.english_objects import (
    EMPLOYERS,
    FIELDS,
    NATIONALITIES,
    UPPER,
    Place,
    Taker,
    anything,
    employer,
    field,
    firm,
    job,
    listed,
    made,
    place,
    proper,
    school,
    several,
    titled,
    town,
    trade,
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
    """What the predicate must be: "not", "cannot", "now", "been" …, or anything."""


FRAMES: dict[str, list[VerbFrame]] = {}
"""By verb, in the infinitive."""


def add(
    verbs: str, pattern: str, relation: str, take: Taker, mode: str = HOLDS, *, confidence: float = 0.8, after: str = ""
) -> None:
    frame = VerbFrame(LazyPattern(r"\s*" + pattern, re.DOTALL).match, relation, take, mode, confidence, after)
    for verb in verbs.split(";"):
        FRAMES.setdefault(verb.strip(), []).append(frame)


def known(sentence: str, start: int, end: int) -> list[Place]:
    """An employer that is known as one: who went from Leeds to York only travelled."""
    return [one for one in proper(sentence, start, end) if sentence[slice(*one)] in EMPLOYERS]


def no_town(sentence: str, start: int, end: int) -> list[Place]:
    """Where a child goes, unless it is a journey."""
    return [] if town(sentence, start, end) else school(sentence, start, end)


OBJECT = r"(?P<o>\S.*)"
_O = OBJECT
_HERE = (
    r"(?:right |just |back |over |here |out |up |down |near |still |happily |currently |alone |together "
    r"|permanently |now |again |full[- ]time |with (?:my|our) (?:parents|mum|mom|dad|folks|family|gran|sister"
    r"|brother) |(?:on|by) (?:my|his|her|their) own |by (?:my|him|her)self )*"
)
_JOINED_TO = (
    r"(?:here |over |back |across |out |up |down |again |on |away |house,? |home |permanently |abroad |all the "
    r"way |from [^,;]*?(?:, [A-Z][a-z]+)? )*"
)

_TRADES = (
    "teaching|nursing|law|medicine|banking|journalism|acting|farming|welding|policing|plumbing|accounting|accountancy"
    "|dentistry|academia|politics|modelling|modeling|engineering|programming|consulting|carpentry"
)

_SERVICES = (
    "fire (?:brigade|service|department)|police|army|navy|air force|coastguard|ambulance service|civil service|post office"
    "|council|railways?|military|merchant navy|marines|NHS"
)

# Where.
add(
    "live; reside; dwell; be base; be settle; be locate",
    rf"{_HERE}(?:down )?(?:in|near) (?:the (?=[a-z]+ of ))?{_O}",
    "lives_in",
    place,
    confidence=0.9,
)
add(
    "live; be base",
    rf"(?:with [^,;]{{1,40}}? |alone |just |right )?(?:outside|out|in|near)(?: of)? {_O}",
    "lives_in",
    place,
)
add(
    "move; relocate; emigrate; immigrate; be transfer; be relocate; be post; be station; be move; resettle",
    rf"{_JOINED_TO}(?:to|into|in(?![^,;]* to an? )) (?!the [A-Z]\w+ (?:office|branch|team))(?:an? [a-z "
    rf"]{{2,20}}? in )?{_O}",
    "lives_in",
    place,
    BEGINS,
)
add("settle", rf"(?:down )?in {_O}", "lives_in", place, BEGINS)
add(
    "move; relocate; emigrate",
    rf"(?:here |away |over |out |back |house,? )*(?:from|of|out of) (?:an? [a-z ]{{2,20}}? in )?{_O}",
    "lives_in",
    place,
    ENDS,
)
add(
    "swap; trade; exchange; ditch",
    rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?) for (?:the )?[{UPPER}]",
    "lives_in",
    place,
    ENDS,
)
add("swap; trade; exchange; ditch", rf"[{UPPER}]\S*(?: [{UPPER}]\S*)? for {_O}", "lives_in", place, BEGINS)
add("be", rf"(?:back |home |here |over |living )*in (?P<o>[{UPPER}]\S.*)", "lives_in", place, after="now")
add("be", rf"back (?:home )?in {_O}", "lives_in", place, after="since")
add("be", rf"in (?P<o>[{UPPER}]\S.*)", "lives_in", place, after="over")

add("be", rf"an? (?:[\w-]+ ){{1,4}}?(?:living|based) (?:in|near|outside) {_O}", "lives_in", place)

# Whence.
add("be", rf"an? (?:[\w-]+ ){{1,4}}?from (?P<o>[{UPPER}]\S.*)", "from", place)
add(
    "be; hail; come",
    rf"(?:born and raised |originally |all the way |actually )*from (?:an? (?:[a-z]+ ){{1,3}}(?:near|outside"
    rf"|in) (?![^,;.]*\b(?:called|named)\b))?{_O}",
    "from",
    place,
    confidence=0.85,
)
add(
    "be bear; be raise; be bring; be rear",
    r"(?:up )?(?:,? ?(?:and|&) (?:raised|bred|brought up|grew up) )?(?:(?:to|by) [\w ]{3,30}? )?(?:in \d{4} )?(?:in"
    r"|near) (?P<o>(?!\d)\S.*)",
    "from",
    place,
    HAPPENS,
    confidence=0.85,
)
add(
    "grow",
    rf"up (?:on [a-z ]{{3,20}} |just )?(?:in|near|outside|on the (?:outskirts|edge))(?: of)? {_O}",
    "from",
    place,
    HAPPENS,
    confidence=0.7,
)
add(
    "be",
    r"(?:an? |both |half |part |actually |originally |proud )*(?P<o>\S.*)",
    "nationality",
    several(listed(NATIONALITIES)),
    confidence=0.75,
)
add("be", r"an? (?P<o>[A-Z]\w+) (?:citizen|national)\b", "nationality", anything)

# Work.
add(
    "work",
    rf"(?!\s*out\b)(?:[^,;]{{0,50}}? )?(?:at|for|over at) (?:the )?(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    confidence=0.85,
)
add("work", r"in (?P<o>(?:an?|the) \S.*)", "works_at", employer)
add(
    "work",
    rf"(?:\w+-time |weekends |nights |shifts |days |evenings |freelance |mostly |remotely |from home |here )*(?:at"
    rf"|for) {_O}",
    "works_at",
    employer,
    confidence=0.85,
)
add("work", rf"(?:.{{0,40}}? )?as (?:an?|the|their|head) {_O}", "occupation", trade, confidence=0.85)
add("be", r"no (?P<o>[a-z]\S.*)", "occupation", job, ENDS, after="present")
add("retire", rf"from (?P<o>{_TRADES})\b", "occupation", anything, ENDS)
add(
    "be employ; be contract; be hire; be recruit; be poach; be headhunt; be take; be snap; be appoint",
    rf"(?:on |up |away |as [^,;]{{1,40}}? |straight [a-z ]{{3,25}}? |right [a-z ]{{3,25}}? |last [a-z]+ |back )?(?:by"
    rf"|at|with) {_O}",
    "works_at",
    employer,
    BEGINS,
)
add(
    "be employ; be hire; be recruit; be take; be appoint; be promote; be qualify; be train; be make",
    rf"(?:on )?(?:(?:by|at|with|from) [^,;]{{1,40}}? )?(?:as|to) (?:an? |the |their )?{_O}",
    "occupation",
    trade,
    BEGINS,
)
add(
    "start; begin",
    r"(?:working|work|my new job|a new job|a job|a (?:new )?position|my new role|a new role|work(?:ing)? as "
    r"[^,;]{1,30}?|as [^,;]{1,30}?)? ?(?:at|for|with) " + _O,
    "works_at",
    proper,
    BEGINS,
)
_SITES = (
    r"(?!(?:Facebook|Instagram|Twitter|LinkedIn|TikTok|Tinder|Strava|WhatsApp|Snapchat|Reddit|Netflix|Duolingo"
    r"|Bumble|Hinge)\b"
    r"(?! (?:for|to) ))"
)
"""What people also join and quit as users."""
add(
    "join",
    rf"(?:the )?{_SITES}(?P<o>(?!team\b|us\b|them\b|a\b|forces\b|in\b)\S.*)",
    "works_at",
    proper,
    BEGINS,
    confidence=0.7,
)
add(
    "get; land; have; find; accept; take; score; snag",
    rf"(?:an?|my|the)(?: [\w-]+){{0,3}}? (?:job|position|role|gig|post|offer)(?: as [^,;]{{1,40}}?)? (?:at|with|from) "
    rf"{_O}",
    "works_at",
    employer,
    BEGINS,
)
add(
    "be",
    rf"(?:an?|the|their|head of [a-z ]+|in (?:sales|marketing|finance|accounts|hr|HR|IT|procurement|logistics"
    rf"|design|support)) ?(?!(?:[\w-]+ ){{0,3}}(?:student|undergrad|undergraduate|pupil|freshman|major|sophomore"
    rf"|postgrad|candidate|graduate|regular"
    rf"|member|fan|patient|guest|customer|client|visitor|tourist|subscriber|donor|shopper)\b)"
    rf"(?:[\w-]+ ){{0,4}}?(?:at|for) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "works_at",
    proper,
)
add("work", rf"{_HERE}in {_O}", "works_in", town)
add("study", rf"{_HERE}(?:[a-z]+ )?in {_O}", "studies_in", town)
add("be; go", rf"(?:to |at )(?:uni|university|college|school|boarding school) in {_O}", "studies_in", town)
add("be", rf"(?:back |now |over )*at {_O}", "works_at", proper, after="now")
add("be", rf"(?:back |now |over )*with {_O}", "works_at", firm, after="job")
add("be", rf"with (?P<o>[{UPPER}]\S.*)", "with", proper, after="over")
add("be", rf"(?:through|done|finished) with (?P<o>[{UPPER}]\S.*)", "with", proper, ENDS, after="present")
add("tend", rf"bar (?:at|for) (?:the )?{_O}", "works_at", employer)
add("be", rf"with (?P<o>[{UPPER}]\S.*)", "with", proper, after="been")
add("be", rf"(?:with|at) (?:the )?{_O}", "works_at", firm, after="been")
add("be", rf"(?:with|at) (?P<o>[{UPPER}]\S.*)", "works_at", firm, after="before")
add(
    "be",
    rf"(?:with|in) the (?P<o>{_SERVICES})\b",
    "works_at",
    anything,
)
add("be make; be appoint; be elect; be name", rf"(?:an? |the |their )?{_O}", "occupation", made, BEGINS)
add("be; become", rf"(?:now |currently |officially |the |our |their |an? )*{_O}", "occupation", titled)
add("teach", rf"(?:\w+ ){{0,3}}at {_O}", "works_at", employer)
add("get", rf"in(?:to)? (?P<o>[{UPPER}].*)", "studies_at", school, BEGINS, after="school")
add(
    "run; manage; head; lead; clean; deliver; cook; design; sell; code; program; drive; write; build; fix; test",
    rf"(?:[a-z][a-z ]{{2,30}}? )?(?:at|for) (?:the )?(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    after="present",
)
add("freelance; moonlight", rf"as (?:an? )?{_O}", "occupation", job)
add("be", r"an? (?P<o>(?:stay-at-home|full-time) (?:dad|mum|mom|parent|father|mother))\b", "occupation", anything)
add("make; earn", rf"(?:my|a|his|her) (?:living|crust|keep|money|bread) as (?:an? )?{_O}", "occupation", job)
add("clock; intern; temp; toil", rf"(?:in |on |away )?(?:at|for|with) {_O}", "works_at", employer)
add("hand", rf"in my (?:notice|resignation) (?:at|to) {_O}", "works_at", employer, ENDS)
add("quit", rf"(?:working (?:at|for) )?(?:the )?{_SITES}(?P<o>[{UPPER}]\S.*)", "works_at", proper, ENDS)
add("resign; retire; step", r"(?:down )?(?:from|at) (?:my job at )?(?P<o>(?!work|my)\S.*)", "works_at", employer, ENDS)
add(
    "leave; quit; resign; retire; lose",
    rf"(?:from )?(?:my (?:[a-z]+ )?(?:job|position|role|post) (?:at|with) ){_O}",
    "works_at",
    employer,
    ENDS,
)
add("leave; swap", rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)*)(?= for (?:[{UPPER}]|an? ))", "left", proper, ENDS)
add("leave", rf"(?P<o>[{UPPER}]\S.*)", "left", proper, ENDS)
add("leave", rf"[{UPPER}][^,;]*? for (?P<o>(?:[{UPPER}]|an? )\S.*)", "joined", proper, BEGINS)
add(
    "quit; leave; lose",
    r"(?P<o>)(?:my|his|her|the|a|our|that|their)(?: \w+)? (?:day )?(?:job|position|role|work|company"
    r"|firm)\b(?! (?:at|with|for|application|interview|offer|title|description|hunt|search|market|centre|center)\b)",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add(
    "be fire; be sack; be lay; be let; be make; be dismiss; be can; be axe",
    rf"(?:off |go |redundant )?(?:by|from|at) {_O}",
    "works_at",
    employer,
    ENDS,
)
add(
    "be fire; be sack; be lay; be let; be make; be dismiss",
    r"(?P<o>)(?:off|go|redundant)?(?: from (?:my|his|her) (?:job|work|position))?(?=\s*(?:\Z|[,.;!]|(?:last"
    r"|this|yesterday|today|on|in|two|a|and|because|so|recently)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="laid",
)
add(
    "quit; resign",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:and|last|this|yesterday|today|to|because|so)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
_SACK = "the (?:sack|boot|push|chop|axe|heave-ho)"
add("get; be give", rf"{_SACK} (?:from|by|at) {_O}", "works_at", employer, ENDS)
add(
    "get; be give",
    rf"(?P<o>){_SACK}(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|on|in|two|a|and|because|so"
    r"|recently|for|from work)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("stop; finish", rf"working (?:at|for) {_O}", "works_at", employer, ENDS)
add("be", r"(?:an? )?(?P<o>\S.*)", "occupation", job, after="bare")
add("go", r"from (?:an? )?(?P<o>[a-z -]{3,30}?) to ", "occupation", job, ENDS)
add("go", rf"from [a-z -]{{3,30}}? to (?:an? )?{_O}", "occupation", job, BEGINS)
add("be", r"(?P<o>)(?:unemployed|out of work|jobless)\b", "works_at", lambda _s, at, _e: [(at, at)], ENDS, after="been")
add(
    "be",
    r"(?P<o>)(?:unemployed|out of work|between jobs|jobless|out of a job)\b",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)

# Profession.
add(
    "be",
    rf"(?:an?|the)(?: (?:qualified|trained|licensed|professional|full-time|part-time|freelance|self-employed"
    rf"|newly qualified|certified|\d\d-year-old|proud|humble|simple))* {_O}",
    "occupation",
    job,
    confidence=0.75,
)
add("be", rf"(?:done|finished|through) with (?P<o>{_TRADES})\b", "occupation", anything, ENDS, after="present")
add(
    "leave; quit; give",
    rf"(?:up )?(?P<o>{_TRADES})\b",
    "occupation",
    anything,
    ENDS,
)
add("start; begin", rf"(?:out |over |again |work |a job )*as (?:an?|the) {_O}", "occupation", trade, BEGINS)
add("teach", r"(?P<o>)(?=\s*(?:\Z|[,.;!]))", "occupation", lambda _s, at, _e: [(at, at)], after="over")
add("become; be become", rf"(?:an?|the) {_O}", "occupation", job, BEGINS, confidence=0.75)
add("train; qualify; retrain", rf"(?:as|to be) (?:an?) {_O}", "occupation", job, BEGINS)
add("do", rf"[a-z ]{{0,30}}as (?:an?) {_O}", "occupation", job)
for _relation in ("works_at", "occupation"):
    add(
        "retire",
        r"(?P<o>)(?:from work)?(?=\s*(?:\Z|[,.;!]|(?:last|this|in|on|at \d|two|three|a|early|after"
        r"|yesterday|today|now|recently|earlier|back|finally|and|so|when|since)\b))",
        _relation,
        lambda _s, at, _e: [(at, at)],
        ENDS,
    )
    add(
        "be",
        r"(?P<o>)(?:now |already |finally |officially |happily |fully )*retired"
        r"(?=\s*(?:\Z|[,.;!]|(?:now|since|and|from)\b))",
        _relation,
        lambda _s, at, _e: [(at, at)],
        ENDS,
        after="present",
    )

# Study.
add("study; be study", rf"(?:[\w'’-]+ ){{0,8}}?at (?:the )?{_O}", "studies_at", school)
add(
    "study; major; specialise; specialize; minor",
    r"(?:to be (?:an? )?|for (?:an?|my) [\w'’-]+(?: degree)? in |for a degree in |in (?![A-Z])"
    r"|towards? a degree in )?(?P<o>\S.*)",
    "studies",
    field,
)
add("read", rf"(?P<o>[\w ]{{2,30}}?) at (?=the Univ|[{UPPER}])", "studies", field)
add("read", rf"[\w ]{{2,30}}? at (?:the )?(?P<o>[{UPPER}].*)", "studies_at", school)
add(
    "do; pursue; take; finish; complete; work",
    rf"(?:on |for )?(?:an?|my|his|her|the) (?:[\w-]+ )?(?:degree|phd|PhD|master['’]?s|masters|bachelor['’]?s"
    rf"|doctorate|diploma|apprenticeship|course|MA|BA|MSc|BSc|MBA|A-levels)(?: degree)? (?:in|on) {_O}",
    "studies",
    field,
    after="ing",
)
add("do; study; take", _O, "studies", several(listed(FIELDS, most=3)), after="ing")
add("drop; ditch; quit; abandon", r"(?:out of )?(?P<o>[a-z]\S.*)", "studies", listed(FIELDS, most=3), ENDS)
add("go; be", rf"(?:to|at) (?P<o>[{UPPER}]\S.*)", "studies_at", no_town, after="pupil")
add(
    "be accept; be admit",
    rf"(?:by|into|to|at) (?:study \w+ at )?(?P<o>(?:the )?[{UPPER}].*)",
    "studies_at",
    school,
    BEGINS,
)
add("be", rf"at (?:the )?(?P<o>[{UPPER}].*?)(?=,? (?:reading|studying|doing)\b)", "studies_at", school)
add("be", rf"(?:at [^,;]{{2,40}}?,? )(?:reading|studying) {_O}", "studies", field)
add(
    "be",
    rf"in (?:my|his|her) (?:\w+ year)(?: of [a-z ]{{2,30}}?)? at (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
)
add("be", rf"in (?:my|his|her) (?:\w+ year) of {_O}", "studies", field)
add("switch; change; go; transfer", r"(?:over )?from (?P<o>[a-z ]{3,25}?) to ", "studies", listed(FIELDS, most=3), ENDS)
add(
    "drop; flunk; be kick; be expel; be throw",
    rf"(?:out )?(?:of|from) (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
    ENDS,
)
add(
    "finish; complete",
    r"(?P<o>)(?:(?:my|his|her) (?:[a-z]+ )?(?:degree|studies|course|uni|university|college|phd|PhD"
    r"|master['’]?s|bachelor['’]?s"
    r")|uni|university|college)\b(?! (?:at|from|assignment|work|project|essay|paper|course)\b)",
    "studies_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add(
    "graduate",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|in \w+|two|a|and|with|finally|recently)\b))(?!.*\b(?:from"
    r"|at) [A-Z])",
    "studies_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("graduate", rf"(?:\w+ ){{0,4}}?(?:from|at) {_O}", "graduated_from", school, HAPPENS)
add(
    "get; have; earn; receive; do; be award; complete; finish; hold",
    rf"(?:an?|my|his|her|the) (?:[\w'’-]+ ){{1,5}}?(?:from|by|at) (?P<o>(?:the )?[{UPPER}].*)",
    "graduated_from",
    school,
    HAPPENS,
    after="degree",
)
