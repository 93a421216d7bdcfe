"""Working, episodic, semantic and procedural memory over one long-term memory, and a chat model that uses them.

m = memwell.open("app.db")
mind = Cognition(m)
mind.semantic.store("RAG", "answers that rest on documents that were retrieved", related=["retrieval"])
mind.recall("what is RAG?")
"""

from __future__ import annotations

from memwell.cognition.augmented import AugmentedModel, Definition, Response, definitions
from memwell.cognition.episodic import Episode, EpisodicMemory
from memwell.cognition.named import Belief
from memwell.cognition.network import Active, Cognition, Weighted, WorkingMemory, softmax
from memwell.cognition.procedural import Outcome, ProceduralMemory, Procedure, SuccessRate, Suggestion
from memwell.cognition.semantic import Concept, SemanticMemory, Testimony

__all__ = [
    "Active",
    "AugmentedModel",
    "Belief",
    "Cognition",
    "Concept",
    "Definition",
    "Episode",
    "EpisodicMemory",
    "Outcome",
    "ProceduralMemory",
    "Procedure",
    "Response",
    "SemanticMemory",
    "SuccessRate",
    "Suggestion",
    "Testimony",
    "Weighted",
    "WorkingMemory",
    "definitions",
    "softmax",
]
