"""Accounts are kept, and a cap holds whatever happens at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memwell.errors import ConfigurationError, InvalidInput, ModelError
from memwell.models.ledger import Account, Ledger, Price
from memwell.models.ports import Usage


def test_calls_tokens_and_cost_are_added_up():
    ledger = Ledger({"m": Price(1.0, 2.0)})
    assert ledger.settle("m", 0.0, Usage(1_000_000, 500_000)) == 2.0
    assert ledger.settle("m", 0.0, Usage(1_000_000, 0)) == 1.0
    assert ledger.settle("unknown", 0.0, Usage(7, 3)) is None
    assert ledger.accounts() == {"m": Account(2, 2_000_000, 500_000, 3.0), "unknown": Account(1, 7, 3, None)}
    assert ledger.spent == 3.0


def test_a_cap_refuses_before_the_call():
    ledger = Ledger({"m": Price(1.0, 1.0)}, spend_cap=2.5)
    first = ledger.reserve("m", lambda: Usage(1_000_000, 1_000_000))
    with pytest.raises(ModelError, match=r"spend cap of 2\.5 would be exceeded"):
        ledger.reserve("m", lambda: Usage(1_000_000, 0))
    ledger.settle("m", first, Usage(500_000, 0))
    assert ledger.reserve("m", lambda: Usage(1_000_000, 0)) == 1.0


def test_what_was_not_answered_is_given_back():
    ledger = Ledger({"m": Price(1.0)}, spend_cap=1.0)
    for _ in range(5):
        ledger.release(ledger.reserve("m", lambda: Usage(1_000_000)))
    assert ledger.spent == 0.0


def test_an_answer_without_a_count_costs_what_was_reserved():
    ledger = Ledger({"m": Price(1.0)}, spend_cap=1.0)
    reserved = ledger.reserve("m", lambda: Usage(800_000))
    assert ledger.settle("m", reserved, None) == 0.8
    with pytest.raises(ModelError):
        ledger.reserve("m", lambda: Usage(300_000))


def test_a_cap_holds_between_threads():
    ledger = Ledger({"m": Price(1.0)}, spend_cap=10.0)

    def call(_: int) -> bool:
        try:
            reserved = ledger.reserve("m", lambda: Usage(1_000_000))
        except ModelError:
            return False
        ledger.settle("m", reserved, Usage(1_000_000))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(call, range(50))) == 10
    assert ledger.spent == 10.0


def test_a_cap_needs_prices_and_sense():
    with pytest.raises(ConfigurationError, match="price of 'x'"):
        Ledger(spend_cap=1.0).reserve("x", Usage)
    for cap in (-1.0, float("nan")):
        with pytest.raises(InvalidInput):
            Ledger(spend_cap=cap)
