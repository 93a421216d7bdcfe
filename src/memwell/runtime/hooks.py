"""Hooks: functions that run before and after an agent's methods, for one agent or for all of a class."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, cast

from memwell.errors import InvalidInput
from memwell.values import check_id, shown

Hook: TypeAlias = Callable[..., Any]
"""``(agent, arguments)`` before, ``(agent, arguments, output)`` after; a function or a coroutine function."""

_Registry: TypeAlias = dict[str, dict[str, Hook]]
_REGISTRY = "_hooks_of_this_class"


class Hooked:
    """Methods that run hooks: for each type ``pre_x`` or ``post_x`` the coroutine method ``x`` (or ``_x``).

    The hooks of the instance run first, then those of its class, then those of each class above it; a hook on a class
    reaches its subclasses, never its siblings nor the classes above. Within a registry they run in the order in which
    their names were first registered. A subclass adds types by listing them in ``supported_hook_types``.

    ``pre(agent, arguments)`` gets the arguments by name and returns others, or None to leave them. ``post(agent,
    arguments, output)`` returns another output of the same type, or None; anything else raises ``InvalidInput``. Both get
    copies; what cannot be copied is handed on itself. An error of a hook reaches the caller. A method that calls
    ``super()`` or itself runs its hooks once; a call beside it, in another task, runs its own.
    """

    supported_hook_types: ClassVar[list[str]] = []

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for action in _actions(cls):
            for name in (action, f"_{action}"):
                method = inspect.getattr_static(cls, name, None)
                # A method of a mixin, or of a class that did not list the type yet, has no hooks so far.
                if inspect.isfunction(method) and not hasattr(method, "runs_hooks_of"):
                    setattr(cls, name, _with_hooks(method, name, action))

    def register_instance_hook(self, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for this agent; a hook of the same name gives up its place.

        Raises ``InvalidInput`` for an unknown type, or a hook that cannot be called.
        """
        _register(_of_instance(self), type(self), hook_type, hook_name, hook)

    def remove_instance_hook(self, hook_type: str, hook_name: str) -> None:
        """Drop a hook. Raises ``InvalidInput`` (a ``ValueError``) when there is none of this name."""
        _remove(_of_instance(self), type(self), hook_type, hook_name, "this instance")

    def clear_instance_hooks(self, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this agent."""
        _clear(_of_instance(self), type(self), hook_type)

    @classmethod
    def register_class_hook(cls, hook_type: str, hook_name: str, hook: Hook) -> None:
        """Run ``hook`` for every agent of this class and of its subclasses, those that exist already too."""
        _register(_of_class(cls), cls, hook_type, hook_name, hook)

    @classmethod
    def remove_class_hook(cls, hook_type: str, hook_name: str) -> None:
        """Drop a hook of this very class. Raises ``InvalidInput`` (a ``ValueError``) when it has none of this name."""
        _remove(_of_class(cls), cls, hook_type, hook_name, "this class itself")

    @classmethod
    def clear_class_hooks(cls, hook_type: str | None = None) -> None:
        """Drop the hooks of one type, or of all, from this class; those of other classes stay."""
        _clear(_of_class(cls), cls, hook_type)


# The registries


def _of_instance(agent: Hooked) -> _Registry:
    # Made when first needed: an agent need not have called super().__init__() yet.
    return vars(agent).setdefault("_instance_hooks", {})


def _of_class(cls: type) -> _Registry:
    if _REGISTRY not in vars(cls):
        setattr(cls, _REGISTRY, {})
    return vars(cls)[_REGISTRY]


def _types(cls: type) -> list[str]:
    # Those of all classes above count too, so that a subclass can only add to them.
    listed = (kind for base in cls.__mro__ for kind in vars(base).get("supported_hook_types", ()))
    return list(dict.fromkeys(listed))


def _actions(cls: type) -> list[str]:
    return list(dict.fromkeys(kind.partition("_")[2] for kind in _types(cls)))


def _check_type(cls: type, hook_type: object) -> str:
    types = _types(cls)
    if not isinstance(hook_type, str) or hook_type not in types:
        raise InvalidInput(f"{cls.__name__} has no hooks of type {shown(hook_type)}; it has {', '.join(types)}")
    return hook_type


def _register(registry: _Registry, cls: type, hook_type: str, hook_name: str, hook: Hook) -> None:
    _check_type(cls, hook_type)
    check_id(hook_name, "the name of a hook")
    if not callable(hook):
        raise InvalidInput(f"hook {hook_name!r} must be a function, not {shown(hook)}")
    registry.setdefault(hook_type, {})[hook_name] = hook


def _remove(registry: _Registry, cls: type, hook_type: str, hook_name: str, where: str) -> None:
    _check_type(cls, hook_type)
    hooks = registry.get(hook_type, {})
    if hook_name not in hooks:
        raise InvalidInput(f"{where} ({cls.__name__}) has no {hook_type} hook {shown(hook_name)}")
    del hooks[hook_name]
    if not hooks:
        # An empty registry is how a call without hooks is told at once.
        del registry[hook_type]


def _clear(registry: _Registry, cls: type, hook_type: str | None) -> None:
    if hook_type is None:
        registry.clear()
    else:
        registry.pop(_check_type(cls, hook_type), None)


def _hooks(agent: Hooked, hook_type: str) -> list[Hook]:
    """The hooks of a type in the order they run; a copy, so that a hook may register or remove others."""
    return [hook for registry in _registries(agent) for hook in registry.get(hook_type, {}).values()]


def _has_hooks(agent: Hooked, pre: str, post: str) -> bool:
    # Asked at every call, so it is written out: a hub asks it for each agent and message.
    own = agent.__dict__.get("_instance_hooks")
    if own and (pre in own or post in own):
        return True
    for base in type(agent).__mro__:
        registry = base.__dict__.get(_REGISTRY)
        if registry and (pre in registry or post in registry):
            return True
    return False


def _registries(agent: Hooked) -> Iterator[_Registry]:
    own = vars(agent).get("_instance_hooks")
    if own:
        yield own
    for base in type(agent).__mro__:
        registry = vars(base).get(_REGISTRY)
        if registry:
            yield registry


# Running


class _Call:
    """A call whose hooks are being run, as the calls inside it see it."""

    __slots__ = ("action", "agent", "task")

    def __init__(self, agent: Hooked, action: str) -> None:
        # Not the agent itself: a task started inside keeps its context, and must not keep the agent.
        self.agent = id(agent)
        self.action = action
        self.task = asyncio.current_task()

    def end(self) -> None:
        self.agent = 0
        self.task = None


_calls: contextvars.ContextVar[tuple[_Call, ...]] = contextvars.ContextVar("memwell_hooked_calls", default=())


def _is_part_of_a_call(agent: Hooked, action: str, *, by_super: bool) -> bool:
    """Whether a call around this one has seen to the hooks.

    ``super().reply()`` is a part of it wherever it runs, also in a task of ``asyncio.wait_for``. Any other call is one only
    in the same task: in another it is a call beside, or one that a task left behind makes long after.
    """
    for call in _calls.get():
        if call.agent == id(agent) and call.action == action:
            return by_super or call.task is asyncio.current_task()
    return False


def _with_hooks(method: Callable[..., Any], name: str, action: str) -> Callable[..., Any]:
    signature = inspect.signature(method)
    pre, post = f"pre_{action}", f"post_{action}"

    @functools.wraps(method)
    async def hooked(self: Hooked, *args: Any, **kwargs: Any) -> Any:
        if not _has_hooks(self, pre, post):
            return await method(self, *args, **kwargs)
        by_super = getattr(type(self), name, None) is not hooked
        if _is_part_of_a_call(self, action, by_super=by_super):
            return await method(self, *args, **kwargs)
        call = _Call(self, action)
        token = _calls.set((call, *_calls.get()))
        try:
            arguments = await _before(self, pre, _named(signature, self, args, kwargs), signature)
            positional, named = _as_passed(signature, self, arguments)
            output = await method(*positional, **named)
            return await _after(self, post, arguments, output)
        finally:
            call.end()
            # A coroutine that is thrown away half-way ends in another context than it began in.
            with contextlib.suppress(ValueError):
                _calls.reset(token)

    hooked.runs_hooks_of = action  # type: ignore[attr-defined]
    return hooked


async def _before(
    agent: Hooked, hook_type: str, arguments: dict[str, Any], signature: inspect.Signature
) -> dict[str, Any]:
    for hook in _hooks(agent, hook_type):
        changed = await _run(hook, agent, _copies(arguments))
        if changed is not None:
            arguments = _checked(changed, signature, hook_type, hook)
    return arguments


async def _after(agent: Hooked, hook_type: str, arguments: dict[str, Any], output: Any) -> Any:
    for hook in _hooks(agent, hook_type):
        changed = await _run(hook, agent, _copies(arguments), _copy(output))
        output = output if changed is None else _of_a_kind(changed, output, hook_type, hook)
    return output


def _of_a_kind(changed: Any, output: Any, hook_type: str, hook: Hook) -> Any:
    """What a hook returned, if it may stand where the output stood: one of its type, or one it is derived from."""
    kind = cast("type[Any]", type(changed))
    if output is None or isinstance(changed, type(output)) or (kind is not object and isinstance(output, kind)):
        return changed
    wanted = type(output).__name__
    raise InvalidInput(f"{_what(hook_type, hook)} must return a {wanted} or None, not {shown(changed)}")


async def _run(hook: Hook, *args: Any) -> Any:
    result = hook(*args)
    return await result if inspect.isawaitable(result) else result


def _copies(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except (TypeError, copy.Error):
        # A lock, a socket, a generator: there is but one of it.
        return value


# Arguments by name


def _named(
    signature: inspect.Signature, agent: Hooked, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by the names they have in the signature, with its defaults, without the agent itself."""
    bound = signature.bind(agent, *args, **kwargs)
    bound.apply_defaults()
    return dict(list(bound.arguments.items())[1:])


def _as_passed(
    signature: inspect.Signature, agent: Hooked, arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    own = next(iter(signature.parameters))
    passed = {own: agent} | {name: arguments[name] for name in signature.parameters if name in arguments}
    bound = inspect.BoundArguments(signature, passed)
    return bound.args, bound.kwargs


def _checked(changed: object, signature: inspect.Signature, hook_type: str, hook: Hook) -> dict[str, Any]:
    """The arguments a hook returned, in the form of the signature; what it left out gets its default."""
    what = _what(hook_type, hook)
    if not isinstance(changed, dict):
        raise InvalidInput(f"{what} must return a dict of arguments or None, not {shown(changed)}")
    given = dict(cast("dict[str, Any]", changed))
    kept: dict[str, Any] = {}
    others: str | None = None
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            others = parameter.name
        elif parameter.name in given or parameter.default is not parameter.empty:
            kept[parameter.name] = given.pop(parameter.name, parameter.default)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            raise InvalidInput(f"{what} must return the argument {parameter.name!r} too")
    if others is not None:
        kept[others] = {**given.pop(others, {}), **given}
    elif given:
        raise InvalidInput(f"{what} returned {', '.join(map(repr, given))}, which is no argument of the method")
    return kept


def _what(hook_type: str, hook: Hook) -> str:
    return f"the {hook_type} hook {getattr(hook, '__name__', shown(hook))}"


__all__ = ["Hook", "Hooked"]
