"""Waking those who listen in other processes, by publishing. Who is not connected at that moment hears nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from memwell.storage.redis.running import Runner
from memwell.storage.redis.servers import LateAnswer, Lost, LostConnection

_AGAIN_S = 0.5


class Waking:
    """The one channel of a store. In a cluster every server passes on what is published on any."""

    def __init__(self, runner: Runner, prefix: str) -> None:
        self._runner = runner
        self._channel = f"{prefix}:topics"
        self._listeners: list[_Listener] = []

    def notify(self, topic: str) -> None:
        """Wake whoever listens."""
        self._runner.commands(("PUBLISH", self._channel, topic))

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call ``heard`` with every topic, in a thread, until the returned function is called."""
        listener = _Listener(self._runner, self._channel, heard)
        self._listeners.append(listener)
        return listener.stop

    def close(self) -> None:
        """Stop listening."""
        for listener in self._listeners:
            listener.stop()


class _Listener:
    def __init__(self, runner: Runner, channel: str, heard: Callable[[str], None]) -> None:
        self._runner = runner
        self._channel = channel
        self._heard = heard
        self._stopped = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memwell-redis-topics", daemon=True)
        self._thread.start()
        # What is published after ``listen`` has returned is heard, as long as the server can be reached.
        self._ready.wait(_AGAIN_S)

    def stop(self) -> None:
        """Hear no more."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5)

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(Lost, LostConnection, OSError):
                self._hear(self._runner.servers.of_slot(0).connected())
            self._stopped.wait(_AGAIN_S)

    def _hear(self, connection: Any) -> None:
        try:
            connection.send_command("SUBSCRIBE", self._channel, check_health=False)
            connection.read_response()
            self._ready.set()
            while not self._stopped.is_set():
                if connection.can_read(0.1):
                    self._heard(connection.read_response()[2].decode())
        except LateAnswer:
            return
        finally:
            connection.disconnect()


__all__ = ["Waking"]
