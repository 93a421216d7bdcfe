"""The laws of windows, for conversations as untidy as they come, and a slow oracle that must agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.messages import Image, Message, Role, Text, ToolCall, ToolResult, ai, human, message, system, tool_result
from memwell.testing import strategies
from memwell.tokens import ExactCounter, MessageCosts, default_counter, get_counter
from memwell.values import new_id
from memwell.windows import Round, fitted, kept_from, paired, rounds_of

count = default_counter().count_message
ANSWERS = (Role.AI, Role.TOOL, Role.FUNCTION)
END = "the round was closed by hand"


# Conversations: what was said and done, in any order, with few ids so that they are often used again.

TEXTS = ("tea", "tea with milk, please", "北京")
ID_SETS = (("1",), ("2",), ("1", "2"), ("2", "1", "3"))
CALLS = [tuple(ToolCall(id_, "look", {"up": 1}) for id_ in ids) for ids in ID_SETS]
RESULTS = [tuple(ToolResult(id_, (Text("a result"),)) for id_ in ids) for ids in ID_SETS]
WORDS = ((), (Text("so"),))

SAYING = [Message(role, (Text(text),)) for role in Role for text in TEXTS]
CALLING = [Message(Role.AI, (*words, *calls)) for calls in CALLS for words in WORDS]
ANSWERING = [
    Message(role, (*words, *parts)) for role in (Role.TOOL, Role.FUNCTION) for parts in RESULTS for words in WORDS
]
BOTH = [Message(Role.AI, (*parts, *calls)) for parts in RESULTS for calls in CALLS]

# One draw a move, or making conversations would take far longer than checking them.
MOVES = st.sampled_from((human("q"), ai("a"), END)) | st.sampled_from((*SAYING, *CALLING, *CALLING, *ANSWERING, *BOTH))
MARKS = st.sampled_from(({}, {}, {}, {"hidden": True}, {"tokens": 0}, {"tokens": 5}, {"tokens": 1_000}))


STEPS = st.sampled_from(
    (ai("a"), message("function", "f"), message("tool", "t"), system("s"), *CALLING, *ANSWERING, *BOTH)
)
"""What may happen inside a round."""

TANGLED = st.sampled_from((human("q"), *(Message(m.role, (p,)) for m in (*CALLING, *ANSWERING[:8]) for p in m.parts)))
"""Short moves, so that calls and their results are often some rounds apart."""


def untidy(max_size: int = 14) -> st.SearchStrategy[list[Message]]:
    """Orphans, unanswered, parallel and late results, reused ids, hidden messages, rounds that a tool opens."""
    return st.lists(st.tuples(MOVES, MARKS), max_size=max_size).map(
        lambda moves: placed(
            move if isinstance(move, str) else move.changed(id=new_id(), **marks) for move, marks in moves
        )
    )


def placed(moves: Iterable[Message | str]) -> list[Message]:
    """Messages with the places that a log would give them."""
    found: list[Message] = []
    number, ended = 0, False
    for move in moves:
        if isinstance(move, str):
            ended = True
            continue
        number += ended or move.role is Role.HUMAN
        ended = False
        found.append(move.changed(index=len(found), round=number))
    return found


CONVERSATIONS = untidy() | strategies.conversations(max_rounds=4).map(placed)
BUDGETS = st.integers(0, 120) | st.integers(0, 3_000)


def window_of(conversation: list[Message], budget: int, size=count) -> list[Message]:
    return fitted(later_rounds(conversation)[::-1], budget, size)


def later_rounds(conversation: list[Message]) -> list[Round]:
    return [round_ for round_ in rounds_of(conversation) if round_.number]


def assert_follows(window: Sequence[Message], conversation: Sequence[Message]) -> None:
    """It is the conversation with messages, calls and results left out, and nothing else changed."""
    places = [one.index or 0 for one in window]
    assert places == sorted(set(places))
    for one in window:
        original = conversation[one.index or 0]
        assert one == original.changed(parts=one.parts, tokens=one.tokens)
        rest = iter(original.parts)
        assert all(part in rest for part in one.parts)
        assert without_tools(one) == without_tools(original)
        assert one.parts or not original.parts


def without_tools(one: Message) -> list:
    return [part for part in one.parts if not isinstance(part, ToolCall | ToolResult)]


def assert_whole_pairs(window: Sequence[Message]) -> None:
    """Each result has a call before it and each call one result after it, but the last calls, which may be waiting."""
    waiting: list[tuple[str, int]] = []
    for position, one in enumerate(window):
        for part in one.parts:
            if isinstance(part, ToolCall):
                waiting.append((part.id, position))
            elif isinstance(part, ToolResult):
                asked = [call for call in waiting if call[0] == part.call_id]
                assert asked, f"{part} answers nothing"
                waiting.remove(asked[-1])
    for _, position in waiting:
        since = window[position:]
        assert all(one.tool_calls or one.tool_results for one in since), (
            "somebody spoke since, and the call still waits"
        )
        assert [bool(one.tool_calls) for one in since] == sorted((bool(one.tool_calls) for one in since), reverse=True)


def opens_its_round(one: Message, conversation: Sequence[Message]) -> bool:
    return one.index == next(m.index for m in conversation if m.round == one.round and m.role is not Role.VIEW)


@given(CONVERSATIONS, BUDGETS)
def test_a_window_keeps_the_laws(conversation: list[Message], budget: int):
    window = window_of(conversation, budget)
    assert sum(map(count, window)) <= budget
    assert all(one.for_model for one in window)
    assert_follows(window, conversation)
    assert_whole_pairs(window)
    if window and window[0].role in ANSWERS:
        assert opens_its_round(window[0], conversation)


@given(CONVERSATIONS, BUDGETS)
def test_the_budget_holds_by_any_counter(conversation: list[Message], budget: int):
    for counter in (get_counter("cl100k_base"), ExactCounter(costs=MessageCosts(message=0, name=7))):
        window = window_of(conversation, budget, counter.count_message)
        assert sum(map(counter.count_message, window)) <= budget


@given(CONVERSATIONS, BUDGETS, st.integers(0, 200))
def test_more_room_never_loses_anything(conversation: list[Message], budget: int, more: int):
    small = {one.id: one.parts for one in window_of(conversation, budget)}
    large = {one.id: one.parts for one in window_of(conversation, budget + more)}
    assert small.keys() <= large.keys()
    assert all(part in large[id_] for id_, parts in small.items() for part in parts)


@given(st.lists(strategies.spoken(Role.SYSTEM), min_size=1, max_size=2), CONVERSATIONS, BUDGETS)
def test_the_preamble_comes_first_and_counts(preamble: list[Message], conversation: list[Message], budget: int):
    needed = sum(map(count, preamble))
    rounds = later_rounds(conversation)[::-1]
    if needed > budget:
        with pytest.raises(InvalidInput, match=f"{needed} tokens.* budget of {budget}"):
            fitted(rounds, budget, count, preamble)
    else:
        assert fitted(rounds, budget, count, preamble) == preamble + window_of(conversation, budget - needed)
    shown = [one.changed(hidden=True) for one in preamble]
    assert fitted(rounds, budget, count, shown) == window_of(conversation, budget)


# The oracle: try all, and mend one wrong part at a time.


@given(untidy(max_size=9), st.integers(0, 90))
def test_a_window_is_what_the_oracle_says(conversation: list[Message], budget: int):
    window = window_of(conversation, budget)
    assert [(one.id, one.parts) for one in window] == [(one.id, one.parts) for one in oracle(conversation, budget)]


@given(st.lists(STEPS, max_size=9), st.integers(0, 10))
def test_a_round_too_large_is_cut_as_the_oracle_says(steps: list[Message], tenths: int):
    conversation = placed([human("q"), *(step.changed(id=new_id()) for step in steps)])
    budget = sum(map(count, conversation)) * tenths // 10
    window = window_of(conversation, budget)
    assert [(one.id, one.parts) for one in window] == [(one.id, one.parts) for one in oracle(conversation, budget)]


def oracle(conversation: list[Message], budget: int) -> list[Message]:
    rounds = [[one for one in round_.messages if one.for_model] for round_ in later_rounds(conversation)]
    cuts = [[one for round_ in rounds[at:] for one in round_] for at in range(len(rounds) + 1)]
    fitting = [cut for cut in cuts if sum(map(count, cut)) <= budget]
    best = max(fitting, key=len)
    if not best and len(fitting) <= len(rounds):
        best = largest_part(rounds[len(rounds) - len(fitting)], budget)
    return mended(best, conversation)


def largest_part(messages: list[Message], budget: int) -> list[Message]:
    """The opening and the longest end of a round that fit together, cut where no pair is parted."""
    borders = [0, *(at for at in range(1, len(messages)) if may_cut(messages, at)), len(messages)]
    opening = messages[: borders[1]]
    parts = [opening + messages[at:] for at in borders[1:]]
    return max((part for part in parts if sum(map(count, part)) <= budget), key=len, default=[])


def may_cut(messages: list[Message], at: int) -> bool:
    crossing = any(call[0] < at <= result[0] for call, result in all_pairs(messages))
    return not crossing and messages[at].role not in (Role.TOOL, Role.FUNCTION)


def all_pairs(messages: list[Message]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Each result looks back for the nearest call of its id, and has it unless another result has."""
    spots = [((at, number), part) for at, one in enumerate(messages) for number, part in enumerate(one.parts)]
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for result_at, result in spots:
        if isinstance(result, ToolResult):
            earlier = [
                s for s, part in spots if s < result_at and isinstance(part, ToolCall) and part.id == result.call_id
            ]
            if earlier and earlier[-1] not in found:
                found[earlier[-1]] = result_at
    return list(found.items())


