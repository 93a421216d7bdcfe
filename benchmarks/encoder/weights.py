"""The weights that training starts from: ``python -m benchmarks.encoder.weights MODEL.safetensors OUT_FOLDER``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np


def read_safetensors(path: Path) -> dict[str, Any]:
    """The tensors of a file in single precision: a length, a header in JSON, then the numbers."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    found: dict[str, Any] = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = (8 + size + at for at in entry["data_offsets"])
            found[name] = np.frombuffer(data[first:last], np.float32).reshape(entry["shape"])
    return found


def main() -> None:
    """Write ``minilm.npz``: word embeddings as 8-bit rows with scales, all else in half precision."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder.weights", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    kept: dict[str, Any] = {}
    for name, value in read_safetensors(options.model).items():
        plain = name.removeprefix("bert.")
        if "pooler" in plain:
            continue
        if plain == "embeddings.word_embeddings.weight":
            scales = np.abs(value).max(1, keepdims=True) / 127
            kept[f"{plain}.q"], kept[f"{plain}.s"] = np.round(value / scales).astype(np.int8), scales
        else:
            kept[plain] = value.astype(np.float16)
    options.out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.out / "minilm.npz", **kept)


if __name__ == "__main__":
    main()
