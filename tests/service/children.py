"""Services in processes of their own, with the sources of this checkout and no setting but those that a test makes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from tests.service.waiting import PATIENCE_S

_SOURCES = str(Path(__file__).parents[2] / "src")


def environment(**settings: str) -> dict[str, str]:
    """What a process finds in its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMWELL_")}
    paths = [_SOURCES, *kept.pop("PYTHONPATH", "").split(os.pathsep)]
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **settings}


class Child:
    """A script that serves, in a process of its own, which a signal can reach. It prints its address when it serves."""

    def __init__(self, script: str, *arguments: str, **settings: str) -> None:
        self._command = [sys.executable, "-c", script, *arguments]
        self._environment = environment(MEMWELL_SERVE_PORT="0", MEMWELL_SERVE_LOG="off", **settings)
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self, stderr: IO[str] | int | None = None) -> None:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=self._environment
        )

    def wait(self) -> None:
        """Until it serves."""
        self.address = self.line()

    def line(self, *, strip: bool = True) -> str:
        """What it prints next; nothing when it has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return line.strip() if strip else line

    @property
    def port(self) -> int:
        """Raises ``ConnectionRefusedError`` while it does not serve."""
        if not self.address:
            raise ConnectionRefusedError
        return int(self.address.rpartition(":")[2])

    def ask(self, token: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """The status and the body of an answer, decoded where it is JSON."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            said = None if body is None else json.dumps(body)
            line.request(method, path, said, {"Authorization": f"Bearer {token}", **named})
            answer = line.getresponse()
            told = answer.read()
            return answer.status, json.loads(told) if "json" in answer.headers["content-type"] else told
        finally:
            line.close()

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Send a signal; what the process ended with, and what it printed until then."""
        process, self._process, self.address = self._process, None, ""
        if process is None:
            return 0, ""
        process.send_signal(how)
        assert process.stdout is not None
        # Not by communicate, which would lose what was read ahead of the last line.
        with process.stdout:
            said = process.stdout.read()
        return process.wait(PATIENCE_S), said.strip()


_COMMAND = "import sys; from memwell.cli import main; main(sys.argv[1:])"


def serve_command(*options: str, **settings: str) -> Child:
    """The command ``memwell serve``, in English, on a free port and without a browser."""
    return Child(_COMMAND, "serve", "--port", "0", "--no-browser", *options, **{"MEMWELL_LANGUAGE": "en", **settings})


def served_once(command: Child, stderr: IO[str] | int | None = None) -> str:
    """What the command says from its start to its end, with one question to it in between."""
    command.start(stderr)
    try:
        command.wait()
        first = command.address
        assert command.ask("", "GET", "/health/live")[0] == 200
        code, rest = command.end(signal.SIGTERM)
    finally:
        command.end(signal.SIGKILL)
    assert code == 0, rest
    return f"{first}\n{rest}"
