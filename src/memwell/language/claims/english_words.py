"""The words that the English rules know: relatives, animals, professions, languages, the forms of verbs, and "
"stop words."""

from __future__ import annotations

from collections.abc import Iterable


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# People.

_RELATIONS = {
    "married_to": "husband wife spouse hubby wifey",
    "partner": "partner boyfriend girlfriend fiance fiancé fiancee fiancée bf gf ex ex-boyfriend ex-girlfriend "
    "ex-partner",
    "parent": "mother father mom mum mommy mummy dad daddy mama papa parents mam ma folks",
    "child": "son daughter kid child baby sons daughters kids children boy girl boys girls twins eldest youngest "
    "toddler "
    "firstborn",
    "sibling": "sister brother sis bro twin sisters brothers siblings sibling half-brother half-sister",
    "relative": "grandmother grandfather grandma grandpa granny gran nan grandad granddad nana grandparents aunt "
    "auntie "
    "aunty uncle cousin cousins niece nephew nieces nephews aunts uncles grandson granddaughter grandsons "
    "granddaughters "
    "grandchild grandchildren grandkids great-uncle great-aunt great-grandmother great-grandfather stepmother "
    "stepfather "
    "stepmom stepdad stepmum stepson stepdaughter stepsister stepbrother mother-in-law father-in-law brother-in-law "
    "sister-in-law son-in-law daughter-in-law in-laws godmother godfather godson goddaughter",
    "friend": "friend bestie buddy pal friends bff mate mates buddies",
    "colleague": "colleague coworker co-worker boss manager mentor teammate colleagues coworkers supervisor intern "
    "assistant",
    # Known to the speaker, but in none of the relations.
    "": "roommate flatmate housemate neighbor neighbour neighbors neighbours landlord landlady "
    "teacher doctor dentist therapist family",
}
KIN = {
    **{word: relation for relation, words in _RELATIONS.items() for word in words.split()},
    **dict.fromkeys(("ex-husband", "ex-wife", "missus"), "married_to"),
    **dict.fromkeys(("other half", "better half", "significant other"), "partner"),
}
"""The relation of each word for a relative or acquaintance; empty for those in none."""
SAME_KIN = {
    form: word
    for word, forms in {
        "mother": "mom mum mommy mummy mama mam ma",
        "father": "dad daddy papa",
        "grandmother": "grandma granny gran nan nana",
        "parents": "folks",
        "grandfather": "grandpa grandad granddad",
        "sister": "sis",
        "brother": "bro",
        "aunt": "auntie aunty",
        "husband": "hubby",
        "wife": "wifey",
        "fiancé": "fiance",
        "fiancée": "fiancee",
        "boyfriend": "bf",
        "girlfriend": "gf",
    }.items()
    for form in forms.split()
}
"""The usual word for a relative by others for the same."""
PRONOUNS = {
    **dict.fromkeys(
        "mother sister wife daughter girlfriend aunt grandmother fiancée niece granddaughter ex-wife missus".split(),
        "she",
    ),
    **dict.fromkeys(
        "father brother husband son boyfriend uncle grandfather fiancé nephew grandson ex-husband".split(), "he"
    ),
}
"""The pronoun of those relatives who have only one."""
INVERSE_KIN = {"parent": "child", "child": "parent", "relative": "relative"}
"""The relation of the speaker to someone whose relative the speaker is: whose mother I am is my child."""
CALLED_BY_KIN = _set(
    "mom mum dad mother father grandma grandpa gran granny nan nana grandad granddad mummy daddy mama papa"
)
"""Relatives that are spoken of without *my*."""
ADULTS = _set("boss husband wife mother father grandmother grandfather manager partner boyfriend girlfriend parents")
TELLS_APART = _set("older younger elder eldest youngest oldest little big twin middle other second first")
"""Words that tell one relative from another of the same kind."""
PAST_KIN = _set("ex former late previous ex- then old")
"""Words before a relative who is one no longer; *old* only of a boss."""

# Animals and things.

_ANIMALS = _set(
    "dog cat puppy kitten rabbit bunny hamster parrot bird fish goldfish turtle tortoise snake lizard gecko "
    "horse pony "
    "ferret chicken goat labrador lab retriever poodle bulldog husky shepherd corgi beagle chihuahua dachshund "
    "spaniel "
    "terrier greyhound whippet collie pug dalmatian mastiff rottweiler doberman cockatiel canary finch "
    "chinchilla gerbil "
    "mouse rat iguana python donkey alpaca tarantula axolotl hedgehog sheep pig duck hen hens goose lurcher "
    "dogs cats puppies kittens rabbits bunnies hamsters parrots birds turtles tortoises snakes horses chickens "
    "goats pup pups "
    "guinea-pig budgie budgies parakeet ferrets lizards geckos ponies rats mice donkeys alpacas ducks geese "
    "pigs tabby kitty "
    "doggo moggy mutt cockapoo labradoodle canaries gerbils"
)


