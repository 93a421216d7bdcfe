"""Bytes in a folder: whole or not there, and each space its own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendError, ConfigurationError, InvalidInput, NotFound
from memwell.records import Space
from memwell.storage.files import FileBlobs

HOME = Space("home")


@given(st.lists(st.tuples(st.sampled_from([HOME, Space("home", "in"), Space("../x")]), st.binary(max_size=5))))
def test_what_is_put_is_there_until_it_is_deleted(tmp_path_factory: pytest.TempPathFactory, puts: Any):
    blobs = FileBlobs(tmp_path_factory.mktemp("blobs") / "deep" / "folder")
    for space, data in puts:
        assert blobs.put(space, data) == hashlib.sha256(data).hexdigest()
    for space, data in puts:
        assert blobs.get(space, hashlib.sha256(data).hexdigest()) == data
    for space in {space for space, _ in puts}:
        digests = sorted({hashlib.sha256(data).hexdigest() for one, data in puts if one == space})
        assert blobs.scan(space).items == digests
        page = blobs.scan(space, limit=1)
        assert page.items == digests[:1]
        if page.next is not None:
            assert blobs.scan(space, cursor=page.next).items == digests[1:]
        assert [blobs.delete(space, digest) for digest in digests] == [True] * len(digests)
        assert not any(blobs.delete(space, digest) for digest in digests)
        assert blobs.scan(space).items == []


def test_a_write_that_was_cut_short_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blobs = FileBlobs(tmp_path)
    blobs.put(HOME, b"whole")

    def cut(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", cut)
    with pytest.raises(BackendError, match="No space left"):
        blobs.put(HOME, b"cut short")
    monkeypatch.undo()
    assert blobs.scan(HOME).items == [hashlib.sha256(b"whole").hexdigest()]
    [place] = {file.parent for file in tmp_path.rglob("*") if file.is_file()}
    (place / f"{'0' * 64}.part").write_bytes(b"left by a crash")
    assert len(blobs.scan(HOME).items) == 1
    with pytest.raises(NotFound):
        blobs.get(HOME, "0" * 64)


def test_a_damaged_file_is_noticed(tmp_path: Path):
    blobs = FileBlobs(tmp_path)
    digest = blobs.put(HOME, b"as it was")
    [file] = [file for file in tmp_path.rglob("*") if file.is_file()]
    file.write_bytes(b"as it is!")
    with pytest.raises(BackendError, match="damaged"):
        blobs.get(HOME, digest)


def test_what_is_no_folder_is_refused(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    for wrong in (tmp_path / "file", tmp_path / "file" / "under", "a\0b"):
        with pytest.raises(ConfigurationError, match="folder for blobs"):
            FileBlobs(wrong)
    with pytest.raises(InvalidInput):
        FileBlobs(tmp_path).get(HOME, "../../file")
