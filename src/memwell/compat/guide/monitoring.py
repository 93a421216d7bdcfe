"""The figures of a store as they are: what it holds, who was active, how fast and how well it recalls right now.

Nothing is simulated. Times and quality are measured when the page is made, by asking the memory for what it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from html import escape
from itertools import islice
from statistics import quantiles
from time import perf_counter
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import Where
from memwell.language.keywords import keywords
from memwell.records import Record, Space, paged
from memwell.runtime.engine import Engine
from memwell.storage.protocols import Backend, ThreadInfo
from memwell.values import shown

_OWN = "memwell"
_DAYS = 7
_PROBES = 20
_MOST_SPACES = 200
_MOST_RECORDS = 5_000
_FOUND_IN = 5


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted and measured. ``days`` are the latest, each with how many memories and messages it brought."""

    conversations: int
    messages: int
    memories: int
    documents: int
    users: int
    active_users: int
    active_before: int
    """How many were active in the week before."""
    recall_ms: tuple[float, ...]
    found: int
    """Of the memories asked for by their own keywords, how many were among the first five."""
    asked: int
    problems: tuple[str, ...]
    days: tuple[tuple[date, int], ...]
    store_bytes: int
    taken: datetime

    @property
    def p50_ms(self) -> float | None:
        """Half of the recalls took less, in milliseconds; None when there was nothing to ask for."""
        return _quantile(self.recall_ms, 50)

    @property
    def p95_ms(self) -> float | None:
        """Of twenty recalls, nineteen took less."""
        return _quantile(self.recall_ms, 95)


def measure(engine: Engine) -> Figures:
    """Look a store over. It takes as long as its integrity check and some twenty recalls."""
    backend, now = engine.backend, engine.clock()
    facts = backend.facts()
    listed = [Space(*one["space"]) for one in facts.get("spaces", [])]
    users = [space for space in listed if _OWN not in space]
    days: Counter[date] = Counter()
    active, before = 0, 0
    recent: list[tuple[Space, Record]] = []
    for space in users[:_MOST_SPACES]:
        records = list(islice(_since(backend, space, now - timedelta(days=2 * _DAYS)), _MOST_RECORDS))
        week = [record for record in records if record.time >= now - timedelta(days=_DAYS)]
        days.update(record.time.date() for record in week)
        active += bool(week)
        before += len(week) < len(records)
        recent += [(space, record) for record in week[-2:]]
    times, found = _probed(engine, recent[:_PROBES])
    threads = [thread for space in users[:_MOST_SPACES] for thread in _conversations(backend, space)]
    sizes: dict[str, int] = facts.get("bytes") or {}
    return Figures(
        conversations=len(threads),
        messages=sum(thread.messages for thread in threads),
        memories=sum(backend.index.info(space).records for space in users),
        documents=sum(_documents(engine, space) for space in listed if space[-1] == "knowledge" and _OWN in space),
        users=len(users),
        active_users=active,
        active_before=before,
        recall_ms=tuple(times),
        found=found,
        asked=len(times),
        problems=tuple(backend.check()),
        days=tuple((now.date() - timedelta(days=back), days[now.date() - timedelta(days=back)]) for back in _week()),
        store_bytes=sum(sizes.values()),
        taken=now.astimezone(UTC),
    )


def _week() -> range:
    return range(_DAYS - 1, -1, -1)


def _since(backend: Backend, space: Space, moment: datetime) -> Iterator[Record]:
    where = Where("@time", "ge", moment)
    return paged(lambda cursor: backend.index.scan(space, where=where, limit=500, cursor=cursor))


def _conversations(backend: Backend, space: Space) -> Iterator[ThreadInfo]:
    return paged(lambda cursor: backend.log.threads(space, limit=500, cursor=cursor))


def _documents(engine: Engine, space: Space) -> int:
    return engine.at(Space(*space[: space.index(_OWN)])).knowledge.count().documents


def _probed(engine: Engine, records: list[tuple[Space, Record]]) -> tuple[list[float], int]:
    """How long it takes to ask for memories by their keywords, in milliseconds, and how many are found."""
    times: list[float] = []
    found = 0
    for space, record in records:
        query = " ".join(one.word for one in keywords(record.text, limit=4)) or record.text[:80]
        memory = engine.at(space)
        memory.recall(query, limit=1)  # the first recall of a space reads it into memory, once
        began = perf_counter()
        hits = memory.recall(query, limit=_FOUND_IN)
        times.append(1000 * (perf_counter() - began))
        found += any(hit.id == record.id for hit in hits)
    return times, found


def _quantile(times: tuple[float, ...], percent: int) -> float | None:
    if len(times) < 2:
        return times[0] if times else None
    return quantiles(times, n=100, method="inclusive")[percent - 1]


