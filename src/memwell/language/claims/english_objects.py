"""The words that the English rules know, and the objects of English statements.

First relatives, animals, professions, languages and stop words; then how a name, a place, an employer,
a profession, an age or a phrase is cut out of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import TypeAlias

from memwell.language import entities
from memwell.language.claims.english_verbs import ING, verb_forms
from memwell.language.patterns import LazyPattern


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# People.

_RELATIONS = {
    "married_to": "husband wife spouse hubby wifey",
    "partner": "partner boyfriend girlfriend fiance fiancé fiancee fiancée bf gf ex ex-boyfriend ex-girlfriend "
    "ex-partner",
    "parent": "mother father mom mum mommy mummy dad daddy mama papa parents mam ma folks mamma amma "
    "abba abbu appa baba",
    "child": "son daughter kid child baby sons daughters kids children boy girl boys girls twins eldest youngest "
    "toddler firstborn",
    "sibling": "sister brother sis bro twin sisters brothers siblings sibling half-brother half-sister",
    "relative": "grandmother grandfather grandma grandpa granny gran nan grandad granddad nana grandparents aunt "
    "abuela nonna oma nani abuelo nonno opa "
    "auntie aunty uncle cousin cousins niece nephew nieces nephews aunts uncles grandson granddaughter "
    "grandsons granddaughters grandchild grandchildren grandkids great-uncle great-aunt "
    "great-grandmother great-grandfather stepmother stepfather stepmom stepdad stepmum stepson "
    "stepdaughter stepsister stepbrother mother-in-law father-in-law brother-in-law sister-in-law "
    "son-in-law daughter-in-law in-laws godmother godfather godson goddaughter",
    "friend": "friend bestie buddy pal friends bff mate mates buddies",
    "colleague": "colleague coworker co-worker boss manager mentor teammate colleagues coworkers supervisor intern "
    "assistant",
    # Known to the speaker, but in none of the relations.
    "": "roommate flatmate housemate neighbor neighbour neighbors neighbours landlord landlady "
    "teacher doctor dentist therapist family cleaner hairdresser barber accountant babysitter childminder gardener coach",
}
KIN = {
    **{word: relation for relation, words in _RELATIONS.items() for word in words.split()},
    **dict.fromkeys(("ex-husband", "ex-wife", "missus"), "married_to"),
    "little one": "child",
    **dict.fromkeys(("other half", "better half", "significant other"), "partner"),
    **dict.fromkeys(("business partner", "lab partner"), "colleague"),
    **dict.fromkeys(("climbing partner", "training partner", "dance partner", "tennis partner"), "friend"),
}
"""The relation of each word for a relative or acquaintance; empty for those in none."""
SAME_KIN = {
    form: word
    for word, forms in {
        "mother": "mom mum mommy mummy mama mam ma mamma amma",
        "father": "dad daddy papa abba abbu appa baba",
        "grandmother": "grandma granny gran nan nana abuela nonna oma nani",
        "parents": "folks",
        "grandfather": "grandpa grandad granddad abuelo nonno opa",
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

# Animals and things.

_ANIMALS = _set(
    "dog cat puppy kitten rabbit bunny hamster parrot bird fish goldfish turtle tortoise snake lizard gecko horse "
    "pony ferret chicken goat labrador lab retriever poodle bulldog husky shepherd corgi beagle chihuahua dachshund "
    "spaniel terrier greyhound whippet collie pug dalmatian mastiff rottweiler doberman cockatiel canary finch "
    "chinchilla gerbil mouse rat iguana python donkey alpaca tarantula axolotl hedgehog sheep pig duck hen hens goose "
    "lurcher dogs cats puppies kittens rabbits bunnies hamsters parrots birds turtles tortoises snakes horses "
    "chickens goats pup pups guinea-pig budgie budgies parakeet ferrets lizards geckos ponies rats mice donkeys "
    "cockatoo macaw siamese ragdoll koi "
    "alpacas ducks geese pigs tabby kitty doggo moggy mutt cockapoo labradoodle canaries gerbils"
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
    "car house bike bicycle motorcycle boat guitar piano violin apartment flat farm garden truck van camera telescope "
    "shop store restaurant cafe bakery studio business company laptop computer tablet phone drone tent kayak "
    "surfboard skateboard scooter condo cabin cottage motorbike drumset keyboard ukulele sailboat canoe caravan "
    "agency salon gallery pub hotel startup practice campervan camper café b&b bookshop bookstore barbershop gym "
    "guesthouse hostel brewery nursery garage clinic newsagent deli allotment greenhouse cello harp accordion banjo "
    "vineyard tractor yacht bungalow villa jeep suv sedan hatchback convertible pickup moped vespa trailer motorhome "
    "record-player typewriter kiln loom printer console boats cars houses bikes guitars cameras flats"
)

# Professions: a list, and the endings of most others.

OCCUPATIONS = _set(
    "notary imam chaplain valet barmaid historian actuary sheriff emt postdoc dev sysadmin admin masseur "
    "civil-servant steward captain referee jockey doula registrar bursar bishop deacon missionary corporal stonemason "
    "mason temp bailiff tech househusband sous-chef bellhop accountant actress analyst apprentice architect artist "
    "astronaut athlete attorney au-pair barista bodyguard cashier chef clerk coach comic cook courier cto ceo cfo coo "
    "dentist detective diplomat dj doctor economist estate-agent agent attendant assistant consultant merchant "
    "lieutenant sergeant fisherman florist founder guard guide gp hygienist intern janitor journalist judge lawyer "
    "lifeguard locksmith magistrate mechanic medic midwife model monk mp nanny nun nurse nutritionist optician "
    "paralegal paramedic pastor pharmacist physician physicist physio pilot plumber poet policeman policewoman "
    "postman priest principal professor psychic rabbi realtor retiree salesman saleswoman seamstress secretary "
    "soldier solicitor barrister spy sommelier stewardess superintendent surgeon tailor technician trainee tutor "
    "undertaker usher vet vicar waiter waitress trucker cop cabbie conductor concierge chauffeur entrepreneur critic "
    "athlete aide envoy diver bricklayer veterinary-nurse headmaster headmistress dean bouncer butler maid cleaner "
    "caretaker lumberjack butcher engineer translator editor doorman milkman handyman choreographer pa therapist "
    "freelancer marine pathologist midwives chemist dancer mathematician electrician"
)
OCCUPATION_ENDINGS = (
    "ologist ographer eer smith wright keeper maker worker writer teacher driver designer developer officer manager "
    "trainer planner dealer engineer builder farmer monger herder wife ician arian ist ian er or man woman "
        "person ant ent tech"
).split()  # fmt: skip
NO_OCCUPATIONS = _set(
    # What ends so and is no profession.
    "member lover owner listener believer person beginner winner loser sinner sister brother father mother player "
    "runner reader hater user customer supporter stranger teenager foreigner newcomer prisoner walker killer monster "
    "disaster master sucker number dinner letter order danger water paper matter corner center centre leader drinker "
    "smoker thinker fighter survivor minor major senior junior neighbor visitor ancestor error mirror color favor "
    "humor terror motor twist list wrist feminist optimist pessimist perfectionist realist atheist racist minimalist "
    "pacifist tourist cyclist hobbyist vegetarian pescatarian flexitarian fruitarian pedestrian civilian guardian "
    "christian human woman man fan plan eater daughter grandfather grandmother bother other another partner never "
    "ever over under after per her computer laptop container cover river summer winter shower power flower tower "
    "layer liar bachelor spinster widower widow divorcee rider sleeper riser morning-person homeowner follower "
    "hoarder worrier dreamer cancer tiger spider hamster plaster filter folder manor tenor vector doer goer "
    "late-riser owner renter parent grandparent tenant patient client resident participant student applicant elephant "
    "restaurant giant infant plant ant accent event moment comment document different important excellent independent "
    "recent silent current innocent giver taker starter finisher quitter procrastinator introvert smoker ex-smoker "
    "drinker gambler talker swimmer climber hiker camper cheater failure gamer snob nerd clever bitter better sober "
    "eager proper super slower faster older younger bigger smaller taller shorter longer closer happier volunteer "
    "pioneer cheer beer deer career peer queer immigrant migrant expat native christian aquarian libertarian "
    "centenarian vegan adult elder believer churchgoer protestant lesbian historian? former taxpayer voter citizen "
    "local regular extremist communist socialist capitalist nationalist activist? materialist idealist purist "
    "masochist narcissist breaker hacker? trekker meter liter character chapter quarter sweater printer scooter "
    "poster gangster rooster millionaire trouper goner joker clapper stoner snorer clutter mess speaker dictator "
    "tyrant emperor bluffer newspaper wallpaper"
    .replace("?", "")
)  # fmt: skip

_DEMONYMS = (
    "american british english scottish irish welsh french german italian spanish portuguese dutch belgian swiss "
    "austrian swedish norwegian danish finnish icelandic polish czech slovak slovenian hungarian romanian bulgarian "
    "greek turkish russian ukrainian belarusian estonian latvian lithuanian serbian croatian bosnian albanian "
    "macedonian montenegrin maltese cypriot georgian armenian azerbaijani kazakh uzbek chinese japanese korean indian "
    "pakistani bangladeshi nepali nepalese tibetan mongolian thai vietnamese cambodian laotian burmese indonesian "
    "filipino filipina malaysian singaporean taiwanese australian canadian mexican guatemalan honduran salvadoran "
    "nicaraguan panamanian cuban jamaican haitian dominican brazilian argentinian argentine chilean colombian "
    "peruvian bolivian ecuadorian venezuelan uruguayan paraguayan egyptian moroccan algerian tunisian libyan sudanese "
    "ethiopian eritrean somali kenyan ugandan tanzanian rwandan nigerian ghanaian senegalese ivorian cameroonian "
    "congolese angolan mozambican zambian zimbabwean namibian israeli palestinian jordanian lebanese syrian iraqi "
    "iranian saudi emirati kuwaiti yemeni omani qatari afghan european catalan basque luxembourgish malagasy "
    "mauritian trinidadian barbadian bahamian fijian samoan"
)
NATIONALITIES = _set(_DEMONYMS) | {"new zealander", "kiwi", "south african", "aussie", "brit", "swede", "dane", "finn"}
_NO_LANGUAGE = _set("american british swiss mexican canadian australian brazilian indian")
LANGUAGES = (_set(_DEMONYMS) - _NO_LANGUAGE) | _set(
    "mandarin cantonese hindi urdu arabic hebrew farsi persian bengali tamil telugu punjabi gujarati marathi tagalog "
    "swahili latin esperanto gaelic malay flemish afrikaans zulu xhosa yoruba igbo hausa amharic yiddish kurdish "
    "pashto khmer lao breton galician sami maori hawaiian quechua guarani bsl asl frisian kannada malayalam sinhala "
    "javanese twi creole shona wolof somali tigrinya uyghur"
)
DIETS = _set(
    "vegan vegetarian pescatarian pescetarian flexitarian gluten-free dairy-free lactose-free plant-based keto paleo "
    "halal kosher veggie carnivore raw-vegan low-carb fruitarian"
) | {"vegans", "vegetarians", "pescatarians", "veggies"}
PLAYED = _set(
    "guitar piano violin drums flute cello clarinet saxophone sax trumpet ukulele bass harp keyboard tennis soccer "
    "football basketball baseball volleyball badminton golf hockey rugby cricket chess poker squash games bassoon "
    "oboe trombone banjo mandolin accordion viola harmonica organ fiddle bagpipes tuba recorder drum darts snooker "
    "pool bridge go padel lacrosse netball softball handball polo bowls dominoes sudoku scrabble d&d pickleball "
    "frisbee videogames percussion horn cornet xylophone lute sitar instruments sports"
)
CITIES = frozenset(
    "Aarhus Aberdeen Accra Adelaide Amsterdam Ankara Antwerp Athens Atlanta Auckland Austin Baltimore Bangalore "
    "Bangkok Barcelona Basel Bath Belfast Belgrade Bergen Berlin Bern Bilbao Birmingham Bogotá Bologna Bonn Bordeaux "
    "Boston Bratislava Bremen Brighton Brisbane Bristol Brno Bruges Brussels Bucharest Budapest Buffalo Cairo Calgary "
    "Cambridge Canberra Cardiff Casablanca Charlotte Chennai Chicago Cleveland Cologne Copenhagen Cork Cracow Dakar "
    "Dallas Darwin Delhi Denver Derby Detroit Dortmund Dresden Dubai Dublin Durban Durham Düsseldorf Edinburgh "
    "Edmonton Eindhoven Essen Exeter Florence Frankfurt Galway Gdansk Geneva Genoa Ghent Glasgow Gothenburg Granada "
    "Graz Groningen Halifax Hamburg Hanoi Hanover Havana Helsinki Hobart Honolulu Houston Hull Inverness Istanbul "
    "Jakarta Jerusalem Johannesburg Karachi Kathmandu Kiel Kraków Kyiv Kyoto Lagos Lahore Leeds Leicester Leiden "
    "Leipzig Leuven Lille Lima Limerick Linz Lisbon Liverpool Ljubljana Lodz London Lund Lviv Lyon Madrid Malaga "
    "Malmö Manchester Manila Marrakech Marseille Melbourne Memphis Miami Milan Milwaukee Minneapolis Montevideo "
    "Montpellier Montreal Moscow Mumbai Munich Málaga Nairobi Nantes Naples Nashville Newcastle Nice Nicosia Norwich "
    "Nottingham Nuremberg Odense Odesa Omaha Oporto Orlando Osaka Oslo Ottawa Oxford Padua Palermo Paris Perth "
    "Philadelphia Phoenix Pisa Pittsburgh Plymouth Portland Porto Portsmouth Poznan Prague Quebec Quito Reykjavik "
    "Riga Rome Rotterdam Sacramento Salzburg Santiago Sarajevo Seattle Seoul Seville Sheffield Singapore Skopje Sofia "
    "Split Stockholm Strasbourg Stuttgart Sunderland Swansea Sydney Taipei Tallinn Tampa Tampere Tartu Tbilisi Tehran "
    "Thessaloniki Tokyo Toronto Toulouse Trieste Trondheim Tucson Tunis Turin Turku Uppsala Utrecht Valencia "
    "Vancouver Venice Verona Vienna Vilnius Warsaw Wellington Winnipeg Wrocław York Zagreb Zurich Zürich".split()
)
"""Towns that tell a home from an employer: "I left Glasgow for Aberdeen"."""
REGIONS = frozenset(
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia Hawaii Idaho Illinois "
    "Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Montana "
    "Nebraska Nevada Ohio Oklahoma Oregon Pennsylvania Tennessee Texas Utah Vermont Virginia Washington Wisconsin Wyoming "
    "Ontario Alberta Manitoba Saskatchewan Queensland Victoria Tasmania England Scotland Wales Ireland".split()
) | {"New York", "New Jersey", "New Mexico", "New Hampshire", "North Carolina", "South Carolina", "North Dakota"}
"""Where a town may be, after its name and a comma."""
EMPLOYERS = entities.ORGANISATIONS | frozenset(
    "Accenture Adobe Airbus Aldi Allianz Apple Arup Asda AstraZeneca Atos Audi Aviva Axa BASF BBC BP BT Barclays Bayer "
    "Boeing Boots Bosch Cadbury Capgemini Carrefour Caterpillar Chevron Cisco Citi Citibank Comcast Continental Currys "
    "DHL Daimler Danone Dell Deloitte DreamWorks Dyson EY Ericsson Equinor ExxonMobil FedEx Fiat Fiserv Ford Fujitsu GE "
    "GSK Goldman Greggs HMRC HP HSBC Halfords Heineken Hermes Hitachi Honeywell Hyundai ING Infosys Intel JPMorgan KLM "
    "KPMG Kia Kodak Kraft LG LVMH Lego Lenovo Lidl Lloyds Lockheed Lufthansa Lyft Maersk Mastercard McKinsey Merck "
    "Michelin Mitsubishi Monzo Morrisons Motorola NHS NatWest Nationwide Nestlé Nissan Nokia Novartis Novo Ocado Oracle "
    "Orange Panasonic PepsiCo Pfizer Philips Porsche Pret PwC Qantas Qualcomm Renault Revolut Roche Ryanair SAP SKF "
    "Safeway Sainsbury's Salesforce Santander Scania Shell Shopify Siemens Skanska Skoda Slack Sodexo Stripe Subaru "
    "Suzuki Target Tata Tesco Thales Thermo ThyssenKrupp Total Toyota Uniqlo Unilever Verizon Vestas Visa Vodafone "
    "Volkswagen Volvo Waitrose Wetherspoons Wipro Zalando Zara Zeiss eBay easyJet".split()
)
"""Employers, where only the name says that it is one: "I went from Tesco to Lidl"."""
FIELDS = _set(
    "physics chemistry biology biochemistry maths math mathematics statistics law medicine economics history "
    "philosophy linguistics psychology sociology anthropology archaeology architecture nursing accounting finance "
    "engineering science studies literature geography geology design marketing business journalism pharmacy dentistry "
    "theology politics education robotics astronomy informatics neuroscience art arts music drama classics management "
    "French German Spanish English accountancy physiotherapy ecology genetics"
)
ACTIVITIES = _set(
    "comedy yoga judo karate archery calligraphy pilates ballet crossfit pottery ceramics crosswords triathlons parkour "
    "boxing improv origami gardening photography woodwork woodworking carpentry meditation aikido taekwondo kung-fu "
    "salsa tango ballroom gymnastics athletics yoga zumba marathons triathlon beekeeping astronomy genealogy bonsai "
    "falconry birdwatching birding kickboxing bouldering kayaking geocaching scrapbooking jiu-jitsu capoeira spinning "
    "crossfit"
)
PASTIMES = _set(
    "paint knit crochet sew climb boulder hike swim cycle run jog surf ski snowboard sail row kayak garden bake sing "
    "dance draw sketch sculpt fish hunt camp skate juggle write blog quilt whittle birdwatch meditate fence box golf "
    "dive snorkel embroider weave brew forage volunteer journal"
)
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
NUMBERS = _NUMBERS | {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}

# Words that are no names and no objects.

NOT_NAMES = _set(
    "christian catholic muslim jewish buddhist hindu i it he she they we you this that these those there here what "
    "who where when why how everyone everybody someone somebody nobody anyone nothing everything something today "
    "tomorrow yesterday yes no yeah well oh wow hey hi hello thanks thank okay ok sure great good nice maybe perhaps "
    "also and but so or if then now just my your his her our their its the a an one all some many most each every mom "
    "mum dad god sorry congrats life love art music nature family work time cool awesome amazing absolutely "
    "definitely glad sounds speaking monday tuesday wednesday thursday friday saturday sunday january february march "
    "april may june july august september october november december please let still never not none being having "
    "getting which both another such much more first last quick actually honestly anyway btw fyi update correction "
    "typo edit earlier contrary since after before until funny guess imagine suppose pretend ugh haha lol random note "
    "reminder news headline translate contact name email phone address number two three four five six seven eight "
    "nine ten old new big little only got had have has was were is are am be been do does did can could will would "
    "should might must did born moved started quit left joined bought sold went gave lost been from in at on for with "
    "as by to of about like same put send call text ask tell remember forget people friends kids nope yep yup "
    "apparently supposedly finally currently recently officially originally once mr mrs ms dr whoever whatever "
    "nothing christmas easter halloween covid internet english french german spanish no-one unlike besides except "
    "despite without behind beside near between among against across along around above below under through during "
    "regarding considering including inside outside within beyond into toward towards versus sadly luckily "
    "unfortunately fortunately thankfully suddenly surprisingly interestingly strangely incidentally importantly "
    "clearly obviously basically seriously hopefully alongside opposite meanwhile however moreover otherwise instead "
    "therefore sometimes often usually always hooray hurrah turns fun dear any used gone out back off over even "
    "really very too my-friend wait oops whoops"
)
NOT_OBJECTS = _set(
    "it this that these those you me him her them us your his their its how what when where why who if to-be myself "
    "yourself there here so such one ones everything anything something nothing someone everyone seeing hearing idea "
    "much a-lot lots to is knowing we i they he she more being think being-able every any all none neither either "
    "most not about at from with"
)
LIGHT_VERBS = _set(
    "go going caring care making make doing do getting get being be having have taking take looking look working work "
    "coming come keep keeping try trying see giving give helping help using use putting put thinking think talking "
    "talk learning learn spend spending apply"
)
AFTER_NOUN = _set(
    "and or but with who that which in at on from for since by too now here as because so when while named "
    "called to of "
    "anymore again working living these right although though if also then myself back until before after "
    "named whose "
    "into during over about this last yesterday today already recently again just we i any instead near all not always "
    "until till next there is are was years months early late once twice most diet lol btw tho rn myself, yet ever"
)
UNFINISHED = _set(
    "of to in on at a an the and or for with my our few safe some such is are was new very so more up out "
    "maybe even then unique complex"
)
POINTING = _set(
    "he's she's it this that these those them you your they they're he she him his her their there here it's that's you're "
    "you've i i'm i've we're us we idea way feeling sound fact how what"
)
KNOWN_TO_ALL = _set(
    "outdoors beach sea ocean mountains rain snow sun piano guitar theater theatre gym cinema smell sound taste"
)
SECRETS = _set("pin pins password passwords passcode passcodes passphrase code codes cvv cvc")
"""Of which no favourite is kept."""
NO_ALLERGENS = _set(
    "mondays monday mornings people work exercise bullshit drama stupidity effort nonsense housework fun morning "
    "meetings vibes bad negativity adulting stupid toxic idiots commitment small responsibility ex cleaning cardio "
    "running sport sports excel powerpoint life love lies liars gym both still them those these"
)
JOKE_SUBJECTS = _set(
    "procrastination sarcasm sofa netflix life hard nonsense bullshit napping overthinking fluent regret chaos "
    "gibberish worrying crying googling netflix snacking sleeping"
)

Place: TypeAlias = tuple[int, int]
Taker: TypeAlias = Callable[[str, int, int], list[Place]]
"""From a sentence and the span where an object may be to the spans of the objects."""

UPPER = "A-ZÀ-ÖØ-ÞŁŚŠŽČĐ"
NAME = (
    rf"(?:(?:Mr|Mrs|Ms|Dr|Prof)\.? )?[{UPPER}][\w-]*+(?:['’](?!s\b)\w+)?"
    rf"(?: (?!I\b)[{UPPER}](?:\.|[\w-]*+(?:['’](?!s\b)\w+)?)){{0,2}}"
)
"""One to three words with a capital, without the ending of a possessive."""
_CAPITALS = LazyPattern(
    rf"(?:[Tt]he )?(?:\d+ )?[{UPPER}][\w’'&.+-]*+(?:(?: (?:of|de|la|le|du|for|von|del) | of the | & | "
    rf"|-)(?!I\b)(?=[{UPPER}\d])[\w’'&.+-]++){{0,4}}"
).match
_SINGLE_NAME = LazyPattern(NAME).match
_CALLED = LazyPattern(rf"(?:(?:an?|the|this|my|our|some) (?:[\w-]+ ){{0,6}}?)?(?:called|named) (?=[{UPPER}])").match
WORDS = LazyPattern(r"[^\s]+")
_ENDS_PHRASE = (
    "because but since when while so if though although which who whose that where after before until as for with "
    "whenever than especially even too either these due thanks cause cuz from by during without through about right "
    "now lately just then unless except plus like including back very really lol haha instead nowadays rather anymore "
    "again btw tho rn till throughout ever always whether despite every sometimes on-and-off apparently obviously "
    "unfortunately sadly supposedly seemingly"
)
_PHRASE_END = LazyPattern(
    rf"\s+(?:{'|'.join(_ENDS_PHRASE.split())})\b|\s+(?:and|or)\s+(?:I|it|we|you|he|she|they|my|that|this|there|would|"
    r"am|is|are|was|have|had|has|can|could|will|just|then|to|how|what|feel|think|hope|want|love|hate|like"
    r"|enjoy|need|make|"
    r"got|even|now|so|also|always|really|not|never|don['’]t|it['’]s|I['’]m|live|lives|work|works|moved|bought|went"
    r"|started|left|study|[a-z]+ed (?:an?|the|my|our|to|in|at|with|for))\b|[.!?…:;\"“”()*~\[\]\n\x00]|\s[-–—]\s|—"
    r"|\s+(?:[a-z]+ )?(?:ages|years?|months?|weeks?|days?) ago\b|\s+in the end\b|\s+at the moment\b|\s+a lot\b"
    r"|\s+(?:once|twice|three times) an? (?:day|week|month|year)\b|\s+(?:completely|altogether"
    r"|entirely)\b"
).search
_NEXT_WORD = LazyPattern(r" ([a-z]+)").match
_JOINT = LazyPattern(r"\s*,\s*(?:and|or|&)?\s*|\s+(?:and|or|&)\s+")
_LAST_JOINT = LazyPattern(r",?\s+(?:and|or|&)\s+").search
_EATING = LazyPattern(
    r"(?:eat|drink)(?:ing)? (?!out\b|in\b|at\b|on\b|with\b|together\b|alone\b|well\b|late\b|healthy\b|up\b"
    r"|less\b|more\b|too\b)",
    re.IGNORECASE,
).match
_LONGEST_PHRASE = 8
_LOWER_NAME = 3
_LOWER_WORDS = LazyPattern(
    r"(?!(?:with|without|onto|into|next|together|the|an?|my|our|your|his|her|their|this|that|it|fear|hope|peace|bed"
    r"|denial|trouble|love|touch|case"
    r"|general|fact|"
    r"home|work|school|here|there|person|public|private|time|not|and|town|me|him|them|order|charge|pain|shock"
    r"|two|three|"
    r"one|what|some|any|all|first|last|sync|mind|least|once|night|noon|least|lunch|\d+)\b)"
    r"[a-zà-ÿ][\w’'.&-]*(?: (?!(?:near|with|and|but|now|these|since|for|in|at|as|last|next|this|every|again"
    r"|anymore|any|"
    r"tho|though|lol|btw|rn|atm|here|together|full|part|right|so|because|after|before|until|on|by|from|too"
    r"|till|is|was|"
    r"who|when|while|where|or|not|all|just|if|which|that|with|again|still|alone|there|to|about|already|finally|tbh|"
    r"until|my|our|originally|actually|currently|today|yesterday|tomorrow|soon|instead|thats|haha|thank|thanks"
    r"|please|cos|cuz|i|im|he|she|it|we|they)\b)"
    r"[a-zà-ÿ][\w’'&-]*){0,2}(?=\s|\Z|[,.!;:)])"
).match
_NO_PLACES = frozenset("Heaven Hell Mars Bed Planet".split())
_DAYS = frozenset(
    "Mondays Tuesdays Wednesdays Thursdays Fridays Saturdays Sundays Monday Tuesday Wednesday Thursday Friday Saturday "
    "Sunday January February March April May June July August September October November December".split()
)


def is_casual(sentence: str) -> bool:
    """Whether a sentence is written without capitals, so that names have none."""
    found = next((character for character in sentence if character.isalpha()), "A")
    return found.islower()


# Takers of typed objects.


def _trimmed(sentence: str, start: int, last: int) -> list[Place]:
    while last > start and sentence[last - 1] in ".'’-&,":
        last -= 1
    words = sentence[start:last]
    return [(start, last)] if words and (words.lower() not in NOT_NAMES or words == "Nice") else []


def name(sentence: str, start: int, end: int) -> list[Place]:
    """The name of a person or a pet, also after "a guy called"."""
    called = _CALLED(sentence, start, end)
    at = start if called is None else called.end()
    found = _SINGLE_NAME(sentence, at, end)
    if found is not None:
        first = found[0].split()[0].rstrip(".").lower()
        known = first in NOT_NAMES and first not in (
            "mr",
            "mrs",
            "ms",
            "dr",
            "will",
            "june",
            "may",
            "april",
            "august",
            "art",
            "christian",
        )
        other = first in _BRANDS or found[0].lower() in _PEOPLES or first.startswith(("i'", "i’"))
        return [] if known or other else [(at, found.end())]
    return _lower(sentence, at, end, 1) if is_casual(sentence) else []


_PEOPLES = (LANGUAGES | NATIONALITIES) - {"finn", "dane", "shona"}
_BRANDS = frozenset(
    "netflix excel google amazon spotify youtube tiktok powerpoint instagram jira slack zoom python siri alexa "
    "chatgpt ikea uber facebook whatsapp twitter reddit wifi wikipedia microsoft apple pinterest".split()
)
"""Of which people say in jest that they are their friends."""


def _lower(sentence: str, start: int, end: int, most: int) -> list[Place]:
    found = _LOWER_WORDS(sentence, start, end)
    if found is None or re.split("['’]", found[0])[0] in NOT_NAMES or len(found[0].split()) > most:
        return []
    return _trimmed(sentence, start, found.end())


def names(sentence: str, start: int, end: int) -> list[Place]:
    """Names in a row: "Nell, Cora and Bridget"."""
    found = name(sentence, start, end)
    while found:
        joint = _JOINT.match(sentence, found[-1][1], end)
        # A name after a comma may address someone, or begin the next clause.
        at = 0 if joint is None else joint.end()
        at += 5 * sentence.startswith("baby ", at)
        following = name(sentence, at, end) if joint is not None else []
        if not following or (
            sentence[following[0][1] : following[0][1] + 1] not in ("", ",", ".", ";", "!", " ", ":", ")")
        ):
            break
        found += following
    return found


_NEAR_PLACE = LazyPattern(
    rf"(?:an?|the|this|our|my) (?!one\b)(?:[a-z-]+ ){{1,4}}?(?:of|near|outside|in) (?=[{UPPER}])"
).match


_IN_REGION = LazyPattern(
    rf", ([{UPPER}][a-z]+(?: [{UPPER}][a-z]+)?)(?=\s*(?:[.,;!?)]|\Z|(?:and|but|now|with|since|for|where|because|so"
    r"|in|until|to)\b))"
).match


def place(sentence: str, start: int, end: int) -> list[Place]:
    """A place by its name, also after words for where it is: "a suburb of Cleveland"."""
    near = _NEAR_PLACE(sentence, start, end)
    found = proper(sentence, start, end) or ([] if near is None else proper(sentence, near.end(), end))
    if found and sentence[slice(*found[0])] in _DAYS:
        return []
    # Paris, Texas is another Paris.
    region = _IN_REGION(sentence, found[0][1], end) if found else None
    within = region is not None and (region[1] in REGIONS or region[1] in entities.PLACES)
    return [(found[0][0], region.end(1))] if found and region is not None and within else found


def town(sentence: str, start: int, end: int) -> list[Place]:
    """A place that is known as one: "I work in Marketing" names none."""
    places = place(sentence, start, end)
    return [one for one in places if (words := sentence[slice(*one)]) in entities.PLACES or words in CITIES]


def proper(sentence: str, start: int, end: int) -> list[Place]:
    """A row of capitalised words; in a sentence without capitals, the words up to the end of the phrase."""
    called = _CALLED(sentence, start, end)
    at = start if called is None else called.end()
    found = _CAPITALS(sentence, at, end)
    if found is not None:
        places = _trimmed(sentence, at, found.end())
        unreal = places and sentence[slice(*places[0])].split(maxsplit=1)[0] in _NO_PLACES
        return [] if unreal else places
    return _lower(sentence, at, end, _LOWER_NAME) if is_casual(sentence) else []


_EMPLOYER = LazyPattern(
    r"(?:the|an?|my|our|this)(?: local| same| big| small| little| tiny| large| family)? "
    r"(?P<o>(?:[a-z][a-z-]* ){0,3}?[a-z][a-z-]+(?: of [A-Z]\w+)?)"
    r"(?=\s*(?:\Z|[,.;!)]|\s(?:in|near|as|on|since|for|and|here|down|by|now|called|where|that|which|who|until"
    r"|after|last|from|"
    r"with|these|but|so|because|at|across|outside|when|before|this|any|anymore|off|opposite|next)\b))"
).match


def employer(sentence: str, start: int, end: int) -> list[Place]:
    """An organisation: capitalised words, or a common noun that says which kind it is: "the fire service"."""
    found = proper(sentence, start, end)
    common = _EMPLOYER(sentence, start, end)
    if found or common is None:
        return found
    words = common["o"].split()
    no = not KIN.keys().isdisjoint((words[-1], words[-1].removesuffix("s"))) or words[-1] in PETS
    return [] if no else [common.span("o")]


_AS_WOMEN_ARE = re.compile(
    r"[A-Z][a-z]*(?:ida|ina|ella|etta|isha|iya|ita|[aei]nna|ana|ira|ika|ima|elle|ette|een|lyn)\Z"
)


def is_first_name(words: str) -> bool:
    """Whether a word is a person's name: a known one, or one that ends as names of women do and hardly any of firms."""
    return words in entities.FIRST_NAMES or (_AS_WOMEN_ARE.match(words) is not None and words not in EMPLOYERS)


