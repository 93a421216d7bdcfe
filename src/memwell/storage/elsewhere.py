"""What a home store remembers of its parts: which of them live elsewhere, and a name that each of those knows too.

Without it, a store that is opened without its parts, or with those of another one, would take writes where no reader finds
them again. What only searches (``index``) is a copy, and may come and go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

from memwell.errors import BackendError, ConfigurationError, Conflict, NotFound, ReadOnlyStore
from memwell.records import Space, paged
from memwell.storage.arguments import is_memwells
from memwell.storage.protocols import Backend, Blobs, KeyValue
from memwell.values import new_id

REMEMBERED = Space("memwell", "parts")
"""Where the note is, in the home; and in each part, the name of the store whose part it is."""

_NOTE = "parts"
_PAGE = 500
_HELD = {"log": "conversations", "kv": "values", "blobs": "blobs"}
_FORGET = "to use it without what was there, let it forget: memwell.storage.registry.forget_parts(URL)"


class Elsewhere(NamedTuple):
    """A part that lives elsewhere: its place without secrets, whether it knows a name, and how it learns one."""

    place: str
    knows: Callable[[str], bool]
    learn: Callable[[str], None]


class _Note(NamedTuple):
    id: str
    places: dict[str, str]
    version: int


def in_values(kv: KeyValue, place: str) -> Elsewhere:
    """A part whose store keeps the name among its values."""

    def knows(id_: str) -> bool:
        return kv.get(REMEMBERED, id_) is not None

    def learn(id_: str) -> None:
        kv.put(REMEMBERED, id_, "part")

    return Elsewhere(place, knows, learn)


def in_bytes(opened: Callable[[], Blobs], place: str) -> Elsewhere:
    """A part that holds bytes alone, the name among them."""

    def knows(id_: str) -> bool:
        try:
            return bool(opened().get(REMEMBERED, hashlib.sha256(id_.encode()).hexdigest()))
        except NotFound:
            return False

    def learn(id_: str) -> None:
        opened().put(REMEMBERED, id_.encode())

    return Elsewhere(place, knows, learn)


def check_parts(
    home: Backend, home_place: str, parts: Mapping[str, Elsewhere], is_own: Callable[[Space], bool] = lambda _: False
) -> None:
    """That the store is opened with its parts; those that are new are remembered.

    Raises ``ConfigurationError`` when some are missing or belong to another store, or when the home already holds what is
    to live elsewhere from now on. ``is_own`` says of a space of the home that no user's things are in it.
    """
    note = _note_of(home)
    known: dict[str, str] = {} if note is None else note.places
    if known.keys() - parts.keys():
        raise ConfigurationError(_missing(home_place, known, known.keys() - parts.keys()))
    if note is not None:
        for name in known:
            _check_is_it(name, parts[name], note)
    changed = {name: part for name, part in parts.items() if known.get(name) != part.place}
    if changed:
        _refuse_held(home, home_place, {name: changed[name] for name in changed if name not in known}, is_own)
        # Who cannot write to the home cannot write to one half of it either.
        with suppress(ReadOnlyStore):
            try:
                _remember(home, note, changed)
            except Conflict:
                # Another process opened it just now with parts that are new, too. Are they the same?
                check_parts(home, home_place, parts, is_own)


def forget(home: Backend) -> bool:
    """Forget that parts live elsewhere; whether that was known. What they hold is then no longer found here."""
    return home.kv.delete(REMEMBERED, _NOTE)


def _note_of(home: Backend) -> _Note | None:
    found = home.kv.get(REMEMBERED, _NOTE)
    if found is None:
        return None
    value = cast("dict[str, Any]", found.value)
    return _Note(value["id"], value["places"], found.version)


def _missing(home_place: str, known: Mapping[str, str], missing: set[str]) -> str:
    names = " and ".join(name for name in known if name in missing)
    url = home_place + "".join(f",{name}={place}" for name, place in known.items())
    return f"this store keeps its {names} elsewhere; open it as {url} ({_FORGET})"


def _check_is_it(name: str, part: Elsewhere, note: _Note) -> None:
    try:
        known = part.knows(note.id)
    except BackendError:
        # Away. The call that needs it fails then.
        return
    if not known:
        was = note.places[name]
        why = "it is empty or was replaced" if was == part.place else f"that was at {was}"
        raise ConfigurationError(f"the {name} at {part.place} is not the {name} of this store: {why} ({_FORGET})")


def _refuse_held(
    home: Backend, home_place: str, added: Mapping[str, Elsewhere], is_own: Callable[[Space], bool]
) -> None:
    for name, part in added.items():
        if _holds(home, name, is_own):
            raise ConfigurationError(
                f"this store already holds {_HELD[name]} in {home_place}, which would not be found in {part.place}: "
                f"memwell move {home_place} NEW,{name}={part.place} puts them there"
            )


def _holds(home: Backend, name: str, is_own: Callable[[Space], bool]) -> bool:
    # What memwell itself keeps stays in the home, but for its blobs.
    stays = is_own if name == "blobs" else is_memwells

    def found(space: Space) -> bool:
        if name == "log":
            return bool(home.log.threads(space, limit=1).items)
        return bool((home.kv if name == "kv" else home.blobs).scan(space, limit=1).items)

    spaces = paged(lambda cursor: home.spaces(limit=_PAGE, cursor=cursor))
    return any(found(space) for space in spaces if space != REMEMBERED and not stays(space))


def _remember(home: Backend, note: _Note | None, changed: Mapping[str, Elsewhere]) -> None:
    facts = home.facts()
    if facts.get("read_only") or facts.get("sealed") is not None:
        return
    id_, places, version = note or _Note(new_id(), {}, 0)
    learned: dict[str, str] = {}
    for name, part in changed.items():
        # One that is away is remembered when it is there.
        with suppress(BackendError):
            # First there and then here: a home that says so must be right.
            part.learn(id_)
            learned[name] = part.place
    if learned:
        home.kv.put(REMEMBERED, _NOTE, {"id": id_, "places": {**places, **learned}}, expect=version)
