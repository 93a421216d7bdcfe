"""The names of mem0 over memwell: ``Memory`` and ``AsyncMemory``. mem0 is not needed, nor a language model, nor a server.

Change the import line, and the rest of a program stays. The page "From mem0" lists what differs.
"""

from memwell.compat.mem0.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory"]
