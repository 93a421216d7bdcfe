"""Plans and dialogues of several agents: kept, followed while they happen, and drawn."""

from memwell.compat.dbgpt.gpts.channels import DONE, Channel
from memwell.compat.dbgpt.gpts.drawing import mermaid_dialogue, mermaid_plan
from memwell.compat.dbgpt.gpts.memory import GptsMemory
from memwell.compat.dbgpt.gpts.page import html_page
from memwell.compat.dbgpt.gpts.stores import (
    DefaultGptsMessageMemory,
    DefaultGptsPlansMemory,
    GptsMessageMemory,
    GptsPlansMemory,
)
from memwell.compat.dbgpt.gpts.values import ActionOutput, GptsMessage, GptsPlan, Status

__all__ = [
    "DONE",
    "ActionOutput",
    "Channel",
    "DefaultGptsMessageMemory",
    "DefaultGptsPlansMemory",
    "GptsMemory",
    "GptsMessage",
    "GptsMessageMemory",
    "GptsPlan",
    "GptsPlansMemory",
    "Status",
    "html_page",
    "mermaid_dialogue",
    "mermaid_plan",
]
