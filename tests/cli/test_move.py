"""The command move: what it prints in both languages, how it refuses, and that it shows no secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memwell.cli.move import _REFUSALS, _without_secrets
from memwell.cli.phrases import say
from memwell.errors import ReadOnlyStore
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.runtime.transfer import MoveRefused
from memwell.runtime.transfer.moving import _REFUSALS as CODES
from memwell.storage import open_backend
from tests.commands import Run, running

ACME = Space("acme")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "绿茶")
        store.log.append(Thread(ACME, "t"), [human("one"), human("two")])
        store.index.upsert([Record(id="r", text="green tea", space=ACME, vector=[1.0, 2.0])])
    return running(capsys, monkeypatch, tmp_path)


def test_a_store_is_moved_and_stays_open(run: Run, tmp_path: Path):
    done = run("move", "app.db", "new.db")
    assert (done.code, done.err) == (0, "")
    assert "1 space, 1 conversation, 2 messages, 1 entry, 1 record, 0 blobs. Written this time: 3." in done.out
    assert "app.db is still open" in done.out
    assert "--seal" in done.out
    with open_backend(tmp_path / "new.db") as store:
        assert [hit.record.id for hit in store.index.match(ACME, "tea")] == ["r"]


def test_again_it_copies_the_difference_and_seals(run: Run, tmp_path: Path):
    run("move", "app.db", "sqlite:new.db")
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "红茶")
    done = run("move", "app.db", "sqlite:new.db", "--seal")
    assert done.code == 0
    assert "Written this time: 1." in done.out
    assert "app.db is sealed" in done.out
    with open_backend(tmp_path / "app.db") as store, pytest.raises(ReadOnlyStore, match=r"moved to sqlite:new\.db"):
        store.kv.put(ACME, "tea", "lost")
    with open_backend(tmp_path / "new.db") as store:
        found = store.kv.get(ACME, "tea")
        assert found is not None
        assert found.value == "红茶"


def test_a_move_that_was_finished_can_be_run_again(run: Run, tmp_path: Path):
    run("move", "app.db", "new.db", "--seal")
    again = run("move", "app.db", "new.db", "--seal")
    assert (again.code, again.err) == (0, "")
    assert "This move was finished before" in again.out
    with open_backend(tmp_path / "new.db") as store:
        store.kv.put(ACME, "coffee", 1)
    used = run("move", "app.db", "./new.db", "--seal")
    assert (used.code, "has been written to since" in used.out) == (0, True)
    assert "此前已经完成" in run("move", "app.db", "new.db", "--seal", language="zh").out
    told = json.loads(run("move", "app.db", "new.db", "--seal", "--json").out)
    assert (told["finished_before"], told["written_since"], told["copied"]) == (True, True, 0)


def test_a_seal_is_lifted(run: Run, tmp_path: Path):
    assert "is not sealed" in run("unseal", "app.db").out
    run("move", "app.db", "new.db", "--seal")
    done = run("unseal", "app.db")
    assert (done.code, "takes writes again. It was sealed: moved to new.db." in done.out) == (0, True)
    with open_backend(tmp_path / "app.db") as store:
        store.kv.put(ACME, "tea", "again")
    assert "没有封存" in run("unseal", "app.db", language="zh").out
    run("move", "app.db", "new.db", "--seal")
    assert "可以重新写入了" in run("unseal", "app.db", language="zh").out
    assert run("unseal", "nowhere.db").code == 1


def test_it_speaks_chinese(run: Run):
    done = run("move", "app.db", "new.db", language="zh")
    assert "逐部分核对" in done.out
    assert "仍可写入" in done.out
    refused = run("move", "new.db", "app.db", language="zh")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "目标已有别的内容" in refused.err


def test_for_programs_it_prints_json(run: Run):
    told = json.loads(run("move", "app.db", "new.db", "--seal", "--json").out)
    assert (told["records"], told["messages"], told["sealed"], told["changing"]) == (1, 2, True, [])


def test_what_would_destroy_something_is_refused(run: Run, tmp_path: Path):
    with open_backend(tmp_path / "other.db") as store:
        store.kv.put(ACME, "mine", 1)
    for target, said in (("other.db", "something else"), ("app.db", "same store"), ("memory:", "ends with this")):
        refused = run("move", "app.db", target)
        assert refused.code == 1
        assert said in refused.err
        assert refused.err.count("\n") == 1
    assert run("move", "nowhere.db", "new.db").code == 1
    assert not (tmp_path / "nowhere.db").exists()
    assert "service" in run("move", "app.db", "http://memory.example").err


def test_every_refusal_has_words_in_both_languages():
    assert set(_REFUSALS) == set(CODES)
    for code, key in _REFUSALS.items():
        assert say(key, "en").rstrip(".").lower() == str(MoveRefused(code)).lower()
        assert say(key, "zh") != say(key, "en")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("app.db", "app.db"),
        ("sqlite:a@b.db", "sqlite:a@b.db"),
        ("postgresql://ann:pw@db:5432/app?schema=m", "postgresql://db:5432/app?schema=m"),
        ("postgresql://ann:p/w@x@db/app", "postgresql://db/app"),
        ("postgresql://db/app?password=pw&schema=m", "postgresql://db/app?password=…&schema=m"),
        ("postgresql://db/app?password=p@pw&schema=m", "postgresql://db/app?password=…&schema=m"),
        ("redis://:pw@cache/0", "redis://cache/0"),
        (
            "postgresql://a:pw@db/app,log=redis://:pw@cache,index=milvus://u:pw@m:19530",
            "postgresql://db/app,log=redis://cache,index=milvus://m:19530",
        ),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str):
    assert _without_secrets(url) == shown
    assert "pw" not in shown
