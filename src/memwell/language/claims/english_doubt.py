"""What an English sentence does not mean: quotations, asides, jests, fiction, questions and doubt."""

from __future__ import annotations

import re

from memwell.language.patterns import LazyPattern, lowered

# Patterns without IGNORECASE are searched for in lowered texts, three times as fast.

_MOST_SEARCHED = 2_000

_QUOTED = LazyPattern(r"[\"“][^\"“”\n]{0,400}[\"”]")
_SINGLE = LazyPattern(r"(?:(?<=[\s:(])|\A)['‘](?=[A-Z])[^\n]{2,400}?[.!?,]?['’](?=[\s.,;:!?)]|\Z)")
MATERIAL = LazyPattern(
    r"\W*(?:(?:please|can you|could you|would you|help me(?: to)?|i need you to)\b,? )*(?:write|draft|compose|translate"
    r"|summari[sz]e|rewrite|rephrase|reword|fix|proofread|edit|correct|improve|continue|complete|paraphrase"
    r"|shorten|polish"
    r"|check|review)\b[^:\n]{0,120}:(?=\s|\Z)",
    re.IGNORECASE,
).match
"""How a message begins that gives a text to work on: what follows the colon is not said of the user."""
_TITLE = LazyPattern(r"\bfavou?rite [a-z]+(?: of all time)?(?: is|['’]s| was|:) \Z").search
_ASIDE = LazyPattern(
    r"\b(?:(?:not sure|dunno|don['’]t know|can['’]t remember|no idea|don['’]t remember|not certain|forgot) "
    r"(?:if|whether) (?:i|you|we|this|it|that|anyone)\b[^,;:.!?]{0,60}?(?= but\b|[,;:.!?]|\Z)"
    r"|(?:as|like) (?:i|we) (?:said|mentioned|told you|say|wrote)(?: (?:before|earlier|already|last time))?"
    r"|in case (?:you|anyone|it|that)(?: \w+){1,5}|(?:if|since|as|because) you (?:ask|asked|must know|want to "
    r"know|were wondering|need to know|re asking|are asking)(?: \w+)?"
    r"|(?:forget|ignore|disregard|scratch(?= what)) (?:what i (?:said|told you|wrote)|that)[^,;:.!?]{0,30}"
    r"|contrary to (?:what"
    r"|popular|rumou?rs?)\b[^,;:.!?]{0,50}|before (?:i|we) (?:forget|start|begin|go on)|if (?:it|that) "
    r"(?:helps|matters)"
    r"|if i (?:haven['’]t|didn['’]t)[^,;:.!?]{0,40}|(?:i )?(?:forgot|wanted|meant|have|need|should|ought|just "
    r"wanted|thought i['’]d)(?: to)? (?:say|mention|tell you|add|admit|confess|let you know)(?: that)?"
    r"|i don['’]t think i(?:['’]ve)? (?:told|mentioned|said)[^,;:.!?]{0,30}|(?:just )?so you know(?: \w+ "
    r"you['’]re \w+ \w+)?|(?:for|to) the record|let me (?:correct|rephrase|clarify|fix) (?:that|this|myself)"
    r"|to be (?:honest|fair|clear|frank|precise)(?: with you)?"
    r"|i (?:must|have to|gotta) say|you know what|fun fact|guess what|(?:don['’]t|dont) laugh|believe it or "
    r"not|(?:can|would) you believe (?:it|that)|you won['’]t believe (?:it|this)"
    r"|turns out(?: that)?|as it turns out|it turns out(?: that)?|i should (?:mention|say|add)(?: that)?|sorry "
    r"if [^,;:.!?]{0,50}|you (?:can|could|might) (?:probably )?(?:tell|guess|know)[^,;:.!?]{0,40}"
    r"|(?:(?:my|the|our) )?(?:doctors?|gp|allergist|dermatologist|specialist|nurse"
    r"|(?:allergy )?clinic|hospital) (?:says?|said|tells me|told me"
    r"|confirmed)"
    r"(?: that)?(?= (?:that )?i(?:['’]m| am|['’]ve(?: got)?| have) (?:\w+ )?(?:allergic|intolerant|co?eliac)\b)"
    r"|(?:i(?:['’]ve| have)? )?(?:just |only )?(?:found|finding) out(?: the hard way)?(?: that)?(?= i\b)"
    r"|i(?:['’]ve been| was| have been) told(?: that)?(?= i(?:['’]m| am) (?:\w+ )?(?:allergic|intolerant)\b)"
    r"|(?:i (?:just )?(?:guess|suppose|thought|figured|feel|think) )?you (?:should|ought to) (?:probably "
    r"|also )?know(?: that)?|i (?:guess"
    r"|suppose)(?= i should)"
    r"|(?:just )?(?:an? )?(?:quick |friendly |gentle |little )?reminder(?: that)?|let me (?:introduce myself"
    r"|tell you(?: that)?|explain)"
    r"|i was (?:just )?telling (?:someone|a friend|my \w+|people)(?: that)?|it (?:might"
    r"|may) interest you(?: to know)?(?: that)?|what you (?:should|need to|must|have to) know is(?: that)?"
    r"|(?:one|another) thing (?:to know |you should know )?is(?: that)?|(?:the )?(?:fact|truth|point) is(?: that)?"
    r"|(?<!my )(?:but )?(?:the )?thing is|long story short|not that (?:it|you|anyone)[^,;:.!?]{0,30}"
    r"|(?<=\band)(?<!\w\wand), (?:\w+ly|for some reason|of all things)(?: enough)?,(?: to(?= [a-z]))?"
    r"|you (?:may|might) want to (?:note|know|remember)(?: that)?|i(?:['’]d| would) like you to (?:remember|know"
    r"|note)(?: that)?"
    r"|the reason (?:i ask|i['’]m asking) is(?: that)?|(?:please )?bear in mind(?: that)?"
    r"|(?<=\bno, )i said(?: that)?(?= i\b)|i never said (?:that )?i\b[^,;:.!?]{2,40}(?=,)"
    r"|strictly speaking|please (?:note|remember|correct your notes"
    r"|update your notes|be aware)(?: that)?|note "
    r"that|remember that|keep in mind that|i['’]d (?:say|like you to know(?: that)?)|no "
    r"offen[cs]e[^,;:.!?]{0,30})(?=[\s,;:.!?…]|\Z)"
)
_JOKE = LazyPattern(
    r"\b(?:just kidding|kidding|joking|jk|just a joke|/s|yeah,? right|as if|lo{2,}ve|in my dreams|said "
    r"no one)\b(?:\W*\Z)?|😂|🤣|\A\W*(?:oh (?:sure|yeah|yes|great|joy|wonderful|fantastic|brilliant|perfect"
    r"|lovely)|sure|right|yay)[,.!…] (?=.*\bjust\b|and i|.*\blo+ve\b)"
    r"|\bthe (?:school of hard|university of (?:life|youtube|google|netflix|tiktok|\d))|\b(?:hogwarts|narnia"
    r"|mordor|wakanda"
    r"|atlantis|westeros|neverland|batman|inigo montoya|voldemort|gandalf|james bond|santa claus)\b"
).search
NOT_AT_ALL = LazyPattern(
    r"\W*(?:(?:on (?:netflix|youtube|tv|paper)|from dating|out of patience|the (?:lego|toy|plastic|chocolate"
    r"|inflatable) one"
    r"|it['’]s (?:\d+:\d+ scale|a toy|inflatable|made of lego))\W*\Z|(?:he|she|they) (?:just )?do(?:es)?n['’]t know"
    r" (?:it|about it|me) yet\b|(?:not|psych)\W*\Z|(?:(?:well|ok"
    r"|okay),? )?(?:an? \w+ )?(?:of (?!the\b)[a-z]+|in (?:my|the) (?:head"
    r"|mind|dreams?|bathtub"
    r"|bath|imagination|sims|minecraft|fridge))(?: [a-z]+)?\W*\Z|(?:just |only |i['’]?m |i was )*(?:kidding"
    r"|joking|jk)\b)",
    re.IGNORECASE,
).match
NO_LONGER = LazyPattern(
    r"\W*(?:(?:or|well|ok|okay|at least|I mean|that is)\b,? )*(?:I )?(?:used to(?! \w)|(?:was|were|did|had|worked"
    r"|lived)(?=\W*\Z|,? (?:until|till"
    r"|anyway|before|up to|up until)\b))",
    re.IGNORECASE,
).match
"""How a sentence begins that says of the one before it that it is so no longer: "I work for BT. Used to, anyway"."""
CANCELLED = LazyPattern(
    r"\W*(?:(?:but|so|and|sadly|unfortunately|oh no|ugh|damn)\b[,! ]*)*(?:it|(?:my|the|our|that) (?:flights?|trip|train"
    r"|booking|tickets?|holiday|journey|appointment|interview|meeting|gig|concert|wedding|party|visit))"
    r"(?:['’]s| is| was| were| got| has| have)(?: just| now| been| being)* (?:cancell?ed|called off|scrapped)\b",
    re.IGNORECASE,
).match
"""How a sentence begins that says of the plan before it that nothing will come of it."""
QUOTES = LazyPattern(r"(?<!\d)[\"“”]")
_JOKES_AT_END = LazyPattern(
    r"(?:, obviously\W*|, allegedly\W*|\((?:poster|toy|lego|model)\)\W*|\b(?:lol|haha\w*|lmao|rofl)\W*|[;:]-?[)pP]"
    r"|[\U0001f602\U0001f923\U0001f609\U0001f643\U0001f605]\W*)\Z",
    re.I,
).search
_UNSURE = LazyPattern(
    r",? (?:maybe|perhaps|probably|possibly|I think|I guess|I suppose|not sure(?: though)?"
    r"|if I remember (?:right|correctly)"
    r"|or something(?: like that)?)[.!…\s]*\Z",
    re.IGNORECASE,
).search
_IRONIC = LazyPattern(
    r"\b(?:with \d+ years(?: of)? experience|at this point|(?:might|may) as well|(?<=\d )in (?!recent"
    r"|human)[a-z]+ years"
    r"|for the (?:\w+th"
    r"|third) time"
    r"|since birth|"
    r"just lo+ve (?:\w+ing|how|when|it)|love (?:being|getting|waiting|standing|sitting|paying|having to|waking"
    r"|losing|when)|"
    r"(?:professional|certified|full-time|world-class|expert|champion|licensed) (?!\w+ (?:at|for"
    r"|in)\b)\w+(?:er|or|ist)\b(?=\W*\Z)|"
    r"(?:phd|degree|master['’]?s|black belt|diploma|doctorate) in (?:procrastinat|sarcas|napp|overthink"
    r"|nonsense|netflix|bullshit|worry|wasting|avoid)|"
    r"of (?:procrastination|nothing|napping|laziness|overthinking|snacks|love)(?=\W*\Z)|and (?:regret|despair|tears"
    r"|chaos|caffeine|anxiety|spite)|(?:to|on) (?:the moon|mars)|sea ?food diet"
    r"|(?:ceo|king|queen|mayor|president|master) of [a-z]+(?=\W*\Z)|hobb(?:y|ies) (?:is|are|includes?) (?:[a-z]+ and"
    r" )?(?:cancel|los|avoid|complain|procrastinat|breath|exist|overthink|cry"
    r"|worry|paying|sleeping through|ignor|napp)\w*|favou?rite (?:form of )?(?:exercise|sport|workout|cardio) is"
    r" (?:lunch|breakfast"
    r"|dinner|chew|napp|sleep|eat|sitt|jumping to|running late|shopp)\w*|(?<=\d) and holding|figuratively"
    r"|metaphorically"
    r"|(?:vegan|vegetarian),? except|(?:in|on) (?:the sims|gta|gran turismo|minecraft|monopoly|fifa|skyrim|forza)"
    r"|of (?:this|the|our) household(?=\W*\Z)|bottle washer|m[uo]m['’]?s taxi|taxi driver for|dust"
    r" bunn(?:y|ies)|in my head|(?:full-time|professional|certified) (?:disappointment|mess|disaster|idiot)"
    r"|(?:vegan|vegetarian) (?:who|that) [^.!?]{0,20}\b(?:bacon|steak|burgers?|meat|chicken)|between meals"
    r"|win(?:s|ning)? the lottery|the (?:couch|sofa|fridge|kettle|coffee machine"
    r"|dust))\b"
).search
_FICTION = LazyPattern(
    r"\b(?:line|bio|caption|letter|homework|speech|review|lyrics|motto|slogan|chorus|headline|ad|poem|essay"
    r"|dialogue|script"
    r"|tweet|card|sign|voicemail|out-of-office)\b[^:.!?]{0,25}: |"
    r"\b(?:in|from|of|read|watch\w*|heard?) (?:the|this|that|a|my|her|his|an old) (?:\w+ )?(?:film|movie|book"
    r"|novel|song|show|series|episode|game|story|poem|podcast|dream|sketch|"
    r"musical|opera|lyrics|play|sitcom|soap|drama|documentary)\b|\b(?:headline|lyrics|the character|bumper "
    r"sticker|t-shirt|for this exercise|role-?play|hypothetically|in another life|in a past life|"
    r"translate|proofread|rephrase|rewrite|let['’]s (?:say|pretend|imagine|assume)|dreamt|dreamed|nightmare"
    r"|once upon|stuck in my head|the (?:chorus|song|line|ad|sign|slogan|motto|meme|poster|caption|headline) (?:goes"
    r"|says|said|reads|is|was)|"
    r"someone told|somebody told|according to|the article|i read that|i heard that|in an alternate|as they say"
    r"|as the saying|dear diary|quot(?:e|ing) (?:my|him|her|the|from)|(?:mug|(?:t-)?shirt|sign|sticker|poster|badge"
    r"|banner|label|plaque|cap) (?:it )?(?:says|said"
    r"|reads)|for (?:the|our|a|my)"
    r" (?:[\w&]+ )?(?:campaign|rpg|larp|character|screenplay|novel|school play|play|musical|panto\w*|role-?play)"
    r"|as [a-z]+(?: [a-z]+)? (?:says|sings|would say|once"
    r" said),)(?=\W|\Z)"
).search
NO_STATEMENT = LazyPattern(
    r"\A[\s\"“]*(?:if|once (?:I['’]m|I am|I have|I['’]ve|I get|we['’]re|we have)|whenever|unless|suppose|supposing"
    r"|imagine|pretend|until|whether|would|could|should|do|does|"
    r"did|am|is|are|was|were|can|will|have (?:I|you|we|they)|has (?:he|she|it|my)|who|what|where|why|how|which"
    r"|let(?! me)|maybe|perhaps|>|had (?:I|we|he|she)|isn['’]t|aren['’]t|say (?:some|I|my|you)|any idea|tell me)\b"
    r"|\A\s*>",
    re.IGNORECASE,
).match
UNREAL = LazyPattern(r"\A\W*(?:what if|suppose|supposing|imagine|pretend|say |let['’]?s|had )", re.IGNORECASE).match
_DOUBT = LazyPattern(
    r"[,;] (?:and|but|so) (?=(?:if|unless|i wish)\b)|, (?=(?:people|every\w+|they|you)\b[^,;]{0,20}? (?:assumed?"
    r"|think|thought|say|guess|believe)\b)"
    r"|\b(?:(?P<unreal>if|whether|unless|wish|wishes|imagine|pretend|pretending|suppose|joked|joking|kidding|as "
    r"though|dreamed|dreamt|lied|another life)"
    r"|(?:said|say)(?! goodbye)|says|told|tells|asked|claims|claimed|thinks|thought|assume|assumes|assumed|was like"
    r"|(?<!here )goes(?= "
    r"\x00|:)|repeat(?=:)|words (?:were|are)(?=[,:])|(?:he|she|they|kid|guy|bloke|woman|man) goes(?=,)|(?:wrote"
    r"|writes|texted|posted|tweeted|shouted|announced|replied|sings|reads|repeating|chanting"
    r"|muttering|shouting|yelling|yelled|screamed)(?=[:,]"
    r"|(?: \w+){1,4}: )|(?:\btext|note|message|post|email|caption|letter) read(?=:)|(?:kept|keeps) (?:shouting"
    r"|yelling|saying|telling)"
    r"|(?:shouting|yelling|screaming|insists|insisted|swears|swore|claiming) (?:that )?(?=i\b|my\b))\b"
)
_RESUMES = LazyPattern(r"[;]|, but |, and (?=I['’]m\b|my\b)|\bbut (?=I['’]m\b|I\b|my\b)").search
ASKED = LazyPattern(
    r"(?:,| -|;|:)\s*(?:so |and |but )?(?:is|are|was|do|does|did|can|could|should|would|will|what|where|who"
    r"|why|how|which|when|any|isn['’]t|aren['’]t|don['’]t|doesn['’]t|have|has)\b(?! (?:you )?right)",
    re.IGNORECASE,
).search


