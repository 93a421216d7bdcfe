"""The data sets by name, and the metrics, as the product has them: see ``memwell.runtime.evaluation``."""

from __future__ import annotations

from pathlib import Path

from memwell.runtime.evaluation import MeanScores, Query, Sample, Scores, Unit, judged, summary
from memwell.runtime.evaluation import load as load_file

FILES = {"locomo": "locomo10.json", "longmemeval": "longmemeval_oracle.json", "madial": "madial_zh_user1.json"}


def load(name: str, folder: Path) -> list[Sample]:
    """The stores of a data set: *locomo*, *longmemeval* or *madial*, in the file that ``FILES`` names."""
    return load_file(folder / FILES[name])[1]


__all__ = ["FILES", "MeanScores", "Query", "Sample", "Scores", "Unit", "judged", "load", "summary"]
