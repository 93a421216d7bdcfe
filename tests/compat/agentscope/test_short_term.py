from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.agentscope.memories import NoSuchPlace
from memwell.compat.agentscope.messages import Msg, TextBlock, ToolResultBlock, ToolUseBlock, WrongType, to_core
from memwell.compat.agentscope.short_term import (
    InMemoryMessageStorage,
    MemoryWithCompress,
    MessageStorageBase,
    ReMeShortTermMemory,
    _run_with_models,
    chat_model,
)
from memwell.errors import BadModelOutput, InvalidInput, ModelError
from memwell.history import History
from memwell.messages import human, system
from memwell.models.ports import ChatModel
from memwell.models.scripted import ScriptedChat
from memwell.runtime.state import MissingState
from memwell.strategies.compaction import handle_of
from memwell.tokens import default_counter, get_counter
from memwell.windows import paired

LONG = "\n".join(f"row {number}: {number * 7919 % 1000} units in Oslo" for number in range(400)) + "\nTOTAL 42"


def called(number: int, result: str, answer: str = "Done.") -> list[Msg]:
    call = ToolUseBlock(type="tool_use", id=f"call-{number}", name="lookup", input={"n": number})
    found = ToolResultBlock(type="tool_result", id=f"call-{number}", name="lookup", output=result)
    return [
        Msg("ann", f"Look up number {number}.", "user"),
        Msg("bot", [call], "assistant"),
        Msg("system", [found], "system"),
        Msg("bot", [TextBlock(type="text", text=answer)], "assistant"),
    ]


def filled(memory: ReMeShortTermMemory, *batches: list[Msg]) -> ReMeShortTermMemory:
    async def add() -> None:
        for batch in batches:
            await memory.add(batch)

    asyncio.run(add())
    return memory


def shown(memory: ReMeShortTermMemory, **options: Any) -> list[Msg]:
    return asyncio.run(memory.get_memory(**options))


def outputs(messages: list[Msg]) -> list[str]:
    found = [block["output"] for one in messages for block in one.get_content_blocks("tool_result")]
    return [one if isinstance(one, str) else "".join(block["text"] for block in one) for one in found]


def size(messages: list[Msg]) -> int:
    return sum(default_counter().count_message(to_core(one)) for one in messages)


def the_handle(text: str) -> str:
    return text.partition('handle="')[2].partition('"')[0]


def test_a_long_tool_result_is_a_preview_that_the_agent_can_open_bit_by_bit():
    memory = filled(ReMeShortTermMemory(keep_recent_count=1), called(1, LONG))
    [preview] = outputs(shown(memory))
    assert preview.startswith("row 0")
    assert preview.endswith("TOTAL 42")
    assert len(preview) < len(LONG) / 10
    read, start = "", 0
    while start < len(LONG):
        answer = asyncio.run(memory.read_tool_result(the_handle(preview), start=start)).content[0]
        # It would not be shown shortened itself.
        assert default_counter().count(answer["text"]) <= 2_000  # type: ignore[typeddict-item]
        piece = answer["text"].rpartition("\n[")[0] or answer["text"]  # type: ignore[typeddict-item]
        piece = piece if "go on with" in answer["text"] else answer["text"]  # type: ignore[typeddict-item]
        read += piece
        start += len(piece)
    assert read == LONG
    assert outputs(shown(filled(ReMeShortTermMemory(max_total_tokens=8_000), called(1, LONG)))) == [LONG], "it fits"
    wrong = asyncio.run(memory.read_tool_result("0" * 16)).content[0]
    assert "Error reading the tool result" in wrong["text"]  # type: ignore[typeddict-item]


