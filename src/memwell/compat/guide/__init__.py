"""The guide's vocabulary over the one engine: chat, retrieval, conversations, media, kinds of memory, plots, deployment.

Change the import line, and the rest of a program stays. What differs from the guide's snippets, and which of their faults
are not here, is listed in the documentation's page on the guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._later import loaded_later

if TYPE_CHECKING:
    from memwell.compat.guide.chat import SimpleLLMChat
    from memwell.compat.guide.conversations import ConversationMemory
    from memwell.compat.guide.databases import VectorDatabaseComparison
    from memwell.compat.guide.deployment import ProductionDeployment
    from memwell.compat.guide.explaining import demonstrate_attention_complexity, plot_context_length_evolution
    from memwell.compat.guide.intelligent import IntelligentMemorySystem
    from memwell.compat.guide.multimodal import MultimodalMemory
    from memwell.compat.guide.neural import MemoryAugmentedLLM, NeuralMemoryNetwork
    from memwell.compat.guide.optimizer import RAGOptimizer
    from memwell.compat.guide.rag import SimpleRAGSystem
    from memwell.compat.guide.roadmap import TechnologyRoadmap

_LATER = {
    "ConversationMemory": ".conversations",
    "IntelligentMemorySystem": ".intelligent",
    "MemoryAugmentedLLM": ".neural",
    "MultimodalMemory": ".multimodal",
    "NeuralMemoryNetwork": ".neural",
    "ProductionDeployment": ".deployment",
    "RAGOptimizer": ".optimizer",
    "SimpleLLMChat": ".chat",
    "SimpleRAGSystem": ".rag",
    "TechnologyRoadmap": ".roadmap",
    "VectorDatabaseComparison": ".databases",
    "demonstrate_attention_complexity": ".explaining",
    "plot_context_length_evolution": ".explaining",
}
"""Loaded when first asked for: who draws a plot does not wait for what reads documents."""


__getattr__, __dir__ = loaded_later(globals(), _LATER)

__all__ = [
    "ConversationMemory",
    "IntelligentMemorySystem",
    "MemoryAugmentedLLM",
    "MultimodalMemory",
    "NeuralMemoryNetwork",
    "ProductionDeployment",
    "RAGOptimizer",
    "SimpleLLMChat",
    "SimpleRAGSystem",
    "TechnologyRoadmap",
    "VectorDatabaseComparison",
    "demonstrate_attention_complexity",
    "plot_context_length_evolution",
]
