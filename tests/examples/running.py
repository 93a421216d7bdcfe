"""An example run as a reader would run it: in a process of its own, in an empty folder, with warnings as errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def printed_by(example: str, folder: Path, language: str) -> str:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(EXAMPLES / example), "--language", language],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == [], "it leaves nothing behind"
    return done.stdout
