"""Work over very many records in pieces: on several processes or machines, restartable, with the same results always.

A batch is a list of pieces and a function. Each piece's result is stored as soon as it is there, so a run that was killed
goes on where it stopped, and a finished one costs nothing. How it is run changes nothing but the time it takes.
"""

from memwell.runtime.batch.ledger import Failure, Outcome
from memwell.runtime.batch.running import Batch
from memwell.runtime.batch.working import named_work

__all__ = ["Batch", "Failure", "Outcome", "named_work"]
