from __future__ import annotations

import asyncio
import gc
import json
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.agentscope.compress import MemoryWithCompress
from memwell.compat.agentscope.core_messages import to_core
from memwell.compat.agentscope.memories import WrongType
from memwell.compat.agentscope.message_storage import InMemoryMessageStorage, NoSuchPlace
from memwell.compat.agentscope.messages import Msg, ToolResultBlock, ToolUseBlock
from memwell.errors import InvalidInput, ModelError, Unsupported
from memwell.history import History
from memwell.models.scripted import ScriptedChat
from memwell.runtime.state import MissingState
from memwell.tokens import default_counter, get_counter
from memwell.windows import paired

HEAD = "The compression of the previous conversation is: <compressed_memory>\n"


def said(count: int, start: int = 0) -> list[Msg]:
    return [Msg("ann", f"Customer {number} ordered {number} lamps.", "user") for number in range(start, start + count)]


def pair(number: int) -> list[Msg]:
    call = ToolUseBlock(type="tool_use", id=f"call-{number}", name="lookup", input={})
    found = ToolResultBlock(type="tool_result", id=f"call-{number}", name="lookup", output="found it " * 5)
    return [Msg("bot", [call], "assistant"), Msg("system", [found], "system")]


def ids(messages: list[Msg]) -> list[str]:
    return [one.id for one in messages]


def size(messages: list[Msg]) -> int:
    return sum(default_counter().count_message(to_core(one)) for one in messages)


def test_instances_share_nothing():
    # AgentScope's storages are default arguments, so that every instance has the same two.
    async def run() -> None:
        one, other = MemoryWithCompress(), MemoryWithCompress()
        await one.add(said(3))
        assert await other.size() == 0
        assert await other.get_memory() == []

    asyncio.run(run())


def test_an_instance_is_freed_with_its_last_reference():
    memory = MemoryWithCompress(max_token=300)
    gone = weakref.ref(memory)
    gc.disable()
    try:
        del memory
        assert gone() is None
    finally:
        gc.enable()


def test_the_history_keeps_all_and_the_memory_a_compression_and_the_tail():
    # AgentScope compresses everything, the last question too.
    async def run() -> None:
        memory = MemoryWithCompress(ScriptedChat(["They ordered lamps."]), max_token=300)
        everything = said(40)
        await memory.add([Msg("system", "Be brief.", "system"), *everything])
        shown = await memory.get_memory()
        assert shown[0].content == "Be brief."
        assert shown[1].content == f"{HEAD}They ordered lamps.\n</compressed_memory>"
        assert shown[1].role == "assistant"
        assert ids(shown[2:]) == ids(everything[-3:])
        assert await memory.size() == 41
        assert ids(await memory.chat_history_storage.get())[1:] == ids(everything)

    asyncio.run(run())


def test_an_earlier_compression_is_folded_into_the_next():
    async def run() -> None:
        model = ScriptedChat(["They ordered lamps.", "They ordered many lamps."])
        memory = MemoryWithCompress(model, max_token=300)
        await memory.add(said(40))
        await memory.get_memory()
        await memory.add(said(40, 40))
        shown = await memory.get_memory()
        assert [HEAD in str(one.content) for one in shown] == [True, False, False, False]
        assert "many lamps" in str(shown[0].content)
        assert "They ordered lamps." in model.asked[1][-1].text
        assert "<compressed_memory>" not in model.asked[1][-1].text

    asyncio.run(run())


def test_without_a_model_the_sentences_that_say_most_are_kept():
    async def run() -> None:
        memory = MemoryWithCompress(max_token=400)
        await memory.add(said(60))
        shown = await memory.get_memory()
        assert size(shown) <= 400
        assert "lamps" in str(shown[0].content)
        # Compressed once, it is as it is until it is too long again.
        assert ids(await memory.get_memory()) == ids(shown)

    asyncio.run(run())


@given(
    shape=st.lists(st.booleans(), min_size=1, max_size=25),
    limit=st.integers(250, 800),
    keep=st.integers(0, 8),
    open_call=st.booleans(),
)
def test_pairs_stay_together_and_the_rest_fits(shape: list[bool], limit: int, keep: int, open_call: bool):
    async def run() -> None:
        memory = MemoryWithCompress(max_token=limit, keep_recent=keep, compression_on_add=True)
        for number, with_tool in enumerate(shape):
            await memory.add([*said(2, number * 2), *(pair(number) if with_tool else [])])
        if open_call:
            await memory.add(pair(99)[:1])
        shown = await memory.get_memory()
        core = [to_core(one) for one in shown]
        assert paired(core) == core
        assert size(shown) <= limit
        assert await memory.size() == 2 * len(shape) + 2 * sum(shape) + open_call
        if open_call:
            assert shown[-1].has_content_blocks("tool_use")

    asyncio.run(run())