def without_asides(sentence: str) -> str:
    """The sentence with the same length, quotations and talk about the talk blanked."""
    if '"' in sentence or "“" in sentence:
        sentence = _QUOTED.sub(
            lambda quote: quote[0] if _TITLE(sentence[: quote.start()]) else "\x00" * len(quote[0]), sentence
        )
    if "'" in sentence or "‘" in sentence:
        sentence = _SINGLE.sub(lambda quote: "\x00" * len(quote[0]), sentence)
    kept = 0
    parts: list[str] = []
    for aside in _ASIDE.finditer(lowered(sentence)):
        parts += (sentence[kept : aside.start()], " " * len(aside[0]))
        kept = aside.end()
    return "".join(parts) + sentence[kept:] if parts else sentence


def doubts(text: str, stop: int) -> tuple[int, int]:
    """Where the statements of a sentence cease, and from where they are resumed."""
    doubt = _DOUBT.search(lowered(text), 0, stop)
    if doubt is None:
        return stop, stop
    resumed = None if doubt["unreal"] else _RESUMES(text, doubt.end(), stop)
    return doubt.start(), stop if resumed is None else resumed.start()


def is_not_meant(text: str) -> bool:
    """Whether a sentence is a jest, fiction, or a guess, so that it states nothing."""
    short = lowered(text[:_MOST_SEARCHED])
    # Who laughs at an allergy has it.
    laughs = _JOKES_AT_END(text[-16:]) and not _HARMS(short)
    return bool(_FICTION(short) or _IRONIC(short) or _JOKE(short) or laughs or _UNSURE(text[-40:]))


_HARMS = LazyPattern(
    r"\b(?:i['’]?m|i am|is|are) (?:\w+ )?(?:allergic|intolerant) to (?!mondays?|work|people|exercise|stupid)"
).search
