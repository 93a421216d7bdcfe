"""Strategies: each makes the items of a storage take fewer bytes, and says what it did."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, Protocol, cast, runtime_checkable

import msgspec

from memwell.compat.basememory.packing import check_level
from memwell.compat.basememory.shelf import Shelf
from memwell.compat.basememory.vectors import Form, numbers_of, sparsified
from memwell.errors import InvalidInput
from memwell.values import check_count, shown


class Outcome(msgspec.Struct, frozen=True):
    """What a strategy did to one storage."""

    changed: int = 0
    """How many items it changed or dropped."""
    lost: int = 0
    """How many distinct items there were before and are no longer."""
    left: int = 0
    """How many it would have changed, but left alone: they are the caller's, and changing one would change another."""
    error: float = 0.0
    """How far the worst item is from what it was, relative to its size."""
    repeats: int = 0
    """How many it dropped whose content is still there in another place."""


@runtime_checkable
class Strategy(Protocol):
    """One way to save memory. Raise ``CannotOptimize`` for a storage that it cannot work on."""

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Make the shelf smaller and say what was done."""
        ...


class Deduplicate(msgspec.Struct, frozen=True):
    """Items of the same content become one object; every place still has its item. Nothing is lost.

    With ``drop`` the later ones are taken out and counted as repeats, and the first stays where it is; the same words of
    another sender are another message.
    """

    drop: bool = False

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when the storage's items cannot be put or dropped."""
        first: dict[Any, int] = {}
        repeated: dict[int, int] = {}
        for place, identity in enumerate(shelf.identities()):
            # Who said it does not matter to two places that both keep it.
            if identity is not None:
                seen = first.setdefault(identity if self.drop else identity[1], place)
                repeated |= {} if seen == place else {place: seen}
        if self.drop:
            shelf.drop(repeated)
            return Outcome(len(repeated), repeats=len(repeated))
        return Outcome(shelf.share(repeated), left=shelf.left) if repeated else Outcome()


class Compress(msgspec.Struct, frozen=True):
    """Items are held in the form that zlib gives them, and read as before. Nothing is lost.

    Only those that become smaller are. ``level`` is zlib's, from 1 (fast) to 9 (small).
    """

    level: int = 6

    def __post_init__(self) -> None:
        check_level(self.level)

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` for a storage that does not unpack what it reads."""
        return Outcome(shelf.pack(self.level))


class Evict(msgspec.Struct, frozen=True):
    """All but ``keep`` items are dropped, for good: the oldest, or with ``by="least used"`` those read least often (of
    these the oldest).
    """

    keep: int
    by: Literal["oldest", "least used"] = "oldest"

    def __post_init__(self) -> None:
        check_count(self.keep, "keep")
        if self.by not in ("oldest", "least used"):
            raise InvalidInput(f"items are evicted by 'oldest' or 'least used', not by {shown(self.by)}")

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when the storage's items cannot be dropped, or nobody has counted their uses."""
        places = list(range(len(shelf)))
        if self.by == "least used":
            uses = shelf.uses()
            places.sort(key=lambda place: uses[place])
        gone = set(places[: max(0, len(places) - self.keep)])
        if not gone:
            return Outcome()
        before = Counter(shelf.identities())
        shelf.drop(gone)
        after = set(shelf.identities())
        distinct = sum(1 for one in before if one is not None and one not in after)
        # What cannot be compared is distinct for all anybody knows.
        lost = distinct + before[None] - sum(1 for one in shelf.identities() if one is None)
        return Outcome(len(gone), lost, repeats=len(gone) - lost)


class SparsifyVectors(msgspec.Struct, frozen=True):
    """Vectors lose their smallest components and are kept in ``form``, both within ``error``, relative to their length.

    Items that are lists of floats are vectors; with ``key`` it is that field of an item that is a dict. One that the error
    does not allow in ``form`` is kept in the next wider.
    """

    error: float = 0.02
    form: Form = "int8"
    key: str | None = None

    def __post_init__(self) -> None:
        sparsified([1.0], error=self.error, form=self.form)

    def apply(self, shelf: Shelf, /) -> Outcome:
        """Raises ``CannotOptimize`` when items cannot be put into the storage."""
        changed, worst = 0, 0.0
        for place, item in enumerate(list(shelf)):
            numbers = numbers_of(self._vector(item))
            made = None if numbers is None else sparsified(numbers, error=self.error, form=self.form)
            if made is not None:
                shelf.replace(place, made if self.key is None else {**item, self.key: made})
                changed, worst = changed + 1, max(worst, made.error)
        return Outcome(changed, error=worst)

    def _vector(self, item: Any) -> Any:
        if self.key is None:
            return item
        return cast("dict[str, Any]", item).get(self.key) if isinstance(item, dict) else None


DEFAULT: tuple[Strategy, ...] = (Deduplicate(), Compress())
"""What is done when nothing is named: it loses nothing."""

__all__ = ["DEFAULT", "Compress", "Deduplicate", "Evict", "Outcome", "SparsifyVectors", "Strategy"]
