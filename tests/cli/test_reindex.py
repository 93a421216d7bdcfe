"""``memwell reindex`` mends what stands beside a store, and says so in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memwell.cli import main
from memwell.records import Record, Space
from memwell.storage.composed import StoreVectors
from memwell.storage.registry import open_backend
from memwell.storage.sqlite import SqliteBackend

HOME = Space("home")


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"{tmp_path}/a.db,index=sqlite:{tmp_path}/v.db,blobs=files:{tmp_path}/bytes"
    with open_backend(made) as backend:
        backend.index.upsert([Record(id=str(n), text="", space=HOME, vector=[1, n]) for n in range(5)])
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["reindex", *arguments])
    said = capsys.readouterr()
    return ended.value.code if isinstance(ended.value.code, int) else 0, said.out + said.err


def test_what_is_missing_is_fed_and_what_is_too_much_goes(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run(capsys, "--store", url)
    with SqliteBackend(tmp_path / "v.db") as there:
        engine = StoreVectors(there)
        engine.drop(HOME, ["1", "2"])
        engine.store(HOME, [Record(id="ghost", text="", space=HOME, vector=[1, 1])])
    code, said = run(capsys, "--store", url)
    assert (code, "without: 2" in said, "too many: 1" in said, "refers to were removed: 0" in said) == (
        0,
        True,
        True,
        True,
    )
    with SqliteBackend(tmp_path / "v.db") as there:
        assert sorted(StoreVectors(there).ids(HOME)) == list("01234")


def test_it_is_made_anew_from_the_rows(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "v.db").unlink(missing_ok=True)
    code, said = run(capsys, "--store", url, "--rebuild", "--space", "home", "--json")
    assert (code, json.loads(said)) == (0, {"name": "sqlite", "spaces": 1, "blobs_removed": 0})
    with SqliteBackend(tmp_path / "v.db") as there:
        assert StoreVectors(there).count(HOME) == 5
    monkeypatch.setenv("MEMWELL_LANGUAGE", "zh")
    assert "已根据存储中的数据重建" in run(capsys, "--store", url, "--rebuild")[1]


def test_a_store_of_one_part_has_nothing_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    open_backend(tmp_path / "a.db").close()
    code, said = run(capsys, "--store", str(tmp_path / "a.db"))
    assert code == 1
    assert "index=milvus:vectors.db" in said


def test_looking_makes_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, said = run(capsys, "--store", f"{tmp_path}/no.db,index=memory:")
    assert code == 1
    assert "no.db" in said
    assert list(tmp_path.iterdir()) == []
