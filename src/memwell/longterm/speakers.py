"""Who speaks in a pool, by number, and whom a question means."""

from __future__ import annotations

from collections.abc import Iterable

from memwell.language.segment import query_terms

ASKERS = frozenset({"user", "human", "me", "用户", "我"})
"""Roles that a question means by *I*."""
HELPERS = frozenset({"assistant", "ai", "bot", "助手"})
"""Roles that a question means by *you*."""
ROLES = ASKERS | HELPERS | {"system", "tool"}


def speaker_name(speaker: str) -> str:
    """The speaker's name; a role such as *user* is none."""
    return "" if speaker.casefold() in ROLES else speaker


class Speakers:
    """The speakers of the records that are there now. With the last record a speaker is forgotten, and the number free."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._counts: list[int] = []
        self._free: list[int] = []
        self._called: dict[str, set[int]] = {}

    def add(self, speaker: str) -> int:
        """The speaker's number, for one more record."""
        number = self._numbers.get(speaker)
        if number is None:
            number = self._new(speaker)
        self._counts[number] += 1
        return number

    def remove(self, number: int) -> None:
        """One record less."""
        self._counts[number] -= 1
        if not self._counts[number]:
            speaker = self._names[number]
            del self._numbers[speaker]
            for call in _calls(speaker):
                self._called[call].discard(number)
                if not self._called[call]:
                    del self._called[call]
            self._names[number] = ""
            self._free.append(number)

    def _new(self, speaker: str) -> int:
        if self._free:
            number = self._free.pop()
            self._names[number] = speaker
        else:
            number = len(self._names)
            self._names.append(speaker)
            self._counts.append(0)
        self._numbers[speaker] = number
        for call in _calls(speaker):
            self._called.setdefault(call, set()).add(number)
        return number

    def named(self, terms: Iterable[str]) -> list[int]:
        """The speakers that one of the terms names."""
        return sorted({number for term in terms for number in self._called.get(term, ())})

    def meant(self, *, asker: bool, helper: bool) -> list[int]:
        """The speakers of these roles."""
        roles = [call for call, wanted in ((_ASKER, asker), (_HELPER, helper)) if wanted]
        return self.named(roles)


# No term holds a space, so that a role is never taken for a name.
_ASKER, _HELPER = " asker", " helper"


def _calls(speaker: str) -> list[str]:
    """What a speaker is called by: people by the first part of the name, or any part that is written without spaces."""
    role = speaker.casefold()
    if role in ROLES:
        return [_ASKER] if role in ASKERS else [_HELPER] if role in HELPERS else []
    return query_terms(speaker)[:1] if speaker.isascii() else query_terms(speaker)


__all__ = ["ASKERS", "HELPERS", "ROLES", "Speakers", "speaker_name"]
