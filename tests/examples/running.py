"""An example run as a reader would run it: in a process of its own, in an empty folder, with warnings as errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.pages import Pages, run_alone

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Printed = Callable[..., str]
"""What an example prints: called with its name, the folder to run it in, and its arguments."""


def printed_by(pages: Pages | None, example: str, folder: Path, *arguments: str) -> str:
    """What an example prints, in a process forked from one that has the models loaded, or in a new one."""
    path = str(EXAMPLES / example)
    as_started = f"sys.argv, sys.path[0] = {[path, *arguments]!r}, {str(EXAMPLES)!r}"
    script = f"import runpy, sys\n{as_started}\nrunpy.run_path({path!r}, run_name='__main__')"
    done = run_alone(script, folder) if pages is None else pages.run(script, folder)
    assert done.status == 0, done.err
    return done.out


__all__ = ["EXAMPLES", "Printed", "printed_by"]
