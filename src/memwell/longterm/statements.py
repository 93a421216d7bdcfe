"""Statements: what single records claim of someone, how they are stored, and who is meant by a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, islice
from string import ascii_lowercase
from typing import Any
from unicodedata import normalize

import msgspec

from memwell.errors import BackendError, InvalidInput
from memwell.filters import AllOf, Where
from memwell.language.claims import english_objects
from memwell.language.claims.chinese_objects import KIN
from memwell.language.claims.english_objects import TELLS_APART
from memwell.language.claims.relations import USER, Claim, Relation, known_relation
from memwell.language.fact_questions import is_kind
from memwell.records import Space, paged
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import as_utc, check_count, check_flag, check_id, check_number, check_text, check_type, shown

# How names are compared and stored in keys.

_SPEAKER = frozenset("i me my mine myself user 用户 我 本人 我自己 俺 咱".split())
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])\Z")
_ARTICLE = re.compile(r"\A(?:a|an|the|my|our)\s+(?=\S)")
_ANYWHERE = re.compile(r"(?:a|an|the|my|our)\s+(?=\S)")
"""Earlier versions took an article for one inside of a name: *danfox* for Dana Fox."""
_EDGES = " \t\r\n.,;:!?\"'“”‘’()[]。，、；：！？「」『』《》"
_LONGEST_PART = 200
_LONGEST_SPELT = 40
"""Other spellings are as many as a name is long, and each as long."""


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """The form in which names are compared: NFKC, case-folded, without article, possessive and outer punctuation.

    *I*, *me*, *user*, 我 and 用户 are one name. Empty for punctuation and spaces alone.
    """
    plain = " ".join(normalize("NFKC", name).casefold().split()).strip(_EDGES)
    plain = _ARTICLE.sub("", _POSSESSIVE.sub("", plain), count=1)
    return USER if plain in _SPEAKER else plain


def spellings(name: str) -> Iterator[str]:
    """What a name becomes by one letter more, less or another, or by two that change places; nothing, if it is long."""
    for place in range(len(name) + 1 if len(name) <= _LONGEST_SPELT else 0):
        head, tail = name[:place], name[place:]
        yield from (f"{head}{letter}{tail}" for letter in ascii_lowercase)
        if tail:
            yield f"{head}{tail[1:]}"
            yield from (f"{head}{letter}{tail[1:]}" for letter in ascii_lowercase)
        if len(tail) > 1:
            yield f"{head}{tail[1]}{tail[0]}{tail[2:]}"


def key_part(text: str) -> str:
    """A text as one part of a key: without ``/``, of limited length, and unique.

    A long text is replaced by its digest, marked so that no text equals it.
    """
    written = text.replace("%", "%25").replace("/", "%2F").replace("\x00", "%00")
    return written if len(written) <= _LONGEST_PART else f"%~{digest(text)}"


def digest(*parts: str) -> str:
    """32 hexadecimal characters that identify these texts in this order."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        data = part.encode(errors="surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()


BY_HAND = "by hand"
"""The source of what a person stated, corrected or denied, instead of a record's id."""


class Source(msgspec.Struct, frozen=True):
    """A record that states something, and the characters of its text; or ``BY_HAND``."""

    record: str
    start: int = 0
    end: int = 0


class FactStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of one record, as it is stored."""

    key: str
    subject: str
    relation: str
    object: str
    value: str
    """The relation and the object in the compared form; empty for every value."""
    valid_from: datetime | None
    valid_to: datetime | None
    negated: bool
    said_at: datetime
    learned_at: datetime
    retired_at: datetime | None
    confidence: float
    source: Source
    by_hand: bool = False

    @property
    def denies(self) -> bool:
        """Whether a person said that what was stated before was never true."""
        return self.by_hand and self.negated and self.valid_from is None

    @property
    def begins(self) -> datetime:
        """From when on it certainly holds."""
        return self.valid_from or self.said_at

    @property
    def is_past(self) -> bool:
        """Whether it says only that something is over, not since when it was true."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at

    @property
    def is_undated(self) -> bool:
        """Whether it says only that something is over, and neither since nor until when it was true."""
        return self.valid_from is None and self.valid_to == self.said_at


