"""The English verb frames: which verb with which words after it states which relation, and how its object is cut out.

Those of homes and work are in ``english_homes_and_work``.
"""

from __future__ import annotations

import re

from memwell.language.claims.english_homes_and_work import BEGINS, ENDS, FRAMES, HAPPENS, OBJECT, add
from memwell.language.claims.english_objects import (
    DIETS,
    KIN,
    LANGUAGES,
    PETS,
    PLAYED,
    THINGS,
    UPPER,
    Place,
    age,
    allergens,
    anything,
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
    several,
)
from memwell.language.claims.english_verbs import verb_forms
from memwell.language.patterns import LazyPattern

_O = OBJECT
_AN = r"(?:an?|the|one|two|three|four|five|six|\d+|my|some|another|her|his|our|their) "

# Languages.
_FLUENT = (
    r"(?:fluent |some |a little |both |a bit of |a word of |any |a few words of |basic |conversational |broken "
    r"|native |decent |good |only |mainly |mostly |\w+ languages[:,] |among them |including )*"
)
add("speak", rf"{_FLUENT}{_O}", "speaks", several(listed(LANGUAGES)), confidence=0.9)
add("learn", rf"(?:to play |how to play )?(?:the )?{_O}", "hobby", listed(PLAYED), after="ing")
add("learn", rf"(?:to speak |how to speak )?{_O}", "studies", several(listed(LANGUAGES)), after="ing")
add("get; manage", rf"by in {_O}", "speaks", several(listed(LANGUAGES)))

# Age.
add("be", rf"(?:now |only |just |actually |already |finally )*{_O}", "age", age)
add("be", r"(?:an? )(?P<o>\d{1,3})[- ]year[- ]old", "age", anything)
add("turn; hit; reach", rf"(?:the big )?{_O}", "age", age, HAPPENS)

# Health and food. All ways of saying an allergy are kept: without a reader none may be missed.
add("be", rf"(?:\w+ )?(?:allergic|intolerant) to (?:both )?(?:the )?{_O}", "allergic_to", allergens, confidence=0.9)
add(
    "be",
    r"(?:severely |badly |very |a bit )?(?P<o>lactose|gluten|fructose|histamine|dairy|soy|egg)[- ]intolerant",
    "allergic_to",
    anything,
    confidence=0.9,
)
add(
    "have",
    r"an? (?:severe |mild |bad |serious |slight )*(?P<o>(?!severe\b)[a-z]+(?: [a-z]+)?) (?:allergy"
    r"|intolerance)\b(?! to)",
    "allergic_to",
    anything,
    confidence=0.9,
)
add(
    "suffer",
    r"from (?:an? )?(?:severe |mild |bad |serious |terrible )*(?P<o>(?!severe\b|bad\b)[a-z]+(?: [a-z]+)?) (?:allergy"
    r"|allergies|intolerance)\b",
    "allergic_to",
    anything,
)
add("have", rf"(?:an? )?(?:[a-z]+ )?(?:allergy|intolerance) to {_O}", "allergic_to", allergens, confidence=0.9)
add(
    "develop; be diagnose; get",
    rf"(?:with )?(?:an? )?(?:[a-z]+ )?(?:allergy|intolerance) to {_O}",
    "allergic_to",
    allergens,
    BEGINS,
    confidence=0.9,
)
add(
    "be diagnose; develop",
    r"(?:with )?(?:an? )?(?:severe |mild |bad )?(?P<o>[a-z]+(?: [a-z]+)?) (?:allergy|intolerance)",
    "allergic_to",
    anything,
    BEGINS,
)
add(
    "eat; tolerate; digest; have; handle; do",
    r"(?:any )?(?P<o>(?:gluten|dairy|lactose|nuts|peanuts|shellfish|eggs|wheat|milk|soy|seafood|fish"
    r"|fructose|prawns|shrimps?|sesame|penicillin|aspirin|ibuprofen|amoxicillin|codeine)\b)",
    "allergic_to",
    anything,
    after="cannot",
)
add("take", r"(?P<o>(?:penicillin|aspirin|ibuprofen|amoxicillin|codeine)\b)", "allergic_to", anything, after="cannot")
add(
    "outgrow; lose",
    r"(?:my|his|her|the) (?P<o>[a-z]+(?: [a-z]+)?) (?:allergy|intolerance)",
    "allergic_to",
    anything,
    ENDS,
)
add("react", rf"(?:really |very )?(?:badly|severely|terribly|allergically) to {_O}", "allergic_to", allergens)
add("go; become; turn", rf"(?:an? )?(?:fully |full |completely )?{_O}", "diet", listed(DIETS), BEGINS, confidence=0.9)
add(
    "be; go; eat; become; turn; be raise; keep",
    rf"(?:an? )?(?:strict |strictly |lifelong |committed |fully |full |mostly |proud |completely |raised "
    rf")*{_O}",
    "diet",
    listed(DIETS, most=1),
    confidence=0.9,
)
add(
    "eat; drink",
    r"(?:any )?(?P<o>(?:red meat|meat|pork|beef|fish|dairy|eggs|sugar|gluten|carbs|animal products|seafood|wheat"
    r"|alcohol))\b(?! any)",
    "diet",
    lambda s, at, e: [(_denial_before(s, at), e)],
    after="never does",
)
add("be", rf"done with (?:being )?(?:an? )?{_O}", "diet", listed(DIETS), ENDS, after="present")
add(
    "close; shut; wind; lose",
    rf"(?:down |up )?(?:my|our|the) (?:own |little |small )?{_O}",
    "owns",
    listed(THINGS, most=3),
    ENDS,
)
add("stop; quit; give", rf"(?:up )?(?:being|working as) (?:an? )?{_O}", "occupation", job, ENDS)
add("go; switch; change", r"from (?P<o>[a-z-]+) to ", "diet", listed(DIETS), ENDS)

