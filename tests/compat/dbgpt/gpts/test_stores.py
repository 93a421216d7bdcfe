"""Plans and dialogues in stores, beside a model of plain Python."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.gpts.stores import DefaultGptsMessageMemory, DefaultGptsPlansMemory, ordered
from memwell.compat.dbgpt.gpts.values import GptsMessage, GptsPlan, Status
from memwell.errors import InvalidInput, NotFound
from memwell.history import History
from memwell.storage import open_backend
from memwell.storage.protocols import Backend
from memwell.storage.sharing import close_shared

IDS = st.sampled_from(["c", "c/", "会话", "3.c", "x" * 400, "x" * 401])
AGENTS = st.sampled_from(["Planner", "Coder", "Human"])


@pytest.fixture(params=["memory", "file"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with open_backend("memory:" if request.param == "memory" else tmp_path / "plans.db") as opened:
        yield opened
    close_shared()


def plan(number: int, conv_id: str = "c", **fields: object) -> GptsPlan:
    return replace(GptsPlan(conv_id, number, f"do {number}"), **fields)


def said(text: str, sender: str = "Planner", receiver: str = "Coder", **fields: object) -> GptsMessage:
    return replace(GptsMessage("c", sender, receiver, "ai", text), **fields)


STEPS = st.one_of(
    st.tuples(st.just("save"), IDS, st.lists(st.integers(0, 12), max_size=4, unique=True)),
    st.tuples(st.just("complete"), IDS, st.integers(0, 12)),
    st.tuples(st.just("update"), IDS, st.integers(0, 12), st.sampled_from(list(Status)), st.none() | AGENTS),
    st.tuples(st.just("remove"), IDS),
)


@given(st.lists(STEPS, max_size=20))
def test_plans_do_what_a_dictionary_does(steps: list[tuple[object, ...]]) -> None:
    memory, model = DefaultGptsPlansMemory(), dict[tuple[str, int], GptsPlan]()
    for step in steps:
        match step:
            case ("save", str(conv), list(numbers)):
                plans = [plan(int(str(number)), conv, sub_task_title="题") for number in numbers]
                memory.batch_save(plans)
                model.update(((conv, one.sub_task_num), one) for one in plans)
            case ("complete", str(conv), int(number)):
                _both(memory, model, conv, number, {"state": "complete", "result": "ok"}, complete=True)
            case ("update", str(conv), int(number), Status() as state, agent):
                fields = {"state": state.value, "retry_times": 2, "result": None}
                _both(memory, model, conv, number, fields | ({"sub_task_agent": agent} if agent else {}))
            case (_, conv, *_):
                memory.remove_by_conv_id(str(conv))
                model = {key: one for key, one in model.items() if key[0] != conv}
        for conv in ("c", "c/", "会话", "3.c", "x" * 400, "x" * 401):
            wanted = [one for key, one in sorted(model.items()) if key[0] == conv]
            assert memory.get_by_conv_id(conv) == wanted
            assert memory.get_todo_plans(conv) == [one for one in wanted if one.state in ("todo", "retrying")]
            assert memory.get_by_conv_id_and_num(conv, [11, 2, 2]) == [o for o in wanted if o.sub_task_num in (2, 11)]


def _both(
    memory: DefaultGptsPlansMemory,
    model: dict[tuple[str, int], GptsPlan],
    conv: str,
    number: int,
    fields: dict[str, object],
    *,
    complete: bool = False,
) -> None:
    def change() -> None:
        if complete:
            memory.complete_task(conv, number, "ok")
        else:
            memory.update_task(conv, number, str(fields["state"]), 2, agent=fields.get("sub_task_agent"))  # pyright: ignore[reportArgumentType]

    if (conv, number) in model:
        change()
        model[conv, number] = replace(model[conv, number], **fields)
    else:
        with pytest.raises(NotFound):
            change()


def test_a_plan_keeps_its_title_in_the_store(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(1, sub_task_title="Load the refunds")])
    assert memory.get_by_conv_id("c")[0].sub_task_title == "Load the refunds"


def test_steps_come_by_number_and_more_than_a_page_of_them(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(number) for number in reversed(range(1_100))])
    assert [one.sub_task_num for one in memory.get_by_conv_id("c")] == list(range(1_100))
    assert ordered([plan(10), plan(9)]) == [plan(9), plan(10)]


def test_a_bad_batch_stores_nothing(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    for bad in ([plan(1), plan(2, state=3)], [plan(1), plan(1)], [plan(1), "two"]):
        with pytest.raises(InvalidInput):
            memory.batch_save(bad)
    assert memory.get_by_conv_id("c") == []


def test_a_bad_change_changes_nothing(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(1)])
    with pytest.raises(InvalidInput, match="retry_times"):
        memory.update_task("c", 1, "running", -1)
    with pytest.raises(InvalidInput, match="number"):
        memory.complete_task("c", "one", "x")  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFound, match="no step 2"):
        memory.complete_task("c", 2, "x")
    assert memory.get_by_conv_id("c") == [plan(1)]


def test_a_number_may_be_text_and_a_state_a_status(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(3, state=Status.RETRYING)])
    memory.update_task("c", "3", Status.RUNNING, 1, "Coder", "qwen")  # pyright: ignore[reportArgumentType]
    (found,) = memory.get_by_conv_id_and_num("c", ["3"])  # pyright: ignore[reportArgumentType]
    assert found == plan(3, state="running", retry_times=1, sub_task_agent="Coder", agent_model="qwen")
    assert type(found.state) is str


def test_two_who_change_a_step_at_once_both_count(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(number) for number in range(20)])
    threads = [
        threading.Thread(target=lambda: [memory.complete_task("c", one, "r") for one in range(20)]),
        threading.Thread(
            target=lambda: [memory.update_task("c", one, "complete", 1, "A", result="r") for one in range(20)]
        ),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(one.state, one.retry_times, one.sub_task_agent) for one in memory.get_by_conv_id("c")} == {
        ("complete", 1, "A")
    }


@given(st.lists(st.tuples(st.sampled_from(["c", "d"]), AGENTS, AGENTS, st.sampled_from([None, "g", "h"])), max_size=12))
def test_dialogues_do_what_a_list_does(lines: list[tuple[str, str, str, str | None]]) -> None:
    memory, model = DefaultGptsMessageMemory(), list[GptsMessage]()
    for number, (conv, sender, receiver, goal) in enumerate(lines):
        model.append(GptsMessage(conv, sender, receiver, "ai", str(number), current_goal=goal))
        memory.append(model[-1])
    for conv in ("c", "d", "e"):
        there = [one for one in model if one.conv_id == conv]
        assert memory.get_by_conv_id(conv) == there
        assert memory.get_last_message(conv) == (there[-1] if there else None)
        assert memory.get_by_agent(conv, "Coder") == [one for one in there if "Coder" in (one.sender, one.receiver)]
        between = [one for one in there if {one.sender, one.receiver} == {"Coder", "Human"}]
        assert memory.get_between_agents(conv, "Coder", "Human") == between
        assert memory.get_between_agents(conv, "Human", "Coder", "g") == [o for o in between if o.current_goal == "g"]


def test_a_message_after_a_deletion_overwrites_nothing(backend: Backend) -> None:
    memory = DefaultGptsMessageMemory(backend)
    for conv, text in (("gone", "0"), ("c", "1"), ("c", "2")):
        memory.append(GptsMessage(conv, "A", "B", "ai", text))
    memory.delete_by_conv_id("gone")
    memory.delete_by_conv_id("gone")
    memory.append(said("3"))
    assert [one.content for one in memory.get_by_conv_id("c")] == ["1", "2", "3"]
    assert memory.get_by_conv_id("gone") == []


def test_the_last_message_is_the_last(backend: Backend) -> None:
    memory = DefaultGptsMessageMemory(backend)
    assert memory.get_last_message("c") is None
    memory.append(said("1"))
    memory.append(said("2"))
    last = memory.get_last_message("c")
    assert last is not None
    assert last.content == "2"


def test_what_is_handed_out_is_the_caller_s_to_change(backend: Backend) -> None:
    memory = DefaultGptsMessageMemory(backend)
    memory.append(said("1"))
    for found in (memory.get_by_conv_id("c"), memory.get_by_agent("c", "Coder")):
        found[0].content = "changed"
        found.clear()
    assert [one.content for one in memory.get_by_conv_id("c")] == ["1"]


def test_a_dialogue_is_a_conversation_of_the_core_and_no_chat(backend: Backend) -> None:
    memory = DefaultGptsMessageMemory(backend)
    History(backend, "c").add_human("a chat of the same id")
    memory.append(said("退款分析", "数据分析师"))
    history = memory.history("c")
    assert [(one.name, one.text) for one in history] == [("数据分析师", "退款分析")]
    assert [message.text for message, _ in history.search("退款")] == ["退款分析"]
    assert len(History(backend, "c")) == 1


def test_plans_and_dialogues_survive_and_are_apart_by_space(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    DefaultGptsPlansMemory(path).batch_save([plan(1)])
    DefaultGptsMessageMemory(path, space="team").append(said("1"))
    close_shared()
    assert DefaultGptsPlansMemory(path).get_by_conv_id("c") == [plan(1)]
    assert DefaultGptsPlansMemory(path, space="team").get_by_conv_id("c") == []
    assert len(DefaultGptsMessageMemory(path, space="team").get_by_conv_id("c")) == 1
    assert DefaultGptsMessageMemory(path).get_by_conv_id("c") == []
    close_shared()


def test_two_without_a_store_share_nothing() -> None:
    DefaultGptsPlansMemory().batch_save([plan(1)])
    assert DefaultGptsPlansMemory().get_by_conv_id("c") == []


def test_the_async_twins_do_the_same() -> None:
    async def run() -> None:
        plans, messages = DefaultGptsPlansMemory(), DefaultGptsMessageMemory()
        await plans.abatch_save([plan(1), plan(2)])
        await plans.acomplete_task("c", 1, "ok")
        await plans.aupdate_task("c", 2, "running", 0)
        assert [one.state for one in await plans.aget_by_conv_id("c")] == ["complete", "running"]
        assert await plans.aget_todo_plans("c") == []
        assert len(await plans.aget_by_conv_id_and_num("c", [1])) == 1
        await plans.aremove_by_conv_id("c")
        assert await plans.aget_by_conv_id("c") == []
        await asyncio.gather(*(messages.aappend(said(str(number))) for number in range(10)))
        assert {one.content for one in await messages.aget_by_conv_id("c")} == set(map(str, range(10)))
        assert await messages.aget_last_message("c") is not None
        assert len(await messages.aget_by_agent("c", "Coder") or ()) == 10
        assert len(await messages.aget_between_agents("c", "Coder", "Planner")) == 10
        await messages.adelete_by_conv_id("c")
        assert await messages.aget_by_conv_id("c") == []

    asyncio.run(run())


def test_a_conversation_needs_a_name() -> None:
    for bad in ("", "x" * 2000, None):
        with pytest.raises(InvalidInput):
            DefaultGptsPlansMemory().get_by_conv_id(bad)  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInput):
            DefaultGptsMessageMemory().get_by_conv_id(bad)  # pyright: ignore[reportArgumentType]
