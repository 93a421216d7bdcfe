"""The commands backup and restore: what they print, in both languages, and how they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Formatter

import pytest

import memwell
from memwell.cli.backup import _PHRASES, _REFUSALS
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage import open_backend
from memwell.storage.sqlite import backup as files
from tests.commands import Run, running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(Space("acme"), "tea", "绿茶")
    return running(capsys, monkeypatch, tmp_path)


def value(path: Path) -> object:
    with open_backend(path) as store:
        entry = store.kv.get(Space("acme"), "tea")
        return entry and entry.value


def test_a_store_goes_out_and_comes_back(run: Run, tmp_path: Path):
    made = run("backup", "copy.db", "--store", "app.db")
    assert (made.code, made.err) == (0, "")
    assert "1 key-value entries" in made.out
    assert "Opened again and checked" in made.out
    digest = (tmp_path / "copy.db.sha256").read_text().split()[0]
    assert f"SHA-256 {digest}" in made.out
    back = run("restore", "copy.db", "--store", "new.db")
    assert back.code == 0
    assert digest in back.out
    assert value(tmp_path / "new.db") == "绿茶"


def test_it_speaks_chinese(run: Run):
    assert "已备份到 copy.db" in run("backup", "copy.db", "-s", "app.db", language="zh").out
    assert "已核对 SHA-256" in run("restore", "copy.db", "-s", "new.db", language="zh").out
    refused = run("restore", "copy.db", "-s", "new.db", language="zh")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "已存在" in refused.err


def test_a_folder_keeps_so_many(run: Run, tmp_path: Path):
    (tmp_path / "backups").mkdir()
    for _ in range(3):
        told = json.loads(run("backup", "backups", "-s", "app.db", "--keep", "2", "--json").out)
    assert len(told["removed"]) == 1
    assert told["counts"]["entries"] == 1
    assert len(list((tmp_path / "backups").glob("app-*.db"))) == 2
    assert "Older backups removed: 1" in run("backup", "backups", "-s", "app.db", "--keep", "2").out


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("backups", "--keep", "14"), "backups"),
        (("backups",), "backups"),
        (("some.where/",), "some.where"),
        (("old/backups/2026",), "old/backups/2026"),
        (("back.ups", "--keep", "1"), "back.ups"),
    ],
)
def test_a_folder_is_made(run: Run, tmp_path: Path, arguments: tuple[str, ...], folder: str):
    for _ in range(2):
        made = run("backup", *arguments, "-s", "app.db")
        assert (made.code, made.err) == (0, "")
    names = [one.name for one in (tmp_path / folder).glob("*.db")]
    assert len(names) == (1 if "1" in arguments else 2)
    assert all(re.fullmatch(r"app-\d{8}T\d{6}Z(-2)?\.db", name) for name in names)


def test_no_folder_is_made_for_a_backup_that_is_refused(run: Run, tmp_path: Path):
    (tmp_path / "note").write_text("mine")
    for arguments in (
        ("backups", "--keep", "0", "-s", "app.db"),
        ("backups", "-s", "nothing.db"),
        ("backups", "-s", "memory:"),
        ("note/", "-s", "app.db"),
    ):
        refused = run("backup", *arguments)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), arguments
    assert {one.name for one in tmp_path.iterdir()} == {"app.db", "note"}


def test_people_and_the_doctor_count_alike(run: Run, tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(16)) as memory:
        memory.thread("tea").add_human("Which tea?")
        memory.remember([f"Guest {number} drinks tea." for number in range(30)])
        memory.at("other").remember("绿茶")
    seen = json.loads(run("doctor", "-s", "app.db", "--json").out)["store"]
    assert (seen["threads"], seen["messages"]) == (1, 1)
    made = json.loads(run("backup", "copy.db", "-s", "app.db", "--json").out)
    assert made["counts"] == {name: seen[name] for name in made["counts"]}
    assert "1 messages in 1 conversations" in run("backup", "copy.db", "-s", "app.db").out
    back = json.loads(run("restore", "copy.db", "-s", "new.db", "--json").out)
    assert back["counts"] == made["counts"]
    assert json.loads(run("doctor", "-s", "new.db", "--json").out)["store"]["messages"] == 1


def test_force_moves_the_store_aside(run: Run, tmp_path: Path):
    run("backup", "copy.db", "-s", "app.db")
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(Space("acme"), "tea", "later")
    told = json.loads(run("restore", "copy.db", "-s", "app.db", "--force", "--json").out)
    assert value(tmp_path / "app.db") == "绿茶"
    assert value(Path(told["aside"])) == "later"
    (tmp_path / "copy.db.sha256").unlink()
    again = run("restore", "copy.db", "-s", "app.db", "--force").out
    assert "only its integrity was checked" in again
    assert "kept as app.db.before-restore-" in again


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_refusal_is_one_line(run: Run, tmp_path: Path, language: str):
    run("backup", "copy.db", "-s", "app.db")
    (tmp_path / "note").write_text("mine")
    (tmp_path / "torn.db").write_bytes((tmp_path / "copy.db").read_bytes()[:5000])
    (tmp_path / "other.db").write_bytes((tmp_path / "copy.db").read_bytes())
    (tmp_path / "other.db.sha256").write_text("0" * 64 + "  other.db\n")
    before = (tmp_path / "app.db").read_bytes()
    for arguments in (
        ("backup", "app.db"),
        ("backup", "note"),
        ("backup", "no/where.db"),
        ("backup", "copy.db", "--keep", "2"),
        ("backup", ".", "--keep", "0"),
        ("restore", "copy.db"),
        ("restore", "note"),
        ("restore", "nothing"),
        ("restore", "torn.db", "--force"),
        ("restore", "other.db", "--force"),
    ):
        refused = run(*arguments, "-s", "app.db", language=language)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1), arguments
        assert bool(re.search("[\u4e00-\u9fff]", refused.err)) == (language == "zh")
    assert (tmp_path / "app.db").read_bytes() == before


def test_only_a_file_can_be_backed_up_and_looking_makes_none(run: Run, tmp_path: Path):
    assert "memory:" in run("backup", "copy.db", "-s", "memory:").err
    assert run("backup", "copy.db", "-s", "nothing.db").code == 1
    assert {one.name for one in tmp_path.iterdir()} == {"app.db"}


def test_every_refusal_has_its_phrase():
    assert set(_REFUSALS) == set(files._REFUSALS)
    for code, key in _REFUSALS.items():
        needed = {name for _, name, _, _ in Formatter().parse(files._REFUSALS[code]) if name}
        for phrase in _PHRASES[key]:
            assert {name for _, name, _, _ in Formatter().parse(phrase) if name} == needed