_PHRASES = {
    "en": {
        "title": "memwell: what the memory holds and how it works",
        "conversations": "conversations", "messages": "messages", "memories": "memories", "documents": "documents",
        "active": "active users in 7 days", "before": "{count} in the week before", "of": "of {count}",
        "p50": "recall, median", "p95": "recall, 95 %", "quality": "found again in the first five",
        "health": "integrity of the store", "sound": "sound", "size": "size on disk",
        "trend": "memories of the last 7 days", "taken": "Counted and measured {time} UTC, with {count} recalls.",
        "nothing": "not measured: no memory of the last 7 days",
    },
    "zh": {
        "title": "memwell：记忆系统监控面板",
        "conversations": "会话", "messages": "消息", "memories": "记忆", "documents": "知识库文档",
        "active": "7 天内活跃用户", "before": "前一周 {count}", "of": "共 {count}",
        "p50": "召回用时（中位数）", "p95": "召回用时（95%）", "quality": "前五条内重新找到",
        "health": "存储完整性", "sound": "正常", "size": "磁盘占用",
        "trend": "最近 7 天新增记忆", "taken": "统计与测量时间 {time} UTC，共召回 {count} 次。",
        "nothing": "未测量：最近 7 天没有记忆",
    },
}  # fmt: skip

_STYLE = """
:root { color-scheme: light dark; --line: #8883; --accent: #0d9488; }
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: 1rem; }
dl div { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; }
dt { opacity: .75; } dd { margin: 0; font-size: 1.5rem; } dd small { display: block; font-size: .85rem; opacity: .75; }
svg { width: 100%; height: auto; } rect { fill: var(--accent); } text { fill: currentColor; font-size: 12px; }
.bad { color: #dc2626; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(figures: Figures, language: str = "zh") -> str:
    """The figures as one page of HTML without scripts. Raises ``InvalidInput`` for an unknown language."""
    if language not in _PHRASES:
        raise InvalidInput(f"the page is written in {' or '.join(_PHRASES)}, not {shown(language)}")
    words = _PHRASES[language]
    cards = "\n".join(_card(*one) for one in _cards(figures, words))
    taken = words["taken"].format(time=f"{figures.taken:%Y-%m-%d %H:%M}", count=figures.asked)
    return f"""<!DOCTYPE html>
<html lang="{"zh-CN" if language == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{words["title"]}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{words["title"]}</h1>
<dl>
{cards}
</dl>
<h2>{words["trend"]}</h2>
{_bars(figures.days)}
<p>{taken}</p>
</body>
</html>
"""


def _cards(figures: Figures, words: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """The label, the figure and the note of each card."""
    for name in ("conversations", "messages", "memories", "documents"):
        yield words[name], f"{getattr(figures, name):,}", ""
    note = f"{words['of'].format(count=figures.users)} · {words['before'].format(count=figures.active_before)}"
    yield words["active"], f"{figures.active_users:,}", note
    for name, value in (("p50", figures.p50_ms), ("p95", figures.p95_ms)):
        yield words[name], "–" if value is None else f"{value:.1f} ms", words["nothing"] if value is None else ""
    share = f"{figures.found / figures.asked:.0%}" if figures.asked else "–"
    yield words["quality"], share, f"{figures.found} / {figures.asked}" if figures.asked else words["nothing"]
    yield (
        words["health"],
        words["sound"] if not figures.problems else str(len(figures.problems)),
        "; ".join(figures.problems[:3]),
    )
    yield words["size"], f"{figures.store_bytes / 2**20:.1f} MB", ""


def _card(label: str, figure: str, note: str) -> str:
    small = f"<small>{escape(note)}</small>" if note else ""
    return f"<div><dt>{escape(label)}</dt><dd>{escape(figure)}{small}</dd></div>"


def _bars(days: tuple[tuple[date, Any], ...]) -> str:
    """A bar for each day, with its figure above and its date below."""
    most = max((count for _, count in days), default=0) or 1
    parts: list[str] = []
    for place, (day, count) in enumerate(days):
        height, left = 140 * count / most, 20 + 100 * place
        parts.append(f'<rect x="{left}" y="{160 - height:.1f}" width="60" height="{height:.1f}"/>')
        parts.append(f'<text x="{left + 30}" y="{154 - height:.1f}" text-anchor="middle">{count}</text>')
        parts.append(f'<text x="{left + 30}" y="178" text-anchor="middle">{day:%m-%d}</text>')
    return f'<svg viewBox="0 0 720 190" role="img">{"".join(parts)}</svg>'


__all__ = ["Figures", "measure", "page"]
