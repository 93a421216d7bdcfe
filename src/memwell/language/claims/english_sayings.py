"""English statements that are no subject with a verb: addresses and numbers, endings, lists, and plans by their nouns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from memwell.language.claims.english_objects import (
    CITIES,
    KIN,
    NAME,
    NATIONALITIES,
    PETS,
    SAME_KIN,
    SECRETS,
    THINGS,
    UPPER,
    Place,
    Taker,
    name,
    names,
)
from memwell.language.claims.relations import FAVOURITE, PLAN, RuleMatch
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
    r"|reference|fax|pin|pass(?:word|code|phrase)|code|cvv|cvc|zip|postcode|flight|meter)"
)
# "my passport number is 123456789", "the number of my passport: …", "call me about order 99887766"
_OTHER_NUMBER = LazyPattern(
    rf"\b(?<!['’])(?!{_OF_PHONES}\b)[\w-]+ (?:number|no\.)[^,;\d]{{0,40}}\Z"
    rf"|\bnumber (?:of|on|for) (?:\w+ ){{0,3}}?(?:{_NUMBERED}|contract)\b[^,;]{{0,20}}\Z"
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
    r"\b(?:number|phone|sim|cell|mobile|call|text|reach(?:ed)?|whatsapp|ring|tel|line|landline|that['’]s me)\b",
    re.IGNORECASE,
).search
_EMAIL_CUE = LazyPattern(
    r"\b(?:e-?mails?|mail|reach|contact|write|inbox|address|switched|use|hers|his|mine|that['’]s me|drop"
    r"|message|ping|line|should (?:be|read))\b",
    re.IGNORECASE,
).search
_DROPPED = LazyPattern(
    r"(?:don['’]t|do not|no longer|never|stop|old|not|forget|delete|instead of|by mistake|rather than|gave you|wrong"
    r"|former"
    r"|from(?=\s*\Z))\b[^,;:@\d]{0,25}\Z",
    re.IGNORECASE,
).search
_IS_NOT = LazyPattern(
    r"[ ,]*(?:(?:no longer|doesn['’]t|does not) works?|stopped working|bounces|is gone|isn['’]t|is not|was never"
    r"|is dead|any ?more|any longer|is no longer|was my old)",
    re.IGNORECASE,
).match
_OF_ANOTHER = LazyPattern(
    r"\b(?:[Cc]all|[Rr]ing|[Tt]ext|[Pp]hone|[Cc]ontact|[Ee]mail)\s+(?:the\s+\w+|(?!I\b|Me\b)[A-Z]\w+)\b[^,;.]{0,30}\Z"
    r"|\b(?:[Tt]he|a|an|this|that)\s+(?:\w+\s){0,2}?\w+['’]s?\s[^,;.]{0,30}\Z"
).search
"""What makes an address or a number that of someone who is no relative: *the plumber's number*, *call Dave on*."""
_IT = LazyPattern(r"\W*(?:no,? |sorry,? )?(?:it|that)\b", re.IGNORECASE).match
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
        return found.lower().startswith(("noreply@", "no-reply@")) or bool(before and _GLUED(before))
    return not _is_phone(found) or bool(_OTHER_NUMBER(before) or _IS_OTHER_NUMBER(after))


def contacts(text: str, before_it: str, owner_of: Callable[[str], Any]) -> Iterator[tuple[RuleMatch, Taker]]:
    """Addresses and numbers of someone, and those that are no longer theirs; "it is" may be of the sentence before."""
    if "@" not in text and not any(character.isdigit() for character in text):
        return
    for relation, pattern, cue, take in (("email", _EMAIL, _EMAIL_CUE, email), ("phone", _PHONE, _PHONE_CUE, phone)):
        owner = None
        for found in pattern.finditer(text[:2_000]):
            before = text[max(0, found.start() - 80) : found.start()]
            after = text[found.end() : found.end() + 60]
            said = before_it if _IT(text) else ""
            if not cue(f"{before} {after} {said}") or _IS_ASKED(text) or _is_other(relation, found[0], before, after):
                continue
            last = found.end()
            while text[last - 1] in ".-_ (":
                last -= 1
            gone = bool(_DROPPED(before) or _IS_NOT(after))
            if owner is None or not gone:
                owner = owner_of(text[: found.start()])
            kin = "" if owner.name else owner.kin
            if not (owner.name or kin) and _OF_ANOTHER(before):
                continue
            match = RuleMatch(
                relation, found.start(), last, 0, len(text), owner.name, kin, negated=gone, confidence=0.85
            )
            yield match, take


