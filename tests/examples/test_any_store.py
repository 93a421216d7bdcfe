"""The same program, unchanged, prints the same on every store."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.engines import milvus, postgres, redis
from tests.examples.running import EXAMPLES, Printed

STORES: dict[str, Callable[[Path], str]] = {
    "memory": lambda folder: "memory:",
    "sqlite": lambda folder: f"sqlite:{folder / 'store.db'}",
    "postgres": postgres.store_url,
    "sqlite with milvus": lambda folder: f"sqlite:{folder / 'store.db'},index={milvus.lite_url(folder)}",
    "sqlite with redis": lambda folder: (
        f"sqlite:{folder / 'store.db'},log={redis.single_url(folder)},kv={redis.single_url(folder)}"
    ),
    "postgres with redis cluster": lambda folder: (
        f"{postgres.store_url(folder)},log={redis.cluster_url(folder)},kv={redis.cluster_url(folder)}"
    ),
    "postgres with milvus": lambda folder: f"{postgres.store_url(folder)},index={milvus.lite_url(folder)}",
}
EXPECTED = {
    "en": (
        "Which food is dangerous for Ann? -> Ann is allergic to peanuts.\n"
        "Where is the spare key? -> The spare key hangs behind the boiler.\n"
        "said: ['When is the rehearsal?', 'On Thursday at eight.']\n"
        "forgotten: True\n"
        "restored: Ann is allergic to peanuts.\n"
        "read: The boiler is serviced by Mrs Okafor every March. [1]\n"
        "seen by another: []\n"
        "memories: 4\n"
    ),
    "zh": (
        "小安不能吃什么？ -> 小安对花生过敏。\n"
        "备用钥匙在哪里？ -> 备用钥匙挂在锅炉后面。\n"
        "said: ['排练是什么时候？', '星期四晚上八点。']\n"
        "forgotten: True\n"
        "restored: 小安对花生过敏。\n"
        "read: 锅炉每年三月由吴师傅检修。 [1]\n"
        "seen by another: []\n"
        "memories: 4\n"
    ),
}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The program, loaded once: a process of its own for every run would load the models anew each time."""
    spec = importlib.util.spec_from_file_location("any_store", EXAMPLES / "any_store.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("store", STORES)
def test_it_prints_the_same_on_every_store_and_finds_what_it_left(
    tmp_path: Path,
    store: str,
    example: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def printed_on(url: str, language: str) -> str:
        monkeypatch.setattr(sys, "argv", ["any_store.py", url, "--language", language])
        example.main()
        return capsys.readouterr().out

    url = STORES[store](tmp_path)
    assert printed_on(url, "en") == EXPECTED["en"]
    left = "" if store == "memory" else "found what an earlier run left, and erased it\n"
    assert printed_on(url, "zh") == left + EXPECTED["zh"]


def test_another_process_finds_what_one_left(tmp_path: Path, printed: Printed):
    url = STORES["sqlite"](tmp_path)
    assert printed("any_store.py", tmp_path, url) == EXPECTED["en"]
    again = printed("any_store.py", tmp_path, url, "--language", "zh")
    assert again == "found what an earlier run left, and erased it\n" + EXPECTED["zh"]
