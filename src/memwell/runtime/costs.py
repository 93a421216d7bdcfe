"""A ledger that is kept in the store: what models took in each calendar month, and a cap that outlives the process.

    ledger = KeptLedger(engine.backend, {"gpt-x": Price(0.5, 1.5)}, spend_cap=20.0)
    server = OpenAICompatible(url, key=key, ledger=ledger)

All processes of a store share one account and one cap. With a cap, what a call may cost is set aside in the store before it
is made, in one transaction with the look at what others have spent, so that no two of them spend the same rest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import cast

import msgspec

from memwell.errors import BackendError
from memwell.models.ledger import Account, Ledger, Price
from memwell.models.ports import Usage
from memwell.records import Space
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.values import new_id

_log = logging.getLogger("memwell.costs")

COSTS = Space("memwell", "service", "costs")
"""Where a store keeps what models cost, a row a month."""

_SET_ASIDE_S = 1_800.0
"""How long what a process set aside counts when nothing is heard of it: longer than any call with all its repetitions."""


class _Aside(msgspec.Struct, frozen=True):
    """What one process has set aside for calls under way, and until when that is believed."""

    cost: float
    until: float


class _Month(msgspec.Struct, frozen=True):
    """The row of a month."""

    models: dict[str, Account] = {}
    aside: dict[str, _Aside] = {}


class KeptLedger(Ledger):
    """Keeps account of every model by name in a store, month by month in UTC, from any thread and any process.

    With ``spend_cap`` a call that might take the month's total over the cap is refused before it is made, with
    ``ModelError``; also refused, with ``BackendError``, is one for which the store cannot be asked. What a call cost is
    never lost to a store that fails for a while: it is added when the store is back. A process that is killed in the middle
    of a call leaves what it set aside counted for half an hour; the call itself, if it was answered, is in no account.
    """

    def __init__(
        self,
        backend: Backend,
        prices: Mapping[str, Price] | None = None,
        *,
        spend_cap: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(prices, spend_cap=spend_cap)
        self._backend = backend
        self._clock = clock
        self._me = new_id()
        self._elsewhere = 0.0
        """What the row of the month says is spent, and set aside by others, as of the last look inside a transaction."""

    @classmethod
    def of(cls, backend: Backend, settings: Settings) -> KeptLedger:
        """The ledger that settings ask for: the price of their chat model, and their cap.

        A model given a price of nothing, such as one that runs here, is one whose price is known to be 0.
        """
        price = Price(settings.chat_price_input, settings.chat_price_output)
        prices = {settings.chat_model: price} if settings.chat_model else {}
        return cls(backend, prices, spend_cap=settings.spend_cap or None)

    @property
    def spend_cap(self) -> float | None:
        """What may be spent in a month; None is no cap."""
        return self._cap

    @property
    def month(self) -> str:
        """The month of now, such as ``2026-11``."""
        return datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m")

    def reserve(self, model: str, most: Callable[[], Usage]) -> float:
        """Set aside what a call may cost at most, and return it. Raises what the class says."""
        if self._cap is None or model not in self._prices:
            return super().reserve(model, most)
        # Others wait during a transaction, and counting tokens takes a while.
        usage, cost = most(), 0.0
        try:
            with self._backend.transaction():
                month = self.month
                row = self._row(month)
                self._elsewhere = self._spent_in(row) + self._set_aside_by_others(row)
                cost = super().reserve(model, lambda: usage)
                self._put(month, row)
        except BackendError:
            super().release(cost)
            raise
        return cost

    def settle(self, model: str, reserved: float, usage: Usage | None) -> float | None:
        """Note a call that was made and return its cost; without a usage it costs what was reserved."""
        cost = super().settle(model, reserved, usage)
        self._write()
        return cost

    def release(self, reserved: float) -> None:
        """Give back what was set aside for a call that was not answered."""
        super().release(reserved)
        if self._cap is not None:
            self._write()

    def accounts(self, month: str | None = None) -> dict[str, Account]:
        """What every model took in a month, this one unless another is named, such as ``2026-10``."""
        wanted = month or self.month
        models = self._row(wanted).models
        return _added(models, super().accounts()) if wanted == self.month else models

    @property
    def spent(self) -> float:
        """What all models with a known price cost in this month."""
        return sum(account.cost or 0.0 for account in self.accounts().values())

    def _spent(self) -> float:
        # What the class below holds is only what could not be written yet.
        return super()._spent() + self._elsewhere

    # The row of a month

    def _write(self) -> None:
        """Add to the month what is not in the store yet, and say what is set aside still."""
        taken: dict[str, Account] = {}
        try:
            with self._backend.transaction():
                taken = self._take()
                month = self.month
                row = self._row(month)
                self._put(month, _Month(_added(row.models, taken), row.aside))
        except BackendError as error:
            # The answer of the model is there, and worth more than its account, which is added later.
            with self._lock:
                self._accounts = _added(self._accounts, taken)
            _log.warning("what a call cost is not in the store yet: %s", type(error).__name__)

    def _take(self) -> dict[str, Account]:
        with self._lock:
            taken, self._accounts = self._accounts, {}
        return taken

    def _row(self, month: str) -> _Month:
        entry = self._backend.kv.get(COSTS, month)
        return _Month() if entry is None else msgspec.convert(entry.value, _Month)

    def _put(self, month: str, row: _Month) -> None:
        now = self._clock()
        aside = {process: one for process, one in row.aside.items() if one.until > now and process != self._me}
        with self._lock:
            mine = self._set_aside
        if mine > 1e-12:
            aside[self._me] = _Aside(mine, now + _SET_ASIDE_S)
        self._backend.kv.put(COSTS, month, cast("dict[str, object]", msgspec.to_builtins(_Month(row.models, aside))))

    def _spent_in(self, row: _Month) -> float:
        return sum(account.cost or 0.0 for account in row.models.values())

    def _set_aside_by_others(self, row: _Month) -> float:
        now = self._clock()
        return sum(one.cost for process, one in row.aside.items() if process != self._me and one.until > now)


def _added(accounts: Mapping[str, Account], others: Mapping[str, Account]) -> dict[str, Account]:
    """Accounts by model, added up. A cost that is not known adds nothing to one that is."""
    added = dict(accounts)
    for model, other in others.items():
        one = added.get(model, Account())
        unknown = one.cost is None and other.cost is None
        added[model] = Account(
            one.calls + other.calls,
            one.input_tokens + other.input_tokens,
            one.output_tokens + other.output_tokens,
            None if unknown else (one.cost or 0.0) + (other.cost or 0.0),
        )
    return added
