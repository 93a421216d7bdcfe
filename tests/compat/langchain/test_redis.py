"""Histories and entities in a real Redis, under the keys LangChain's own classes use."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from memwell.compat.langchain.entities import RedisEntityStore
from memwell.compat.langchain.messages import AIMessage, HumanMessage
from memwell.compat.langchain.redis import RedisChatMessageHistory
from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, InvalidInput
from memwell.records import Space
from memwell.storage.registry import close_shared, shared_backend
from memwell.values import now
from tests.ports import closed_port
from tests.servers import redis_server

with warnings.catch_warnings():
    # It says that it is no longer maintained.
    warnings.simplefilter("ignore")
    from langchain_community.chat_message_histories import RedisChatMessageHistory as TheirHistory

SAID = [HumanMessage("你好", id="1"), AIMessage("b", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    yield server
    client = RedisChatMessageHistory("x", server).redis_client
    client.flushall()
    client.close()


def test_both_may_write_in_turn(url: str) -> None:
    mine, other = RedisChatMessageHistory("s", url), TheirHistory("s", url)
    other.add_user_message("first")
    mine.add_messages(SAID)
    other.add_ai_message("last")
    expected = [HumanMessage("first"), *SAID, AIMessage("last")]
    assert mine.messages == other.messages == expected
    assert mine.key == "message_store:s"
    assert RedisChatMessageHistory("other", url).messages == []
    mine.clear()
    assert other.messages == []


def test_time_to_live(url: str) -> None:
    history = RedisChatMessageHistory("s", url, key_prefix="p:", ttl=100)
    history.add_messages(SAID)
    history.redis_client.expire("p:s", 5)
    history.add_messages([])
    assert history.redis_client.ttl("p:s") <= 5
    history.add_user_message("more")
    assert 90 < history.redis_client.ttl("p:s") <= 100
    assert RedisChatMessageHistory("t", url).redis_client.ttl("message_store:t") == -2


def test_what_cannot_be(url: str) -> None:
    history = RedisChatMessageHistory("s", url)
    with pytest.raises(NotImplementedError, match="Direct assignment"):
        history.messages = []
    with pytest.raises(InvalidInput):
        history.add_messages([*SAID, HumanMessage("x", extra=object())])
    assert history.messages == []
    history.redis_client.lpush(history.key, "no message")
    with pytest.raises(InvalidInput, match="message_store:s"):
        _ = history.messages
    history.redis_client.set("message_store:text", "x")
    with pytest.raises(BackendError):
        _ = RedisChatMessageHistory("text", url).messages
    with pytest.raises(ConfigurationError):
        RedisChatMessageHistory("s", "nonsense")


def test_no_server() -> None:
    with closed_port() as port:
        history = RedisChatMessageHistory("s", f"redis://127.0.0.1:{port}/0")
        for attempt in (lambda: history.messages, lambda: history.add_user_message("x")):
            with pytest.raises(BackendUnavailable):
                attempt()
        with pytest.raises(BackendUnavailable):
            RedisEntityStore(url=f"redis://127.0.0.1:{port}/0").get("x")


def test_entities_live_longer_when_recalled(url: str) -> None:
    store, other = RedisEntityStore("s", url, ttl=100, recall_ttl=1000), RedisEntityStore("s*", url)
    store.set("小明", "住在北京")
    kv, space = shared_backend(url).kv, Space("langchain", "memory_store", "s")

    def left() -> float:
        entry = kv.get(space, "小明")
        assert entry is not None
        assert entry.expires is not None
        return (entry.expires - now()).total_seconds()

    assert left() <= 100
    assert (store.get("小明"), store.get("nobody"), store.get("nobody", "?")) == ("住在北京", "", "?")
    assert 900 < left() <= 1000
    other.set("Ann", "a pilot")
    store.clear()
    assert (store.exists("小明"), other.exists("Ann")) == (False, True)
    close_shared()
