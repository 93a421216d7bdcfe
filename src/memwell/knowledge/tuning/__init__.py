"""How documents are best cut and asked, found out by asking them.

Questions are made from the documents themselves. Half of them choose among sizes and overlaps, the other half checks the
choice: only what is better there by more than chance may give is advised, and otherwise what is in use is kept.
"""

from __future__ import annotations

from memwell.knowledge.tuning.questions import QuestionSet, SyntheticQuestion, make_questions
from memwell.knowledge.tuning.trials import Trial, Tuned, tune

__all__ = ["QuestionSet", "SyntheticQuestion", "Trial", "Tuned", "make_questions", "tune"]
