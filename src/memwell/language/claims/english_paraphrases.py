"""What English sentences say in other words: patterns, each with the plain sentence that states the same."""

from __future__ import annotations

import re

from memwell.language.claims.english_objects import (
    ACTIVITIES,
    LANGUAGES,
    NAME,
    PLAYED,
    THINGS,
    UPPER,
)
from memwell.language.claims.english_sayings import ANIMALS, CAPITAL, KINDS
from memwell.language.patterns import LazyPattern

_OUT = r"(?P<o>\S.*)"


_TONGUES = "|".join(sorted(one.title() for one in LANGUAGES))
_PLACE = (
    rf"(?P<o>(?!(?:And|But|So|They|We|You|He|She|It|There|I)\b)[{UPPER}][\w’'&.-]*"
    rf"(?: (?!I\b)[{UPPER}][\w’'&.-]*){{0,3}})"
)
_THINGS = "|".join(sorted(THINGS, key=len, reverse=True))
_PASTIME = "|".join(sorted(ACTIVITIES | PLAYED, key=len, reverse=True))
_BEGIN = r"\A(?:[\w' ,!]{0,30}[,!.:] )?"
_ME = r"(?:has |have |had |just |finally |sadly )*"
_FIRM = (
    "(?:firm|company|startup|start-up|shop|store|agency|bank|bakery|café|cafe|restaurant|school|hospital|studio"
    "|practice"
    "|charity|business|outfit|brand|place|pub|hotel|salon|clinic|brewery|garage)"
)
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
            " new ",
            r"\b[Tt]hat['’]?s (?:us|me) (?:all |finally |now )*(?:moved |settled )?(?:in|into) (?:the|our|my) new "
            rf"(?:place|house|home|flat|apartment) in {_PLACE}",
            "I moved to {o}",
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
        (
            "as a",
            r"(?:\A|[,.;:!] )[Aa]s an? (?P<o>[^,;.!?]{3,60}?),? "
            r"(?=(?:I|my|i|can|could|should|would|where|what|which|how|is|are|do|does)\b)",
            "I am a {o}",
        ),
        (
            "that",
            r"\b(?:[Gg]iven|[Ss]eeing|[Cc]onsidering|[Bb]earing in mind|[Kk]eeping in mind|[Nn]ow)(?: that)? "
            r"(?P<o>(?:I|my|we|our)\b[^,?;.!]{3,80})(?=[,?])",
            "{o}",
        ),
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
        ("stopped being", r"\bI(?:['’]ve| have)?(?: \w+)? stopped being (?P<o>[^,;.!?]{3,60})", "I am no longer {o}"),
        ("e and ", rf"\b[Mm]e and {_PLACE} (?P<a>[^,;.!?]{{3,60}})", "{o} and I {a}"),
        (
            ", my ",
            rf"\A\W*(?:[Hh]e|[Ss]he)(?P<a>['’]s| [a-z]+) (?P<b>[^,;.!?]{{2,40}}(?:, not [^,;.!?]{{2,30}})?), my "
            rf"(?P<o>(?:{KINDS})(?: {NAME})?)"
            rf"(?P<c>(?:, not [^,;.!?]{{2,30}})?)(?=[,.;!?]|\Z)",
            "my {o}{a} {b}{c}",
        ),
        (
            "engagement",
            r"\bengagement(?:['’]s| is| was| has been) (?:off|over|called off)\b|\b(?:broke|broken|call(?:ed)?) "
            r"(?:off )?"
            r"(?:the|my|our) engagement\b(?: off)?",
            "we broke up",
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
        ("let ", rf"\b(?:I|[Ww]e)(?: had to)? let (?:my|our|the) (?P<o>{_THINGS}) go\b", "I sold my {o}"),
        (
            "to ",
            rf"\b(?:[Tt]he|[Mm]y|[Oo]ur|[Tt]his|[Tt]hat) (?P<o>(?:[a-z]+ )?(?:{_THINGS})) was (?:left|given|gifted"
            rf"|passed down|willed) to (?:me|us)\b",
            "I inherited a {o}",
        ),
        # Things by their make.
        (
            "y ",
            rf"\b[Mm]y (?:new |current )?(?:{_THINGS}|oven|fridge|dishwasher|washing machine|watch|headphones|coffee"
            rf" machine)"
            rf"(?: is|['’]s)(?: now)? an? (?P<o>(?:[a-z]+ )??[{UPPER}][^,;.!?]{{1,30}})",
            "I have a {o}",
        ),
        ("share", rf"\bI share an? (?:office|desk|cubicle) with {_PLACE}", "{o} is my colleague"),
        (
            "pipen",
            r"\bI (?:always )?carry an [Ee]pi[Pp]en (?:for|because of) (?:my )?(?P<o>[a-z]+(?: [a-z]+)??)(?:"
            r" allergy)?(?=[,.!]|\Z)",
            "I am allergic to {o}",
        ),
        (
            " me ",
            r"\A\W*(?P<o>(?!I\b|It\b|That\b|This\b|You\b|People\b)[A-Za-z]+(?: [a-z]+)?) makes? me (?:gag|retch|want"
            r" to (?:vomit|throw up"
            r"|puke))\b",
            "I dislike {o}",
        ),
        (
            " in ",
            rf"\b(?:I|[Ww]e) (?:now |currently )?live (?:on|in|above|next to|behind) (?:an?|the|my) [a-z -]{{3,30}}?"
            rf" in {_PLACE}",
            "I live in {o}",
        ),
        (
            "rent",
            rf"\b(?:I|[Ww]e)(?:['’]m|['’]re| am| are)? (?:now |currently )?rent(?:ing)?(?: an? (?:[a-z]+ )?(?:room"
            rf"|flat|studio|house))? in {_PLACE}",
            "I live in {o}",
        ),
        # Work, school and home by their nouns.
        (
            "with ",
            rf"\b(?:[Ss]hare|[Ss]haring) (?:my|our|a|the) (?:home|house|flat|life|bed|place|apartment) with"
            rf" (?P<o>(?:an?|two|three|four|five"
            rf"|our|my) (?:[a-z]+ )??(?:{ANIMALS}))\b",
            "I have {o}",
        ),
        ("me retired", r"\b[Tt]hat['’]?s me (?:(?:officially|finally|now) )?retired\b(?P<o>)", "I retired"),
        ("last day at", rf"\b[Mm]y last day (?:at|with) {_OUT}", "I resigned from {o}"),
        (
            "with ",
            rf"\bI(?:['’]m| am| live)\b[^,;.]{{0,40}} with (?:an? |two |three )(?:[a-z]+ )??(?P<o>{KINDS}) (?:named"
            rf"|called) (?P<a>{NAME})",
            "I have a {o} named {a}",
        ),
        ("notice", rf"\b(?:handed in|gave|given|handed) my notice (?:in )?(?:at|to) {_OUT}", "I resigned from {o}"),
        (
            "my ",
            r"(?:\bI(?:['’]ve| have)? |\A\W*)(?:(?i:just|finally|officially|so|well|and) )*(?i:handed in|handed|given in"
            r"|given|gave in|gave|put in) my (?:notice|resignation)\b(?! (?:in )?(?:at|to|period)\b)(?P<o>)",
            "I quit my job",
        ),
        (
            " me",
            r"\b(?:[Tt]hey|[Mm]y (?:boss|manager|employer|company|firm)|[Tt]he (?:boss|company|firm|agency)|[Ww]ork)"
            r"(?:['’]ve| have| has)?(?: just| finally)? (?:(?:fired|sacked|dismissed|laid off|axed) me|laid me off"
            r"|made me redundant|let me go)"
            r"(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|on|in|and|because|so|after)\b))(?P<o>)",
            "I got fired",
        ),
        (
            " job",
            r"\bI(?:['’]ve| have)?(?: just| finally)* (?:packed|jacked|chucked) in (?:my|the|that) (?:job at (?:the )?)?"
            rf"(?P<o>[{UPPER}]\w+)(?: job)?\b",
            "I resigned from {o}",
        ),
        (
            " job",
            r"\bI(?:['’]ve| have)?(?: just| finally)* (?:(?:packed|jacked|chucked) in (?:my|the|that) job"
            r"|(?:packed|jacked|chucked) (?:my|the|that) job in)\b(?P<o>)",
            "I quit my job",
        ),
        ("employer", rf"\b[Mm]y (?:new |current )?employer is {_OUT}", "I work at {o}"),
        ("y ", rf"\b[Mm]y (?:alma mater is|degree is from) {_OUT}", "I graduated from {o}"),
        ("alum", rf"{_PLACE} (?:alum|alumnus|alumna|grad|graduate)\b", "I graduated from {o}"),
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
        ("born and", rf"(?:\A|[,.;:!] ){_PLACE},? born and (?:bred|raised)", "I am from {o}"),
        *(
            ("as someone who", rf"\b[Aa]s someone who{third} (?P<o>[^,;.!?]{{3,60}})", f"I {first} {{o}}")
            for third, first in (
                ("(?:['’]s| is)", "am"),
                *(
                    (f" {one}", two)
                    for one, two in (
                        pair.split("=")
                        for pair in "works=work lives=live has=have owns=own studies=study teaches=teach speaks=speak "
                        "loves=love hates=hate plays=play grew=grew was=was moved=moved studied=studied"
                        " can't=can't".split()
                    )
                ),
            )
        ),
        (
            "birthday",
            rf"\bmy (?P<o>{KINDS})['’]s (?P<a>\d{{1,2}})(?:st|nd|rd|th)(?: birthday| bday)\b(?= (?:yesterday|last"
            rf"|on \w+|this|was)|[,.!]|\Z)",
            "my {o} is {a}",
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
        ("ame: ", rf"(?:\A|[,.;] )[Nn]ame: (?P<o>{NAME})", "my name is {o}"),
        ("answer to", rf"\bI answer to (?P<o>{NAME})(?=[,.!]|\Z)", "my name is {o}"),
        (
            "me ",
            rf"\b(?:[Cc]alls? me|knows? me as|[Nn]amed me|christened me) (?P<o>{CAPITAL})(?=\s*(?:\Z|[,.!;]|(?:and"
            rf"|instead|now|for|all)\b))"
            r"(?!.*\bmy (?:real |actual |full |first )?name(?: is|['’]s)\b)",
            "my name is {o}",
        ),
        (" here", rf"{_BEGIN}(?:[Ii]t['’]s |[Tt]his is )?(?P<o>{NAME}) here\b(?=[,.! ]|\Z)", "my name is {o}"),
        (" here", rf"{_BEGIN}{NAME} here, (?P<o>\d\d)\b", "I am {o}"),
        ("name of ", rf"\bname of (?:my|our) (?P<a>(?:[a-z-]+ )?(?:{ANIMALS})) is {_PLACE}", "my {a} is called {o}"),
        ("name's", rf"{_BEGIN}(?:[Tt]he )?[Nn]ame['’]s (?P<o>{NAME})", "my name is {o}"),
        (
            "it's ",
            rf"\A(?:[\w ]{{0,12}}, )?[Ii]t['’]s (?P<o>{CAPITAL})(?: with [^,]{{1,12}})?,? not (?P<a>{CAPITAL})\s*(?:\Z"
            rf"|[,.!])",
            "my name is {o}, not {a}",
        ),
        ("with ", rf"\b[Ii]t['’]s (?P<o>{CAPITAL}) with (?:an?|two|no) [A-Za-z]s?\b(?!.*\bmy\b)", "my name is {o}"),
        (
            "is my",
            rf"\A\W*(?P<o>{CAPITAL}(?: {CAPITAL})?) is my (?P<a>(?:real |full |first )?name|(?:mother|native) tongue"
            rf"|(?:native|first) language|home ?town)\b",
            "my {a} is {o}",
        ),
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
            rf"(?P<a>{ANIMALS}|{KINDS}) (?P<o>{NAME})",
            "my {a} is called {o}",
        ),
        (
            " i",
            r"\bI (?:also |mostly |sometimes |still )*(?P<o>(?!work\b|am\b|do it\b|have\b|live\b|want\b|would\b"
            r"|will\b|can\b|don\b|did\b|was\b)[a-z]+"
            r"(?: (?!I\b)[\w'’-]+){0,4}?) (?:just )?(?:for fun|as a hobby|in my (?:spare|free) time)\b",
            "my hobby is {o}",
        ),
        (
            "my ",
            rf"\bI(?:['’]ve| have)? (?:forgot(?:ten)?|lost) (?:all |most of |nearly all )?(?:of )?my "
            rf"(?P<o>{_TONGUES})\b",
            "I no longer speak {o}",
        ),
        ("bye", rf"\b(?:[Gg]ood)?[Bb]ye(?:[ -]bye)?,? {_PLACE}", "I left {o}"),
        ("plan is to", r"\b(?:[Tt]he|[Mm]y|[Oo]ur) plan is to (?P<o>[^,;.!?]{3,60})", "I plan to {o}"),
        # Languages, health and taste.
        (
            "allerg",
            r"(?:\A|[,.;:!] |\bbut )(?P<o>(?!(?i:it|that|this|you|he|she|they|I|so|who|which|what)\b)[A-Za-z]+"
            r"(?: [a-z]+)?)"
            r" (?:and I\b|makes? me|gives? me|(?:is|are) (?:out|off|a (?:big |total |definite )?no|poison|not for"
            r"|bad for)|has me"
            r"|have me|sets? me|sends? me|puts? me|don['’]t agree|doesn['’]t agree)[^.!?]{0,50}?\ballerg(?:ic|y)(?:"
            r" to (?:it"
            r"|them))?(?=\s*(?:[.,!;]|\Z))",
            "I am allergic to {o}",
        ),
        (
            "my ",
            rf"\b[Mm]y (?P<o>{_TONGUES}) is (?:\w+ )?(?:good|fluent|decent|rusty|okay|ok|basic|perfect|shaky|better"
            rf"|passable|improving|conversational|strong|great|excellent)\b",
            "I speak {o}",
        ),
        (
            "me ",
            r"\A\W*(?P<o>[\w -]{3,30}?) (?:gives?|brings?) me (?:out in )?(?:hives|a rash|an allergic)",
            "I am allergic to {o}",
        ),
        (
            " my ",
            r"\A\W*(?P<o>(?!(?i:it|that|this|you|he|she|they|i|which|what|crying|laughing)\b)[A-Za-z]+(?: [a-z]+)?)"
            r" (?:makes?|causes?) my (?:throat|lips?|tongue|mouth|face|eyes|skin)"
            r" (?:to )?(?:close|swell|itch|itchy|puff|blister|go (?:numb|tight))\b",
            "I am allergic to {o}",
        ),
        (
            "out in ",
            r"\bI (?:always |still )?(?:come|break) out in (?:hives|a rash) (?:from|(?:if|when|whenever) I"
            r" (?:eat|have|touch|take)|after (?:eating|touching))"
            r" (?P<o>[a-z]+(?: [a-z]+)?)(?=\s*(?:[,.!;]|\Z))",
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
        # In apposition: whatever someone is to the speaker, what follows is said of them.
        (
            ", ",
            rf"(?:\A|[.!?] )(?:My|Our|The) (?![a-z ]*\b(?:{ANIMALS})\b)[a-z'’ -]{{3,40}}, (?P<o>(?:(?:Mrs?|Ms"
            rf"|Miss|Dr)\.? )?{NAME}), "
            r"(?P<b>(?:is|was|has|lives|works|comes|speaks|plays|teaches|studies|moved|loves|hates)\b[^.!?;]{3,80})",
            "{o} {b}",
        ),
        (
            "the one who",
            r"\b(?P<a>[Hh]e|[Ss]he|I|[Mm]y [a-z-]+)(?:['’][sm]| is| am) the one who (?P<b>[^,;.!?]{3,60})",
            "{a} {b}",
        ),
        (
            "ing",
            r"\bI(?:['’]ve| have)? (?:packed in|jacked in|stopped going to|stopped doing|given up|gave up) "
            r"(?P<o>[a-z]+)(?=[,;.!?]|\Z| (?:at|in|last|when|years?)\b)",
            "I no longer do {o}",
        ),
        (
            "",
            r"(?:\A|[,;] |\band )I (?P<o>knit|sew|crochet|surf|ski|fish|garden|bake|hike|paint|sculpt)(?=\W*\Z"
            r"|[,;]| and (?:I|my)\b)",
            "my hobby is {o}ing",
        ),
        # Whose work, home or taste it is follows from the words around it.
        (
            "m in ",
            rf"\bI(?:['’]m| am) in [a-z]+(?: [a-z]+)?,? (?:at|with|for) (?:an? {_FIRM} (?:called|named) )?{_PLACE}",
            "I work at {o}",
        ),
        ("ome ", r"\b[Hh]ome(?: for me| these days| now)+(?: is|['’]s) (?P<o>[^,;.!?]{4,40})", "I live in {o}"),
        ("ended up in", rf", (?:and )?ended up in {_PLACE}", "I live in {o}"),
        (
            "the ",
            rf"(?:\A|[.!?] |, )[Tt]he (?P<a>{ANIMALS}), (?P<o>{NAME}), (?=(?:is|has|was|keeps|won)\b)",
            "my {a} is called {o}",
        ),
        ("the ", rf"\bthe (?P<a>{ANIMALS})(?:['’]s| is) called (?P<o>{NAME})", "my {a} is called {o}"),
        ("till i die", rf"\A\W*{_PLACE} (?:till|until|'til) I die\b", "I love {o}"),
        (
            "back from",
            rf"\b(?:[Jj]ust|[Gg]ot|I['’]m|[Ww]e['’]re) (?:got )?back from (?:[a-z]+ ){{0,4}}?(?:in )?{_PLACE}",
            "I visited {o}",
        ),
        (
            "allergy",
            r"\bI(?:['’]ve| have)? (?:grown out of|grew out of|outgrown|outgrew|got over|lost) my (?P<o>[a-z]+"
            r"(?: [a-z]+)?) "
            r"(?:allergy|intolerance)",
            "I am no longer allergic to {o}",
        ),
        *(
            (
                "(",
                rf"\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?(?:kids|children|boys|girls|sons|daughters|twins|little ones)[,:]? "
                rf"(?P<a>{NAME}) \((?P<x>\d{{1,2}})\)(?:,| and|, and| &) (?P<b>{NAME}) \((?P<y>\d{{1,2}})\)",
                plain,
            )
            for plain in ("my kids are {a} and {b}", "{a} is {x}", "{b} is {y}")
        ),
    )
]
"""What is said in other words: a word that must be there, a pattern, and the same as a plain sentence."""
_WAS_SAID = (
    r"\b(?:I|[Yy]ou)(?:['’]ve| have)? (?:always |just |keep |kept )?(?:said|told you|wrote|noted|wrote down"
    r"|think|thought"
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
        ("me ", rf"\b[Yy]ou (?:keep |always )?(?:call|called|calling) me (?P<o>{CAPITAL})", "my name is {o}"),
    )
]
"""What the speaker says was said."""
_PETS_DO = (
    r"(?=\s*(?:[,.;:!?)]|\Z|(?:['’]s|is|was|are|were|has|had|have|can|can['’]t|will|won['’]t|and|or|to|in|on|at|with"
    r"|for|from"
    r"|all|every|just|who|got|ate|eat|sleep|have|need|drink|live|run|again|today|yesterday|tonight|threw|keeps"
    r"|[a-z]+(?:ed|[^s]s))\b))"
)
_NO_NAME = r"(?!(?:['’]s|s['’]?)? names?\b| (?:(?:is|are|was|were) )?(?:called|named)\b)"
"""Who asks what a pet is called, or says so, means one with a name."""
PRESUPPOSED: list[tuple[str, LazyPattern, str]] = [
    (hint, LazyPattern(pattern, re.DOTALL), plain)
    for hint, pattern, plain in (
        (
            "t ",
            r"\b(?:[Ii]s it (?:weird|bad|strange|normal|odd|ok|okay|wrong|funny|rude) that|[Cc]an you believe(?:"
            r" that)?)"
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
                rf"|{before}) (?:an?|two|three|four) (?:[a-z-]+ )??(?P<o>(?:{KINDS})s?)(?: (?:who live|who lives"
                rf"|living))? in "
                rf"(?P<a>[{UPPER}]\w+)",
                "my {o} lives in {a}",
            )
            for before in ("\x00", "(?<=[a-z]) and")
        ),
        (
            "ed ",
            rf"\ban? (?:[a-z-]+ )??(?:{KINDS}) (?:called|named) (?P<o>{NAME}) (?:who lives |living |over |back )?in"
            rf" {_PLACE.replace('P<o>', 'P<a>')}",
            "{o} lives in {a}",
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
                rf"(?P<a>(?:[a-z-]+ ){{0,2}}?(?:{ANIMALS}))(?=[,.;!]|\Z| and\b)",
                "my {a} is called {o}",
            )
            for mine in ("our", "my")
        ),
        (
            "",
            r"(?<!name of )(?<!names of )(?<!which of )(?<!Which of )\b(?:[Mm]y|[Oo]ur) "
            r"(?:(?:little|big|lovely|poor|beloved|fat|crazy|stupid|silly|own|two|three|four|five"
            r"|black|white|ginger|brown"
            r"|rescue|rescued|pet|elderly|young|cute|sweet|dear|other|oldest|youngest|adorable|lazy"
            r"|[a-z]+-year-old) ){0,2}"
            rf"(?P<o>{ANIMALS}){_NO_NAME}{_PETS_DO}",
            "I have a {o}",
        ),
        (
            "y ",
            rf"\b(?P<a>[Mm]y) (?P<b>vegan|vegetarian|veggie|pescatarian|coeliac|celiac"
            rf"|lactose[- ]intolerant) (?P<o>{KINDS})\b",
            "my {o} is {b}",
        ),
        (
            "year",
            rf"\b(?P<a>[Mm]y) (?P<b>\w+)[- ]year[- ]old (?:twin )?(?P<o>{KINDS})\b(?! [{UPPER}])",
            "my {o} is {b}",
        ),
        (
            "who",
            rf"\b[Mm]y (?P<o>(?:{KINDS})(?: {NAME})?),? who(?P<a>['’]s| [a-z]+s(?:n['’]t)?| can['’]t| has"
            rf"| is) (?P<b>[^,;.!?]{{3,60}})",
            "my {o}{a} {b}",
        ),
        (
            "did",
            r"\b[Dd]id(?:n['’]t)? (?:I|you) (?:ever |already )?(?:tell|mention|know|say)(?: to)?(?: you)?(?:"
            r" that)? (?P<o>(?:I|my|we"
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
