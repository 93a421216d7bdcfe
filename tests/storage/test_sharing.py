"""What names the same store shares it; what is given stays the giver's."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendError, ConfigurationError
from memwell.records import DEFAULT_SPACE
from memwell.storage.memory import MemoryBackend
from memwell.storage.sharing import close_shared, shared_backend


def test_an_open_store_is_used_as_it_is():
    backend = MemoryBackend()
    assert shared_backend(backend) is backend


def test_one_file_is_one_store_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    names: list[Any] = [
        "app.db",
        "./app.db",
        "sqlite:app.db",
        "SQLite:app.db",
        tmp_path / "app.db",
        str(tmp_path / "sub" / ".." / "app.db"),
        f"sqlite:{tmp_path / 'app.db'}",
    ]
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend("other.db") is not shared_backend("app.db")


def test_a_store_of_several_parts_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: list[Any] = [
        "app.db,blobs=files:bytes,index=memory:",
        "sqlite:./app.db,index=memory:,blobs=files:bytes",
        f"{tmp_path / 'app.db'},blobs=files:bytes,index=memory:",
    ]
    assert len({id(shared_backend(name)) for name in names}) == 1
    assert shared_backend(names[0]) is not shared_backend("app.db,blobs=files:bytes")
    (tmp_path / "app.db").unlink()
    first = shared_backend(names[0])
    assert first is shared_backend(names[1]), "whoever deletes the file means a new one"
    first.kv.put(DEFAULT_SPACE, "key", 1)


def test_many_threads_open_one_store(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: shared_backend(tmp_path / "app.db"), range(16)))
    assert {id(one) for one in found} == {id(found[0])}


@pytest.mark.parametrize("wrong", ["", " ", "no-such-kind:x", "a\0b", 7, None])
def test_what_names_no_store_is_refused(wrong: Any):
    with pytest.raises(ConfigurationError):
        shared_backend(wrong)


def test_a_closed_store_is_opened_again_by_the_next_to_name_it(tmp_path: Path):
    first = shared_backend(tmp_path / "app.db")
    first.kv.put(DEFAULT_SPACE, "key", 1)
    close_shared()
    with pytest.raises(BackendError):
        first.kv.get(DEFAULT_SPACE, "key")
    again = shared_backend(tmp_path / "app.db").kv.get(DEFAULT_SPACE, "key")
    assert again is not None
    assert again.value == 1


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_opens_a_store_of_its_own(tmp_path: Path):
    parent = shared_backend(tmp_path / "app.db")
    child = os.fork()
    if child == 0:
        os._exit(0 if shared_backend(tmp_path / "app.db") is not parent else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert shared_backend(tmp_path / "app.db") is parent
