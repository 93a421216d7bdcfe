"""One conversation, over any store: the conveniences, each written once.

A ``History`` holds no messages. It reads what it needs from the log and is therefore right at any moment, however many
threads and processes write the same conversation, and costs the same for a hundred messages as for a hundred thousand.
Every method that touches the store has an async twin with an ``a`` in front.
"""

from memwell.history.media import MediaLimits
from memwell.history.reading import HistoryReader, Target
from memwell.history.writing import History

__all__ = ["History", "HistoryReader", "MediaLimits", "Target"]
