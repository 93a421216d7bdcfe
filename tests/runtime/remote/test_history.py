"""Conversations behind a service: what the common tests of all answers do not reach."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memwell.errors import Conflict, InvalidInput, NotFound, Unsupported
from memwell.messages import Image, Text, ToolCall, ToolResult, human
from tests.media_files import picture
from tests.runtime.remote.serving import Served, serving


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as one:
        yield one


def test_every_kind_of_message_comes_through_as_it_was(served: Served):
    with served.memory("kinds") as m:
        thread = m.thread("all / kinds?")
        call = thread.add_tool_call("weather", {"city": "上海"}, call_id="c1")
        assert call == ToolCall("c1", "weather", {"city": "上海"})
        result = thread.add_tool_result("c1", [Text("sunny"), Image(data=b"\x00\xff", media_type="image/png")])
        assert isinstance(result.parts[0], ToolResult)
        thread.add_system("Be kind.", metadata={"a": [1, None]}, hidden=True)
        said = thread.add_ai("It is sunny.", name="bot")
        assert [one.changed(index=None, round=None, tokens=None) for one in thread][1].parts == result.parts
        assert thread.last(1) == [said]
        assert thread.data_of(result.parts[0].content[1]) == b"\x00\xff"  # pyright: ignore[reportArgumentType]
        assert repr(thread) == "RemoteHistory('all / kinds?', space=Space('kinds'))"
        assert thread.add() == []
        assert bool(m.thread("nobody's"))
        with pytest.raises(Conflict):
            thread.add(human("again", id=said.id))
        with pytest.raises(InvalidInput):
            thread.add("no message")  # pyright: ignore[reportArgumentType]


def test_long_conversations_are_read_in_pieces(served: Served):
    with served.memory("long") as m:
        thread = m.thread("long")
        for start in range(0, 1200, 600):
            thread.add(*(human(f"question {number}") for number in range(start, start + 600)))
        assert [one.index for one in thread] == list(range(1200))
        assert [one.index for one in thread.last(450)] == list(range(750, 1200))
        assert [one.number for one in thread.rounds()] == list(range(1, 1201))
        assert [one.number for one in thread.rounds(1100)] == list(range(101, 1201))
        assert [thread.round(number).messages[0].text for number in (3, 1198)] == ["question 2", "question 1197"]
        first = thread.page(limit=7)
        assert [one.index for one in thread.page(limit=3, cursor=first.next).items] == [7, 8, 9]


def test_messages_are_meant_by_index_id_or_themselves(served: Served):
    with served.memory("targets") as m:
        thread, other = m.thread("a"), m.thread("b")
        first, second = thread.add(human("one"), human("two"))
        elsewhere = other.add_human("elsewhere")
        assert thread.edit(first, "uno").text == "uno"
        assert thread.edit(second.id, [Text("dos"), Text("tres")]).text == "dos\ntres"
        assert thread.edit(0, human("eins", id=first.id, time=first.time)).text == "eins"
        assert [one.message.text for one in thread.versions(first) if one.message] == ["one", "uno"]
        thread.remove(first)
        assert thread.restore(first).text == "eins"
        for odd in (elsewhere, "nobody's", 99):
            with pytest.raises(NotFound):
                thread.edit(odd, "x")
        for odd in (-1, True, None):
            with pytest.raises(InvalidInput):
                thread.get(odd)  # pyright: ignore[reportArgumentType]


def test_several_are_removed_or_none(served: Served):
    with served.memory("several") as m:
        thread = m.thread("a")
        thread.add(human("one"), human("two"), human("three"))
        with pytest.raises(NotFound):
            thread.remove(0, 1, 99)
        assert [one.text for one in thread] == ["one", "two", "three"]
        thread.remove(0, 2, 0)
        assert [one.text for one in thread] == ["two"]


def test_bytes_beside_a_conversation_are_refused(served: Served):
    with served.memory("bytes") as m:
        thread = m.thread("a")
        plain = human("no bytes")
        assert thread.with_blobs(plain) is plain
        with pytest.raises(Unsupported, match=r"media\.add"):
            thread.with_blobs(human([Image(data=picture())]))
        with pytest.raises(Unsupported):
            thread.data_of(Image(blob="0" * 64))
        for odd in (Image(url="https://a.example/cat.png"), "x"):
            with pytest.raises(InvalidInput):
                thread.data_of(odd)  # pyright: ignore[reportArgumentType]
