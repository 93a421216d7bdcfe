"""The earlier place of ``memwell.runtime.transfer.move``, kept for one release."""

from __future__ import annotations

import warnings

from memwell.runtime.transfer import Moved, MoveRefused, move

warnings.warn("memwell.runtime.moving is memwell.runtime.transfer now", DeprecationWarning, stacklevel=2)

__all__ = ["MoveRefused", "Moved", "move"]
