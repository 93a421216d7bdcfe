from __future__ import annotations

from typing import Any

import pytest

from memwell.cognition import Cognition
from memwell.cognition.procedural import ProceduralMemory
from memwell.errors import InvalidInput, NotFound


@pytest.fixture
def service(mind: Cognition) -> ProceduralMemory:
    known = mind.procedural
    known.store("重启服务", ["登录服务器", "重启进程", "检查日志"], ["有服务器权限", "网络可用"])
    known.store("回滚版本", ["找到上一个版本", "部署旧版本"], ["有旧版本备份"])
    known.store("Reset a password", ["Send a link", "Ask for a new one"], ["customer is verified", "e-mail is known"])
    known.store("Issue a refund", ["Check the order", "Return the money"], ["order number is known"])
    return known


def test_a_procedure_that_was_never_tried_says_so(service: ProceduralMemory) -> None:
    rate = service.success_rate("重启服务")
    assert (rate.value, rate.observations) == (0.5, 0)
    assert (rate.in_words(), rate.in_words("zh")) == ("not tried yet", "还没有试过")
    assert float(rate) == 0.5


def test_the_success_rate_is_learnt_from_outcomes(service: ProceduralMemory) -> None:
    for success in (True, True, True, False):
        service.outcome("issue a refund", success, "as usual")
    rate = service.success_rate("Issue a refund")
    assert (rate.successes, rate.failures, rate.value) == (3, 1, pytest.approx(4 / 6))
    assert str(rate) == "went well 3 of 4 times (estimated 67%)"
    assert rate.in_words("zh") == "4 次中成功 3 次（估计 67%）"
    outcomes = service.get("Issue a refund").outcomes
    assert [(one.success, one.note) for one in outcomes] == [(True, "as usual")] * 3 + [(False, "as usual")]


def test_preconditions_are_matched_by_the_words_of_a_situation(service: ProceduralMemory) -> None:
    [best, *_] = service.suggest("服务器没有响应；我有服务器的权限，网络也可用", goal="恢复服务")
    assert best.procedure.name == "重启服务"
    assert best.ready
    assert best.matched == ("有服务器权限", "网络可用")
    [best, *_] = service.suggest(["the customer was verified", "e-mail unknown"], goal="new password")
    assert (best.procedure.name, best.matched, best.missing) == (
        "Reset a password",
        ("customer is verified",),
        ("e-mail is known",),
    )
    assert best.in_words() == "Reset a password: not tried yet; missing: e-mail is known"
    assert best.in_words("zh") == "Reset a password：还没有试过；还缺：e-mail is known"


def test_the_one_that_went_well_before_is_suggested_first(mind: Cognition) -> None:
    for name in ("restart the server gently", "restart the server hard"):
        mind.procedural.store(name, ["restart it"], ["server is down"])
    for success in (True, True, False):
        mind.procedural.outcome("restart the server gently", not success)
        mind.procedural.outcome("restart the server hard", success)
    found = mind.procedural.suggest("the server is down", goal="restart the server")
    assert [one.procedure.name for one in found] == ["restart the server hard", "restart the server gently"]


def test_what_is_possible_now_comes_before_what_is_not(mind: Cognition) -> None:
    mind.procedural.store("fly to Rome", ["board the plane"], ["有护照", "plane ticket is bought"])
    mind.procedural.store("drive to Rome", ["take the car"], ["car is ready"])
    for _ in range(5):
        mind.procedural.outcome("fly to Rome", True)
    found = mind.procedural.suggest("the car is ready", goal="go to Rome")
    assert [one.procedure.name for one in found] == ["drive to Rome", "fly to Rome"]
    assert [one.ready for one in found] == [True, False]


def test_without_a_goal_the_situation_decides_and_without_both_the_rate(service: ProceduralMemory) -> None:
    assert next(one.procedure.name for one in service.suggest("网络不可用，但是有旧版本的备份")) == "回滚版本"
    assert service.suggest("a sunny day in May", goal="bake a cake") == []
    service.outcome("Reset a password", True)
    service.outcome("Reset a password", True)
    every = {one.procedure.name: one.readiness for one in service.suggest()}
    assert len(every) == 4
    assert next(iter(every)) == "Reset a password"
    assert set(every.values()) == {0.1}
    assert service.suggest(limit=0) == []


def test_steps_that_change_begin_anew(service: ProceduralMemory) -> None:
    service.outcome("回滚版本", True)
    same = service.store("回滚版本", ["找到上一个版本", "部署旧版本"], ["有备份"])
    assert (same.success_rate.observations, same.preconditions) == (1, ("有备份",))
    other = service.store("回滚版本", ["找到上一个版本", "部署旧版本", "通知用户"])
    assert other.success_rate.observations == 0
    assert len(service.procedures()) == 4


@pytest.mark.parametrize(
    "values", [("", ["a"]), ("x", []), ("x", [" "]), ("x", None), ("x", [1]), ("x", ["a"], 3), (None, ["a"])]
)
def test_bad_values_store_nothing(mind: Cognition, values: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput):
        mind.procedural.store(*values)
    assert mind.procedural.procedures() == []


def test_outcomes_are_true_or_false_and_of_something_known(service: ProceduralMemory) -> None:
    with pytest.raises(InvalidInput, match="True or False"):
        service.outcome("回滚版本", "yes")  # type: ignore[arg-type]
    for call in (lambda: service.outcome("飞", True), lambda: service.success_rate("飞"), lambda: service.get("飞")):
        with pytest.raises(NotFound, match="飞"):
            call()
    assert service.success_rate("回滚版本").observations == 0