# The keys of statements: by subject, by object, by record, and those made by hand.

BY_SUBJECT = "fact/s/"
BY_OBJECT = "fact/o/"
BY_RECORD = "fact/r/"
MADE_BY_HAND = "fact/h/"
_PAGE = 500


class _Pointer(msgspec.Struct, frozen=True, array_like=True):
    """The entry of a record: the statement's key, and its key by object ("" without one)."""

    statement: str
    by_object: str


class FactStatements:
    """The statements of one space of a store."""

    def __init__(self, kv: KeyValue, space: Space) -> None:
        self._kv = kv
        self._space = space

    def add(self, statement: FactStatement) -> bool:
        """Store a statement, also over a retracted one. False when it is stored already."""
        stored = self._kv.get(self._space, statement.key)
        if stored is not None and _decoded(stored).retired_at is None:
            return False
        name = statement.key.rpartition("/")[2]
        by_object = "" if not statement.object else f"{BY_OBJECT}{key_part(name_key(statement.object))}/{name}"
        pointer = _Pointer(statement.key, by_object)
        # In this order, so that a crash leaves entries that can be found by their record.
        entries: dict[str, Any] = {f"{_home_of(statement)}{name}": msgspec.to_builtins(pointer)}
        if by_object:
            entries[by_object] = statement.key
        self._kv.put_many(self._space, {**entries, statement.key: _encoded(statement)})
        return True

    def group(self, prefix: str) -> list[FactStatement]:
        """The statements with a key prefix."""
        return [_decoded(entry) for entry in self._entries(prefix)]

    def groups(self, prefix: str, *, after: str = "") -> Iterator[tuple[str, list[FactStatement]]]:
        """The statements by question, with its prefix, in the order of keys."""
        for question, entries in groupby(self._entries(prefix, after=after), key=lambda entry: group_of(entry.key)):
            yield question, [_decoded(entry) for entry in entries]

    def questions_about(self, name: str, limit: int) -> list[str]:
        """The prefixes of at most ``limit`` questions that this name answers."""
        found: dict[str, None] = {}
        for entry in self._entries(f"{BY_OBJECT}{key_part(name)}/"):
            found[group_of(str(entry.value))] = None
            if len(found) >= limit:
                break
        return list(found)

    def of_record(self, record: str) -> list[FactStatement]:
        """The stored statements of one record."""
        return list(self._pointed_at(_of_record(record)))

    def of_records(self, records: Iterable[str], known: dict[str, tuple[str, ...]]) -> dict[str, list[FactStatement]]:
        """The stored statements of records, by record; those are read in one query.

        The keys of the statements of a record are taken from ``known``, which is given those that had to be read.
        """
        wanted = list(records)
        for record in wanted:
            if record not in known:
                known[record] = tuple(_pointer(entry).statement for entry in self._entries(_of_record(record)))
        found = self._kv.get_many(self._space, [key for record in wanted for key in known[record]])
        return {record: [_decoded(found[key]) for key in known[record] if key in found] for record in wanted}

    def made_by_hand(self) -> Iterator[FactStatement]:
        """The statements that no record made."""
        return self._pointed_at(MADE_BY_HAND)

    def _pointed_at(self, prefix: str) -> Iterator[FactStatement]:
        for pointer in map(_pointer, self._entries(prefix)):
            entry = self._kv.get(self._space, pointer.statement)
            if entry is not None:
                yield _decoded(entry)

    def set_retired(self, statement: FactStatement, retired_at: datetime | None) -> None:
        """Mark a statement as retracted, or as believed again."""
        changed = msgspec.structs.replace(statement, retired_at=retired_at)
        self._kv.put(self._space, statement.key, _encoded(changed))

    def drop(self, record: str) -> int:
        """Delete the statements of one record and all keys that point to them. Returns how many statements."""
        return sum([self._drop(entry) for entry in list(self._entries(_of_record(record)))])

    def drop_made_by_hand(self, statement: FactStatement) -> None:
        """Delete a statement that no record made, and all keys that point to it."""
        entry = self._kv.get(self._space, f"{MADE_BY_HAND}{statement.key.rpartition('/')[2]}")
        if entry is not None:
            self._drop(entry)

    def _drop(self, entry: Entry) -> bool:
        pointer = _pointer(entry)
        gone = self._kv.delete(self._space, pointer.statement)
        if pointer.by_object:
            self._kv.delete(self._space, pointer.by_object)
        # Last, so that a crash leaves entries that can be found by their record.
        self._kv.delete(self._space, entry.key)
        return gone

    def knows(self, name: str) -> bool:
        """Whether anything was ever stated of the subject with this compared name."""
        return next(self._entries(f"{BY_SUBJECT}{key_part(name)}/", page=1), None) is not None

    def subjects(self, beginning: str) -> Iterator[str]:
        """The compared names of the subjects that begin so, in order; long ones are passed over."""
        least = f"{BY_SUBJECT}{key_part(beginning)}"
        most = f"{least}\U0010ffff"
        while True:
            where = AllOf((Where("@id", "ge", least), Where("@id", "lt", most)))
            found = self._kv.scan(self._space, where=where, limit=1).items
            if not found:
                return
            part = found[0].key.split("/", 3)[2]
            if not part.startswith("%~"):
                yield part.replace("%00", "\x00").replace("%2F", "/").replace("%25", "%")
            # "0" is the character after "/": the other statements of this subject are not read.
            least = f"{BY_SUBJECT}{part}0"

    def _entries(self, prefix: str, *, after: str = "", page: int = _PAGE) -> Iterator[Entry]:
        # "0" is the character after "/", so it is above every key with the prefix.
        bounds = [Where("@id", "ge", prefix), Where("@id", "lt", f"{prefix[:-1]}0")]
        if after:
            bounds.append(Where("@id", "gt", after))
        where = AllOf(tuple(bounds))
        return paged(lambda cursor: self._kv.scan(self._space, where=where, limit=page, cursor=cursor))


