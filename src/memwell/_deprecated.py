"""Deprecated names of methods: each calls the method under its new name and warns once."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_warned: set[str] = set()


def renamed(old: str, method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method under its ``old`` name. The first call of each name emits a ``DeprecationWarning``.

    The new method is looked up by name when called, so a subclass that overrides it has overridden the old name too.
    """
    new = method.__name__

    @functools.wraps(method)
    def alias(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if old not in _warned:
            _warned.add(old)
            warnings.warn(f"{old}() is deprecated: call {new}()", DeprecationWarning, stacklevel=2)
        bound: Callable[..., T] = getattr(self, new)
        return bound(*args, **kwargs)

    alias.__name__ = old
    alias.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.{old}"
    alias.__doc__ = f"Deprecated: call ``{new}``."
    return alias
