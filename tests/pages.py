"""The examples of a page, run as a reader would run them: in a process of their own, in a folder of their own.

Loading the local models costs a process more than most pages do with them. So the pages' processes are forked from one that
has them loaded: ``python tests/pages.py ARITHMETIC`` is that one. It takes a line of JSON for each page and answers with
the status that the page's process ended with.

The arithmetic is how that process multiplies: ``integers-1`` as most processors do, ``floats-2`` as those do that have no
products of 8-bit integers, with two threads. A page's output must be the same with each.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import NamedTuple

# Python leaves ImportWarning out unless it is asked for, and libraries raise it.
_AS_READERS_DO = [sys.executable, "-X", "utf8", "-W", "error", "-W", "ignore::ImportWarning"]
_SECONDS = 100
ARITHMETICS = ("integers-1", "integers-2", "floats-1", "floats-2")
FORKS = sys.platform == "linux"
"""Elsewhere a process that has loaded so much may not be forked, and every page has a new one."""


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def run_alone(script: str, folder: Path) -> Ended:
    """Run a script in a new process."""
    run = subprocess.run(
        [*_AS_READERS_DO, "-c", script], cwd=folder, capture_output=True, text=True, encoding="utf-8",
        timeout=_SECONDS, check=False,
    )  # fmt: skip
    return Ended(run.returncode, run.stdout, run.stderr)


class Pages:
    """Runs scripts one after the other, each in a process that has the models loaded. Close it when they are done with."""

    def __init__(self, arithmetic: str = ARITHMETICS[0]) -> None:
        self._process = subprocess.Popen(
            [*_AS_READERS_DO, __file__, arithmetic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            # The threads of numpy's products; a library reads these when it is loaded.
            env={**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), arithmetic[-1])},
        )

    def run(self, script: str, folder: Path) -> Ended:
        """Run a script; what it prints goes to files that lie where it does not see them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as aside:
            out, err = Path(aside, "out"), Path(aside, "err")
            self._process.stdin.write(json.dumps([script, str(folder), str(out), str(err)]) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            return Ended(status, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8"))

    def close(self) -> None:
        """End the process that the others came from."""
        self._process.communicate()


def _forked() -> bool:
    with warnings.catch_warnings():
        # Newer interpreters warn of threads, which the numerical libraries have and look after themselves.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork() == 0


def _become(folder: str, out: str, err: str) -> None:
    """Make this process what a new one in that folder would be."""
    writable = os.O_WRONLY | os.O_CREAT
    for number, opened in enumerate((os.open(os.devnull, os.O_RDONLY), os.open(out, writable), os.open(err, writable))):
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    sys.path[0] = ""
    sys.argv = ["-c"]
    signal.alarm(_SECONDS)


def _scripts() -> str:
    """Fork a process for every line that comes. Returns, in each of them, the script that it is to run."""
    for line in sys.stdin:
        script, *places = json.loads(line)
        if _forked():
            _become(*places)
            return script
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    return ""


def _multiply_as(arithmetic: str) -> None:
    from memwell.models.local import encoder, reader
    from memwell.models.local import onnx as session

    kind, threads = arithmetic.split("-")
    session.THREADS = int(threads)
    if kind == "floats":
        encoder.integer_type = reader.integer_type = lambda: None


def _main(arithmetic: str) -> None:
    # Here and not above: a test that only asks for a page to be run needs none of it.
    import memwell
    from memwell.models.local import reader

    _multiply_as(arithmetic)
    with memwell.open("memory:") as memory:
        memory.remember("We left off at the trains. 我们说到火车了。")
        memory.recall("我们说到哪儿了？")
    # Its threads do not come along into a fork: each page loads its own.
    reader.fact_reader.cache_clear()
    # What is there now stays; to look through it again would copy it for every page.
    gc.freeze()
    script = _scripts()
    page = types.ModuleType("__main__")
    sys.modules["__main__"] = page
    exec(compile(script, "<string>", "exec", dont_inherit=True), page.__dict__)  # noqa: S102 - to run it is what it was given for


if __name__ == "__main__":
    _main(sys.argv[1])


__all__ = ["ARITHMETICS", "FORKS", "Ended", "Pages", "run_alone"]
