"""Stores that exchange facts by signed files: each shares what it may, and keeps what others say apart from its own.

A file holds facts and nothing else: no text of a memory leaves a store. It is signed with a secret that two stores share
(HMAC-SHA256), names its sender and its receiver, and is not encrypted: send it over a connection that is.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, Final, NamedTuple
from unicodedata import combining, normalize

import msgspec

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.knowledge.answers import holds_secret
from memwell.knowledge.asking import OTHER_FORMS
from memwell.language.claims.chinese_objects import KIN as CHINESE_KIN
from memwell.language.claims.english_objects import KIN as ENGLISH_KIN
from memwell.language.claims.english_objects import SAME_KIN
from memwell.language.claims.relations import USER, known_relation, relation_of
from memwell.language.segment import query_terms, segment
from memwell.language.subjects import EN_KIN, ZH_KIN
from memwell.longterm.facts import Fact, timeline
from memwell.longterm.memory import HasMemory, as_memory
from memwell.longterm.statements import (
    BY_HAND,
    BY_SUBJECT,
    FactStatement,
    FactStatements,
    digest,
    name_key,
    owner_and_kin,
)
from memwell.records import Space, paged
from memwell.values import MAX_ID_LENGTH, check_id, check_list, check_text, check_type, shown

FORMAT: Final = "memwell facts 1"
PRIVATE: Final = "private"
"""The key in the metadata of a memory from which nothing is shared: ``remember(…, metadata={"private": True})``.

Upper and lower case are the same."""

_SHARE = 0.5
"""What is left of the confidence in a fact when another store says it."""
_LEAST = 16
_KIN = {
    **{word: {relation, EN_KIN[word]} - {""} for word, relation in ENGLISH_KIN.items()},
    **{word: {relation, ZH_KIN[word]} - {""} for word, (relation, _) in CHINESE_KIN.items()},
}
"""The relation and the usual word of each word for a relative or acquaintance."""
_AHEAD = timedelta(days=1)
"""How far the clock of another store may be ahead of ours."""

# What a file may hold is checked while it is read.
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH)]
_Line = Annotated[
    str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=r"\A[^\x00-\x1f\x7f-\x9f\u2028\u2029]+\Z")
]


class SharedFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as it leaves a store: who, what, when it holds and when it was said, and how sure it is. No evidence."""

    subject: _Name
    relation: _Line
    object: _Name
    said_at: _Moment
    valid_from: _Moment | None = None
    valid_to: _Moment | None = None
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8
    origin: str = ""
    """The store that says so; empty for this one. A file does not decide it: it is the name that the file is signed for."""


class _Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """What is signed: all that one store shares with another at a moment."""

    format: str
    origin: str
    to: str
    made: _Moment
    facts: list[SharedFact]


class Taken(NamedTuple):
    """What an import did: facts that are new, that were known from this store, and that it no longer shares."""

    new: int
    known: int
    withdrawn: int


_MOST_STEPS = 3
"""How far private people are followed: a sister, her husband, his mother."""


