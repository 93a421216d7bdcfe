"""Agents that speak in Msg on a hub: copies without thinking, who hears whom, what is printed, what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.agentscope.agents import (
    AgentBase,
    FanoutPipeline,
    JSONSession,
    MemwellSession,
    MsgHub,
    RedisSession,
    SequentialPipeline,
    SessionBase,
    SessionNotFound,
    StateModule,
    fanout_pipeline,
    sequential_pipeline,
    stream_printing_messages,
)
from memwell.compat.agentscope.memories import InMemoryMemory
from memwell.compat.agentscope.messages import Msg
from memwell.errors import FileError, InvalidInput
from memwell.runtime.agents import Channel
from tests.compat.agentscope import original
from tests.compat.conftest import RunWithOriginals
from tests.servers import redis_server


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
        with pytest.raises(InvalidInput, match="expected a Msg"):
            await one("just text")
        for bad in ("text", None, [Msg("a", "x", "user"), 3]):
            with pytest.raises(InvalidInput, match="expected a Msg"):
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
    agent.set_console_output_enabled(False)
    await agent.print(message)
    shown = capsys.readouterr().out
    assert shown.startswith("小明(thinking): hm\n小明: 你好\n{")
    assert shown.endswith('"问": 1\n    }\n}\n')


HOSTILE = [*r"a A a_b b b_a a/b ../a .. . /etc/passwd a.json ~ 会话 %61 a\b".split(), "x" * 1024, " a"]
IDS = st.text("aAb_.%", min_size=1, max_size=3) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12
)


class Counter(StateModule):
    def __init__(self, count: int = 0):
        super().__init__()
        self.count = count
        self.register_state("count")


@pytest.fixture(params=["json", "memwell"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionBase]:
    if request.param == "json":
        yield JSONSession(str(tmp_path / "sessions"))
    else:
        with MemwellSession(tmp_path / "sessions.db") as made:
            yield made


async def test_no_two_ids_share_a_session_and_files_stay_in_their_folder(session: SessionBase, tmp_path: Path):
    pairs = [(session_id, user) for session_id in HOSTILE for user in ("", *HOSTILE)]
    for number, (session_id, user) in enumerate(pairs):
        await session.save_session_state(session_id, user, counter=Counter(number))
    found = [Counter(-1) for _ in pairs]
    for (session_id, user), counter in zip(pairs, found, strict=True):
        await session.load_session_state(session_id, user, allow_not_exist=False, counter=counter)
    assert [counter.count for counter in found] == list(range(len(pairs)))
    if isinstance(session, JSONSession):
        assert os.listdir(tmp_path) == ["sessions"]
        files = os.listdir(tmp_path / "sessions")
        assert len(files) == len({name.casefold() for name in files}) == len(pairs)
        assert all(name.isascii() and name.endswith(".json") and len(name) <= 255 for name in files)


def load(folder: Path, session_id: str, user: str = "") -> int:
    counter = Counter(-1)
    asyncio.run(JSONSession(str(folder)).load_session_state(session_id, user, counter=counter))
    return counter.count


THEIRS = [
    ("S.1", "Ann"), ("会话", "安娜"), ("会话", ""), ("s 1", ""), ("a@x.org", "Ann"), ("s1", "Ann"), ("100% X", ""),
    ("s-2", ""), ("s-1", "ann"),
]  # fmt: skip


def test_sessions_that_agentscope_wrote_are_read_and_saved_under_our_names(tmp_path: Path):
    for number, (session_id, user) in enumerate(THEIRS):
        name = f"{user}_{session_id}.json" if user else f"{session_id}.json"
        (tmp_path / name).write_text(json.dumps({"counter": {"count": number}}))
    # Twice: reading alone changes nothing.
    assert [load(tmp_path, *ids) for ids in THEIRS * 2] == [*range(len(THEIRS))] * 2
    asyncio.run(JSONSession(str(tmp_path)).save_session_state("S.1", "Ann", counter=Counter(50)))
    assert load(tmp_path, "S.1", "Ann") == 50
    assert json.loads((tmp_path / "Ann_S.1.json").read_text()) == {"counter": {"count": 0}}


@pytest.mark.parametrize("ids", [("session_1", ""), ("a_B", ""), ("b", "A_x"), ("b_c", "A"), ("%41", "")])
def test_a_file_that_may_be_of_another_session_is_told(tmp_path: Path, ids: tuple[str, str]):
    name = f"{ids[1]}_{ids[0]}.json" if ids[1] else f"{ids[0]}.json"
    (tmp_path / name).write_text(json.dumps({"counter": {"count": 7}}))
    with pytest.warns(UserWarning, match=name):
        # Names with a percent sign are those that are written here.
        assert load(tmp_path, *ids) == (-1 if "%" in name else 7)
    asyncio.run(JSONSession(str(tmp_path)).save_session_state(*ids, counter=Counter(8)))
    assert load(tmp_path, *ids) == 8


@pytest.mark.filterwarnings("ignore:.*is not read")
@given(st.tuples(IDS, IDS | st.just("")), st.tuples(IDS, IDS | st.just("")))
def test_nobody_reads_what_another_session_saved(one: tuple[str, str], other: tuple[str, str]):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(JSONSession(folder).save_session_state(*one, counter=Counter(3)))
        assert load(Path(folder), *other) == (3 if one == other else -1)


async def test_what_is_restored_is_whole(session: SessionBase):
    class Pair(StateModule):
        def __init__(self):
            super().__init__()
            self.one, self.two = Counter(1), Counter(2)

    class More(Pair):
        def __init__(self):
            super().__init__()
            self.three = Counter(3)

    await session.save_session_state("s", first=Counter(5), second=Pair())
    first, second, absent = Counter(), More(), Counter(9)
    with pytest.raises(KeyError, match="three"):
        await session.load_session_state("s", first=first, second=second)
    assert first.count == 0
    await session.load_session_state("s", first=first, absent=absent)
    await session.load_session_state("none", first=absent)
    for user in ("", "ann"):
        with pytest.raises(SessionNotFound, match="there is no session 'none'"):
            await session.load_session_state("none", user, allow_not_exist=False, first=first)
    assert (first.count, absent.count) == (5, 9)


@pytest.mark.parametrize("bad", ["", "a\x00b", "\ud800", "x" * 1025, None, 3])
def test_what_is_no_id_is_refused(session: SessionBase, bad: Any):
    with pytest.raises(InvalidInput):
        asyncio.run(session.save_session_state(bad, counter=Counter()))
    with pytest.raises(InvalidInput):
        asyncio.run(session.load_session_state(bad, counter=Counter()))
    if bad != "":
        with pytest.raises(InvalidInput):
            asyncio.run(session.save_session_state("s", bad, counter=Counter()))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"counter": 3}', "[" * 100_000, b"\xff"])
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, text: str | bytes):
    (tmp_path / "s.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    counter = Counter(3)
    with pytest.raises(InvalidInput):
        asyncio.run(JSONSession(str(tmp_path)).load_session_state("s", counter=counter))
    assert counter.count == 3


def test_a_folder_that_cannot_be_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    kept = JSONSession(str(tmp_path / "file" / "in"))
    with pytest.raises(FileError, match="cannot be written"):
        asyncio.run(kept.save_session_state("s", counter=Counter()))
    (tmp_path / "s.json").mkdir()
    with pytest.raises(FileError, match="cannot be read"):
        asyncio.run(JSONSession(str(tmp_path)).load_session_state("s", counter=Counter()))
    with pytest.raises(FileError, match="cannot be written"):
        asyncio.run(JSONSession(str(tmp_path)).save_session_state("s", counter=Counter()))
    assert sorted(os.listdir(tmp_path)) == ["file", "s.json"]


# Pipelines


class Counting(Speaker):
    async def reply(self, msg: Any = None, step: int = 1) -> Any:
        number = int(msg.content) + step
        msg.content = str(number)
        await self.print(msg, last=number % 2 == 0)
        await asyncio.sleep(0)
        return msg


async def test_pipelines_call_agents_one_after_the_other_or_all_at_once():
    agents = [Counting(str(number)) for number in range(3)]
    one = Msg("user", "1", "user")
    assert (await sequential_pipeline(agents, one)).content == "4"
    assert (await SequentialPipeline(agents)(Msg("user", "1", "user"))).content == "4"
    assert await sequential_pipeline([], one) is one
    for gather in (True, False):
        asked = Msg("user", "1", "user")
        answers = await fanout_pipeline(agents, asked, gather, step=2)
        assert [each.content for each in answers] == ["3", "3", "3"]
        assert asked.content == "1", "each has a copy"
        assert [each.content for each in await FanoutPipeline(agents, gather)(asked)] == ["2", "2", "2"]


async def test_what_agents_print_is_streamed_until_the_coroutine_ends():
    agents = [Counting("a"), Counting("b")]
    work = sequential_pipeline(agents, Msg("user", "1", "user"))
    printed = [(msg.content, last) async for msg, last in stream_printing_messages(agents, work)]
    assert printed == [("2", True), ("3", False)]
    work = sequential_pipeline(agents, Msg("user", "1", "user"))
    with_speech = [item async for item in stream_printing_messages(agents, work, yield_speech=True)]
    assert [len(item) for item in with_speech] == [3, 3]
    assert [agent.msg_queue for agent in agents] == [None, None]
    with pytest.raises(ValueError, match="no number"):
        _ = [item async for item in stream_printing_messages(agents, agents[0](Msg("user", "no number", "user")))]


async def test_a_reader_that_stops_cancels_the_coroutine():
    agent, ended = Counting("a"), asyncio.Event()

    async def work() -> None:
        try:
            await agent(Msg("user", "1", "user"))
            await asyncio.Event().wait()
        finally:
            ended.set()

    stream = stream_printing_messages([agent], work())
    assert (await anext(stream))[0].content == "2"
    await stream.aclose()
    await ended.wait()


async def test_sessions_in_redis(tmp_path: Path):
    with redis_server(tmp_path) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        module = Saved()
        module.value = 7
        async with RedisSession(port=port, key_prefix="app:") as session:
            await session.save_session_state("s", module=module)
        other = Saved()
        async with RedisSession(port=port, key_prefix="app:", key_ttl=100) as session:
            await session.load_session_state("s", "default_user", module=other)
            assert other.value == 7
            sessions = session._sessions("default_user")
            [entry] = sessions._kv.scan(sessions._space).items
            assert entry.expires is not None, "a use renews the time"
        async with RedisSession(port=port) as session:
            with pytest.raises(SessionNotFound):
                await session.load_session_state("s", allow_not_exist=False, module=other)


class Saved(StateModule):
    def __init__(self) -> None:
        self.value = 0
        self.register_state("value")


# Objects of AgentScope's own, taken by their shape


async def test_an_agent_of_agentscope_works_with_our_memory_hub_and_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    original.load(monkeypatch)
    theirs: Any = original.AgentBase("theirs", InMemoryMemory())
    ours = Speaker("ours")
    assert (await theirs(original.Msg("user", "Hello.", "user"))).content == "theirs knows 1"
    assert [(one.id[:6], one.content) for one in await theirs.memory.get_memory()] == [
        ("theirs", "Hello."),
        ("theirs", "theirs knows 1"),
    ]
    welcome: Any = original.Msg("host", "Welcome.", "system")
    async with MsgHub([theirs, ours], welcome) as hub:
        await theirs(Msg("user", "And ours.", "user"))
        await ours(Msg("ours", "I speak.", "assistant"))
        assert hub.participants == [theirs, ours]
        assert hub.delete(theirs) == 1
        await ours(Msg("ours", "Unheard.", "assistant"))
        hub.add(theirs)
        assert hub.participants == [ours, theirs]
        assert hub.failures == []
    await theirs(None)
    assert [one.content for one in ours.heard] == ["Welcome.", "theirs knows 4"]
    assert [one.content for one in await theirs.memory.get_memory()][2:] == [
        "Welcome.",
        "And ours.",
        "theirs knows 4",
        "I speak.",
        "theirs knows 6",
    ]
    session = JSONSession(str(tmp_path))
    await session.save_session_state("s", agent=theirs)
    twin: Any = original.AgentBase("twin", InMemoryMemory())
    await session.load_session_state("s", agent=twin)
    assert (twin.asked, await twin.memory.size()) == (3, 7)
    nested: Any = StateModule()
    nested.agent = theirs
    assert nested.state_dict()["agent"]["asked"] == 3


async def test_our_agents_join_pipelines_and_hubs_of_agentscope(monkeypatch: pytest.MonkeyPatch):
    original.load(monkeypatch)
    theirs: Any = original.AgentBase("theirs", InMemoryMemory())
    ours: Any = Speaker("ours")
    assert issubclass(ours.__class__, original.AgentBase)
    assert isinstance(Msg("a", "b", "user"), original.Msg)
    assert isinstance(InMemoryMemory(), original.MemoryBase)
    assert (await sequential_pipeline([ours, theirs], original.Msg("user", "Hi.", "user"))).content == "theirs knows 1"
    # As its hub does it.
    for agent in (ours, theirs):
        agent.reset_subscribers("hub", [ours, theirs])
    await ours(Msg("ours", "I speak.", "assistant"))
    await theirs(None)
    assert ours.heard[0].content == "theirs knows 3"
    assert await theirs.memory.size() == 4


def test_the_real_agentscope_works_with_the_room(run_with_originals: RunWithOriginals):
    assert run_with_originals("agentscope", REAL) == [
        "answer 1",
        "4 messages, ours",
        "restored 4",
        "['answer 3', 'ours heard 1']",
        "['Welcome.', 'ours heard 3', 'answer 4']",
        "['Again.', 'ours heard 6', 'answer 5']",
        "True 1 True []",
        "unheard (1, 1)",
        "subscribers {}",
        "nested ann",
        "Successfully recorded 1 memory/memories to personal memory.",
        "I am allergic to peanuts.",
    ]


REAL = """
import asyncio, tempfile
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg as TheirMsg, TextBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.pipeline import MsgHub as TheirHub, sequential_pipeline
from agentscope.tool import Toolkit
from memwell.compat.agentscope import (
    AgentBase, InMemoryMemory, JSONSession, Msg, MsgHub, ReMePersonalLongTermMemory, StateModule,
)


