"""AgentScope's cache of embeddings: its names and its files, several processes, kills, and strange input."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell._asyncify import block_on
from memwell.compat.agentscope.embedding_cache import FileEmbeddingCache, _from_npy
from memwell.errors import FileError, InvalidInput

STORE = """
import asyncio, sys
from memwell.compat.agentscope.embedding_cache import FileEmbeddingCache

async def work(folder, name, count, most):
    cache = FileEmbeddingCache(folder, max_file_number=most)
    print("ready", flush=True)
    for number in range(count):
        await cache.store([[float(number)] * 300], f"{name} {number % 150}", overwrite=number % 3 == 0)
        await cache.retrieve(f"{name} {(number - 20) % 150}")

asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""

VECTORS = [[0.1, 0.2, 0.3], [-1.0, 2.5, 1e-9]]


@pytest.fixture
def cache(tmp_path: Path) -> FileEmbeddingCache:
    return FileEmbeddingCache(str(tmp_path / "cache"))


def file_of(cache: FileEmbeddingCache, identifier: object) -> Path:
    digest = hashlib.sha256(json.dumps(identifier, ensure_ascii=False).encode()).hexdigest()
    return Path(cache.cache_dir) / f"{digest}.npy"


def held(cache: FileEmbeddingCache) -> set[str]:
    return {name for name in os.listdir(cache.cache_dir) if name.endswith(".npy")}


def storing(folder: Path, name: str, count: int, most: int) -> subprocess.Popen[str]:
    arguments = [str(folder), name, str(count), str(most)]
    return subprocess.Popen([sys.executable, "-c", STORE, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("identifier", ["text", "数据", 7, None, ["a", 1.5], {"model": "m", "text": "你好"}, ""])
def test_a_file_is_named_by_the_digest_of_the_identifier_s_json(
    cache: FileEmbeddingCache, identifier: Any, tmp_path: Path
):
    block_on(cache.store(VECTORS, identifier))
    np.save(tmp_path / "theirs.npy", VECTORS)
    assert file_of(cache, identifier).read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    assert held(cache) == {file_of(cache, identifier).name}
    assert block_on(cache.retrieve(identifier)) == VECTORS


@pytest.mark.parametrize(
    "array",
    [
        np.array(VECTORS), np.array(VECTORS, np.float32), np.asfortranarray(VECTORS), np.array(VECTORS, ">f4"),
        np.array([[1, 2], [3, 4]]), np.array([0.5, 1.5]), np.zeros((0,)), np.zeros((2, 0)),
        np.ones((2, 3, 4), np.float16), np.array([[np.nan, np.inf]]),
    ],
)  # fmt: skip
def test_a_file_that_numpy_wrote_is_read(cache: FileEmbeddingCache, array: np.ndarray[Any, Any]):
    np.save(file_of(cache, "text"), array)
    np.testing.assert_equal(block_on(cache.retrieve("text")), array.tolist())


def test_what_is_there_stays_unless_it_is_to_be_overwritten(cache: FileEmbeddingCache):
    block_on(cache.store(VECTORS, "text"))
    block_on(cache.store([[9.0]], "text"))
    assert block_on(cache.retrieve("text")) == VECTORS
    block_on(cache.store([[9.0]], "text", overwrite=True))
    assert block_on(cache.retrieve("text")) == [[9.0]]
    block_on(cache.remove("text"))
    assert block_on(cache.retrieve("text")) is None
    with pytest.raises(FileNotFoundError, match=r"File .*\.npy does not exist\."):
        block_on(cache.remove("text"))
    file_of(cache, "text").mkdir()
    with pytest.raises(FileError, match="exists but is not a file"):
        block_on(cache.store(VECTORS, "text"))


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path):
    cache = FileEmbeddingCache(tmp_path, max_file_number=3)
    for number in range(5):
        block_on(cache.store(VECTORS, number))
        # Reading makes nothing younger.
        assert block_on(cache.retrieve(0)) is None or number < 3
    assert held(cache) == {file_of(cache, number).name for number in (2, 3, 4)}


def test_the_oldest_go_when_they_are_too_large(tmp_path: Path):
    cache = FileEmbeddingCache(tmp_path, max_cache_size=1)
    half = [[1.0] * 60_000]
    for number in range(4):
        block_on(cache.store(half, number))
    assert held(cache) == {file_of(cache, number).name for number in (2, 3)}
    block_on(cache.store([[1.0] * 200_000], "larger than the cache"))
    assert held(cache) == set()


def test_files_written_in_one_tick_go_in_the_order_of_writing(tmp_path: Path):
    """Upstream sorts by a time that several files may share, and may drop the one it has just written."""
    cache = FileEmbeddingCache(tmp_path, max_file_number=2)
    for number in range(2):
        block_on(cache.store(VECTORS, number))
        os.utime(file_of(cache, number), (1000, 1000))
    # A stranger has changed the files, so the folder is looked through.
    os.utime(tmp_path, (2000, 2000))
    block_on(cache.store(VECTORS, 2))
    assert held(cache) == {file_of(cache, number).name for number in (1, 2)}


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path):
    """Upstream counts and deletes every ``.npy`` in the folder, whoever put it there."""
    np.save(tmp_path / "experiment.npy", [1.0])
    cache = FileEmbeddingCache(tmp_path, max_file_number=1, max_cache_size=1)
    for number in range(3):
        block_on(cache.store(VECTORS, number))
    block_on(cache.clear())
    assert held(cache) == {"experiment.npy"}