# Plans.

_FUTURE = LazyPattern(
    r"\b(?:tomorrow|tonight|next (?!to\b)\w+|this (?:weekend|week|month|summer|winter|spring|autumn|fall"
    r"|friday|saturday|sunday|monday|tuesday|wednesday|thursday|evening|afternoon|coming)|"
    r"(?:on|until|from) (?:the \d|\d|mon|tue|wed|thu|fri|sat|sun|january|february|march|april|may|june|july|august"
    r"|september|october|november|december)|"
    r"in (?:january|february|march|april|may|june|july|august|september|october|november|december|spring"
    r"|summer|autumn|winter|the (?:spring|summer|autumn|fall|new year)|(?:a|two|three|four|five|\d+) (?:days?"
    r"|weeks?|months?|years?)|20\d\d)|soon|at the end of|later this|for (?:the \d|christmas|easter))",
    re.IGNORECASE,
).search
_MOVING = frozenset("fly move adopt join start retire marry relocate".split())
_NO_PLANS = frozenset(
    "be feel think hope want need try wonder look seem work do say tell know like help wait sit talk ask stop "
    "forget remember use live stay call let send miss give check kill die speak talk drink eat smoke".split()
)
_LEADS = frozenset("plan intend decide aim".split())
_PLAN_END = LazyPattern(
    r"[,;.!?…()]|\s(?:because|but|so|once|if|when|then|unless|since|though|and (?:I|we|my|then|he|she|it))\b"
    r"|\s[-–—]\s"
).search
_CANCELLED = LazyPattern(
    r"\s*(?:off )?(?:the|our|my) (?P<o>(?!.*\b(?:membership|subscription|order|card|account|contract|insurance|policy"
    r"|engagement)\b)\S.*)",
    re.DOTALL,
).match
_OFF = LazyPattern(r" off(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|because|after|in|and)\b))").search
_HAVE_TO = LazyPattern(r" (?:got )?to (?:be (?=in |at )|(?=(?:go|see|take|pick|attend|meet|fly|travel|visit) ))").match
_LEAD = LazyPattern(
    r"\s*(?:on |to |for )?(?P<o>(?!ahead|something|everything|on\b|for\b|that\b|it\b|not\b)\S.*)", re.DOTALL
).match
_BOOKED = LazyPattern(
    r"\s*(?:us |in |myself )*(?P<o>(?:an?|the|our|my|two|three|tickets|flights|some) \S.*)", re.DOTALL
).match
_LONGEST_PLAN = 14


_PLANNED = LazyPattern(r"\s*(?:(?:to|on|an?|the|our|my|some|for|his|her|their)\b|\w+ing\b|[A-Z\d])").match
"""What follows *planning*; a planning department plans nothing of one's own."""


