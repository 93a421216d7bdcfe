"""Moving in and out: a memory as files, in memwell's own formats and in those of others."""

from __future__ import annotations

from memwell.runtime.transfer.agentscope import import_agentscope
from memwell.runtime.transfer.chatgpt import import_chatgpt
from memwell.runtime.transfer.detection import FORMATS, detect, import_file
from memwell.runtime.transfer.jsonl import export_jsonl, import_jsonl
from memwell.runtime.transfer.langchain import import_langchain
from memwell.runtime.transfer.markdown import export_markdown, import_markdown
from memwell.runtime.transfer.mcp import export_mcp, import_mcp
from memwell.runtime.transfer.mem0 import import_mem0
from memwell.runtime.transfer.plain import import_csv, import_text
from memwell.runtime.transfer.report import Imported, Note, Progress

__all__ = [
    "FORMATS",
    "Imported",
    "Note",
    "Progress",
    "detect",
    "export_jsonl",
    "export_markdown",
    "export_mcp",
    "import_agentscope",
    "import_chatgpt",
    "import_csv",
    "import_file",
    "import_jsonl",
    "import_langchain",
    "import_markdown",
    "import_mcp",
    "import_mem0",
    "import_text",
]