def test_a_call_that_waits_for_its_result_stays_though_nothing_else_does():
    async def run() -> None:
        memory = MemoryWithCompress(max_token=300, keep_recent=0)
        call, result = pair(1)
        await memory.add([*said(40), call])
        shown = await memory.get_memory()
        assert [HEAD in str(shown[0].content), shown[1].id, len(shown)] == [True, call.id, 2]
        await memory.add(result)
        assert ids(await memory.get_memory())[1:] == [call.id, result.id]

    asyncio.run(run())


def test_a_message_is_there_once_by_its_id():
    # AgentScope adds it as often as it is told to.
    async def run() -> None:
        memory = MemoryWithCompress(max_token=300)
        [one] = said(1)
        await memory.add([one, one])
        await memory.add(one)
        assert (await memory.size(), len(await memory.get_memory())) == (1, 1)
        await memory.add(said(40))
        assert one.id not in ids(await memory.get_memory())
        await memory.add(one)
        # It is in the compression already.
        assert one.id not in ids(await memory.get_memory())
        assert await memory.size() == 41

    asyncio.run(run())


def test_compression_happens_on_adding_or_on_reading_as_told():
    async def run() -> None:
        on_add = MemoryWithCompress(max_token=300, compression_on_add=True, compression_on_get=False)
        on_get = MemoryWithCompress(max_token=300)
        never = MemoryWithCompress(max_token=300, compression_on_get=False)
        for memory in (on_add, on_get, never):
            await memory.add(said(40))
        held = [await memory.memory_storage.size() for memory in (on_add, on_get, never)]
        assert held == [4, 40, 40]
        assert [len(await memory.get_memory()) for memory in (on_add, on_get, never)] == [4, 4, 40]

    asyncio.run(run())


def test_functions_of_the_users_compress_and_trigger():
    async def all_in_one(messages: list[Msg]) -> list[Msg]:
        return [Msg("assistant", f"{len(messages)} messages", "assistant")]

    async def when_five(messages: list[Msg]) -> bool:
        return len(messages) >= 5

    async def run() -> None:
        memory = MemoryWithCompress(compress_func=all_in_one, compression_trigger_func=when_five)
        await memory.add(said(4))
        assert (await memory.check_and_compress())[0] is False
        assert len(await memory.get_memory()) == 4
        await memory.add(said(1, 4))
        asked, made = await memory.check_and_compress()
        assert (asked, made[0].content) == (True, "5 messages")
        # Asking alone stores nothing.
        assert await memory.memory_storage.size() == 5
        assert [one.content for one in await memory.get_memory()] == ["5 messages"]
        given = await memory.check_and_compress(compression_trigger_func=lambda _: True, memory=said(2))
        assert given[1][0].content == "2 messages"
        blocking = await memory.get_memory(
            compress_func=lambda _: said(1), compression_trigger_func=lambda found: len(found) == 1
        )
        assert [one.content for one in blocking] == ["Customer 0 ordered 0 lamps."]

    asyncio.run(run())


def test_what_is_added_while_a_model_thinks_stays():
    # AgentScope puts the answer in the place of all there is by then.
    async def run() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(messages: list[Msg]) -> list[Msg]:
            begun.set()
            await go_on.wait()
            return [Msg("assistant", "short", "assistant")]

        memory = MemoryWithCompress(max_token=300, compress_func=slow)
        await memory.add(said(40))
        reading = asyncio.create_task(memory.get_memory())
        await begun.wait()
        await memory.add(Msg("ann", "And one more thing.", "user"))
        go_on.set()
        assert [one.content for one in await reading] == ["short", "And one more thing."]
        # What was put there by hand meanwhile is not overwritten.
        begun.clear()
        go_on.clear()
        await memory.direct_update_memory(said(40))
        reading = asyncio.create_task(memory.get_memory())
        await begun.wait()
        await memory.direct_update_memory(said(2))
        go_on.set()
        assert len(await reading) == 2

    asyncio.run(run())


def test_a_reader_that_is_cancelled_changes_nothing():
    async def run() -> None:
        begun = asyncio.Event()

        async def endless(messages: list[Msg]) -> list[Msg]:
            begun.set()
            await asyncio.sleep(100)
            return []

        memory = MemoryWithCompress(max_token=300, compress_func=endless)
        await memory.add(said(40))
        reading = asyncio.create_task(memory.get_memory())
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await memory.memory_storage.size() == 40
        await memory.add(said(1, 50))
        assert await memory.size() == 41

    asyncio.run(run())


