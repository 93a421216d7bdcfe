"""Agents that speak in Msg on a hub: copies without thinking, who hears whom, what is printed, what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.agentscope.agents import AgentBase, MsgHub
from memwell.compat.agentscope.messages import Msg
from memwell.errors import InvalidInput
from memwell.runtime.agents import Channel


class Speaker(AgentBase):
    def __init__(self, name: str = "speaker"):
        super().__init__()
        self.name = name
        self.heard: list[Any] = []
        self.set_console_output_enabled(False)

    async def reply(self, msg: Any) -> Any:
        await self.print(msg)
        return msg

    async def observe(self, msg: Msg | list[Msg] | None) -> None:
        self.heard.append(msg)

    async def handle_interrupt(self, msg: Any) -> Msg:
        return Msg(self.name, "interrupted", "assistant")


def speakers(count: int) -> list[Speaker]:
    return [Speaker(str(number)) for number in range(count)]


BLOCKS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "您好"},
            {"type": "thinking", "thinking": "secret"},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": [1]}},
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        ]
    ),
    max_size=4,
)


@given(
    st.text("ab", max_size=3) | BLOCKS, st.dictionaries(st.text("k", max_size=1), st.lists(st.integers(), max_size=2))
)
async def test_others_get_copies_of_their_own_without_thinking(content: Any, metadata: dict[str, Any]):
    one, other, third = speakers(3)
    said = Msg("one", content, "assistant", metadata=metadata, invocation_id="i-1")
    before = said.to_dict()
    async with MsgHub([one, other, third]):
        assert await one(said) is said
    heard, also = other.heard[0], third.heard[0]
    kept = content if isinstance(content, str) else [block for block in content if block["type"] != "thinking"]
    assert heard.to_dict() == {**before, "content": kept}
    assert heard is not also is not said
    heard.metadata["changed"] = True
    if isinstance(heard.content, list):
        heard.content.append({"type": "text", "text": "changed"})
        for block in heard.content:
            block["changed"] = True
    assert also.to_dict() == {**before, "content": kept}
    assert said.to_dict() == before
    assert one.heard == []


def test_a_class_hook_on_one_subclass_does_not_reach_another():
    class Left(Speaker):
        pass

    class Right(Speaker):
        pass

    told: list[str] = []
    Left.register_class_hook("pre_reply", "tell", lambda self, kwargs: told.append(type(self).__name__))
    message = Msg("a", "hi", "user")
    for agent in (Speaker(), Right(), Left()):
        asyncio.run(agent(message))
    assert told == ["Left"]


async def test_a_deleted_agent_is_gone_in_both_directions_also_after_the_hub():
    stays, leaves = speakers(2)
    hub = MsgHub([stays, leaves], Msg("host", "welcome", "system"))
    async with hub:
        hub.delete(leaves)
        await leaves(Msg("a", "hi", "user"))
        await stays(Msg("a", "hi", "user"))
    await leaves(Msg("a", "hi", "user"))
    assert (len(stays.heard), len(leaves.heard)) == (1, 1)


async def test_the_arguments_of_a_hub_are_those_of_agentscope():
    one, other = speakers(2)
    async with MsgHub([one], None, False, "room") as hub:
        assert (hub.name, hub.enable_auto_broadcast) == ("room", False)
        hub.add([other])
        await one(Msg("a", "unheard", "user"))
        hub.set_auto_broadcast(True)
        await one(Msg("a", "heard", "user"))
        await hub.broadcast([Msg("a", "x", "user"), Msg("a", "y", "user")])
    first, both = other.heard
    assert (first.content, [each.content for each in both]) == ("heard", ["x", "y"])


async def test_what_is_no_message_is_refused_where_the_mistake_is():
    one, other = speakers(2)
    async with MsgHub([one, other]) as hub:
        with pytest.raises(InvalidInput, match="agents exchange Msg"):
            await one("just text")
        for bad in ("text", None, [Msg("a", "x", "user"), 3]):
            with pytest.raises(InvalidInput, match="agents exchange Msg"):
                await hub.broadcast(bad)  # type: ignore[arg-type]
        assert other.heard == []
        assert await one(None) is None
    with pytest.raises(InvalidInput):
        MsgHub([one], "welcome")  # type: ignore[arg-type]


async def test_the_queue_gets_copies_with_last_and_speech():
    agent, message = Speaker(), Msg("a", [{"type": "text", "text": "hi"}], "assistant")
    agent.set_msg_queue_enabled(True)
    assert isinstance(agent.msg_queue, Channel)
    sound: Any = {"type": "audio", "source": {"type": "base64", "media_type": "audio/wav", "data": ""}}
    await agent.print(message, False, sound)
    message.content = "changed"
    copied, last, speech = await agent.msg_queue.get()
    assert (copied.content, (last, speech == sound)) == ([{"type": "text", "text": "hi"}], (False, True))


async def test_the_console_shows_words_as_they_grow_and_tools_at_the_end(capsys: pytest.CaptureFixture[str]):
    agent = AgentBase()
    message = Msg("小明", [], "assistant")
    for content in (
        [{"type": "thinking", "thinking": "hm"}],
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "你"}],
    ):
        message.content = content  # type: ignore[assignment]
        await agent.print(message, last=False)
    message.content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "1", "name": "f", "input": {"问": 1}},
        {"type": "text", "text": "你好"},
    ]
    await agent.print(message)
    agent.disable_console_output()
    await agent.print(message)
    shown = capsys.readouterr().out
    assert shown.startswith("小明(thinking): hm\n小明: 你好\n{")
    assert shown.endswith('"问": 1\n    }\n}\n')
