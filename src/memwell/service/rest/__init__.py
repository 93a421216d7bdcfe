"""The handlers of the routes, one file a noun. Importing this registers all of them."""

from __future__ import annotations

import importlib

ROOMS = ("threads", "memories", "known", "documents", "media", "jobs", "running")


def register() -> None:
    """Load every room, so that each route has its handler."""
    for room in ROOMS:
        importlib.import_module(f"{__name__}.{room}")


__all__ = ["ROOMS", "register"]
