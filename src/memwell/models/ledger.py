"""What calls of models took: how many, how many tokens, what they cost, and a cap that no call may exceed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import msgspec

from memwell.errors import ConfigurationError, InvalidInput, ModelError
from memwell.models.ports import Usage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """What a million tokens cost, in a currency of your choice."""

    input: float
    output: float = 0.0

    def cost(self, usage: Usage) -> float:
        """What so many tokens cost."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / _MILLION


class Account(msgspec.Struct, frozen=True):
    """What one model took so far. ``cost`` is None when its price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


class Ledger:
    """Keeps account of every model by name, from any thread.

    With ``spend_cap`` a call that might take the total over the cap is refused before it is made: its tokens are estimated
    from above and set aside until the true number is known. Every model then needs a price. Raises ``InvalidInput`` for
    a cap below zero.
    """

    def __init__(self, prices: Mapping[str, Price] | None = None, *, spend_cap: float | None = None) -> None:
        if spend_cap is not None and not spend_cap >= 0:
            raise InvalidInput(f"a spend cap must be a number of at least 0, not {spend_cap!r}")
        self._prices = dict(prices or {})
        self._cap = spend_cap
        self._lock = threading.Lock()
        self._accounts: dict[str, Account] = {}
        self._set_aside = 0.0

    def reserve(self, model: str, most: Callable[[], Usage]) -> float:
        """Set aside what a call may cost at most, and return it.

        Raises ``ModelError`` when that would exceed the cap, ``ConfigurationError`` when there is a cap and no price.
        """
        price = self._prices.get(model)
        if self._cap is None:
            return 0.0
        if price is None:
            raise ConfigurationError(
                f"a spend cap needs the price of {model!r}: Ledger(prices={{{model!r}: Price(…)}})"
            )
        cost = price.cost(most())
        with self._lock:
            spent = self._spent() + self._set_aside
            if spent + cost > self._cap:
                raise ModelError(
                    f"the spend cap of {self._cap:g} would be exceeded: {spent:.6g} is spent or set aside, "
                    f"and a call of {model!r} may cost {cost:.6g}; nothing was sent"
                )
            self._set_aside += cost
        return cost

    def settle(self, model: str, reserved: float, usage: Usage | None) -> float | None:
        """Note a call that was made and return its cost; without a usage it costs what was reserved."""
        cost = self.cost(model, reserved, usage)
        used = usage or Usage()
        with self._lock:
            self._set_aside -= reserved
            old = self._accounts.get(model, Account())
            total = old.cost if cost is None else (old.cost or 0.0) + cost
            self._accounts[model] = Account(
                old.calls + 1, old.input_tokens + used.input_tokens, old.output_tokens + used.output_tokens, total
            )
        return cost

    def cost(self, model: str, reserved: float, usage: Usage | None) -> float | None:
        """What a call costs; without a usage, what was reserved. None when the price is not known."""
        price = self._prices.get(model)
        if price is None:
            return None
        return reserved if usage is None else price.cost(usage)

    def release(self, reserved: float) -> None:
        """Give back what was set aside for a call that was not answered."""
        with self._lock:
            self._set_aside -= reserved

    def accounts(self) -> dict[str, Account]:
        """What every model took so far."""
        with self._lock:
            return dict(self._accounts)

    @property
    def spent(self) -> float:
        """What all models with a known price cost so far."""
        with self._lock:
            return self._spent()

    def _spent(self) -> float:
        return sum(account.cost or 0.0 for account in self._accounts.values())
