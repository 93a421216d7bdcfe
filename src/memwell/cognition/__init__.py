"""Four kinds of memory over one long-term memory, and a model that uses them.

m = memwell.open("app.db")
mind = Cognition(m)
mind.semantic.store("RAG", "answers that rest on documents that were retrieved", related=["retrieval"])
mind.recall("what is RAG?")
"""

from __future__ import annotations

from memwell.cognition.attention import Belief, softmax
from memwell.cognition.augmented import AugmentedModel, Definition, Response, definitions
from memwell.cognition.episodic import Episode, EpisodicMemory
from memwell.cognition.network import Cognition, Weighted
from memwell.cognition.procedural import Outcome, ProceduralMemory, Procedure, SuccessRate, Suggestion
from memwell.cognition.semantic import Concept, ConceptGraph, Edge, Node, Related, SemanticMemory, Testimony
from memwell.cognition.working import Active, WorkingMemory

__all__ = [
    "Active",
    "AugmentedModel",
    "Belief",
    "Cognition",
    "Concept",
    "ConceptGraph",
    "Definition",
    "Edge",
    "Episode",
    "EpisodicMemory",
    "Node",
    "Outcome",
    "ProceduralMemory",
    "Procedure",
    "Related",
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
