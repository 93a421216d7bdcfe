"""A report of an audit in words, in English and in Chinese: why something is a problem, a table, and examples."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from memwell.longterm.audit import Report

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


__all__ = ["Detail", "reason_of", "told"]
