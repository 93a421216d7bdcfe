"""A ledger in the store: months, restarts, several processes, and a cap that none of them gets over."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memwell.errors import BackendUnavailable, ConfigurationError, InvalidInput, ModelError
from memwell.models.ledger import Account, Ledger, Price
from memwell.models.ports import Usage
from memwell.runtime.costs import COSTS, KeptLedger
from memwell.settings import Settings
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from memwell.testing.conformance.suite import Clock
from tests.engines.redis import single_url

PRICES = {"m": Price(1.0, 2.0)}
MILLION = Usage(1_000_000)


def calendar() -> Clock:
    """A minute before a month ends."""
    clock = Clock()
    clock.now = datetime(2026, 11, 30, 23, 59, tzinfo=UTC).timestamp()
    return clock


def test_an_account_outlives_its_ledger_and_is_shared(backend: Backend):
    one, other = KeptLedger(backend, PRICES), KeptLedger(backend, PRICES)
    assert one.settle("m", 0.0, Usage(1_000_000, 500_000)) == 2.0
    assert other.settle("m", 0.0, MILLION) == 1.0
    assert other.settle("unknown", 0.0, Usage(7, 3)) is None
    told = {"m": Account(2, 2_000_000, 500_000, 3.0), "unknown": Account(1, 7, 3, None)}
    assert one.accounts() == other.accounts() == KeptLedger(backend).accounts() == told
    assert one.spent == KeptLedger(backend).spent == 3.0


def test_the_cap_refuses_before_the_call_and_after_a_restart(backend: Backend):
    ledger = KeptLedger(backend, PRICES, spend_cap=2.5)
    ledger.settle("m", ledger.reserve("m", lambda: Usage(1_000_000, 500_000)), Usage(1_000_000, 500_000))
    again = KeptLedger(backend, PRICES, spend_cap=2.5)
    with pytest.raises(ModelError, match=r"spend cap of 2\.5 would be exceeded: 2 is spent"):
        again.reserve("m", lambda: MILLION)
    assert again.reserve("m", lambda: Usage(400_000)) == pytest.approx(0.4)


def test_what_one_process_set_aside_no_other_spends(backend: Backend):
    clock = calendar()
    one, other = (KeptLedger(backend, PRICES, spend_cap=1.5, clock=clock) for _ in range(2))
    reserved = one.reserve("m", lambda: MILLION)
    with pytest.raises(ModelError, match="spend cap"):
        other.reserve("m", lambda: MILLION)
    one.release(reserved)
    assert other.reserve("m", lambda: MILLION) == 1.0


def test_what_was_just_answered_counts_while_another_call_is_reserved(backend: Backend):
    one, other = (KeptLedger(backend, PRICES, spend_cap=2.5) for _ in range(2))
    # The first half of settle(): the cost of the call is known, and not in the store yet.
    Ledger.settle(one, "m", one.reserve("m", lambda: MILLION), MILLION)
    one.reserve("m", lambda: MILLION)
    with pytest.raises(ModelError, match="spend cap"):
        other.reserve("m", lambda: MILLION)


def test_what_a_dead_process_set_aside_is_free_again_after_half_an_hour(backend: Backend):
    clock = calendar()
    clock.now -= 86_400
    dead, alive = (KeptLedger(backend, PRICES, spend_cap=1.5, clock=clock) for _ in range(2))
    dead.reserve("m", lambda: MILLION)
    clock.now += 1_700
    with pytest.raises(ModelError, match="spend cap"):
        alive.reserve("m", lambda: MILLION)
    clock.now += 200
    assert alive.reserve("m", lambda: MILLION) == 1.0


def test_a_month_begins_with_nothing_spent(backend: Backend):
    clock = calendar()
    ledger = KeptLedger(backend, PRICES, spend_cap=1.0, clock=clock)
    ledger.settle("m", ledger.reserve("m", lambda: MILLION), MILLION)
    with pytest.raises(ModelError, match="spend cap"):
        ledger.reserve("m", lambda: Usage(1))
    clock.now += 120
    assert (ledger.month, ledger.spent, ledger.accounts()) == ("2026-12", 0.0, {})
    assert ledger.reserve("m", lambda: MILLION) == 1.0
    assert ledger.accounts("2026-11") == {"m": Account(1, 1_000_000, 0, 1.0)}


def test_a_call_over_midnight_is_settled_in_the_new_month(backend: Backend):
    clock = calendar()
    ledger = KeptLedger(backend, PRICES, spend_cap=2.0, clock=clock)
    reserved = ledger.reserve("m", lambda: MILLION)
    clock.now += 120
    ledger.settle("m", reserved, MILLION)
    assert (ledger.spent, ledger.accounts("2026-11")) == (1.0, {})
    assert ledger.reserve("m", lambda: MILLION) == 1.0


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_threads_never_spend_more_than_the_cap(tmp_path: Path, kind: str):
    with open_backend(str(tmp_path / "app.db") if kind == "sqlite" else single_url(tmp_path)) as store:
        ledgers = [KeptLedger(store, PRICES, spend_cap=5.0) for _ in range(2)]

        def call(number: int) -> None:
            ledger = ledgers[number % 2]
            with suppress(ModelError):
                reserved = ledger.reserve("m", lambda: MILLION)
                ledger.settle("m", reserved, Usage(800_000)) if number % 3 else ledger.release(reserved)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(call, range(60)))
        assert 3.9 <= ledgers[0].spent <= 5.0
        account = ledgers[1].accounts()["m"]
        assert account.cost == pytest.approx(account.calls * 0.8)
        [row] = store.kv.scan(COSTS).items
        assert row.key == ledgers[0].month
        assert '"aside": {}' in json.dumps(row.value)


def test_a_cap_needs_a_price_and_a_number(backend: Backend):
    with pytest.raises(ConfigurationError, match="price"):
        KeptLedger(backend, spend_cap=1.0).reserve("m", lambda: MILLION)
    with pytest.raises(InvalidInput, match="spend cap"):
        KeptLedger(backend, spend_cap=-1.0)


class Moody(MemoryBackend):
    sulking = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with super().transaction():
            yield
            if self.sulking:
                raise BackendUnavailable("busy")


def test_a_store_that_fails_costs_no_answer_and_no_account(caplog: pytest.LogCaptureFixture):
    store = Moody()
    ledger = KeptLedger(store, PRICES, spend_cap=3.0)
    reserved = ledger.reserve("m", lambda: MILLION)
    store.sulking = True
    with caplog.at_level(logging.WARNING, "memwell.costs"):
        assert ledger.settle("m", reserved, MILLION) == 1.0
    assert "not in the store yet" in caplog.text
    assert ledger.spent == 1.0
    with pytest.raises(BackendUnavailable):
        ledger.reserve("m", lambda: MILLION)
    store.sulking = False
    assert ledger.reserve("m", lambda: Usage(1_500_000)) == 1.5
    with pytest.raises(ModelError, match=r"2\.5 is spent or set aside"):
        ledger.reserve("m", lambda: MILLION)
    ledger.settle("m", 1.5, Usage(1_000_000))
    assert KeptLedger(store).accounts() == {"m": Account(2, 2_000_000, 0, 2.0)}


def test_settings_say_prices_and_cap(backend: Backend):
    ledger = KeptLedger.of(
        backend, Settings(chat_model="m", chat_price_input=1.0, chat_price_output=2.0, spend_cap=4.0)
    )
    assert ledger.spend_cap == 4.0
    assert ledger.settle("m", 0.0, Usage(1_000_000, 1_000_000)) == 3.0
    free = KeptLedger.of(backend, Settings())
    assert (free.spend_cap, free.reserve("x", lambda: MILLION)) == (None, 0.0)


_CHILD = """
import sys
from memwell.errors import ModelError
from memwell.models.ledger import Price
from memwell.models.ports import Usage
from memwell.runtime.costs import KeptLedger
from memwell.storage import open_backend
with open_backend(sys.argv[1]) as store:
    ledger = KeptLedger(store, {"m": Price(1.0)}, spend_cap=20.0)
    for _ in range(30):
        try:
            ledger.settle("m", ledger.reserve("m", lambda: Usage(1_000_000)), Usage(1_000_000))
        except ModelError:
            pass
"""


def test_processes_spend_the_cap_together_and_not_each(tmp_path: Path):
    path = str(tmp_path / "app.db")
    open_backend(path).close()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [subprocess.Popen([sys.executable, "-c", _CHILD, path], env=environment) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    with open_backend(path) as store:
        assert KeptLedger(store).accounts() == {"m": Account(20, 20_000_000, 0, 20.0)}