class Model(ChatModelBase):
    def __init__(self):
        super().__init__("model", False)
        self.calls = 0

    async def __call__(self, messages, **options):
        self.calls += 1
        return ChatResponse(content=[TextBlock(type="text", text=f"answer {self.calls}")])


class Ours(AgentBase):
    def __init__(self):
        super().__init__()
        self.memory = InMemoryMemory()
        self.set_console_output_enabled(False)

    async def observe(self, msg):
        await self.memory.add(msg)

    async def reply(self, msg=None):
        await self.memory.add(msg)
        answer = Msg("ours", f"ours heard {await self.memory.size()}", "assistant")
        await self.memory.add(answer)
        return answer


def made(**options):
    agent = ReActAgent("ann", "You help.", Model(), OpenAIChatFormatter(), Toolkit(), memory=InMemoryMemory(), **options)
    agent.set_console_output_enabled(False)
    return agent


async def main():
    agent, ours = made(), Ours()
    print((await agent(TheirMsg("user", "Hello.", "user"))).get_text_content())
    await agent(Msg("user", "Hello again.", "user"))
    known = await agent.memory.get_memory()
    print(len(known), "messages,", "ours" if all(type(one) is Msg for one in known) else "theirs")
    with tempfile.TemporaryDirectory() as folder:
        await JSONSession(folder).save_session_state("s", agent=agent)
        twin = made()
        await JSONSession(folder).load_session_state("s", agent=twin)
        print("restored", await twin.memory.size())
    said = await sequential_pipeline([agent, ours], TheirMsg("user", "Go on.", "user"))
    print([one.get_text_content() for one in await ours.memory.get_memory()])
    for hub, greeting in ((TheirHub, "Welcome."), (MsgHub, "Again.")):
        async with hub([agent, ours], TheirMsg("host", greeting, "system")):
            await ours(None)
            await agent(None)
        print([one.get_text_content() for one in await ours.memory.get_memory()][-3:])
    async with MsgHub([agent, ours]) as hub:
        print(hub.participants == [agent, ours], hub.delete(agent), hub.participants == [ours], hub.failures)
        before = await ours.memory.size(), await agent.memory.size()
        await agent(None)
        await ours(None)
        print("unheard", (await ours.memory.size() - before[0], await agent.memory.size() - before[1]))
    print("subscribers", agent._subscribers)
    nested = StateModule()
    nested.agent = agent
    print("nested", nested.state_dict()["agent"]["name"])
    async with ReMePersonalLongTermMemory(user_name="ann", store="memory:") as remembered:
        agent = made(long_term_memory=remembered, long_term_memory_mode="both")
        call = {"thinking": "said", "content": ["I am allergic to peanuts."]}
        use = {"type": "tool_use", "id": "1", "name": "record_to_memory", "input": call}
        async for piece in await agent.toolkit.call_tool_function(use):
            print(piece.content[0]["text"])
        print(await remembered.retrieve(TheirMsg("user", "What must I not eat?", "user")))