def test_list_contents_are_kept_as_they_are():
    # AgentScope blanks every message whose content is a list, with a warning.
    batch = called(1, "short")
    image = Msg("ann", [{"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}], "user")
    memory = filled(ReMeShortTermMemory(), [*batch, image])
    assert [one.to_dict() for one in shown(memory)] == [one.to_dict() for one in [*batch, image]]


def test_without_a_model_old_turns_become_their_own_sentences():
    memory = ReMeShortTermMemory(max_total_tokens=900, keep_recent_count=4)
    for number in range(40):
        filled(memory, called(number, "short", answer=f"Customer {number} ordered {number * 3} lamps for Oslo."))
    view = shown(memory)
    assert size(view) <= 900
    assert view[0].get_text_content() == "Look up number 0.", "the task stays"
    assert view[1].role == "user"
    assert "Earlier in this conversation" in str(view[1].content)
    assert "lamps for Oslo" in str(view[1].content)
    assert view[-1].get_text_content() == "Customer 39 ordered 117 lamps for Oslo."
    # Nothing went: what is shown is a view.
    assert asyncio.run(memory.size()) == 160
    assert not any("Earlier" in str(one.content) for one in shown(memory, prepend_summary=False))
    memory.compaction.restart()
    assert memory.compaction.summary == ""


def test_when_the_model_fails_that_is_a_warning_and_the_view_still_fits():
    memory = ReMeShortTermMemory(ScriptedChat([ModelError("no line")]), max_total_tokens=600, keep_recent_count=2)
    filled(memory, *(called(number, "short", answer="words " * 30) for number in range(20)))
    with pytest.warns(UserWarning, match="no line"):
        view = shown(memory)
    assert size(view) <= 600
    assert memory.compaction.summary == ""


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(0, 3_000), min_size=1, max_size=6),
    limit=st.integers(400, 3_000),
    keep=st.integers(0, 12),
    mode=st.sampled_from(["auto", "compact", "compress"]),
)
def test_the_view_fits_and_pairs_stay_together(lengths: list[int], limit: int, keep: int, mode: Any):
    memory = ReMeShortTermMemory(
        working_summary_mode=mode, max_total_tokens=limit, max_tool_message_tokens=100, keep_recent_count=keep
    )
    everything = [called(number, LONG[:length] or "nothing") for number, length in enumerate(lengths)]
    filled(memory, [Msg("system", "Be brief.", "system")], *everything)
    view = shown(memory)
    core = [to_core(one) for one in view]
    assert paired(core) == core
    assert "Be brief." in [one.content for one in view]
    assert size(view) <= limit
    if mode == "compress":
        assert not any("read_tool_result" in one for one in outputs(view))


@pytest.mark.parametrize("mode", ["auto", "compact"])
@pytest.mark.parametrize("limit", [2_000, 20_000])
def test_the_task_and_every_handle_stay_in_view(mode: Any, limit: int):
    memory = ReMeShortTermMemory(working_summary_mode=mode, max_total_tokens=limit, max_tool_message_tokens=100)
    filled(memory, [Msg("ann", "Find the cheapest lamp in Oslo.", "user")])
    for number in range(40):
        _, call, result, answer = called(number, f"shop {number}\n{LONG}", f"Shop {number} has lamps.")
        filled(memory, [call, result, answer])
        view = shown(memory)
        assert size(view) <= limit
        text = "\n".join([*(one.get_text_content() or "" for one in view), *outputs(view)])
        assert "Find the cheapest lamp" in text
        kept = memory.compaction.offloaded()
        assert len(kept) == number + 1
        whole = {handle_of(one) for one in outputs(view)}
        assert [one for one in kept if one.handle not in text and one.handle not in whole] == []
    filled(memory, [Msg("ann", "Now in Rome, please. " + "Really. " * 5_000, "user")], *(called(50, LONG)[1:],) * 1)
    filled(memory, *([Msg("bot", f"Step {number} " + "of many words " * 20, "assistant")] for number in range(60)))
    view = shown(memory)
    assert size(view) <= limit
    assert any("Now in Rome" in (one.get_text_content() or "") for one in view), "cut, but there"


@pytest.mark.parametrize("mode", ["auto", "compact", "compress"])
async def test_a_result_of_middle_size_leaves_its_handle_when_it_leaves_the_view(mode: Any):
    memory = ReMeShortTermMemory(working_summary_mode=mode, max_total_tokens=3_000, keep_recent_count=2)
    await memory.add(Msg("ann", "Find the cheapest lamp in Oslo.", "user"))
    said: list[str] = []
    for number in range(12):
        said.append(f"shop {number}: {LONG[: 100 + 300 * number]}")
        await memory.add(called(number, said[-1])[1:])
        view = await memory.get_memory()
        assert size(view) <= 3_000
        text, whole = "\n".join(one.get_text_content() or "" for one in view), outputs(view)
        for result in said:
            assert result in whole or handle_of(result) in text
            answer = (await memory.read_tool_result(handle_of(result))).content[0]
            assert answer["text"] == result  # type: ignore[typeddict-item]
    assert len(outputs(view)) < 12, "some of them did leave it"


async def test_of_more_handles_than_fit_the_latest_are_listed():
    memory = ReMeShortTermMemory(max_total_tokens=800, max_tool_message_tokens=50, keep_recent_count=2)
    await memory.add(Msg("ann", "Find the cheapest lamp in Oslo.", "user"))
    for number in range(60):
        await memory.add(called(number, f"shop {number}\n{LONG}")[1:])
    view = await memory.get_memory()
    assert size(view) <= 800
    [listed] = [one.content for one in view if "kept whole" in str(one.content)]
    handles = str(listed).rpartition(": ")[2].rstrip("]").split(", ")
    opened = [memory.compaction.fetch(one).partition("\n")[0] for one in handles]
    numbers = [int(one.removeprefix("shop ")) for one in opened]
    assert 10 < len(numbers) < 60
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[-1] > 50


def test_what_is_heard_while_a_tool_runs_does_not_part_its_call_from_its_result():
    _, call, result, answer = called(1, "short")
    heard = Msg("other", "I am here, too.", "assistant")
    memory = filled(ReMeShortTermMemory(), [call], [heard], [result], [answer])
    assert [one.round for one in memory.history] == [1, 1, 1, 2]
    assert [one.id for one in shown(memory)] == [call.id, heard.id, result.id, answer.id]


async def test_marks_choose_and_leave_out():
    memory = ReMeShortTermMemory(keep_recent_count=0)

    await memory.add(called(1, LONG), marks="old")
    await memory.add(Msg("ann", "And now?", "user"))
    assert [one.content for one in await memory.get_memory(exclude_mark="old")] == ["And now?"]
    marked = await memory.get_memory(mark="old")
    assert outputs(marked) == [LONG]
    await memory.update_compressed_summary("In short.")
    assert [one.content for one in await memory.get_memory(exclude_mark="old")] == ["In short.", "And now?"]


def test_files_for_people_are_written_and_not_needed(tmp_path: Path):
    folder = tmp_path / "out"
    memory = filled(ReMeShortTermMemory(store_dir=str(folder), keep_recent_count=0), called(1, LONG))
    handle = the_handle(outputs(shown(memory))[0])
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [(f"{handle}.txt", LONG)]
    (folder / f"{handle}.txt").unlink()
    assert memory.compaction.fetch(handle) == LONG
    blocked = tmp_path / "file"
    blocked.write_text("")
    other = filled(ReMeShortTermMemory(store_dir=str(blocked), keep_recent_count=0), called(1, LONG))
    with pytest.warns(UserWarning, match="Error writing"):
        assert "read_tool_result" in outputs(shown(other))[0]


def test_a_state_holds_the_whole():
    memory = filled(ReMeShortTermMemory(keep_recent_count=0), called(1, LONG))
    before = shown(memory)
    other = ReMeShortTermMemory(keep_recent_count=0)
    other.load_state_dict(memory.state_dict())
    assert outputs(shown(other)) == outputs(before)
    other.load_state_dict(ReMeShortTermMemory().state_dict())
    assert shown(other) == []


HEAD = "The compression of the previous conversation is: <compressed_memory>\n"


def said(count: int, start: int = 0) -> list[Msg]:
    return [Msg("ann", f"Customer {number} ordered {number} lamps.", "user") for number in range(start, start + count)]


def pair(number: int) -> list[Msg]:
    return called(number, "found it " * 5)[1:3]


def ids(messages: list[Msg]) -> list[str]:
    return [one.id for one in messages]


async def test_the_history_keeps_all_and_the_memory_a_compression_and_the_tail():
    # AgentScope compresses everything, the last question too.
    model = ScriptedChat(["They ordered lamps.", "They ordered many lamps."])
    memory = MemoryWithCompress(model, max_token=300)
    everything = said(40)
    await memory.add([Msg("system", "Be brief.", "system"), *everything])
    shown = await memory.get_memory()
    assert shown[0].content == "Be brief."
    assert (shown[1].role, shown[1].content) == ("assistant", f"{HEAD}They ordered lamps.\n</compressed_memory>")
    assert 3 <= len(shown[2:]) < 20
    assert ids(shown[2:]) == ids(everything[-len(shown[2:]) :])
    assert await memory.size() == 41
    assert ids(await memory.chat_history_storage.get())[1:] == ids(everything)
    # An earlier compression is folded into the next.
    await memory.add(said(40, 40))
    again = await memory.get_memory()
    assert [HEAD in str(one.content) for one in again] == [False, True, *[False] * (len(again) - 2)]
    assert "many lamps" in str(again[1].content)
    assert "They ordered lamps." in model.asked[1][-1].text
    assert "<compressed_memory>" not in model.asked[1][-1].text


@given(
    shape=st.lists(st.booleans(), min_size=1, max_size=25),
    limit=st.integers(250, 800),
    keep=st.integers(0, 8),
    open_call=st.booleans(),
)
async def test_pairs_stay_together_and_the_rest_fits(shape: list[bool], limit: int, keep: int, open_call: bool):
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


async def test_a_message_is_there_once_by_its_id_and_instances_share_nothing():
    # AgentScope adds it as often as it is told to.
    memory = MemoryWithCompress(max_token=300)
    [one] = said(1)
    await memory.add([one, one])
    await memory.add(one)
    assert (await memory.size(), len(await memory.get_memory())) == (1, 1)
    # AgentScope's storages are default arguments, so that every instance has the same two.
    assert await MemoryWithCompress().size() == 0
    await memory.add(said(40))
    assert one.id not in ids(await memory.get_memory())
    await memory.add(one)
    # It is in the compression already.
    assert one.id not in ids(await memory.get_memory())
    assert await memory.size() == 41


async def test_compression_happens_on_adding_or_on_reading_as_told():
    on_add = MemoryWithCompress(max_token=300, compression_on_add=True, compression_on_get=False)
    on_get = MemoryWithCompress(max_token=300)
    never = MemoryWithCompress(max_token=300, compression_on_get=False)
    for memory in (on_add, on_get, never):
        await memory.add(said(40))
    held = [await memory.memory_storage.size() for memory in (on_add, on_get, never)]
    assert held[0] < 20 < held[1] == held[2] == 40
    assert [len(await memory.get_memory()) < 20 for memory in (on_add, on_get, never)] == [True, True, False]


async def test_functions_of_the_users_compress_and_trigger():
    async def all_in_one(messages: list[Msg]) -> list[Msg]:
        return [Msg("assistant", f"{len(messages)} messages", "assistant")]

    async def when_five(messages: list[Msg]) -> bool:
        return len(messages) >= 5

    memory = MemoryWithCompress(compress_func=all_in_one, compression_trigger_func=when_five)
    await memory.add(said(4))
    assert len(await memory.get_memory()) == 4
    await memory.add(said(1, 4))
    assert [one.content for one in await memory.get_memory()] == ["5 messages"]
    blocking = await memory.get_memory(
        compress_func=lambda _: said(1), compression_trigger_func=lambda found: len(found) == 1
    )
    assert [one.content for one in blocking] == ["Customer 0 ordered 0 lamps."]


async def test_what_is_added_while_a_model_thinks_stays():
    # AgentScope puts the answer in the place of all there is by then.
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
    await memory.memory_storage.replace(said(40))
    reading = asyncio.create_task(memory.get_memory())
    await begun.wait()
    await memory.memory_storage.replace(said(2))
    go_on.set()
    assert len(await reading) == 2


@pytest.mark.parametrize("answer", [ModelError("no line"), " "])
async def test_when_the_model_fails_the_compressed_memory_does_not_move(answer: Any):
    memory = MemoryWithCompress(ScriptedChat([answer, "At last."]), max_token=300)
    await memory.add(said(40))
    with pytest.warns(UserWarning, match="Error compressing the memory"):
        shown = await memory.get_memory()
    assert await memory.memory_storage.size() == await memory.size() == 40
    # The latest that fit, and not one more.
    everything = await memory.memory_storage.get()
    assert ids(shown) == ids(everything[-len(shown) :])
    assert size(shown) <= 300 < size(everything[-len(shown) - 1 :])
    assert "At last." in str((await memory.get_memory())[0].content)


@pytest.mark.parametrize("limit", [0, 60, 250, 300])
async def test_what_is_shown_when_nothing_is_compressed_keeps_instructions_and_pairs(limit: int):
    memory = MemoryWithCompress(ScriptedChat([ModelError("no line")] * 2), max_token=limit)
    instructions = Msg("system", "Be kind.", "system")
    calls = [one for number in range(9) for one in pair(number)]
    await memory.add([instructions, *said(9), *calls])
    # Below some hundred tokens there is no room for a summary, and the model is not asked.
    with pytest.warns(UserWarning, match="Error compressing") if limit >= 250 else nullcontext():
        shown = await memory.get_memory()
    assert shown[0].id == instructions.id
    assert size(shown[1:]) <= max(limit - size([instructions]), 0)
    assert len(paired(list(map(to_core, shown)))) == len(shown)
    assert await memory.memory_storage.size() == 28


async def test_tokens_are_counted_exactly_or_as_told():
    class Characters:
        async def count(self, messages: list[dict[str, Any]]) -> int:
            return len(json.dumps(messages, ensure_ascii=False))

    for counter, fits in ((None, True), (get_counter("cl100k_base"), True), (Characters(), False)):
        memory = MemoryWithCompress(max_token=800, token_counter=counter)
        await memory.add(said(20))
        assert (len(await memory.get_memory()) == 20) is fits
    with pytest.raises(InvalidInput, match="method count"):
        MemoryWithCompress(token_counter=object())


async def test_reading_takes_the_last_of_what_a_filter_lets_pass():
    memory = MemoryWithCompress()
    await memory.add(tuple(said(6)))
    found = await memory.get_memory(2, lambda place, one: place % 2 == 0)
    assert [one.content for one in found] == [f"Customer {n} ordered {n} lamps." for n in (2, 4)]
    await memory.update_compressed_summary("In short.")
    assert (await memory.get_memory(recent_n=1))[0].content == "In short."
    assert len(await memory.get_memory(exclude_mark="compressed", prepend_summary=False)) == 6


async def test_only_what_is_shown_is_deleted():
    memory = MemoryWithCompress()
    everything = said(5)
    await memory.add(everything)
    assert await memory.delete([0, 2]) == 2
    assert await memory.delete(0) == 1
    assert await memory.delete([everything[4].id, "unknown"]) == 1
    assert ids(await memory.get_memory()) == [everything[3].id]
    with pytest.raises(NoSuchPlace):
        await memory.delete(7)
    assert await memory.size() == 5
    await memory.clear()
    assert (await memory.size(), await memory.get_memory()) == (0, [])


async def test_a_state_is_restored_also_to_nothing():
    # AgentScope leaves what there is when a saved list is empty.
    memory = MemoryWithCompress(max_token=300)
    empty = memory.state_dict()
    await memory.add(said(40))
    shown = await memory.get_memory()
    full = json.loads(json.dumps(memory.state_dict()))
    other = MemoryWithCompress()
    other.load_state_dict(full)
    assert (other.max_token, await other.size()) == (300, 40)
    assert [one.to_dict() for one in await other.get_memory()] == [one.to_dict() for one in shown]
    other.load_state_dict(empty)
    assert (await other.size(), await other.get_memory()) == (0, [])
    other.load_state_dict({"max_token": 7}, strict=False)
    assert other.max_token == 7
    wrong: list[tuple[Any, type[Exception]]] = [
        ({}, MissingState), ({**full, "memory_storage": "x"}, InvalidInput),
        ({**full, "memory_storage": [{"role": "user"}]}, InvalidInput), ({**full, "max_token": -1}, InvalidInput),
        ([], InvalidInput),
    ]  # fmt: skip
    for bad, error in wrong:
        with pytest.raises(error):
            memory.load_state_dict(bad)
    assert memory.state_dict() == full


async def test_what_failed_half_way_can_be_added_again():
    class Failing(InMemoryMessageStorage):
        fails = True

        async def add(self, msgs: list[Msg]) -> None:
            if self.fails:
                raise OSError("disk full")
            await super().add(msgs)

    raw = Failing()
    memory = MemoryWithCompress(chat_history_storage=raw)
    messages = said(2)
    with pytest.raises(OSError, match="disk full"):
        await memory.add(messages)
    raw.fails = False
    await memory.add(messages)
    assert (await memory.size(), ids(await memory.get_memory())) == (2, ids(messages))


async def test_marks_choose_leave_out_and_delete_and_last_with_the_state():
    memory = MemoryWithCompress()
    first, second, hint = (Msg("ann", text, "user") for text in ("first", "second", "hint"))
    await memory.add([first, second])
    await memory.add(hint, marks=["hint", "new"])
    assert await memory.update_messages_mark("old", msg_ids=[first.id, "unknown"]) == 1
    assert await memory.update_messages_mark("old", msg_ids=[first.id]) == 0
    assert ids(await memory.get_memory(mark="old")) == [first.id]
    assert ids(await memory.get_memory(exclude_mark="old")) == [second.id, hint.id]
    twin = MemoryWithCompress()
    twin.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    for one in (memory, twin):
        assert await one.delete_by_mark(["hint", "none"]) == 1
        assert (await one.size(), ids(await one.get_memory())) == (2, [first.id, second.id])
        assert await one.update_messages_mark("older", old_mark="old") == 1
        assert await one.update_messages_mark(None, old_mark="older") == 1
        assert await one.get_memory(mark="old") == await one.get_memory(mark="older") == []
    await memory.clear()
    await memory.add(first)
    assert await memory.get_memory(mark="new") == []


async def test_bad_input_is_refused():
    memory = MemoryWithCompress(compression_trigger_func=lambda _: True)
    for bad in ("text", [1], {"a": 1}):
        with pytest.raises(WrongType):
            await memory.add(bad)  # type: ignore[arg-type]
    with pytest.raises(WrongType):
        await memory.add(said(1), marks=[3])  # type: ignore[list-item]
    await memory.add(None)
    await memory.add(said(3))
    with pytest.raises(WrongType):
        await memory.get_memory(compress_func=lambda _: "short")  # type: ignore[arg-type, return-value]
    with pytest.raises(NotImplementedError, match="retrieve"):
        await memory.retrieve()
    assert await memory.memory_storage.size() == 3
    compress = [{"max_token": -1}, {"keep_recent": 1.5}, {"model": 3}, {"memory_storage": "x"}]
    remember = [{"working_summary_mode": "all"}, {"max_total_tokens": -1}, {"keep_recent_count": -1}, {"model": 3}]
    kinds: list[tuple[Any, list[dict[str, Any]]]] = [(MemoryWithCompress, compress), (ReMeShortTermMemory, remember)]
    for kind, settings_that_are_none in kinds:
        for bad in settings_that_are_none:
            with pytest.raises(InvalidInput):
                kind(**bad)
    for no_model in (3, "gpt", SimpleNamespace(model_name="x")):
        with pytest.raises(InvalidInput, match="a model must be"):
            chat_model(no_model)


class ListStorage(MessageStorageBase):
    """A storage as a program may have written one for AgentScope."""

    def __init__(self) -> None:
        self.kept: list[Msg] = []

    async def add(self, msgs: list[Msg]) -> None:
        self.kept += msgs

    async def delete(self, indices: Any) -> None:
        self.kept = [one for place, one in enumerate(self.kept) if place not in indices]

    async def clear(self) -> None:
        self.kept = []

    async def get(self) -> list[Msg]:
        return list(self.kept)

    async def replace(self, msgs: list[Msg]) -> None:
        self.kept = list(msgs)


@pytest.mark.parametrize("kind", ["memory", "file", "theirs"])
def test_storages_add_read_remove_and_replace(kind: str, tmp_path: Path):
    async def run(given: Any) -> None:
        memory = MemoryWithCompress(chat_history_storage=given)
        storage, first = memory.chat_history_storage, said(3)
        await memory.add(first)
        assert [one.to_dict() for one in await storage.get()] == [one.to_dict() for one in first]
        await storage.delete([0, 2])
        assert ids(await storage.get()) == [first[1].id]
        await storage.replace(said(2, 5))
        assert await memory.size() == 2
        # A message that was there and was removed may come again.
        await storage.replace(first)
        assert ids(await storage.get()) == ids(first)
        await storage.clear()
        assert await storage.get() == []

    if kind == "file":
        with History.open(str(tmp_path / "a.db"), "talk") as history:
            asyncio.run(run(history))
    else:
        asyncio.run(run(None if kind == "memory" else ListStorage()))


async def test_a_place_without_a_message_is_refused():
    storage = InMemoryMessageStorage()
    await storage.add(said(2))
    for bad in ([0, 2], -1, 5):
        with pytest.raises(NoSuchPlace):
            await storage.delete(bad)
    for bad in ("0", 1.5, [True], None):
        with pytest.raises(WrongType):
            await storage.delete(bad)  # type: ignore[arg-type]
    history = History.open("memory:", "talk")
    with pytest.raises(InvalidInput, match="whole store"):
        MessageStorageBase(History(history.log, "talk"))
    history.close()


ASKED = [system("Be brief."), human("How are you?")]


class TheirModel:
    """What AgentScope's models look like from outside."""

    model_name = "theirs-1"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []
        self.loops: list[Any] = []

    async def __call__(self, messages: list[Any]) -> Any:
        self.asked.append(messages)
        self.loops.append(asyncio.get_running_loop())
        return self.answer


def response(text: str) -> Any:
    return SimpleNamespace(
        content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}], metadata=None
    )


