"""A service in a thread of this process, on a free port: for tests of what calls it, and for notebooks."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memwell._asyncify import Closing
from memwell.errors import ConfigurationError
from memwell.records import SpaceLike, as_space
from memwell.runtime.engine import open as open_memory
from memwell.service.keys import SCOPES
from memwell.service.parts import Service
from memwell.service.server import address_of, web_server
from memwell.settings import load_settings
from memwell.storage import Backend

_PATIENCE_S = 30.0


class Local(Closing):
    """A running service: ``url`` is where, ``key`` opens its default space, and ``key_for`` makes keys for others.

    ``with Local("memory:") as served: m = memwell.open(served.url, key=served.key)``. Options are those of
    ``memwell.open``. Raises what ``memwell.open`` raises, and ``ConfigurationError`` when the service does not start.
    """

    def __init__(self, store: str | Path | Backend = "memory:", **options: Any) -> None:
        settings = replace(options.pop("settings", None) or load_settings(), serve_host="127.0.0.1", serve_port=0)
        self.service = Service(open_memory(store, settings=settings, **options), settings)
        self.key = self.key_for(self.service.engine.space)
        self._server, listening = web_server(self.service)
        self.url = address_of(settings, listening.getsockname()[1])
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="memwell-service", daemon=True
        )
        self._thread.start()
        self._wait()

    def key_for(self, space: SpaceLike, *scopes: str) -> str:
        """The token of a new key for a space; without scopes it may do everything."""
        return self.service.keys.create("local", space=as_space(space), scopes=scopes or SCOPES)[1]

    def _wait(self) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise ConfigurationError("the service did not start; its log says why")
            time.sleep(0.005)

    def close(self) -> None:
        """Stop it, and close the store."""
        self._server.should_exit = True
        self._thread.join(_PATIENCE_S)