asyncio.run(main())
"""


def test_every_memory_works_in_the_real_agent(run_with_originals: RunWithOriginals):
    """With hints of a plan, the agent's own compression, and a tool whose answer holds what no store can."""
    assert run_with_originals("agentscope", REAL_MEMORIES) == [
        "InMemoryMemory ['Look 0.', 'answer', 'Look 1.', 'answer'] bin\ufffdary, compressed True",
        "MemwellMemory ['Look 0.', 'answer', 'Look 1.', 'answer'] bin\ufffdary, compressed True",
        "ReMeShortTermMemory ['Look 0.', 'answer', 'Look 1.', 'answer'] bin\ufffdary, compressed True",
        "MemoryWithCompress ['Look 0.', 'answer', 'Look 1.', 'answer'] bin\ufffdary, compressed True",
    ]


REAL_MEMORIES = r"""
import asyncio, tempfile
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.plan import PlanNotebook
from agentscope.token import CharTokenCounter
from agentscope.tool import Toolkit, ToolResponse
from memwell.compat.agentscope import InMemoryMemory, MemoryWithCompress, MemwellMemory, ReMeShortTermMemory


class Model(ChatModelBase):
    def __init__(self):
        super().__init__("model", False)

    async def __call__(self, messages, structured_model=None, **options):
        if structured_model:
            return ChatResponse(content=[], metadata={name: "short" for name in structured_model.model_fields})
        if not any(message["role"] == "tool" for message in messages[-2:]):
            use = ToolUseBlock(type="tool_use", id=f"call-{len(messages)}", name="look", input={"at": "a\0b"})
            return ChatResponse(content=[use])
        return ChatResponse(content=[TextBlock(type="text", text="answer")])


async def look(at: str) -> ToolResponse:
    "Look at something."
    return ToolResponse(content=[TextBlock(type="text", text="bin\0ary")])


async def answers(memory, compression=None):
    tools = Toolkit()
    tools.register_tool_function(look)
    agent = ReActAgent(
        "ann", "You help.", Model(), OpenAIChatFormatter(), tools, memory=memory, plan_notebook=PlanNotebook(),
        compression_config=compression,
    )
    agent.set_console_output_enabled(False)
    for turn in range(2):
        await agent(Msg("user", f"Look {turn}.", "user"))


async def main():
    counted = ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=10, keep_recent=2
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind in (InMemoryMemory, MemwellMemory, ReMeShortTermMemory, MemoryWithCompress):
            memory, compressed = (
                kind(f"{folder}/m.db", session) if kind is MemwellMemory else kind() for session in ("one", "two")
            )
            await answers(memory)
            said = await memory.get_memory()
            texts = [one.get_text_content() for one in said if one.get_text_content()]
            found = [block["output"] for one in said for block in one.get_content_blocks("tool_result")]
            await answers(compressed, counted)
            shown = await compressed.get_memory(exclude_mark="compressed")
            is_short = "short" in shown[0].get_text_content() and len(shown) < 8
            print(type(memory).__name__, texts, found[0][0]["text"] + ",", "compressed", is_short)


asyncio.run(main())
"""
