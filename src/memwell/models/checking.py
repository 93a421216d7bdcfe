"""Checks of what models answer: how many vectors or scores, which shape, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from memwell.errors import BadModelOutput, InvalidInput
from memwell.records import MAX_DIMENSIONS
from memwell.values import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float32]"
"""Vectors. numpy is imported by the functions that need it: programs that only converse do without it."""


def given_texts(texts: object) -> list[str]:
    """The texts as a list. Raises ``InvalidInput`` for anything but a list of strings."""
    # A list is the usual case, and the general check is slow.
    if type(texts) is not list and (isinstance(texts, str | bytes) or not isinstance(texts, Iterable)):
        raise InvalidInput(f"texts must be a list of strings, not {shown(texts)}")
    given = list(cast("Iterable[object]", texts))
    for one in given:
        if not isinstance(one, str):
            raise InvalidInput(f"a text must be a string, not {shown(one)}")
    return cast("list[str]", given)


def checked_vectors(value: object, count: int, model: str, dimensions: int | None = None) -> Floats:
    """``count`` rows of unit length, or of zeros where the model returned zeros.

    Raises ``BadModelOutput`` for another number or length of rows, and for values that are no numbers.
    """
    import numpy as np  # noqa: PLC0415 - see above

    rows = _numbers(value, model)
    if rows.ndim != 2 or len(rows) != count:
        raise BadModelOutput(f"{model} gave vectors of shape {rows.shape} for {count} texts")
    size = rows.shape[1]
    if count and (not 0 < size <= MAX_DIMENSIONS or size != (dimensions or size)):
        expected = dimensions or f"1 to {MAX_DIMENSIONS}"
        raise BadModelOutput(f"{model} gave vectors of {size} numbers, not {expected}")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadModelOutput(f"{model} gave a vector that holds NaN or numbers without end")
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _numbers(value: object, model: str) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - see above

    if isinstance(value, Iterable) and not isinstance(value, np.ndarray | str | bytes):
        value = list(cast("Iterable[object]", value))
        if not value:
            return np.zeros((0, 0))
    try:
        rows = np.asarray(value)
        if rows.dtype.kind in "fiu":
            return rows.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadModelOutput(f"{model} gave no vectors: {error}") from error
    raise BadModelOutput(f"{model} gave no vectors but {shown(cast(object, value))}")


def checked_scores(value: object, count: int, model: str) -> list[float]:
    """``count`` finite numbers. Raises ``BadModelOutput`` otherwise."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise BadModelOutput(f"{model} gave no scores but {shown(value)}")
    scores = _floats(cast("Iterable[object]", value), model)
    if len(scores) != count:
        raise BadModelOutput(f"{model} gave {len(scores)} scores for {count} texts")
    if not all(map(math.isfinite, scores)):
        raise BadModelOutput(f"{model} gave a score that is not finite: {shown(scores)}")
    return scores


def _floats(values: Iterable[object], model: str) -> list[float]:
    try:
        return [float(cast(float, value)) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise BadModelOutput(f"{model} gave a score that is no number: {error}") from error


def zero_rows(texts: Sequence[str], dimensions: int) -> Floats:
    """A row of zeros for every text."""
    import numpy as np  # noqa: PLC0415 - see above

    return np.zeros((len(texts), dimensions), np.float32)
