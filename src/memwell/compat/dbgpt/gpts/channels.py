"""What agents say on its way to whoever watches: a bounded channel for each conversation."""

from __future__ import annotations

from memwell.runtime.channels import DONE, Channel

__all__ = ["DONE", "Channel"]
