"""Handlers of the operations that do more than call a method of the engine. Importing this package registers them."""

from __future__ import annotations

from memwell.service.rest import documents, memories, running

__all__ = ["documents", "memories", "running"]
