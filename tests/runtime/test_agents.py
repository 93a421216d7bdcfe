"""Agents: interruption and cancellation at every await, hooks and queues, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.messages import Message, Role, Text
from memwell.runtime.agents import Agent
from memwell.runtime.channels import Channel
from memwell.runtime.hub import Hub


class Scribe(Agent[str]):
    """Takes its time over everything, and notes what it does."""

    def __init__(self, name: str = "scribe"):
        super().__init__(name)
        self.notes: list[str] = []
        self.open_books = 0

    async def reply(self, message: str) -> str:
        self.open_books += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            self.notes.append(message)
            await self.print(message)
            return f"{self.name}: {message}"
        finally:
            self.open_books -= 1

    async def observe(self, message: Any) -> None:
        await asyncio.sleep(0)
        self.notes.append(message)

    async def handle_interrupt(self, message: str) -> str:
        await asyncio.sleep(0)
        return f"{self.name} was interrupted at {message}"


class Endless(Scribe):
    async def reply(self, message: str) -> str:
        await asyncio.Event().wait()
        return ""


async def ticks(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def others_running() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def slow_hook(*_: Any) -> None:
    await asyncio.sleep(0)


def hooked_pair() -> tuple[Scribe, Scribe]:
    one, other = Scribe("one"), Scribe("other")
    for agent in (one, other):
        for kind in Agent.supported_hook_types:
            agent.register_instance_hook(kind, "slow", slow_hook)
    one.set_msg_queue_enabled(True)
    return one, other


@pytest.mark.parametrize("after", range(25))
def test_a_caller_cancelled_at_the_nth_await_leaves_the_agents_whole(after: int):
    async def main() -> tuple[bool, list[str]]:
        one, other = hooked_pair()
        async with Hub([one, other]) as hub:
            task = asyncio.create_task(one("first"))
            await ticks(after)
            task.cancel()
            await asyncio.wait([task])
            assert not others_running()
            assert (one.open_books, one._replying) == (0, set())
            cut = task.cancelled()
            assert not (cut and after == 0 and one.notes)
            assert await one("second") == "one: second"
            assert other.notes[-1] == "one: second"
            assert len(other.notes) <= 2
            assert hub.failures == []
        return cut, one.notes

    cut, notes = asyncio.run(main())
    assert notes in (["first", "second"], ["second"])
    assert cut or notes == ["first", "second"]


def test_the_test_above_reaches_every_await():
    async def main() -> int:
        one, other = hooked_pair()
        async with Hub([one, other]):
            task = asyncio.create_task(one("first"))
            count = 0
            while not task.done():
                await asyncio.sleep(0)
                count += 1
        return count

    assert 10 < asyncio.run(main()) < 25


@pytest.mark.parametrize("after", range(25))
def test_interrupted_at_the_nth_await_it_answers_either_way(after: int):
    async def main() -> str:
        one, other = hooked_pair()
        async with Hub([one, other]):
            task = asyncio.create_task(one("first"))
            await ticks(after)
            await one.interrupt()
            answer = await task
            assert not others_running()
            assert (one.open_books, one._replying) == (0, set())
            assert other.notes == [answer]
            assert await one("second") == "one: second"
        return answer

    answer = asyncio.run(main())
    assert answer in {"one: first", "one was interrupted at first"}
    if 1 <= after <= 3:
        assert answer == "one was interrupted at first"


def test_interrupting_an_agent_reaches_through_the_agents_it_asks():
    class Asks(Scribe):
        def __init__(self, other: Scribe):
            super().__init__("asks")
            self.other = other

        async def reply(self, message: str) -> str:
            return "heard " + await self.other(message)

    async def main() -> str:
        agent = Asks(Endless("endless"))
        task = asyncio.create_task(agent("hi"))
        await ticks(5)
        await agent.interrupt()
        return await task

    assert asyncio.run(main()) == "asks was interrupted at hi"


def test_a_timeout_of_the_caller_ends_the_reply():
    async def main() -> None:
        agent = Endless()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await agent("hi")
        assert not others_running()
        await agent.interrupt()

    asyncio.run(main())


def test_interrupting_reaches_all_replies_that_run_and_none_that_come():
    async def main() -> list[str]:
        agent = Endless("e")
        tasks = [asyncio.create_task(agent(str(number))) for number in range(3)]
        await ticks(2)
        await agent.interrupt("stop")
        answers = await asyncio.gather(*tasks)
        later = asyncio.create_task(agent("later"))
        await ticks(3)
        assert not later.done()
        later.cancel()
        await asyncio.wait([later])
        return answers

    assert asyncio.run(main()) == [f"e was interrupted at {number}" for number in range(3)]


def test_an_agent_can_be_interrupted_from_another_thread():
    async def main() -> str:
        agent = Endless("e")
        task = asyncio.create_task(agent("hi"))
        await ticks(3)
        thread = threading.Thread(target=agent.interrupt_sync)
        thread.start()
        answer = await asyncio.wait_for(task, 60)
        await asyncio.get_running_loop().run_in_executor(None, thread.join)
        return answer

    assert asyncio.run(main()) == "e was interrupted at hi"


def test_a_reply_that_ends_by_a_cancellation_inside_it_is_an_interruption():
    class Cancelled(Scribe):
        async def reply(self, message: str) -> str:
            raise asyncio.CancelledError

    assert asyncio.run(Cancelled("c")("hi")) == "c was interrupted at hi"


def test_what_is_not_overridden_says_so():
    agent = Agent[str]()
    for call in (lambda: agent("hi"), lambda: agent.observe("hi"), agent.handle_interrupt):
        with pytest.raises(NotImplementedError, match="Agent has no"):
            asyncio.run(call())
    assert agent.name == "Agent"
    assert agent.id != Agent[str]().id
    with pytest.raises(InvalidInput):
        Agent[str](3)  # type: ignore[arg-type]


def test_the_error_of_a_reply_or_hook_reaches_the_caller_and_nobody_hears_anything():
    def raises(*_: Any) -> None:
        raise ZeroDivisionError

    async def main() -> list[str]:
        one, other = Scribe("one"), Scribe("other")
        async with Hub([one, other]):
            for kind in ("pre_reply", "post_reply"):
                one.register_instance_hook(kind, "raises", raises)
                with pytest.raises(ZeroDivisionError):
                    await one("hi")
                one.clear_instance_hooks()
            assert other.notes == []
            await one("again")
        return other.notes

    assert asyncio.run(main()) == ["one: again"]


def test_calls_beside_each_other_each_run_their_hooks():
    async def main() -> list[str]:
        agent, told = Scribe(), []
        agent.register_instance_hook("pre_reply", "a", lambda _, arguments: told.append(arguments["message"]))
        await asyncio.gather(*(agent(str(number)) for number in range(5)))
        return sorted(told)

    assert asyncio.run(main()) == list("01234")


def test_a_hook_changes_what_the_others_hear():
    async def main() -> list[str]:
        one, other = Scribe("one"), Scribe("other")
        one.register_instance_hook("post_reply", "shout", lambda _, __, output: output.upper())
        other.register_instance_hook("pre_observe", "mark", lambda _, arguments: {"message": [arguments["message"]]})
        async with Hub([one, other]):
            await one("hi")
        return other.notes

    assert asyncio.run(main()) == [["ONE: HI"]]


# Subscribers without a hub


def test_subscribers_are_held_weakly_and_under_a_name():
    async def main() -> tuple[list[str], bool]:
        one, other, third = Scribe("one"), Scribe("other"), Scribe("third")
        one.reset_subscribers("h", [one, other, third])
        await one("a")
        gone = weakref.ref(third)
        del third
        await asyncio.sleep(0)
        freed = gone() is None
        await one("b")
        one.reset_subscribers("h", [])
        await one("unheard")
        one.reset_subscribers("h", [other])
        one.remove_subscribers("h")
        one.remove_subscribers("never there")
        await one("unheard too")
        assert len(one.notes) == 4
        return other.notes, freed

    assert asyncio.run(main()) == (["one: a", "one: b"], True)


# What is printed


def said(text: str, **fields: Any) -> Message:
    return Message(Role.AI, (Text(text),), **fields)


def test_what_is_printed_goes_into_the_queue_with_back_pressure():
    async def main() -> list[Any]:
        agent, channel = Scribe(), Channel(2)
        agent.set_msg_queue_enabled(True, channel)
        read: list[Any] = []

        async def reads() -> None:
            async for item in channel:
                assert channel.qsize() <= 2
                read.append(item)
                await asyncio.sleep(0)

        reading = asyncio.create_task(reads())
        await asyncio.sleep(0)
        for number in range(20):
            await agent.print(str(number), last=number == 19)
        await agent.close()
        await reading
        return read

    assert asyncio.run(main()) == [(str(number), number == 19) for number in range(20)]


def test_a_queue_of_asyncio_does_too_and_gets_copies():
    class Box(Agent[list[int]]):
        pass

    async def main() -> tuple[Any, bool]:
        agent, queue, message = Box(), asyncio.Queue[Any](), [1]
        agent.set_msg_queue_enabled(True, queue)
        await agent.print(message)
        message.append(2)
        agent.set_msg_queue_enabled(False)
        await agent.print(message)
        agent.set_msg_queue_enabled(True)
        first = agent.msg_queue
        agent.set_msg_queue_enabled(True)
        assert queue.qsize() == 1
        return queue.get_nowait(), agent.msg_queue is first and isinstance(first, Channel)

    assert asyncio.run(main()) == (([1], True), True)
    with pytest.raises(InvalidInput, match="must have put"):
        Box().set_msg_queue_enabled(True, [])  # type: ignore[arg-type]


def test_the_console_shows_what_is_new(capsys: pytest.CaptureFixture[str]):
    async def main() -> None:
        agent = Agent[Message]("小明")
        await agent.print(said("unseen"))
        agent.set_console_output_enabled(True)
        for text in ("你", "你好", "你好。"):
            await agent.print(said(text, id="growing"), last=text.endswith("。"))
        for _ in range(100):
            await agent.print(said("never finished"), last=False)
        assert len(agent._printed) <= 64
        await agent.close()
        assert not agent._printed

    asyncio.run(main())
    assert capsys.readouterr().out.startswith("小明: 你好。\n小明: never finished")


# The end


@contextmanager
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_a_closed_agent_dies_with_its_last_reference():
    async def main() -> list[Any]:
        one, other = hooked_pair()
        failing = Endless("failing")
        async with Hub([one, other, failing]):
            await one("hi")
            task = asyncio.create_task(failing("hi"))
            await ticks(3)
            async with failing:
                pass
            assert task.done() or await task == "failing was interrupted at hi"
        await one.close()
        await other.close()
        await ticks(3)
        return [weakref.ref(agent) for agent in (one, other, failing)]

    with without_collector():
        assert [refer() for refer in asyncio.run(main())] == [None, None, None]


def test_an_agent_whose_reply_raised_dies_with_its_last_reference():
    class Fails(Agent[str]):
        async def reply(self) -> str:
            raise ZeroDivisionError

    async def main() -> Any:
        agent = Fails()
        with pytest.raises(ZeroDivisionError):
            await agent()
        with pytest.raises(NotImplementedError):
            await agent.handle_interrupt()
        return weakref.ref(agent)

    with without_collector():
        assert asyncio.run(main())() is None


def test_closing_leaves_every_hub_and_drops_hooks_and_queue():
    async def main() -> None:
        one, other = hooked_pair()
        queue = one.msg_queue
        assert isinstance(queue, Channel)
        async with Hub([one, other]) as first, Hub([one, other], auto_broadcast=False) as second:
            await one.close()
            assert first.participants == second.participants == [other]
            await one("alone")
            await first.broadcast("b")
            assert (one.notes, other.notes) == (["alone"], ["b"])
        assert one.msg_queue is None
        assert queue.completed
        assert vars(one)["_instance_hooks"] == {}

    asyncio.run(main())


def test_closing_waits_until_a_reply_has_tidied_up():
    class Tidies(Endless):
        tidy = False

        async def reply(self, message: str) -> str:
            try:
                return await super().reply(message)
            finally:
                await ticks(5)
                self.tidy = True

    async def main() -> tuple[bool, str]:
        agent = Tidies("t")
        task = asyncio.create_task(agent("hi"))
        await ticks(3)
        await agent.close()
        return agent.tidy, await task

    assert asyncio.run(main()) == (True, "t was interrupted at hi")


def test_an_agent_may_close_itself_and_be_closed_from_blocking_code():
    class Leaves(Agent[str]):
        async def reply(self) -> str:
            await self.close()
            return "gone"

        async def handle_interrupt(self) -> str:
            return "cut"

    agent = Leaves()
    assert asyncio.run(agent()) in {"gone", "cut"}
    agent.close_sync()
    assert agent._audiences == {}
