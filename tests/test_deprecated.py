"""A renamed method stays callable under its old name, and says so once."""

from __future__ import annotations

import asyncio
import inspect
import warnings

import pytest

from memwell import _deprecated
from memwell._asyncify import asyncify
from memwell._deprecated import renamed


class Tank:
    def flush(self, part: str = "all") -> str:
        """Empty it."""
        return f"flushed {part}"

    aflush = asyncify(flush)
    settle = renamed("settle", flush)
    asettle = renamed("asettle", aflush)


class LargeTank(Tank):
    def flush(self, part: str = "all") -> str:
        return f"slowly {super().flush(part)}"


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_deprecated, "_warned", set[str]())


def test_the_old_name_calls_the_new_method_and_warns_once():
    with pytest.warns(DeprecationWarning, match=r"settle\(\) is deprecated: call flush\(\)") as caught:
        assert Tank().settle("half") == "flushed half"
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Tank().settle(part="half") == "flushed half"


def test_the_old_async_name_awaits_the_new_method():
    async def flushed() -> str:
        return await Tank().asettle()

    with pytest.warns(DeprecationWarning, match="call aflush"):
        assert asyncio.run(flushed()) == "flushed all"


def test_a_subclass_that_overrides_the_new_method_has_overridden_the_old_name():
    with pytest.warns(DeprecationWarning, match="settle"):
        assert LargeTank().settle() == "slowly flushed all"


def test_the_old_name_has_the_signature_of_the_new_one():
    assert inspect.signature(Tank.settle) == inspect.signature(Tank.flush)
    assert Tank.settle.__doc__ == "Deprecated: call ``flush``."
