"""``History``: one conversation over any store.

A ``History`` holds no messages: it reads what it needs from the log. So it is always up to date, however many threads and
processes write the same conversation, and costs the same for any length. Every method that reads or writes the store has an
async twin with an ``a`` in front.
"""

from memwell.history.media import MediaLimits
from memwell.history.reading import HistoryReader, Target
from memwell.history.writing import History

__all__ = ["History", "HistoryReader", "MediaLimits", "Target"]
