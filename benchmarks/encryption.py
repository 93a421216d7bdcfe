"""``python -m benchmarks.encryption [memories]``: what an encrypted store costs, against one that is not, in alternation.

Each round opens both stores anew, the plain one first in every other round. A message is appended and synced; memories of
20 words with vectors drawn beforehand are recalled, so that no model is in the clock. ``--folder`` says on which disk.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import memwell
from benchmarks.corpus import Writer
from benchmarks.first_recall import Drawn, memory_of, short
from memwell.longterm.embedding import Embedders
from memwell.longterm.journal import inner_space
from memwell.messages import human
from memwell.records import DEFAULT_SPACE
from memwell.settings import Settings
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite.backup import back_up, rekey
from memwell.storage.sqlite.encryption import Secret

_KINDS = {"plain": Settings(), "encrypted": Settings(secret="0123456789abcdef" * 4)}
_ROUNDS = 7
_APPENDED = 200
_GROUP = 500
_ASKED = 40
_BATCH = 1_000


def fill(path: Path, settings: Settings, count: int) -> None:
    """Store memories with words and vectors."""
    writer, drawn = Writer(7), Drawn(0)
    with SqliteBackend(path, settings=settings) as backend:
        Embedders(backend.kv, inner_space(DEFAULT_SPACE), drawn).claim(drawn.name)
        for start in range(0, count, _BATCH):
            texts = [short(writer.text()) for _ in range(min(_BATCH, count - start))]
            rows = drawn.embed(texts)
            numbers = range(start, start + len(texts))
            backend.index.upsert([memory_of(*one) for one in zip(numbers, texts, rows, strict=True)])


@contextmanager
def opened(path: Path, settings: Settings) -> Iterator[memwell.Engine]:
    with memwell.open(path, settings=settings, embedder=Drawn(1), work=False) as memory:
        yield memory


def timed(work: Callable[[], object]) -> float:
    """How many milliseconds a call takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def measure(path: Path, settings: Settings, seed: int) -> dict[str, float]:
    """One round with one store."""
    writer = Writer(seed)
    texts = [short(writer.text()) for _ in range(_APPENDED + _GROUP + _ASKED)]
    found: dict[str, float] = {}
    with opened(path, settings) as memory:
        thread = memory.thread(f"talk-{seed}")
        found["append one message"] = median(
            timed(lambda text=text: thread.add(human(text))) for text in texts[:_APPENDED]
        )
        group = [human(text) for text in texts[_APPENDED : _APPENDED + _GROUP]]
        found[f"append {_GROUP} messages at once"] = timed(lambda: thread.add(*group))
    with opened(path, settings) as memory:
        found["first recall, after opening"] = timed(lambda: memory.recall(texts[-1]))
        found["recall"] = median(timed(lambda text=text: memory.recall(text)) for text in texts[-_ASKED:])
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("memories", nargs="?", type=int, default=10_000)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="memwell-encryption-", dir=given.folder))
    try:
        run(folder, given.memories)
    finally:
        shutil.rmtree(folder)


def run(folder: Path, memories: int) -> None:
    """Measure and print."""
    taken: dict[str, list[dict[str, float]]] = {kind: [] for kind in _KINDS}
    filled = {kind: timed(lambda kind=kind: fill(folder / f"{kind}.db", _KINDS[kind], memories)) for kind in _KINDS}
    for round_ in range(_ROUNDS + 1):
        for kind in sorted(_KINDS, reverse=round_ % 2 == 0):
            found = measure(folder / f"{kind}.db", _KINDS[kind], round_)
            # The first round writes the snapshots.
            if round_:
                taken[kind].append(found)
    rows = {name: [median(one[name] for one in taken[kind]) for kind in _KINDS] for name in taken["plain"][0]}
    rows[f"store {memories:,} memories"] = list(filled.values())
    rows["back up"] = [
        timed(lambda kind=kind: back_up(folder / f"{kind}.db", folder / f"{kind}.bak", settings=_KINDS[kind]))
        for kind in _KINDS
    ]
    print("| | plain, ms | encrypted, ms | times |\n|---|---|---|---|")
    for name, (plain, encrypted) in rows.items():
        print(f"| {name} | {plain:,.2f} | {encrypted:,.2f} | {encrypted / plain:.2f} |")
    sizes = [sum(file.stat().st_size for file in folder.glob(f"{kind}.db")) / 1e6 for kind in _KINDS]
    print(f"| size of the store, MB | {sizes[0]:,.1f} | {sizes[1]:,.1f} | {sizes[1] / sizes[0]:.2f} |")
    secret = Secret("a passphrase of several words")
    print(
        f"scrypt of a passphrase: {timed(lambda: secret.key(b'0' * 16, 'store')):.0f} ms, once for each file and process"
    )
    again = timed(lambda: rekey(folder / "plain.db", secret, settings=_KINDS["plain"]))
    print(f"memwell rekey: {again:,.0f} ms")


if __name__ == "__main__":
    main()
