"""A way to the disk that writes zeros over the unused part of every page.

With ``secure_delete`` SQLite overwrites what it deletes. But when it moves rows to another page, it rebuilds the page and
leaves their bytes in the gap between the list of cells and the cells. A row that is deleted later is overwritten where it
is now; the copy in the gap stays. So checkpoints, which are all that writes to the file of a store, go through this VFS.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import apsw

_HEADER = 100
"""The first page begins with the header of the file."""
_TREE = {2: 12, 5: 12, 10: 8, 13: 8}
"""The first byte of each kind of B-tree page, and the size of its header."""
_SMALLEST = 512
_MOST_PAGES = 2**24
"""Other pages begin with the number of a page: from 2**25 on its first byte may be that of a B-tree page. A store of this
size, 64 GiB, is written as it is.
"""


def is_too_large(file: int, page: int) -> bool:
    """Whether a file of this size is written as it is, for pages of this size."""
    return file >= _MOST_PAGES * page


def zeroed(page: bytes, offset: int) -> bytes:
    """A page of a B-tree with zeros in its gap; any other page as it is."""
    start = 0 if offset else _HEADER
    header = _TREE.get(page[start]) if len(page) >= _SMALLEST else None
    if header is None:
        return page
    cells, content = int.from_bytes(page[start + 3 : start + 5]), int.from_bytes(page[start + 5 : start + 7])
    begin, end = start + header + 2 * cells, content or len(page)
    if begin >= end or end > len(page) or page.count(0, begin, end) == end - begin:
        return page
    return b"".join((page[:begin], bytes(end - begin), page[end:]))


class _File(apsw.VFSFile):
    def __init__(self, base: str, name: Any, flags: list[int]) -> None:
        super().__init__(base, name, flags)
        self._size = self.xFileSize()

    def xWrite(self, data: Any, offset: int) -> None:
        super().xWrite(data if is_too_large(self._size, len(data)) else zeroed(data, offset), offset)


class _Zeroing(apsw.VFS):
    def __init__(self, name: str, base: str) -> None:
        self._base = base
        super().__init__(name, base)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return (_File if flags[0] & apsw.SQLITE_OPEN_MAIN_DB else apsw.VFSFile)(self._base, name, flags)


@cache
def _registered(base: str) -> _Zeroing:
    # The cache keeps it alive, as SQLite does not.
    return _Zeroing(f"memwell-zeroing-{base}", base)


def zeroing_vfs(base: str | None) -> str:
    """The name of the VFS over another, or over the default one."""
    chosen = base or apsw.vfs_names()[0]
    _registered(chosen)
    return f"memwell-zeroing-{chosen}"