@pytest.mark.parametrize("answer", [ModelError("no line"), " "])
def test_when_the_model_fails_that_is_a_warning_and_nothing_moves(answer: Any):
    async def run() -> None:
        memory = MemoryWithCompress(ScriptedChat([answer, "At last."]), max_token=300)
        await memory.add(said(40))
        with pytest.warns(UserWarning, match="Error compressing the memory"):
            shown = await memory.get_memory()
        assert await memory.memory_storage.size() == await memory.size() == 40
        # What fits of the latest, and not one more.
        everything = await memory.memory_storage.get()
        assert ids(shown) == ids(everything[-len(shown) :])
        assert size(shown) <= 300 < size(everything[-len(shown) - 1 :])
        assert "At last." in str((await memory.get_memory())[0].content)

    asyncio.run(run())


@pytest.mark.parametrize("limit", [0, 1, 60, 150, 250])
def test_what_is_shown_when_the_model_fails_keeps_instructions_and_pairs(limit: int):
    async def run() -> None:
        memory = MemoryWithCompress(ScriptedChat([ModelError("no line")] * 2), max_token=limit)
        instructions = Msg("system", "Be kind.", "system")
        calls = [one for number in range(9) for one in pair(number)]
        await memory.add([instructions, *said(9), *calls])
        with pytest.warns(UserWarning, match="Error compressing the memory"):
            shown = await memory.get_memory()
        assert shown[0].id == instructions.id
        assert size(shown[1:]) <= max(limit - size([instructions]), 0)
        assert len(paired(list(map(to_core, shown)))) == len(shown)
        with pytest.warns(UserWarning, match="Error compressing the memory"):
            assert ids(await memory.get_memory(recent_n=1)) == ids(shown[-1:])

    asyncio.run(run())


def test_models_of_agentscopes_kind_and_prompts_of_ones_own():
    class Model:
        model_name = "theirs"
        stream = False

        def __init__(self) -> None:
            self.asked: list[Any] = []

        async def __call__(self, messages: list[Any]) -> Any:
            self.asked.append(messages)
            return SimpleNamespace(content=[], metadata={"compressed_text": "Lamps, 全部是灯。"})

    class Formatter:
        async def format(self, msgs: list[Msg]) -> list[Any]:
            return [{"role": one.role, "content": [{"text": one.content}]} for one in msgs]

    async def run() -> None:
        model = Model()
        prompt = "At most {max_token}: {messages_list_json} as {schema_json}"
        memory = MemoryWithCompress(model, Formatter(), max_token=300, customized_compression_prompt=prompt)
        await memory.add(said(40))
        assert (await memory.get_memory())[0].content == f"{HEAD}Lamps, 全部是灯。\n</compressed_memory>"
        [[asked]] = model.asked
        assert asked["content"][0]["text"].startswith('At most 300: [\n  {\n    "role": "user"')
        assert "compressed_text" in asked["content"][0]["text"]

    asyncio.run(run())
    for bad in ("{other}", "{", "{max_token.x}", 3):
        with pytest.raises(InvalidInput, match="customized_compression_prompt"):
            MemoryWithCompress(customized_compression_prompt=bad)  # type: ignore[arg-type]


def test_tokens_are_counted_exactly_or_as_told():
    class Characters:
        async def count(self, messages: list[dict[str, Any]]) -> int:
            return len(json.dumps(messages, ensure_ascii=False))

    async def run() -> None:
        for counter, expected in ((None, 20), (get_counter("cl100k_base"), 20), (Characters(), 4)):
            memory = MemoryWithCompress(max_token=800, token_counter=counter)
            await memory.add(said(20))
            assert len(await memory.get_memory()) == expected

    asyncio.run(run())
    with pytest.raises(InvalidInput, match="method count"):
        MemoryWithCompress(token_counter=object())


def test_reading_takes_the_last_of_what_a_filter_lets_pass():
    async def run() -> None:
        memory = MemoryWithCompress()
        await memory.add(tuple(said(6)))
        found = await memory.get_memory(2, lambda place, one: place % 2 == 0)
        assert [one.content for one in found] == [f"Customer {n} ordered {n} lamps." for n in (2, 4)]
        await memory.update_compressed_summary("In short.")
        assert (await memory.get_memory(recent_n=1))[0].content == "In short."
        assert len(await memory.get_memory(exclude_mark="compressed", prepend_summary=False)) == 6

    asyncio.run(run())


def test_only_what_is_shown_is_deleted_or_replaced():
    async def run() -> None:
        memory = MemoryWithCompress()
        everything = said(5)
        await memory.add(everything)
        assert await memory.delete([0, 2]) == 2
        assert await memory.delete(0) == 1
        assert await memory.delete([everything[4].id, "unknown"]) == 1
        assert ids(await memory.get_memory()) == [everything[3].id]
        with pytest.raises(NoSuchPlace):
            await memory.delete(7)
        await memory.direct_update_memory(Msg("ann", "only this", "user"))
        await memory.direct_update_memory(None)
        assert [one.content for one in await memory.get_memory()] == ["only this"]
        assert await memory.size() == 5
        await memory.clear()
        assert (await memory.size(), await memory.get_memory()) == (0, [])

    asyncio.run(run())


