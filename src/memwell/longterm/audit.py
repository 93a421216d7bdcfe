"""``audit``: checks a whole memory for problems and proposes a repair for each.

``audit`` reads records one after the other, and keeps of each its words as numbers and its first line without secrets. It
changes nothing: its report has a plan, which ``Memory.repair`` carries out in order.

- junk: the gate would refuse it today. Proposed: forget.
- duplicate: the same text of one speaker in another form; near_duplicate: nearly the same text. Proposed: merge into the
  best of them, or review when a merge could lose something. Messages of a conversation are never duplicates.
- contradiction: memories behind facts that contradict each other. Proposed: review.
- stale: expired, or old, unimportant and never used. Proposed: forget; review when it is pinned.
- secret: proposed: redact. Forgotten memories are checked too, because they still hold their text.
- oversize: too long to be recalled whole. Proposed: shorten.
- broken: unreadable traits, missing evidence, missing bytes. Proposed: review. A missing vector. Proposed: embed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from memwell.errors import InvalidInput, NotFound
from memwell.language.secrets import Finding, findings, redacted
from memwell.language.segment import query_terms
from memwell.language.words import terminal_width
from memwell.longterm.facts import Clash
from memwell.longterm.gate import TRUSTS, DuplicateFinder, Gate, Policy, fingerprint
from memwell.longterm.profiles import relation_in_words
from memwell.longterm.traits import Traits, blobs_space, traits_of
from memwell.longterm.uses import Use, with_use
from memwell.records import Record, Space
from memwell.storage.protocols import Blobs
from memwell.values import MAX_CONTENT_BYTES, as_utc, check_count, shown

# The report in English and Chinese: reasons, a table, and examples.

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
    "embed": ("embed", "重新嵌入"),
    "shorten": ("shorten", "缩短"),
    "review": ("review", "人工查看"),
}
_REASONS = {
    "secret": ("it holds {kinds}", "含有 {kinds}"),
    "junk": ("{why}: {detail}", "{why}：{detail}"),
    "same": ("it says the same as {other}", "与 {other} 内容相同"),
    "alike": ("it says nearly the same as {other}", "与 {other} 内容相近"),
    "facts": ("“{other}” contradicts “{kept}”", "“{other}”与“{kept}”矛盾"),
    "facts_in_words": (
        "{subject}, {relation}: {other} or {kept}? “{said}” contradicts “{believed}”, which is believed",
        "{subject}，{relation}：{other} 还是 {kept}？“{said}”与“{believed}”矛盾，目前相信后者",
    ),
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
    "vector": ("it has no vector, so only its words find it", "没有向量，只能按词语找到"),
    "replaced": ("it was replaced by {other}, which does not exist", "它被 {other} 取代，而后者不存在"),
}
_JUNK_IN_CHINESE = {
    "empty": "没有文字、数字或表情",
    "short": "太短",
    "noise": "杂乱字符",
    "boilerplate": "模型的套话",
    "acknowledgement": "只表示听到了",
}
_TITLE = (
    "Memories looked at: {records:,}. Problems: {problems:,}.",
    "审查记忆：{records:,} 条。问题：{problems:,} 个。",
)
_HEADS = (("kind", "number", "proposed"), ("种类", "数量", "建议"))
_EXAMPLES = ("Examples", "示例")
_CLEAN = ("Nothing to repair.", "没有需要处理的问题。")


def reason_of(code: str, details: Mapping[str, Detail], language: str) -> str:
    """The reason for a problem in English, or in Chinese when the language begins with *zh*."""
    chinese = language.startswith("zh")
    values = dict(details)
    if chinese and code == "junk":
        values["detail"] = _JUNK_IN_CHINESE.get(str(values["why"]), values["detail"])
    if code == "facts" and "said" in values:
        code, words = "facts_in_words", relation_in_words(str(values["relation"]), "zh" if chinese else "en")
        values["relation"] = words
    return _REASONS[code][chinese].format(**values)


def report_text(report: AuditReport, language: str) -> str:
    """A report as text: a table, then examples."""
    chinese = language.startswith("zh")
    title = _TITLE[chinese].format(records=report.records, problems=len(report.problems))
    if not report.problems:
        return f"{title}\n{_CLEAN[chinese]}\n"
    rows = [_HEADS[chinese], *_rows(report, chinese)]
    return "\n".join((title, "", *_table(rows), "", _EXAMPLES[chinese], *_shown_examples(report, language), ""))


def _rows(report: AuditReport, chinese: bool) -> Iterator[tuple[str, str, str]]:
    for kind, count in report.counts.items():
        verbs = Counter(problem.action.verb for problem in report.problems if problem.kind == kind)
        proposed = ", ".join(f"{_VERBS[verb][chinese]} {number:,}" for verb, number in verbs.most_common())
        yield _NAMES[kind][chinese], f"{count:,}", proposed


def _table(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    widths = [max(terminal_width(row[column]) for row in rows) for column in (0, 1)]
    for name, count, proposed in rows:
        gap = " " * (widths[0] - terminal_width(name) + 2 + widths[1] - terminal_width(count))
        yield f"  {name}{gap}{count}  {proposed}"


def _shown_examples(report: AuditReport, language: str) -> Iterator[str]:
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


Verb: TypeAlias = Literal["redact", "merge", "forget", "embed", "shorten", "review"]

KINDS = ("secret", "junk", "duplicate", "near_duplicate", "contradiction", "stale", "oversize", "broken")
"""All kinds of problems, in the order of a report."""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a repair plan: what to do to one memory, and why.

    ``redact`` replaces its text by ``text``. ``merge`` removes it and moves its evidence to ``into``. ``forget`` removes
    it. ``embed`` makes its vector. ``shorten`` and ``review`` need a person; ``others`` are the memories to compare it
    with. ``version`` and ``into_version`` are those that were audited: a memory that has changed since is skipped.
    """

    verb: Verb
    space: Space
    record: str
    reason: str
    into: str = ""
    text: str = ""
    others: tuple[str, ...] = ()
    version: int | None = None
    into_version: int | None = None


