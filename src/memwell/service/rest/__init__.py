"""What the service does beyond calling methods of the engine: handlers, by what they are about."""

from __future__ import annotations

import importlib

ROOMS = ("memories", "documents", "running")


def register() -> None:
    """Load every room, so that each operation has its handler."""
    for room in ROOMS:
        importlib.import_module(f"{__name__}.{room}")
