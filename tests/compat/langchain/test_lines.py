from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import AIMessage, ChatMessage, HumanMessage, from_core, get_buffer_string, to_core
from memwell.compat.langchain.lines import as_text, line_of
from memwell.messages import Message, Role
from memwell.testing import strategies


@given(strategies.messages(), st.sampled_from(["Human", "我"]))
def test_a_line_is_what_the_buffer_would_show(message: Message, prefix: str) -> None:
    if message.role is not Role.VIEW:
        expected = get_buffer_string([from_core(message)], human_prefix=prefix, ai_prefix="Bot")
        assert line_of(message, prefix, "Bot") == expected
        assert as_text([message, message], prefix, "Bot") == f"{expected}\n{expected}"


def test_what_langchains_messages_carry_is_shown() -> None:
    for message in (
        AIMessage("a", additional_kwargs={"function_call": {"name": "f"}}),
        AIMessage("a", tool_calls=[{"name": "f", "args": {}, "id": "1"}]),
        HumanMessage(["a", {"type": "text", "text": "b"}]),
        HumanMessage(""),
        ChatMessage("a", role="judge"),
    ):
        assert line_of(to_core(message)) == get_buffer_string([message])