def mended(messages: list[Message], conversation: list[Message]) -> list[Message]:
    while (wrong := first_wrong(messages, conversation)) is not None:
        position, number = wrong
        one = messages[position]
        parts = () if number is None else one.parts[:number] + one.parts[number + 1 :]
        rest = [one.changed(parts=parts)] if parts else []
        messages = messages[:position] + rest + messages[position + 1 :]
    return messages


def first_wrong(messages: list[Message], conversation: list[Message]) -> tuple[int, int | None] | None:
    pairs = all_pairs(messages)
    whole = {spot for pair in pairs for spot in pair}
    spots = [((at, number), part) for at, one in enumerate(messages) for number, part in enumerate(one.parts)]
    for spot, part in spots:
        if isinstance(part, ToolResult) and spot not in whole:
            return spot
    for spot, part in spots:
        if isinstance(part, ToolCall) and spot not in whole and not may_be_waiting(messages[spot[0] :]):
            return spot
    if messages and messages[0].role in ANSWERS and not opens_its_round(messages[0], conversation):
        return 0, None
    return None


def may_be_waiting(since: list[Message]) -> bool:
    """Calls, then results, and nothing else."""
    kinds = "".join("c" if one.tool_calls else "r" if one.tool_results else "x" for one in since)
    return kinds.lstrip("c").strip("r") == ""


