"""Our memories in LangChain's own chains, which take nothing but subclasses of LangChain's ``BaseMemory``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from memwell.compat.langchain.base import BaseMemory
from memwell.errors import InvalidInput, MissingDependency
from memwell.values import shown


def for_chain(memory: BaseMemory) -> Any:
    """The memory as one of LangChain's, as in ``ConversationChain(llm=llm, memory=for_chain(memory))``.

    What it does, the memory does, and its attributes are the memory's. Raises ``MissingDependency`` without the package
    langchain-classic, and ``InvalidInput`` for what is no memory.
    """
    if not isinstance(memory, BaseMemory):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"expected a memory, not {shown(memory)}")
    return _adapter()(inner=memory)


@cache
def _adapter() -> Any:
    try:
        # Optional: only who runs LangChain's chains needs it.
        theirs: Any = import_module("langchain_classic.base_memory").BaseMemory
    except ImportError as error:
        raise MissingDependency("LangChain's chains are in langchain-classic: pip install langchain-classic") from error

    class MemwellMemory(theirs):
        inner: Any

        @property
        def memory_variables(self) -> list[str]:
            return self.inner.memory_variables

        def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
            return self.inner.load_memory_variables(inputs)

        def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
            self.inner.save_context(inputs, outputs)

        def clear(self) -> None:
            self.inner.clear()

        def __getattr__(self, name: str) -> Any:
            # Pydantic looks for names of its own before there is an inner memory.
            if name.startswith("_") or name == "inner":
                raise AttributeError(name)
            return getattr(self.inner, name)

    return MemwellMemory


__all__ = ["for_chain"]
