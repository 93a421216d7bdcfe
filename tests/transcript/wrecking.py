"""Shows that what was converted shares nothing with what it was made from."""

from __future__ import annotations

from typing import Any


def wreck(value: Any) -> None:
    """Empties every list and dict inside."""
    if isinstance(value, list | dict):
        for inner in list(value.values() if isinstance(value, dict) else value):
            wreck(inner)
        value.clear()