def firm(sentence: str, start: int, end: int) -> list[Place]:
    """An organisation that is not called as people are."""
    return [one for one in employer(sentence, start, end) if not is_first_name(sentence[slice(*one)])]


def phrase(sentence: str, start: int, end: int) -> list[Place]:
    """A short phrase, unless it only refers to something ("that one")."""
    last = _phrase_end(sentence, start, end)
    comma = sentence.find(",", start, last)
    return _named(sentence, start, last if comma < 0 else comma)


_TITLE = LazyPattern(
    rf"[\"“](?P<o>[^\"“”]{{1,60}})[\"”]|(?P<title>[{UPPER}\d][\w'’-]*(?: [\w'’-]+){{0,3}}?(?:, [{UPPER}][\w'’-]*"
    rf"(?: [{UPPER}][\w'’-]*)*)+)(?=\s*(?:\Z|[.!;]|and my\b))"
).match


def title(sentence: str, start: int, end: int) -> list[Place]:
    """The title of a work; it may have a comma: "Paris, Texas"."""
    found = _TITLE(sentence, start, len(sentence))
    return phrase(sentence, start, end) if found is None else [found.span("o" if found["o"] else "title")]


def phrases(sentence: str, start: int, end: int) -> list[Place]:
    """One phrase, or several in a row: "jazz, blues and soul"."""
    last = _phrase_end(sentence, start, end)
    joint = _LAST_JOINT(sentence, start, last)
    comma = sentence.find(",", start, last)
    if joint is None:
        return _named(sentence, start, last if comma < 0 else comma)
    after = sentence.find(",", joint.end(), last)
    last = last if after < 0 else after
    places: list[Place] = []
    at = start
    for between in (*_JOINT.finditer(sentence, start, last), None):
        one = _named(sentence, at, last if between is None else between.start())
        if not one or (places and not _alike(sentence, places[0], one[0])):
            return places[:1]
        places += one
        at = last if between is None else between.end()
    return places