def statement_of(claim: Claim, record: str, learned_at: datetime, *, by_hand: bool = False) -> FactStatement:
    """A claim as a statement of a record, or of a person.

    Raises ``InvalidInput`` for an unknown relation, a missing subject or object, and a value of the wrong type.
    """
    relation = known_relation(check_type(claim, Claim, "a claim must be a Claim").relation)
    subject = name_key(check_text(claim.subject, "a claim's subject"))
    thing = name_key(check_text(claim.object, "a claim's object"))
    for name, given in ((subject, "subject"), (thing or (claim.negated and relation.single), "object")):
        if not name:
            raise InvalidInput(f"a claim's {given} must be a name, not {shown(getattr(claim, given))}")
    check_number(claim.confidence, "a claim's confidence")
    check_flag(claim.negated, "a claim's negated")
    start, end = check_count(claim.start, "a claim's start"), check_count(claim.end, "a claim's end")
    since = _moment(claim.valid_from, "valid_from")
    until = _moment(claim.valid_to, "valid_to")
    record = check_id(record, "a record's id")
    said = _moment(claim.time, "time") or learned_at
    parts = (record, subject, relation.name, thing, str(claim.negated), str(since), str(until), str(start))
    # A person may say the same again, after having said something else.
    name = digest(*parts, str(said)) if by_hand else digest(*parts)
    return FactStatement(
        key=f"{question(subject, relation, thing)}{name}",
        subject=claim.subject.strip(),
        relation=relation.name,
        object=claim.object.strip(),
        value=f"{relation.name}/{thing}" if thing else "",
        valid_from=since,
        valid_to=until,
        negated=claim.negated,
        said_at=said,
        learned_at=learned_at,
        retired_at=None,
        confidence=claim.confidence,
        source=Source(record, start, end),
        by_hand=by_hand,
    )


