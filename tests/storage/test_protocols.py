"""A backend that declares little does what it declares: the one of the documentation, as it stands there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import Unsupported
from memwell.records import Space
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import ABILITIES, Backend
from memwell.testing.conformance import BackendSuite, StoreSuite
from memwell.testing.conformance.suite import Clock

PAGE = Path(__file__).parents[2] / "docs/backends/writing-one.md"
HOME = Space("home")


def _written() -> Any:
    """The backend of the page: its Python blocks but the last, which uses it."""
    *blocks, _ = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    named: dict[str, Any] = {"__name__": __name__}
    exec(compile("\n".join(blocks), PAGE, "exec", dont_inherit=True), named)  # noqa: S102 - our own page
    return named["DictBackend"]


DictBackend = _written()


class Opened:
    abilities = DictBackend.abilities
    share = 0.3

    def open(self, place: Path, clock: Clock) -> Backend:
        return DictBackend(clock=clock)


class TestStore(Opened, StoreSuite): ...


def test_what_is_not_declared_says_what_to_open_instead():
    store = DictBackend()
    calls = {
        "records": [lambda: store.index.info(HOME), lambda: asyncio.run(store.index.ainfo(HOME))],
        "blobs": [lambda: store.blobs.put(HOME, b"x")],
        "transactions": [store.transaction, store.atransaction],
        "copies": [lambda: store.kv.restore(HOME, [])],
        "seal": [lambda: store.seal("x")],
    }
    assert set(calls) == ABILITIES
    for ability, made in calls.items():
        for call in [*made, lambda ability=ability: store.require(ability)]:
            with pytest.raises(Unsupported, match=r"postgresql://…,log=redis://…"):
                call()


def test_together_is_a_transaction_where_there_are_any():
    for store, undone in ((MemoryBackend(), True), (DictBackend(), False)):
        with pytest.raises(ZeroDivisionError), store.together():  # noqa: PT012 - all of it is undone
            store.kv.put(HOME, "key", 1)
            raise ZeroDivisionError
        assert (store.kv.get(HOME, "key") is None) is undone


def test_a_suite_leaves_out_what_is_not_declared_and_nothing_else():
    assert TestStore.test_compare_and_set_loses_no_count is not None
    assert TestStore.test_an_error_undoes_all_of_it is None
    assert BackendSuite.test_an_error_undoes_all_of_it is not None
