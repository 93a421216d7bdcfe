"""A cache of embeddings in files, in AgentScope's layout, so that no text is embedded twice.

AgentScope and this class may use one folder, and so may several processes, which may be killed at any moment: no file is
ever half written. Keeping within the limits costs the same however many files there are.
"""

from __future__ import annotations

import json
import math
import os
import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memwell._asyncify import blocking, run_blocking
from memwell.errors import FileError, InvalidInput
from memwell.storage.files import BoundedFolder
from memwell.values import check_count, shown

Embedding: TypeAlias = Sequence[float]
"""One vector, as an embedding model gives it."""

_OURS = re.compile(r"[0-9a-f]{64}\.npy")
_MEGABYTE = 1024 * 1024
_HEADER = re.compile(
    rb"\{'descr': '([<>|][iuf]\d{1,2})', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), *\} *\n"
)


class EmbeddingCacheBase:
    """Stores embeddings by what they were made from, which is any JSON value."""

    @abstractmethod
    async def store(
        self, embeddings: Sequence[Embedding], identifier: Any, overwrite: bool = False, **kwargs: Any
    ) -> None:
        """Keep the embeddings of ``identifier``; those it has already stay, unless ``overwrite``."""
        raise NotImplementedError

    @abstractmethod
    async def retrieve(self, identifier: Any) -> list[list[float]] | None:
        """The embeddings of ``identifier``, or None when there are none."""
        raise NotImplementedError

    @abstractmethod
    async def remove(self, identifier: Any) -> None:
        """Drop the embeddings of ``identifier``."""
        raise NotImplementedError

    @abstractmethod
    async def clear(self) -> None:
        """Drop all embeddings."""
        raise NotImplementedError


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
        if not isinstance(cache_dir, str | os.PathLike) or not os.fspath(cache_dir):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"cache_dir must be the path of a folder, not {shown(cache_dir)}")
        if max_file_number is not None:
            check_count(max_file_number, "max_file_number")
        if max_cache_size is not None:
            _check_size(max_cache_size)
        self.max_file_number = max_file_number
        self.max_cache_size = max_cache_size
        self._folder = BoundedFolder(Path(os.path.abspath(cache_dir)), _OURS)

    @property
    def cache_dir(self) -> str:
        """The folder, which is made if need be."""
        self._folder.path.mkdir(parents=True, exist_ok=True)
        return str(self._folder.path)

    async def store(
        self, embeddings: Sequence[Embedding], identifier: Any, overwrite: bool = False, **kwargs: Any
    ) -> None:
        """Keep the embeddings of ``identifier``; those it has already stay, unless ``overwrite`` or they are damaged.

        Raises ``InvalidInput`` for what is not vectors of numbers, all of one length, and ``FileError`` when something
        that is no file has the name.
        """
        await run_blocking(partial(self._store, embeddings, identifier, overwrite))

    async def retrieve(self, identifier: Any) -> list[list[float]] | None:
        """The embeddings of ``identifier``; None when there are none, or their file is damaged."""
        return await run_blocking(partial(self._retrieve, identifier))

    async def remove(self, identifier: Any) -> None:
        """Drop the embeddings of ``identifier``. Raises ``FileNotFoundError`` when there are none."""
        await run_blocking(partial(self._remove, identifier))

    async def clear(self) -> None:
        """Drop all embeddings, and no other file."""
        await run_blocking(self._folder.clear)

    store_sync = blocking(store)
    retrieve_sync = blocking(retrieve)
    remove_sync = blocking(remove)
    clear_sync = blocking(clear)

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

    def _retrieve(self, identifier: Any) -> list[list[float]] | None:
        held = self._held(_file_name(identifier))
        return None if held is None else held.tolist()

    def _remove(self, identifier: Any) -> None:
        name = _file_name(identifier)
        if not self._folder.drop(name):
            raise FileNotFoundError(f"File {self._folder.path / name} does not exist.")

    def _held(self, name: str) -> NDArray[Any] | None:
        data = self._folder.read(name)
        return None if data is None else _from_npy(data)


def _check_size(megabytes: object) -> None:
    if not isinstance(megabytes, int | float) or isinstance(megabytes, bool) or not 0 <= megabytes < math.inf:
        raise InvalidInput(f"max_cache_size must be a number of megabytes of at least 0, not {shown(megabytes)}")


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

    Read here, because numpy may execute or allocate what a file asks for.
    """
    if data[:6] != b"\x93NUMPY" or data[6:8] not in (b"\x01\x00", b"\x02\x00"):
        return None
    start = 10 if data[6] == 1 else 12
    end = start + int.from_bytes(data[8:start], "little")
    header = _HEADER.fullmatch(data[start:end])
    if header is None:
        return None
    shape = tuple(int(one) for one in header[3].split(b",") if one.strip())
    try:
        kind = np.dtype(header[1].decode())
        if math.prod(shape) * kind.itemsize != len(data) - end:
            return None
        return np.frombuffer(data, kind, offset=end).reshape(shape, order="F" if header[2] == b"True" else "C")
    except (TypeError, ValueError):
        return None
