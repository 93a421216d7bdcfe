"""A memory behind a service, under the names of one in a file.

m = memwell.open("http://127.0.0.1:7411", key="mw_…")
m.remember("Ann is allergic to nuts.")
m.recall("what can Ann not eat?")
"""

from __future__ import annotations

from memwell.runtime.remote.connection import Connection, RetryPolicy
from memwell.runtime.remote.memory import RemoteMemory

__all__ = ["Connection", "Patience", "RemoteMemory"]
