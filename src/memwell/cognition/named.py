"""Memories that are known by a name, and whether one text says what another asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

import msgspec

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import AllOf, Filter, Where
from memwell.language.asking import content, coverage, is_question
from memwell.language.secrets import findings, redacted
from memwell.language.segment import query_terms
from memwell.language.words import en_or_zh
from memwell.longterm.gate import compatible, fingerprint
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled, as_recalled
from memwell.longterm.traits import FORGOTTEN, Evidence, Traits, traits_of
from memwell.longterm.uses import counted_traits
from memwell.values import check_id, check_list, check_text, is_finite, shown

# Whether a condition holds in a situation, and whether two texts say the same, by their words.


_CLAUSE_ENDS = re.compile(
    r"([,;!?，；。、！？\n]|\.(?=\s|\Z)|\b(?:and|but|while|whereas|although|though|yet|however)\b|但(?!愿)是?|而且|并且|然而|可是|不过)",
    re.I,
)
_SENTENCE_ENDS = re.compile(r"[;!?；。！？\n.]")
# What follows these is stated, even if a condition stands before them.
_TURNS = re.compile(r"but|while|whereas|although|though|yet|however|但是?|然而|可是|不过", re.I)
# "No backup and permission" denies both.
_LISTS = re.compile(r"[、,]|and", re.I)
_SAYS_MORE = re.compile(
    r"\b(?:is|are|was|were|am|be|has|have|had|got|can|will|does|do|did|works?|runs?|passe?s?|exists?|\w{3,}ed)\b|['’](?:s|re|ve|m)\b"
    r"|[有已可能是在了会]|完成|正常|通过|收到",
    re.I,
)
_DENIES = re.compile(
    r"\b(?:not?|nor|neither|never|none|nobody|nothing|without|cannot|lacks?|lacking|missing|fail(?:s|ed|ure)?|offline"
    r"|expired|lost|\w+n['’]t)\b"
    r"|[不没無无未勿]|失败|断开|丢失|过期|缺(?![陷点口])|并非|除非|非(?!常)|別|(?<![特分级区个派类性])别(?![人的名处墅])",
    re.I,
)
# Words with one of these characters in them that deny nothing.
_DENIES_NOTHING = re.compile(
    "未来|无线|无论|不同|不过|不断|不仅|不但|不错|不久|差不多|无人机|无限|非常|不可或缺|缺一不可"
)
# What begins a condition: the rest of the sentence holds only then.
_SUPPOSES = re.compile(
    r"\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|provided|once|until|when|whenever)\b"
    r"|如果|要是|假如|假设|倘若|若是|万一|一旦|除非|只要|只有|等到|(?<![自])若(?!干)",
    re.I,
)
_WISHES = re.compile(
    r"\b(?:wish(?:es|ed)?|hop(?:es?|ed|ing|efully)|would|could|should|might|maybe|perhaps|possibly|probably|wants?|wanted"
    r"|needs?|needed|require[sd]?|expect(?:s|ed)?)\b"
    r"|但愿|希望|最好|应该|可能|也许|或许|大概|是否|能否|可否|需要|必须|想要|期待|盼",
    re.I,
)
_OPPOSITE_WORDS = tuple(
    tuple(frozenset(query_terms(side)) for side in pair.split("/"))
    for pair in (
        *("online/offline", "open opened/closed close shut", "enabled/disabled", "up/down", "on/off"),
        *("full/empty", "valid/expired", "locked/unlocked", "running started/stopped"),
    )
)
_OPPOSITE_ZH = tuple(
    tuple(re.compile(side).search for side in pair.split("/"))
    for pair in (
        *("在线|上线/离线|下线|掉线", "打开|开启|开着|开放|启用/关闭|关上|关着|关掉|停用|禁用"),
        *("连接|连上|接通/断开|断线|断了|中断",),
        *("正常/异常|故障", "运行|启动/停止|停机|宕机", "已满|满了/空的|空了", "有效/失效|过期", "充足|足够/不足|短缺"),
    )
)
_ENOUGH_ENGLISH, _ENOUGH_CHINESE = 0.6, 0.55
_OPPOSITES = ("un", "in", "im", "dis", "non")
_SAME = 0.6  # of the words: definitions that share this much say the same


class _Clause(NamedTuple):
    """A part of a sentence: whether it denies something, and whether it is only asked, wished or supposed."""

    text: str
    denied: bool
    open: bool


def holds_in(condition: str, situation: Iterable[str]) -> bool:
    """Whether the texts of a situation state a condition, and not its opposite."""
    wanted, denied = content(condition), denies(condition)
    enough = _ENOUGH_CHINESE if wanted.characters else _ENOUGH_ENGLISH
    clauses = [clause for text in situation for clause in _clauses(text)]
    # A condition may itself be that something is needed or expected.
    stated = [one for one in clauses if not one.open or (_WISHES.search(condition) and _WISHES.search(one.text))]

    def meets(text: str) -> bool:
        return wanted.covered(content(text)) >= enough and not _opposed(condition, text)

    if any(one.denied is denied and meets(one.text) for one in stated):
        return True
    # Several clauses may meet it together, if none of them denies anything.
    return not denied and not any(one.denied for one in clauses) and meets(" ".join(one.text for one in stated))


def says_same(one: str, other: str) -> bool:
    """Whether two definitions say the same."""
    return fingerprint(one) == fingerprint(other) or max(coverage(one, other), coverage(other, one)) >= _SAME


def denies(text: str) -> bool:
    """Whether a clause says that something is not so."""
    return bool(_DENIES.search(_DENIES_NOTHING.sub("", text)))


def _clauses(text: str) -> Iterator[_Clause]:
    parts = _CLAUSE_ENDS.split(text)
    supposed = denied = False
    before = ""
    for part, after in zip(parts[::2], [*parts[1::2], ""], strict=True):
        clause = part.strip()
        if clause:
            supposed = (supposed and not _TURNS.fullmatch(before)) or bool(_SUPPOSES.search(clause))
            goes_on = bool(_LISTS.fullmatch(before)) and not _SAYS_MORE.search(clause)
            denied = denies(clause) or (denied and goes_on)
            asked = after in ("?", "？") or is_question(clause)
            yield _Clause(clause, denied, supposed or asked or bool(_WISHES.search(clause)))
        if _SENTENCE_ENDS.fullmatch(after):
            supposed = denied = False
        before = after


def _opposed(one: str, other: str) -> bool:
    """Whether one says *known* and the other *unknown*, or one 在线 and the other 离线."""
    # All words count: "up" and "on" are too small to be content.
    ours, theirs = frozenset(query_terms(one)), frozenset(query_terms(other))
    for first, second in ((ours, theirs), (theirs, ours)):
        if any(prefix + word in second and word not in second for word in first for prefix in _OPPOSITES):
            return True
        if any(
            this & first and not that & first and that & second and not this & second for this, that in _OPPOSITE_WORDS
        ):
            return True
    for this, that in _OPPOSITE_ZH:
        if (this(one) and that(other) and not this(other)) or (that(one) and this(other) and not that(other)):
            return True
    return False


_PAGE = 500
Found = TypeVar("Found")
Kept = TypeVar("Kept")


class Belief(msgspec.Struct, frozen=True):
    """A prior that counts as ``strength`` observations, and the observations since."""

    prior: float = 0.5
    strength: float = 2.0
    support: int = 0
    against: int = 0

    @property
    def value(self) -> float:
        """``(strength * prior + support) / (strength + support + against)``: above 0 and below 1."""
        return (self.strength * self.prior + self.support) / (self.strength + self.support + self.against)

    @property
    def observations(self) -> int:
        """How often it was tested."""
        return self.support + self.against

    def seen(self, holds: bool) -> Belief:
        """The belief after one more observation."""
        return Belief(self.prior, self.strength, self.support + holds, self.against + (not holds))


class Draft(msgspec.Struct, frozen=True):
    """The next state of a memory: its text, its metadata, and the memories that it rests on."""

    text: str
    kept: Any
    reason: str
    sources: tuple[str, ...] = ()


class NamedMemories:
    """The memories of one kind, by name. ``shape`` is the type of their metadata."""

    def __init__(self, memory: Memory, kind: str, shape: type) -> None:
        self.memory = memory
        self.kind = kind
        self._shape = shape

    def id_of(self, name: str) -> str:
        """The id for a name, however it is written. The name cannot be read from it."""
        return f"{self.kind}/{blake2b(key_of(name).encode(), digest_size=16).hexdigest()}"

    def find(self, id_: str) -> Recalled | None:
        """The memory of an id, or None when there is none or it was forgotten."""
        try:
            found = self.memory.get(id_)
        except NotFound:
            return None
        return found if keeps(found, self.kind, self._shape) else None

    def all(self, where: Filter | None = None) -> Iterator[Recalled]:
        """The memories of this kind, oldest first, without those that other programs stored under the same kind."""
        ours: Filter = Where("@kind", "eq", self.kind)
        found = self.memory.memories(where=ours if where is None else AllOf((ours, where)))
        return (one for one in found if keeps(one, self.kind, self._shape))

    def change(self, id_: str, make: Callable[[Recalled | None], Draft]) -> Recalled:
        """Replace the memory of an id by what ``make`` makes of it, in one transaction.

        Raises ``InvalidInput`` when the gate refuses its text, and whatever ``make`` raises; nothing is changed then.
        """
        # Before the transaction, which others wait for: a model may have to embed pending texts.
        self.memory.catch_up()
        with self.memory.backend.transaction():
            old = self.find(id_)
            draft = make(old)
            return self._add(id_, draft) if old is None else self._replace(old, draft)

    def _add(self, id_: str, draft: Draft) -> Recalled:
        metadata = {self.kind: msgspec.to_builtins(draft.kept)}
        evidence = [Evidence(record=one) for one in draft.sources]
        with suppress(Conflict):
            # Derived, so no facts about people are read from it.
            stored = self.memory.remember(
                draft.text, id=id_, kind=self.kind, metadata=metadata, trust="derived", evidence=evidence
            )
            return self.memory.get(stored.id)
        # It was forgotten: storing it again restores it with the new text.
        return self._replace(self.memory.undo(id_), draft)

    def _replace(self, old: Recalled, draft: Draft) -> Recalled:
        return self.memory.update(
            old.id,
            None if draft.text == old.text else draft.text,
            metadata={**old.metadata, self.kind: msgspec.to_builtins(draft.kept)},
            evidence=dict.fromkeys((*old.evidence, *(Evidence(record=one) for one in draft.sources))),
            reason=draft.reason,
        )


def keeps(found: Recalled, kind: str, shape: type) -> bool:
    """Whether a memory is of this kind and its metadata has this shape."""
    try:
        msgspec.convert(found.metadata.get(kind), shape)
    except msgspec.ValidationError:
        return False
    return found.kind == kind


def why_of(found: Recalled) -> str:
    """Why a memory was recalled, in the language of the query; empty when it was not."""
    return found.why(language=en_or_zh(found.asked)) if found.signals else ""


def living_of(memory: Memory, ids: Sequence[str]) -> list[Recalled]:
    """Those of some memories that may be recalled now."""
    memory.catch_up()
    view = memory.indexer.view
    found = counted_traits(view.kv, view.index.get(memory.space, ids))
    return [as_recalled(one, traits=traits) for one, traits in found if traits.active and not _is_gone(memory, traits)]


def gone_of(memory: Memory, ids: Iterable[str]) -> frozenset[str]:
    """Those of some memories that are erased, forgotten or expired. A merged one lives on in the other."""
    memory.catch_up()
    index, wanted = memory.indexer.view.index, sorted(set(filter(None, ids)))
    gone: set[str] = set()
    for start in range(0, len(wanted), _PAGE):
        some = wanted[start : start + _PAGE]
        stored = {one.id: traits_of(one) for one in index.get(memory.space, some)}
        gone.update(id_ for id_ in some if _is_gone(memory, stored.get(id_) or _merged(memory, id_)))
    return frozenset(gone)


def _merged(memory: Memory, id_: str) -> Traits | None:
    """The traits of the memory that this one was merged into."""
    other = memory.indexer.resolved(id_)
    found = memory.indexer.view.index.get(memory.space, [other]) if other != id_ else []
    return traits_of(found[0]) if found else None


def _is_gone(memory: Memory, traits: Traits | None) -> bool:
    if traits is None or traits.status == FORGOTTEN:
        return True
    return traits.expires is not None and traits.expires <= memory.clock()


def enough_of(
    fetch: Callable[[int], Sequence[Found]], choose: Callable[[Sequence[Found]], list[Kept]], limit: int
) -> list[Kept]:
    """At least ``limit`` of what ``choose`` keeps of what ``fetch(count)`` finds, as long as there is more to find."""
    wanted = 2 * limit
    while True:
        found = fetch(wanted)
        kept = choose(found)
        if len(kept) >= limit or len(found) < wanted or wanted >= 128 * limit:
            return kept
        wanted *= 4


def key_of(name: str) -> str:
    """What makes two names the same: not their case, their width or the white space in them."""
    return " ".join(compatible(name).casefold().split())


def check_name(value: object, what: str) -> str:
    """A name in one line, without secrets. Raises ``InvalidInput`` for what is no text of 1 to 1,024 characters."""
    name = " ".join(check_id(value, what).split())
    if not name:
        raise InvalidInput(f"{what} must not be blank")
    return without_secrets(name)


def check_texts(value: object, what: str) -> tuple[str, ...]:
    """One text or several, without secrets and blank ones. Raises ``InvalidInput`` for anything else."""
    given = [value] if isinstance(value, str) else check_list(value, f"{what} must be texts")
    texts = [check_text(one, what) for one in given]
    return tuple(without_secrets(one.strip()) for one in texts if one.strip())


def check_share(value: object, what: str) -> float:
    """A number above 0 and below 1. Raises ``InvalidInput``."""
    if not is_finite(value) or not 0 < value < 1:
        raise InvalidInput(f"{what} must be above 0 and below 1, since nothing is certain, not {shown(value)}")
    return float(value)


def without_secrets(text: str) -> str:
    """The text without keys and passwords: the gate checks a memory's text, but not its metadata."""
    return redacted(text, [one for one in findings(text) if one.secret])