def call(*ids: str, text: str = "") -> Message:
    return ai(text, tool_calls=[ToolCall(id_, "look") for id_ in ids])


def test_a_call_and_its_result_go_together():
    question, answer = human("q"), ai("a")
    assert paired([question, tool_result("1", "r"), answer]) == [question, answer]
    assert paired([question, call("1"), answer]) == [question, answer]
    assert [one.parts for one in paired([question, call("1", text="so"), answer])][1] == (Text("so"),)
    assert paired([tool_result("1", "too early"), call("1")])[0].tool_calls


@pytest.mark.parametrize(
    ("waiting", "answered"),
    [
        ([call("1")], []), ([call("1", "2"), tool_result("2")], ["2"]), ([call("1"), call("2")], []),
        ([call("1"), call("2"), tool_result("1")], ["1"]),
        ([call("1"), call("2"), tool_result("2"), tool_result("1")], ["1", "2"]),
    ],
)  # fmt: skip
def test_the_last_calls_wait_until_somebody_else_speaks(waiting: list[Message], answered: list[str]):
    assert paired(waiting) == waiting
    for spoken in (human("Never mind."), ai("Let me see.")):
        assert [part.id for one in paired([*waiting, spoken]) for part in one.tool_calls] == answered


def test_a_call_does_not_wait_once_the_model_has_gone_on():
    both = ai([ToolResult("2")], tool_calls=[ToolCall("3", "look")])
    kept = paired([human("q"), call("1"), call("2"), ai("Meanwhile."), both])
    assert [part.id for one in kept for part in one.tool_calls] == ["2", "3"]
    kept = paired([human("q"), call("1", "2"), both])
    assert [part.id for one in kept for part in one.tool_calls] == ["1", "2", "3"]
    kept = paired([human("q"), call("1", "2", "4"), tool_result("4"), both])
    assert [part.id for one in kept for part in one.tool_calls] == ["2", "4", "3"]


