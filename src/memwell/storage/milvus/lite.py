"""Milvus in a file: milvus-lite runs a server for it inside this process, and stops it when nobody has the file open.

It locks the file, so one process at a time can have it. pymilvus would keep it until the process ends.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from memwell.errors import ConfigurationError

# The server inside answers frequent signs of life with an end of the connection, and both say so on the error stream.
QUIET: dict[str, Any] = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}


class _Unasked(logging.Filter):
    """pymilvus asks for calls that the server inside does not have, and does without them: nobody's error."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.exc_info is None or record.exc_info[0] is not NotImplementedError


logging.getLogger("grpc._server").addFilter(_Unasked())

_lock = threading.Lock()
_users: Counter[str] = Counter()


def held_file(path: str) -> str:
    """The file, to be released again. Raises ``ConfigurationError`` for a name that pymilvus takes for no file."""
    place = Path(path).expanduser()
    if not path or place.suffix != ".db":
        raise ConfigurationError("the file of a Milvus ends in .db: milvus:vectors.db")
    with _lock:
        file = str(place.absolute())
        _users[file] += 1
        return file


def release(file: str) -> None:
    """Have it no longer. The last one stops the server."""
    with _lock:
        _users[file] -= 1
        if _users[file] > 0:
            return
        del _users[file]
        # Only who has such a file needs the package.
        importlib.import_module("milvus_lite.server_manager").server_manager_instance.release_server(file)
