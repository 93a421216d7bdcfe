"""The embedding cache beside diskcache: a vector that was made before, looked up by its text."""

from __future__ import annotations

import random
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.corpus import Writer
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.cache import EmbeddingCache
from memwell.storage.sqlite import SqliteBackend

_DIMENSIONS = 896
_TEXTS = 2000
_NAMES = ("memwell", "memwell, bare KeyValue.get", "diskcache, get")


def cache(folder: Path, *, quick: bool) -> Section:
    """Look up vectors of 896 numbers at half precision: 1,792 bytes a text."""
    section = Section("cache")
    writer = Writer()
    texts = [f"{number} {writer.text()[:100]}" for number in range(200 if quick else _TEXTS)]
    space = Space("bench")
    with SqliteBackend(folder / "cache.db") as backend:
        embedder = HashEmbedder(_DIMENSIONS)
        step(f"filling a cache with {len(texts):,} vectors")
        stored = EmbeddingCache(embedder, backend.kv, space, transaction=backend.transaction)
        stored.embed(texts)
        keys = [entry.key for entry in backend.kv.scan(space, limit=100_000).items if ".v" in entry.key]
        # Texts come in no order of their digests, so keys must not come in order either.
        random.Random(7).shuffle(keys)
        contenders = [
            Contender(_NAMES[0], each(lambda text: stored.embed([text])), cycle_through(texts)),
            Contender(_NAMES[1], each(lambda key: backend.kv.get(space, key)), cycle_through(keys)),
        ]
        peer = _diskcache(folder, backend, space, keys)
        if peer is not None:
            contenders.append(Contender(_NAMES[2], each(peer.get), cycle_through(keys)))
        timings = take_turns(contenders, rounds=5 if quick else 40, batch=50)
        if peer is not None:
            peer.close()
    section.grids.append(_grid(timings))
    if _NAMES[2] in timings:
        section.figures.append(_figure(timings))
    return section


def _diskcache(folder: Path, backend: SqliteBackend, space: Space, keys: list[str]) -> Any:
    """diskcache with its defaults, holding the same bytes under the same keys; None when it is not installed."""
    try:
        version("diskcache")
        from diskcache import Cache
    except (PackageNotFoundError, ImportError) as error:
        step(f"diskcache: not installed ({error}); pip install diskcache")
        return None
    peer = Cache(str(folder / "diskcache"))
    with peer.transact():
        for key in keys:
            entry = backend.kv.get(space, key)
            assert entry is not None
            peer.set(key, entry.value)
    return peer


def _grid(timings: dict[str, Timing]) -> Grid:
    grid = Grid("One vector of 896 numbers, looked up", ["", "CPU µs", "wall µs", "CPU against diskcache"])
    grid.note = "memwell's lookup includes the digest of the text and making a vector of the bytes."
    peer = timings.get(_NAMES[2])
    for name, timing in timings.items():
        ratio = "" if peer is None else f"{timing.ratio(peer):.2f}×"
        grid.add(name, f"{timing.cpu_us:.1f}", f"{timing.wall_us:.1f}", ratio)
    return grid


def _figure(timings: dict[str, Timing]) -> Figure:
    ratio = timings[_NAMES[0]].ratio(timings[_NAMES[2]])
    return Figure("a cached vector, CPU against diskcache's get", "≤ 2×", f"{ratio:.2f}×", ratio <= 2.0)


__all__ = ["cache"]
