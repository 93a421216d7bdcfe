"""What users write, as their type checkers see it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir"],
    "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
}
GOOD = """
from collections.abc import Iterable
from typing import TypedDict
import memwell

class Sent(TypedDict):
    role: str
    content: str

def send(messages: Iterable[Sent]) -> None: ...

with memwell.open("app.db") as m:
    m.remember("Ann likes tea.")
    texts: list[str] = [hit.text for hit in m.recall("tea?")]
    send(m.context("tea?", budget=400).openai())
"""
MISSPELT = {
    "import memwell\nmemwell.opn('app.db')\n": "opn",
    "from memwell import knowledge\nknowledge.Knowledg\n": "Knowledg",
    "from memwell.compat import langchain\nlangchain.ConversationBuferMemory\n": "ConversationBuferMemory",
}


def check(checker: str, tmp_path: Path, *files: Path) -> tuple[int, str]:
    command = [*CHECKERS[checker], *([str(tmp_path / "cache")] if checker == "mypy" else []), *map(str, files)]
    # In a folder without settings of its own, as a user's may be.
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_what_is_right_passes_and_what_is_misspelt_does_not(checker: str, tmp_path: Path) -> None:
    good = tmp_path / "good.py"
    good.write_text(GOOD)
    wrong = {tmp_path / f"wrong{number}.py": (text, name) for number, (text, name) in enumerate(MISSPELT.items())}
    for path, (text, _) in wrong.items():
        path.write_text(text)
    examples = [Path(shutil.copy(one, tmp_path)) for one in EXAMPLES]
    code, said = check(checker, tmp_path, good, *examples, *wrong)
    assert code == 1, said
    errors = [line for line in said.splitlines() if "error:" in line]
    assert len(errors) == len(wrong), said
    for (path, (_, name)), line in zip(wrong.items(), sorted(errors), strict=True):
        assert path.name in line
        assert name in line
