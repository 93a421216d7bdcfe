"""What an optimisation did, in numbers and in words."""

from __future__ import annotations

import msgspec

from memwell.compat.basememory.sizes import in_bytes
from memwell.errors import InvalidInput
from memwell.values import shown

_REASONS = {
    "no-setitem": ("the storage has no __setitem__", "该存储没有 __setitem__"),
    "no-delitem": ("the storage has neither __delitem__ nor replace", "该存储既没有 __delitem__ 也没有 replace"),
    "no-pack": (
        "the storage would hand out packed items; ListStorage and DurableStorage unpack them",
        "该存储会直接交出压缩后的数据；ListStorage 与 DurableStorage 会自动解压",
    ),
    "no-uses": ("nobody counts how often its items are read", "没有人统计其数据的读取次数"),
    "conversation": (
        "a conversation keeps every message as it was said; Deduplicate(drop=True) and Evict(keep=…) work on it",
        "会话按原样保留每条消息；可以使用 Deduplicate(drop=True) 和 Evict(keep=…)",
    ),
    "stored-once": (
        "large items lie in the store once already; Compress packs the others",
        "大数据在存储中只存一份；其余由 Compress 压缩",
    ),
    "sketch": ("its __len__ returns no number", "其 __len__ 没有返回数字"),
}
_WORDS = {
    "whole": (
        "{before} before, {after} after: {saved} saved ({share:.1%})",
        "优化前 {before}，优化后 {after}：节省 {saved}（{share:.1%}）",
    ),
    "step": (
        "{storage} · {strategy}: {items}, {saved} saved; {lost}",
        "{storage} · {strategy}：{items}，节省 {saved}；{lost}",
    ),
    "skipped": ("{storage} · {strategy}: skipped, {reason}", "{storage} · {strategy}：跳过，{reason}"),
    "same": ("{before} items, {changed} changed", "{before} 项，改动 {changed} 项"),
    "fewer": ("{before} items, now {after}", "{before} 项，现为 {after} 项"),
    "nothing": ("nothing lost", "没有丢失任何内容"),
    "lost": ("{lost} distinct items lost, as told", "按要求丢弃了 {lost} 项不同的内容"),
    "repeats": (
        "no distinct content lost, {repeats} repeats removed",
        "没有丢失不同的内容，移除了 {repeats} 项重复",
    ),
    "both": (
        "{lost} distinct items lost, as told, {repeats} repeats removed",
        "按要求丢弃了 {lost} 项不同的内容，移除了 {repeats} 项重复",
    ),
    "left": (
        "{left} equal items left apart, since whoever changes one must not change another; nothing lost",
        "{left} 项相同但可变的内容未合并，以免改动一项影响另一项；没有丢失任何内容",
    ),
    "error": ("vectors off by at most {error:.2%}, as told", "按要求，向量误差不超过 {error:.2%}"),
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What one strategy did to one storage. ``skipped`` says why it did nothing there; it is empty otherwise."""

    strategy: str
    storage: str
    items_before: int
    items_after: int
    bytes_before: int
    bytes_after: int
    changed: int = 0
    lost: int = 0
    left: int = 0
    error: float = 0.0
    repeats: int = 0
    """How many items were dropped whose content is still there in another place."""
    skipped: str = ""

    @property
    def saved(self) -> int:
        """The bytes saved."""
        return self.bytes_before - self.bytes_after

    def in_words(self, language: str = "en") -> str:
        """One line for people. Raises ``InvalidInput`` for another language than ``en`` and ``zh``."""
        say = _Speaker(language)
        if self.skipped:
            return say("skipped", storage=self.storage, strategy=self.strategy, reason=say.reason(self.skipped))
        same = self.items_before == self.items_after
        items = say("same" if same else "fewer", before=self.items_before, after=self.items_after, changed=self.changed)
        return say(
            "step",
            storage=self.storage,
            strategy=self.strategy,
            items=items,
            saved=in_bytes(self.saved),
            lost=self._lost(say),
        )

    def _lost(self, say: _Speaker) -> str:
        if self.lost:
            return say("both" if self.repeats else "lost", lost=self.lost, repeats=self.repeats)
        if self.repeats:
            return say("repeats", repeats=self.repeats)
        if self.left:
            return say("left", left=self.left)
        return say("error", error=self.error) if self.error else say("nothing")


class OptimizationReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an optimisation did. Bytes are of everything the storages hold: in memory each object once, in a store as
    stored.
    """

    bytes_before: int
    bytes_after: int
    steps: tuple[Step, ...]

    @property
    def saved(self) -> int:
        """The bytes saved."""
        return self.bytes_before - self.bytes_after

    @property
    def share(self) -> float:
        """The part of all bytes that was saved, 0 to 1."""
        return self.saved / self.bytes_before if self.bytes_before else 0.0

    @property
    def lost(self) -> int:
        """How many distinct items are no longer there: none, unless a strategy was told to drop some."""
        return sum(step.lost for step in self.steps)

    def in_words(self, language: str = "en") -> str:
        """A line for the whole and one for every step. Raises ``InvalidInput`` for another language than ``en``, ``zh``."""
        say = _Speaker(language)
        before, after, saved = map(in_bytes, (self.bytes_before, self.bytes_after, self.saved))
        whole = say("whole", before=before, after=after, saved=saved, share=self.share)
        return "\n".join([whole, *(step.in_words(language) for step in self.steps)])

    def __str__(self) -> str:
        return self.in_words()


class _Speaker:
    def __init__(self, language: str) -> None:
        if language not in ("en", "zh"):
            raise InvalidInput(f"a report is written in 'en' or 'zh', not in {shown(language)}")
        self._column = 0 if language == "en" else 1

    def __call__(self, phrase: str, /, **values: object) -> str:
        return _WORDS[phrase][self._column].format(**values)

    def reason(self, code: str) -> str:
        return _REASONS[code][self._column] if code in _REASONS else code


__all__ = ["OptimizationReport", "Step"]
