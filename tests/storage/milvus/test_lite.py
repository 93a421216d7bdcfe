"""A file of Milvus is let go of when nobody has it open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memwell.records import Record, Space
from memwell.storage.milvus import MilvusVectors
from tests.engines.milvus import lite_url

HOME = Space("home")
COUNT = """
import sys
from memwell.records import Space
from memwell.storage.milvus import MilvusVectors
from memwell.errors import BackendUnavailable
try:
    print(MilvusVectors(sys.argv[1]).count(Space("home")))
except BackendUnavailable as error:
    print(error)
"""


def _elsewhere(url: str) -> str:
    done = subprocess.run([sys.executable, "-c", COUNT, url], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_last_to_close_lets_another_process_have_it(tmp_path: Path):
    url = lite_url(tmp_path)
    one, other = MilvusVectors(url), MilvusVectors(url)
    one.store(HOME, [Record(id=str(n), text="", space=HOME, vector=[1, n]) for n in range(5)])
    identity = one.identity(2)
    one.close()
    one.close()
    assert other.identity(2) == identity
    assert "another process" in _elsewhere(url)
    other.close()
    assert _elsewhere(url) == "5"
