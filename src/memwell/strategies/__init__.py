"""What of a conversation goes back into the prompt.

A strategy reads a ``History`` and never changes it. It has two verbs: ``observe`` takes in what was said since, and
``recall`` gives the messages for the next prompt. What it makes of a conversation is kept beside it in the same store, so
it survives a restart, and several processes may work on one conversation; a turn costs the same in a long conversation as
in a short one. Every verb has an async twin with an ``a`` in front.
"""

from memwell.strategies.base import Combined, ReadOnly, Strategy, Wrapper
from memwell.strategies.compaction import Compaction, Offloaded
from memwell.strategies.entities import Entities, EntityNotes, Graph, Triple
from memwell.strategies.summary import Extractive, ModelSummariser, Summariser, Summary, SummaryBuffer
from memwell.strategies.windows import Buffer, LastRounds, Recalled, Recaller, TokenWindow

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
