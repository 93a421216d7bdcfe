"""A whole memory looked over: what in it should not be there, and what to do about it.

``audit`` reads records one after the other. Of each it keeps its words as numbers and its first line without secrets, not
its text. It changes nothing: its report carries a plan of plain values, which whoever owns the memory may carry
out, in order.

- junk: what the gate would refuse today. Proposed: forget.
- duplicate: the same but for its form, of one speaker; near_duplicate: nearly the same. Proposed: merge into the best of
  them, or review when a merge could lose something. Messages of a conversation are each their own and never duplicates.
- contradiction: memories behind facts that cannot both be true, as the caller's facts tell. Proposed: review.
- stale: past its time, or old, unimportant and never used. Proposed: forget; review when it is pinned.
- secret: proposed: redact. A memory that was forgotten but not erased still holds its secrets and is looked at, too.
- oversize: too long to be recalled whole. Proposed: shorten.
- broken: traits that cannot be read, evidence that points nowhere, bytes that are missing. Proposed: review.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from memwell.errors import InvalidInput, NotFound
from memwell.language.secrets import Finding, findings, redacted
from memwell.language.segment import query_terms
from memwell.longterm.gate import TRUSTS, Gate, Policy, Twins, fingerprint
from memwell.longterm.traits import Traits, blobs_space, traits_of
from memwell.records import Record, Space
from memwell.storage.protocols import Blobs
from memwell.values import MAX_CONTENT_BYTES, as_utc, check_count, shown

# A report of an audit in words, in English and in Chinese: why something is a problem, a table, and examples.


Detail: TypeAlias = str | int | float

_NAMES = {
    "secret": ("secrets", "机密信息"),
    "junk": ("junk", "垃圾"),
    "duplicate": ("duplicates", "重复"),
    "near_duplicate": ("near duplicates", "近似重复"),
    "contradiction": ("contradictions", "矛盾"),
    "stale": ("stale", "过时"),
    "oversize": ("oversize", "过长"),
    "broken": ("broken", "损坏"),
}
_VERBS = {
    "redact": ("redact", "遮盖"),
    "merge": ("merge", "合并"),
    "forget": ("forget", "忘记"),
    "shorten": ("shorten", "缩短"),
    "review": ("review", "人工查看"),
}
_REASONS = {
    "secret": ("it holds {kinds}", "含有 {kinds}"),
    "junk": ("{why}: {detail}", "{why}：{detail}"),
    "same": ("it says the same as {other}", "与 {other} 内容相同"),
    "alike": ("it says nearly the same as {other}", "与 {other} 内容相近"),
    "facts": ("“{other}” contradicts “{kept}”", "“{other}”与“{kept}”矛盾"),
    "expired": ("its time was over on {when}", "已于 {when} 到期"),
    "unused": (
        "{days} days old, never used, importance {importance}",
        "已有 {days} 天，从未用到，重要性 {importance}",
    ),
    "oversize": ("{length:,} characters, more than {most:,}", "{length:,} 个字符，超过 {most:,}"),
    "traits": ("its traits cannot be read", "附带的属性无法读取"),
    "evidence": ("{missing} of {of} pieces of evidence point nowhere", "{of} 条依据中有 {missing} 条已不存在"),
    "blobs": (
        "{missing} of {of} blobs that it names are not in the store",
        "它指向的 {of} 份数据中有 {missing} 份不在存储中",
    ),
    "replaced": ("it was replaced by {other}, which does not exist", "它被 {other} 取代，而后者不存在"),
}
_JUNK_IN_CHINESE = {
    "empty": "没有文字、数字或表情",
    "short": "太短",
    "noise": "杂乱字符",
    "boilerplate": "模型的套话",
}
_TITLE = (
    "Memories looked at: {records:,}. Problems: {problems:,}.",
    "审查记忆：{records:,} 条。问题：{problems:,} 个。",
)
_HEADS = (("kind", "number", "proposed"), ("种类", "数量", "建议"))
_EXAMPLES = ("Examples", "示例")
_CLEAN = ("Nothing to mend.", "没有需要处理的问题。")


def reason_of(code: str, details: Mapping[str, Detail], language: str) -> str:
    """Why something is a problem, in English, or in Chinese when the language begins with *zh*."""
    chinese = language.startswith("zh")
    values = dict(details)
    if chinese and code == "junk":
        values["detail"] = _JUNK_IN_CHINESE.get(str(values["why"]), values["detail"])
    return _REASONS[code][chinese].format(**values)


def told(report: Report, language: str) -> str:
    """A report for people: a table, then examples."""
    chinese = language.startswith("zh")
    title = _TITLE[chinese].format(records=report.records, problems=len(report.problems))
    if not report.problems:
        return f"{title}\n{_CLEAN[chinese]}\n"
    rows = [_HEADS[chinese], *_rows(report, chinese)]
    return "\n".join((title, "", *_table(rows), "", _EXAMPLES[chinese], *_shown_examples(report, language), ""))


def _rows(report: Report, chinese: bool) -> Iterator[tuple[str, str, str]]:
    for kind, count in report.counts.items():
        verbs = Counter(problem.action.verb for problem in report.problems if problem.kind == kind)
        proposed = ", ".join(f"{_VERBS[verb][chinese]} {number:,}" for verb, number in verbs.most_common())
        yield _NAMES[kind][chinese], f"{count:,}", proposed


def _table(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    widths = [max(_width(row[column]) for row in rows) for column in (0, 1)]
    for name, count, proposed in rows:
        gap = " " * (widths[0] - _width(name) + 2 + widths[1] - _width(count))
        yield f"  {name}{gap}{count}  {proposed}"


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _shown_examples(report: Report, language: str) -> Iterator[str]:
    chinese = language.startswith("zh")
    seen: Counter[str] = Counter()
    for problem in report.problems:
        seen[problem.kind] += 1
        if problem.example or seen[problem.kind] == 1:
            quoted = f" “{problem.example}”" if problem.example else ""
            verb = _VERBS[problem.action.verb][chinese]
            into = f" → {problem.action.into}" if problem.action.into else ""
            why = problem.reason_in(language)
            yield f"  {_NAMES[problem.kind][chinese]}: {problem.record}{quoted}: {why}: {verb}{into}"


Verb: TypeAlias = Literal["redact", "merge", "forget", "shorten", "review"]

KINDS = ("secret", "junk", "duplicate", "near_duplicate", "contradiction", "stale", "oversize", "broken")
"""All kinds of problems, in the order in which a report tells them."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do to one memory, and why.

    ``redact``: ``text`` takes the place of its text. ``merge``: it goes, and ``into`` takes over its evidence. ``forget``:
    it goes. ``shorten`` and ``review`` need somebody's judgement; ``others`` are the memories to look at together with it.
    """

    verb: Verb
    space: Space
    record: str
    reason: str
    into: str = ""
    text: str = ""
    others: tuple[str, ...] = ()


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a memory: its kind, a code for the reason, numbers and ids that belong to it, and a proposal."""

    record: str
    kind: str
    code: str
    details: Mapping[str, Detail] = {}
    action: Action
    example: str = ""
    """The beginning of its text without secrets; only the first of each kind have one."""

    @property
    def reason(self) -> str:
        """Why, in English."""
        return self.action.reason

    def reason_in(self, language: str) -> str:
        """Why, in English, or in Chinese when the language begins with *zh*."""
        return reason_of(self.code, self.details, language)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit counts as a problem. Raises ``InvalidInput`` for a limit that makes no sense."""

    policy: Policy = Policy()
    most_characters: int = 8_000
    """A longer memory is better kept as several."""
    alike: float = 0.7
    """From this on two texts are near duplicates: see ``memwell.longterm.gate.similar``."""
    fewest_words: int = 3
    """Shorter texts ("thank you") may be said as often as one likes."""
    stale_after: timedelta = timedelta(days=365)
    unimportant: float = 0.35
    examples: int = 3
    """How many of a kind are shown with the beginning of their texts."""

    def __post_init__(self) -> None:
        check_count(self.most_characters, "most_characters", least=1)
        check_count(self.fewest_words, "fewest_words")
        check_count(self.examples, "examples")
        if not 0 < self.alike <= 1:
            raise InvalidInput(f"alike must be above 0 and at most 1, not {shown(self.alike)}")
        if self.stale_after < timedelta(0):
            raise InvalidInput(f"stale_after must not be negative: {shown(self.stale_after)}")


class Sourced(Protocol):
    """Evidence of a fact: it names a record."""

    @property
    def record(self) -> str: ...


class Believed(Protocol):
    """A fact as ``memwell.longterm.facts`` has it."""

    @property
    def subject(self) -> str: ...
    @property
    def relation(self) -> str: ...
    @property
    def object(self) -> str: ...
    @property
    def evidence(self) -> Sequence[Sourced]: ...


class Contradiction(Protocol):
    """Two facts that cannot both be true; ``kept`` is the one believed."""

    @property
    def kept(self) -> Believed: ...
    @property
    def other(self) -> Believed: ...


class Report(msgspec.Struct, frozen=True):
    """What an audit found: ``records`` were looked at, ``problems`` are in the order of ``KINDS``."""

    records: int
    problems: tuple[Problem, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many problems of each kind there are, of the kinds that occur."""
        return dict(Counter(problem.kind for problem in self.problems))

    @property
    def plan(self) -> list[Action]:
        """What to do, in this order, so that no two steps contradict each other: nothing is merged into what goes."""
        return list(_planned(self.problems))

    def text(self, language: str = "en") -> str:
        """The report for people, in English, or in Chinese when the language begins with *zh*: a table, then examples."""
        return told(self, language)


