"""The earlier place of ``memwell.runtime.transfer.move``, kept for one release."""

from __future__ import annotations

import warnings
from typing import Any

from memwell.runtime import transfer


def __getattr__(name: str) -> Any:
    if name not in ("MoveRefused", "Moved", "move"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is memwell.runtime.transfer.{name} now", DeprecationWarning, stacklevel=2)
    return getattr(transfer, name)
