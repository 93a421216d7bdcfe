"""Conversations in Redis: large sums, wide gaps, long reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage.parts import MAX_INDEX
from memwell.storage.redis import RedisBackend, log
from tests.engines.redis import single_url

TALK = Thread(Space("home"), "talk")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RedisBackend]:
    with RedisBackend(single_url(tmp_path)) as backend:
        yield backend


def test_sums_of_tokens_stay_exact(store: RedisBackend):
    most = 2**31 - 1
    for _ in range(3):
        store.log.append(TALK, [human("a", tokens=most) for _ in range(700)])
    [info] = store.log.threads(TALK.space).items
    assert info.tokens == 2100 * most
    assert store.log.trim(TALK, 2099) == 2099
    assert store.log.threads(TALK.space).items[0].tokens == most


def test_a_gap_as_wide_as_can_be_costs_nothing(store: RedisBackend):
    store.log.append(TALK, [human("first")])
    store.log.append(TALK, [human("last").changed(index=MAX_INDEX, round=1)], keep_places=True)
    assert [message.index for message in store.log.read(TALK)] == [0, MAX_INDEX]
    assert [message.index for message in store.log.read(TALK, last=1)] == [MAX_INDEX]
    assert [place.index for place in store.log.places(TALK)] == [0, MAX_INDEX]
    store.log.edit(TALK, {MAX_INDEX: None})
    assert store.log.threads(TALK.space).items[0].updated == store.log.read(TALK)[0].time
    assert store.log.trim(TALK, MAX_INDEX + 1) == 1
    assert store.check() == []


def test_a_long_thread_is_read_piece_by_piece(store: RedisBackend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log, "_AT_ONCE", 7)
    store.log.append(TALK, [human(str(number)) for number in range(50)])
    store.log.edit(TALK, dict.fromkeys(range(10, 30)))
    alive = [*range(10), *range(30, 50)]
    assert [message.index for message in store.log.read(TALK)] == alive
    assert [message.index for message in store.log.read(TALK, last=25)] == alive[-25:]
    assert [message.index for message in store.log.read(TALK, first=15, after=3)] == alive[4:19]
    assert [place.index for place in store.log.places(TALK)] == list(range(50))
