"""Figures of a service: counted as requests come, kept in the store, told to people and to Prometheus."""

from memwell.runtime.metrics.overview import SPANS, costs_of, figures_of, last_quality, note_quality
from memwell.runtime.metrics.prometheus import exposition
from memwell.runtime.metrics.recorder import Kind, Metrics, OperationCounts
from memwell.runtime.metrics.stock import Stock
from memwell.runtime.metrics.trends import FIGURES

__all__ = [
    "FIGURES",
    "Kind",
    "Metrics",
    "OperationCounts",
    "SPANS",
    "Stock",
    "costs_of",
    "exposition",
    "figures_of",
    "last_quality",
    "note_quality",
]
