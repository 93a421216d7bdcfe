"""The memory of agents at work together: stored, pushed, read after a restart, and drawn."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.dbgpt.gpts import GptsMemory, GptsMessage, GptsMessageMemory, GptsPlan
from memwell.compat.dbgpt.gpts.channels import DONE
from memwell.errors import FileError, InvalidInput
from memwell.storage import open_backend
from memwell.storage.sharing import close_shared


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_shared()


def said(text: str, sender: str = "Planner", receiver: str = "Coder", **fields: Any) -> GptsMessage:
    return replace(GptsMessage("c", sender, receiver, "ai", text), **fields)


def contents(messages: list[GptsMessage]) -> list[str]:
    return [one.content for one in messages]


def test_messages_are_stored_pushed_and_read() -> None:
    async def run() -> None:
        memory = GptsMemory()
        memory.init("c")
        await memory.append_message("c", said("1"))
        await memory.append_message("c", said("2"))
        await memory.complete("c")
        views = [view async for view in memory.chat_messages("c")]
        assert len(views) == 2
        assert '"markdown":"2"' not in views[0]
        assert '"markdown":"1"' in views[1]
        assert '"markdown":"2"' in views[1]
        assert contents(await memory.get_messages("c")) == ["1", "2"]
        assert views[1] == await memory.app_link_chat_message("c")

    asyncio.run(run())


def test_an_agent_finds_what_it_received_too() -> None:
    memory = GptsMemory()
    memory.append_message_sync("c", said("1", "Human", "Planner"))
    memory.append_message_sync("c", said("2", "Planner", "Coder"))
    memory.append_message_sync("c", said("3", "Coder", "Planner"))
    assert contents(memory.get_agent_messages_sync("c", "Coder")) == ["2", "3"]
    assert contents(memory.get_agent_messages_sync("c", "Human")) == ["1"]
    assert memory.get_agent_messages_sync("c", "nobody") == []


def test_the_history_of_an_agent_is_what_its_actions_gave() -> None:
    memory = GptsMemory()
    report = json.dumps({"content": "42 rows"})
    # Two questions before the first answer: nothing depends on them coming in pairs.
    for message in (
        said("q"),
        said("q2"),
        said("a", "Coder", "Planner", action_report=report),
        said("b", "Coder", "Planner"),
    ):
        memory.append_message_sync("c", message)
    memory.append_message_sync("c", said("x", "Coder", "Planner", action_report="no JSON"))
    assert [one.content for one in memory.get_agent_history_memory_sync("c", "Coder")] == ["42 rows", "no JSON"]
    assert memory.get_agent_history_memory_sync("c", "Planner") == []


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    memory = GptsMemory(store=path)
    memory.init("c")
    memory.append_message_sync("c", said("1"))
    memory.plans_memory.batch_save([GptsPlan("c", 1, "x", "title")])
    close_shared()
    again = GptsMemory(store=path)
    again.init("c")
    assert contents(again.get_messages_sync("c")) == ["1"]
    # What comes after the restart does not hide what was there before.
    again.append_message_sync("c", said("2"))
    assert contents(again.get_messages_sync("c")) == ["1", "2"]
    assert again.plans_memory.get_by_conv_id("c")[0].sub_task_title == "title"


def test_two_memories_over_one_store_see_each_other_at_once() -> None:
    with open_backend("memory:") as backend:
        one, other = GptsMemory(store=backend), GptsMemory(store=backend)
        for number in range(4):
            (one, other)[number % 2].append_message_sync("c", said(str(number)))
            assert contents(one.get_messages_sync("c")) == contents(other.get_messages_sync("c"))
        other.message_memory.delete_by_conv_id("c")
        assert one.get_messages_sync("c") == []


def test_what_was_said_before_comes_first_and_once() -> None:
    memory = GptsMemory()
    stored = said("stored")
    memory.append_message_sync("c", stored)
    earlier = GptsMessage("c_0", "Human", "Planner", "human", "earlier")
    memory.init("c", history_messages=[earlier, stored], start_round=1)
    earlier.content = "changed"
    assert contents(memory.get_messages_sync("c")) == ["earlier", "stored"]
    assert "earlier" not in memory.app_link_chat_message_sync("c")
    assert "stored" in memory.app_link_chat_message_sync("c")
    memory.clear("c")
    assert contents(memory.get_messages_sync("c")) == ["stored"]


def test_plain_views_for_who_wants_no_blocks() -> None:
    async def run() -> None:
        memory = GptsMemory()
        memory.init("c", enable_vis_message=False)
        assert not memory.enable_vis_message("c")
        await memory.append_message("c", said("1"))
        await memory.push_message("c", {"sender": "Coder", "receiver": "Planner", "model": "m", "markdown": "wri"})
        await memory.push_message("c", "ting")
        await memory.complete("c")
        views = [view async for view in memory.chat_messages("c")]
        assert [[one["markdown"] for one in view] for view in views] == [["1"], ["1", "wri"], ["1", "ting"]]
        assert views[0] == await memory.simple_message("c")
        assert await memory.agent_stream_message("x", False) == [
            dict.fromkeys(("sender", "receiver", "model"), "?") | {"markdown": "x"}
        ]

    asyncio.run(run())


def test_a_message_being_written_is_at_the_end_of_the_view() -> None:
    async def run() -> None:
        memory = GptsMemory()
        memory.init("c")
        await memory.push_message("c", "wri")
        queue = memory.queue("c")
        assert queue is not None
        assert await queue.get() == await memory.agent_stream_message("wri")
        await memory.complete("c")
        assert await queue.get() == DONE

    asyncio.run(run())


def test_without_a_reader_nothing_waits() -> None:
    memory = GptsMemory(channel_size=2)
    memory.init("c")
    for number in range(10):
        memory.append_message_sync("c", said(str(number)))
    memory.complete_sync("c")
    views = list(memory.chat_messages_sync("c"))
    assert len(views) == 2
    assert views[-1].count('"sender"') == 10


def test_agents_wait_for_a_slow_reader_and_nothing_is_lost() -> None:
    async def run() -> None:
        memory = GptsMemory(channel_size=1)
        memory.init("c", enable_vis_message=False)

        async def work() -> None:
            for number in range(6):
                await memory.append_message("c", said(str(number)))
            await memory.complete("c")

        views = memory.chat_messages("c")
        worker = asyncio.create_task(work())
        sizes = [len(await anext(views))]
        await asyncio.sleep(0.05)
        assert not worker.done()
        assert len(await memory.get_messages("c")) < 6
        sizes += [len(view) async for view in views]
        await worker
        assert sizes == [1, 2, 3, 4, 5, 6]

    asyncio.run(run())


def test_agents_at_work_at_the_same_time_lose_nothing_and_no_view_takes_one_back() -> None:
    async def run() -> None:
        memory = GptsMemory(channel_size=3)
        memory.init("c", enable_vis_message=False)
        sizes: list[int] = []

        async def watch() -> None:
            sizes.extend([len(view) async for view in memory.chat_messages("c")])

        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0)
        await asyncio.gather(*(memory.append_message("c", said(str(number))) for number in range(40)))
        await memory.complete("c")
        await asyncio.wait_for(watcher, 60)
        assert sorted(map(int, contents(await memory.get_messages("c")))) == list(range(40))
        assert sizes == sorted(sizes)
        assert sizes[-1] == 40

    asyncio.run(run())


def test_a_watcher_in_another_thread() -> None:
    memory = GptsMemory()
    memory.init("c")
    got: list[Any] = []
    watcher = threading.Thread(target=lambda: got.extend(memory.chat_messages_sync("c")))
    watcher.start()
    for number in range(5):
        memory.append_message_sync("c", said(str(number)))
    memory.complete_sync("c")
    watcher.join(60)
    assert not watcher.is_alive()
    assert '"markdown":"4"' in got[-1]


def test_clearing_twice_and_what_was_never_opened_are_fine() -> None:
    async def run() -> None:
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

    asyncio.run(run())
    assert list(GptsMemory().chat_messages_sync("c")) == []


def test_a_bad_message_is_refused_and_nothing_is_stored() -> None:
    memory = GptsMemory()
    for bad in (said("x", app_code=3), said("\0"), GptsMessage("other", "A", "B", "ai", "x"), "text"):
        with pytest.raises(InvalidInput):
            memory.append_message_sync("c", bad)  # pyright: ignore[reportArgumentType]
    assert memory.get_messages_sync("c") == []
    with pytest.raises(InvalidInput):
        memory.init("")
    with pytest.raises(InvalidInput):
        memory.init("c", start_round=-1)
    with pytest.raises(InvalidInput):
        GptsMemory(channel_size=0)


class ListMemory(GptsMessageMemory):
    """A memory of messages as a program may write its own."""

    def __init__(self) -> None:
        self.all: list[GptsMessage] = []
        self.threads: set[str] = set()

    def append(self, message: GptsMessage) -> None:
        self.threads.add(threading.current_thread().name)
        self.all.append(message)

    def get_by_agent(self, conv_id: str, agent: str) -> list[GptsMessage]:
        return [one for one in self.all if agent in (one.sender, one.receiver)]

    def get_between_agents(
        self, conv_id: str, agent1: str, agent2: str, current_goal: str | None = None
    ) -> list[GptsMessage]:
        return []

    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        return [one for one in self.all if one.conv_id == conv_id]

    def get_last_message(self, conv_id: str) -> GptsMessage | None:
        return self.all[-1] if self.all else None

    def delete_by_conv_id(self, conv_id: str) -> None:
        self.all.clear()


class SlowMemory(ListMemory):
    """One whose reading of the first message takes until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go = threading.Event(), threading.Event()

    def get_by_conv_id(self, conv_id: str) -> list[GptsMessage]:
        found = super().get_by_conv_id(conv_id)
        if len(found) == 1:
            self.reading.set()
            self.go.wait(60)
        return found


