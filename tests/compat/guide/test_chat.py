from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.guide.chat import SimpleLLMChat
from memwell.errors import InvalidInput
from memwell.messages import human
from memwell.tokens import default_counter

TURNS = [
    ("user", "我们要建一个电商平台"), ("assistant", "好的，先定数据库。"), ("user", "数据库选 MySQL"),
    ("assistant", "记下了。"),
]  # fmt: skip


@given(st.lists(st.text(alphabet="ab 记忆。", max_size=40), max_size=12), st.integers(1, 60))
def test_the_context_is_the_longest_end_that_fits(texts: list[str], limit: int):
    with SimpleLLMChat(max_context=limit) as chat:
        for text in texts:
            chat.add_message("user", text)
        kept = chat.conversation
        assert [one["content"] for one in kept] == texts[len(texts) - len(kept) :]
        sizes = [default_counter().count_message(human(text)) for text in texts]
        assert chat.tokens == sum(sizes[len(texts) - len(kept) :])
        assert chat.tokens <= limit or len(kept) <= 2
        if len(kept) < len(texts):
            assert chat.tokens + sizes[len(texts) - len(kept) - 1] > limit


def test_what_left_the_context_is_recalled():
    with SimpleLLMChat(max_context=30) as chat:
        for role, content in TURNS:
            chat.add_message(role, content)
        assert chat.forgotten == 2
        [first, *_] = chat.recall("电商平台")
        assert first["content"] == "我们要建一个电商平台"
        assert first["in_context"] is False
        assert chat.get_context()[-1] == {"role": "assistant", "content": "记下了。"}


def test_a_chat_in_a_file_goes_on_where_it_was(tmp_path: Path):
    file = str(tmp_path / "chat.db")
    with SimpleLLMChat(max_context=30, store=file) as chat:
        for role, content in TURNS:
            chat.add_message(role, content)
        before, tokens = chat.conversation, chat.tokens
    with SimpleLLMChat(max_context=30, store=file) as chat:
        assert (chat.conversation, chat.tokens, chat.forgotten) == (before, tokens, 2)
        assert before[0]["role"] == "user", "an answer leaves with its question"
    with SimpleLLMChat(max_context=30) as chat:
        for role, content in (("system", "简短"), ("assistant", "你好"), TURNS[2], TURNS[3]):
            chat.add_message(role, content)
        assert [one["role"] for one in chat.get_context()] == ["system", "assistant", "user", "assistant"]


@pytest.mark.parametrize(("role", "content"), [("tool", "x"), ("", "x"), ("user", 7)])
def test_what_is_no_message_is_refused_and_nothing_is_kept(role: str, content: str):
    for limit in (0, -1, 1.5, "4096", True):
        with pytest.raises(InvalidInput):
            SimpleLLMChat(max_context=limit)  # type: ignore[arg-type]
    with SimpleLLMChat() as chat:
        with pytest.raises(InvalidInput):
            chat.add_message(role, content)
        assert chat.conversation == []
        assert len(chat.history) == 0
