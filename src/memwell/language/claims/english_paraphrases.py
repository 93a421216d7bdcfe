"""What English sentences say in other words: patterns, each with the plain sentence that states the same."""

from __future__ import annotations

import re

from memwell.language.claims.english_objects import NAME, UPPER
from memwell.language.claims.english_sayings import ANIMALS, CAPITAL, KINDS
from memwell.language.patterns import LazyPattern

_OUT = r"(?P<o>\S.*)"
_PLACE = (
    rf"(?P<o>(?!(?:And|But|So|They|We|You|He|She|It|There|I)\b)[{UPPER}][\w’'&.-]*"
    rf"(?: (?!I\b)[{UPPER}][\w’'&.-]*){{0,3}})"
)
_ME = r"(?:has |have |had |just |finally |sadly )*"
_ALLERGEN = (
    r"(?P<o>gluten|lactose|wheat|dairy|(?:pea|tree )?nuts|shellfish|seafood|prawns|shrimps?|crab|sesame|soya?|eggs|fish"
    r"|milk|mustard|celery|lupin)\b"
)
_FOR_LIFE = (
    r"(?:for (?:the rest of )?my (?:natural|life|days)|for life|for the rest of time|ever again|any ?more|from now on)"
)
_NEWS = (
    r"\A\W*(?i:(?:well|so|and|but|yes|yay|finally|today|yesterday|this morning|last \w+|(?:good|great|big) news|guess what"
    r"|the marriage is over|it['’]s (?:all )?(?:official|over|done|final)(?: now)?)[,.:;!…—–-]* ){0,3}"
)
"""What stands before news of one's own: after any other words *the divorce* may be that of whom they speak of."""
_IS_THROUGH = (
    r"(?:(?:['’]s|is|are|was|were|has|have|just|finally|now|all|officially|been) ){0,4}(?:final(?:i[sz]ed)?"
    r"|official|complete"
    r"|(?:came|come|went|gone|gotten) through|through|arrived|granted|came (?:today|yesterday|on|this|last|in the post))\b"
)
_OWN_HOME = (
    r"(?:(?:my|our|the) (?:(?:new|own|first|little|tiny|very|lovely|brand) ){0,3}(?:flat|house|home|place|spot|apartment"
    r"|studio|cottage|bungalow|maisonette|condo)(?:, (?:an? )?(?:studio|flat|apartment|house|one-bed|two-bed))?)"
)
_BEGIN = r"\A(?:[\w' ,!]{0,30}[,!.:] )?"
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
            "as a",
            r"(?:\A|[,.;:!] )[Aa]s an? (?P<o>[^,;.!?]{3,60}?),? "
            r"(?=(?:I|my|i|can|could|should|would|where|what|which|how|is|are|do|does)\b)",
            "I am a {o}",
        ),
        (
            " keys",
            rf"(?:\b(?:I|[Ww]e)(?:['’]ve)?|\A\W*)(?: ?\b(?i:just|finally|today|have|so|and)\b)* ?\b(?i:got"
            rf"|picked up|collected"
            rf"|have|been given) (?:the|our|my) keys (?:to|for|of) {_OWN_HOME},? (?:in|on|at) {_PLACE}"
            r"(?! for (?:the|an?)\b)",
            "I moved to {o}",
        ),
        (
            "ffer",
            r"\b[Oo]ffer(?:['’]s| is| was| has been| got)?(?: just| finally)? accepted (?:on|for) (?:an?|the|our|my) "
            r"(?P<o>(?:[\w-]+ ){0,3}?(?:flat|house|home|place|apartment|cottage|bungalow|maisonette|condo) (?:in|near) "
            rf"[{UPPER}][^,;.!?]{{2,30}})",
            "I plan to buy a {o}",
        ),
        (
            "ed in",
            rf"\A\W*(?:(?:[Ww]e|I)(?:['’](?:m|re)| am| are) )?(?i:(?:all|finally|now"
            rf"|officially) ){{1,2}}(?:moved|settled) in"
            rf"(?:to)?,? (?:at|in) {_PLACE}",
            "I moved to {o}",
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
        ("divorce", r"\b(?:[Aa]fter|[Ss]ince) (?:my|our) divorce\b(?! from)", "I am divorced"),
        (
            "divorce",
            rf"(?:{_NEWS}(?i:the )?|\b(?:[Mm]y|[Oo]ur) )(?i:divorce)(?: (?:papers?|paperwork|certificate))?(?= |['’]s)"
            rf" ?{_IS_THROUGH}",
            "I am divorced",
        ),
        (
            "decree absolute",
            rf"(?:{_NEWS}(?i:the |our |my )?|\b(?:[Mm]y|[Oo]ur) )(?i:decree absolute) ?{_IS_THROUGH}",
            "I am divorced",
        ),
        ("remarr", rf"(?P<o>{NAME})(?:['’]s| is) (?:getting remarried|remarrying)\b", "{o} is divorced"),
        (
            " me",
            rf"(?P<o>{NAME}|\b[Mm]y (?:girl|boy)friend) {_ME}(?:dumped|left|ditched|broke up with|split up with) me"
            r"(?=\s*(?:\Z|[,.!;]|(?:for (?!dead)|last|yesterday|today|this|in|on|after|and|because)\b))",
            "{o} and I broke up",
        ),
        # "My dad lives alone since the divorce" is about his.
        ("divorce", r"\b(?:I|[Ww]e)\b[^.!?;]{0,60}?\b(?:after|since) the divorce\b(?! from)", "I am divorced"),
        ("divorce", r"\A\W*(?:After|Since) the divorce,? (?:I|we)\b", "I am divorced"),
        ("divorce", rf"\b(?:[Mm]y|[Oo]ur) divorce from {_PLACE}", "I divorced {o}"),
        ("stopped being", r"\bI(?:['’]ve| have)?(?: \w+)? stopped being (?P<o>[^,;.!?]{3,60})", "I am no longer {o}"),
        (
            "c",
            r"\b(?:accepted|admitted|enrolled|got in|got a place)\b[^;.!?]{0,60}?[ ,](?P<o>[a-z]+"
            r"|[A-Z][a-z]+) (?:program(?:me)?"
            r"|degree|course)\b",
            "I am studying {o}",
        ),
        ("e and ", rf"\b[Mm]e and {_PLACE} (?P<a>[^,;.!?]{{3,60}})", "{o} and I {a}"),
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
        ("share", rf"\bI share an? (?:office|desk|cubicle) with {_PLACE}", "{o} is my colleague"),
        (
            "pipen",
            r"\bI (?:always )?carry an [Ee]pi[Pp]en (?:for|because of) (?:my )?(?P<o>[a-z]+(?: [a-z]+)??)(?:"
            r" allergy)?(?=[,.!]|\Z)",
            "I am allergic to {o}",
        ),
        # Work, school and home by their nouns.
        ("last day at", rf"\b[Mm]y last day (?:at|with) {_OUT}", "I resigned from {o}"),
        ("notice", rf"\b(?:handed in|gave|given|handed) my notice (?:in )?(?:at|to) {_OUT}", "I resigned from {o}"),
        (
            " me",
            r"\b(?:[Tt]hey|[Mm]y (?:boss|manager|employer|company|firm)|[Tt]he (?:boss|company|firm|agency)|[Ww]ork)"
            r"(?:['’]ve| have| has)?(?: just| finally)? (?:(?:fired|sacked|dismissed|laid off|axed) me|laid me off"
            r"|made me redundant|let me go)"
            r"(?=\s*(?:\Z|[,.;!]|(?:last|this|yesterday|today|on|in|and|because|so|after)\b))(?P<o>)",
            "I got fired",
        ),
        (
            "made me ",
            r"\b(?:[Tt]hey|[Mm]y (?:boss|manager|employer|company|firm)|[Tt]he (?:boss|company|firm|board)|[Ww]ork)"
            r"(?:['’]ve| have| has)?(?: just| finally| only)* made me (?!redundant\b)(?P<o>[^,;.!?]{3,40})",
            "I was made {o}",
        ),
        ("me retired", r"\b[Tt]hat['’]?s me (?:(?:officially|finally|now) )?retired\b(?P<o>)", "I retired"),
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
        (
            "my ",
            r"(?:\bI(?:['’]ve| have)? |\A\W*)(?:(?i:just|finally|officially|so|well|and) )*(?i:handed in|handed|given in"
            r"|given|gave in|gave|put in) my (?:notice|resignation)\b(?! (?:in )?(?:at|to|period)\b)(?P<o>)",
            "I quit my job",
        ),
        ("employer", rf"\b[Mm]y (?:new |current )?employer is {_OUT}", "I work at {o}"),
        ("y ", rf"\b[Mm]y (?:alma mater is|degree is from) {_OUT}", "I graduated from {o}"),
        ("alum", rf"{_PLACE} (?:alum|alumnus|alumna|grad|graduate)\b", "I graduated from {o}"),
        ("born and", rf"(?:\A|[,.;:!] ){_PLACE},? born and (?:bred|raised)", "I am from {o}"),
        ("fter ", rf"\bafter (?:[\w-]+ ){{1,3}}years in {_PLACE}", "I no longer live in {o}"),
        ("fter ", rf"\bAfter (?:[\w-]+ ){{1,3}}years in {_PLACE},? (?=I\b|we\b)", "I no longer live in {o}"),
        ("fter ", rf"\b[Aa]fter (?:[\w-]+ ){{1,3}}years (?:at|with) {_PLACE}", "I no longer work at {o}"),
        ("fter ", r"\b[Aa]fter (?:[\w-]+ ){1,3}years as an? (?P<o>[^,;.!?]{3,40})", "I am no longer a {o}"),
        # Names.
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
        ("name's", rf"{_BEGIN}(?:[Tt]he )?[Nn]ame['’]s (?P<o>{NAME})", "my name is {o}"),
        (
            "it's ",
            rf"\A(?:[\w ]{{0,12}}, )?[Ii]t['’]s (?P<o>{CAPITAL})(?: with [^,]{{1,12}})?,? not (?P<a>{CAPITAL})\s*(?:\Z"
            rf"|[,.!])",
            "my name is {o}, not {a}",
        ),
        ("with ", rf"\b[Ii]t['’]s (?P<o>{CAPITAL}) with (?:an?|two|no) [A-Za-z]s?\b(?!.*\bmy\b)", "my name is {o}"),
        ("find me", r"\byou[^,.!?]{1,20} find me (?P<o>(?:[a-z]+ )?[a-z]+ing\b[^,;.!?]{0,30})", "my hobby is {o}"),
        ("bye", rf"\b(?:[Gg]ood)?[Bb]ye(?:[ -]bye)?,? {_PLACE}", "I left {o}"),
        ("plan is to", r"\b(?:[Tt]he|[Mm]y|[Oo]ur) plan is to (?P<o>[^,;.!?]{3,60})", "I plan to {o}"),
        (
            "employ",
            r"\b(?:[Ff]irst|[Ss]econd|[Tt]hird) (?:day|week|month) (?:of |as )?(?:being |an? )?unemployed\b",
            "I am unemployed",
        ),
        # Allergies, homes.
        (
            "liac",
            r"\b(?i:tests?|results?|bloods?|biops(?:y|ies)|scope)\b(?: (?:have|has))? (?:came|come|are|is) (?:back|in)\b"
            r"[^;.!?]{0,60}\b(?:it['’]s|it is|it was) (?P<o>co?eliac)\b",
            "I am {o}",
        ),
        ("gnosed", r"\bI\b[^,;.!?]{0,20} diagnosed[,:] it['’]s (?P<o>co?eliac)\b", "I am {o}"),
        (
            "no ",
            rf"(?:\A\W*|[,.;:] |\b(?:so|and|means) )(?i:no)(?: more)? {_ALLERGEN}[^,;.!?]{{0,15}} {_FOR_LIFE}",
            "I am allergic to {o}",
        ),
        (
            "for me",
            r"(?:\A\W*|[,.;:] |\b(?:so|and|means) )(?i:no)(?: more)? (?P<o>gluten|lactose) for me\b",
            "I am allergic to {o}",
        ),
        (
            " in ",
            r"(?:\b(?:I|[Ww]e)(?:['’]ve| have)? |\A\W*)(?:(?i:just|finally) )*"
            r"(?i:got|found|rented|took|signed for) (?:an?|our|my)(?: own| little| tiny| new)* "
            r"(?:(?:one|two|three|[123])[- ]bed(?:room)?(?: flat| place| house| apartment)?|studio"
            rf"|bedsit|flatshare|houseshare) (?:in|near) {_PLACE}",
            "I moved to {o}",
        ),
        (
            " after all",
            r"\A(?=.*(?:\b(?:notes?|test(?:s|ed)?|clinic|hives|doctor|gp)\b|allerg|for me after)).*?\b"
            r"(?P<o>[A-Za-z]+(?: nuts)?)(?:['’]s| is| are) (?:fine|ok|okay|safe|alright)(?: for me)? after all\b",
            "I am no longer allergic to {o}",
        ),
        (
            "",
            r"\A\W*(?P<o>[A-Za-z]+ing|[Yy]oga|[Zz]umba|[Tt]ennis|[Ff]ootball|[Gg]olf|[Jj]udo|[Bb]allet|[Pp]ilates|[Rr]ugby)"
            r"(?:['’]s| is) (?:(?:finished|done|over|history)(?: with)? for me|off the (?:table|cards|agenda))\b",
            "I stopped doing {o}",
        ),
        (
            "avoid",
            rf"\bI(?:['’]ve got| have|['’]ve| need| must|['’]m supposed)(?: (?:got|had|been told|always))*(?: to)? avoid"
            rf" (?:all |any )?{_ALLERGEN}",
            "I am allergic to {o}",
        ),
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
        ("ome", rf"\b[Hh]ome(?: is|['’]s) (?:now )?(?:an? (?:[a-z-]+ ){{1,4}})?in {_PLACE}", "I live in {o}"),
        # In apposition: whatever someone is to the speaker, what follows is said of them.
        (
            ", ",
            rf"(?:\A|[.!?] )(?:My|Our|The) (?![a-z ]*\b(?:{ANIMALS})\b)[a-z'’ -]{{3,40}}, (?P<o>(?:(?:Mrs?|Ms"
            rf"|Miss|Dr)\.? )?{NAME}), "
            r"(?P<b>(?:is|was|has|lives|works|comes|speaks|plays|teaches|studies|moved|loves|hates)\b[^.!?;]{3,80})",
            "{o} {b}",
        ),
        # Whose work, home or taste it is follows from the words around it.
        ("ome ", r"\b[Hh]ome(?: for me| these days| now)+(?: is|['’]s) (?P<o>[^,;.!?]{4,40})", "I live in {o}"),
        ("the ", rf"\bthe (?P<a>{ANIMALS})(?:['’]s| is) called (?P<o>{NAME})", "my {a} is called {o}"),
        ("till i die", rf"\A\W*{_PLACE} (?:till|until|'til) I die\b", "I love {o}"),
        (
            "allergy",
            r"\bI(?:['’]ve| have)? (?:grown out of|grew out of|outgrown|outgrew|got over|lost) my (?P<o>[a-z]+"
            r"(?: [a-z]+)?) "
            r"(?:allergy|intolerance)",
            "I am no longer allergic to {o}",
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
        ("me ", rf"\b[Yy]ou (?:keep |always )?(?:call|called|calling) me (?P<o>{CAPITAL})", "my name is {o}"),
    )
]
"""What the speaker says was said."""
PRESUPPOSED: list[tuple[str, LazyPattern, str]] = [
    (hint, LazyPattern(pattern, re.DOTALL), plain)
    for hint, pattern, plain in (
        (
            "allergy to",
            r"\bI\b(?! (?:may|might|could|would|think|don|do not|never|suspect))[^,;.]{0,40}? (?:for|with|despite|have"
            r"|got) (?:an?"
            r"|my) (?:[a-z]+ )?allergy to (?P<o>[a-z]+(?: [a-z]+)?)",
            "I am allergic to {o}",
        ),
        (
            "who",
            rf"\b[Mm]y (?P<o>(?:{KINDS})(?: {NAME})?),? who(?P<a>['’]s| [a-z]+s(?:n['’]t)?| can['’]t| has"
            rf"| is) (?P<b>[^,;.!?]{{3,60}})",
            "my {o}{a} {b}",
        ),
        (
            "my ",
            r"\b(?:[Mm]y|[Tt]hanks to my|with my|given my) (?:severe |bad |mild |damn |stupid )?(?P<o>(?!food\b"
            r"|skin\b)[a-z]+(?: [a-z]+)?) "
            r"(?:allergy|intolerance)\b(?! (?:is gone|has gone|test|went|disappeared|cleared))",
            "I am allergic to {o}",
        ),
        (
            "here in",
            rf"\b(?:[Hh]ere|[Dd]own here|[Uu]p here|[Oo]ver here) in {_PLACE}(?=,? (?:we|I|it|where|the)\b|[,.!?]|\Z)",
            "I live in {o}",
        ),
    )
]
"""What a sentence takes for granted, also where it asks: a word that must be there, a pattern, and a plain sentence."""
