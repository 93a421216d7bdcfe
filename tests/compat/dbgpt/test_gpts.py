"""Plans and dialogues of agents: what is stored, shown, and handed on to who watches."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell._asyncify import block_on
from memwell.compat.dbgpt.gpts import (
    _KEY,
    DefaultGptsMessageMemory,
    DefaultGptsPlansMemory,
    GptsMemory,
    GptsMessage,
    GptsMessageMemory,
    GptsPlan,
    Status,
    _as_core,
    _as_gpts,
    _plain_views,
    _Report,
    _reported,
    dialogue_markdown,
)
from memwell.errors import InvalidInput, NotFound
from memwell.history import History
from memwell.messages import decode_message, encode_message, human, tool_result
from memwell.runtime.agents import DONE
from memwell.storage import open_backend
from memwell.storage.protocols import Backend
from memwell.storage.registry import close_shared

TEXTS = st.text(max_size=20)
STORED = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
MAYBE = st.none() | TEXTS


@given(st.builds(GptsPlan, TEXTS, st.integers(0), MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE, state=MAYBE, result=MAYBE))
def test_a_plan_comes_back_from_its_dictionary_with_its_title(plan: GptsPlan) -> None:
    assert GptsPlan.from_dict(plan.to_dict()) == plan
    assert GptsPlan.from_dict({**plan.to_dict(), "gmt_create": 1}) == plan


def test_messages_come_back_from_their_dictionaries_also_through_json() -> None:
    message = GptsMessage("c", "A", "B", "ai", "好", rounds=2, created_at=datetime(2025, 1, 2, 3, 4, tzinfo=UTC))
    assert GptsMessage.from_dict(message.to_dict()) == message
    assert GptsMessage.from_dict(json.loads(json.dumps(message.to_dict(), default=datetime.isoformat))) == message
    for kind in (GptsPlan, GptsMessage):
        with pytest.raises(InvalidInput, match=kind.__name__):
            kind.from_dict({"conv_idx": 1})
    with pytest.raises(InvalidInput, match="created_at"):
        GptsMessage.from_dict({**message.to_dict(), "created_at": "today"})


@pytest.mark.parametrize("report", ["not JSON", "[1]", "3", '{"content": 3}', "{}", "[" * 5000])
def test_a_report_that_is_no_output_is_its_own_content(report: str) -> None:
    message = GptsMessage("c", "A", "B", "ai", "x", is_success=False, action_report=report)
    assert _reported(message) == _Report(report, is_exe_success=False)


ROLES = st.sampled_from(
    ["human", "Human", "user", "ai", "assistant", "system", "view", "tool", "CodeEngineer", "", "x" * 2000]
)
ZONES = st.none() | st.just(UTC) | st.just(timezone(timedelta(hours=8)))
TIMES = st.builds(
    lambda moment, zone: moment.replace(tzinfo=zone),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001
    ZONES,
)
MESSAGES = st.builds(
    GptsMessage, st.just("c"), STORED | st.just("x" * 2000), STORED, ROLES, STORED, st.integers(0, 9), st.booleans(),
    current_goal=st.none() | STORED, action_report=st.none() | STORED, created_at=TIMES, updated_at=TIMES,
)  # fmt: skip


@given(MESSAGES)
def test_every_field_comes_back_through_the_core(message: GptsMessage) -> None:
    stored = decode_message(encode_message(_as_core(message)))
    back = _as_gpts(stored, "c")
    assert back == message
    assert (back.created_at.tzinfo is None) == (message.created_at.tzinfo is None)


def test_what_another_room_wrote_can_be_read() -> None:
    foreign = [human("hi", name="Ann"), tool_result("1", "42"), human("x", metadata={_KEY: "odd"})]
    assert [(one.sender, one.role, one.content) for one in (_as_gpts(core, "c") for core in foreign)] == [
        ("Ann", "human", "hi"),
        ("", "tool", "42"),
        ("", "human", "x"),
    ]


IDS = st.sampled_from(["c", "c/", "会话", "3.c", "x" * 400, "x" * 401])
AGENTS = st.sampled_from(["Planner", "Coder", "Human"])


@pytest.fixture(params=["memory", "file"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with open_backend("memory:" if request.param == "memory" else tmp_path / "plans.db") as opened:
        yield opened


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


def test_a_bad_batch_stores_nothing(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    for bad in ([plan(1), plan(2, state="\0")], [plan(1), plan(1)], [plan(1), plan(-1)], [plan(1, conv_id="")]):
        with pytest.raises(InvalidInput):
            memory.batch_save(bad)
    assert memory.get_by_conv_id("c") == []


def test_a_number_may_be_text_and_a_state_a_status(backend: Backend) -> None:
    memory = DefaultGptsPlansMemory(backend)
    memory.batch_save([plan(3, state=Status.RETRYING)])
    memory.update_task("c", "3", Status.RUNNING, 1, "Coder", "qwen")  # pyright: ignore[reportArgumentType]
    (found,) = memory.get_by_conv_id_and_num("c", ["3"])  # pyright: ignore[reportArgumentType]
    assert found == plan(3, state="running", retry_times=1, sub_task_agent="Coder", agent_model="qwen")
    assert type(found.state) is str


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


def said_of(text: str, goal: str | None = None, **fields: Any) -> GptsMessage:
    return said(text, current_goal=goal, **fields)


def blocks(markdown: str) -> list[tuple[str, Any]]:
    return [(tag, json.loads(body)) for tag, body in re.findall(r"^```(\S+)\n(.*)\n```$", markdown, re.MULTILINE)]


def test_goals_are_steps_and_the_rest_stands_by_itself() -> None:
    view = blocks(dialogue_markdown([said_of("hi"), said_of("1", "load"), said_of("2", "load"), said_of("3", "count")]))
    assert [tag for tag, _ in view] == ["agent-messages", "agent-plans", "agent-messages"]
    assert view[0][1][0]["markdown"] == "hi"
    assert [(step["name"], step["num"], step["status"], step["agent"]) for step in view[1][1]] == [
        ("load", 1, "complete", "Coder"),
        ("count", 2, "complete", "Coder"),
    ]
    assert [one["markdown"] for one in blocks(view[1][1][0]["markdown"])[0][1]] == ["1", "2"]
    assert view[2][1][0]["markdown"] == "3"


def test_a_goal_that_comes_back_loses_nothing() -> None:
    view = dialogue_markdown([said_of("1", "a"), said_of("2", "b"), said_of("3", "a")])
    steps = blocks(view)[0][1]
    assert [step["name"] for step in steps] == ["a", "b", "a"]
    assert [blocks(step["markdown"])[0][1][0]["markdown"] for step in steps] == ["1", "2", "3"]


def test_reports_take_the_place_of_what_was_said() -> None:
    report = json.dumps({"content": "42 rows", "view": "**42** rows"})
    broke = json.dumps({"content": "no rows", "is_exe_success": False})
    messages = [said_of("running", action_report=report), said_of("hm", action_report=broke)]
    shown = [body[0]["markdown"] for _, body in blocks(dialogue_markdown(messages))]
    assert shown == ["**42** rows", "hm"]
    assert [one["markdown"] for one in _plain_views(messages)] == ["42 rows", "no rows"]


def test_what_ends_it_all_is_shown_as_text() -> None:
    ending = said_of("", "b", action_report=json.dumps({"content": "All done", "terminate": True}))
    view = dialogue_markdown([said_of("1", "a"), ending])
    assert view.endswith("\nAll done")
    assert [step["name"] for step in blocks(view)[0][1]] == ["a"]


@given(st.lists(st.tuples(st.text(max_size=20) | st.just("\n```\nx"), st.none() | st.sampled_from("ab")), max_size=8))
def test_every_message_is_in_the_view_whatever_it_says(lines: list[tuple[str, str | None]]) -> None:
    shown: list[str] = []
    for tag, body in blocks(dialogue_markdown([said_of(text, goal) for text, goal in lines])):
        for one in body:
            shown += (
                [m["markdown"] for m in blocks(one["markdown"])[0][1]] if tag == "agent-plans" else [one["markdown"]]
            )
    texts = [text for text, _ in lines]
    # The last of the last goal is shown once more.
    assert shown == texts + (texts[-1:] if lines and lines[-1][1] else [])


def contents(messages: list[GptsMessage]) -> list[str]:
    return [one.content for one in messages]


def test_an_agent_finds_what_it_received_too() -> None:
    memory = GptsMemory()
    block_on(memory.append_message("c", said("1", "Human", "Planner")))
    block_on(memory.append_message("c", said("2", "Planner", "Coder")))
    block_on(memory.append_message("c", said("3", "Coder", "Planner")))
    assert contents(block_on(memory.get_agent_messages("c", "Coder"))) == ["2", "3"]
    assert contents(block_on(memory.get_agent_messages("c", "Human"))) == ["1"]
    assert block_on(memory.get_agent_messages("c", "nobody")) == []


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    memory = GptsMemory(store=path)
    memory.init("c")
    block_on(memory.append_message("c", said("1")))
    memory.plans_memory.batch_save([GptsPlan("c", 1, "x", "title")])
    close_shared()
    again = GptsMemory(store=path)
    again.init("c")
    assert contents(block_on(again.get_messages("c"))) == ["1"]
    # What comes after the restart does not hide what was there before.
    block_on(again.append_message("c", said("2")))
    assert contents(block_on(again.get_messages("c"))) == ["1", "2"]
    assert again.plans_memory.get_by_conv_id("c")[0].sub_task_title == "title"


def test_what_was_said_before_comes_first_and_once() -> None:
    memory = GptsMemory()
    stored = said("stored")
    block_on(memory.append_message("c", stored))
    earlier = GptsMessage("c_0", "Human", "Planner", "human", "earlier")
    memory.init("c", history_messages=[earlier, stored], start_round=1)
    earlier.content = "changed"
    assert contents(block_on(memory.get_messages("c"))) == ["earlier", "stored"]
    block_on(memory.push_message("c"))
    view = block_on(memory.channels["c"].get())
    assert "stored" in view
    assert "earlier" not in view
    memory.clear("c")
    assert contents(block_on(memory.get_messages("c"))) == ["stored"]


async def test_plain_views_for_who_wants_no_blocks() -> None:
    memory = GptsMemory()
    memory.init("c", enable_vis_message=False)
    assert not memory.enable_vis_message("c")
    await memory.append_message("c", said("1"))
    await memory.push_message("c", {"sender": "Coder", "receiver": "Planner", "model": "m", "markdown": "wri"})
    await memory.push_message("c", "ting")
    await memory.complete("c")
    views = [view async for view in memory.chat_messages("c")]
    assert [[one["markdown"] for one in view] for view in views] == [["1"], ["1", "wri"], ["1", "ting"]]
    assert views[2][1] == dict.fromkeys(("sender", "receiver", "model"), "?") | {"markdown": "ting"}


def test_without_a_reader_nothing_waits() -> None:
    memory = GptsMemory(channel_size=2)
    memory.init("c")
    for number in range(10):
        block_on(memory.append_message("c", said(str(number))))
    block_on(memory.complete("c"))
    queue = memory.queue("c")
    assert queue is not None
    views = list(queue)
    assert len(views) == 2
    assert views[-1].count('"sender"') == 10


async def test_clearing_twice_and_what_was_never_opened_are_fine() -> None:
    memory = GptsMemory()
    memory.clear("c")
    await memory.push_message("c")
    await memory.complete("c")
    assert [view async for view in memory.chat_messages("c")] == []
    assert memory.queue("c") is None
    assert memory.enable_vis_message("c")
    memory.init("c")
    channel = memory.queue("c")
    assert channel is not None
    memory.init("c")
    assert channel.completed
    memory.clear("c")
    memory.clear("c")
    await memory.append_message("c", said("still stored"))
    assert contents(await memory.get_messages("c")) == ["still stored"]


def test_a_bad_message_is_refused_and_nothing_is_stored() -> None:
    memory = GptsMemory()
    for bad in (said("x", app_code="\0"), said("\0"), GptsMessage("other", "A", "B", "ai", "x")):
        with pytest.raises(InvalidInput):
            block_on(memory.append_message("c", bad))
    assert block_on(memory.get_messages("c")) == []
    with pytest.raises(InvalidInput):
        memory.init("")
    with pytest.raises(InvalidInput):
        memory.init("c", start_round=-1)
    with pytest.raises(InvalidInput):
        GptsMemory(channel_size=0)


class SlowMemory(GptsMessageMemory):
    """A memory of messages whose reading of the first message takes until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go = threading.Event(), threading.Event()

    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        found = super().get_by_conv_id(conv_id)
        if len(found) == 1:
            self.reading.set()
            self.go.wait(60)
        return found


