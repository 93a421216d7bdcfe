"""How good the reader is on writers it has not seen: ``python -m benchmarks.reader.held held.npz:7,8 …``.

Each argument is a file that ``train.py`` wrote and the numbers of the writers it has not learnt from. Their sentences are
read by the rules with that reader, and by the rules alone; thresholds and rules are chosen by these figures.
"""

from __future__ import annotations

import argparse
import json
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.reader.data import WRITTEN, WRITTEN_ZH
from benchmarks.reader.export import exported
from memwell.models.local.reader import FactReader
from memwell.runtime.evaluation import FactShares, JudgedSentence, LabelledSentence, judge


def read(trained: Path, writers: frozenset[str]) -> tuple[list[JudgedSentence], list[JudgedSentence]]:
    """What is read from the sentences of some writers, with a reader and without."""
    rows = [json.loads(line) for file in (WRITTEN, WRITTEN_ZH) for line in file.read_text("utf-8").splitlines()]
    some = [msgspec.convert(row, LabelledSentence) for row in rows if row["by"].removeprefix("writer ") in writers]
    with TemporaryDirectory() as folder:
        weights = Path(folder, "reader.npz")
        exported(trained, weights)
        reader = FactReader(BytesIO(weights.read_bytes()).getvalue())
    return judge(some, reader=reader.read), judge(some, reader=None)


def main() -> None:
    """Print the figures of each file, of all together, and by relation."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reader.held", description=__doc__)
    parser.add_argument("trained", nargs="+", help="a file, a colon, and numbers of writers")
    parser.add_argument("--failures", action="store_true", help="print what is missed or wrong")
    options = parser.parse_args()
    together: tuple[list[JudgedSentence], list[JudgedSentence]] = [], []
    for one in options.trained:
        file, _, writers = one.rpartition(":")
        found = read(Path(file), frozenset(writers.split(",")))
        print(one, *(FactShares.of(some) for some in found), sep="\n  ")
        for some, more in zip(together, found, strict=True):
            some += more
    print("all", *(FactShares.of(some) for some in together), sep="\n  ")
    if options.failures:
        for one in together[0]:
            if one.mistakes():
                print(f"{one.kind}: {one.text}", *(f"  {what} {fact}" for what, fact in one.mistakes()), sep="\n")


if __name__ == "__main__":
    main()
