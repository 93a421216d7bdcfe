"""Write the weights that memwell ships: ``python -m benchmarks.encoder.export TRAINED_FOLDER NAME [--out FILE]``.

``train.py`` wrote ``NAME-0.npz`` and ``NAME-1.npz``: matrices as 8-bit integers with a scale for each row. Positions beyond
those that memwell reads, and the second type of text, are left out. The program prints the file's digest, which belongs
into ``memwell.models.local.onnx``: other weights are refused there.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from memwell.models.local import encoder

OUT = Path(encoder.__file__).with_name("encoder.npz")
READ = {
    "trunk.embeddings.position_embeddings.weight": encoder.MOST_PIECES,
    "trunk.embeddings.token_type_embeddings.weight": 1,
}
"""How many rows of a table are read."""


def main() -> None:
    """Join the two files and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder.export", description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder that train.py wrote to")
    parser.add_argument("name", help="the name of the recipe")
    parser.add_argument("--out", type=Path, default=OUT, help="where to write them, if not where memwell reads them")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for number in (0, 1):
        with np.load(options.folder / f"{options.name}-{number}.npz") as part:
            for key, value in part.items():
                rows = READ.get(key.removesuffix(".q").removesuffix(".s"))
                found[key] = value if rows is None else value[:rows]
    np.savez(options.out, **found)
    data = options.out.read_bytes()
    print(f"{options.out}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