async def test_a_view_that_is_ready_too_late_is_not_shown() -> None:
    slow = SlowMemory()
    memory = GptsMemory(message_memory=slow)
    memory.init("c", enable_vis_message=False)
    first = asyncio.create_task(memory.append_message("c", said("1")))
    assert await asyncio.to_thread(slow.reading.wait, 10)
    await memory.append_message("c", said("2"))
    slow.go.set()
    await first
    await memory.complete("c")
    assert [len(view) async for view in memory.chat_messages("c")] == [2]


@pytest.mark.parametrize("readers", [1, 2, 3])
async def test_everybody_who_watches_ends_on_the_last_view(readers: int) -> None:
    async def watch(memory: GptsMemory) -> list[Any]:
        return [view async for view in memory.chat_messages("c")]

    memory = GptsMemory()
    memory.init("c")
    watching = [asyncio.ensure_future(watch(memory)) for _ in range(readers)]
    await asyncio.sleep(0)
    for number in range(4):
        await memory.append_message("c", said(str(number)))
    await memory.complete("c")
    last = dialogue_markdown(await memory.get_messages("c"))
    seen = await asyncio.gather(*watching)
    assert [views[-1] for views in seen] == [last] * readers
    assert all(views.count(last) == 1 for views in seen)
    assert len({view for views in seen for view in views}) == 4
    assert await watch(memory) == [last]


