"""Memories with a name: one for each name, changed one at a time, with a belief that evidence moves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.named import Belief, Draft, NamedMemories, check_share, holds_in, key_of
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled

# Preconditions are met in other words, and not by their opposites, questions or wishes.


MET = [
    ("网络可用", "网络是可用的"), ("付款已收到", "已经收到付款"), ("已安装Docker", "装了docker"),
    ("有管理员权限", "我是管理员，有权限"), ("没有网络", "网络断了，没有网络连接"), ("数据已备份", "数据备份完成"),
    ("Docker is installed", "I have installed docker, but there is no network"),
    ("the user is logged in", "The user has logged in."), ("not in production", "this is not production"),
    ("servers are reachable", "the server is reachable"),
    ("order number and address", "we have the order number and the address"),
    ("数据库在线", "数据库已经在线，网络可用吗？"), ("tests pass", "The tests pass. Is the network up?"),
    ("the tests pass", "if the network were up we could deploy, but the tests pass"),
    ("网络可用", "如果要部署就得备份，但是网络可用"), ("数据库离线", "数据库现在离线"),
    ("the main valve is closed", "the main valve is closed"), ("有备份", "没有权限，不过有备份"),
    ("the network is up", "there is no backup and the network is up"),
]  # fmt: skip
NOT_MET = [
    ("网络可用", "网络断开了"), ("网络可用", "网络不可用"), ("付款已收到", "付款失败"),
    ("服务器正常运行", "服务器运行不正常"), ("Docker is installed", "there is a network, but docker is not installed"),
    ("the disk is full", "the disk is empty"), ("order number is known", "the order number is unknown"),
    ("user is logged in", "The user isn't logged in."), ("not in production", "we are in production"),
    ("数据库在线", "数据库在线吗？"), ("数据库在线", "数据库在线吗"), ("数据库在线", "数据库是否在线"),
    ("数据库在线", "数据库离线"), ("数据库在线", "数据库掉线了"), ("数据库在线", "如果数据库在线就好了"),
    ("数据库在线", "但愿数据库在线"), ("数据库在线", "希望数据库能在线"),
    ("数据库在线，网络可用", "要是网络可用，数据库在线，就可以部署"), ("有服务器权限", "缺服务器权限"),
    ("有服务器权限", "没有备份、服务器权限"), ("有服务器权限", "没有服务器权限"), ("阀门已经打开", "阀门已经关闭"),
    ("tests pass", "if only tests pass"), ("tests pass", "I wish the tests pass"),
    ("tests pass", "do the tests pass?"), ("tests pass", "The tests pass?"), ("tests pass", "we hope the tests pass"),
    ("tests pass", "we deploy when the tests pass"), ("the tests pass", "neither the build nor the tests pass"),
    ("the main server is online", "the main server is offline"),
    ("the main server is offline", "the main server is online"),
    ("the main valve is open", "the main valve is closed"), ("the main valve is closed", "the main valve is open"),
    ("server permission", "there is no backup and server permission"),
    ("server permission", "we work without backups, server permission and tests"), ("网络可用", "天气晴朗"),
    ("网络可用", ""),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "situation"), MET)
def test_a_condition_is_met_in_other_words(condition: str, situation: str) -> None:
    assert holds_in(condition, [situation])


def test_a_condition_is_not_met_by_its_opposite() -> None:
    assert [pair for pair in NOT_MET if holds_in(pair[0], [pair[1]])] == []


def stored(text: str, **kept: object) -> Draft:
    return Draft(text, kept, "stored")


def test_a_name_is_the_same_however_it_is_written(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    assert named.id_of("Deep  Learning") == named.id_of("ｄｅｅｐ learning")
    assert named.id_of("深度学习") != named.id_of("机器学习")
    assert "learning" not in named.id_of("deep learning")
    assert key_of("ＲＡＧ ") == "rag"


def test_what_was_forgotten_comes_back_when_it_is_stored_again(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)
    made = named.change(named.id_of("x"), lambda old: stored("x — one", n=1))
    memory.forget(made.id)
    assert named.find(named.id_of("x")) is None
    seen: list[Recalled | None] = []

    def again(old: Recalled | None) -> Draft:
        seen.append(old)
        return stored("x — two", n=2)

    assert named.change(named.id_of("x"), again).text == "x — two"
    assert seen == [None]
    found = named.find(named.id_of("x"))
    assert found is not None
    assert found.metadata == {"concept": {"n": 2}}


def test_a_change_that_fails_changes_nothing(memory: Memory) -> None:
    named = NamedMemories(memory, "concept", dict)

    def fails(old: Recalled | None) -> Draft:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput):
        named.change(named.id_of("x"), fails)
    with pytest.raises(InvalidInput, match="empty"):
        named.change(named.id_of("x"), lambda old: stored("…"))
    assert list(named.all()) == []
    assert memory.count() == 0


PRIORS = st.floats(1e-6, 1 - 1e-6)


@given(PRIORS, st.floats(0.5, 50), st.lists(st.booleans(), max_size=200))
def test_it_stays_within_bounds_and_moves_the_way_the_evidence_points(
    prior: float, strength: float, seen: list[bool]
) -> None:
    belief = Belief(prior, strength)
    for holds in seen:
        moved = belief.seen(holds)
        assert 0 < moved.value < 1
        assert moved.value > belief.value if holds else moved.value < belief.value
        belief = moved
    assert belief.observations == len(seen)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, float("nan"), "sure", True, None])
def test_nothing_is_certain(value: Any) -> None:
    with pytest.raises(InvalidInput, match="nothing is certain"):
        check_share(value, "a confidence")
