"""The layout of a store: which of its parts are placed in other stores. The home store keeps it.

The home has an id, which each placed part stores too. So a store that is opened without its parts, or with those of another
store, is refused: writes to it would be lost to later readers. A follower (``index``) is a copy, and may come and go.
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
"""The space of the layout in the home, and of the home's id in each part."""

_LAYOUT = "parts"
_PAGE = 500
_HELD = {"log": "conversations", "kv": "values", "blobs": "blobs"}
_FORGET = "to use it without what was there, let it forget: memwell.storage.registry.forget_parts(URL)"


class PlacedPart(NamedTuple):
    """A part in another store: its place without secrets, whether it has the id of a home, and how it gets one."""

    place: str
    knows: Callable[[str], bool]
    learn: Callable[[str], None]


class _Layout(NamedTuple):
    id: str
    places: dict[str, str]
    version: int


def in_values(kv: KeyValue, place: str) -> PlacedPart:
    """A part whose store keeps the home's id among its values."""

    def knows(id_: str) -> bool:
        return kv.get(REMEMBERED, id_) is not None

    def learn(id_: str) -> None:
        kv.put(REMEMBERED, id_, "part")

    return PlacedPart(place, knows, learn)


def in_bytes(opened: Callable[[], Blobs], place: str) -> PlacedPart:
    """A part that holds blobs alone, the home's id among them."""

    def knows(id_: str) -> bool:
        try:
            return bool(opened().get(REMEMBERED, hashlib.sha256(id_.encode()).hexdigest()))
        except NotFound:
            return False

    def learn(id_: str) -> None:
        opened().put(REMEMBERED, id_.encode())

    return PlacedPart(place, knows, learn)


def check_parts(
    home: Backend, home_place: str, parts: Mapping[str, PlacedPart], is_own: Callable[[Space], bool] = lambda _: False
) -> None:
    """Check that the store is opened with its parts; new ones are added to the layout.

    Raises ``ConfigurationError`` when a part is missing or belongs to another store, or when the home already holds data
    of a new part. ``is_own`` tells spaces with internal data of the composed store.
    """
    layout = _layout_of(home)
    known: dict[str, str] = {} if layout is None else layout.places
    if known.keys() - parts.keys():
        raise ConfigurationError(_missing(home_place, known, known.keys() - parts.keys()))
    if layout is not None:
        for name in known:
            _check_part(name, parts[name], layout)
    changed = {name: part for name, part in parts.items() if known.get(name) != part.place}
    if changed:
        _refuse_moved(home, home_place, {name: changed[name] for name in changed if name not in known}, is_own)
        # A home that is read-only needs no new layout.
        with suppress(ReadOnlyStore):
            try:
                _store(home, layout, changed)
            except Conflict:
                # Another process has just stored a layout: compare with that.
                check_parts(home, home_place, parts, is_own)


def forget(home: Backend) -> bool:
    """Forget the layout; whether there was one. What the parts hold is then no longer found here."""
    return home.kv.delete(REMEMBERED, _LAYOUT)


def _layout_of(home: Backend) -> _Layout | None:
    found = home.kv.get(REMEMBERED, _LAYOUT)
    if found is None:
        return None
    value = cast("dict[str, Any]", found.value)
    return _Layout(value["id"], value["places"], found.version)


def _missing(home_place: str, known: Mapping[str, str], missing: set[str]) -> str:
    names = " and ".join(name for name in known if name in missing)
    url = home_place + "".join(f",{name}={place}" for name, place in known.items())
    return f"this store keeps its {names} elsewhere; open it as {url} ({_FORGET})"


def _check_part(name: str, part: PlacedPart, layout: _Layout) -> None:
    try:
        known = part.knows(layout.id)
    except BackendError:
        # Unavailable. A call that needs it will fail.
        return
    if not known:
        was = layout.places[name]
        why = "it is empty or was replaced" if was == part.place else f"that was at {was}"
        raise ConfigurationError(f"the {name} at {part.place} is not the {name} of this store: {why} ({_FORGET})")


def _refuse_moved(
    home: Backend, home_place: str, added: Mapping[str, PlacedPart], is_own: Callable[[Space], bool]
) -> None:
    for name, part in added.items():
        if _holds(home, name, is_own):
            raise ConfigurationError(
                f"this store already holds {_HELD[name]} in {home_place}, which would not be found in {part.place}: "
                f"memwell move {home_place} NEW,{name}={part.place} puts them there"
            )


def _holds(home: Backend, name: str, is_own: Callable[[Space], bool]) -> bool:
    # Internal data stays in the home, except for blobs.
    stays = is_own if name == "blobs" else is_memwells

    def found(space: Space) -> bool:
        if name == "log":
            return bool(home.log.threads(space, limit=1).items)
        return bool((home.kv if name == "kv" else home.blobs).scan(space, limit=1).items)

    spaces = paged(lambda cursor: home.spaces(limit=_PAGE, cursor=cursor))
    return any(found(space) for space in spaces if space != REMEMBERED and not stays(space))


def _store(home: Backend, layout: _Layout | None, changed: Mapping[str, PlacedPart]) -> None:
    facts = home.facts()
    if facts.get("read_only") or facts.get("sealed") is not None:
        return
    id_, places, version = layout or _Layout(new_id(), {}, 0)
    learned: dict[str, str] = {}
    for name, part in changed.items():
        # An unavailable part is added when it is back.
        with suppress(BackendError):
            # The part first, then the home: what the home says must be true.
            part.learn(id_)
            learned[name] = part.place
    if learned:
        home.kv.put(REMEMBERED, _LAYOUT, {"id": id_, "places": {**places, **learned}}, expect=version)