def test_what_is_no_vectors_no_identifier_or_no_setting_is_refused(cache: FileEmbeddingCache, tmp_path: Path):
    """Upstream pickles what numpy has no numbers for, and cannot read it again."""
    for vectors in ([[1.0], [1.0, 2.0]], "text", [[object()]], [[True]], None, [[2**70]]):
        with pytest.raises(InvalidInput, match="embeddings must be vectors"):
            block_on(cache.store(vectors, "text"))  # type: ignore[arg-type]
    identifiers: list[Any] = [object(), {1, 2}, b"bytes", "\ud800", {"a": {1}}, {(1, 2): 3}]
    for identifier in identifiers:
        for call in (
            lambda name: block_on(cache.store(VECTORS, name)),
            lambda name: block_on(cache.retrieve(name)),
            lambda name: block_on(cache.remove(name)),
        ):
            with pytest.raises(InvalidInput, match="plain JSON"):
                call(identifier)
    settings: list[dict[str, Any]] = [{"max_file_number": -1}, {"max_file_number": 1.5}, {"max_cache_size": -1}]
    for bad in settings:
        with pytest.raises(InvalidInput, match=next(iter(bad))):
            FileEmbeddingCache(tmp_path, **bad)
    assert held(cache) == set()


def test_half_a_file_is_no_file_and_is_written_anew(cache: FileEmbeddingCache):
    """Upstream writes in place: who is killed leaves half a file, which raises for ever and is never replaced."""
    block_on(cache.store(VECTORS, "text"))
    whole = file_of(cache, "text").read_bytes()
    for size in range(len(whole)):
        file_of(cache, "text").write_bytes(whole[:size])
        assert block_on(cache.retrieve("text")) is None
    block_on(cache.store(VECTORS, "text"))
    assert block_on(cache.retrieve("text")) == VECTORS


@given(
    st.binary(max_size=200)
    | st.builds(
        lambda descr, order, shape, data: (
            b"\x93NUMPY\x01\x00"
            + len(header := f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n").to_bytes(
                2, "little"
            )
            + header.encode()
            + data
        ),
        st.sampled_from(["<f8", "<f3", "|O", "<i4", ">u2", "<f99", "|f1"]),
        st.sampled_from(["True", "False", "None"]),
        st.sampled_from(["(2,)", "(2, 2)", "(99999999999999999999,)", "()", "(,)", "(" + "1, " * 70 + ")", "(-1,)"]),
        st.binary(max_size=40),
    )
)
def test_nothing_that_lies_in_the_folder_can_hurt(data: bytes):
    # Read directly: a folder and a file for each example would be slow.

    found = _from_npy(data)
    assert found is None or found.nbytes <= len(data)


def test_processes_may_share_a_folder(tmp_path: Path):
    """Upstream's processes delete each other's files while they look at them, and fail."""
    writers = [storing(tmp_path, name, 120, 50) for name in ("a", "b", "c", "d")]
    for one in writers:
        one.communicate(timeout=60)
    assert [one.returncode for one in writers] == [0, 0, 0, 0]
    assert len(held(FileEmbeddingCache(tmp_path))) == 50


def test_a_kill_leaves_every_file_readable(tmp_path: Path):
    cache = FileEmbeddingCache(tmp_path, max_file_number=40)
    for round_ in range(5):
        one = storing(tmp_path, str(round_), 100_000, 40)
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
        threading.Event().wait(0.02 * (round_ + 1))
        one.send_signal(signal.SIGKILL)
        one.communicate(timeout=60)
        for name in held(cache):
            assert np.load(tmp_path / name).shape == (1, 300)
        block_on(cache.store([[1.0] * 300], "ours", overwrite=True))
        assert len(held(cache)) <= 40


async def test_the_loop_goes_on_while_a_file_is_written(tmp_path: Path):
    cache, ticks = FileEmbeddingCache(tmp_path, max_file_number=10), 0
    storing = asyncio.gather(*(cache.store(VECTORS, number) for number in range(30)))
    while not storing.done():
        await asyncio.sleep(0.001)
        ticks += 1
    await storing
    assert ticks > 1
    assert len(held(FileEmbeddingCache(tmp_path))) == 10