def likings(sentence: str, start: int, end: int) -> list[Place]:
    """As ``phrases``, without what only the situation explains: "the rush", "the idea"; of food, the thing itself."""
    places = [
        place
        for place in phrases(sentence, start, end)
        if not _of_the_moment(sentence[place[0] : place[1]])
        and not _SOME_OF_THEM(sentence, place[1])
        and not _MY_PEOPLE(sentence, *place)
    ]
    return [(_after_eating(sentence, *place), place[1]) for place in places]


_MY_PEOPLE = LazyPattern(
    rf"(?:my|our|his|her) (?:[a-z-]+ )??(?:{'|'.join(sorted(KIN, key=len, reverse=True))})\b"
).match


_SOME_OF_THEM = LazyPattern(r" (?:who|whose|that|which)\b").match  # "people who like cats"


def allergens(sentence: str, start: int, end: int) -> list[Place]:
    """What one may be allergic to in earnest."""
    found = (one for one in phrases(sentence, start, end) if _in_earnest(sentence[slice(*one)].lower().split()))
    # "to cats, stayed at Jo's and couldn't breathe"
    return list(takewhile(lambda one: not _IS_PREDICATE(sentence, *one), found))


_IS_PREDICATE = LazyPattern(
    r"(?:\w+n['’]t|cannot|can|could|had|got|went|was|were|am|came|took|ate|felt|ended|nearly|almost"
    r"|[a-z]+ed (?:at|in|on|up|with"
    r"|to|by|out|it|me|my|the|an?))\b"
).match