PETS = _ANIMALS | {f"{one[:-1]}ies" if one.endswith("y") else f"{one}s" for one in _ANIMALS if not one.endswith("s")}


def singular(animal: str) -> str:
    """One animal of many: *cat* for *cats*; with the words before it."""
    words, _, last = animal.rpartition(" ")
    one = {"mice": "mouse", "geese": "goose"}.get(last.lower()) or (
        f"{last[:-3]}y" if last.endswith("ies") else last[:-1]
    )
    return f"{words} {one}".strip() if last.lower() != "fish" and one.lower() in PETS else animal


THINGS = _set(
    "car house bike bicycle motorcycle boat guitar piano violin apartment flat farm garden truck van camera "
    "telescope shop "
    "store restaurant cafe bakery studio business company laptop computer tablet phone drone tent kayak surfboard "
    "skateboard scooter condo cabin cottage motorbike drumset keyboard ukulele sailboat canoe caravan agency "
    "salon gallery pub hotel startup practice "
    "campervan camper café b&b bookshop bookstore barbershop gym guesthouse hostel brewery nursery garage clinic "
    "newsagent deli "
    "allotment greenhouse cello harp accordion banjo vineyard tractor yacht bungalow villa jeep suv sedan hatchback "
    "convertible pickup moped vespa trailer motorhome record-player typewriter kiln loom printer console boats "
    "cars houses "
    "bikes guitars cameras flats"
)

# Professions: a list, and the endings of most others.

OCCUPATIONS = _set(
    "notary imam chaplain valet barmaid historian actuary sheriff emt postdoc dev sysadmin admin masseur "
    "civil-servant steward "
    "captain referee jockey doula registrar bursar bishop deacon missionary corporal stonemason mason temp "
    "bailiff tech "
    "househusband sous-chef bellhop "
    "accountant actress analyst apprentice architect artist astronaut athlete attorney au-pair barista bodyguard "
    "cashier chef clerk coach comic cook courier cto ceo cfo coo dentist detective diplomat dj doctor "
    "economist estate-agent "
    "agent attendant assistant consultant merchant lieutenant sergeant "
    "fisherman florist founder guard guide gp hygienist intern janitor journalist judge lawyer lifeguard "
    "locksmith magistrate "
    "mechanic medic midwife model monk mp nanny nun nurse nutritionist optician paralegal paramedic pastor "
    "pharmacist "
    "physician physicist physio pilot plumber poet policeman policewoman postman priest principal professor "
    "psychic rabbi "
    "realtor retiree salesman saleswoman seamstress secretary soldier solicitor barrister spy sommelier "
    "stewardess superintendent surgeon tailor technician trainee tutor undertaker usher vet vicar waiter waitress "
    "trucker cop cabbie conductor concierge chauffeur entrepreneur critic athlete aide envoy diver bricklayer "
    "veterinary-nurse headmaster headmistress dean bouncer butler maid cleaner caretaker lumberjack butcher engineer "
    "translator editor doorman milkman handyman choreographer pa therapist freelancer pathologist midwives "
    "chemist dancer "
    "mathematician electrician"
)
OCCUPATION_ENDINGS = (
    "ologist ographer eer smith wright keeper maker worker writer teacher driver designer developer officer manager "
    "trainer planner dealer engineer builder farmer monger herder wife ician arian ist ian er or man woman "
        "person ant ent tech"
).split()  # fmt: skip
NO_OCCUPATIONS = _set(
    # What ends so and is no profession.
    "member lover owner listener believer person beginner winner loser sinner sister brother father mother "
        "player runner "
    "reader hater user customer supporter stranger teenager foreigner newcomer prisoner walker killer monster "
        "disaster master "
    "sucker number dinner letter order danger water paper matter corner center centre leader drinker smoker "
        "thinker fighter "
    "survivor minor major senior junior neighbor visitor ancestor error mirror color favor humor terror motor "
        "twist list "
    "wrist feminist optimist pessimist perfectionist realist atheist racist minimalist pacifist tourist "
        "cyclist hobbyist "
    "vegetarian pescatarian flexitarian fruitarian pedestrian civilian guardian christian human woman man fan "
        "plan eater "
    "daughter grandfather grandmother bother other another partner never ever over under after per her "
        "computer laptop "
    "container cover river summer winter shower power flower tower layer liar bachelor spinster widower widow "
        "divorcee rider "
    "sleeper riser morning-person homeowner follower hoarder worrier dreamer cancer tiger spider hamster "
        "plaster filter "
    "folder manor tenor vector doer goer late-riser owner renter parent grandparent tenant patient client resident "
    "participant student applicant elephant restaurant giant infant plant ant accent event moment comment document "
    "different important excellent independent recent silent current innocent giver taker starter finisher quitter "
    "procrastinator introvert smoker ex-smoker drinker gambler "
    "talker swimmer climber hiker camper cheater failure gamer snob nerd clever "
        "bitter better sober "
    "eager proper super slower faster older younger bigger smaller taller shorter longer closer happier "
        "volunteer pioneer "
    "cheer beer deer career peer queer immigrant migrant expat native christian aquarian libertarian centenarian "
    "vegan adult elder believer churchgoer protestant lesbian historian? former taxpayer voter citizen local regular "
    "extremist communist socialist capitalist nationalist activist? materialist idealist purist masochist narcissist "
    "breaker hacker? trekker meter liter character chapter quarter sweater printer scooter poster gangster rooster "
    "millionaire trouper goner joker clapper stoner snorer clutter mess speaker dictator tyrant emperor bluffer "
        "newspaper wallpaper"
    .replace("?", "")
)  # fmt: skip

