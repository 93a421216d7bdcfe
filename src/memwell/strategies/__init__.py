"""Strategies: they choose which messages of a conversation go into the next prompt.

A strategy reads a ``History`` and never changes it. ``observe`` processes new messages, ``recall`` returns the messages for
the next prompt. What a strategy derives is stored with the conversation, so it survives a restart, and several processes
may work on one conversation. A turn costs the same in a long conversation as in a short one. Every method has an async twin
with an ``a`` in front.
"""

from memwell.strategies.base import (
    Buffer,
    Combined,
    LastRounds,
    ReadOnly,
    Recalled,
    Recaller,
    Strategy,
    TokenWindow,
    Wrapper,
)
from memwell.strategies.compaction import Compaction, Offloaded
from memwell.strategies.entities import Entities, EntityNotes, Graph, Triple
from memwell.strategies.summary import Extractive, ModelSummariser, Summariser, Summary, SummaryBuffer

__all__ = [
    "Buffer",
    "Combined",
    "Compaction",
    "Entities",
    "EntityNotes",
    "Extractive",
    "Graph",
    "LastRounds",
    "ModelSummariser",
    "Offloaded",
    "ReadOnly",
    "Recalled",
    "Recaller",
    "Strategy",
    "Summariser",
    "Summary",
    "SummaryBuffer",
    "TokenWindow",
    "Triple",
    "Wrapper",
]