def _in_earnest(words: list[str]) -> bool:
    doing = words[-1].endswith("ing") and words[-1] not in ("dressing", "icing", "pudding")
    return NO_ALLERGENS.isdisjoint(words) and words[-1] not in KIN and not doing


def _after_eating(sentence: str, start: int, end: int) -> int:
    eating = _EATING(sentence, start, end)
    return start if eating is None else eating.end()


def _phrase_end(sentence: str, start: int, end: int) -> int:
    cut = _PHRASE_END(sentence, start, end)
    last = end if cut is None else cut.start()
    if cut is not None and sentence[start:last].lower().strip() in LIGHT_VERBS and cut[0].strip().isalpha():
        # "caring for dogs", "go for a walk": the verb alone has no object.
        cut = _PHRASE_END(sentence, cut.end(), end)
        last = end if cut is None else cut.start()
    return last


_ENDS_IN_JOINT = LazyPattern(r",? (?:and|but|so|plus)\s*\Z").search
_LONGEST_JOINT = 8


def _named(sentence: str, start: int, end: int) -> list[Place]:
    if sentence[end : end + 1] in ('"', "“", "\x00"):
        # A title follows: the words before it are only half of the name.
        return []
    joint = _ENDS_IN_JOINT(sentence, max(start, end - _LONGEST_JOINT), end)
    end = end if joint is None else joint.start()
    while start < end and sentence[end - 1] in " \t,'’-":
        end -= 1
    found = sentence[start:end].lower().split()
    if not 0 < len(found) <= _LONGEST_PHRASE or found[0].strip(",'’") in NOT_OBJECTS:
        return []
    if found[-1] in UNFINISHED or not POINTING.isdisjoint(found):
        return []
    return [] if len(found) == 1 and found[0] in LIGHT_VERBS else [(start, end)]