def _moment(value: datetime | None, what: str) -> datetime | None:
    return None if value is None else as_utc(value, f"a claim's {what}")


def prefix_of(subject: str, relation: str | None = None) -> str:
    """The prefix of all statements about a subject, or about one relation of it.

    Raises ``InvalidInput`` for an empty name and an unknown relation.
    """
    return prefix_of_name(checked_name(subject), relation)


def checked_name(subject: str) -> str:
    """The compared name of a subject. Raises ``InvalidInput`` for an empty one."""
    name = name_key(check_text(subject, "a subject"))
    if not name:
        raise InvalidInput(f"a subject must be a name, not {shown(subject)}")
    return name


def prefix_of_name(name: str, relation: str | None = None) -> str:
    """As ``prefix_of``, of a name in its compared form."""
    everything = f"{BY_SUBJECT}{key_part(name)}/"
    if relation is None:
        return everything
    known = known_relation(relation)
    return f"{everything}{key_part(known.family or known.name)}/"


def question(subject: str, relation: Relation, thing: str) -> str:
    """The prefix of a question: of the statements of which one holds at a time."""
    return f"{prefix_of(subject, relation.name)}{'' if relation.single else key_part(thing)}/"


def group_of(key: str) -> str:
    """The question of the statement with this key."""
    return f"{key.rpartition('/')[0]}/"


def _home_of(statement: FactStatement) -> str:
    return MADE_BY_HAND if statement.by_hand else _of_record(statement.source.record)


def _of_record(record: str) -> str:
    return f"{BY_RECORD}{key_part(check_id(record, 'a record id'))}/"


def _encoded(statement: FactStatement) -> object:
    # Without the key, which would double the size.
    return msgspec.to_builtins(msgspec.structs.replace(statement, key=""))


def _decoded(entry: Entry) -> FactStatement:
    try:
        return msgspec.structs.replace(msgspec.convert(entry.value, FactStatement), key=entry.key)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a statement: {error}") from error


def _pointer(entry: Entry) -> _Pointer:
    try:
        return msgspec.convert(entry.value, _Pointer)
    except msgspec.ValidationError as error:
        raise BackendError(f"the key {entry.key!r} does not hold a pointer: {error}") from error


def by_key(statements: Iterable[FactStatement]) -> dict[str, list[FactStatement]]:
    """Statements by question."""
    found: dict[str, list[FactStatement]] = {}
    for one in statements:
        found.setdefault(group_of(one.key), []).append(one)
    return found


# ``Subjects``: who is meant by a name as people say it: *my mother*, 我妈, a first name, a name with one letter wrong.

_SAME: dict[str, tuple[str, ...]] = {
    "parent": (
        "mother mom mum mommy mummy mama 妈妈 母亲 老妈 妈 娘",
        "father dad daddy papa 爸爸 父亲 老爸 爸 爹",
    ),
    "married_to": ("wife 妻子 老婆 太太 媳妇", "husband 丈夫 老公 先生", "spouse 爱人"),
    "partner": ("girlfriend 女朋友 女友", "boyfriend 男朋友 男友", "fiancé fiance 未婚夫", "fiancée fiancee 未婚妻"),
    "child": ("son 儿子", "daughter 女儿"),
    "sibling": ("sister sis", "brother bro", "哥哥 哥", "姐姐 姐", "妹妹 妹", "弟弟 弟"),
    "relative": (
        "grandmother grandma granny",
        "grandfather grandpa",
        "奶奶",
        "爷爷",
        "外婆 姥姥",
        "外公 姥爷",
    ),
    "colleague": ("boss 老板 上司 领导",),
}
"""Words for the same relative, by the relation to them."""


