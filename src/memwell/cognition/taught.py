"""What users' turns taught: for each user and name a few memories, each of which rests on one turn alone.

So erasing a turn erases what it taught and nothing else, down to the last version of it, and what another turn taught is
still there. The latest that a user said of something is what it is to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from memwell.cognition.beliefs import Belief
from memwell.cognition.concepts import (
    KIND,
    STRENGTH,
    KeptConcept,
    Testimony,
    concept_draft,
    is_concept,
    is_groundless,
    kept_concept,
    says_same,
    sources_of,
)
from memwell.cognition.named import NamedMemories, gone_of, key_of, living_of
from memwell.errors import NotFound
from memwell.longterm.memory import Memory
from memwell.longterm.recalling import Recalled
from memwell.values import shown

_MOST = 4
"""So many turns of a user are kept for one name."""
_ENOUGH = 2
"""When so many of them say the same, one more changes nothing."""


class TaughtConcepts:
    """The concepts that turns taught, by user and name."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._named = NamedMemories(memory, KIND, KeptConcept)

    def current(self, user: str, name: str) -> Recalled | None:
        """The latest that a user said of something in a turn that is still there, or None."""
        rows = self._rows(user, name)
        return rows[0] if rows else None

    def teach(
        self, user: str, name: str, definition: str, related: tuple[str, ...], confidence: float, heard: Testimony
    ) -> Recalled:
        """Keep what a turn of a user says.

        Raises ``InvalidInput`` when the gate refuses it, ``NotFound`` when the turn is gone already.
        """
        self.memory.catch_up()
        rows = self._rows(user, name)
        if not _is_settled(rows, definition, heard.source):
            self._make_room(user, name)
        with self.memory.backend.transaction():
            if gone_of(self.memory, [heard.source]):
                raise NotFound(f"the memory {shown(heard.source)} is gone: nothing is learnt from it")
            rows, free = self._rows(user, name), self._free(user, name)
            if rows and (not free or _is_settled(rows, definition, heard.source)):
                return rows[0]
            order = 1 + max((kept_concept(row).order for row in rows), default=0)
            belief = Belief(confidence, STRENGTH)
            kept = KeptConcept(name, definition, related, belief, (heard,), user, order)
            draft = concept_draft(kept, "stored", (heard.source,) if heard.source else ())
            return self._named.change_at(free[0] if free else self._ids(user, name)[0], lambda old: draft)

    def _rows(self, user: str, name: str) -> list[Recalled]:
        """What is kept of a user's turns on a name, the latest first; without that of turns that are gone."""
        found = [row for row in living_of(self.memory, self._ids(user, name)) if is_concept(row)]
        gone = gone_of(self.memory, [source for row in found for source in sources_of(row)])
        living = [row for row in found if not is_groundless(row, gone)]
        return sorted(living, key=lambda row: -kept_concept(row).order)

    def _make_room(self, user: str, name: str) -> None:
        """Erase what was said longest ago, when there is room for nothing else. Not inside a transaction."""
        rows = self._rows(user, name)
        if rows and not self._free(user, name):
            self.memory.erase(rows[-1].id)

    def _free(self, user: str, name: str) -> list[str]:
        """The ids that are not taken, not even by what was forgotten: that may come back."""
        ids = self._ids(user, name)
        taken = {record.id for record in self.memory.indexer.view.index.get(self.memory.space, ids)}
        return [id_ for id_ in ids if id_ not in taken]

    def _ids(self, user: str, name: str) -> list[str]:
        # Neither the user nor the name can be read from it.
        key = blake2b(f"{len(user)} {user} {key_of(name)}".encode(), digest_size=16).hexdigest()
        return [f"{KIND}/{key}/{number}" for number in range(_MOST)]


def _is_settled(rows: Sequence[Recalled], definition: str, source: str) -> bool:
    """Whether one more turn that says this would change nothing."""
    same = [row for row in rows if says_same(kept_concept(row).definition, definition)]
    if not rows or rows[0] not in same:
        return False
    return len(same) >= _ENOUGH or any(not source or source in sources_of(row) for row in same)


__all__ = ["TaughtConcepts"]