class Repaired(msgspec.Struct, frozen=True):
    """What a repair did: the number of steps, and those that it skipped because their memories have changed or are gone."""

    done: int
    skipped: tuple[Action, ...] = ()


class AuditProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of a memory: its kind, a code for the reason, details of it, and the proposed action."""

    record: str
    kind: str
    code: str
    details: Mapping[str, Detail] = {}
    action: Action
    example: str = ""
    """The beginning of its text without secrets; only the first problems of each kind have one."""

    @property
    def reason(self) -> str:
        """The reason in English."""
        return self.action.reason

    def reason_in(self, language: str) -> str:
        """The reason in English, or in Chinese when the language begins with *zh*."""
        return reason_of(self.code, self.details, language)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit counts as a problem. Raises ``InvalidInput`` for an impossible limit."""

    policy: Policy = Policy()
    most_characters: int = 8_000
    """Longer memories are oversize."""
    alike: float = 0.7
    """From this similarity on two texts are near duplicates: see ``memwell.longterm.gate.similar``."""
    fewest_words: int = 3
    """Shorter texts ("thank you") are never duplicates."""
    stale_after: timedelta = timedelta(days=365)
    unimportant: float = 0.35
    examples: int = 3
    """How many problems of a kind have an example."""

    def __post_init__(self) -> None:
        check_count(self.most_characters, "most_characters", least=1)
        check_count(self.fewest_words, "fewest_words")
        check_count(self.examples, "examples")
        if not 0 < self.alike <= 1:
            raise InvalidInput(f"alike must be above 0 and at most 1, not {shown(self.alike)}")
        if self.stale_after < timedelta(0):
            raise InvalidInput(f"stale_after must not be negative: {shown(self.stale_after)}")


