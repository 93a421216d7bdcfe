"""The forms of English verbs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memwell.language.patterns import LazyPattern

CONSULTED = LazyPattern(
    r"\bsee(?:n|ing) (?:an?|my|our|the|this) (?:new )?(?:therapist|physio\w*|doctor|dentist|counsell?or|specialist"
    r"|consultant|psych\w+|trainer|osteopath|chiropractor|lawyer|solicitor|client|patient|tutor|coach|nutritionist"
    r"|dieti[ct]ian|midwife|nurse|gp|accountant|advis[eo]r)\b",
    re.IGNORECASE,
).search
"""Who is seen for advice is no partner."""
OF_A_CHILD = LazyPattern(
    r"\b(?:school|nursery|kindergarten|class|homework|teacher|year [1-9]|grade|bedtime|pick up|custody|birth"
    r"|born|teeth|toys"
    r"|swimming lessons|football practice|kids?|son|daughter|(?:is|['’]s|turned|turns|just) 1?\d\b|\d months)\b|\(\d",
    re.IGNORECASE,
).search
"""Words without which *my boy Devin* and *my girl Keisha* may be a friend or a partner."""

_IRREGULAR = """
be was been being; have had had having; do did done doing; go went gone going; come came come coming
get got gotten getting; become became become becoming; begin began begun beginning; leave left left leaving
quit quit quit quitting; buy bought bought buying; sell sold sold selling; teach taught taught teaching
speak spoke spoken speaking; drive drove driven driving; ride rode ridden riding; run ran run running
swim swam swum swimming; sing sang sung singing; give gave given giving; grow grew grown growing
lose lost lost losing; meet met met meeting; see saw seen seeing; split split split splitting
break broke broken breaking; put put put putting; take took taken taking; let let let letting; fly flew flown flying
hit hit hit hitting; bring brought brought bringing; keep kept kept keeping; read read read reading
know knew known knowing; choose chose chosen choosing; throw threw thrown throwing; make made made making
spend spent spent spending; lay laid laid laying; bear bore born bearing; hate hated hated hating; die died died dying
stand stood stood standing; eat ate eaten eating; drink drank drunk drinking; swap swapped swapped swapping
plan planned planned planning; stop stopped stopped stopping; drop dropped dropped dropping
outgrow outgrew outgrown outgrowing; wed wed wed wedding; write wrote written writing; draw drew drawn drawing
wear wore worn wearing; hold held held holding; cut cut cut cutting; hand handed handed handing
shut shut shut shutting; find found found finding; win won won winning; hang hung hung hanging; feel felt felt feeling
hail hailed hailed hailing; knit knitted knitted knitting; jog jogged jogged jogging; can could could canning
sack sacked sacked sacking; fall fell fallen falling; pick picked picked picking; pay paid paid paying
bet bet bet betting; adopt adopted adopted adopting; travel travelled travelled travelling
transfer transferred transferred transferring; cancel cancelled cancelled cancelling; dump dumped dumped dumping
own owned owned owning; call called called calling; co-own co-owned co-owned co-owning
enrol enrolled enrolled enrolling; bake baked baked baking; hike hiked hiked hiking; ski skied skied skiing
tie tied tied tying; commit committed committed committing; refer referred referred referring
prefer preferred preferred preferring; sign signed signed signing; join joined joined joining
expel expelled expelled expelling; scrap scrapped scrapped scrapping; step stepped stepped stepping
sublet sublet sublet subletting; flog flogged flogged flogging; snag snagged snagged snagging; wind wound wound winding
set set set setting; rear reared reared rearing; chuck chucked chucked chucking
"""
PRESENT, THIRD, PAST_FORM, PARTICIPLE, ING = "present", "third", "past", "participle", "ing"


def _regular(verb: str) -> tuple[str, str, str]:
    if verb.endswith("e"):
        return f"{verb}d", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied", f"{verb[:-1]}ied", f"{verb}ing"
    return f"{verb}ed", f"{verb}ed", f"{verb}ing"


def _third(verb: str) -> str:
    if verb in ("have", "be"):
        return {"have": "has", "be": "is"}[verb]
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"


def verb_forms(verbs: Iterable[str]) -> dict[str, dict[str, str]]:
    """The forms of verbs: by form, what it may be (``PRESENT`` …) of which verb."""
    known = {one.split()[0]: tuple(one.split()[1:]) for one in _IRREGULAR.replace("\n", ";").split(";") if one.strip()}
    found: dict[str, dict[str, str]] = {}
    for verb in verbs:
        past, participle, ing = known.get(verb) or _regular(verb)
        pairs = ((verb, PRESENT), (_third(verb), THIRD), (past, PAST_FORM), (participle, PARTICIPLE), (ing, ING))
        for form, what in pairs:
            found.setdefault(form, {}).setdefault(what, verb)
    for form, other in (("traveled", "travelled"), ("traveling", "travelling"), ("canceled", "cancelled")):
        if other in found:
            found[form] = found[other]
    if "get" in found:
        found["got"][PARTICIPLE] = "get"
    return found
