"""Processes that tests start: with the sources of this checkout, and with no setting but those that a test makes."""

from __future__ import annotations

import os
from pathlib import Path

_SOURCES = str(Path(__file__).parents[2] / "src")


def environment(**settings: str) -> dict[str, str]:
    """What a process finds in its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMWELL_")}
    paths = [_SOURCES, *kept.pop("PYTHONPATH", "").split(os.pathsep)]
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **settings}


__all__ = ["environment"]