_DEMONYMS = (
    "american british english scottish irish welsh french german italian spanish portuguese dutch belgian "
    "swiss austrian "
    "swedish norwegian danish finnish icelandic polish czech slovak slovenian hungarian romanian bulgarian "
    "greek turkish "
    "russian ukrainian belarusian estonian latvian lithuanian serbian croatian bosnian albanian macedonian "
    "montenegrin "
    "maltese cypriot georgian armenian azerbaijani kazakh uzbek chinese japanese korean indian pakistani bangladeshi "
    "nepali nepalese tibetan mongolian thai vietnamese cambodian laotian burmese indonesian filipino filipina "
    "malaysian "
    "singaporean taiwanese australian canadian mexican guatemalan honduran salvadoran nicaraguan panamanian "
    "cuban jamaican "
    "haitian dominican brazilian argentinian argentine chilean colombian peruvian bolivian ecuadorian "
    "venezuelan uruguayan "
    "paraguayan egyptian moroccan algerian tunisian libyan sudanese ethiopian eritrean somali kenyan ugandan "
    "tanzanian "
    "rwandan nigerian ghanaian senegalese ivorian cameroonian congolese angolan mozambican zambian zimbabwean "
    "namibian "
    "israeli palestinian jordanian lebanese syrian iraqi iranian saudi emirati kuwaiti yemeni omani qatari afghan "
    "european catalan basque luxembourgish malagasy mauritian trinidadian barbadian bahamian fijian samoan"
)
NATIONALITIES = _set(_DEMONYMS) | {"new zealander", "kiwi", "south african", "aussie", "brit", "swede", "dane", "finn"}
_NO_LANGUAGE = _set("american british swiss mexican canadian australian brazilian indian")
LANGUAGES = (_set(_DEMONYMS) - _NO_LANGUAGE) | _set(
    "mandarin cantonese hindi urdu arabic hebrew farsi persian bengali tamil telugu punjabi gujarati marathi "
    "tagalog swahili "
    "latin esperanto gaelic malay flemish afrikaans zulu xhosa yoruba igbo hausa amharic yiddish kurdish "
    "pashto khmer lao "
    "breton galician sami maori hawaiian quechua guarani bsl asl frisian kannada malayalam sinhala javanese "
    "twi creole "
    "shona wolof somali tigrinya uyghur"
)
DIETS = _set(
    "vegan vegetarian pescatarian pescetarian flexitarian gluten-free dairy-free lactose-free plant-based keto "
    "paleo halal "
    "kosher veggie carnivore raw-vegan low-carb fruitarian"
) | {"vegans", "vegetarians", "pescatarians", "veggies"}
PLAYED = _set(
    "guitar piano violin drums flute cello clarinet saxophone sax trumpet ukulele bass harp keyboard tennis "
    "soccer football "
    "basketball baseball volleyball badminton golf hockey rugby cricket chess poker squash games bassoon oboe "
    "trombone banjo "
    "mandolin accordion viola harmonica organ fiddle bagpipes tuba recorder drum darts snooker pool bridge go "
    "padel lacrosse "
    "netball softball handball polo bowls dominoes sudoku scrabble d&d pickleball frisbee videogames "
    "percussion horn cornet "
    "xylophone lute sitar instruments sports"
)
CITIES = frozenset(
    "Aarhus Aberdeen Accra Adelaide Amsterdam Ankara Antwerp Athens Atlanta Auckland Austin Baltimore "
    "Bangalore Bangkok Barcelona "
    "Basel Bath Belfast Belgrade Bergen Berlin Bern Bilbao Birmingham Bogotá Bologna Bonn Bordeaux Boston "
    "Bratislava Bremen "
    "Brighton Brisbane Bristol Brno Bruges Brussels Bucharest Budapest Buffalo Cairo Calgary Cambridge "
    "Canberra Cardiff Casablanca "
    "Charlotte Chennai Chicago Cleveland Cologne Copenhagen Cork Cracow Dakar Dallas Darwin Delhi Denver "
    "Derby Detroit Dortmund "
    "Dresden Dubai Dublin Durban Durham Düsseldorf Edinburgh Edmonton Eindhoven Essen Exeter Florence "
    "Frankfurt Galway Gdansk "
    "Geneva Genoa Ghent Glasgow Gothenburg Granada Graz Groningen Halifax Hamburg Hanoi Hanover Havana "
    "Helsinki Hobart Honolulu "
    "Houston Hull Inverness Istanbul Jakarta Jerusalem Johannesburg Karachi Kathmandu Kiel Kraków Kyiv Kyoto "
    "Lagos Lahore Leeds "
    "Leicester Leiden Leipzig Leuven Lille Lima Limerick Linz Lisbon Liverpool Ljubljana Lodz London Lund "
    "Lviv Lyon Madrid Malaga "
    "Malmö Manchester Manila Marrakech Marseille Melbourne Memphis Miami Milan Milwaukee Minneapolis "
    "Montevideo Montpellier "
    "Montreal Moscow Mumbai Munich Málaga Nairobi Nantes Naples Nashville Newcastle Nice Nicosia Norwich "
    "Nottingham Nuremberg "
    "Odense Odesa Omaha Oporto Orlando Osaka Oslo Ottawa Oxford Padua Palermo Paris Perth Philadelphia "
    "Phoenix Pisa Pittsburgh "
    "Plymouth Portland Porto Portsmouth Poznan Prague Quebec Quito Reykjavik Riga Rome Rotterdam Sacramento "
    "Salzburg Santiago "
    "Sarajevo Seattle Seoul Seville Sheffield Singapore Skopje Sofia Split Stockholm Strasbourg Stuttgart "
    "Sunderland Swansea Sydney "
    "Taipei Tallinn Tampa Tampere Tartu Tbilisi Tehran Thessaloniki Tokyo Toronto Toulouse Trieste Trondheim "
    "Tucson Tunis Turin Turku "
    "Uppsala Utrecht Valencia Vancouver Venice Verona Vienna Vilnius Warsaw Wellington Winnipeg Wrocław York "
    "Zagreb Zurich Zürich".split()
)
"""Towns that tell a home from an employer: "I left Glasgow for Aberdeen"."""
FIELDS = _set(
    "physics chemistry biology biochemistry maths math mathematics statistics law medicine economics history "
    "philosophy "
    "linguistics psychology sociology anthropology archaeology architecture nursing accounting finance engineering "
    "science studies literature geography geology design marketing business journalism pharmacy dentistry theology "
    "politics education robotics astronomy informatics neuroscience art arts music drama classics management "
    "French German Spanish English accountancy physiotherapy ecology genetics"
)
ACTIVITIES = _set(
    "yoga judo karate archery calligraphy pilates ballet crossfit pottery ceramics crosswords triathlons parkour "
    "boxing "
    "improv origami gardening photography woodwork woodworking carpentry meditation aikido taekwondo kung-fu "
    "salsa tango "
    "ballroom gymnastics athletics yoga zumba marathons triathlon beekeeping astronomy genealogy bonsai falconry "
    "birdwatching birding kickboxing bouldering kayaking geocaching scrapbooking jiu-jitsu capoeira spinning crossfit"
)
PASTIMES = _set(
    "paint knit crochet sew climb boulder hike swim cycle run jog surf ski snowboard sail row kayak garden "
    "bake sing dance "
    "draw sketch sculpt fish hunt camp skate juggle write blog quilt whittle birdwatch meditate fence box golf "
    "dive snorkel "
    "embroider weave brew forage volunteer journal"
)
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen "
        "eighteen nineteen".split()
    )
}
NUMBERS = _NUMBERS | {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}

