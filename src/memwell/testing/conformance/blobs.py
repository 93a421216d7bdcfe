"""What ``Blobs`` promises, sentence by sentence."""

from __future__ import annotations

import hashlib
from typing import cast

import pytest

from memwell.errors import InvalidInput, NotFound
from memwell.records import Space
from memwell.storage.protocols import Backend
from memwell.testing.conformance.suite import HOME, Suite


class BlobsSuite(Suite):
    """All that ``Blobs`` promises."""

    def test_bytes_come_back_by_their_digest(self, store: Backend) -> None:
        for data in (b"", b"\x00", b"hello", bytes(range(256)) * 5_000):
            digest = store.blobs.put(HOME, data)
            assert digest == hashlib.sha256(data).hexdigest()
            assert store.blobs.get(HOME, digest) == data

    def test_bytes_of_any_kind_are_taken(self, store: Backend) -> None:
        kinds = cast("tuple[bytes, ...]", (b"ab", bytearray(b"ab"), memoryview(b"ab")))
        digests = {store.blobs.put(HOME, data) for data in kinds}
        assert [store.blobs.get(HOME, digest) for digest in digests] == [b"ab"]

    def test_storing_again_changes_nothing(self, store: Backend) -> None:
        assert store.blobs.put(HOME, b"x") == store.blobs.put(HOME, b"x")
        assert store.blobs.delete(HOME, store.blobs.put(HOME, b"x")) is True
        assert store.blobs.delete(HOME, hashlib.sha256(b"x").hexdigest()) is False

    def test_what_is_not_there_is_not_found(self, store: Backend) -> None:
        with pytest.raises(NotFound):
            store.blobs.get(HOME, "0" * 64)
        digest = store.blobs.put(HOME, b"x")
        store.blobs.delete(HOME, digest)
        with pytest.raises(NotFound):
            store.blobs.get(HOME, digest)

    def test_a_space_sees_only_its_own(self, store: Backend) -> None:
        digest = store.blobs.put(HOME, b"shared")
        for other in (Space("home", "inner"), Space("Home"), Space("hom")):
            with pytest.raises(NotFound):
                store.blobs.get(other, digest)
            assert store.blobs.delete(other, digest) is False
        store.blobs.put(Space("away"), b"shared")
        assert store.blobs.delete(Space("away"), digest) is True
        assert store.blobs.get(HOME, digest) == b"shared"

    def test_what_is_no_digest_or_no_bytes_is_refused(self, store: Backend) -> None:
        for bad in ("", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "../" + "0" * 61, None, b"0" * 64, 5):
            with pytest.raises(InvalidInput):
                store.blobs.get(HOME, bad)  # type: ignore[arg-type]
            with pytest.raises(InvalidInput):
                store.blobs.delete(HOME, bad)  # type: ignore[arg-type]
        for bad in ("text", None, 5, [1]):
            with pytest.raises(InvalidInput):
                store.blobs.put(HOME, bad)  # type: ignore[arg-type]
