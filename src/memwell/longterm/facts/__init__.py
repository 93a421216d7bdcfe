"""Facts with two times: when they hold in the world, and when they were believed."""

from __future__ import annotations

from memwell.longterm.facts.names import name_key
from memwell.longterm.facts.store import Clash, Edge, Facts, Learned, Retracted
from memwell.longterm.facts.timeline import Fact, Source

__all__ = ["Clash", "Edge", "Fact", "Facts", "Learned", "Retracted", "Source", "name_key"]
