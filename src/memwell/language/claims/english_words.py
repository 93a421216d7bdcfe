"""The words that the English rules go by."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ADVERBS = _set(
    "really also always just actually currently still now absolutely totally truly mostly recently finally already both "
    "even definitely too usually especially particularly honestly basically simply personally originally all so "
    "genuinely officially happily presently sometimes often kinda lately generally certainly deeply only"
)
MODALS = _set(
    "would could might may should will must shall 'll 'd wouldn't couldn't won't shouldn't mightn't 'd've can ought wanna "
    "gotta"
)
NEGATIONS = _set("don't dont doesn't doesnt not never isn't aren't ain't haven't hasn't cannot can't cant")
PAST_NEGATIONS = _set("didn't wasn't weren't hadn't")
BE = _set("'m am is are 's 're been im")
WAS = _set("was were")
HAVE = _set("'ve have has")
LISTED = _set("a an the my our one two three four five six seven eight nine ten some several")

KIN: dict[str, str] = {
    word: relation
    for relation, words in {
        "married_to": "husband wife spouse",
        "partner": "partner boyfriend girlfriend fiance fiancé fiancee fiancée",
        "parent": "mother father mom mum mommy dad daddy mama papa stepmother stepfather stepmom stepdad",
        "child": "son daughter kid child baby stepson stepdaughter sons daughters kids children",
        "sibling": "sister brother sis bro twin stepsister stepbrother sisters brothers siblings sibling",
        "relative": "grandmother grandfather grandma grandpa granny aunt uncle cousin niece nephew cousins "
        "grandson granddaughter grandparents",
        "friend": "friend bestie buddy pal friends bff roommate flatmate neighbor neighbour",
        "colleague": "colleague coworker co-worker boss manager mentor teammate colleagues",
    }.items()
    for word in words.split()
}
PETS = _set(
    "dog cat puppy kitten rabbit bunny hamster parrot bird fish goldfish turtle tortoise snake lizard gecko horse pony "
    "ferret chicken goat labrador retriever poodle bulldog husky shepherd corgi beagle chihuahua dachshund spaniel terrier "
    "dogs cats puppies kittens rabbits hamsters birds turtles snakes horses chickens pup pups guinea-pig budgie parakeet"
)
THINGS = _set(
    "car house bike bicycle motorcycle boat guitar piano violin apartment flat farm garden truck van camera telescope shop "
    "store restaurant cafe bakery studio business company laptop computer tablet phone drone tent kayak surfboard "
    "skateboard scooter condo cabin cottage motorbike drumset keyboard ukulele"
)
OCCUPATIONS = _set(
    "accountant actor actress analyst animator anthropologist apprentice architect archivist artist astronaut "
    "astronomer athlete attorney author baker banker barber barista bartender biologist blogger bookkeeper bricklayer "
    "broker builder butcher carpenter cashier chef chemist clerk coach cleaner comedian composer consultant "
    "contractor cook counselor counsellor courier curator dancer dentist designer detective developer dietitian "
    "diplomat director doctor driver economist editor electrician engineer entrepreneur farmer filmmaker firefighter "
    "fisherman florist freelancer gardener geologist guard guide hairdresser historian housekeeper illustrator "
    "instructor interpreter journalist judge lawyer lecturer librarian lifeguard linguist magician manager "
    "mathematician mechanic midwife miner model musician neurologist novelist nurse nutritionist officer optician "
    "painter paralegal paramedic pathologist pediatrician performer pharmacist photographer physician physicist "
    "physiotherapist pianist pilot plumber poet policeman policewoman politician postman producer professor "
    "programmer psychiatrist psychologist publisher radiologist realtor receptionist recruiter referee reporter "
    "researcher sailor salesman salesperson saleswoman scientist screenwriter sculptor secretary senator singer "
    "soldier songwriter sociologist statistician stylist superintendent surgeon surveyor tailor teacher technician "
    "therapist translator trainer tutor vet veterinarian waiter waitress welder writer student intern trainee retiree "
    "nanny paediatrician ceo cto cfo founder"
)
NATIONALITIES = _set(
    "american british english scottish irish welsh french german italian spanish portuguese dutch belgian swiss austrian "
    "swedish norwegian danish finnish polish czech hungarian romanian bulgarian greek turkish russian ukrainian chinese "
    "japanese korean indian pakistani bangladeshi thai vietnamese indonesian filipino malaysian australian canadian "
    "mexican brazilian argentinian chilean colombian peruvian cuban egyptian moroccan nigerian kenyan ethiopian israeli "
    "iranian iraqi syrian lebanese singaporean taiwanese"
)
LANGUAGES = NATIONALITIES | _set(
    "mandarin cantonese hindi urdu arabic hebrew farsi persian bengali tamil tagalog swahili latin esperanto catalan "
    "gaelic serbian croatian slovak malay"
)
DIETS = _set("vegan vegetarian pescatarian pescetarian gluten-free lactose-intolerant")
PLAYED = _set(
    "guitar piano violin drums flute cello clarinet saxophone trumpet ukulele bass harp keyboard tennis soccer football "
    "basketball baseball volleyball badminton golf hockey rugby cricket chess poker squash games"
)
NOT_NAMES = _set(
    "christian catholic muslim jewish buddhist hindu "
    "i it he she they we you this that these those there here what who where when why how everyone everybody someone "
    "somebody nobody anyone nothing everything something today tomorrow yesterday yes no yeah well oh wow hey hi hello "
    "thanks thank okay ok sure great good nice maybe perhaps also and but so or if then now just my your his her our "
    "their its the a an one all some many most each every mom mum dad god sorry congrats life love art music "
    "nature family work time cool awesome amazing absolutely definitely glad sounds speaking monday tuesday wednesday "
    "thursday friday saturday sunday january february march april may june july august september october november "
    "december please let still never not none being having getting which both another such much more first last"
)
NOT_OBJECTS = _set(
    "it this that these those you me him her them us your his their its how what when where why who if to-be myself "
    "yourself there here so such one ones everything anything something nothing someone everyone seeing hearing idea much "
    "a-lot lots to is knowing we i they he she more being think being-able every any all none neither either most"
)
LIGHT_VERBS = _set(
    "go going caring care making make doing do getting get being be having have taking take looking look working work "
    "coming come keep keeping try trying see giving give helping help using use putting put thinking think talking talk "
    "learning learn spend spending apply"
)
AFTER_NOUN = _set(
    "and or but with who that which in at on from for since by too now here as because so when while named called to of "
    "anymore again working living these right although though if also then myself back until before after named whose "
    "during over about this last yesterday today already recently again just we i"
)
UNFINISHED = _set(
    "of to in on at a an the and or for with my our few safe some such is are was new very so more up out "
    "maybe even then unique complex"
)
POINTING = _set(
    "it this that these those them you your they they're he she him his her their there here it's that's you're "
    "you've i i'm i've we're us we idea way feeling sound fact how what"
)
KNOWN_TO_ALL = _set("outdoors beach sea ocean mountains rain snow sun piano guitar theater theatre gym cinema")
ENDS_PHRASE = (
    "because but since when while so if though although which who whose that where after before until as for with "
    "whenever than especially even too either these due thanks cause cuz from by during without through about right now "
    "lately these just and-so or then unless except plus like including back very really lol haha"
)

__all__ = [
    "ADVERBS",
    "AFTER_NOUN",
    "BE",
    "DIETS",
    "ENDS_PHRASE",
    "HAVE",
    "KIN",
    "KNOWN_TO_ALL",
    "LANGUAGES",
    "LIGHT_VERBS",
    "LISTED",
    "MODALS",
    "NATIONALITIES",
    "NEGATIONS",
    "NOT_NAMES",
    "NOT_OBJECTS",
    "OCCUPATIONS",
    "PAST_NEGATIONS",
    "PETS",
    "PLAYED",
    "POINTING",
    "THINGS",
    "UNFINISHED",
    "WAS",
]