def _words(group: str) -> tuple[str, ...]:
    """The words of a group, with their other forms in English: *gran* of a grandmother."""
    words = group.split()
    return tuple(dict.fromkeys([*words, *(form for form, word in english_objects.SAME_KIN.items() if word in words)]))


_KIN = {
    word: (relation, _words(group)) for relation, groups in _SAME.items() for group in groups for word in _words(group)
}
_KIN_WORD = re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in sorted(_KIN, key=len, reverse=True)))
_APART = tuple(
    dict.fromkeys(
        [
            *(kin.word for kin in KIN.values() if " " in kin.word),
            *(f"{one} {kin}" for one in sorted(TELLS_APART) for kin in ("sister", "brother", "son", "daughter")),
        ]
    )
)
_ONE_OF_KIND = re.compile(
    rf"(?<![a-z])(?:{'|'.join(sorted(TELLS_APART))}) [a-z-]+|{'|'.join(sorted(KIN, key=len, reverse=True))}"
).findall
"""The words for one relative among several of a kind: *older brother*, 二舅."""
_KINDS = {"姐妹": "sister", "兄弟": "brother"}
_OWNED = re.compile(r"(?P<owner>.+?)(?:['’]s\s+|的)(?P<kin>.+)").fullmatch
_MINE = ("my", "our", "mum", "mom", "mama", "dad", "papa", "我", "咱", "俺")
"""Words of which a speaker says one of their own relatives; *mum* stands for my own."""
_OUR = re.compile(r"(?:(?:我们|咱们?|我|俺)家的?|我们|咱们|我|俺|咱)(?=.)")
_SUBJECTS_READ = 500
_LEAST_SPELT = 3


