from __future__ import annotations

import pytest

from tests.commands import in_an_ordinary_terminal


@pytest.fixture(autouse=True)
def ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command here depends on the language of the machine, or on how wide its terminal is."""
    in_an_ordinary_terminal(monkeypatch)