def _of_the_moment(words_: str) -> bool:
    return words_.startswith("the ") and words_[4:5].islower() and words_[4:].split(maxsplit=1)[0] not in KNOWN_TO_ALL


_MOST_LISTED = 4
_OF_NOUNS = frozenset("a an the my our his her their some going doing".split())


def _alike(sentence: str, left: Place, right: Place) -> bool:
    one, other = sentence[left[0] : left[1]].split(), sentence[right[0] : right[1]].split()
    if one[0].endswith("ing") or other[0].endswith("ing"):
        short = len(other) == 1 or (len(one) == 1 and len(other) == 2 and other[0].lower() not in _OF_NOUNS)
        return one[0].endswith("ing") and (other[0].endswith("ing") or short)
    return len(other) <= _MOST_LISTED and other[0].lower() not in AFTER_NOUN


def listed(allowed: Iterable[str], *, most: int = 1) -> Taker:
    """A phrase of at most ``most`` words whose last one is in a list; it may be a plural."""
    known = frozenset(allowed)

    def take(sentence: str, start: int, end: int) -> list[Place]:
        last = start
        for count, word in enumerate(WORDS.finditer(sentence, start, end)):
            if count >= most:
                break
            plain = word[0].lower().rstrip(".,!?;:…)")
            if plain in known:
                last = word.start() + len(plain)
            elif last > start or plain in _NO_QUALITIES:
                break
            if len(plain) != len(word[0]):
                break
        return _unless_compound(sentence, start, last, end)

    return take