def test_a_view_that_is_ready_too_late_is_not_shown() -> None:
    async def run() -> None:
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

    asyncio.run(run())


def test_memories_and_an_executor_of_one_s_own() -> None:
    mine = ListMemory()
    with ThreadPoolExecutor(1, thread_name_prefix="mine") as executor:
        memory = GptsMemory(None, mine, executor)
        memory.append_message_sync("c", said("1"))
        assert memory.message_memory is mine
        assert contents(memory.get_messages_sync("c")) == ["1"]
    assert {name.partition("_")[0] for name in mine.threads} == {"mine"}


def test_plan_and_dialogue_are_drawn(tmp_path: Path) -> None:
    memory = GptsMemory()
    memory.plans_memory.batch_save([GptsPlan("c", 2, "report", rely="1"), GptsPlan("c", 1, "读取数据")])
    memory.append_message_sync("c", said("请读取数据"))
    assert memory.mermaid("c").startswith("flowchart TD")
    assert "请读取数据" in memory.mermaid("c", "dialogue", language="zh")
    with pytest.raises(InvalidInput, match="'plan' or 'dialogue'"):
        memory.mermaid("c", "gantt")  # pyright: ignore[reportArgumentType]
    page = memory.html("c", language="zh", title="周报")
    assert "<title>周报</title>" in page
    memory.save_page("c", tmp_path / "page.html", language="zh", title="周报")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    memory.save_page("c", tmp_path / "page.html")
    assert "<title>c</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert asyncio.run(memory.amermaid("c")) == memory.mermaid("c")


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    memory = GptsMemory()
    with pytest.raises(FileError, match="cannot be written"):
        memory.save_page("c", tmp_path)
    with pytest.raises(FileError, match="does not exist"):
        memory.save_page("c", tmp_path / "nowhere" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_three_agents_at_work_from_plan_to_page(tmp_path: Path) -> None:
    """A planner, an analyst and a writer work off a plan while somebody watches; the whole is one page in the end."""
    memory = GptsMemory(store=tmp_path / "team.db")
    plans = memory.plans_memory

    async def work(conv: str) -> None:
        async def say(sender: str, receiver: str, text: str) -> None:
            await memory.append_message(conv, GptsMessage(conv, sender, receiver, "ai", text, rounds=1))

        await say("Human", "Planner", "Why did refunds go up last quarter?")
        await plans.abatch_save(
            [
                GptsPlan(conv, 1, "Group the refunds by reason", "Find the causes", "Analyst"),
                GptsPlan(conv, 2, "Two pages for the board", "Write the report", "Writer", rely="1"),
            ]
        )
        for plan in await plans.aget_todo_plans(conv):
            agent = plan.sub_task_agent or "Analyst"
            await say("Planner", agent, plan.sub_task_content or "")
            await plans.aupdate_task(conv, plan.sub_task_num, "running", 0)
            await say(agent, "Planner", f"{plan.sub_task_title}: done")
            await plans.acomplete_task(conv, plan.sub_task_num, "done")
        await memory.complete(conv)

    async def run(conv: str) -> int:
        memory.init(conv)
        worker = asyncio.create_task(work(conv))
        views = [view async for view in memory.chat_messages(conv)]
        await worker
        return len(views)

    assert asyncio.run(run("refunds")) == 5
    memory.save_page("refunds", tmp_path / "refunds.html")
    page = (tmp_path / "refunds.html").read_text(encoding="utf-8")
    assert "2 of 2 steps complete" in page
    assert page.count("<article") == 5


@pytest.mark.parametrize("readers", [1, 2, 3])
def test_everybody_who_watches_ends_on_the_last_view(readers: int) -> None:
    async def watch(memory: GptsMemory) -> list[Any]:
        return [view async for view in memory.chat_messages("c")]

    async def run() -> None:
        memory = GptsMemory()
        memory.init("c")
        watching = [asyncio.ensure_future(watch(memory)) for _ in range(readers)]
        await asyncio.sleep(0)
        for number in range(4):
            await memory.append_message("c", said(str(number)))
        await memory.complete("c")
        last = await memory.app_link_chat_message("c")
        seen = await asyncio.gather(*watching)
        assert [views[-1] for views in seen] == [last] * readers
        assert all(views.count(last) == 1 for views in seen)
        assert len({view for views in seen for view in views}) == 4
        late = [await asyncio.to_thread(lambda: list(memory.chat_messages_sync("c"))), await watch(memory)]
        assert late == [[last], [last]]

    asyncio.run(run())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_a_page_has_the_rights_of_any_other_file(tmp_path: Path, mask: int) -> None:
    memory, page = GptsMemory(), tmp_path / "page.html"
    before = os.umask(mask)
    try:
        memory.save_page("c", page)
        (tmp_path / "other").touch()
    finally:
        os.umask(before)
    assert page.stat().st_mode == (tmp_path / "other").stat().st_mode
    page.chmod(0o640)
    memory.save_page("c", page)
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "page.html"]
