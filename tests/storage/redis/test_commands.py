"""What the commands say of a store in Redis: how durable it is, and why it takes no writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwell.storage import open_backend
from tests.commands import Run, running
from tests.engines.redis import Server, single_url


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return running(capsys, monkeypatch, tmp_path)


def test_the_doctor_says_what_a_crash_can_lose(run: Run, tmp_path: Path):
    server = Server(tmp_path, "--appendonly", "no")
    try:
        told = run("doctor", "--store", f"redis://127.0.0.1:{server.port}")
        assert told.code == 0
        assert "This store can lose what it has acknowledged: A restart of the server loses everything" in told.out
        vouched = run("doctor", "--store", f"redis://127.0.0.1:{server.port}?durable=yes")
        assert "durability" in vouched.out
        assert "can lose what" not in vouched.out
        chinese = run("doctor", "--store", f"redis://127.0.0.1:{server.port}", language="zh")
        assert "该存储可能丢失已确认的写入" in chinese.out
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("language", "said"), [("en", "takes no writes: moved to 东京"), ("zh", "不接受写入：moved to 东京")]
)
@pytest.mark.parametrize("kind", ["with redis", "sqlite"])
def test_why_a_store_is_sealed_is_shown(run: Run, tmp_path: Path, kind: str, language: str, said: str):
    store = str(tmp_path / "app.db") + (f",log={single_url(tmp_path)}" if kind == "with redis" else "")
    with open_backend(store) as backend:
        backend.seal("moved to 东京")
    for arguments in (("remember", "tea"), ("keys", "create", "phone", "--space", "acme")):
        told = run(*arguments, "--store", store, language=language)
        assert told.code == 1
        assert said in " ".join(told.err.split())


def test_what_needs_records_says_which_store_to_open(run: Run, tmp_path: Path):
    for arguments in (("remember", "tea"), ("recall", "tea"), ("serve",)):
        told = run(*arguments, "--store", single_url(tmp_path))
        assert told.code == 1
        assert "postgresql://…,log=redis://…" in " ".join(told.err.split())
    assert run("threads", "--store", single_url(tmp_path)).code == 0
