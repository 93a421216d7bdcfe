"""English statements that are no subject with a verb: addresses and numbers, endings, lists, and plans by their nouns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from memwell.language.claims.english_objects import (
    NAME,
    UPPER,
    Place,
    Taker,
    birthday,
    employer,
    job,
    name,
    names,
    proper,
    school,
)
from memwell.language.claims.english_words import KIN, LANGUAGES, NATIONALITIES, PETS, SECRETS
from memwell.language.claims.relations import FAVOURITE, PLAN, STATE, RuleMatch
from memwell.language.patterns import LazyPattern

# Addresses and numbers.

_EMAIL = LazyPattern(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PHONE = LazyPattern(r"(?<![\w@.-])\+?\d[\d ()-]{4,30}\d(?![\w@-])")
_DAY = LazyPattern(r"\d{4}-\d\d-\d\d\Z").match
_PHONE_DIGITS = range(6, 16)  # A card has sixteen.
_OF_PHONES = (
    r"(?:['’]s|my|our|his|her|their|the|this|that|an?|new|old|current|former|right|correct|wrong|real|same|other"
    r"|first|second|best|only|main|own|phone|smartphone|telephone|tel|mobile|cell|cellphone|contact|work"
    r"|office|home|business|private|personal|direct|emergency|landline|whatsapp|us|uk|"
    + "|".join(sorted(NATIONALITIES))
    + ")"
)
_NUMBERED = (
    r"(?:card|account|iban|passport|tax|vat|order|room|invoice|ticket|booking|reservation|licen[cs]e|registration"
    r"|security|ssn|insurance|policy|member(?:ship)?|customer|student|employee|staff|id|serial|tracking|case"
    r"|reference|fax|pin|pass(?:word|code|phrase)|code|cvv|cvc|zip|postcode|flight|contract|meter)"
)
# "my passport number is 123456789", "the number of my passport: …", "call me about order 99887766"
_OTHER_NUMBER = LazyPattern(
    rf"\b(?<!['’])(?!{_OF_PHONES}\b)[\w-]+ (?:number|no\.)[^,;\d]{{0,40}}\Z"
    rf"|\bnumber (?:of|on|for) (?:\w+ ){{0,3}}?{_NUMBERED}\b[^,;]{{0,20}}\Z"
    rf"|\b{_NUMBERED}(?: number| no\.?)?(?: is| was|['’]s)?[\s:#]*\Z",
    re.IGNORECASE,
).search
_IS_OTHER_NUMBER = LazyPattern(
    rf"\W*(?:is|was) (?:my|our|his|her|the) (?:\w+ )?(?:{_NUMBERED}\b|(?!{_OF_PHONES}\b)\w+ number\b)", re.IGNORECASE
).match
# "bob:secret@x.com" is a name with a password.
_GLUED = LazyPattern(
    r"(?<![\s\"'“‘(<\[,;:=])\Z|(?<!mail)(?<!address)(?<!mailto)(?<! is)(?<!\s):\Z", re.IGNORECASE
).search
_PHONE_CUE = LazyPattern(
    r"\b(?:number|phone|cell|mobile|call|text|reach(?:ed)?|whatsapp|ring|tel|line|that['’]s me)\b", re.IGNORECASE
).search
_EMAIL_CUE = LazyPattern(
    r"\b(?:e-?mails?|mail|reach|contact|write|inbox|address|switched|use|hers|his|mine|that['’]s me|drop"
    r"|message|ping|line|should (?:be|read))\b",
    re.IGNORECASE,
).search
_DROPPED = LazyPattern(
    r"(?:don['’]t|do not|no longer|never|stop|old|not|instead of|by mistake|rather than|gave you|wrong|former"
    r"|from(?=\s*\Z))\b[^,;@]{0,25}\Z",
    re.IGNORECASE,
).search
_IS_NOT = LazyPattern(
    r"[ ,]*(?:isn['’]t|is not|was never|is dead|any ?more|any longer|is no longer|was my old)", re.IGNORECASE
).match
_IS_ASKED = LazyPattern(r"\?\s*\Z").search


def email(text: str, start: int, _end: int) -> list[Place]:
    """An address for e-mail."""
    found = _EMAIL.match(text, start)
    return [] if found is None else [found.span()]


def phone(text: str, start: int, _end: int) -> list[Place]:
    """A telephone number."""
    found = _PHONE.match(text, start)
    return [found.span()] if found is not None and _is_phone(found[0]) else []


def _is_phone(words: str) -> bool:
    return sum(map(str.isdigit, words)) in _PHONE_DIGITS and not _DAY(words)


def _is_other(relation: str, found: str, before: str, after: str) -> bool:
    """Whether an address or a number is that of something else than a mailbox or a telephone."""
    if relation == "email":
        return bool(before and _GLUED(before))
    return not _is_phone(found) or bool(_OTHER_NUMBER(before) or _IS_OTHER_NUMBER(after))


def contacts(text: str, owner_of: Callable[[str], Any]) -> Iterator[tuple[RuleMatch, Taker]]:
    """Addresses and numbers of someone, and those that are no longer theirs."""
    if "@" not in text and not any(character.isdigit() for character in text):
        return
    for relation, pattern, cue, take in (("email", _EMAIL, _EMAIL_CUE, email), ("phone", _PHONE, _PHONE_CUE, phone)):
        owner = None
        for found in pattern.finditer(text[:2_000]):
            before = text[max(0, found.start() - 80) : found.start()]
            after = text[found.end() : found.end() + 60]
            if not cue(before + " " + after) or _IS_ASKED(text) or _is_other(relation, found[0], before, after):
                continue
            last = found.end()
            while text[last - 1] in ".-_ (":
                last -= 1
            gone = bool(_DROPPED(before) or _IS_NOT(after))
            if owner is None or not gone:
                owner = owner_of(text[: found.start()])
            kin = "" if owner.name else owner.kin
            match = RuleMatch(
                relation, found.start(), last, 0, len(text), owner.name, kin, negated=gone, confidence=0.85
            )
            yield match, take


# Plans.

_FUTURE = LazyPattern(
    r"\b(?:tomorrow|tonight|next (?!to\b)\w+|this (?:weekend|week|month|summer|winter|spring|autumn|fall"
    r"|friday|saturday|sunday|monday|tuesday|wednesday|thursday|evening|afternoon|coming)|"
    r"(?:on|until) (?:the \d|\d|mon|tue|wed|thu|fri|sat|sun|january|february|march|april|may|june|july|august"
    r"|september|october|november|december)|"
    r"in (?:january|february|march|april|may|june|july|august|september|october|november|december|spring"
    r"|summer|autumn|winter|the (?:spring|summer|autumn|fall|new year)|(?:a|two|three|four|five|\d+) (?:days?"
    r"|weeks?|months?|years?)|20\d\d)|soon|at the end of|later this|for (?:the \d|christmas|easter))",
    re.IGNORECASE,
).search
_MOVING = frozenset("fly move adopt join start retire marry relocate".split())
_NO_PLANS = frozenset(
    "be feel think hope want need try wonder look seem work do say tell know like help wait sit talk ask stop "
    "forget remember use live stay call let send miss give check kill die".split()
)
_LEADS = frozenset("plan intend decide aim".split())
_PLAN_END = LazyPattern(
    r"[,;.!?…()]|\s(?:because|but|so|once|if|when|then|unless|since|though|and (?:I|we|my|then|he|she|it))\b"
    r"|\s[-–—]\s"
).search
_BEGINS_DOING = LazyPattern(r" [a-z]+ing\b").match
_LEAD = LazyPattern(
    r"\s*(?:on |to |for )?(?P<o>(?!ahead|something|everything|on\b|for\b|that\b|it\b|not\b)\S.*)", re.DOTALL
).match
_AND_VERB = LazyPattern(r" and (?=[a-z]+ (?:an?|the|my|to|for|in|at|with)\b)").search
_BOOKED = LazyPattern(
    r"\s*(?:us |in |myself )*(?P<o>(?:an?|the|our|my|two|three|tickets|flights|some) \S.*)", re.DOTALL
).match
_LONGEST_PLAN = 14


def plan_place(text: str, start: int, end: int, said: Any) -> list[Place]:
    """The places of what a clause says is planned."""
    if said.negated or said.used_to or said.can:
        return []
    at: int = said.start
    if said.verb in ("book", "reserve", "schedule", "be book") and said.tense in ("past", "perfect", "present"):
        found = _BOOKED(text, said.at, end)
        return cut(text, found.start("o"), end) if found and said.tense != "present" else []
    if said.verb in ("cancel", "call", "postpone") and said.tense in ("past", "perfect"):
        found = LazyPattern(r"\s*(?:off )?(?:the|our|my) (?P<o>\S.*)", re.DOTALL).match(text, said.at, end)
        return (
            cut(text, found.start("o"), end)
            if found and (said.verb == "cancel" or text.startswith(" off", said.at))
            else []
        )
    if said.verb in _LEADS and (said.verb != "decide" or said.tense in ("past", "perfect")):
        found = _LEAD(text, said.at, end)
        if found is None or (said.verb != "plan" and not text.startswith((" to ", " on "), said.at)):
            return []
        return cut(text, found.start("o"), end)
    if said.tense == "future":
        if said.verb in _NO_PLANS or (
            said.will and said.verb not in _MOVING and not (said.form == "ing" or _FUTURE(text, start, end))
        ):
            return []
        return [] if said.verb in ("be", "have", "get") and not _FUTURE(text, start, end) else cut(text, at, end)
    if said.verb == "sign" and said.tense in ("past", "perfect"):
        found = LazyPattern(r"\s*up (?:for|to) (?P<o>\S.*)", re.DOTALL).match(text, said.at, end)
        return cut(text, found.start("o"), end) if found else []
    if said.verb == "be" and said.tense == "present" and text.startswith("off to ", said.at):
        return cut(text, said.at, end)
    soon = _FUTURE(text, max(0, start - 25), end)
    if said.tense == "ing" and said.verb not in _NO_PLANS and (soon or said.verb in _MOVING):
        return cut(text, at, end)
    if (
        said.tense == "present"
        and soon
        and not _BEGINS_DOING(text, said.at)
        and said.verb in ("start", "begin", "fly", "move", "leave", "retire", "join")
    ):
        return cut(text, at, end)
    return []


_AFTER_ALL = LazyPattern(r",? (?:after all|any ?more|any longer)\b").search


def dropped_plan(text: str, end: int, said: Any) -> list[Place]:
    """The place of what a clause says will not be done after all."""
    over = _AFTER_ALL(text, said.start, end)
    decided = said.verb in _LEADS and not said.negated and text.startswith(" not to ", said.at)
    if decided and said.tense in ("past", "perfect", "present"):
        return cut(text, said.at + len(" not to "), end if over is None else over.start())
    if over is None or not said.negated or said.tense not in ("ing", "future") or said.verb in _NO_PLANS:
        return []
    return cut(text, said.start, over.start())


def cut(text: str, at: int, end: int) -> list[Place]:
    """What is planned, to the end of its phrase; two plans where a second verb follows."""
    while text[at : at + 1] == " ":
        at += 1
    found = _PLAN_END(text, at, end)
    last = end if found is None else found.start()
    while text[at:last].endswith((" ", ",", " and", " then")):
        last = at + len(text[at:last].rstrip(" ,").removesuffix(" and").removesuffix(" then"))
    words = text[at:last].split()
    if not words or len(words) > _LONGEST_PLAN or text[at:last].endswith("something"):
        return []
    joint = _AND_VERB(text, at, last)
    if joint is not None:
        return [(at, joint.start()), (joint.end(), last)]
    return [(at, last)]


# Sayings: a word that must be there, a pattern, the relation, and how the object is cut out.

_KINDS = "|".join(sorted(KIN, key=len, reverse=True))
_ANIMALS = "|".join(sorted(PETS, key=len, reverse=True))
_OUT = r"(?P<o>\S.*)"


def _empty(_text: str, start: int, _end: int) -> list[Place]:
    return [(start, start)]


def _with_verb(text: str, start: int, end: int) -> list[Place]:
    return [(text.rstrip(" ").rfind(" ", 0, start - 1) + 1, end)]


def _any(_text: str, start: int, end: int) -> list[Place]:
    return [(start, end)]


_TONGUES = "|".join(sorted(one.title() for one in LANGUAGES))
_SAYINGS: list[tuple[str, LazyPattern, str, Taker, bool]] = [
    (hint, LazyPattern(pattern, re.DOTALL), relation, take, ended)
    for hint, pattern, relation, take, ended in (
        ("divorce", rf"\b(?:[Mm]y|[Oo]ur) divorce from (?P<o>[{UPPER}]\S.*)", "married_to", name, True),
        ("between me and", rf"\bover between me and (?P<o>[{UPPER}]\S.*)", "partner", name, True),
        ("engagement", r"\bengagement(?:['’]s| is) off\b.*?(?P<o>)(?=\Z|[.,])", "partner", _empty, True),
        ("last day at", rf"\b(?:[Mm]y|[Hh]is|[Hh]er) last day (?:at|with) {_OUT}", "works_at", employer, True),
        ("notice", rf"\b(?:handed in|gave) my notice (?:at|to) {_OUT}", "works_at", employer, True),
        (
            "call me",
            rf"\b(?:[Jj]ust |[Pp]lease |you can |[Pp]eople |[Ff]riends |[Ee]verybody |[Ee]veryone |they (?:all "
            rf")?)?calls? me (?P<o>[{UPPER}]\S*)(?=\s*(?:\Z|[,.!;]|and\b|instead\b|now\b|for\b|all\b))"
            r"(?!.*\bmy (?:real |actual |full |first )?name(?: is|['’]s)\b)",
            "name",
            name,
            False,
        ),
        (
            "calls me",
            rf"\b(?:[Ee]verybody|[Ee]veryone|[Pp]eople|[Ff]riends) (?:just )?calls? me (?P<o>[{UPPER}]\S*)",
            "name",
            name,
            False,
        ),
        (" here", rf"\A(?:[\w ,!]{{0,30}}[,!] )?(?P<o>{NAME}) here\b(?=[,.! ]|\Z)", "name", name, False),
        ("use ", rf"\bplease use (?P<o>[{UPPER}][a-z]+)\s*(?:\Z|[.!])", "name", name, False),
        (
            "tongue",
            rf"\b[Mm]y (?:mother tongue|native (?:language|tongue)|first language) is (?P<o>[{UPPER}]\w+)",
            "speaks",
            _any,
            False,
        ),
        (
            "alum",
            rf"\b(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*){{0,3}}) (?:alum|alumnus|alumna|grad|graduate)\b",
            "graduated_from",
            school,
            False,
        ),
        ("year of", rf"\A\W*(?:\w+) year of (?P<o>[a-z ]{{3,30}}?) at (?=[{UPPER}])", "studies", _any, False),
        ("year of", rf"\A\W*(?:\w+) year of [a-z ]{{3,30}}? at {_OUT}", "studies_at", school, False),
        ("passports", rf"\btwo passports,? (?P<o>[{UPPER}]\w+) and ", "nationality", _any, False),
        ("passports", rf"\btwo passports,? [{UPPER}]\w+ and (?P<o>[{UPPER}]\w+)", "nationality", _any, False),
        (
            "fter ",
            rf"\b[Aa]fter (?:[\w-]+ ){{1,3}}years in (?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?),? (?=I\b|I['’]|we\b)",
            "lives_in",
            proper,
            True,
        ),
        ("fter ", rf"\b[Aa]fter (?:[\w-]+ ){{1,3}}years as an? {_OUT}", "occupation", job, True),
        (
            "it's ",
            rf"\A(?:[Nn]o,? |[Ss]orry,? |[Aa]ctually,? )*[Ii]t['’]s (?P<o>[{UPPER}][a-z]+),? not "
            rf"(?=[{UPPER}][a-z]+\s*(?:\Z|[,.!]))",
            "name",
            name,
            False,
        ),
        (
            "it's ",
            rf"\A(?:[Nn]o,? |[Ss]orry,? |[Aa]ctually,? )*[Ii]t['’]s [{UPPER}][a-z]+,? not "
            rf"(?P<o>[{UPPER}][a-z]+)(?=\s*(?:\Z|[,.!]))",
            "name",
            name,
            True,
        ),
        (
            "my name",
            rf"\b[Ii]t['’]s (?P<o>[{UPPER}][a-z]+)\b[^.]{{0,20}}, (?:that['’]s how I spell )?my name",
            "name",
            name,
            False,
        ),
        (
            "allergy to",
            r"\b[Mm]y allergy to (?P<o>[a-z]+(?: [a-z]+)?) (?:is|has) (?:gone|cleared)",
            "allergic_to",
            _any,
            True,
        ),
        (
            " is off",
            r"\A\W*(?:[Tt]he|[Oo]ur|[Mm]y) (?P<o>[^,;.]{3,40}?) is (?:off|cancelled|canceled)(?=\s*(?:\Z|[,.;!]))",
            "plans",
            _any,
            True,
        ),
        ("know me as", rf"\b(?:know|knows) me as (?P<o>[{UPPER}]\S*)", "name", name, False),
        ("name's", rf"\A(?:[\w ]{{0,12}}[,!] )?(?:[Tt]he )?[Nn]ame['’]s (?P<o>[{UPPER}]\S*)", "name", name, False),
        ("speaking", rf"\A(?:[\w ]{{0,12}}[,!] )?[Tt]his is (?P<o>[{UPPER}]\S*) speaking", "name", name, False),
        ("my birthday on", rf"\bmy birthday on {_OUT}", "birthday", birthday, False),
        ("employer", rf"\b[Mm]y (?:new |current )?employer is {_OUT}", "works_at", employer, False),
        ("contract", rf"\b[Mm]y contract (?:with|at) {_OUT}", "works_at", employer, True),
        ("degree is from", rf"\b[Mm]y degree is from {_OUT}", "graduated_from", school, False),
        (
            "home",
            rf"(?:\A|[.,;] |\b[Mm]y )[Hh]ome(?: is|['’]s) (?:now |in |currently )*(?P<o>[{UPPER}]\S.*)",
            "lives_in",
            proper,
            False,
        ),
        ("my flat", rf"\b[Mm]y flat is in (?P<o>[{UPPER}]\S.*)", "lives_in", proper, False),
        ("my house", rf"\b[Mm]y house is in (?P<o>[{UPPER}]\S.*)", "lives_in", proper, False),
        (
            " eat ",
            r"\b(?:I|[Ww]e) (?P<o>(?:don['’]?t|do not|never) eat (?:any )?(?:red meat|meat|pork|beef|fish|dairy|eggs"
            r"|sugar|gluten|carbs|animal products|seafood|wheat))\b(?! any)",
            "diet",
            _any,
            False,
        ),
        (
            "hobby",
            r"\A\W*(?P<o>[\w' -]{3,30}?) (?:is|are|has become) my (?:new |favou?rite |main |biggest )?(?:hobby|passion"
            r"|pastime)\b",
            "hobby",
            _any,
            False,
        ),
        (
            "me ",
            r"\A\W*(?P<o>[\w -]{3,30}?) (?:gives?|brings?) me (?:out in )?(?:hives|a rash|an allergic reaction)",
            "allergic_to",
            _any,
            False,
        ),
        (
            "hives",
            r"\bI (?:break|come) out in (?:hives|a rash) (?:if|when|whenever) I (?:eat|touch|have) (?P<o>[a-z]+)",
            "allergic_to",
            _any,
            False,
        ),
        (
            "lost my",
            rf"\b(?:[Ww]e|I) (?:just |sadly )?lost (?:my|our) (?:[a-z]+ )?(?:{_ANIMALS}),? (?P<o>[{UPPER}]\S*)",
            "pet",
            name,
            True,
        ),
        (
            " ",
            r"\b(?:I have|I['’]ve got|[Gg]ot|we have|we['’]ve got) (?:an? |my )(?P<o>(?:[\w-]+ ){0,2}(?:interview|exam"
            r"|appointment|flight|surgery|operation|test|checkup|check-up|recital|gig) (?:on|tomorrow|next|this"
            r"|at)\b[^,;.!?]{2,30})",
            "plans",
            _any,
            False,
        ),
        (
            "my ",
            rf"\b[Mm]y (?P<o>{_TONGUES}) is (?:pretty |quite |very |really )?(?:good|fluent|decent|rusty|okay|ok"
            rf"|basic)",
            "speaks",
            _any,
            False,
        ),
        (
            "living",
            r"\bI (?P<o>(?!do\b|make\b|work\b|earn\b)[a-z]+ [a-z ]{2,30}?) for a living",
            "occupation",
            _any,
            False,
        ),
        ("named h", rf"\b(?:named|called|call) (?:him|her|it) (?P<o>[{UPPER}]\S*)", "pet?", name, False),
        (
            "name of ",
            rf"\bname of (?:my|our) (?:[a-z-]+ )?(?P<kind>{_ANIMALS}) is (?P<o>[{UPPER}]\S*)",
            "pet",
            name,
            False,
        ),
        (
            "teach",
            r"\bI teach (?P<o>[a-z]+(?: [a-z]+)?)(?=\s*(?:\Z|[,.;]|at\b|in\b))",
            "occupation",
            _with_verb,
            False,
        ),
        (
            "lost my",
            rf"\b(?:[Ww]e|I) (?:just )?lost (?:my|our) (?:[a-z]+ )?(?:mum|mom|dad|mother|father),? (?P<o>[{UPPER}]\S*)",
            "parent",
            name,
            True,
        ),
        (
            "my thing",
            r"\A\W*(?P<o>[\w' -]{3,40}?) (?:really |just |definitely |honestly )*(?:isn['’]t|is not|aren['’]t|are not"
            r"|['’]s not) (?:really |exactly )*my thing\b",
            "dislikes",
            _any,
            False,
        ),
        (
            "cup of tea",
            r"\A\W*(?P<o>[\w' -]{3,40}?) (?:really |just |definitely )*(?:isn['’]t|is not|aren['’]t|are not|['’]s "
            r"not) "
            r"(?:really |exactly )*(?:my cup of tea|for me)\b",
            "dislikes",
            _any,
            False,
        ),
        ("neither", r"\b[Ii] have neither (?P<o>)brothers? nor sisters?", "sibling", _empty, True),
        ("any ", r"\b(?:[Ii]|[Ww]e) (?:don['’]?t|do not) have any (?P<o>)(?:kids|children)\b", "child", _empty, True),
        ("any ", r"\b(?:[Ii]|[Ww]e) (?:don['’]?t|do not) have any (?P<o>)(?:pets|animals)\b", "pet", _empty, True),
        (
            "any ",
            r"\b(?:[Ii]|[Ww]e) (?:don['’]?t|do not) have any (?P<o>)(?:siblings|brothers|sisters)\b",
            "sibling",
            _empty,
            True,
        ),
        ("no ", r"(?:\A|, |\band |[Ii] have |[Ww]e have )[Nn]o (?P<o>)(?:kids|children)\b", "child", _empty, True),
        ("no ", r"(?:\A|, |\band |[Ii] have |[Ww]e have )[Nn]o (?P<o>)pets\b", "pet", _empty, True),
        ("no ", r"(?:\A|, |\band |[Ii] have )[Nn]o (?P<o>)(?:siblings|brothers or sisters)\b", "sibling", _empty, True),
        (
            " have a",
            r"\b(?:[Ii]|[Ww]e) (?:don['’]?t|do not) have an? (?P<o>)(?:brother|sister|sibling)\b",
            "sibling",
            _empty,
            True,
        ),
        (
            "kids",
            r"\b(?:[Ii]|[Ww]e) (?:haven['’]?t got|don['’]?t have|do not have) (?P<o>)kids\b",
            "child",
            _empty,
            True,
        ),
        (
            "children",
            r"\b(?:[Ii]|[Ww]e) (?:haven['’]?t got|don['’]?t have|do not have) (?P<o>)children\b",
            "child",
            _empty,
            True,
        ),
        (
            " have a",
            r"\b[Ii] (?:don['’]?t|do not) have a (?P<o>)(?:partner|boyfriend|girlfriend)\b",
            "partner",
            _empty,
            True,
        ),
        (
            "it isn",
            rf"\A\W*(?:[Nn]o,? )?[Ii]t isn['’]t (?P<o>[{UPPER}][a-z]+), it['’]s [{UPPER}][a-z]+\s*(?:\Z|[.!])",
            "name",
            name,
            True,
        ),
        (
            "it isn",
            rf"\A\W*(?:[Nn]o,? )?[Ii]t isn['’]t [{UPPER}][a-z]+, it['’]s (?P<o>[{UPPER}][a-z]+)\s*(?:\Z|[.!])",
            "name",
            name,
            False,
        ),
        ("is my name", rf"\A\W*(?P<o>{NAME}) is my name\b", "name", name, False),
        (
            "married to",
            rf"\bI(?:['’]m| am|['’]ll| will)?(?: \w+)? (?:getting|get) married to (?P<o>[{UPPER}]\S*)",
            "partner",
            name,
            False,
        ),
        ("marrying", rf"\b(?:I['’]m|I am) marrying (?P<o>[{UPPER}]\S*)", "partner", name, False),
        (
            "our ",
            rf"\b(?:[Rr]ehomed|gave away|said goodbye to|buried) our (?:[a-z]+ )?(?:{_ANIMALS}),? (?P<o>[{UPPER}]\S*)",
            "pet",
            name,
            True,
        ),
        (
            "my ",
            rf"\b(?:[Rr]ehomed|gave away|said goodbye to|buried) my (?:[a-z]+ )?(?:{_ANIMALS}),? (?P<o>[{UPPER}]\S*)",
            "pet",
            name,
            True,
        ),
        (
            "course is",
            r"\b[Mm]y (?:course|major|degree) is (?:in )?(?P<o>[a-z]+(?: [a-z]+)?)(?=\s*(?:\Z|[,.;]))",
            "studies",
            _any,
            False,
        ),
        ("allergy here", r"\b(?P<o>[a-z]+) allergy here\b", "allergic_to", _any, False),
        (
            "red me",
            rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?) (?:has |have |just )*(?:hired|recruited) me\b",
            "works_at",
            proper,
            False,
        ),
        (
            " me",
            rf"(?P<o>[{UPPER}]\S*(?: [{UPPER}]\S*)?) (?:has |have |just )*(?:fired me|sacked me|let me go|laid me "
            rf"off)\b",
            "works_at",
            proper,
            True,
        ),
        (
            " me",
            rf"(?P<o>{NAME}) (?:has |just |finally |sadly )*(?:dumped|left|ditched|broke up with|split up with) me"
            rf"(?=\s*(?:\Z|[,.!;]|(?:for (?!dead)|last|yesterday|today|this|in|on|after|and|because)\b))",
            "partner",
            name,
            True,
        ),
        (" divorced me", rf"(?P<o>{NAME}) (?:has |just |finally )*divorced me\b", "married_to", name, True),
        (
            " me",
            r"\b[Mm]y (?:husband|wife) (?:has |just )*(?P<o>)(?:divorced|left|dumped) me\b",
            "married_to",
            _empty,
            True,
        ),
        (
            " me",
            r"\b[Mm]y (?:girl|boy)friend (?:has |just )*(?P<o>)(?:broke up with|left|dumped|ditched) me\b",
            "partner",
            _empty,
            True,
        ),
        (
            " again",
            r"\bI(?: am|['’]m|['’]ve| have)? (?:now |just )*(?:(?:started|begun|began|back to|went back to) )*(?P<o>)"
            r"(?:eat|eating) (?:meat|fish|dairy|eggs|gluten|animal products) again\b",
            "diet",
            _empty,
            True,
        ),
        (" me from", rf"\b(?:fired|sacked|dismissed) me from {_OUT}", "works_at", employer, True),
        ("alma mater", rf"\b[Mm]y alma mater is {_OUT}", "graduated_from", school, False),
        (
            "y ",
            r"\b(?:[Mm]y|[Oo]ur) (?P<o>(?:wedding|flight|trip|surgery|interview|exam|holiday|operation|appointment"
            r"|driving test)[^,;.!?]{0,30}?) is (?:on|in|next|tomorrow|this)\b",
            "plans",
            _any,
            False,
        ),
        (
            "looking forward",
            r"\b[Ll]ooking forward to (?:my|our|the) (?P<o>(?:trip|holiday|wedding|visit|flight)[^,;.!?]{0,40})",
            "plans",
            _any,
            False,
        ),
        (
            "an of ",
            r"\A\W*(?:[Hh]uge |[Bb]ig |[Mm]assive )fan of (?P<o>[^,;.!?]{2,30})\s*(?:\Z|[,.!;])",
            "likes",
            _any,
            False,
        ),
        ("only child", r"\bI['’]?a?m an (?P<o>)only child\b", "sibling", _empty, True),
        (
            "tickets",
            r"\b(?:got|bought|have|booked|scored|snagged) (?:us )?(?:\w+ )?tickets (?:for|to) (?:the "
            r")?(?P<o>[^,;.!?]{3,60})",
            "plans",
            _any,
            False,
        ),
        (
            "appointment",
            r"\b(?:I have|I['’]ve got|got) (?:an? )(?P<o>[^,;.!?]{0,20}appointment[^,;.!?]{3,40})",
            "plans",
            _any,
            False,
        ),
        (
            " on ",
            r"\A\W*(?P<o>(?:[Dd]entist|[Dd]octor|[Ii]nterview|[Ee]xam|[Ss]urgery|[Ff]light|[Dd]riving test"
            r"|[Cc]heck-?up|[Hh]aircut|[Vv]et|[Gg][Pp]) (?:appointment )?(?:on|to) [A-Z][^,;.!?]{2,30})",
            "plans",
            _any,
            False,
        ),
        ("sarcasm", r"\bI speak two languages: (?P<o>[A-Z]\w+) and sarcasm", "speaks", _any, False),
        ("wish i spoke", rf"\bI wish I spoke (?P<o>[{UPPER}]\w+)", "speaks", _any, True),
        ("got married", r"(?P<o>)\b(?:I|we) (?:just |finally )?got married(?! to)", "wed:married_to", _empty, False),
        ("seeing someone", r"(?P<o>)\bI['’]?a?m seeing someone", "wed:partner", _empty, False),
    )
]
_FAVOURITE = LazyPattern(
    r"(?P<o>[\w' -]{2,40}?)(?: is|['’]s| are| has to be) my (?:all-time |absolute )?favou?rite "
    r"(?P<what>[a-z]+)\b"
).search
_FREE_TIME = LazyPattern(
    r"\b(?i:in my (?:free|spare) time|hobbies(?: are| include)?)(?::|,)? (?P<o>[a-z][^.;!?]{3,120})"
).search
_HAS_KIN = LazyPattern(
    rf"\b(?P<who>I|[Ww]e|(?P<one>{NAME}) and (?P<two>{NAME}))(?: have|['’]ve got|['’]ve) (?:an? |one |two "
    rf"|three |four |five |another )(?:[a-z-]+ )?(?P<kin>{_KINDS})(?:,? (?:named|called) |, |: | - )(?={NAME})"
).finditer
_AND_KIN = LazyPattern(
    rf"(?:,? and|,) (?:an? |one )(?:[a-z-]+ )?(?P<kin>{_KINDS})(?:,? (?:named|called) |, )(?={NAME})"
).finditer
_NEWLY = LazyPattern(rf"\b(?:our|my) (?:little|baby|newborn) (?P<o>{NAME}) was born\b").search
_GIVEN_UP = LazyPattern(
    rf"\b(?:give|gave|given|put|have) (?:our|my) (?:[a-z]+ )?(?P<animal>{_ANIMALS})(?: (?P<named>{NAME}))? "
    rf"(?:away|up|down|put down|to sleep)\b|\b(?:I|[Ww]e)(?: had to)? (?:give|gave) (?P<given>{NAME}) away\b"
    # Who it is cannot be known; of one who was no pet, it ends nothing.
    rf"|\A\W*(?P<dead>[{UPPER}][a-zà-ÿ]+) (?:has |sadly |just )*(?:died|passed away|ran away|(?:was|had to be) put down)\b"
).search


def sayings(text: str, doubt: int) -> Iterator[RuleMatch]:
    """What set phrases of a sentence state before ``doubt``."""
    lower = text.lower()
    for hint, pattern, relation, take, ended in _SAYINGS:
        found = pattern.search(text) if hint in lower else None
        if found is None or (found.start() > doubt and hint not in ("wish i spoke", "hives")):
            continue
        if relation == "occupation" and not ended and "I'm a" in text:
            continue
        for first, last in take(text, *found.span("o")):
            if "kind" in pattern.groups:
                yield RuleMatch("kind", *found.span("kind"), *found.span(), text[first:last], confidence=0.85)
            kind = PLAN if relation == "plans" else STATE
            yield RuleMatch(relation, first, last, *found.span(), kind=kind, negated=ended, confidence=0.75)
    yield from _lists(text, doubt)
    if "favourite" in lower or "favorite" in lower:
        favourite = _FAVOURITE(text, 0, doubt)
        if (
            favourite is not None
            and favourite["what"].lower() not in SECRETS
            and "favo" not in favourite["o"]
            and "my " not in favourite["o"]
        ):
            yield RuleMatch(FAVOURITE + favourite["what"], *favourite.span("o"), *favourite.span())
    newly = _NEWLY(text, 0, doubt)
    if newly is not None:
        yield RuleMatch("child", *newly.span("o"), *newly.span(), confidence=0.8)
    gone = _GIVEN_UP(text, 0, doubt)
    if gone is not None:
        which = next(one for one in ("named", "given", "dead", "animal") if gone[one])
        if which == "animal" or (name(text, *gone.span(which)) and gone[which].lower() not in KIN):
            yield RuleMatch("pet", *gone.span(which), *gone.span(), negated=True, confidence=0.8)


def _lists(text: str, doubt: int) -> Iterator[RuleMatch]:
    """Hobbies after "in my free time", and relatives after "I have two sisters"."""
    free = _FREE_TIME(text, 0, doubt)
    if free is not None:
        at = free.start("o")
        for one in re.split(r"(,\s*(?:and\s)?|\sand\s)", free["o"]):
            if (
                len(one.split()) <= 4
                and one.strip(" ,") not in ("", "and", "i", "i like", "i love")
                and not one.startswith(("I ", "i "))
            ):
                yield RuleMatch("hobby", at, at + len(one.rstrip()), *free.span(), confidence=0.7)
            at += len(one)
    for has in _HAS_KIN(text, 0, doubt):
        for more in _AND_KIN(text, has.end(), doubt):
            for place in names(text, more.end(), len(text))[:1]:
                if KIN[more["kin"]] and not has["one"]:
                    yield RuleMatch(KIN[more["kin"]], *place, has.start(), place[1], confidence=0.85)
        for place in names(text, has.end(), len(text)):
            for owner in (has["one"], has["two"]) if has["one"] else ("",):
                if KIN[has["kin"]]:
                    yield RuleMatch(KIN[has["kin"]], *place, has.start(), place[1], owner or "", confidence=0.85)
