"""Pure functions over text: no model, no store, no clock."""

from __future__ import annotations

__all__: list[str] = []