class Subjects:
    """The names under which someone is known, found by the name that is asked for.

    ``text_of`` gives the text of a record, or nothing: only the words *my mother Ann* say which parent Ann is.
    """

    def __init__(self, statements: FactStatements, text_of: Callable[[str], str]) -> None:
        self._statements = statements
        self._text_of = text_of

    def named(self, subject: str, *, misspelt: bool = True) -> list[str]:
        """The compared names of who is meant, the best first; the given one alone for a stranger.

        A relative is found by every usual word and by the name; else a first name or, with ``misspelt``, a name that
        differs by one letter means the only person it fits. Raises ``InvalidInput`` for an empty name.
        """
        name = checked_name(subject)
        if name == USER:
            return [name]
        found = self._known_as(name) or self._of_speaker(name) or self._called(name) or self._pet(name)
        return found or self._known_as(self._only_similar(name, misspelt=misspelt)) or [name]

    def _known_as(self, name: str) -> list[str]:
        """The names of who is known by exactly this name, or is this relative."""
        if not name:
            return []
        owner, kin = owner_and_kin(name)
        if kin in _KIN:
            relation, words = _KIN[kin]
            person = self._person(owner, relation, words)
            found = [
                *self._relatives(owner, (*words, *_role(kin))),
                person,
                name if self._statements.knows(name) else "",
            ]
            return (
                list(dict.fromkeys(filter(None, found))) or self._each_of_kind(owner, kin) or self._of_kind(owner, kin)
            )
        apart = self._person(owner, _relation_of(kin), (kin,)) if _relation_of(kin) else ""
        found = [one for one in dict.fromkeys((name, _ANYWHERE.sub("", name, count=1))) if self._statements.knows(one)]
        found += self._roles(name)
        found += [*self._relatives(owner, (kin, *_role(kin))), apart] if apart else []
        return (
            found
            or self._relatives(owner, (kin, *_role(kin)))
            or self._each_of_kind(owner, kin)
            or self._of_kind(owner, kin)
        )

    def _of_speaker(self, name: str) -> list[str]:
        """The names of *my mother* where the only speaker who spoke of one has a name: those of Nora's mother."""
        owner, kin = owner_and_kin(name)
        relation, words = _KIN.get(kin) or (_relation_of(kin), (kin, *_role(kin)))
        if owner != USER or not relation:
            return []
        owners: set[str] = set()
        for one in islice(self._statements.subjects(""), _SUBJECTS_READ):
            owned = _OWNED(one)
            mine = owned is not None and owned["kin"] in (*words, *_role(kin))
            held = self._statements.groups(prefix_of_name(one, None if mine else relation))
            stated = [each for _, group in held if mine or owned is None for each in _standing(group)]
            if any(self._says(each, words) and self._says(each, _MINE) for each in stated):
                owners.add(name_key(owned["owner"]) if owned else one)
        return self._known_as(f"{owners.pop()}'s {kin}") if len(owners) == 1 else []

    def _called(self, name: str) -> list[str]:
        """Who said that this is their name: the user, also by the first of their names, or the only other one."""
        called = {name_key(one.object) for one in _standing(self._statements.group(prefix_of_name(USER, "name")))}
        if any(f"{one} ".startswith(f"{name} ") for one in called):
            return [USER]
        questions = self._statements.questions_about(name, _SUBJECTS_READ)
        own = [one for one in questions if one.split("/")[3] == "name"]
        stated = [one for question in own for one in _standing(self._statements.group(question))]
        who = {name_key(one.subject) for one in stated if name_key(one.object) == name}
        return list(who) if len(who) == 1 else []

    def _pet(self, name: str) -> list[str]:
        """The name of the only pet of a kind that someone has: *my dog*."""
        owner, kind = owner_and_kin(name)
        pets = {name_key(one.object) for one in _standing(self._statements.group(prefix_of_name(owner, "pet")))}
        of_kind = [
            pet
            for pet in pets
            for one in _standing(self._statements.group(prefix_of_name(pet, "kind")))
            if is_kind(name_key(one.object), kind)
        ]
        return of_kind if len(of_kind) == 1 else []

    def _relatives(self, owner: str, words: tuple[str, ...]) -> list[str]:
        """The subjects that are called someone's relative, in the order of the words."""
        known = [one for link in ("'s ", "的") for one in self._statements.subjects(f"{owner}{link}")]
        return [one for word in words for one in known if one in (f"{owner}'s {word}", f"{owner}的{word}")]

    def _of_kind(self, owner: str, kin: str) -> list[str]:
        """The relative of a Chinese word as earlier versions stored one: *daughter* for 大女儿."""
        return self._relatives(owner, tuple(one.split()[-1] for one in _role(kin)))

    def _each_of_kind(self, owner: str, kin: str) -> list[str]:
        """Each known relative of a kind: of *sister* the older and the younger one, of 姐 also the eldest."""
        kind = _role(kin)[0] if _role(kin) else _KIN.get(kin, ("", (kin,)))[1][0]
        first = kind.replace("older", "eldest").replace("younger", "youngest")
        return self._relatives(owner, tuple(one for one in _APART if one.endswith(f" {kind}") or one == first))

    def _person(self, owner: str, relation: str, words: tuple[str, ...]) -> str:
        """The name of someone's relative; empty if none is known, or several are."""
        held = self._statements.group(prefix_of_name(owner, relation))
        names = {name_key(one.object) for one in _standing(held) if self._says(one, words) or self._is_only(one, held)}
        return names.pop() if len(names) == 1 else ""

    def _is_only(self, one: FactStatement, held: Iterable[FactStatement]) -> bool:
        """Whether a statement is of the only one there can be, by none of the words for one: "We got married"."""
        only = known_relation(one.relation).single and not any(
            _KIN_WORD.search(self._said(other)) for other in held if other.value == one.value and not other.negated
        )
        return only and one.relation in _SAME

    def _roles(self, name: str) -> Iterator[str]:
        """The subjects that are called the relative whose name this is."""
        questions = self._statements.questions_about(name, _SUBJECTS_READ)
        # Read from the key, as a place may be named by many who are no relatives.
        for question in (one for one in questions if one.split("/")[3] in _SAME):
            for one in _standing(self._statements.group(question)):
                owner = name_key(one.subject)
                for group in map(_words, _SAME.get(one.relation, ())):
                    if self._person(owner, one.relation, group) == name:
                        yield from self._relatives(owner, group)
                for kin in _ONE_OF_KIND(self._said(one)):
                    if self._person(owner, one.relation, (kin,)) == name:
                        yield from self._relatives(owner, (kin, *_role(kin)))

    def _says(self, one: FactStatement, words: Iterable[str]) -> bool:
        """Whether the text of a statement has one of the words, and of relatives as the last before the name."""
        said = self._said(one)
        named = _KIN_WORD.findall(said[: max(said.rfind(name_key(one.object)), 0)]) if one.relation in _SAME else []
        if named and _KIN.keys() >= set(words):
            return named[-1] in words
        return re.search(rf"(?<![a-z])(?:{'|'.join(map(re.escape, words))})(?![a-z])", said) is not None

    def _said(self, one: FactStatement) -> str:
        """The words of a statement, with those before them where a relative is not called one: "My dad fell. He's Bob"."""
        text = self._text_of(one.source.record)
        said = text[one.source.start : one.source.end].casefold()
        before = one.relation in _SAME and not known_relation(one.relation).single and not _KIN_WORD.search(said)
        return text[max(0, one.source.start - _LONGEST_PART) : one.source.end].casefold() if before else said

    def _only_similar(self, name: str, *, misspelt: bool) -> str:
        """The only subject with this first name or, if none, with ``misspelt`` a name that differs by one letter."""
        found = list(islice(self._statements.subjects(f"{name} "), 2))
        if misspelt and not found and len(name) >= _LEAST_SPELT and name[0].isascii():
            near = frozenset(spellings(name))
            known = islice(self._statements.subjects(name[0]), _SUBJECTS_READ)
            found = [one for one in known if one in near]
        return found[0] if len(found) == 1 else ""


