"""What the front doors of packages need: the version, and names that are loaded lazily."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

VERSION = "0.2.0"
"""Here for modules that must not import the package itself."""


def load_lazily(
    package: dict[str, Any], modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package with these ``globals()``; ``modules`` has the module of each name.

    For names whose modules take time to import. A module is given relative to the package (``.chat``) or in full. Another
    name raises ``AttributeError``.
    """
    own: str = package["__name__"]

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], own), name)

    def names() -> list[str]:
        return sorted({*package, *modules})

    return load, names