class Federation:
    """The facts that a memory shares with other stores, and those that it has from them.

    ``owner`` is the name of this store and of its user: facts about the user travel under this name, because ``user`` is
    someone else in every store. ``keys`` has a secret of at least 16 bytes for each other store. A fact never leaves when
    one of the words in ``private`` occurs, in any form, in its subject, its relation, its object or the text of a memory
    behind it, or when it names someone whom such a word means. A word for a relative stands for all words of its relation.
    Neither leaves what rests only on memories whose metadata says ``private`` or on the words of someone else who is not
    among ``speakers``, what looks like a secret, what is outdated, or what came from another store. Raises
    ``InvalidInput`` for a name or a secret that is none, for the name ``user``, and for one secret with two stores.
    """

    def __init__(
        self,
        memory: HasMemory,
        owner: str,
        keys: Mapping[str, str | bytes],
        *,
        private: Iterable[str] = (),
        speakers: Iterable[str] = (),
    ) -> None:
        self._memory = as_memory(memory)
        self.owner = _store_name(owner)
        check_type(keys, Mapping, "keys must have a secret for each store")
        self._keys = {_store_name(name): _secret(name, key) for name, key in keys.items()}
        if self.owner in self._keys:
            raise InvalidInput(f"{shown(self.owner)} is this store itself, and needs no secret with itself")
        if len(set(self._keys.values())) < len(self._keys):
            raise InvalidInput("two stores have one secret: each could sign for the other; give each its own")
        listed = check_list(private, "what is private must be a list of names")
        self._private = {_private_word(one) for one in listed}
        heard = check_list(speakers, "the speakers whose words may leave must be a list of names")
        self._speakers = {name_key(check_text(one, "a speaker")) for one in heard}

    # Sharing

    def export(self, to: str) -> bytes:
        """All facts that the store ``to`` may have, signed for it. Raises ``NotFound`` for a store without a secret."""
        key = self._key(to)
        sheet = _Sheet(
            format=FORMAT, origin=self.owner, to=to, made=self._memory.clock(), facts=list(self._shareable())
        )
        body = msgspec.json.encode(sheet)
        return body + b"\n" + _signature(key, body)

    def _shareable(self) -> Iterator[SharedFact]:
        now, is_private = self._memory.clock(), self._held_back()
        said_openly = cache(self._may_leave)
        for stated in self._statements():
            held = {_claim(fact): fact for fact in timeline(stated) if _is_current(fact, now)}
            # What was said in private decides what is outdated, and shows in nothing else.
            for fact in timeline(one for one in stated if said_openly(one.source.record)):
                whole = held.get(_claim(fact))
                if _is_current(fact, now) and whole is not None and not is_private(whole):
                    yield self._shared(fact)

    def _statements(self) -> Iterator[list[FactStatement]]:
        facts = self._memory.facts
        return (group for _, group in FactStatements(self._memory.backend.kv, facts.space).groups(BY_SUBJECT))

    def _held_back(self) -> Callable[[Fact], bool]:
        """Whether a fact is private: by its words, by the texts behind it, or by the name of someone in it."""
        owners = {name_key(USER), name_key(self.owner)}
        relatives = [kin for owner, kin in map(owner_and_kin, self._private) if owner in owners]
        kin = _Words(word for one in relatives for word in _kin_words(one))
        words, text_of = _Words(self._private), cache(self._text_of)
        found: set[str] = set()
        names = set(self._private)
        facts = [one for stated in self._statements() for one in timeline(stated) if self._private]
        named = words
        # A person who is named with someone private is private too: the son of a private sister.
        for _ in range(_MOST_STEPS):
            for fact in [one for one in facts if one.id not in found]:
                texts = (*_texts(fact), *(text_of(one.record) for one in fact.evidence))
                if (is_kin := any(map(kin.are_in, texts))) or any(map(named.are_in, texts)):
                    found.add(fact.id)
                    names.update(_people(fact, is_kin=is_kin))
            known = {name for one in names for name in (one, *self._memory.facts.names_of(one))}
            named = _Words(known - owners | self._private)
        return lambda fact: (
            fact.id in found
            or any(map(named.are_in, _texts(fact)))
            or max(map(len, _texts(fact))) > MAX_ID_LENGTH
            or holds_secret(fact.object)
        )

    def _text_of(self, record: str) -> str:
        try:
            return "" if record == BY_HAND else self._memory.get(record).text
        except NotFound:
            return ""

    def _may_leave(self, record: str) -> bool:
        if record == BY_HAND:
            return True
        try:
            memory = self._memory.get(record)
        except NotFound:
            return False
        speaker = memory.speaker
        is_heard = not speaker or name_key(speaker) in self._speakers or self._is_owner(speaker)
        return is_heard and not any(value for key, value in memory.metadata.items() if key.casefold() == PRIVATE)

    def _shared(self, fact: Fact) -> SharedFact:
        """The fact under the name of the owner, where it speaks of the user or the user's relatives."""
        shared, (whose, kin) = _without_evidence(fact), owner_and_kin(name_key(fact.subject))
        is_relative = whose == USER and kin in _KIN
        return msgspec.structs.replace(
            shared,
            subject=f"{self.owner}'s {kin}" if is_relative else _renamed(fact.subject, USER, self.owner),
            object=_renamed(fact.object, USER, self.owner),
        )

    # Taking in

    def take(self, exported: bytes) -> Taken:
        """Replace what is known from the sender of an export by what it shares now; its own facts stay untouched.

        Raises ``InvalidInput`` for what is no export, was changed, signed with another secret, made for another store or in
        the future, or holds a value that no fact has, ``NotFound`` for a sender without a secret, and
        ``Conflict`` for an export that is older than the one taken in last. Then nothing changes.
        """
        sheet = self._checked(exported)
        space, kv = self._space(sheet.origin), self._memory.backend.kv
        # The sender vouches for its own word alone.
        fresh = {_key_of(one): {**msgspec.to_builtins(one), "origin": sheet.origin} for one in sheet.facts}
        with self._memory.backend.transaction():
            state = kv.get(space, "made")
            if state is not None and datetime.fromisoformat(str(state.value)) > sheet.made:
                raise Conflict(f"{shown(sheet.origin)} made a later export, which is taken in already")
            held = {one.key for one in paged(lambda cursor: kv.scan(space, cursor=cursor))} - {"made"}
            for key in held - fresh.keys():
                kv.delete(space, key)
            for key in fresh.keys() - held:
                kv.put(space, key, fresh[key])
            kv.put(space, "made", sheet.made.isoformat())
        return Taken(len(fresh.keys() - held), len(fresh.keys() & held), len(held - fresh.keys()))

    def forget(self, origin: str) -> int:
        """Delete everything that is known from a store, and return how many facts that were."""
        space, kv = self._space(origin), self._memory.backend.kv
        keys = [one.key for one in paged(lambda cursor: kv.scan(space, cursor=cursor))]
        for key in keys:
            kv.delete(space, key)
        return len([key for key in keys if key != "made"])

    def _checked(self, exported: bytes) -> _Sheet:
        check_type(exported, bytes, "an export is bytes, as export() returns it")
        body, _, signature = exported.rpartition(b"\n")
        try:
            sheet = msgspec.json.decode(body, type=_Sheet)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"this is no export of facts: {error}") from None
        # Read before it is checked only to find the secret; nothing else of it is used.
        if not hmac.compare_digest(_signature(self._key(sheet.origin), body), signature):
            raise InvalidInput(f"the export was changed, or not signed with the secret of {shown(sheet.origin)}")
        if sheet.format != FORMAT or sheet.to != self.owner:
            raise InvalidInput(f"the export is for {shown(sheet.to)} in {shown(sheet.format)}, not for {self.owner!r}")
        if sheet.made - self._memory.clock() > _AHEAD:
            raise InvalidInput(f"the export says that it was made in the future, at {sheet.made.isoformat()}")
        for fact in sheet.facts:
            if fact.valid_from is not None and fact.valid_to is not None and fact.valid_to < fact.valid_from:
                raise InvalidInput(f"a fact about {shown(fact.subject)} ends before it begins")
        return sheet

    # Reading

    def about(self, subject: str = USER) -> list[SharedFact]:
        """What is known of someone: our own facts first, then those of others with half of their confidence.

        Another store's fact is left out where our own say something else, the same, or that it is not so; of two stores
        that contradict each other the one that spoke last counts.
        """
        facts = self._memory.facts
        # The owner's name is the user's.
        own = _renamed(subject, self.owner, USER)
        asked = [USER, self.owner] if self._is_owner(subject) else list(dict.fromkeys((own, subject)))
        taken = list(dict.fromkeys(_without_evidence(fact) for one in asked for fact in facts.about(one)))
        denied = {_claim(fact) for one in asked for fact in facts.history(one) if fact.retired_at is not None}
        for fact in sorted(self._from_others(own), key=lambda one: one.said_at, reverse=True):
            if _claim(fact) not in denied and not any(_excludes(one, fact) for one in taken):
                taken.append(fact)
        return taken

    def _from_others(self, subject: str) -> Iterator[SharedFact]:
        names = {_who(one) for one in (subject, *self._memory.facts.names_of(subject))}
        names |= {_who(USER)} if self._is_owner(subject) else set()
        kv = self._memory.backend.kv
        for origin in self._keys:
            space = self._space(origin)
            for entry in paged(lambda cursor, space=space: kv.scan(space, cursor=cursor)):
                if entry.key == "made":
                    continue
                fact = msgspec.convert(entry.value, SharedFact)
                if _who(_renamed(fact.subject, self.owner, USER)) in names:
                    yield msgspec.structs.replace(fact, confidence=fact.confidence * _SHARE)

    def _is_owner(self, subject: str) -> bool:
        names = {name_key(one) for one in (subject, *self._memory.facts.names_of(subject))}
        return not names.isdisjoint((name_key(self.owner), name_key(USER)))

    def _space(self, origin: str) -> Space:
        return self._memory.space / "federation" / check_id(origin, "the name of a store")

    def _key(self, name: str) -> bytes:
        if name not in self._keys:
            raise NotFound(f"there is no secret with the store {shown(name)}")
        return self._keys[name]


