"""The names of the guide to LLM memory: chat, retrieval, conversations, media, kinds of memory, plots, deployment.

Change the import line, and the rest of a program stays. The page "From the guide to LLM memory" lists what differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily

if TYPE_CHECKING:
    from memwell.compat.guide.chat import SimpleLLMChat
    from memwell.compat.guide.conversations import ConversationMemory, MultimodalMemory
    from memwell.compat.guide.deployment import ProductionDeployment, VectorDatabaseComparison
    from memwell.compat.guide.knowledge import IntelligentMemorySystem, RAGOptimizer, SimpleRAGSystem
    from memwell.compat.guide.network import MemoryAugmentedLLM, NeuralMemoryNetwork
    from memwell.compat.guide.pictures import (
        TechnologyRoadmap,
        demonstrate_attention_complexity,
        plot_context_length_evolution,
    )

_LAZY = {
    "SimpleLLMChat": ".chat",
    **dict.fromkeys(("ConversationMemory", "MultimodalMemory"), ".conversations"),
    **dict.fromkeys(("ProductionDeployment", "VectorDatabaseComparison"), ".deployment"),
    **dict.fromkeys(("IntelligentMemorySystem", "RAGOptimizer", "SimpleRAGSystem"), ".knowledge"),
    **dict.fromkeys(("MemoryAugmentedLLM", "NeuralMemoryNetwork"), ".network"),
    **dict.fromkeys(
        ("TechnologyRoadmap", "demonstrate_attention_complexity", "plot_context_length_evolution"), ".pictures"
    ),
}
"""Loaded when first used: a program that draws a plot does not load what reads documents."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = load_lazily(globals(), _LAZY)

__all__ = [
    "ConversationMemory", "IntelligentMemorySystem", "MemoryAugmentedLLM", "MultimodalMemory", "NeuralMemoryNetwork",
    "ProductionDeployment", "RAGOptimizer", "SimpleLLMChat", "SimpleRAGSystem", "TechnologyRoadmap",
    "VectorDatabaseComparison", "demonstrate_attention_complexity", "plot_context_length_evolution",
]  # fmt: skip