def _relation_of(kin: str) -> str:
    """The relation to a relative or acquaintance who may be one of several: *older brother*, *niece*, 二舅; or ""."""
    if kin in KIN:
        return KIN[kin].relation
    if kin in english_objects.KIN:
        return english_objects.KIN[kin]
    apart, _, word = kin.partition(" ")
    return _KIN[word][0] if apart in TELLS_APART and word in _KIN else ""


def owner_and_kin(name: str) -> tuple[str, str]:
    """Whose relative a name means, and which: *Ann's mom*; without an owner the user's."""
    owned = _OWNED(name)
    return (name_key(owned["owner"]), owned["kin"]) if owned else (USER, _OUR.sub("", name, count=1))


def is_one_of_several(name: str) -> bool:
    """Whether a compared name is of one relative among several of a kind: *user's older sister*."""
    return owner_and_kin(name)[1] in _APART


def _role(kin: str) -> tuple[str, ...]:
    """The words under which the reader of facts stores a relative who is named in Chinese: *older sister* for 姐姐."""
    if kin in _KINDS:
        return (_KINDS[kin],)
    found = None if kin.isascii() else KIN.get(kin)
    if found is None:
        return ()
    # Earlier versions stored every 姐 and 妹 as a sister.
    return (found.word, found.word.split()[-1]) if found.relation == "sibling" else (found.word,)


def _standing(statements: Iterable[FactStatement]) -> list[FactStatement]:
    """The statements that are believed."""
    given = list(statements)
    denied = {one.value for one in given if one.denies}
    return [one for one in given if not one.negated and one.retired_at is None and one.value not in denied]
