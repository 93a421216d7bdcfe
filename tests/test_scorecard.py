"""The scorecard runs, and its page has what was found."""

from __future__ import annotations

import json
import random
from pathlib import Path

import apsw
import pytest

from benchmarks.crash import disks
from benchmarks.crash.disks import Step
from benchmarks.scorecard.__main__ import KEPT, PAGE, ROWS, in_process, page

PATIENCE_S = 110.0


@pytest.mark.parametrize(
    ("row", "store", "count"),
    [
        (2, "sqlite", 4), (3, "encrypted", 20), (4, "sqlite", 20), (4, "encrypted", 20), (8, "encrypted", 2),
        (12, "sqlite", 90), (13, "sqlite", 20), (16, "sqlite", 20), (22, "sqlite", 2_000),
    ],
)  # fmt: skip
def test_a_row_runs_and_finds_nothing(row: int, store: str, count: int) -> None:
    found = in_process(row, store, count, PATIENCE_S)
    assert (found["wrong"], found["stories"]) == (0, [])
    assert found["tried"] >= count


def test_a_row_runs_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = in_process(22, "sqlite", 10, PATIENCE_S)
    assert (found["tried"], found["wrong"]) == (10, 0)


def test_a_row_that_takes_too_long_is_ended_and_counts_as_wrong() -> None:
    found = in_process(22, "sqlite", 10**9, 3.0)
    assert (found["tried"], found["wrong"]) == (0, 1)


def test_the_page_has_what_was_found() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(kept)
    assert {one["row"] for one in kept["rows"]} == set(ROWS)


def test_what_was_not_synced_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    """The disk of the fourth row can lose something."""
    files = disks.CrashingFiles()
    for step in (Step("write", "a", 0, b"old"), Step("sync", "a"), Step("write", "a", 0, b"new")):
        files.take(step)
    found: set[bytes] = set()
    for seed in range(40):
        files.cut(tmp_path, random.Random(seed))
        found.add((tmp_path / "a").read_bytes())
    assert found == {b"old", b"new"}
    assert apsw.vfs_names()[0] != "multipleciphers-disk", "only the process of a row has such a disk"
