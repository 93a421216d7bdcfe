"""Pictures, sounds and films that are remembered: found by what they show and say, and kept with their bytes."""

from memwell.history.media import MediaLimits
from memwell.longterm.media.items import MediaItem
from memwell.longterm.media.memory import MediaMemory

__all__ = ["MediaItem", "MediaLimits", "MediaMemory"]