def _store_name(name: object) -> str:
    if name_key(checked := check_id(name, "the name of a store")) == name_key(USER):
        raise InvalidInput(f"{shown(name)} is someone else in every store; give the store a name of its own")
    return checked


def _secret(name: str, key: Any) -> bytes:
    secret = key.encode() if isinstance(key, str) else key
    if not isinstance(secret, bytes) or len(secret) < _LEAST:
        raise InvalidInput(f"the secret with {shown(name)} must have at least {_LEAST} bytes, such as token_hex(32)")
    return secret


def _private_word(given: object) -> str:
    if not (name := name_key(check_text(given, "what is private"))):
        raise InvalidInput(f"what is private must have a word, not {shown(given)}")
    return name


def _kin_words(word: str) -> set[str]:
    """All words for the relatives of a relation, by its name or one of them; nothing for another word."""
    kinds = _KIN.get(word) or _KIN.get(word.rpartition(" ")[2], {word})
    words = {one for one, others in _KIN.items() if kinds & others}
    return words | kinds if words else set()


def _people(fact: Fact, *, is_kin: bool) -> Iterator[str]:
    """Who is named by a private fact, which says who they are or speaks of a relative."""
    relation = relation_of(fact.relation)
    says_who = fact.relation in ("pet", "kind", "name") or (relation is not None and relation.people)
    if says_who or is_kin:
        yield name_key(fact.subject)
    if says_who:
        yield name_key(fact.object)


