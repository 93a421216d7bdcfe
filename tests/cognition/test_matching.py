"""Preconditions are met in other words, and not by their opposites, questions or wishes."""

from __future__ import annotations

import pytest

from memwell.cognition.matching import denies, holds_in, says_same

MET = [
    ("网络可用", "网络是可用的"),
    ("付款已收到", "已经收到付款"),
    ("已安装Docker", "装了docker"),
    ("有管理员权限", "我是管理员，有权限"),
    ("没有网络", "网络断了，没有网络连接"),
    ("数据已备份", "数据备份完成"),
    ("Docker is installed", "I have installed docker, but there is no network"),
    ("the user is logged in", "The user has logged in."),
    ("not in production", "this is not production"),
    ("servers are reachable", "the server is reachable"),
    ("order number and address", "we have the order number and the address"),
    ("数据库在线", "数据库已经在线，网络可用吗？"),
    ("tests pass", "The tests pass. Is the network up?"),
    ("the tests pass", "if the network were up we could deploy, but the tests pass"),
    ("网络可用", "如果要部署就得备份，但是网络可用"),
    ("数据库离线", "数据库现在离线"),
    ("the main valve is closed", "the main valve is closed"),
    ("有备份", "没有权限，不过有备份"),
    ("the network is up", "there is no backup and the network is up"),
]
NOT_MET = [
    ("网络可用", "网络断开了"),
    ("网络可用", "网络不可用"),
    ("付款已收到", "付款失败"),
    ("服务器正常运行", "服务器运行不正常"),
    ("Docker is installed", "there is a network, but docker is not installed"),
    ("the disk is full", "the disk is empty"),
    ("order number is known", "the order number is unknown"),
    ("user is logged in", "The user isn't logged in."),
    ("not in production", "we are in production"),
    ("数据库在线", "数据库在线吗？"),
    ("数据库在线", "数据库在线吗"),
    ("数据库在线", "数据库是否在线"),
    ("数据库在线", "数据库离线"),
    ("数据库在线", "数据库掉线了"),
    ("数据库在线", "如果数据库在线就好了"),
    ("数据库在线", "但愿数据库在线"),
    ("数据库在线", "希望数据库能在线"),
    ("数据库在线，网络可用", "要是网络可用，数据库在线，就可以部署"),
    ("有服务器权限", "缺服务器权限"),
    ("有服务器权限", "没有备份、服务器权限"),
    ("有服务器权限", "没有服务器权限"),
    ("阀门已经打开", "阀门已经关闭"),
    ("tests pass", "if only tests pass"),
    ("tests pass", "I wish the tests pass"),
    ("tests pass", "do the tests pass?"),
    ("tests pass", "The tests pass?"),
    ("tests pass", "we hope the tests pass"),
    ("tests pass", "we deploy when the tests pass"),
    ("the tests pass", "neither the build nor the tests pass"),
    ("the main server is online", "the main server is offline"),
    ("the main server is offline", "the main server is online"),
    ("the main valve is open", "the main valve is closed"),
    ("the main valve is closed", "the main valve is open"),
    ("server permission", "there is no backup and server permission"),
    ("server permission", "we work without backups, server permission and tests"),
    ("网络可用", "天气晴朗"),
    ("网络可用", ""),
]


@pytest.mark.parametrize(("condition", "situation"), MET)
def test_a_condition_is_met_in_other_words(condition: str, situation: str) -> None:
    assert holds_in(condition, [situation])


def test_a_condition_is_not_met_by_its_opposite() -> None:
    assert [pair for pair in NOT_MET if holds_in(pair[0], [pair[1]])] == []


def test_a_condition_may_be_met_by_several_things_together() -> None:
    assert holds_in("customer, address", ["the customer is here", "an address was given"])
    assert not holds_in("customer, address", ["the customer is here"])


@pytest.mark.parametrize("text", ["非常重要", "特别好", "无线网络", "未来的计划", "级别很高", "a notable knot"])
def test_some_words_only_look_like_denials(text: str) -> None:
    assert not denies(text)


def test_definitions_say_the_same_in_other_words() -> None:
    assert says_same("a red planet", "The red planet.")
    assert says_same("一种检索增强生成技术", "检索增强生成技术")
    assert not says_same("a red planet", "a chocolate bar")
