"""The vectors of queries: always of the model whose vectors the space has at this moment.

A swap of all vectors may come between the embedding of a query and the search. So whoever searches asks afterwards whether
the model is still the same, and begins again when it is not. That costs one look into the store after something was
written, and none otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memwell.errors import ModelError
from memwell.longterm.makers import Makers

if TYPE_CHECKING:
    # numpy takes a tenth of a second to load.
    import numpy as np
    from numpy.typing import NDArray

_MOST_ASKED = 256
MOST_TRIES = 3
"""How often a search is begun again: vectors are not made anew so often that it would ever be needed twice."""


class Asked(NamedTuple):
    """The direction of a query, and whose it is; none without an embedder, when it fails, or when it is not known."""

    model: str | None
    vector: NDArray[np.float32] | None


class QueryVectors:
    """The vectors of the queries of one space, those asked lately kept."""

    def __init__(self, makers: Makers) -> None:
        self._makers = makers
        self._vectors: dict[tuple[str, str], NDArray[np.float32]] = {}
        self._model: str | None = None
        self._known = False
        self._state: int | None = None

    def of(self, query: str) -> Asked:
        """A query's direction."""
        if self._makers.chosen is None or not query.strip():
            return Asked(None, None)
        if not self._known:
            self._look()
        model = self._model
        maker = self._makers.maker_of(model)
        if maker is None:
            # Perhaps somebody makes them anew, by an embedder that is known here.
            self._known = False
            return Asked(model, None)
        vector = self._vectors.get((maker.name, query))
        if vector is None:
            try:
                vector = maker.embed([query])[0]
            except ModelError:
                return Asked(model, None)
            if len(self._vectors) >= _MOST_ASKED:
                # Dropping all of it at once is rare and needs no lock and no order.
                self._vectors.clear()
            self._vectors[maker.name, query] = vector
        return Asked(model, vector if vector.any() else None)

    def still(self, asked: Asked, state: int | None = None) -> bool:
        """Whether what was searched has the vectors that the query was made for; ``state`` is that of what was searched.

        Call it after the search. Without a state it is looked up each time.
        """
        if asked.vector is None or (state is not None and state == self._state and asked.model == self._model):
            return True
        self._look()
        # Where nobody had made vectors before, the first ones are those of the one that was chosen.
        same = self._makers.maker_of(self._model) is self._makers.maker_of(asked.model)
        self._state = state if same else None
        return same

    def _look(self) -> None:
        self._model, self._known = self._makers.whose(), True

    def clear(self) -> None:
        """Let go of all that is kept."""
        self._vectors.clear()


__all__ = ["MOST_TRIES", "Asked", "QueryVectors"]
