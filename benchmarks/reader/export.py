"""Write the weights that memwell ships: ``python -m benchmarks.reader.export TRAINED [--out FILE]``.

TRAINED is what ``train.py`` wrote; FILE is ``reader_zh.npz`` beside ``reader.npz`` for the reader of Chinese. Matrices of
layers become 8-bit integers with a scale for each row. The program prints the file's digest, which belongs into
``memwell.models.local.onnx``: other weights are refused there.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from memwell.models.local import reader

OUT = Path(reader.__file__).with_name("reader.npz")
_MATRIX = 2


def exported(trained: Path, out: Path) -> None:
    """Write weights as ``FactReader`` reads them."""
    found: dict[str, Any] = {}
    with np.load(trained) as stored:
        for key, value in stored.items():
            if key == "heads.weight":
                found["heads"] = value.T
            elif key == "heads.bias":
                found["biases"] = value
            elif key in ("capitals.weight", "relation.weight"):
                found[key.removesuffix(".weight")] = value
            elif value.ndim == _MATRIX and key != "trunk.near":
                exact = value.astype(np.float32)
                scales = np.maximum(np.abs(exact).max(axis=1, keepdims=True), 1e-12) / 127
                found[f"{key}.q"] = np.rint(exact / scales).astype(np.int8)
                found[f"{key}.s"] = scales.astype(np.float32)
            else:
                found[key] = value.astype(np.float32)
    np.savez(out, **found)


def main() -> None:
    """Round the weights, write them and print their digest."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader.export", description=__doc__)
    parser.add_argument("trained", type=Path, help="what train.py wrote")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write them, if not where memwell reads them")
    options = parser.parse_args()
    exported(options.trained, options.out)
    data = options.out.read_bytes()
    print(f"{options.out}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
