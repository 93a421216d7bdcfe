from __future__ import annotations

import asyncio
import copy
import gc
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.agentscope.core_messages import to_core
from memwell.compat.agentscope.messages import Msg, TextBlock, ToolResultBlock, ToolUseBlock
from memwell.compat.agentscope.short_term import ReMeShortTermMemory
from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import ScriptedChat
from memwell.tokens import default_counter
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


def test_an_instance_is_freed_with_its_last_reference():
    memory = ReMeShortTermMemory()
    gone = weakref.ref(memory)
    gc.disable()
    try:
        del memory
        assert gone() is None
    finally:
        gc.enable()


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
    wrong = asyncio.run(memory.read_tool_result("0" * 16)).content[0]
    assert "Error reading the tool result" in wrong["text"]  # type: ignore[typeddict-item]


def test_recent_results_stay_whole_as_long_as_everything_fits():
    memory = filled(ReMeShortTermMemory(max_total_tokens=8_000), called(1, LONG))
    assert outputs(shown(memory)) == [LONG]
    filled(memory, called(2, LONG.replace("Oslo", "Rome")))
    first, second = outputs(shown(memory))
    assert second == LONG.replace("Oslo", "Rome")
    assert "read_tool_result" in first
    huge = filled(ReMeShortTermMemory(), called(1, LONG * 20))
    assert "read_tool_result" in outputs(shown(huge))[0]


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
    assert view[0].role == "user"
    assert "Earlier in this conversation" in str(view[0].content)
    assert "lamps for Oslo" in str(view[0].content)
    assert view[-1].get_text_content() == "Customer 39 ordered 117 lamps for Oslo."
    # Nothing went: what is shown is a view.
    assert asyncio.run(memory.size()) == 160
    assert "Earlier" not in str(shown(memory, prepend_summary=False)[0].content)
    memory.compaction.restart()
    assert memory.compaction.summary == ""


def test_a_model_of_agentscopes_kind_writes_the_summary():
    class Model:
        model_name = "theirs"
        asked = 0

        async def __call__(self, messages: list[dict[str, Any]]) -> Any:
            Model.asked += 1
            return SimpleNamespace(content=[{"type": "text", "text": "They talked about lamps."}])

    memory = ReMeShortTermMemory(Model(), max_total_tokens=600, keep_recent_count=2)
    filled(memory, *(called(number, "short", answer="words " * 30) for number in range(20)))
    assert "They talked about lamps." in str(shown(memory)[0].content)
    assert Model.asked >= 1


def test_a_model_is_given_so_much_at_once():
    sizes: list[int] = []

    def ask(messages: Any) -> str:
        sizes.append(default_counter().count(messages[-1].text))
        return "They talked."

    memory = ReMeShortTermMemory(ask, max_total_tokens=600, group_token_threshold=200, keep_recent_count=2)
    filled(memory, *(called(number, "short", answer="words " * 30) for number in range(20)))
    shown(memory)
    assert len(sizes) > 3
    assert max(sizes) < 500


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
    if mode != "compact":
        assert size(view) <= limit
    else:
        assert len(view) == 1 + 4 * len(lengths)
    if mode == "compress":
        assert not any("read_tool_result" in one for one in outputs(view))


def test_agents_that_talk_among_themselves_are_shown_and_summed_up():
    memory = ReMeShortTermMemory(max_total_tokens=400, keep_recent_count=2)
    talk = [
        Msg(f"agent-{number % 3}", f"I counted {number} boats in the harbour.", "assistant") for number in range(60)
    ]
    filled(memory, talk[:3], talk[3:])
    view = shown(memory)
    assert view[-1].content == "I counted 59 boats in the harbour."
    assert "boats" in str(view[0].content)
    assert view[0].role == "user"
    assert [one.to_dict() for one in shown(filled(ReMeShortTermMemory(), talk))] == [one.to_dict() for one in talk]


def test_what_is_heard_while_a_tool_runs_does_not_part_its_call_from_its_result():
    _, call, result, answer = called(1, "short")
    heard = Msg("other", "I am here, too.", "assistant")
    memory = filled(ReMeShortTermMemory(), [call], [heard], [result], [answer])
    assert [one.round for one in memory.history] == [1, 1, 1, 2]
    assert [one.id for one in shown(memory)] == [call.id, heard.id, result.id, answer.id]


def test_marks_choose_and_leave_out():
    memory = ReMeShortTermMemory(keep_recent_count=0)

    async def run() -> None:
        await memory.add(called(1, LONG), marks="old")
        await memory.add(Msg("ann", "And now?", "user"))
        assert [one.content for one in await memory.get_memory(exclude_mark="old")] == ["And now?"]
        marked = await memory.get_memory(mark="old")
        assert outputs(marked) == [LONG]
        await memory.update_compressed_summary("In short.")
        assert [one.content for one in await memory.get_memory(exclude_mark="old")] == ["In short.", "And now?"]

    asyncio.run(run())


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


def test_a_state_holds_the_whole_and_a_copy_is_another_memory():
    memory = filled(ReMeShortTermMemory(keep_recent_count=0), called(1, LONG))
    before = shown(memory)
    other = ReMeShortTermMemory(keep_recent_count=0)
    other.load_state_dict(memory.state_dict())
    assert outputs(shown(other)) == outputs(before)
    twin = copy.deepcopy(memory)
    filled(twin, called(2, "short"))
    assert asyncio.run(memory.size()) == 4
    assert outputs(shown(twin)) == [*outputs(before), "short"]
    other.load_state_dict(ReMeShortTermMemory().state_dict())
    assert shown(other) == []


def test_async_with_and_the_rest_of_the_vocabulary():
    async def run() -> None:
        async with ReMeShortTermMemory(reme_config_path="x", embedding_model=None) as memory:
            await memory.add(Msg("ann", "Hello", "user"))
            assert len(await memory.get_memory()) == 1
            with pytest.raises(NotImplementedError):
                await memory.retrieve()

    asyncio.run(run())
    shape = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]  # fmt: skip
    made = ReMeShortTermMemory.list_to_msg(shape)
    assert [one.role for one in made] == ["user", "assistant", "system"]
    assert made[1].get_content_blocks("tool_use")[0]["input"] == {"a": 1}


@pytest.mark.parametrize(
    "bad",
    [
        {"working_summary_mode": "all"},
        {"max_total_tokens": -1},
        {"max_tool_message_tokens": "2"},
        {"keep_recent_count": -1},
        {"group_token_threshold": -5},
        {"compact_ratio_threshold": 2},
        {"compact_ratio_threshold": None},
        {"model": 3},
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any]):
    with pytest.raises(InvalidInput):
        ReMeShortTermMemory(**bad)