def test_a_state_is_restored_also_to_nothing():
    # AgentScope leaves what there is when a saved list is empty.
    async def run() -> None:
        memory = MemoryWithCompress(max_token=300)
        empty = memory.state_dict()
        await memory.add(said(40))
        shown = await memory.get_memory()
        full = json.loads(json.dumps(memory.state_dict()))
        other = MemoryWithCompress()
        other.load_state_dict(full)
        assert (other.max_token, await other.size()) == (300, 40)
        assert [one.to_dict() for one in await other.get_memory()] == [one.to_dict() for one in shown]
        other.load_state_dict(SimpleNamespace(model_dump=lambda: empty))  # type: ignore[arg-type]
        assert (await other.size(), await other.get_memory()) == (0, [])
        other.load_state_dict({"max_token": 7}, strict=False)
        assert other.max_token == 7
        wrong: list[tuple[Any, type[Exception]]] = [
            ({}, MissingState),
            ({**full, "memory_storage": "x"}, InvalidInput),
            ({**full, "memory_storage": [{"role": "user"}]}, InvalidInput),
            ({**full, "max_token": -1}, InvalidInput),
            ([], InvalidInput),
        ]
        for bad, error in wrong:
            with pytest.raises(error):
                memory.load_state_dict(bad)
        assert memory.state_dict() == full

    asyncio.run(run())


def test_storages_of_the_users_and_in_a_file(tmp_path: Path):
    async def run() -> None:
        with History.open(str(tmp_path / "a.db"), "raw") as raw:
            shown = History(raw.backend, "shown")  # type: ignore[arg-type]
            memory = MemoryWithCompress(max_token=300, chat_history_storage=raw, memory_storage=shown)
            await memory.add(said(40))
            await memory.get_memory()
        with History.open(str(tmp_path / "a.db"), "raw") as raw:
            shown = History(raw.backend, "shown")  # type: ignore[arg-type]
            again = MemoryWithCompress(max_token=300, chat_history_storage=raw, memory_storage=shown)
            assert (await again.size(), len(await again.get_memory())) == (40, 4)
            # Every other way into the store reads the same words.
            assert next(iter(raw)).text == "Customer 0 ordered 0 lamps."

    asyncio.run(run())


def test_what_failed_half_way_can_be_added_again():
    class Failing(InMemoryMessageStorage):
        fails = True

        async def add(self, msgs: list[Msg]) -> None:
            if self.fails:
                raise OSError("disk full")
            await super().add(msgs)

    async def run() -> None:
        raw = Failing()
        memory = MemoryWithCompress(chat_history_storage=raw)
        messages = said(2)
        with pytest.raises(OSError, match="disk full"):
            await memory.add(messages)
        raw.fails = False
        await memory.add(messages)
        assert (await memory.size(), ids(await memory.get_memory())) == (2, ids(messages))

    asyncio.run(run())


def test_duplicates_and_unknown_keywords_are_refused():
    async def run() -> None:
        memory = MemoryWithCompress()
        wanted: list[dict[str, Any]] = [{"allow_duplicates": True}, {"skip_duplicated": False}]
        for keywords in wanted:
            with pytest.raises(InvalidInput, match="once"):
                await memory.add(said(1), **keywords)
        with pytest.raises(TypeError, match="unexpected keyword argument 'mark'"):
            await memory.add(said(1), mark="m")
        assert await memory.size() == 0

    asyncio.run(run())


def test_bad_input_is_refused():
    async def run() -> None:
        memory = MemoryWithCompress(compression_trigger_func=lambda _: True)
        for bad in ("text", [1], {"a": 1}):
            with pytest.raises(WrongType):
                await memory.add(bad)  # type: ignore[arg-type]
        with pytest.raises(Unsupported):
            await memory.add(said(1), marks="old")
        with pytest.raises(Unsupported):
            await memory.get_memory(mark="old")
        await memory.add(None)
        await memory.add(said(3))
        with pytest.raises(WrongType):
            await memory.get_memory(compress_func=lambda _: "short")  # type: ignore[arg-type, return-value]
        with pytest.raises(NotImplementedError):
            await memory.retrieve()
        assert await memory.memory_storage.size() == 3

    asyncio.run(run())
    settings_that_are_none: list[dict[str, Any]] = [
        {"max_token": -1},
        {"keep_recent": 1.5},
        {"model": 3},
        {"memory_storage": "x"},
    ]
    for bad in settings_that_are_none:
        with pytest.raises(InvalidInput):
            MemoryWithCompress(**bad)