add("be", r"(?:an? )?(?P<o>coeliac|celiac)\b", "allergic_to", anything, confidence=0.9)
add("have", r"(?:got )?(?P<o>coeliac|celiac)\b", "allergic_to", anything, confidence=0.9)
add(
    "be diagnose; develop; get",
    r"(?:with |as )?(?:an? )?(?P<o>coeliac|celiac)\b(?! test)",
    "allergic_to",
    anything,
    BEGINS,
    confidence=0.9,
)

# Love.
add(
    "be marry; marry; wed; be remarry; remarry",
    rf"(?:to )?(?P<o>(?:[{UPPER}]|an? \w+ (?:called|named) )\S.*)",
    "married_to",
    name,
    BEGINS,
    confidence=0.85,
)
add("be engage; be propose", rf"(?:to )?(?:by )?(?P<o>[{UPPER}]\S.*)", "partner", name, BEGINS)
add("be dump; be ditch; be jilt", rf"by (?P<o>[{UPPER}]\S.*)", "partner", name, ENDS)
_HER_PARTNER = r"(?:her|his|their|my) (?:[a-z-]+ )?(?:boyfriend|girlfriend|partner|fianc[eé]+|bloke|fella)"
add("break; split", rf"(?:up )?(?:with|from) (?:{_HER_PARTNER},? )?(?P<o>[{UPPER}]\S.*)", "partner", name, ENDS)
add(
    "break; split; dump; ditch; jilt",
    rf"(?P<o>)(?:up )?(?:with |from )?{_HER_PARTNER}\b(?!,? [{UPPER}])",
    "partner",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("divorce; be divorce; be separate; separate", rf"(?:from )?(?P<o>[{UPPER}]\S.*)", "married_to", name, ENDS)
add("be", rf"(?:good |close |best |great |old |still )*friends with {_O}", "friend", names)
add("be supervise; be mentor; be manage", rf"by (?P<o>(?:[{UPPER}])\S.*)", "colleague", name, BEGINS)
add(
    "be",
    r"(?P<o>)single\b(?! (?:mother|father|mum|mom|dad|parent))",
    "partner",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)
add(
    "leave",
    r"(?P<o>)my (?:husband|wife)(?=\s*(?:\Z|[,.;!]|(?:last|this|after|and|for|in)\b))",
    "married_to",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add(
    "leave",
    r"(?P<o>)my (?:boyfriend|girlfriend|partner)(?=\s*(?:\Z|[,.;!]|(?:last|this|after|and|for|in)\b))",
    "partner",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("tie", rf"the knot with {_O}", "married_to", name, BEGINS)
add(
    "be; be marry",
    r"(?P<o>)(?:divorced|unmarried|a widow|a widower|widowed)\b",
    "married_to",
    lambda _s, at, _e: [(at, at)],
    ENDS,
    after="present",
)
add("be marry", r"(?P<o>)(?=\s*(?:\Z|[,.;!]|yet\b|any))", "married_to", lambda _s, at, _e: [(at, at)], after="not")

# Animals and things.
_PET = listed(PETS, most=4)
_GOT = r"(?:got |myself |ourselves |us |just )*"
add("keep", rf"(?:(?!the\b){_AN})?(?!the\b){_O}", "pet", several(listed(PETS)), confidence=0.8)
add("have; own", rf"{_GOT}(?:any |{_AN})?(?!to\b|not?\b){_O}", "pet", several(_PET), confidence=0.85)
add(
    "get; adopt; buy; rescue; foster; take; bring; welcome",
    rf"(?:in |home |myself |ourselves |us )*{_AN}{_O}",
    "pet",
    several(_PET),
    BEGINS,
    confidence=0.85,
)
add("be give; be gift", rf"{_AN}{_O}", "owns", listed(THINGS, most=4), BEGINS)
add("run", rf"(?:an?|my own|our own) {_O}", "owns", listed(THINGS, most=4))
add("own; co-own", rf"(?!half\b|most\b)(?:{_AN}|both )?(?:a pair of )?{_O}", "owns", phrases, confidence=0.75)
add("have; get", rf"{_GOT}(?:an?|my|our|two|three|another) {_O}", "owns", listed(THINGS, most=4), confidence=0.75)
add("have; get", rf"{_GOT}an? (?P<o>(?:\w+ ){{0,2}}?[{UPPER}][a-z]\S.*)", "owns", make, after="now")
add("be", rf"the (?:proud |happy |lucky |new )*owner of (?:an?|the|my own|two|three) {_O}", "owns", phrase)
add(
    "drive; ride; fly; sail",
    rf"(?:an?|my|our) (?:(?!(?:in|at|for|to|through|around|from|with|on|of|across|into|near"
    rf"|round)\b)[a-z-]+ )*?(?P<o>(?:\d{{4}} )?[{UPPER}]\S.*)",
    "owns",
    proper,
)
add(
    "sell; trade; pawn; scrap; ditch; swap; flog; offload",
    r"(?:in |off )?(?:my|our|the|his|her) (?!story\b|soul\b|idea|tickets?\b|shares?\b)(?P<o>\S.*?)(?=\s(?:for|to|on"
    r"|at|last|this|yesterday|today) |[,.;!]|\Z)",
    "owns",
    phrase,
    ENDS,
)
add(
    "trade; swap; ditch",
    r"(?:in )?(?:my|our|the|his|her) [^,;]{2,40}? for (?:an? |the )?(?P<o>\S.*)",
    "owns",
    phrase,
    BEGINS,
)
add("get", rf"(?:an? )(?P<o>[{UPPER}]\S.*)", "owns", make, BEGINS)
add("upgrade; switch; change; go", rf"from (?:an?|my) (?P<o>[{UPPER}]\S*) to an? ", "owns", make, ENDS)
_FOR_WHOM = (
    rf"(?:myself|us|ourselves|him|her|himself|herself|themselves|them|(?:my|our|his|her) (?:[a-z]+ )?"
    rf"(?:{'|'.join(sorted(KIN, key=len, reverse=True))})(?: [{UPPER}]\w+)?)"
)
add("change", rf"(?:my|his|her) name from (?P<o>[{UPPER}]\w+)", "name", name, ENDS)
add("change", rf"(?:my|his|her) (?:sur|last |first |family )?name (?:from [{UPPER}]\w+ )?to {_O}", "name", name, BEGINS)
add("give; donate; get; throw", rf"(?:away |rid of |out )(?:my|our) {_O}", "owns", phrase, ENDS)
add("have", rf"an? (?P<o>[{UPPER}]\w+(?: [{UPPER}]\S*)+)", "owns", make)
add("inherit; be leave", r"(?:an?|the|my \w+['’]s) (?P<o>\S.*)", "owns", phrase, BEGINS)
add(
    "buy; purchase; order",
    rf"(?:{_FOR_WHOM} )?(?P<o>(?:an?|the|some|two|three|four|my|new|our|his|her) \S.*)",
    "bought",
    phrases,
    HAPPENS,
)
add(
    "exchange; complete; sign",
    r"(?:contracts |the papers )?(?:on|for) (?P<o>(?:an?|the|our|my) (?:[a-z-]+ ){0,3}?"
    r"(?:house|flat|home|place|apartment|cottage|bungalow|maisonette|condo|studio)\b.*)",
    "bought",
    phrases,
    HAPPENS,
)
add(
    "treat; splash; splurge",
    r"(?:myself|ourselves|himself|herself|out)? ?(?:to|on) (?P<o>(?:an?|the|some|two|new) \S.*)",
    "bought",
    phrases,
    HAPPENS,
)
add(
    "get",
    rf"(?!me |us ){_FOR_WHOM} (?P<o>(?:an?|the|some|two|new) (?!job\b|place\b|seat\b|call\b|lift\b)\S.*)",
    "bought",
    phrases,
    HAPPENS,
)


# Taste.
add(
    "like; love; enjoy; adore; cherish; relish",
    rf"(?:to |both |also |listening to |the sound of )*{_O}",
    "likes",
    likings,
)
add(
    "be",
    rf"(?:an? |more |really |quite )*(?:big |huge |massive |lifelong |great |real |total |die-hard |avid "
    rf")*(?:fan of|fond of|into|obsessed with|passionate about|crazy about|mad about|nuts about|keen on"
    rf"|partial to|hooked on|a sucker for|sucker for|big on|a fan of|in love with|addicted to|mad on|wild "
    rf"about) (?:both )?(?!to\b){_O}",
    "likes",
    likings,
)
add("have", rf"an? (?:soft spot|weakness|thing|passion) for {_O}", "likes", likings)
add("hate; dislike; detest; loathe; despise; abhor", rf"(?:to |the sound of )?{_O}", "dislikes", likings)
add("stand; bear; abide; stomach", _O, "dislikes", likings, after="cannot")
add("go", r"(?:right |completely |totally |really |a bit )*off (?P<o>(?!to\b|on\b|the\b)\S.*)", "likes", likings, ENDS)
add("eat; drink", _O, "likes", likings, confidence=0.7, after="over")
add("stop; quit", rf"(?:liking|loving|enjoying|eating|drinking) {_O}", "likes", likings, ENDS)
add(
    "go",
    r"(?P<o>(?:[a-z-]+ )?[a-z]+ing)\b(?! to (?!the\b|an?\b))",
    "hobby",
    lambda s, at, e: [] if s[at:e].split()[-1] in _NO_GOING else [(at, e)],
    after="present",
)
add("play", rf"(?:the |an? |some |a lot of |a bit of )?{_O}", "hobby", several(listed(PLAYED, most=2)), confidence=0.75)
add("be", rf"an? (?:keen|avid|passionate|amateur|enthusiastic|hobby|weekend|recreational) {_O}", "hobby", phrase)
for _verb, _mode in (("join", BEGINS), ("leave; quit", ENDS)):
    add(
        _verb,
        r"(?P<o>(?:an?|the|my|our) (?:[a-z]+ )?(?:choir|band|orchestra|quartet|[a-z]+ club))\b",
        "hobby",
        anything,
        _mode,
    )
_CRAFTS = (
    "paint; knit; crochet; sew; sketch; sculpt; embroider; weave; brew; forage; whittle; carve; restore; "
    "build; bake; quilt"
)
_GENERAL = (
    r"(?P<o>(?!(?:my|the|an?|it|this|that|him|her|you|your|out|up|into|to|for|in|at|on|with|from|off|down|away"
    r"|some|all|them|me|us|and|or|every)\b)[a-z][a-z -]{2,30}?)(?=\s*(?:\Z|[,.;!]|(?:on|in|every|at|for|to"
    r"|as)\b))"
)
add(_CRAFTS, _GENERAL, "hobby", lambda s, at, e: [(_verb_before(s, at)[0], e)], after="present")
add(
    "collect",
    r"(?P<o>(?!my\b|the\b|him\b|her\b|them\b|you\b|dust\b|unpaid\b|unread\b|bills\b|parking\b|regrets\b|debts\b"
    r"|excuses\b|our\b|data\b|rent\b)\S.*)",
    "hobby",
    phrases,
    confidence=0.7,
)
add("keep", r"(?P<o>bees|pigeons|an allotment|an aquarium|tropical fish)\b", "hobby", anything)
add("do; practise; practice; run", rf"(?:a (?:lot|bit) of |some )?{_O}", "hobby", pastime)
add("swap; trade; drop; ditch", rf"(?!nursing|teaching)[a-z][a-z -]{{2,20}}? for {_O}", "hobby", pastime, BEGINS)
add("start; begin; try", rf"(?:doing |to do |learning |with )?{_O}", "hobby", pastime, BEGINS)
add("stop; quit; give", rf"(?:up )?playing (?:the )?{_O}", "hobby", listed(PLAYED, most=2), ENDS)
add("stop; quit; drop", rf"(?:doing )?{_O}", "hobby", pastime, ENDS)
add("give", rf"up (?:doing )?{_O}", "hobby", pastime, ENDS)
add("be", rf"an? (?:huge |big |massive |lifelong |die-hard )*(?P<o>[{UPPER}][\w ]{{1,25}}?) fan\b", "likes", anything)
add(
    "be divorce; be widow",
    r"(?P<o>)(?=\s*(?:\Z|[,.;!]|(?:now|since|in|last|this|at|two|three|young|early)\b))",
    "married_to",
    lambda _s, at, _e: [(at, at)],
    ENDS,
)
add("believe", r"(?P<o>in \S.*)", "believes", phrase, confidence=0.65)

# Travel.
add("climb; hike; trek", rf"(?:up |to the top of )?(?P<o>(?:the )?[{UPPER}]\S.*)", "visited", proper, HAPPENS)
add("set", rf"foot in (?P<o>(?:the )?[{UPPER}]\S.*)", "visited", proper, HAPPENS)
add("visit; tour; explore", r"(?P<o>\S.*)", "visited", several(proper), HAPPENS)
add(
    "go; travel; fly; drive; sail; cycle; hike; backpack; be; come",
    rf"(?:back |on \w+ \w+ |on vacation |on holiday |over |down |up |all over |round |around |away |home "
    rf")*(?:to|around|through|over) (?P<o>(?:the )?[{UPPER}]\S.*)",
    "visited",
    several(proper),
    HAPPENS,
    after="trip",
)

# Names.
add("be call; be name; be christen; be baptise; be baptize", rf"{_O}", "name", name, BEGINS)
add("go", rf"by (?:the name (?:of )?)?(?P<o>[{UPPER}]\S.*)", "name", name, confidence=0.7)

_NO_GOING = frozenset(
    "looking going anything something nothing everything missing wrong getting asking doing crying morning "
    "evening working being having trying".split()
)


def _denial_before(sentence: str, at: int) -> int:
    """Where "don't eat" begins."""
    found = _DENIAL(sentence[:at])
    return at if found is None else found.start()


_DENIAL = LazyPattern(
    r"\b(?:don['’]?t|doesn['’]?t|do not|does not|never)(?: \w+)? (?:eat|drink)s?\s*(?:any )?\Z", re.IGNORECASE
).search


def _verb_before(sentence: str, at: int) -> Place:
    last = len(sentence[:at].rstrip())
    return (sentence.rfind(" ", 0, last) + 1, last)


FORMS = verb_forms(
    {verb.removeprefix("be ") for verb in FRAMES}
    | set(
        "intend plan decide book reserve schedule cancel call postpone die pass euthanize rehome give want need try "
        "hope wish think feel know say tell like help learn apply attend throw host celebrate start meet see pick "
        "catch take enter run compete perform play present launch open publish sign undergo bring come travel head "
        "leave fly name go have lose find spill expect register sign tie end share understand hand donate throw eat "
        "cook coach make watch win hear wait sit walk talk write send ask seem look happen use remember forget "
        "mention replace climb trek set splash splurge welcome report upgrade".split()
    )
)
"""What each form of a known verb may be."""
# A wedding is a noun: "my son's wedding".
del FORMS["wedding"]
