"""What is kept of a conversation is what reading it anew would give, whatever happened to it meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import (
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationTokenBufferMemory,
    ThreadChatMessageHistory,
)
from memwell.history import History
from memwell.messages import ToolCall, ai, human, message, system, tool_result
from memwell.storage import Backend, open_backend


class Words:
    """A model that counts words and sums up in five of them."""

    def get_num_tokens(self, text: str) -> int:
        return len(text.split())

    def invoke(self, prompt: str) -> str:
        return "They spoke of many things."


KINDS: dict[str, Callable[..., Any]] = {
    "window": lambda history: ConversationBufferWindowMemory(chat_memory=history, k=3),
    "tokens": lambda history: ConversationTokenBufferMemory(chat_memory=history, llm=Words(), max_token_limit=25),
    "summary": lambda history: ConversationSummaryBufferMemory(chat_memory=history, llm=Words(), max_token_limit=25),
}

TEXTS = st.sampled_from(["yes", "a few more words", "one two three four five six seven eight", "好的", "x " * 40])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), TEXTS, TEXTS),
        st.tuples(st.just("ask"), TEXTS),
        st.tuples(st.just("instruct"), TEXTS),
        st.tuples(st.just("view"), TEXTS),
        st.tuples(st.just("tool"), TEXTS),
        st.tuples(st.just("elsewhere"), TEXTS, TEXTS),
        st.tuples(st.just("edit"), st.integers(0, 9), TEXTS),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.tuples(st.just("trim"), st.integers(1, 4)),
        st.tuples(st.just("delete")),
    ),
    max_size=14,
)


def act(memory: Any, elsewhere: Any, history: History, step: tuple[Any, ...]) -> None:
    name, *given_ = step
    if name in ("turn", "elsewhere"):
        who = memory if name == "turn" else elsewhere
        who.save_context({"input": given_[0]}, {"output": given_[1]})
    elif name == "ask":
        history.add(human(given_[0]))
    elif name == "instruct":
        history.add(system(given_[0]))
    elif name == "view":
        history.add(message("view", given_[0]))
    elif name == "tool":
        history.add(human(given_[0]), ai(tool_calls=[ToolCall("c", "look")]), tool_result("c", "seen"), ai("done"))
    elif name == "trim":
        history.trim(rounds=given_[0])
    elif name == "delete":
        history.delete()
    else:
        present = [one.index or 0 for one in history]
        if present:
            at = present[given_[0] % len(present)]
            history.remove(at) if name == "remove" else history.edit(at, given_[1])


@pytest.fixture(scope="module", params=["memory:", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    path = tmp_path_factory.mktemp("kept") / "talk.db" if request.param == "sqlite" else request.param
    with open_backend(path) as opened:
        yield opened


NUMBERS = itertools.count()


@pytest.mark.parametrize("kind", KINDS)
@given(steps=STEPS)
def test_a_memory_that_was_there_shows_what_a_new_one_shows(
    backend: Backend, kind: str, steps: list[tuple[Any, ...]]
) -> None:
    history = History(backend, f"talk {next(NUMBERS)}")
    memory, elsewhere = (KINDS[kind](ThreadChatMessageHistory(history)) for _ in range(2))
    for step in steps:
        act(memory, elsewhere, history, step)
        memory.return_messages = not memory.return_messages
        fresh = KINDS[kind](ThreadChatMessageHistory(history))
        fresh.return_messages = memory.return_messages
        assert memory.load_memory_variables({}) == fresh.load_memory_variables({})


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_new_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_backend(f"sqlite:{tmp_path / 'talk.db'}") as backend:
        history = History(backend, "talk")
        memory = KINDS[kind](ThreadChatMessageHistory(history))
        for number in range(20):
            memory.save_context({"input": f"question {number}"}, {"output": f"answer {number}"})
        memory.load_memory_variables({})
        read, rows = history.log.read, list[int]()

        def counted(*args: Any, **options: Any) -> Any:
            found = read(*args, **options)
            rows.append(len(found))
            return found

        monkeypatch.setattr(history.log, "read", counted)
        memory.load_memory_variables({})
        assert rows == []
        history.add(human("more"), ai("yes"))
        assert "more" in str(memory.load_memory_variables({}))
        assert sum(rows) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_other_settings_begin_anew(kind: str) -> None:
    with open_backend("memory:") as backend:
        history = ThreadChatMessageHistory(History(backend, "talk"))
        memory = KINDS[kind](history)
        for number in range(3):
            memory.save_context({"input": f"question {number}"}, {"output": f"answer {number}"})
        assert "Human: question 2" in memory.load_memory_variables({})["history"]
        memory.human_prefix = "Anna"
        assert "Anna: question 2" in memory.load_memory_variables({})["history"]
        if kind == "window":
            memory.k = 1
            assert "question 1" not in memory.load_memory_variables({})["history"]
        elif kind == "tokens":
            memory.max_token_limit = 6
            assert "question 1" not in memory.load_memory_variables({})["history"]


@pytest.mark.parametrize("kind", KINDS)
def test_half_of_a_tool_call_that_is_not_shown_still_counts(kind: str) -> None:
    with open_backend("memory:") as backend:
        history = History(backend, "talk")
        memory, elsewhere = (KINDS[kind](ThreadChatMessageHistory(history)) for _ in range(2))
        steps = [
            ("tool", "yes"),
            ("turn", "yes", "a few more words"),
            ("remove", 2),
            ("turn", "yes", "a few more words"),
        ]
        for step in steps:
            act(memory, elsewhere, history, step)
            fresh = KINDS[kind](ThreadChatMessageHistory(history))
            assert memory.load_memory_variables({}) == fresh.load_memory_variables({})


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_whose_question_was_removed_never_comes_to_the_front(kind: str) -> None:
    with open_backend("memory:") as backend:
        history = History(backend, "talk")
        memory = KINDS[kind](ThreadChatMessageHistory(history))
        for number in range(3):
            memory.save_context({"input": f"question {number}"}, {"output": f"answer {number}"})
        history.remove(2)
        for number in range(3, 9):
            memory.save_context({"input": f"question {number}"}, {"output": f"answer {number}"})
            fresh = KINDS[kind](ThreadChatMessageHistory(history))
            assert memory.load_memory_variables({}) == fresh.load_memory_variables({})
