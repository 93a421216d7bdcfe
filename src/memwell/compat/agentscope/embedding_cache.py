"""A cache of embeddings in files, in AgentScope's layout.

AgentScope and this class may share a folder, and so may several processes, which may be killed at any moment: no file is
ever half written. Enforcing the limits costs the same however many files there are.
"""

from __future__ import annotations

import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memwell._asyncify import run_blocking
from memwell.errors import FileError, InvalidInput
from memwell.storage.files import BoundedFolder
from memwell.values import check_count, shown

Embedding: TypeAlias = Sequence[float]
"""One vector, as an embedding model gives it."""

_OURS = re.compile(r"[0-9a-f]{64}\.npy")
_MEGABYTE = 1024 * 1024


class EmbeddingCacheBase(ABC):
    """Stores embeddings by what they were made from, which is any JSON value."""

    @abstractmethod
    async def store(
        self, embeddings: Sequence[Embedding], identifier: Any, overwrite: bool = False, **kwargs: Any
    ) -> None:
        """Store the embeddings of ``identifier``; those it has already stay, unless ``overwrite``."""

    @abstractmethod
    async def retrieve(self, identifier: Any) -> list[list[float]] | None:
        """The embeddings of ``identifier``, or None."""

    @abstractmethod
    async def remove(self, identifier: Any) -> None:
        """Delete the embeddings of ``identifier``."""

    @abstractmethod
    async def clear(self) -> None:
        """Delete all embeddings."""


class FileEmbeddingCache(EmbeddingCacheBase):
    """Embeddings in a folder, a ``.npy`` file for each identifier, named by the SHA-256 of its JSON.

    The oldest files go, in the order of their writing, when there are more than ``max_file_number`` (None and 0 are no
    limit) or they are larger than ``max_cache_size`` megabytes. Only files with such a name count and go. Every method
    raises ``InvalidInput`` for an identifier that is not plain JSON, and ``OSError`` when the disk fails.
    """

    def __init__(
        self,
        cache_dir: str | os.PathLike[str] = "./.cache/embeddings",
        max_file_number: int | None = None,
        max_cache_size: float | None = None,
    ) -> None:
        self.max_file_number = None if max_file_number is None else check_count(max_file_number, "max_file_number")
        if max_cache_size is not None and not 0 <= max_cache_size < math.inf:
            raise InvalidInput(f"max_cache_size must be megabytes, a number of at least 0, not {shown(max_cache_size)}")
        self.max_cache_size = max_cache_size
        self._folder = BoundedFolder(Path(os.path.abspath(cache_dir)), _OURS)

    @property
    def cache_dir(self) -> str:
        """The folder, which is created if it is missing."""
        self._folder.path.mkdir(parents=True, exist_ok=True)
        return str(self._folder.path)

    async def store(
        self, embeddings: Sequence[Embedding], identifier: Any, overwrite: bool = False, **kwargs: Any
    ) -> None:
        """Store the embeddings of ``identifier``; those it has already stay, unless ``overwrite`` or they are damaged.

        Raises ``InvalidInput`` for anything but vectors of numbers of one length, and ``FileError`` when a folder has the
        name.
        """
        await run_blocking(partial(self._store, embeddings, identifier, overwrite))

    async def retrieve(self, identifier: Any) -> list[list[float]] | None:
        """The embeddings of ``identifier``; None when there are none, or their file is damaged."""
        found = await run_blocking(partial(self._held, _file_name(identifier)))
        return None if found is None else found.tolist()

    async def remove(self, identifier: Any) -> None:
        """Delete the embeddings of ``identifier``. Raises ``FileNotFoundError`` when there are none."""
        name = _file_name(identifier)
        if not await run_blocking(partial(self._folder.drop, name)):
            raise FileNotFoundError(f"File {self._folder.path / name} does not exist.")

    async def clear(self) -> None:
        """Delete all embeddings, and no other file."""
        await run_blocking(self._folder.clear)

    def _store(self, embeddings: Sequence[Embedding], identifier: Any, overwrite: bool) -> None:
        name = _file_name(identifier)
        data = _as_npy(embeddings)
        place = self._folder.path / name
        if place.exists():
            if not place.is_file():
                raise FileError(f"Path {place} exists but is not a file.")
            if not overwrite and self._held(name) is not None:
                return
        size = self.max_cache_size
        self._folder.put(
            name,
            data,
            most_files=self.max_file_number or None,
            most_bytes=None if size is None else int(size * _MEGABYTE),
        )

    def _held(self, name: str) -> NDArray[Any] | None:
        data = self._folder.read(name)
        return None if data is None else _from_npy(data)


def _file_name(identifier: Any) -> str:
    """The name of a file. Two dicts with their keys in another order are two identifiers, as in AgentScope."""
    try:
        written = json.dumps(identifier, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"an identifier must be plain JSON, not {shown(identifier)}: {error}") from None
    return f"{sha256(written).hexdigest()}.npy"


def _as_npy(embeddings: object) -> bytes:
    try:
        array = np.asarray(embeddings)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"embeddings must be vectors of one length, not {shown(embeddings)}: {error}") from None
    if array.ndim == 0 or array.dtype.kind not in "iuf":
        raise InvalidInput(f"embeddings must be vectors of numbers, not {shown(embeddings)}")
    buffer = BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _from_npy(data: bytes) -> NDArray[Any] | None:
    """The array in a file, or None for a damaged file or one that holds anything but numbers.

    ``numpy.load`` is not used: it would allocate as much memory as a damaged header says.
    """
    file = BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, kind = read_header(file)
        if version > (2, 0) or kind.kind not in "iuf" or math.prod(shape) * kind.itemsize != len(data) - file.tell():
            return None
        return np.frombuffer(data, kind, offset=file.tell()).reshape(shape, order="F" if is_fortran else "C")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
