"""Hubs: who hears whom, who is really gone, and nothing left when it is over."""

from __future__ import annotations

import asyncio
import copy
import gc
import weakref
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memwell.errors import InvalidInput
from memwell.messages import Image, Opaque, Text, ToolCall, human, message
from memwell.runtime.agents import Agent
from memwell.runtime.hub import Hub
from tests.runtime.still_time import run_in_still_time


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


def test_all_hear_the_announcement_and_each_others_replies_but_nobody_their_own():
    async def main() -> list[list[Any]]:
        agents = listeners(3)
        async with Hub(agents, "welcome") as hub:
            await agents[0]("from 0")
            await agents[1]("from 1")
            await hub.broadcast(["to", "all"])
        await agents[0]("after")
        return [agent.heard for agent in agents]

    assert asyncio.run(main()) == [
        ["welcome", "from 1", ["to", "all"]],
        ["welcome", "from 0", ["to", "all"]],
        ["welcome", "from 0", "from 1", ["to", "all"]],
    ]


def test_a_removed_agent_is_gone_in_both_directions_also_after_the_hub():
    async def main() -> None:
        stays, also, leaves = listeners(3)
        async with Hub([stays, also, leaves]) as hub:
            assert hub.delete(leaves) == 1
            assert leaves._audiences == {}
            assert hub.delete([leaves]) == 0
            await leaves("from one who left")
            await stays("from one who stays")
            await hub.broadcast("to all")
            assert (stays.heard, leaves.heard) == (["to all"], [])
            hub.add(leaves)
            await leaves("back")
            assert stays.heard == ["to all", "back"]
            hub.delete([leaves, also])
        await leaves("after the hub")
        assert stays.heard == ["to all", "back"]
        assert leaves.heard == []

    asyncio.run(main())


def test_a_reply_under_way_when_its_agent_leaves_or_the_hub_closes_is_not_heard():
    async def main() -> list[Any]:
        one, other, third = listeners(3)
        async with Hub([one, other, third]) as hub:
            await hub.hear("heard", one)
            hub.delete(one)
            await hub.hear("unheard", one)
        await hub.hear("unheard", third)
        return other.heard

    assert asyncio.run(main()) == ["heard"]


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


def test_one_that_raises_or_blocks_is_noted_and_the_others_go_on():
    class Raises(Listener):
        async def observe(self, message: Any) -> None:
            raise ZeroDivisionError("cannot")

    class Blocks(Listener):
        ended = False

        async def observe(self, message: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                self.ended = True

    async def main() -> None:
        raises, blocks, fine, speaker = Raises("raises"), Blocks("blocks"), Listener("fine"), Listener("speaker")
        async with Hub([raises, blocks, fine, speaker], timeout_s=30) as hub:
            assert await speaker("hi") == "hi"
            assert fine.heard == ["hi"]
            assert blocks.ended
            found = {failure.agent: type(failure.error) for failure in hub.failures}
            assert found == {raises: ZeroDivisionError, blocks: TimeoutError}
        assert len(hub.failures) == 2

    run_in_still_time(main())


def test_the_failures_kept_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.runtime.hub._FAILURES_KEPT", 10)

    async def main() -> int:
        hub = Hub([Agent[str]("cannot observe")])
        for _ in range(15):
            await hub.broadcast("m")
        return len(hub.failures)

    assert asyncio.run(main()) == 10


def test_each_gets_a_copy_of_its_own():
    class Spoils(Agent[list[int]]):
        def __init__(self):
            super().__init__()
            self.heard: list[Any] = []

        async def reply(self) -> list[int]:
            return [1]

        async def observe(self, message: Any) -> None:
            message.append(len(message))
            self.heard.append(message)

    async def main() -> None:
        one, other, third = (Spoils() for _ in range(3))
        announcement = [0]
        async with Hub([one, other, third], announcement=[announcement]):
            assert announcement == [0]
            assert await one() == [1]
        assert other.heard[1] == third.heard[1] == [1, 1]
        assert other.heard[1] is not third.heard[1]

    asyncio.run(main())


def test_messages_share_nothing_that_can_be_changed():
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

    async def main() -> None:
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

    asyncio.run(main())


def test_one_name_twice_is_refused_and_binds_nobody():
    async def main() -> None:
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

    asyncio.run(main())


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


def test_a_hub_that_is_forgotten_binds_nobody():
    async def main() -> None:
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

    asyncio.run(main())


def test_a_hub_holds_its_agents_as_long_as_it_lives():
    async def main() -> tuple[int, list[Any]]:
        async with Hub(listeners(3), "hi") as hub:
            heard = [agent.heard for agent in hub.participants]  # type: ignore[attr-defined]
        return len(hub.participants), heard

    assert asyncio.run(main()) == (3, [["hi"]] * 3)


@pytest.mark.parametrize("bad", ["agent", 3, None, ["a"], [None]])
def test_what_is_no_agent_is_refused(bad: Any):
    with pytest.raises(InvalidInput, match="expected an agent"):
        Hub(bad)
    hub = Hub(listeners(1))
    for call in (hub.add, hub.delete):
        with pytest.raises(InvalidInput, match="expected an agent"):
            call(bad)
    assert len(hub.participants) == 1


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "3", None, True])
def test_a_time_that_is_none_is_refused(seconds: Any):
    with pytest.raises(InvalidInput, match="timeout_s"):
        Hub([], timeout_s=seconds)


class Fails(Listener):
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
