"""The frames of English verbs, and those that say where people live, are from, work and study.

A frame is found by the verb's infinitive; ``be hire`` stands for the passive ("I was hired by"), and ``be`` also for what
is said with an adjective or a noun ("I am allergic to").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memwell.language.claims.english_objects import (
    DENIZENS,
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
    is_job,
    job,
    listed,
    name,
    place,
    proper,
    school,
    several,
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
    """Which flags of the predicate are needed: "not", "can", "now", "been" or none."""


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


def denizen(sentence: str, start: int, end: int) -> list[Place]:
    """Someone from a town, by the word for them: "a Londoner"."""
    return [(start, end)] if sentence[start:end].lower() in DENIZENS else []


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
    "stay",
    rf"(?!.*\b(?:until|till|tonight|this week(?:end)?|over(?:night)?|for (?:an?|the|one|two|three|four|five|some"
    rf"|\d+)|hotel"
    rf"|airbnb)\b){_HERE}(?:in|near) {_O}",
    "lives_in",
    place,
    after="not past",
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
add("retire", rf"(?:back )?to (?:an? [a-z ]{{2,20}}? (?:in|near) )?(?P<o>[{UPPER}]\S.*)", "lives_in", place, BEGINS)
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
add("be", rf"(?:over |down |up |back )*in (?P<o>[{UPPER}]\S.*)", "lives_in", place, after="before")
add("be", rf"back (?:home )?in {_O}", "lives_in", place, after="since")
add("be", rf"in (?P<o>[{UPPER}]\S.*)", "lives_in", place, after="over")
add(
    "share; rent; sublet",
    # Who rents a flat out, or to others, does not live in it.
    rf"(?<!out )(?!.* (?:out|to|on Airbnb)\b(?! of\b| be\b| save\b))(?:an?|my|our|the) (?:[\w-]+ ){{0,3}}?"
    rf"(?:flat|house|apartment|place|room|studio|condo|cottage|bungalow|loft|(?:one|two|three|1|2|3)-bed(?:room)?)"
    rf"(?: with [^,;]{{1,30}}?)? (?:in|near) {_O}",
    "lives_in",
    place,
)

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
add("spend", rf"(?:my|his|her) (?:childhood|early years|youth|teens) in {_O}", "from", place, HAPPENS)
add(
    "grow",
    rf"up (?:on [a-z ]{{3,20}} |just )?(?:in|near|outside|on the (?:outskirts|edge))(?: of)? {_O}",
    "from",
    place,
    HAPPENS,
    confidence=0.7,
)
add("be", rf"(?:a |an )?(?:proud )?native of {_O}", "from", place)
add(
    "be",
    r"an? (?:proud |born |true |real )*(?P<o>New Yorker|[A-Z][a-z]+(?:er|ian|ese|mie))(?=\s*(?:[,.;!]|\Z|and\b"
    r"|by\b|at\b|through\b))",
    "from",
    denizen,
)
add(
    "be",
    r"(?:an? |both |half |part |actually |originally |proud )*(?P<o>\S.*)",
    "nationality",
    several(listed(NATIONALITIES)),
    confidence=0.75,
)
add(
    "be grant; be give; get; gain; obtain; receive; take; acquire",
    r"(?:my |the |an? )?(?P<o>[A-Z]\w+) (?:citizenship|nationality|passport)",
    "nationality",
    anything,
    BEGINS,
)
add("become; be make", r"an? (?P<o>[A-Z]\w+) (?:citizen|national)\b", "nationality", anything, BEGINS)
add("be", r"an? (?P<o>[A-Z]\w+) (?:citizen|national)\b", "nationality", anything)
add(
    "have; hold",
    r"(?:an? |my |both |dual )*(?P<o>[A-Z]\w+(?:(?:,| and|, and) (?:an? )?[A-Z]\w+)*) (?:citizenship|nationality"
    r"|passport)s?\b",
    "nationality",
    several(listed(NATIONALITIES)),
)
add(
    "give; renounce; lose",
    r"(?:up )?(?:my |his |her )(?P<o>[A-Z]\w+) (?:citizenship|nationality|passport)",
    "nationality",
    anything,
    ENDS,
)

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
    "be",
    r"an? (?:[\w-]+ ){1,3}?(?:at|for|in) (?P<o>(?:an?|the) [a-z]\S.*)",
    "works_at",
    lambda s, at, e: employer(s, at, e) if _follows_job(s, at) else [],
)
add(
    "work",
    rf"(?:\w+-time |weekends |nights |shifts |days |evenings |freelance |mostly |remotely |from home |here )*(?:at"
    rf"|for) {_O}",
    "works_at",
    employer,
    confidence=0.85,
)
add("work", rf"(?:.{{0,40}}? )?as (?:an?|the|their|head) {_O}", "occupation", trade, confidence=0.85)
add(
    "do; handle; run",
    r"(?:the |all (?:the )?)?(?:payroll|marketing|sales|admin|accounts|accounting|hr|HR|IT|tech support|support|logistics"
    r"|customer (?:service|support)|design|research|security|maintenance|PR|finance|legal|data|QA|books|reception"
    r"|social media|deliveries|(?:[a-z]+ )?shifts?|nights)(?: as an? [a-z ]{3,20}?)? (?:at|for) (?:the )?(?:local "
    r"|nearby )?(?P<o>\S.*)",
    "works_at",
    employer,
    after="present",
)
add("be", r"no (?P<o>[a-z]\S.*)", "occupation", job, ENDS, after="present")
add("retire", rf"from (?P<o>{_TRADES})\b", "occupation", anything, ENDS)
add(
    "work",
    r"with (?P<o>(?:an? )?(?:guy|woman|man|lady|girl|bloke|chap|person|dude) (?:called|named) \S.*)",
    "colleague",
    name,
)
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
add("join", rf"the (?P<o>{_SERVICES})\b", "works_at", anything, BEGINS)
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
    "have; hold",
    rf"(?:an?|my|the)(?: [\w-]+){{0,3}}? (?:job|position|role|post)(?: as [^,;]{{1,40}}?)? (?:at|with) {_O}",
    "works_at",
    employer,
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
add("be", rf"at (?P<o>[{UPPER}][^,;]*), not (?:at )?[{UPPER}]", "works_at", known)
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
add(
    "be make; be appoint; be promote; be name; be elect",
    rf"(?:to |as )?(?:an? |the )?(?:[a-z]+ ){{1,3}}(?:at|of|for) (?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    BEGINS,
)
add("be make; be appoint; be elect; be name", r"(?:an? |the )?(?P<o>[a-z]\S.*)", "occupation", job, BEGINS)
add(
    "teach",
    r"(?P<o>(?!at\b|in\b|him\b|her\b|me\b|you\b|us\b|them\b|my\b|the\b|a\b|people\b|kids\b)[A-Za-z]+(?: [a-z]+)?)"
    r"(?=\s*(?:\Z|[,.;]|(?:at|in|to|for)\b))",
    "occupation",
    lambda s, at, e: [(s.rfind(" ", 0, at - 1) + 1, e)],
    after="other",
)
add(
    "be",
    rf"an? (?:[\w-]+ ){{1,3}}?with (?P<o>[{UPPER}]\S.*)",
    "works_at",
    lambda s, at, e: proper(s, at, e) if _follows_job(s, at) else [],
)
add("teach", rf"(?:\w+ ){{0,3}}at {_O}", "works_at", employer)
add("report", rf"to (?:the|my|our) [\w ]{{2,20}}? (?:at|of) (?P<o>[{UPPER}]\S.*)", "works_at", proper, after="present")
add("get", rf"in(?:to)? (?P<o>[{UPPER}].*)", "studies_at", school, BEGINS, after="school")
add(
    "run; manage; head; lead; clean; deliver; cook; design; sell; code; program; drive; write; build; fix; test",
    rf"(?:[a-z][a-z ]{{2,30}}? )?(?:at|for) (?:the )?(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
    after="present",
)
add(
    "be",
    rf"(?:on|in|behind|(?:a )?part of|a member of) the [a-z ]{{0,20}}?(?:counter|bar|wheel|shop floor|shift|team"
    rf"|department|board|staff|kitchen|warehouse"
    rf"|checkouts?|tills?|reception|front desk|production line|ward|crew|payroll) (?:at|of|for) (?:the )?"
    rf"(?P<o>[{UPPER}]\S.*)",
    "works_at",
    proper,
)
add(
    "be offer",
    rf"(?:an? |the )[a-z ]{{0,20}}?(?:job|role|position|post) (?:at|with|by) {_O}",
    "works_at",
    employer,
    BEGINS,
    after="accepted",
)
add(
    "get; land; find; start; take; have",
    rf"(?:an?|my|the)(?: \w+)? (?:job|position|role|gig|post) as (?:an? |the )?{_O}",
    "occupation",
    trade,
    BEGINS,
)
add("freelance; moonlight", rf"as (?:an? )?{_O}", "occupation", job)
add("be", r"an? (?P<o>(?:stay-at-home|full-time) (?:dad|mum|mom|parent|father|mother))\b", "occupation", anything)
add("make; earn", r"(?:my|a|his|her) living (?:by )?(?P<o>[a-z]+ing [a-z][a-z ]{2,30})", "occupation", anything)
add("make; earn", rf"(?:my|a|his|her) (?:living|crust|keep|money|bread) as (?:an? )?{_O}", "occupation", job)
add("make; earn", rf"(?:my|a|his|her) (?:living|crust|keep|money|bread) (?:at|with) {_O}", "works_at", employer)
add("clock; intern; temp; toil", rf"(?:in |on |away )?(?:at|for|with) {_O}", "works_at", employer)
add("hand", rf"in my (?:notice|resignation) (?:at|to) {_O}", "works_at", employer, ENDS)
add(
    "switch; change",
    rf"(?:jobs |employers |companies |over )?(?:from (?P<o>[{UPPER}]\S.*?) to (?=[{UPPER}]))",
    "works_at",
    proper,
    ENDS,
    after="job",
)
add(
    "switch; change",
    rf"(?:jobs |employers |companies |over |from [^,;]*? )*to {_O}",
    "works_at",
    proper,
    BEGINS,
    after="job",
)
add(
    "leave; quit; resign; retire; lose",
    rf"(?:from )?(?:my (?:[a-z]+ )?(?:job|position|role|post) (?:at|with) ){_O}",
    "works_at",
    employer,
    ENDS,
)
add("quit", rf"(?:working (?:at|for) )?(?:the )?{_SITES}(?P<o>[{UPPER}]\S.*)", "works_at", proper, ENDS)
add("resign; retire; step", r"(?:down )?(?:from|at) (?:my job at )?(?P<o>(?!work|my)\S.*)", "works_at", employer, ENDS)
add(
    "quit; leave",
    rf"[{UPPER}][^,;]*? to (?:join|work (?:for|at)|start at) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "works_at",
    proper,
    BEGINS,
)
add("leave; swap", rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)*)(?= for (?:[{UPPER}]|an? ))", "left", proper, ENDS)
add(
    "jump; go; switch; defect",
    rf"(?:ship |over |straight )?from (?P<o>[{UPPER}]\S.*?) to [{UPPER}]",
    "left",
    known,
    ENDS,
)
add("jump; go; switch; defect", rf"(?:ship |over |straight )?from [{UPPER}][^,;]*? to {_O}", "left", known, BEGINS)
add("walk", rf"(?:out |away )(?:of|from|on) (?P<o>[{UPPER}]\S.*)", "left", known, ENDS)
add(
    "leave; quit",
    rf"the (?P<o>{_SERVICES}|force|bank|church|ministry|bakery|factory|hospital|shop|salon|brewery)"
    r"(?=\s*(?:\Z|[,.;!]|(?:and|last|in|to|after|for|because|this|years?|when|at|a|two|three)\b))",
    "works_at",
    anything,
    ENDS,
)
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
add(
    "quit; resign",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:and|last|this|yesterday|today|to|because|so)\b))",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("become; go", r"(?P<o>self-employed|freelance)\b(?! [a-z]+(?:er|or|ist)\b)", "occupation", anything, BEGINS)
add("be", r"(?:an? )?(?P<o>\S.*)", "occupation", job, after="bare")
add("go", r"from (?:an? )?(?P<o>[a-z -]{3,30}?) to ", "occupation", job, ENDS)
add("go", rf"from [a-z -]{{3,30}}? to (?:an? )?{_O}", "occupation", job, BEGINS)
add(
    "be",
    r"(?P<o>)(?:unemployed|out of work|between jobs|jobless|out of a job)\b",
    "works_at",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)
add("be", r"(?P<o>)(?:unemployed|out of work|jobless)\b", "works_at", lambda _s, at, _e: [(at, at)], ENDS, after="been")

# Profession.
add(
    "be",
    rf"(?:an?|the)(?: (?:qualified|trained|licensed|professional|full-time|part-time|freelance|self-employed"
    rf"|newly qualified|certified|\d\d-year-old|proud|humble|simple))* {_O}",
    "occupation",
    job,
    confidence=0.75,
)
add(
    "leave; quit; give",
    rf"(?:up )?(?P<o>{_TRADES})\b",
    "occupation",
    anything,
    ENDS,
)
add("move", rf"(?:on|away) from (?P<o>{_TRADES})\b", "occupation", anything, ENDS)
add("be", rf"(?:done|finished|through) with (?P<o>{_TRADES})\b", "occupation", anything, ENDS, after="present")
add("trade; swap; leave", rf"(?P<o>{_TRADES}) for [a-z]", "occupation", anything, ENDS)
add("trade; swap; leave", rf"(?:{_TRADES}) for (?P<o>{_TRADES})\b", "occupation", anything, BEGINS)
add("start; begin", rf"(?:out |over |again |work |a job )*as (?:an?|the) {_O}", "occupation", trade, BEGINS)
add(
    "stop; finish",
    r"(?P<o>(?:teaching|nursing|farming|acting|welding|policing)\b)(?! (?:at|for|him|her|me|the)\b)",
    "occupation",
    anything,
    ENDS,
)
add("teach", r"(?P<o>)(?=\s*(?:\Z|[,.;!]))", "occupation", lambda _s, at, _e: [(at, at)], after="over")
add(
    "leave; quit; give; go; resign; retrain; stop; drop",
    rf"[^,;]*? to (?:become|work as|train as) (?:an? )?{_O}",
    "occupation",
    job,
    BEGINS,
)
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
add("be", rf"an? (?:[\w-]+ )?(?:graduate|alumnus|alumna|alum) of {_O}", "graduated_from", school)
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
add(
    "do; pursue; take; finish; complete; work",
    r"(?:on |for )?(?:an?|my|his|her) (?P<o>[a-z][a-z ]{2,25}?) (?:degree|phd|PhD|master['’]?s|diploma|course|MSc"
    r"|BSc|BA|MA)\b",
    "studies",
    listed(FIELDS, most=3),
    after="ing",
)
add("do; study; take", _O, "studies", several(listed(FIELDS, most=3)), after="ing")
add(
    "be",
    r"(?:half-?way|part-?way|midway|most of the way) through (?:an?|my) (?:[\w'’-]+(?: degree)? in )?(?P<o>[a-z][a-z"
    r" ]{2,25}?)"
    r"(?: degree| course| apprenticeship| PhD| master['’]?s)?(?=\s*(?:\Z|[,.;!]|at\b|and\b))",
    "studies",
    field,
)
add(
    "be",
    rf"an? (?:[\w'’-]+ ){{0,2}}?(?:student|candidate|undergrad|undergraduate|postgrad) (?:in|of) {_O}",
    "studies",
    field,
)
add("drop; ditch; quit; abandon", r"(?:out of )?(?P<o>[a-z]\S.*)", "studies", listed(FIELDS, most=3), ENDS)
add(
    "do; pursue; take; work; write",
    rf"(?:on )?(?:an?|my|his|her|the) (?!(?:new )?(?:post|job|role|position|shift|contract)\b)(?:[\w-]+"
    rf" ){{0,6}}?(?:at|with) "
    rf"(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
    after="ing",
)
add(
    "go; attend; be",
    rf"(?:to )?(?:the )?(?P<o>(?:University|College) of \S.*|[{UPPER}][^,;.]{{0,40}}?(?:College|University"
    rf"|School|Academy|High|Institute|Elementary|Primary)\b)",
    "studies_at",
    school,
    after="present",
)
add("attend", rf"(?P<o>[{UPPER}]\S.*)", "studies_at", school)
add("go; be", rf"(?:to|at) (?P<o>[{UPPER}]\S.*)", "studies_at", no_town, after="pupil")
add(
    "be enroll; be enrol; enroll; enrol; be register",
    rf"(?:\w+ )?(?:in [a-z ]{{2,30}} )?(?:at|in) (?P<o>(?:the )?[{UPPER}].*)",
    "studies_at",
    school,
    BEGINS,
)
add(
    "be enroll; be enrol; enroll; enrol",
    r"in (?P<o>(?!the\b|an?\b)[a-z][a-z ]{2,30}?)(?: at|\s*\Z|[,.;])",
    "studies",
    field,
    BEGINS,
)
add(
    "be accept; be admit",
    rf"(?:by|into|to|at) (?:study \w+ at )?(?P<o>(?:the )?[{UPPER}].*)",
    "studies_at",
    school,
    BEGINS,
)
add("be accept; be admit", rf"[^,;]{{2,40}}? to (?:study|read|do) {_O}", "studies", field, BEGINS)
add("start; begin", rf"(?:studying|a degree in|a course in|a PhD in|a master['’]s in) {_O}", "studies", field, BEGINS)
add(
    "be",
    r"(?:an? )(?:[\w-]+[- ]year )?(?P<o>[a-z][a-z ]{2,25}?) (?:student|undergrad|undergraduate|major)\b",
    "studies",
    field,
)
add(
    "be",
    rf"(?:an? )(?:[\w-]+ ){{0,4}}?(?:student(?: [a-z]+)?|undergrad|undergraduate|freshman|sophomore|postgrad"
    rf"|candidate)(?: "
    rf"(?:in|of) [a-z ]{{2,30}}?)? at (?:the )?{_O}",
    "studies_at",
    school,
)
add("be", rf"at (?:the )?(?P<o>[{UPPER}].*?)(?=,? (?:reading|studying|doing)\b)", "studies_at", school)
add("start; begin", rf"(?:at [^,;]{{2,40}}?,? )(?:reading|studying) {_O}", "studies", field, BEGINS)
add("be", rf"(?:at [^,;]{{2,40}}?,? )(?:reading|studying) {_O}", "studies", field)
add(
    "be",
    rf"in (?:my|his|her) (?:\w+ year)(?: of [a-z ]{{2,30}}?)? at (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
)
add("be", rf"in (?:my|his|her) (?:\w+ year) of {_O}", "studies", field)
add(
    "transfer; switch; change",
    rf"(?:schools |colleges )?from (?P<o>[{UPPER}]\S.*?) to (?=[{UPPER}])",
    "studies_at",
    school,
    ENDS,
    after="school",
)
add(
    "transfer; switch; change",
    rf"(?:schools |colleges |from [^,;]*? )*to {_O}",
    "studies_at",
    school,
    BEGINS,
    after="school",
)
add(
    "change; switch",
    r"(?:my |his |her )?(?:major|majors|course|courses|degree|subject|subjects)? ?from (?P<o>[a-z][\w "
    r"]{2,25}?) to ",
    "studies",
    field,
    ENDS,
    after="major",
)
add(
    "change; switch",
    rf"(?:my |his |her )?(?:major|majors|course|courses|degree|subject|subjects) (?:from [a-z][\w ]{{2,25}}? "
    rf")?to {_O}",
    "studies",
    field,
    BEGINS,
)
add("switch; change; go; transfer", r"(?:over )?from (?P<o>[a-z ]{3,25}?) to ", "studies", listed(FIELDS, most=3), ENDS)
add(
    "switch; change; go; transfer",
    rf"(?:over )?(?:from [a-z ]{{3,25}}? )?to {_O}",
    "studies",
    listed(FIELDS, most=3),
    BEGINS,
)
add(
    "take; do; attend",
    rf"(?:an? )?(?:[a-z-]+ ){{0,2}}?(?:class|classes|course|courses|lessons) (?:in|on) {_O}",
    "studies",
    field,
    after="not past",
)
add(
    "drop; flunk; be kick; be expel; be throw",
    rf"(?:out )?(?:of|from) (?:the )?(?P<o>[{UPPER}].*)",
    "studies_at",
    school,
    ENDS,
)
add(
    "give; abandon; quit; drop",
    r"(?:up )?(?:on )?(?:my|the) (?P<o>[A-Za-z ]{3,25}?) (?:degree|course|studies|major)\b",
    "studies",
    field,
    ENDS,
)
add(
    "have; hold",
    rf"(?:an?|my) (?:[\w'’-]+ ){{1,5}}?from (?P<o>(?:the )?[{UPPER}].*)",
    "graduated_from",
    school,
    after="degree",
)
add(
    "graduate",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|in \w+|two|a|and|with|finally|recently)\b))(?!.*\b(?:from"
    r"|at) [A-Z])",
    "studies_at",
    lambda _s, at, _e: [(at, at)],
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
add("graduate", rf"(?:\w+ ){{0,4}}?(?:from|at) {_O}", "graduated_from", school, HAPPENS)
add(
    "finish; qualify",
    rf"(?:my \w+ |school |uni )?(?:at|from) (?P<o>[{UPPER}].*)",
    "graduated_from",
    school,
    HAPPENS,
    after="school",
)
add(
    "get; have; earn; receive; do; be award; complete; finish; hold",
    rf"(?:an?|my|his|her|the) (?:[\w'’-]+ ){{1,5}}?(?:from|by|at) (?P<o>(?:the )?[{UPPER}].*)",
    "graduated_from",
    school,
    HAPPENS,
    after="degree",
)


def _follows_job(sentence: str, at: int) -> bool:
    words = sentence[max(0, at - 40) : at].lower().split()
    return len(words) > 1 and is_job(words[-2])