def audit(
    records: Iterable[Record],
    *,
    facts: Iterable[Contradiction] | None = None,
    now: datetime,
    rules: Rules | None = None,
    known: Container[str] | None = None,
    blobs: Blobs | None = None,
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Look records over. ``facts`` are conflicts of facts; ``known`` holds the ids of all messages and records that exist.

    Without ``known`` evidence is taken on trust, without ``blobs`` the bytes that memories name. ``progress`` is called
    with the number of records read so far. Raises ``InvalidInput`` when ``now`` is no datetime.
    """
    auditor = _Auditor(rules or Rules(), as_utc(now, "now"), known, blobs)
    for record in records:
        auditor.look_at(record)
        if progress and auditor.read % _PROGRESS == 0:
            progress(auditor.read)
    auditor.compare()
    auditor.contradict(facts or ())
    if progress:
        progress(auditor.read)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return Report(auditor.read, tuple(sorted(auditor.problems, key=lambda problem: order[problem.kind])))


_PROGRESS = 256
_EXAMPLE = 80


class _Seen(NamedTuple):
    """A record as it passes by: with its traits, what was found in it, and how it may be shown."""

    record: Record
    traits: Traits
    found: list[Finding]
    example: str


class _Kept(NamedTuple):
    """What is remembered of a record while the others are read."""

    space: Space
    id: str
    rank: tuple[bool, float, int, int]
    example: str


class _Auditor:
    """One audit: problems gathered record by record, duplicates told at the end."""

    def __init__(self, rules: Rules, now: datetime, known: Container[str] | None, blobs: Blobs | None) -> None:
        self.read = 0
        self.problems: list[Problem] = []
        self._rules, self._now, self._known, self._blobs = rules, now, known, blobs
        self._gate = Gate(_mending(rules.policy))
        self._examples: Counter[str] = Counter()
        self._spaces: dict[str, Space] = {}
        self._same: dict[tuple[Space, str, str, str], list[_Kept]] = {}
        self._twins: dict[tuple[Space, str, str], tuple[Twins, list[_Kept]]] = {}

    def look_at(self, record: Record) -> None:
        """Note what is wrong with a record by itself, and what is needed to compare it."""
        self.read += 1
        if self._spaces.get(record.id) == record.space:
            return  # a page that was read while the store changed may bring a record twice: it is no duplicate of itself
        self._spaces[record.id] = record.space
        found = findings(record.text)
        try:
            seen = _Seen(record, traits_of(record), found, _shortened(record.text, found))
        except InvalidInput:
            seen = _Seen(record, Traits(), found, _shortened(record.text, found))
            self._add(seen, "broken", "traits", "review")
        self._look_for_secrets(seen)
        self._look_for_evidence(seen)
        self._look_for_bytes(seen)
        if seen.traits.active and not self._is_junk(seen) and not self._is_stale(seen):
            self._look_at_size(seen)
            self._keep(seen)

    def _look_for_secrets(self, seen: _Seen) -> None:
        found = [one for one in seen.found if one.secret or self._gate.policy.personal == "redact"]
        if found:
            kinds = ", ".join(f"{kind} × {count}" for kind, count in Counter(one.kind for one in found).items())
            self._add(seen, "secret", "secret", "redact", text=redacted(seen.record.text, found), kinds=kinds)

    def _look_for_evidence(self, seen: _Seen) -> None:
        known = self._known
        if known is None:
            return
        named = [name for one in seen.traits.evidence for name in (one.message, one.record) if name]
        missing = [name for name in named if name not in known]
        if missing:
            self._add(seen, "broken", "evidence", "review", missing=len(missing), of=len(named))
        if seen.traits.replaced_by and seen.traits.replaced_by not in known:
            self._add(seen, "broken", "replaced", "review", other=seen.traits.replaced_by)

    def _look_for_bytes(self, seen: _Seen) -> None:
        named = seen.traits.blobs
        if self._blobs is None or not named:
            return
        missing = sum(not _is_held(self._blobs, blobs_space(seen.record.space), digest) for digest in named)
        if missing:
            self._add(seen, "broken", "blobs", "review", missing=missing, of=len(named))

    def _is_junk(self, seen: _Seen) -> bool:
        # Traits may hold a trust that a later version knows.
        trust = seen.traits.trust if seen.traits.trust in TRUSTS else "user"
        verdict = self._gate.judge(seen.record.text, speaker=seen.traits.speaker, trust=trust)
        if verdict.accepted:
            return False
        reason = verdict.reasons[0]
        self._add(seen, "junk", "junk", _unless_pinned(seen), why=reason.code, detail=reason.detail)
        return True

    def _is_stale(self, seen: _Seen) -> bool:
        traits = seen.traits
        if traits.expires is not None and as_utc(traits.expires, "expires") <= self._now:
            self._add(seen, "stale", "expired", _unless_pinned(seen), when=f"{traits.expires:%Y-%m-%d}")
            return True
        age = self._now - as_utc(traits.learned or seen.record.time, "learned")
        used = traits.uses or traits.useful > 0 or traits.seen > 1 or traits.pinned
        if used or age < self._rules.stale_after or _importance(traits) >= self._rules.unimportant:
            return False
        self._add(seen, "stale", "unused", "forget", days=age.days, importance=round(_importance(traits), 2))
        return True

    def _look_at_size(self, seen: _Seen) -> None:
        length, most = len(seen.record.text), self._rules.most_characters
        if length > most:
            self._add(seen, "oversize", "oversize", "shorten", length=length, most=most)

    def _keep(self, seen: _Seen) -> None:
        record, traits = seen.record, seen.traits
        # Pictures are each their own too, however alike they are described.
        if traits.session or traits.blobs or len(query_terms(record.text)) < self._rules.fewest_words:
            return
        rank = (traits.pinned, _importance(traits), traits.uses + traits.useful, -self.read)
        kept = _Kept(record.space, record.id, rank, seen.example)
        owner = (record.space, record.kind, traits.speaker)
        same = self._same.setdefault((*owner, fingerprint(record.text)), [])
        same.append(kept)
        if len(same) == 1:
            twins, members = self._twins.setdefault(owner, (Twins(), []))
            twins.add(record.text)
            members.append(kept)

    def compare(self) -> None:
        """Tell the duplicates among all that was read."""
        stays: dict[_Kept, _Kept] = {}
        for same in self._same.values():
            if len(same) > 1:
                stays[same[0]] = self._merge(same, "duplicate", "same", "merge")
        for twins, members in self._twins.values():
            for places in twins.clusters(self._rules.alike):
                verb = "merge" if twins.restates(places) else "review"
                # Only the first of those that are the same was compared; the one that stays stands for it.
                group = [stays.get(members[place], members[place]) for place in places]
                self._merge(group, "near_duplicate", "alike", verb)

    def _merge(self, group: list[_Kept], kind: str, code: str, verb: Verb) -> _Kept:
        best = max(group, key=lambda kept: kept.rank)
        target: dict[str, Any] = {"into": best.id} if verb == "merge" else {"others": (best.id,)}
        for kept in group:
            if kept is not best:
                self._tell(kept.space, kept.id, kind, code, verb, kept.example, {"other": best.id}, **target)
        return best

    def contradict(self, facts: Iterable[Contradiction]) -> None:
        """Tell the memories behind facts that cannot both be true."""
        for clash in facts:
            believed = [one.record for one in clash.kept.evidence]
            details = {"kept": _claim(clash.kept), "other": _claim(clash.other)}
            for record in dict.fromkeys(one.record for one in clash.other.evidence):
                if record in self._spaces:
                    others = tuple(dict.fromkeys(one for one in believed if one != record))
                    space = self._spaces[record]
                    self._tell(space, record, "contradiction", "facts", "review", "", details, others=others)

    def _add(self, seen: _Seen, kind: str, code: str, verb: Verb, *, text: str = "", **details: Detail) -> None:
        record = seen.record
        self._tell(record.space, record.id, kind, code, verb, seen.example, details, text=text)

    def _tell(
        self,
        space: Space,
        record: str,
        kind: str,
        code: str,
        verb: Verb,
        example: str,
        details: Mapping[str, Detail],
        **target: Any,
    ) -> None:
        self._examples[kind] += 1
        if self._examples[kind] > self._rules.examples:
            example = ""
        action = Action(verb=verb, space=space, record=record, reason=reason_of(code, details, "en"), **target)
        problem = Problem(record=record, kind=kind, code=code, details=details, action=action, example=example)
        self.problems.append(problem)


def _is_held(blobs: Blobs, space: Space, digest: str) -> bool:
    try:
        blobs.get(space, digest)
    except (NotFound, InvalidInput):
        # What is no digest names nothing.
        return False
    return True


def _mending(policy: Policy) -> Policy:
    """The policy for what is stored already: nothing is refused for its secrets or its size, which are told apart."""
    personal = "flag" if policy.personal == "flag" else "redact"
    return msgspec.structs.replace(policy, secrets="redact", personal=personal, most_characters=MAX_CONTENT_BYTES)


def _importance(traits: Traits) -> float:
    # What has not been weighed yet must not go for being worth little.
    return 0.5 if traits.importance is None else traits.importance


def _unless_pinned(seen: _Seen) -> Verb:
    return "review" if seen.traits.pinned else "forget"


def _shortened(text: str, found: list[Finding]) -> str:
    """The beginning of a text on one line, without what was found in it."""
    safe = redacted(text, found) if found else text
    line = " ".join(safe[: 2 * _EXAMPLE].split())
    return line if len(line) <= _EXAMPLE else f"{line[: _EXAMPLE - 1]}…"


def _claim(fact: Believed) -> str:
    claim = f"{fact.subject} – {fact.relation} – {fact.object}"
    return _shortened(claim, findings(claim))


def _planned(problems: Sequence[Problem]) -> Iterator[Action]:
    """The actions in an order that makes sense; secrets are taken out of whatever goes, too, for hidden is not gone."""
    gone: set[tuple[Space, str]] = set()
    stays: set[tuple[Space, str]] = set()
    for verb in ("redact", "forget", "merge", "shorten", "review"):
        for action in (problem.action for problem in problems if problem.action.verb == verb):
            mine = (action.space, action.record)
            if verb != "redact" and (mine in gone or (verb == "merge" and mine in stays)):
                continue
            yield action
            if verb in ("forget", "merge"):
                gone.add(mine)
                stays.add((action.space, action.into))
