"""A ledger in the store: what models cost in each calendar month, and a spending cap that survives restarts.

    ledger = KeptLedger(engine.backend, {"gpt-x": Price(0.5, 1.5)}, spend_cap=20.0)
    server = OpenAICompatible(url, key=key, ledger=ledger)

All processes of a store share one account and one cap. With a cap, the maximum cost of a call is reserved in the store
before the call, in the same transaction that reads what others have spent, so that two processes never spend the same
rest.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import reduce
from typing import cast

import msgspec

from memwell.errors import BackendError, Conflict, MemwellError
from memwell.models.ledger import Account, Ledger, Price
from memwell.models.ports import Usage
from memwell.records import Space, paged
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.values import new_id

_log = logging.getLogger("memwell.costs")

COSTS = Space("memwell", "service", "costs")
"""Where a store keeps the costs of models, a row a month."""

_SET_ASIDE_S = 1_800.0
"""How long a reservation counts without being renewed: longer than any call with all its retries."""


_MONTHS = 120
"""How many rows are read at once."""


class _Aside(msgspec.Struct, frozen=True):
    """The reservation of one process for its calls under way, and when it expires."""

    cost: float
    until: float


class _Month(msgspec.Struct, frozen=True):
    """The row of a month."""

    models: dict[str, Account] = {}
    aside: dict[str, _Aside] = {}


class KeptLedger(Ledger):
    """Counts calls, tokens and cost of every model by name and by month (UTC), from any thread and process.

    With ``spend_cap`` a call that might take the month's total over the cap is refused with ``ModelError``, and with
    ``BackendError`` when the store cannot be read. Costs that could not be stored are added when the store is back. When a
    process is killed during a call, its reservation counts for half an hour, and the call is in no account.
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
        self._turn = threading.RLock()
        self._elsewhere = 0.0
        """What others have spent and reserved in this month, as of the last transaction."""

    @classmethod
    def of(cls, backend: Backend, settings: Settings) -> KeptLedger:
        """The ledger that settings ask for: the price of their chat model, and their cap.

        A price of 0, such as of a local model, is a known price.
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
        """Reserve the maximum cost of a call, and return it. Raises as the class says."""
        if self._cap is None or model not in self._prices:
            return super().reserve(model, most)
        # Before the transaction, as counting tokens takes a while.
        usage, cost = most(), 0.0
        while True:
            try:
                with self._together():
                    month = self.month
                    row, version = self._row(month)
                    self._elsewhere = sum(account.cost or 0.0 for account in row.models.values())
                    self._elsewhere += sum(one.cost for one in self._others(row).values())
                    cost = super().reserve(model, lambda: usage)
                    self._put(month, row, version)
                return cost
            except Conflict:
                # Another process wrote the row of the month in between.
                super().release(cost)
            except BackendError:
                super().release(cost)
                raise

    def settle(self, model: str, reserved: float, usage: Usage | None) -> float | None:
        """Record a call and return its cost; without a usage it costs what was reserved."""
        cost = super().settle(model, reserved, usage)
        self._write()
        return cost

    def release(self, reserved: float) -> None:
        """Release the reservation of a call that was not answered."""
        super().release(reserved)
        if self._cap is not None:
            self._write()

    def accounts(self, month: str | None = None) -> dict[str, Account]:
        """The account of every model in a month: this one, or another such as ``2026-10``."""
        wanted = month or self.month
        models = self._row(wanted)[0].models
        return _added(models, super().accounts()) if wanted == self.month else models

    def total(self) -> dict[str, Account]:
        """The account of every model over all months; it never goes back."""
        rows = paged(lambda cursor: self._backend.kv.scan(COSTS, limit=_MONTHS, cursor=cursor))
        months = [msgspec.convert(entry.value, _Month).models for entry in rows]
        return reduce(_added, months, super().accounts())

    @property
    def spent(self) -> float:
        """What all models with a known price cost in this month."""
        return sum(account.cost or 0.0 for account in self.accounts().values())

    def _spent(self) -> float:
        # The base class holds only what is not stored yet.
        return super()._spent() + self._elsewhere

    def _write(self) -> None:
        """Add to the month what is not stored yet, and renew or drop this process's reservation."""
        taken: dict[str, Account] = {}
        while True:
            try:
                with self._together():
                    with self._lock:
                        taken, self._accounts = self._accounts, {}
                    try:
                        month = self.month
                        row, version = self._row(month)
                        self._put(month, _Month(_added(row.models, taken), row.aside), version)
                    except MemwellError:
                        # Before another thread looks how much is spent.
                        self._put_back(taken)
                        raise
                return
            except Conflict:
                # Another process wrote the row of the month in between.
                continue
            except BackendError as error:
                # The caller gets the model's answer; its cost is stored later.
                self._put_back(taken)
                _log.warning("what a call cost is not in the store yet: %s", type(error).__name__)
                return

    def _put_back(self, taken: dict[str, Account]) -> None:
        """Keep accounts that could not be stored; a second call does nothing."""
        with self._lock:
            self._accounts = _added(self._accounts, taken)
            taken.clear()

    def _together(self) -> AbstractContextManager[object]:
        """A transaction; in a store without them a lock of this process, and other processes get ``Conflict``."""
        transaction = self._backend.together()
        return self._turn if isinstance(transaction, nullcontext) else transaction

    def _row(self, month: str) -> tuple[_Month, int]:
        """The row of a month, and its version."""
        entry = self._backend.kv.get(COSTS, month)
        return (_Month(), 0) if entry is None else (msgspec.convert(entry.value, _Month), entry.version)

    def _others(self, row: _Month) -> dict[str, _Aside]:
        """The reservations of other processes that have not expired."""
        now = self._clock()
        return {process: one for process, one in row.aside.items() if one.until > now and process != self._me}

    def _put(self, month: str, row: _Month, version: int) -> None:
        aside = self._others(row)
        with self._lock:
            # A call that was just answered is reserved no more, and its cost may not be in the row yet.
            mine = self._reserved + super()._spent()
        if mine > 1e-12:
            aside[self._me] = _Aside(mine, self._clock() + _SET_ASIDE_S)
        value = cast("dict[str, object]", msgspec.to_builtins(_Month(row.models, aside)))
        self._backend.kv.put(COSTS, month, value, expect=version)


def _added(accounts: Mapping[str, Account], others: Mapping[str, Account]) -> dict[str, Account]:
    """Accounts by model, added up. An unknown cost adds nothing to a known one."""
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