def test_an_id_that_is_used_again_is_another_call():
    first, second, result = call("1"), call("1"), tool_result("1", "r")
    assert paired([human("q"), first, human("p"), second, result])[1].text == "p"
    doubled = paired([second, result, tool_result("1", "again")])
    assert [one.text for one in doubled] == ["", "r"]


def test_a_round_that_a_model_opened_may_be_the_first():
    talk = placed([human("q"), ai("a"), END, message(Role.VIEW, "a notice"), ai("by myself"), ai("done")])
    assert [one.text for one in window_of(talk, count(talk[3]) + count(talk[4]))] == ["by myself", "done"]


def test_what_follows_a_result_without_its_call_does_not_begin_a_window():
    talk = placed(
        [human("q"), call("1"), END, tool_result("1", "late"), call("2"), system("s"), tool_result("2"), ai("x")]
    )
    later = [round_ for round_ in later_rounds(talk) if round_.number == 2]
    assert [one.text for one in fitted(later, 1_000, count)] == ["s", "x"]
    assert paired(talk) == window_of(talk, 1_000)


def test_of_a_round_too_large_the_opening_and_the_last_steps_stay():
    talk = placed([human("q"), call("1"), tool_result("1", "long " * 50), call("2"), tool_result("2", "r"), ai("a")])
    assert [one.index for one in window_of(talk, 60)] == [0, 3, 4, 5]
    assert [one.index for one in window_of(talk, count(talk[0]) + count(talk[5]))] == [0, 5]
    assert window_of(talk, count(talk[0]) - 1) == []


def test_a_count_that_a_caller_gave_bounds_what_is_left_of_the_message():
    picture = Message(Role.HUMAN, (Image(url="https://example.org/a.png"), ToolResult("gone")), tokens=85)
    [left] = window_of(placed([picture]), 85)
    assert left.parts == picture.parts[:1]
    assert count(left) == 85


# Where a conversation is cut for good.


def one_each(_: Round) -> int:
    return 1


TANGLES = st.lists(TANGLED, max_size=14).map(lambda moves: placed(move.changed(id=new_id()) for move in moves))


@given(untidy() | TANGLES, st.integers(1, 6))
def test_a_cut_keeps_the_last_rounds_and_parts_no_pair(conversation: list[Message], limit: int):
    rounds = list(rounds_of(conversation))
    cut = kept_from(rounds[::-1], limit, one_each)
    starts = [round_.messages[0].index or 0 for round_ in rounds]
    assert cut in (*starts, 0)
    assert cut <= (starts[-limit] if len(starts) >= limit else 0)
    crossing = [(call, result) for (call, _), (result, _) in all_pairs(conversation) if call < cut <= result]
    assert crossing == []


@given(untidy() | TANGLES, st.integers(1, 6))
def test_a_cut_keeps_no_round_without_a_reason(conversation: list[Message], limit: int):
    rounds = list(rounds_of(conversation))
    cut = kept_from(rounds[::-1], limit, one_each)
    if len(rounds) > limit and cut < (rounds[-limit].messages[0].index or 0):
        first = next(round_ for round_ in rounds if round_.messages[0].index == cut)
        later = {
            result.call_id for one in conversation[cut:] for result in one.tool_results if one.round != first.number
        }
        assert later & {part.id for one in first.messages for part in one.tool_calls}


def test_a_cut_keeps_the_latest_round_however_large():
    talk = placed([human("1"), human("2"), ai("a"), human("3"), ai("b")])
    for size in (1, 2, 100):
        assert kept_from(list(rounds_of(talk))[::-1], 1, lambda _, size=size: size) == 3


def test_a_chain_of_late_results_is_kept_whole():
    talk = placed(
        [human("1"), call("a"), human("2"), call("b"), tool_result("a"), human("3"), human("4"), tool_result("b")]
    )
    rounds = list(rounds_of(talk))[::-1]
    assert kept_from(rounds, 1, one_each) == 0
    assert kept_from(rounds[1:], 1, one_each) == 5


def test_an_instruction_with_a_result_in_it_is_not_among_those_at_the_front() -> None:
    odd = Message(Role.SYSTEM, (ToolResult("0", ()),))
    found = fitted([], 100, lambda _: 1, [system("be brief"), odd])
    assert [one.text for one in found] == ["be brief"]
