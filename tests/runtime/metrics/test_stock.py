"""What is stored is counted of one space and of all, and counting does not take over."""

from __future__ import annotations

from datetime import UTC, datetime

import memwell
from memwell.messages import human
from memwell.records import Space
from memwell.runtime.engine import Engine
from memwell.runtime.metrics import stock as stock_module
from memwell.runtime.metrics.stock import Stock

NOON = 1_800_014_400.0


def fill(engine: Engine) -> None:
    engine.thread("one").add(human("Hello"), human("again"))
    engine.thread("二").add(human("你好"))
    engine.remember(["Ann likes tea.", "我喜欢喝茶。", "Bo lives in Rome."])
    engine.media.add(kind="image", description="a red bicycle")
    engine.catch_up()
    engine.knowledge.add("Tea is a drink. " * 40, title="Tea")


def test_a_space_is_counted(engine: Engine, clock):
    fill(engine)
    told = Stock(engine.backend, clock).of(engine)
    assert (told.conversations, told.messages, told.memories, told.documents, told.media) == (2, 3, 4, 1, 1)
    assert told.chunks == engine.knowledge.count().chunks > 0
    assert told.counted == datetime.fromtimestamp(NOON, UTC)


def test_a_space_is_counted_without_any_other(engine: Engine):
    fill(engine)
    told = Stock(engine.backend).of(engine.at("nobody"))
    assert (told.conversations, told.messages, told.memories, told.documents, told.chunks, told.media) == (0,) * 6


def test_the_deepest_space_can_be_counted(engine: Engine):
    deep = engine.at(Space(*"abcdefghijklmn"))
    deep.remember("Tea.")
    deep.catch_up()
    assert Stock(engine.backend).of(deep).memories == 1


def test_all_spaces_are_counted_without_what_memwell_keeps_beside_them(engine: Engine):
    for space in ("ann", "bo"):
        fill(engine.at(space))
    stock = Stock(engine.backend)
    told = stock.whole(engine)
    assert (told.conversations, told.messages, told.memories, told.documents, told.media) == (4, 6, 8, 2, None)
    assert told.chunks == 2 * engine.at("ann").knowledge.count().chunks
    assert stock.sample(None, may_count=True) == (8, 4)


def test_a_store_that_does_not_list_its_spaces_says_so():
    with memwell.open("memory:", embedder=None, work=False) as engine:
        fill(engine)
        assert Stock(engine.backend).whole(engine).memories is None
        assert Stock(engine.backend).of(engine).memories == 4
        assert Stock(engine.backend).sample(None, may_count=True) == (None, None)


def test_a_count_is_kept_while_it_is_fresh(engine: Engine, monkeypatch):
    stock = Stock(engine.backend)
    fill(engine)
    assert stock.of(engine).memories == 4
    engine.remember("one more")
    engine.catch_up()
    assert stock.of(engine).memories == 4
    monkeypatch.setattr(stock_module, "_FRESH_S", 0.0)
    monkeypatch.setattr(stock_module, "_PATIENCE", 0.0)
    assert stock.of(engine).memories == 5


def test_a_slow_count_is_seldom_made(engine: Engine):
    count = stock_module._Count("x", ended=0.0, took=10**9)
    assert count.is_fresh()
    assert not stock_module._Count("x", ended=-1e9, took=0.001).is_fresh()


def test_a_sample_without_leave_counts_nothing_slow(engine: Engine):
    fill(engine)
    stock = Stock(engine.backend)
    assert stock.sample(engine.space, may_count=False) == (4, None)
    assert stock.sample(engine.space, may_count=True) == (4, 2)
    engine.thread("three").add(human("Hi"))
    assert stock.sample(engine.space, may_count=False) == (4, 2)
    assert stock.sample(None, may_count=False) == (None, None)


def test_kept_counts_are_bounded(engine: Engine, monkeypatch):
    monkeypatch.setattr(stock_module, "_MOST_KEPT", 3)
    stock = Stock(engine.backend)
    for number in range(10):
        stock.sample(Space(f"s{number}"), may_count=True)
    assert len(stock._kept) == 3


def test_what_is_owed_is_told_of_one_space_and_of_all(engine: Engine):
    stock = Stock(engine.backend)
    engine.remember(["Tea.", "Milk."])
    engine.at("bo").remember("Rome.")
    assert stock.owed(engine).words == 2
    assert stock.owed(engine).spaces == 1
    assert stock.owed(engine.at("nobody")).spaces == 0
    whole = stock.owed_whole(engine)
    assert (whole.words, whole.spaces) == (3, 2)
    engine.flush()
    engine.at("bo").flush()
    assert stock.owed_whole(engine).words == 0