class AuditReport(msgspec.Struct, frozen=True):
    """The result of an audit: ``records`` were read, ``problems`` are in the order of ``KINDS``."""

    records: int
    problems: tuple[AuditProblem, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of problems by kind."""
        return dict(Counter(problem.kind for problem in self.problems))

    @property
    def plan(self) -> list[Action]:
        """The steps to take, in an order without contradictions: nothing is merged into a removed memory."""
        return list(_planned(self.problems))

    def text(self, language: str = "en") -> str:
        """The report as text in English, or in Chinese when the language begins with *zh*: a table, then examples."""
        return report_text(self, language)


def audit(
    records: Iterable[Record],
    *,
    facts: Iterable[Clash] | None = None,
    now: datetime,
    rules: Rules | None = None,
    known: Container[str] | None = None,
    blobs: Blobs | None = None,
    without_vector: Container[str] = (),
    uses: Mapping[str, int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> AuditReport:
    """Check records. ``facts`` are contradictions of facts; ``known`` holds the ids of all messages and records.

    Without ``known`` evidence is not checked, without ``blobs`` the bytes are not. ``without_vector`` holds the ids of
    memories that lack theirs, ``uses`` how often memories were recalled. ``progress`` is called with the number of records
    read so far. Raises ``InvalidInput`` when ``now`` is no datetime.
    """
    clashes = list(facts or ())
    auditor = _Auditor(rules or Rules(), as_utc(now, "now"), known, blobs, without_vector, uses or {})
    auditor.expect(clashes)
    for record in records:
        auditor.look_at(record)
        if progress and auditor.read % _PROGRESS == 0:
            progress(auditor.read)
    auditor.compare()
    auditor.contradict(clashes)
    if progress:
        progress(auditor.read)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return AuditReport(auditor.read, tuple(sorted(auditor.problems, key=lambda problem: order[problem.kind])))


_PROGRESS = 256
_EXAMPLE = 80


class _AuditedRecord(NamedTuple):
    """A record under audit, with its traits, its findings, and its text without secrets."""

    record: Record
    traits: Traits
    found: list[Finding]
    example: str


class _Comparable(NamedTuple):
    """What is kept of a record to compare it with others."""

    space: Space
    id: str
    rank: tuple[bool, float, int, int]
    example: str
    version: int


class _Auditor:
    """One audit: it checks each record, and compares them at the end."""

    def __init__(
        self,
        rules: Rules,
        now: datetime,
        known: Container[str] | None,
        blobs: Blobs | None,
        without_vector: Container[str],
        uses: Mapping[str, int],
    ) -> None:
        self.read = 0
        self.problems: list[AuditProblem] = []
        self._rules, self._now, self._known, self._blobs = rules, now, known, blobs
        self._without_vector, self._uses = without_vector, uses
        self._gate = Gate(_lenient(rules.policy))
        self._examples: Counter[str] = Counter()
        self._spaces: dict[str, Space] = {}
        self._texts: dict[str, str] = {}
        self._same: dict[tuple[Space, str, str, str], list[_Comparable]] = {}
        self._finders: dict[tuple[Space, str, str], tuple[DuplicateFinder, list[_Comparable]]] = {}

    def expect(self, clashes: Iterable[Clash]) -> None:
        """Keep the beginnings of the texts that contradictions rest on."""
        facts = (fact for clash in clashes for fact in (clash.kept, clash.other))
        self._texts = dict.fromkeys((one.record for fact in facts for one in fact.evidence), "")

    def look_at(self, record: Record) -> None:
        """Check a record by itself, and keep what comparing it needs."""
        self.read += 1
        if self._spaces.get(record.id) == record.space:
            return  # a store that changes while it is read may return a record twice
        self._spaces[record.id] = record.space
        found = findings(record.text)
        try:
            traits = with_use(traits_of(record), Use(self._uses.get(record.id, 0)))
            seen = _AuditedRecord(record, traits, found, _shortened(record.text, found))
        except InvalidInput:
            seen = _AuditedRecord(record, Traits(), found, _shortened(record.text, found))
            self._add(seen, "broken", "traits", "review")
        if record.id in self._texts:
            self._texts[record.id] = seen.example
        self._look_for_secrets(seen)
        self._look_for_evidence(seen)
        self._look_for_bytes(seen)
        if record.id in self._without_vector:
            self._add(seen, "broken", "vector", "embed")
        if seen.traits.active and not self._is_junk(seen) and not self._is_stale(seen):
            self._look_at_size(seen)
            self._keep(seen)

    def _look_for_secrets(self, seen: _AuditedRecord) -> None:
        found = [one for one in seen.found if one.secret or self._gate.policy.personal == "redact"]
        if found:
            kinds = ", ".join(f"{kind} × {count}" for kind, count in Counter(one.kind for one in found).items())
            self._add(seen, "secret", "secret", "redact", text=redacted(seen.record.text, found), kinds=kinds)

    def _look_for_evidence(self, seen: _AuditedRecord) -> None:
        known = self._known
        if known is None:
            return
        named = [name for one in seen.traits.evidence for name in (one.message, one.record) if name]
        missing = [name for name in named if name not in known]
        if missing:
            self._add(seen, "broken", "evidence", "review", missing=len(missing), of=len(named))
        if seen.traits.replaced_by and seen.traits.replaced_by not in known:
            self._add(seen, "broken", "replaced", "review", other=seen.traits.replaced_by)

    def _look_for_bytes(self, seen: _AuditedRecord) -> None:
        named = seen.traits.blobs
        if self._blobs is None or not named:
            return
        missing = sum(not _is_held(self._blobs, blobs_space(seen.record.space), digest) for digest in named)
        if missing:
            self._add(seen, "broken", "blobs", "review", missing=missing, of=len(named))

    def _is_junk(self, seen: _AuditedRecord) -> bool:
        # A later version may know more trusts.
        trust = seen.traits.trust if seen.traits.trust in TRUSTS else "user"
        verdict = self._gate.judge(seen.record.text, speaker=seen.traits.speaker, trust=trust)
        if verdict.accepted:
            return False
        reason = verdict.reasons[0]
        self._add(seen, "junk", "junk", _unless_pinned(seen), why=reason.code, detail=reason.detail)
        return True

    def _is_stale(self, seen: _AuditedRecord) -> bool:
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

    def _look_at_size(self, seen: _AuditedRecord) -> None:
        length, most = len(seen.record.text), self._rules.most_characters
        if length > most:
            self._add(seen, "oversize", "oversize", "shorten", length=length, most=most)

    def _keep(self, seen: _AuditedRecord) -> None:
        record, traits = seen.record, seen.traits
        # Images are never duplicates, however similar their descriptions.
        if traits.session or traits.blobs or len(query_terms(record.text)) < self._rules.fewest_words:
            return
        rank = (traits.pinned, _importance(traits), traits.uses + traits.useful, -self.read)
        kept = _Comparable(record.space, record.id, rank, seen.example, traits.version)
        owner = (record.space, record.kind, traits.speaker)
        same = self._same.setdefault((*owner, fingerprint(record.text)), [])
        same.append(kept)
        if len(same) == 1:
            finder, members = self._finders.setdefault(owner, (DuplicateFinder(), []))
            finder.add(record.text)
            members.append(kept)

    def compare(self) -> None:
        """Report the duplicates among all records."""
        stays: dict[_Comparable, _Comparable] = {}
        for same in self._same.values():
            if len(same) > 1:
                stays[same[0]] = self._merge(same, "duplicate", "same", "merge")
        for finder, members in self._finders.values():
            for places in finder.clusters(self._rules.alike):
                verb = "merge" if finder.restates(places) else "review"
                # Only the first of identical texts was compared; the one that stays represents it.
                group = [stays.get(members[place], members[place]) for place in places]
                self._merge(group, "near_duplicate", "alike", verb)

    def _merge(self, group: list[_Comparable], kind: str, code: str, verb: Verb) -> _Comparable:
        best = max(group, key=lambda kept: kept.rank)
        target: dict[str, Any] = {"others": (best.id,)}
        if verb == "merge":
            target = {"into": best.id, "into_version": best.version}
        for kept in group:
            if kept is not best:
                named = {"version": kept.version, **target}
                self._report(kept.space, kept.id, kind, code, verb, kept.example, {"other": best.id}, **named)
        return best

    def contradict(self, facts: Iterable[Clash]) -> None:
        """Report the memories behind contradictions."""
        for clash in facts:
            believed = [one.record for one in clash.kept.evidence]
            details = _in_words(clash)
            # A fact that was stated by hand has no text.
            details["believed"] = next((text for one in believed if (text := self._texts[one])), details["kept"])
            for record in dict.fromkeys(one.record for one in clash.other.evidence):
                if record in self._spaces:
                    others = tuple(dict.fromkeys(one for one in believed if one != record))
                    named = {**details, "said": self._texts[record] or details["other"]}
                    space = self._spaces[record]
                    self._report(space, record, "contradiction", "facts", "review", "", named, others=others)

    def _add(
        self, seen: _AuditedRecord, kind: str, code: str, verb: Verb, *, text: str = "", **details: Detail
    ) -> None:
        record = seen.record
        version = seen.traits.version
        self._report(record.space, record.id, kind, code, verb, seen.example, details, text=text, version=version)

    def _report(
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
        problem = AuditProblem(record=record, kind=kind, code=code, details=details, action=action, example=example)
        self.problems.append(problem)


def _is_held(blobs: Blobs, space: Space, digest: str) -> bool:
    try:
        blobs.get(space, digest)
    except (NotFound, InvalidInput):
        # A malformed digest names no blob.
        return False
    return True


def _lenient(policy: Policy) -> Policy:
    """The policy for stored texts: secrets and size never refuse them, because they are reported on their own."""
    personal = "flag" if policy.personal == "flag" else "redact"
    return msgspec.structs.replace(policy, secrets="redact", personal=personal, most_characters=MAX_CONTENT_BYTES)


def _importance(traits: Traits) -> float:
    # A memory without an importance must not be removed for a low one.
    return 0.5 if traits.importance is None else traits.importance


def _unless_pinned(seen: _AuditedRecord) -> Verb:
    return "review" if seen.traits.pinned else "forget"


def _shortened(text: str, found: list[Finding]) -> str:
    """The beginning of a text on one line, without its findings."""
    safe = redacted(text, found) if found else text
    line = " ".join(safe[: 2 * _EXAMPLE].split())
    return line if len(line) <= _EXAMPLE else f"{line[: _EXAMPLE - 1]}…"


def _in_words(clash: Clash) -> dict[str, Detail]:
    named = {
        "subject": clash.kept.subject,
        "relation": clash.kept.relation,
        "kept": clash.kept.object,
        "other": clash.other.object,
    }
    return {name: _shortened(text, findings(text)) for name, text in named.items()}


def _planned(problems: Sequence[AuditProblem]) -> Iterator[Action]:
    """The actions in a consistent order. Secrets are also redacted in memories that are forgotten, because these stay."""
    gone: set[tuple[Space, str]] = set()
    stays: set[tuple[Space, str]] = set()
    for verb in ("redact", "forget", "merge", "embed", "shorten", "review"):
        for action in (problem.action for problem in problems if problem.action.verb == verb):
            mine = (action.space, action.record)
            if verb != "redact" and (mine in gone or (verb == "merge" and mine in stays)):
                continue
            yield action
            if verb in ("forget", "merge"):
                gone.add(mine)
                stays.add((action.space, action.into))
