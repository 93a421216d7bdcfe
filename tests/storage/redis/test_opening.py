"""Who opens a store with the wrong URL is told at once what to write."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import BackendError, ConfigurationError
from memwell.records import Space
from memwell.runtime.jobs import REGISTRY
from memwell.settings import Settings
from memwell.storage.redis import RedisBackend
from memwell.storage.redis.running import plain
from tests.engines.proxy import Proxy
from tests.engines.redis import Server, ask, cluster, single

HOME = Space("home")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.kill()


def test_tls_where_there_is_none():
    with Proxy(single().port) as proxy:
        with pytest.raises(ConfigurationError, match=r"TLS was expected \(rediss://\)"):
            RedisBackend(f"rediss://127.0.0.1:{proxy.port}", settings=Settings(connect_timeout_s=0.3))
        # One wait, and no second try.
        assert proxy.connections == 1


def test_a_long_statement_may_take_longer_than_connecting():
    url = f"redis://127.0.0.1:{single().port}"
    chosen = Settings(connect_timeout_s=0.1, statement_timeout_s=30)
    with RedisBackend(url, settings=chosen) as store:
        [answer] = store._connections.runner.commands(("BLPOP", "nothing there", "0.4"))
        assert answer is None


def test_a_member_of_a_cluster_named_as_a_single_server():
    for member in cluster().members[:3]:
        with pytest.raises(ConfigurationError, match=rf"redis\+cluster://127.0.0.1:{member.port}"):
            RedisBackend(f"redis://127.0.0.1:{member.port}")


def test_a_password_left_out_is_as_one_that_is_wrong(server: Server):
    assert ask(server.port, "CONFIG", "SET", "requirepass", "open sesame").startswith(b"+OK")
    with Proxy(server.port) as proxy:
        with pytest.raises(ConfigurationError, match="password"):
            RedisBackend(f"redis://127.0.0.1:{proxy.port}")
        assert proxy.connections == 1
        with pytest.raises(ConfigurationError, match="password") as told:
            RedisBackend(f"redis://:wrong@127.0.0.1:{proxy.port}")
        assert "wrong@" not in str(told.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"ERR unknown command script: {'a' * 40}, on @user_script:84.", "ERR unknown command"),
        (
            f"Error running script (call to f_{'a' * 40}): @user_script:84: @user_script: 84: -OOM too much",
            "OOM too much",
        ),
        ("WRONGTYPE is as it is", "WRONGTYPE is as it is"),
    ],
)
def test_scripts_and_their_lines_are_not_shown(said: str, told: str):
    assert plain(said) == told


def test_a_memory_that_is_stored_is_not_refused_for_the_list_of_work(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    with memwell.open(f"redis://127.0.0.1:{server.port}?durable=yes", embedder=None) as m:
        put = m.backend.kv.put

        def full(space: Space, key: str, value: Any, **more: Any) -> Any:
            if space == REGISTRY:
                raise BackendError("the server is full")
            return put(space, key, value, **more)

        monkeypatch.setattr(m.backend.kv, "put", full)
        with caplog.at_level(logging.WARNING):
            m.remember("Ann is allergic to peanuts.")
        assert "could not be put on the list" in caplog.text
        assert [hit.text for hit in m.recall("peanuts")] == ["Ann is allergic to peanuts."]
        monkeypatch.undo()