async def stream(*texts: str) -> AsyncIterator[Any]:
    for text in texts:
        yield response(text)


def asked(model: Any, formatter: Any = None) -> str:
    made = chat_model(model, formatter)
    assert isinstance(made, ChatModel)
    return made.complete(ASKED).text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (response("fine"), "fine"),
        ({"content": "fine"}, "fine"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        (lambda: stream("f", "fi", "fine"), "fine"),
    ],
)
def test_an_object_of_agentscopes_kind_is_asked_in_openais_shape(answer: Any, text: str):
    model = TheirModel(answer() if callable(answer) else answer)
    assert asked(model) == text
    assert model.asked == [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are you?"}]]
    assert chat_model(model).name == "theirs-1"  # type: ignore[union-attr]


def test_a_formatter_gets_messages_of_the_room_or_of_agentscope(monkeypatch: pytest.MonkeyPatch):
    class Formatter:
        async def format(self, msgs: list[Any]) -> list[Any]:
            return [(type(one), one.name, one.content, one.role) for one in msgs]

    class TheirMsg(Msg):
        pass

    class TheirFormatter(Formatter):
        __module__ = "agentscope.formatter"

    model = TheirModel("fine")
    asked(model, Formatter())
    assert model.asked[-1] == [(Msg, "system", "Be brief.", "system"), (Msg, "user", "How are you?", "user")]
    module = ModuleType("agentscope.message")
    module.Msg = TheirMsg  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agentscope.message", module)
    asked(model, TheirFormatter())
    assert [kind for kind, *_ in model.asked[-1]] == [TheirMsg, TheirMsg]


async def test_an_async_model_runs_in_the_loop_of_the_caller():
    model = TheirModel("fine")
    made = chat_model(model)
    assert made is not None

    answer = await _run_with_models(lambda: made.complete(ASKED))
    assert answer.text == "fine"
    assert model.loops == [asyncio.get_running_loop()]
    # Outside of an event loop it runs in another one.
    assert made.complete(ASKED).text == "fine"


@pytest.mark.parametrize("answer", [None, {}, SimpleNamespace(content=[], metadata=None), SimpleNamespace(content="")])
def test_an_answer_without_words_is_a_bad_one(answer: Any):
    with pytest.raises(BadModelOutput, match="without a text"):
        asked(TheirModel(answer))
