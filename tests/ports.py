"""An address at which certainly nothing answers, whatever else runs on the machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses every connection.

    It is bound, so that no other program gets it meanwhile, but nothing listens on it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


__all__ = ["closed_port"]
