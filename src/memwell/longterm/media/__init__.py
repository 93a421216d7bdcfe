"""Images, sounds and videos as memories: found by what they show and say, and stored with their bytes."""

from memwell.history.media import MediaLimits
from memwell.longterm.media.items import MediaItem
from memwell.longterm.media.memory import MediaMemory

__all__ = ["MediaItem", "MediaLimits", "MediaMemory"]
