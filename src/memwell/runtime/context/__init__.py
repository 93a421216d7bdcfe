"""The context assembler: from a query to a prompt under a hard budget of tokens.

    context = assemble("Where did I leave my passport?", budget=2000, history=chat, recaller=memory)
    client.chat.completions.create(model=…, messages=context.openai())

The prompt begins with what stays the same, for the prompt cache of a provider: the system text, the profile, the window
of the conversation, then what was recalled, fenced as data, then the query. The same inputs give the same bytes, the
budget is never exceeded, and a receipt says what went in, what did not, and why.
"""

from memwell.runtime.context.assembly import Context, Shares, aassemble, assemble
from memwell.runtime.context.choosing import (
    Entered,
    LeftOut,
    Passage,
    RecalledMemory,
    Recaller,
    Receipt,
    Receipts,
)

__all__ = [
    "Context",
    "Entered",
    "LeftOut",
    "Passage",
    "RecalledMemory",
    "Receipt",
    "Receipts",
    "Recaller",
    "Shares",
    "aassemble",
    "assemble",
]
