"""``python -m benchmarks.encoder.columns``: the columns of the encoder's layers whose numbers are far larger than others'.

They are multiplied in single precision (``_LARGE`` in ``memwell.models.local.encoder``). For the input of each product that
keeps columns apart, it prints the largest columns with the largest number that written texts have there, and the median.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memwell.models.local import encoder
from memwell.models.local.onnx import OnnxGraph, QuantizedMatrix

WRITTEN = Path(__file__).parents[1] / "reader" / "written.jsonl"
_EVERY, _SHOWN = 40, 12


class _Recording(OnnxGraph):
    """A graph in single precision whose outputs are also the inputs of products that keep columns apart."""

    def __init__(self, _numbers: object) -> None:
        super().__init__(None)
        self._multiplied: list[str] = []

    def product(self, x: str, matrix: QuantizedMatrix, *args: Any, apart: Sequence[int] = (), **options: Any) -> str:
        self._multiplied += [x] if apart else []
        return super().product(x, matrix, *args, apart=apart, **options)

    def model(self, inputs: Mapping[str, Sequence[str | int]], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        inner = {one: [1, "pieces", encoder.DIMENSIONS] for one in self._multiplied if one not in inputs}
        return super().model(inputs, {**outputs, **inner})


def main() -> None:
    """Print the columns."""
    encoder.OnnxGraph = _Recording
    model = encoder.Encoder()
    largest: dict[tuple[str, int], Any] = {}
    for line in WRITTEN.read_text("utf-8").splitlines()[::_EVERY]:
        ids = model.pieces.encode(json.loads(line)["text"], encoder.MOST_PIECES)
        summed = (model._word_rows[np.array(ids)] + model._positions[: len(ids)])[None]
        for name, half, x in (("lower", model._lower, summed), ("upper", model._upper, model.shared_layers(ids))):
            for at, made in enumerate(half._session.run(None, {"x": x})):
                largest[name, at] = np.maximum(largest.get((name, at), 0), np.abs(made[0]).max(axis=0))
    for (name, at), seen in sorted(largest.items()):
        if len(seen) == encoder.DIMENSIONS:
            top = np.argsort(-seen)[:_SHOWN]
            print(name, at, f"median {np.median(seen):.1f}", *(f"{one}: {seen[one]:.1f}" for one in top))


if __name__ == "__main__":
    main()
