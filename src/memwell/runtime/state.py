"""State of modules as plain JSON data, and sessions that save and restore it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from memwell._asyncify import Closing, asyncify
from memwell.errors import Conflict, InvalidInput
from memwell.history.reading import key_part
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.storage.protocols import Backend, JSONValue, KeyValue
from memwell.storage.registry import open_backend
from memwell.values import check_id, check_json, shown

T = TypeVar("T")

SESSION_FORMAT = 1
# The first version of memwell that reads this format. It is stored, so that an older version can name it in its error.
_NEEDS = "0.1.0"
_PREFIX = "session/"
# All keys with the prefix lie between these two, for "0" follows "/".
_ALL_SESSIONS = {"@id": {"$ge": _PREFIX, "$lt": "session0"}}


class MissingState(InvalidInput, KeyError):
    """A state lacks a part that the module has; nothing was loaded."""

    # A KeyError shows its message in quotes.
    __str__ = Exception.__str__


class NotPlain(InvalidInput, TypeError):
    """A part of a state is not plain JSON data, and there is no function that makes it so."""


def _is_module(value: object) -> bool:
    """Whether it is a module: ours, or one of another library by its methods."""
    if isinstance(value, StateModule):
        return True
    kind = type(value)
    # The rarest first: every attribute that is set comes here.
    return hasattr(kind, "register_state") and hasattr(kind, "load_state_dict") and hasattr(kind, "state_dict")


class _Converters(NamedTuple):
    to_json: Callable[[Any], JSONValue] | None
    from_json: Callable[[JSONValue], Any] | None


class StateModule:
    """An object whose state (registered attributes and nested modules) can be saved as plain JSON data and restored.

    A module assigned to an attribute is nested under its name, also before ``super().__init__()`` has run; deleting the
    attribute, or assigning something else to it, removes it. A module of another library that has the same three public
    methods is a module too.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_module(value) and name not in self._attribute_dict:
            self._module_dict[name] = value
        elif name in self._module_dict:
            del self._module_dict[name]
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._module_dict.pop(name, None)
        self._attribute_dict.pop(name, None)

    # Made when first needed: a subclass may assign its parts before it calls super().__init__().

    @property
    def _module_dict(self) -> dict[str, StateModule]:
        return self.__dict__.setdefault("_modules", {})

    @property
    def _attribute_dict(self) -> dict[str, _Converters]:
        return self.__dict__.setdefault("_attributes", {})

    def register_state(
        self,
        attr_name: str,
        custom_to_json: Callable[[Any], JSONValue] | None = None,
        custom_from_json: Callable[[JSONValue], Any] | None = None,
    ) -> None:
        """Make an attribute a part of the state, converted by the two functions when they are given.

        Raises ``AttributeError`` when there is no such attribute, ``NotPlain`` (a ``TypeError``) when it is not plain JSON
        data and ``custom_to_json`` is missing, and ``InvalidInput`` for a nested module, which is a part already.
        """
        value = getattr(self, attr_name)
        if custom_to_json is None:
            _plain(value, f"attribute {attr_name!r} of {type(self).__name__}")
        if attr_name in self._module_dict:
            raise InvalidInput(
                f"attribute {attr_name!r} of {type(self).__name__} is a module: its state is kept already"
            )
        self._attribute_dict[attr_name] = _Converters(custom_to_json, custom_from_json)

    def state_dict(self) -> dict[str, Any]:
        """The state of the whole tree as plain JSON data, a copy: nested modules first, then registered attributes.

        Raises ``NotPlain`` for an attribute that has become something else, and ``InvalidInput`` for a module that is
        nested in itself.
        """
        _refuse_loops(self)
        state: dict[str, Any] = {name: _state_of(module) for name, module in self._module_dict.items()}
        for name, converters in self._attribute_dict.items():
            value = getattr(self, name)
            value = value if converters.to_json is None else converters.to_json(value)
            state[name] = _plain(value, f"attribute {name!r} of {type(self).__name__}")
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Restore a state, all of it or, when any part fails, nothing.

        Parts that the module does not have are ignored. Parts that the state does not have stay as they are, at every
        level; when ``strict`` they raise ``MissingState`` (a ``KeyError``) instead.
        """
        _refuse_loops(self)
        _carry_out(list(_changes(self, state_dict, strict, type(self).__name__)))


# Loading: all changes are prepared and checked first, then made.


class _Change(NamedTuple):
    """A change of a module, and how to undo it."""

    make: Callable[[], None]
    undo: Callable[[], None]


def _changes(module: StateModule, state: object, strict: bool, where: str) -> Iterator[_Change]:
    if not isinstance(state, Mapping):
        raise InvalidInput(f"the state of {where} must be a mapping, not {shown(state)}")
    parts = cast("Mapping[str, Any]", state)
    modules, attributes = module._module_dict, module._attribute_dict  # pyright: ignore[reportPrivateUsage]
    for name, nested in _present(modules, parts, strict, where):
        if type(nested).load_state_dict is StateModule.load_state_dict:
            yield from _changes(nested, parts[name], strict, f"{where}.{name}")
        else:
            # It can fail only when it is called.
            load = nested.load_state_dict
            yield _Change(partial(load, parts[name], strict=strict), partial(load, nested.state_dict()))
    for name, converters in _present(attributes, parts, strict, where):
        value = _plain(parts[name], f"the state of {where}.{name}")
        value = value if converters.from_json is None else converters.from_json(value)
        yield _Change(partial(setattr, module, name, value), partial(setattr, module, name, getattr(module, name)))


def _present(expected: Mapping[str, T], state: Mapping[str, Any], strict: bool, where: str) -> Iterator[tuple[str, T]]:
    for name, part in expected.items():
        if name in state:
            yield name, part
        elif strict:
            raise MissingState(
                f"the state of {where} has no {name!r}; load it with strict=False to leave that as it is"
            )


def _carry_out(changes: list[_Change]) -> None:
    begun: list[_Change] = []
    try:
        for change in changes:
            begun.append(change)
            change.make()
    except BaseException:
        for change in reversed(begun):
            change.undo()
        raise


def _state_of(module: StateModule) -> dict[str, Any]:
    state = module.state_dict()
    if type(module).state_dict is StateModule.state_dict:
        return state
    return _plain(state, f"the state of {type(module).__name__}")


def _plain(value: Any, what: str) -> Any:
    """A deep copy of plain JSON data. Raises ``NotPlain`` for anything else."""
    try:
        check_json(value, what)
    except InvalidInput as error:
        raise NotPlain(f"{error}; give functions that convert it (custom_to_json, custom_from_json)") from None
    return _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in cast("list[Any]", value)]
    return value


def _refuse_loops(module: StateModule, above: tuple[StateModule, ...] = ()) -> None:
    """Raises ``InvalidInput`` when a module is nested in itself, at any depth."""
    if any(module is one for one in above):
        raise InvalidInput(f"a {type(module).__name__} is nested in itself, so its state has no end")
    for nested in getattr(module, "_module_dict", {}).values():
        _refuse_loops(nested, (*above, module))


def states_of(modules: Mapping[str, StateModule]) -> dict[str, Any]:
    """The states of modules by their names. Raises ``InvalidInput`` for one that is no ``StateModule``."""
    return _together(modules).state_dict()


def restore(modules: Mapping[str, StateModule], states: Mapping[str, Any], *, strict: bool, what: str) -> None:
    """Restore what ``states_of`` returned, into all modules or, when any part fails, into none.

    ``what`` names the source in errors, which are those of ``StateModule.load_state_dict``.
    """
    tree = _together(modules)
    _refuse_loops(tree)
    _carry_out(list(_changes(tree, states, strict, what)))


def _together(modules: Mapping[str, object]) -> StateModule:
    """One tree of these modules, so that they are saved and restored as one."""
    tree = StateModule()
    for name, module in modules.items():
        if not _is_module(module):
            raise InvalidInput(f"{name!r} must be a StateModule, not {shown(module)}")
        # Not by assignment: the name of a module may also be that of a method.
        tree._module_dict[name] = cast(StateModule, module)  # pyright: ignore[reportPrivateUsage]
    return tree


class Sessions(Closing):
    """The states of modules, saved together by session and restored together.

    A session's id is a key and never a path: any text of 1 to 1,024 characters names a session of its own. ``store`` is a
    path, a URL, a ``Backend`` or a ``KeyValue``; what is opened here is closed by ``close``. With a ``ttl`` a session is
    deleted that many seconds after it was last saved or read.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Backend | KeyValue = "memwell.db",
        *,
        space: SpaceLike = DEFAULT_SPACE,
        ttl: float | None = None,
    ) -> None:
        self._space = as_space(space) / "memwell"
        self._ttl = ttl
        self._opened = open_backend(store) if isinstance(store, str | os.PathLike) else None
        kept_in = self._opened or store
        if not isinstance(kept_in, Backend | KeyValue):
            raise InvalidInput(f"a store must be a path, a URL, a Backend or a KeyValue, not {shown(store)}")
        self._kv = kept_in.kv if isinstance(kept_in, Backend) else kept_in

    def save(self, session_id: str, **modules: StateModule) -> None:
        """Save the states of these modules, replacing what the session held.

        Raises ``InvalidInput`` for what is no module, and for a session that a newer memwell wrote, which stays as it is.
        """
        states = states_of(modules)
        held = self._kv.get(self._space, _key(session_id))
        if held is not None:
            _refuse_newer(session_id, held.value)
        value = {"format": SESSION_FORMAT, "needs": _NEEDS, "id": session_id, "modules": states}
        self._kv.put(self._space, _key(session_id), value, ttl=self._ttl)

    def load(self, session_id: str, *, strict: bool = True, **modules: StateModule) -> bool:
        """Restore these modules, all or none; returns False, changing nothing, when there is no such session.

        Other modules of the session are ignored. Raises ``MissingState`` for a part that it lacks unless ``strict`` is
        off, and ``InvalidInput`` for a session that a newer memwell wrote.
        """
        _together(modules)
        states = self.states(session_id)
        if states is None:
            return False
        restore(modules, states, strict=strict, what=f"session {shown(session_id)}")
        return True

    def states(self, session_id: str) -> dict[str, Any] | None:
        """What a session holds, by the names of its modules, or None when there is no such session.

        Raises ``InvalidInput`` for a session that a newer memwell wrote.
        """
        entry = self._kv.get(self._space, _key(session_id))
        if entry is not None and self._ttl is not None:
            # A use renews the time, unless another process has written the session meanwhile.
            with suppress(Conflict):
                self._kv.put(self._space, entry.key, entry.value, ttl=self._ttl, expect=entry.version)
        return None if entry is None else _read(session_id, entry.value)

    def ids(self) -> list[str]:
        """The ids of the sessions of this space, sorted."""
        entries = paged(lambda cursor: self._kv.scan(self._space, where=_ALL_SESSIONS, limit=1000, cursor=cursor))
        return sorted(cast("dict[str, str]", entry.value)["id"] for entry in entries)

    def delete(self, session_id: str) -> bool:
        """Drop a session. Returns whether there was one."""
        return self._kv.delete(self._space, _key(session_id))

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._opened is not None:
            self._opened.close()

    asave = asyncify(save)
    aload = asyncify(load)
    astates = asyncify(states)
    aids = asyncify(ids)
    adelete = asyncify(delete)


def _key(session_id: object) -> str:
    return _PREFIX + key_part(check_id(session_id, "a session's id"))


def _refuse_newer(session_id: str, value: object) -> dict[str, Any]:
    session = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    number = session.get("format")
    if type(number) is int and number > SESSION_FORMAT:
        needed = session.get("needs", "of a newer version")
        raise InvalidInput(
            f"session {shown(session_id)} is in format {number}, and this memwell reads up to {SESSION_FORMAT}: it needs"
            f" memwell {needed}"
        )
    return session


def _read(session_id: str, value: object) -> dict[str, Any]:
    session = _refuse_newer(session_id, value)
    states = session.get("modules")
    if type(session.get("format")) is not int or not isinstance(states, dict):
        raise InvalidInput(f"session {shown(session_id)} cannot be read: it is no saved session")
    return cast("dict[str, Any]", states)
