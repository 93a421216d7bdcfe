"""Moving in and out: a memory as files, in memwell's own formats and in those of others."""

from __future__ import annotations

from memwell.runtime.transfer.jsonl import export_jsonl, import_jsonl
from memwell.runtime.transfer.report import Imported, Note, Progress

__all__ = [
    "Imported",
    "Note",
    "Progress",
    "export_jsonl",
    "import_jsonl",
]