class _Words:
    """Words that are looked for in texts, in every form: by stems, and by letters whatever is between them."""

    def __init__(self, words: Iterable[str]) -> None:
        forms = {form for one in words for form in _forms(one)}
        self._terms = [terms for one in forms if (terms := set(query_terms(one)))]
        self._written = re.compile("|".join(map(_spaced, forms)) or r"(?!)").search

    def are_in(self, text: str) -> bool:
        """Whether a text has one of the words."""
        if self._written(_plain(text)) is not None:
            return True
        tokens = set(segment(text)) if self._terms else set[str]()
        return any(terms <= tokens for terms in self._terms)


def _forms(word: str) -> Iterator[str]:
    """A word, and its other forms that share no stem with it: *mice* of *mouse*, *wolves* of *wolf*."""
    head, blank, last = word.rpartition(" ")
    ends = (re.sub(r"fe?\Z", "ves", last), re.sub(r"ves\Z", "f", last), re.sub(r"ves\Z", "fe", last))
    yield word
    yield from (f"{head}{blank}{form}" for form in (*OTHER_FORMS.get(last, ()), *ends))


def _plain(text: str) -> str:
    """A text without case, width and accents."""
    # Marks go first: a long row of them takes the square of its length to put in order.
    return _without_marks(normalize("NFKD", _without_marks(text))).casefold()


def _without_marks(text: str) -> str:
    return "".join(one for one in text if not combining(one))


def _spaced(word: str) -> str:
    """The pattern of a word with any blanks and signs between its letters: *New York* is *NewYork*."""
    letters = re.sub(r"[\W_]", "", _plain(word)) or re.sub(r"\s", "", word)
    before = r"(?<![a-z0-9])" if letters[0].isascii() else ""
    after = r"(?![a-z0-9])" if letters[-1].isascii() else ""
    return before + r"[\W_]*".join(map(re.escape, letters)) + after


def _renamed(name: str, old: str, new: str) -> str:
    """A name with another owner: *user* and *user's mother* become *Ann* and *Ann's mother*."""
    if name_key(name) == name_key(old):
        return new
    return re.sub(rf"\A{re.escape(old)}(?=['’]s\s|的)", lambda _: new, name, flags=re.IGNORECASE)


def _who(name: str) -> tuple[str, str]:
    """Whom a name means, whichever usual word it has for a relative: *Ann's mom* and Ann的妈妈 are *Ann's mother*."""
    owner, kin = owner_and_kin(name_key(name))
    return owner, CHINESE_KIN[kin].word if kin in CHINESE_KIN else SAME_KIN.get(kin, kin)


def _texts(fact: Fact) -> tuple[str, str, str]:
    return fact.subject, fact.relation, fact.object


def _is_current(fact: Fact, now: datetime) -> bool:
    return fact.retired_at is None and fact.holds_at(now)


def _signature(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, "sha256").hex().encode()


def _without_evidence(fact: Fact) -> SharedFact:
    return SharedFact(**{name: getattr(fact, name) for name in SharedFact.__struct_fields__ if name != "origin"})


def _key_of(fact: SharedFact) -> str:
    return digest(msgspec.json.encode(fact).decode())


def _claim(fact: Fact | SharedFact) -> tuple[str, str]:
    return fact.relation, name_key(fact.object)


def _excludes(known: SharedFact, other: SharedFact) -> bool:
    """Whether a fact leaves no room for another one about the same subject."""
    one, two = known_relation(known.relation), known_relation(other.relation)
    if known.relation == other.relation and (one.single or _claim(known) == _claim(other)):
        return True
    return bool(one.family) and one.family == two.family and name_key(known.object) == name_key(other.object)
