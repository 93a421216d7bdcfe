"""Agents: interruption and cancellation at every await, hooks and queues, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import copy
import gc
import threading
import weakref
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memwell.errors import InvalidInput
from memwell.messages import Image, Message, Opaque, Role, Text, ToolCall, human, message
from memwell.runtime.agents import DONE, Agent, Channel, Hooked, Hub, deliver
from tests.runtime.still_time import run_in_still_time

# Hooks: their order and scope, what they get and may return, and which calls run them.


class Base(Hooked):
    supported_hook_types: ClassVar[list[str]] = ["pre_reply", "post_reply", "pre_observe", "post_observe"]

    async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
        return [text, more, loud, rest]

    async def observe(self, message: Any) -> None:
        return None


def classes() -> tuple[type[Base], type[Base], type[Base]]:
    """A class, and two beside each other under it, fresh for each test."""

    class Upper(Base):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await super().reply(text, *more, loud=loud, **rest)

    class Left(Upper):
        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await super().reply(text, *more, loud=loud, **rest)

    class Right(Upper):
        pass

    return Upper, Left, Right


def noting(told: list[str], name: str) -> Any:
    def hook(*_: Any) -> None:
        told.append(name)

    return hook


def test_the_instance_comes_first_then_its_class_then_the_classes_above():
    upper, left, right = classes()
    told: list[str] = []
    upper.register_class_hook("pre_reply", "a", noting(told, "upper"))
    left.register_class_hook("pre_reply", "a", noting(told, "left 1"))
    left.register_class_hook("pre_reply", "b", noting(told, "left 2"))
    right.register_class_hook("pre_reply", "a", noting(told, "right"))
    agent = left()
    agent.register_instance_hook("pre_reply", "z", noting(told, "instance 1"))
    agent.register_instance_hook("pre_reply", "a", noting(told, "instance 2"))
    asyncio.run(agent.reply("hi"))
    assert told == ["instance 1", "instance 2", "left 1", "left 2", "upper"]


def test_a_hook_on_one_class_reaches_its_subclasses_only():
    upper, left, right = classes()
    told: list[str] = []
    left.register_class_hook("post_reply", "a", noting(told, "left"))
    for cls in (upper, right, Base):
        asyncio.run(cls().reply("hi"))
    assert told == []
    asyncio.run(type("Below", (left,), {})().reply("hi"))
    assert told == ["left"]
    with pytest.raises(ValueError, match="has no post_reply hook 'a'"):
        right.remove_class_hook("post_reply", "a")
    right.clear_class_hooks()
    upper.clear_class_hooks("post_reply")
    asyncio.run(left().reply("hi"))
    assert told == ["left", "left"]
    left.remove_class_hook("post_reply", "a")
    asyncio.run(left().reply("hi"))
    assert told == ["left", "left"]


WORDS = st.text("ab", max_size=3)


@given(
    WORDS,
    st.lists(WORDS, max_size=2),
    st.booleans(),
    st.dictionaries(st.sampled_from(["x", "y", "args"]), WORDS),
    st.booleans(),
)
def test_arguments_come_by_name_and_go_as_they_came(
    text: str, more: list[str], loud: bool, rest: dict[str, str], by_name: bool
):
    seen: list[dict[str, Any]] = []

    def pre(_: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        seen.append(arguments)
        return arguments

    agent = classes()[1]()
    plain = asyncio.run(agent.reply(text, *more, loud=loud, **rest))
    agent.register_instance_hook("pre_reply", "pre", pre)
    if by_name and not more:
        hooked = asyncio.run(agent.reply(text=text, loud=loud, **rest))
    else:
        hooked = asyncio.run(agent.reply(text, *more, loud=loud, **rest))
    assert hooked == plain == [text, tuple(more), loud, rest]
    assert seen == [{"text": text, "more": tuple(more), "loud": loud, "rest": rest}]


def test_what_a_hook_returns_counts_and_what_it_does_to_its_copies_does_not():
    class Echo(Base):
        async def reply(self, message: list[str], first: str = "x") -> Any:
            return [*message, first]

    async def spoils(_: Any, arguments: dict[str, Any], *output: Any) -> None:
        arguments["message"].append("spoilt")
        for each in output:
            each.append("spoilt")

    agent, given = Echo(), ["a"]
    agent.register_instance_hook("pre_reply", "spoils", spoils)
    agent.register_instance_hook("post_reply", "spoils", spoils)
    assert asyncio.run(agent.reply(given)) == ["a", "x"]
    assert given == ["a"]
    agent.register_instance_hook("pre_reply", "other", lambda _, arguments: {"message": ["b"]})
    agent.register_instance_hook("post_reply", "more", lambda _, arguments, output: [*output, arguments])
    assert asyncio.run(agent.reply(given, "y")) == ["b", "x", {"message": ["b"], "first": "x"}]


@pytest.mark.parametrize(
    ("returned", "match"),
    [
        (["text"], "must return a dict of arguments or None, not"),
        ("text", "must return a dict"),
        ({"other": 1, "message": 2}, "'other'"),
        ({}, "must return the argument 'message' too"),
    ],
)
def test_a_pre_hook_that_returns_the_wrong_thing_is_refused(returned: Any, match: str):
    agent = classes()[0]()
    agent.register_instance_hook("pre_observe", "wrong", lambda *_: returned)
    with pytest.raises(InvalidInput, match=match):
        asyncio.run(agent.observe("m"))
    agent.remove_instance_hook("pre_observe", "wrong")
    asyncio.run(agent.observe("m"))


@pytest.mark.parametrize("bad", ["pre_sing", "reply", "", None, 3])
def test_an_unknown_type_is_refused_everywhere(bad: Any):
    agent = classes()[0]()
    for call in (
        lambda: agent.register_instance_hook(bad, "a", print),
        lambda: agent.remove_instance_hook(bad, "a"),
        lambda: type(agent).register_class_hook(bad, "a", print),
        lambda: type(agent).remove_class_hook(bad, "a"),
    ):
        with pytest.raises(InvalidInput, match="has no hooks of type"):
            call()
    with pytest.raises(InvalidInput, match="must be a function"):
        agent.register_instance_hook("pre_reply", "a", "print")  # type: ignore[arg-type]


# Which calls run them


class Slow(Base):
    """Calls up through wait_for, which on some Pythons is a task of its own."""

    async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
        await asyncio.sleep(0)
        return await asyncio.wait_for(super().reply(text), 60)


def test_super_runs_no_hooks_twice_also_in_another_task():
    told: list[str] = []
    agent = Slow()
    agent.register_instance_hook("pre_reply", "a", noting(told, "pre"))
    agent.register_instance_hook("post_reply", "a", noting(told, "post"))
    asyncio.run(agent.reply("hi"))
    assert told == ["pre", "post"]


def test_a_method_that_was_replaced_in_its_class_still_runs_its_hooks(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    agent, original = Slow(), Slow.reply

    async def traced(self: Slow, *args: Any) -> Any:
        told.append("traced")
        return await original(self, *args)

    monkeypatch.setattr(Slow, "reply", traced)
    agent.register_instance_hook("pre_reply", "a", noting(told, "pre"))
    asyncio.run(agent.reply("hi"))
    assert told == ["traced", "pre"]


# Which methods have them


async def test_calls_beside_each_other_each_run_their_hooks():
    told: list[str] = []
    agent = Slow()
    agent.register_instance_hook("pre_reply", "a", lambda _, arguments: told.append(arguments["text"]))

    await asyncio.gather(*(agent.reply(str(number)) for number in range(10)))
    assert sorted(told) == [str(number) for number in range(10)]


def test_a_subclass_adds_types_and_its_methods_with_a_leading_underscore_have_them():
    class Thinks(Base):
        supported_hook_types: ClassVar[list[str]] = ["pre_reasoning", "post_reasoning"]

        async def reply(self, text: str, *more: str, loud: bool = False, **rest: Any) -> Any:
            return await self._reasoning(text)

        async def _reasoning(self, text: str) -> str:
            return text + "!"

    told: list[str] = []
    Thinks.register_class_hook("pre_reasoning", "a", noting(told, "reasoning"))
    Thinks.register_class_hook("pre_reply", "a", noting(told, "reply"))
    Thinks.register_class_hook("post_reasoning", "a", lambda _, __, output: output * 2)
    assert asyncio.run(Thinks().reply("hi")) == "hi!hi!"
    assert told == ["reply", "reasoning"]
    with pytest.raises(InvalidInput):
        Base.register_class_hook("pre_reasoning", "a", print)


def test_a_method_that_comes_from_a_mixin_has_hooks_too():
    class Mixin:
        async def reply(this, text: str) -> str:  # pyright: ignore[reportSelfClsParameterName]
            return text

    class Mixed(Mixin, Base):
        pass

    told: list[str] = []
    Mixed.register_class_hook("pre_reply", "a", noting(told, "mixed"))
    assert asyncio.run(Mixed().reply("hi")) == "hi"
    assert told == ["mixed"]


# One message to many: together, each within its time, one failure not that of another, nothing left running.


async def one(kind: str, number: int, took: list[int]) -> None:
    if kind == "waits":
        for _ in range(number % 4 + 1):
            await asyncio.sleep(0)
    if kind == "raises":
        raise ZeroDivisionError(number)
    if kind == "cancels":
        raise asyncio.CancelledError
    if kind == "blocks":
        await asyncio.Event().wait()
    took.append(number)


def others_running() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


@given(st.lists(st.sampled_from(["at once", "waits", "raises", "cancels", "blocks"]), max_size=12))
def test_everybody_is_served_whatever_becomes_of_the_others(kinds: list[str]):
    took: list[int] = []

    async def main() -> tuple[list[Any], set[Any]]:
        numbered = list(enumerate(kinds))
        failures = await deliver(numbered, lambda each: one(each[1], each[0], took), timeout_s=30)
        return failures, others_running()

    failures, left = run_in_still_time(main())
    assert sorted(took) == [number for number, kind in enumerate(kinds) if kind in {"at once", "waits"}]
    expected = {"raises": ZeroDivisionError, "cancels": asyncio.CancelledError, "blocks": TimeoutError}
    assert sorted((agent[0], type(error).__name__) for agent, error in failures) == [
        (number, expected[kind].__name__) for number, kind in enumerate(kinds) if kind in expected
    ]
    assert all(error.__traceback__ is None for _, error in failures)
    assert not left


def test_one_that_will_not_be_cancelled_is_left_to_itself():
    async def main() -> tuple[list[Any], list[str]]:
        done, released = [], asyncio.Event()

        async def stubborn() -> None:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            raise ZeroDivisionError("far too late")

        async def quick() -> None:
            done.append("quick")

        receivers = {"stubborn": stubborn, "quick": quick}
        failures = await deliver(receivers, lambda name: receivers[name](), timeout_s=30)
        released.set()
        await asyncio.wait(others_running())
        return failures, done

    failures, done = run_in_still_time(main())
    assert [(name, type(error)) for name, error in failures] == [("stubborn", TimeoutError)]
    assert done == ["quick"]


def test_what_is_no_ordinary_error_is_not_swallowed():
    async def stops() -> None:
        raise KeyboardInterrupt

    def main() -> Coroutine[Any, Any, list[Any]]:
        return deliver([1], lambda _: stops(), timeout_s=60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())


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


async def test_interrupting_reaches_all_replies_that_run_and_none_that_come():
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
    assert answers == [f"e was interrupted at {number}" for number in range(3)]


async def test_an_agent_can_be_interrupted_from_another_thread():
    agent = Endless("e")
    task = asyncio.create_task(agent("hi"))
    await ticks(3)
    thread = threading.Thread(target=agent.interrupt_sync)
    thread.start()
    answer = await asyncio.wait_for(task, 60)
    await asyncio.get_running_loop().run_in_executor(None, thread.join)
    assert answer == "e was interrupted at hi"


def test_what_is_not_overridden_says_so():
    agent = Agent[str]()
    for call in (lambda: agent("hi"), lambda: agent.observe("hi"), agent.handle_interrupt):
        with pytest.raises(NotImplementedError, match="Agent has no"):
            asyncio.run(call())
    assert agent.name == "Agent"
    assert agent.id != Agent[str]().id
    with pytest.raises(InvalidInput):
        Agent[str](3)  # type: ignore[arg-type]


async def test_the_error_of_a_reply_or_hook_reaches_the_caller_and_nobody_hears_anything():
    def raises(*_: Any) -> None:
        raise ZeroDivisionError

    one, other = Scribe("one"), Scribe("other")
    async with Hub([one, other]):
        for kind in ("pre_reply", "post_reply"):
            one.register_instance_hook(kind, "raises", raises)
            with pytest.raises(ZeroDivisionError):
                await one("hi")
            one.clear_instance_hooks()
        assert other.notes == []
        await one("again")
    assert other.notes == ["one: again"]


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


async def test_a_queue_of_asyncio_does_too_and_gets_copies():
    class Box(Agent[list[int]]):
        pass

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
    assert (queue.get_nowait(), agent.msg_queue is first and isinstance(first, Channel)) == (([1], True), True)
    with pytest.raises(InvalidInput, match="must have put"):
        Box().set_msg_queue_enabled(True, [])  # type: ignore[arg-type]


async def test_the_console_shows_what_is_new(capsys: pytest.CaptureFixture[str]):
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
    assert capsys.readouterr().out.startswith("小明: 你好。\n小明: never finished")


# The end


async def test_closing_leaves_every_hub_and_drops_hooks_and_queue():
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
    assert vars(one)["_own_hooks"] == {}


async def test_closing_waits_until_a_reply_has_tidied_up():
    class Tidies(Endless):
        tidy = False

        async def reply(self, message: str) -> str:
            try:
                return await super().reply(message)
            finally:
                await ticks(5)
                self.tidy = True

    agent = Tidies("t")
    task = asyncio.create_task(agent("hi"))
    await ticks(3)
    await agent.close()
    assert (agent.tidy, await task) == (True, "t was interrupted at hi")


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


# Hubs: who hears whom, who is really gone, and nothing left when it is over.


class Listener(Agent[Any]):
    def __init__(self, name: str = "listener"):
        super().__init__(name)
        self.heard: list[Any] = []

    async def reply(self, message: Any) -> Any:
        return message

    async def observe(self, message: Any) -> None:
        self.heard.append(message)


def listeners(count: int) -> list[Listener]:
    return [Listener(str(number)) for number in range(count)]


async def test_a_reply_under_way_when_its_agent_leaves_or_the_hub_closes_is_not_heard():
    one, other, third = listeners(3)
    async with Hub([one, other, third]) as hub:
        await hub.hear("heard", one)
        hub.delete(one)
        await hub.hear("unheard", one)
    await hub.hear("unheard", third)
    assert other.heard == ["heard"]


def test_an_agent_removed_while_others_are_served_hears_no_more():
    class Removes(Listener):
        async def observe(self, message: Any) -> None:
            hub.delete(last)

    first, last = Removes("first"), Listener("last")
    hub = Hub([first, last])
    asyncio.run(hub.broadcast("m"))
    assert last.heard == []


class Sharing(RuleBasedStateMachine):
    """Two hubs and five agents beside a model of who is where."""

    def __init__(self):
        super().__init__()
        self.agents = listeners(5)
        self.hubs = [Hub([], name=name) for name in "xy"]
        self.inside: list[set[int]] = [set(), set()]
        self.open = [False, False]
        self.auto = [True, True]
        self.expected: list[list[Any]] = [[] for _ in self.agents]
        self.said = 0

    @rule(hub=st.integers(0, 1), agent=st.integers(0, 4))
    def add(self, hub: int, agent: int):
        self.hubs[hub].add(self.agents[agent])
        self.inside[hub].add(agent)

    @rule(hub=st.integers(0, 1), agent=st.integers(0, 4))
    def delete(self, hub: int, agent: int):
        assert self.hubs[hub].delete(self.agents[agent]) == (agent in self.inside[hub])
        self.inside[hub].discard(agent)

    @rule(hub=st.integers(0, 1))
    def open_or_close(self, hub: int):
        turn = self.hubs[hub].__aexit__(None, None, None) if self.open[hub] else self.hubs[hub].__aenter__()
        asyncio.run(turn)
        self.open[hub] = not self.open[hub]

    @rule(hub=st.integers(0, 1), enable=st.booleans())
    def set_auto(self, hub: int, enable: bool):
        self.hubs[hub].set_auto_broadcast(enable)
        self.auto[hub] = enable

    @rule(agent=st.integers(0, 4))
    def reply(self, agent: int):
        self.said += 1
        asyncio.run(self.agents[agent](self.said))
        for hub in range(2):
            if self.open[hub] and self.auto[hub] and agent in self.inside[hub]:
                for other in self.inside[hub] - {agent}:
                    self.expected[other].append(self.said)

    @rule(agent=st.integers(0, 4))
    def close(self, agent: int):
        asyncio.run(self.agents[agent].close())
        for hub in range(2):
            if self.open[hub]:
                self.inside[hub].discard(agent)

    @rule(hub=st.integers(0, 1))
    def broadcast(self, hub: int):
        self.said += 1
        asyncio.run(self.hubs[hub].broadcast(self.said))
        for other in self.inside[hub]:
            self.expected[other].append(self.said)

    @invariant()
    def everybody_heard_what_they_should(self):
        assert [agent.heard for agent in self.agents] == self.expected
        assert [{int(agent.name) for agent in hub.participants} for hub in self.hubs] == self.inside


TestSharing = Sharing.TestCase
TestSharing.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_failures_are_listed_up_to_a_bound_and_the_others_are_served(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.runtime.agents._FAILURES_KEPT", 10)

    async def main() -> list[Any]:
        hub = Hub([Agent[str]("cannot observe"), listener])
        for _ in range(15):
            await hub.broadcast("m")
        return hub.failures

    listener = Listener()
    failures = asyncio.run(main())
    assert [(failure.agent.name, type(failure.error)) for failure in failures] == [
        ("cannot observe", NotImplementedError)
    ] * 10
    assert len(listener.heard) == 15


async def test_messages_share_nothing_that_can_be_changed():
    call = ToolCall("c", "look", {"where": ["here"]})
    parts = [Text("hello"), call, Image(url="u", options={"detail": "low"}), Opaque("k", {"a": {}})]

    class Spoils(Listener):
        async def observe(self, message: Any) -> None:
            for one in message if isinstance(message, list) else [message]:
                assert one.metadata.get("by") in (None, "sender")
                one.metadata["by"] = self.name
                one.metadata.setdefault("deep", {})[self.name] = 1
                for each in one.tool_calls:
                    each.arguments["where"].append(self.name)
                for each in one.parts:
                    if isinstance(each, Image):
                        each.options[self.name] = 1
                    elif isinstance(each, Opaque):
                        each.data["a"][self.name] = 1
                self.heard.append(one)

    agents = [Spoils(str(number)) for number in range(3)]
    rich, plain = message("ai", parts, metadata={"deep": {}, "by": "sender"}), human("hi")
    before = copy.deepcopy([rich, plain])
    async with Hub(agents, announcement=[rich, plain]) as hub:
        await hub.broadcast(rich)
        await hub.broadcast(plain)
        assert await agents[0](rich) is rich
        assert await agents[1](plain) is plain
        assert hub.failures == []
    assert [rich, plain] == before
    for agent in agents:
        assert [one.id for one in agent.heard][:4] == [rich.id, plain.id] * 2
        for one in agent.heard:
            assert one.metadata["deep"] == {agent.name: 1}


async def test_one_name_twice_is_refused_and_binds_nobody():
    one, other, third = listeners(3)
    async with Hub([one, other], name="h") as first:
        second = Hub([third, one], name="h")
        with pytest.raises(InvalidInput, match="another hub called 'h'"):
            async with second:
                pass
        assert third._audiences == {}
        with pytest.raises(InvalidInput, match="open already"):
            await first.__aenter__()
        async with Hub([third], name="h") as fourth:
            with pytest.raises(InvalidInput, match="another hub"):
                fourth.add([one])
            assert fourth.participants == [third]
        await one("still")
        assert other.heard == ["still"]
    async with second:
        await third("now")
    assert one.heard == ["now"]


def test_a_hub_whose_announcement_is_cancelled_binds_nobody():
    class Waits(Listener):
        async def observe(self, message: Any) -> None:
            await asyncio.Event().wait()

    async def main() -> list[Any]:
        agents = [Waits(), Waits()]
        entering = asyncio.create_task(Hub(agents, "hi").__aenter__())
        await asyncio.sleep(0.01)
        entering.cancel()
        await asyncio.wait([entering])
        assert entering.cancelled()
        assert len(asyncio.all_tasks()) == 1
        return [agent._audiences for agent in agents]

    assert asyncio.run(main()) == [{}, {}]


async def test_a_hub_that_is_forgotten_binds_nobody():
    one, other = listeners(2)
    hub = Hub([one, other])
    await hub.__aenter__()
    await one("heard")
    gone = weakref.ref(hub)
    del hub
    assert gone() is None
    await one("unheard")
    assert other.heard == ["heard"]
    async with Hub([one, other]):
        pass


@pytest.mark.parametrize("bad", ["agent", 3, None, ["a"], [None]])
def test_what_is_no_agent_is_refused(bad: Any):
    with pytest.raises(InvalidInput, match="expected an agent"):
        Hub(bad)
    with pytest.raises(InvalidInput, match="timeout_s"):
        Hub([], timeout_s=0)
    hub = Hub(listeners(1))
    for call in (hub.add, hub.delete):
        with pytest.raises(InvalidInput, match="expected an agent"):
            call(bad)
    assert len(hub.participants) == 1


class Fails(Listener):
    async def reply(self, message: Any) -> Any:
        raise ZeroDivisionError

    async def observe(self, message: Any) -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError


async def a_whole_life(count: int) -> list[weakref.ref[Any]]:
    agents: list[Any] = [*listeners(count), Fails()]
    for agent in agents:
        agent.register_instance_hook("post_observe", "a", lambda self, arguments, output: None)
        agent.set_msg_queue_enabled(True)
    async with Hub(agents, "welcome") as hub:
        for agent in agents:
            with suppress(ZeroDivisionError):
                await agent("hello")
            await agent.print("hello")
        hub.delete(agents[0])
    for agent in agents:
        await agent.close()
    return [weakref.ref(hub), *map(weakref.ref, agents)]


def counted() -> Counter[str]:
    """All objects that the collector knows of, by type; those in cycles too, for nothing is collected."""
    # Tuples aside: other threads make some at any time, and what one of ours would hold is counted itself.
    return Counter(type(each).__qualname__ for each in gc.get_objects() if type(each) is not tuple)


def test_when_a_hub_is_closed_zero_objects_are_left_without_the_collector(caplog: pytest.LogCaptureFixture):
    # pytest keeps what is logged.
    caplog.set_level("CRITICAL")

    async def main() -> None:
        await a_whole_life(5)
        counted()
        before = counted()
        for _ in range(3):
            gone = await a_whole_life(10)
            assert [refer() for refer in gone] == [None] * len(gone)
            del gone
        grown = counted() - before
        # The second count itself.
        assert grown - Counter({"Counter": 1}) == Counter()

    gc.collect()
    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()


# Channels: a bound without waiting, completion, cancellation, many readers and writers, threads


async def test_items_come_in_order_until_the_end() -> None:
    channel = Channel()
    for number in range(3):
        assert await channel.put(number)
    assert (channel.qsize(), channel.empty()) == (3, False)
    assert await channel.put(DONE)
    channel.complete()
    assert [item async for item in channel] == [0, 1, 2]
    assert channel.completed
    assert not await channel.put("late")
    assert [await channel.get(), await channel.get()] == [DONE, DONE]
    channel.task_done()


async def test_writers_never_wait_and_the_latest_items_stay() -> None:
    channel = Channel(3)
    for number in range(100):
        await asyncio.wait_for(channel.put(number), 60)
    channel.complete()
    assert [item async for item in channel] == [97, 98, 99]


async def test_a_cancelled_reader_takes_nothing_with_it() -> None:
    channel = Channel()
    reader = asyncio.create_task(channel.get())
    await ticks(20)
    # The item is handed over, and in the same moment, before the reader runs, it is cancelled.
    await channel.put("kept")
    reader.cancel()
    with suppress(asyncio.CancelledError):
        await reader
    await channel.put("next")
    assert [await channel.get(), await channel.get()] == ["kept", "next"]


@given(st.integers(1, 4), st.lists(st.integers(0, 8), min_size=1, max_size=4), st.lists(st.integers(0, 6), max_size=6))
async def test_many_readers_and_writers_lose_and_double_nothing(
    readers: int, counts: list[int], cancels: list[int]
) -> None:
    channel, got = Channel(), list[tuple[int, int]]()

    async def read() -> None:
        async for item in channel:
            got.append(item)

    async def write(writer: int, count: int) -> None:
        for number in range(count):
            await channel.put((writer, number))
            await asyncio.sleep(0)

    reading = [asyncio.create_task(read()) for _ in range(readers)]
    await ticks(20)
    writing = [asyncio.create_task(write(writer, count)) for writer, count in enumerate(counts)]
    # Readers that are cancelled while they wait; one always stays.
    for pause in cancels:
        for _ in range(pause):
            await asyncio.sleep(0)
        if len(reading) > 1:
            reading.pop().cancel()
    await asyncio.wait_for(asyncio.gather(*writing), 60)
    channel.complete()
    await asyncio.wait_for(asyncio.gather(*reading), 60)
    assert sorted(got) == [(writer, number) for writer, count in enumerate(counts) for number in range(count)]


def test_it_works_between_event_loops_and_threads() -> None:
    channel, got = Channel(1000), list[Any]()
    reader = threading.Thread(target=lambda: got.extend(channel))
    reader.start()
    for number in range(200):
        asyncio.run(channel.put(number))
    channel.complete()
    reader.join(60)
    assert got == list(range(200))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_a_channel_has_room_for_one_at_least(size: Any) -> None:
    with pytest.raises(InvalidInput, match="size of a channel"):
        Channel(size)
