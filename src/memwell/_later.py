"""Names of a package that are loaded when somebody first asks for them, because what they need takes time to load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def loaded_later(
    package: dict[str, Any], modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package: ``package`` is its ``globals()``, ``modules`` says where a name is.

    A module is named from the package on (``.chat``) or in full. Asking for another name raises ``AttributeError``.
    """
    own: str = package["__name__"]

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {own!r} has no attribute {name!r}")
        return getattr(import_module(modules[name], own), name)

    def names() -> list[str]:
        return sorted({*package, *modules})

    return load, names
