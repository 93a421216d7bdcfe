"""How well recall works, measured through the public interface on data sets that you name."""

from memwell.runtime.evaluation.datasets import Query, Store, Unit, load
from memwell.runtime.evaluation.metrics import Scores, Summary, judged, summary
from memwell.runtime.evaluation.running import MEANING, MEMWELL, WORDS, Run, evaluate

__all__ = [
    "MEANING",
    "MEMWELL",
    "WORDS",
    "Query",
    "Run",
    "Scores",
    "Store",
    "Summary",
    "Unit",
    "evaluate",
    "judged",
    "load",
    "summary",
]