def plan_place(text: str, start: int, end: int, said: Any) -> list[Place]:
    """The places of what a clause says is planned."""
    if said.negated or said.used_to or said.can:
        return []
    at: int = said.start
    if said.verb in ("book", "reserve", "schedule", "be book") and said.tense in ("past", "perfect", "present"):
        found = _BOOKED(text, said.at, end)
        return cut(text, found.start("o"), end) if found and said.tense != "present" else []
    if said.verb in ("cancel", "call", "postpone") and said.tense in ("past", "perfect"):
        found, off = _CANCELLED(text, said.at, end), _OFF(text, said.at, end)
        return (
            cut(text, found.start("o"), end if off is None else off.start())
            if found and (said.verb == "cancel" or text.startswith(" off", said.at) or off)
            else []
        )
    if said.verb in _LEADS and (said.verb != "decide" or said.tense in ("past", "perfect")):
        found = _LEAD(text, said.at, end)
        vague = said.verb == "plan" and said.form == "ing" and not _PLANNED(text, said.at)
        if found is None or vague or (said.verb != "plan" and not text.startswith((" to ", " on "), said.at)):
            return []
        return cut(text, found.start("o"), end)
    if said.tense == "future":
        away = said.verb == "be" and text.startswith((" in ", " at "), said.at) and _FUTURE(text, start, end)
        if (said.verb in _NO_PLANS and not away) or (
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
    if said.verb == "have" and said.tense == "present" and soon and (due := _HAVE_TO(text, said.at, end)):
        return cut(text, due.end(), end)
    if said.tense == "ing" and said.verb not in _NO_PLANS and (soon or said.verb in _MOVING):
        return cut(text, at, end)
    if said.tense == "present" and soon and said.verb in ("start", "begin", "fly", "move", "leave", "retire", "join"):
        return cut(text, at, end)
    return []


_AFTER_ALL = LazyPattern(r",? (?:after all|any ?more|any longer)\b").search


_CHANGED = LazyPattern(r"\W*(?:[Cc]hange of plans?|(?:[Mm]y |[Oo]ur |[Tt]he )?[Pp]lans (?:have )?changed)\b").match
_CLAUSE_END = LazyPattern("").match


def dropped_plan(text: str, end: int, said: Any) -> list[Place]:
    """The place of what a clause says will not be done after all."""
    over = _AFTER_ALL(text, said.start, end) or (_CHANGED(text) and _CLAUSE_END(text, end))
    decided = said.verb in _LEADS and not said.negated and text.startswith(" not to ", said.at)
    if decided and said.tense in ("past", "perfect", "present"):
        return cut(text, said.at + len(" not to "), end if over is None else over.start())
    if over is None or not said.negated or said.tense not in ("ing", "future") or said.verb in _NO_PLANS:
        return []
    return cut(text, said.start, over.start())


def cut(text: str, at: int, end: int) -> list[Place]:
    """What is planned, to the end of its phrase."""
    while text[at : at + 1] == " ":
        at += 1
    found = _PLAN_END(text, at, end)
    last = end if found is None else found.start()
    while text[at:last].endswith((" ", ",", " and", " then")):
        last = at + len(text[at:last].rstrip(" ,").removesuffix(" and").removesuffix(" then"))
    words = text[at:last].split()
    if not words or len(words) > _LONGEST_PLAN or text[at:last].endswith("something"):
        return []
    return [(at, last)]


# Sayings.

KINDS = "|".join(sorted(KIN, key=len, reverse=True))
ANIMALS = "|".join(sorted(PETS, key=len, reverse=True))
CAPITAL = rf"[{UPPER}][a-zà-ÿ]+"
_NOT = r"(?:don['’]?t|do not|haven['’]?t|have not)"
_NONE = LazyPattern(
    rf"(?:\A|, |\band |\b(?:[Ii]|[Ww]e)(?: have|['’]ve got) )[Nn](?:o|either) (?P<no>{KINDS}|pets|animals|allergies)\b"
    rf"|\b(?:[Ii]|[Ww]e) {_NOT}(?: have| got)?(?: any| an?)? (?P<not>{KINDS}|pets|animals|allergies)\b(?! "
    rf"(?:named|called)|['’ ]*[{UPPER}])"
    r"|\bI['’]?a?m an (?P<only>only child)\b|\bI(?:['’]m| am) not (?P<never>allergic) to anything\b"
).finditer
_THEIRS = (
    rf"(?:(?:my|our) (?:[a-z-]+ )??(?:{KINDS})|somebody else|someone else|an? friend|{NAME}"
    r"|(?:the|my) (?:company|firm|landlord|landlady|neighbou?rs?|bank|school|club|previous owners?))"
)
_REALLY = (
    r"(?: (?:not (?:actually |really )?mine(?: but|,)|actually|really|technically|legally|officially|just|only"
    r"|in fact))*"
)
_ANY_THING = "|".join(sorted(THINGS | PETS | {"one", "place"}, key=len, reverse=True))
DISOWNS = LazyPattern(
    r"(?:\A|[,;.!?…—–(]+ ?|\s- | (?=(?:but|though|although)\b))"
    r"(?:(?i:but|though|although|well|actually|technically|really|sorry|no|oh|ok|okay|wait|in fact|to be fair|strictly "
    r"speaking|to be honest|I mean)\b,? )*(?:"
    rf"(?i:it|that|he|she|they)(?:['’]s|['’]re| is| are| was){_REALLY} {_THEIRS}['’]s?"
    rf"(?: (?:[a-z]+ )??(?:{_ANY_THING}))?(?=\s*(?:\Z|[,.;!)…—-]|(?:really|actually|though|not|and|but|I just|so)\b))"
    rf"|(?i:it|that|he|she|they){_REALLY} belongs? to {_THEIRS}\b"
    r"|(?:(?i:it|that|he|she|they)(?:['’]s|['’]re| is| are)(?:n['’]t| not)|(?i:it|he|she)['’]s not"
    rf"|[Nn]ot)(?: actually| really| even| technically)* (?:mine|ours|my (?:own(?: {_ANY_THING})?|{_ANY_THING}))\b"
    r"|(?:I['’]m|[Ww]e['’]re|I am|[Ww]e are) (?:only |just )*(?:borrowing|minding|renting|looking after"
    r"|(?:dog|cat|pet)-?sitting|taking care of) (?:it|him|her|them)\b"
    r"|(?:I|[Ww]e) (?:only |just )*(?:borrowed|rent|lease) (?:it|him|her|them)\b"
    r"|(?i:it)(?:['’]s| is) (?:only |just )*(?:borrowed|on loan|rented|leased|an? (?:rental|loan|loaner|company \w+))\b"
    rf"|(?:my|our) (?:{KINDS}) (?:actually |really )?owns (?:it|him|her|them)\b"
    rf"|[Mm]y (?:{KINDS})['’]s(?=(?:,? (?:actually|really|not mine|I mean))*\s*(?:[.!]|\Z)))"
).search
"""That what was just said to be the speaker's is another's: "It's my wife's, actually"."""
_NO_MORE = LazyPattern(
    rf"(?:\A\W*|\b(?:I|[Ww]e)(?: have|['’]ve got|['’]ve)? )(?:[Nn]o (?P<o>{ANIMALS}) (?:any ?more|any longer)"
    rf"|[Nn]o (?:more|longer an?) (?P<more>{ANIMALS}))\b"
).search
OF_ANOTHER = LazyPattern(
    r"(?:\A|[,.;!?…]+ ?)(?P<sorry>(?:(?i:no|sorry|wait|oops|actually|well|oh|hang on|hold on)\b[,.!…]* ?)*)(?i:that)['’]?s "
    rf"(?:actually |really )?my (?P<kin>{KINDS})(?:['’]?s)?(?=\s*(?:\Z|[,.;!…]|not\b|mine\b|I['’]m\b))"
).search
"""That what was just said is true of a relative: "I'm 42. No wait, that's my brother"."""
_EVENTS = (
    r"(?:interview|exam|appointment|flight|surgery|operation|test|check-?up|recital|gig|wedding|trip|holiday|visit"
    r"|date|meeting|viewing|party|match|concert|replacement|procedure|scan|hearing|graduation|audition|assessment"
    r"|exhibition)"
)
_EATS_AGAIN = LazyPattern(
    r"\bI(?: am|['’]m|['’]ve| have)? (?:now |just )*(?:(?:started|begun|began|back to|went back to) )*"
    r"(?:eat|eating) (?:(?:red )?meat|chicken|beef|pork|bacon|fish|dairy|eggs|gluten|animal products) again\b"
).search
_NEW_PARTNER = LazyPattern(
    r"\bI(?:['’]ve| have)(?: got)? a new (?:girlfriend|boyfriend|partner)(?=\s*(?:\Z|[.!;]))"
).search
_APPOINTED = LazyPattern(
    r"\b(?i:I have|I['’]ve(?: got)?|got|we have|we['’]ve(?: got)?) (?:an? |my )?"
    rf"(?P<o>(?:[\w-]+ ){{0,3}}{_EVENTS} (?:(?:with|at|for|in|to) [^,;.!?]{{2,30}}? )?"
    r"(?:on|tomorrow|next|this|at)\b[^,;.!?]{2,40})"
).search
_FAVOURITE = LazyPattern(
    r"(?P<o>[\w' -]{2,40}?)(?: is|['’]s| are| has to be)(?: (?:hands down|by far|easily|definitely|still|also|now"
    r"|simply|always"
    r"|without (?:a )?doubt|probably))* my (?:all-time |absolute )?favou?rite "
    r"(?P<what>[a-z]+)\b"
).search
_HAS_KIN = LazyPattern(
    rf"\b(?P<who>I|i|[Ww]e|(?P<one>{NAME}) and (?P<two>(?!I\b){NAME}))(?: have|['’]ve got|['’]ve|(?:['’]re| are) "
    rf"raising|(?:['’]m| am| live)\b[^.;!?]{{0,60}}? with) (?:an? |one |two "
    rf"|three |four |five |another |(?=twins))(?:(?:[a-z-]+ )?(?:{KINDS})(?:,| and) (?:an?|one|two|three) "
    rf")?(?:[a-z-]+ )?(?P<kin>{KINDS})(?:,? (?:named|called) |, |: | - | \()(?={NAME})"
).finditer
_DIES = (
    r"(?:['’]s |has |have |was |is |had |got |sadly |just |finally |suddenly |to be |peacefully )*(?:died|dead|passed away"
    r"|passed(?= (?:last|this|yesterday|peacefully|on)|[.!,;]|\Z)|ran away|run away|put (?:down|to sleep)|killed"
    r"|euthani[sz]ed"
    r"|gone(?= now| for good| forever|[.!,;]|\Z)|no longer with us|crossed the rainbow bridge|did(?:n['’]t"
    r"| not) make it(?! to\b)"
    r"|(?:hit|run over|struck|knocked down|attacked|poisoned|bitten|ill|sick)\b[^.;!?]{0,40}? (?:and"
    r"|but)(?: \w+)? (?:died|killed))\b"
)
"""How the end of someone is stated, by whom a pet may be meant."""
_PUT_DOWN = LazyPattern(
    r"\b(?i:had to|have to|decided to|having to) (?:put|have|let) (?:her|him|it)(?: (?:put )?(?P<off>down|to sleep)| go)\b"
    r"(?=\s*(?:[.,;!]|\Z|(?:yesterday|today|last|this|on|at the vet\w*)\b))"
).search
"""What is said of a pet, and of a child only with more words: "put her down for a nap"."""
_WHEN = (
    r"\s*(?:[.!;]|\Z|,(?! but)|(?:last|this|yesterday|today|suddenly|recently|to (?:cancer|old age|kidney"
    r"|illness|a car)|after a)\b)"
)
_WHEN_LOST = LazyPattern(_WHEN).match
_TITLES = "(?i:aunt(?:ie|y)?|uncle|gran(?:ny|dma|dpa|dad)?|nan(?:a|ny)?|grandad)"
"""Relatives whose name follows the word for them."""
_LOST = LazyPattern(
    r"\b(?i:lost|buried|rehomed|re-homed|gave away|given away|give away|said goodbye to|say goodbye to|put|gave"
    r"|give|given"
    rf"|have|had|bury|rehome) (?:(?:(?:our|my) (?:[a-z]+ )?|(?={_TITLES}(?: [{UPPER}]"
    rf"|{_WHEN})))(?:(?P<animal>{ANIMALS})|(?P<kin>(?i:{KINDS})))"
    rf"(?:,? (?P<named>{NAME}))?|(?:(?i:old|poor|little|dear) )?(?P<given>{NAME}))"
    r"(?! (?:in|at) the (?!war\b)| for (?:a|an|ten|two|five) (?:while|min|sec|hour|moment)|,? but|['’])(?P<off> (?:away"
    rf"|up|down|put (?:down|to sleep)|to (?:sleep|my|our|an?|the|(?!Rest\b){NAME})(?![^,.;!]{{0,30}} for (?:the|an?) )))?\b"
    # Who it is cannot be known; of one who was no pet, it ends nothing.
    r"|\A\W*(?i:(?:wee|poor|old|little|dear|sweet|darling|beloved|lovely|our|my|sadly,?|unfortunately,?|and|so|oh,?|yesterday,?"
    r"|today,?|last (?:night|week|month|year),?|this (?:morning|week),?|(?:bad|sad|terrible) news[,:]) ){0,4}"
    rf"(?P<dead>{CAPITAL}) ?{_DIES}(?! (?:of )?laugh)"
).search
_TAKES_OFF = ("put", "gave", "give", "given", "have", "had")


def sayings(text: str, doubt: int) -> Iterator[RuleMatch]:
    """What set phrases of a sentence state before ``doubt``."""
    lower = text.lower()
    for relation, over in (("diet", _EATS_AGAIN(text, 0, doubt)), ("partner", _NEW_PARTNER(text, 0, doubt))):
        if over is not None:
            yield RuleMatch(relation, over.start(), over.start(), *over.span(), negated=True, confidence=0.75)
    appointed = _APPOINTED(text, 0, doubt)
    if appointed is not None:
        yield RuleMatch("plans", *appointed.span("o"), *appointed.span(), kind=PLAN, confidence=0.75)
    if "favourite" in lower or "favorite" in lower:
        favourite = _FAVOURITE(text, 0, doubt)
        if (
            favourite is not None
            and favourite["what"].lower() not in SECRETS
            and "favo" not in favourite["o"]
            and "my " not in favourite["o"]
        ):
            yield RuleMatch(FAVOURITE + favourite["what"], *favourite.span("o"), *favourite.span())
    for none in _NONE(text, 0, doubt):
        word = none["no"] or none["not"] or ("allergies" if none["never"] else "sibling")
        relation = KIN.get(word, "allergic_to" if word == "allergies" else "pet")
        if relation:
            yield RuleMatch(relation, none.start(), none.start(), *none.span(), negated=True, confidence=0.75)
    gone = _NO_MORE(text, 0, doubt)
    if gone is not None:
        yield RuleMatch("pet", *gone.span("o" if gone["o"] else "more"), *gone.span(), negated=True, confidence=0.8)
    lost = _LOST(text, 0, doubt)
    if lost is not None:
        yield from _gone(text, lost)
    put_down = _PUT_DOWN(text, 0, doubt)
    if put_down is not None:
        yield RuleMatch("pet", *put_down.span(), *put_down.span(), object="pet", negated=True, confidence=0.7)


def _gone(text: str, lost: re.Match[str]) -> Iterator[RuleMatch]:
    """Who died, or was given away."""
    verb = lost[0].split(" ", 1)[0].lower()
    needs_off = verb in _TAKES_OFF and not lost[0].lower().startswith(("gave away", "give away", "given away"))
    if not lost["dead"] and (
        needs_off != bool(lost["off"]) or (lost["kin"] and verb not in ("lost", "buried", "bury"))
    ):
        return
    if verb in ("have", "had") and not lost["off"].startswith(" put"):
        return
    which = next(one for one in ("named", "given", "dead", "animal", "kin") if lost[one])
    # "We lost Rex last week" and "said goodbye to Rex this morning" end what was a pet, and nothing else.
    surely = ("buried", "bury", "rehomed", "rehome", "re-homed")
    surely += ("lost", "said", "say") if _WHEN_LOST(text, lost.end()) else ()
    if which == "given" and not lost["off"] and verb not in surely:
        return
    titled = which == "kin" and {"my", "our"}.isdisjoint(lost[0].lower().split())
    if (titled or lost[which] in CITIES) and not (titled and _WHEN_LOST(text, lost.end())):
        # "We lost Grandad at Tesco", "We said goodbye to York last week"
        return
    if which in ("named", "given", "dead") and (not name(text, *lost.span(which)) or lost[which].lower() in KIN):
        return
    relation = KIN[lost["kin"].lower()] if lost["kin"] else "pet"
    place = (lost.start(), lost.start()) if which == "kin" else lost.span(which)
    if relation:
        word = lost["kin"] if which == "kin" and relation not in ("married_to", "partner") else ""
        yield RuleMatch(relation, *place, *lost.span(), object=word, negated=True, confidence=0.8)


_BORN_TO = LazyPattern(
    rf"(?:\b(?:I|[Ww]e)\b|(?P<who>{NAME})(?: and (?P<two>(?!I\b){NAME}))?|\b[Mm]y (?:[a-z]+ )?(?P<of>{KINDS})|\A\W*)"
    r"(?: and (?:his|her) (?:wife|husband|partner|girlfriend))?(?:['’]ve|['’]s)?(?: has| have| just| finally| only)* ?"
    r"(?:[Hh]ad|gave birth to|welcomed) (?:an?|our|her|his|their) (?:[a-z-]+ )??(?P<kin>boy|girl|son|daughter"
    r"|baby)(?: boy| girl)?"
    r"(?:,? (?:at|on|this|last|yesterday|today|in|weighing|born|\d)[^,;.!?…]{0,30}){0,3}, (?:called |named )?"
    rf"(?={NAME}(?:[.,!;]|\Z| at \d| \d| \())"
).search


def _born(text: str, doubt: int) -> Iterator[RuleMatch]:
    """A child that was born, with its name: "Kayleigh had a little girl at ten past four, Elsie May"."""
    born = _BORN_TO(text, 0, doubt)
    if born is None:
        return
    of = SAME_KIN.get(born["of"], born["of"] or "")
    for place in name(text, born.end(), len(text)):
        for parent in (born["who"], born["two"]) if born["two"] else (born["who"] or "",):
            yield RuleMatch("child", *place, born.start(), place[1], parent, "" if parent else of, confidence=0.85)


def has_kin(text: str, doubt: int) -> Iterator[RuleMatch]:
    """Relatives after "I have two sisters" and "my brother has a girlfriend"."""
    for has in _HAS_KIN(text, 0, doubt):
        for place in names(text, has.end(), len(text)):
            for owner in (has["one"], has["two"]) if has["one"] else ("",):
                if KIN[has["kin"]]:
                    yield RuleMatch(KIN[has["kin"]], *place, has.start(), place[1], owner or "", confidence=0.85)
    yield from _born(text, doubt)