async def test_a_message_being_written_is_at_the_end_of_the_view() -> None:
    memory = GptsMemory()
    memory.init("c")
    await memory.push_message("c", "wri")
    queue = memory.queue("c")
    assert queue is not None
    view = await queue.get()
    assert view.startswith("```agent-messages\n")
    assert json.loads(view.splitlines()[1])[0]["markdown"] == "wri"
    await memory.complete("c")
    assert await queue.get() == DONE


async def test_the_maps_of_open_conversations_are_those_of_the_document() -> None:
    memory = GptsMemory()
    before = GptsMessage("c", "Human", "Planner", "user", "Before.")
    memory.init("c", enable_vis_message=False, history_messages=[before], start_round=1)
    await memory.append_message("c", GptsMessage("c", "Planner", "Human", "assistant", "Now."))
    assert [one.content for one in memory.messages_cache["c"]] == ["Before.", "Now."]
    assert memory.messages_cache["other"] == []
    assert memory.channels["c"] is memory.queue("c")
    assert (dict(memory.enable_vis_map), dict(memory.start_round_map)) == ({"c": False}, {"c": 1})
    memory.enable_vis_map["c"] = True
    assert memory.enable_vis_message("c")
    memory.clear("c")
    assert [len(one) for one in (memory.channels, memory.enable_vis_map, memory.start_round_map)] == [0, 0, 0]
    assert not memory.messages_cache