_NO_QUALITIES = frozenset(
    "not any few lot of about with for in on at to from million thousand hundred zillion like".split()
)


def _unless_compound(sentence: str, start: int, last: int, end: int) -> list[Place]:
    following = _NEXT_WORD(sentence, last, end) if last > start else None
    # "a dog problem" is no dog.
    if following is not None and following[1] not in AFTER_NOUN:
        return []
    return [(start, last)] if last > start else []


def several(taker: Taker) -> Taker:
    """One or more objects of a taker, in a row."""

    def take(sentence: str, start: int, end: int) -> list[Place]:
        found = taker(sentence, start, end)
        while found and (joint := _MORE(sentence, found[-1][1], end)):
            more = taker(sentence, joint.end(), end)
            if not more:
                break
            found += more
        return found

    return take


_MORE = LazyPattern(
    r"(?: (?:at (?:home|work|school)|in (?:19|20)\d\d|(?:with|to) (?:my|our) [a-z]+))?\s*(?:,\s*(?:and|but|or)?"
    r"|\s(?:and|or|&|plus|as well as))\s*(?:also "
    r")?(?:some |a (?:bit|little|few words|smattering|decent amount)"
    r"(?: of)? |fluent |basic |conversational |broken |decent |passable |half |part |a |the )?"
).match
_JOB_WORD = LazyPattern(r"[A-Za-z][\w-]*").match
_MOST_JOB = 4
_NO_JOB_BEFORE = frozenset(
    "big better bad terrible good great lousy real huge complete keen avid amateur passionate hobby enthusiastic born "
    "keeper weekend recreational aspiring budding wannabe armchair functioning".split()
)


