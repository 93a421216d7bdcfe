"""Who makes the vectors of a space: the embedder that was chosen, or the one that made those which are there.

Vectors of two models are never compared. Which model's a space has is noted beside it, and changes in the transaction that
changes the vectors.
"""

from __future__ import annotations

import logging
from datetime import datetime

import msgspec

from memwell.models.named import embedder_named
from memwell.models.ports import Embedder
from memwell.records import Space
from memwell.storage.protocols import KeyValue
from memwell.values import now

_log = logging.getLogger("memwell.longterm")

MARK = "embedder"
SINCE = "embedder-since"
"""When it was last decided whose vectors these are."""

_said: set[str] = set()


DEFAULT, NAMED, ORDERED = 0, 1, 2
"""How much a wish weighs: nobody said anything, a program named its embedder, or somebody asked for just this."""


class Wish(msgspec.Struct, frozen=True, order=True):
    """That vectors be an embedder's: how much that weighs, and since when. Of two that weigh the same the later counts."""

    weight: int
    at: datetime

    @classmethod
    def made_now(cls, weight: int = NAMED) -> Wish:
        """A wish of this moment."""
        return cls(weight, now())


class Makers:
    """Whose vectors a space has, and who can make more of the kind."""

    def __init__(self, kv: KeyValue, inner: Space, chosen: Embedder | None, wish: Wish | None = None) -> None:
        self._kv = kv
        self._inner = inner
        self.chosen = chosen
        self.wish = wish or Wish.made_now()
        self._other: tuple[str, Embedder | None] | None = None

    def whose(self) -> str | None:
        """The name of the embedder whose vectors the space has; None when nobody has made any yet."""
        entry = self._kv.get(self._inner, MARK)
        return None if entry is None else str(entry.value)

    def maker_of(self, name: str | None) -> Embedder | None:
        """Who makes vectors of this name; None without an embedder, and when it is another that is not known here."""
        if self.chosen is None or name is None or name == self.chosen.name:
            return self.chosen
        if self._other is None or self._other[0] != name:
            self._other = (name, embedder_named(name))
            self._say(name, found=self._other[1] is not None)
        return self._other[1]

    def _say(self, name: str, *, found: bool) -> None:
        if name not in _said:
            _said.add(name)
            served = "it is used for them" if found else "they are found by their words alone"
            _log.warning("memories in %r have vectors of the embedder %s: %s", self._inner[:-1], name, served)

    def is_current(self) -> bool:
        """Whether the vectors are those of the embedder that was chosen, or none are there yet."""
        return self.chosen is None or self.whose() in (None, self.chosen.name)

    def claim(self, name: str) -> bool:
        """Whether vectors of this name may be stored now; the first to come say whose they are.

        Call it inside the transaction that stores them.
        """
        found = self.whose()
        if found is None:
            self._kv.put(self._inner, MARK, name)
        return found in (None, name)

    def give_way(self, name: str) -> None:
        """From now on the vectors are those of another. Part of the transaction that stores them."""
        self._kv.put(self._inner, MARK, name)
        self.stay()

    def stay(self) -> None:
        """From now on the vectors stay as they are, whoever wished otherwise before."""
        self._kv.put(self._inner, SINCE, now().isoformat())

    def wants_others(self) -> bool:
        """Whether the embedder that was chosen is to make all vectors anew.

        It is not when they were made anew after it was chosen: whoever did that decided later. And the default does not
        replace vectors that it can search.
        """
        if self.chosen is None:
            return False
        name = self.whose()
        if name in (None, self.chosen.name):
            return False
        since = self._kv.get(self._inner, SINCE)
        if since is not None and datetime.fromisoformat(str(since.value)) >= self.wish.at:
            return False
        return self.wish.weight > DEFAULT or self.maker_of(name) is None


__all__ = ["DEFAULT", "MARK", "NAMED", "ORDERED", "SINCE", "Makers", "Wish"]
