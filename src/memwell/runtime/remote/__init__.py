"""The client of a service: ``RemoteMemory`` has the methods of an ``Engine``.

m = RemoteMemory.connect("http://127.0.0.1:7411", key="mw_…")     # or memwell.open, with the same arguments
m.remember("Ann is allergic to nuts.")
m.recall("what can Ann not eat?")
"""

from __future__ import annotations

from memwell.runtime.remote.connection import Connection, RetryPolicy
from memwell.runtime.remote.memory import RemoteMemory

__all__ = ["Connection", "RemoteMemory", "RetryPolicy"]