def job(sentence: str, start: int, end: int) -> list[Place]:
    """A profession, with the words before it: "head librarian"."""
    last, at = start, start
    for _ in range(_MOST_JOB):
        word = _JOB_WORD(sentence, at, end)
        if word is None:
            break
        # "A Londoner" is from London.
        if is_job(word[0].lower()) and (word[0].islower() or word[0].isupper() or word[0].lower() in OCCUPATIONS):
            last = word.end()
        elif last > start or word[0].lower() in AFTER_NOUN:
            break
        at = word.end()
        if sentence.startswith(("'s ", "’s "), at):
            # "a doctor's wife" is no doctor.
            last, at = start, at + 2
        if sentence[at : at + 1] != " ":
            break
        at += 1
    words = sentence[start:last].lower().split()
    if (
        not words
        or words[0] in _NO_JOB_BEFORE
        or _IS_CLAUSE(sentence, start, last)
        or (words[0] == "student" and len(words) > 1)
    ):
        return []
    return _unless_compound(sentence, start, last, end)


_IS_CLAUSE = LazyPattern(r"[\w-]+['’]s (?:an?|the|not|so|too|very|\w+ing|through|on|in|at|off|out|up|down)\b").match
"""What is said of something, and no name of a profession: "iron's through the floor"."""
_TRADE = LazyPattern(
    r"[A-Za-z][a-z-]*(?: [a-z][a-z-]*){0,2}?(?=\s*(?:\Z|[,.;!)])|\s(?:at|for|with|in|on|by|and|since|here|now|but|these"
    r"|from|part|full|so|because|which|when|until|who|to|over|there|while|after|last|this|yesterday|today)\b)"
).match
_NO_TRADE = frozenset("result team favor favour kid child joke whole group couple unit treat".split())


def trade(sentence: str, start: int, end: int) -> list[Place]:
    """What someone works as, also when the word is no known profession."""
    found = job(sentence, start, end) or position(sentence, start, end)
    other = None if found else _TRADE(sentence, start, end)
    return found if other is None or other[0].split()[-1] in _NO_TRADE else [other.span()]


_HEADS = (
    r"(?:Manager|Lead|Leader|Director|Designer|Developer|Engineer|Analyst|Consultant|Officer|Coordinator|Specialist"
    r"|Assistant|Executive|Administrator|Technician|Supervisor|Architect|Accountant|Scientist|Strategist|Nurse|Editor"
    r"|Producer|Programmer|President|Advis[eo]r|Representative|Researcher|Lecturer|Professor|Planner|Partner|Secretary"
    r"|Teacher|Chef|Associate|Practitioner|Buyer|Recruiter|Controller|Superintendent|Principal)"
)
_RANKS = r"(?:Senior|Junior|Lead|Head|Chief|Deputy|Vice|Assistant|Associate|Principal|Staff|Sous|Regional)"
_DEPARTMENT = rf"[{UPPER}][\w&]*+(?:(?:,? (?:and|&))? [{UPPER}][\w&]*+){{0,3}}"
_POSITION = LazyPattern(
    rf"(?:{_RANKS}[ -])*(?:(?:(?![AI]\b|The\b|Mrs?\b|Dr\b)[{UPPER}][\w&-]*+ ){{0,3}}?{_HEADS}(?: of {_DEPARTMENT})?"
    rf"|(?:Head|Chief|VP|SVP|EVP|Chair|Dean|Master)(?: of (?:the )?{_DEPARTMENT}| [{UPPER}][a-z]+(?<=er))"
    r"|[CV][A-Z]O\b|VP\b)(?![\w’'-])"
).match
"""The title of a job as firms write it: *Senior Project Manager*, *Head of Marketing*."""


