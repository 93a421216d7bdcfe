"""A service in a process of its own, as a user starts it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from memwell.records import Space
from memwell.service.keys import SCOPES, Keys
from memwell.storage import open_backend

_TICK = os.sysconf("SC_CLK_TCK")


def make_key(store: Path | str, space: str = "default", name: str = "load") -> str:
    """A key without a limit of its own."""
    with open_backend(store) as backend:
        return Keys(backend).create(name, space=Space(space), scopes=SCOPES, rate=0)[1]


class Served:
    """``memwell serve`` over a store, on a free port."""

    def __init__(self, store: Path | str, **environment: str) -> None:
        command = [sys.executable, "-m", "memwell", "serve", "--store", str(store), "--port", "0", "--no-browser"]
        source = str(Path(__file__).parents[2] / "src")
        self._process = subprocess.Popen(
            [*command, "--log", "off"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source, "COLUMNS": "200", **environment},
        )
        self.port = self._read_port()

    def _read_port(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError("the service did not start")

    def wait_ready(self) -> None:
        """Until its models are loaded."""
        while True:
            line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                line.request("GET", "/health/ready")
                if line.getresponse().status == 200:
                    return
            finally:
                line.close()
            time.sleep(0.2)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def cpu(self) -> float:
        """Seconds of CPU the process has taken so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    @property
    def memory_mb(self) -> float:
        """How much memory it holds."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[float, int]:
        """End it; how long that took, and its exit code."""
        begun = time.monotonic()
        self._process.send_signal(how)
        code = self._process.wait(60)
        return time.monotonic() - begun, code


__all__ = ["Served", "make_key"]
