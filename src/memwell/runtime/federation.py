"""Stores that exchange facts by signed files: each shares what it may, and keeps what others say apart from its own.

A file holds facts and nothing else: no text of a memory leaves a store. It is signed with a secret that two stores share
(HMAC-SHA256), names its sender and its receiver, and is not encrypted: send it over a connection that is.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.knowledge.answers import holds_secret
from memwell.language.claims.relations import USER, known_relation
from memwell.longterm.facts import Fact
from memwell.longterm.memory import HasMemory, as_memory
from memwell.longterm.statements import BY_HAND, digest, name_key
from memwell.records import Space, paged
from memwell.values import MAX_ID_LENGTH, check_id, check_list, check_text, check_type, shown

FORMAT: Final = "memwell facts 1"
PRIVATE: Final = "private"
"""The key in the metadata of a memory from which nothing is shared: ``remember(…, metadata={"private": True})``."""

_SHARE = 0.5
"""What is left of the confidence in a fact when another store says it."""
_LEAST = 16
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


class Federation:
    """The facts that a memory shares with other stores, and those that it has from them.

    ``owner`` is the name of this store and of its user: facts about the user travel under this name, because ``user`` is
    someone else in every store. ``keys`` has a secret of at least 16 bytes for each other store. ``private`` names
    relations, subjects and objects that never leave; neither does what rests only on memories whose metadata says
    ``private``, what looks like a secret, what is outdated, or what came from another store. Raises ``InvalidInput`` for a
    name or a secret that is none, for the name ``user``, and for one secret with two stores.
    """

    def __init__(
        self, memory: HasMemory, owner: str, keys: Mapping[str, str | bytes], *, private: Iterable[str] = ()
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
        self._private = {name_key(check_text(one, "what is private")) for one in listed}

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
        now, private = self._memory.clock(), self._private_names()
        for fact in paged(lambda cursor: self._memory.facts.all(cursor=cursor)):
            if fact.retired_at is None and fact.holds_at(now) and not self._is_private(fact, private):
                yield self._shared(fact)

    def _private_names(self) -> set[str]:
        """What is private, and the people that it means: *my sister* is known as the user's sister, and by her name."""
        meant = {name_key(fact.subject) for one in self._private for fact in self._memory.facts.history(one)}
        return self._private | (meant - {name_key(USER)})

    def _is_private(self, fact: Fact, private: set[str]) -> bool:
        texts = (fact.subject, fact.relation, fact.object)
        if {name_key(one) for one in texts} & private or max(map(len, texts)) > MAX_ID_LENGTH:
            return True
        return holds_secret(fact.object) or not any(self._may_leave(one.record) for one in fact.evidence)

    def _may_leave(self, record: str) -> bool:
        if record == BY_HAND:
            return True
        try:
            return not self._memory.get(record).metadata.get(PRIVATE)
        except NotFound:
            return False

    def _shared(self, fact: Fact) -> SharedFact:
        """The fact under the name of the owner, where it speaks of the user."""
        shared = _without_evidence(fact)
        named = {name: getattr(shared, name) for name in ("subject", "object")}
        return msgspec.structs.replace(
            shared, **{name: self.owner if name_key(one) == name_key(USER) else one for name, one in named.items()}
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
        asked = [USER, self.owner] if self._is_owner(subject) else [subject]
        taken = list(dict.fromkeys(_without_evidence(fact) for one in asked for fact in facts.about(one)))
        denied = {_claim(fact) for one in asked for fact in facts.history(one) if fact.retired_at is not None}
        for fact in sorted(self._from_others(subject), key=lambda one: one.said_at, reverse=True):
            if _claim(fact) not in denied and not any(_excludes(one, fact) for one in taken):
                taken.append(fact)
        return taken

    def _from_others(self, subject: str) -> Iterator[SharedFact]:
        names = {name_key(one) for one in self._memory.facts.names_of(subject)} | {name_key(subject)}
        names |= {name_key(self.owner), name_key(USER)} if self._is_owner(subject) else set()
        kv = self._memory.backend.kv
        for origin in self._keys:
            space = self._space(origin)
            for entry in paged(lambda cursor, space=space: kv.scan(space, cursor=cursor)):
                if entry.key == "made":
                    continue
                fact = msgspec.convert(entry.value, SharedFact)
                if name_key(fact.subject) in names:
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
