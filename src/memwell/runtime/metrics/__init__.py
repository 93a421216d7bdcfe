"""Metrics of the service: counted per request, stored, shown on the overview page and to Prometheus."""

from memwell.runtime.metrics.overview import SPANS, costs_of, exposition, figures_of, last_quality, note_quality
from memwell.runtime.metrics.recorder import Kind, Metrics, OperationCounts, Stock
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
