from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from typer.testing import CliRunner

import memwell
from memwell.cli import app
from memwell.cli.doctor import report, versions
from memwell.cli.terminal import console
from memwell.history import History
from memwell.messages import ai, human
from memwell.records import Record, Space
from memwell.storage import open_backend
from tests.engines import postgres, redis


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with something of each kind."""
    path = tmp_path / "chat.db"
    with open_backend(path) as backend:
        history = History(backend, "trip")
        history.add(human("I go to Kyoto."), ai("When?"))
        assert history.search("Kyoto")
        home = Space("acme", "[red]")
        backend.index.upsert(
            [Record(space=home, text=text, id=text, vector=[1.0, 0.0, 2.0]) for text in ("tea", "milk")]
        )
        backend.kv.put(home, "key", {"a": 1})
        backend.blobs.put(home, b"bytes")
    return path


def run(*arguments: object, language: str = "en") -> tuple[int, str]:
    environment = {"MEMWELL_LANGUAGE": language}
    result = CliRunner().invoke(app, ["doctor", *map(str, arguments)], env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout


def damage(store: Path, sql: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(sql)
    connection.close()


def test_a_sound_store_is_called_sound(store: Path):
    code, out = run("--store", store)
    assert code == 0
    assert "Everything agrees." in out
    rows = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[-1].strip() for line in out.splitlines()}
    lines = [line.split() for line in out.splitlines()]
    for expected in (
        ["conversations", "1"],
        ["messages", "2"],
        ["key-value", "entries", "1"],
        ["records", "2"],
        ["vectors", "2"],
        ["blobs", "1"],
        ["SQLite", apsw.sqlite_lib_version()],
        ["memwell", versions()["memwell"]],
        ["integrity", "ok"],
        ["acme", "/", "[red]", "2", "2", "×", "3", "exact"],
    ):
        assert expected in lines, rows


def test_it_writes_data_for_programs(store: Path):
    code, out = run("--store", store, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["problems"] == []
    assert found["versions"]["memwell"] == versions()["memwell"]
    assert found["store"]["messages"] == found["store"]["records"] == 2
    assert found["store"]["bytes"]["store"] == store.stat().st_size


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("DELETE FROM record_vector WHERE key = (SELECT min(key) FROM record_vector)", "vector"),
        ("DELETE FROM message_length WHERE key = (SELECT min(key) FROM message_length)", "word index"),
        ("DELETE FROM record WHERE key = (SELECT min(key) FROM record)", "record"),
        ("UPDATE thread SET indexed_count = 7", "7"),
    ],
)
def test_a_damaged_store_is_called_damaged(store: Path, sql: str, word: str):
    damage(store, sql)
    code, out = run("--store", store)
    assert code == 1
    assert "• " in out
    assert word in out
    assert "Problems found: " in out
    assert "Everything agrees." not in out
    code, out = run("--store", store, "--json")
    assert code == 1
    assert any(word in problem for problem in json.loads(out)["problems"])
    assert "发现的问题" in run("--store", store, language="zh")[1]


def test_torn_pages_are_reported(store: Path):
    raw = bytearray(store.read_bytes())
    raw[4096 * 3 : 4096 * 3 + 2000] = b"\xff" * 2000
    store.write_bytes(raw)
    result = CliRunner().invoke(app, ["doctor", "--store", str(store)])
    assert result.exit_code == 1
    assert "problem" in result.stdout.lower() or "damaged" in str(result.exception)


@pytest.mark.parametrize(("changes", "shown"), [(None, "exact"), (0, "up to date"), (12, "12 changes behind")])
def test_the_state_of_a_graph_is_told(capsys: pytest.CaptureFixture[str], changes: int | None, shown: str):
    space = {"space": ["a"], "records": 1_234, "vectors": 1_000, "dimensions": 3, "changes_since_graph": changes}
    report({"versions": {}, "problems": [], "store": {"kind": "x", "spaces": [space]}}, console(width=80))
    out = capsys.readouterr().out
    assert shown in out
    assert "1,234" in out
    assert "1,000 × 3" in out


def test_what_memwell_keeps_for_itself_is_not_counted(store: Path):
    with memwell.open(store, embedder=None) as m:
        for space, texts in ((Space("acme", "ann"), ["tea", "milk", "rice"]), ("bob", ["fish"])):
            m.at(space).remember(texts)
            m.at(space).flush()
    code, out = run("--store", store, "--json")
    found = json.loads(out)["store"]
    assert code == 0
    assert (found["threads"], found["messages"]) == (1, 2)
    assert [one["space"] for one in found["spaces"]] == [["acme", "[red]"], ["acme", "ann"], ["bob"]]


def test_nor_what_was_never_worked_off(store: Path):
    with memwell.open(store, embedder=None, work=False) as m:
        m.remember("tea")
    code, out = run("--store", store, "--json")
    found = json.loads(out)["store"]
    assert (code, found["threads"], found["messages"]) == (0, 1, 2)


@pytest.fixture
def owing(tmp_path: Path) -> Path:
    """A store with memories that are not worked off."""
    path = tmp_path / "shelf" / "app.db"
    path.parent.mkdir()
    with memwell.open(path, work=False, embedder=None) as m:
        m.remember(["tea", "milk"])
        # So many that catching up leaves their vectors to others.
        m.at("bob").remember([f"fish number {number}" for number in range(30)])
        m.at("bob").catch_up()
    return path


def test_what_is_owed_is_told_by_space(owing: Path):
    code, out = run("--store", owing)
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["default", "2", "2"] in lines
    assert ["bob", "0", "30"] in lines
    assert "memwell flush" in out
    assert "尚未处理完" in run("--store", owing, language="zh")[1]
    assert {"space": ["bob"], "words": 0, "vectors": 30} in json.loads(run("--store", owing, "--json")[1])["pending"]


@pytest.mark.usefixtures("unprivileged")
def test_a_store_that_can_only_be_read_has_no_problem_but_a_note(owing: Path):
    owing.chmod(0o444)
    owing.parent.chmod(0o555)
    try:
        code, out = run("--store", owing)
        assert code == 0
        assert "Everything agrees." in out
        assert "can only be read here" in out
        assert "where the store can be written" in " ".join(out.split())
        assert json.loads(run("--store", owing, "--json")[1])["problems"] == []
        assert "只能读取" in run("--store", owing, language="zh")[1]
    finally:
        owing.parent.chmod(0o755)


@pytest.mark.usefixtures("unprivileged")
def test_damage_is_found_in_a_store_that_can_only_be_read(store: Path):
    damage(store, "DELETE FROM message_length WHERE key = (SELECT min(key) FROM message_length)")
    store.chmod(0o444)
    store.parent.chmod(0o555)
    try:
        code, out = run("--store", store)
    finally:
        store.parent.chmod(0o755)
    assert code == 1
    assert "word index" in out


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis", "composed", "composed on postgres"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each kind with something in it, but for the one that would be gone before it is looked at."""
    cache = redis.single_url(tmp_path)
    url = {
        "memory": "memory:",
        "sqlite": f"sqlite:{tmp_path / 'a.db'}",
        "postgres": postgres.store_url(tmp_path),
        "redis": cache,
        "composed": f"sqlite:{tmp_path / 'a.db'},log={cache},index=sqlite:{tmp_path / 'b.db'},blobs=files:{tmp_path / 'f'}",
        "composed on postgres": f"{postgres.store_url(tmp_path)},kv={cache}",
    }[request.param]
    with open_backend(url) as backend:
        History(backend, "trip").add(human("I go to Kyoto."), ai("When?"))
        home = Space("acme")
        backend.kv.put(home, "key", {"a": 1})
        if url != cache:
            backend.index.upsert([Record(space=home, text="tea", id="tea", vector=[1.0, 0.0, 2.0])])
            backend.blobs.put(home, b"bytes")
    return url


def test_a_store_of_any_kind_is_looked_over(anywhere: str):
    code, out = run("--store", anywhere)
    assert (code, "Everything agrees." in out) == (0, True)
    assert json.loads(run("--store", anywhere, "--json")[1])["problems"] == []
    if anywhere.startswith("postgresql:"):
        assert "stands: a session sees" in " ".join(out.split())


def test_the_size_and_the_wall_of_a_server_are_shown(tmp_path: Path):
    postgres.open_store(tmp_path).close()
    rows = [line.split("  ")[0] for line in run("--store", postgres.store_url(tmp_path))[1].splitlines()]
    assert {"wall between spaces", "size", "durability"} <= set(rows)
    assert "空间之间的隔离" in run("--store", postgres.store_url(tmp_path), language="zh")[1]
    _, out = run("--store", postgres.server().url(user=postgres.ADMIN, schema=postgres.schema_of(tmp_path)))
    assert "open: the role is a superuser" in " ".join(out.split())
