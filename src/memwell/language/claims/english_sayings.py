"""English statements that are no subject with a verb: addresses and numbers, endings, lists, and plans by their nouns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from memwell.language.claims.english_objects import (
    ACTIVITIES,
    KIN,
    LANGUAGES,
    NAME,
    NATIONALITIES,
    PASTIMES,
    PETS,
    PLAYED,
    SAME_KIN,
    SECRETS,
    THINGS,
    UPPER,
    Place,
    Taker,
    name,
    names,
)
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
    r"\b(?:number|phone|cell|mobile|call|text|reach(?:ed)?|whatsapp|ring|tel|line|landline|that['’]s me)\b",
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
    r"|from(?=\s*\Z))\b[^,;@]{0,25}\Z",
    re.IGNORECASE,
).search
_IS_NOT = LazyPattern(
    r"[ ,]*(?:(?:no longer|doesn['’]t|does not) works?|stopped working|bounces|is gone|isn['’]t|is not|was never"
    r"|is dead|any ?more|any longer|is no longer|was my old)",
    re.IGNORECASE,
).match
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
        return bool(before and _GLUED(before))
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
    "forget remember use live stay call let send miss give check kill die".split()
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
_HAVE_TO = LazyPattern(r" (?:got )?to (?:be (?=in |at )|(?=(?:go|see|take|pick|attend|meet|fly|travel|visit) ))").match
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
        found = _CANCELLED(text, said.at, end)
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
    if (
        said.tense == "present"
        and soon
        and not _BEGINS_DOING(text, said.at)
        and said.verb in ("start", "begin", "fly", "move", "leave", "retire", "join")
    ):
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


_TONGUES = "|".join(sorted(one.title() for one in LANGUAGES))
_PLACE = (
    rf"(?P<o>(?!(?:And|But|So|They|We|You|He|She|It|There|I)\b)[{UPPER}][\w’'&.-]*"
    rf"(?: (?!I\b)[{UPPER}][\w’'&.-]*){{0,3}})"
)
_THINGS = "|".join(sorted(THINGS, key=len, reverse=True))
_CAP = rf"[{UPPER}][a-zà-ÿ]+"
_PASTIME = "|".join(sorted(ACTIVITIES | PLAYED, key=len, reverse=True))
_BEGIN = r"\A(?:[\w' ,!]{0,30}[,!.] )?"
_ME = r"(?:has |have |had |just |finally |sadly )*"
_NOT = r"(?:don['’]?t|do not|haven['’]?t|have not)"
PARAPHRASES: list[tuple[str, LazyPattern, str]] = [
    (hint, LazyPattern(pattern, re.DOTALL), plain)
    for hint, pattern, plain in (
        # Turned round: what is stressed comes first, or who does it.
        (
            "it",
            r"\b[Ii]t(?:['’]s| is| was) (?P<o>(?!(?:not|a|the|so|my)\b)[\w'’-]+(?: (?!and\b|but\b"
            r"|that\b)[\w'’-]+){0,2}?) "
            r"(?:that |which )?(?P<a>(?:I|we|he|she)\b(?! (?:think|guess|meant?|said)\b)[^,;.!?]{2,30}?"
            r"(?: (?:to|in|at|from|for|with)(?= last\b| this\b| now\b|[,;.!?]|\Z)|(?=[,;.!?]|\Z)))"
            r"(?P<b>[^,;.!?]{0,30}(?:, not [^;.!?]{2,30})?)",
            "{a} {o}{b}",
        ),
        (
            "where",
            rf"(?<!not )(?<!n't )(?!That|It|This|Here|There){_PLACE},? where (?P<a>(?:I|we)(?: now| still)? "
            r"(?:live|grew up|was born))\b",
            "{a} in {o}",
        ),
        (
            "where",
            rf"(?<!not )(?<!n't )(?!That|It|This|Here|There){_PLACE},? where (?P<a>(?:I|we)(?: now| still)? "
            r"(?:work|study|teach))\b",
            "{a} at {o}",
        ),
        ("as a", r"(?:\A|[,.;:!] )[Aa]s an? (?P<o>[^,;.!?]{3,60}?),? (?=(?:I|my|can [Ii]|i)\b)", "I am a {o}"),
        ("red me", rf"{_PLACE} {_ME}(?:hired|recruited) me\b", "I was hired by {o}"),
        (" me", rf"{_PLACE} {_ME}(?:fired me|sacked me|let me go|laid me off)\b", "I was sacked by {o}"),
        (
            " me",
            rf"(?P<o>{NAME}|\b[Mm]y (?:girl|boy)friend) {_ME}(?:dumped|left|ditched|broke up with|split up with) me"
            r"(?=\s*(?:\Z|[,.!;]|(?:for (?!dead)|last|yesterday|today|this|in|on|after|and|because)\b))",
            "{o} and I broke up",
        ),
        (" divorced me", rf"(?P<o>{NAME}) {_ME}divorced me\b", "I divorced {o}"),
        (" me", rf"\b[Mm]y (?P<o>husband|wife) {_ME}(?:divorced|left|dumped) me\b", "my {o} and I got divorced"),
        ("divorce", r"\b(?:[Aa]fter|[Ss]ince) (?:my|our) divorce\b(?! from)", "I am divorced"),
        # "My dad lives alone since the divorce" is about his.
        ("divorce", r"\b(?:I|[Ww]e)\b[^.!?;]{0,60}?\b(?:after|since) the divorce\b(?! from)", "I am divorced"),
        ("divorce", r"\A\W*(?:After|Since) the divorce,? (?:I|we)\b", "I am divorced"),
        ("divorce", rf"\b(?:[Mm]y|[Oo]ur) divorce from {_PLACE}", "I divorced {o}"),
        ("between me and", rf"\bover between me and {_PLACE}", "{o} and I broke up"),
        ("e and ", rf"\b[Mm]e and {_PLACE} (?P<a>[^,;.!?]{{3,60}})", "{o} and I {a}"),
        (
            ", my ",
            rf"\A\W*(?:[Hh]e|[Ss]he)(?P<a>['’]s| [a-z]+) (?P<b>[^,;.!?]{{2,40}}(?:, not [^,;.!?]{{2,30}})?), my "
            rf"(?P<o>(?:{_KINDS})(?: {NAME})?)"
            rf"(?P<c>(?:, not [^,;.!?]{{2,30}})?)(?=[,.;!?]|\Z)",
            "my {o}{a} {b}{c}",
        ),
        (", me and", rf"\b[Ww]e(?:['’]re| are) (?P<a>[^,;.!?]{{3,40}}), me and {_PLACE}", "{o} and I are {a}"),
        ("engagement", r"\bengagement(?:['’]s| is) off\b", "we broke up"),
        (
            "arr",
            rf"\bI(?:['’]m| am|['’]ll| will)?(?: \w+)? (?:getting married to|get married to|marrying) {_PLACE}",
            "{o} is my fiance",
        ),
        ("booked", r"\A\W*(?:[Oo]ur|[Mm]y|[Tt]he) (?P<o>[^,;.!?]{3,50}?) (?:has been|is) booked\b", "I booked my {o}"),
        (
            " is ",
            r"\A\W*(?:[Tt]he|[Oo]ur|[Mm]y) (?P<o>[^,;.]{3,40}?) is (?:off|cancelled|canceled)(?=\s*(?:\Z|[,.;!]))",
            "I cancelled my {o}",
        ),
        (
            "",
            rf"\b(?:[Mm]y|[Oo]ur) (?P<o>(?:[a-z]+ )?(?:{_THINGS})) (?:was|got|has been)(?: \w+ly)? (?:sold"
            rf"|stolen|scrapped|written off)",
            "I sold my {o}",
        ),
        (
            "said",
            r"\b(?:I|[Yy]ou) (?:said|wrote|noted|told you)(?: that)? (?P<a>(?:I|my)\b[^,;.!?]{3,50}?)(?:, but|,| but) "
            r"(?:it['’]s|that['’]s|it should be|I meant|it is) (?:actually |really )?(?P<o>(?!my\b|his\b|her\b"
            r"|a\b)[^,;.!?]{2,40})",
            "{a}, sorry, {o}",
        ),
        # Work, school and home by their nouns.
        ("me retired", r"\b[Tt]hat['’]?s me (?:(?:officially|finally|now) )?retired\b(?P<o>)", "I retired"),
        ("last day at", rf"\b[Mm]y last day (?:at|with) {_OUT}", "I resigned from {o}"),
        (
            "job at",
            r"\b(?:packed in|chucked in|jacked in|gave up|walked out of|walked away from) my (?:old )?job (?:at"
            r"|with) (?P<o>[^,;.!?]{3,40})",
            "I resigned from {o}",
        ),
        ("years at", rf"\byears at {_PLACE} (?:came to an end|are over|have ended|ended)", "I no longer work at {o}"),
        ("y marriage", r"\b[Mm]y marriage (?:is over|ended|has ended|broke down|fell apart)", "I am divorced"),
        (
            "with ",
            rf"\bI(?:['’]m| am| live)\b[^,;.]{{0,40}} with (?:an? |two |three )(?:[a-z]+ )??(?P<o>{_KINDS}) (?:named"
            rf"|called) (?P<a>{NAME})",
            "I have a {o} named {a}",
        ),
        (
            "with ",
            rf"\b(?:I(?:['’]m| am)|live)\b[^,;.]{{0,30}} with (?:an? |my |our |two |three )(?:[a-z-]+ "
            rf"){{0,3}}?(?P<o>{_ANIMALS})(?=[,.;!]|\Z| and\b)",
            "I have a {o}",
        ),
        (
            "jobs",
            rf"(?:[Mm]oved|[Cc]hanged|[Ss]witched|[Ss]wapped) jobs:?,? (?:from )?(?P<a>[{UPPER}][\w’'&.-]*) to {_PLACE}",
            "I left {a} for {o}, a new job",
        ),
        ("llergies", r"\b(?:[Mm]y )?[Aa]llergies(?: are|:| include) (?P<o>[a-z][^.;!?]{2,60})", "I am allergic to {o}"),
        ("birthday", r"\b(?:celebrated|had|turned) my (?P<o>\d{2})(?:st|nd|rd|th) birthday\b", "I am {o}"),
        (" me", rf"\b[Tt]hey (?:let me go|fired me|laid me off|sacked me) (?:from|at) {_PLACE}", "I was sacked by {o}"),
        ("notice", rf"\b(?:handed in|gave|given|handed) my notice (?:at|to) {_OUT}", "I resigned from {o}"),
        ("employer", rf"\b[Mm]y (?:new |current )?employer is {_OUT}", "I work at {o}"),
        (
            "y ",
            r"\b[Mm]y (?:contract|internship|placement|apprenticeship) (?:with|at) (?P<o>(?:the "
            r"|an? )?[\w&' -]{2,30}?) (?:has |just |finally )*(?:ran out"
            r"|run out|ended|expired"
            r"|is up|is over|finished|wasn['’]t renewed|was not renewed|ends today|was terminated)",
            "I no longer work at {o}",
        ),
        ("y ", rf"\b[Mm]y (?:alma mater is|degree is from) {_OUT}", "I graduated from {o}"),
        ("alum", rf"{_PLACE} (?:alum|alumnus|alumna|grad|graduate)\b", "I graduated from {o}"),
        ("year", r"\A\W*(?:\w+)[- ]year (?P<o>[a-z][a-z ]{2,30}? student(?: at [^,;.!?]{2,40})?)", "I am a {o}"),
        ("year", rf"\A\W*\w+[- ]year (?P<a>[a-z ]{{3,30}}? at {_PLACE})", "I study {a}"),
        ("year of", rf"\A\W*\w+ year of (?P<a>[a-z ]{{3,30}}? at {_PLACE})", "I study {a}"),
        (
            "y ",
            r"\b[Mm]y (?:course|major|degree|subject|field) is (?:in )?(?P<o>[a-z]+(?: [a-z]+)?)(?=\s*(?:\Z|[,.;]))",
            "I study {o}",
        ),
        (
            "",
            rf"(?:\A|[.,;!] |\b(?:[Mm]y|[Oo]ur) )(?:[Nn]ew |current |little |tiny |own )*"
            rf"(?:[Hh]ome|flat|house|apartment|place|studio|condo)(?: is|['’]s) (?:now |in "
            rf"|currently |an? (?:[a-z-]+ ){{0,4}}?"
            rf"(?:flat|house|apartment|place|studio|condo|cottage|bungalow) )*"
            rf"{_PLACE}(?P<b>(?:,? not (?:in )?[{UPPER}]\w+)?)",
            "I live in {o}{b}",
        ),
        (
            "y marriage",
            rf"\b[Mm]y marriage (?:to|with) {_PLACE} (?:has |had |is )?(?:ended|over|broke|broken|fell|fallen|failed)",
            "I divorced {o}",
        ),
        (
            "with ",
            rf"(?:\b[Mm]y relationship|\b[Tt]hings|\b[Ii]t) (?:with|between me and) {_PLACE} (?:has |had |is |are "
            rf"|was )?(?:ended|over)",
            "{o} and I broke up",
        ),
        ("born and", rf"(?:\A|[,.;:!] ){_PLACE},? born and (?:bred|raised)", "I am from {o}"),
        (
            "job as",
            r"\b[Mm]y (?:day |current |new )?(?:job|career|work|life) as an? (?P<o>[a-z][^,;.!?]{2,40})",
            "I work as a {o}",
        ),
        ("as a", r"(?:\A|[,.;:!] )[Bb]eing an? (?P<o>[^,;.!?]{3,40}?), (?=(?:I|my|we)\b)", "I am a {o}"),
        ("with us", rf"\b(?:lives?|living|stay\w*|moved in) with (?:us|me)(?: here)? in {_PLACE}", "I live in {o}"),
        ("with me", rf"\b(?:lives?|living|stay\w*|moved in) with (?:us|me)(?: here)? in {_PLACE}", "I live in {o}"),
        *(
            ("as someone who", rf"\b[Aa]s someone who{third} (?P<o>[^,;.!?]{{3,60}})", f"I {first} {{o}}")
            for third, first in (
                ("(?:['’]s| is)", "am"),
                *(
                    (f" {one}", two)
                    for one, two in (
                        pair.split("=")
                        for pair in "works=work lives=live has=have owns=own studies=study teaches=teach speaks=speak "
                        "loves=love hates=hate plays=play grew=grew was=was moved=moved studied=studied can't=can't".split()
                    )
                ),
            )
        ),
        (
            "birthday",
            rf"\bmy (?P<o>{_KINDS})['’]s (?P<a>\d{{1,2}})(?:st|nd|rd|th)(?: birthday| bday)\b(?= (?:yesterday|last"
            rf"|on \w+|this|was)|[,.!]|\Z)",
            "my {o} is {a}",
        ),
        (
            "told me",
            rf"(?P<o>\b[Mm]y (?:{_KINDS})(?: {NAME})?|(?:\A|[,.;] ){NAME}) (?:just |once |recently )?(?:told me"
            rf"|mentioned)(?: that)? "
            r"(?:he|she)(?P<a>['’]s| [a-z]+) (?P<b>[^,;.!?]{3,50})",
            "{o}{a} {b}",
        ),
        (
            "y time",
            rf"\b[Mm]y time (?:at|with) {_PLACE} (?:is over|has ended|came to an end|has come to an end|is up|ended)",
            "I no longer work at {o}",
        ),
        ("fter ", rf"\bafter (?:[\w-]+ ){{1,3}}years in {_PLACE}", "I no longer live in {o}"),
        ("fter ", rf"\bAfter (?:[\w-]+ ){{1,3}}years in {_PLACE},? (?=I\b|we\b)", "I no longer live in {o}"),
        ("fter ", rf"\b[Aa]fter (?:[\w-]+ ){{1,3}}years (?:at|with) {_PLACE}", "I no longer work at {o}"),
        ("fter ", r"\b[Aa]fter (?:[\w-]+ ){1,3}years as an? (?P<o>[^,;.!?]{3,40})", "I am no longer a {o}"),
        # Names.
        (
            "me ",
            rf"\b(?:[Cc]alls? me|knows? me as|[Nn]amed me|christened me) (?P<o>{_CAP})(?=\s*(?:\Z|[,.!;]|(?:and"
            rf"|instead|now|for|all)\b))"
            r"(?!.*\bmy (?:real |actual |full |first )?name(?: is|['’]s)\b)",
            "my name is {o}",
        ),
        (" here", rf"{_BEGIN}(?:[Ii]t['’]s |[Tt]his is )?(?P<o>{NAME}) here\b(?=[,.! ]|\Z)", "my name is {o}"),
        (" here", rf"{_BEGIN}{NAME} here, (?P<o>\d\d)\b", "I am {o}"),
        ("use ", rf"\bplease use (?P<o>{_CAP})\s*(?:\Z|[.!])", "my name is {o}"),
        ("name's", rf"{_BEGIN}(?:[Tt]he )?[Nn]ame['’]s (?P<o>{NAME})", "my name is {o}"),
        (
            "it's ",
            rf"\A(?:[\w ]{{0,12}}, )?[Ii]t['’]s (?P<o>{_CAP})(?: with [^,]{{1,12}})?,? not (?P<a>{_CAP})\s*(?:\Z"
            rf"|[,.!])",
            "my name is {o}, not {a}",
        ),
        ("with ", rf"\b[Ii]t['’]s (?P<o>{_CAP}) with (?:an?|two|no) [A-Za-z]s?\b(?!.*\bmy\b)", "my name is {o}"),
        ("my name", rf"\b[Ii]t['’]s (?P<o>{_CAP})\b[^.]{{0,20}}, (?:that['’]s how I spell )?my name", "my name is {o}"),
        (
            "is my",
            rf"\A\W*(?P<o>{_CAP}(?: {_CAP})?) is my (?P<a>(?:real |full |first )?name|(?:mother|native) tongue"
            rf"|(?:native|first) language|home ?town)\b",
            "my {a} is {o}",
        ),
        (
            "y ",
            rf"\b[Mm]y (?:new |day |main )?job is (?:in an? [a-z ]{{3,20}} )?(?:at|with|for) (?:the )?{_PLACE}",
            "I work at {o}",
        ),
        ("company", rf"\b[Mm]y company is (?:called )?{_PLACE}", "I work at {o}"),
        ("find me", r"\byou[^,.!?]{1,20} find me (?P<o>(?:[a-z]+ )?[a-z]+ing\b[^,;.!?]{0,30})", "my hobby is {o}"),
        (
            "",
            r"\A\W*(?P<o>[A-Z][a-z]+ing(?: [a-z]+)?) (?:keeps me sane|relaxes me|calms me|helps me relax|is how I "
            r"(?:relax|unwind)|is my (?:thing|passion|happy place|hobby|therapy)\b)",
            "my hobby is {o}",
        ),
        (
            "d ",
            rf"\b(?:I|[Ww]e)(?:['’]ve| have)? (?:just |finally )*(?:named|called) (?:the|our|my) (?:[a-z]+ )?"
            rf"(?P<a>{_ANIMALS}|{_KINDS}) (?P<o>{NAME})",
            "my {a} is called {o}",
        ),
        ("name of ", rf"\bname of (?:my|our) (?P<a>(?:[a-z-]+ )?(?:{_ANIMALS})) is {_PLACE}", "my {a} is called {o}"),
        (" is how i", rf"\A\W*(?P<o>(?i:{_PASTIME})) is how I (?:relax|unwind|switch off)", "my hobby is {o}"),
        (
            " for ",
            r"(?:\A|[,.;] )(?:[Mm]y )?(?i:weekends|evenings|sundays|saturdays|free time|spare time)"
            r" (?:are|is|go|goes) (?:all |mostly )*(?:for|into|to|about|spent) (?P<o>(?:[a-z]+ "
            r")?[a-z]+ing\b[^,;.!?]{0,30})",
            "my hobby is {o}",
        ),
        ("bye", rf"\b(?:[Gg]ood)?[Bb]ye(?:[ -]bye)?,? {_PLACE}", "I left {o}"),
        ("plan is to", r"\b(?:[Tt]he|[Mm]y|[Oo]ur) plan is to (?P<o>[^,;.!?]{3,60})", "I plan to {o}"),
        (
            " my",
            r"(?:\A|[.;!] |, )(?P<a>[\w' -]{3,30}?) (?:is|are)(?:n['’]t| not) my (?P<b>(?:favou?rite|native|first"
            r"|mother) \w+),"
            r" (?P<o>[\w' -]{3,30}?) (?:is|are)\b",
            "my {b} is {o}",
        ),
        # Languages, health and taste.
        (
            "allerg",
            r"(?:\A|[,.;:!] |\bbut )(?P<o>(?!(?i:it|that|this|you|he|she|they|I|so|who|which|what)\b)[A-Za-z]+(?: [a-z]+)?)"
            r" (?:and I\b|makes? me|gives? me|(?:is|are) (?:out|off|a (?:big |total |definite )?no|poison|not for"
            r"|bad for)|has me"
            r"|have me|sets? me|don['’]t agree|doesn['’]t agree)[^.!?]{0,50}?\ballerg(?:ic|y)(?: to (?:it"
            r"|them))?(?=\s*(?:[.,!;]|\Z))",
            "I am allergic to {o}",
        ),
        (
            "allergic to",
            r"\A\W*(?P<o>[A-Za-z][^.;:!?]{2,60}?)[,:-]+ (?:I['’]m|I am) allergic to (?:all|both|them|those|these)\b",
            "I am allergic to {o}",
        ),
        (
            "llergy is",
            r"\b(?:[Tt]he|[Mm]y) (?:allergy|intolerance) is (?:actually |really |only )*to (?P<o>[^.;!?]{2,40})",
            "I am allergic to {o}",
        ),
        ("passports", rf"\btwo passports,? (?P<o>{_CAP}) and (?P<a>{_CAP})", "I am {o} and {a}"),
        ("my ", rf"\b[Mm]y (?P<o>{_TONGUES}) is (?:\w+ )?(?:good|fluent|decent|rusty|okay|ok|basic)\b", "I speak {o}"),
        ("sarcasm", rf"\bI speak two languages: (?P<o>{_CAP}) and sarcasm", "I speak {o}"),
        ("wish i spoke", rf"\bI wish I spoke (?P<o>{_CAP})", "I do not speak {o}"),
        ("word of", r"\bspeak a word of (?P<o>[\w]+)", "I do not speak {o}"),
        (
            "allergy to",
            r"\b[Mm]y allergy to (?P<o>[a-z]+(?: [a-z]+)?) (?:is|has) (?:gone|cleared)",
            "I am no longer allergic to {o}",
        ),
        (
            "me ",
            r"\A\W*(?P<o>[\w -]{3,30}?) (?:gives?|brings?) me (?:out in )?(?:hives|a rash|an allergic)",
            "I am allergic to {o}",
        ),
        (
            "kill me",
            r"\A\W*(?P<o>(?i:(?:pea)?nuts|[a-z]+ nuts|shellfish|seafood|prawns|eggs|milk|dairy|gluten|wheat|soy|sesame"
            r"|fish|(?:bee|wasp) stings|penicillin)) (?:could|would|can|will|might|nearly|almost) kill(?:ed)? me\b",
            "I am allergic to {o}",
        ),
        (
            " me ",
            r"\A\W*(?P<o>(?!I\b|It\b|That\b|This\b|You\b)[A-Za-z]+(?: [a-z]+)?) makes? me (?:sneeze|wheeze|itch)\b",
            "I am allergic to {o}",
        ),
        (
            "h",
            rf"\A\W*(?i:hey|hi|hello|hiya|morning|evening)(?i: there| all| everyone)?[,!.]* (?:[Ii]t['’]s|[Tt]his is) "
            rf"(?P<o>{NAME})(?=[.!,]|\Z)",
            "My name is {o}",
        ),
        ("ome", rf"\b[Hh]ome(?: is|['’]s) (?:now )?(?:an? (?:[a-z-]+ ){{1,4}})?in {_PLACE}", "I live in {o}"),
        (
            "hives",
            r"\bI (?:break|come) out in (?:hives|a rash) (?:if|when|whenever) I (?:eat|touch|have) (?P<o>[a-z]+)",
            "I am allergic to {o}",
        ),
        (
            "my ",
            r"\A\W*(?P<o>[\w' -]{3,30}?) (?:is|are|has become) my (?:new |favou?rite |main |biggest )?(?:hobby"
            r"|passion|pastime)\b",
            "my hobby is {o}",
        ),
        (
            "",
            r"\A\W*(?P<o>[\w' -]{3,40}?) (?:really |just |definitely |honestly )*(?:(?:is|are) not|(?:is"
            r"|are)n['’]t|['’]s not) "
            r"(?:really |exactly )*(?:my thing|my cup of tea|for me)\b",
            "I dislike {o}",
        ),
    )
]
"""What is said in other words: a word that must be there, a pattern, and the same as a plain sentence."""
_WAS_SAID = (
    r"\b(?:I|[Yy]ou)(?:['’]ve| have)? (?:always |just |keep |kept )?(?:said|told you|wrote|noted|wrote down|think|thought"
    r"|saying|mentioned|put down)(?: earlier| before)?(?: that)? "
)
DISPUTED: list[tuple[str, LazyPattern, str]] = [
    (hint, LazyPattern(pattern, re.DOTALL), plain)
    for hint, pattern, plain in (
        (
            "",
            rf"{_WAS_SAID}(?P<o>(?:I|my)\b(?! (?:told|said|wrote|think))[^,;.!?]{{3,60}}?)(?=[,;.!?]| but\b|\Z)",
            "{o}",
        ),
        (
            "i was",
            r"\bI (?:never )?(?:said|told you|wrote) (?:that )?I was (?P<o>[^,;.!?]{2,40}?)(?=[,;.!?]| but\b|\Z)",
            "I am {o}",
        ),
        (
            "down as",
            r"\bmy (?P<a>name|birthday|age|number|job|surname) down as (?P<o>[^,;.!?]{2,40}?)(?=[,;.!?]| but\b|\Z)",
            "my {a} is {o}",
        ),
        ("down as", r"\bme down as (?P<o>an? [^,;.!?]{3,40}?)(?=[,;.!?]| but\b|\Z)", "I am {o}"),
        ("me ", rf"\b[Yy]ou (?:keep |always )?(?:call|called|calling) me (?P<o>{_CAP})", "my name is {o}"),
    )
]
"""What the speaker says was said."""
_PETS_DO = (
    r"(?=\s*(?:[,.;:!?)]|\Z|(?:['’]s|is|was|are|were|has|had|have|can|can['’]t|will|won['’]t|and|or|to|in|on|at|with"
    r"|for|from"
    r"|all|every|just|who|got|ate|eat|sleep|have|need|drink|live|run|again|today|yesterday|tonight|threw|keeps"
    r"|[a-z]+(?:ed|[^s]s))\b))"
)
PRESUPPOSED: list[tuple[str, LazyPattern, str]] = [
    (hint, LazyPattern(pattern, re.DOTALL), plain)
    for hint, pattern, plain in (
        (
            "t ",
            r"\b(?:[Ii]s it (?:weird|bad|strange|normal|odd|ok|okay|wrong|funny|rude) that|[Cc]an you believe(?: that)?)"
            r" (?P<o>(?:I|my|we)\b[^?]{3,60})",
            "{o}",
        ),
        *(
            (
                " at ",
                rf"(?:\b(?:I|we)(?: have|['’]ve got|['’]ve)|{before}) an? (?P<o>son|daughter|nephew|niece|brother"
                rf"|sister)(?: studying)? at "
                rf"(?P<a>[{UPPER}]\w+)",
                "my {o} studies at {a}",
            )
            for before in ("\x00", "(?<=[a-z]) and")
        ),
        *(
            (
                " in ",
                rf"(?:\b(?:I|we)(?: have|['’]ve got|['’]ve)"
                rf"|{before}) an? (?:[a-z-]+ )??(?P<o>{_KINDS})(?: (?:who lives|living))? in "
                rf"(?P<a>[{UPPER}]\w+)",
                "my {o} lives in {a}",
            )
            for before in ("\x00", "(?<=[a-z]) and")
        ),
        (
            "allergy to",
            r"\bI\b(?! (?:may|might|could|would|think|don|do not|never|suspect))[^,;.]{0,40}? (?:for|with|despite|have"
            r"|got) (?:an?"
            r"|my) (?:[a-z]+ )?allergy to (?P<o>[a-z]+(?: [a-z]+)?)",
            "I am allergic to {o}",
        ),
        *(
            (
                "ur " if "our" in mine else "y ",
                rf"\b(?P<o>(?!I\b){NAME})(?: is |, (?:who is |who['’]s )?|(?<=, \w{{3}}) |(?<=, \w{{4}}) |(?<=, "
                rf"\w{{5}}) ){mine} "
                rf"(?P<a>(?:[a-z-]+ ){{0,2}}?(?:{_ANIMALS}))(?=[,.;!]|\Z| and\b)",
                "my {a} is called {o}",
            )
            for mine in ("our", "my")
        ),
        (
            "",
            r"\b(?:[Mm]y|[Oo]ur) (?:(?:little|big|lovely|poor|beloved|fat|crazy|stupid|silly|own|two|three|four|five"
            r"|black|white|ginger|brown"
            r"|rescue|rescued|pet|elderly|young|cute|sweet|dear|other|oldest|youngest|adorable|lazy"
            r"|[a-z]+-year-old) ){0,2}"
            rf"(?P<o>{_ANIMALS}){_PETS_DO}",
            "I have a {o}",
        ),
        (
            "y ",
            rf"\b(?P<a>[Mm]y) (?P<b>vegan|vegetarian|veggie|pescatarian|coeliac|celiac"
            rf"|lactose[- ]intolerant) (?P<o>{_KINDS})\b",
            "my {o} is {b}",
        ),
        (
            "year",
            rf"\b(?P<a>[Mm]y) (?P<b>\w+)[- ]year[- ]old (?:twin )?(?P<o>{_KINDS})\b(?! [{UPPER}])",
            "my {o} is {b}",
        ),
        (
            "who",
            rf"\b[Mm]y (?P<o>(?:{_KINDS})(?: {NAME})?),? who(?P<a>['’]s| [a-z]+s(?:n['’]t)?| can['’]t| has"
            rf"| is) (?P<b>[^,;.!?]{{3,60}})",
            "my {o}{a} {b}",
        ),
        (
            "did ",
            r"\b[Dd]id (?:I|you) (?:ever |already )?(?:tell|mention|know)(?: to)?(?: you)?(?: that)? (?P<o>(?:I|my|we"
            r"|our)\b[^?]{3,80})",
            "{o}",
        ),
        (
            "my ",
            r"\b(?:[Mm]y|[Tt]hanks to my|with my|given my) (?:severe |bad |mild |damn |stupid )?(?P<o>(?!food\b"
            r"|skin\b)[a-z]+(?: [a-z]+)?) "
            r"(?:allergy|intolerance)\b(?! (?:is gone|has gone|test|went|disappeared|cleared))",
            "I am allergic to {o}",
        ),
        (
            " at ",
            rf"\b[Mm]y (?:job|desk|office|boss|shift|manager|role|team|colleagues?|coworkers?) at (?:the )?"
            rf"(?P<o>{_PLACE.replace('?P<o>', '?:')}|(?<=the )[a-z]+(?: [a-z]+)?(?=[,.;!]| (?:but|and)\b|\Z))",
            "I work at {o}",
        ),
        (
            " in ",
            # Who rents a flat out does not live in it.
            rf"(?<!out )(?<!let )(?<!letting )(?<!rent )(?<!renting )(?<!sold )"
            rf"\b(?:[Mm]y|[Oo]ur) (?:little |tiny |small |own )?(?:flat|house|apartment|studio|home"
            rf"|place) (?:here )?in {_PLACE}\b(?!(?: is|['’]s| was)? (?:rented |let )?(?:out|let|rented|sold)\b)",
            "I live in {o}",
        ),
        ("like me", r"\b(?:an?|for) (?P<o>[a-z]+(?: [a-z]+)?) like me\b", "I am a {o}"),
        (
            "here in",
            rf"\b(?:[Hh]ere|[Dd]own here|[Uu]p here|[Oo]ver here) in {_PLACE}(?=,? (?:we|I|it|where|the)\b|[,.!?]|\Z)",
            "I live in {o}",
        ),
    )
]
"""What a sentence takes for granted, also where it asks: a word that must be there, a pattern, and a plain sentence."""
_NONE = LazyPattern(
    rf"(?:\A|, |\band |\b(?:[Ii]|[Ww]e)(?: have|['’]ve got) )[Nn](?:o|either) (?P<no>{_KINDS}|pets|animals|allergies)\b"
    rf"|\b(?:[Ii]|[Ww]e) {_NOT}(?: have| got)?(?: any| an?)? (?P<not>{_KINDS}|pets|animals|allergies)\b(?! "
    rf"(?:named|called)|['’ ]*[{UPPER}])"
    r"|\bI['’]?a?m an (?P<only>only child)\b|\bI(?:['’]m| am) not (?P<never>allergic) to anything\b"
).finditer
_EVENTS = (
    r"(?:interview|exam|appointment|flight|surgery|operation|test|check-?up|recital|gig|wedding|trip|holiday|visit"
    r"|date|meeting|viewing|party|match|concert|replacement|procedure|scan|hearing|graduation|audition|assessment"
    r"|exhibition)"
)
_SAYINGS: list[tuple[str, LazyPattern, str, bool]] = [
    (hint, LazyPattern(pattern, re.DOTALL), relation, ended)
    for hint, pattern, relation, ended in (
        (
            " again",
            r"\bI(?: am|['’]m|['’]ve| have)? (?:now |just )*(?:(?:started|begun|began|back to|went back to) )*(?P<o>)"
            r"(?:eat|eating) (?:meat|fish|dairy|eggs|gluten|animal products) again\b",
            "diet",
            True,
        ),
        (
            "living",
            r"\bI (?P<o>(?!do\b|make\b|work\b|earn\b)[a-z]+ [a-z ]{2,30}?) for a living\s*(?:\Z|[.!;])",
            "occupation",
            False,
        ),
        ("i teach", r"\bI (?P<o>teach [a-z]+(?: [a-z]+)?)(?=\s*(?:\Z|[,.;]|at\b|in\b))", "occupation", False),
        (
            "",
            rf"\b(?i:I have|I['’]ve(?: got)?|got|we have|we['’]ve(?: got)?) (?:an? "
            rf"|my )?(?P<o>(?:[\w-]+ ){{0,3}}{_EVENTS} "
            r"(?:(?:with|at|for|in|to) [^,;.!?]{2,30}? )?(?:on|tomorrow|next|this|at)\b[^,;.!?]{2,40})",
            "plans",
            False,
        ),
        (
            "y ",
            rf"\b(?:[Mm]y|[Oo]ur) (?P<o>(?:[a-z]+ ){{0,2}}{_EVENTS}[^,;.!?]{{0,30}}?)(?: is|['’]s) (?:on|in|next"
            r"|tomorrow|this"
            rf"|(?:scheduled|booked|planned|set|fixed) for)\b",
            "plans",
            False,
        ),
        (
            "tickets",
            r"\b(?i:got|bought|have|booked|scored|snagged) (?:us )?(?:\w+ )?tickets (?:for|to) (?:the "
            r")?(?P<o>[^,;.!?]{3,60})",
            "plans",
            False,
        ),
        (
            "",
            rf"\A\W*(?P<o>(?i:dentist|doctor|driving test|haircut|vet|gp|{_EVENTS})(?:['’]s)? (?:appointment "
            r")?(?:(?:on|to) [A-Z]"
            rf"|next |this |tomorrow)[^,;.!?]{{0,30}})",
            "plans",
            False,
        ),
    )
]
_FAVOURITE = LazyPattern(
    r"(?P<o>[\w' -]{2,40}?)(?: is|['’]s| are| has to be) my (?:all-time |absolute )?favou?rite "
    r"(?P<what>[a-z]+)\b"
).search
_FREE_TIME = LazyPattern(
    r"\b(?i:in my (?:free|spare) time|outside (?:of )?work|away from work|when I['’]m not working(?=,| I )"
    r"|hobbies(?: are| include)?)"
    r"(?::|,)? (?P<i>I )?(?P<o>[a-z][^.;!?]{3,120})"
).search
_HAS_KIN = LazyPattern(
    rf"\b(?P<who>I|i|[Ww]e|(?P<one>{NAME}) and (?P<two>(?!I\b){NAME}))(?: have|['’]ve got|['’]ve|(?:['’]re| are) "
    rf"raising|(?:['’]m| am| live)\b[^.;!?]{{0,60}}? with) (?:an? |one |two "
    rf"|three |four |five |another |(?=twins))(?:(?:[a-z-]+ )?(?:{_KINDS})(?:,| and) (?:an?|one|two|three) "
    rf")?(?:[a-z-]+ )?(?P<kin>{_KINDS})(?:,? (?:named|called) |, |: | - )(?={NAME})"
).finditer
_AND_KIN = LazyPattern(
    rf"(?:,? and|,) (?:an? |one )(?:[a-z-]+ )?(?P<kin>{_KINDS})(?:,? (?:named|called) |, )(?={NAME})"
).finditer
_NEWLY = LazyPattern(rf"\b(?:our|my) (?:little|baby|newborn) (?P<o>{NAME}) was born\b").search
_LOST = LazyPattern(
    r"\b(?i:lost|buried|rehomed|re-homed|gave away|given away|give away|said goodbye to|say goodbye to|put|gave"
    r"|give|given"
    rf"|have|bury|rehome) (?:(?:our|my) (?:[a-z]+ )?(?:(?P<animal>{_ANIMALS})|(?P<kin>{_KINDS}))(?:,? "
    rf"(?P<named>{NAME}))?|(?P<given>{NAME}))"
    r"(?P<off> (?:away|up|down|put down|to (?:sleep|my|our|an?|the)))?\b"
    # Who it is cannot be known; of one who was no pet, it ends nothing.
    r"|\A\W*(?i:(?:wee|poor|old|little|dear|sweet|darling|beloved|lovely|our|my|sadly,?|and) ){0,4}"
    rf"(?P<dead>{_CAP}) (?:has |sadly |just )*(?:died|passed away|ran away|(?:was|had to be) put "
    rf"down)\b(?! (?:of )?laugh)"
).search
_TAKES_OFF = ("put", "gave", "give", "given", "have")


def sayings(text: str, doubt: int) -> Iterator[RuleMatch]:
    """What set phrases of a sentence state before ``doubt``."""
    lower = text.lower()
    for hint, pattern, relation, ended in _SAYINGS:
        found = pattern.search(text) if hint in lower else None
        if found is None or found.start() > doubt or (relation == "occupation" and "I'm a" in text):
            continue
        kind = PLAN if relation == "plans" else STATE
        yield RuleMatch(relation, *found.span("o"), *found.span(), kind=kind, negated=ended, confidence=0.75)
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
    for none in _NONE(text, 0, doubt):
        word = none["no"] or none["not"] or ("allergies" if none["never"] else "sibling")
        relation = KIN.get(word, "allergic_to" if word == "allergies" else "pet")
        if relation:
            yield RuleMatch(relation, none.start(), none.start(), *none.span(), negated=True, confidence=0.75)
    lost = _LOST(text, 0, doubt)
    if lost is not None:
        yield from _gone(text, lost)


def _gone(text: str, lost: re.Match[str]) -> Iterator[RuleMatch]:
    """Who died, or was given away."""
    verb = lost[0].split(" ", 1)[0].lower()
    needs_off = verb in _TAKES_OFF and not lost[0].lower().startswith(("gave away", "give away", "given away"))
    if not lost["dead"] and (
        needs_off != bool(lost["off"]) or (lost["kin"] and verb not in ("lost", "buried", "bury"))
    ):
        return
    which = next(one for one in ("named", "given", "dead", "animal", "kin") if lost[one])
    if which == "given" and not lost["off"] and verb not in ("buried", "bury", "rehomed", "rehome", "re-homed"):
        return
    if which in ("named", "given", "dead") and (not name(text, *lost.span(which)) or lost[which].lower() in KIN):
        return
    relation = KIN[lost["kin"]] if lost["kin"] else "pet"
    place = (lost.start(), lost.start()) if which == "kin" else lost.span(which)
    if relation:
        word = lost["kin"] if which == "kin" and relation not in ("married_to", "partner") else ""
        yield RuleMatch(relation, *place, *lost.span(), object=word, negated=True, confidence=0.8)


def _lists(text: str, doubt: int) -> Iterator[RuleMatch]:
    """Hobbies after "in my free time"."""
    free = _FREE_TIME(text, 0, doubt)
    if free is not None:
        at = free.start("o")
        for one in re.split(r"(,\s*(?:and\s)?|\sand\s)", free["o"]):
            if (
                len(one.split()) <= 4
                and one.strip(" ,") not in ("", "and", "i", "i like", "i love")
                and not one.startswith(("I ", "i "))
                and not (free["i"] and one.split()[0] not in PASTIMES)
            ):
                yield RuleMatch("hobby", at, at + len(one.rstrip()), *free.span(), confidence=0.7)
            at += len(one)


_KIN_HAS = LazyPattern(
    rf"\b[Mm]y (?:[a-z]+ )??(?P<of>{_KINDS})(?:['’]s got| has(?: got)?) an? (?:[a-z-]+ )?(?P<kin>{_KINDS})(?:,? "
    rf"(?:named|called) |, )(?={NAME})"
).finditer


def has_kin(text: str, doubt: int) -> Iterator[RuleMatch]:
    """Relatives after "I have two sisters" and "my brother has a girlfriend"."""
    for has in _KIN_HAS(text, 0, doubt):
        of = SAME_KIN.get(has["of"], has["of"])
        for place in names(text, has.end(), len(text))[:1]:
            if KIN[has["kin"]]:
                yield RuleMatch(KIN[has["kin"]], *place, has.start(), place[1], kin=of, confidence=0.85)
    for has in _HAS_KIN(text, 0, doubt):
        for more in _AND_KIN(text, has.end(), doubt):
            for place in names(text, more.end(), len(text))[:1]:
                if KIN[more["kin"]] and not has["one"]:
                    yield RuleMatch(KIN[more["kin"]], *place, has.start(), place[1], confidence=0.85)
        for place in names(text, has.end(), len(text)):
            for owner in (has["one"], has["two"]) if has["one"] else ("",):
                if KIN[has["kin"]]:
                    yield RuleMatch(KIN[has["kin"]], *place, has.start(), place[1], owner or "", confidence=0.85)