# Words that are no names and no objects.

NOT_NAMES = _set(
    "christian catholic muslim jewish buddhist hindu "
    "i it he she they we you this that these those there here what who where when why how everyone everybody someone "
    "somebody nobody anyone nothing everything something today tomorrow yesterday yes no yeah well oh wow hey "
    "hi hello "
    "thanks thank okay ok sure great good nice maybe perhaps also and but so or if then now just my your his her our "
    "their its the a an one all some many most each every mom mum dad god sorry congrats life love art music "
    "nature family work time cool awesome amazing absolutely definitely glad sounds speaking monday tuesday "
    "wednesday "
    "thursday friday saturday sunday january february march april may june july august september october november "
    "december please let still never not none being having getting which both another such much more first last "
    "quick actually honestly anyway btw fyi update correction typo edit earlier contrary since after before "
    "until funny "
    "guess imagine suppose pretend ugh haha lol random note reminder news headline translate contact name "
    "email phone "
    "address number two three four five six seven eight nine ten old new big little only got had have has was "
    "were is are "
    "am be been do does did can could will would should might must did born moved started quit left joined "
    "bought sold "
    "went gave lost been from in at on for with as by to of about like same put send call text ask tell "
    "remember forget "
    "people friends kids nope yep yup apparently supposedly finally currently recently officially originally once "
    "mr mrs ms dr whoever whatever nothing christmas easter halloween covid internet english french german "
    "spanish no-one "
    "unlike besides except despite without behind beside near between among against across along around above below "
    "under through during regarding considering including inside outside within beyond into toward towards versus "
    "sadly luckily unfortunately fortunately thankfully suddenly surprisingly interestingly strangely incidentally "
    "importantly clearly obviously basically seriously hopefully "
    "alongside opposite meanwhile however moreover otherwise instead therefore sometimes often usually always "
    "hooray hurrah turns fun dear any used gone out back off over even really very too my-friend wait oops whoops"
)
NOT_OBJECTS = _set(
    "it this that these those you me him her them us your his their its how what when where why who if to-be myself "
    "yourself there here so such one ones everything anything something nothing someone everyone seeing "
    "hearing idea much "
    "a-lot lots to is knowing we i they he she more being think being-able every any all none neither either "
    "most not "
    "about at from with"
)
LIGHT_VERBS = _set(
    "go going caring care making make doing do getting get being be having have taking take looking look "
    "working work "
    "coming come keep keeping try trying see giving give helping help using use putting put thinking think "
    "talking talk "
    "learning learn spend spending apply"
)
AFTER_NOUN = _set(
    "and or but with who that which in at on from for since by too now here as because so when while named "
    "called to of "
    "anymore again working living these right although though if also then myself back until before after "
    "named whose "
    "during over about this last yesterday today already recently again just we i any instead near all not always "
    "until till next there is are was diet lol btw tho rn myself, yet ever"
)
UNFINISHED = _set(
    "of to in on at a an the and or for with my our few safe some such is are was new very so more up out "
    "maybe even then unique complex"
)
POINTING = _set(
    "it this that these those them you your they they're he she him his her their there here it's that's you're "
    "you've i i'm i've we're us we idea way feeling sound fact how what"
)
KNOWN_TO_ALL = _set(
    "outdoors beach sea ocean mountains rain snow sun piano guitar theater theatre gym cinema smell sound taste"
)
NO_EMPLOYERS = _set(
    "company firm place guy woman man living money fun boss client team moment weekend night same time home "
    "one people "
    "lot few while year month week day bit table desk office job best future past opportunity chance cause good"
)
SECRETS = _set("pin pins password passwords passcode passcodes passphrase code codes cvv cvc")
"""Of which no favourite is kept."""
NO_ALLERGENS = _set(
    "mondays monday mornings people work exercise bullshit drama stupidity effort nonsense housework fun "
    "morning meetings "
    "vibes bad negativity adulting stupid toxic idiots commitment small responsibility ex cleaning cardio "
    "running sport sports excel powerpoint life love "
    "lies liars"
)
JOKE_SUBJECTS = _set(
    "procrastination sarcasm sofa netflix life hard nonsense bullshit napping overthinking fluent regret chaos "
    "gibberish"
)

# Verbs.

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
sublet sublet sublet subletting; snag snagged snagged snagging; wind wound wound winding
rear reared reared rearing; chuck chucked chucked chucking
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
