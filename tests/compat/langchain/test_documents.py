from __future__ import annotations

import pytest

from memwell.compat.langchain import Document
from memwell.errors import InvalidInput


def test_documents() -> None:
    theirs = pytest.importorskip("langchain_core.documents")
    assert Document("x", {"a": 1}) == theirs.Document("x", metadata={"a": 1})
    assert Document("x", {"a": 1}) == Document(page_content="x", metadata={"a": 1})
    assert Document("x") != Document("x", id="1")
    assert Document("x") != "x"
    assert "'x'" in repr(Document("x"))
    with pytest.raises(InvalidInput):
        Document(3)  # pyright: ignore[reportArgumentType]