def position(sentence: str, start: int, end: int) -> list[Place]:
    """The title of a job, in words with capitals."""
    found = _POSITION(sentence, start, end)
    return [] if found is None else [found.span()]


def made(sentence: str, start: int, end: int) -> list[Place]:
    """What someone was made or appointed."""
    return job(sentence, start, end) or position(sentence, start, end)


def titled(sentence: str, start: int, end: int) -> list[Place]:
    """As ``position``, of several words: *Chef* alone may be a name."""
    return [one for one in position(sentence, start, end) if " " in sentence[slice(*one)]]


def is_job(word: str) -> bool:
    """Whether a word is a profession, by a list or by its ending."""
    if word in OCCUPATIONS:
        return True
    if (
        ("-" in word and word in KIN)
        or word in NO_OCCUPATIONS
        or word in NATIONALITIES
        or word in DIETS
        or len(word) < 5
    ):
        return False
    return word.endswith(_JOB_ENDINGS) and not word.endswith(("ent", "ant"))


_JOB_ENDINGS = tuple(OCCUPATION_ENDINGS)


def anything(_sentence: str, start: int, end: int) -> list[Place]:
    """The whole match of the pattern."""
    return [(start, end)] if start < end else []


_SUBJECT = LazyPattern(
    r"[\w&'’/-]+(?: (?!(?:at|in|on|with|from|for|as|now|and|part|full|right|these|this|not|here|but|so|there"
    r"|to|degree|student|because|over|under|after|by|is|myself)\b)[\w&'’/-]+){0,3}"
).match
_NO_SUBJECTS = frozenset(
    "part-time full-time remotely a an the at in for with abroad hard there here to my about and full part online "
    "from late how all what too it that again this mainly on up away night every now day together alone as people him "
    "her them me more tonight today book books your through out maps".replace("?", "").split()
)


def field(sentence: str, start: int, end: int) -> list[Place]:
    """A subject that is studied."""
    found = _SUBJECT(sentence, start, end)
    if found is None or found[0].split()[0].lower() in _NO_SUBJECTS:
        return []
    if not JOKE_SUBJECTS.isdisjoint(found[0].lower().split()):
        return []
    return [(start, found.end())] if found[0] in FIELDS else _trimmed(sentence, start, found.end())


def school(sentence: str, start: int, end: int) -> list[Place]:
    """A school by its name."""
    return [
        one for one in proper(sentence, start, end) if JOKE_SUBJECTS.isdisjoint(sentence[slice(*one)].lower().split())
    ]


_DOING = LazyPattern(r"[a-z]+ing\b").match


def pastime(sentence: str, start: int, end: int) -> list[Place]:
    """What people do for pleasure: by a list, or by its verb ("painting miniatures")."""
    doing = _DOING(sentence, start, end)
    if doing is not None and doing[0] in _PASTIMES_DOING:
        return phrase(sentence, start, end)
    return listed(ACTIVITIES | PLAYED | _PASTIMES_DOING, most=3)(sentence, start, end)


_PASTIMES_DOING = frozenset(form for form, what in verb_forms(PASTIMES).items() if ING in what) | ACTIVITIES
_AGE = LazyPattern(
    r"(?P<o>[1-9]\d?|1[01]\d|(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two"
    r"|three|four|five|six|seven|eight|nine))?|\w+teen|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)(?=\b))(?![\w%$€£:/.,-]*\d|[%$€£]|-\w)",
    re.IGNORECASE,
).match
_AGE_END = LazyPattern(
    r"\s*(?:\Z|[,.;!)…]|years?[ -]old\b|years of age\b|yrs?\b|yo\b|y/o\b|(?:and|now|today|on|in|last|this"
    r"|already|next|going on|yesterday|recently|but|so|as|"
    r"not|since|these|any|yet|earlier|before|anymore|years\s*\Z|actually|tho|though|when|with|lol|who)\b)"
).match


def age(sentence: str, start: int, end: int) -> list[Place]:
    """An age in figures or words."""
    found = _AGE(sentence, start, end)
    if found is None or not (found[0][0].isdigit() or found[0].lower().split("-")[0].split()[0] in NUMBERS):
        return []
    return [found.span("o")] if _AGE_END(sentence, found.end()) else []


_ORDINALS = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|\w+teenth|tenth|eleventh|twelfth|twentieth|thirtieth"
    r"|(?:twenty|thirty)-\w+)"
)
BIRTHDAY = LazyPattern(
    rf"(?:the )?{_ORDINALS} of (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)(?:,? \d{4})?"
    r"|(?:the )?(?:[A-Z][a-z]{2,8}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b|january|february|march|april"
    r"|may|june|july|august|september|october|november"
    r"|december)"
    r" (?:the )?\d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: (?:of "
    r")?[A-Za-z]{3,9}(?: \d{4})?)?(?!\w|-|:)"
    r"|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?"
    r"|(?:Christmas|New Year['’]?s?|Boxing|Valentine['’]?s?|St\.? [A-Z]\w+['’]?s?|Halloween|Bastille"
    r"|Independence|Leap)"
    r"(?: (?:Eve|Day))?|(?:in )?(?:early |late |mid-?)?(?:January|February|March|April|May|June|July|August"
    r"|September|October|"
    r"November|December)\b"
).match


def birthday(sentence: str, start: int, _end: int) -> list[Place]:
    """A date; it has dots and commas, so that it may run over the end of the clause."""
    found = BIRTHDAY(sentence, start)
    if found is not None and found[0].isalpha():
        # Christmas, which no one is called.
        return [found.span()]
    return [] if found is None else _trimmed(sentence, start, found.end())


_NO_MAKES = frozenset(
    "phd ma ba msc bsc mba monday tuesday wednesday thursday friday saturday sunday i tv zoom teams".split()
)


def make(sentence: str, start: int, end: int) -> list[Place]:
    """A thing by its make: "a Volvo"."""
    found = proper(sentence, start, end)
    words = sentence[slice(*found[0])].lower().split() if found else []
    if (
        not words
        or words[0] in _NO_MAKES
        or words[-1] in LANGUAGES | NATIONALITIES | {"degree", "appointment", "meeting"}
    ):
        return []
    return found
